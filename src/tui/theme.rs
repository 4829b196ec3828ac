//! Styles by role, and the characters for lines.
//!
//! Invariants: the coloured theme uses `Reset` and the sixteen ANSI names only, so that it follows the terminal's own
//! palette, light or dark; the mono theme sets no colour at all, since a colour that `NO_COLOR` suppresses also wipes
//! the modifiers written before it. If a difference between two roles means something, it is never colour alone.

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
    pub title: Style,
    /// What should catch the eye: a heading, the label of the focused field.
    pub accent: Style,
    /// The row under the cursor in the focused pane.
    pub selected: Style,
    /// The row under the cursor in another pane.
    pub selected_idle: Style,
    pub border: Style,
    pub border_focus: Style,
    /// Words that only the new claim has.
    pub side_a: Style,
    /// Words that only the existing claim has.
    pub side_b: Style,
    /// A good state.
    pub ok: Style,
    /// What needs attention.
    pub warn: Style,
    /// An error or a broken state.
    pub bad: Style,
    /// A key's name.
    pub key: Style,
    /// The program's badge and the label of a mode.
    pub badge: Style,
    /// A short message over the screen.
    pub toast: Style,
    /// The active tab.
    pub tab: Style,
    /// The words of a search in a text.
    pub found: Style,
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
    /// A claim that is not in force.
    pub node_past: &'static str,
    /// The line of a timeline.
    pub rail: &'static str,
    /// A change on the rail.
    pub change: &'static str,
    /// Between the parts of a line.
    pub dot: &'static str,
    /// Between the parts of a path.
    pub path: &'static str,
    /// Connected: the daemon, an agent or a device.
    pub live: &'static str,
    /// Not connected.
    pub dead: &'static str,
    pub done: &'static str,
    /// Something is wrong or needs attention.
    pub alert: &'static str,
    /// Something is marked.
    pub mark: &'static str,
    /// Between a new claim and the existing one.
    pub pair: &'static str,
    /// A row that can be opened: closed and open.
    pub fold: [&'static str; 2],
    /// Marks the norm field in which two claims conflict.
    pub fired: &'static str,
    /// A horizontal rule.
    pub rule: &'static str,
    /// Between two columns.
    pub column: &'static str,
    /// The done part of a bar.
    pub full: &'static str,
    /// The rest of a bar.
    pub open: &'static str,
    /// More above, and more below.
    pub more: [&'static str; 2],
}

impl Glyphs {
    pub fn is_ascii(&self) -> bool {
        self.rail.is_ascii()
    }
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
    mark: "◆",
    pair: "⇄",
    fold: ["▸", "▾"],
    fired: "◀",
    rule: "─",
    column: "│",
    full: "█",
    open: "░",
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
    mark: "#",
    pair: "~",
    fold: ["+", "-"],
    fired: "<",
    rule: "-",
    column: "|",
    full: "#",
    open: ".",
    more: ["^", "v"],
};

/// The built-in themes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ThemeBase {
    /// For a dark or a light background, as the terminal reports it.
    #[default]
    Auto,
    /// Those of the terminal's sixteen colours that are readable on a dark background.
    Dark,
    /// Those that are readable on a light background.
    Light,
    Mono,
}

impl ThemeBase {
    /// All themes, in the order of the documentation.
    pub const ALL: [Self; 4] = [Self::Auto, Self::Dark, Self::Light, Self::Mono];

    /// Returns the name of the theme in settings.
    pub fn name(self) -> &'static str {
        match self {
            Self::Auto => "auto",
            Self::Dark => "dark",
            Self::Light => "light",
            Self::Mono => "mono",
        }
    }

    /// Returns the theme with this name.
    pub fn named(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|base| base.name() == word)
    }
}

/// How many colours a terminal shows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ColorDepth {
    /// The sixteen that have names.
    Sixteen,
    /// The sixteen and 240 more.
    Indexed,
    /// Every colour.
    Full,
}

/// The names of the roles in a theme file.
pub const ROLES: [&str; 18] = [
    "text",
    "dim",
    "title",
    "accent",
    "selected",
    "selected_idle",
    "border",
    "border_focus",
    "side_a",
    "side_b",
    "ok",
    "warn",
    "bad",
    "key",
    "badge",
    "toast",
    "tab",
    "found",
];

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
            found: plain.add_modifier(Modifier::BOLD | Modifier::UNDERLINED),
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

    /// Those of the sixteen colours that are readable on a light background: no yellow, no cyan.
    pub fn light(unicode: bool) -> Self {
        let dark = Self::ansi(unicode);
        let blue = |style: Style| style.fg(Color::Blue);
        Self {
            accent: blue(dark.accent),
            border_focus: blue(dark.border_focus),
            key: blue(dark.key),
            badge: blue(dark.badge),
            tab: blue(dark.tab),
            warn: dark.warn.fg(Color::Magenta),
            ..dark
        }
    }

    /// Returns the style of a role by its name; `None` if there is no such role.
    pub fn role_mut(&mut self, role: &str) -> Option<&mut Style> {
        Some(match role {
            "text" => &mut self.text,
            "dim" => &mut self.dim,
            "title" => &mut self.title,
            "accent" => &mut self.accent,
            "selected" => &mut self.selected,
            "selected_idle" => &mut self.selected_idle,
            "border" => &mut self.border,
            "border_focus" => &mut self.border_focus,
            "side_a" => &mut self.side_a,
            "side_b" => &mut self.side_b,
            "ok" => &mut self.ok,
            "warn" => &mut self.warn,
            "bad" => &mut self.bad,
            "key" => &mut self.key,
            "badge" => &mut self.badge,
            "toast" => &mut self.toast,
            "tab" => &mut self.tab,
            "found" => &mut self.found,
            _ => return None,
        })
    }

    /// Replaces each colour by the nearest one that the terminal shows.
    #[must_use]
    pub fn limited(mut self, depth: ColorDepth) -> Self {
        for role in ROLES {
            if let Some(style) = self.role_mut(role) {
                style.fg = style.fg.map(|color| nearest(color, depth));
                style.bg = style.bg.map(|color| nearest(color, depth));
            }
        }
        self
    }

    /// Returns every style, for checks over all roles.
    pub fn roles(&self) -> [Style; 18] {
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
            self.found,
            self.toast,
        ]
    }
}

/// Returns the nearest colour that a terminal shows.
fn nearest(color: Color, depth: ColorDepth) -> Color {
    let rgb = match (color, depth) {
        (Color::Rgb(r, g, b), ColorDepth::Indexed | ColorDepth::Sixteen) => [r, g, b],
        (Color::Indexed(index), ColorDepth::Sixteen) => rgb_of_index(index),
        _ => return color,
    };
    let distance =
        |other: [u8; 3]| -> u32 { rgb.iter().zip(other).map(|(a, b)| u32::from(a.abs_diff(b)).pow(2)).sum() };
    if depth == ColorDepth::Indexed {
        let best = (16..=255u8).min_by_key(|index| distance(rgb_of_index(*index)));
        return Color::Indexed(best.unwrap_or(7));
    }
    NAMED.into_iter().min_by_key(|(_, own)| distance(*own)).map_or(Color::Reset, |(color, _)| color)
}

/// The named colours, as most terminals show them.
const NAMED: [(Color, [u8; 3]); 16] = [
    (Color::Black, [0, 0, 0]),
    (Color::Red, [205, 0, 0]),
    (Color::Green, [0, 205, 0]),
    (Color::Yellow, [205, 205, 0]),
    (Color::Blue, [0, 0, 238]),
    (Color::Magenta, [205, 0, 205]),
    (Color::Cyan, [0, 205, 205]),
    (Color::Gray, [229, 229, 229]),
    (Color::DarkGray, [127, 127, 127]),
    (Color::LightRed, [255, 0, 0]),
    (Color::LightGreen, [0, 255, 0]),
    (Color::LightYellow, [255, 255, 0]),
    (Color::LightBlue, [92, 92, 255]),
    (Color::LightMagenta, [255, 0, 255]),
    (Color::LightCyan, [0, 255, 255]),
    (Color::White, [255, 255, 255]),
];

/// Returns the RGB value of a numbered colour: the named ones, a cube of 216, and 24 greys.
fn rgb_of_index(index: u8) -> [u8; 3] {
    match index {
        0..=15 => NAMED[usize::from(index)].1,
        16..=231 => {
            let level = |n: u8| if n == 0 { 0 } else { 55 + n * 40 };
            let n = index - 16;
            [level(n / 36), level(n / 6 % 6), level(n % 6)]
        }
        232..=255 => [8 + (index - 232) * 10; 3],
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
    fn the_built_in_themes_use_the_sixteen_names_only() {
        let named = |color: Option<Color>| !matches!(color, Some(Color::Rgb(..) | Color::Indexed(_)));
        for theme in [Theme::ansi(true), Theme::light(true)] {
            assert!(theme.roles().iter().all(|style| named(style.fg) && named(style.bg)));
        }
        let seen = |color| !matches!(color, Some(Color::Yellow | Color::Cyan | Color::White));
        assert!(Theme::light(true).roles().iter().all(|style| seen(style.fg)), "pale on white cannot be read");
    }

    #[test]
    fn a_colour_becomes_the_nearest_that_the_terminal_shows() {
        for (color, sixteen, indexed) in [
            (Color::Rgb(250, 10, 10), Color::LightRed, Color::Indexed(196)),
            (Color::Rgb(0, 0, 0), Color::Black, Color::Indexed(16)),
            (Color::Rgb(128, 128, 128), Color::DarkGray, Color::Indexed(244)),
            (Color::Indexed(21), Color::Blue, Color::Indexed(21)),
            (Color::Cyan, Color::Cyan, Color::Cyan),
        ] {
            assert_eq!(
                (nearest(color, ColorDepth::Sixteen), nearest(color, ColorDepth::Indexed)),
                (sixteen, indexed),
                "{color:?}"
            );
            assert_eq!(nearest(color, ColorDepth::Full), color);
        }
    }
}
