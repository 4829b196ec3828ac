//! Recall: finds the claims of a scope that answer a question. Pure: the store's lists, the cosines of vectors and the texts are arguments.
//!
//! A question is divided into sub-queries for the text index ([`decompose`]); the vector index is searched for the whole question. The lists
//! are fused ([`fuse`]) into a few dozen claims, which are ranked by their text ([`rerank`]). Nothing generates text: answers are stored
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
pub mod unrelated_baseline;
pub mod vocabulary;

pub use decompose::{Question, Term};
pub use vocabulary::Vocabulary;
