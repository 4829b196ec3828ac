//! What a person can ask the app to do: the actions with their keys and texts, and where those keys work. Knows no state.
//!
//! The rows are in `actions`; they feed dispatch, the footer, the palette and the generated `docs/keys.md`.

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
        /// What a person can ask for.
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
    /// Its row.
    pub fn spec(self) -> &'static ActionSpec {
        &ACTIONS[self as usize]
    }

    /// Its name in `keys.toml`: `keep_new`.
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

/// Where an action's keys work.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum KeyScope {
    /// Where a card is under the cursor of the Inbox.
    Card,
    /// In the list of the Inbox: what is marked, and which cards are listed.
    Marks,
    /// On the Claims screen.
    Claims,
    /// On the Why screen.
    Why,
    /// On the Peers screen.
    Peers,
    /// Wherever a claim is under the cursor: Claims, Why and the Inbox.
    Claim,
    /// Moving about, the same on every screen.
    Move,
    /// On every screen.
    Global,
    /// In a form.
    Form,
    /// In the palette, the search line and the log.
    Pick,
    /// In a question that wants yes or no.
    Confirm,
    /// On the Inbox, if no card is under the cursor.
    Inbox,
    /// On the Inbox, where a device waits for admission, or an event of a peer for a decision.
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
    /// Wherever what was searched for may stand further on: Claims, Why and Timeline.
    Matches,
    /// On a page that lies over a screen.
    Page,
    /// Where a card of the story is under the cursor of the Inbox.
    Answer,
    /// Wherever it is asked how two claims relate.
    Verdict,
    /// Among the pairs that wait for a verdict.
    Judging,
}

impl KeyScope {
    /// Every scope, in the order of the documentation.
    pub const ALL: [Self; 23] = [
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
        Self::Confirm,
        Self::Tour,
    ];

    /// Its section in `keys.toml`.
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

    /// Whether its acts are those of a screen, not of what lies over one.
    pub fn is_on_screens(self) -> bool {
        !matches!(
            self,
            Self::Verdict
                | Self::Judging
                | Self::Form
                | Self::Pick
                | Self::Confirm
                | Self::Tour
                | Self::Page
                | Self::Move
        )
    }

    /// The heading under which its acts are listed.
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
            Self::Confirm => "In a confirmation",
        }
    }
}

/// What an action does to the memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Danger {
    /// Changes nothing in the memory.
    None,
    /// Changes the memory, and undo reverses it.
    Undoable,
    /// Cannot be reversed: asks first.
    Final,
}

/// One row of the table.
#[derive(Clone, Copy, Debug)]
pub struct ActionSpec {
    /// The action.
    pub id: Action,
    /// What it is called.
    pub title: &'static str,
    /// One word for the footer; empty keeps it out of there.
    pub short: &'static str,
    /// What it does, in a sentence; a key of another action in it is written as for [`Keymap::say`].
    pub help: &'static str,
    /// Other words by which it is looked for.
    pub also: &'static [&'static str],
    /// Its usual keys, in the written form of [`super::key::KeyPress`]; those that hold are in the [`Keymap`].
    pub keys: &'static [&'static str],
    /// Where they work.
    pub scope: KeyScope,
    /// What it does to the memory.
    pub danger: Danger,
}

/// The actions of a chain, in the order of the table.
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
