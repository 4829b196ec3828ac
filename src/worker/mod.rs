//! Parts of the program that run in processes of their own, `ergo worker …`: what can end a process by being wrong, and what
//! reads bytes that a stranger made. A worker inherits nothing, holds nothing that is not elsewhere, and ends with the
//! daemon.
//!
//! The daemon's side starts one and speaks to it ([`process`]), the worker's side serves ([`host`]); both in frames
//! ([`frame`]).

pub(crate) mod frame;
pub(crate) mod host;
pub(crate) mod process;
