//! (being written)

use super::{Options, Starter, TuiError};
use crate::client::Client;

/// Runs the app until the person leaves it. Makes its own runtime on this thread: call it from outside of one.
pub fn run(_options: Options, _client: Client, _start: Starter) -> Result<(), TuiError> {
    Err(TuiError::NoTerminal)
}
