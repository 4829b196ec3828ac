//! `theme.toml`: the user's styles, on top of a built-in theme.
//!
//! ```toml
//! base = "light"
//! [styles]
//! selected = "black on #88c0d0 bold"
//! side_a = "red underlined"
//! ```

use ratatui::style::{Color, Modifier, Style};

use super::{
    config_file::{ConfigDocument, Mistake},
    theme::{ROLES, Theme, ThemeBase},
};
use crate::config::toml_text::nearest;

/// The names of text modifiers.
const MODIFIERS: [(&str, Modifier); 5] = [
    ("bold", Modifier::BOLD),
    ("dim", Modifier::DIM),
    ("italic", Modifier::ITALIC),
    ("underlined", Modifier::UNDERLINED),
    ("reversed", Modifier::REVERSED),
];

/// The names of the sixteen colours that every terminal has, and of the default one.
const COLORS: [(&str, Color); 17] = [
    ("black", Color::Black),
    ("red", Color::Red),
    ("green", Color::Green),
    ("yellow", Color::Yellow),
    ("blue", Color::Blue),
    ("magenta", Color::Magenta),
    ("cyan", Color::Cyan),
    ("gray", Color::Gray),
    ("dark-gray", Color::DarkGray),
    ("light-red", Color::LightRed),
    ("light-green", Color::LightGreen),
    ("light-yellow", Color::LightYellow),
    ("light-blue", Color::LightBlue),
    ("light-magenta", Color::LightMagenta),
    ("light-cyan", Color::LightCyan),
    ("white", Color::White),
    ("default", Color::Reset),
];

/// The content of a theme file.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ThemeFile {
    /// The built-in theme that the file changes; `None` for that of the settings.
    pub base: Option<ThemeBase>,
    styles: Vec<(&'static str, Style)>,
}

impl ThemeFile {
    /// Parses the text of a theme file.
    ///
    /// # Errors
    /// The first mistake with its line: an unknown role, colour or word.
    pub fn parse(text: &str) -> Result<Self, Mistake> {
        let document = ConfigDocument::parse(text)?;
        let mut file = Self::default();
        for (key, value) in document.entries() {
            match key.get_ref().as_ref() {
                "base" => {
                    let name = document.string(value)?;
                    let base = ThemeBase::named(name).ok_or_else(|| {
                        let names: Vec<&str> = ThemeBase::ALL.iter().map(|base| base.name()).collect();
                        document.wrong(value, format!("unknown theme `{name}`: expected one of {}", names.join(", ")))
                    })?;
                    file.base = Some(base);
                }
                "styles" => {
                    for (role, style) in document.table(value)? {
                        let Some(known) = ROLES.into_iter().find(|known| known == role.get_ref()) else {
                            let hint = nearest(role.get_ref(), ROLES);
                            return Err(document.wrong(role, format!("unknown role `{}`{hint}", role.get_ref())));
                        };
                        let text = document.string(style)?;
                        let parsed = parse_style(text).map_err(|message| document.wrong(style, message))?;
                        file.styles.push((known, parsed));
                    }
                }
                other => {
                    let hint = nearest(other, ["base", "styles"]);
                    return Err(document.wrong(key, format!("unknown setting `{other}`{hint}")));
                }
            }
        }
        Ok(file)
    }

    /// Applies the styles of the file to a theme.
    pub fn apply(&self, theme: &mut Theme) {
        for (role, style) in &self.styles {
            if let Some(own) = theme.role_mut(role) {
                *own = *style;
            }
        }
    }
}

/// Parses a style: a colour, `on` another one, and modifiers, each of which may be left out.
fn parse_style(text: &str) -> Result<Style, String> {
    let mut style = Style::new();
    let mut words = text.split_whitespace();
    while let Some(word) = words.next() {
        if word == "on" {
            let background = words.next().ok_or("`on` must be followed by a colour")?;
            style = style.bg(color(background)?);
        } else if let Some((_, modifier)) = MODIFIERS.iter().find(|(name, _)| *name == word) {
            style = style.add_modifier(*modifier);
        } else {
            style = style.fg(color(word)?);
        }
    }
    Ok(style)
}

fn color(word: &str) -> Result<Color, String> {
    if let Some((_, color)) = COLORS.iter().find(|(name, _)| *name == word) {
        return Ok(*color);
    }
    if let Some(hex) = word.strip_prefix('#').filter(|hex| hex.len() == 6)
        && let Ok(value) = u32::from_str_radix(hex, 16)
    {
        let [_, r, g, b] = value.to_be_bytes();
        return Ok(Color::Rgb(r, g, b));
    }
    if let Ok(index) = word.parse::<u8>() {
        return Ok(Color::Indexed(index));
    }
    let known = COLORS.iter().map(|(name, _)| *name).chain(MODIFIERS.iter().map(|(name, _)| *name));
    let hint = nearest(word, known);
    Err(format!(
        "`{word}` is neither a colour (`red`, `#d08770`, 208) nor one of bold, dim, italic, underlined, reversed{hint}"
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_changes_what_it_names_and_nothing_else() {
        let file = ThemeFile::parse("base = \"light\"\n[styles]\nselected = \"black on #88c0d0 bold\"\nok = \"34\"\n")
            .unwrap();
        assert_eq!(file.base, Some(ThemeBase::Light));
        let mut theme = Theme::light(true);
        let text = theme.text;
        file.apply(&mut theme);
        let wanted = Style::new().fg(Color::Black).bg(Color::Rgb(0x88, 0xc0, 0xd0)).add_modifier(Modifier::BOLD);
        assert_eq!((theme.selected, theme.ok.fg, theme.text), (wanted, Some(Color::Indexed(34)), text));
    }

    #[test]
    fn every_role_can_be_set() {
        for role in ROLES {
            let file = ThemeFile::parse(&format!("[styles]\n{role} = \"italic\"")).unwrap();
            let mut theme = Theme::mono(true);
            file.apply(&mut theme);
            assert_eq!(theme.role_mut(role).copied(), Some(Style::new().add_modifier(Modifier::ITALIC)), "{role}");
        }
    }

    #[test]
    fn mistakes_name_the_line_and_the_way_on() {
        for (text, line, words) in [
            ("base = \"lite\"\n", 1, "unknown theme `lite`: expected one of auto, dark, light, mono"),
            ("[styles]\nselect = \"red\"\n", 2, "did you mean `selected`"),
            ("[styles]\n\nok = \"gren\"\n", 3, "did you mean `green`"),
            ("[styles]\nok = \"red on\"\n", 2, "followed by a colour"),
            ("[styles]\nok = \"#12345\"\n", 2, "neither a colour"),
            ("[styles]\nok = 3\n", 2, "found a number"),
            ("[style]\n", 1, "did you mean `styles`"),
            ("[styles\n", 1, ""),
        ] {
            let mistake = ThemeFile::parse(text).unwrap_err();
            assert_eq!(mistake.line, line, "{mistake:?}");
            assert!(mistake.message.contains(words), "{mistake:?}");
        }
    }
}
