//! Problems of a team, each with advice.

use std::collections::BTreeMap;

use super::team_act::device_word;
use crate::{
    api::{ApiError, BoundScope, TeamEnd, UnsharedChanges},
    domain::{
        DeviceId, EventId, Roster, Scope,
        roster::{MAX_DEVICES, MemberState, Refusal, Role, is_roster_scope},
        text::{escape, quote},
    },
    engine::{Engine, guard_calls},
    store::{BusyAuthor, Fork, Reader, StoreError, UnacceptedEvents},
};

/// The number of events of one author within one hour of its clock above which a note is shown.
const BUSY_EVENTS_PER_HOUR: u64 = 5_000;

/// How long that note is shown, in milliseconds: an hour.
const HOUR: u64 = 60 * 60 * 1000;

/// The notes about a team that a person should read.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TeamNotes {
    /// The number of places where a member's device signed two different events.
    pub forks: usize,
    /// The problems, one sentence each, with advice.
    pub says: Vec<String>,
    /// Events of this device that no other device accepts.
    pub kept: Vec<UnsharedChanges>,
}

impl Engine {
    /// Returns the problems of a team: copied stores, admins who revoked each other, a device that writes too much, too
    /// many devices. Quarantined events are counted elsewhere.
    pub fn team_notes(&self, team: EventId) -> Result<TeamNotes, ApiError> {
        let now = self.now();
        self.readers.lend().snapshot(|reader| {
            let Some(roster) = reader.roster(&team)? else { return Ok(TeamNotes::default()) };
            let forks = forks(reader, &roster)?;
            let busy = reader.busy_authors(&team, now.saturating_sub(HOUR), BUSY_EVENTS_PER_HOUR)?;
            let me = self.device();
            let kept = reader.kept_back(&team, &roster, &me)?;
            let kept = kept.into_iter().map(|kept| unshared_changes(&roster, &me, kept)).collect();
            Ok(TeamNotes { kept, ..notes(&roster, &forks, &busy, me) })
        })
    }

    /// Returns how this device left a team or was revoked, if so.
    pub fn team_end(&self, team: EventId) -> Result<Option<TeamEnd>, ApiError> {
        let me = self.device();
        self.readers.lend().snapshot(|reader| {
            let Some(roster) = reader.roster(&team)? else { return Ok(None) };
            let Some(out) = roster.member(&me).and_then(|member| member.out) else { return Ok(None) };
            let reason = reader.event(&out.event)?.and_then(|event| event.body).and_then(|body| body.reason);
            Ok(Some(end(&roster, me, out.by, out.at.wall, reason)))
        })
    }
}

/// Counts the forks of each member's device by scope. Forks from before the device was admitted again are settled: that
/// is how a person resolves a copied store.
fn forks(reader: &Reader, roster: &Roster) -> Result<BTreeMap<(DeviceId, Scope), usize>, StoreError> {
    let mut all: BTreeMap<(DeviceId, Scope), Vec<Fork>> = BTreeMap::new();
    for fork in reader.forks(&roster.team())? {
        if roster.is_member(&fork.chain.author) {
            all.entry((fork.chain.author, fork.scope.clone())).or_default().push(fork);
        }
    }
    let mut open = BTreeMap::new();
    for ((device, scope), forks) in all {
        let again = roster.member(&device).map(|member| member.again);
        let mut latest = None;
        for id in forks.iter().max_by_key(|fork| fork.seq).into_iter().flat_map(|fork| &fork.events) {
            latest = latest.max(reader.event(id)?.map(|event| event.clock));
        }
        if latest >= again {
            open.insert((device, scope), forks.len());
        }
    }
    Ok(open)
}

fn name(roster: &Roster, device: &DeviceId) -> String {
    roster.member(device).map_or_else(|| device.short(), |member| escape(&member.name))
}

/// Returns the device as an argument of a command.
fn word(roster: &Roster, device: &DeviceId) -> String {
    roster.member(device).map_or_else(|| device.short(), device_word)
}

fn notes(roster: &Roster, forks: &BTreeMap<(DeviceId, Scope), usize>, busy: &[BusyAuthor], me: DeviceId) -> TeamNotes {
    let name = |device: &DeviceId| name(roster, device);
    let mut says = Vec::new();
    for dispute in roster.disputes() {
        let (one, other) = (name(&dispute.one), name(&dispute.other));
        let next = if roster.members().any(|member| roster.role(&member.device) == Some(Role::Admin)) {
            "another admin can invite them again"
        } else {
            "no admin is left, so create a new team: `ergo sync create`"
        };
        says.push(format!(
            "{one} and {other} revoked each other before either knew of the other's act, so both are revoked; {next}"
        ));
    }
    for ((device, scope), places) in forks {
        let (name, word) = (name(device), word(roster, device));
        let times = if *places == 1 { "once".to_owned() } else { format!("{places} times") };
        let place = if is_roster_scope(scope) { "the team's roster".to_owned() } else { escape(&scope.to_string()) };
        let what = format!(
            "{name} has forked its history: {times}, in {place}, it signed two different events after the same one"
        );
        let why = "its store was copied or restored, or its key was stolen; all events are kept";
        says.push(if *device == me {
            format!(
                "{what}: {why}. This is your own device: if another machine uses a copy of its store, stop ergo \
                    there; then ask an admin to run `ergo sync revoke {word} --reason '…'` and to invite this device \
                    again"
            )
        } else {
            format!(
                "{what}: {why}. If two machines use one store, stop one of them; then run \
                    `ergo sync revoke {word} --reason '…'`, and invite the one to keep"
            )
        });
    }
    for author in busy {
        let (name, word) = (name(&author.device), word(roster, &author.device));
        says.push(format!(
            "{name} wrote {} events in one hour, more than the usual limit of {BUSY_EVENTS_PER_HOUR}; all were accepted. Ask its \
                owner; if it was not intended, run `ergo sync revoke {word} --reason '…'`",
            author.events
        ));
    }
    if roster.size() > MAX_DEVICES {
        says.push(format!(
            "{} devices belong to the team, more than the limit of {MAX_DEVICES}: revoke those that are no longer \
                used with `ergo sync revoke DEVICE --reason '…'`",
            roster.size()
        ));
    }
    TeamNotes { forks: forks.values().sum(), says, kept: Vec::new() }
}

/// Describes events of this device that no other device accepts.
pub(super) fn unshared_changes(roster: &Roster, me: &DeviceId, kept: UnacceptedEvents) -> UnsharedChanges {
    let UnacceptedEvents { scope, local, refusal, events } = kept;
    let (word, before) = (word(roster, me), refusal == Refusal::NotAdopted);
    let (team, ours, theirs) = (escape(roster.name()), escape(&local.to_string()), escape(&scope.to_string()));
    let adopt = quote(&local.to_string());
    let (changes, are) = if events == 1 { ("1 change".to_owned(), "is") } else { (format!("{events} changes"), "are") };
    let what = format!("{changes} of this device in {ours} {are} not accepted by any peer");
    let private =
        format!("{changes} of this device in {ours} {are} private: written when it was not shared with {team}");
    let says = match refusal {
        Refusal::Reader => format!(
            "{what}: it has the role reader in {team}, so no peer accepts what it writes. Ask an admin to run `ergo \
                sync grant {word} --role writer`; then they are sent automatically"
        ),
        Refusal::NotAdopted if local != scope => format!(
            "{private}. This history cannot be shared, because the team calls the scope {theirs}. To share a claim, \
                retract it and store it again"
        ),
        Refusal::NotAdopted if !roster.may_write(me, &scope) => format!(
            "{private}. To share this history, ask an admin to run `ergo sync grant {word} --role writer`; then run \
                `ergo sync adopt {adopt}`"
        ),
        Refusal::NotAdopted => format!("{private}. To share this history, run `ergo sync adopt {adopt}`"),
        Refusal::NoGrant => format!(
            "{what}: it has no access to that scope. Ask an admin to run `ergo sync grant {word} --all`, or `--only` \
                with every scope that it should have; then they are sent automatically"
        ),
        _ => {
            format!("{what}: {refusal}. To share a claim, store it again, or ask an admin of {team}")
        }
    };
    UnsharedChanges { bound: BoundScope { scope, local }, events, reason: refusal.as_str().to_owned(), before, says }
}

/// Describes how this device left a team or was revoked. `at` in milliseconds since the Unix epoch.
fn end(roster: &Roster, me: DeviceId, by: DeviceId, at: u64, reason: Option<String>) -> TeamEnd {
    let team = escape(roster.name());
    let left = roster.member(&me).is_none_or(|member| member.state == MemberState::Left);
    let day = guard_calls::day(at);
    let who = roster.member(&by).map_or_else(
        || by.short(),
        |member| {
            let name = escape(&member.name);
            if member.person.is_empty() { name } else { format!("{} ({name})", escape(&member.person)) }
        },
    );
    let what = if left {
        format!("You left {team} with this device on {day}.")
    } else {
        let why = reason.as_deref().map_or_else(String::new, |reason| format!(" (“{reason}”)"));
        let both = if roster.disputes().iter().any(|dispute| [dispute.one, dispute.other] == [by.min(me), by.max(me)]) {
            " You revoked each other before either knew of it: both are revoked."
        } else {
            ""
        };
        format!("{who} revoked this device from {team} on {day}{why}.{both}")
    };
    let says = format!(
        "{what} This device keeps what it has and no longer shares it. To come back, ask an admin of the team for a new invitation."
    );
    TeamEnd { left, by: (!left).then_some(who), at, reason: reason.filter(|_| !left), says }
}

#[cfg(test)]
mod tests {
    use ed25519_dalek::SigningKey;

    use super::*;
    use crate::domain::{
        Body, EventKind, Header, Hlc, OpId, SignedEvent,
        roster::{Grant, Granted, ORG, RosterChange},
    };

    fn sign(by: u8, n: u64, prev: Option<&SignedEvent>, seen: &[EventId], change: RosterChange) -> SignedEvent {
        let key = SigningKey::from_bytes(&[by; 32]);
        let first = seen.first().copied();
        let header = Header {
            version: 1,
            team: first,
            scope: Scope::new(ORG, "0").unwrap(),
            author: DeviceId(key.verifying_key().to_bytes()),
            epoch: 0,
            seq: prev.map_or(0, |prev| prev.header.seq + 1),
            prev: prev.map(|prev| prev.id),
            clock: Hlc { wall: n, count: 0 },
            kind: EventKind::Roster(change.act()),
            op: OpId([0; 16]),
            targets: vec![],
            successor: None,
            seen: seen.to_vec(),
            claim_kind: None,
            key_hash: None,
            who: "ada".into(),
            agent: None,
            body_hash: EventId([0; 32]),
        };
        let body = Body { roster: Some(change), ..Body::default() };
        SignedEvent::sign(header, body.seal([0; 16]), &key).unwrap()
    }

    #[test]
    fn a_dispute_and_a_fork_are_reported_with_names_and_what_to_do() {
        let create = RosterChange::Create { name: "acme".into(), person: "ada".into(), device_name: "adas".into() };
        let first = sign(1, 1, None, &[], create);
        let two = DeviceId(SigningKey::from_bytes(&[2; 32]).verifying_key().to_bytes());
        let grant = Grant { role: Role::Admin, scopes: Granted::All };
        let add = RosterChange::Add { device: two, person: "bob".into(), name: "bobs".into(), grant };
        let second = sign(1, 2, None, &[first.id], add);
        let revoke = |device| RosterChange::Revoke { device, cuts: vec![] };
        let out = sign(1, 3, Some(&second), &[first.id], revoke(two));
        let back = sign(2, 3, None, &[first.id, second.id], revoke(first.header.author));
        let team = first.id;
        let roster = Roster::of(team, &[first, second, out, back]).unwrap();
        let forks = BTreeMap::from([((two, Scope::new("acme", "api").unwrap()), 2)]);
        let busy = [BusyAuthor { device: two, events: 6_000 }];
        let found = notes(&roster, &forks, &busy, DeviceId([9; 32]));
        let notes = found.says;
        assert_eq!((notes.len(), found.forks), (3, 2));
        assert!(notes[0].contains("adas") && notes[0].contains("bobs") && notes[0].contains("revoked each other"));
        assert!(notes[0].ends_with("no admin is left, so create a new team: `ergo sync create`"), "{}", notes[0]);
        assert!(notes[1].contains("2 times, in acme/api, it signed") && notes[1].contains("ergo sync revoke bobs"));
        assert!(notes[2].contains("bobs wrote 6000 events in one hour") && notes[2].contains("5000"));
        let (ada, bob) = (roster.member(&two).unwrap().out.unwrap().by, two);
        let sentence = end(&roster, bob, ada, 1_900_000_000_000, Some("it was lost".into())).says;
        assert!(
            sentence.starts_with("ada (adas) revoked this device from acme on 2030-03-17 (“it was lost”)."),
            "{sentence}"
        );
        assert!(sentence.contains("You revoked each other") && sentence.contains("new invitation"), "{sentence}");
    }

    #[test]
    fn a_device_in_a_command_is_one_word_of_the_shell() {
        let named = |name: &str| {
            let create = RosterChange::Create { name: "acme".into(), person: "ada".into(), device_name: name.into() };
            let first = sign(1, 1, None, &[], create);
            let (team, device) = (first.id, first.header.author);
            let roster = Roster::of(team, &[first]).unwrap();
            let busy = [BusyAuthor { device, events: 6_000 }];
            (notes(&roster, &BTreeMap::new(), &busy, DeviceId([9; 32])).says.remove(0), device.short())
        };
        let (says, _) = named("lap$(touch pwned)");
        assert!(says.ends_with("`ergo sync revoke 'lap$(touch pwned)' --reason '…'`"), "{says}");
        let (says, id) = named("la\u{202e}p");
        assert!(
            says.ends_with(&format!("`ergo sync revoke {id} --reason '…'`")) && says.contains("la\\u{202e}p wrote"),
            "{says}"
        );
    }
}
