//! Finds programs.

use std::{
    env,
    path::{Path, PathBuf},
};

/// Returns the file of a program: the one at an absolute path, or the first of its name in the folders of `PATH`. A
/// relative path with several components names none.
pub fn find_program(name: &str) -> Option<PathBuf> {
    if name.contains('/') {
        let path = Path::new(name);
        return (path.is_absolute() && path.is_file()).then(|| path.to_owned());
    }
    env::split_paths(&env::var_os("PATH")?).map(|folder| folder.join(name)).find(|file| file.is_file())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_program_is_found_by_name_or_absolute_path() {
        let sh = find_program("sh").unwrap();
        assert_eq!(find_program(sh.to_str().unwrap()), Some(sh));
        for absent in ["no-such-program-anywhere", "/no/such/program", "./sh", "~/sh"] {
            assert_eq!(find_program(absent), None, "{absent}");
        }
    }
}
