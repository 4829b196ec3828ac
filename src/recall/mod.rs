//! Recall: finds the claims of a scope that answer a question. Pure: the lists of the store, the cosines of vectors and the texts come in as
//! data.
//!
//! A question is divided into sub-queries for the text index ([`decompose`]); the vector index is searched for the whole question. The lists
//! are fused ([`fuse`]) to a few dozen claims, which are ranked by their text ([`rerank`]). Nothing here generates text: answers are stored
//! claims.

pub mod answer_model;
pub mod calibrate;
pub mod chunking;
pub mod decompose;
pub mod filter;
pub mod floor;
pub mod fuse;
pub mod numbers;
pub mod query_likelihood;
pub mod rerank;
pub mod sentences;
pub mod snapshot;
mod stop_words;
pub mod unrelated_baseline;
pub mod vocabulary;

pub use decompose::{Question, Term};
pub use vocabulary::Vocabulary;
