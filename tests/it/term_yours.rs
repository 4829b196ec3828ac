//! The app's options: keys, colours, mouse, ASCII, read-only, line-based review, links, the clipboard.

use std::fs;

use termlens::{Color, Key};

use crate::{
    support::TestHome,
    term::{App, assert_clean},
    term_flows::{USUAL, WIDE, home},
};

/// The colour of the first cell of a text on the screen.
fn color_of(screen: &termlens::Screen, text: &str) -> Color {
    let (row, column) = screen.find(text).unwrap();
    screen.cell(row, column).unwrap().style().fg
}

#[test]
fn keys_are_what_the_persons_own_file_says() {
    let (home, _daemon) = home();
    fs::write(home.path().join("keys.toml"), "[card]\nkeep_new = \"f5\"\n[global]\nundo = \"ctrl-y\"\n").unwrap();
    let mut app = App::open(&home, &[], WIDE, &[]);
    app.sees("f5 keep new");
    app.key(Key::F(5));
    app.sees("The new claim is stored");
    app.enter();
    app.sees("ctrl-y to undo");
    app.ctrl('y');
    app.sees("Undid");
    app.keys("q");
    assert!(app.ends().0);
}

#[test]
fn a_mistake_in_a_file_is_reported_with_its_line_before_anything_is_drawn() {
    let home = TestHome::new();
    for (file, text, says) in [
        ("keys.toml", "[card]\n\nkeep_new = \"q\"\n", "keys.toml:3: `q` is bound to both “Keep new” and “Quit”"),
        ("theme.toml", "[styles]\nok = \"gren\"\n", "theme.toml:2: `gren` is neither a colour"),
        ("config.toml", "[tui]\ntheme = \"pink\"\n", "config.toml:2: invalid `theme` in [tui]: found the text “pink”"),
    ] {
        let path = home.path().join(file);
        let before = fs::read_to_string(&path).ok();
        fs::write(&path, text).unwrap();
        let (well, screen) = App::open(&home, &["--no-spawn"], (160, 24), &[]).ends();
        assert!(!well, "{file}");
        assert!(screen.full_text().contains(says), "{}", screen.full_text());
        assert_clean(&screen);
        match before {
            Some(text) => fs::write(&path, text).unwrap(),
            None => fs::remove_file(&path).unwrap(),
        }
    }
}

#[test]
fn a_light_background_is_recognised_and_a_theme_of_ones_own_is_worn() {
    let (home, _daemon) = home();
    let key = "a keep new";
    let screen = App::open(&home, &[], WIDE, &[]).sees(key);
    assert_eq!(color_of(&screen, key), Color::Indexed(6), "cyan on dark");
    let screen = App::on_white(&home, WIDE).sees(key);
    assert_eq!(color_of(&screen, key), Color::Indexed(4), "blue on white");
    fs::write(home.path().join("theme.toml"), "base = \"dark\"\n[styles]\nkey = \"#ff0000 bold\"\n").unwrap();
    let screen = App::on_white(&home, WIDE).sees(key);
    assert_eq!(color_of(&screen, key), Color::Indexed(196), "the nearest of 256");
    let screen = App::open(&home, &[], WIDE, &[("TERM", "xterm")]).sees(key);
    assert_eq!(color_of(&screen, key), Color::Indexed(9), "the nearest of sixteen");
    let screen = App::open(&home, &[], WIDE, &[("COLORTERM", "truecolor")]).sees(key);
    assert_eq!(color_of(&screen, key), Color::Rgb(255, 0, 0));
}

#[test]
fn without_unicode_and_without_the_mouse_it_is_the_same_app() {
    let (home, _daemon) = home();
    for (args, env) in [(&["--ascii", "--no-mouse"][..], None), (&[][..], Some(("LANG", "C")))] {
        let mut app = App::open(&home, args, WIDE, env.as_slice());
        let screen = app.ready();
        assert!(!screen.contains("│") && !screen.contains("▌") && screen.contains("|"), "{}", screen.text());
        let off = args.contains(&"--no-mouse");
        assert_eq!(screen.mouse_mode() == termlens::MouseMode::None, off);
        app.keys("M");
        app.until(|screen| (screen.mouse_mode() == termlens::MouseMode::None) != off);
    }
}

#[test]
fn read_only_changes_nothing_and_says_so() {
    let (home, _daemon) = home();
    let mut app = App::open(&home, &["--read-only"], WIDE, &[]);
    app.sees("READ-ONLY");
    app.ready();
    app.keys("a");
    app.sees("opened with --read-only");
    app.keys("2");
    app.sees("Claims: active");
    app.keys("r");
    app.sees("Retract: this app was opened with --read-only");
    assert_eq!(
        home.run(["log", "--json"]).ok().json()["items"].as_array().unwrap().len(),
        4,
        "only what was written before"
    );
}

#[test]
fn the_link_to_a_card_goes_to_the_clipboard_and_opens_it_again() {
    let (home, _daemon) = home();
    let mut app = App::open(&home, &[], WIDE, &[]);
    app.ready();
    app.keys("C");
    let screen = app.sees("Sent to the terminal: ergo tui --conflict ");
    let link = screen.clipboard().and_then(|clipboard| clipboard.text().map(str::to_owned)).unwrap();
    let args: Vec<&str> = link.split(' ').skip(2).collect();
    App::open(&home, &args, USUAL, &[]).sees(&format!("card {}", args[1]));
}

#[test]
fn plain_mode_goes_through_the_cards_line_by_line() {
    let (home, _daemon) = home();
    for (args, env) in [(&["--plain"][..], None), (&[][..], Some(("TERM", "dumb")))] {
        let mut app = App::open(&home, args, WIDE, env.as_slice());
        app.sees("items need attention.");
        let screen = app.sees("What now?");
        assert!(!screen.alternate_screen() && screen.mouse_mode() == termlens::MouseMode::None);
        app.keys("frob");
        app.enter();
        app.sees("Unknown answer");
        app.keys("b");
        app.enter();
        app.sees("Why? [Enter:");
        app.enter();
        app.sees("Kept “Never deploy on Fridays”");
        app.keys("q");
        app.enter();
        assert!(app.ends().0);
        home.run(["undo"]).ok();
    }
}
