//! SHA-256 hashes, by which ergo verifies model files.

use std::{
    fmt,
    io::{self, Read},
    path::Path,
    str::FromStr,
};

use crate::files;
use serde::{Deserialize, Serialize};
use sha2::Digest;

/// The number of bytes that are read at a time.
const CHUNK: usize = 1 << 20;

/// A SHA-256 hash. As text it has 64 lower-case hexadecimal digits.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Sha256([u8; 32]);

impl fmt::Display for Sha256 {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&hex::encode(self.0))
    }
}

impl fmt::Debug for Sha256 {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl FromStr for Sha256 {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let wrong = || format!("invalid SHA-256 {text:?}: expected 64 lower-case hexadecimal digits");
        let mut bytes = [0; 32];
        if text.chars().any(|c| c.is_ascii_uppercase()) {
            return Err(wrong());
        }
        hex::decode_to_slice(text, &mut bytes).map_err(|_| wrong())?;
        Ok(Self(bytes))
    }
}

impl TryFrom<String> for Sha256 {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        text.parse()
    }
}

impl From<Sha256> for String {
    fn from(hash: Sha256) -> Self {
        hash.to_string()
    }
}

pub fn of_bytes(bytes: &[u8]) -> Sha256 {
    Sha256(sha2::Sha256::digest(bytes).into())
}

/// Hashes a file. `progress` is called with the number of bytes read so far.
pub fn of_file(path: &Path, progress: &mut dyn FnMut(u64)) -> io::Result<Sha256> {
    let mut file = files::open(path)?;
    let (mut hash, mut buffer, mut done) = (sha2::Sha256::new(), vec![0; CHUNK], 0);
    loop {
        match file.read(&mut buffer) {
            Ok(0) => return Ok(Sha256(hash.finalize().into())),
            Ok(read) => {
                hash.update(buffer.get(..read).unwrap_or_default());
                done += read as u64;
                progress(done);
            }
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_has_the_hash_of_its_bytes_and_known_ones_are_right() {
        let known = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";
        assert_eq!(of_bytes(b"abc").to_string(), known, "the example of FIPS 180-4");
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("file");
        let bytes = vec![7; CHUNK * 2 + 5];
        std::fs::write(&path, &bytes).unwrap();
        let mut heard = 0;
        assert_eq!(of_file(&path, &mut |done| heard = done).unwrap(), of_bytes(&bytes));
        assert_eq!(heard, bytes.len() as u64);
        assert_eq!(known.parse::<Sha256>().unwrap(), of_bytes(b"abc"));
    }
}
