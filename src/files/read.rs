//! Bounded reads of regular files.

use std::{
    fs::{File, Metadata, OpenOptions},
    io::{self, ErrorKind, Read},
    os::unix::fs::{FileTypeExt, OpenOptionsExt},
    path::Path,
};

use rustix::fs::OFlags;

/// Opens a regular file for reading, and refuses everything else.
///
/// Does not block on a named pipe without a writer.
///
/// # Errors
/// Those of the system, [`ErrorKind::IsADirectory`] for a folder, and [`ErrorKind::InvalidInput`] for other files that
/// are not regular.
pub fn open(path: &Path) -> io::Result<File> {
    let flags = OFlags::NONBLOCK | OFlags::NOCTTY;
    let opened = OpenOptions::new().read(true).custom_flags(flags.bits().cast_signed()).open(path);
    let file = match opened {
        Ok(file) => file,
        // A socket cannot be opened, and the system's error message calls it a device.
        Err(error) => return Err(path.metadata().and_then(|meta| regular(&meta)).err().unwrap_or(error)),
    };
    // Check the open file, because another file may have got its name since the path was resolved.
    regular(&file.metadata()?)?;
    Ok(file)
}

fn regular(meta: &Metadata) -> io::Result<()> {
    let kind = meta.file_type();
    let what = if kind.is_file() {
        return Ok(());
    } else if kind.is_dir() {
        return Err(io::Error::new(ErrorKind::IsADirectory, "it is a folder; name a file"));
    } else if kind.is_fifo() {
        "a pipe"
    } else if kind.is_socket() {
        "a socket"
    } else {
        "a device"
    };
    Err(io::Error::new(ErrorKind::InvalidInput, format!("it is {what}; name a regular file")))
}

/// Reads a whole regular file.
///
/// # Errors
/// Those of [`open`] and of reading, and [`ErrorKind::FileTooLarge`] for more than `limit` bytes.
pub fn bytes(path: &Path, limit: u64) -> io::Result<Vec<u8>> {
    let file = open(path)?;
    let size = file.metadata()?.len();
    if size > limit {
        return Err(too_large(&format!("it has {size} bytes, and the limit is {}", with_unit(limit))));
    }
    all_of(file, limit)
}

/// Reads a whole regular file of UTF-8 text.
///
/// # Errors
/// Those of [`bytes()`], and [`ErrorKind::InvalidData`] if it is not UTF-8.
pub fn text(path: &Path, limit: u64) -> io::Result<String> {
    String::from_utf8(bytes(path, limit)?).map_err(|error| {
        let at = error.utf8_error().valid_up_to() + 1;
        io::Error::new(ErrorKind::InvalidData, format!("it is not UTF-8 text: byte {at} cannot be read"))
    })
}

/// Reads a stream to its end, such as standard input.
///
/// # Errors
/// Those of reading, and [`ErrorKind::FileTooLarge`] for more than `limit` bytes.
pub fn all_of(from: impl Read, limit: u64) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    from.take(limit.saturating_add(1)).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > limit {
        return Err(too_large(&format!("it has more than the limit of {}", with_unit(limit))));
    }
    Ok(bytes)
}

fn too_large(what: &str) -> io::Error {
    io::Error::new(ErrorKind::FileTooLarge, what)
}

fn with_unit(bytes: u64) -> String {
    const KIB: u64 = 1 << 10;
    const MIB: u64 = 1 << 20;
    match bytes {
        0..KIB => format!("{bytes} bytes"),
        KIB..MIB => format!("{bytes} bytes ({} KiB)", bytes >> 10),
        _ => format!("{bytes} bytes ({} MiB)", bytes >> 20),
    }
}

/// Returns the message of a system error without its number, such as “No such file or directory”.
pub fn system_words(error: &io::Error) -> String {
    let words = error.to_string();
    words.split(" (os error").next().unwrap_or(&words).to_owned()
}

/// Returns whether a write failed because the disk, or the user's share of it, is full.
pub fn is_full(error: &io::Error) -> bool {
    matches!(error.kind(), ErrorKind::StorageFull | ErrorKind::QuotaExceeded)
}

#[cfg(test)]
mod tests {
    use std::{fs, os::unix::net::UnixListener};

    use rustix::fs::{CWD, FileType, Mode, mknodat};

    use super::*;

    #[test]
    fn a_file_is_read_up_to_its_limit_and_refused_beyond() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("a");
        fs::write(&path, "12345").unwrap();
        assert_eq!(text(&path, 5).unwrap(), "12345");
        let error = bytes(&path, 4).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::FileTooLarge);
        assert_eq!(error.to_string(), "it has 5 bytes, and the limit is 4 bytes");
        assert_eq!(all_of(io::repeat(b'x'), 9).unwrap_err().kind(), ErrorKind::FileTooLarge);
        fs::write(&path, b"a\xff").unwrap();
        assert_eq!(text(&path, 5).unwrap_err().kind(), ErrorKind::InvalidData);
    }

    #[test]
    fn what_is_no_regular_file_is_refused_without_waiting() {
        let dir = tempfile::tempdir().unwrap();
        let pipe = dir.path().join("pipe");
        mknodat(CWD, &pipe, FileType::Fifo, Mode::RUSR | Mode::WUSR, 0).unwrap();
        let socket = dir.path().join("socket");
        let _listener = UnixListener::bind(&socket).unwrap();
        let link = dir.path().join("link");
        std::os::unix::fs::symlink("/dev/zero", &link).unwrap();
        let dev = Path::new("/dev/zero");
        for (path, what) in [(&*pipe, "a pipe"), (&*socket, "a socket"), (dev, "a device"), (&*link, "a device")] {
            let error = bytes(path, 10).unwrap_err();
            assert!(error.to_string().contains(what), "{error}");
        }
        assert_eq!(open(dir.path()).unwrap_err().kind(), ErrorKind::IsADirectory);
        assert_eq!(open(&dir.path().join("none")).unwrap_err().kind(), ErrorKind::NotFound);
    }
}
