//! A long group of the Inbox, page by page: a hundred thousand rows are never held.

use super::{EACH, InboxRow, InboxState, ItemId};
use crate::{
    api::{Inbox as View, InboxGroup, InboxItem, InboxKind, InboxQuery},
    domain::Scope,
};

/// A group of which a later page is shown in place of its first rows.
#[derive(Clone, Debug)]
pub struct GroupWindow {
    /// The group.
    pub kind: InboxKind,
    /// Where each page after the first begins, up to the one that is shown, and how many rows come before it.
    starts: Vec<(String, usize)>,
    /// The page that was read last, and how many rows come before it; what is shown stays until the next one is here.
    page: Option<(InboxGroup, usize)>,
    /// Where the cursor goes once the page is here: to its first row, or to its last.
    turned: Option<Turn>,
}

/// Which way a page was turned.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Turn {
    On,
    Back,
}

/// What is listed of a group.
pub(super) struct Part<'a> {
    /// How many rows come before.
    pub(super) before: usize,
    /// The rows.
    pub(super) items: &'a [InboxItem],
    /// How many come after.
    pub(super) rest: usize,
}

impl InboxState {
    /// What is listed of a group: its first rows, or the page that was turned to.
    pub(super) fn part<'a>(&'a self, group: &'a InboxGroup) -> Part<'a> {
        let turned = self.window.as_ref().filter(|window| window.kind == group.group);
        if let Some((page, before)) = turned.and_then(|window| window.page.as_ref()) {
            let rest = group.total.saturating_sub(before + page.items.len());
            // A place to go on from says that there is something, whatever the count was.
            let rest = if page.next.is_some() { rest.max(1) } else { 0 };
            return Part { before: *before, items: &page.items, rest };
        }
        let rest = group.total.saturating_sub(group.items.len());
        Part { before: 0, items: &group.items, rest: rest.max(usize::from(group.next.is_some())) }
    }

    fn group(&self, kind: InboxKind) -> Option<&InboxGroup> {
        self.view.as_ref()?.groups.iter().find(|group| group.group == kind)
    }

    /// Turns to the next page of a group; `false` where the daemon did not say where it begins.
    pub fn next_page(&mut self, kind: InboxKind) -> bool {
        let Some(group) = self.group(kind) else { return false };
        let window = self.window.as_ref().filter(|window| window.kind == kind);
        if window.is_some_and(|window| window.turned.is_some()) {
            // The page that was turned to is not here yet.
            return true;
        }
        let (next, shown) = match window.and_then(|window| window.page.as_ref()) {
            Some((page, before)) => (page.next.clone(), before + page.items.len()),
            None => (group.next.clone(), group.items.len()),
        };
        let Some(next) = next else { return false };
        let window = self.window.take().filter(|window| window.kind == kind);
        let mut window = window.unwrap_or(GroupWindow { kind, starts: Vec::new(), page: None, turned: None });
        window.starts.push((next, shown));
        window.turned = Some(Turn::On);
        self.window = Some(window);
        true
    }

    /// Turns to the page before; says whether it must be read, since the first one is here.
    pub fn previous_page(&mut self) -> bool {
        let Some(window) = &mut self.window else { return false };
        window.starts.pop();
        window.turned = Some(Turn::Back);
        if !window.starts.is_empty() {
            return true;
        }
        let kind = window.kind;
        self.window = None;
        self.move_to_edge(kind, Turn::Back);
        false
    }

    /// What the daemon is asked for to show the page that was turned to.
    pub fn page_query(&self, scope: Option<&Scope>) -> Option<InboxQuery> {
        let window = self.window.as_ref()?;
        let (cursor, _) = window.starts.last()?.clone();
        Some(InboxQuery { group: Some(window.kind), cursor: Some(cursor), limit: Some(EACH), ..Self::query(scope) })
    }

    /// Takes a page. What is returned is as for [`InboxState::accept`]. Where nothing is left on the page, the one before is turned to.
    pub fn accept_page(&mut self, view: View) -> Option<InboxItem> {
        let Some(window) = &self.window else { return None };
        let (kind, turned) = (window.kind, window.turned);
        let page = view.groups.into_iter().find(|group| group.group == kind).filter(|group| !group.items.is_empty());
        let Some(page) = page else {
            self.previous_page();
            return None;
        };
        let lost = self.change(|inbox| {
            if let Some(window) = &mut inbox.window {
                let before = window.starts.last().map_or(0, |(_, before)| *before);
                window.page = Some((page, before));
                window.turned = None;
            }
        });
        let Some(turned) = turned else { return lost };
        self.settled_item = None;
        self.move_to_edge(kind, turned);
        None
    }

    /// Puts the cursor on the first or the last item that is listed of a group.
    fn move_to_edge(&mut self, kind: InboxKind, turned: Turn) {
        let selectable_rows = self.selectable_rows();
        let own = |row: &InboxRow<'_>| matches!(row, InboxRow::Item(own, _) if *own == kind);
        let found = match turned {
            Turn::On => selectable_rows.iter().position(own),
            Turn::Back => selectable_rows.iter().rposition(own),
        };
        let place = found.or_else(|| selectable_rows.iter().position(|row| row.id() == Some(ItemId::More(kind))));
        if let Some(place) = place {
            self.place(place);
        }
    }
}
