//! The language model: generates text under a grammar and scores given answers. The prefixes of prompts stay in the
//! model's KV cache.

use std::num::NonZeroU32;

use llama_cpp_2::{
    context::{LlamaContext, params::LlamaContextParams},
    llama_backend::LlamaBackend,
    llama_batch::LlamaBatch,
    model::{LlamaChatMessage, LlamaChatTemplate, LlamaModel},
    sampling::LlamaSampler,
    token::{LlamaToken, data::LlamaTokenData, data_array::LlamaTokenDataArray},
};

use super::{
    CancelFlag, InferHello, RequestError,
    load::{self, Placement},
    prefix_cache::PrefixCache,
    prompt_lookup,
};
use crate::{
    domain::numeric::log_sum_exp,
    infer::{Prompt, Speaker, wire::ModelFacts},
};

/// The size of the KV cache in tokens, for all prompts together: four prefixes of about 500 tokens and one statement. A
/// 1.5B model takes 28 KiB per token.
const CONTEXT: u32 = 4096;

/// The number of prefixes in the KV cache.
const SLOTS: usize = 4;

/// The number of tokens that are evaluated between two checks for cancellation: about a second on one slow core.
const STEP: usize = 128;

/// The number of likeliest tokens that the grammar checks before the whole vocabulary.
const TOP_CANDIDATES: usize = 48;

/// The placeholder of the question in the rendered conversation: a private-use character that no template contains.
const PLACEHOLDER: &str = "\u{e0e0}";

/// A prefix in the KV cache, or the first tokens of one. The cache's sequence with the slot's index begins with it.
#[derive(Default)]
struct PrefixSlot {
    prefix: Vec<LlamaToken>,
    /// [`Llm::clock`] at the last use.
    used: u64,
}

/// The language model.
pub(super) struct Llm {
    model: &'static LlamaModel,
    context: LlamaContext<'static>,
    batch: LlamaBatch<'static>,
    template: LlamaChatTemplate,
    slots: [PrefixSlot; SLOTS],
    /// The number of requests so far.
    clock: u64,
    /// Whether tokens can be drafted, which requires a model that can remove tokens from its cache.
    can_draft: bool,
    prefix_files: Option<PrefixCache>,
}

/// A prompt in tokens.
struct PromptTokens {
    prefix: Vec<LlamaToken>,
    rest: Vec<LlamaToken>,
}

impl Llm {
    /// Loads a language model.
    pub(super) fn load(
        backend: &LlamaBackend,
        hello: &InferHello,
        path: &str,
    ) -> Result<(Self, ModelFacts), RequestError> {
        let (model, mut facts) = load::load(backend, path, &Placement::from_settings(hello)?)?;
        if !facts.classes.is_empty() || model.meta_val_str(&format!("{}.pooling_type", facts.architecture)).is_ok() {
            return Err(RequestError::bad_model(
                "it can only encode texts, not generate them: it is not a language model",
            ));
        }
        let threads = i32::try_from(hello.threads).unwrap_or(1).max(1);
        let length = if facts.context == 0 { CONTEXT } else { CONTEXT.min(facts.context) };
        let params = LlamaContextParams::default()
            .with_n_ctx(NonZeroU32::new(length))
            .with_n_batch(STEP as u32)
            .with_n_ubatch(STEP as u32)
            .with_n_seq_max(SLOTS as u32)
            .with_kv_unified(true)
            .with_n_threads(threads)
            .with_n_threads_batch(threads)
            .with_no_perf(true);
        let context = model.new_context(backend, params).map_err(|error| load::load_error(&error.to_string()))?;
        let (template, own) = template(model)?;
        facts.chat_template = own;
        let slots = Default::default();
        let can_draft = !(model.is_recurrent() || model.is_hybrid());
        let prefix_files = hello.prefixes.as_deref().and_then(|folder| PrefixCache::new(folder, path));
        let batch = LlamaBatch::new(STEP, 1);
        Ok((Self { model, context, batch, template, slots, clock: 0, can_draft, prefix_files }, facts))
    }

    /// Returns the likeliest continuation that the grammar allows: up to the model's end token, or `max` tokens.
    pub(super) fn generate(
        &mut self,
        prompt: &Prompt,
        grammar: &str,
        max: usize,
        cancel: &CancelFlag,
    ) -> Result<String, RequestError> {
        let mut grammar = LlamaSampler::grammar(self.model, grammar, "root")
            .map_err(|error| RequestError::refused(format!("the grammar cannot be read: {error}")))?;
        let tokens = self.tokens(prompt)?;
        let slot = self.prepare_slot(&tokens, max, cancel)?;
        let generated = self.continuation(slot, &tokens, &mut grammar, max, cancel);
        self.reset_slot(slot);
        generated.map(|bytes| String::from_utf8_lossy(&bytes).into_owned())
    }

    /// Returns the log-probability of each answer's first token after the prompt.
    pub(super) fn answers(
        &mut self,
        prompt: &Prompt,
        answers: &[String],
        cancel: &CancelFlag,
    ) -> Result<Vec<f32>, RequestError> {
        let first_tokens = self.first_tokens(answers)?;
        let tokens = self.tokens(prompt)?;
        let slot = self.prepare_slot(&tokens, 0, cancel)?;
        let weights = self.evaluate(slot, tokens.prefix.len(), &tokens.rest, cancel).map(|at| {
            let logits = self.context.get_logits_ith(at);
            let scale = log_sum_exp(logits);
            first_tokens
                .iter()
                .map(|token| logits.get(index(*token)).map_or(f32::NEG_INFINITY, |logit| logit - scale))
                .collect()
        });
        self.reset_slot(slot);
        weights
    }

    /// Returns the log-probability of each of the answer's tokens after the prompt.
    pub(super) fn likelihood(
        &mut self,
        prompt: &Prompt,
        answer: &str,
        cancel: &CancelFlag,
    ) -> Result<Vec<f32>, RequestError> {
        let answer_tokens = self.model.vocab().tokenize(answer.as_bytes(), false, false);
        let Some((_last, before)) = answer_tokens.split_last() else {
            return Err(RequestError::refused("an empty answer has no probability"));
        };
        let mut tokens = self.tokens(prompt)?;
        let asked = tokens.rest.len();
        // The last token is scored by the tokens before it, and need not be evaluated itself.
        tokens.rest.extend_from_slice(before);
        let slot = self.prepare_slot(&tokens, 0, cancel)?;
        let mut weights = Vec::with_capacity(answer_tokens.len());
        let read = self.evaluate_each(slot, tokens.prefix.len(), &tokens.rest, asked - 1, cancel, |logits| {
            let weight = answer_tokens.get(weights.len()).and_then(|token| logits.get(index(*token)));
            weights.push(weight.map_or(f32::NEG_INFINITY, |logit| logit - log_sum_exp(logits)));
        });
        self.reset_slot(slot);
        read.map(|()| weights)
    }

    fn first_tokens(&self, answers: &[String]) -> Result<Vec<LlamaToken>, RequestError> {
        let vocab = self.model.vocab();
        let mut first_tokens: Vec<LlamaToken> = Vec::with_capacity(answers.len());
        for answer in answers {
            let Some(first) = vocab.tokenize(answer.as_bytes(), false, false).first().copied() else {
                return Err(RequestError::refused("an empty answer has no probability"));
            };
            if let Some(same) = first_tokens.iter().position(|other| *other == first) {
                let other = answers.get(same).map_or("", |other| other);
                return Err(RequestError::refused(format!(
                    "the answers “{other}” and “{answer}” begin with the same token for this model"
                )));
            }
            first_tokens.push(first);
        }
        Ok(first_tokens)
    }

    /// Formats the conversation with the model's template and returns its tokens. The question is tokenised separately,
    /// so that control tokens in it are plain text.
    fn tokens(&self, prompt: &Prompt) -> Result<PromptTokens, RequestError> {
        let turns = prompt.prefix.iter().map(|turn| (turn.speaker.word(), &*turn.text));
        let messages = turns
            .chain([(Speaker::User.word(), PLACEHOLDER)])
            .map(|(word, text)| LlamaChatMessage::new(word.to_owned(), text.to_owned()))
            .collect::<Result<Vec<_>, _>>()
            .map_err(|_| RequestError::refused("the prompt contains a NUL character"))?;
        let rendered = self
            .model
            .apply_chat_template(&self.template, &messages, true)
            .map_err(|error| RequestError::refused(format!("the model's chat template rejects the prompt: {error}")))?;
        let (before, after) = rendered
            .split_once(PLACEHOLDER)
            .ok_or_else(|| RequestError::refused("the model's chat template loses the last message"))?;
        let vocab = self.model.vocab();
        let mut rest = vocab.tokenize(prompt.text.as_bytes(), false, false);
        rest.extend(vocab.tokenize(after.as_bytes(), false, true));
        if rest.is_empty() {
            return Err(RequestError::refused("the prompt is empty for this model"));
        }
        Ok(PromptTokens { prefix: vocab.tokenize(before.as_bytes(), true, true), rest })
    }

    /// Ensures that a slot holds the evaluated prefix, and returns the slot. `more`: the number of tokens that may be
    /// generated after the prompt.
    fn prepare_slot(&mut self, tokens: &PromptTokens, more: usize, cancel: &CancelFlag) -> Result<usize, RequestError> {
        let needed = tokens.prefix.len() + tokens.rest.len() + more;
        let room = self.context.n_ctx() as usize;
        if needed > room {
            let why =
                format!("the text is too long: {needed} tokens with its prompt and answer; the model takes {room}");
            return Err(RequestError::refused(why));
        }
        self.clock += 1;
        let slot = self.slot_for(&tokens.prefix);
        if let Some(slot) = self.slots.get_mut(slot) {
            slot.used = self.clock;
        }
        self.make_room(slot, room.saturating_sub(needed));
        self.evaluate_prefix(slot, &tokens.prefix, cancel)?;
        Ok(slot)
    }

    /// Returns the slot that holds most of this prefix. If none holds any of it, empties the least recently used slot
    /// and returns that.
    fn slot_for(&mut self, prefix: &[LlamaToken]) -> usize {
        let begins = |slot: &PrefixSlot| !slot.prefix.is_empty() && prefix.starts_with(&slot.prefix);
        let held = self.slots.iter().enumerate().filter(|(_, slot)| begins(slot));
        if let Some((at, _)) = held.max_by_key(|(_, slot)| slot.prefix.len()) {
            return at;
        }
        let oldest = (0..SLOTS).min_by_key(|at| self.slots.get(*at).map_or(0, |slot| slot.used)).unwrap_or(0);
        self.empty(oldest);
        oldest
    }

    /// Evaluates the part of the prefix that the slot lacks. If the request is cancelled, the evaluated tokens stay in
    /// the slot, so that on a slow machine the next request continues from there.
    fn evaluate_prefix(&mut self, slot: usize, prefix: &[LlamaToken], cancel: &CancelFlag) -> Result<(), RequestError> {
        let held = |llm: &Self| llm.slots.get(slot).map_or(0, |slot| slot.prefix.len());
        if held(self) == prefix.len() {
            return Ok(());
        }
        if held(self) == 0
            && let Some(files) = &self.prefix_files
            && files.load(&mut self.context, slot, prefix)
        {
            if let Some(slot) = self.slots.get_mut(slot) {
                slot.prefix = prefix.to_vec();
            }
            return Ok(());
        }
        loop {
            let held = held(self);
            let Some(step) = prefix.get(held..).and_then(|lacking| lacking.chunks(STEP).next()) else {
                if let Some(files) = &self.prefix_files {
                    files.save(&self.context, slot, prefix);
                }
                return Ok(());
            };
            cancel.check()?;
            if let Err(error) = self.evaluate(slot, held, step, cancel) {
                self.empty(slot);
                return Err(error);
            }
            if let Some(slot) = self.slots.get_mut(slot) {
                slot.prefix.extend_from_slice(step);
            }
        }
    }

    /// Empties slots other than `keep`, the least recently used first, until they hold at most `most` tokens.
    fn make_room(&mut self, keep: usize, most: usize) {
        loop {
            let others = || self.slots.iter().enumerate().filter(|(at, slot)| *at != keep && !slot.prefix.is_empty());
            let taken: usize = others().map(|(_, slot)| slot.prefix.len()).sum();
            match others().min_by_key(|(_, slot)| slot.used).map(|(at, _)| at) {
                Some(oldest) if taken > most => self.empty(oldest),
                _ => return,
            }
        }
    }

    fn empty(&mut self, slot: usize) {
        // Removing a whole sequence cannot fail.
        let _whole = self.context.clear_kv_cache_seq(Some(slot as u32), None, None);
        if let Some(slot) = self.slots.get_mut(slot) {
            *slot = PrefixSlot::default();
        }
    }

    /// Removes the tokens after the prefix from a slot.
    fn reset_slot(&mut self, slot: usize) {
        let kept = self.slots.get(slot).map_or(0, |slot| slot.prefix.len());
        // A recurrent model cannot remove part of a sequence: its prefix is evaluated again next time.
        if kept == 0 || !matches!(self.context.clear_kv_cache_seq(Some(slot as u32), Some(kept as u32), None), Ok(true))
        {
            self.empty(slot);
        }
    }

    /// Evaluates tokens that follow `past` others, in steps. Returns the index of the last token in the last step.
    fn evaluate(
        &mut self,
        slot: usize,
        past: usize,
        tokens: &[LlamaToken],
        cancel: &CancelFlag,
    ) -> Result<i32, RequestError> {
        self.evaluate_each(slot, past, tokens, tokens.len().saturating_sub(1), cancel, |_| {})?;
        Ok((tokens.len().saturating_sub(1) % STEP) as i32)
    }

    /// Evaluates tokens that follow `past` others, in steps, and passes the logits after each token from index `from`
    /// on to `show`.
    fn evaluate_each(
        &mut self,
        slot: usize,
        past: usize,
        tokens: &[LlamaToken],
        from: usize,
        cancel: &CancelFlag,
        mut show: impl FnMut(&[f32]),
    ) -> Result<(), RequestError> {
        let failed =
            |error: &dyn std::fmt::Display| RequestError::refused(format!("the model failed on this text: {error}"));
        for (step, begin) in tokens.chunks(STEP).zip((0..).step_by(STEP)) {
            cancel.check()?;
            self.batch.clear();
            for (token, at) in step.iter().zip(begin..) {
                let position = (past + at) as i32;
                self.batch.add(*token, position, &[slot as i32], at >= from).map_err(|error| failed(&error))?;
            }
            self.context.decode(&mut self.batch).map_err(|error| failed(&error))?;
            for at in from.saturating_sub(begin)..step.len() {
                show(self.context.get_logits_ith(at as i32));
            }
        }
        Ok(())
    }

    /// Returns the likeliest continuation. Each evaluation reads the whole model from memory, so the tokens that
    /// [`prompt_lookup::guess_next`] drafts are evaluated together, and kept as far as the model agrees. The result is
    /// the same as with one token at a time.
    fn continuation(
        &mut self,
        slot: usize,
        tokens: &PromptTokens,
        grammar: &mut LlamaSampler,
        max: usize,
        cancel: &CancelFlag,
    ) -> Result<Vec<u8>, RequestError> {
        let mut text: Vec<LlamaToken> = tokens.prefix.iter().chain(&tokens.rest).copied().collect();
        let full = text.len() + max;
        let mut read = text.len();
        let mut row = self.evaluate(slot, tokens.prefix.len(), &tokens.rest, cancel)?;
        let mut drafted: Vec<LlamaToken> = Vec::new();
        let mut out = Vec::new();
        while text.len() < full {
            let Some(token) = likeliest(self.context.get_logits_ith(row), grammar) else { break };
            let vocab = self.model.vocab();
            if vocab.is_eog(token) {
                break;
            }
            // Accepting a token that the grammar does not allow would end the process.
            grammar.accept(token);
            vocab.token_to_piece_into(token, &mut out, false, None);
            text.push(token);
            if drafted.get(text.len() - read - 1) == Some(&token) {
                row += 1;
                continue;
            }
            // Removes the drafted tokens that were wrong.
            let right = text.len() - 1;
            if right < read + drafted.len() {
                self.truncate_slot(slot, right)?;
            }
            read = text.len();
            drafted = if self.can_draft { prompt_lookup::guess_next(&text, full - read) } else { Vec::new() };
            let step: Vec<LlamaToken> = std::iter::once(token).chain(drafted.iter().copied()).collect();
            self.evaluate_each(slot, right, &step, 0, cancel, |_| {})?;
            row = 0;
        }
        Ok(out)
    }

    /// Removes all tokens of a slot after the first `kept`.
    fn truncate_slot(&mut self, slot: usize, kept: usize) -> Result<(), RequestError> {
        match self.context.clear_kv_cache_seq(Some(slot as u32), Some(kept as u32), None) {
            Ok(true) => Ok(()),
            _ => Err(RequestError::refused("this model cannot remove tokens from its cache")),
        }
    }
}

/// Returns the model's own chat template if llama.cpp supports it, otherwise ChatML, which the Qwen and SmolLM families
/// use; and whether it is the model's own.
fn template(model: &LlamaModel) -> Result<(LlamaChatTemplate, bool), RequestError> {
    let probe = LlamaChatMessage::new("user".to_owned(), PLACEHOLDER.to_owned()).ok();
    let own = model.chat_template(None).ok().zip(probe).and_then(|(own, probe)| {
        let rendered = model.apply_chat_template(&own, &[probe], true).ok()?;
        (rendered.matches(PLACEHOLDER).count() == 1).then_some(own)
    });
    if let Some(own) = own {
        return Ok((own, true));
    }
    let chatml = LlamaChatTemplate::new("chatml").map_err(|error| RequestError::refused(error.to_string()))?;
    Ok((chatml, false))
}

fn index(token: LlamaToken) -> usize {
    usize::try_from(token.0).unwrap_or(usize::MAX)
}

/// Returns the likeliest token that the grammar allows, or `None` if it allows none. Checking the whole vocabulary is
/// slow, and the grammar nearly always allows one of the [`TOP_CANDIDATES`].
fn likeliest(logits: &[f32], grammar: &mut LlamaSampler) -> Option<LlamaToken> {
    let mut order: Vec<usize> = (0..logits.len()).collect();
    let logit = |at: &usize| logits.get(*at).copied().unwrap_or(f32::NEG_INFINITY);
    let likelier = |a: &usize, b: &usize| logit(b).total_cmp(&logit(a));
    let top = TOP_CANDIDATES.min(order.len());
    if top < order.len() {
        order.select_nth_unstable_by(top, likelier);
    }
    let (first, rest) = order.split_at_mut(top);
    first.sort_unstable_by(likelier);
    let mut allowed = |candidates: &[usize]| {
        let data = candidates.iter().map(|at| LlamaTokenData::new(LlamaToken(*at as i32), logit(at), 0.0));
        let mut candidates = LlamaTokenDataArray::from_iter(data, false);
        grammar.apply(&mut candidates);
        let best = candidates.data.iter().filter(|candidate| candidate.logit().is_finite());
        best.max_by(|a, b| a.logit().total_cmp(&b.logit())).map(LlamaTokenData::id)
    };
    let (best, next) = first.split_at_mut(1.min(top));
    allowed(best).or_else(|| allowed(next)).or_else(|| allowed(rest))
}
