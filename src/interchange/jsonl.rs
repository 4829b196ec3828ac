//! A dump of a scope as lines of JSON: a heading, then each claim with every act that touched it, oldest first.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::{
    api::{ClaimView, EventView},
    domain::{ClaimId, Scope},
};

/// The version of the form.
pub const VERSION: u32 = 1;

/// One line.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum Line {
    /// The first line.
    Heading {
        /// [`VERSION`] of who wrote it.
        version: u32,
        /// The program that wrote it.
        program: String,
        /// The scope.
        scope: Scope,
        /// How many claims follow.
        claims: usize,
        /// When, in milliseconds since the Unix epoch.
        at: u64,
    },
    /// A claim and its history.
    Claim {
        /// The claim as it is now.
        claim: Box<ClaimView>,
        /// Every act that touched it, the oldest first.
        events: Vec<EventView>,
    },
}

/// What is wrong with a line.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum JsonlError {
    /// It is no JSON of this form.
    #[error("line {line} is not understood: {cause}")]
    Malformed {
        /// The line, from 1.
        line: usize,
        /// What the parser said.
        cause: String,
    },
    /// The first line is no heading.
    #[error("this is no export of ergo: its first line is no heading")]
    NoHeading,
    /// A newer ergo wrote it.
    #[error("this export has version {0}, and this ergo reads up to {VERSION}: it needs a newer ergo")]
    Newer(u32),
}

/// The lines of a dump; claims in the order of their time, so that what was replaced comes before what replaced it.
pub fn lines(scope: &Scope, mut claims: Vec<ClaimView>, events: Vec<EventView>, at: u64) -> Vec<Line> {
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
    let heading = Line::Heading { version: VERSION, program, scope: scope.clone(), claims: claims.len(), at };
    let rows = claims.into_iter().map(|claim| {
        let mut events = touched.remove(&claim.id).unwrap_or_default();
        events.sort_by_key(|event| (event.at, event.id));
        Line::Claim { claim: Box::new(claim), events }
    });
    std::iter::once(heading).chain(rows).collect()
}

/// Reads a dump: its scope, and its claims with the line of each.
pub fn read(text: &str) -> Result<(Scope, Vec<(usize, ClaimView)>), JsonlError> {
    let mut scope = None;
    let mut claims = Vec::new();
    for (at, line) in text.lines().enumerate().filter(|(_, line)| !line.trim().is_empty()) {
        let parsed = serde_json::from_str(line).map_err(|error| match scope {
            None => JsonlError::NoHeading,
            Some(_) => JsonlError::Malformed { line: at + 1, cause: error.to_string() },
        })?;
        match parsed {
            Line::Heading { version, .. } if version > VERSION => return Err(JsonlError::Newer(version)),
            Line::Heading { scope: named, .. } => scope = Some(named),
            Line::Claim { .. } if scope.is_none() => return Err(JsonlError::NoHeading),
            Line::Claim { claim, .. } => claims.push((at + 1, *claim)),
        }
    }
    scope.map(|scope| (scope, claims)).ok_or(JsonlError::NoHeading)
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
            Line::Claim { events, .. } => Some(events.iter().map(|event| event.at).collect::<Vec<_>>()),
            Line::Heading { .. } => None,
        });
        let counts: Vec<_> = counts.collect();
        assert_eq!(counts, [vec![1, 2], vec![2]]);
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
