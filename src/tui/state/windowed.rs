//! A long list of which only the pages near the cursor are loaded: keyset pages from the daemon, and a cursor on an
//! id.

use crate::tui::msg::ListRow;

/// Rows asked for at a time.
pub const PAGE: usize = 200;

/// Pages kept on either side of the cursor's; the others remember only where they begin.
const KEEP: usize = 3;

/// How near the end of what is known the cursor may come before the next page is asked for.
const AHEAD: usize = PAGE / 2;

/// A list of which a window is in memory.
#[derive(Clone, Debug)]
pub struct Windowed<T: ListRow> {
    pages: Vec<Page<T>>,
    total: usize,
    cursor: usize,
    anchor: Option<T::Id>,
    top: usize,
    loaded: bool,
    to_end: bool,
    pinned: Option<T::Id>,
    waiting: Option<usize>,
    changed_meanwhile: bool,
    /// The last request failed; nothing is asked for until the cursor moves or the list is read anew.
    failed: bool,
    /// The row to which the cursor goes once it is listed.
    sought: Option<T::Id>,
}

#[derive(Clone, Debug)]
struct Page<T> {
    from: Option<String>,
    next: Option<String>,
    len: usize,
    items: Option<Vec<T>>,
    /// Something may have changed in it; it is shown until it has been fetched again.
    stale: bool,
}

/// A page to ask for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PageRequest {
    /// Which page of the list.
    pub index: usize,
    /// The daemon's cursor for its beginning; absent for the first.
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
            waiting: None,
            changed_meanwhile: false,
            failed: false,
            sought: None,
        }
    }
}

impl<T: ListRow + Clone> Windowed<T> {
    /// How many rows there are in all, by the daemon's word.
    pub fn total(&self) -> usize {
        self.total.max(self.known())
    }

    /// How many rows the cursor can reach now.
    pub fn known(&self) -> usize {
        self.pages.iter().map(|page| page.len).sum()
    }

    /// Whether the first page has arrived.
    pub fn loaded(&self) -> bool {
        self.loaded
    }

    /// Whether nothing is in it.
    pub fn is_empty(&self) -> bool {
        self.known() == 0
    }

    /// The row number of the cursor, from 0.
    pub fn cursor(&self) -> usize {
        self.cursor
    }

    /// The id that the cursor holds on to.
    pub fn anchor(&self) -> Option<T::Id> {
        self.anchor
    }

    /// Whether every row is known: there is no further page.
    pub fn is_whole(&self) -> bool {
        self.loaded && !self.has_next()
    }

    /// Whether a jump to the end still waits for pages.
    pub fn is_seeking(&self) -> bool {
        self.to_end
    }

    /// The row at `index`; `None` if its page is not in memory.
    pub fn get(&self, index: usize) -> Option<&T> {
        let (page, offset) = self.locate(index)?;
        self.pages[page].items.as_ref()?.get(offset)
    }

    /// The row under the cursor.
    pub fn current(&self) -> Option<&T> {
        self.get(self.cursor)
    }

    /// The row under the cursor, for acts: none while what is shown is of an earlier question.
    pub fn selected(&self) -> Option<&T> {
        self.current().filter(|_| self.loaded)
    }

    /// A row by its id; `None` if it is not in memory.
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

    /// The first visible row when `height` rows are shown: moves only as far as needed to keep the cursor in view.
    pub fn top(&self, height: usize) -> usize {
        let height = height.max(1);
        let last = self.known().saturating_sub(height);
        self.top
            .clamp((self.cursor + 1).saturating_sub(height), self.cursor)
            .min(last.max((self.cursor + 1).saturating_sub(height)))
    }

    /// Moves the cursor by `rows`, with `height` rows in view.
    pub fn step(&mut self, rows: isize, height: usize) {
        self.to_end = false;
        self.place(self.cursor.saturating_add_signed(rows), height);
    }

    /// Moves the cursor to the first row.
    pub fn home(&mut self, height: usize) {
        self.to_end = false;
        self.place(0, height);
    }

    /// Moves the cursor to the last row, and on to the very last as pages arrive.
    pub fn end(&mut self, height: usize) {
        self.to_end = self.has_next();
        self.place(usize::MAX, height);
    }

    /// Moves the cursor to a row number.
    pub fn place(&mut self, index: usize, height: usize) {
        self.sought = None;
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

    /// Moves the cursor to a row by its id; says whether it was found.
    pub fn select(&mut self, id: T::Id, height: usize) -> bool {
        let Some(index) = self.find(id) else { return false };
        self.place(index, height);
        true
    }

    /// The page to ask for next, if one is needed and none is under way.
    pub fn need(&mut self) -> Option<PageRequest> {
        if self.waiting.is_some() || self.failed {
            return None;
        }
        let request = self.next_request()?;
        self.waiting = Some(request.index);
        Some(request)
    }

    fn next_request(&self) -> Option<PageRequest> {
        if !self.loaded {
            return Some(PageRequest { index: 0, cursor: None });
        }
        let here = self.here();
        for index in [here, here + 1, here.wrapping_sub(1)] {
            if let Some(page) = self.pages.get(index)
                && (page.stale || (page.items.is_none() && page.len > 0))
            {
                return Some(PageRequest { index, cursor: page.from.clone() });
            }
        }
        let next = self.pages.last()?.next.clone()?;
        (self.to_end || self.cursor + AHEAD >= self.known())
            .then_some(PageRequest { index: self.pages.len(), cursor: Some(next) })
    }

    /// Asks again for what is in view, and for the rest when it comes into view, since something changed; what is shown stays
    /// until then.
    pub fn refresh(&mut self) {
        for page in &mut self.pages {
            page.stale = true;
        }
        self.changed_meanwhile = self.waiting.is_some();
        self.failed = false;
    }

    /// Forgets everything, as for another query; what is shown stays until the first page arrives.
    pub fn restart(&mut self) {
        self.loaded = false;
        self.to_end = false;
        self.waiting = None;
        self.changed_meanwhile = false;
        self.failed = false;
    }

    /// Forgets everything at once.
    pub fn clear(&mut self) {
        *self = Self::default();
    }

    /// The request that was under way failed. It is made again once the cursor moves, or after [`Windowed::refresh`] or
    /// [`Windowed::restart`]: made again at once, it would fail again and again.
    pub fn failed(&mut self) {
        self.waiting = None;
        self.to_end = false;
        self.failed = true;
    }

    /// Puts a row first that is not in the list, under the cursor, until the cursor leaves it.
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

    /// Takes a page. The cursor stays on its id; if that is gone, on the nearest neighbour that is left. With `keep`, a row
    /// under the cursor that is gone from the list stays until the cursor leaves it.
    pub fn accept(&mut self, items: Vec<T>, total: usize, next: Option<String>, keep: bool, height: usize) {
        let Some(index) = self.waiting.take() else { return };
        let stale = std::mem::take(&mut self.changed_meanwhile);
        if !self.loaded {
            *self = Self { anchor: None, sought: self.sought, ..Self::default() };
            self.loaded = true;
        }
        self.total = total;
        let old: Vec<T::Id> = self.neighbours();
        let gone = self.current().cloned();
        self.put(index, Page { from: None, next, len: items.len(), items: Some(items), stale });
        self.hold(&old, gone, keep);
        if self.to_end {
            self.to_end = self.has_next();
            self.cursor = self.known().saturating_sub(1);
            self.anchor = self.current().map(ListRow::id);
        }
        if let Some(id) = self.sought {
            self.select(id, height);
        }
        self.top = self.top(height);
        self.evict();
    }

    /// The cursor goes to this row as soon as it is listed, unless it is moved before.
    pub fn seek(&mut self, id: T::Id) {
        self.sought = Some(id);
    }

    /// Puts a page in its place. Where rows were added or removed, so that it no longer ends where the next one begins, what
    /// overlaps is trimmed and what is missing becomes a page to fetch.
    fn put(&mut self, index: usize, mut fresh: Page<T>) {
        let Some(place) = self.pages.get(index) else {
            fresh.from = self.pages.last().and_then(|last| last.next.clone());
            self.pages.push(fresh);
            return;
        };
        fresh.from.clone_from(&place.from);
        let follows = self.pages.get(index + 1).map(|page| {
            let first = page.items.as_ref().and_then(|items| items.first()).map(ListRow::id);
            (first, page.from.clone())
        });
        match follows {
            Some((Some(first), from)) if fresh.next != from => {
                let items = fresh.items.get_or_insert_default();
                if let Some(overlap) = items.iter().position(|row| row.id() == first) {
                    items.truncate(overlap);
                    fresh.len = items.len();
                    fresh.next = from;
                } else if fresh.next.is_some() {
                    let gap = Page { from: fresh.next.clone(), next: from, len: 0, items: None, stale: true };
                    self.pages.insert(index + 1, gap);
                } else {
                    self.pages.truncate(index + 1);
                }
            }
            Some((None, from)) if fresh.next != from => self.pages.truncate(index + 1),
            _ => {}
        }
        self.pages[index] = fresh;
    }

    /// Puts the cursor back on the first of `old` that is still there; `gone` is pinned where it was, if asked for.
    fn hold(&mut self, old: &[T::Id], gone: Option<T>, keep: bool) {
        let found = old.first().and_then(|id| self.find(*id));
        if let (None, true, Some(row), Some(page)) = (found, keep, gone, self.pages.first_mut()) {
            if let Some(items) = page.items.as_mut() {
                let at = self.cursor.min(items.len());
                self.pinned = Some(row.id());
                items.insert(at, row);
                page.len += 1;
            }
        } else if let Some(index) = found.or_else(|| old.iter().skip(1).find_map(|id| self.find(*id))) {
            self.cursor = index;
        }
        self.cursor = self.cursor.min(self.known().saturating_sub(1));
        self.anchor = self.current().map(ListRow::id).or(self.anchor);
        if self.is_empty() {
            self.anchor = None;
        }
    }

    /// The cursor's id, then those after it, then those before it, nearest first, as far as they are in memory.
    fn neighbours(&self) -> Vec<T::Id> {
        let after = (self.cursor..self.cursor + PAGE).map_while(|index| self.get(index));
        let before = (0..self.cursor).rev().take(PAGE).map_while(|index| self.get(index));
        let mut ids: Vec<T::Id> = after.chain(before).map(ListRow::id).collect();
        if let Some(anchor) = self.anchor
            && ids.first() != Some(&anchor)
        {
            ids.insert(0, anchor);
        }
        ids
    }

    fn unpin(&mut self) {
        let Some(id) = self.pinned.take() else { return };
        let Some(index) = self.find(id) else { return };
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

    /// The row number of a row by its id; `None` if it is not in memory.
    pub fn index_of(&self, id: T::Id) -> Option<usize> {
        self.find(id)
    }

    fn find(&self, id: T::Id) -> Option<usize> {
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

    /// The page that the cursor is in.
    fn here(&self) -> usize {
        self.locate(self.cursor).map_or(0, |(page, _)| page)
    }

    fn has_next(&self) -> bool {
        self.pages.last().is_some_and(|page| page.next.is_some())
    }

    fn evict(&mut self) {
        let here = self.here();
        for (index, page) in self.pages.iter_mut().enumerate() {
            if index.abs_diff(here) > KEEP {
                page.items = None;
            }
        }
    }
}

#[cfg(test)]
mod tests;
