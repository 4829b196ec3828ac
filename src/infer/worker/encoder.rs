//! Turns texts into vectors and pairs of texts into classes: several sequences in one pass.

use std::num::NonZeroU32;

use llama_cpp_2::{
    context::{
        LlamaContext,
        params::{LlamaContextParams, LlamaPoolingType},
    },
    llama_backend::LlamaBackend,
    llama_batch::LlamaBatch,
    model::LlamaModel,
    token::LlamaToken,
};

use super::{
    CancelFlag, InferHello, RequestError,
    load::{self, Placement},
};
use crate::infer::wire::ModelFacts;

/// The most tokens of one text or pair; the rest is cut off. The models are trained on 128 to 512, and a
/// statement has 10 to 40. llama.cpp reserves a row as long as the vocabulary for each token of a pass, 120 KB,
/// so that this costs memory.
const MAX_TOKENS: usize = 256;

/// Tokens of one pass of several sequences. Attention costs the square of it, each pass a fixed time.
const PASS: usize = 128;

/// Sequences of one pass.
const SEQUENCES: usize = 32;

/// The classes of language inference, in the order of the answer.
const CLASSES: [&str; 3] = ["entailment", "neutral", "contradiction"];

/// A model that reads whole sequences.
pub(super) struct Encoder {
    model: &'static LlamaModel,
    context: LlamaContext<'static>,
    batch: LlamaBatch<'static>,
    /// The most tokens of one sequence.
    longest: usize,
    /// The index of each of [`CLASSES`] in the model's output.
    order: [usize; 3],
    /// Whether a pair is joined as BERT does, rather than as RoBERTa does.
    bert: bool,
}

impl Encoder {
    /// Loads a model that turns a text into a vector: by the mean of its tokens, unless the file says
    /// otherwise.
    pub(super) fn embedder(
        backend: &LlamaBackend,
        hello: &InferHello,
        path: &str,
    ) -> Result<(Self, ModelFacts), RequestError> {
        let (model, facts) = load::load(backend, path, &Placement::processor())?;
        let pooling = model.meta_val_str(&format!("{}.pooling_type", facts.architecture)).unwrap_or_default();
        let pooling = match &*pooling {
            "2" => LlamaPoolingType::Cls,
            "3" => LlamaPoolingType::Last,
            "4" => return Err(RequestError::bad_model("it is a classifier, not an embedder")),
            _ => LlamaPoolingType::Mean,
        };
        Ok((Self::new(backend, hello, model, &facts, pooling)?, facts))
    }

    /// Loads a model that distinguishes entailment, neutral and contradiction.
    pub(super) fn classifier(
        backend: &LlamaBackend,
        hello: &InferHello,
        path: &str,
    ) -> Result<(Self, ModelFacts), RequestError> {
        let (model, facts) = load::load(backend, path, &Placement::processor())?;
        let order = order(&facts.classes)?;
        let encoder = Self::new(backend, hello, model, &facts, LlamaPoolingType::Rank)?;
        Ok((Self { order, ..encoder }, facts))
    }

    fn new(
        backend: &LlamaBackend,
        hello: &InferHello,
        model: &'static LlamaModel,
        facts: &ModelFacts,
        pooling: LlamaPoolingType,
    ) -> Result<Self, RequestError> {
        let threads = i32::try_from(hello.threads).unwrap_or(1).max(1);
        let params = LlamaContextParams::default()
            .with_n_ctx(NonZeroU32::new(MAX_TOKENS as u32))
            .with_n_batch(MAX_TOKENS as u32)
            .with_n_ubatch(MAX_TOKENS as u32)
            .with_n_seq_max(SEQUENCES as u32)
            .with_kv_unified(true)
            .with_n_threads(threads)
            .with_n_threads_batch(threads)
            .with_embeddings(true)
            .with_pooling_type(pooling)
            .with_no_perf(true);
        let context = model.new_context(backend, params).map_err(|error| load::complaint(&error.to_string()))?;
        let trained = if facts.context == 0 { MAX_TOKENS } else { facts.context as usize };
        let longest = trained.min(MAX_TOKENS).min(context.n_ubatch() as usize).max(8);
        // The binding's own `vocab_type` panics on a word-piece vocabulary.
        let bert = model.meta_val_str("tokenizer.ggml.model").is_ok_and(|kind| kind == "bert");
        Ok(Self { model, context, batch: LlamaBatch::new(MAX_TOKENS, 1), longest, order: [0, 1, 2], bert })
    }

    /// Returns a vector of length 1 for each text, and the tokens that were read for all of them.
    pub(super) fn embed(
        &mut self,
        texts: &[String],
        cancel: &CancelFlag,
    ) -> Result<(Vec<Vec<f32>>, u64), RequestError> {
        let sequences: Vec<_> = texts.iter().map(|text| cut(self.tokens(text), self.longest)).collect();
        let tokens = sequences.iter().map(Vec::len).sum::<usize>() as u64;
        let vectors = self.pass_all(&sequences, cancel)?;
        Ok((vectors.into_iter().map(normalised).collect::<Result<_, _>>()?, tokens))
    }

    /// Returns the logits of each pair, in the order of [`CLASSES`].
    pub(super) fn classify(
        &mut self,
        pairs: &[(String, String)],
        cancel: &CancelFlag,
    ) -> Result<Vec<[f32; 3]>, RequestError> {
        let sequences: Vec<_> = pairs
            .iter()
            .map(|(premise, hypothesis)| self.pair(self.tokens(premise), self.tokens(hypothesis)))
            .collect();
        let outputs = self.pass_all(&sequences, cancel)?;
        let unexpected = || RequestError::refused("the model gave no number for a class");
        let logits = outputs.iter().map(|output| {
            let [a, b, c] = self.order.map(|class| output.get(class).copied().filter(|number| number.is_finite()));
            Ok([a.ok_or_else(unexpected)?, b.ok_or_else(unexpected)?, c.ok_or_else(unexpected)?])
        });
        logits.collect()
    }

    /// Returns the tokens of a text with those that mark its beginning and end; control tokens in the text are
    /// plain text.
    fn tokens(&self, text: &str) -> Vec<LlamaToken> {
        self.model.vocab().tokenize(text.as_bytes(), true, false)
    }

    /// Joins two texts into one sequence: BERT's `[CLS] A [SEP] B [SEP]`, RoBERTa's `<s> A </s></s> B </s>`.
    /// llama.cpp gives every token the type 0, and the models are trained that way.
    fn pair(&self, first: Vec<LlamaToken>, second: Vec<LlamaToken>) -> Vec<LlamaToken> {
        let room = self.longest;
        let half = room / 2;
        // Shorten the longer one first, down to half of the room.
        let (a, b) = match (first.len() > half, second.len() > half) {
            _ if first.len() + second.len() <= room => (first.len(), second.len()),
            (true, true) => (half, room - half),
            (true, false) => (room - second.len(), second.len()),
            (false, _) => (first.len(), room - first.len()),
        };
        let mut tokens = cut(first, a);
        let second = cut(second, b);
        if !self.bert {
            tokens.extend(tokens.last().copied());
        }
        tokens.extend(second.into_iter().skip(1));
        cut(tokens, room)
    }

    /// Evaluates the sequences, as many together as fit into a pass.
    fn pass_all(&mut self, sequences: &[Vec<LlamaToken>], cancel: &CancelFlag) -> Result<Vec<Vec<f32>>, RequestError> {
        let mut out = Vec::with_capacity(sequences.len());
        let mut rest = sequences;
        while !rest.is_empty() {
            cancel.check()?;
            let mut tokens = 0;
            let fits = |sequence: &&Vec<LlamaToken>| {
                tokens += sequence.len();
                tokens <= PASS
            };
            let many = rest.iter().take(SEQUENCES).take_while(fits).count().max(1);
            let (now, later) = rest.split_at(many);
            self.pass(now, &mut out)?;
            rest = later;
        }
        Ok(out)
    }

    fn pass(&mut self, sequences: &[Vec<LlamaToken>], out: &mut Vec<Vec<f32>>) -> Result<(), RequestError> {
        let failed =
            |error: &dyn std::fmt::Display| RequestError::refused(format!("the model failed at this text: {error}"));
        self.batch.clear();
        self.context.clear_kv_cache();
        for (sequence, tokens) in (0_i32..).zip(sequences) {
            if tokens.is_empty() {
                return Err(RequestError::refused("the text is empty for this model"));
            }
            for (position, token) in (0_i32..).zip(tokens) {
                self.batch.add(*token, position, &[sequence], true).map_err(|error| failed(&error))?;
            }
        }
        // This also encodes with models that have no cache.
        self.context.decode(&mut self.batch).map_err(|error| failed(&error))?;
        for sequence in 0..sequences.len() as i32 {
            out.push(self.context.embeddings_seq_ith(sequence).map_err(|error| failed(&error))?.to_vec());
        }
        Ok(())
    }
}

/// Cuts a sequence to a length, keeping its last token, which marks its end.
fn cut(mut tokens: Vec<LlamaToken>, length: usize) -> Vec<LlamaToken> {
    if let (true, Some(last)) = (tokens.len() > length, tokens.last().copied()) {
        tokens.truncate(length.saturating_sub(1));
        tokens.push(last);
    }
    tokens
}

fn normalised(vector: Vec<f32>) -> Result<Vec<f32>, RequestError> {
    let length = vector.iter().map(|number| number * number).sum::<f32>().sqrt();
    if !length.is_finite() || length <= 0.0 {
        return Err(RequestError::refused("the model gave no vector for a text"));
    }
    Ok(vector.into_iter().map(|number| number / length).collect())
}

/// Returns the index of each of [`CLASSES`] among the model's own; a model without names has them in that
/// order.
fn order(classes: &[String]) -> Result<[usize; 3], RequestError> {
    if classes.len() != CLASSES.len() {
        let why = match classes.len() {
            0 => "it is no classifier".to_owned(),
            many => {
                format!("it has {many} classes ({}); required are {}", classes.join(", "), CLASSES.join(", "))
            }
        };
        return Err(RequestError::bad_model(why));
    }
    let found = CLASSES.map(|class| classes.iter().position(|name| name == class));
    match found {
        [Some(a), Some(b), Some(c)] => Ok([a, b, c]),
        [None, None, None] => Ok([0, 1, 2]),
        _ => Err(RequestError::bad_model(format!(
            "its classes are {}; required are {}",
            classes.join(", "),
            CLASSES.join(", ")
        ))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_sequence_keeps_its_end() {
        let tokens = |numbers: &[i32]| numbers.iter().copied().map(LlamaToken).collect::<Vec<_>>();
        assert_eq!(cut(tokens(&[1, 2, 3, 4, 9]), 3), tokens(&[1, 2, 9]));
        assert_eq!(cut(tokens(&[1, 9]), 3), tokens(&[1, 9]));
        assert_eq!(cut(Vec::new(), 3), []);
    }

    #[test]
    fn classes_are_found_by_name_else_by_place_and_others_are_refused() {
        let classes = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect::<Vec<_>>();
        assert_eq!(order(&classes(&["contradiction", "entailment", "neutral"])), Ok([1, 2, 0]));
        assert_eq!(order(&classes(&["0", "1", "2"])), Ok([0, 1, 2]));
        for wrong in [&[][..], &["yes", "no"], &["entailment", "neutral", "other"]] {
            assert!(order(&classes(wrong)).is_err(), "{wrong:?}");
        }
    }

    #[test]
    fn a_vector_has_length_one_or_is_refused() {
        assert_eq!(normalised(vec![3.0, 4.0]), Ok(vec![0.6, 0.8]));
        assert!(normalised(vec![0.0, 0.0]).is_err());
        assert!(normalised(vec![f32::NAN]).is_err());
    }
}
