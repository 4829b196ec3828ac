//! The events of a simulation.

use std::collections::{BTreeMap, BTreeSet};

use ergo::{
    api::ExportRequest,
    domain::{
        DeviceId, EventId, EventKind, Scope, Status,
        replica::SetDigest,
        roster::{Grant, Granted, Role, RosterChange},
    },
    store::EventDraft,
};

use super::{
    meeting::Meetings,
    peer::{Peer, decision, fact, on, scope},
    tally::Tally,
};
use crate::support::random::Random;

/// The number of random steps before all devices meet.
const STEPS: usize = 45;

/// The most rounds of meetings before all devices must agree.
const ROUNDS: usize = 12;

/// Events by scope, each with its author.
pub(super) type Accepted = BTreeMap<Scope, BTreeMap<EventId, DeviceId>>;

pub(super) struct World {
    random: Random,
    home: tempfile::TempDir,
    pub(super) team: EventId,
    pub(super) peers: Vec<Peer>,
    /// Which part of the network each is in.
    parts: Vec<usize>,
    /// Bundle files that were made and not imported yet.
    files: Vec<Vec<u8>>,
    /// Events whose bodies must be on no device in the end, if the redaction counts.
    pub(super) redactions: BTreeSet<EventId>,
    pub(super) tally: Tally,
    /// The sessions by documents, in a world that has them; otherwise events go from store to store.
    meetings: Option<Meetings>,
}

/// The events that a device has of each scope, and the number of its waiting events.
type Holding = (Vec<(Scope, usize, SetDigest)>, usize);

impl World {
    pub(super) fn new(seed: u64, documents: bool) -> Self {
        let mut random = Random::new(seed);
        // In memory if there is such a file system, since the disk is not under test here.
        let home = tempfile::tempdir_in("/dev/shm").or_else(|_| tempfile::tempdir()).unwrap();
        let mut founder = Peer::new(1, home.path(), 0);
        // Claims from before the team come into it.
        founder.act("api", decision("port", "80"));
        founder.act("ops", fact("region", "north", []));
        let name = founder.name();
        let team =
            founder.change(None, RosterChange::Create { name: "core".into(), person: "ada".into(), device_name: name });
        for place in ["api", "ops"] {
            let heads = founder.read(|reader| reader.heads_of(&scope(place)));
            founder.change(Some(team), RosterChange::Adopt { scope: scope(place), identity: None, heads });
        }
        let mut world = Self {
            home,
            team,
            peers: vec![founder],
            parts: vec![0],
            files: Vec::new(),
            redactions: BTreeSet::new(),
            tally: Tally::default(),
            meetings: documents.then(Meetings::new),
            random: Random::new(seed ^ 0xace),
        };
        // The second is an admin too, so that admins can fall out with each other.
        world.newcomer(0, Role::Admin);
        for _ in 0..3 + random.below(2) {
            world.newcomer(0, Role::Writer);
        }
        world
    }

    pub(super) fn run(mut self) -> Tally {
        for _ in 0..STEPS {
            self.step();
        }
        let before: Vec<_> = self.peers.iter().map(|peer| self.accepted_at(peer)).collect();
        self.meet();
        self.judge(&before);
        self.tally
    }

    fn step(&mut self) {
        let one = self.random.below(self.peers.len());
        for peer in &self.peers {
            peer.pass(1_000);
        }
        match self.random.below(100) {
            0..38 => self.write(one),
            38..58 => self.exchange(one),
            58..65 => self.leave_file(one),
            65..74 => self.find_file(one),
            74..78 => self.part(),
            78..81 => {
                self.close(one);
                self.peers[one].restart();
                self.tally.restarts += 1;
            }
            81..86 => {
                self.close(one);
                self.peers[one].copy();
            }
            86..90 => self.restore(one),
            90..93 => self.revoke(one),
            93..96 => self.grant(one),
            96..98 if self.peers.len() < 8 => {
                let role = if self.random.percent(20) { Role::Admin } else { Role::Writer };
                self.newcomer(one, role);
            }
            _ => {
                // An hour goes by for one and for no other.
                self.peers[one].pass(3_600_000);
            }
        }
    }

    /// Lets a new device in, by an admin, if this is one.
    fn newcomer(&mut self, by: usize, role: Role) {
        if !self.is_admin(by) {
            return;
        }
        let skew = self.random.below(40 * 60_000) as i64 - 20 * 60_000;
        let mut peer = Peer::new(self.peers.len() as u8 + 1, self.home.path(), skew);
        // Some bring what they decided before.
        let brings = role != Role::Reader && self.random.percent(30);
        if brings {
            peer.act("api", decision("cache", "off"));
        }
        let api = Granted::Only(BTreeSet::from([scope("api")]));
        let scopes = if self.random.percent(70) { Granted::All } else { api };
        let grant = Grant { role, scopes };
        let change = RosterChange::Add { device: peer.device(), person: peer.name(), name: peer.name(), grant };
        self.peers[by].change(Some(self.team), change);
        peer.join(self.team, &self.peers[by]);
        if brings {
            let heads = peer.read(|reader| reader.heads_of(&scope("api")));
            peer.change(Some(self.team), RosterChange::Adopt { scope: scope("api"), identity: None, heads });
        }
        self.peers.push(peer);
        self.parts.push(self.parts[by]);
        self.tally.joined += 1;
    }

    fn is_admin(&self, one: usize) -> bool {
        let peer = &self.peers[one];
        peer.roster(self.team).is_some_and(|roster| roster.role(&peer.device()) == Some(Role::Admin))
    }

    fn write(&mut self, one: usize) {
        let place = if self.random.percent(80) { "api" } else { "ops" };
        let peer = &self.peers[one];
        // A device that knows that its events are not accepted does not write.
        if !peer.roster(self.team).is_some_and(|roster| roster.may_write(&peer.device(), &scope(place))) {
            return;
        }
        let active = peer.claims(place, Some(Status::Active));
        let all = peer.claims(place, None);
        let subject = ["port", "cache", "queue"][self.random.below(3)];
        let value = self.random.below(4).to_string();
        let target = self.random.pick(&active).map(|claim| claim.id);
        let draft: Option<EventDraft> = match (self.random.below(100), target) {
            (0..45, _) => Some(decision(subject, &value)),
            (45..60, Some(target)) => {
                let new = decision(subject, &value);
                Some(EventDraft { kind: EventKind::Supersede, targets: vec![ergo::store::Ref::Id(target)], ..new })
            }
            (60..70, Some(target)) => Some(on(EventKind::Retract, &[target])),
            (70..85, _) => {
                let key = ["region", "owner"][self.random.below(2)];
                let heads = active.iter().filter(|claim| claim.key.as_deref() == Some(key)).map(|claim| claim.id);
                Some(fact(key, &value, heads))
            }
            (85..90, _) => self.random.pick(&all).map(|claim| on(EventKind::Undo, &[claim.id])),
            (90..94, Some(target)) => {
                self.redactions.insert(target);
                self.tally.redacted += 1;
                Some(on(EventKind::Redact, &[target]))
            }
            (94..100, Some(target)) => {
                let other = self.random.pick(&active).map(|claim| claim.id).filter(|other| *other != target);
                other.map(|other| on(EventKind::Resolve(ergo::domain::ResolveAct::Dismiss), &[target, other]))
            }
            _ => None,
        };
        if let Some(draft) = draft {
            self.peers[one].act(place, draft);
            self.tally.writes += 1;
        }
    }

    /// The network falls into other parts, or becomes one.
    fn part(&mut self) {
        let count = 1 + self.random.below(3);
        for part in &mut self.parts {
            *part = self.random.below(count);
        }
    }

    fn exchange(&mut self, one: usize) {
        let near: Vec<usize> =
            (0..self.peers.len()).filter(|other| *other != one && self.parts[*other] == self.parts[one]).collect();
        if let Some(other) = self.random.pick(&near).copied() {
            let faults = self.random.percent(40);
            self.tally.exchanges += 1;
            if self.meetings.is_some() {
                let frames = if faults { self.random.below(30) } else { usize::MAX };
                self.tally.cut += u64::from(faults);
                return self.talk(one, other, frames);
            }
            self.pull(one, other, faults);
            self.pull(other, one, faults);
        }
    }

    /// Runs a session by documents; the connection is cut after this many frames.
    fn talk(&mut self, one: usize, other: usize, frames: usize) {
        let team = self.team;
        let (a, b) = (&self.peers[one], &self.peers[other]);
        if let Some(meetings) = &mut self.meetings
            && a.is_in(team)
            && b.is_in(team)
        {
            meetings.meet(a, b, team, frames);
            self.tally.talks += 1;
        }
    }

    /// A device's process ends.
    fn close(&mut self, one: usize) {
        if let Some(meetings) = &mut self.meetings {
            meetings.leave(&self.peers[one]);
        }
    }

    /// Transfers the events that one device lacks from another, if each is in the team for the other. Returns whether
    /// any was new.
    fn pull(&mut self, to: usize, from: usize, faults: bool) -> bool {
        let team = self.team;
        let mut news = false;
        let (me, them) = (self.peers[to].device(), self.peers[from].device());
        // Nothing is written at the sender meanwhile; at the receiver a roster is another one once something came.
        let Some(theirs) = self.peers[from].roster(team) else { return false };
        let mut ours = self.peers[to].roster(team);
        let mut scopes = vec![theirs.scope().clone()];
        scopes.extend(self.peers[from].scopes(team).into_iter().filter(|scope| scope != theirs.scope()));
        for scope in scopes {
            let (receiver, sender) = (&self.peers[to], &self.peers[from]);
            if !ours.as_ref().is_some_and(|roster| roster.is_member(&them)) || !theirs.is_member(&me) {
                return news;
            }
            if !theirs.may_read(&me, &scope) {
                continue;
            }
            let mut pages = sender.pages(team, &scope, &receiver.vector(team, &scope));
            // Words that were dropped for a redaction which does not count after all.
            let missing = receiver.missing_bodies(team, &scope);
            if !missing.is_empty() {
                let mut bodies = sender.everything(team, &scope);
                bodies.retain(|event| event.body.is_some() && missing.contains(&event.id));
                pages.push(bodies);
            }
            if faults {
                pages = self.disturb(pages);
            }
            pages.retain(|page| !page.is_empty());
            let brings = !pages.is_empty();
            for page in pages {
                let done = self.peers[to].take(team, them, page);
                news |= !done.stored.is_empty() || !done.quarantined.is_empty() || !done.withdrawn.is_empty();
                self.tally.quarantined += (done.quarantined.len() + done.withdrawn.len()) as u64;
                self.tally.forks += done.forks.len() as u64;
            }
            if brings {
                ours = self.peers[to].roster(team);
            }
        }
        news
    }

    /// Pages get lost at the end, come twice, in another order, and mixed.
    fn disturb<T: Clone>(&mut self, mut pages: Vec<Vec<T>>) -> Vec<Vec<T>> {
        if self.random.percent(50) {
            let keep = self.random.below(pages.len() + 1);
            pages.truncate(keep);
            self.tally.cut += 1;
        }
        if let Some(page) = self.random.pick(&pages).cloned() {
            pages.push(page);
        }
        self.random.shuffle(&mut pages);
        for page in &mut pages {
            self.random.shuffle(page);
        }
        pages
    }

    /// Exports a file for one device, or for all, which is imported later.
    fn leave_file(&mut self, one: usize) {
        if !self.peers[one].is_in(self.team) {
            return;
        }
        let others: Vec<String> = self.peers.iter().map(Peer::name).collect();
        let roster = self.peers[one].roster(self.team).unwrap();
        let names: Vec<String> = others
            .into_iter()
            .filter(|name| roster.members().any(|member| member.name == *name && roster.is_member(&member.device)))
            .collect();
        let peer = self.random.pick(&names).cloned().unwrap();
        let request = ExportRequest {
            since: self.random.percent(40).then(|| peer.clone()),
            to: if self.random.percent(30) { vec![peer] } else { vec![] },
            open: self.random.percent(20),
            receipt_for: self.random.percent(15).then(|| "00".repeat(32)),
            ..ExportRequest::default()
        };
        let file = self.peers[one].export(&request);
        self.files.push(file);
        self.tally.bundles += 1;
    }

    /// Somebody finds a file, and imports it: whole, cut, or damaged; perhaps not for the first time.
    fn find_file(&mut self, one: usize) {
        let Some(file) = self.random.pick(&self.files) else { return };
        let mut file = file.clone();
        let whole = match self.random.below(10) {
            0 => {
                file.truncate(self.random.below(file.len()));
                false
            }
            1 => {
                let at = self.random.below(file.len());
                file[at] ^= 0x40;
                false
            }
            _ => true,
        };
        self.tally.damaged += u64::from(!whole);
        match self.peers[one].import(&file) {
            Ok(done) => {
                assert_eq!(done.whole, whole, "{done:?}");
                self.tally.quarantined += done.quarantined_total;
                self.tally.forks += done.forks;
            }
            // Not for this device, not of its team any more, or its header is damaged.
            Err(error) => assert_eq!(error.code, ergo::api::ErrorCode::BadRequest, "{error}"),
        }
    }

    fn restore(&mut self, one: usize) {
        if self.peers[one].copied {
            let in_place = self.random.percent(50);
            self.close(one);
            self.peers[one].restore(in_place);
            self.tally.restored += 1;
        }
    }

    /// Revokes a device: what it wrote later than the admin knows does not count.
    fn revoke(&mut self, one: usize) {
        let other = self.random.below(self.peers.len());
        if other == one || !self.is_admin(one) || self.members(one) < 4 {
            return;
        }
        let device = self.peers[other].device();
        if self.peers[one].roster(self.team).is_some_and(|roster| roster.is_member(&device)) {
            let cuts = self.peers[one].read(|reader| reader.cuts_of(&self.team, &device));
            self.peers[one].change(Some(self.team), RosterChange::Revoke { device, cuts });
            self.tally.revoked += 1;
        }
    }

    /// An admin makes a device a reader, or a writer again.
    fn grant(&mut self, one: usize) {
        let other = self.random.below(self.peers.len());
        if other == one || !self.is_admin(one) {
            return;
        }
        let device = self.peers[other].device();
        let roster = self.peers[one].roster(self.team).unwrap();
        let Some(member) = roster.member(&device).filter(|_| roster.is_member(&device)) else { return };
        let role = if member.grant.role == Role::Writer { Role::Reader } else { Role::Writer };
        let cuts = self.peers[one].read(|reader| reader.cuts_of(&self.team, &device));
        let grant = Grant { role, scopes: member.grant.scopes.clone() };
        self.peers[other].demoted = true;
        self.peers[one].change(Some(self.team), RosterChange::Grant { device, grant, cuts });
        self.tally.regranted += 1;
    }

    fn members(&self, one: usize) -> usize {
        let Some(roster) = self.peers[one].roster(self.team) else { return 0 };
        roster.members().filter(|member| roster.is_member(&member.device)).count()
    }

    /// The events of every scope that a device has and the team accepts.
    fn accepted_at(&self, peer: &Peer) -> Accepted {
        let events = |scope: &Scope| {
            peer.everything(self.team, scope).iter().map(|event| (event.id, event.header.author)).collect()
        };
        peer.scopes(self.team).into_iter().map(|scope| (scope.clone(), events(&scope))).collect()
    }

    /// The events of each device by scope, quarantine included.
    fn everything_there(&self) -> Vec<Holding> {
        let of = |peer: &Peer| {
            let set = |scope: Scope| {
                let (count, digest) = peer.set(self.team, &scope);
                (scope, count, digest)
            };
            let waiting = peer.read(|reader| reader.quarantined_count(&self.team));
            (peer.scopes(self.team).into_iter().map(set).collect(), waiting)
        };
        self.peers.iter().map(of).collect()
    }

    /// The network is one again, clocks have come, and all exchange until there is nothing new.
    fn meet(&mut self) {
        for peer in &self.peers {
            peer.pass(30 * 86_400_000);
        }
        for _ in 0..ROUNDS {
            let mut news = false;
            if self.meetings.is_some() {
                let before = self.everything_there();
                for one in 0..self.peers.len() {
                    for other in one + 1..self.peers.len() {
                        self.talk(one, other, usize::MAX);
                    }
                }
                if before == self.everything_there() {
                    return;
                }
                continue;
            }
            for one in 0..self.peers.len() {
                for other in 0..self.peers.len() {
                    if one != other {
                        news |= self.pull(one, other, false);
                    }
                }
            }
            if !news {
                return;
            }
        }
        panic!("after {ROUNDS} rounds there is still something new");
    }
}
