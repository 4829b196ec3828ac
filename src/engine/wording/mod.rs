//! The engine's texts: headlines of cards, advice, prefilled reasons, ways to continue, summaries of acts. Pure.

mod card_wording;
mod replacement_proposal;
mod summary;

pub(super) use card_wording::{CardContext, acts, advice, headline, pair};
pub(super) use replacement_proposal::ProposedWrite;
pub(super) use summary::{
    built_on, holds_only, judgement, merged, quote, quote_all, refused_summary, summary, ways_on, ways_to_settle,
};
