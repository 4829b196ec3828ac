//! Settling many cards by one act: one operation, hence one undo.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::{conflicts::CardAct, request};
use crate::domain::{CardId, ClaimId, OpId, Scope};

/// The most cards that one act settles.
pub const MAX_CARDS: usize = 100;

/// A card as it was shown.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(default, deny_unknown_fields)]
pub struct CardRef {
    /// Its id or prefix.
    pub id: String,
    /// Its `rev` as it was shown; a card that has changed since is left as it is.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub expect_rev: Option<u64>,
}

/// Which side of each card stays.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum Keep {
    /// The first: the refused candidate, or the newer claim.
    First,
    /// The second: what stood there before.
    Second,
    /// The one that comes from this source: a path, without the line, or whatever was given as source.
    Source(String),
    /// The one written by this person, or through this agent.
    Writer(String),
}

request! {
    /// `POST /conflicts/resolve`: the same for many cards of one scope. What cannot be done for a card leaves that card as it is,
    /// and the answer says why; the others are settled together.
    pub struct ResolveManyRequest {
        /// Who acts; the scope is that of the cards and may be left empty.
        caller,
        /// The cards, at most [`MAX_CARDS`]; all of one scope.
        pub cards: Vec<CardRef>,
        /// What to do: `supersede` with `keep`, `exception`, `dismiss`, `discard` or `snooze`.
        pub act: CardAct,
        /// Which side stays (`supersede`).
        #[serde(default, skip_serializing_if = "Option::is_none")]
        pub keep: Option<Keep>,
        /// Why; if it is empty, each card's own known reason, and a card without one is left as it is.
        #[serde(default)]
        pub reason: String,
        /// When they come back (`snooze`), in milliseconds since the Unix epoch.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        pub until: Option<u64>,
        /// Say what would happen; change nothing.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        pub dry_run: bool,
    }
}

/// What became of one card.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct ResolvedCard {
    /// The card.
    pub card: CardId,
    /// What disagrees on it.
    pub headline: String,
    /// It is settled, or put off; with `dry_run`, it would be.
    pub settled: bool,
    /// What is done, or why it is left as it is, in a sentence.
    pub summary: String,
}

/// The answer to `POST /conflicts/resolve`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct ResolvedMany {
    /// The act; name it to undo all of it.
    pub op_id: OpId,
    /// Where.
    pub scope: Scope,
    /// What happened, in one sentence.
    pub summary: String,
    /// Each card, in the order of the request.
    pub items: Vec<ResolvedCard>,
    /// Active claims that need review since this act.
    #[serde(default)]
    pub needs_review: Vec<ClaimId>,
    /// Nothing was changed: it was only asked what would happen.
    #[serde(default)]
    pub dry_run: bool,
    /// The act was done before; nothing happened now.
    #[serde(default)]
    pub replayed: bool,
}

impl ResolvedMany {
    /// How many cards are settled, or would be.
    pub fn settled(&self) -> usize {
        self.items.iter().filter(|item| item.settled).count()
    }
}
