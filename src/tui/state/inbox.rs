//! The Inbox: everything that needs attention, in groups; the cursor stands on one item, whatever comes or goes around it.

mod imports;
mod window;

pub use imports::{Import, ImportNumber, number_of};
pub use window::GroupWindow;

use super::Focus;
use crate::{
    api::{
        ClaimView, Inbox as View, InboxItem, InboxKind, InboxQuery, NoticeItem, PendingJoin, QuarantinedView,
        ReviewItem,
    },
    domain::{CardId, ClaimId, EventId, Scope},
};

/// Rows asked for of each group: what is beyond them is one key away, and counted.
pub const EACH: usize = 50;

/// What a row is, whatever stands above it.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum ItemId {
    /// A card.
    Card(CardId),
    /// A claim that needs review.
    Review(ClaimId),
    /// Something that was done.
    Notice(EventId),
    /// An event that was not accepted.
    Quarantined(EventId),
    /// A device that asks to join.
    Joining(String),
    /// What one import brought into a group.
    Import(InboxKind, ImportNumber),
    /// What comes before the page of a group that is shown.
    Before(InboxKind),
    /// The rest of a group.
    More(InboxKind),
    /// The pairs that wait for a verdict.
    Pairs,
    /// What may be promoted.
    Promotions,
}

/// One row.
#[derive(Clone, Copy, Debug)]
pub enum InboxRow<'a> {
    /// A group with its name and how many are in it. The cursor passes over it.
    Heading(InboxKind, Count),
    /// An item that needs attention.
    Item(InboxKind, &'a InboxItem),
    /// Things of one import.
    Import(InboxKind, Import<'a>),
    /// So many of a group come before those that are listed.
    Before(InboxKind, usize),
    /// So many more of a group, which are not listed here.
    More(InboxKind, usize),
    /// So many pairs wait for a verdict.
    Pairs(usize),
    /// So many rules may be promoted to their organisation.
    Promotions(usize),
}

/// How many there are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Count {
    /// As far as it was counted.
    pub total: usize,
    /// There may be more.
    pub at_least: bool,
}

impl InboxRow<'_> {
    /// What it is; a heading is nothing that the cursor could stand on.
    pub fn id(&self) -> Option<ItemId> {
        match self {
            Self::Heading(..) => None,
            Self::Item(_, item) => Some(id_of(item)),
            Self::Import(kind, import) => Some(ItemId::Import(*kind, import.number)),
            Self::Before(kind, _) => Some(ItemId::Before(*kind)),
            Self::More(kind, _) => Some(ItemId::More(*kind)),
            Self::Pairs(_) => Some(ItemId::Pairs),
            Self::Promotions(_) => Some(ItemId::Promotions),
        }
    }
}

/// What an item is.
pub fn id_of(item: &InboxItem) -> ItemId {
    match item {
        InboxItem::Card(card) => ItemId::Card(card.id),
        InboxItem::Review(item) => ItemId::Review(item.claim.id),
        InboxItem::Notice(item) => ItemId::Notice(item.id),
        InboxItem::Quarantined(item) => ItemId::Quarantined(item.id),
        InboxItem::Joining(join) => ItemId::Joining(join.id.clone()),
    }
}

/// What was under the cursor and is settled meanwhile: it stays until the cursor leaves it.
#[derive(Clone, Debug)]
pub struct SettledItem {
    /// Its group.
    pub kind: InboxKind,
    /// The item.
    pub item: InboxItem,
}

/// The screen.
#[derive(Clone, Debug, Default)]
pub struct InboxState {
    /// The daemon's last answer; `None` before the first one.
    pub view: Option<View>,
    /// Which part has the focus.
    pub focus: Focus,
    /// The first line shown of what is under the cursor.
    pub scroll: usize,
    /// Why it could not be read.
    pub error: Option<String>,
    /// What was under the cursor and is settled meanwhile.
    pub settled_item: Option<SettledItem>,
    /// What an act of this app that is under way is about.
    pub acting: Vec<ItemId>,
    /// What this app settled last: it leaves the list without a word.
    pub released: Vec<ItemId>,
    /// The item to which the cursor goes once it is listed, unless it is moved before.
    pub sought: Option<ItemId>,
    /// The imports that are open.
    pub unfolded: Vec<(InboxKind, ImportNumber)>,
    /// A group of which a later page is shown.
    pub window: Option<GroupWindow>,
    /// How many items were settled from here since the app was opened.
    pub settled: usize,
    cursor: usize,
    anchor: Option<ItemId>,
}

impl InboxState {
    /// What the daemon is asked for.
    pub fn query(scope: Option<&Scope>) -> InboxQuery {
        InboxQuery {
            org_id: scope.map(|scope| scope.org_id.clone()),
            project: scope.map(|scope| scope.project.clone()),
            limit: Some(EACH),
            ..InboxQuery::default()
        }
    }

    /// Every row, headings included.
    pub fn rows(&self) -> Vec<InboxRow<'_>> {
        let mut rows = Vec::new();
        let settled = self.settled_item.as_ref();
        let mut placed = settled.is_none();
        let groups = self.view.iter().flat_map(|view| &view.groups);
        for group in groups {
            let here = settled.filter(|settled| settled.kind == group.group);
            placed |= here.is_some();
            let part = self.part(group);
            rows.push(InboxRow::Heading(group.group, Count { total: group.total, at_least: group.at_least }));
            rows.extend((part.before > 0).then_some(InboxRow::Before(group.group, part.before)));
            rows.extend(here.map(|settled| InboxRow::Item(settled.kind, &settled.item)));
            rows.extend(self.folded(group.group, part.items));
            rows.extend((part.rest > 0).then_some(InboxRow::More(group.group, part.rest)));
        }
        if let Some(item) = settled.filter(|_| !placed) {
            rows.insert(0, InboxRow::Item(item.kind, &item.item));
            rows.insert(0, InboxRow::Heading(item.kind, Count { total: 0, at_least: false }));
        }
        rows.extend(self.pairs().map(InboxRow::Pairs));
        rows.extend(self.promotions().map(InboxRow::Promotions));
        rows
    }

    /// The rows that the cursor can stand on.
    pub fn selectable_rows(&self) -> Vec<InboxRow<'_>> {
        self.rows().into_iter().filter(|row| row.id().is_some()).collect()
    }

    /// The number of the row under the cursor, among those that it can stand on.
    pub fn cursor(&self) -> usize {
        self.cursor
    }

    /// How many pairs wait for a verdict; `None` if none does.
    pub fn pairs(&self) -> Option<usize> {
        self.view.as_ref().map(|view| view.doubts).filter(|pairs| *pairs > 0)
    }

    /// How many rules may be promoted to their organisation; `None` if none may.
    pub fn promotions(&self) -> Option<usize> {
        self.view.as_ref().map(|view| view.promotions).filter(|promotions| *promotions > 0)
    }

    /// How many items need attention.
    pub fn total(&self) -> usize {
        self.view.as_ref().map_or(0, |view| view.total)
    }

    /// Whether nothing is listed, though it was read.
    pub fn is_empty(&self) -> bool {
        self.view.is_some() && self.selectable_rows().is_empty()
    }

    /// Forgets everything but what was settled, since another scope is shown: what is listed next begins at its first row.
    pub fn begin(&mut self) {
        let settled = self.settled;
        *self = Self { settled, focus: self.focus, ..Self::default() };
    }

    /// What is under the cursor.
    pub fn current(&self) -> Option<InboxRow<'_>> {
        self.selectable_rows().get(self.cursor).copied()
    }

    /// The item under the cursor.
    pub fn item(&self) -> Option<&InboxItem> {
        match self.current()? {
            InboxRow::Item(_, item) => Some(item),
            _ => None,
        }
    }

    /// The id of what is under the cursor.
    pub fn anchor(&self) -> Option<&ItemId> {
        self.anchor.as_ref()
    }

    /// The card under the cursor.
    pub fn card(&self) -> Option<CardId> {
        match self.item()? {
            InboxItem::Card(card) => Some(card.id),
            _ => None,
        }
    }

    /// The claim under the cursor: one that needs review, or of which there is a notice.
    pub fn claim(&self) -> Option<&ClaimView> {
        match self.item()? {
            InboxItem::Review(item) => Some(&item.claim),
            InboxItem::Notice(item) => Some(&item.claim),
            _ => None,
        }
    }

    /// The review under the cursor.
    pub fn review(&self) -> Option<&ReviewItem> {
        match self.item()? {
            InboxItem::Review(item) => Some(item),
            _ => None,
        }
    }

    /// The notice under the cursor.
    pub fn notice(&self) -> Option<&NoticeItem> {
        match self.item()? {
            InboxItem::Notice(item) => Some(item),
            _ => None,
        }
    }

    /// The event under the cursor that was not accepted.
    pub fn quarantined(&self) -> Option<&QuarantinedView> {
        match self.item()? {
            InboxItem::Quarantined(item) => Some(item),
            _ => None,
        }
    }

    /// Who waits under the cursor to be admitted.
    pub fn joining(&self) -> Option<&PendingJoin> {
        match self.item()? {
            InboxItem::Joining(join) => Some(join),
            _ => None,
        }
    }

    /// Whether what is under the cursor was settled meanwhile.
    pub fn is_on_settled(&self) -> bool {
        self.settled_item.as_ref().is_some_and(|settled| Some(&id_of(&settled.item)) == self.anchor.as_ref())
    }

    /// Puts the cursor on a row, or on the last; what was settled meanwhile goes when the cursor leaves it.
    pub fn place(&mut self, index: usize) {
        self.sought = None;
        let before = self.anchor.clone();
        let index = index.min(self.selectable_rows().len().saturating_sub(1));
        let anchor = self.selectable_rows().get(index).and_then(InboxRow::id);
        (self.cursor, self.anchor) = (index, anchor);
        if self.anchor != before {
            self.scroll = 0;
            if self.settled_item.as_ref().is_some_and(|settled| Some(id_of(&settled.item)) == before) {
                self.settled_item = None;
                self.find();
            }
        }
    }

    /// Moves the cursor by rows.
    pub fn step(&mut self, rows: isize) {
        self.place(self.cursor.saturating_add_signed(rows));
    }

    /// Takes what the daemon says. The cursor stays on its item. If that was settled elsewhere, it stays
    /// as [`InboxState::settled_item`] and is returned, so that a message can say so.
    pub fn accept(&mut self, view: View) -> Option<InboxItem> {
        self.change(|inbox| {
            if let Some(window) = &inbox.window
                && !view.groups.iter().any(|group| group.group == window.kind)
            {
                inbox.window = None;
            }
            inbox.view = Some(view);
        })
    }

    /// Changes what is listed. The cursor stays on its item, as for [`InboxState::accept`].
    fn change(&mut self, change: impl FnOnce(&mut Self)) -> Option<InboxItem> {
        let before = self.current().and_then(|row| match row {
            InboxRow::Item(kind, item) => Some(SettledItem { kind, item: item.clone() }),
            _ => None,
        });
        let was_settled = self.is_on_settled();
        self.settled_item = None;
        change(self);
        self.error = None;
        let there = |own: &Self, id: &ItemId| own.selectable_rows().iter().any(|row| row.id().as_ref() == Some(id));
        let lost = before.filter(|settled| {
            let id = id_of(&settled.item);
            !there(self, &id) && !self.released.contains(&id)
        });
        let released = std::mem::take(&mut self.released);
        self.released = released.into_iter().filter(|id| self.listed().0.any(|item| id_of(item) == *id)).collect();
        self.settled_item = lost;
        self.find();
        if let Some(at) = self.sought.as_ref().and_then(|id| self.row_of(id)) {
            self.place(at);
        }
        self.settled_item.as_ref().filter(|_| !was_settled).map(|settled| settled.item.clone())
    }

    /// Puts the cursor back on its item; if that is gone, on what stands in its place.
    fn find(&mut self) {
        let selectable_rows = self.selectable_rows();
        let found = self
            .anchor
            .as_ref()
            .and_then(|anchor| selectable_rows.iter().position(|row| row.id().as_ref() == Some(anchor)));
        let cursor = found.unwrap_or(self.cursor).min(selectable_rows.len().saturating_sub(1));
        let anchor = selectable_rows.get(cursor).and_then(InboxRow::id);
        (self.cursor, self.anchor) = (cursor, anchor);
    }

    /// The row of an item, or of the closed import that it is in.
    fn row_of(&self, id: &ItemId) -> Option<usize> {
        let selectable_rows = self.selectable_rows();
        let own = selectable_rows.iter().position(|row| row.id().as_ref() == Some(id));
        own.or_else(|| selectable_rows.iter().position(|row| self.items(row).iter().any(|item| id_of(item) == *id)))
    }

    /// An act from here succeeded: what it was about is settled, and the cursor goes to the next item, or to the one before
    /// if it was the last. Returns what it settled here.
    pub fn acted(&mut self) -> Vec<ItemId> {
        let settled = std::mem::take(&mut self.acting);
        self.settle(settled.clone());
        settled
    }

    /// These items were settled from here.
    pub fn settle(&mut self, items: Vec<ItemId>) {
        self.settled += items.len();
        let is_done = |own: &Self| own.anchor.as_ref().is_some_and(|id| items.contains(id));
        let start = self.cursor;
        while is_done(self) && self.cursor + 1 < self.selectable_rows().len() {
            self.step(1);
        }
        if is_done(self) {
            self.place(start);
            while is_done(self) && self.cursor > 0 {
                self.step(-1);
            }
        }
        self.released.extend(items);
    }

    /// Every item that is listed, also in imports that are closed, and whether that is all there is.
    pub fn listed(&self) -> (impl Iterator<Item = &InboxItem>, bool) {
        let groups = || self.view.iter().flat_map(|view| &view.groups).map(|group| self.part(group));
        let whole = groups().all(|part| part.before == 0 && part.rest == 0);
        (groups().flat_map(|part| part.items), whole)
    }

    /// The group of the row under the cursor.
    pub fn kind(&self) -> Option<InboxKind> {
        match self.current()? {
            InboxRow::Heading(kind, _)
            | InboxRow::Item(kind, _)
            | InboxRow::Import(kind, _)
            | InboxRow::Before(kind, _)
            | InboxRow::More(kind, _) => Some(kind),
            InboxRow::Pairs(_) | InboxRow::Promotions(_) => None,
        }
    }
}
