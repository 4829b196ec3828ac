//! Records which claims were added to which session: one file per session, one line per injection.
//!
//! The records are not in the store, since hooks must be fast and the records must not sync.

use std::{
    collections::HashSet,
    fs::{self, File, TryLockError},
    io::{self, Write},
    os::unix::fs::{DirBuilderExt, FileExt, MetadataExt, OpenOptionsExt},
    path::{Path, PathBuf},
    time::Duration,
};

use crate::{
    cli::CliError,
    client::injected::{self, Injection},
    domain::{ClaimId, Scope},
};

/// The name under which injections into sessions without an id are recorded.
const UNNAMED: &str = "unnamed";

/// The pause between two attempts to lock a file that another hook has locked.
const LOCK_RETRY_PAUSE: Duration = Duration::from_millis(5);

/// The file of a session, locked by one hook at a time: hooks of a session may run concurrently.
pub(super) struct SessionRecord {
    name: String,
    /// Whether the session has an id. Sessions without one share a file, which does not tell which claims each of them got.
    identified: bool,
    agent: Option<String>,
    path: PathBuf,
    file: File,
    /// Whether the last line was cut by a crash, so that the next one must not continue it.
    is_cut: bool,
    past: Vec<Injection>,
}

impl SessionRecord {
    /// Opens the file of a session, and waits while another hook has it locked.
    pub(super) async fn open(folder: &Path, id: Option<&str>, agent: Option<String>) -> Result<Self, CliError> {
        let failed = |error: io::Error| CliError::file("write", folder, &error);
        fs::DirBuilder::new().recursive(true).mode(0o700).create(folder).map_err(failed)?;
        let name = id.unwrap_or(UNNAMED);
        // A session's name may not be a valid file name.
        let hash = blake3::hash(name.as_bytes()).to_hex();
        let path = folder.join(format!("{}.jsonl", hash.get(..32).unwrap_or_default()));
        let file = loop {
            let file =
                fs::OpenOptions::new().read(true).append(true).create(true).mode(0o600).open(&path).map_err(failed)?;
            match file.try_lock() {
                // Another hook may have removed the file after it was opened and before it was locked.
                Ok(()) if file.metadata().map_err(failed)?.nlink() > 0 => break file,
                Ok(()) => {}
                // A wait that blocks the thread would outlast the hook's timeout.
                Err(TryLockError::WouldBlock) => tokio::time::sleep(LOCK_RETRY_PAUSE).await,
                Err(TryLockError::Error(error)) => return Err(failed(error)),
            }
        };
        let past = injected::read(&file);
        let mut last = *b"\n";
        if let Some(at) = file.metadata().map_err(failed)?.len().checked_sub(1) {
            file.read_exact_at(&mut last, at).map_err(failed)?;
        }
        let (name, identified, is_cut) = (name.chars().take(200).collect(), id.is_some(), last != *b"\n");
        Ok(Self { name, identified, agent, path, file, is_cut, past })
    }

    /// Whether the claim was added to the session and is still in its context; false for a session without an id.
    pub(super) fn knows(&self, claim: ClaimId) -> bool {
        if !self.identified {
            return false;
        }
        let from = self.past.iter().rposition(|past| past.hook == "forget").unwrap_or(0);
        let since: HashSet<_> = self.past.iter().skip(from).flat_map(|past| &past.claims).collect();
        since.contains(&claim)
    }

    /// Returns the time of the first injection with a claim, in milliseconds since the Unix epoch; `None` if there was none, or if the
    /// session has no id.
    pub(super) fn first_injected_at(&self) -> Option<u64> {
        self.past.iter().find(|past| !past.claims.is_empty()).filter(|_| self.identified).map(|past| past.at)
    }

    /// Whether the agent was asked to store its decisions.
    pub(super) fn reminded(&self) -> bool {
        self.past.iter().any(|past| past.hook == "reminder")
    }

    /// Records an injection. Must be called before the claims are printed.
    pub(super) fn record(&mut self, at: u64, hook: &str, scope: &Scope, claims: &[ClaimId]) -> Result<(), CliError> {
        self.append(at, hook, scope, claims, Vec::new())
    }

    fn append(
        &mut self,
        at: u64,
        hook: &str,
        scope: &Scope,
        claims: &[ClaimId],
        questions: Vec<String>,
    ) -> Result<(), CliError> {
        let one = Injection {
            at,
            session: self.name.clone(),
            agent: self.agent.clone(),
            hook: hook.to_owned(),
            scope: scope.clone(),
            claims: claims.to_vec(),
            questions,
        };
        let line = serde_json::to_string(&one).map_err(CliError::internal)?;
        let before = if std::mem::take(&mut self.is_cut) { "\n" } else { "" };
        self.file.write_all(format!("{before}{line}\n").as_bytes()).map_err(CliError::internal)?;
        self.past.push(one);
        Ok(())
    }

    /// Records that the session's context was cleared, so that claims may be added again. Does nothing if none was added.
    pub(super) fn forget(&mut self, at: u64, scope: &Scope) -> Result<(), CliError> {
        if self.first_injected_at().is_none() {
            return Ok(());
        }
        self.record(at, "forget", scope, &[])
    }

    /// Whether the agent was reminded of the question with this token.
    pub(super) fn reminded_of(&self, token: &str) -> bool {
        self.past.iter().flat_map(|past| &past.questions).any(|past| past == token)
    }

    /// Records the questions of which the agent is reminded. Must be called before the reminder is printed.
    pub(super) fn remind_of(&mut self, at: u64, scope: &Scope, tokens: Vec<String>) -> Result<(), CliError> {
        self.append(at, "questions", scope, &[], tokens)
    }

    /// Records that the agent was asked to store its decisions.
    pub(super) fn remind(&mut self, at: u64, scope: &Scope) -> Result<(), CliError> {
        self.record(at, "reminder", scope, &[])
    }
}

impl Drop for SessionRecord {
    /// Removes the file if nothing was recorded, while it is still locked: most hooks have nothing to record.
    fn drop(&mut self) {
        if self.file.metadata().is_ok_and(|file| file.len() == 0) {
            let _ = fs::remove_file(&self.path);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_session_knows_what_it_was_given_until_its_context_is_emptied() {
        let dir = tempfile::tempdir().unwrap();
        let scope = Scope { org_id: "a".into(), project: "b".into() };
        let id = |n| crate::domain::EventId([n; 32]);
        let mut session = SessionRecord::open(dir.path(), Some("../../evil"), None).await.unwrap();
        assert!(!session.knows(id(1)) && session.first_injected_at().is_none());
        session.record(5, "session-start", &scope, &[id(1), id(2)]).unwrap();
        drop(session);
        let mut session = SessionRecord::open(dir.path(), Some("../../evil"), None).await.unwrap();
        assert!(session.knows(id(1)) && !session.knows(id(3)) && !session.reminded());
        assert_eq!(session.first_injected_at(), Some(5));
        session.forget(6, &scope).unwrap();
        assert!(!session.knows(id(1)));
        session.remind(7, &scope).unwrap();
        assert!(session.reminded() && !session.reminded_of("3f2a"));
        session.remind_of(8, &scope, vec!["3f2a".into()]).unwrap();
        drop(session);
        assert!(SessionRecord::open(dir.path(), Some("../../evil"), None).await.unwrap().reminded_of("3f2a"));
        assert!(
            !SessionRecord::open(dir.path(), Some("other"), None).await.unwrap().knows(id(1)),
            "sessions know nothing of each other"
        );
        assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 1, "only what was recorded stays");
    }

    /// A crash of the machine may cut a line anywhere, also within a character.
    #[tokio::test]
    async fn a_cut_line_hides_neither_the_lines_before_it_nor_those_after_it() {
        let dir = tempfile::tempdir().unwrap();
        let scope = Scope { org_id: "a".into(), project: "é".into() };
        let id = |n| crate::domain::EventId([n; 32]);
        let open = async || SessionRecord::open(dir.path(), Some("s"), None).await.unwrap();
        open().await.record(5, "session-start", &scope, &[id(1)]).unwrap();
        let mut session = open().await;
        session.record(6, "user-prompt", &scope, &[id(2)]).unwrap();
        let text = fs::read(&session.path).unwrap();
        let cut = text.iter().rposition(|byte| *byte == 0xc3).unwrap() + 1;
        session.file.set_len(cut as u64).unwrap();
        drop(session);
        open().await.record(7, "user-prompt", &scope, &[id(3)]).unwrap();
        let session = open().await;
        assert_eq!([1, 2, 3].map(|n| session.knows(id(n))), [true, false, true]);
    }

    #[tokio::test]
    async fn a_session_without_claims_was_given_nothing_and_has_nothing_to_forget() {
        let dir = tempfile::tempdir().unwrap();
        let scope = Scope { org_id: "a".into(), project: "b".into() };
        let mut session = SessionRecord::open(dir.path(), Some("s"), None).await.unwrap();
        session.forget(5, &scope).unwrap();
        assert!(session.past.is_empty(), "nothing was given that could be forgotten");
        session.record(6, "session-start", &scope, &[]).unwrap();
        session.remind_of(7, &scope, vec!["3f2a".into()]).unwrap();
        assert_eq!(session.first_injected_at(), None);
        session.record(8, "user-prompt", &scope, &[crate::domain::EventId([1; 32])]).unwrap();
        assert_eq!(session.first_injected_at(), Some(8));
    }

    #[tokio::test]
    async fn a_hook_that_waited_for_a_file_that_was_removed_makes_a_new_one() {
        let dir = tempfile::tempdir().unwrap();
        let scope = Scope { org_id: "a".into(), project: "b".into() };
        let id = crate::domain::EventId([1; 32]);
        let first = SessionRecord::open(dir.path(), Some("s"), None).await.unwrap();
        let second = async {
            let mut second = SessionRecord::open(dir.path(), Some("s"), None).await.unwrap();
            second.record(5, "user-prompt", &scope, &[id]).unwrap();
        };
        let end = async {
            tokio::time::sleep(2 * LOCK_RETRY_PAUSE).await;
            drop(first);
        };
        tokio::join!(second, end);
        assert!(SessionRecord::open(dir.path(), Some("s"), None).await.unwrap().knows(id));
    }

    #[tokio::test]
    async fn sessions_without_an_id_know_nothing_of_each_other() {
        let dir = tempfile::tempdir().unwrap();
        let scope = Scope { org_id: "a".into(), project: "b".into() };
        let id = crate::domain::EventId([1; 32]);
        let mut session = SessionRecord::open(dir.path(), None, None).await.unwrap();
        session.record(5, "session-start", &scope, &[id]).unwrap();
        session.remind_of(6, &scope, vec!["3f2a".into()]).unwrap();
        drop(session);
        let session = SessionRecord::open(dir.path(), None, None).await.unwrap();
        assert!(!session.knows(id) && session.first_injected_at().is_none());
        assert!(session.reminded_of("3f2a"), "a question is put once, by whatever session");
    }

    #[tokio::test]
    async fn the_wait_for_another_hook_can_be_cut_short() {
        let dir = tempfile::tempdir().unwrap();
        let first = SessionRecord::open(dir.path(), Some("s"), None).await.unwrap();
        let second = SessionRecord::open(dir.path(), Some("s"), None);
        assert!(tokio::time::timeout(4 * LOCK_RETRY_PAUSE, second).await.is_err());
        drop(first);
        SessionRecord::open(dir.path(), Some("s"), None).await.unwrap();
    }
}
