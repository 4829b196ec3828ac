//! One device of the simulation: a real store under a real engine, with a clock of its own.

use std::{
    fs,
    path::{Path, PathBuf},
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
};

use ed25519_dalek::SigningKey;
use ergo::{
    api::{ExportRequest, ImportOutcome},
    domain::{
        Body, ClaimId, ClaimKind, DeviceId, EventId, EventKind, Norm, OpId, Roster, Scope, SignedEvent, Status,
        derive::Projection,
        norm::{Modality, SubjectKind},
        replica::{ChainEnd, SetDigest},
        roster::RosterChange,
    },
    engine::{Engine, EngineConfig},
    store::{Act, ClaimFilter, ClaimRow, EventDraft, Reader, Ref, RosterDraft, StoreError, SyncImport, SyncImported},
    sync::transfer,
};

/// The time at which every simulation begins, in milliseconds since the Unix epoch.
const BEGIN: u64 = 1_790_000_000_000;

/// The events of a page: few, so that an exchange can be cut in many places.
const PAGE: usize = 7;

pub(super) fn scope(name: &str) -> Scope {
    Scope::new("acme", name).unwrap()
}

pub(super) struct Peer {
    pub(super) number: u8,
    key: SigningKey,
    folder: PathBuf,
    engine: Option<Arc<Engine>>,
    clock: Arc<AtomicU64>,
    ops: u64,
    /// Whether it has an old copy of its store.
    pub(super) copied: bool,
    /// Whether it was a reader for a while, so that its events of that time stay on it alone.
    pub(super) demoted: bool,
}

impl Peer {
    pub(super) fn new(number: u8, home: &Path, skew: i64) -> Self {
        let folder = home.join(number.to_string());
        fs::create_dir(&folder).unwrap();
        let clock = Arc::new(AtomicU64::new(BEGIN.saturating_add_signed(skew)));
        let key = SigningKey::from_bytes(&[number; 32]);
        let mut peer = Self { number, key, folder, engine: None, clock, ops: 0, copied: false, demoted: false };
        peer.open();
        peer
    }

    pub(super) fn device(&self) -> DeviceId {
        DeviceId(self.key.verifying_key().to_bytes())
    }

    pub(super) fn name(&self) -> String {
        format!("laptop-{}", self.number)
    }

    fn path(&self) -> PathBuf {
        self.folder.join("ergo.db")
    }

    fn open(&mut self) {
        let clock = Arc::clone(&self.clock);
        let config = EngineConfig {
            clock: Arc::new(move || clock.load(Ordering::Relaxed)),
            durable: false,
            readers: 1,
            ..EngineConfig::new(self.path(), self.key.clone())
        };
        self.engine = Some(Arc::new(Engine::open(config).unwrap()));
    }

    pub(super) fn engine(&self) -> &Engine {
        self.engine.as_ref().unwrap()
    }

    pub(super) fn shared_engine(&self) -> Arc<Engine> {
        Arc::clone(self.engine.as_ref().unwrap())
    }

    /// Whether anybody else holds the store open.
    pub(super) fn is_shared(&self) -> bool {
        self.engine.as_ref().is_some_and(|engine| Arc::strong_count(engine) > 1)
    }

    /// Advances the clock of this device.
    pub(super) fn pass(&self, millis: u64) -> u64 {
        self.clock.fetch_add(millis, Ordering::Relaxed) + millis
    }

    pub(super) fn restart(&mut self) {
        self.engine = None;
        self.open();
    }

    /// Keeps a copy of the store as it is now.
    pub(super) fn copy(&mut self) {
        self.engine = None;
        fs::copy(self.path(), self.folder.join("old.db")).unwrap();
        self.copied = true;
        self.open();
    }

    /// Goes on with the old copy: in place, so that nothing tells it from the store that it was, or as another file.
    pub(super) fn restore(&mut self, in_place: bool) {
        self.engine = None;
        let old = self.folder.join("old.db");
        if in_place {
            fs::write(self.path(), fs::read(&old).unwrap()).unwrap();
        } else {
            // The other file is made before the first is gone: file systems give a free number away again at once.
            let moved = self.folder.join("moved.db");
            fs::copy(&old, &moved).unwrap();
            fs::rename(moved, self.path()).unwrap();
        }
        self.open();
    }

    pub(super) fn op(&mut self) -> OpId {
        self.ops += 1;
        let mut id = [self.number; 16];
        id[..8].copy_from_slice(&self.ops.to_be_bytes());
        OpId(id)
    }

    pub(super) fn read<T>(&self, read: impl FnOnce(&Reader) -> Result<T, StoreError>) -> T {
        self.engine().with_reader(read).unwrap()
    }

    /// Does something in a scope.
    pub(super) fn act(&mut self, place: &str, draft: EventDraft) {
        let (op, now) = (self.op(), self.pass(1_000));
        let act =
            Act { scope: scope(place), identity: None, who: self.name(), agent: None, op, now, drafts: vec![draft] };
        self.engine().with_store(|store| store.commit(act)).unwrap();
    }

    pub(super) fn change(&mut self, team: Option<EventId>, change: RosterChange) -> EventId {
        let (op, now) = (self.op(), self.pass(1_000));
        let draft = RosterDraft { team, change, who: self.name(), agent: None, reason: None, op, now };
        self.engine().with_store(|store| store.commit_roster(draft)).unwrap().0
    }

    pub(super) fn roster(&self, team: EventId) -> Option<Roster> {
        self.read(|reader| reader.roster(&team))
    }

    /// Whether it is in the team, as far as it knows.
    pub(super) fn is_in(&self, team: EventId) -> bool {
        self.roster(team).is_some_and(|roster| roster.is_member(&self.device()))
    }

    /// The scopes of the team that it has, the roster's first.
    pub(super) fn scopes(&self, team: EventId) -> Vec<Scope> {
        let mut rows = self.read(|reader| reader.team_scopes(&team));
        rows.sort_by_key(|row| !row.is_roster);
        rows.into_iter().map(|row| row.scope).collect()
    }

    pub(super) fn vector(&self, team: EventId, scope: &Scope) -> Vec<ChainEnd> {
        self.read(|reader| reader.vector(&team, scope))
    }

    /// The events beyond this vector, in pages.
    pub(super) fn pages(&self, team: EventId, scope: &Scope, vector: &[ChainEnd]) -> Vec<Vec<SignedEvent>> {
        self.read(|reader| {
            let (mut pages, mut cursor) = (Vec::new(), None);
            loop {
                let page = reader.events_after(&team, scope, vector, cursor.as_ref(), PAGE)?;
                pages.push(page.events);
                cursor = page.next;
                if cursor.is_none() {
                    return Ok(pages);
                }
            }
        })
    }

    /// Events whose bodies it lacks although none of its events explains that.
    pub(super) fn missing_bodies(&self, team: EventId, scope: &Scope) -> Vec<EventId> {
        self.read(|reader| reader.missing_bodies(&team, scope, None, 1_000))
    }

    pub(super) fn everything(&self, team: EventId, scope: &Scope) -> Vec<SignedEvent> {
        self.pages(team, scope, &[]).concat()
    }

    pub(super) fn take(&self, team: EventId, from: DeviceId, events: Vec<SignedEvent>) -> SyncImported {
        let now = self.pass(10);
        let import = SyncImport { team, from: Some(from), events, document: None, peer: None, now };
        self.engine().import_synced(&import).unwrap()
    }

    pub(super) fn join(&self, team: EventId, from: &Self) {
        let roster = from.roster(team).unwrap();
        let events = from.everything(team, roster.scope());
        let now = self.pass(10);
        self.engine().with_store(|store| store.join_team(team, &events, Some(from.device()), now)).unwrap();
    }

    /// Exports its shared events as a file.
    pub(super) fn export(&self, request: &ExportRequest) -> Vec<u8> {
        let mut file = Vec::new();
        transfer::export(self.engine(), request, &mut file).unwrap();
        file
    }

    pub(super) fn import(&self, file: &[u8]) -> Result<ImportOutcome, ergo::api::ApiError> {
        self.pass(10);
        transfer::import(self.engine(), file)
    }

    /// Claims of a scope with a status, of whatever kind.
    pub(super) fn claims(&self, place: &str, status: Option<Status>) -> Vec<ClaimRow> {
        let filter = ClaimFilter { scope: Some(scope(place)), status, ..ClaimFilter::default() };
        self.read(|reader| Ok(reader.claims(&filter, 200, None)?.items))
    }

    pub(super) fn set(&self, team: EventId, scope: &Scope) -> (usize, SetDigest) {
        self.read(|reader| reader.set(&team, scope))
    }

    pub(super) fn projection(&self) -> Projection {
        self.read(Reader::projection)
    }
}

/// A decision about a subject; two with different values contradict each other.
pub(super) fn decision(subject: &str, value: &str) -> EventDraft {
    let body = Body {
        statement: Some(format!("{subject} must be {value}")),
        reason: Some(format!("{subject} was measured")),
        norms: Some(vec![Norm {
            modality: Modality::Must,
            subject: subject.into(),
            subject_kind: SubjectKind::Present,
            value: Some(value.into()),
            ..Norm::default()
        }]),
        ..Body::default()
    };
    EventDraft { claim_kind: Some(ClaimKind::Decision), body, ..EventDraft::new(EventKind::Assert, []) }
}

pub(super) fn fact(key: &str, value: &str, replaces: impl IntoIterator<Item = ClaimId>) -> EventDraft {
    let body = Body { key: Some(key.into()), statement: Some(format!("{key} is {value}")), ..Body::default() };
    EventDraft {
        claim_kind: Some(ClaimKind::Fact),
        body,
        ..EventDraft::new(EventKind::FactSet, replaces.into_iter().map(Ref::Id))
    }
}

pub(super) fn on(kind: EventKind, targets: &[EventId]) -> EventDraft {
    let mut draft = EventDraft::new(kind, targets.iter().copied().map(Ref::Id));
    draft.body.reason = Some("it happened".into());
    draft
}
