//! Compares claims with the sources that they name.

use std::{collections::HashMap, path::Path};

use crate::{
    domain::{
        ClaimId,
        drift::{self, Drift},
    },
    files::{self, PathTarget},
};

/// The largest file that is read, in bytes.
const MAX_FILE_SIZE: u64 = 1024 * 1024;

/// Compares each source with the file that it names below `folder`. Sources without a file, or with one that is
/// too large, are skipped.
pub fn compare(folder: &Path, sources: &[(ClaimId, String, String)]) -> Vec<(ClaimId, Drift)> {
    let mut texts: HashMap<&str, Option<String>> = HashMap::new();
    let mut found = Vec::new();
    for (id, source, statement) in sources {
        let Some((path, line)) = drift::named(source) else { continue };
        if !folder.join(path).exists() {
            found.push((*id, Drift::Gone));
            continue;
        }
        let text = texts.entry(path).or_insert_with(|| read(folder, path));
        found.extend(text.as_ref().map(|text| (*id, drift::compare(statement, text, line))));
    }
    found
}

/// Reads a regular file of the project as text; links that lead out of it are not followed.
fn read(folder: &Path, path: &str) -> Option<String> {
    match files::locate(folder, &folder.join(path)).ok()? {
        PathTarget::Inside(file) => files::text(&file, MAX_FILE_SIZE).ok(),
        PathTarget::Outside(_) => None,
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;
    use crate::domain::EventId;

    #[test]
    fn files_of_the_project_are_compared_and_others_are_left_alone() {
        let dir = tempfile::tempdir().unwrap();
        let folder = dir.path().join("project");
        fs::create_dir_all(folder.join("docs")).unwrap();
        fs::write(folder.join("docs/a.md"), "Use PostgreSQL 16 for the main store\n").unwrap();
        fs::write(dir.path().join("secret.md"), "Use PostgreSQL 16 for the main store\n").unwrap();
        std::os::unix::fs::symlink(dir.path().join("secret.md"), folder.join("link.md")).unwrap();
        let claim = |n: u8, source: &str| {
            (EventId([n; 32]), source.to_owned(), "Use PostgreSQL 16 for the main store".to_owned())
        };
        let sources =
            [claim(1, "docs/a.md:1"), claim(2, "docs/gone.md:1"), claim(3, "link.md:1"), claim(4, "a meeting")];
        assert_eq!(compare(&folder, &sources), [(EventId([1; 32]), Drift::Same), (EventId([2; 32]), Drift::Gone)]);
    }
}
