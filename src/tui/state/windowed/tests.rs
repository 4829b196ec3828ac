//! Tests of the list with a fake daemon whose rows are numbers.

use proptest::prelude::*;

use super::*;

#[derive(Clone, Debug)]
struct N(u32);

impl ListRow for N {
    type Id = u32;

    fn id(&self) -> u32 {
        self.0
    }
}

/// A fake daemon with keyset pages of `rows`, newest first.
fn answer(list: &mut Windowed<N>, rows: &[u32], keep: bool) -> bool {
    let Some(request) = list.need() else { return false };
    let after: Option<u32> = request.cursor.as_deref().map(|text| text.parse().unwrap());
    let page: Vec<u32> = rows.iter().copied().filter(|n| after.is_none_or(|a| *n < a)).take(PAGE_SIZE).collect();
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
    assert_eq!((list.total(), list.known(), list.anchor()), (100_000, PAGE_SIZE, Some(99_999)));
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
    assert!(list.pages.iter().filter(|page| page.items.is_some()).count() <= KEEP_DISTANCE / PAGE_SIZE + 1);
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

#[test]
fn pages_stay_full_while_rows_arrive_above() {
    let mut session = Session::new(1_000);
    session.list.step(150, 10);
    settle(&mut session.list, &session.rows, false);
    session.take(&Event::Home, false);
    for _ in 0..60 {
        session.take(&Event::Add(1), false);
        settle(&mut session.list, &session.rows, false);
        session.take(&Event::Home, false);
    }
    session.take(&Event::Step(210), false);
    settle(&mut session.list, &session.rows, false);
    session.check_view();
    assert!(session.list.pages.len() <= 4, "{} pages", session.list.pages.len());
}

#[test]
fn a_row_that_is_gone_stays_under_the_cursor_on_later_pages_too() {
    let mut session = Session::new(1_000);
    session.list.step(150, 10);
    settle(&mut session.list, &session.rows, true);
    session.list.step(120, 10);
    settle(&mut session.list, &session.rows, true);
    let (place, here) = (270, session.list.anchor().unwrap());
    assert_eq!((session.list.cursor(), session.rows[place]), (place, here));
    session.take(&Event::Remove(270, 1), true);
    settle(&mut session.list, &session.rows, true);
    let listed = |list: &Windowed<N>| [269, 270, 271].map(|at| list.get(at).map(ListRow::id));
    let around = [Some(session.rows[269]), Some(here), Some(session.rows[270])];
    assert_eq!((session.list.anchor(), listed(&session.list)), (Some(here), around));
    session.list.step(1, 10);
    assert_eq!((session.list.anchor(), session.list.cursor()), (Some(session.rows[270]), 270));
}

#[test]
fn a_row_that_comes_back_is_no_longer_removed_when_the_cursor_leaves_it() {
    let mut list = Windowed::default();
    settle(&mut list, &[5, 4, 3], true);
    list.step(1, 10);
    for rows in [&[5, 3][..], &[5, 4, 3]] {
        list.refresh();
        settle(&mut list, rows, true);
    }
    list.step(1, 10);
    assert_eq!((list.anchor(), list.known()), (Some(3), 3));
}

/// An event from the user, other writers, or the network.
#[derive(Clone, Debug)]
enum Event {
    /// Rows are added above all others.
    Add(u8),
    /// A row is added somewhere.
    Insert(u16),
    /// A number of rows from a place on are removed.
    Remove(u16, u8),
    /// The cursor moves.
    Step(i16),
    Home,
    End,
    /// The answer to the pending request arrives, if there is one.
    Page,
    /// All requested pages arrive.
    Settle,
}

/// A fake daemon whose rows come and go, and a list that follows them.
struct Session {
    rows: Vec<u32>,
    list: Windowed<N>,
}

impl Session {
    fn new(count: u32) -> Self {
        let rows = (1..=count).rev().map(|n| n * 16).collect();
        let mut session = Self { rows, list: Windowed::default() };
        settle(&mut session.list, &session.rows, false);
        session
    }

    fn change(&mut self, change: impl FnOnce(&mut Vec<u32>)) {
        change(&mut self.rows);
        self.list.refresh();
    }

    fn take(&mut self, event: &Event, keep: bool) {
        match *event {
            Event::Add(count) => self.change(|rows| {
                let top = rows.first().copied().unwrap_or(16) / 16 * 16;
                rows.splice(0..0, (1..=u32::from(count)).rev().map(|n| top + 16 * n));
            }),
            Event::Insert(place) => self.change(|rows| {
                let at = usize::from(place) % rows.len().max(1);
                let fresh = rows.get(at).map_or(16, |n| n + 1);
                if !rows.contains(&fresh) {
                    rows.insert(at, fresh);
                }
            }),
            Event::Remove(place, count) => self.change(|rows| {
                let at = usize::from(place) % rows.len().max(1);
                let end = (at + usize::from(count)).min(rows.len());
                rows.drain(at..end);
            }),
            Event::Step(rows) => self.list.step(rows.into(), 10),
            Event::Home => self.list.home(10),
            Event::End => self.list.end(10),
            Event::Page => drop(answer(&mut self.list, &self.rows, keep)),
            Event::Settle => settle(&mut self.list, &self.rows, keep),
        }
        self.check_memory();
    }

    fn in_memory(&self) -> Vec<u32> {
        self.list.pages.iter().flat_map(|page| page.items.iter().flatten()).map(|row| row.0).collect()
    }

    /// Each row is in memory only once, and only a window of rows is in memory.
    fn check_memory(&self) {
        let mut ids = self.in_memory();
        let count = ids.len();
        ids.sort_unstable();
        ids.dedup();
        assert_eq!(ids.len(), count, "a row is listed twice");
        assert!(count <= 2 * KEEP_DISTANCE + 6 * PAGE_SIZE, "{count} rows are in memory");
        for pair in self.list.pages.windows(2) {
            assert_eq!(pair[0].next, pair[1].from, "a page begins where the one before it ends");
        }
    }

    /// The rows around the cursor are those of the daemon, without a gap.
    fn check_view(&self) {
        let cursor = self.list.cursor();
        let Some(here) = self.list.current().map(ListRow::id) else {
            return assert!(self.rows.is_empty() && self.list.known() == 0);
        };
        let place = self.rows.iter().position(|row| *row == here).unwrap();
        assert_eq!(self.list.anchor(), Some(here));
        for by in -100..=100_isize {
            let listed = cursor.checked_add_signed(by).and_then(|at| self.list.get(at)).map(ListRow::id);
            let stored = place.checked_add_signed(by).and_then(|at| self.rows.get(at)).copied();
            assert_eq!(listed, stored, "{by} rows from the cursor");
        }
    }
}

/// Events in any order, with late answers.
fn follows(count: u32, events: &[Event]) {
    let mut session = Session::new(count);
    for event in events {
        session.take(event, false);
        if matches!(event, Event::Settle) {
            session.check_view();
        }
    }
    session.take(&Event::Settle, false);
    session.check_view();
    session.take(&Event::End, false);
    session.take(&Event::Settle, false);
    session.check_view();
    assert_eq!(session.list.anchor(), session.rows.last().copied());
}

/// If each change is followed by its answers, the cursor stays on its row or goes to the nearest row that is left.
fn holds(count: u32, events: &[Event], keep: bool) {
    let mut session = Session::new(count);
    for event in events {
        let before = session.rows.clone();
        session.take(event, keep);
        let here = session.list.anchor();
        let requests = settled_in(&mut session.list, &session.rows, keep);
        let moved = matches!(event, Event::Step(_) | Event::Home | Event::End);
        assert!(moved || requests <= 20, "{requests} requests after {event:?}");
        if matches!(event, Event::Home | Event::End) || session.rows.is_empty() {
            continue;
        }
        let Some(here) = here else { continue };
        let is_left = |row: &&u32| session.rows.contains(row);
        if !keep {
            session.check_view();
        }
        let expected = match before.iter().position(|row| *row == here) {
            // The row was gone before and its page was not near, or so many rows went that no row in memory is left.
            None if !keep => continue,
            Some(_) if !keep && matches!(event, Event::Remove(_, 51..)) && !session.rows.contains(&here) => continue,
            Some(at) if !keep && !session.rows.contains(&here) => {
                let next = before[at..].iter().find(is_left);
                next.or_else(|| before[..at].iter().rev().find(is_left)).copied().unwrap_or(here)
            }
            _ => here,
        };
        assert_eq!(session.list.anchor(), Some(expected), "after {event:?}");
        assert_eq!(session.list.current().map(ListRow::id), Some(expected), "after {event:?}");
    }
}

/// Answers all requests, and returns their number.
fn settled_in(list: &mut Windowed<N>, rows: &[u32], keep: bool) -> usize {
    (0..2_000).find(|_| !answer(list, rows, keep)).expect("it asks for ever")
}

fn event() -> impl Strategy<Value = Event> {
    let count = prop_oneof![3 => 1..5_u8, 1 => 1..=250_u8];
    prop_oneof![
        3 => count.clone().prop_map(Event::Add),
        1 => any::<u16>().prop_map(Event::Insert),
        2 => (any::<u16>(), count).prop_map(|(place, count)| Event::Remove(place, count)),
        4 => (-200..300_i16).prop_map(Event::Step),
        1 => Just(Event::Home),
        1 => Just(Event::End),
        2 => Just(Event::Page),
        2 => Just(Event::Settle),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(120))]

    #[test]
    fn what_is_around_the_cursor_is_what_the_daemon_has(
        count in 0..1_200_u32,
        events in proptest::collection::vec(event(), 0..40),
    ) {
        follows(count, &events);
    }

    #[test]
    fn the_cursor_stays_on_its_row_or_goes_to_the_nearest_that_is_left(
        count in 0..1_200_u32,
        events in proptest::collection::vec(event(), 0..30),
        keep in any::<bool>(),
    ) {
        holds(count, &events, keep);
    }
}
