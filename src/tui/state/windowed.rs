//! A long list of which only the pages near the cursor are in memory: keyset pages from the daemon, and a cursor that
//! stays on its row by the row's id.
//!
//! Each page begins where the previous one ends. If a page is read again and ends elsewhere than before, the next page
//! begins there from then on, and is read again once it is near the cursor. So pages stay full while rows come and go.

mod keyset_page;

use std::{collections::HashSet, ops::Range};

use crate::tui::msg::ListRow;
use keyset_page::KeysetPage;

/// Rows requested at a time.
pub const PAGE_SIZE: usize = 200;

/// After a change, the pages with rows within this distance of the cursor are read again.
const REFRESH_DISTANCE: usize = PAGE_SIZE;

/// The pages with rows within this distance of the cursor keep their rows in memory. The other pages keep only their
/// position.
const KEEP_DISTANCE: usize = 3 * PAGE_SIZE;

/// The next page is requested once the cursor is within this distance of the last known row.
const PREFETCH_DISTANCE: usize = PAGE_SIZE / 2;

/// A long list with a window of rows in memory.
#[derive(Clone, Debug)]
pub struct Windowed<T: ListRow> {
    pages: Vec<KeysetPage<T>>,
    /// The number of rows in the whole list, according to the daemon.
    total: usize,
    cursor: usize,
    /// The id of the row on which the cursor stays.
    anchor: Option<T::Id>,
    /// The first visible row.
    top: usize,
    /// Whether the first page of the current query has arrived.
    loaded: bool,
    /// Whether the cursor follows the last row as pages arrive.
    to_end: bool,
    /// A row that was inserted although the list does not have it; it is removed when the cursor leaves it.
    pinned: Option<T::Id>,
    /// The index of the requested page, until it arrives.
    requested_page: Option<usize>,
    /// Whether rows may have changed while a page was requested, so that this page is stale when it arrives.
    changed_meanwhile: bool,
    /// The last request failed. Nothing is requested until the cursor moves or the list is read again.
    failed: bool,
    /// The row to which the cursor goes once it is listed.
    cursor_target: Option<T::Id>,
}

/// A page to request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PageRequest {
    /// The index of the page in the list.
    pub index: usize,
    /// The daemon's cursor for the beginning of the page; `None` for the first page.
    pub cursor: Option<String>,
}

impl<T: ListRow> Default for Windowed<T> {
    fn default() -> Self {
        Self {
            pages: Vec::new(),
            total: 0,
            cursor: 0,
            anchor: None,
            top: 0,
            loaded: false,
            to_end: false,
            pinned: None,
            requested_page: None,
            changed_meanwhile: false,
            failed: false,
            cursor_target: None,
        }
    }
}

impl<T: ListRow + Clone> Windowed<T> {
    /// Returns the number of rows in the whole list, according to the daemon.
    pub fn total(&self) -> usize {
        self.total.max(self.known())
    }

    /// Returns the number of rows that the cursor can reach now.
    pub fn known(&self) -> usize {
        self.pages.iter().map(|page| page.len).sum()
    }

    /// Returns whether the first page has arrived.
    pub fn loaded(&self) -> bool {
        self.loaded
    }

    /// Returns whether the list has no known rows.
    pub fn is_empty(&self) -> bool {
        self.known() == 0
    }

    /// Returns the row number of the cursor, from 0.
    pub fn cursor(&self) -> usize {
        self.cursor
    }

    /// Returns the id of the row on which the cursor stays.
    pub fn anchor(&self) -> Option<T::Id> {
        self.anchor
    }

    /// Returns whether every row is known, so that there is no further page.
    pub fn is_whole(&self) -> bool {
        self.loaded && !self.has_next()
    }

    /// Returns whether a jump to the last row still waits for pages.
    pub fn is_seeking(&self) -> bool {
        self.to_end
    }

    /// Returns the row at `index`; `None` if its page is not in memory.
    pub fn get(&self, index: usize) -> Option<&T> {
        let (page, offset) = self.locate(index)?;
        self.pages[page].items.as_ref()?.get(offset)
    }

    /// Returns the row under the cursor.
    pub fn current(&self) -> Option<&T> {
        self.get(self.cursor)
    }

    /// Returns the row under the cursor, for an act; `None` while the rows of an earlier query are still shown.
    pub fn selected(&self) -> Option<&T> {
        self.current().filter(|_| self.loaded)
    }

    /// Returns a row by its id; `None` if it is not in memory.
    pub fn find_row(&self, id: T::Id) -> Option<&T> {
        self.pages.iter().filter_map(|page| page.items.as_ref()).flatten().find(|row| row.id() == id)
    }

    /// Changes a row in place, if it is in memory.
    pub fn update(&mut self, id: T::Id, change: impl FnOnce(&mut T)) {
        let rows = self.pages.iter_mut().filter_map(|page| page.items.as_mut()).flatten();
        if let Some(row) = rows.into_iter().find(|row| row.id() == id) {
            change(row);
        }
    }

    /// Returns the first visible row if `height` rows are visible. It moves only as far as needed to keep the cursor in
    /// view.
    pub fn top(&self, height: usize) -> usize {
        let height = height.max(1);
        let last = self.known().saturating_sub(height);
        self.top
            .clamp((self.cursor + 1).saturating_sub(height), self.cursor)
            .min(last.max((self.cursor + 1).saturating_sub(height)))
    }

    /// Moves the cursor by a number of rows. `height`: the number of visible rows.
    pub fn step(&mut self, rows: isize, height: usize) {
        self.to_end = false;
        self.place(self.cursor.saturating_add_signed(rows), height);
    }

    /// Moves the cursor to the first row.
    pub fn home(&mut self, height: usize) {
        self.to_end = false;
        self.place(0, height);
    }

    /// Moves the cursor to the last known row, and further to the last row of the list as pages arrive.
    pub fn end(&mut self, height: usize) {
        self.place(usize::MAX, height);
        self.to_end = true;
        self.to_end = self.next_request().is_some();
    }

    /// Moves the cursor to a row number.
    pub fn place(&mut self, index: usize, height: usize) {
        self.cursor_target = None;
        self.failed = false;
        let old = self.anchor;
        self.cursor = index.min(self.known().saturating_sub(1));
        self.anchor = self.current().map(ListRow::id);
        if self.pinned.is_some() && self.pinned == old && self.anchor != old {
            self.unpin();
        }
        self.top = self.top(height);
        self.evict();
    }

    /// Moves the cursor to a row by its id. Returns whether the row is in memory.
    pub fn select(&mut self, id: T::Id, height: usize) -> bool {
        let Some(index) = self.index_of(id) else { return false };
        self.place(index, height);
        true
    }

    /// Begins a request for the next needed page, and returns it. `None` if no page is needed or a request is under
    /// way.
    pub fn need(&mut self) -> Option<PageRequest> {
        if self.requested_page.is_some() || self.failed {
            return None;
        }
        let request = self.next_request()?;
        self.requested_page = Some(request.index);
        Some(request)
    }

    fn next_request(&self) -> Option<PageRequest> {
        if !self.loaded {
            return Some(PageRequest { index: 0, cursor: None });
        }
        // The page under the cursor comes first if it is not in memory. Otherwise the pages are read from the top,
        // since reading a page again can move the beginning of the next one.
        let here = self.locate(self.cursor).map(|(page, _)| page).filter(|page| self.is_missing(*page));
        let near =
            self.pages_near_cursor(REFRESH_DISTANCE).find(|page| self.is_missing(*page) || self.pages[*page].stale);
        if let Some(index) = here.or(near) {
            return Some(PageRequest { index, cursor: self.pages[index].from.clone() });
        }
        let next = self.pages.last()?.next.clone()?;
        (self.to_end || self.cursor + PREFETCH_DISTANCE >= self.known())
            .then_some(PageRequest { index: self.pages.len(), cursor: Some(next) })
    }

    /// Marks all pages to be read again after a change: those near the cursor now, the others once the cursor is near.
    /// The old rows are shown until then.
    pub fn refresh(&mut self) {
        for page in &mut self.pages {
            page.stale = true;
        }
        self.changed_meanwhile = self.requested_page.is_some();
        self.failed = false;
    }

    /// Starts again with another query. The old rows are shown until the first page arrives.
    pub fn restart(&mut self) {
        self.loaded = false;
        self.to_end = false;
        self.requested_page = None;
        self.changed_meanwhile = false;
        self.failed = false;
    }

    /// Removes all rows at once.
    pub fn clear(&mut self) {
        *self = Self::default();
    }

    /// Records that the request under way failed. It is made again once the cursor moves, or after
    /// [`Windowed::refresh`] or [`Windowed::restart`]; made again at once, it would fail in a loop.
    pub fn failed(&mut self) {
        self.requested_page = None;
        self.to_end = false;
        self.failed = true;
    }

    /// Moves the cursor to a row. If the row is not in memory, it is inserted as the first one until the cursor leaves
    /// it.
    pub fn insert_current(&mut self, row: T, height: usize) {
        let id = row.id();
        if !self.select(id, height)
            && let Some(page) = self.pages.first_mut()
            && let Some(items) = page.items.as_mut()
        {
            items.insert(0, row);
            page.len += 1;
            self.place(0, height);
            self.pinned = Some(id);
        }
    }

    /// Takes the requested page. The cursor stays on its row; if that is gone, it goes to the nearest row that is left.
    /// With `keep`, a row under the cursor that is gone from the list stays until the cursor leaves it.
    pub fn accept(&mut self, items: Vec<T>, total: usize, next: Option<String>, keep: bool, height: usize) {
        let Some(index) = self.requested_page.take() else { return };
        let stale = std::mem::take(&mut self.changed_meanwhile);
        if !self.loaded {
            *self = Self { anchor: None, cursor_target: self.cursor_target, ..Self::default() };
            self.loaded = true;
        }
        self.total = total;
        let around = self.cursor_context();
        self.store_page(
            index,
            KeysetPage { from: None, next, len: items.len(), items: Some(items), stale, missed_reads: 0 },
        );
        self.restore_cursor(around, keep);
        if self.to_end {
            self.cursor = self.known().saturating_sub(1);
            self.anchor = self.current().map(ListRow::id);
            self.to_end = self.next_request().is_some();
        }
        if let Some(id) = self.cursor_target {
            self.select(id, height);
        }
        self.top = self.top(height);
        self.evict();
    }

    /// Moves the cursor to a row as soon as the row is listed, unless the cursor is moved before.
    pub fn seek(&mut self, id: T::Id) {
        self.cursor_target = Some(id);
    }

    /// Stores a page that was read, and adapts the later pages to its new end.
    fn store_page(&mut self, index: usize, mut fresh: KeysetPage<T>) {
        let beyond = self.cursor_page() > index;
        let listed: HashSet<T::Id> = fresh.items.iter().flatten().map(ListRow::id).collect();
        self.pinned = self.pinned.filter(|id| !listed.contains(id));
        let mut later = self.pages.split_off((index + 1).min(self.pages.len()));
        let replaced = (index < self.pages.len()).then(|| self.pages.pop()).flatten();
        // A row is listed only once, on the page that was read last.
        for page in &mut self.pages {
            page.stale |= page.remove(&listed);
        }
        let reached = keyset_page::drop_read_rows(&mut later, &listed);
        fresh.from = match &replaced {
            Some(page) => page.from.clone(),
            None => self.pages.last().and_then(|last| last.next.clone()),
        };
        // The remaining rows of the replaced page are gone if the new page reaches beyond them, or ends at the same
        // place.
        let end = self.known() + replaced.as_ref().map_or(0, |page| page.len);
        let tail = replaced.filter(|page| !reached && page.next != fresh.next).map(|page| page.tail_after(&listed));
        let far = end.saturating_sub(tail.as_ref().map_or(0, |tail| tail.len)) >= self.cursor + REFRESH_DISTANCE;
        match &fresh.next {
            Some(end) => keyset_page::reattach_next(end, tail, &mut later, beyond, far),
            None => later.clear(),
        }
        if fresh.len == 0
            && let Some(last) = self.pages.last_mut()
        {
            last.next = fresh.next;
        } else {
            self.pages.push(fresh);
        }
        self.pages.append(&mut later);
    }

    /// Returns the row under the cursor, and the ids around it.
    fn cursor_context(&self) -> CursorContext<T> {
        let id = |index| self.get(index).map(ListRow::id);
        CursorContext {
            id: self.anchor.or_else(|| id(self.cursor)),
            row: self.current().filter(|row| Some(row.id()) == self.anchor).cloned(),
            after: (self.cursor..self.cursor + PAGE_SIZE).map_while(id).collect(),
            before: (0..self.cursor).rev().take(PAGE_SIZE).map_while(id).collect(),
        }
    }

    /// Puts the cursor back on its row. If the row is gone, it is inserted again in its old place if `keep` is set;
    /// otherwise the cursor goes to the nearest row that is left.
    fn restore_cursor(&mut self, around: CursorContext<T>, keep: bool) {
        let same = around.id.and_then(|id| self.index_of(id));
        let next = || around.after.iter().find_map(|id| self.index_of(*id));
        let previous = || around.before.iter().find_map(|id| self.index_of(*id));
        let at = match around.row.filter(|_| keep && same.is_none()) {
            Some(row) => {
                let at = next().or_else(|| Some(previous()? + 1)).unwrap_or(self.cursor).min(self.known());
                self.pin(at, row).then_some(at)
            }
            None => same.or_else(next).or_else(previous),
        };
        self.cursor = at.unwrap_or(self.cursor).min(self.known().saturating_sub(1));
        self.anchor = self.current().map(ListRow::id).or(self.anchor);
        if self.is_empty() {
            self.anchor = None;
        }
    }

    /// Inserts a row that is no longer in the list, until the cursor leaves it. Returns `false` if its place is not in
    /// memory.
    fn pin(&mut self, at: usize, row: T) -> bool {
        let end = self.pages.last().map(|page| (self.pages.len() - 1, page.len));
        let Some((number, offset)) = self.locate(at).or(end) else { return false };
        let Some(page) = self.pages.get_mut(number) else { return false };
        let Some(items) = page.items.as_mut() else { return false };
        self.pinned = Some(row.id());
        items.insert(offset.min(items.len()), row);
        page.len += 1;
        true
    }

    fn unpin(&mut self) {
        let Some(id) = self.pinned.take() else { return };
        let Some(index) = self.index_of(id) else { return };
        if let Some((page, offset)) = self.locate(index)
            && let Some(page) = self.pages.get_mut(page)
            && let Some(items) = page.items.as_mut()
        {
            items.remove(offset);
            page.len -= 1;
        }
        if self.cursor > index {
            self.cursor -= 1;
        }
        self.cursor = self.cursor.min(self.known().saturating_sub(1));
        self.anchor = self.current().map(ListRow::id);
    }

    /// Returns the row number of a row by its id; `None` if it is not in memory.
    pub fn index_of(&self, id: T::Id) -> Option<usize> {
        let mut start = 0;
        for page in &self.pages {
            if let Some(items) = &page.items
                && let Some(offset) = items.iter().position(|row| row.id() == id)
            {
                return Some(start + offset);
            }
            start += page.len;
        }
        None
    }

    fn locate(&self, index: usize) -> Option<(usize, usize)> {
        let mut start = 0;
        for (number, page) in self.pages.iter().enumerate() {
            if index < start + page.len {
                return Some((number, index - start));
            }
            start += page.len;
        }
        None
    }

    /// Returns the index of the page under the cursor.
    fn cursor_page(&self) -> usize {
        self.locate(self.cursor).map_or(0, |(page, _)| page)
    }

    /// Returns whether the rows of a page are not in memory.
    fn is_missing(&self, page: usize) -> bool {
        self.pages.get(page).is_some_and(|page| page.items.is_none() && page.len > 0)
    }

    /// Returns the pages that have a row within `rows` rows of the cursor.
    fn pages_near_cursor(&self, rows: usize) -> Range<usize> {
        let (mut start, mut near) = (0, None);
        for (number, page) in self.pages.iter().enumerate() {
            let end = start + page.len;
            if start < self.cursor + rows && end + rows > self.cursor {
                near = Some((near.map_or(number, |(first, _)| first), number + 1));
            }
            start = end;
        }
        near.map_or(0..0, |(first, end)| first..end)
    }

    fn has_next(&self) -> bool {
        self.pages.last().is_some_and(|page| page.next.is_some())
    }

    fn evict(&mut self) {
        let kept = self.pages_near_cursor(KEEP_DISTANCE);
        for (number, page) in self.pages.iter_mut().enumerate() {
            if !kept.contains(&number) {
                page.items = None;
            }
        }
    }
}

/// A row, and the ids of the rows before and after it, the nearest first.
struct CursorContext<T: ListRow> {
    id: Option<T::Id>,
    row: Option<T>,
    after: Vec<T::Id>,
    before: Vec<T::Id>,
}

#[cfg(test)]
mod tests;
