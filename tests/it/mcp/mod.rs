//! `ergo mcp` as an agent meets it.

mod acts;
pub(crate) mod client;
mod crowd;
mod flow;
mod hello;
mod hostile;
mod http;
mod person;
