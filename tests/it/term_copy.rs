//! Copied text reaches the clipboard by a way that works on this machine, which the app names; the keys never wait for
//! it.

use std::{fs, os::unix::fs::PermissionsExt, path::PathBuf};

use crate::{
    support::{TestHome, runs, until},
    term::App,
    term_flows::{WIDE, home},
};

const SENT: &str = "Sent to the terminal: ergo tui --conflict ";

/// A first folder of `PATH` with programs of these names and bodies. Their input is written to `$ERGO_HOME/clipboard`.
fn tools(home: &TestHome, programs: &[(&str, &str)]) -> String {
    let folder: PathBuf = home.path().join("tools");
    fs::create_dir_all(&folder).unwrap();
    for (name, body) in programs {
        let file = folder.join(name);
        fs::write(&file, format!("#!/bin/sh\n{body}\n")).unwrap();
        fs::set_permissions(&file, fs::Permissions::from_mode(0o755)).unwrap();
    }
    format!("{}:/usr/bin:/bin", folder.display())
}

fn clipboard(home: &TestHome) -> String {
    fs::read_to_string(home.path().join("clipboard")).unwrap_or_default()
}

const TAKES: &str = "cat > \"$ERGO_HOME/clipboard\"; echo garbage; echo garbage >&2";

#[test]
fn a_program_of_this_machine_has_it_and_the_terminal_is_left_alone() {
    let (home, _daemon) = home();
    let path = tools(&home, &[("wl-copy", TAKES)]);
    let mut app = App::open(&home, &[], WIDE, &[("PATH", &path), ("WAYLAND_DISPLAY", "wayland-0"), ("DISPLAY", ":0")]);
    app.ready();
    app.keys("C");
    let screen = app.sees("Copied with wl-copy: ergo tui --conflict ");
    assert!(clipboard(&home).starts_with("ergo tui --conflict "));
    assert!(screen.clipboard().is_none(), "one way is enough");
    assert!(!screen.contains("garbage"), "what the program prints is nobody's business");
}

#[test]
fn where_programs_fail_or_hang_the_terminal_is_told_and_keys_are_not_held_up() {
    let (home, _daemon) = home();
    let path = tools(&home, &[("wl-copy", "exit 1"), ("xclip", "echo $$ > \"$ERGO_HOME/hangs\"; exec sleep 60")]);
    let mut app = App::open(&home, &[], WIDE, &[("PATH", &path), ("WAYLAND_DISPLAY", "wayland-0"), ("DISPLAY", ":0")]);
    app.ready();
    app.keys("C2");
    // The other screen is there before the program is given up.
    let screen = app.sees("Claims: active");
    assert!(!screen.contains(SENT));
    let screen = app.sees(SENT);
    assert!(screen.clipboard().is_some());
    let hanging = fs::read_to_string(home.path().join("hangs")).unwrap();
    until("the program that hangs is ended", || !runs(hanging.trim().parse().unwrap()));
}

#[test]
fn over_a_connection_the_terminal_is_told_first() {
    let (home, _daemon) = home();
    let path = tools(&home, &[("tmux", &format!("echo \"$@\" > \"$ERGO_HOME/called\"; {TAKES}"))]);
    let env =
        [("PATH", path.as_str()), ("SSH_CONNECTION", "10.0.0.1 1 10.0.0.2 22"), ("TMUX", "/tmp/tmux-0/default,1,0")];
    let mut app = App::open(&home, &[], WIDE, &env);
    app.ready();
    app.keys("C");
    let screen = app.sees("Sent to the terminal, and copied with tmux: ergo tui --conflict ");
    let own = clipboard(&home);
    assert!(screen.clipboard().is_some_and(|copied| copied.text() == Some(own.as_str())));
    assert_eq!(fs::read_to_string(home.path().join("called")).unwrap().trim(), "load-buffer -w -");
}
