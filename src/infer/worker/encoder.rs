//! The encoders: turn texts into vectors, and classify pairs of texts. A pass evaluates several sequences.

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
use crate::infer::{Classification, types::GATE_LABEL, wire::ModelFacts};

/// The maximum number of tokens of one text or pair; the rest is cut off. The models are trained on 128 to 512, and a
/// statement has 10 to 40. A larger maximum costs memory: for each token of a pass, llama.cpp reserves a row as long as
/// the vocabulary, 120 KB.
const MAX_TOKENS: usize = 256;

/// The maximum number of tokens of a pass with several sequences. The cost of attention grows with its square, and each
/// pass has a fixed cost.
const TOKENS_PER_PASS: usize = 128;

/// The maximum number of sequences of a pass.
const SEQUENCES_PER_PASS: usize = 32;

/// The classes of natural language inference, in the order of [`Classification::logits`].
const CLASSES: [&str; 3] = ["entailment", "neutral", "contradiction"];

/// An embedder or a classifier.
pub(super) struct Encoder {
    model: &'static LlamaModel,
    context: LlamaContext<'static>,
    batch: LlamaBatch<'static>,
    /// The maximum number of tokens of one sequence.
    max_tokens: usize,
    outputs: Outputs,
    /// Whether a pair is joined in the form of BERT, and not of RoBERTa (see [`Encoder::pair`]).
    bert: bool,
}

impl Encoder {
    /// Loads an embedder. It uses mean pooling unless the file says otherwise.
    pub(super) fn embedder(
        backend: &LlamaBackend,
        hello: &InferHello,
        path: &str,
    ) -> Result<(Self, ModelFacts), RequestError> {
        let (model, facts) = load::load(backend, path, &Placement::cpu())?;
        let pooling = model.meta_val_str(&format!("{}.pooling_type", facts.architecture)).unwrap_or_default();
        let pooling = match &*pooling {
            "2" => LlamaPoolingType::Cls,
            "3" => LlamaPoolingType::Last,
            "4" => return Err(RequestError::bad_model("it is a classifier, not an embedder")),
            _ => LlamaPoolingType::Mean,
        };
        Ok((Self::new(backend, hello, model, &facts, pooling)?, facts))
    }

    /// Loads a classifier of [`CLASSES`].
    pub(super) fn classifier(
        backend: &LlamaBackend,
        hello: &InferHello,
        path: &str,
    ) -> Result<(Self, ModelFacts), RequestError> {
        let (model, facts) = load::load(backend, path, &Placement::cpu())?;
        let outputs = Outputs::of(&facts.classes)?;
        let encoder = Self::new(backend, hello, model, &facts, LlamaPoolingType::Rank)?;
        Ok((Self { outputs, ..encoder }, facts))
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
            .with_n_seq_max(SEQUENCES_PER_PASS as u32)
            .with_kv_unified(true)
            .with_n_threads(threads)
            .with_n_threads_batch(threads)
            .with_embeddings(true)
            .with_pooling_type(pooling)
            .with_no_perf(true);
        let context = model.new_context(backend, params).map_err(|error| load::load_error(&error.to_string()))?;
        let trained = if facts.context == 0 { MAX_TOKENS } else { facts.context as usize };
        let max_tokens = trained.min(MAX_TOKENS).min(context.n_ubatch() as usize).max(8);
        // The binding's own `vocab_type` panics on a word-piece vocabulary.
        let bert = model.meta_val_str("tokenizer.ggml.model").is_ok_and(|kind| kind == "bert");
        Ok(Self {
            model,
            context,
            batch: LlamaBatch::new(MAX_TOKENS, 1),
            max_tokens,
            outputs: Outputs::default(),
            bert,
        })
    }

    /// Returns a vector of length 1 for each text, and the total number of tokens read.
    pub(super) fn embed(
        &mut self,
        texts: &[String],
        cancel: &CancelFlag,
    ) -> Result<(Vec<Vec<f32>>, u64), RequestError> {
        let sequences: Vec<_> = texts.iter().map(|text| cut(self.tokens(text), self.max_tokens)).collect();
        let tokens = sequences.iter().map(Vec::len).sum::<usize>() as u64;
        let vectors = self.pass_all(&sequences, cancel)?;
        Ok((vectors.into_iter().map(normalised).collect::<Result<_, _>>()?, tokens))
    }

    /// Returns the logits of each pair.
    pub(super) fn classify(
        &mut self,
        pairs: &[(String, String)],
        cancel: &CancelFlag,
    ) -> Result<Vec<Classification>, RequestError> {
        let sequences: Vec<_> = pairs
            .iter()
            .map(|(premise, hypothesis)| self.pair(self.tokens(premise), self.tokens(hypothesis)))
            .collect();
        let outputs = self.pass_all(&sequences, cancel)?;
        let unexpected = || RequestError::refused("the model gave no score for a class");
        let logits = outputs.iter().map(|output| {
            let logit = |at: usize| output.get(at).copied().filter(|number| number.is_finite()).ok_or_else(unexpected);
            let [a, b, c] = self.outputs.classes.map(logit);
            Ok(Classification { logits: [a?, b?, c?], gate: self.outputs.gate.map(logit).transpose()? })
        });
        logits.collect()
    }

    /// Returns the tokens of a text, with those that mark its beginning and end. Control tokens in the text are plain
    /// text.
    fn tokens(&self, text: &str) -> Vec<LlamaToken> {
        self.model.vocab().tokenize(text.as_bytes(), true, false)
    }

    /// Joins two texts into one sequence: BERT's `[CLS] A [SEP] B [SEP]`, RoBERTa's `<s> A </s></s> B </s>`.
    /// llama.cpp gives every token the token type 0, and the models are trained that way.
    fn pair(&self, first: Vec<LlamaToken>, second: Vec<LlamaToken>) -> Vec<LlamaToken> {
        let room = self.max_tokens;
        let half = room / 2;
        // Cut only texts that are longer than half of the maximum.
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

    /// Evaluates the sequences, in passes of as many as fit.
    fn pass_all(&mut self, sequences: &[Vec<LlamaToken>], cancel: &CancelFlag) -> Result<Vec<Vec<f32>>, RequestError> {
        let mut out = Vec::with_capacity(sequences.len());
        let mut rest = sequences;
        while !rest.is_empty() {
            cancel.check()?;
            let mut tokens = 0;
            let fits = |sequence: &&Vec<LlamaToken>| {
                tokens += sequence.len();
                tokens <= TOKENS_PER_PASS
            };
            let many = rest.iter().take(SEQUENCES_PER_PASS).take_while(fits).count().max(1);
            let (now, later) = rest.split_at(many);
            self.pass(now, &mut out)?;
            rest = later;
        }
        Ok(out)
    }

    fn pass(&mut self, sequences: &[Vec<LlamaToken>], out: &mut Vec<Vec<f32>>) -> Result<(), RequestError> {
        let failed =
            |error: &dyn std::fmt::Display| RequestError::refused(format!("the model failed on this text: {error}"));
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
        // For models without a KV cache, `decode` encodes.
        self.context.decode(&mut self.batch).map_err(|error| failed(&error))?;
        for sequence in 0..sequences.len() as i32 {
            out.push(self.context.embeddings_seq_ith(sequence).map_err(|error| failed(&error))?.to_vec());
        }
        Ok(())
    }
}

/// Cuts a sequence to a length, but keeps its last token, which marks its end.
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

/// The indices of a classifier's outputs.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Outputs {
    /// The outputs of [`CLASSES`], in that order.
    classes: [usize; 3],
    /// The output [`GATE_LABEL`], if the model has it.
    gate: Option<usize>,
}

impl Default for Outputs {
    fn default() -> Self {
        Self { classes: [0, 1, 2], gate: None }
    }
}

impl Outputs {
    /// Finds the outputs by their names. A model whose outputs have no names must have exactly the outputs of
    /// [`CLASSES`], in that order.
    fn of(names: &[String]) -> Result<Self, RequestError> {
        let at = |name: &str| names.iter().position(|other| other == name);
        match (CLASSES.map(at), at(GATE_LABEL), names.len()) {
            ([Some(a), Some(b), Some(c)], gate, 3 | 4) if gate.is_some() == (names.len() == 4) => {
                Ok(Self { classes: [a, b, c], gate })
            }
            ([None, None, None], None, 3) => Ok(Self::default()),
            (_, _, 0) => Err(RequestError::bad_model("it is not a classifier")),
            _ => Err(RequestError::bad_model(format!(
                "its classes are {}; the required ones are {}, and no other but {GATE_LABEL}",
                names.join(", "),
                CLASSES.join(", ")
            ))),
        }
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
    fn outputs_are_found_by_name_else_by_place_and_others_are_refused() {
        let of = |names: &[&str]| Outputs::of(&names.iter().map(|name| (*name).to_owned()).collect::<Vec<_>>());
        let outputs = |classes, gate| Ok(Outputs { classes, gate });
        assert_eq!(of(&["contradiction", "entailment", "neutral"]), outputs([1, 2, 0], None));
        assert_eq!(of(&["same decision", "entailment", "neutral", "contradiction"]), outputs([1, 2, 3], Some(0)));
        assert_eq!(of(&["0", "1", "2"]), outputs([0, 1, 2], None));
        let wrong: [&[&str]; 6] = [
            &[],
            &["yes", "no"],
            &["entailment", "neutral", "other"],
            &["entailment", "neutral", "same decision"],
            &["entailment", "neutral", "contradiction", "other"],
            &["0", "1", "2", "3"],
        ];
        for wrong in wrong {
            assert!(of(wrong).is_err(), "{wrong:?}");
        }
    }

    #[test]
    fn a_vector_has_length_one_or_is_refused() {
        assert_eq!(normalised(vec![3.0, 4.0]), Ok(vec![0.6, 0.8]));
        assert!(normalised(vec![0.0, 0.0]).is_err());
        assert!(normalised(vec![f32::NAN]).is_err());
    }
}
