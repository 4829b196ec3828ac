//! Test data about rule files and insights.

use super::{HOUR, NOW, card_id, id, scope};
use crate::{
    api::{
        Derivation, InsightView, Insights, Lifecycle, NoteCategory, NoteConflict, NoteFileState, NoteFileView,
        NoteFormat, NotesRun, NotesStatus, NotesWritten,
    },
    domain::ClaimKind,
};

/// Files in different states.
pub(crate) fn status() -> NotesStatus {
    let file = |path: &str, state, claims| NoteFileView {
        path: path.into(),
        scope: Some(scope("api")),
        state,
        fragments: claims / 3 + 1,
        claims,
        cards: if state == NoteFileState::Conflict { vec![card_id(1)] } else { vec![] },
        declined: 0,
        retried: 0,
        scanned_at: (state != NoteFileState::New).then_some(NOW - 2 * HOUR),
        written_at: None,
        problem: (state == NoteFileState::Missing).then(|| "no such file".to_owned()),
    };
    let run = NotesRun {
        at: NOW - 2 * HOUR,
        kind: "scan".into(),
        files: 6,
        changed_files: 2,
        stored: 3,
        superseded: 1,
        ..NotesRun::default()
    };
    NotesStatus {
        watching: true,
        files: vec![
            file("/home/zoe/src/acme/api/AGENTS.md", NoteFileState::InStep, 12),
            file("/home/zoe/src/acme/api/CLAUDE.md", NoteFileState::ChangedHere, 31),
            file("/home/zoe/src/acme/billing-service/.github/copilot-instructions.md", NoteFileState::Conflict, 1),
            file("/home/zoe/src/acme/web/.cursorrules", NoteFileState::ChangedThere, 9),
            file("/home/zoe/src/acme/web/決定/AGENTS.md", NoteFileState::New, 0),
            file("/home/zoe/src/acme/old/CLAUDE.md", NoteFileState::Missing, 4),
        ],
        runs: vec![run],
    }
}

/// Two insights: a principle of two projects, and a rule that decays.
pub(crate) fn insights() -> Insights {
    let derivation = |n: u8, project: &str, weight, statement: &str| Derivation {
        claim: id(n),
        scope: scope(project),
        statement: statement.into(),
        source: Some("CLAUDE.md:12".into()),
        weight,
        promoted: false,
    };
    let principle = InsightView {
        claim: id(120),
        statement: "Secrets never stand in the repository".into(),
        kind: ClaimKind::Constraint,
        principle: Some(id(121)),
        candidate: false,
        derivations: vec![
            derivation(120, "api", 0.6, "Secrets never stand in the repository"),
            derivation(122, "web", 0.4, "Never commit secrets"),
        ],
        projects: 2,
        sightings: 7,
        first_seen: NOW - 900 * HOUR,
        last_seen: NOW - 2 * HOUR,
        confidence: 0.91,
        recency: 0.98,
        quality: 0.7,
        rank: 0.82,
        status: Lifecycle::Active,
        contradicted: false,
        category: NoteCategory::default(),
        domain: "security".into(),
        tags: vec!["git".into()],
    };
    let fading = InsightView {
        claim: id(123),
        statement: "Code reviews take at most a day".into(),
        principle: None,
        candidate: true,
        derivations: vec![derivation(123, "web", 1.0, "Code reviews take at most a day")],
        projects: 1,
        sightings: 1,
        rank: 0.31,
        status: Lifecycle::Decaying,
        contradicted: true,
        ..principle.clone()
    };
    Insights { items: vec![principle, fading], total: 2 }
}

/// The preview of a write into a file.
pub(crate) fn written(path: &str) -> NotesWritten {
    NotesWritten {
        path: path.into(),
        scope: scope("api"),
        format: NoteFormat::ALL[0],
        changed: true,
        written: false,
        removed: false,
        section: "## Rules\n- Use PostgreSQL 16\n- Requests time out after 30 seconds\n".into(),
        before: "## Rules\n- Use PostgreSQL 15\n".into(),
        tokens: 120,
        budget: 2_000,
        chosen: 2,
        left_out: 1,
        said: 3,
        conflicts: vec![NoteConflict {
            path: path.into(),
            line: Some(14),
            says: "Deploy on Fridays".into(),
            against: "Never deploy on Fridays".into(),
            claim: Some(id(14)),
            scope: None,
            card: Some(card_id(1)),
            kind: None,
        }],
    }
}
