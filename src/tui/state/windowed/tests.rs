//! The list against a daemon of numbers.

use super::*;

#[derive(Clone, Debug)]
struct N(u32);

impl ListRow for N {
    type Id = u32;

    fn id(&self) -> u32 {
        self.0
    }
}

/// A daemon with rows `rows`, newest first, paged by key.
fn answer(list: &mut Windowed<N>, rows: &[u32], keep: bool) -> bool {
    let Some(request) = list.need() else { return false };
    let after: Option<u32> = request.cursor.as_deref().map(|text| text.parse().unwrap());
    let page: Vec<u32> = rows.iter().copied().filter(|n| after.is_none_or(|a| *n < a)).take(PAGE).collect();
    let last = page.last().copied();
    let next = last.filter(|last| rows.iter().any(|n| n < last)).map(|n| n.to_string());
    list.accept(page.into_iter().map(N).collect(), rows.len(), next, keep, 10);
    true
}

fn settle(list: &mut Windowed<N>, rows: &[u32], keep: bool) {
    for _ in 0..2_000 {
        if !answer(list, rows, keep) {
            return;
        }
    }
    panic!("it asks for ever");
}

fn down_from(n: u32) -> Vec<u32> {
    (0..n).rev().collect()
}

#[test]
fn asks_for_the_first_page_and_no_more_than_it_needs() {
    let mut list = Windowed::default();
    settle(&mut list, &down_from(100_000), false);
    assert_eq!((list.total(), list.known(), list.anchor()), (100_000, PAGE, Some(99_999)));
}

#[test]
fn end_reaches_the_last_row_and_holds_only_a_window() {
    let mut list = Windowed::default();
    let rows = down_from(10_050);
    settle(&mut list, &rows, false);
    list.end(10);
    assert!(list.is_seeking());
    settle(&mut list, &rows, false);
    assert_eq!((list.anchor(), list.cursor(), list.is_seeking()), (Some(0), 10_049, false));
    assert!(list.pages.iter().filter(|page| page.items.is_some()).count() <= KEEP + 1);
    list.home(10);
    settle(&mut list, &rows, false);
    assert_eq!(list.current().map(ListRow::id), Some(10_049), "the first page is fetched again");
}

#[test]
fn the_cursor_stays_on_its_id_when_rows_arrive_above() {
    let mut list = Windowed::default();
    settle(&mut list, &down_from(50), false);
    list.step(7, 10);
    let held = list.anchor();
    list.refresh();
    settle(&mut list, &down_from(60), false);
    assert_eq!((list.anchor(), list.cursor()), (held, 17));
}

#[test]
fn a_vanished_row_gives_way_to_the_next_one() {
    let mut list = Windowed::default();
    settle(&mut list, &[5, 4, 3, 2, 1], false);
    list.step(2, 10);
    list.refresh();
    settle(&mut list, &[5, 4, 2, 1], false);
    assert_eq!((list.anchor(), list.cursor()), (Some(2), 2));
    list.end(10);
    list.refresh();
    settle(&mut list, &[5, 4], false);
    assert_eq!(list.anchor(), Some(4));
    list.refresh();
    settle(&mut list, &[], false);
    assert_eq!((list.anchor(), list.current().is_none()), (None, true));
}

#[test]
fn a_kept_row_stays_until_the_cursor_leaves() {
    let mut list = Windowed::default();
    settle(&mut list, &[5, 4, 3], true);
    list.step(1, 10);
    list.refresh();
    settle(&mut list, &[5, 3], true);
    assert_eq!((list.anchor(), list.known()), (Some(4), 3));
    list.step(1, 10);
    assert_eq!((list.anchor(), list.cursor(), list.known()), (Some(3), 1, 2));
}

#[test]
fn a_refresh_deep_in_the_list_keeps_the_place() {
    let mut list = Windowed::default();
    let rows = down_from(2_000);
    settle(&mut list, &rows, false);
    for _ in 0..10 {
        list.step(100, 10);
        settle(&mut list, &rows, false);
    }
    let held = list.anchor();
    list.refresh();
    settle(&mut list, &down_from(2_010), false);
    assert_eq!(list.anchor(), held);
}

#[test]
fn rows_added_above_never_hide_a_row() {
    let mut list = Windowed::default();
    let rows = down_from(1_000);
    settle(&mut list, &rows, false);
    for _ in 0..3 {
        list.step(100, 10);
        settle(&mut list, &rows, false);
    }
    let rows = down_from(1_003);
    list.refresh();
    settle(&mut list, &rows, false);
    list.end(10);
    settle(&mut list, &rows, false);
    assert_eq!((list.known(), list.anchor()), (1_003, Some(0)));
    for _ in 0..30 {
        list.step(-100, 10);
        settle(&mut list, &rows, false);
        assert_eq!(list.anchor(), Some(1_002 - list.cursor() as u32), "row numbers and ids agree");
    }
}

#[test]
fn the_view_scrolls_no_further_than_needed() {
    let mut list = Windowed::default();
    settle(&mut list, &down_from(100), false);
    list.step(9, 10);
    assert_eq!(list.top(10), 0);
    list.step(1, 10);
    assert_eq!(list.top(10), 1);
    list.step(-5, 10);
    assert_eq!(list.top(10), 1);
    list.end(10);
    assert_eq!(list.top(10), 90);
    assert_eq!(list.top(100), 0, "a taller screen shows what fits");
}

#[test]
fn a_failed_request_is_made_again_only_after_something_happened() {
    let rows = down_from(1_000);
    let events: [fn(&mut Windowed<N>); 3] = [|list| list.step(1, 10), Windowed::refresh, Windowed::restart];
    for happens in events {
        let mut list = Windowed::default();
        settle(&mut list, &rows, false);
        list.refresh();
        assert!(list.need().is_some());
        list.failed();
        assert_eq!(list.need(), None);
        happens(&mut list);
        assert!(list.need().is_some());
    }
}
