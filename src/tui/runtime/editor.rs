//! A text in the person's own editor.

use crate::files;
use std::{
    fs::{self, OpenOptions},
    io::{self, Write},
    os::unix::fs::OpenOptionsExt,
    path::PathBuf,
    process::{Command, ExitStatus},
};

/// Opens `text` in `$VISUAL` or `$EDITOR` (else `vi`) and returns what was saved; `None` where it is as before.
///
/// The file is readable by the person alone, and goes when the editor is left.
///
/// # Errors
/// One sentence for people: the editor ended with an error, or the file cannot be written or read.
pub(super) fn edit(text: &str) -> Result<Option<String>, String> {
    let editor = ["VISUAL", "EDITOR"]
        .into_iter()
        .find_map(|name| std::env::var(name).ok().filter(|value| !value.trim().is_empty()))
        .unwrap_or_else(|| "vi".to_owned());
    match saved(&editor, text) {
        Ok(Ok(after)) => Ok((after.trim_end() != text.trim_end()).then_some(after)),
        Ok(Err(status)) => Err(format!("The editor “{editor}” ended with {status}: the text is as it was.")),
        Err(error) => Err(format!("The text cannot be edited with “{editor}”: {error}")),
    }
}

fn saved(editor: &str, text: &str) -> io::Result<Result<String, ExitStatus>> {
    let mut name = [0; 8];
    getrandom::fill(&mut name).map_err(|error| io::Error::other(error.to_string()))?;
    let file = Scratch(std::env::temp_dir().join(format!("ergo-{}.md", hex::encode(name))));
    OpenOptions::new().write(true).create_new(true).mode(0o600).open(&file.0)?.write_all(text.as_bytes())?;
    // An interrupt typed at the editor is the editor's: the shell around it would end of it, and leave the editor alone.
    let script = format!("trap : INT QUIT; {editor} \"$1\"");
    let status = Command::new("sh").arg("-c").arg(script).arg("ergo").arg(&file.0).status()?;
    if status.success() { Ok(Ok(files::text(&file.0, files::MAX_SETTINGS)?)) } else { Ok(Err(status)) }
}

/// A file that goes when it is no longer needed.
struct Scratch(PathBuf);

impl Drop for Scratch {
    fn drop(&mut self) {
        // Already gone is as good.
        drop(fs::remove_file(&self.0));
    }
}
