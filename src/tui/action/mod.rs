//! The actions of the app, with their keys and texts, and where those keys work. This module does not know the state.
//!
//! The rows are in `actions`. Dispatch, the footer, the palette and the generated `docs/keys.md` are made from them.

mod actions;
pub mod chains;
mod docs;
mod keymap;

pub(in crate::tui) use actions::for_each_action;
pub use docs::{keys_markdown, keys_roff};
pub use keymap::Keymap;

macro_rules! define_actions {
    ($($name:ident: $danger:ident in $scope:ident by [$($key:literal),*], $title:literal $($short:literal)?
        $(, also [$($also:literal),*])?; $help:literal; if $enabled:ident => $handler:expr;)*) => {
        /// An action of the app.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        pub enum Action {
            $(#[doc = $help] $name,)*
        }

        /// Every action, in the order of the enum.
        pub static ACTIONS: &[ActionSpec] = &[$(ActionSpec {
            id: Action::$name,
            title: $title,
            short: concat!("" $(, $short)?),
            help: $help,
            also: &[$($($also),*)?],
            keys: &[$($key),*],
            scope: KeyScope::$scope,
            danger: Danger::$danger,
        },)*];
    };
}
for_each_action!(define_actions);

impl Action {
    /// Returns the action's row of the table.
    pub fn spec(self) -> &'static ActionSpec {
        &ACTIONS[self as usize]
    }

    /// Returns the action's name in `keys.toml`, such as `keep_new`.
    pub fn name(self) -> String {
        let mut out = String::new();
        for c in format!("{self:?}").chars() {
            if c.is_ascii_uppercase() && !out.is_empty() {
                out.push('_');
            }
            out.push(c.to_ascii_lowercase());
        }
        out
    }
}

/// A part of the app in which an action's keys work.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum KeyScope {
    /// On the Inbox, if a card is under the cursor.
    Card,
    /// In the list of the Inbox, for marks and the filter of cards.
    Marks,
    /// On the Claims screen.
    Claims,
    /// On the Why screen.
    Why,
    /// On the Peers screen.
    Peers,
    /// On Claims, Why and the Inbox, if a claim is under the cursor.
    Claim,
    /// Navigation, the same on every screen.
    Move,
    /// On every screen.
    Global,
    /// In a form.
    Form,
    /// In the palette and the search line.
    Pick,
    /// In the log of the session.
    Log,
    /// In a confirmation.
    Confirm,
    Inbox,
    /// On the Inbox, if a join request or a quarantined event is under the cursor.
    Pending,
    /// On the Timeline.
    Timeline,
    /// In the tour.
    Tour,
    /// On the Models screen.
    Models,
    /// On the Agents screen.
    Agents,
    /// On the Notes screen.
    Notes,
    /// On Claims, Why and the Timeline, for search matches.
    Matches,
    /// On a text page over a screen.
    Page,
    /// On the Inbox, if a story card is under the cursor.
    Answer,
    /// In a question how two claims relate.
    Verdict,
    /// In the dialog that judges waiting pairs.
    Judging,
}

impl KeyScope {
    /// All key scopes, in the order of the documentation.
    pub const ALL: [Self; 24] = [
        Self::Inbox,
        Self::Card,
        Self::Answer,
        Self::Marks,
        Self::Pending,
        Self::Claims,
        Self::Why,
        Self::Peers,
        Self::Timeline,
        Self::Models,
        Self::Agents,
        Self::Notes,
        Self::Claim,
        Self::Matches,
        Self::Move,
        Self::Global,
        Self::Page,
        Self::Verdict,
        Self::Judging,
        Self::Form,
        Self::Pick,
        Self::Log,
        Self::Confirm,
        Self::Tour,
    ];

    /// Returns the name of the scope's section in `keys.toml`.
    pub fn name(self) -> &'static str {
        match self {
            Self::Card => "card",
            Self::Marks => "marks",
            Self::Claims => "claims",
            Self::Why => "why",
            Self::Peers => "peers",
            Self::Claim => "claim",
            Self::Move => "move",
            Self::Global => "global",
            Self::Form => "form",
            Self::Pick => "pick",
            Self::Log => "log",
            Self::Confirm => "confirm",
            Self::Inbox => "inbox",
            Self::Pending => "pending",
            Self::Timeline => "timeline",
            Self::Tour => "tour",
            Self::Models => "models",
            Self::Agents => "agents",
            Self::Notes => "notes",
            Self::Matches => "matches",
            Self::Page => "page",
            Self::Answer => "answer",
            Self::Verdict => "verdict",
            Self::Judging => "judging",
        }
    }

    /// Returns whether the scope's actions belong to a screen, not to an overlay. Navigation belongs to neither.
    pub fn is_on_screens(self) -> bool {
        !matches!(
            self,
            Self::Verdict
                | Self::Judging
                | Self::Form
                | Self::Pick
                | Self::Log
                | Self::Confirm
                | Self::Tour
                | Self::Page
                | Self::Move
        )
    }

    /// Returns the heading of the scope in lists of keys.
    pub fn title(self) -> &'static str {
        match self {
            Self::Inbox => "Inbox (the selected item adds its own keys)",
            Self::Pending => "Inbox: join requests and quarantined events",
            Self::Timeline => "Timeline",
            Self::Tour => "In the tour",
            Self::Models => "Models",
            Self::Agents => "Agents",
            Self::Notes => "Notes",
            Self::Matches => "Search matches (on Claims, Why and Timeline)",
            Self::Page => "On a text page (snapshot, preview of setup)",
            Self::Answer => "A card with a question in the Inbox",
            Self::Verdict => "Where two claims are compared",
            Self::Judging => "Among the pairs to judge",
            Self::Card => "A card in the Inbox",
            Self::Marks => "Marks and filter of the Inbox",
            Self::Claims => "Claims",
            Self::Why => "Why",
            Self::Peers => "Peers",
            Self::Claim => "A claim (on Claims, Why and Inbox)",
            Self::Move => "Navigation",
            Self::Global => "Everywhere",
            Self::Form => "In a form",
            Self::Pick => "In the palette and the search line",
            Self::Log => "In the session log",
            Self::Confirm => "In a confirmation",
        }
    }
}

/// What an action changes: the memory, the teams of this device, or the files of agents.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Danger {
    /// The action changes none of them.
    None,
    /// The action changes the memory, and undo reverses it.
    Undoable,
    /// Undo does not reverse the action; a question or a form comes first.
    Final,
}

/// A row of the table of actions.
#[derive(Clone, Copy, Debug)]
pub struct ActionSpec {
    pub id: Action,
    /// The name of the action, shown to people.
    pub title: &'static str,
    /// The label in the footer; empty if the footer does not show the action.
    pub short: &'static str,
    /// One sentence that says what the action does. Keys of other actions in it are written as for [`Keymap::say`].
    pub help: &'static str,
    /// Other words by which the palette finds the action.
    pub also: &'static [&'static str],
    /// The default keys, in the written form of [`super::key::KeyPress`]. The keys in force are in the [`Keymap`].
    pub keys: &'static [&'static str],
    /// The key scope in which the keys work.
    pub scope: KeyScope,
    /// How the action changes the memory.
    pub danger: Danger,
}

/// Returns the actions of a chain of key scopes: scope by scope, within a scope in the order of the table.
pub fn in_chain(chain: &[KeyScope]) -> impl Iterator<Item = &'static ActionSpec> {
    chain.iter().flat_map(|scope| ACTIONS.iter().filter(move |spec| spec.scope == *scope))
}

#[cfg(test)]
mod tests {
    use std::collections::HashMap;

    use super::chains::CHAINS;
    use super::*;
    use crate::tui::key::KeyPress;

    #[test]
    fn every_action_has_a_title_a_sentence_and_a_key() {
        for spec in ACTIONS {
            assert!(!spec.title.is_empty() && spec.help.ends_with('.'), "{:?}", spec.id);
            assert!(!spec.keys.is_empty(), "{:?} has no key", spec.id);
            assert!(spec.keys.iter().all(|key| KeyPress::parse(key).is_some()), "{:?}", spec.keys);
        }
    }

    #[test]
    fn no_key_means_two_things_at_once() {
        for chain in CHAINS {
            let mut keys = HashMap::new();
            for spec in in_chain(chain) {
                for key in spec.keys {
                    let before = keys.insert(KeyPress::parse(key), spec.id);
                    assert_eq!(before, None, "{key} on {chain:?}");
                }
            }
        }
    }

    #[test]
    fn both_families_of_keys_move() {
        for (vim, arrow) in [("j", "down"), ("k", "up"), ("h", "left"), ("l", "right"), ("g", "home"), ("G", "end")] {
            let map = Keymap::default();
            let id = |key| map.resolve(&[KeyScope::Move], KeyPress::parse(key).unwrap()).map(|spec| spec.id);
            assert!(id(vim).is_some());
            assert_eq!(id(vim), id(arrow));
        }
    }

    #[test]
    fn the_generated_page_is_the_one_in_the_repository() {
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/docs/keys.md");
        let fresh = keys_markdown();
        if std::env::var_os("INSTA_UPDATE").is_some_and(|mode| mode == "always") {
            std::fs::create_dir_all(concat!(env!("CARGO_MANIFEST_DIR"), "/docs")).unwrap();
            std::fs::write(path, &fresh).unwrap();
        }
        let kept = std::fs::read_to_string(path).unwrap_or_default();
        assert_eq!(kept, fresh, "docs/keys.md is generated: run this test with INSTA_UPDATE=always");
    }
}
