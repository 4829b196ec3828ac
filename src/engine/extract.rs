//! What of a text is worth keeping: a language model says so of each sentence. They are kept as they were written, or else the whole text is.

use std::time::Duration;

use super::{
    Engine,
    pointing::{self, Fallback},
};
use crate::{infer::Call, recall::sentences};

/// How long the language model may take for a text, loading included.
const PATIENCE: Duration = Duration::from_secs(30);

/// What of a text is to be kept.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Extracted {
    /// The pieces of the text, word for word: sentences, or the text.
    pub claims: Vec<String>,
    /// `extract`, or why it is the whole text: `verbatim`, or as for the second stage of recall `fallback_…`.
    pub method: &'static str,
    /// The same in words.
    pub note: String,
}

impl Engine {
    /// Finds the sentences of a text that are worth keeping, by the local language model. Without one, and where it fails, the whole text is: nothing
    /// is lost. The text goes to no other machine.
    pub fn extract(&self, text: &str) -> Extracted {
        let whole = |method, why: String| Extracted {
            claims: vec![text.to_owned()],
            method,
            note: format!("stored word for word: nothing was extracted ({why})"),
        };
        let all = sentences::sentences(text);
        if all.len() > sentences::MAX_SENTENCES {
            let most = sentences::MAX_SENTENCES;
            return whole("verbatim", format!("it has {} sentences; at most {most} are looked at", all.len()));
        }
        if all.len() < 2 {
            return whole("verbatim", "it is one sentence".to_owned());
        }
        match self.worth_keeping(&all) {
            Ok(chosen) if chosen.is_empty() => whole("verbatim", "the language model found no claim in it".to_owned()),
            Ok(chosen) => Extracted {
                note: format!("kept {} of {} sentences, word for word", chosen.len(), all.len()),
                claims: chosen,
                method: "extract",
            },
            Err(Fallback(method, why)) => whole(method, why),
        }
    }

    /// The sentences that the model would rather keep than not, in their order.
    fn worth_keeping(&self, all: &[&str]) -> Result<Vec<String>, Fallback> {
        let odds = pointing::odds(self, sentences::SYSTEM, &sentences::EXAMPLES, all, Call::foreground(PATIENCE))?;
        let kept = all.iter().zip(odds).filter(|(_, odds)| *odds > 0.0);
        Ok(kept.map(|(sentence, _)| (*sentence).to_owned()).collect())
    }
}
