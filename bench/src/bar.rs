//! A figure beside its target.

use std::fmt;

use serde::Serialize;

/// A figure and what it should be at most.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Bar {
    /// What it is.
    pub name: String,
    /// What was measured.
    pub figure: f64,
    /// The most that it should be.
    pub at_most: f64,
    /// The unit of both.
    pub unit: &'static str,
}

impl Bar {
    /// A figure that should be at most so much.
    pub fn new(name: &str, figure: f64, at_most: f64, unit: &'static str) -> Self {
        Self { name: name.to_owned(), figure, at_most, unit }
    }

    /// Whether it is held.
    pub fn holds(&self) -> bool {
        self.figure <= self.at_most
    }

    /// The line above the bars of a table.
    pub fn heading(title: &str) -> String {
        format!("{title:<40} {:>10} {:>10}", "measured", "bar")
    }
}

impl fmt::Display for Bar {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let held = if self.holds() { "" } else { "  missed" };
        write!(f, "{:<40} {:>10.2} {:>10.2} {}{held}", self.name, self.figure, self.at_most, self.unit)
    }
}
