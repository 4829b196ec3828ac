//! How rows of the table are written.

use super::{Action, ActionSpec, Danger, KeyScope};
use crate::tui::state::State;

/// One row without danger to the memory.
pub(super) const fn plain(
    id: Action,
    scope: KeyScope,
    keys: &'static [&'static str],
    short: &'static str,
    title: &'static str,
    help: &'static str,
    enabled: fn(&State) -> Result<(), String>,
) -> ActionSpec {
    ActionSpec { id, title, short, help, also: &[], keys, scope, danger: Danger::None, enabled }
}

/// One row that changes the memory, and that undo reverses.
pub(super) const fn acts(
    id: Action,
    scope: KeyScope,
    keys: &'static [&'static str],
    short: &'static str,
    title: &'static str,
    help: &'static str,
    enabled: fn(&State) -> Result<(), String>,
) -> ActionSpec {
    ActionSpec { id, title, short, help, also: &[], keys, scope, danger: Danger::Undoable, enabled }
}

/// One row that cannot be reversed, and asks first.
pub(super) const fn asks(
    id: Action,
    scope: KeyScope,
    keys: &'static [&'static str],
    short: &'static str,
    title: &'static str,
    help: &'static str,
    enabled: fn(&State) -> Result<(), String>,
) -> ActionSpec {
    ActionSpec { id, title, short, help, also: &[], keys, scope, danger: Danger::Final, enabled }
}
