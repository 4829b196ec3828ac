//! A page of a list, and what happens to the pages after one that was read again.

use std::collections::HashSet;

use crate::tui::msg::ListRow;

/// A page. It begins where the one before it ends: `next` of a page is `from` of the page after it.
#[derive(Clone, Debug)]
pub(super) struct KeysetPage<T> {
    /// The daemon's cursor for its beginning; absent for the first page.
    pub(super) from: Option<String>,
    /// The daemon's cursor for what comes after it; absent for the last page.
    pub(super) next: Option<String>,
    /// How many rows it has, as far as is known.
    pub(super) len: usize,
    /// Its rows, if they are in memory.
    pub(super) items: Option<Vec<T>>,
    /// Something may have changed in it; it is shown until it has been read again.
    pub(super) stale: bool,
    /// It has rows that another page had; so many pages were read in its place since, and none of the rows was found.
    pub(super) sought: u8,
}

/// The most pages that are read in the place of rows of which none is found, before they count as gone.
const MOST: u8 = 10;

impl<T: ListRow> KeysetPage<T> {
    /// Removes these rows, if it is in memory; says whether it had any of them.
    pub(super) fn remove(&mut self, ids: &HashSet<T::Id>) -> bool {
        let Some(items) = &mut self.items else { return false };
        items.retain(|row| !ids.contains(&row.id()));
        let before = std::mem::replace(&mut self.len, items.len());
        before > self.len
    }

    /// What this page has after the last of the rows that were read in its place, as a page to be read. If those rows are all
    /// others, its own come further down, or are gone.
    pub(super) fn after(mut self, read: &HashSet<T::Id>) -> Self {
        let mut items = self.items.take().unwrap_or_default();
        let last = items.iter().rposition(|row| read.contains(&row.id()));
        let sought = if last.is_some() { 0 } else { self.sought + 1 };
        if sought > MOST {
            items.clear();
        }
        let items: Vec<T> = items.into_iter().skip(last.map_or(0, |last| last + 1)).collect();
        Self { len: items.len(), items: Some(items), stale: true, sought, ..self }
    }
}

/// Drops what was read again in front of the `later` pages: everything up to the last of these rows, since what is not among them
/// is gone. Says whether there was any.
pub(super) fn drop_read<T: ListRow>(later: &mut Vec<KeysetPage<T>>, read: &HashSet<T::Id>) -> bool {
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

/// Lets the first of the `later` pages begin at `end`, where the page before it ends since it was read again. `tail` is what that
/// page had after its new end: the rows may still be there, so they are shown until the next page has been read again too.
/// `beyond`: the cursor is in the later pages. `far`: nothing of the tail is near the cursor.
pub(super) fn move_next<T>(
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
        // How much of a page that is not in memory lies before its new beginning is not known: it is forgotten.
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
        // It is read as the next page once the cursor comes near.
        None => tail = tail.filter(|_| !far),
    }
    if let Some(tail) = tail {
        later.insert(0, tail);
    }
}
