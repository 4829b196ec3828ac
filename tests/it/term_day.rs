//! A day's work in a real terminal: where the app opens, adding and finding claims, undo across sessions, the editor.

use std::{fs, os::unix::fs::PermissionsExt};

use termlens::Key;

use crate::{
    support::TestHome,
    term::{App, assert_clean},
    term_flows::{USUAL, WIDE, home},
};

/// A program of the test's own, by its path.
fn program(home: &TestHome, script: &str) -> String {
    let file = home.path().join("editor");
    fs::write(&file, format!("#!/bin/sh\n{script}\n")).unwrap();
    fs::set_permissions(&file, fs::Permissions::from_mode(0o755)).unwrap();
    file.display().to_string()
}

#[test]
fn in_a_repository_the_app_opens_on_that_repository() {
    let home = TestHome::new();
    let _daemon = home.daemon();
    home.run(["remember", "Tabs are used here", "--reason", "they are smaller"]).ok();
    home.run(["remember", "Spaces are used there", "--reason", "they line up", "--project", "other"]).ok();
    fs::create_dir_all(home.work().join(".git/objects")).unwrap();
    fs::create_dir_all(home.work().join(".git/refs")).unwrap();
    fs::write(home.work().join(".git/HEAD"), "ref: refs/heads/main\n").unwrap();
    let mut app = App::open(&home, &[], WIDE, &[]);
    app.sees("/work");
    app.keys("2");
    let screen = app.sees("Tabs are used here");
    assert!(!screen.contains("Spaces are used there"), "{screen:?}");
    app.keys("S");
    app.sees("Spaces are used there");
    app.keys("q");
    assert_clean(&app.ends().1);
}

#[test]
fn a_claim_is_added_found_with_a_slip_and_undone() {
    let (home, _daemon) = home();
    let mut app = App::open(&home, &[], USUAL, &[]);
    app.sees("1 of 2");
    app.keys("+");
    app.sees("Add a claim");
    app.keys("Backups are kept for a month");
    app.enter();
    app.keys("disks are cheap");
    app.ctrl('s');
    app.undoable();
    app.keys("/bakcups");
    app.sees("Backups are kept for a month");
    app.enter();
    app.keys("Y");
    app.sees("the text");
    app.key(Key::Esc);
    // Until Esc is handled, a letter after it would be read as Alt and that letter.
    app.until(|screen| !screen.contains("bakcups"));
    app.keys("u");
    app.sees("Undid: remembered");
    app.keys("U");
    app.sees("Redid: remembered");
    app.keys("q");
    let (well, left) = app.ends();
    assert!(well);
    assert_clean(&left);
}

#[test]
fn what_an_earlier_session_did_is_named_before_it_is_undone() {
    let (home, _daemon) = home();
    let mut app = App::open(&home, &[], USUAL, &[]);
    app.sees("1 of 2");
    app.keys("u");
    app.sees("Undo your last change?");
    app.sees("Never deploy on Fridays");
    app.enter();
    app.until(|screen| !screen.contains("Undo your last change?"));
    app.keys("u");
    app.sees("Undo your last change?");
    app.key(Key::Tab);
    app.enter();
    app.sees("Undid: remembered “Never deploy on Fridays”");
    app.keys("q");
    assert!(app.ends().0);
}

#[test]
fn the_source_of_a_claim_is_opened_at_its_line() {
    let home = TestHome::new();
    let _daemon = home.daemon();
    fs::write(home.work().join("notes.md"), "# Notes\n\nTabs are used here.\n").unwrap();
    home.run(["remember", "Tabs are used here", "--reason", "they are smaller", "--source", "notes.md:3"]).ok();
    let editor = program(&home, "echo \"$@\" > \"$ERGO_HOME/opened\"");
    let mut app = App::open(&home, &[], USUAL, &[("EDITOR", &editor)]);
    app.sees("Nothing needs your attention");
    app.keys("2");
    app.sees("Tabs are used here");
    app.keys("E");
    let opened = home.path().join("opened");
    app.until(|_| fs::read_to_string(&opened).is_ok_and(|text| text.contains("notes.md")));
    assert!(fs::read_to_string(&opened).unwrap().starts_with("+3 "), "{:?}", fs::read_to_string(&opened));
    app.keys("q");
    let (well, left) = app.ends();
    assert!(well);
    assert_clean(&left);
}
