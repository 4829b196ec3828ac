//! Cards: the list of one status, as the filtered Inbox shows it, and the card under the cursor.

use super::{Focus, marks::Marks, windowed::Windowed};
use crate::{
    api::{ActOption, CardAct, CardSide, CardStatus, CardSummary, CardView, ConflictsQuery},
    domain::{CardId, Scope, guard_report::Evidence},
    tui::word_diff::{self, PairDiff},
};

/// Which cards are listed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum CardListFilter {
    /// Those that wait.
    #[default]
    Open,
    /// Those that were snoozed.
    Snoozed,
    /// Those that are decided.
    Settled,
    /// All.
    All,
}

impl CardListFilter {
    /// The next one round; `None` for the Inbox itself, which lists what waits.
    pub fn next(self) -> Option<Self> {
        match self {
            Self::Open => Some(Self::Snoozed),
            Self::Snoozed => Some(Self::Settled),
            Self::Settled => Some(Self::All),
            Self::All => None,
        }
    }

    /// The word on the wire and on screen.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Open => "open",
            Self::Snoozed => "snoozed",
            Self::Settled => "settled",
            Self::All => "all",
        }
    }
}

/// Which words of the two statements on a card are marked.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum HighlightMode {
    /// Those that only one side has; if that is nearly all, those that the guard went by.
    #[default]
    Guard,
    /// All that only one side has.
    Differences,
    /// None: both texts as they were written.
    Off,
}

impl HighlightMode {
    /// The next one round. `apart`: the sides share so little that what tells and what differs are not the same.
    #[must_use]
    pub fn next(self, apart: bool) -> Self {
        match self {
            Self::Guard if apart => Self::Differences,
            Self::Guard | Self::Differences => Self::Off,
            Self::Off => Self::Guard,
        }
    }
}

/// The cards.
#[derive(Clone, Debug, Default)]
pub struct ConflictsState {
    /// The cards.
    pub list: Windowed<CardSummary>,
    /// Which cards are listed.
    pub filter: CardListFilter,
    /// Which part has the focus.
    pub focus: Focus,
    /// The card last read.
    pub card: Option<Card>,
    /// The error message, if reading failed.
    pub error: Option<String>,
    /// The card that this app settled last: it leaves the list at once, unlike one that was settled elsewhere.
    pub released: Option<CardId>,
    /// What is marked in the Inbox, to be settled by one act.
    pub marks: Marks,
    /// Why the guard thinks so is shown on a card: its sentence, both norms, and the figures.
    pub details: bool,
    /// Which words of the two sides are marked on a card.
    pub words: HighlightMode,
    /// A card to open by its id or prefix once it arrives.
    pub wanted: Option<String>,
}

impl ConflictsState {
    /// What the list asks the daemon for.
    pub fn query(&self, scope: Option<&Scope>, cursor: Option<String>) -> ConflictsQuery {
        ConflictsQuery {
            org_id: scope.map(|scope| scope.org_id.clone()),
            project: scope.map(|scope| scope.project.clone()),
            status: Some(self.filter.as_str().to_owned()),
            limit: Some(super::windowed::PAGE),
            cursor,
            ..ConflictsQuery::default()
        }
    }

    /// The card, if it is the one under the cursor of the list that was asked for: acts on another would surprise.
    pub fn current(&self) -> Option<&Card> {
        let listed = self.list.selected().map(|row| row.id);
        self.card.as_ref().filter(|card| listed == Some(card.view.summary.id))
    }
}

/// A card, ready to be shown.
#[derive(Clone, Debug)]
pub struct Card {
    /// The card.
    pub view: CardView,
    /// The side that is compared with the first, from 1.
    pub other: usize,
    /// The word diff of those two.
    pub diff: PairDiff,
    /// The first line shown.
    pub scroll: usize,
    /// It was settled by someone else while it was shown.
    pub elsewhere: bool,
}

impl Card {
    /// Makes a card ready.
    pub fn new(view: CardView) -> Self {
        let mut card = Self { view, other: 1, diff: PairDiff::default(), scroll: 0, elsewhere: false };
        card.compare(1);
        card
    }

    /// Takes a fresh view of the same card: what is compared and its scroll position stay.
    pub fn refresh(&mut self, view: CardView) {
        self.elsewhere |= self.view.summary.status == CardStatus::Open && view.summary.status == CardStatus::Settled;
        self.elsewhere &= view.summary.status == CardStatus::Settled;
        self.view = view;
        self.compare(self.other);
    }

    /// Compares the first side with side `other`; the only side of a card with itself.
    pub fn compare(&mut self, other: usize) {
        self.other = other.min(self.view.sides.len().saturating_sub(1)).max(1);
        let text = |side: Option<&CardSide>| side.map_or("", |side| side.claim.statement.as_str()).to_owned();
        self.diff = word_diff::words(&text(self.a()), &text(self.b().or(self.a())));
    }

    /// The new side.
    pub fn a(&self) -> Option<&CardSide> {
        self.view.sides.first()
    }

    /// The existing side that is shown.
    pub fn b(&self) -> Option<&CardSide> {
        self.view.sides.get(self.other)
    }

    /// What a side is called: `new`, `existing`, or, if there are several of those, `existing 2`.
    pub fn name(&self, index: usize) -> String {
        match (index, self.view.sides.len()) {
            (_, 1) => "the claim".to_owned(),
            (0, _) => "new".to_owned(),
            (_, 2) => "existing".to_owned(),
            (index, _) => format!("existing {index}"),
        }
    }

    /// How likely the two sides contradict each other, 0 to 1: by the judge, else as strongly as the guard's rule says.
    pub fn probability(&self) -> f32 {
        let judged = self.evidence().and_then(|evidence| evidence.features.get("probability").copied());
        judged.unwrap_or(self.view.summary.score)
    }

    /// An act's row on the card.
    pub fn option(&self, act: CardAct) -> Option<&ActOption> {
        self.view.acts.iter().find(|option| option.act == act)
    }

    /// Whether an act can be done, or why not.
    pub fn can(&self, act: CardAct) -> Result<(), String> {
        match self.option(act) {
            Some(option) => option.disabled.clone().map_or(Ok(()), Err),
            None => Err(format!("{} is not possible on this card", act.as_str())),
        }
    }

    /// The evidence about the two sides shown: that whose stored norm is B's, else the strongest.
    pub fn evidence(&self) -> Option<&Evidence> {
        let norms = &self.b()?.claim.norms;
        let theirs = |evidence: &&Evidence| norms.contains(&evidence.their_norm) || norms.contains(&evidence.norm);
        self.view.evidence.iter().find(theirs).or_else(|| self.view.evidence.first())
    }
}
