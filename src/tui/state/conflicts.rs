//! Cards: the list of the cards of one status, which the filtered Inbox shows, and the card under the cursor.

use super::{Focus, marks::Marks, windowed::Windowed};
use crate::{
    api::{ActOption, CardAct, CardKind, CardSettlement, CardSide, CardStatus, CardSummary, CardView, ConflictsQuery},
    domain::{CardId, Scope, guard_report::Evidence},
    tui::{
        text,
        word_diff::{self, PairDiff},
    },
};

/// Which cards are listed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum CardListFilter {
    /// Cards that wait for a decision.
    #[default]
    Open,
    /// Snoozed cards.
    Snoozed,
    /// Decided cards.
    Settled,
    /// All cards.
    All,
}

impl CardListFilter {
    /// Returns the next filter in the cycle; `None` for the Inbox itself, which lists what waits.
    pub fn next(self) -> Option<Self> {
        match self {
            Self::Open => Some(Self::Snoozed),
            Self::Snoozed => Some(Self::Settled),
            Self::Settled => Some(Self::All),
            Self::All => None,
        }
    }

    /// Returns the word of the filter on the wire and on screen.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Open => "open",
            Self::Snoozed => "snoozed",
            Self::Settled => "settled",
            Self::All => "all",
        }
    }
}

/// Which words of the two statements on a card are highlighted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum HighlightMode {
    /// The words that only one side has; if those are nearly all words, the words that the guard compared.
    #[default]
    Guard,
    /// All words that only one side has.
    Differences,
    /// No words: both texts are shown as they were written.
    Off,
}

impl HighlightMode {
    /// Returns the next mode in the cycle. `apart`: the sides share so few words that [`Self::Guard`] and
    /// [`Self::Differences`] highlight different ones.
    #[must_use]
    pub fn next(self, apart: bool) -> Self {
        match self {
            Self::Guard if apart => Self::Differences,
            Self::Guard | Self::Differences => Self::Off,
            Self::Off => Self::Guard,
        }
    }
}

#[derive(Clone, Debug, Default)]
pub struct ConflictsState {
    pub list: Windowed<CardSummary>,
    /// Which cards are listed.
    pub filter: CardListFilter,
    /// The pane that has the focus.
    pub focus: Focus,
    /// The card that was read last.
    pub card: Option<Card>,
    /// The error message, if reading the list failed.
    pub error: Option<String>,
    /// The error message, if reading the card failed.
    pub card_error: Option<String>,
    /// The card that this app settled last. It leaves the list at once, unlike a card that was settled elsewhere.
    pub released: Option<CardId>,
    /// The marked items of the Inbox, which one act will settle.
    pub marks: Marks,
    /// Whether a card shows the guard's evidence: its sentence, both norms, and the figures.
    pub details: bool,
    /// Which words of the two sides of a card are highlighted.
    pub words: HighlightMode,
    /// The id of a card, or a prefix of it; the card is opened once it arrives.
    pub wanted: Option<String>,
}

impl ConflictsState {
    /// Returns the query for one page of the list.
    pub fn query(&self, scope: Option<&Scope>, cursor: Option<String>) -> ConflictsQuery {
        ConflictsQuery {
            org_id: scope.map(|scope| scope.org_id.clone()),
            project: scope.map(|scope| scope.project.clone()),
            status: Some(self.filter.as_str().to_owned()),
            limit: Some(super::windowed::PAGE_SIZE),
            cursor,
            ..ConflictsQuery::default()
        }
    }

    /// Returns the loaded card if it is the card under the cursor; an act on another card would surprise.
    pub fn current(&self) -> Option<&Card> {
        let listed = self.list.selected().map(|row| row.id);
        self.card.as_ref().filter(|card| listed == Some(card.view.summary.id))
    }
}

/// A card, ready to be shown.
#[derive(Clone, Debug)]
pub struct Card {
    pub view: CardView,
    /// The index of the side that is compared with the first one; at least 1.
    pub other: usize,
    /// The word diff of these two sides.
    pub diff: PairDiff,
    /// The first visible line.
    pub scroll: usize,
    /// Whether someone else settled the card while it was shown.
    pub elsewhere: bool,
}

impl Card {
    /// Prepares a card for display. Its first side is compared with the first other one that is active.
    pub fn new(view: CardView) -> Self {
        let other = first_opponent(&view);
        let mut card = Self { view, other, diff: PairDiff::default(), scroll: 0, elsewhere: false };
        card.compare(other);
        card
    }

    /// Takes a fresh view of the same card; the compared side and the scroll position stay. If the compared side is no
    /// longer active, or no longer on the card, the next opponent takes its place.
    pub fn refresh(&mut self, view: CardView) {
        self.elsewhere |= self.view.summary.status == CardStatus::Open && view.summary.status == CardStatus::Settled;
        self.elsewhere &= view.summary.status == CardStatus::Settled;
        let before = self.b().map(|side| side.claim.id);
        let changed = self.view.summary.rev != view.summary.rev;
        self.view = view;
        let same = before.and_then(|id| self.view.sides.iter().position(|side| side.claim.id == id));
        let stays = |at: &usize| !changed || self.view.sides.get(*at).is_some_and(CardSide::takes_acts);
        self.compare(same.filter(stays).unwrap_or_else(|| first_opponent(&self.view)));
    }

    /// Compares the first side with side `other`. A single side is compared with itself.
    pub fn compare(&mut self, other: usize) {
        self.other = other.min(self.view.sides.len().saturating_sub(1)).max(1);
        let statement = |side: Option<&CardSide>| side.map_or("", |side| side.claim.statement.as_str()).to_owned();
        self.diff = word_diff::words(&statement(self.a()), &statement(self.b().or(self.a())));
    }

    /// Returns the new side.
    pub fn a(&self) -> Option<&CardSide> {
        self.view.sides.first()
    }

    /// Returns the existing side that is shown.
    pub fn b(&self) -> Option<&CardSide> {
        self.view.sides.get(self.other)
    }

    /// Says why the card is closed although nobody settled it, without a period at the end; `None` for any other card.
    pub fn moot(view: &CardView) -> Option<String> {
        view.settled.as_ref().filter(|settled| !settled.is_by_somebody())?;
        let gone = view.sides.iter().filter(|side| !side.takes_acts()).map(|side| {
            let claim = &side.claim;
            let reason = claim.closing_reason.as_ref().map_or_else(String::new, |reason| format!(" ({reason})"));
            let what = if claim.flags.redacted {
                format!("claim {}", claim.id.short())
            } else {
                format!("“{}”", text::fit(&claim.statement, 60))
            };
            format!("{what} was {}{reason}", claim.flags.status_word(claim.status))
        });
        let gone: Vec<String> = gone.collect();
        let why = if gone.is_empty() {
            view.settled.as_ref().map_or("", CardSettlement::outcome).to_owned()
        } else {
            gone.join("; ")
        };
        Some(format!("No longer applies: {why}"))
    }

    /// Returns whether the existing side replaced the claim because of which the new claim was refused.
    pub fn is_replaced(&self) -> bool {
        let refused = self.view.summary.kind == CardKind::Refused;
        self.b().is_some_and(|side| refused && !self.view.summary.members.contains(&side.claim.id))
    }

    /// Returns the label of a side: `new`, `existing`, or, if there are several existing sides, such as `existing 2`.
    pub fn name(&self, index: usize) -> String {
        match (index, self.view.sides.len()) {
            (_, 1) => "the claim".to_owned(),
            (0, _) => "new".to_owned(),
            (_, 2) => "existing".to_owned(),
            (index, _) => format!("existing {index}"),
        }
    }

    /// Returns the probability that the two sides contradict each other, from 0 to 1: the judge's, otherwise the card's
    /// score.
    pub fn probability(&self) -> f32 {
        let judged = self.evidence().and_then(|evidence| evidence.features.get("probability").copied());
        judged.unwrap_or(self.view.summary.score)
    }

    /// Returns the card's option for an act.
    pub fn option(&self, act: CardAct) -> Option<&ActOption> {
        self.view.acts.iter().find(|option| option.act == act)
    }

    /// Checks whether an act is possible on this card; the error says why not.
    pub fn can(&self, act: CardAct) -> Result<(), String> {
        match self.option(act) {
            Some(option) => option.disabled.clone().map_or(Ok(()), Err),
            None => Err(format!("{} is not possible on this card", act.as_str())),
        }
    }

    /// Returns the evidence about the two shown sides: the evidence that names a norm of the existing side, otherwise
    /// the strongest.
    pub fn evidence(&self) -> Option<&Evidence> {
        let norms = &self.b()?.claim.norms;
        let theirs = |evidence: &&Evidence| norms.contains(&evidence.their_norm) || norms.contains(&evidence.norm);
        self.view.evidence.iter().find(theirs).or_else(|| self.view.evidence.first())
    }
}

/// Returns the index of the first active side after the first one; 1 if there is none.
fn first_opponent(view: &CardView) -> usize {
    (1..view.sides.len()).find(|side| view.sides.get(*side).is_some_and(CardSide::takes_acts)).unwrap_or(1)
}
