//! Exports of a scope as JSON lines: a heading, then each claim with its history, oldest first.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::{
    api::{ClaimView, EventView},
    domain::{ClaimId, Scope},
};

/// The version of the format.
pub const VERSION: u32 = 1;

/// A line of an export.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum ExportLine {
    /// The first line.
    Heading {
        /// The format's version.
        version: u32,
        /// The program that wrote the export.
        program: String,
        /// The exported scope.
        scope: Scope,
        claims: usize,
        /// The time of the export, in milliseconds since the Unix epoch.
        at: u64,
    },
    /// A claim and its history.
    Claim {
        /// The claim at the time of the export.
        claim: Box<ClaimView>,
        /// Its events, oldest first.
        events: Vec<EventView>,
    },
}

/// The error of an invalid export.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum JsonlError {
    #[error("invalid line {line}: {cause}")]
    Malformed {
        /// The line, from 1.
        line: usize,
        cause: String,
    },
    #[error("not an export of ergo: line 1 is not its header")]
    NoHeading,
    /// The file has fewer or more claims than its headings say.
    #[error("incomplete export: its header says {expected} claims, but the file has {found}")]
    WrongCount {
        /// The sum of the headings' counts.
        expected: usize,
        /// The number of claims in the file.
        found: usize,
    },
    /// The format is newer than this program.
    #[error("export version {0} is too new: this ergo reads versions up to {VERSION}")]
    Newer(u32),
}

/// Returns the lines of an export, with claims ordered by time, so that superseded ones come before their successors.
pub fn lines(scope: &Scope, mut claims: Vec<ClaimView>, events: Vec<EventView>, at: u64) -> Vec<ExportLine> {
    claims.sort_by_key(|claim| (claim.at, claim.id));
    let mut touched: BTreeMap<ClaimId, Vec<EventView>> = BTreeMap::new();
    for event in events {
        let mut on = event.targets.clone();
        on.push(event.id);
        on.sort_unstable();
        on.dedup();
        for id in on {
            touched.entry(id).or_default().push(event.clone());
        }
    }
    let program = format!("ergo {}", env!("CARGO_PKG_VERSION"));
    let heading = ExportLine::Heading { version: VERSION, program, scope: scope.clone(), claims: claims.len(), at };
    let rows = claims.into_iter().map(|claim| {
        let mut events = touched.remove(&claim.id).unwrap_or_default();
        events.sort_by_key(|event| (event.at, event.id));
        ExportLine::Claim { claim: Box::new(claim), events }
    });
    std::iter::once(heading).chain(rows).collect()
}

/// Parses an export into its scope and its claims with their lines.
///
/// # Errors
/// If a line is invalid, if the heading is missing or too new, and if claims are missing: a writer that was interrupted
/// between two lines leaves a file that parses.
pub fn read(text: &str) -> Result<(Scope, Vec<(usize, ClaimView)>), JsonlError> {
    let mut scope = None;
    let mut claims = Vec::new();
    let mut expected = 0;
    for (at, line) in text.lines().enumerate().filter(|(_, line)| !line.trim().is_empty()) {
        let parsed = serde_json::from_str(line).map_err(|error| match scope {
            None => JsonlError::NoHeading,
            Some(_) => JsonlError::Malformed { line: at + 1, cause: error.to_string() },
        })?;
        match parsed {
            ExportLine::Heading { version, .. } if version > VERSION => return Err(JsonlError::Newer(version)),
            ExportLine::Heading { scope: named, claims, .. } => {
                scope = Some(named);
                expected = usize::saturating_add(expected, claims);
            }
            ExportLine::Claim { .. } if scope.is_none() => return Err(JsonlError::NoHeading),
            ExportLine::Claim { claim, .. } => claims.push((at + 1, *claim)),
        }
    }
    let scope = scope.ok_or(JsonlError::NoHeading)?;
    let found = claims.len();
    if found == expected { Ok((scope, claims)) } else { Err(JsonlError::WrongCount { expected, found }) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::interchange::fixture::claim;

    #[test]
    fn what_is_written_is_read_again() {
        let (old, new) = (claim(1, "old"), claim(2, "new"));
        let scope = old.scope.clone();
        let lines = lines(&scope, vec![new.clone(), old.clone()], vec![], 5);
        let text: String = lines.iter().map(|line| serde_json::to_string(line).unwrap() + "\n").collect();
        assert_eq!(read(&text).unwrap(), (scope, vec![(2, old), (3, new)]));
    }

    #[test]
    fn each_claim_has_the_acts_that_touched_it_once() {
        let (old, new) = (claim(1, "old"), claim(2, "new"));
        let event = |id: ClaimId, at: u64, targets: Vec<ClaimId>| EventView {
            id,
            kind: "supersede".into(),
            op_id: crate::domain::OpId([0; 16]),
            scope: old.scope.clone(),
            who: "ada".into(),
            agent: None,
            device: old.device,
            device_name: None,
            at,
            targets,
            reason: None,
            statement: None,
            about: None,
            undone: false,
            redo: false,
        };
        let events = vec![event(new.id, 2, vec![old.id]), event(old.id, 1, vec![])];
        let lines = lines(&old.scope.clone(), vec![old, new], events, 5);
        let counts = lines.iter().filter_map(|line| match line {
            ExportLine::Claim { events, .. } => Some(events.iter().map(|event| event.at).collect::<Vec<_>>()),
            ExportLine::Heading { .. } => None,
        });
        let counts: Vec<_> = counts.collect();
        assert_eq!(counts, [vec![1, 2], vec![2]]);
    }

    #[test]
    fn an_export_that_ends_between_two_lines_is_incomplete() {
        let scope = claim(1, "old").scope;
        let lines = lines(&scope, vec![claim(1, "old"), claim(2, "new")], vec![], 5);
        let text: String = lines.iter().take(2).map(|line| serde_json::to_string(line).unwrap() + "\n").collect();
        assert_eq!(read(&text), Err(JsonlError::WrongCount { expected: 2, found: 1 }));
    }

    #[test]
    fn what_is_no_dump_says_so() {
        assert_eq!(read("{}\n"), Err(JsonlError::NoHeading));
        assert_eq!(read(""), Err(JsonlError::NoHeading));
        let heading =
            r#"{"type":"heading","version":9,"program":"x","scope":{"org_id":"a","project":"b"},"claims":0,"at":0}"#;
        assert_eq!(read(heading), Err(JsonlError::Newer(9)));
        let broken = format!("{}\n{{\n", heading.replace('9', "1"));
        assert!(matches!(read(&broken), Err(JsonlError::Malformed { line: 2, .. })));
    }
}
