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
    /// The language model: refines norms and judges pairs in the deep stage.
    #[n(2)]
    Llm,
}

impl ModelRole {
    pub const ALL: [Self; 3] = [Self::Embedder, Self::Nli, Self::Llm];

    /// Returns the role's name in commands, settings and answers.
    pub fn name(self) -> &'static str {
        match self {
            Self::Embedder => "embedder",
            Self::Nli => "nli",
            Self::Llm => "llm",
        }
    }
}

/// The name of the fourth output that a cross-encoder may have besides the three classes.
pub(super) const GATE_LABEL: &str = "same decision";

/// The cross-encoder's scores of a pair of texts in one order.
#[derive(Clone, Copy, Debug, Default, PartialEq, Encode, Decode)]
pub struct Classification {
    /// The raw logits of entailment, neutral and contradiction.
    #[n(0)]
    pub logits: [f32; 3],
    /// The raw logit that both texts are about the same decision; `None` if the model has no such output.
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
    /// A read or a hook waits for the call. It is served before all others, between two passes of a running call.
    Interactive,
    /// A write waits for the call. It is served before background calls.
    Foreground,
    /// Nobody waits for the call.
    Background,
}

/// How a model is called: the priority, and how long the caller waits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Call {
    pub priority: Priority,
    /// The time after which the call fails with [`super::InferError::Timeout`], including queueing and loading.
    pub deadline: Duration,
    /// The time after which the call fails with [`super::InferError::Busy`] if it is still queued together with several
    /// others. `None`: it is queued until the deadline.
    pub longest_queue: Option<Duration>,
    /// Whether the call continues an earlier one that was served. Then it is queued before others of its priority.
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

    /// The same call with a limit on the time in a crowded queue (see [`Call::longest_queue`]).
    #[must_use]
    pub const fn queueing_at_most(self, longest: Duration) -> Self {
        Self { longest_queue: Some(longest), ..self }
    }

    /// The same call with a shorter [`Call::longest_queue`], because an earlier call of the caller already waited this
    /// long.
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
    /// The author of the instruction at the beginning.
    #[n(0)]
    System,
    #[n(1)]
    User,
    /// The model.
    #[n(2)]
    Assistant,
}

impl Speaker {
    /// Returns the speaker's name in chat templates.
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
    #[n(0)]
    pub speaker: Speaker,
    /// The text. It is trusted: control tokens in it have their effect.
    #[n(1)]
    pub text: String,
}

/// A conversation that the model continues, formatted by the model's own chat template.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, Encode, Decode)]
pub struct Prompt {
    /// The instruction and examples, which are the same in each call. They are evaluated once and kept in the model's
    /// cache.
    #[n(0)]
    pub prefix: Vec<Turn>,
    /// The question, as the last message of the user. Not trusted: control tokens in it are plain text.
    #[n(1)]
    pub text: String,
}

impl Prompt {
    /// Creates a prompt of an instruction, examples (question, answer), and the question.
    pub fn few_shot<Q: Into<String>, A: Into<String>>(
        system: &str,
        examples: impl IntoIterator<Item = (Q, A)>,
        text: String,
    ) -> Self {
        let mut prefix = vec![Turn { speaker: Speaker::System, text: system.to_owned() }];
        for (question, answer) in examples {
            prefix.push(Turn { speaker: Speaker::User, text: question.into() });
            prefix.push(Turn { speaker: Speaker::Assistant, text: answer.into() });
        }
        Self { prefix, text }
    }
}

/// The base-2 logarithm of zstd's window for the built-in models: the window holds a model and its base.
const WINDOW_LOG: u32 = 26;

/// A model file that is built into the program.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct EmbeddedModel {
    /// The display name. The name of the file on disk begins with it.
    pub name: &'static str,
    /// SHA-256 of the GGUF file, 64 lower-case hexadecimal digits.
    pub sha256: &'static str,
    /// The size of the GGUF file in bytes.
    pub size: u64,
    /// The GGUF file, compressed with zstd.
    pub compressed: &'static [u8],
    /// The model whose file was the reference of the compression (`zstd --patch-from`): this model was fine-tuned from
    /// it, and both have the same token embeddings.
    pub base: Option<&'static EmbeddedModel>,
}

impl EmbeddedModel {
    /// Decompresses the GGUF file.
    ///
    /// # Errors
    /// If the data are damaged. A test ensures that they are not.
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
        // Omits the compressed data.
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
    /// The display name.
    pub name: String,
    /// SHA-256 of the file when it was installed; empty if unknown.
    pub sha256: String,
    pub path: PathBuf,
}

/// Where a model comes from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ModelSource {
    /// The program. The file is written to the data directory before its first use, since llama.cpp loads from a path.
    Embedded(&'static EmbeddedModel),
    File(ModelFile),
}

impl ModelSource {
    /// Returns the display name.
    pub fn name(&self) -> &str {
        match self {
            Self::Embedded(model) => model.name,
            Self::File(file) => &file.name,
        }
    }

    /// Returns the file's SHA-256 in hexadecimal digits; empty if unknown.
    pub fn sha256(&self) -> &str {
        match self {
            Self::Embedded(model) => model.sha256,
            Self::File(file) => &file.sha256,
        }
    }
}

/// The model of each role; `None` if a role has none.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ModelSet {
    pub embedder: Option<ModelSource>,
    pub nli: Option<ModelSource>,
    pub llm: Option<ModelSource>,
}

impl ModelSet {
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
    /// The number of calls that failed since the daemon started, by [`super::InferError::kind`].
    pub failures: BTreeMap<&'static str, u64>,
    /// The number of tokens that the embedder read since the daemon started.
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
    pub role: ModelRole,
    /// The model's name.
    pub name: String,
    /// SHA-256 of the model's file; empty if unknown.
    pub sha256: String,
    /// Whether the model is in memory now.
    pub loaded: bool,
    /// The dimension of the vectors. Only for an embedder that was loaded.
    pub dimension: Option<usize>,
    /// The device that computes the model: `CPU`, or the names of GPUs. `None` until the model is loaded.
    pub computes: Option<String>,
    /// The number of layers that this device computes instead of the processor.
    pub gpu_layers: u32,
    /// Why the model cannot be used until its file changes.
    pub problem: Option<String>,
}

/// A worker process.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WorkerInfo {
    /// The roles that the process serves.
    pub roles: Vec<ModelRole>,
    /// The process id; `None` while the process does not run.
    pub pid: Option<u32>,
    /// The resident memory in bytes, mapped files included; 0 if the process does not run or the value is not
    /// available.
    pub rss_bytes: u64,
    /// The processor time of all threads of the process; `None` if the value is not available.
    pub cpu: Option<Duration>,
    /// The number of restarts after the process had died.
    pub restarts: u64,
}
