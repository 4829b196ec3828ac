//! Settles many cards by one act, so that one undo reverses all of it.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::{Warning, conflicts::CardAct, request};
use crate::domain::{CardId, ClaimId, OpId, Scope};

/// The maximum number of cards that one act settles.
pub const MAX_CARDS: usize = 100;

/// A reference to a card in the revision that was shown.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(default, deny_unknown_fields)]
pub struct CardRef {
    /// Its id or prefix.
    pub id: String,
    /// The `rev` that was shown; a card that has changed since is skipped.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub expect_rev: Option<u64>,
}

/// Which side of each card stays.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum Keep {
    /// The new claim: the refused write, or the newer claim.
    First,
    /// The existing claim.
    Second,
    /// The claim from this source: a path without the line, or the source as it was given.
    Source(String),
    /// The claim written by this person or through this agent.
    Writer(String),
}

request! {
    /// `POST /conflicts/resolve`: settles many cards of one scope with one change. A card that cannot be settled is left
    /// unchanged, and the answer says why.
    pub struct ResolveManyRequest {
        /// Who acts; the scope is that of the cards and may be left empty.
        caller(who),
        /// The cards, at most [`MAX_CARDS`]; all of one scope.
        pub cards: Vec<CardRef>,
        /// What to do: `supersede` with `keep`, `exception`, `dismiss`, `discard` or `snooze`.
        pub act: CardAct,
        /// Which side to keep (`supersede`).
        #[serde(default, skip_serializing_if = "Option::is_none")]
        pub keep: Option<Keep>,
        /// The reason; if it is empty, each card's recorded reason is used, and a card without one is skipped.
        #[serde(default)]
        pub reason: String,
        /// When to show them again (`snooze`), in milliseconds since the Unix epoch.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        pub until: Option<u64>,
        /// Dry run: report what would happen and change nothing.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        pub dry_run: bool,
    }
}

/// The result for one card.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct ResolvedCard {
    /// The card.
    pub card: CardId,
    /// The contradiction on it, in one sentence.
    pub headline: String,
    /// Whether it is settled or snoozed; with `dry_run`, whether it would be.
    pub settled: bool,
    /// The effect, or why the card was left unchanged, in one sentence.
    pub summary: String,
    /// The guard's warnings about claims that settling the card stores.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub warnings: Vec<Warning>,
}

/// The answer to `POST /conflicts/resolve`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct ResolvedMany {
    /// The id of this change; name it to undo all of it.
    pub op_id: OpId,
    /// The scope.
    pub scope: Scope,
    /// What happened, in one sentence.
    pub summary: String,
    /// Each card, in the order of the request.
    pub items: Vec<ResolvedCard>,
    /// Active claims that need review since this change.
    #[serde(default)]
    pub needs_review: Vec<ClaimId>,
    /// Whether this was a dry run, which changes nothing.
    #[serde(default)]
    pub dry_run: bool,
    /// Whether this is the answer to a retry: nothing new happened.
    #[serde(default)]
    pub replayed: bool,
}

impl ResolvedMany {
    /// Returns the number of cards that are settled, or would be on a dry run.
    pub fn settled(&self) -> usize {
        self.items.iter().filter(|item| item.settled).count()
    }
}
