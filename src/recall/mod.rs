//! Recall: what a scope knows about a question, in the words in which it was written. Pure: the store's lists, the vectors' cosines and the texts
//! come in as data.
//!
//! A question is taken apart ([`decompose`]) and asked of the text index, part by part, and of the vectors as a whole. What that finds is fused
//! ([`fuse`]) to a few dozen claims, and these are ranked by what they say ([`rank`]). Nothing here makes text: what is answered is a choice
//! among what is stored.

#![deny(clippy::disallowed_methods, clippy::disallowed_types)]

pub mod calibrate;
pub mod chunk;
pub mod decompose;
pub mod expect;
pub mod filter;
pub mod floor;
pub mod fuse;
pub mod known;
pub mod numbers;
pub mod rank;
pub mod sentences;
pub mod snapshot;
pub mod strangers;
pub mod vocabulary;
mod words;

pub use decompose::{Question, Term};
pub use vocabulary::Vocabulary;
