//! Key presses as plain data, and how they are written: `j`, `G`, `ctrl-s`, `esc`, `pgup`.

use std::fmt;

use crossterm::event::{KeyCode, KeyEvent, KeyEventKind, KeyModifiers};

/// One press of a key.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct KeyPress {
    pub code: KeyCode,
    /// Ctrl, Alt; Shift only where the character does not already carry it.
    pub mods: KeyModifiers,
    /// Whether the terminal says that the key is held down.
    pub repeat: bool,
}

impl KeyPress {
    pub fn new(code: KeyCode, mods: KeyModifiers) -> Self {
        let mods = match code {
            KeyCode::Char(_) | KeyCode::BackTab => mods.difference(KeyModifiers::SHIFT),
            _ => mods,
        };
        Self { code, mods, repeat: false }
    }

    pub fn char(c: char) -> Self {
        Self::new(KeyCode::Char(c), KeyModifiers::NONE)
    }

    /// Reads a terminal event; `None` for releases.
    pub fn from_event(event: KeyEvent) -> Option<Self> {
        let press = Self::new(event.code, event.modifiers);
        match event.kind {
            KeyEventKind::Press => Some(press),
            KeyEventKind::Repeat => Some(Self { repeat: true, ..press }),
            KeyEventKind::Release => None,
        }
    }

    /// Parses the written form; `None` if it is invalid.
    pub fn parse(text: &str) -> Option<Self> {
        let mut mods = KeyModifiers::NONE;
        let mut rest = text;
        loop {
            let (prefix, modifier) = match rest.get(..5) {
                Some("ctrl-") => ("ctrl-", KeyModifiers::CONTROL),
                _ if rest.starts_with("alt-") => ("alt-", KeyModifiers::ALT),
                _ => break,
            };
            rest = &rest[prefix.len()..];
            mods |= modifier;
        }
        let code = match rest {
            "esc" => KeyCode::Esc,
            "enter" => KeyCode::Enter,
            "tab" => KeyCode::Tab,
            "shift-tab" => KeyCode::BackTab,
            "space" => KeyCode::Char(' '),
            "up" => KeyCode::Up,
            "down" => KeyCode::Down,
            "left" => KeyCode::Left,
            "right" => KeyCode::Right,
            "home" => KeyCode::Home,
            "end" => KeyCode::End,
            "pgup" => KeyCode::PageUp,
            "pgdn" => KeyCode::PageDown,
            "backspace" => KeyCode::Backspace,
            "del" => KeyCode::Delete,
            "ins" => KeyCode::Insert,
            _ if rest.len() > 1 && rest.starts_with('f') => {
                KeyCode::F(rest[1..].parse().ok().filter(|number| (1..=12).contains(number))?)
            }
            _ => {
                let mut chars = rest.chars();
                let c = chars.next()?;
                if chars.next().is_some() {
                    return None;
                }
                KeyCode::Char(c)
            }
        };
        Some(Self::new(code, mods))
    }

    /// Whether it types a character into a text.
    pub fn types(self) -> bool {
        let plain = !self.mods.intersects(KeyModifiers::CONTROL | KeyModifiers::ALT);
        plain && matches!(self.code, KeyCode::Char(_) | KeyCode::Backspace | KeyCode::Delete)
    }

    /// Whether both are the same key, held down or not.
    pub fn same(self, other: Self) -> bool {
        self.code == other.code && self.mods == other.mods
    }
}

impl fmt::Display for KeyPress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.mods.contains(KeyModifiers::CONTROL) {
            f.write_str("ctrl-")?;
        }
        if self.mods.contains(KeyModifiers::ALT) {
            f.write_str("alt-")?;
        }
        let name = match self.code {
            KeyCode::Esc => "esc",
            KeyCode::Enter => "enter",
            KeyCode::Tab => "tab",
            KeyCode::BackTab => "shift-tab",
            KeyCode::Char(' ') => "space",
            KeyCode::Char(c) => return write!(f, "{c}"),
            KeyCode::Up => "up",
            KeyCode::Down => "down",
            KeyCode::Left => "left",
            KeyCode::Right => "right",
            KeyCode::Home => "home",
            KeyCode::End => "end",
            KeyCode::PageUp => "pgup",
            KeyCode::PageDown => "pgdn",
            KeyCode::Backspace => "backspace",
            KeyCode::Delete => "del",
            KeyCode::Insert => "ins",
            KeyCode::F(n) => return write!(f, "f{n}"),
            _ => "?",
        };
        f.write_str(name)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_written_form_reads_back() {
        for text in ["j", "G", "?", "ctrl-s", "alt-enter", "esc", "pgdn", "shift-tab", "space", "-", "f5", "ins"] {
            assert_eq!(KeyPress::parse(text).map(|key| key.to_string()).as_deref(), Some(text));
        }
        assert_eq!(KeyPress::parse("nonsense"), None);
        assert_eq!(KeyPress::parse(""), None);
    }

    #[test]
    fn shift_is_carried_by_the_character() {
        assert_eq!(KeyPress::new(KeyCode::Char('G'), KeyModifiers::SHIFT), KeyPress::char('G'));
    }
}
