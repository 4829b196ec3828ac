//! Tiny models as GGUF files, with weights from a counter: a language model that writes nonsense and keeps to a grammar as any
//! other, and a cross-encoder that judges by chance. For what must work whatever a model thinks.

use std::{fs, path::Path};

const WIDTH: u64 = 64;
const HIDDEN: u64 = 96;
const HEADS: u32 = 2;
const CONTEXT: u32 = 512;

/// Values of metadata.
enum Value<'a> {
    U32(u32),
    F32(f32),
    Bool(bool),
    Text(&'a str),
    Texts(Vec<String>),
    F32s(Vec<f32>),
    I32s(Vec<i32>),
}

/// Writes a language model of the llama form, with one layer. Other `seed`s are other models.
pub(crate) fn write_tiny_llm(path: &Path, seed: u32) {
    let (tokens, types) = letters();
    let vocabulary = tokens.len() as u64;
    let metadata = [
        ("general.architecture", Value::Text("llama")),
        ("general.name", Value::Text("tiny")),
        ("llama.context_length", Value::U32(CONTEXT)),
        ("llama.embedding_length", Value::U32(WIDTH as u32)),
        ("llama.block_count", Value::U32(1)),
        ("llama.feed_forward_length", Value::U32(HIDDEN as u32)),
        ("llama.attention.head_count", Value::U32(HEADS)),
        ("llama.attention.layer_norm_rms_epsilon", Value::F32(1e-5)),
        ("tokenizer.ggml.model", Value::Text("llama")),
        ("tokenizer.ggml.scores", Value::F32s(vec![0.0; tokens.len()])),
        ("tokenizer.ggml.tokens", Value::Texts(tokens)),
        ("tokenizer.ggml.token_type", Value::I32s(types)),
        ("tokenizer.ggml.add_space_prefix", Value::Bool(false)),
        ("tokenizer.ggml.bos_token_id", Value::U32(1)),
        ("tokenizer.ggml.eos_token_id", Value::U32(2)),
        ("tokenizer.ggml.unknown_token_id", Value::U32(0)),
    ];
    let tensors = [
        ("token_embd.weight", vec![WIDTH, vocabulary]),
        ("output_norm.weight", vec![WIDTH]),
        ("output.weight", vec![WIDTH, vocabulary]),
        ("blk.0.attn_norm.weight", vec![WIDTH]),
        ("blk.0.attn_q.weight", vec![WIDTH, WIDTH]),
        ("blk.0.attn_k.weight", vec![WIDTH, WIDTH]),
        ("blk.0.attn_v.weight", vec![WIDTH, WIDTH]),
        ("blk.0.attn_output.weight", vec![WIDTH, WIDTH]),
        ("blk.0.ffn_norm.weight", vec![WIDTH]),
        ("blk.0.ffn_gate.weight", vec![WIDTH, HIDDEN]),
        ("blk.0.ffn_up.weight", vec![WIDTH, HIDDEN]),
        ("blk.0.ffn_down.weight", vec![HIDDEN, WIDTH]),
    ];
    write(path, seed, &metadata, &tensors);
}

/// Writes a cross-encoder of the BERT form, with one layer, that tells entailment, neutral and contradiction apart by chance.
pub(crate) fn write_tiny_nli(path: &Path) {
    write_tiny_classifier(path, &["entailment", "neutral", "contradiction"]);
}

/// Writes such a cross-encoder with these outputs.
pub(crate) fn write_tiny_classifier(path: &Path, outputs: &[&str]) {
    let tokens: Vec<String> = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
        .map(str::to_owned)
        .into_iter()
        .chain(('!'..='~').flat_map(|letter| [letter.to_string(), format!("\u{2581}{letter}")]))
        .collect();
    let vocabulary = tokens.len() as u64;
    let types = (0..tokens.len()).map(|at| if at < 5 { 3 } else { 1 }).collect();
    let many = outputs.len() as u64;
    let outputs = outputs.iter().map(|&output| output.to_owned()).collect();
    let metadata = [
        ("general.architecture", Value::Text("bert")),
        ("general.name", Value::Text("tiny-nli")),
        ("bert.context_length", Value::U32(CONTEXT)),
        ("bert.embedding_length", Value::U32(WIDTH as u32)),
        ("bert.block_count", Value::U32(1)),
        ("bert.feed_forward_length", Value::U32(HIDDEN as u32)),
        ("bert.attention.head_count", Value::U32(HEADS)),
        ("bert.attention.layer_norm_epsilon", Value::F32(1e-12)),
        ("bert.attention.causal", Value::Bool(false)),
        ("bert.pooling_type", Value::U32(4)),
        ("bert.classifier.output_labels", Value::Texts(outputs)),
        ("tokenizer.ggml.model", Value::Text("bert")),
        ("tokenizer.ggml.pre", Value::Text("default")),
        ("tokenizer.ggml.tokens", Value::Texts(tokens)),
        ("tokenizer.ggml.token_type", Value::I32s(types)),
        ("tokenizer.ggml.token_type_count", Value::U32(2)),
        ("tokenizer.ggml.bos_token_id", Value::U32(2)),
        ("tokenizer.ggml.eos_token_id", Value::U32(3)),
        ("tokenizer.ggml.seperator_token_id", Value::U32(3)),
        ("tokenizer.ggml.unknown_token_id", Value::U32(1)),
        ("tokenizer.ggml.padding_token_id", Value::U32(0)),
        ("tokenizer.ggml.mask_token_id", Value::U32(4)),
        ("tokenizer.ggml.add_bos_token", Value::Bool(true)),
        ("tokenizer.ggml.add_eos_token", Value::Bool(true)),
    ];
    let tensors = [
        ("token_embd.weight", vec![WIDTH, vocabulary]),
        ("token_types.weight", vec![WIDTH, 2]),
        ("position_embd.weight", vec![WIDTH, u64::from(CONTEXT)]),
        ("token_embd_norm.weight", vec![WIDTH]),
        ("token_embd_norm.bias", vec![WIDTH]),
        ("blk.0.attn_q.weight", vec![WIDTH, WIDTH]),
        ("blk.0.attn_q.bias", vec![WIDTH]),
        ("blk.0.attn_k.weight", vec![WIDTH, WIDTH]),
        ("blk.0.attn_k.bias", vec![WIDTH]),
        ("blk.0.attn_v.weight", vec![WIDTH, WIDTH]),
        ("blk.0.attn_v.bias", vec![WIDTH]),
        ("blk.0.attn_output.weight", vec![WIDTH, WIDTH]),
        ("blk.0.attn_output.bias", vec![WIDTH]),
        ("blk.0.attn_output_norm.weight", vec![WIDTH]),
        ("blk.0.attn_output_norm.bias", vec![WIDTH]),
        ("blk.0.ffn_up.weight", vec![WIDTH, HIDDEN]),
        ("blk.0.ffn_up.bias", vec![HIDDEN]),
        ("blk.0.ffn_down.weight", vec![HIDDEN, WIDTH]),
        ("blk.0.ffn_down.bias", vec![WIDTH]),
        ("blk.0.layer_output_norm.weight", vec![WIDTH]),
        ("blk.0.layer_output_norm.bias", vec![WIDTH]),
        ("cls.weight", vec![WIDTH, WIDTH]),
        ("cls.bias", vec![WIDTH]),
        ("cls.output.weight", vec![WIDTH, many]),
        ("cls.output.bias", vec![many]),
    ];
    write(path, 1, &metadata, &tensors);
}

fn write(path: &Path, seed: u32, metadata: &[(&str, Value<'_>)], tensors: &[(&str, Vec<u64>)]) {
    let mut file = b"GGUF".to_vec();
    file.extend(3_u32.to_le_bytes());
    file.extend((tensors.len() as u64).to_le_bytes());
    file.extend((metadata.len() as u64).to_le_bytes());
    for (key, value) in metadata {
        text(&mut file, key);
        put(&mut file, value);
    }
    let mut weights = Vec::new();
    for (name, shape) in tensors {
        text(&mut file, name);
        file.extend((shape.len() as u32).to_le_bytes());
        file.extend(shape.iter().flat_map(|length| length.to_le_bytes()));
        file.extend(0_u32.to_le_bytes());
        file.extend((weights.len() as u64).to_le_bytes());
        let first = weights.len() as u64 / 4;
        for at in first..first + shape.iter().product::<u64>() {
            let weight = match *name {
                name if name.ends_with("bias") => 0.0,
                name if name.ends_with("norm.weight") => 1.0,
                _ => chance(seed, at),
            };
            weights.extend(weight.to_le_bytes());
        }
        weights.resize(weights.len().next_multiple_of(32), 0);
    }
    file.resize(file.len().next_multiple_of(32), 0);
    file.extend(weights);
    fs::write(path, file).unwrap();
}

/// A pseudorandom number between -0.5 and 0.5.
fn chance(seed: u32, at: u64) -> f32 {
    let mut state = (u64::from(seed) << 32) ^ at.wrapping_mul(0x9e37_79b9_7f4a_7c15);
    for _ in 0..3 {
        state ^= state >> 29;
        state = state.wrapping_mul(0xbf58_476d_1ce4_e5b9);
    }
    (state >> 40) as f32 / (1_u64 << 24) as f32 - 0.5
}

/// The language model's tokens: every byte, the letters, and the control tokens of ChatML; and the kind of each.
fn letters() -> (Vec<String>, Vec<i32>) {
    const NORMAL: i32 = 1;
    const UNKNOWN: i32 = 2;
    const CONTROL: i32 = 3;
    const BYTE: i32 = 6;
    let special = [("<unk>", UNKNOWN), ("<s>", CONTROL), ("</s>", CONTROL)].map(|(name, kind)| (name.to_owned(), kind));
    let bytes = (0..=255_u8).map(|byte| (format!("<0x{byte:02X}>"), BYTE));
    let letters = ('!'..='~').chain(['\u{2581}']).map(|letter| (letter.to_string(), NORMAL));
    let chat = ["<|im_start|>", "<|im_end|>"].map(|name| (name.to_owned(), CONTROL));
    special.into_iter().chain(bytes).chain(letters).chain(chat).unzip()
}

fn text(file: &mut Vec<u8>, text: &str) {
    file.extend((text.len() as u64).to_le_bytes());
    file.extend(text.as_bytes());
}

fn put(file: &mut Vec<u8>, value: &Value<'_>) {
    const U32: u32 = 4;
    const I32: u32 = 5;
    const F32: u32 = 6;
    const BOOL: u32 = 7;
    const TEXT: u32 = 8;
    const LIST: u32 = 9;
    let list = |file: &mut Vec<u8>, of: u32, length: usize| {
        file.extend(LIST.to_le_bytes());
        file.extend(of.to_le_bytes());
        file.extend((length as u64).to_le_bytes());
    };
    match value {
        Value::U32(number) => {
            file.extend(U32.to_le_bytes());
            file.extend(number.to_le_bytes());
        }
        Value::F32(number) => {
            file.extend(F32.to_le_bytes());
            file.extend(number.to_le_bytes());
        }
        Value::Bool(yes) => {
            file.extend(BOOL.to_le_bytes());
            file.push(u8::from(*yes));
        }
        Value::Text(words) => {
            file.extend(TEXT.to_le_bytes());
            text(file, words);
        }
        Value::Texts(all) => {
            list(file, TEXT, all.len());
            for words in all {
                text(file, words);
            }
        }
        Value::F32s(all) => {
            list(file, F32, all.len());
            file.extend(all.iter().flat_map(|number| number.to_le_bytes()));
        }
        Value::I32s(all) => {
            list(file, I32, all.len());
            file.extend(all.iter().flat_map(|number| number.to_le_bytes()));
        }
    }
}
