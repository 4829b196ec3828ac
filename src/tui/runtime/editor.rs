//! A text in the person's own editor.

use std::{
    fs::{self, OpenOptions},
    io::{self, Write},
    os::unix::fs::OpenOptionsExt,
    path::PathBuf,
    process::Command,
};

/// Opens `text` in `$VISUAL` or `$EDITOR` (else `vi`) and returns what was saved; `None` where it is as before or the editor
/// says no. The file is readable by the person alone, and goes when the editor is left.
pub(super) fn edit(text: &str) -> io::Result<Option<String>> {
    let editor = ["VISUAL", "EDITOR"]
        .into_iter()
        .find_map(|name| std::env::var(name).ok().filter(|value| !value.trim().is_empty()))
        .unwrap_or_else(|| "vi".to_owned());
    let mut name = [0; 8];
    getrandom::fill(&mut name).map_err(|error| io::Error::other(error.to_string()))?;
    let file = Scratch(std::env::temp_dir().join(format!("ergo-{}.md", hex::encode(name))));
    OpenOptions::new().write(true).create_new(true).mode(0o600).open(&file.0)?.write_all(text.as_bytes())?;
    let status = Command::new("sh").arg("-c").arg(format!("{editor} \"$1\"")).arg("ergo").arg(&file.0).status()?;
    if !status.success() {
        return Ok(None);
    }
    let after = fs::read_to_string(&file.0)?;
    Ok((after.trim_end() != text.trim_end()).then_some(after))
}

/// A file that goes when it is no longer needed.
struct Scratch(PathBuf);

impl Drop for Scratch {
    fn drop(&mut self) {
        // Already gone is as good.
        drop(fs::remove_file(&self.0));
    }
}
