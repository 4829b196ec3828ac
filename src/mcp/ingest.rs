//! `ergo_ingest`: ingests the file that the call names, if it belongs to the project. A manipulated agent must not be
//! able to ingest other files of this machine, since recall would show their text.

use std::{
    fs, io,
    path::{Component, Path},
};

use rmcp::model::JsonObject;
use serde_json::{Value, json};

use super::call::{ToolCall, ToolError, only, text};
use crate::{
    api::Ingested,
    client::{
        LONG_DEADLINE, Method, Request,
        reference_files::{self, SkipReason, is_hidden, named_in},
    },
    domain::text::sanitize_line,
    files::{PathTarget, locate, real_path},
};

/// A file to send to the daemon.
#[derive(Debug, PartialEq, Eq)]
struct File {
    /// The path by which references name the file.
    name: String,
    /// The content; `None` if the file was deleted.
    text: Option<String>,
}

impl ToolCall<'_> {
    /// Runs `ergo_ingest`.
    pub(super) async fn ingest(&self, mut arguments: JsonObject) -> Result<Ingested, ToolError> {
        only(&arguments, &["path", "text", "scope", "org_id", "project", "who", "op_id"])?;
        let path = text(&mut arguments, "path")?.filter(|path| !path.trim().is_empty());
        let path = path.ok_or_else(|| {
            ToolError::new("`path` is missing. Next: give the file's path relative to the project's root")
        })?;
        let given = text(&mut arguments, "text")?;
        let file = match (given, &self.settings().folder) {
            (Some(text), _) => File { name: path, text: Some(text) },
            (None, Some(folder)) => {
                let folder = folder.clone();
                let read = tokio::task::spawn_blocking(move || read(&folder, &path)).await;
                read.map_err(|error| {
                    ToolError::new(format!(
                        "the file could not be read: {error}. Next: check the \
                    path, or pass the file's content as `text`"
                    ))
                })??
            }
            (None, None) => {
                return Err(ToolError::new(
                    "`text` is missing: this connection has no project folder to read files from. Next: pass the \
                        file's content as `text`",
                ));
            }
        };
        let mut body = self.writing(arguments).await?;
        body.insert("path".to_owned(), json!(file.name));
        body.extend(file.text.as_ref().map(|text| ("text".to_owned(), json!(text))));
        let request = Request { deadline: LONG_DEADLINE, ..Request::new(Method::POST, "/ingest") };
        let done: Ingested = self.ask(Request { body: Some(Value::Object(body)), ..request }).await?;
        if file.text.is_none() && done.retired == 0 {
            let message =
                format!("there is no file {}. Next: give its path relative to the project's root", shown(&done.path));
            return Err(ToolError::new(message));
        }
        Ok(done)
    }
}

/// Returns a path for an answer: cut to 200 characters and without invisible ones.
fn shown(path: &str) -> String {
    sanitize_line(path).chars().take(200).collect()
}

/// Reads a file of the project whose root is `folder`.
fn read(folder: &Path, given: &str) -> Result<File, ToolError> {
    let failed = |why: &str| ToolError::new(format!("{} {why}", shown(given)));
    let outside = "is outside of this project and was not read. Next: pass its content as `text`, or ask a person to \
        run `ergo ingest`";
    let path = folder.join(given.trim());
    let within = path.strip_prefix(folder).map_err(|_| failed(outside))?;
    let mut parts = within.components().filter(|part| *part != Component::CurDir).peekable();
    if parts.peek().is_none() {
        return Err(failed(
            "is the project's root folder. Next: name one file, or ask a person to run `ergo ingest` on the folder",
        ));
    }
    let parts: Vec<_> = parts.collect();
    if parts.iter().any(|part| !matches!(part, Component::Normal(_))) {
        return Err(failed("contains `..`, which is not allowed. Next: give the path relative to the project's root"));
    }
    let hidden =
        "is hidden and was not read, since hidden files often contain secrets. Next: ask a person to run `ergo ingest`";
    if is_hidden(within) {
        return Err(failed(hidden));
    }
    let gone = |error: &io::Error| matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory);
    let real = match locate(folder, &path) {
        Ok(PathTarget::Inside(real)) => {
            // The path may be a link to a hidden file.
            let top = real_path(folder).map_err(|error| failed(&format!("cannot be read: {error}")))?;
            if is_hidden(real.strip_prefix(top).unwrap_or(&real)) {
                return Err(failed(hidden));
            }
            real
        }
        Ok(PathTarget::Outside(_)) => return Err(failed(outside)),
        Err(error) if gone(&error) => path.clone(),
        Err(error) => return Err(failed(&format!("cannot be read: {error}"))),
    };
    let meta = match fs::metadata(&real) {
        Ok(meta) => meta,
        Err(error) if gone(&error) => {
            let name: std::path::PathBuf = parts.iter().collect();
            return Ok(File { name: name.display().to_string(), text: None });
        }
        Err(error) => return Err(failed(&format!("cannot be read: {error}"))),
    };
    if meta.is_dir() {
        return Err(failed(
            "is a folder. Next: ingest its files with one call each, or ask a person to run `ergo ingest` on the folder",
        ));
    }
    reference_files::fits(&meta).map_err(|why| failed(&format!("cannot be ingested: {why}")))?;
    match reference_files::text(&real) {
        Ok(text) => Ok(File { name: named_in(folder, &path), text: Some(text) }),
        Err(SkipReason::NoText(why) | SkipReason::Failed(why)) => Err(failed(&format!("cannot be ingested: {why}"))),
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;

    #[test]
    fn only_plain_files_of_the_project_are_read() {
        let dir = tempfile::tempdir().unwrap();
        let top = dir.path().join("project");
        fs::create_dir_all(top.join("docs")).unwrap();
        fs::write(top.join("docs/a.md"), "# A\n").unwrap();
        fs::write(top.join("image"), b"a\0b").unwrap();
        fs::write(top.join(".env"), "TOKEN=1").unwrap();
        fs::write(dir.path().join("secret"), "s").unwrap();
        symlink(dir.path().join("secret"), top.join("link")).unwrap();
        symlink(top.join("docs/a.md"), top.join("inside.md")).unwrap();
        rustix::fs::mknodat(rustix::fs::CWD, top.join("pipe"), rustix::fs::FileType::Fifo, rustix::fs::Mode::RUSR, 0)
            .unwrap();
        let absolute = top.join("docs/a.md").display().to_string();
        for (given, name) in [
            ("docs/a.md", "docs/a.md"),
            ("./docs/./a.md", "docs/a.md"),
            (&*absolute, "docs/a.md"),
            ("inside.md", "inside.md"),
        ] {
            assert_eq!(read(&top, given).unwrap(), File { name: name.into(), text: Some("# A\n".into()) }, "{given}");
        }
        assert_eq!(read(&top, "./docs/gone.md").unwrap(), File { name: "docs/gone.md".into(), text: None });
        let secret = dir.path().join("secret").display().to_string();
        let cases = [
            (&*secret, "outside of this project"),
            ("link", "outside of this project"),
            ("../secret", "contains `..`"),
            ("docs/../../secret", "contains `..`"),
            (".env", "hidden"),
            ("docs", "a folder"),
            (".", "the project's root folder"),
            ("pipe", "not a regular file"),
            ("image", "binary"),
        ];
        for (given, word) in cases {
            let error = format!("{:?}", read(&top, given).unwrap_err());
            assert!(error.contains(word), "{given}: {error}");
        }
    }
}
