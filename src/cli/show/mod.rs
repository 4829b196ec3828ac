//! Formats claims, histories, cards, inbox items and answers. Text from the store is sanitised here.

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
