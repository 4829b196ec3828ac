//! The one place that runs git, so that a repository of someone else's runs nothing.

use std::{
    ffi::OsStr,
    process::{Command, Stdio},
};

/// Settings that win over those of the repository: each of the latter names a program that git would run.
const SETTINGS: [&str; 7] = [
    "core.fsmonitor=false",
    "core.hooksPath=/dev/null",
    "core.pager=cat",
    "core.sshCommand=false",
    "credential.helper=",
    // Refreshing the index compares files through the filters that the repository names.
    "diff.autoRefreshIndex=false",
    // A repository that lacks objects would fetch them, by a command of its own choice.
    "protocol.allow=never",
];

/// A git command that reads the repository here. It runs no program that the repository names, and asks nobody.
pub(super) fn command<S: AsRef<OsStr>>(args: impl IntoIterator<Item = S>) -> Command {
    let mut git = Command::new("git");
    git.arg("--no-pager");
    for setting in SETTINGS {
        git.args(["-c", setting]);
    }
    git.args(args)
        .env("GIT_OPTIONAL_LOCKS", "0")
        .env("GIT_NO_LAZY_FETCH", "1")
        .env("GIT_TERMINAL_PROMPT", "0")
        .env_remove("GIT_EXTERNAL_DIFF")
        .stdin(Stdio::null());
    git
}

/// `git diff` in the form that [`super::commit_check`] reads, whatever the repository's settings say.
pub(super) fn diff() -> Command {
    command([
        "diff",
        "--unified=0",
        "--inter-hunk-context=0",
        "--no-color",
        "--no-ext-diff",
        "--no-textconv",
        "--no-renames",
        "--no-relative",
        "--submodule=short",
        "--src-prefix=a/",
        "--dst-prefix=b/",
    ])
}
