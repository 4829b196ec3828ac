//! Which keys hold where: for each mode its key scopes, of which the first that knows a key wins.

use super::KeyScope::{
    self, Agents, Answer, Card, Claim, Claims, Confirm, Form, Global, Inbox, Judging, Marks, Matches, Models, Move,
    Notes, Page, Peers, Pending, Pick, Timeline, Tour, Verdict, Why,
};

/// A card, in the Inbox.
pub(in crate::tui) const CARDS: &[KeyScope] = &[Card, Marks, Move, Global];
/// A card of the story, in the Inbox.
pub(in crate::tui) const CARD_STORY: &[KeyScope] = &[Answer, Marks, Move, Global];
pub(in crate::tui) const CLAIMS: &[KeyScope] = &[Claims, Matches, Claim, Move, Global];
pub(in crate::tui) const WHY: &[KeyScope] = &[Why, Matches, Claim, Move, Global];
pub(in crate::tui) const PEERS: &[KeyScope] = &[Peers, Move, Global];
pub(in crate::tui) const TIMELINE: &[KeyScope] = &[Timeline, Matches, Move, Global];
pub(in crate::tui) const MODELS: &[KeyScope] = &[Models, Move, Global];
pub(in crate::tui) const AGENTS: &[KeyScope] = &[Agents, Move, Global];
pub(in crate::tui) const NOTES: &[KeyScope] = &[Notes, Move, Global];
/// A review or a notice in the Inbox.
pub(in crate::tui) const INBOX_CLAIM: &[KeyScope] = &[Inbox, Claim, Marks, Move, Global];
/// A device or an event that waits for a decision, in the Inbox.
pub(in crate::tui) const INBOX_PENDING: &[KeyScope] = &[Inbox, Pending, Marks, Move, Global];
/// The Inbox, if nothing to act on is under the cursor.
pub(in crate::tui) const INBOX: &[KeyScope] = &[Inbox, Marks, Move, Global];
/// What lies over a screen has the keys alone.
pub(in crate::tui) const FORM: &[KeyScope] = &[Form];
/// A form whose field asks how two claims relate.
pub(in crate::tui) const FORM_VERDICT: &[KeyScope] = &[Verdict, Form];
pub(in crate::tui) const JUDGING: &[KeyScope] = &[Verdict, Judging];
pub(in crate::tui) const PICK: &[KeyScope] = &[Pick];
pub(in crate::tui) const CONFIRM: &[KeyScope] = &[Confirm];
pub(in crate::tui) const TOUR: &[KeyScope] = &[Tour];
pub(in crate::tui) const PAGE: &[KeyScope] = &[Page, Move];

/// Every one: within one, no key may mean two things.
pub const CHAINS: [&[KeyScope]; 19] = [
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
    CONFIRM,
    TOUR,
    PAGE,
];
