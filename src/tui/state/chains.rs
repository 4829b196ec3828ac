//! Which keys hold where: for each mode its key scopes, of which the first that knows a key wins.

use crate::tui::action::KeyScope::{
    self, Acts, Agents, Card, Claim, Claims, Confirm, Door, Form, Global, Inbox, Marks, Matches, Models, Move, Page,
    Peers, Pick, Tour, Why,
};

/// A card, in the Inbox.
pub(super) const CARDS: &[KeyScope] = &[Card, Marks, Move, Global];
pub(super) const CLAIMS: &[KeyScope] = &[Claims, Matches, Claim, Move, Global];
pub(super) const WHY: &[KeyScope] = &[Why, Matches, Claim, Move, Global];
pub(super) const PEERS: &[KeyScope] = &[Peers, Move, Global];
pub(super) const ACTS: &[KeyScope] = &[Acts, Matches, Move, Global];
pub(super) const MODELS: &[KeyScope] = &[Models, Move, Global];
pub(super) const AGENTS: &[KeyScope] = &[Agents, Move, Global];
/// A review or a notice in the Inbox.
pub(super) const INBOX_CLAIM: &[KeyScope] = &[Inbox, Claim, Marks, Move, Global];
/// Something at the door, in the Inbox.
pub(super) const INBOX_DOOR: &[KeyScope] = &[Inbox, Door, Marks, Move, Global];
/// The Inbox, where nothing to act on is under the cursor.
pub(super) const INBOX: &[KeyScope] = &[Inbox, Marks, Move, Global];
/// What lies over a screen has the keys alone.
pub(super) const FORM: &[KeyScope] = &[Form];
pub(super) const PICK: &[KeyScope] = &[Pick];
pub(super) const CONFIRM: &[KeyScope] = &[Confirm];
pub(super) const TOUR: &[KeyScope] = &[Tour];
pub(super) const PAGE: &[KeyScope] = &[Page, Move];

/// Every one: within one, no key may mean two things.
pub const CHAINS: [&[KeyScope]; 15] =
    [CARDS, CLAIMS, WHY, PEERS, ACTS, MODELS, AGENTS, INBOX_CLAIM, INBOX_DOOR, INBOX, FORM, PICK, CONFIRM, TOUR, PAGE];
