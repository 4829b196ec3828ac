//! The keys of the actions: the defaults of the table, and the changes in `keys.toml`.
//!
//! The file has a section for each key scope. An entry names an action and replaces its default keys:
//!
//! ```toml
//! [card]
//! keep_new = "1"
//! dismiss = ["d", "ctrl-d"]
//! ```

use std::collections::HashMap;

use toml::{Spanned, de::DeValue};

use super::{ACTIONS, Action, ActionSpec, KeyScope, chains::CHAINS};
use crate::{
    config::toml_text::nearest,
    tui::{
        config_file::{ConfigDocument, Mistake},
        key::KeyPress,
    },
};

/// Actions without which the app could not be used. Each keeps at least one key.
const REQUIRED_ACTIONS: [Action; 8] = [
    Action::Palette,
    Action::Quit,
    Action::Pick,
    Action::Close,
    Action::Submit,
    Action::Cancel,
    Action::Yes,
    Action::No,
];

/// The keys in force of every action.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Keymap {
    keys: HashMap<Action, Vec<KeyPress>>,
}

impl Default for Keymap {
    fn default() -> Self {
        let of = |spec: &ActionSpec| spec.keys.iter().filter_map(|key| KeyPress::parse(key)).collect();
        Self { keys: ACTIONS.iter().map(|spec| (spec.id, of(spec))).collect() }
    }
}

impl Keymap {
    /// Parses `keys.toml`. Its keys replace the defaults.
    ///
    /// # Errors
    ///
    /// The first mistake with its line: an unknown section, action or key; a key that would have two meanings at once,
    /// or that also types a letter.
    pub fn parse(text: &str) -> Result<Self, Mistake> {
        let document = ConfigDocument::parse(text)?;
        let mut map = Self::default();
        let mut set = Vec::new();
        for (name, section) in document.entries() {
            let Some(scope) = KeyScope::ALL.into_iter().find(|scope| scope.name() == name.get_ref()) else {
                let hint = nearest(name.get_ref(), KeyScope::ALL.iter().map(|scope| scope.name()));
                return Err(document.wrong(name, format!("unknown section `{}`{hint}", name.get_ref())));
            };
            for (act, keys) in document.table(section)? {
                let spec = find_action(&document, scope, act)?;
                let presses = parse_keys(&document, scope, keys)?;
                if presses.is_empty() && REQUIRED_ACTIONS.contains(&spec.id) {
                    return Err(document
                        .wrong(keys, format!("`{}` needs a key: the app cannot be used without it", act.get_ref())));
                }
                map.keys.insert(spec.id, presses);
                set.push((spec, keys));
            }
        }
        for (spec, keys) in set {
            if let Some((key, other)) = map.clash(spec) {
                let (own, other) = (spec.title, other.title);
                let message =
                    format!("`{key}` is bound to both “{own}” and “{other}”: bind one of them to another key");
                return Err(document.wrong(keys, message));
            }
        }
        Ok(map)
    }

    /// Returns the action of a key in a chain of key scopes. The first scope that has the key wins.
    pub fn resolve(&self, chain: &[KeyScope], key: KeyPress) -> Option<&'static ActionSpec> {
        chain.iter().find_map(|scope| ACTIONS.iter().find(|spec| spec.scope == *scope && self.has(spec.id, key)))
    }

    /// Returns whether a key is one of an action's keys.
    pub fn has(&self, id: Action, key: KeyPress) -> bool {
        self.keys_of(id).iter().any(|own| own.same(key))
    }

    /// Returns the first key of an action in its written form, for labels; empty if the action has no key.
    pub fn first(&self, id: Action) -> String {
        self.keys_of(id).first().map_or_else(String::new, ToString::to_string)
    }

    /// Expands the names of actions in a text: `{undo}` becomes the first key of that action or, if it has no key, its
    /// title in quotes.
    pub fn say(&self, text: &str) -> String {
        let mut out = String::with_capacity(text.len());
        let mut rest = text;
        while let Some((before, from)) = rest.split_once('{') {
            out.push_str(before);
            let named = from.split_once('}').and_then(|(name, after)| {
                let spec = ACTIONS.iter().find(|spec| spec.id.name() == name)?;
                Some((spec, after))
            });
            let Some((spec, after)) = named else {
                out.push('{');
                rest = from;
                continue;
            };
            match self.keys_of(spec.id).first() {
                Some(key) => out.push_str(&key.to_string()),
                None => out.extend(["“", spec.title, "”"]),
            }
            rest = after;
        }
        out.push_str(rest);
        out
    }

    /// Returns all keys of an action in their written form, separated by spaces.
    pub fn all(&self, id: Action) -> String {
        self.keys_of(id).iter().map(ToString::to_string).collect::<Vec<_>>().join(" ")
    }

    fn keys_of(&self, id: Action) -> &[KeyPress] {
        self.keys.get(&id).map_or(&[], Vec::as_slice)
    }

    /// Returns a key of this action that also belongs to another action in force at the same time, and that action.
    fn clash(&self, spec: &ActionSpec) -> Option<(KeyPress, &'static ActionSpec)> {
        let chains = CHAINS.iter().filter(|chain| chain.contains(&spec.scope));
        let others = chains.flat_map(|chain| super::in_chain(chain)).filter(|other| other.id != spec.id);
        let keys = self.keys_of(spec.id);
        let mut found =
            others.filter_map(|other| keys.iter().find(|key| self.has(other.id, **key)).map(|key| (*key, other)));
        found.next()
    }
}

fn find_action(
    document: &ConfigDocument<'_>,
    scope: KeyScope,
    act: &Spanned<toml::de::DeString<'_>>,
) -> Result<&'static ActionSpec, Mistake> {
    let own = || ACTIONS.iter().filter(|spec| spec.scope == scope);
    if let Some(spec) = own().find(|spec| spec.id.name() == *act.get_ref()) {
        return Ok(spec);
    }
    if let Some(spec) = ACTIONS.iter().find(|spec| spec.id.name() == *act.get_ref()) {
        let message = format!("`{}` belongs in [{}]", act.get_ref(), spec.scope.name());
        return Err(document.wrong(act, message));
    }
    let names: Vec<String> = own().map(|spec| spec.id.name()).collect();
    let hint = nearest(act.get_ref(), names.iter().map(String::as_str));
    Err(document.wrong(act, format!("unknown action `{}` in [{}]{hint}", act.get_ref(), scope.name())))
}

/// Parses one key, or a list of keys.
fn parse_keys(
    document: &ConfigDocument<'_>,
    scope: KeyScope,
    keys: &Spanned<DeValue<'_>>,
) -> Result<Vec<KeyPress>, Mistake> {
    match keys.get_ref() {
        DeValue::Array(list) => list.iter().map(|key| parse_key(document, scope, key)).collect(),
        _ => parse_key(document, scope, keys).map(|key| vec![key]),
    }
}

fn parse_key(document: &ConfigDocument<'_>, scope: KeyScope, key: &Spanned<DeValue<'_>>) -> Result<KeyPress, Mistake> {
    let text = document.string(key)?;
    let Some(press) = KeyPress::parse(text) else {
        let message = format!(
            "invalid key “{text}”: expected a key such as `j`, `G`, `ctrl-s`, `alt-enter`, `esc`, `pgup` or `f5`"
        );
        return Err(document.wrong(key, message));
    };
    if matches!(scope, KeyScope::Form | KeyScope::Pick) && press.types() {
        let message = format!("`{text}` would type a letter here: use a key with ctrl or alt, or a function key");
        return Err(document.wrong(key, message));
    }
    Ok(press)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_usual_keys_are_those_of_the_table() {
        let map = Keymap::parse("").unwrap();
        assert_eq!(map, Keymap::default());
        assert_eq!((map.first(Action::KeepNew), map.all(Action::Palette)), ("a".to_owned(), "? : ctrl-p".to_owned()));
    }

    #[test]
    fn texts_name_the_keys_that_hold() {
        let map = Keymap::parse("[global]\nundo = \"f5\"\nredo = []\n").unwrap();
        let text = "{undo} undoes, {redo} redoes; {quit} leaves {this} and {";
        assert_eq!(map.say(text), "f5 undoes, “Redo” redoes; q leaves {this} and {");
    }

    #[test]
    fn what_is_set_takes_the_place_of_the_usual_keys() {
        let map = Keymap::parse("[card]\nkeep_new = \"1\"\ndismiss = []\n[global]\nshow_inbox = \"f1\"\n").unwrap();
        let chain = CHAINS[0];
        let act = |key: &str| map.resolve(chain, KeyPress::parse(key).unwrap()).map(|spec| spec.id);
        assert_eq!((act("1"), act("a"), act("d")), (Some(Action::KeepNew), None, None));
        assert_eq!((act("f1"), map.first(Action::Dismiss)), (Some(Action::ShowInbox), String::new()));
    }

    #[test]
    fn mistakes_name_the_line_and_the_way_on() {
        for (text, line, words) in [
            ("\n[cards]\n", 2, "did you mean `card`"),
            ("[card]\n\nkeep = \"a\"\n", 3, "did you mean `keep_"),
            ("[card]\nquit = \"q\"\n", 2, "belongs in [global]"),
            ("[card]\nkeep_new = \"hyper-x\"\n", 2, "invalid key"),
            ("[card]\nkeep_new = 1\n", 2, "found a number"),
            ("[card]\nkeep_new = [\n  \"f5\",\n  \"ctrl\",\n]\n", 4, "invalid key"),
            ("[card]\nkeep_new = \"b\"\n", 2, "“Keep new” and “Keep existing”"),
            ("[card]\nkeep_new = \"q\"\n", 2, "“Quit”"),
            ("[global]\nquit = []\n", 2, "cannot be used without it"),
            ("[form]\nsubmit = \"s\"\n", 2, "would type a letter"),
            ("[card]\nkeep_new = \n", 2, ""),
            ("card = 3\n", 1, "expected a table"),
        ] {
            let mistake = Keymap::parse(text).unwrap_err();
            assert_eq!(mistake.line, line, "{mistake:?}");
            assert!(mistake.message.contains(words), "{mistake:?}");
        }
    }
}
