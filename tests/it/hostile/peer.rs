//! A malicious peer of a team: all of its texts contain terminal escape sequences.

use std::{fs, sync::Arc};

use ed25519_dalek::SigningKey;
use ergo::{
    api::{Caller, ExportRequest},
    domain::{
        Body, ClaimKind, EventId, EventKind, Norm, OpId, Qualifiers, Scope,
        norm::{Modality, SubjectKind},
        roster::{Grant, Granted, Role, RosterChange},
    },
    engine::{Engine, EngineConfig},
    guard::StructuralPairCheck,
    store::{Act, EventDraft, Ref, RosterDraft, Store},
    sync::transfer,
};

use crate::support::TestHome;

pub(super) const CONFIG: &str = "who = \"bob\"\n[daemon]\ntcp = false\n[models]\nembedder = \"none\"\nnli = \"none\"\nllm = \"none\"\n[sync]\nmode = \"off\"\n";

/// CSI, OSC 52, OSC 8, BEL, a C1 CSI, carriage return, line break, backspace, DEL, bidi override and isolate, zero-width space, a tag.
pub(super) const EVIL: &str = "\u{1b}[31m\u{1b}]52;c;eA==\u{7}\u{1b}]8;;x\u{1b}\\\u{9b}2J\r\n\u{8}\u{7f}\u{202e}\u{2066}\u{200b}\u{feff}\u{e0041}";

/// The scope of the hostile peer. Even in an event its names may hold no control characters.
const PLACE: [&str; 2] = ["ac\u{202e}me", "a\u{200b}pi"];

pub(super) fn evil(word: &str) -> String {
    format!("{word}{EVIL}")
}

pub(super) fn place() -> Scope {
    Scope { org_id: PLACE[0].into(), project: PLACE[1].into() }
}

/// A machine whose key is known.
pub(super) struct Machine {
    pub(super) home: TestHome,
    key: SigningKey,
}

impl Machine {
    fn new(number: u8) -> Self {
        let key = SigningKey::from_bytes(&[number; 32]);
        let home = TestHome::with_key(CONFIG, &key);
        Self { home, key }
    }

    fn store(&self) -> Store {
        Store::open(&self.home.paths().store(), self.key.clone(), Arc::new(StructuralPairCheck)).unwrap()
    }

    fn engine(&self) -> Engine {
        Engine::open(EngineConfig::new(self.home.paths().store(), self.key.clone())).unwrap()
    }
}

fn body(subject: &str, modality: Modality) -> Body {
    Body {
        statement: Some(evil(&format!("The {subject} {}", modality_words(modality)))),
        reason: Some(evil("because")),
        source: Some(evil("docs/a.md:1")),
        norms: Some(vec![Norm {
            modality,
            subject: evil(subject),
            subject_kind: SubjectKind::Present,
            value: Some(evil("blue")),
            ..Norm::default()
        }]),
        normaliser: Some(evil("rules")),
        qualifiers: Some(Qualifiers {
            env: Some(evil("prod")),
            team: Some(evil("core")),
            tenant: Some(evil("t")),
            valid_from: Some(evil("2020-01-01")),
            valid_until: Some(evil("2090-01-01")),
        }),
        ..Body::default()
    }
}

fn modality_words(modality: Modality) -> &'static str {
    if modality == Modality::MustNot { "must not be blue" } else { "must be blue" }
}

/// The hostile peer: a team, devices, people, scopes and claims whose every text is poisoned. Written past the checks of the
/// engine, as a changed program would.
struct Hostile {
    team: EventId,
    machine: Machine,
    now: u64,
    ops: u8,
}

impl Hostile {
    fn new(victim: &Engine) -> Self {
        let now = 1_790_000_000_000;
        let mut one = Self { team: EventId([0; 32]), machine: Machine::new(1), now, ops: 0 };
        let mut store = one.machine.store();
        let create =
            RosterChange::Create { name: evil("team"), person: evil("ada"), device_name: evil("lap$(touch pwned)") };
        one.team = one.roster(&mut store, None, create);
        let team = Some(one.team);
        let grant = Grant { role: Role::Admin, scopes: Granted::All };
        let add = RosterChange::Add {
            device: victim.device(),
            person: evil("bob"),
            name: evil("bobs"),
            grant: grant.clone(),
        };
        one.roster(&mut store, team, add);
        let third = ergo::domain::DeviceId(SigningKey::from_bytes(&[3; 32]).verifying_key().to_bytes());
        one.roster(
            &mut store,
            team,
            RosterChange::Add { device: third, person: evil("eve"), name: evil("eves"), grant },
        );
        one.roster(
            &mut store,
            team,
            RosterChange::Adopt { scope: place(), identity: Some(evil("git")), heads: vec![] },
        );
        one
    }

    fn op(&mut self) -> OpId {
        self.ops += 1;
        OpId([self.ops; 16])
    }

    fn roster(&mut self, store: &mut Store, team: Option<EventId>, change: RosterChange) -> EventId {
        let (op, now) = (self.op(), self.now);
        let (who, agent) = (evil("ada"), Some(evil("claude")));
        let draft = RosterDraft { team, change, who, agent, reason: Some(evil("why")), op, now };
        store.commit_roster(draft).unwrap().0
    }

    fn act(&mut self, store: &mut Store, now: u64, drafts: Vec<EventDraft>) -> Vec<EventId> {
        let (who, agent) = (evil("ada"), Some(evil("claude")));
        let op = self.op();
        store.commit(Act { scope: place(), identity: None, who, agent, op, now, drafts }).unwrap().created
    }

    /// Writes claims of all kinds and states.
    fn write(&mut self) {
        let claim = |kind, subject, modality| EventDraft {
            claim_kind: Some(kind),
            body: body(subject, modality),
            ..EventDraft::new(EventKind::Assert, [])
        };
        let on = |kind, target: EventId| {
            let mut draft = EventDraft::new(kind, [Ref::Id(target)]);
            draft.body.reason = Some(evil("on reflection"));
            draft
        };
        let (mut store, now) = (self.machine.store(), self.now);
        let made = self.act(
            &mut store,
            now,
            vec![
                claim(ClaimKind::Decision, "canary", Modality::Must),
                claim(ClaimKind::Decision, "canary", Modality::MustNot),
                claim(ClaimKind::Constraint, "deploy", Modality::Must),
                claim(ClaimKind::Convention, "branch", Modality::Must),
                claim(ClaimKind::Rejection, "kafka", Modality::MustNot),
            ],
        );
        let next =
            EventDraft { targets: vec![Ref::Id(made[2])], ..claim(ClaimKind::Constraint, "release", Modality::Must) };
        self.act(&mut store, now + 1, vec![EventDraft { kind: EventKind::Supersede, ..next }]);
        self.act(&mut store, now + 2, vec![on(EventKind::Retract, made[3])]);
        let fact = Body { key: Some(evil("port")), ..body("port", Modality::Must) };
        let fact =
            EventDraft { claim_kind: Some(ClaimKind::Fact), body: fact, ..EventDraft::new(EventKind::FactSet, []) };
        self.act(&mut store, now + 3, vec![fact]);
        // Dated ahead: the victim keeps it in quarantine.
        self.act(&mut store, now + 3_000_000_000_000, vec![claim(ClaimKind::Decision, "clock", Modality::Must)]);
    }

    fn export(&self, roster_only: bool, to: Vec<String>) -> Vec<u8> {
        let mut file = Vec::new();
        let request = ExportRequest { to, roster_only, ..ExportRequest::default() };
        transfer::export(&self.machine.engine(), &request, &mut file).unwrap();
        file
    }
}

/// A victim in the hostile peer's team, with the peer's bundle in its folder and its daemon running.
pub(super) fn victim() -> (Machine, crate::support::Daemon) {
    let bob = Machine::new(2);
    let engine = bob.engine();
    let mut peer = Hostile::new(&engine);
    let grant = peer.export(true, vec![engine.device().to_hex()]);
    let roster = transfer::roster_in(grant.as_slice(), &bob.key).unwrap();
    let caller = Caller { who: "bob".into(), ..crate::support::caller() };
    engine.join_team(&caller, roster.team, &roster.events, None, &[], &[]).unwrap();
    drop(engine);
    peer.write();
    fs::write(bob.home.work().join("hostile.ergo"), peer.export(false, Vec::new())).unwrap();
    let daemon = bob.home.daemon();
    (bob, daemon)
}
