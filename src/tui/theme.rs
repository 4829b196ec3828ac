//! What things look like: styles by role, and the characters that lines are drawn with.
//!
//! Invariants: the coloured theme uses `Reset` and the sixteen ANSI names only, so that it follows the terminal's own
//! palette, light or dark; the mono theme sets no colour at all, since a colour that `NO_COLOR` suppresses also wipes the
//! modifiers written before it. No role differs from another by colour alone where the difference means something.

use ratatui::{
    style::{Color, Modifier, Style},
    symbols::border,
};

/// Styles by role and the glyphs to draw with.
#[derive(Clone, Debug)]
pub struct Theme {
    /// Ordinary text.
    pub text: Style,
    /// Less important text.
    pub dim: Style,
    /// Headings.
    pub title: Style,
    /// What leads the eye: the active tab, a field's label.
    pub accent: Style,
    /// The row under the cursor in the focused pane.
    pub selected: Style,
    /// The row under the cursor in another pane.
    pub selected_idle: Style,
    /// A pane's border.
    pub border: Style,
    /// The focused pane's border.
    pub border_focus: Style,
    /// Words that only side A has.
    pub side_a: Style,
    /// Words that only side B has.
    pub side_b: Style,
    /// Good news.
    pub ok: Style,
    /// What wants attention.
    pub warn: Style,
    /// What is wrong.
    pub bad: Style,
    /// A key's name.
    pub key: Style,
    /// The program's badge and the label of a mode.
    pub badge: Style,
    /// Laid over a short message.
    pub toast: Style,
    /// The tab of the screen shown.
    pub tab: Style,
    /// The characters.
    pub glyphs: Glyphs,
}

/// The characters that lines and marks are drawn with.
#[derive(Clone, Copy, Debug)]
pub struct Glyphs {
    /// Borders of panes.
    pub border: border::Set<'static>,
    /// Mark of the row under the cursor.
    pub cursor: &'static str,
    /// A claim in force, in a timeline.
    pub node_active: &'static str,
    /// A claim that is not.
    pub node_past: &'static str,
    /// The line of a timeline.
    pub rail: &'static str,
    /// A change on the rail.
    pub change: &'static str,
    /// Between the parts of a line.
    pub dot: &'static str,
    /// Between the parts of a path.
    pub path: &'static str,
    /// The daemon answers.
    pub live: &'static str,
    /// It does not.
    pub dead: &'static str,
    /// Something is done.
    pub done: &'static str,
    /// Something is wrong or wants attention.
    pub alert: &'static str,
    /// Marks the norm field that fired.
    pub fired: &'static str,
    /// A rule across.
    pub rule: &'static str,
    /// Between two columns.
    pub column: &'static str,
    /// More above, more below.
    pub more: [&'static str; 2],
}

const UNICODE: Glyphs = Glyphs {
    border: border::ROUNDED,
    cursor: "▌",
    node_active: "●",
    node_past: "○",
    rail: "│",
    change: "├─",
    dot: "·",
    path: "›",
    live: "●",
    dead: "○",
    done: "✓",
    alert: "!",
    fired: "◀",
    rule: "─",
    column: "│",
    more: ["↑", "↓"],
};

const ASCII: Glyphs = Glyphs {
    border: border::Set {
        top_left: "+",
        top_right: "+",
        bottom_left: "+",
        bottom_right: "+",
        vertical_left: "|",
        vertical_right: "|",
        horizontal_top: "-",
        horizontal_bottom: "-",
    },
    cursor: ">",
    node_active: "*",
    node_past: "o",
    rail: "|",
    change: "+-",
    dot: "-",
    path: ">",
    live: "*",
    dead: "o",
    done: "+",
    alert: "!",
    fired: "<",
    rule: "-",
    column: "|",
    more: ["^", "v"],
};

impl Theme {
    /// The default: the terminal's own sixteen colours.
    pub fn ansi(unicode: bool) -> Self {
        let plain = Style::new();
        Self {
            text: plain,
            dim: plain.add_modifier(Modifier::DIM),
            title: plain.add_modifier(Modifier::BOLD),
            accent: plain.fg(Color::Cyan).add_modifier(Modifier::BOLD),
            selected: plain.add_modifier(Modifier::REVERSED),
            selected_idle: plain.add_modifier(Modifier::BOLD),
            border: plain.add_modifier(Modifier::DIM),
            border_focus: plain.fg(Color::Cyan),
            side_a: plain.fg(Color::Red).add_modifier(Modifier::BOLD | Modifier::UNDERLINED),
            side_b: plain.fg(Color::Green).add_modifier(Modifier::BOLD | Modifier::UNDERLINED),
            ok: plain.fg(Color::Green),
            warn: plain.fg(Color::Yellow).add_modifier(Modifier::BOLD),
            bad: plain.fg(Color::Red).add_modifier(Modifier::BOLD),
            key: plain.fg(Color::Cyan).add_modifier(Modifier::BOLD),
            badge: plain.fg(Color::Cyan).add_modifier(Modifier::REVERSED | Modifier::BOLD),
            toast: plain.add_modifier(Modifier::REVERSED),
            tab: plain.fg(Color::Cyan).add_modifier(Modifier::BOLD | Modifier::UNDERLINED),
            glyphs: if unicode { UNICODE } else { ASCII },
        }
    }

    /// No colours at all: bold, dim, underline and reverse only.
    pub fn mono(unicode: bool) -> Self {
        let plain = Style::new();
        let bold = plain.add_modifier(Modifier::BOLD);
        let marked = bold.add_modifier(Modifier::UNDERLINED);
        Self {
            accent: bold,
            border_focus: bold,
            side_a: marked,
            side_b: marked,
            ok: plain,
            warn: bold,
            bad: bold,
            key: bold,
            badge: bold.add_modifier(Modifier::REVERSED),
            tab: marked,
            ..Self::ansi(unicode)
        }
    }

    /// Every style, for checks over all roles.
    pub fn roles(&self) -> [Style; 17] {
        [
            self.text,
            self.dim,
            self.title,
            self.accent,
            self.selected,
            self.selected_idle,
            self.border,
            self.border_focus,
            self.side_a,
            self.side_b,
            self.ok,
            self.warn,
            self.bad,
            self.key,
            self.badge,
            self.tab,
            self.toast,
        ]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn mono_sets_no_colour() {
        assert!(Theme::mono(true).roles().iter().all(|style| style.fg.is_none() && style.bg.is_none()));
    }

    #[test]
    fn the_default_uses_the_sixteen_names_only() {
        let named = |color: Option<Color>| !matches!(color, Some(Color::Rgb(..) | Color::Indexed(_)));
        assert!(Theme::ansi(true).roles().iter().all(|style| named(style.fg) && named(style.bg)));
    }
}
