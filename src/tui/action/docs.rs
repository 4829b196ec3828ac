//! The table of actions as documentation.

use std::fmt::Write;

use super::{ACTIONS, Danger, KeyScope, Keymap};

/// Returns the keys of the app as a section of a manual page, in roff.
pub fn keys_roff() -> String {
    let plain = |text: &str| text.replace('\\', "\\e").replace('-', "\\-");
    let mut out = String::from(".SH KEYS\nThese are the defaults; keys.toml, beside config.toml, overrides them.\n");
    let usual = Keymap::default();
    for scope in KeyScope::ALL {
        let _ = writeln!(out, ".SS {}", plain(scope.title()));
        for spec in ACTIONS.iter().filter(|spec| spec.scope == scope) {
            let (keys, help) = (plain(&usual.all(spec.id)), plain(&usual.say(spec.help)));
            // In roff, a line that begins with a dot or a quote is a command, so no line begins with a key here.
            let _ = write!(out, ".TP\n\\fB{keys}\\fR\n{}: {help}\n", plain(spec.title));
        }
    }
    out
}

/// Returns the keys of the app as Markdown: the content of `docs/keys.md`.
pub fn keys_markdown() -> String {
    let mut out = String::from(
        "# Keys of `ergo tui`\n\n\
         This page is generated from the app's own table of actions (`src/tui/action/actions.rs`). In the app, `?` shows the same,\n\
         searchable, and why a command is unavailable.\n\n\
         An action marked ↩ changes claims and is undone with `u`; one marked ‼ is not undone by `u`,\n\
         and a question or a form comes first.\n\n\
         To use other keys, create `keys.toml` beside `config.toml`. It has a section per table below; set the name in the last column\n\
         to a key or a list of keys. An error in it is reported with its line when the app starts.\n\n\
         ```toml\n[card]\nkeep_new = \"f5\"\ndismiss = [\"d\", \"ctrl-d\"]\n```\n",
    );
    let usual = Keymap::default();
    for scope in KeyScope::ALL {
        let _ = write!(
            out,
            "\n## {}: `[{}]`\n\n| key | action | what it does | name |\n|---|---|---|---|\n",
            scope.title(),
            scope.name()
        );
        for spec in ACTIONS.iter().filter(|spec| spec.scope == scope) {
            let keys: Vec<String> = spec.keys.iter().map(|key| format!("`{key}`")).collect();
            let mark = match spec.danger {
                Danger::None => "",
                Danger::Undoable => " ↩",
                Danger::Final => " ‼",
            };
            let (title, help, name) = (spec.title, usual.say(spec.help), spec.id.name());
            let _ = writeln!(out, "| {} | {title}{mark} | {help} | `{name}` |", keys.join(" "));
        }
    }
    out
}
