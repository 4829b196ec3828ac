//! Model files on disk: writes out the built-in models, and detects changes of a file by its stamp.

use std::{
    fs, io,
    os::unix::fs::{DirBuilderExt, MetadataExt},
    path::{Path, PathBuf},
    time::SystemTime,
};

use crate::{
    files::write_private,
    infer::{EmbeddedModel, catalogue::digest},
};

/// The metadata of a file by which a change is detected.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct FileStamp {
    length: u64,
    inode: u64,
    modified: Option<SystemTime>,
}

impl FileStamp {
    /// Returns the stamp of the file at a path, or `None` if there is none.
    pub(super) fn of(path: &Path) -> Option<Self> {
        let meta = fs::metadata(path).ok().filter(fs::Metadata::is_file)?;
        Some(Self { length: meta.len(), inode: meta.ino(), modified: meta.modified().ok() })
    }
}

/// Returns the path of a built-in model.
pub(super) fn path_of(model: &EmbeddedModel, folder: &Path) -> PathBuf {
    let hash = model.sha256.get(..12).unwrap_or(model.sha256);
    folder.join(format!("{}-{hash}.gguf", model.name))
}

/// Ensures that the file of a built-in model is in the folder and intact, and returns its path. Replaces a damaged file
/// and removes the files of other versions of the model.
pub fn write_out(model: &EmbeddedModel, folder: &Path) -> io::Result<PathBuf> {
    let path = path_of(model, folder);
    if is_intact(&path, model) {
        return Ok(path);
    }
    fs::DirBuilder::new().recursive(true).mode(0o700).create(folder)?;
    write_private(&path, &model.unpack()?)?;
    remove_other_versions(model, folder, &path);
    Ok(path)
}

fn is_intact(path: &Path, model: &EmbeddedModel) -> bool {
    let size = fs::metadata(path).map_or(0, |meta| meta.len());
    size == model.size && digest::of_file(path, &mut |_| {}).is_ok_and(|hash| hash.to_string() == model.sha256)
}

/// Removes the files of other versions of a model. A process that still reads one is not affected.
fn remove_other_versions(model: &EmbeddedModel, folder: &Path, keep: &Path) {
    let prefix = format!("{}-", model.name);
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        let name = entry.file_name();
        let rest = name.to_str().and_then(|name| name.strip_prefix(&prefix)?.strip_suffix(".gguf"));
        let ours = rest.is_some_and(|hash| hash.len() == 12 && hash.bytes().all(|byte| byte.is_ascii_hexdigit()));
        if ours && entry.path() != keep {
            drop(fs::remove_file(entry.path()));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const BYTES: &[u8] = b"not really a model";

    fn model() -> EmbeddedModel {
        let hash: &'static str = Box::leak(digest::of_bytes(BYTES).to_string().into_boxed_str());
        let compressed: &'static [u8] = Box::leak(zstd::bulk::compress(BYTES, 1).unwrap().into_boxed_slice());
        EmbeddedModel { name: "tiny", sha256: hash, size: BYTES.len() as u64, compressed, base: None }
    }

    #[test]
    fn a_built_in_model_is_written_once_and_mended_when_damaged() {
        let dir = tempfile::tempdir().unwrap();
        let folder = dir.path().join("models");
        let path = write_out(&model(), &folder).unwrap();
        assert_eq!(fs::read(&path).unwrap(), BYTES);
        let first = FileStamp::of(&path).unwrap();
        assert_eq!(write_out(&model(), &folder).unwrap(), path);
        assert_eq!(FileStamp::of(&path), Some(first), "a whole file is left alone");
        for damage in [&BYTES[..5], b"not really a mOdel"] {
            fs::write(&path, damage).unwrap();
            write_out(&model(), &folder).unwrap();
            assert_eq!(fs::read(&path).unwrap(), BYTES);
        }
        assert_eq!(fs::read_dir(&folder).unwrap().count(), 1, "no drafts remain");
    }

    #[test]
    fn files_of_other_versions_are_removed_and_unknown_ones_kept() {
        let dir = tempfile::tempdir().unwrap();
        let old = dir.path().join("tiny-0123456789ab.gguf");
        let unknown = [dir.path().join("tiny-mine.gguf"), dir.path().join("other-0123456789ab.gguf")];
        for file in unknown.iter().chain([&old]) {
            fs::write(file, "x").unwrap();
        }
        write_out(&model(), dir.path()).unwrap();
        assert!(!old.exists() && unknown.iter().all(|file| file.exists()));
    }

    #[test]
    fn where_nothing_can_be_written_it_says_so_and_leaves_nothing() {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("file");
        fs::write(&file, "").unwrap();
        assert!(write_out(&model(), &file.join("models")).is_err());
        // A folder in place of the file: the draft is written but cannot be renamed.
        fs::create_dir_all(path_of(&model(), dir.path()).join("x")).unwrap();
        assert!(write_out(&model(), dir.path()).is_err());
        assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 2);
    }

    #[test]
    fn a_stamp_changes_with_its_file() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("m");
        assert_eq!(FileStamp::of(&path), None);
        fs::write(&path, "one").unwrap();
        let first = FileStamp::of(&path);
        fs::write(&path, "longer").unwrap();
        assert_ne!(FileStamp::of(&path), first);
    }
}
