//! The Inbox: everything that needs attention, in groups. The cursor stays on its item when items come or go around it.

mod imports;
mod window;

pub use imports::{Import, ImportNumber, number_of};
pub use window::GroupWindow;

use super::Focus;
use crate::{
    api::{
        ClaimView, Inbox as View, InboxGroup, InboxItem, InboxKind, InboxQuery, NoticeItem, PendingJoin,
        QuarantinedView, ReviewItem,
    },
    domain::{CardId, ClaimId, EventId, Scope},
};

/// Rows requested of each group. Further rows are counted, and one key shows them.
pub const GROUP_PAGE_SIZE: usize = 50;

/// The identity of a row, which stays the same when the rows above it change.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum ItemId {
    Card(CardId),
    /// A claim that needs review.
    Review(ClaimId),
    /// A notice about an act.
    Notice(EventId),
    /// A quarantined event.
    Quarantined(EventId),
    Joining(String),
    /// The row of one import in a group.
    Import(InboxKind, ImportNumber),
    /// The row that stands for the items of a group before the shown page.
    Before(InboxKind),
    /// The row that stands for the items of a group after the listed ones.
    More(InboxKind),
    /// The row of the pairs that wait for a verdict.
    Pairs,
    /// The row of the insights that can be promoted.
    Promotions,
}

/// A row of the Inbox.
#[derive(Clone, Copy, Debug)]
pub enum InboxRow<'a> {
    /// The heading of a group, with the number of its items. The cursor skips it.
    Heading(InboxKind, Count),
    /// An item that needs attention.
    Item(InboxKind, &'a InboxItem),
    /// The items of one import in the group.
    Import(InboxKind, Import<'a>),
    /// The number of items of a group before the listed ones.
    Before(InboxKind, usize),
    /// The number of items of a group after the listed ones.
    More(InboxKind, usize),
    /// The number of pairs that wait for a verdict.
    Pairs(usize),
    /// The number of insights that can be promoted to their organisation.
    Promotions(usize),
}

/// The number of items of a group.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Count {
    /// The number of items that were counted.
    pub total: usize,
    /// Whether there may be more.
    pub at_least: bool,
}

impl InboxRow<'_> {
    /// Returns whether the cursor can stand on the row.
    pub fn is_selectable(&self) -> bool {
        !matches!(self, Self::Heading(..))
    }

    /// Returns the identity of the row; `None` for a heading, on which the cursor cannot stand.
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

/// Returns the identity of an item's row.
pub fn id_of(item: &InboxItem) -> ItemId {
    match item {
        InboxItem::Card(card) => ItemId::Card(card.id),
        InboxItem::Review(item) => ItemId::Review(item.claim.id),
        InboxItem::Notice(item) => ItemId::Notice(item.id),
        InboxItem::Quarantined(item) => ItemId::Quarantined(item.id),
        InboxItem::Joining(join) => ItemId::Joining(join.id.clone()),
    }
}

/// An item under the cursor that is no longer among the listed ones. It stays listed until the cursor leaves it.
#[derive(Clone, Debug)]
pub struct KeptItem {
    pub kind: InboxKind,
    pub item: InboxItem,
    /// Whether it was settled. Otherwise it may be on another page of its group.
    pub settled: bool,
}

#[derive(Clone, Debug, Default)]
pub struct InboxState {
    /// The daemon's last answer; `None` before the first one.
    pub view: Option<View>,
    /// The pane that has the focus.
    pub focus: Focus,
    /// The first visible line of the detail pane.
    pub scroll: usize,
    /// The error message, if reading failed.
    pub error: Option<String>,
    /// The item under the cursor, if it is no longer among the listed ones.
    pub kept_item: Option<KeptItem>,
    /// The rows that the act under way will settle.
    pub acting: Vec<ItemId>,
    /// If the act that was sent last snoozes cards: until when, in milliseconds since the Unix epoch.
    pub snoozing: Option<u64>,
    /// Rows that this app settled. They leave the list without a message.
    pub released: Vec<ItemId>,
    /// The item to which the cursor goes once it is listed, unless the cursor is moved before.
    pub cursor_target: Option<ItemId>,
    /// The imports whose items are listed below their row.
    pub unfolded: Vec<(InboxKind, ImportNumber)>,
    /// The group of which a later page is shown.
    pub window: Option<GroupWindow>,
    /// When the next snoozed card is listed again, in milliseconds since the Unix epoch.
    pub returns_at: Option<u64>,
    /// The number of items that this app settled since it was opened.
    pub settled: usize,
    cursor: usize,
    anchor: Option<ItemId>,
}

impl InboxState {
    /// Returns the query for the first rows of every group.
    pub fn query(scope: Option<&Scope>) -> InboxQuery {
        InboxQuery {
            org_id: scope.map(|scope| scope.org_id.clone()),
            project: scope.map(|scope| scope.project.clone()),
            limit: Some(GROUP_PAGE_SIZE),
            ..InboxQuery::default()
        }
    }

    /// Returns all rows, including headings. The rows of a group are made once the iterator reaches it.
    pub fn rows(&self) -> impl Iterator<Item = InboxRow<'_>> {
        let groups = || self.view.iter().flat_map(|view| &view.groups);
        // The group of a kept item may be gone.
        let alone = self.kept_item.as_ref().filter(|kept| groups().all(|group| group.group != kept.kind));
        let alone = alone.map(|kept| {
            let count = Count { total: 0, at_least: false };
            [InboxRow::Heading(kept.kind, count), InboxRow::Item(kept.kind, &kept.item)]
        });
        let last = self.pairs().map(InboxRow::Pairs).into_iter().chain(self.promotions().map(InboxRow::Promotions));
        alone.into_iter().flatten().chain(groups().flat_map(|group| self.rows_of(group))).chain(last)
    }

    fn rows_of<'a>(&'a self, group: &'a InboxGroup) -> Vec<InboxRow<'a>> {
        let kept = self.kept_item.as_ref().filter(|kept| kept.kind == group.group);
        let (settled, other) = (kept.filter(|kept| kept.settled), kept.filter(|kept| !kept.settled));
        let part = self.part(group);
        let mut rows = vec![InboxRow::Heading(group.group, Count { total: group.total, at_least: group.at_least })];
        rows.extend((part.before > 0).then_some(InboxRow::Before(group.group, part.before)));
        rows.extend(settled.map(|kept| InboxRow::Item(kept.kind, &kept.item)));
        rows.extend(self.folded(group.group, part.items));
        rows.extend(other.map(|kept| InboxRow::Item(kept.kind, &kept.item)));
        let rest = part.rest.saturating_sub(usize::from(other.is_some()));
        rows.extend((rest > 0).then_some(InboxRow::More(group.group, rest)));
        rows
    }

    /// Returns the rows on which the cursor can stand.
    pub fn selectable_rows(&self) -> Vec<InboxRow<'_>> {
        self.rows().filter(InboxRow::is_selectable).collect()
    }

    /// Returns the index of the row under the cursor, among [`InboxState::selectable_rows`].
    pub fn cursor(&self) -> usize {
        self.cursor
    }

    /// Returns the number of pairs that wait for a verdict; `None` for zero.
    pub fn pairs(&self) -> Option<usize> {
        self.view.as_ref().map(|view| view.doubts).filter(|pairs| *pairs > 0)
    }

    /// Returns the number of insights that can be promoted to their organisation; `None` for zero.
    pub fn promotions(&self) -> Option<usize> {
        self.view.as_ref().map(|view| view.promotions).filter(|promotions| *promotions > 0)
    }

    /// Returns the number of items that need attention.
    pub fn total(&self) -> usize {
        self.view.as_ref().map_or(0, |view| view.total)
    }

    /// Returns whether the Inbox was read and lists nothing.
    pub fn is_empty(&self) -> bool {
        self.view.is_some() && !self.rows().any(|row| row.is_selectable())
    }

    /// Resets the list for another scope, with the cursor on the first row. The number of settled items and the focus
    /// stay.
    pub fn reset(&mut self) {
        let Self { settled, snoozing, focus, .. } = *self;
        *self = Self { focus, snoozing, settled, ..Self::default() };
    }

    /// Returns the row under the cursor.
    pub fn current(&self) -> Option<InboxRow<'_>> {
        self.rows().filter(InboxRow::is_selectable).nth(self.cursor)
    }

    /// Returns the item under the cursor; `None` for other rows.
    pub fn item(&self) -> Option<&InboxItem> {
        match self.current()? {
            InboxRow::Item(_, item) => Some(item),
            _ => None,
        }
    }

    /// Returns the identity of the row under the cursor.
    pub fn anchor(&self) -> Option<&ItemId> {
        self.anchor.as_ref()
    }

    /// Returns the id of the card under the cursor.
    pub fn card(&self) -> Option<CardId> {
        match self.item()? {
            InboxItem::Card(card) => Some(card.id),
            _ => None,
        }
    }

    /// Returns the claim under the cursor: that of a review or of a notice.
    pub fn claim(&self) -> Option<&ClaimView> {
        match self.item()? {
            InboxItem::Review(item) => Some(&item.claim),
            InboxItem::Notice(item) => Some(&item.claim),
            _ => None,
        }
    }

    /// Returns the review under the cursor.
    pub fn review(&self) -> Option<&ReviewItem> {
        match self.item()? {
            InboxItem::Review(item) => Some(item),
            _ => None,
        }
    }

    /// Returns the notice under the cursor.
    pub fn notice(&self) -> Option<&NoticeItem> {
        match self.item()? {
            InboxItem::Notice(item) => Some(item),
            _ => None,
        }
    }

    /// Returns the quarantined event under the cursor.
    pub fn quarantined(&self) -> Option<&QuarantinedView> {
        match self.item()? {
            InboxItem::Quarantined(item) => Some(item),
            _ => None,
        }
    }

    /// Returns the join request under the cursor.
    pub fn joining(&self) -> Option<&PendingJoin> {
        match self.item()? {
            InboxItem::Joining(join) => Some(join),
            _ => None,
        }
    }

    /// Returns whether the cursor is on an item that was settled meanwhile.
    pub fn is_on_settled(&self) -> bool {
        self.anchor.as_ref().is_some_and(|anchor| self.is_settled(anchor))
    }

    /// Returns whether an item that is still listed was settled meanwhile.
    pub fn is_settled(&self, id: &ItemId) -> bool {
        self.kept_item.as_ref().is_some_and(|kept| kept.settled && id_of(&kept.item) == *id)
    }

    /// Records that an item was settled, if it is only listed because it is under the cursor.
    pub fn mark_settled(&mut self, id: &ItemId) {
        if let Some(kept) = self.kept_item.as_mut().filter(|kept| id_of(&kept.item) == *id) {
            kept.settled = true;
        }
    }

    /// Puts the cursor on a row, at most the last one. A kept item is removed when the cursor leaves it.
    pub fn place(&mut self, index: usize) {
        self.cursor_target = None;
        let before = self.anchor.clone();
        let selectable_rows = self.selectable_rows();
        let index = index.min(selectable_rows.len().saturating_sub(1));
        let anchor = selectable_rows.get(index).and_then(InboxRow::id);
        (self.cursor, self.anchor) = (index, anchor);
        if self.anchor != before {
            self.scroll = 0;
            if self.kept_item.as_ref().is_some_and(|kept| Some(id_of(&kept.item)) == before) {
                self.kept_item = None;
                self.restore_cursor();
            }
        }
    }

    pub fn step(&mut self, rows: isize) {
        self.place(self.cursor.saturating_add_signed(rows));
    }

    /// Takes the daemon's answer. The cursor stays on its item. An item under the cursor that was settled elsewhere
    /// stays as [`InboxState::kept_item`] and is returned, so that a message can say so.
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

    /// Applies a change to the listed items. The cursor and the result are as for [`InboxState::accept`].
    fn change(&mut self, change: impl FnOnce(&mut Self)) -> Option<InboxItem> {
        let before = self.current().and_then(|row| match row {
            InboxRow::Item(kind, item) => Some((kind, item.clone())),
            _ => None,
        });
        let was_settled = self.is_on_settled();
        self.kept_item = None;
        change(self);
        self.error = None;
        let kept = before.filter(|(_, item)| {
            let id = id_of(item);
            self.row_of(&id).is_none() && !self.released.contains(&id)
        });
        let kept = kept.map(|(kind, item)| KeptItem { kind, item, settled: was_settled || self.lists_whole(kind) });
        let released = std::mem::take(&mut self.released);
        self.released = released.into_iter().filter(|id| self.listed().0.any(|item| id_of(item) == *id)).collect();
        self.kept_item = kept;
        self.restore_cursor();
        if let Some(at) = self.cursor_target.as_ref().and_then(|id| self.row_of(id)) {
            self.place(at);
        }
        self.kept_item.as_ref().filter(|kept| kept.settled && !was_settled).map(|kept| kept.item.clone())
    }

    /// Puts the cursor back on its item; if that is gone, on the row in its place.
    fn restore_cursor(&mut self) {
        let selectable_rows = self.selectable_rows();
        let found = self.anchor.as_ref().and_then(|anchor| self.row_of(anchor));
        let cursor = found.unwrap_or(self.cursor).min(selectable_rows.len().saturating_sub(1));
        let anchor = selectable_rows.get(cursor).and_then(InboxRow::id);
        (self.cursor, self.anchor) = (cursor, anchor);
    }

    /// Returns the heading of a group.
    pub fn title(&self, kind: InboxKind) -> &'static str {
        self.group(kind).map_or_else(|| kind.title(), InboxGroup::title)
    }

    /// Returns whether every item of a group is listed.
    fn lists_whole(&self, kind: InboxKind) -> bool {
        self.group(kind).map(|group| self.part(group)).is_none_or(|part| part.before == 0 && part.rest == 0)
    }

    /// Returns the row of an item, or of the closed import that contains it.
    fn row_of(&self, id: &ItemId) -> Option<usize> {
        let selectable_rows = self.selectable_rows();
        let own = selectable_rows.iter().position(|row| row.id().as_ref() == Some(id));
        let contains = |kind, number| self.of_import(kind, number).any(|item| id_of(item) == *id);
        own.or_else(|| {
            let holds = |row: &InboxRow<'_>| matches!(row, InboxRow::Import(kind, i) if contains(*kind, i.number));
            selectable_rows.iter().position(holds)
        })
    }

    /// Settles the rows of the act that has succeeded, and returns them. The cursor moves as for
    /// [`InboxState::settle`].
    pub fn settle_acting(&mut self) -> Vec<ItemId> {
        let settled = std::mem::take(&mut self.acting);
        self.settle(settled.clone());
        settled
    }

    /// Records rows as settled by this app, or as snoozed, which are not counted. If the cursor is on one of them, it
    /// goes to the next other row or, if there is none, to the previous one.
    pub fn settle(&mut self, items: Vec<ItemId>) {
        self.settled += if self.snoozing.is_some() { 0 } else { items.len() };
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

    /// Returns every listed item, including those of closed imports, and whether no group has further items.
    pub fn listed(&self) -> (impl Iterator<Item = &InboxItem>, bool) {
        let groups = || self.view.iter().flat_map(|view| &view.groups).map(|group| self.part(group));
        let whole = groups().all(|part| part.before == 0 && part.rest == 0);
        (groups().flat_map(|part| part.items), whole)
    }

    /// Returns the group of the row under the cursor.
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
