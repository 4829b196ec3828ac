//! A tiny language model as a GGUF file: the llama form, one layer, weights from a counter. It writes nonsense, and keeps to
//! a grammar as any other.

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

/// Writes such a model. Other `seed`s are other models.
pub(crate) fn write_tiny_llm(path: &Path, seed: u32) {
    let (tokens, scores, types) = vocabulary();
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
        ("tokenizer.ggml.tokens", Value::Texts(tokens)),
        ("tokenizer.ggml.scores", Value::F32s(scores)),
        ("tokenizer.ggml.token_type", Value::I32s(types)),
        ("tokenizer.ggml.add_space_prefix", Value::Bool(false)),
        ("tokenizer.ggml.bos_token_id", Value::U32(1)),
        ("tokenizer.ggml.eos_token_id", Value::U32(2)),
        ("tokenizer.ggml.unknown_token_id", Value::U32(0)),
    ];
    let matrix = |rows: u64, columns: u64| vec![rows, columns];
    let tensors = [
        ("token_embd.weight", matrix(WIDTH, vocabulary)),
        ("output_norm.weight", vec![WIDTH]),
        ("output.weight", matrix(WIDTH, vocabulary)),
        ("blk.0.attn_norm.weight", vec![WIDTH]),
        ("blk.0.attn_q.weight", matrix(WIDTH, WIDTH)),
        ("blk.0.attn_k.weight", matrix(WIDTH, WIDTH)),
        ("blk.0.attn_v.weight", matrix(WIDTH, WIDTH)),
        ("blk.0.attn_output.weight", matrix(WIDTH, WIDTH)),
        ("blk.0.ffn_norm.weight", vec![WIDTH]),
        ("blk.0.ffn_gate.weight", matrix(WIDTH, HIDDEN)),
        ("blk.0.ffn_up.weight", matrix(WIDTH, HIDDEN)),
        ("blk.0.ffn_down.weight", matrix(HIDDEN, WIDTH)),
    ];
    let mut file = b"GGUF".to_vec();
    file.extend(3_u32.to_le_bytes());
    file.extend((tensors.len() as u64).to_le_bytes());
    file.extend((metadata.len() as u64).to_le_bytes());
    for (key, value) in &metadata {
        text(&mut file, key);
        put(&mut file, value);
    }
    let mut weights = Vec::new();
    for (name, shape) in &tensors {
        text(&mut file, name);
        file.extend((shape.len() as u32).to_le_bytes());
        shape.iter().for_each(|length| file.extend(length.to_le_bytes()));
        file.extend(0_u32.to_le_bytes());
        file.extend((weights.len() as u64).to_le_bytes());
        let many = shape.iter().product::<u64>();
        let norm = shape.len() == 1;
        let first = weights.len() as u64 / 4;
        weights.extend((first..first + many).flat_map(|at| weight(seed, at, norm).to_le_bytes()));
        weights.resize(weights.len().next_multiple_of(32), 0);
    }
    file.resize(file.len().next_multiple_of(32), 0);
    file.extend(weights);
    fs::write(path, file).unwrap();
}

/// A number between -0.5 and 0.5 that looks like chance; 1 for the weights of a norm.
fn weight(seed: u32, at: u64, norm: bool) -> f32 {
    if norm {
        return 1.0;
    }
    let mut state = (u64::from(seed) << 32) ^ at.wrapping_mul(0x9e37_79b9_7f4a_7c15);
    for _ in 0..3 {
        state ^= state >> 29;
        state = state.wrapping_mul(0xbf58_476d_1ce4_e5b9);
    }
    (state >> 40) as f32 / (1_u64 << 24) as f32 - 0.5
}

/// Every byte, the letters, and the control tokens of ChatML.
fn vocabulary() -> (Vec<String>, Vec<f32>, Vec<i32>) {
    const NORMAL: i32 = 1;
    const UNKNOWN: i32 = 2;
    const CONTROL: i32 = 3;
    const BYTE: i32 = 6;
    let special = [("<unk>", UNKNOWN), ("<s>", CONTROL), ("</s>", CONTROL)].map(|(name, kind)| (name.to_owned(), kind));
    let bytes = (0..=255_u8).map(|byte| (format!("<0x{byte:02X}>"), BYTE));
    let letters = ('!'..='~').chain(['\u{2581}']).map(|letter| (letter.to_string(), NORMAL));
    let chat = ["<|im_start|>", "<|im_end|>"].map(|name| (name.to_owned(), CONTROL));
    let all: Vec<_> = special.into_iter().chain(bytes).chain(letters).chain(chat).collect();
    let scores = vec![0.0; all.len()];
    let (tokens, types) = all.into_iter().unzip();
    (tokens, scores, types)
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
            all.iter().for_each(|words| text(file, words));
        }
        Value::F32s(all) => {
            list(file, F32, all.len());
            all.iter().for_each(|number| file.extend(number.to_le_bytes()));
        }
        Value::I32s(all) => {
            list(file, I32, all.len());
            all.iter().for_each(|number| file.extend(number.to_le_bytes()));
        }
    }
}
