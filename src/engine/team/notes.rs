//! What a person should know about a team, each with what to do.

use std::collections::BTreeMap;

use crate::{
    api::ApiError,
    domain::{DeviceId, EventId, Roster, Scope},
    engine::Engine,
};

impl Engine {
    /// What is not as it should be in a team: devices that were copied, admins who took each other out, events that wait in
    /// quarantine. One sentence each, with what to do.
    pub fn team_notes(&self, team: EventId) -> Result<Vec<String>, ApiError> {
        self.sync_read(|reader| {
            let Some(roster) = reader.roster(&team)? else { return Ok(Vec::new()) };
            let mut forks: BTreeMap<(DeviceId, Scope), usize> = BTreeMap::new();
            for fork in reader.forks(&team)? {
                *forks.entry((fork.chain.author, fork.scope)).or_default() += 1;
            }
            let waiting = reader.quarantined_count(&team)?;
            Ok(notes(&roster, &forks, waiting))
        })
    }
}

fn notes(roster: &Roster, forks: &BTreeMap<(DeviceId, Scope), usize>, waiting: usize) -> Vec<String> {
    let name = |device: &DeviceId| roster.member(device).map_or_else(|| device.short(), |member| member.name.clone());
    let mut notes = Vec::new();
    for dispute in roster.disputes() {
        let (one, other) = (name(&dispute.one), name(&dispute.other));
        notes.push(format!(
            "{one} and {other} took each other out of the team, and neither had seen the other's act: both are out; another \
             admin may invite whoever should stay"
        ));
    }
    for ((device, scope), places) in forks {
        let name = name(device);
        let places = match places {
            1 => "one place".to_owned(),
            count => format!("{count} places"),
        };
        notes.push(format!(
            "{name} wrote two different events in {places} of its chain in {scope}: its store was copied or restored, or its \
             key was stolen. Both are kept; if it was stolen, `ergo sync revoke {name}`"
        ));
    }
    if waiting > 0 {
        let (events, wait) = if waiting == 1 { ("event", "waits") } else { ("events", "wait") };
        notes.push(format!("{waiting} {events} of the team {wait} in quarantine: `ergo sync quarantined`"));
    }
    notes
}

#[cfg(test)]
mod tests {
    use ed25519_dalek::SigningKey;

    use super::*;
    use crate::domain::{
        Body, EventKind, Header, Hlc, OpId, SignedEvent,
        roster::{Grant, Granted, ORG, Role, RosterChange},
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
    fn a_dispute_and_a_fork_are_said_with_names_and_what_to_do() {
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
        let notes = notes(&roster, &forks, 0);
        assert_eq!(notes.len(), 2);
        assert!(notes[0].contains("adas") && notes[0].contains("bobs") && notes[0].contains("took each other out"));
        assert!(notes[1].contains("2 places of its chain in acme/api") && notes[1].contains("ergo sync revoke bobs"));
    }
}
