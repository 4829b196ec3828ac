//! Worker processes, `ergo worker …`: they run code that may crash, and read untrusted bytes.
//!
//! The daemon starts a worker and talks to it ([`process`]); the worker serves requests ([`host`]); both use
//! the same frames ([`frame`]).
//!
//! Architecture Invariant: a worker inherits no file descriptors and only listed environment variables, holds no state
//! that is not stored elsewhere, and ends with the daemon. So the crash of a worker costs one request and loses
//! nothing.

pub(crate) mod frame;
pub(crate) mod host;
pub(crate) mod process;
