//! Writes files atomically: a file appears complete or not at all.

use std::{
    fs::{self, File, OpenOptions, Permissions},
    io::{self, ErrorKind, Write},
    os::unix::fs::{OpenOptionsExt, PermissionsExt},
    path::{Path, PathBuf},
};

use rustix::{
    fs::{CWD, RenameFlags, renameat_with},
    io::Errno,
};

use super::with_suffix;

/// The text between the target's name and the random digits in a draft's name.
const MARK: &str = ".partial-";

/// The number of random bytes in a draft's name.
const RANDOM_BYTES: usize = 6;

/// Suffixes of the files that SQLite creates beside a file that it writes.
const COMPANIONS: [&str; 3] = ["-journal", "-wal", "-shm"];

/// The number of names that are tried. Before a draft is locked, another process may treat it as a leftover and remove
/// it.
const MAX_TRIES: usize = 5;

/// A file that is being written beside its target, readable only by its owner.
///
/// Its name is `TARGET.partial-` and twelve hex digits, and it is locked while its writer lives. A draft that is
/// dropped removes itself; the draft of a killed writer is removed by the next draft for the same target.
#[derive(Debug)]
pub struct DraftFile {
    file: File,
    path: PathBuf,
    target: PathBuf,
    published: bool,
}

impl DraftFile {
    /// Creates an empty draft beside its target, and removes the drafts for the same target that killed writers left.
    ///
    /// # Errors
    /// If the folder cannot be written.
    pub fn beside(target: &Path) -> io::Result<Self> {
        if let Some(name) = target.file_name() {
            clear_leftovers(folder_of(target), Some(name.as_encoded_bytes()));
        }
        for _ in 0..MAX_TRIES {
            let mut random = [0; RANDOM_BYTES];
            getrandom::fill(&mut random).map_err(io::Error::other)?;
            let path = with_suffix(target, &format!("{MARK}{}", hex::encode(random)));
            let file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(&path)?;
            // If the file system has no locks, no draft is ever treated as a leftover.
            let _unlocked = file.try_lock();
            if path.exists() {
                return Ok(Self { file, path, target: target.to_owned(), published: false });
            }
        }
        Err(io::Error::other("its temporary file was removed repeatedly, by another program"))
    }

    /// Returns the file, open for writing.
    pub fn file(&self) -> &File {
        &self.file
    }

    /// Returns the path of the draft.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Gives the draft the permissions of its target; if there is no target, everyone may read it.
    ///
    /// # Errors
    /// Those of the system.
    pub fn keep_mode(&self) -> io::Result<()> {
        let mode = match fs::metadata(&self.target) {
            Ok(meta) => meta.permissions(),
            Err(error) if error.kind() == ErrorKind::NotFound => Permissions::from_mode(0o644),
            Err(error) => return Err(error),
        };
        self.file.set_permissions(mode)
    }

    /// Waits until the content is on the disk.
    ///
    /// # Errors
    /// If the content may be lost.
    pub fn sync(&self) -> io::Result<()> {
        self.file.sync_all()
    }

    /// Waits for the disk and renames the draft to its target, which must not exist unless `replace` is set.
    ///
    /// # Errors
    /// [`ErrorKind::AlreadyExists`], and those of the system. Then nothing is left behind.
    pub fn publish(mut self, replace: bool) -> io::Result<()> {
        self.sync()?;
        if replace {
            fs::rename(&self.path, &self.target)?;
        } else {
            rename_new(&self.path, &self.target)?;
        }
        self.published = true;
        // The name must survive a power cut, too. If the folder cannot be synced, only the content is safe.
        let _unsynced = File::open(folder_of(&self.target)).and_then(|folder| folder.sync_all());
        Ok(())
    }
}

impl Drop for DraftFile {
    fn drop(&mut self) {
        if !self.published {
            remove(&self.path);
        }
    }
}

/// Writes a file that only this user may read, replacing an existing one. It appears complete or not at all.
///
/// # Errors
/// Those of the system; then the old file stays.
pub fn write_private(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let draft = DraftFile::beside(path)?;
    draft.file().write_all(bytes)?;
    draft.publish(true)
}

fn folder_of(path: &Path) -> &Path {
    path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."))
}

/// Removes a draft, with the files that SQLite created beside it.
fn remove(path: &Path) {
    for ending in COMPANIONS {
        let _none = fs::remove_file(with_suffix(path, ending));
    }
    // If this fails, the file's name marks it as a leftover.
    let _left = fs::remove_file(path);
}

/// Removes all drafts that killed writers left in a folder that only ergo writes.
pub fn clear_drafts(folder: &Path) {
    clear_leftovers(folder, None);
}

/// Returns the drafts that killed writers left in a folder.
pub fn left_drafts(folder: &Path) -> Vec<PathBuf> {
    leftovers(folder, None).into_iter().map(|(path, _)| path).collect()
}

fn clear_leftovers(folder: &Path, target: Option<&[u8]>) {
    for (path, _locked) in leftovers(folder, target) {
        remove(&path);
    }
}

/// Returns the drafts of killed writers, whose lock nobody held, and locks them: those for the target with this name,
/// or all.
fn leftovers(folder: &Path, target: Option<&[u8]>) -> Vec<(PathBuf, File)> {
    let Ok(entries) = fs::read_dir(folder) else { return Vec::new() };
    let locked = |entry: fs::DirEntry| {
        let name = entry.file_name();
        let name = name.as_encoded_bytes();
        let (begin, random) = name.split_at(name.len().saturating_sub(2 * RANDOM_BYTES));
        let draft_of = begin.strip_suffix(MARK.as_bytes())?;
        if !random.iter().all(u8::is_ascii_hexdigit) || target.is_some_and(|target| target != draft_of) {
            return None;
        }
        let file = super::open(&entry.path()).ok()?;
        file.try_lock().ok()?;
        Some((entry.path(), file))
    };
    entries.flatten().filter_map(locked).collect()
}

/// Renames a file, and fails if the new name exists.
fn rename_new(from: &Path, to: &Path) -> io::Result<()> {
    match renameat_with(CWD, from, CWD, to, RenameFlags::NOREPLACE) {
        // Some file systems cannot do both in one step. Some of those support hard links.
        Err(Errno::INVAL | Errno::NOSYS | Errno::OPNOTSUPP) => match fs::hard_link(from, to) {
            Ok(()) => {
                let _second_name = fs::remove_file(from);
                Ok(())
            }
            Err(error) if error.kind() == ErrorKind::AlreadyExists => Err(error),
            Err(_) if fs::symlink_metadata(to).is_err() => fs::rename(from, to),
            Err(_) => Err(Errno::EXIST.into()),
        },
        other => Ok(other?),
    }
}

#[cfg(test)]
mod tests {
    use std::{io::Write, os::unix::fs::PermissionsExt};

    use super::*;

    #[test]
    fn a_file_appears_whole_and_private_and_replaces_nothing() {
        let dir = tempfile::tempdir().unwrap();
        let target = dir.path().join("a.ergo");
        let make = |text: &str| {
            let draft = DraftFile::beside(&target).unwrap();
            draft.file().write_all(text.as_bytes()).unwrap();
            draft
        };
        drop(make("given up"));
        assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 0);
        make("one").publish(false).unwrap();
        assert_eq!(fs::metadata(&target).unwrap().permissions().mode() & 0o777, 0o600);
        assert_eq!(make("two").publish(false).unwrap_err().kind(), ErrorKind::AlreadyExists);
        assert_eq!(fs::read_to_string(&target).unwrap(), "one");
        make("two").publish(true).unwrap();
        assert_eq!(fs::read_to_string(&target).unwrap(), "two");
        assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 1);
    }

    #[test]
    fn leftovers_of_killed_writers_go_and_nothing_else() {
        let dir = tempfile::tempdir().unwrap();
        let at = |name: &str| dir.path().join(name);
        for name in ["a.partial-0123456789ab", "a.partial-0123456789ab-journal"] {
            fs::write(at(name), "left").unwrap();
        }
        for name in ["a.partial-mine", "b.partial-0123456789ab", "a.partial-0123456789abc"] {
            fs::write(at(name), "kept").unwrap();
        }
        let running = DraftFile::beside(&at("a")).unwrap();
        let second = DraftFile::beside(&at("a")).unwrap();
        assert!(running.path().exists() && second.path().exists(), "a draft of a living writer stays");
        drop((running, second));
        let mut left: Vec<_> = fs::read_dir(dir.path()).unwrap().map(|entry| entry.unwrap().file_name()).collect();
        left.sort();
        assert_eq!(left, ["a.partial-0123456789abc", "a.partial-mine", "b.partial-0123456789ab"]);
        assert_eq!(left_drafts(dir.path()), [at("b.partial-0123456789ab")]);
        clear_drafts(dir.path());
        assert!(!at("b.partial-0123456789ab").exists() && at("a.partial-mine").exists());
    }
}
