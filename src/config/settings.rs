//! `config.toml`: the user's settings. An unknown or invalid setting is an error that names the file and the line.

use std::{
    io::ErrorKind,
    net::{IpAddr, Ipv4Addr, SocketAddr},
    path::{Path, PathBuf},
    time::Duration,
};

use serde::{Deserialize, Serialize};

use super::{
    CompatSettings, ConfigError, JudgeSettings, LevelSettings, NotesSettings, Paths, RecallSettings, StoreSettings,
    log_filter,
    machine::login_name,
    setting_error::explain,
    toml_text::{line_of, start_of_setting},
};
use crate::{
    domain::{
        scope::{MAX_NAME, ORGANISATION},
        text::name_problem,
    },
    files,
};

/// The default organisation.
pub const DEFAULT_ORG: &str = "claude-code";

/// The default TCP port.
pub const DEFAULT_PORT: u16 = 8788;

/// The default number of idle minutes after which models are unloaded.
pub const DEFAULT_IDLE_MINUTES: u32 = 5;

/// The maximum number of threads. A larger number is probably a typing error.
const MAX_THREADS: usize = 256;

/// The settings. Each has a default, and the file may be missing.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Config {
    /// The organisation of claims if a request names none.
    pub org_id: String,
    /// The person who acts; by default the user's login name.
    pub who: String,
    pub daemon: DaemonSettings,
    pub guard: GuardSettings,
    pub levels: LevelSettings,
    pub store: StoreSettings,
    pub models: ModelSettings,
    pub sync: SyncSettings,
    pub judge: JudgeSettings,
    pub recall: RecallSettings,
    pub compat: CompatSettings,
    pub tui: TuiSettings,
    pub notes: NotesSettings,
}

/// The `[tui]` section: the review app. Key bindings are in `keys.toml` and colours in `theme.toml`, beside this file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct TuiSettings {
    pub theme: TuiTheme,
    /// Whether the app handles the mouse; otherwise the terminal does.
    pub mouse: bool,
    /// Whether to draw with ASCII characters only; by default if the locale is not UTF-8.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ascii: Option<bool>,
}

impl Default for TuiSettings {
    fn default() -> Self {
        Self { theme: TuiTheme::default(), mouse: true, ascii: None }
    }
}

/// The colour theme of the app.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum TuiTheme {
    /// Dark or light, depending on the terminal's background.
    #[default]
    Auto,
    /// For a dark background.
    Dark,
    /// For a light background.
    Light,
    /// Without colours.
    Mono,
}

/// The `[sync]` section.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct SyncSettings {
    /// The network that sync uses; by default the local network, once a team has another member.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub mode: Option<SyncModeSetting>,
    /// The relay of `mode = "internet"`, as an `https://` URL; by default n0's relays and directory.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub relay: Option<String>,
    /// The UDP port; by default one that depends on the device.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub port: Option<u16>,
    /// Use only the loopback interface, without discovery, for tests.
    pub loopback: bool,
}

/// The network that sync uses.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SyncModeSetting {
    /// None.
    Off,
    /// The local network: no relay, no name server, no port mapping.
    Lan,
    /// The internet, with a relay if there is no direct path.
    Internet,
}

impl SyncModeSetting {
    /// Returns the word in the settings.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Off => "off",
            Self::Lan => "lan",
            Self::Internet => "internet",
        }
    }

    /// Returns the mode with this word.
    pub fn named(word: &str) -> Option<Self> {
        [Self::Off, Self::Lan, Self::Internet].into_iter().find(|mode| mode.as_str() == word)
    }
}

impl SyncSettings {
    /// Returns the first invalid setting, and why it is invalid.
    fn invalid(&self) -> Option<(&'static str, String)> {
        if self.port == Some(0) {
            return Some(("port", "invalid `port` 0: expected 1 to 65535; remove the line for the default".to_owned()));
        }
        let relay = self.relay.as_deref()?;
        (!relay.starts_with("https://") && !relay.starts_with("http://"))
            .then(|| ("relay", format!("invalid `relay` {relay}: expected a URL such as https://relay.example.com")))
    }
}

/// The `[models]` section: which model serves which role, and how they run. It overrides `ergo models use`.
///
/// A model is named as `ergo models list` names it, by the absolute path of a GGUF file, or as `default` or `none`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct ModelSettings {
    /// The embedder, which turns a text into a vector.
    pub embedder: Option<String>,
    /// The cross-encoder, which classifies a pair of texts.
    pub nli: Option<String>,
    pub llm: Option<String>,
    /// A file with more models, in the format of the built-in catalogue.
    pub catalogue: Option<PathBuf>,
    /// Whether `ergo models pull` is disabled.
    pub offline: bool,
    /// The number of CPU threads; by default the number of physical cores less one. With more threads than free cores,
    /// everything is slower.
    pub threads: Option<usize>,
    /// The number of layers of the language model on the GPU; by default all, in a build with GPU support.
    pub gpu_layers: Option<u32>,
    /// The GPU, such as `CUDA0`; by default llama.cpp's choice. `CPU` for no GPU.
    pub device: Option<String>,
    /// The number of idle minutes after which models are unloaded; by default [`DEFAULT_IDLE_MINUTES`].
    pub idle_minutes: Option<u32>,
}

impl ModelSettings {
    /// The names of the roles.
    pub const ROLES: [&str; 3] = ["embedder", "nli", "llm"];

    /// Returns the setting of a role; `None` for an unknown role.
    pub fn named(&self, role: &str) -> Option<&str> {
        match role {
            "embedder" => self.embedder.as_deref(),
            "nli" => self.nli.as_deref(),
            "llm" => self.llm.as_deref(),
            _ => None,
        }
    }

    /// Returns when the deep stage runs by default: inline only with a GPU, which is fast enough for a write to wait
    /// for it.
    pub fn deep(&self) -> DeepStage {
        let gpu = self.gpu_layers.is_some_and(|layers| layers > 0)
            || self.device.as_deref().is_some_and(|device| !device.eq_ignore_ascii_case("cpu"));
        if gpu { DeepStage::Inline } else { DeepStage::Background }
    }

    /// Returns the idle time after which models are unloaded.
    pub fn idle(&self) -> Duration {
        Duration::from_secs(u64::from(self.idle_minutes.unwrap_or(DEFAULT_IDLE_MINUTES)) * 60)
    }

    /// Returns the first invalid setting, and why it is invalid.
    fn invalid(&self) -> Option<(&'static str, String)> {
        match (self.threads, self.idle_minutes) {
            (Some(threads), _) if !(1..=MAX_THREADS).contains(&threads) => {
                Some(("threads", format!("invalid `threads` {threads}: expected 1 to {MAX_THREADS}")))
            }
            (_, Some(0)) => Some(("idle_minutes", "invalid `idle_minutes` 0: expected at least 1".to_owned())),
            _ => None,
        }
    }
}

/// The `[daemon]` section.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct DaemonSettings {
    /// Whether to listen on TCP, in addition to the socket.
    pub tcp: bool,
    /// The TCP address: a loopback address, since the connection is not encrypted. With port 0, the system chooses a
    /// free port.
    pub address: SocketAddr,
    /// The log filter: `error`, `warn`, `info`, `debug`, `trace`, or a filter such as `ergo=debug`.
    pub log: String,
}

/// The `[guard]` section.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct GuardSettings {
    /// What agents may do without a person.
    pub agents_may: AgentsMaySetting,
    /// When the language model checks a write, if one is chosen: by default in the background, and inline with a GPU.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub deep: Option<DeepStage>,
}

/// When the language model checks a write that the small models let pass.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum DeepStage {
    /// Never.
    Off,
    /// After the write: a contradiction opens a card.
    Background,
    /// During the write, which waits for it.
    Inline,
}

/// What agents may do without a person.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum AgentsMaySetting {
    /// Store a refused claim as an exception, with a justification, and retract people's claims.
    #[default]
    Force,
    /// Only propose these acts.
    Propose,
}

impl Default for Config {
    fn default() -> Self {
        Self {
            org_id: DEFAULT_ORG.to_owned(),
            who: login_name(),
            daemon: DaemonSettings::default(),
            guard: GuardSettings::default(),
            levels: LevelSettings::default(),
            store: StoreSettings::default(),
            models: ModelSettings::default(),
            sync: SyncSettings::default(),
            judge: JudgeSettings::default(),
            recall: RecallSettings::default(),
            compat: CompatSettings::default(),
            tui: TuiSettings::default(),
            notes: NotesSettings::default(),
        }
    }
}

impl Default for DaemonSettings {
    fn default() -> Self {
        Self {
            tcp: true,
            address: SocketAddr::new(IpAddr::V4(Ipv4Addr::LOCALHOST), DEFAULT_PORT),
            log: "info".to_owned(),
        }
    }
}

impl DaemonSettings {
    /// Returns the first invalid setting, and why it is invalid.
    fn invalid(&self) -> Option<(&'static str, String)> {
        let Self { address, log, .. } = self;
        if !address.ip().is_loopback() {
            let expected = format!("expected a loopback address such as 127.0.0.1:{DEFAULT_PORT}");
            let message = format!("invalid `address` {address}: {expected}, since the connection is not encrypted");
            return Some(("address", message));
        }
        let error = log_filter(log).err()?;
        Some(("log", format!("invalid `log` “{log}”: {error}")))
    }
}

impl Config {
    /// Reads the settings file.
    ///
    /// # Errors
    /// [`ConfigError::Invalid`] with file and line; [`ConfigError::Io`] if the file exists and cannot be read.
    pub fn load(paths: &Paths) -> Result<Self, ConfigError> {
        let path = &paths.config;
        let invalid = |line, message| ConfigError::Invalid { path: path.clone(), line, message };
        let bytes = match files::bytes(path, files::MAX_SETTINGS) {
            Ok(bytes) => bytes,
            Err(error) => {
                return match error.kind() {
                    ErrorKind::NotFound => Ok(Self::default()),
                    ErrorKind::InvalidInput | ErrorKind::IsADirectory | ErrorKind::FileTooLarge => {
                        Err(invalid(1, format!("these are not settings: {error}")))
                    }
                    _ => Err(ConfigError::io("read", path, error)),
                };
            }
        };
        match std::str::from_utf8(&bytes) {
            Ok(text) => Self::parse(text, path),
            Err(error) => {
                let line = line_of(&String::from_utf8_lossy(&bytes), error.valid_up_to());
                Err(invalid(line, "this line is not UTF-8 text: save the file as UTF-8".to_owned()))
            }
        }
    }

    /// Parses settings; `path` is used in errors.
    ///
    /// # Errors
    /// [`ConfigError::Invalid`] with file and line.
    pub fn parse(text: &str, path: &Path) -> Result<Self, ConfigError> {
        let invalid = |line, message: String| ConfigError::Invalid { path: path.to_owned(), line, message };
        let config: Self = toml::from_str(text).map_err(|error| {
            let (line, message) = explain(text, &error);
            invalid(line, message)
        })?;
        let line_with = |section: &str, key: &str| line_of(text, start_of_setting(text, section, key));
        for role in ModelSettings::ROLES {
            if config.models.named(role).is_some_and(|model| model.trim().is_empty()) {
                let message = format!(
                    "invalid `{role}`: expected a model's name, the absolute path of a GGUF file, `default` or `none`"
                );
                return Err(invalid(line_with("models", role), message));
            }
        }
        if let Some((section, (key, message))) = invalid_setting(&config) {
            return Err(invalid(line_with(section, key), message));
        }
        for (key, value) in [("org_id", &config.org_id), ("who", &config.who)] {
            let is_scope_syntax = value.contains('/') || value.starts_with('@') || value == ORGANISATION;
            let problem = invalid_name(value).or_else(|| {
                let not_allowed = "it must not contain “/”, begin with “@” or be “*”: scopes are written with these";
                (key == "org_id" && is_scope_syntax).then(|| not_allowed.to_owned())
            });
            if let Some(problem) = problem {
                return Err(invalid(line_with("", key), format!("invalid `{key}`: {problem}")));
            }
        }
        Ok(config)
    }

    /// Returns a sentence for each valid setting that has no effect, because what it names does not exist.
    pub fn without_effect(&self) -> Vec<String> {
        let module = log_filter::unknown_module(&self.daemon.log)
            .map(|problem| format!("a part of `log` in [daemon], “{}”, has no effect: {problem}", self.daemon.log));
        module.into_iter().chain(self.judge.missing_program()).collect()
    }
}

/// Says why a text cannot be the name of a person or an organisation. Writes with such a name would be refused.
fn invalid_name(name: &str) -> Option<String> {
    let bytes = name.len();
    if name.trim().is_empty() {
        return Some("it is empty: give a name, or remove the line for the default".to_owned());
    }
    if bytes > MAX_NAME {
        return Some(format!("it has {bytes} bytes: expected at most {MAX_NAME}"));
    }
    name_problem(name).map(|problem| format!("it {problem}: write it on one line, in visible characters"))
}

/// Returns the first invalid setting of any section, and why it is invalid, with the name of its section.
fn invalid_setting(config: &Config) -> Option<(&'static str, (&str, String))> {
    let sections = [
        ("daemon", config.daemon.invalid()),
        ("models", config.models.invalid()),
        ("sync", config.sync.invalid()),
        ("levels", config.levels.invalid()),
        ("judge", config.judge.invalid()),
        ("recall", config.recall.invalid()),
        ("compat.cogito", config.compat.invalid()),
        ("notes", config.notes.invalid()),
        ("store", config.store.invalid()),
    ];
    sections.into_iter().find_map(|(section, invalid)| Some((section, invalid?)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(text: &str) -> Result<Config, ConfigError> {
        Config::parse(text, Path::new("/c/config.toml"))
    }

    #[test]
    fn an_empty_file_is_the_default_and_a_full_one_is_read() {
        assert_eq!(parse("").unwrap(), Config::default());
        let config = parse(
            "org_id = \"acme\"\nwho = \"ada\"\n[daemon]\ntcp = false\naddress = \"[::1]:0\"\n[guard]\nagents_may = \"propose\"\n[models]\nllm = \"none\"\noffline = true\n",
        )
        .unwrap();
        assert_eq!((config.org_id.as_str(), config.who.as_str(), config.daemon.tcp), ("acme", "ada", false));
        assert_eq!(config.guard.agents_may, AgentsMaySetting::Propose);
        assert_eq!((config.models.named("llm"), config.models.named("nli")), (Some("none"), None));
        assert!(config.models.offline);
    }

    #[test]
    fn settings_of_cogito_ergo_are_read() {
        let config = parse(
            "[recall]\nfilter_timeout_ms = 12000\n[compat.cogito]\nlisten = \"127.0.0.1:19420\"\nrecall_limit = 20\nrecall_threshold = 300\n",
        )
        .unwrap();
        let cogito = config.compat.cogito.unwrap();
        assert_eq!((cogito.recall_limit, cogito.recall_threshold.0, cogito.query_threshold.0), (20, 300.0, 250.0));
        assert_eq!(config.recall.filter_timeout(), Duration::from_secs(12));
    }

    #[test]
    fn mistakes_name_the_file_the_line_and_the_word() {
        let long = format!("who = \"{}\"\n", "x".repeat(201));
        let cases: &[(&str, usize, &str)] = &[
            ("org_id = \"a\"\norg = \"b\"\n", 2, "org"),
            ("\n\n[daemon]\ntcp = \"yes\"\n", 4, "true or false"),
            ("[daemon]\naddress = \"0.0.0.0:1\"\n", 2, "loopback address"),
            ("[daemon]\ntcp = true\nlog = \"loud=quiet\"\n", 3, "`log` “loud=quiet”"),
            ("[daemon]\nlog = \"wran\"\n", 2, "did you mean `warn`?"),
            ("[guard]\nagents_may = \"all\"\n", 2, "propose"),
            ("[levels]\npromote = \"ask\"\npromote_at = 1\n", 3, "at least 2"),
            ("[levels]\npromote = \"always\"\n", 2, "invalid `promote` in [levels]: found the text “always”"),
            ("[models]\nnli = \"\"\n", 2, "`nli`"),
            ("[models]\nnormaliser = \"x\"\n", 2, "llm"),
            ("[models]\n\nthreads = 0\n", 3, "1 to 256"),
            ("[models]\nidle_minutes = 0\n", 2, "at least 1"),
            ("[sync]\nmode = \"wan\"\n", 2, "internet"),
            ("[sync]\nport = 0\n", 2, "1 to 65535"),
            ("[sync]\nmode = \"internet\"\nrelay = \"relay\"\n", 3, "https://"),
            ("[judge]\nendpoint = \"host\"\nmodel = \"m\"\n", 2, "http://"),
            ("[judge]\nendpoint = \"http://host/v1\"\n", 2, "`model`"),
            ("[judge]\ncommand = [\"\"]\n", 2, "`command` in [judge]: found a list, expected a program"),
            ("[judge]\ncommand = []\n", 2, "expected a program and its arguments, such as [\"claude\", \"-p\"]"),
            ("[judge]\ncommand = \"claude -p\"\n", 2, "a list"),
            ("[judge]\n\nbudget_percent = 101\n", 3, "0 to 100"),
            ("[judge]\ntimeout_ms = 5\n", 2, "1000 to 600000"),
            ("[recall]\nfilter_timeout_ms = 5\nendpoint = \"http://host/v1\"\n", 3, "now in [judge]"),
            ("[recall]\nmodel = \"m\"\n", 2, "now in [judge]"),
            ("[recall]\nkey_file = \"k\"\n", 2, "now in [judge]"),
            ("[compat.cogito]\nlisten = \"0.0.0.0:19420\"\n", 2, "loopback address"),
            ("[recall]\nfilter_timeout_ms = 0\n", 2, "1 to 600000"),
            ("[compat.cogito]\nlisten = \"127.0.0.1:1\"\ncollection = \"c\"\n", 3, "`project`"),
            ("[compat.cogito]\nlisten = \"127.0.0.1:1\"\nfilter_timeout_ms = 9\n", 3, "[recall]"),
            ("[compat.cogito]\nlisten = \"127.0.0.1:1\"\nrecall_limit = 0\n", 3, "1 to 50"),
            ("[compat.cogito]\nlisten = \"127.0.0.1:1\"\nquery_threshold = -1\n", 3, "above 0"),
            ("[compat.cogito]\nlisten = \"127.0.0.1:1\"\nlimit = 1\n", 3, "`limit`"),
            ("[judge]\nmodel = \"m\"\n\n[recall]\nmodel = \"x\"\n", 5, "now in [judge]"),
            ("[judge]\nmodel = \"m\"\n\n[recall]\n\"model\" = \"x\"\n", 5, "now in [judge]"),
            ("judge.model = \"m\"\nrecall.model = \"x\"\n", 2, "now in [judge]"),
            ("[notes]\n# similarity = 5\nnearest_similarity = 50\nsimilarity = 0\n", 4, "`similarity`"),
            ("[notes]\nsimilarity = 60\n\n[models]\nthreads = 0\n", 5, "1 to 256"),
            ("[tui]\ntheme = \"pink\"\n", 2, "light"),
            ("[tui]\nmouse = 1\n", 2, "true or false"),
            ("who = \"\"\n", 1, "invalid `who`: it is empty"),
            ("\nwho = \"a\\u0007b\"\n", 2, "invalid `who`: it contains the invisible character U+0007"),
            (long.as_str(), 1, "it has 201 bytes: expected at most 200"),
            ("org_id = \"acme/api\"\n", 1, "invalid `org_id`: it must not contain “/”"),
            ("who = \n", 1, ""),
        ];
        for &(text, line, word) in cases {
            let error = parse(text).unwrap_err();
            let message = error.to_string();
            assert!(message.starts_with(&format!("/c/config.toml:{line}: ")), "{message}");
            assert!(message.contains(word), "{message}");
        }
    }
}
