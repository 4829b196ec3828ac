//! Commits acts of this device.

use rusqlite::{Connection, params};

use super::{
    Act, Committed, EventDraft, Reader, Ref, RequestHash, Result, Store, StoreError,
    file::WriteTransaction,
    log::{self, AppendOutcome, EventOrigin},
    open,
    project::Projector,
    requests, scopes,
    team::{
        ledger::ChainLedger,
        scopes::{TeamBinding, binding},
    },
    vectors::{self, VectorModel},
};
use crate::domain::{
    Body, DeviceId, EventId, EventKind, Header, Hlc, OpId, Scope,
    derive::{self, local},
    event::{self, VERSION},
    verified::OwnEvent,
};

/// The vectors that are stored with an act, and the model that computed them.
pub(super) type ActVectors<'a> = (&'a VectorModel, &'a [(Ref, Vec<f32>)]);

impl Store {
    pub(super) fn write_act(
        &mut self,
        act: Act,
        vectors: Option<ActVectors<'_>>,
        asked: Option<RequestHash>,
    ) -> Result<Committed> {
        let author = DeviceId(self.key.verifying_key().to_bytes());
        let tx = begin(&mut self.reader)?;
        if let Some(known) = stored_act(&tx, &act.op, &author)? {
            return Ok(known);
        }
        let scope = scopes::bind(&tx, &act.scope, act.identity.as_deref())?;
        let scope_n = log::scope_number(&tx, &scope)?;
        let binding = binding(&tx, scope_n)?;
        let mut signer = Signer::new(&tx, author, self.epoch, (scope.clone(), scope_n), binding.as_ref(), &act)?;
        let mut events = Vec::with_capacity(act.drafts.len());
        let mut evidence = Vec::new();
        for (index, mut draft) in act.drafts.into_iter().enumerate() {
            let report = match &draft.kind {
                kind if derive::is_unstored(kind) => draft.body.data.take(),
                _ => None,
            };
            let targets = resolve(index, &draft.targets, &events)?;
            let event = signer.sign(index, draft, &targets, &events, &self.key)?;
            if let Some(data) = report {
                evidence.push((event.id, targets, data));
            }
            events.push(event);
        }
        for (refusal, opposed, data) in evidence {
            let targets = std::iter::once(refusal).chain(opposed).map(Ref::Id);
            let mut draft = EventDraft::new(EventKind::Local(local::EVIDENCE.into()), targets);
            draft.body.data = Some(data);
            let targets = resolve(events.len(), &draft.targets, &events)?;
            let event = signer.sign(events.len(), draft, &targets, &events, &self.key)?;
            events.push(event);
        }
        let clock = signer.clock;
        let mut projector = Projector::new(&tx, &*self.check)?;
        for event in &events {
            let mut origin = EventOrigin { received_at: act.now, ..EventOrigin::default() };
            if let Some(binding) = binding.as_ref().filter(|_| !derive::is_local(&event.header)) {
                origin.team = Some(binding.team);
                origin.shared = binding.writes.then_some(binding.n);
            }
            if projector.append(event.verified(), scope_n, origin)? == AppendOutcome::Known {
                return Err(StoreError::Damaged(format!("event {} exists already", event.id)));
            }
        }
        if let Some(binding) = binding.filter(|binding| binding.writes) {
            let mut ledger = ChainLedger::default();
            for event in events.iter().filter(|event| !derive::is_local(&event.header)) {
                ledger.add(&tx, binding.n, event)?;
            }
            ledger.save(&tx)?;
        }
        let changes = projector.finish()?;
        if let Some((model, vectors)) = vectors {
            let mut of_claims = Vec::with_capacity(vectors.len());
            for (index, (claim, vector)) in vectors.iter().enumerate() {
                let claim = resolve(index, &[*claim], &events)?;
                of_claims.extend(claim.into_iter().map(|id| (id, vector.as_slice())));
            }
            vectors::put(&tx, model, of_claims)?;
        }
        save_clock(&tx, clock)?;
        if let Some(asked) = asked {
            requests::store_hash(&tx, &act.op, asked)?;
        }
        if changes.redacted {
            open::set(&tx, "scrub", 1)?;
        }
        tx.commit()?;
        self.scrub();
        Ok(Committed {
            op: act.op,
            scope,
            created: events.iter().filter(|event| event.header.creates_claim()).map(|event| event.id).collect(),
            events: events.into_iter().map(|event| event.id).collect(),
            claims: changes.claims,
            needs_review: changes.needs_review,
            cards: changes.cards,
            opened: changes.opened,
            replayed: false,
        })
    }

    /// Empties the write-ahead log if redacted bytes are still in it. A reader can prevent this; then the next
    /// write tries again.
    pub(super) fn scrub(&self) {
        let db = &self.reader.db;
        let pending = open::setting::<i64>(db, "scrub").unwrap_or_default();
        if pending == Some(1)
            && let Ok(0) = db.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |row| row.get::<_, i64>(0))
            && open::set(db, "scrub", 0).is_ok()
        {
            // The new value of the setting went through the log, too. If this fails, the log contains nothing redacted.
            let _ = db.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |row| row.get::<_, i64>(0));
        }
    }
}

/// Begins a write transaction.
pub(super) fn begin(reader: &mut Reader) -> Result<WriteTransaction<'_>> {
    WriteTransaction::begin(reader)
}

/// Returns the largest event clock that was seen or written.
pub(super) fn load_clock(db: &Connection) -> Result<Hlc> {
    let wall: i64 = open::setting(db, "clock.wall")?.unwrap_or(0);
    let count: u32 = open::setting(db, "clock.count")?.unwrap_or(0);
    Ok(Hlc { wall: wall.cast_unsigned(), count })
}

pub(super) fn save_clock(db: &Connection, clock: Hlc) -> Result<()> {
    open::set(db, "clock.wall", clock.wall.cast_signed())?;
    open::set(db, "clock.count", clock.count)
}

/// Returns the result of an act that this device has already stored, if it has.
fn stored_act(db: &Connection, op: &OpId, author: &DeviceId) -> Result<Option<Committed>> {
    let mut read = db.prepare_cached(log::select_loaded!("events e WHERE e.op = ?1 AND e.author = ?2 ORDER BY e.n"))?;
    let rows = read.query_map(params![op.0, author.0], log::LoadedEvent::read)?;
    let events = rows.collect::<rusqlite::Result<Vec<_>>>()?;
    let Some(first) = events.first() else { return Ok(None) };
    Ok(Some(Committed {
        op: *op,
        scope: log::scope_by_number(db, first.scope)?,
        created: events.iter().filter(|event| event.header.creates_claim()).map(|event| event.id).collect(),
        events: events.iter().map(|event| event.id).collect(),
        claims: Vec::new(),
        needs_review: Vec::new(),
        cards: Vec::new(),
        opened: Vec::new(),
        replayed: true,
    }))
}

/// Resolves the references of a draft to event ids.
fn resolve(index: usize, refs: &[Ref], events: &[OwnEvent]) -> Result<Vec<EventId>> {
    refs.iter()
        .map(|reference| match reference {
            Ref::Id(id) => Ok(*id),
            Ref::Draft(earlier) => events
                .get(*earlier)
                .map(|event| event.id)
                .ok_or(StoreError::BadDraft { index, problem: "refers to a draft that comes after it" }),
        })
        .collect()
}

/// Appends drafts to the chains of this device and signs them.
struct Signer {
    template: Header,
    clock: Hlc,
    now: u64,
    /// The team to which the scope belongs, and the scope's name in the team.
    shared_as: Option<(EventId, Scope)>,
    /// The ends of the shared and the local chain.
    ends: [(u64, Option<EventId>); 2],
}

impl Signer {
    fn new(
        db: &Connection,
        author: DeviceId,
        epoch: u64,
        (scope, scope_n): (Scope, i64),
        binding: Option<&TeamBinding>,
        act: &Act,
    ) -> Result<Self> {
        let team = binding.map(|binding| binding.team);
        Ok(Self {
            shared_as: binding.map(|binding| (binding.id, binding.name.clone())),
            template: Header {
                version: VERSION,
                team: None,
                scope,
                author,
                epoch,
                seq: 0,
                prev: None,
                clock: Hlc::default(),
                kind: EventKind::Assert,
                op: act.op,
                targets: Vec::new(),
                successor: None,
                seen: Vec::new(),
                claim_kind: None,
                key_hash: None,
                who: act.who.clone(),
                agent: act.agent.clone(),
                body_hash: EventId([0; 32]),
            },
            clock: load_clock(db)?,
            now: act.now,
            ends: [
                log::chain_end(db, &author, epoch, scope_n, false, team)?,
                log::chain_end(db, &author, epoch, scope_n, true, None)?,
            ],
        })
    }

    fn sign(
        &mut self,
        index: usize,
        draft: EventDraft,
        targets: &[EventId],
        events: &[OwnEvent],
        key: &ed25519_dalek::SigningKey,
    ) -> Result<OwnEvent> {
        let successor = resolve(index, draft.successor.as_slice(), events)?.first().copied();
        let reason_of = resolve(index, draft.reason_of.as_slice(), events)?.first().copied();
        let EventDraft { kind, seen, claim_kind, mut body, .. } = draft;
        body.reason_of = reason_of;
        let mut header =
            Header { kind, targets: targets.to_vec(), successor, seen, claim_kind, ..self.template.clone() };
        check(index, &header, &body)?;
        header.key_hash = body.key.as_deref().map(event::key_hash);
        let local = derive::is_local(&header);
        if let Some((team, name)) = self.shared_as.as_ref().filter(|_| !local) {
            header.team = Some(*team);
            header.scope.clone_from(name);
        }
        let end = &mut self.ends[usize::from(local)];
        (header.seq, header.prev) = *end;
        self.clock = self.clock.tick(self.now);
        header.clock = self.clock;
        let event = OwnEvent::sign(header, body.seal(open::random()?), key)?;
        *end = (event.header.seq + 1, Some(event.id));
        Ok(event)
    }
}

/// Returns an error if a draft is malformed.
fn check(index: usize, header: &Header, body: &Body) -> Result<()> {
    let bad = |problem| Err(StoreError::BadDraft { index, problem });
    if header.creates_claim() && body.statement.is_none() {
        return bad("creates a claim without a statement");
    }
    if header.creates_claim() && header.kind != EventKind::FactSet && header.claim_kind.is_none() {
        return bad("creates a claim without a kind");
    }
    if header.kind == EventKind::FactSet && body.key.is_none() {
        return bad("sets a fact without a key");
    }
    let least = match &header.kind {
        EventKind::Supersede
        | EventKind::Judgement(_)
        | EventKind::Observe
        | EventKind::Retract
        | EventKind::Reinstate
        | EventKind::Undo
        | EventKind::Redact
        | EventKind::ChunkGone => 1,
        EventKind::Depend | EventKind::Promote => 2,
        EventKind::Unknown(_) => return bad("is of a kind that this version does not know"),
        EventKind::Roster(_) => return bad("changes a roster, which must be a separate act"),
        _ => 0,
    };
    if header.targets.len() < least {
        return bad("has too few targets");
    }
    Ok(())
}
