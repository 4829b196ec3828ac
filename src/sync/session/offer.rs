//! Offers: the events that each side has of a team, and the differences between two offers.

use std::collections::{HashMap, HashSet};

use crate::{
    domain::{
        DeviceId, EventId, Scope,
        replica::{ChainEnd, DocumentId, Month, SetDigest},
        roster::Roster,
    },
    engine::SyncReader,
    store::{DocumentRow, StoreError},
    sync::frame::{DocumentOffer, Offer, ScopeOffer},
};

/// Identifies a document within a team.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct DocumentKey {
    /// The scope, under the team's name.
    pub scope: Scope,
    /// The month of its events.
    pub month: Month,
    /// The number of the document within the month, from 0.
    pub part: u32,
}

impl DocumentKey {
    pub fn document_id(&self, team: EventId) -> DocumentId {
        DocumentId::of(team, &self.scope, self.month, self.part)
    }
}

/// Returns what this device offers `peer`, which is the scopes that both may read. Also returns the number of their
/// events that are in no document yet, which the offer does not show.
pub(super) fn for_peer(reader: &SyncReader<'_>, roster: &Roster, peer: &DeviceId) -> Result<(Offer, u64), StoreError> {
    let team = roster.team();
    let (mut scopes, mut undocumented) = (Vec::new(), 0);
    for row in reader.team_scopes(&team)? {
        if row.is_roster || !roster.may_read(peer, &row.scope) {
            continue;
        }
        undocumented += reader.undocumented_count(&team, &row.scope)?;
        let documents = reader.documents(&team, Some(&row.scope))?.iter().filter_map(stored_document).collect();
        scopes.push(ScopeOffer { chains: reader.vector(&team, &row.scope)?, scope: row.scope, documents });
    }
    let waiting = reader.quarantined_count_of(&team, peer)? as u64;
    Ok((Offer { scopes, reply: false, waiting: Some(waiting).filter(|count| *count > 0) }, undocumented))
}

/// Returns a stored document as it is offered to peers.
pub(super) fn stored_document(row: &DocumentRow) -> Option<DocumentOffer> {
    let heads = row.heads.as_slice().try_into().ok()?;
    Some(DocumentOffer { month: row.month, part: row.part, events: row.events as u64, heads, digest: row.digest })
}

/// Returns a document of an offer.
pub(super) fn document_offer<'a>(of: &'a Offer, key: &DocumentKey) -> Option<&'a DocumentOffer> {
    let offer = of.scopes.iter().find(|offer| offer.scope == key.scope)?;
    offer.documents.iter().find(|document| (document.month, document.part) == (key.month, key.part))
}

/// Whether a document is in an offer.
pub(super) fn has_document(of: &Offer, team: EventId, document: DocumentId) -> bool {
    of.scopes.iter().any(|offer| {
        let id = |of: &DocumentOffer| DocumentId::of(team, &offer.scope, of.month, of.part);
        offer.documents.iter().any(|known| id(known) == document)
    })
}

/// Returns the documents of the scopes that both offer, each with this side's state and the other's.
fn documents<'a>(mine: &'a Offer, theirs: &'a Offer) -> HashMap<DocumentKey, [Option<&'a DocumentOffer>; 2]> {
    let theirs: HashMap<&Scope, &ScopeOffer> = theirs.scopes.iter().map(|offer| (&offer.scope, offer)).collect();
    let mut all: HashMap<DocumentKey, [Option<&DocumentOffer>; 2]> = HashMap::new();
    for my in &mine.scopes {
        let Some(their) = theirs.get(&my.scope) else { continue };
        for (side, offer) in [my, *their].into_iter().enumerate() {
            for document in &offer.documents {
                let key = DocumentKey { scope: my.scope.clone(), month: document.month, part: document.part };
                all.entry(key).or_default()[side] = Some(document);
            }
        }
    }
    all
}

/// Returns the documents with events that one side lacks. The latest months come first, since people look at those.
pub(super) fn differing(mine: &Offer, theirs: &Offer) -> Vec<DocumentKey> {
    let digest = |offer: Option<&DocumentOffer>| offer.map_or_else(SetDigest::default, |document| document.digest);
    let all = documents(mine, theirs);
    let mut keys: Vec<DocumentKey> =
        all.into_iter().filter(|(_, [my, their])| digest(*my) != digest(*their)).map(|(key, _)| key).collect();
    keys.sort_unstable_by(|a, b| (b.month, &a.scope, a.part).cmp(&(a.month, &b.scope, b.part)));
    keys
}

/// Returns the numbers of events that this side and the other side lack, by their chains.
pub(super) fn count_missing(mine: &Offer, theirs: &Offer) -> (u64, u64) {
    let mut lacks = (0, 0);
    for my in &mine.scopes {
        let Some(their) = theirs.scopes.iter().find(|their| their.scope == my.scope) else { continue };
        lacks.0 += beyond(&my.chains, &their.chains);
        lacks.1 += beyond(&their.chains, &my.chains);
    }
    lacks
}

/// Counts the events of `other` beyond `known`.
fn beyond(known: &[ChainEnd], other: &[ChainEnd]) -> u64 {
    let known: HashMap<_, _> = known.iter().map(|end| (end.chain, end.next)).collect();
    other
        .iter()
        .map(|end| end.next.saturating_sub(known.get(&end.chain).copied().unwrap_or(0)))
        .fold(0, u64::saturating_add)
}

/// Hashes the sets of events in the scopes that both offer. The hashes of both sides are equal exactly if neither lacks
/// an event.
pub(super) fn state_hash(mine: &Offer, theirs: &Offer) -> [u8; 32] {
    let common: HashSet<&Scope> = theirs.scopes.iter().map(|offer| &offer.scope).collect();
    let mut lines: Vec<_> = mine
        .scopes
        .iter()
        .filter(|offer| common.contains(&offer.scope))
        .flat_map(|offer| offer.documents.iter().map(move |document| (&offer.scope, document)))
        .filter(|(_, document)| document.digest != SetDigest::default())
        .map(|(scope, document)| (scope, document.month, document.part, document.digest))
        .collect();
    lines.sort_unstable();
    let mut hasher = blake3::Hasher::new();
    hasher.update(b"ergo/sync-state/1");
    for (scope, month, part, digest) in lines {
        for name in [&scope.org_id, &scope.project] {
            hasher.update(&(name.len() as u64).to_le_bytes());
            hasher.update(name.as_bytes());
        }
        hasher.update(&month.0.to_le_bytes());
        hasher.update(&part.to_le_bytes());
        hasher.update(&digest.0);
    }
    *hasher.finalize().as_bytes()
}

/// Replaces a document in an offer, or adds it.
pub(super) fn set_document_offer(theirs: &mut Offer, scope: &Scope, document: DocumentOffer) {
    let Some(offer) = theirs.scopes.iter_mut().find(|offer| offer.scope == *scope) else {
        return theirs.scopes.push(ScopeOffer { scope: scope.clone(), chains: Vec::new(), documents: vec![document] });
    };
    let at = offer.documents.iter_mut().find(|known| (known.month, known.part) == (document.month, document.part));
    match at {
        Some(known) => *known = document,
        None => offer.documents.push(document),
    }
}

/// Replaces the chains of a scope in an offer.
pub(super) fn set_chains(of: &mut Offer, scope: &Scope, chains: Vec<ChainEnd>) {
    if let Some(offer) = of.scopes.iter_mut().find(|offer| offer.scope == *scope) {
        offer.chains = chains;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::replica::Chain;

    fn scope(project: &str) -> Scope {
        Scope { org_id: "acme".into(), project: project.into() }
    }

    fn document(month: u32, ids: &[u8]) -> DocumentOffer {
        let ids: Vec<_> = ids.iter().map(|n| EventId([*n; 32])).collect();
        let digest = SetDigest::of(&ids);
        DocumentOffer { month: Month(month), part: 0, events: ids.len() as u64, heads: [0; 32], digest }
    }

    fn offer(project: &str, next: u64, documents: Vec<DocumentOffer>) -> ScopeOffer {
        let chain = Chain { author: DeviceId([1; 32]), epoch: 1, adopted: false };
        ScopeOffer { scope: scope(project), chains: vec![ChainEnd { chain, next, head: None }], documents }
    }

    fn offers(scopes: Vec<ScopeOffer>) -> Offer {
        Offer { scopes, ..Offer::default() }
    }

    #[test]
    fn what_differs_is_named_latest_first_and_only_where_both_may_read() {
        let mine = offers(vec![
            offer("api", 5, vec![document(202_610, &[1]), document(202_611, &[2, 3])]),
            offer("mine", 9, vec![document(202_611, &[9])]),
        ]);
        let theirs = offers(vec![
            offer("api", 3, vec![document(202_610, &[1, 4]), document(202_611, &[3, 2]), document(202_612, &[5])]),
            offer("theirs", 9, vec![document(202_611, &[8])]),
        ]);
        let months: Vec<u32> = differing(&mine, &theirs).into_iter().map(|key| key.month.0).collect();
        assert_eq!(months, [202_612, 202_610], "equal sets are equal, whatever their order");
        assert_eq!(count_missing(&mine, &theirs), (0, 2));
        assert_eq!(count_missing(&theirs, &mine), (2, 0));
    }

    #[test]
    fn equal_states_mean_that_nothing_differs() {
        let mine = offers(vec![offer("api", 5, vec![document(202_611, &[1, 2])]), offer("web", 1, vec![])]);
        let mut theirs = offers(vec![offer("api", 4, vec![document(202_611, &[1]), document(202_610, &[])])]);
        assert_ne!(state_hash(&mine, &theirs), state_hash(&theirs, &mine));
        set_document_offer(&mut theirs, &scope("api"), document(202_611, &[2, 1]));
        assert_eq!(
            state_hash(&mine, &theirs),
            state_hash(&theirs, &mine),
            "an empty document is none, and web is not common"
        );
        assert_eq!(differing(&mine, &theirs), []);
        set_document_offer(&mut theirs, &scope("web"), document(202_611, &[7]));
        assert_eq!(differing(&mine, &theirs).len(), 1);
    }
}
