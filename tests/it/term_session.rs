//! A long session of the app in a real terminal: it is suspended and resumed, and its daemon restarts.

use std::{fs, os::unix::fs::PermissionsExt};

use rustix::process::Signal;

use crate::{
    support::{TestHome, runs, signal, until},
    term::{App, assert_clean},
    term_flows::{USUAL, WIDE, home},
};

/// A script that stands in for an editor.
fn editor(home: &TestHome, script: &str) -> String {
    let path = home.path().join("editor");
    fs::write(&path, format!("#!/bin/sh\n{script}\n")).unwrap();
    fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
    path.to_str().unwrap().to_owned()
}

#[test]
fn a_reason_is_written_in_the_persons_own_editor() {
    let (home, _daemon) = home();
    // The editor sees the text so far and has a terminal as from a shell, and an interrupt typed in it does not reach
    // the app.
    let script = "cp \"$1\" \"$ERGO_HOME/before\"; stty -a > \"$ERGO_HOME/stty\"; trap '' INT; kill -INT 0
        echo 'Written at leisure' > \"$1\"";
    let mut app = App::open(&home, &[], WIDE, &[("EDITOR", &editor(&home, script))]);
    app.until(|screen| screen.contains("Never deploy on Fridays") && screen.contains("What you can do"));
    app.keys("a");
    app.sees("The new claim is stored and replaces");
    app.ctrl('o');
    app.sees("Written at leisure");
    assert_eq!(fs::read_to_string(home.path().join("before")).unwrap(), "Releases before the weekend");
    let stty = fs::read_to_string(home.path().join("stty")).unwrap();
    assert!(stty.contains(" icanon") && stty.contains(" echo "), "{stty}");
    app.enter();
    app.undoable();
    let why = home.run(["why", "deploy on Fridays", "--json"]).ok().json();
    assert_eq!(why["chain"][1]["change_reason"], "Written at leisure");
    app.keys("q");
    let (well, left) = app.ends();
    assert!(well);
    assert_clean(&left);
}

#[test]
fn an_editor_that_fails_loses_nothing() {
    let (home, _daemon) = home();
    for (script, says) in [("exit 3", "exit status: 3"), ("printf '\\377' > \"$1\"", "cannot be edited")] {
        let mut app = App::open(&home, &[], WIDE, &[("EDITOR", &editor(&home, script))]);
        app.until(|screen| screen.contains("Never deploy on Fridays") && screen.contains("What you can do"));
        app.keys("a");
        app.sees("The new claim is stored and replaces");
        app.ctrl('o');
        app.sees(says);
        app.sees("Releases before the weekend");
    }
}

#[test]
fn the_app_goes_to_the_background_and_comes_back_to_a_smaller_window() {
    let (home, _daemon) = home();
    let mut app = App::as_a_job(&home);
    app.sees("Never deploy on Fridays");
    app.ctrl('z');
    let shell = app.sees("in the shell");
    assert_clean(&shell);
    let stty = shell.full_text();
    assert!(stty.contains(" icanon") && !stty.contains("-icanon"), "{stty}");
    app.enter();
    app.sees("make the window larger");
    app.keys("q");
    let screen = app.sees("left the app");
    assert_clean(&screen);
}

#[test]
fn a_click_selects_what_is_under_it() {
    let (home, _daemon) = home();
    let mut app = App::open(&home, &[], WIDE, &[]);
    app.sees("Never deploy on Fridays");
    app.click("deployment is always red");
    app.sees("The canary deployment is always blue");
    app.sees("2 of 2");
    app.click("2 Claims");
    app.sees("Claims: active");
    // The footer's keys are buttons, too; this screen's own, so that the place of a half-drawn one's is not clicked.
    app.sees("r retract  enter open  u undo  + add  / search  ? help  q quit");
    app.click("quit");
    assert!(app.ends().0);
}

#[test]
fn a_daemon_that_dies_in_mid_session_is_noticed_and_started_again() {
    let (home, daemon) = home();
    let mut app = App::open(&home, &[], USUAL, &[]);
    app.sees("live");
    app.sees("1 of 2");
    daemon.kill();
    app.sees("no daemon: s starts it");
    app.sees("1 of 2");
    app.keys("s");
    app.sees("live");
    app.keys("2");
    app.sees("The canary deployment is always blue");
    app.keys("q");
    assert!(app.ends().0);
}

#[test]
fn a_terminal_that_is_closed_leaves_no_process_and_loses_no_act() {
    let (home, daemon) = home();
    let mut app = App::within_shell(&home, &[]);
    app.sees("decision, not stored");
    app.keys("a");
    app.sees("The new claim is stored and replaces");
    // The act is on its way when the window is closed.
    signal(daemon.pid(), Signal::STOP);
    app.enter();
    app.sees("Sending");
    let process = app.closed(&home);
    signal(daemon.pid(), Signal::CONT);
    until("the app is gone", || !runs(process));
    let why = home.run(["why", "deploy on Fridays", "--json"]).ok().json();
    assert_eq!(why["answer"]["statement"], "Always deploy on Fridays");
    assert_eq!(home.run(["conflicts", "--all", "--json"]).ok().json()["total"], 1, "it was done, and once");
    // The next one finds everything as it should be.
    let mut app = App::open(&home, &[], USUAL, &[]);
    app.sees("1 of 1");
}
