//! A page of a list, and how the pages after one that was read again are adapted.

use std::collections::HashSet;

use crate::tui::msg::ListRow;

/// A page of a list. It begins where the previous page ends: `next` of a page equals `from` of the page after it.
#[derive(Clone, Debug)]
pub(super) struct KeysetPage<T> {
    /// The daemon's cursor for the beginning of the page; `None` for the first page.
    pub(super) from: Option<String>,
    /// The daemon's cursor for the end of the page; `None` for the last page.
    pub(super) next: Option<String>,
    /// The number of its rows, as far as is known.
    pub(super) len: usize,
    /// The rows, if they are in memory.
    pub(super) items: Option<Vec<T>>,
    /// Whether the rows may have changed. They are shown until the page has been read again.
    pub(super) stale: bool,
    /// For rows that were left over from a replaced page: the number of pages that were read in their place since then
    /// without finding any of them.
    pub(super) missed_reads: u8,
}

/// The number of pages that are read in the place of left-over rows without finding any, before the rows count as gone.
const MAX_MISSED_READS: u8 = 10;

impl<T: ListRow> KeysetPage<T> {
    /// Removes rows by their ids. Returns whether the page had any of them; `false` if it is not in memory.
    pub(super) fn remove(&mut self, ids: &HashSet<T::Id>) -> bool {
        let Some(items) = &mut self.items else { return false };
        items.retain(|row| !ids.contains(&row.id()));
        let before = std::mem::replace(&mut self.len, items.len());
        before > self.len
    }

    /// Returns the rows of this page after the last one that was read again, as a page to be read again. `read`: the
    /// ids of the rows that were read in the place of this page. If the page has none of these, all its rows come later
    /// in the list, or are gone.
    pub(super) fn tail_after(mut self, read: &HashSet<T::Id>) -> Self {
        let mut items = self.items.take().unwrap_or_default();
        let last = items.iter().rposition(|row| read.contains(&row.id()));
        let missed_reads = if last.is_some() { 0 } else { self.missed_reads + 1 };
        if missed_reads > MAX_MISSED_READS {
            items.clear();
        }
        let items: Vec<T> = items.into_iter().skip(last.map_or(0, |last| last + 1)).collect();
        Self { len: items.len(), items: Some(items), stale: true, missed_reads, ..self }
    }
}

/// Removes from the `later` pages everything up to the last row that was read again, since earlier rows that were not
/// read are gone. Returns whether there was such a row.
pub(super) fn drop_read_rows<T: ListRow>(later: &mut Vec<KeysetPage<T>>, read: &HashSet<T::Id>) -> bool {
    let last = |page: &KeysetPage<T>| page.items.as_ref()?.iter().rposition(|row| read.contains(&row.id()));
    let Some((number, at)) = later.iter().enumerate().rev().find_map(|(number, page)| Some((number, last(page)?)))
    else {
        return false;
    };
    later.drain(..number);
    if let Some(KeysetPage { items: Some(items), len, .. }) = later.first_mut() {
        items.drain(..=at);
        *len = items.len();
        if items.is_empty() {
            later.remove(0);
        }
    }
    true
}

/// Makes the first of the `later` pages begin at `end`, where the previous page ends since it was read again.
///
/// `tail` has the rows of the previous page after its new end. They may still be in the list, so they are shown until
/// the next page has been read again too. `beyond`: the cursor is in the later pages. `far`: no row of the tail is near
/// the cursor.
pub(super) fn reattach_next<T>(
    end: &str,
    tail: Option<KeysetPage<T>>,
    later: &mut Vec<KeysetPage<T>>,
    beyond: bool,
    far: bool,
) {
    let mut tail = tail.filter(|tail| tail.len > 0);
    if let Some(tail) = &mut tail {
        tail.from = Some(end.to_owned());
    }
    match later.first_mut() {
        Some(page) if page.from.as_deref() == Some(end) => return,
        Some(KeysetPage { items: Some(items), from, len, stale, .. }) => {
            if let Some(rows) = tail.take().and_then(|tail| tail.items) {
                items.splice(0..0, rows);
            }
            (*from, *len, *stale) = (Some(end.to_owned()), items.len(), true);
        }
        // It is not known how many rows of a page that is not in memory lie before its new beginning, so the page is
        // dropped.
        Some(_) if !beyond => {
            later.clear();
            tail = tail.filter(|_| !far);
        }
        Some(page) => {
            if let Some(tail) = &mut tail {
                tail.next.clone_from(&page.from);
            } else {
                (page.from, page.stale) = (Some(end.to_owned()), true);
            }
        }
        // A far tail is dropped: its rows are read as the next page once the cursor is near.
        None => tail = tail.filter(|_| !far),
    }
    if let Some(tail) = tail {
        later.insert(0, tail);
    }
}
