//! The models of this machine: a folder with their files, and the record of what is in it and which one serves which role.
//!
//! It belongs to this machine and never syncs. The record is replaced in one step, under a lock, so that two commands at once
//! lose nothing and a reader never sees half of it.

use std::{
    collections::BTreeMap,
    fs::{self, File},
    io::{self, Write},
    os::unix::fs::{MetadataExt, OpenOptionsExt},
    path::{Path, PathBuf},
};

use serde::{Deserialize, Serialize};

use super::digest::{self, Sha256};
use crate::infer::Role;

/// The form of the record.
const VERSION: u32 = 1;

/// Words that stand where a model's name does and mean something else.
pub const DEFAULT: &str = "default";
/// No model in this role.
pub const NONE: &str = "none";

/// Why the shelf cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum ShelfError {
    /// A file or folder cannot be used.
    #[error("cannot {act} {}: {cause}", path.display())]
    Io {
        /// `read`, `write`, …
        act: &'static str,
        /// The file or folder.
        path: PathBuf,
        /// What the system said.
        cause: io::Error,
    },
    /// The record is not understood.
    #[error("{} is damaged: {cause}", path.display())]
    Damaged {
        /// The record's file.
        path: PathBuf,
        /// What is wrong with it.
        cause: String,
    },
}

impl ShelfError {
    pub(super) fn io(act: &'static str, path: &Path) -> impl FnOnce(io::Error) -> Self {
        let path = path.to_owned();
        move |cause| Self::Io { act, path, cause }
    }
}

/// A model file that this machine has.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Installed {
    /// Its name in commands and settings.
    pub name: String,
    /// What it is used for.
    pub role: Role,
    /// The file: a name in the shelf's folder, or the absolute path of one that lies elsewhere and stays there.
    pub file: PathBuf,
    /// The file's size.
    pub bytes: u64,
    /// The file's hash, when it was accepted.
    pub sha256: Sha256,
    /// When the file was last changed, in nanoseconds since the Unix epoch: while size and time stay, so does the hash.
    pub modified: u64,
    /// The licence, where catalogue or file name one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub licence: Option<String>,
}

/// What the record holds.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Records {
    version: u32,
    /// The model that serves a role: its name, or [`NONE`]; the default where absent.
    #[serde(default)]
    pub chosen: BTreeMap<Role, String>,
    /// The files.
    #[serde(default)]
    pub installed: Vec<Installed>,
}

impl Default for Records {
    fn default() -> Self {
        Self { version: VERSION, chosen: BTreeMap::new(), installed: Vec::new() }
    }
}

impl Records {
    /// The installed model of this name.
    pub fn named(&self, name: &str) -> Option<&Installed> {
        self.installed.iter().find(|model| model.name == name)
    }

    /// Adds a model, instead of one of the same name.
    pub fn put(&mut self, model: Installed) {
        self.installed.retain(|known| known.name != model.name);
        self.installed.push(model);
        self.installed.sort_by(|one, two| (one.role, &one.name).cmp(&(two.role, &two.name)));
    }

    /// The roles for which this model was chosen.
    pub fn roles_of(&self, name: &str) -> Vec<Role> {
        self.chosen.iter().filter(|(_, chosen)| *chosen == name).map(|(role, _)| *role).collect()
    }
}

/// How an installed file is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Condition {
    /// As it was accepted.
    Good,
    /// Not there.
    Gone,
    /// Not as it was accepted; the text says how.
    Damaged(String),
}

/// The folder.
#[derive(Clone, Debug)]
pub struct Shelf {
    folder: PathBuf,
}

impl Shelf {
    /// The shelf in a folder, which need not exist yet.
    pub fn new(folder: impl Into<PathBuf>) -> Self {
        Self { folder: folder.into() }
    }

    /// The folder.
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// Where a file is: in the folder, unless its path is absolute.
    pub fn path_of(&self, file: &Path) -> PathBuf {
        self.folder.join(file)
    }

    /// The record's file.
    pub fn record(&self) -> PathBuf {
        self.folder.join("models.json")
    }

    /// What the record holds; nothing where there is none.
    ///
    /// # Errors
    /// Where it cannot be read, or is not understood.
    pub fn load(&self) -> Result<Records, ShelfError> {
        let path = self.record();
        let bytes = match crate::files::bytes(&path, crate::files::MAX_SETTINGS) {
            Ok(bytes) => bytes,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Records::default()),
            Err(error) => return Err(ShelfError::io("read", &path)(error)),
        };
        let damaged = |cause: String| ShelfError::Damaged { path: path.clone(), cause };
        let records: Records = serde_json::from_slice(&bytes).map_err(|error| damaged(error.to_string()))?;
        if records.version != VERSION {
            return Err(damaged(format!("it has the form {}, and this ergo knows {VERSION}", records.version)));
        }
        Ok(records)
    }

    /// Makes the folder, for this user alone.
    ///
    /// # Errors
    /// Where it cannot be made.
    pub fn make(&self) -> Result<(), ShelfError> {
        use std::os::unix::fs::DirBuilderExt;
        let made = fs::DirBuilder::new().recursive(true).mode(0o700).create(&self.folder);
        made.map_err(ShelfError::io("make the folder", &self.folder))
    }

    /// Changes the record: reads it, lets `change` work on it, and replaces it, while no other command can.
    ///
    /// # Errors
    /// Where the record cannot be read or replaced; then it is as it was.
    pub fn change<T>(&self, change: impl FnOnce(&mut Records) -> T) -> Result<T, ShelfError> {
        self.make()?;
        let lock = self.folder.join("models.lock");
        let held = open_private(&lock).map_err(ShelfError::io("open", &lock))?;
        held.lock().map_err(ShelfError::io("lock", &lock))?;
        let mut records = self.load()?;
        let value = change(&mut records);
        let path = self.record();
        let fail = |cause: io::Error| ShelfError::Io { act: "write", path: path.clone(), cause };
        let text = serde_json::to_vec_pretty(&records).map_err(|error| fail(io::Error::other(error)))?;
        let fresh = self.folder.join(format!("models.json.{}", std::process::id()));
        let written = write_private(&fresh, &text).and_then(|()| fs::rename(&fresh, &path));
        if let Err(error) = written {
            drop(fs::remove_file(&fresh));
            return Err(fail(error));
        }
        drop(held);
        Ok(value)
    }

    /// How an installed file is. Its bytes are read only where size or time say that it was changed.
    pub fn condition(&self, model: &Installed) -> Condition {
        let path = self.path_of(&model.file);
        match fs::metadata(&path) {
            Ok(meta) if meta.is_file() && meta.len() == model.bytes && modified(&meta) == model.modified => {
                Condition::Good
            }
            Ok(_) => self.examine(model, &mut |_| {}).0,
            Err(error) if error.kind() == io::ErrorKind::NotFound => Condition::Gone,
            Err(error) => Condition::Damaged(format!("it cannot be read: {error}")),
        }
    }

    /// How an installed file is, by its bytes, and when it was last changed.
    pub fn examine(&self, model: &Installed, progress: &mut dyn FnMut(u64)) -> (Condition, u64) {
        let path = self.path_of(&model.file);
        let unreadable = |error: io::Error| Condition::Damaged(format!("it cannot be read: {error}"));
        let meta = match fs::metadata(&path) {
            Ok(meta) => meta,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return (Condition::Gone, 0),
            Err(error) => return (unreadable(error), 0),
        };
        if meta.len() != model.bytes {
            let told = format!("it has {} bytes, and had {} when it was installed", meta.len(), model.bytes);
            return (Condition::Damaged(told), modified(&meta));
        }
        let condition = match digest::of_file(&path, progress) {
            Ok(hash) if hash == model.sha256 => Condition::Good,
            Ok(hash) => Condition::Damaged(format!("its SHA-256 is {hash}, and was {}", model.sha256)),
            Err(error) => unreadable(error),
        };
        (condition, modified(&meta))
    }
}

/// When a file was last changed, in nanoseconds since the Unix epoch.
pub fn modified(meta: &fs::Metadata) -> u64 {
    let nanos = i128::from(meta.mtime()) * 1_000_000_000 + i128::from(meta.mtime_nsec());
    u64::try_from(nanos).unwrap_or(0)
}

/// Opens a file that only this user may read, and makes it where it is absent.
pub(super) fn open_private(path: &Path) -> io::Result<File> {
    fs::OpenOptions::new().read(true).write(true).create(true).truncate(false).mode(0o600).open(path)
}

/// Writes a whole file that only this user may read, and waits until it is on the disk.
pub(super) fn write_private(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let mut file = open_private(path)?;
    file.set_len(0)?;
    file.write_all(bytes)?;
    file.sync_all()
}

#[cfg(test)]
pub(crate) mod testing {
    use super::*;

    /// Puts a file with these bytes on a shelf, as an import does.
    pub(crate) fn install(shelf: &Shelf, name: &str, role: Role, bytes: &[u8]) -> Installed {
        shelf.make().unwrap();
        let file = PathBuf::from(format!("{name}.gguf"));
        fs::write(shelf.path_of(&file), bytes).unwrap();
        let meta = fs::metadata(shelf.path_of(&file)).unwrap();
        let model = Installed {
            name: name.into(),
            role,
            file,
            bytes: meta.len(),
            sha256: digest::of_bytes(bytes),
            modified: modified(&meta),
            licence: None,
        };
        shelf.change(|records| records.put(model.clone())).unwrap();
        model
    }
}

#[cfg(test)]
mod tests {
    use super::{testing::install, *};

    fn shelf() -> (tempfile::TempDir, Shelf) {
        let dir = tempfile::tempdir().unwrap();
        let shelf = Shelf::new(dir.path().join("models"));
        (dir, shelf)
    }

    #[test]
    fn what_is_put_on_the_shelf_is_read_again_and_the_last_of_a_name_counts() {
        let (_dir, shelf) = shelf();
        assert_eq!(shelf.load().unwrap(), Records::default());
        install(&shelf, "one", Role::Nli, b"first");
        let model = install(&shelf, "one", Role::Llm, b"second");
        shelf.change(|records| records.chosen.insert(Role::Llm, "one".into())).unwrap();
        let records = shelf.load().unwrap();
        assert_eq!(records.installed, [model]);
        assert_eq!(records.roles_of("one"), [Role::Llm]);
        let left: Vec<_> = fs::read_dir(shelf.folder()).unwrap().map(|entry| entry.unwrap().file_name()).collect();
        assert_eq!(left.len(), 3, "the model, the record and its lock: {left:?}");
    }

    #[test]
    fn two_at_once_lose_nothing() {
        let (_dir, shelf) = shelf();
        std::thread::scope(|scope| {
            for name in ["a", "b", "c", "d"] {
                let shelf = &shelf;
                scope.spawn(move || install(shelf, name, Role::Llm, name.as_bytes()));
            }
        });
        let names: Vec<_> = shelf.load().unwrap().installed.into_iter().map(|model| model.name).collect();
        assert_eq!(names, ["a", "b", "c", "d"]);
    }

    #[test]
    fn a_damaged_record_is_named_and_left_alone() {
        let (_dir, shelf) = shelf();
        shelf.make().unwrap();
        for text in ["", "{}", "{\"version\": 2}", "{\"version\": 1, \"chosen\": {\"oracle\": \"x\"}}"] {
            fs::write(shelf.record(), text).unwrap();
            let error = shelf.change(|records| records.chosen.clear()).unwrap_err().to_string();
            assert!(error.contains("models.json is damaged"), "{error}");
            assert_eq!(fs::read_to_string(shelf.record()).unwrap(), text);
        }
    }

    #[test]
    fn a_changed_file_is_seen_and_one_that_was_only_touched_is_good() {
        let (_dir, shelf) = shelf();
        let model = install(&shelf, "m", Role::Nli, b"bytes");
        let path = shelf.path_of(&model.file);
        assert_eq!(shelf.condition(&model), Condition::Good);
        let touched = Installed { modified: model.modified - 1, ..model.clone() };
        assert_eq!(shelf.condition(&touched), Condition::Good, "another time, the same bytes");
        fs::write(&path, b"bytez").unwrap();
        let told = Installed { modified: 1, ..model.clone() };
        assert!(matches!(shelf.condition(&told), Condition::Damaged(told) if told.contains("SHA-256")));
        fs::write(&path, b"byte").unwrap();
        assert!(matches!(shelf.condition(&model), Condition::Damaged(told) if told.contains("4 bytes")));
        fs::remove_file(&path).unwrap();
        assert_eq!(shelf.condition(&model), Condition::Gone);
        fs::create_dir(&path).unwrap();
        assert!(matches!(shelf.condition(&model), Condition::Damaged(_)));
    }
}
