//! The only place that runs git, so that a hostile repository cannot run programs.

use std::{
    ffi::OsStr,
    process::{Command, Stdio},
};

/// Settings that override those of the repository, each of which could name a program to run.
const SETTINGS: [&str; 7] = [
    "core.fsmonitor=false",
    "core.hooksPath=/dev/null",
    "core.pager=cat",
    "core.sshCommand=false",
    "credential.helper=",
    // Refreshing the index runs the repository's filters.
    "diff.autoRefreshIndex=false",
    // A partial clone would fetch missing objects with a command of its choice.
    "protocol.allow=never",
];

/// Builds a git command that only reads the repository: it runs no program that the repository names, and never prompts.
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

/// Builds a `git diff` in the format that [`super::commit_check`] reads, whatever the repository's settings are.
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
