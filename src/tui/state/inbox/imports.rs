//! Imports in the Inbox: the items of one import share a row, which can be opened to list them.

use std::collections::{HashMap, HashSet};

use super::{InboxRow, InboxState, ItemId, id_of};
use crate::{
    api::{InboxItem, InboxKind},
    domain::{OpId, Scope},
};

/// The number of an import: the first bytes of the ids of its acts.
pub type ImportNumber = [u8; 6];

/// The items of one import in a group.
#[derive(Clone, Copy, Debug)]
pub struct Import<'a> {
    pub number: ImportNumber,
    /// The newest listed item.
    pub first: &'a InboxItem,
    /// The number of listed items.
    pub count: usize,
    /// Whether the items are listed below the row.
    pub open: bool,
}

/// Returns the number of the import from which an item may come. An act of a person or an agent alone has a number that
/// no other act has.
pub fn number_of(kind: InboxKind, item: &InboxItem) -> Option<ImportNumber> {
    let op: Option<OpId> = match item {
        InboxItem::Card(card) if kind == InboxKind::Refused => card.op_id,
        InboxItem::Notice(notice) if kind == InboxKind::Warned => notice.op_id,
        _ => None,
    };
    op.and_then(|op| op.0.first_chunk().copied())
}

impl InboxState {
    /// Returns the rows of a group's items. An import with at least two items is one row, at the place of its newest
    /// item.
    pub(super) fn folded<'a>(&self, kind: InboxKind, items: &'a [InboxItem]) -> Vec<InboxRow<'a>> {
        let of = |number| items.iter().filter(move |item| number_of(kind, item) == Some(number));
        let mut counts: HashMap<ImportNumber, usize> = HashMap::new();
        for number in items.iter().filter_map(|item| number_of(kind, item)) {
            *counts.entry(number).or_default() += 1;
        }
        let (mut rows, mut seen) = (Vec::with_capacity(items.len()), HashSet::new());
        for item in items {
            let of_several = |number: &ImportNumber| counts.get(number).copied().filter(|count| *count > 1);
            let number = number_of(kind, item);
            let Some((number, count)) = number.and_then(|number| Some((number, of_several(&number)?))) else {
                rows.push(InboxRow::Item(kind, item));
                continue;
            };
            if !seen.insert(number) {
                continue;
            }
            let open = self.unfolded.contains(&(kind, number));
            rows.push(InboxRow::Import(kind, Import { number, first: item, count, open }));
            if open {
                rows.extend(of(number).map(|item| InboxRow::Item(kind, item)));
            }
        }
        rows
    }

    /// Opens or closes the import under the cursor.
    pub fn toggle_fold(&mut self) {
        let Some(InboxRow::Import(kind, import)) = self.current() else { return };
        let key = (kind, import.number);
        if import.open {
            self.unfolded.retain(|known| *known != key);
        } else {
            self.unfolded.push(key);
        }
        self.restore_cursor();
    }

    /// Returns the items of the import under the cursor.
    pub fn imported(&self) -> Vec<&InboxItem> {
        match self.current() {
            Some(InboxRow::Import(kind, import)) => self.of_import(kind, import.number).collect(),
            _ => Vec::new(),
        }
    }

    pub(super) fn of_import(&self, kind: InboxKind, number: ImportNumber) -> impl Iterator<Item = &InboxItem> {
        let group = self.view.iter().flat_map(|view| &view.groups).find(|group| group.group == kind);
        let items = group.map(|group| self.part(group).items).unwrap_or_default();
        items.iter().filter(move |item| number_of(kind, item) == Some(number))
    }

    /// Returns the items for which a row stands: one item, or the items of an import.
    pub fn items(&self, row: &InboxRow<'_>) -> Vec<InboxItem> {
        match row {
            InboxRow::Item(_, item) => vec![(*item).clone()],
            InboxRow::Import(kind, import) => self.of_import(*kind, import.number).cloned().collect(),
            InboxRow::Heading(..)
            | InboxRow::Before(..)
            | InboxRow::More(..)
            | InboxRow::Pairs(_)
            | InboxRow::Promotions(_) => Vec::new(),
        }
    }

    /// Puts the cursor on an item, and opens its import if it is in a closed one. Returns whether the item is listed.
    pub fn select(&mut self, id: &ItemId) -> bool {
        let within = self.view.iter().flat_map(|view| &view.groups).find_map(|group| {
            let item = self.part(group).items.iter().find(|item| id_of(item) == *id)?;
            number_of(group.group, item).map(|number| (group.group, number))
        });
        if let Some(key) = within.filter(|key| !self.unfolded.contains(key)) {
            self.unfolded.push(key);
        }
        let found = self.selectable_rows().iter().position(|row| row.id().as_ref() == Some(id));
        if let Some(index) = found {
            self.place(index);
        }
        found.is_some()
    }

    /// Returns the scope of the item or import under the cursor.
    pub fn scope(&self) -> Option<&Scope> {
        match self.current()? {
            InboxRow::Item(_, item) => item.scope(),
            InboxRow::Import(_, import) => import.first.scope(),
            InboxRow::Heading(..)
            | InboxRow::Before(..)
            | InboxRow::More(..)
            | InboxRow::Pairs(_)
            | InboxRow::Promotions(_) => None,
        }
    }
}
