//! What of a text is worth keeping: a language model says so of each sentence. They are kept as they were written; if none can say, the whole text is.

use std::time::Duration;

use super::{
    Engine,
    llm_choice::{self, Fallback},
    validate,
};
use crate::{
    api::{AddRequest, Added, ApiError, Caller, RememberRequest, WriteOutcome},
    domain::ClaimKind,
    infer::Call,
    recall::sentences,
};

/// How long the language model may take for a text, loading included.
const PATIENCE: Duration = Duration::from_secs(30);

/// What of a text is to be kept.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Extracted {
    /// The pieces of the text, word for word: sentences, or the text; none if nothing in it is worth keeping.
    pub claims: Vec<String>,
    /// `extract`; `question` if the text only asks; or why it is the whole text: `verbatim`, or as for the second stage of recall `fallback_…`.
    pub method: &'static str,
    /// The same in words.
    pub note: String,
}

impl Engine {
    /// Finds the sentences of a text that are worth keeping, by the local language model; there may be none. Without a model, and if it fails, the whole
    /// text is kept, unless it only asks. The text goes to no other machine.
    pub fn extract(&self, text: &str) -> Extracted {
        let whole = |method, why: String| Extracted {
            claims: vec![text.to_owned()],
            method,
            note: format!("stored the whole text word for word; no sentences were selected ({why})"),
        };
        let all = sentences::sentences(text);
        if all.len() > sentences::MAX_SENTENCES {
            let most = sentences::MAX_SENTENCES;
            return whole("verbatim", format!("it has {} sentences; the limit is {most}", all.len()));
        }
        let nothing =
            |method, why: &str| Extracted { claims: Vec::new(), method, note: format!("nothing was stored: {why}") };
        if !all.is_empty() && all.iter().all(|sentence| sentence.ends_with('?')) {
            return nothing("question", "the text contains only questions");
        }
        match self.worth_keeping(&all) {
            Ok(chosen) if chosen.is_empty() => {
                nothing("extract", "the language model found nothing in it that is worth keeping")
            }
            Ok(chosen) => Extracted {
                note: format!("kept {} of {} sentences, word for word", chosen.len(), all.len()),
                claims: chosen,
                method: "extract",
            },
            Err(Fallback(method, why)) => whole(method, why),
        }
    }

    /// Stores what is worth keeping of a text, each piece as a fact that bears its own words as its key: the same text twice doubles nothing.
    ///
    /// # Errors
    /// If a field is wrong, or the store cannot be written.
    pub fn add(&self, request: &AddRequest) -> Result<Added, ApiError> {
        let text = validate::required("text", &request.text)?;
        let Extracted { claims, method, note } = self.extract(&text);
        let mut stored = Vec::with_capacity(claims.len());
        for claim in &claims {
            let request = RememberRequest {
                // One key of idempotency is for one act; the keys of the facts do the same here.
                caller: Caller { op_id: None, ..request.caller.clone() },
                statement: claim.clone(),
                kind: Some(ClaimKind::Fact),
                key: Some(fact_key_of(claim)),
                source: request.source.clone(),
                ..RememberRequest::default()
            };
            match self.remember(request)? {
                WriteOutcome::Stored(done) => stored.push(done.claim_id),
                _ => return Err(ApiError::internal("a fact was not stored")),
            }
        }
        Ok(Added { count: stored.len(), stored, memories: claims, method: method.to_owned(), note })
    }

    /// The sentences that the model would rather keep than not, in their order.
    fn worth_keeping(&self, all: &[&str]) -> Result<Vec<String>, Fallback> {
        let odds = llm_choice::odds(self, sentences::SYSTEM, &sentences::EXAMPLES, all, Call::foreground(PATIENCE))?;
        let kept = all.iter().zip(odds).filter(|(_, odds)| *odds > 0.0);
        Ok(kept.map(|(sentence, _)| (*sentence).to_owned()).collect())
    }
}

/// The key of a fact that follows from its words.
pub fn fact_key_of(text: &str) -> String {
    blake3::hash(text.as_bytes()).to_hex().chars().take(32).collect()
}
