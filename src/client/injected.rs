//! The record of the claims that hooks injected into agent sessions on this machine: one file per
//! session, one line per injection.

use std::{
    collections::BTreeSet,
    fs::{self, File},
    io::{self, BufRead, BufReader, ErrorKind},
    path::{Path, PathBuf},
};

use serde::{Deserialize, Serialize};

use crate::domain::{ClaimId, Scope};

/// The folder of these files, in the machine's state folder.
pub const FOLDER: &str = "injected";

/// One injection.
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
    /// The scope of the claims.
    pub scope: Scope,
    /// The injected claims.
    #[serde(default)]
    pub claims: Vec<ClaimId>,
    /// The tokens of the questions that the agent was reminded of.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub questions: Vec<String>,
}

/// Parses the lines of a file and skips those that a crash cut short.
pub fn read(file: &File) -> Vec<Injection> {
    BufReader::new(file).lines().map_while(Result::ok).filter_map(|line| serde_json::from_str(&line).ok()).collect()
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
        let file = File::open(entry.path()).map_err(|error| (entry.path(), error))?;
        found.extend(read(&file));
    }
    found.sort_by_key(|one| std::cmp::Reverse(one.at));
    Ok(found)
}

/// A claim that was injected into sessions.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct InjectedClaim {
    /// The claim.
    pub claim: ClaimId,
    /// Its scope.
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
    for one in all {
        for claim in &one.claims {
            let place = *places.entry(*claim).or_insert_with(|| {
                let given = InjectedClaim {
                    claim: *claim,
                    scope: one.scope.clone(),
                    statement: None,
                    times: 0,
                    sessions: 0,
                    hooks: BTreeSet::new(),
                    agents: BTreeSet::new(),
                    last: one.at,
                };
                out.push((given, BTreeSet::new()));
                out.len() - 1
            });
            let (given, sessions) = &mut out[place];
            given.times += 1;
            given.last = given.last.max(one.at);
            given.hooks.insert(one.hook.clone());
            given.agents.extend(one.agent.clone());
            sessions.insert(&one.session);
        }
    }
    out.into_iter().map(|(given, sessions)| InjectedClaim { sessions: sessions.len(), ..given }).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

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
