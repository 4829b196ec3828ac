//! Conflict cards: two or more claims that cannot both hold, and the acts that settle them.

use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};

use super::{claims::ClaimView, request};
pub use crate::domain::derive::CardKind;
use crate::domain::{CardId, ClaimId, Confusion, OpId, Qualifiers, Scope, Status, guard_report::Evidence, text};

/// The status of a card.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum CardStatus {
    /// Not settled: a person has to decide.
    #[default]
    Open,
    /// Snoozed until a time, on this device.
    Snoozed,
    /// Settled by a person, or because its claims are no longer both active.
    Settled,
}

/// An act on a card.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum CardAct {
    /// Keeps `winner`, which replaces the others; with `statement`, a merged claim replaces all of them.
    Supersede,
    /// Retracts `target`, which was wrong from the start. On the card of a refused write, the new claim is then stored.
    Retract,
    /// Limits `target` to the conditions in `qualifiers`, so that both hold.
    Narrow,
    /// Keeps both; one is recorded as an exception to the other.
    Exception,
    /// Records that there is no contradiction. A refused write is then stored, and the pair is never reported again. On
    /// a proposal: keeps the claim.
    Dismiss,
    /// Discards the refused write.
    Discard,
    /// Snoozes the card until `until`.
    Snooze,
    /// Answers the question of a story card with yes; `story.yes` says what that does.
    Yes,
    /// Answers the question of a story card with no; `story.no` says what that does.
    No,
}

impl CardAct {
    /// Every act, in the order of display.
    pub const ALL: [Self; 9] = [
        Self::Supersede,
        Self::Retract,
        Self::Narrow,
        Self::Exception,
        Self::Dismiss,
        Self::Discard,
        Self::Snooze,
        Self::Yes,
        Self::No,
    ];

    /// Returns the word used in JSON, on the command line and on screen.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Supersede => "supersede",
            Self::Retract => "retract",
            Self::Narrow => "narrow",
            Self::Exception => "exception",
            Self::Dismiss => "dismiss",
            Self::Discard => "discard",
            Self::Snooze => "snooze",
            Self::Yes => "yes",
            Self::No => "no",
        }
    }
}

/// A card in a list.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct CardSummary {
    /// Its id.
    pub id: CardId,
    /// Its origin.
    pub kind: CardKind,
    /// Whether it is open, snoozed or settled.
    pub status: CardStatus,
    /// The scope.
    pub scope: Scope,
    /// The contradiction, in one sentence.
    pub headline: String,
    /// The statements of its first two claims; absent if only one is left.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pair: Option<CardPair>,
    /// The question of a story card; absent on other cards.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub story: Option<StoryQuestion>,
    /// The act that accepts it, if an agent proposes what it may not do alone: `retract`, `supersede` or `exception`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub accept: Option<CardAct>,
    /// The id of the change that opened it. The ids of one import's changes begin with the same twelve digits.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub op_id: Option<OpId>,
    /// The claims on it, the new claim first.
    pub members: Vec<ClaimId>,
    /// When it was opened, in milliseconds since the Unix epoch.
    pub at: u64,
    /// The person whose act opened it.
    pub who: String,
    /// The agent through which they acted.
    pub agent: Option<String>,
    /// The probability that its claims contradict each other, 0 to 1.
    pub score: f32,
    /// Revision: increases with every change; send it back as `expect_rev`.
    pub rev: u64,
}

/// The question of a story card, and the effect of each answer.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct StoryQuestion {
    /// Why it is unclear which claim holds.
    pub confusion: Confusion,
    /// A question that can be answered with yes or no without reading the claims.
    pub question: String,
    /// The effect of the answer yes, in one sentence.
    pub yes: String,
    /// The effect of the answer no, in one sentence.
    pub no: String,
    /// The claims concerned, the oldest first.
    pub claims: Vec<ClaimId>,
}

/// The statements of two claims on a card, each on one line and shortened.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct CardPair {
    /// The refused write, or the newer claim.
    pub new: String,
    /// The existing claim.
    pub existing: String,
    /// The source of the new claim.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub source: Option<String>,
}

/// One claim on a card.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct CardSide {
    /// The claim. The new claim of a refused write has the status `refused`, and an id that only its card uses.
    pub claim: ClaimView,
    /// Whether it is the new claim of a refused write, which is not stored as a claim.
    pub new_claim: bool,
    /// The newest of the active claims that depend on it; `claim.dependents` says how many there are.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub bears: Vec<Bearing>,
    /// If it is not active: the active claims that replaced it, or the claim as which a refused write was stored.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub now: Vec<ClaimView>,
}

impl CardSide {
    /// Returns whether this side can be acted on, because it is active or the refused write.
    pub fn takes_acts(&self) -> bool {
        self.new_claim || self.claim.status == Status::Active
    }
}

/// A short view of a claim that depends on another.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Bearing {
    /// Its id.
    pub id: ClaimId,
    /// Its statement.
    pub statement: String,
}

/// A way to settle a card, and the reason if it is not possible.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct ActOption {
    /// Its name in `POST /conflicts/{id}/resolve`.
    pub act: CardAct,
    /// Why it cannot be done now.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub disabled: Option<String>,
    /// The reason that would be recorded unless another is given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub prefill: Option<String>,
}

/// How a card was settled.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct CardSettlement {
    /// The act; `moot` if its claims were no longer both active, `undone` if the write on it was undone, `withdraw` if
    /// the refused line left its file, or the agent withdrew its proposal.
    pub act: String,
    /// The person; without `op_id`, who opened the card.
    pub who: String,
    /// The agent through which they acted.
    pub agent: Option<String>,
    /// The time, in milliseconds since the Unix epoch.
    pub at: u64,
    /// Why.
    pub reason: Option<String>,
    /// The id of the change that settled it; name it to undo. Absent if nobody settled it.
    pub op_id: Option<OpId>,
    /// The claim that the refused write became, if it was stored.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stored_as: Option<ClaimId>,
    /// Whether a merged statement replaced the claims; `act` is `supersede`.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub merged: bool,
}

impl CardSettlement {
    /// Returns whether somebody settled the card. Otherwise it no longer applies, and `who` and `agent` opened it.
    pub fn is_by_somebody(&self) -> bool {
        self.op_id.is_some()
    }

    /// Says by whom the card was settled, and how: “was settled by ada (the new claim was discarded)”.
    pub fn words(&self) -> String {
        self.words_for(self.outcome())
    }

    fn words_for(&self, outcome: &str) -> String {
        if !self.is_by_somebody() {
            return format!("no longer applies ({outcome})");
        }
        format!("was settled by {} ({outcome})", text::writer(&self.who, self.agent.as_deref()))
    }

    /// Describes how the card was settled.
    pub fn outcome(&self) -> &str {
        match self.act.as_str() {
            "supersede" if self.merged => "the claims were merged",
            "supersede" => "one claim was kept",
            "retract" => "one claim was retracted",
            "narrow" => "one claim was narrowed, and both hold",
            "exception" => "both were kept, as an exception",
            "dismiss" => "dismissed as no contradiction",
            "discard" => "the new claim was discarded",
            "withdraw" if !self.is_by_somebody() => "the proposal was withdrawn",
            "withdraw" => "the new claim was withdrawn",
            "moot" => "they no longer contradict",
            "undone" => "the write was undone",
            "yes" => "answered with yes",
            "no" => "answered with no",
            act => act,
        }
    }
}

/// A card in full.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct CardView {
    /// The fields of the list.
    #[serde(flatten)]
    pub summary: CardSummary,
    /// The claims on it, the new claim first. If it is open and has a new claim, the active claims that replaced a claim
    /// on it stand in its place.
    pub sides: Vec<CardSide>,
    /// The guard's evidence, the strongest first.
    pub evidence: Vec<Evidence>,
    /// Every way to settle it, with the reason if it is disabled.
    pub acts: Vec<ActOption>,
    /// Advice in one or two sentences.
    pub advice: String,
    /// How it was settled; absent unless it is.
    #[serde(default)]
    pub settled: Option<CardSettlement>,
    /// When it will be shown again, in milliseconds since the Unix epoch.
    #[serde(default)]
    pub snoozed_until: Option<u64>,
}

/// The maximum length, in characters, of a statement that is quoted in the reason why an act is not possible.
const QUOTE_LENGTH: usize = 60;

impl CardView {
    /// Says that the card is settled, by whom and how, so that an act on it does nothing; `None` if it is not settled.
    pub fn settled_message(&self) -> Option<String> {
        let words = self.settled.as_ref()?.words_for(self.outcome()?);
        Some(format!("card {} {words}; nothing was done", self.summary.id.short()))
    }

    /// Describes how the card was settled; `None` if it is not settled.
    pub fn outcome(&self) -> Option<&str> {
        let settled = self.settled.as_ref()?;
        // A proposal to retract a claim is no contradiction that could be dismissed.
        let kept = self.summary.kind == CardKind::Proposed && settled.act == CardAct::Dismiss.as_str();
        Some(if kept { "the claim was kept" } else { settled.outcome() })
    }

    /// Returns whether `now`, one of the claims in place of `side`, is its text as it was stored when the card was settled.
    /// Otherwise it replaced the side.
    pub fn is_stored_as(&self, side: &CardSide, now: &ClaimView) -> bool {
        side.new_claim && self.settled.as_ref().is_some_and(|settled| settled.stored_as == Some(now.id))
    }

    /// Returns the number of sides that can be acted on.
    pub fn open_sides(&self) -> usize {
        self.sides.iter().filter(|side| side.takes_acts()).count()
    }

    /// Returns whether no side of an open contested card is active. Then keeping one makes it active again.
    pub fn none_is_active(&self) -> bool {
        self.summary.kind == CardKind::Contested && self.settled.is_none() && self.open_sides() == 0
    }

    /// Checks whether the act is possible on the side at this index; `supersede` keeps this side. Whether the card allows the act at all
    /// is in `acts`.
    ///
    /// # Errors
    /// The reason why not, as the end of a sentence.
    pub fn can_act_on(&self, act: CardAct, index: usize) -> Result<(), String> {
        let name = if index == 0 { "the new claim" } else { "the existing claim" };
        match self.sides.get(index) {
            None => Err("this card has no existing claim".to_owned()),
            Some(_) if act == CardAct::Supersede && self.none_is_active() => Ok(()),
            Some(side) if side.new_claim && side.claim.statement.is_empty() => {
                Err("the text of the new claim was redacted".to_owned())
            }
            Some(side) if !side.takes_acts() => Err(match side.now.first() {
                None => format!("{name} is no longer active"),
                Some(now) => {
                    format!("{name} was replaced: “{}” is active now", text::cut_line(&now.statement, QUOTE_LENGTH))
                }
            }),
            // The refused write is discarded, and no stored claim changes.
            Some(side)
                if act == CardAct::Supersede && !side.new_claim && self.sides.iter().any(|one| one.new_claim) =>
            {
                Ok(())
            }
            Some(_) => match act {
                CardAct::Supersede => self.can_change(|at| at != index),
                CardAct::Retract => self.can_change(|at| at == index),
                _ => Ok(()),
            },
        }
    }

    /// Checks whether a merged claim can replace all sides.
    ///
    /// # Errors
    /// The reason why not, as the end of a sentence.
    pub fn can_merge(&self) -> Result<(), String> {
        self.can_change(|_| true)
    }

    /// Checks that the active claims at the changed indexes belong to the card's own scope: a card cannot replace or retract claims of
    /// another scope.
    fn can_change(&self, is_changed: impl Fn(usize) -> bool) -> Result<(), String> {
        let mut changed = self.sides.iter().enumerate().filter(|(at, side)| is_changed(*at) && side.takes_acts());
        match changed.find(|(_, side)| !side.new_claim && side.claim.scope != self.summary.scope) {
            None => Ok(()),
            Some((_, side)) => Err(format!(
                "“{}” belongs to {}: change it there, narrow it for this project, or keep both as an exception",
                text::cut_line(&side.claim.statement, QUOTE_LENGTH),
                side.claim.scope
            )),
        }
    }
}

/// `GET /conflicts`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, IntoParams)]
#[serde(default, deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub struct ConflictsQuery {
    /// The organisation; without it, all scopes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub org_id: Option<String>,
    /// The project.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub project: Option<String>,
    /// `open` (default), `snoozed`, `settled` or `all`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub status: Option<String>,
    /// One kind of card, or several separated by commas.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub kind: Option<String>,
    /// Return the state at this time, in milliseconds since the Unix epoch.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub as_of: Option<u64>,
    /// Page size, at most 200; default 50.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub limit: Option<usize>,
    /// `next` of the previous page.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cursor: Option<String>,
}

/// A page of cards, newest first.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct ConflictsPage {
    /// The cards.
    pub items: Vec<CardSummary>,
    /// The number of items in all pages.
    pub total: usize,
    /// The cursor of the next page; absent on the last page.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub next: Option<String>,
}

request! {
    /// `POST /conflicts/{id}/resolve`. Returns with a [`super::WriteOutcome`]: the guard checks what is stored again.
    pub struct ResolveRequest {
        /// Who acts; the scope is the card's and may be left empty.
        caller(who),
        /// The act.
        pub act: CardAct,
        /// The reason; required except for `snooze`.
        #[serde(default)]
        pub reason: String,
        /// The claim to keep (`supersede`): an id or prefix.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        pub winner: Option<String>,
        /// The claim to change (`retract`, `narrow`), or the one that is the exception (`exception`; by default the new
        /// claim): an id or prefix.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        pub target: Option<String>,
        /// The merged (`supersede`) or reworded (`narrow`) text.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        pub statement: Option<String>,
        /// The conditions under which the narrowed claim (`narrow`) or the merged one (`supersede`) holds.
        #[serde(default)]
        pub qualifiers: Qualifiers,
        /// Whether a merged claim has only these conditions. By default it also keeps those that all sides have in common,
        /// except a first day that has passed.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        pub drop_conditions: bool,
        /// When to show the card again (`snooze`), in milliseconds since the Unix epoch.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        pub until: Option<u64>,
        /// The `rev` of the card as it was shown.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        pub expect_rev: Option<u64>,
    }
}
