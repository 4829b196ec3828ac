//! The record of the claims that hooks injected into agent sessions on this machine: one file per
//! session, one line per injection.

use std::{
    collections::BTreeSet,
    fs::{self, File},
    io::{self, BufRead, BufReader, ErrorKind},
    path::{Path, PathBuf},
    time::{SystemTime, UNIX_EPOCH},
};

use serde::{Deserialize, Serialize};

use crate::domain::{ClaimId, Scope};

/// The folder of these files, in the machine's state folder.
pub const FOLDER: &str = "injected";

/// One injection, or another event of a session.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Injection {
    /// The time, in milliseconds since the Unix epoch.
    pub at: u64,
    /// The session id that the agent's program gives.
    pub session: String,
    /// The agent's program, if its hook names it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agent: Option<String>,
    /// The hook: `session-start`, `user-prompt`, `post-tool`; `forget` if the session's context was emptied,
    /// `reminder` if the agent was asked to store its decisions, `questions` if it was reminded of questions.
    pub hook: String,
    pub scope: Scope,
    #[serde(default)]
    pub claims: Vec<ClaimId>,
    /// The tokens of the questions that the agent was reminded of.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub questions: Vec<String>,
}

/// Parses the lines of a file and skips those that a crash cut short.
pub fn read(file: &File) -> Vec<Injection> {
    // By bytes: a line that was cut within a character is not valid UTF-8.
    let lines = BufReader::new(file).split(b'\n').map_while(Result::ok);
    lines.filter_map(|line| serde_json::from_slice(&line).ok()).collect()
}

/// Returns every injection on this machine, newest first. `state` is the machine's state folder.
///
/// # Errors
/// If the folder or a file cannot be read; the error names it.
pub fn all(state: &Path) -> Result<Vec<Injection>, (PathBuf, io::Error)> {
    let folder = state.join(FOLDER);
    let entries = match fs::read_dir(&folder) {
        Ok(entries) => entries,
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(Vec::new()),
        Err(error) => return Err((folder, error)),
    };
    let mut found = Vec::new();
    for entry in entries.flatten() {
        if let Some(file) = open(&entry.path())? {
            found.extend(read(&file));
        }
    }
    found.sort_by_key(|injection| std::cmp::Reverse(injection.at));
    Ok(found)
}

/// Opens a record; `None` if it is gone: a hook that has nothing to record removes its file again.
fn open(path: &Path) -> Result<Option<File>, (PathBuf, io::Error)> {
    match File::open(path) {
        Ok(file) => Ok(Some(file)),
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
        Err(error) => Err((path.to_owned(), error)),
    }
}

/// Removes the records of sessions whose last injection is older than `before`, in milliseconds since the Unix epoch; with `dry_run`
/// only counts them. Returns how many there are, and their bytes. A record in use by a hook stays.
///
/// # Errors
/// If the folder or a file cannot be read or removed; the error names it.
pub fn forget_old(state: &Path, before: u64, dry_run: bool) -> Result<(usize, u64), (PathBuf, io::Error)> {
    let folder = state.join(FOLDER);
    let entries = match fs::read_dir(&folder) {
        Ok(entries) => entries,
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok((0, 0)),
        Err(error) => return Err((folder, error)),
    };
    let (mut files, mut bytes) = (0, 0);
    for entry in entries.flatten() {
        let path = entry.path();
        let failed = |error| (path.clone(), error);
        let Some(file) = open(&path)? else { continue };
        if file.try_lock().is_err() {
            continue;
        }
        let metadata = file.metadata().map_err(failed)?;
        let last = match read(&file).iter().map(|injection| injection.at).max() {
            Some(last) => last,
            // Without a readable line, the time of its last change counts.
            None => milliseconds(metadata.modified().map_err(failed)?),
        };
        if last >= before {
            continue;
        }
        files += 1;
        bytes += metadata.len();
        if !dry_run {
            fs::remove_file(&path).map_err(failed)?;
        }
    }
    Ok((files, bytes))
}

/// Converts a time into milliseconds since the Unix epoch.
fn milliseconds(time: SystemTime) -> u64 {
    time.duration_since(UNIX_EPOCH).map_or(0, |since| u64::try_from(since.as_millis()).unwrap_or(u64::MAX))
}

/// A claim that was injected into sessions.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct InjectedClaim {
    pub claim: ClaimId,
    pub scope: Scope,
    /// Its text, if the caller looked it up.
    pub statement: Option<String>,
    /// The number of injections.
    pub times: usize,
    /// The number of sessions.
    pub sessions: usize,
    /// The hooks that injected it.
    pub hooks: BTreeSet<String>,
    /// The agents of these sessions, as far as known.
    pub agents: BTreeSet<String>,
    /// The last time, in milliseconds since the Unix epoch.
    pub last: u64,
}

/// Groups injections by claim, the last injected claim first. `all` is sorted newest first.
pub fn by_claim(all: &[Injection]) -> Vec<InjectedClaim> {
    let mut out: Vec<(InjectedClaim, BTreeSet<&str>)> = Vec::new();
    let mut places = std::collections::HashMap::new();
    for injection in all {
        for claim in &injection.claims {
            let place = *places.entry(*claim).or_insert_with(|| {
                let entry = InjectedClaim {
                    claim: *claim,
                    scope: injection.scope.clone(),
                    statement: None,
                    times: 0,
                    sessions: 0,
                    hooks: BTreeSet::new(),
                    agents: BTreeSet::new(),
                    last: injection.at,
                };
                out.push((entry, BTreeSet::new()));
                out.len() - 1
            });
            let (entry, sessions) = &mut out[place];
            entry.times += 1;
            entry.last = entry.last.max(injection.at);
            entry.hooks.insert(injection.hook.clone());
            entry.agents.extend(injection.agent.clone());
            sessions.insert(&injection.session);
        }
    }
    out.into_iter().map(|(entry, sessions)| InjectedClaim { sessions: sessions.len(), ..entry }).collect()
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn the_record_of_a_session_goes_once_its_last_injection_is_old() {
        let dir = tempfile::tempdir().unwrap();
        fs::create_dir(dir.path().join(FOLDER)).unwrap();
        let put = |name: &str, text: &str| fs::write(dir.path().join(FOLDER).join(name), text).unwrap();
        let line = |at: u64| {
            let scope = Scope { org_id: "a".into(), project: "b".into() };
            let (session, hook) = ("s".to_owned(), "user-prompt".to_owned());
            let one = Injection { at, session, agent: None, hook, scope, claims: vec![], questions: vec![] };
            serde_json::to_string(&one).unwrap() + "\n"
        };
        put("ended", &line(5));
        put("goes-on", &(line(5) + &line(10)));
        put("damaged", "{");
        put("empty", "");
        let empty = File::options().append(true).open(dir.path().join(FOLDER).join("empty")).unwrap();
        empty.set_modified(UNIX_EPOCH + Duration::from_millis(5)).unwrap();
        put("in-use", &line(5));
        let used = File::open(dir.path().join(FOLDER).join("in-use")).unwrap();
        used.lock().unwrap();
        let bytes = line(5).len() as u64;
        assert_eq!(forget_old(dir.path(), 10, true).unwrap(), (2, bytes));
        assert_eq!(forget_old(dir.path(), 10, false).unwrap(), (2, bytes));
        drop(used);
        let mut left: Vec<_> =
            fs::read_dir(dir.path().join(FOLDER)).unwrap().map(|file| file.unwrap().file_name()).collect();
        left.sort();
        assert_eq!(left, ["damaged", "goes-on", "in-use"]);
        assert_eq!(forget_old(&dir.path().join("none"), 10, false).unwrap(), (0, 0));
    }

    #[test]
    fn what_was_given_is_counted_by_claim() {
        let id = |n| crate::domain::EventId([n; 32]);
        let one = |at, session: &str, hook: &str, claims: &[u8]| Injection {
            at,
            session: session.into(),
            agent: (session == "s").then(|| "claude-code".into()),
            hook: hook.into(),
            scope: Scope { org_id: "a".into(), project: "b".into() },
            claims: claims.iter().map(|n| id(*n)).collect(),
            questions: Vec::new(),
        };
        let all = [one(9, "t", "user-prompt", &[1]), one(7, "s", "session-start", &[1, 2]), one(5, "s", "forget", &[])];
        let given = by_claim(&all);
        assert_eq!(given.iter().map(|given| given.claim).collect::<Vec<_>>(), [id(1), id(2)]);
        assert_eq!((given[0].times, given[0].sessions, given[0].last), (2, 2, 9));
        assert_eq!(given[0].hooks.len(), 2);
        assert_eq!(given[1].agents.iter().collect::<Vec<_>>(), ["claude-code"]);
    }
}
