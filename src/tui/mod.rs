//! The terminal app: the inbox, claims, histories, peers and more.
//!
//! [`update::update`] (state and message in, effects out) and [`view::draw`] (state in, cells out) are pure; the
//! runtime around them owns the terminal, the keys, the daemon's answers and its event stream.

pub mod action;
pub mod clipboard;
pub mod config_file;
pub mod fuzzy;
pub mod graph;
pub mod hits;
pub mod key;
pub mod msg;
mod options;
mod runtime;
#[cfg(test)]
pub(crate) mod sample;
pub mod search_words;
pub mod state;
pub mod text;
pub mod theme;
pub mod theme_file;
pub mod times;
pub mod update;
pub mod view;
pub mod word_diff;

pub(crate) use crate::domain::drift;
pub use options::{AppOptions, Starter, TuiError};
pub use runtime::run;
#[cfg(any(test, feature = "testing"))]
pub use runtime::{capture, record};
