//! `ergo mcp` as agents use it.

mod acts;
mod beside;
pub(crate) mod client;
mod crowd;
mod doubts;
mod flow;
mod hello;
mod hostile;
mod http;
mod judging;
mod person;
