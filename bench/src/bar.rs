//! A figure beside its target.

use std::fmt;

use serde::Serialize;

/// A figure with the limit that it should not exceed.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Bar {
    pub name: String,
    pub figure: f64,
    /// The limit.
    pub at_most: f64,
    /// The unit of the figure and the limit.
    pub unit: &'static str,
}

impl Bar {
    pub fn new(name: &str, figure: f64, at_most: f64, unit: &'static str) -> Self {
        Self { name: name.to_owned(), figure, at_most, unit }
    }

    /// Returns whether the figure is within the limit.
    pub fn holds(&self) -> bool {
        self.figure <= self.at_most
    }

    /// Returns the heading of a table of bars.
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
