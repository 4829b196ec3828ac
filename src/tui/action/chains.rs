//! The key scopes of each mode of the app. If several scopes of a chain have a key, the first one wins.

use super::KeyScope::{
    self, Agents, Answer, Card, Claim, Claims, Confirm, Form, Global, Inbox, Judging, Log, Marks, Matches, Models,
    Move, Notes, Page, Peers, Pending, Pick, Timeline, Tour, Verdict, Why,
};

/// A card is under the cursor of the Inbox.
pub(in crate::tui) const CARDS: &[KeyScope] = &[Card, Marks, Move, Global];
/// A story card is under the cursor of the Inbox.
pub(in crate::tui) const CARD_STORY: &[KeyScope] = &[Answer, Marks, Move, Global];
pub(in crate::tui) const CLAIMS: &[KeyScope] = &[Claims, Matches, Claim, Move, Global];
pub(in crate::tui) const WHY: &[KeyScope] = &[Why, Matches, Claim, Move, Global];
pub(in crate::tui) const PEERS: &[KeyScope] = &[Peers, Move, Global];
pub(in crate::tui) const TIMELINE: &[KeyScope] = &[Timeline, Matches, Move, Global];
pub(in crate::tui) const MODELS: &[KeyScope] = &[Models, Move, Global];
pub(in crate::tui) const AGENTS: &[KeyScope] = &[Agents, Move, Global];
pub(in crate::tui) const NOTES: &[KeyScope] = &[Notes, Move, Global];
/// A review or a notice is under the cursor of the Inbox.
pub(in crate::tui) const INBOX_CLAIM: &[KeyScope] = &[Inbox, Claim, Marks, Move, Global];
/// A join request or a quarantined event is under the cursor of the Inbox.
pub(in crate::tui) const INBOX_PENDING: &[KeyScope] = &[Inbox, Pending, Marks, Move, Global];
/// The Inbox, if there is nothing to act on under the cursor.
pub(in crate::tui) const INBOX: &[KeyScope] = &[Inbox, Marks, Move, Global];
/// An overlay takes all keys; the screen below gets none.
pub(in crate::tui) const FORM: &[KeyScope] = &[Form];
/// A form whose field asks how two claims relate.
pub(in crate::tui) const FORM_VERDICT: &[KeyScope] = &[Verdict, Form];
pub(in crate::tui) const JUDGING: &[KeyScope] = &[Verdict, Judging];
pub(in crate::tui) const PICK: &[KeyScope] = &[Pick];
pub(in crate::tui) const LOG: &[KeyScope] = &[Log, Move];
pub(in crate::tui) const CONFIRM: &[KeyScope] = &[Confirm];
pub(in crate::tui) const TOUR: &[KeyScope] = &[Tour];
pub(in crate::tui) const PAGE: &[KeyScope] = &[Page, Move];

/// All chains. Within a chain, no key may have two meanings.
pub const CHAINS: [&[KeyScope]; 20] = [
    CARDS,
    CARD_STORY,
    CLAIMS,
    WHY,
    PEERS,
    TIMELINE,
    MODELS,
    AGENTS,
    NOTES,
    INBOX_CLAIM,
    INBOX_PENDING,
    INBOX,
    FORM,
    FORM_VERDICT,
    JUDGING,
    PICK,
    LOG,
    CONFIRM,
    TOUR,
    PAGE,
];
