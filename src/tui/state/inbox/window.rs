//! A long group of the Inbox, page by page, so that a group of a hundred thousand rows is never loaded as a whole.

use super::{GROUP_PAGE_SIZE, InboxRow, InboxState, ItemId};
use crate::{
    api::{Inbox as View, InboxGroup, InboxItem, InboxKind, InboxQuery},
    domain::Scope,
};

/// A group of which a later page is shown in place of its first rows.
#[derive(Clone, Debug)]
pub struct GroupWindow {
    pub kind: InboxKind,
    /// For each page after the first one, up to the shown one: the daemon's cursor for its beginning, and the number of
    /// rows before it.
    starts: Vec<(String, usize)>,
    /// The page that was read last, and the number of rows before it. It is shown until the next page arrives.
    page: Option<(InboxGroup, usize)>,
    /// The direction of a page turn whose page has not arrived yet.
    pending_turn: Option<Turn>,
}

/// The direction of a page turn. It decides where the cursor goes: to the first row of the next page, or to the last
/// row of the previous one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Turn {
    Forward,
    Back,
}

impl GroupWindow {
    /// Returns whether the page of the last turn has not arrived yet. Another turn would make its answer look like that
    /// to a query for a different page.
    fn is_turning(&self) -> bool {
        self.pending_turn.is_some()
    }
}

/// The listed part of a group.
pub(super) struct GroupPart<'a> {
    /// The number of rows before `items`.
    pub(super) before: usize,
    pub(super) items: &'a [InboxItem],
    /// The number of rows after `items`.
    pub(super) rest: usize,
}

impl InboxState {
    /// Returns the listed part of a group: its first rows, or the page that was turned to.
    pub(super) fn part<'a>(&'a self, group: &'a InboxGroup) -> GroupPart<'a> {
        let turned = self.window.as_ref().filter(|window| window.kind == group.group);
        if let Some((page, before)) = turned.and_then(|window| window.page.as_ref()) {
            let rest = group.total.saturating_sub(before + page.items.len());
            // If there is a cursor for the next page, at least one row follows, whatever the count says.
            let rest = if page.next.is_some() { rest.max(1) } else { 0 };
            return GroupPart { before: *before, items: &page.items, rest };
        }
        let rest = group.total.saturating_sub(group.items.len());
        GroupPart { before: 0, items: &group.items, rest: rest.max(usize::from(group.next.is_some())) }
    }

    /// Returns the first rows of a group; `None` if nothing of its kind waits.
    pub(super) fn group(&self, kind: InboxKind) -> Option<&InboxGroup> {
        self.view.as_ref()?.groups.iter().find(|group| group.group == kind)
    }

    /// Turns to the next page of a group. Returns `false` if the daemon gave no cursor for it.
    pub fn next_page(&mut self, kind: InboxKind) -> bool {
        let Some(group) = self.group(kind) else { return false };
        let window = self.window.as_ref().filter(|window| window.kind == kind);
        if window.is_some_and(GroupWindow::is_turning) {
            return true;
        }
        let (next, shown) = match window.and_then(|window| window.page.as_ref()) {
            Some((page, before)) => (page.next.clone(), before + page.items.len()),
            None => (group.next.clone(), group.items.len()),
        };
        let Some(next) = next else { return false };
        let window = self.window.take().filter(|window| window.kind == kind);
        let mut window = window.unwrap_or(GroupWindow { kind, starts: Vec::new(), page: None, pending_turn: None });
        window.starts.push((next, shown));
        window.pending_turn = Some(Turn::Forward);
        self.window = Some(window);
        true
    }

    /// Turns to the previous page. Returns whether that page must be read; the first page is in memory.
    pub fn previous_page(&mut self) -> bool {
        if self.window.as_ref().is_some_and(GroupWindow::is_turning) {
            return true;
        }
        self.turn_back()
    }

    fn turn_back(&mut self) -> bool {
        let Some(window) = &mut self.window else { return false };
        window.starts.pop();
        window.pending_turn = Some(Turn::Back);
        if !window.starts.is_empty() {
            return true;
        }
        let kind = window.kind;
        self.window = None;
        self.move_to_edge(kind, Turn::Back);
        false
    }

    /// Returns the query for the page that was turned to; `None` if the first page is shown.
    pub fn page_query(&self, scope: Option<&Scope>) -> Option<InboxQuery> {
        let window = self.window.as_ref()?;
        let (cursor, _) = window.starts.last()?.clone();
        Some(InboxQuery {
            group: Some(window.kind),
            cursor: Some(cursor),
            limit: Some(GROUP_PAGE_SIZE),
            ..Self::query(scope)
        })
    }

    /// Takes a page. The result is as for [`InboxState::accept`]. If the page is empty by now, turns to the previous
    /// one.
    pub fn accept_page(&mut self, view: View) -> Option<InboxItem> {
        let Some(window) = &self.window else { return None };
        let (kind, turned) = (window.kind, window.pending_turn);
        let page = view.groups.into_iter().find(|group| group.group == kind).filter(|group| !group.items.is_empty());
        let Some(page) = page else {
            self.turn_back();
            return None;
        };
        let lost = self.change(|inbox| {
            if let Some(window) = &mut inbox.window {
                let before = window.starts.last().map_or(0, |(_, before)| *before);
                window.page = Some((page, before));
                window.pending_turn = None;
            }
        });
        let Some(turned) = turned else { return lost };
        self.kept_item = None;
        self.move_to_edge(kind, turned);
        None
    }

    /// Puts the cursor on the first or the last listed item of a group.
    fn move_to_edge(&mut self, kind: InboxKind, turned: Turn) {
        let selectable_rows = self.selectable_rows();
        let own = |row: &InboxRow<'_>| matches!(row, InboxRow::Item(own, _) if *own == kind);
        let found = match turned {
            Turn::Forward => selectable_rows.iter().position(own),
            Turn::Back => selectable_rows.iter().rposition(own),
        };
        let place = found.or_else(|| selectable_rows.iter().position(|row| row.id() == Some(ItemId::More(kind))));
        if let Some(place) = place {
            self.place(place);
        }
    }
}
