//! A store without an engine, with the simplest comparison of norms.

use std::{path::Path, sync::Arc};

use ed25519_dalek::SigningKey;
use ergo::{
    domain::{
        Body, ClaimId, ClaimKind, EventId, EventKind, Norm, OpId, Scope, SignedEvent,
        derive::local,
        guard_report::{ComparedClaim, Evidence, PairCheck, RuleId},
        norm::{IndexTerms, Modality, SubjectKind},
    },
    store::{Act, Committed, EventDraft, Ref, Store, StoreOptions},
};
use tempfile::TempDir;

/// Two norms contradict each other when they share the subject and differ in modality, or in value.
pub struct Plain;

impl PairCheck for Plain {
    fn version(&self) -> u32 {
        1
    }

    fn contradiction(&self, ours: ComparedClaim<'_>, theirs: ComparedClaim<'_>) -> Option<Evidence> {
        let opposed = |a: &Norm, b: &Norm| {
            a.subject == b.subject
                && (a.modality != b.modality || (a.value.is_some() && b.value.is_some() && a.value != b.value))
        };
        let found = ours.norms.iter().any(|a| theirs.norms.iter().any(|b| opposed(a, b)));
        found.then(|| Evidence { rule: RuleId::ValueConflict, ..Evidence::default() })
    }

    fn index_terms(&self, norms: &[Norm], statement: &str) -> IndexTerms {
        let mut terms: Vec<String> = statement.to_lowercase().split_whitespace().map(str::to_owned).collect();
        terms.sort_unstable();
        terms.dedup();
        let mut subjects: Vec<String> = norms.iter().map(|norm| norm.subject.clone()).collect();
        subjects.sort_unstable();
        subjects.dedup();
        let words: Vec<String> = statement.to_lowercase().split_whitespace().map(str::to_owned).collect();
        let mut phrases: Vec<String> = words.windows(2).map(|pair| pair.join(" ")).collect();
        phrases.sort_unstable();
        phrases.dedup();
        IndexTerms { pairs: subjects.clone(), subjects, terms, phrases }
    }
}

/// A store in a folder of its own.
pub struct Fixture {
    pub dir: TempDir,
    pub store: Store,
    now: u64,
    ops: u64,
}

pub fn key(n: u8) -> SigningKey {
    SigningKey::from_bytes(&[n; 32])
}

pub fn open(path: &Path) -> Store {
    Store::open_with(path, key(1), Arc::new(Plain), StoreOptions { durable: false }).unwrap()
}

pub fn scope(name: &str) -> Scope {
    Scope::new("acme", name).unwrap()
}

/// A statement about a subject: `must` or `must_not` have a value.
pub fn body(subject: &str, value: &str, must: bool) -> Body {
    let verb = if must { "must" } else { "must not" };
    Body {
        statement: Some(format!("{subject} {verb} be {value}")),
        reason: Some(format!("since {subject} was measured")),
        norms: Some(vec![Norm {
            modality: if must { Modality::Must } else { Modality::MustNot },
            subject: subject.into(),
            subject_kind: SubjectKind::Present,
            value: Some(value.into()),
            ..Norm::default()
        }]),
        ..Body::default()
    }
}

pub fn claim(kind: ClaimKind, body: Body) -> EventDraft {
    EventDraft { claim_kind: Some(kind), body, ..EventDraft::new(EventKind::Assert, []) }
}

pub fn decision(subject: &str, value: &str) -> EventDraft {
    claim(ClaimKind::Decision, body(subject, value, true))
}

pub fn fact(name: &str, value: &str, replaces: impl IntoIterator<Item = ClaimId>) -> EventDraft {
    let body = Body { key: Some(name.into()), statement: Some(format!("{name} is {value}")), ..Body::default() };
    EventDraft {
        claim_kind: Some(ClaimKind::Fact),
        body,
        ..EventDraft::new(EventKind::FactSet, replaces.into_iter().map(Ref::Id))
    }
}

pub fn on(kind: EventKind, targets: &[EventId], reason: &str) -> EventDraft {
    let mut draft = EventDraft::new(kind, targets.iter().copied().map(Ref::Id));
    draft.body.reason = Some(reason.into());
    draft
}

pub fn supersede(targets: &[ClaimId], new: EventDraft) -> EventDraft {
    EventDraft { kind: EventKind::Supersede, targets: targets.iter().copied().map(Ref::Id).collect(), ..new }
}

pub fn local_kind(kind: &str) -> EventKind {
    EventKind::Local(kind.into())
}

/// The drafts that undo an act.
pub fn undo(store: &Store, op: &OpId) -> Vec<EventDraft> {
    let events = store.reader().op(op).unwrap();
    let (here, shared): (Vec<_>, Vec<_>) = events.iter().partition(|event| matches!(event.kind, EventKind::Local(_)));
    let mut drafts = Vec::new();
    for (kind, events) in [(EventKind::Undo, shared), (local_kind(local::UNDO), here)] {
        if !events.is_empty() {
            let targets: Vec<EventId> = events.iter().map(|event| event.id).collect();
            drafts.push(on(kind, &targets, "undone"));
        }
    }
    drafts
}

impl Fixture {
    pub fn new() -> Self {
        Self::of(1)
    }

    /// The store of another device.
    pub fn of(device: u8) -> Self {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("ergo.db");
        let store = Store::open_with(&path, key(device), Arc::new(Plain), StoreOptions { durable: false }).unwrap();
        Self { dir, store, now: 1_700_000_000_000, ops: 0 }
    }

    /// The time of the last act.
    pub fn now(&self) -> u64 {
        self.now
    }

    pub fn op(&mut self) -> OpId {
        self.ops += 1;
        let mut id = [0; 16];
        id[..8].copy_from_slice(&self.ops.to_be_bytes());
        OpId(id)
    }

    pub fn act_in(&mut self, place: &str, drafts: Vec<EventDraft>) -> Committed {
        self.now += 1_000;
        let act = Act {
            scope: scope(place),
            identity: None,
            who: "ada".into(),
            agent: None,
            op: self.op(),
            now: self.now,
            drafts,
        };
        self.store.commit(act).unwrap()
    }

    pub fn act(&mut self, drafts: Vec<EventDraft>) -> Committed {
        self.act_in("api", drafts)
    }

    pub fn add(&mut self, draft: EventDraft) -> ClaimId {
        self.act(vec![draft]).created[0]
    }

    /// Every event, with the body that it has now.
    pub fn events(&self) -> Vec<SignedEvent> {
        self.store.reader().signed_events(0, usize::MAX >> 1).unwrap().into_iter().map(|(_, event)| event).collect()
    }
}
