//! The models of this machine: a folder with their files, and a record of the files and of the model of each role.
//!
//! The folder never syncs. The record is replaced atomically under a lock, so that concurrent commands lose no changes
//! and a reader never sees an incomplete record.

use std::{
    collections::BTreeMap,
    fs::{self, File},
    io,
    os::unix::fs::{MetadataExt, OpenOptionsExt},
    path::{Path, PathBuf},
};

use serde::{Deserialize, Serialize};

use super::digest::{self, Sha256};
use crate::{files::write_private, infer::ModelRole};

/// The format version of the record.
const VERSION: u32 = 1;

/// The word that stands for the default model.
pub const DEFAULT: &str = "default";

/// The word that stands for no model.
pub const NONE: &str = "none";

/// Why the folder or its record cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum ModelStoreError {
    /// A file or folder cannot be used.
    #[error("cannot {act} {}: {cause}", path.display())]
    Io {
        /// `read`, `write`, …
        act: &'static str,
        path: PathBuf,
        cause: io::Error,
    },
    /// The record is invalid.
    #[error("{} is damaged: {cause}", path.display())]
    Damaged {
        /// The path of the record.
        path: PathBuf,
        /// What is wrong.
        cause: String,
    },
}

impl ModelStoreError {
    pub(super) fn io(act: &'static str, path: &Path) -> impl FnOnce(io::Error) -> Self {
        let path = path.to_owned();
        move |cause| Self::Io { act, path, cause }
    }
}

/// A model file of this machine.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct InstalledModel {
    /// The name in commands and settings.
    pub name: String,
    pub role: ModelRole,
    /// The file: a name in the folder, or the absolute path of a file elsewhere that is used from there.
    pub file: PathBuf,
    /// The size of the file in bytes.
    pub bytes: u64,
    /// The hash of the file when it was installed.
    pub sha256: Sha256,
    /// The modification time of the file, in nanoseconds since the Unix epoch. If size and time are unchanged, the file
    /// counts as unchanged, and its hash is not computed again.
    pub modified: u64,
    /// The licence, if the catalogue or the file names one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub licence: Option<String>,
}

/// The content of the record.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ModelRecords {
    version: u32,
    /// The chosen model of a role: its name, or [`NONE`]. A role without an entry has the default.
    #[serde(default)]
    pub chosen: BTreeMap<ModelRole, String>,
    #[serde(default)]
    pub installed: Vec<InstalledModel>,
}

impl Default for ModelRecords {
    fn default() -> Self {
        Self { version: VERSION, chosen: BTreeMap::new(), installed: Vec::new() }
    }
}

impl ModelRecords {
    pub fn named(&self, name: &str) -> Option<&InstalledModel> {
        self.installed.iter().find(|model| model.name == name)
    }

    /// Adds a model, replacing one of the same name.
    pub fn put(&mut self, model: InstalledModel) {
        self.installed.retain(|known| known.name != model.name);
        self.installed.push(model);
        self.installed.sort_by(|one, two| (one.role, &one.name).cmp(&(two.role, &two.name)));
    }

    /// Returns the roles for which this model was chosen.
    pub fn roles_of(&self, name: &str) -> Vec<ModelRole> {
        self.chosen.iter().filter(|(_, chosen)| *chosen == name).map(|(role, _)| *role).collect()
    }
}

/// The condition of an installed file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum FileCondition {
    /// The file is unchanged.
    Good,
    /// The file is missing.
    Gone,
    /// The file has changed or cannot be read. The text says how or why.
    Damaged(String),
}

/// The folder of models.
#[derive(Clone, Debug)]
pub struct ModelStore {
    folder: PathBuf,
}

impl ModelStore {
    /// Opens a folder, which need not exist yet.
    pub fn new(folder: impl Into<PathBuf>) -> Self {
        Self { folder: folder.into() }
    }

    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// Returns the absolute path of a model's file, whose path may be relative to the folder.
    pub fn path_of(&self, file: &Path) -> PathBuf {
        self.folder.join(file)
    }

    /// Returns the path of the record.
    pub fn record(&self) -> PathBuf {
        self.folder.join("models.json")
    }

    /// Reads the record. A missing record counts as empty.
    pub fn load(&self) -> Result<ModelRecords, ModelStoreError> {
        let path = self.record();
        let bytes = match crate::files::bytes(&path, crate::files::MAX_SETTINGS) {
            Ok(bytes) => bytes,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(ModelRecords::default()),
            Err(error) => return Err(ModelStoreError::io("read", &path)(error)),
        };
        let damaged = |cause: String| ModelStoreError::Damaged { path: path.clone(), cause };
        let records: ModelRecords = serde_json::from_slice(&bytes).map_err(|error| damaged(error.to_string()))?;
        if records.version != VERSION {
            return Err(damaged(format!(
                "it has format version {}; this ergo reads version {VERSION}",
                records.version
            )));
        }
        Ok(records)
    }

    /// Creates the folder, accessible by this user only.
    pub fn make(&self) -> Result<(), ModelStoreError> {
        use std::os::unix::fs::DirBuilderExt;
        let made = fs::DirBuilder::new().recursive(true).mode(0o700).create(&self.folder);
        made.map_err(ModelStoreError::io("make the folder", &self.folder))
    }

    /// Changes the record under a lock: reads it, calls `change`, and replaces it. If an error is returned, the record
    /// is unchanged.
    pub fn change<T>(&self, change: impl FnOnce(&mut ModelRecords) -> T) -> Result<T, ModelStoreError> {
        self.make()?;
        let lock = self.folder.join("models.lock");
        let held = open_private(&lock).map_err(ModelStoreError::io("open", &lock))?;
        held.lock().map_err(ModelStoreError::io("lock", &lock))?;
        let mut records = self.load()?;
        let value = change(&mut records);
        let path = self.record();
        let fail = |cause: io::Error| ModelStoreError::Io { act: "write", path: path.clone(), cause };
        let text = serde_json::to_vec_pretty(&records).map_err(|error| fail(io::Error::other(error)))?;
        write_private(&path, &text).map_err(fail)?;
        drop(held);
        Ok(value)
    }

    /// Returns the condition of an installed file. The file is read only if its size or modification time has changed.
    pub fn condition(&self, model: &InstalledModel) -> FileCondition {
        let path = self.path_of(&model.file);
        match fs::metadata(&path) {
            Ok(meta) if meta.is_file() && meta.len() == model.bytes && modified(&meta) == model.modified => {
                FileCondition::Good
            }
            Ok(_) => {
                let (condition, modified) = self.examine(model, &mut |_| {});
                if condition == FileCondition::Good {
                    self.record_time(model, modified);
                }
                condition
            }
            Err(error) if error.kind() == io::ErrorKind::NotFound => FileCondition::Gone,
            Err(error) => FileCondition::Damaged(format!("it cannot be read: {error}")),
        }
    }

    /// Records the new modification time of a file whose content is unchanged, so that it is not read again.
    fn record_time(&self, model: &InstalledModel, modified: u64) {
        let noted = self.change(|records| {
            if let Some(known) = records.installed.iter_mut().find(|known| *known == model) {
                known.modified = modified;
            }
        });
        if let Err(error) = noted {
            tracing::warn!(%error, "cannot record the time of a model file");
        }
    }

    /// Reads an installed file, and returns its condition and modification time.
    pub fn examine(&self, model: &InstalledModel, progress: &mut dyn FnMut(u64)) -> (FileCondition, u64) {
        let path = self.path_of(&model.file);
        let unreadable = |error: io::Error| FileCondition::Damaged(format!("it cannot be read: {error}"));
        let meta = match fs::metadata(&path) {
            Ok(meta) => meta,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return (FileCondition::Gone, 0),
            Err(error) => return (unreadable(error), 0),
        };
        if meta.len() != model.bytes {
            let problem = format!("it has {} bytes; when it was installed it had {}", meta.len(), model.bytes);
            return (FileCondition::Damaged(problem), modified(&meta));
        }
        let condition = match digest::of_file(&path, progress) {
            Ok(hash) if hash == model.sha256 => FileCondition::Good,
            Ok(hash) => {
                FileCondition::Damaged(format!("its SHA-256 is {hash}; when it was installed it was {}", model.sha256))
            }
            Err(error) => unreadable(error),
        };
        (condition, modified(&meta))
    }
}

/// Returns the modification time of a file, in nanoseconds since the Unix epoch.
pub fn modified(meta: &fs::Metadata) -> u64 {
    let nanos = i128::from(meta.mtime()) * 1_000_000_000 + i128::from(meta.mtime_nsec());
    u64::try_from(nanos).unwrap_or(0)
}

/// Opens a file, or creates it with access for this user only.
pub(super) fn open_private(path: &Path) -> io::Result<File> {
    fs::OpenOptions::new().read(true).write(true).create(true).truncate(false).mode(0o600).open(path)
}

#[cfg(test)]
pub(crate) mod testing {
    use super::*;

    /// Installs a file with these bytes, as an import does.
    pub(crate) fn install(model_store: &ModelStore, name: &str, role: ModelRole, bytes: &[u8]) -> InstalledModel {
        model_store.make().unwrap();
        let file = PathBuf::from(format!("{name}.gguf"));
        fs::write(model_store.path_of(&file), bytes).unwrap();
        let meta = fs::metadata(model_store.path_of(&file)).unwrap();
        let model = InstalledModel {
            name: name.into(),
            role,
            file,
            bytes: meta.len(),
            sha256: digest::of_bytes(bytes),
            modified: modified(&meta),
            licence: None,
        };
        model_store.change(|records| records.put(model.clone())).unwrap();
        model
    }
}

#[cfg(test)]
mod tests {
    use super::{testing::install, *};

    fn model_store() -> (tempfile::TempDir, ModelStore) {
        let dir = tempfile::tempdir().unwrap();
        let model_store = ModelStore::new(dir.path().join("models"));
        (dir, model_store)
    }

    #[test]
    fn what_is_put_on_the_shelf_is_read_again_and_the_last_of_a_name_counts() {
        let (_dir, model_store) = model_store();
        assert_eq!(model_store.load().unwrap(), ModelRecords::default());
        install(&model_store, "one", ModelRole::Nli, b"first");
        let model = install(&model_store, "one", ModelRole::Llm, b"second");
        model_store.change(|records| records.chosen.insert(ModelRole::Llm, "one".into())).unwrap();
        let records = model_store.load().unwrap();
        assert_eq!(records.installed, [model]);
        assert_eq!(records.roles_of("one"), [ModelRole::Llm]);
        let left: Vec<_> =
            fs::read_dir(model_store.folder()).unwrap().map(|entry| entry.unwrap().file_name()).collect();
        assert_eq!(left.len(), 3, "the model, the record and its lock: {left:?}");
    }

    #[test]
    fn two_at_once_lose_nothing() {
        let (_dir, model_store) = model_store();
        std::thread::scope(|scope| {
            for name in ["a", "b", "c", "d"] {
                let model_store = &model_store;
                scope.spawn(move || install(model_store, name, ModelRole::Llm, name.as_bytes()));
            }
        });
        let names: Vec<_> = model_store.load().unwrap().installed.into_iter().map(|model| model.name).collect();
        assert_eq!(names, ["a", "b", "c", "d"]);
    }

    #[test]
    fn a_damaged_record_is_named_and_left_alone() {
        let (_dir, model_store) = model_store();
        model_store.make().unwrap();
        for text in ["", "{}", "{\"version\": 2}", "{\"version\": 1, \"chosen\": {\"oracle\": \"x\"}}"] {
            fs::write(model_store.record(), text).unwrap();
            let error = model_store.change(|records| records.chosen.clear()).unwrap_err().to_string();
            assert!(error.contains("models.json is damaged"), "{error}");
            assert_eq!(fs::read_to_string(model_store.record()).unwrap(), text);
        }
    }

    #[test]
    fn a_changed_file_is_seen_and_one_that_was_only_touched_is_good() {
        let (_dir, model_store) = model_store();
        let model = install(&model_store, "m", ModelRole::Nli, b"bytes");
        let path = model_store.path_of(&model.file);
        assert_eq!(model_store.condition(&model), FileCondition::Good);
        let touched = InstalledModel { modified: model.modified - 1, ..model.clone() };
        assert_eq!(model_store.condition(&touched), FileCondition::Good, "another time, the same bytes");
        model_store.change(|records| records.put(touched.clone())).unwrap();
        assert_eq!(model_store.condition(&touched), FileCondition::Good);
        assert_eq!(
            model_store.load().unwrap().installed,
            std::slice::from_ref(&model),
            "its time is known from now on"
        );
        fs::write(&path, b"bytez").unwrap();
        let changed = InstalledModel { modified: 1, ..model.clone() };
        assert!(
            matches!(model_store.condition(&changed), FileCondition::Damaged(problem) if problem.contains("SHA-256"))
        );
        fs::write(&path, b"byte").unwrap();
        assert!(
            matches!(model_store.condition(&model), FileCondition::Damaged(problem) if problem.contains("4 bytes"))
        );
        fs::remove_file(&path).unwrap();
        assert_eq!(model_store.condition(&model), FileCondition::Gone);
        fs::create_dir(&path).unwrap();
        assert!(matches!(model_store.condition(&model), FileCondition::Damaged(_)));
    }
}
