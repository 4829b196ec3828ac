//! Reads from the header of a GGUF file what kind of model it is: architecture, pooling, labels, dimension.
//!
//! Architecture Invariant: every length in a file is checked before it is used, since a file may contain anything.

use std::{
    io::{self, BufReader, Read},
    path::Path,
};

use crate::{
    files,
    infer::{ModelRole, types::GATE_LABEL},
};

/// The versions of the format that llama.cpp reads and that have this header.
const VERSIONS: std::ops::RangeInclusive<u32> = 2..=3;

/// The maximum length of a text value in bytes. Longer ones, such as chat templates, are skipped.
const MAX_TEXT: u64 = 1 << 10;

/// The maximum size of a header in bytes. Vocabularies have some megabytes.
const MAX_HEADER: u64 = 256 << 20;

/// The maximum number of keys of a file.
const MAX_KEYS: u64 = 10_000;

/// The maximum number of labels of a classifier.
const MAX_LABELS: u64 = 64;

/// llama.cpp's number of the `pooling_type` of a sequence classifier.
const POOLING_RANK: u64 = 4;

/// Architectures of encoders, which do not generate text.
const ENCODERS: &[&str] =
    &["bert", "modern-bert", "nomic-bert", "nomic-bert-moe", "jina-bert-v2", "jina-bert-v3", "neo-bert"];

/// The header of a GGUF file.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct GgufHeader {
    /// `bert`, `qwen2`, …
    pub architecture: String,
    /// The publisher's name of the model.
    pub name: Option<String>,
    pub licence: Option<String>,
    /// The dimension of the vectors.
    pub dimension: Option<u64>,
    /// llama.cpp's number of the pooling of token vectors.
    pub pooling: Option<u64>,
    /// The labels of a classifier.
    pub labels: Vec<String>,
    pub chat_template: bool,
}

/// A value of a key. [`Value::Other`] stands for all values that are not needed.
enum Value {
    Text(String),
    Number(u64),
    Texts(Vec<String>),
    Other,
}

impl GgufHeader {
    /// Reads the header of a file.
    ///
    /// # Errors
    /// A message for people, if the file cannot be read or is not a model.
    pub fn of(path: &Path) -> Result<Self, String> {
        let file = files::open(path).map_err(|error| format!("it cannot be read: {error}"))?;
        Self::read(&mut BufReader::with_capacity(1 << 16, file))
    }

    /// Reads a header.
    ///
    /// # Errors
    /// A message for people, if it is invalid.
    pub fn read(input: &mut dyn Read) -> Result<Self, String> {
        let mut reader = Reader { input: Box::new(input.take(MAX_HEADER)) };
        reader.header().map_err(|error| match error.kind() {
            io::ErrorKind::UnexpectedEof => "it ends in the middle of its header: a part of it is missing".to_owned(),
            io::ErrorKind::InvalidData => error.to_string(),
            _ => format!("it cannot be read: {error}"),
        })
    }

    /// Returns the number of labels without [`GATE_LABEL`], which is not a class.
    fn classes(&self) -> usize {
        self.labels.iter().filter(|label| !label.eq_ignore_ascii_case(GATE_LABEL)).count()
    }

    /// Returns the role that the model can serve.
    ///
    /// # Errors
    /// A message for people, if ergo cannot use it.
    pub fn role(&self) -> Result<ModelRole, String> {
        let encoder = ENCODERS.contains(&self.architecture.as_str());
        match (encoder, self.pooling == Some(POOLING_RANK) || !self.labels.is_empty()) {
            (_, true) if matches!(self.classes(), 0 | 3) => Ok(ModelRole::Nli),
            (_, true) => Err(format!(
                "it is a classifier with {} labels ({}); ergo needs three: entailment, neutral, contradiction (a fourth may be {GATE_LABEL})",
                self.labels.len(),
                self.labels.join(", ")
            )),
            (true, false) => Ok(ModelRole::Embedder),
            (false, false) if self.architecture == "clip" => {
                Err("it is the image part of a multimodal model, not a language model".to_owned())
            }
            (false, false) => Ok(ModelRole::Llm),
        }
    }
}

struct Reader<'a> {
    input: Box<dyn Read + 'a>,
}

fn wrong(what: impl Into<String>) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, what.into())
}

impl Reader<'_> {
    fn header(&mut self) -> io::Result<GgufHeader> {
        let mut magic = [0; 4];
        // If reading fails, the file is shorter than the magic number.
        let begins = self.input.read_exact(&mut magic).is_ok() && magic == *b"GGUF";
        if !begins {
            return Err(wrong("it is not a GGUF file: it does not begin with `GGUF`"));
        }
        let version = self.u32()?;
        if !VERSIONS.contains(&version) {
            return Err(wrong(format!("it is a GGUF file of version {version}; ergo reads 2 and 3")));
        }
        let tensors = self.u64()?;
        let keys = self.u64()?;
        if keys > MAX_KEYS {
            return Err(wrong(format!("its header is damaged: it declares {keys} keys")));
        }
        let mut header = GgufHeader::default();
        for _ in 0..keys {
            let key = self.text()?.unwrap_or_default();
            let kind = self.u32()?;
            let value = self.value(kind, &key)?;
            header.take(&key, value);
        }
        if tensors == 0 || header.architecture.is_empty() {
            return Err(wrong("it contains no model, only a vocabulary or an adapter"));
        }
        Ok(header)
    }

    fn value(&mut self, kind: u32, key: &str) -> io::Result<Value> {
        Ok(match kind {
            8 => self.text()?.map_or(Value::Other, Value::Text),
            9 => {
                let (of, count) = (self.u32()?, self.u64()?);
                match of {
                    8 if key.ends_with(".classifier.output_labels") => {
                        if count > MAX_LABELS {
                            return Err(wrong(format!("its header is damaged: it declares {count} labels")));
                        }
                        let labels = (0..count).map(|_| Ok(self.text()?.unwrap_or_default()));
                        Value::Texts(labels.collect::<io::Result<_>>()?)
                    }
                    8 => {
                        for _ in 0..count {
                            self.skip_text()?;
                        }
                        Value::Other
                    }
                    _ => {
                        let size = size_of(of).ok_or_else(|| wrong("its header is damaged: an unknown type"))?;
                        let length =
                            count.checked_mul(size).ok_or_else(|| wrong("its header is damaged: invalid length"))?;
                        self.skip(length)?;
                        Value::Other
                    }
                }
            }
            _ => {
                let size = size_of(kind).ok_or_else(|| wrong("its header is damaged: an unknown type"))?;
                let mut bytes = [0; 8];
                self.input.read_exact(bytes.get_mut(..size as usize).unwrap_or_default())?;
                // Types 6 and 12 are floating-point numbers.
                if matches!(kind, 6 | 12) { Value::Other } else { Value::Number(u64::from_le_bytes(bytes)) }
            }
        })
    }

    fn u32(&mut self) -> io::Result<u32> {
        let mut bytes = [0; 4];
        self.input.read_exact(&mut bytes)?;
        Ok(u32::from_le_bytes(bytes))
    }

    fn u64(&mut self) -> io::Result<u64> {
        let mut bytes = [0; 8];
        self.input.read_exact(&mut bytes)?;
        Ok(u64::from_le_bytes(bytes))
    }

    /// Reads a text; `None` if it is longer than [`MAX_TEXT`].
    fn text(&mut self) -> io::Result<Option<String>> {
        let length = self.u64()?;
        if length > MAX_TEXT {
            self.skip(length)?;
            return Ok(None);
        }
        let mut bytes = vec![0; length as usize];
        self.input.read_exact(&mut bytes)?;
        Ok(Some(String::from_utf8_lossy(&bytes).into_owned()))
    }

    fn skip_text(&mut self) -> io::Result<()> {
        let length = self.u64()?;
        self.skip(length)
    }

    fn skip(&mut self, length: u64) -> io::Result<()> {
        let skipped = io::copy(&mut (&mut self.input).take(length), &mut io::sink())?;
        if skipped < length { Err(io::ErrorKind::UnexpectedEof.into()) } else { Ok(()) }
    }
}

impl GgufHeader {
    fn take(&mut self, key: &str, value: Value) {
        match (key, value) {
            ("general.architecture", Value::Text(text)) => self.architecture = text,
            ("general.name", Value::Text(text)) => self.name = Some(text),
            ("general.license", Value::Text(text)) => self.licence = Some(text),
            ("tokenizer.chat_template", _) => self.chat_template = true,
            (key, Value::Number(number)) if key.ends_with(".embedding_length") => self.dimension = Some(number),
            (key, Value::Number(number)) if key.ends_with(".pooling_type") => self.pooling = Some(number),
            (_, Value::Texts(labels)) => self.labels = labels,
            _ => {}
        }
    }
}

/// Returns the size in bytes of the values of a GGUF type; `None` for texts, lists and unknown types.
fn size_of(kind: u32) -> Option<u64> {
    match kind {
        0 | 1 | 7 => Some(1),
        2 | 3 => Some(2),
        4..=6 => Some(4),
        10..=12 => Some(8),
        _ => None,
    }
}

#[cfg(test)]
pub(crate) mod written {
    //! GGUF headers for tests.

    fn text(text: &str) -> Vec<u8> {
        [&(text.len() as u64).to_le_bytes()[..], text.as_bytes()].concat()
    }

    pub(crate) fn string(key: &str, value: &str) -> Vec<u8> {
        [text(key), 8_u32.to_le_bytes().to_vec(), text(value)].concat()
    }

    pub(crate) fn number(key: &str, value: u32) -> Vec<u8> {
        [text(key), 4_u32.to_le_bytes().to_vec(), value.to_le_bytes().to_vec()].concat()
    }

    pub(crate) fn strings(key: &str, values: &[&str]) -> Vec<u8> {
        let head = [text(key), 9_u32.to_le_bytes().to_vec(), 8_u32.to_le_bytes().to_vec()].concat();
        let items = values.iter().flat_map(|value| text(value)).collect();
        [head, (values.len() as u64).to_le_bytes().to_vec(), items].concat()
    }

    /// A file with these keys that declares one tensor.
    pub(crate) fn file(keys: &[Vec<u8>]) -> Vec<u8> {
        let head = [&b"GGUF"[..], &3_u32.to_le_bytes(), &1_u64.to_le_bytes(), &(keys.len() as u64).to_le_bytes()];
        [head.concat(), keys.concat()].concat()
    }

    /// An embedder's header.
    pub(crate) fn embedder() -> Vec<u8> {
        file(&[
            string("general.architecture", "bert"),
            string("general.name", "A small one"),
            number("bert.embedding_length", 384),
            number("bert.pooling_type", 1),
            strings("tokenizer.ggml.tokens", &["a", "b", "c"]),
        ])
    }

    /// A language model's header.
    pub(crate) fn llm() -> Vec<u8> {
        file(&[string("general.architecture", "llama"), string("tokenizer.chat_template", &"x".repeat(5_000))])
    }

    /// A classifier's header.
    pub(crate) fn classifier(labels: &[&str]) -> Vec<u8> {
        file(&[
            string("general.architecture", "bert"),
            number("bert.pooling_type", 4),
            strings("bert.classifier.output_labels", labels),
        ])
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::{written::*, *};

    fn read(bytes: &[u8]) -> Result<GgufHeader, String> {
        GgufHeader::read(&mut &*bytes)
    }

    #[test]
    fn a_header_says_what_the_model_is_for() {
        let header = read(&embedder()).unwrap();
        assert_eq!(
            (header.name.as_deref(), header.dimension, header.pooling),
            (Some("A small one"), Some(384), Some(1))
        );
        assert_eq!(header.role(), Ok(ModelRole::Embedder));
        let header = read(&llm()).unwrap();
        assert!(header.chat_template);
        assert_eq!(header.role(), Ok(ModelRole::Llm));
        let header = read(&classifier(&["entailment", "neutral", "contradiction"])).unwrap();
        assert_eq!(header.role(), Ok(ModelRole::Nli));
        let gate = read(&classifier(&["entailment", "neutral", "contradiction", "same decision"])).unwrap();
        assert_eq!(gate.role(), Ok(ModelRole::Nli));
        let two = read(&classifier(&["no", "yes"])).unwrap().role().unwrap_err();
        assert!(two.contains("2 labels (no, yes)"), "{two}");
    }

    #[test]
    fn what_is_no_model_is_reported() {
        for (bytes, expected) in [
            (b"".to_vec(), "not a GGUF"),
            (b"PK\x03\x04 and so on".to_vec(), "not a GGUF"),
            (b"<!doctype html><html>Log in</html>".to_vec(), "not a GGUF"),
            ([&b"GGUF"[..], &9_u32.to_le_bytes()].concat(), "version 9"),
            (file(&[]), "no model"),
            (embedder()[..60].to_vec(), "missing"),
            ([&b"GGUF"[..], &[3, 0, 0, 0], &[1; 8], &[255; 8]].concat(), "damaged"),
            (file(&[[&[255; 8][..], &[0; 4]].concat()]), "missing"),
        ] {
            let error = read(&bytes).unwrap_err();
            assert!(error.contains(expected), "{expected}: {error}");
        }
    }

    proptest! {
        #[test]
        fn nothing_makes_it_panic(noise in proptest::collection::vec(any::<u8>(), 0..400), cut in 0..400_usize) {
            let _ = read(&noise);
            let mut bytes = embedder();
            bytes.truncate(24 + cut % 300);
            bytes.extend(noise);
            let _ = read(&bytes);
        }
    }
}
