//! Parsing that `keys.toml` and `theme.toml` have in common.

use toml::{
    Spanned,
    de::{DeString, DeTable, DeValue},
};

use crate::config::toml_text::{kind, line_of};

/// What is wrong in a file, and where.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mistake {
    /// The line, from 1.
    pub line: usize,
    /// What is wrong, and what was expected.
    pub message: String,
}

/// A TOML file, with its text to find line numbers.
pub(super) struct ConfigDocument<'a> {
    text: &'a str,
    table: DeTable<'a>,
}

impl<'a> ConfigDocument<'a> {
    /// Parses the text of a file.
    ///
    /// # Errors
    /// If it is not TOML.
    pub(super) fn parse(text: &'a str) -> Result<Self, Mistake> {
        match DeTable::parse(text) {
            Ok(table) => Ok(Self { text, table: table.into_inner() }),
            Err(error) => {
                let at = error.span().map_or(0, |span| span.start);
                Err(Mistake { line: line_of(text, at), message: error.message().to_owned() })
            }
        }
    }

    /// Returns the entries in the order of the file.
    pub(super) fn entries(&self) -> Vec<ConfigEntry<'_, 'a>> {
        in_order(&self.table)
    }

    /// Creates a mistake at the place of a key or value.
    pub(super) fn wrong<T>(&self, at: &Spanned<T>, message: impl Into<String>) -> Mistake {
        Mistake { line: line_of(self.text, at.span().start), message: message.into() }
    }

    /// Returns the entries of a table, or the mistake that it is not one.
    pub(super) fn table<'b>(&self, value: &'b Spanned<DeValue<'a>>) -> Result<Vec<ConfigEntry<'b, 'a>>, Mistake> {
        match value.get_ref() {
            DeValue::Table(table) => Ok(in_order(table)),
            other => Err(self.wrong(value, format!("expected a table, found {}", kind(other)))),
        }
    }

    /// Returns a string, or the mistake that it is not one.
    pub(super) fn string<'b>(&self, value: &'b Spanned<DeValue<'a>>) -> Result<&'b str, Mistake> {
        match value.get_ref() {
            DeValue::String(text) => Ok(text),
            other => Err(self.wrong(value, format!("expected a string in quotation marks, found {}", kind(other)))),
        }
    }
}

/// A key and its value, each with its place in the file.
pub(super) type ConfigEntry<'b, 'a> = (&'b Spanned<DeString<'a>>, &'b Spanned<DeValue<'a>>);

fn in_order<'b, 'a>(table: &'b DeTable<'a>) -> Vec<ConfigEntry<'b, 'a>> {
    let mut entries: Vec<_> = table.iter().collect();
    entries.sort_by_key(|(key, _)| key.span().start);
    entries
}
