//! The data types of inference: roles, calls, prompts, models and their state.

use std::{
    collections::BTreeMap,
    fmt,
    io::{self, Read},
    path::PathBuf,
    time::Duration,
};

use minicbor::{Decode, Encode};
use serde::{Deserialize, Serialize};

/// What a model is used for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, Encode, Decode)]
#[serde(rename_all = "snake_case")]
#[cbor(index_only)]
pub enum ModelRole {
    /// Turns a text into a vector.
    #[n(0)]
    Embedder,
    /// The cross-encoder: judges a pair of texts.
    #[n(1)]
    Nli,
    /// The language model: refines norms and judges deeply.
    #[n(2)]
    Llm,
}

impl ModelRole {
    /// All roles.
    pub const ALL: [Self; 3] = [Self::Embedder, Self::Nli, Self::Llm];

    /// Returns its name in commands, settings and answers.
    pub fn name(self) -> &'static str {
        match self {
            Self::Embedder => "embedder",
            Self::Nli => "nli",
            Self::Llm => "llm",
        }
    }
}

/// The name of a cross-encoder's fourth output, besides the three classes.
pub(super) const GATE_LABEL: &str = "same decision";

/// What the cross-encoder says of a pair in one order.
#[derive(Clone, Copy, Debug, Default, PartialEq, Encode, Decode)]
pub struct Classification {
    /// The raw logits of entailment, neutral and contradiction.
    #[n(0)]
    pub logits: [f32; 3],
    /// The raw logit of whether both texts speak of the same decision; `None` if the model has no such output.
    #[n(1)]
    pub gate: Option<f32>,
}

impl fmt::Display for ModelRole {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// The priority of a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Priority {
    /// A read waits, or a hook: overtakes all else, between two passes of a model.
    Interactive,
    /// A write waits: overtakes everything in the background.
    Foreground,
    /// Nobody waits.
    Background,
}

/// The priority of a call, and how long its caller waits in all, queueing and loading included.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Call {
    /// The priority.
    pub priority: Priority,
    /// After this, the call fails with [`super::InferError::Timeout`].
    pub deadline: Duration,
    /// If it still queues after this, with several others, the call fails with [`super::InferError::Busy`]; `None` waits for the deadline.
    pub longest_queue: Option<Duration>,
    /// It goes on with a call that was served: before others of its priority.
    pub resumes: bool,
}

impl Call {
    /// A call that a read or a hook waits for.
    pub const fn interactive(deadline: Duration) -> Self {
        Self { priority: Priority::Interactive, deadline, longest_queue: None, resumes: false }
    }

    /// A call that a write waits for.
    pub const fn foreground(deadline: Duration) -> Self {
        Self { priority: Priority::Foreground, deadline, longest_queue: None, resumes: false }
    }

    /// The same call, which gives up if it has to queue for longer than this with others.
    #[must_use]
    pub const fn queueing_at_most(self, longest: Duration) -> Self {
        Self { longest_queue: Some(longest), ..self }
    }

    /// The same call, whose caller has waited this long for another answer.
    #[must_use]
    pub fn having_queued(self, waited: Duration) -> Self {
        Self { longest_queue: self.longest_queue.map(|longest| longest.saturating_sub(waited)), ..self }
    }

    /// A call that nobody waits for.
    pub const fn background(deadline: Duration) -> Self {
        Self { priority: Priority::Background, deadline, longest_queue: None, resumes: false }
    }
}

/// The author of a [`Turn`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, Encode, Decode)]
#[serde(rename_all = "snake_case")]
#[cbor(index_only)]
pub enum Speaker {
    /// The instruction at the beginning.
    #[n(0)]
    System,
    /// The user.
    #[n(1)]
    User,
    /// The model.
    #[n(2)]
    Assistant,
}

impl Speaker {
    /// Returns its name in chat templates.
    pub fn word(self) -> &'static str {
        match self {
            Self::System => "system",
            Self::User => "user",
            Self::Assistant => "assistant",
        }
    }
}

/// A message of a conversation.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, Encode, Decode)]
pub struct Turn {
    /// The author.
    #[n(0)]
    pub speaker: Speaker,
    /// The text. It is trusted: control tokens in it are recognised.
    #[n(1)]
    pub text: String,
}

/// A conversation that the model continues, formatted by the model's own chat template.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, Encode, Decode)]
pub struct Prompt {
    /// Instruction and examples, the same in each call: evaluated once and kept in the model's cache.
    #[n(0)]
    pub prefix: Vec<Turn>,
    /// The question, as the last message of the user. Not trusted: control tokens in it are plain text.
    #[n(1)]
    pub text: String,
}

impl Prompt {
    /// Creates a prompt of an instruction, examples of question and answer, and the question.
    pub fn few_shot<Q: Into<String>, A: Into<String>>(
        system: &str,
        examples: impl IntoIterator<Item = (Q, A)>,
        text: String,
    ) -> Self {
        let mut prefix = vec![Turn { speaker: Speaker::System, text: system.to_owned() }];
        for (asked, answer) in examples {
            prefix.push(Turn { speaker: Speaker::User, text: asked.into() });
            prefix.push(Turn { speaker: Speaker::Assistant, text: answer.into() });
        }
        Self { prefix, text }
    }
}

/// The window with which the built-in models are compressed, as a power of two: the size of a model and its base.
const WINDOW_LOG: u32 = 26;

/// A model file that is built into the program.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct EmbeddedModel {
    /// Its name, for people; also the stem of the file that is written.
    pub name: &'static str,
    /// SHA-256 of the GGUF file, 64 lower-case hexadecimal digits.
    pub sha256: &'static str,
    /// The size of the GGUF file in bytes.
    pub size: u64,
    /// The GGUF file, compressed with zstd.
    pub compressed: &'static [u8],
    /// The model whose file was the compressor's prefix (`zstd --patch-from`), because this model was trained from it
    /// and the two share their token embeddings.
    pub base: Option<&'static EmbeddedModel>,
}

impl EmbeddedModel {
    /// Decompresses the GGUF file.
    ///
    /// # Errors
    /// If the data are damaged, which a test rules out.
    pub fn unpack(&self) -> io::Result<Vec<u8>> {
        let base = self.base.map(Self::unpack).transpose()?.unwrap_or_default();
        let mut decoder = zstd::Decoder::with_ref_prefix(self.compressed, &base)?;
        decoder.window_log_max(WINDOW_LOG)?;
        let mut bytes = Vec::with_capacity(usize::try_from(self.size).unwrap_or_default());
        decoder.take(self.size).read_to_end(&mut bytes)?;
        Ok(bytes)
    }
}

impl fmt::Debug for EmbeddedModel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // Without the megabytes.
        f.debug_struct("EmbeddedModel")
            .field("name", &self.name)
            .field("sha256", &self.sha256)
            .field("size", &self.size)
            .finish_non_exhaustive()
    }
}

/// A model file on disk.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ModelFile {
    /// Its name, for people.
    pub name: String,
    /// SHA-256 of the file as it was accepted; empty if unknown.
    pub sha256: String,
    /// Its path.
    pub path: PathBuf,
}

/// Where a model comes from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ModelSource {
    /// Built into the program; written to the data directory before its first use, since llama.cpp loads from a
    /// path.
    Embedded(&'static EmbeddedModel),
    /// A file.
    File(ModelFile),
}

impl ModelSource {
    /// Returns the model's name, for people.
    pub fn name(&self) -> &str {
        match self {
            Self::Embedded(model) => model.name,
            Self::File(file) => &file.name,
        }
    }

    /// Returns its SHA-256 in hexadecimal digits; empty if unknown.
    pub fn sha256(&self) -> &str {
        match self {
            Self::Embedded(model) => model.sha256,
            Self::File(file) => &file.sha256,
        }
    }
}

/// The model of each role; a role may be empty.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ModelSet {
    /// The embedder.
    pub embedder: Option<ModelSource>,
    /// The cross-encoder.
    pub nli: Option<ModelSource>,
    /// The language model.
    pub llm: Option<ModelSource>,
}

impl ModelSet {
    /// Returns the model of a role.
    pub fn role(&self, role: ModelRole) -> Option<&ModelSource> {
        match role {
            ModelRole::Embedder => self.embedder.as_ref(),
            ModelRole::Nli => self.nli.as_ref(),
            ModelRole::Llm => self.llm.as_ref(),
        }
    }
}

/// The models and their state.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ModelsInfo {
    /// The roles that have a model.
    pub roles: Vec<RoleInfo>,
    /// Calls that failed since the daemon started, by [`super::InferError::kind`].
    pub failures: BTreeMap<&'static str, u64>,
    /// Tokens that the embedder read since the daemon started.
    pub embedded_tokens: u64,
}

impl ModelsInfo {
    /// Returns the state of a role; `None` if it has no model.
    pub fn role(&self, role: ModelRole) -> Option<&RoleInfo> {
        self.roles.iter().find(|info| info.role == role)
    }
}

/// The state of a role that has a model.
#[derive(Clone, Debug, PartialEq)]
pub struct RoleInfo {
    /// The role.
    pub role: ModelRole,
    /// The model's name.
    pub name: String,
    /// SHA-256 of its file; empty if unknown.
    pub sha256: String,
    /// Whether it is in memory now.
    pub loaded: bool,
    /// The dimension of its vectors, once it was loaded; for the embedder only.
    pub dimension: Option<usize>,
    /// Where it computes, once it was loaded: `CPU`, or a device's name.
    pub computes: Option<String>,
    /// Layers that are computed there and not by the processor.
    pub gpu_layers: u32,
    /// Why it cannot be used until its file changes.
    pub problem: Option<String>,
}

/// A worker process.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WorkerInfo {
    /// The roles that it serves.
    pub roles: Vec<ModelRole>,
    /// Its process id; `None` while it does not run.
    pub pid: Option<u32>,
    /// Its resident memory in bytes, mapped files included; 0 if it does not run or the system does not tell.
    pub rss_bytes: u64,
    /// The processor time that it has used, all threads together; `None` if the system does not tell.
    pub cpu: Option<Duration>,
    /// How often it was restarted after it had died.
    pub restarts: u64,
}
