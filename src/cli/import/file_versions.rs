//! Reads the versions of a rule file from git.

use std::{
    io::{self, BufRead, BufReader, Read, Write},
    path::{Path, PathBuf},
    process::Stdio,
    thread,
};

use super::{MAX_FILE, source_path};
use crate::{
    cli::{CliError, git},
    domain::marked_section,
    interchange::rules,
};

/// The most commits that are read: the newest of a longer history.
const MAX_COMMITS: usize = 500;

/// The maximum length of the line with which git describes an object, in bytes; longer than a path may be.
const MAX_HEADER_LINE: u64 = 16 * 1024;

/// A commit that changed the file. A merge has the author and the subject of the commit that it brings.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Commit {
    pub(super) id: String,
    /// `YYYY-MM-DD`.
    pub(super) day: String,
    pub(super) author: String,
    pub(super) subject: String,
}

/// A version of the file: a commit, and the rules of the file in it.
pub(super) struct Version {
    pub(super) commit: Commit,
    pub(super) rules: Vec<rules::Rule>,
}

/// Reads the versions of a file that git knows, the oldest first: those of the first parents, so that each version follows
/// from the one before. A merged branch is one version, because its commits and those beside it did not see each other.
pub(super) fn versions(file: &Path) -> Result<Vec<Version>, CliError> {
    let (folder, name) = folder_and_name(file)?;
    let object = |commit: &Commit| format!("{}:./{name}", commit.id);
    let list = run_git(
        &folder,
        file,
        &[
            "log",
            "--no-show-signature",
            "--no-ext-diff",
            "--no-textconv",
            "--no-renames",
            "--no-color",
            "--first-parent",
            "-m",
            "--diff-filter=AM",
            "--format=%H%x1f%P%x1f%aI%x1f%an%x1f%s",
            &format!("--max-count={MAX_COMMITS}"),
            "--",
            &name,
        ],
    )?;
    let mut commits: Vec<(Commit, bool)> = commits(&list).into_iter().rev().collect();
    for (commit, _) in commits.iter_mut().filter(|(_, is_merge)| *is_merge) {
        if let Some((author, subject)) = merged(&folder, file, &name, &commit.id)? {
            (commit.author, commit.subject) = (author, subject);
        }
    }
    let commits: Vec<Commit> = commits.into_iter().map(|(commit, _)| commit).collect();
    let texts = blobs(&folder, &commits.iter().map(object).collect::<Vec<_>>())?;
    // Versions that are missing or too large are left out, and those in which it is unclear what ergo wrote.
    let read = |(commit, text): (Commit, Option<String>)| {
        let text = text.filter(|text| marked_section::check(text).is_ok())?;
        Some(Version { rules: rules::parse(&name, &text).rules, commit })
    };
    Ok(commits.into_iter().zip(texts).filter_map(read).collect())
}

/// Returns the author and the subject of the commit with which a merged branch changed the file, if it is only one.
fn merged(folder: &Path, file: &Path, name: &str, merge: &str) -> Result<Option<(String, String)>, CliError> {
    let range = format!("{merge}^1..{merge}");
    let args =
        ["log", "--no-show-signature", "--no-color", "--no-merges", "-n2", "--format=%an%x1f%s", &range, "--", name];
    let list = run_git(folder, file, &args)?;
    let mut lines = list.lines();
    let first = lines.next().filter(|_| lines.next().is_none()).and_then(|line| line.split_once('\u{1f}'));
    Ok(first.map(|(author, subject)| (author.to_owned(), subject.to_owned())))
}

/// Reads the texts of objects with one call of git, in order; `None` for an object that is missing, or larger than [`MAX_FILE`].
fn blobs(folder: &Path, objects: &[String]) -> Result<Vec<Option<String>>, CliError> {
    if objects.is_empty() {
        return Ok(Vec::new());
    }
    let failed = |error: io::Error| CliError::usage(format_args!("cannot run git in {}: {error}", folder.display()));
    let mut git = git::command(["cat-file", "--batch"]);
    git.current_dir(folder).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
    let mut child = git.spawn().map_err(failed)?;
    let (names, answers) = (child.stdin.take(), child.stdout.take());
    let read = thread::scope(|scope| {
        // Written in a thread of its own: git answers before it has read all names, and would block.
        let writer = scope.spawn(move || {
            let mut names = names.ok_or(io::ErrorKind::BrokenPipe)?;
            objects.iter().try_for_each(|object| writeln!(names, "{object}"))
        });
        let mut answers = BufReader::new(answers.ok_or(io::ErrorKind::BrokenPipe)?);
        let read = objects.iter().map(|_| blob(&mut answers)).collect::<io::Result<Vec<_>>>();
        drop(answers);
        // If git ended early, the reader reports it.
        let _ = writer.join();
        read
    });
    // The exit status does not matter once all answers were read.
    let _ = child.wait();
    read.map_err(failed)
}

/// Reads one answer of `git cat-file --batch`: a line with the size, then the content and a line break; or a line that says why there
/// is no content.
fn blob(answers: &mut impl BufRead) -> io::Result<Option<String>> {
    let mut head = Vec::new();
    answers.take(MAX_HEADER_LINE).read_until(b'\n', &mut head)?;
    if head.last() != Some(&b'\n') {
        return Err(io::Error::new(io::ErrorKind::UnexpectedEof, "git ended before all versions were read"));
    }
    let head = String::from_utf8_lossy(&head);
    let mut fields = head.trim_end().rsplitn(3, ' ');
    let (Some(size), Some(kind)) = (fields.next().and_then(|size| size.parse::<u64>().ok()), fields.next()) else {
        return Ok(None);
    };
    let wanted = kind == "blob" && size <= MAX_FILE;
    let mut content = answers.take(size);
    let mut text = Vec::new();
    if wanted {
        content.read_to_end(&mut text)?;
    } else {
        io::copy(&mut content, &mut io::sink())?;
    }
    answers.read_exact(&mut [0])?;
    Ok(wanted.then(|| String::from_utf8_lossy(&text).into_owned()))
}

/// Parses the output of `git log`, newest commit first, with whether a commit is a merge. Invalid lines are left out.
fn commits(list: &str) -> Vec<(Commit, bool)> {
    let commit = |line: &str| {
        let mut fields = line.splitn(5, '\u{1f}');
        let (id, parents, at) = (fields.next()?, fields.next()?, fields.next()?);
        let (author, subject) = (fields.next()?, fields.next()?);
        let day = at.get(..10).filter(|day| day.parse::<jiff::civil::Date>().is_ok())?;
        let is_id = id.len() >= 40 && id.bytes().all(|byte| byte.is_ascii_hexdigit());
        let text = |text: &str| text.to_owned();
        let commit = Commit { id: text(id), day: text(day), author: text(author), subject: text(subject) };
        is_id.then(|| (commit, parents.contains(' ')))
    };
    list.lines().filter_map(commit).collect()
}

/// Returns the folder of a file, and its name in that folder.
pub(super) fn folder_and_name(file: &Path) -> Result<(PathBuf, String), CliError> {
    let name =
        file.file_name().and_then(|name| name.to_str()).filter(|name| !name.starts_with(':') && !name.contains('\n'));
    let Some(name) = name else {
        return Err(CliError::usage(format_args!("invalid file name “{}”", source_path(file))));
    };
    let folder = file.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    Ok((folder.to_owned(), name.to_owned()))
}

/// Runs git in the folder of a file and returns its output.
fn run_git(folder: &Path, file: &Path, args: &[&str]) -> Result<String, CliError> {
    let output = git::command(args).current_dir(folder).output();
    let output = output.map_err(|error| {
        CliError::usage(format_args!("cannot run git in {}: {error}", folder.display())).hint("--history needs git")
    })?;
    if !output.status.success() {
        let why = String::from_utf8_lossy(&output.stderr);
        let why = why.lines().next().unwrap_or("it failed").trim_start_matches("fatal: ").to_owned();
        return Err(CliError::usage(format_args!("git cannot read the history of {}: {why}", source_path(file))));
    }
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn answers_of_git_are_read_one_by_one_and_large_ones_passed_over() {
        let large = "x".repeat(MAX_FILE as usize + 1);
        let text = format!(
            "{id} blob 6\n- a b\n\n{id}:./CLAUDE.md missing\n{id} tree 3\nabc\n{id} blob {}\n{large}\n{id} blob 0\n\n",
            large.len(),
            id = "a".repeat(40)
        );
        let mut answers = text.as_bytes();
        assert_eq!(blob(&mut answers).unwrap().as_deref(), Some("- a b\n"));
        assert_eq!(blob(&mut answers).unwrap(), None, "missing");
        assert_eq!(blob(&mut answers).unwrap(), None, "a tree");
        assert_eq!(blob(&mut answers).unwrap(), None, "too large");
        assert_eq!(blob(&mut answers).unwrap().as_deref(), Some(""));
        assert!(blob(&mut answers).is_err(), "the end");
    }

    #[test]
    fn lines_of_the_log_are_commits_and_others_are_left_out() {
        let id = "a".repeat(40);
        let list = format!(
            "{id}\u{1f}{id} {id}\u{1f}2026-02-05T10:00:00+01:00\u{1f}Ada\u{1f}Use spaces\nno commit\n{id}\u{1f}\u{1f}soon\u{1f}Ada\u{1f}x\n"
        );
        let text = |text: &str| text.to_owned();
        let commit = Commit { id, day: text("2026-02-05"), author: text("Ada"), subject: text("Use spaces") };
        assert_eq!(commits(&list), [(commit, true)]);
    }
}
