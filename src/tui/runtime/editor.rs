//! Edits a text in the user's own editor.

use crate::files::{self, PathTarget};
use std::{
    ffi::OsString,
    fs::{self, OpenOptions},
    io::{self, Write},
    os::unix::fs::OpenOptionsExt,
    path::{Path, PathBuf},
    process::Command,
};

/// Opens `text` in `$VISUAL` or `$EDITOR` (else `vi`) and returns what was saved; `None` if it is unchanged.
///
/// Only the user can read the file. It is deleted when the editor ends, unless something was written that cannot be
/// used.
///
/// # Errors
/// One or two sentences for people: the editor ended with an error, or the file cannot be written or read; and where
/// the file is, if it was kept.
pub(super) fn edit(text: &str) -> Result<Option<String>, String> {
    edit_with(&editor_command(), text)
}

fn edit_with(editor: &str, text: &str) -> Result<Option<String>, String> {
    let failed = |error| format!("The text cannot be edited with “{editor}”: {error}");
    let mut file = TemporaryFile::new(text).map_err(failed)?;
    // Ctrl-C in the editor is meant for the editor: without the trap, the shell around it would end and
    // leave the editor running.
    let script = format!("trap : INT QUIT; {editor} \"$1\"");
    let status = Command::new("sh").arg("-c").arg(script).arg("ergo").arg(&file.path).status().map_err(failed)?;
    let saved = files::text(&file.path, files::MAX_SETTINGS);
    let problem = match saved {
        Ok(after) if status.success() => return Ok((after.trim_end() != text.trim_end()).then_some(after)),
        Ok(after) => {
            file.kept = after.trim_end() != text.trim_end();
            format!("The editor “{editor}” ended with {status}: the text is unchanged.")
        }
        Err(error) => {
            file.kept = file.path.exists();
            format!("{}.", failed(error))
        }
    };
    Err(if file.kept { format!("{problem} What you wrote is in {}", file.path.display()) } else { problem })
}

/// Returns the command of the user's editor.
fn editor_command() -> String {
    ["VISUAL", "EDITOR"]
        .into_iter()
        .find_map(|name| std::env::var(name).ok().filter(|value| !value.trim().is_empty()))
        .unwrap_or_else(|| "vi".to_owned())
}

/// Finds a file of the project by its path in it; links that lead out of it are not followed.
///
/// # Errors
/// One sentence for people: there is no such file, or it is outside of the project.
pub(super) fn locate(folder: &Path, path: &str) -> Result<PathBuf, String> {
    match files::locate(folder, &folder.join(path)) {
        Ok(PathTarget::Inside(file)) if file.is_file() => Ok(file),
        Ok(PathTarget::Inside(_)) => Err(format!("“{path}” no longer exists.")),
        Ok(PathTarget::Outside(_)) => Err(format!("“{path}” is outside the project and was not opened.")),
        Err(error) => Err(format!("“{path}” cannot be opened: {error}")),
    }
}

/// Opens a file in `$VISUAL` or `$EDITOR` (else `vi`), at a line from 1.
///
/// # Errors
/// One sentence for people: the editor ended with an error, or cannot be started.
pub(super) fn open(file: &Path, line: Option<usize>) -> Result<(), String> {
    let editor = editor_command();
    let script = format!("trap : INT QUIT; {editor} \"$@\"");
    let status =
        Command::new("sh").arg("-c").arg(script).arg("ergo").args(line_arguments(&editor, file, line)).status();
    match status {
        Ok(status) if status.success() => Ok(()),
        Ok(status) => Err(format!("The editor “{editor}” ended with {status}.")),
        Err(error) => Err(format!("“{}” cannot be opened with “{editor}”: {error}", file.display())),
    }
}

/// Returns the arguments that open a file at a line: most editors take `+12 file`, some `file:12`.
fn line_arguments(editor: &str, file: &Path, line: Option<usize>) -> Vec<OsString> {
    let Some(line) = line else { return vec![file.into()] };
    let program = editor.split_whitespace().next().unwrap_or_default();
    let mut joined = OsString::from(file);
    joined.push(format!(":{line}"));
    match program.rsplit('/').next().unwrap_or_default() {
        "code" | "codium" | "cursor" | "windsurf" => vec!["--goto".into(), joined],
        "hx" | "helix" | "zed" | "subl" => vec![joined],
        _ => vec![format!("+{line}").into(), file.into()],
    }
}

/// A temporary file that is deleted when it is dropped, unless it is kept.
struct TemporaryFile {
    path: PathBuf,
    kept: bool,
}

impl TemporaryFile {
    fn new(text: &str) -> io::Result<Self> {
        let mut name = [0; 8];
        getrandom::fill(&mut name).map_err(|error| io::Error::other(error.to_string()))?;
        let file = Self { path: std::env::temp_dir().join(format!("ergo-{}.md", hex::encode(name))), kept: false };
        OpenOptions::new().write(true).create_new(true).mode(0o600).open(&file.path)?.write_all(text.as_bytes())?;
        Ok(file)
    }
}

impl Drop for TemporaryFile {
    fn drop(&mut self) {
        if !self.kept {
            // It may be gone already.
            drop(fs::remove_file(&self.path));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_editor_is_told_the_line_in_its_own_way() {
        let arguments = |editor: &str, line| line_arguments(editor, Path::new("/p/a.md"), line);
        assert_eq!(arguments("vim", Some(12)), ["+12", "/p/a.md"]);
        assert_eq!(arguments("/usr/bin/nvim -R", Some(3)), ["+3", "/p/a.md"]);
        assert_eq!(arguments("code --wait", Some(12)), ["--goto", "/p/a.md:12"]);
        assert_eq!(arguments("hx", Some(12)), ["/p/a.md:12"]);
        assert_eq!(arguments("vi", None), ["/p/a.md"]);
    }

    #[test]
    fn what_was_written_and_cannot_be_used_is_kept() {
        assert_eq!(edit_with("printf new >", "old"), Ok(Some("new".to_owned())));
        assert_eq!(edit_with("true", "old"), Ok(None));
        for (editor, kept) in [
            ("printf '\\377' >", true),
            ("save() { printf new > \"$1\"; return 3; }; save", true),
            ("false", false),
            ("no-such-editor-of-ergo", false),
        ] {
            let message = edit_with(editor, "old").unwrap_err();
            let path = message.split_once("What you wrote is in ").map(|(_, path)| PathBuf::from(path));
            assert_eq!(path.is_some(), kept, "{message}");
            if let Some(path) = path {
                assert_ne!(fs::read(&path).unwrap(), b"old", "{editor}");
                fs::remove_file(&path).unwrap();
            }
        }
    }

    #[test]
    fn only_files_of_the_project_are_opened() {
        let dir = tempfile::tempdir().unwrap();
        let folder = dir.path().join("project");
        fs::create_dir(&folder).unwrap();
        fs::write(folder.join("a.md"), "x").unwrap();
        fs::write(dir.path().join("secret.md"), "x").unwrap();
        std::os::unix::fs::symlink(dir.path().join("secret.md"), folder.join("link.md")).unwrap();
        assert!(locate(&folder, "a.md").is_ok());
        assert!(locate(&folder, "link.md").unwrap_err().contains("is outside the project"));
        assert!(locate(&folder, "gone.md").is_err());
    }
}
