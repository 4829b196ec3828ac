//! The app with 100,000 claims, and in a window that changes its size.

use termlens::Key;

use crate::{
    support::{TestHome, crowd},
    term::App,
    term_flows::{USUAL, WIDE, home},
};

fn beside_the_crowd(size: (u16, u16)) -> (TestHome, App) {
    let home = TestHome::new();
    let url = crowd::start();
    let mut app = App::open(&home, &["--no-spawn"], size, &[("ERGO_API_URL", &url), ("ERGO_API_TOKEN", "crowd")]);
    app.sees("live");
    app.keys("2");
    app.sees("1 of 100,000");
    (home, app)
}

#[test]
fn a_hundred_thousand_claims_are_searched_and_scrolled_to_their_end() {
    let (_home, mut app) = beside_the_crowd(WIDE);
    app.sees("Service 0 keeps");
    for _ in 0..40 {
        app.key(Key::PageDown);
    }
    app.until(|screen| !screen.contains("Service 0 keeps") && screen.contains("of 100,000"));
    app.keys("/99999");
    app.sees("1 found");
    app.sees("Service 99999 keeps");
    app.key(Key::Esc);
    // A key that arrives together with Esc would be read as Alt and that key.
    app.until(|screen| screen.contains("of 100,000") && !screen.contains("99999"));
    app.keys("/777");
    app.enter();
    app.until(|screen| {
        screen.contains("Service 777 keeps") && screen.contains("1 of 280 matches, 100,000 claims in all")
    });
    app.keys("G");
    app.sees("280 of 280 matches, 100,000 claims in all");
    app.sees("Service 99777 keeps");
    app.keys("g");
    app.sees("Service 777 keeps");
    app.keys("q");
    assert!(app.ends().0);
}

#[test]
fn a_window_that_does_not_stay_still_ends_with_the_right_picture() {
    let (home, _daemon) = home();
    let mut app = App::open(&home, &[], WIDE, &[]);
    app.ready();
    for round in 0..60_u16 {
        app.resize(4 + round * 37 % 170, 4 + round * 23 % 60);
    }
    app.resize(USUAL.0, USUAL.1);
    app.until(|screen| screen.size() == USUAL && screen.contains("? help") && screen.contains("Refused writes 2"));
    app.resize(WIDE.0, WIDE.1);
    let screen = app.ready();
    assert!(screen.contains("Never deploy on Fridays"));
    app.keys("q");
    assert!(app.ends().0);
}
