//! How things look on the command line: claims, chains, cards, refusals. Every text from the store is sanitised here.

pub(crate) mod card;
pub(crate) mod chain;
pub(crate) mod claim;
pub(crate) mod inbox;
pub(crate) mod outcome;
pub(crate) mod qr;
pub(crate) mod text;
pub(crate) mod time;

#[cfg(test)]
mod tests;
