//! The language model: generates under a grammar, and weighs answers. It keeps the prefixes of prompts in its
//! cache.

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
use crate::infer::{Prompt, Speaker, wire::ModelFacts};

/// Tokens of the cache, for all prompts together: four prefixes of about 500 tokens and one statement. A 1.5B
/// model takes 28 KiB for each.
const CONTEXT: u32 = 4096;

/// Prefixes that are kept.
const SLOTS: usize = 4;

/// Tokens that are evaluated between two checks for cancellation: about a second on one slow core.
const STEP: usize = 128;

/// Candidates that the grammar is asked about before all tokens are.
const FEW: usize = 48;

/// Stands for the text in the rendered conversation. A private-use character that no template contains.
const PLACE: &str = "\u{e0e0}";

/// A kept prefix, or the first tokens of one: sequence `index` of the cache begins with it.
#[derive(Default)]
struct PrefixSlot {
    prefix: Vec<LlamaToken>,
    used: u64,
}

/// The language model.
pub(super) struct Llm {
    model: &'static LlamaModel,
    context: LlamaContext<'static>,
    batch: LlamaBatch<'static>,
    template: LlamaChatTemplate,
    slots: [PrefixSlot; SLOTS],
    clock: u64,
    /// Whether the model can remove tokens from its cache, as drafting requires.
    drafts: bool,
    kept: Option<PrefixCache>,
}

/// A prompt in tokens.
struct PromptTokens {
    prefix: Vec<LlamaToken>,
    rest: Vec<LlamaToken>,
}

impl Llm {
    /// Loads a model that continues text.
    pub(super) fn load(
        backend: &LlamaBackend,
        hello: &InferHello,
        path: &str,
    ) -> Result<(Self, ModelFacts), RequestError> {
        let (model, mut facts) = load::load(backend, path, &Placement::chosen(hello)?)?;
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
        let context = model.new_context(backend, params).map_err(|error| load::complaint(&error.to_string()))?;
        let (template, own) = template(model)?;
        facts.chat_template = own;
        let slots = Default::default();
        let drafts = !(model.is_recurrent() || model.is_hybrid());
        let kept = hello.prefixes.as_deref().and_then(|folder| PrefixCache::new(folder, path));
        let batch = LlamaBatch::new(STEP, 1);
        Ok((Self { model, context, batch, template, slots, clock: 0, drafts, kept }, facts))
    }

    /// Returns the likeliest continuation that the grammar allows, until the model ends it or it has `max`
    /// tokens.
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
        let slot = self.enter(&tokens, max, cancel)?;
        let generated = self.continued(slot, &tokens, &mut grammar, max, cancel);
        self.leave(slot);
        generated.map(|bytes| String::from_utf8_lossy(&bytes).into_owned())
    }

    /// Returns the log-probability of each answer's first token after the prompt.
    pub(super) fn answers(
        &mut self,
        prompt: &Prompt,
        answers: &[String],
        cancel: &CancelFlag,
    ) -> Result<Vec<f32>, RequestError> {
        let firsts = self.firsts(answers)?;
        let tokens = self.tokens(prompt)?;
        let slot = self.enter(&tokens, 0, cancel)?;
        let weights = self.evaluate(slot, tokens.prefix.len(), &tokens.rest, cancel).map(|at| {
            let logits = self.context.get_logits_ith(at);
            let scale = log_sum_exp(logits);
            firsts
                .iter()
                .map(|token| logits.get(index(*token)).map_or(f32::NEG_INFINITY, |logit| logit - scale))
                .collect()
        });
        self.leave(slot);
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
        // The last token is weighed by what precedes it, and need not be evaluated itself.
        tokens.rest.extend_from_slice(before);
        let slot = self.enter(&tokens, 0, cancel)?;
        let mut weights = Vec::with_capacity(answer_tokens.len());
        let read = self.read(slot, tokens.prefix.len(), &tokens.rest, asked - 1, cancel, |logits| {
            let weight = answer_tokens.get(weights.len()).and_then(|token| logits.get(index(*token)));
            weights.push(weight.map_or(f32::NEG_INFINITY, |logit| logit - log_sum_exp(logits)));
        });
        self.leave(slot);
        read.map(|()| weights)
    }

    fn firsts(&self, answers: &[String]) -> Result<Vec<LlamaToken>, RequestError> {
        let vocab = self.model.vocab();
        let mut firsts: Vec<LlamaToken> = Vec::with_capacity(answers.len());
        for answer in answers {
            let Some(first) = vocab.tokenize(answer.as_bytes(), false, false).first().copied() else {
                return Err(RequestError::refused("an empty answer has no probability"));
            };
            if let Some(same) = firsts.iter().position(|other| *other == first) {
                let other = answers.get(same).map_or("", |other| other);
                return Err(RequestError::refused(format!(
                    "the answers “{other}” and “{answer}” begin with the same token for this model"
                )));
            }
            firsts.push(first);
        }
        Ok(firsts)
    }

    /// Returns the conversation as the model's template formats it, in tokens. The question is tokenised
    /// separately, so that control tokens in it are plain text.
    fn tokens(&self, prompt: &Prompt) -> Result<PromptTokens, RequestError> {
        let turns = prompt.prefix.iter().map(|turn| (turn.speaker.word(), &*turn.text));
        let messages = turns
            .chain([(Speaker::User.word(), PLACE)])
            .map(|(word, text)| LlamaChatMessage::new(word.to_owned(), text.to_owned()))
            .collect::<Result<Vec<_>, _>>()
            .map_err(|_| RequestError::refused("the prompt contains a NUL character"))?;
        let rendered = self
            .model
            .apply_chat_template(&self.template, &messages, true)
            .map_err(|error| RequestError::refused(format!("the model's chat template rejects the prompt: {error}")))?;
        let (before, after) = rendered
            .split_once(PLACE)
            .ok_or_else(|| RequestError::refused("the model's chat template loses the last message"))?;
        let vocab = self.model.vocab();
        let mut rest = vocab.tokenize(prompt.text.as_bytes(), false, false);
        rest.extend(vocab.tokenize(after.as_bytes(), false, true));
        if rest.is_empty() {
            return Err(RequestError::refused("the prompt is empty for this model"));
        }
        Ok(PromptTokens { prefix: vocab.tokenize(before.as_bytes(), true, true), rest })
    }

    /// Makes sure that a slot holds the prefix.
    fn enter(&mut self, tokens: &PromptTokens, more: usize, cancel: &CancelFlag) -> Result<usize, RequestError> {
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
        self.warm(slot, &tokens.prefix, cancel)?;
        Ok(slot)
    }

    /// Returns the slot that holds most of this prefix; if none holds any, the least recently used one,
    /// emptied.
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

    /// Evaluates what the slot lacks of the prefix. What is done when the request is cancelled stays, so that
    /// on a slow machine the next one continues from there.
    fn warm(&mut self, slot: usize, prefix: &[LlamaToken], cancel: &CancelFlag) -> Result<(), RequestError> {
        let held = |llm: &Self| llm.slots.get(slot).map_or(0, |slot| slot.prefix.len());
        if held(self) == prefix.len() {
            return Ok(());
        }
        if held(self) == 0
            && let Some(kept) = &self.kept
            && kept.load(&mut self.context, slot, prefix)
        {
            if let Some(slot) = self.slots.get_mut(slot) {
                slot.prefix = prefix.to_vec();
            }
            return Ok(());
        }
        loop {
            let held = held(self);
            let Some(step) = prefix.get(held..).and_then(|lacking| lacking.chunks(STEP).next()) else {
                if let Some(kept) = &self.kept {
                    kept.save(&self.context, slot, prefix);
                }
                return Ok(());
            };
            cancel.check()?;
            if let Err(trouble) = self.evaluate(slot, held, step, cancel) {
                self.empty(slot);
                return Err(trouble);
            }
            if let Some(slot) = self.slots.get_mut(slot) {
                slot.prefix.extend_from_slice(step);
            }
        }
    }

    /// Empties other slots, the oldest first, until they take up no more than this many tokens.
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
        // Removing a whole sequence always succeeds.
        let _whole = self.context.clear_kv_cache_seq(Some(slot as u32), None, None);
        if let Some(slot) = self.slots.get_mut(slot) {
            *slot = PrefixSlot::default();
        }
    }

    /// Removes what followed the prefix.
    fn leave(&mut self, slot: usize) {
        let kept = self.slots.get(slot).map_or(0, |slot| slot.prefix.len());
        // A recurrent model cannot remove a part: its prefix is evaluated again next time.
        if kept == 0 || !matches!(self.context.clear_kv_cache_seq(Some(slot as u32), Some(kept as u32), None), Ok(true))
        {
            self.empty(slot);
        }
    }

    /// Evaluates tokens that follow `past` others, in steps; returns the index of the last token in the last
    /// step.
    fn evaluate(
        &mut self,
        slot: usize,
        past: usize,
        tokens: &[LlamaToken],
        cancel: &CancelFlag,
    ) -> Result<i32, RequestError> {
        self.read(slot, past, tokens, tokens.len().saturating_sub(1), cancel, |_| {})?;
        Ok((tokens.len().saturating_sub(1) % STEP) as i32)
    }

    /// Evaluates tokens that follow `past` others, in steps, and passes on what the model expects after each
    /// one from `from` on.
    fn read(
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

    /// Returns the likeliest continuation. Each evaluation reads the whole model, so the tokens that
    /// [`prompt_lookup::after`] guesses are evaluated together and kept as far as the model agrees: the result is that
    /// of one token at a time.
    fn continued(
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
            // Only a token that the grammar has just allowed: another one would end the process.
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
                self.take_back(slot, right)?;
            }
            read = text.len();
            drafted = if self.drafts { prompt_lookup::after(&text, full - read) } else { Vec::new() };
            let step: Vec<LlamaToken> = std::iter::once(token).chain(drafted.iter().copied()).collect();
            self.read(slot, right, &step, 0, cancel, |_| {})?;
            row = 0;
        }
        Ok(out)
    }

    /// Removes what follows the first `kept` tokens of a slot.
    fn take_back(&mut self, slot: usize, kept: usize) -> Result<(), RequestError> {
        match self.context.clear_kv_cache_seq(Some(slot as u32), Some(kept as u32), None) {
            Ok(true) => Ok(()),
            _ => Err(RequestError::refused("this model cannot remove tokens from its cache")),
        }
    }
}

/// Returns the model's own template if llama.cpp knows its form, otherwise ChatML, which the Qwen and SmolLM
/// families use; and whether it is the model's own.
fn template(model: &LlamaModel) -> Result<(LlamaChatTemplate, bool), RequestError> {
    let probe = LlamaChatMessage::new("user".to_owned(), PLACE.to_owned()).ok();
    let own = model.chat_template(None).ok().zip(probe).and_then(|(own, probe)| {
        let rendered = model.apply_chat_template(&own, &[probe], true).ok()?;
        (rendered.matches(PLACE).count() == 1).then_some(own)
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

/// Returns the likeliest token that the grammar allows; `None` if it allows none. The grammar is slow on a
/// whole vocabulary, and nearly always allows one of the first few.
fn likeliest(logits: &[f32], grammar: &mut LlamaSampler) -> Option<LlamaToken> {
    let mut order: Vec<usize> = (0..logits.len()).collect();
    let logit = |at: &usize| logits.get(*at).copied().unwrap_or(f32::NEG_INFINITY);
    let likelier = |a: &usize, b: &usize| logit(b).total_cmp(&logit(a));
    let few = FEW.min(order.len());
    if few < order.len() {
        order.select_nth_unstable_by(few, likelier);
    }
    let (first, rest) = order.split_at_mut(few);
    first.sort_unstable_by(likelier);
    let mut allowed = |candidates: &[usize]| {
        let data = candidates.iter().map(|at| LlamaTokenData::new(LlamaToken(*at as i32), logit(at), 0.0));
        let mut candidates = LlamaTokenDataArray::from_iter(data, false);
        grammar.apply(&mut candidates);
        let best = candidates.data.iter().filter(|candidate| candidate.logit().is_finite());
        best.max_by(|a, b| a.logit().total_cmp(&b.logit())).map(LlamaTokenData::id)
    };
    let (best, next) = first.split_at_mut(1.min(few));
    allowed(best).or_else(|| allowed(next)).or_else(|| allowed(rest))
}

fn log_sum_exp(logits: &[f32]) -> f32 {
    let most = logits.iter().copied().fold(f32::NEG_INFINITY, f32::max);
    most + logits.iter().map(|logit| (logit - most).exp()).sum::<f32>().ln()
}

#[cfg(test)]
mod tests {
    use super::log_sum_exp;

    #[test]
    fn probabilities_sum_to_one() {
        let logits = [100.0_f32, 101.0, 99.0];
        let scale = log_sum_exp(&logits);
        let sum: f32 = logits.iter().map(|logit| (logit - scale).exp()).sum();
        assert!((sum - 1.0).abs() < 1e-4, "{sum}");
    }
}
