//! The coding agents that ergo knows, and what is written into which of their files.

use std::path::{Path, PathBuf};

use clap::ValueEnum;
use serde_json::{Value, json};

use super::SetupError;

/// A coding agent.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum CodingAgent {
    /// Claude Code.
    ClaudeCode,
    /// Codex.
    Codex,
    /// Cursor.
    Cursor,
    /// Gemini CLI.
    Gemini,
    /// opencode.
    Opencode,
    /// VS Code.
    Vscode,
}

/// Whose files are written.
#[derive(Clone, Debug)]
pub struct AgentFiles {
    /// The person's home.
    pub home: PathBuf,
    /// The person's folder of settings.
    pub config: PathBuf,
    /// The repository whose files are written instead of the person's.
    pub project: Option<PathBuf>,
}

/// What is written into a file.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Edit {
    /// JSON: an entry `ergo` with this value, in the object at this path of names.
    Entry(&'static [&'static str], Value),
    /// JSON: a command that the agent runs at an event.
    Hook(Hook),
    /// JSON: a name at the top with this value, unless the file has that name already.
    Default(&'static str, Value),
    /// TOML: a table `mcp_servers.ergo` that starts this program.
    Server(String),
    /// Markdown: how to use ergo, between two markers.
    Instructions,
}

/// A command at an event.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Hook {
    /// The event.
    pub(super) event: &'static str,
    /// For which tools.
    pub(super) matcher: Option<&'static str>,
    /// The command.
    pub(super) command: String,
    /// The command stands in the list itself, not in a group with others.
    pub(super) flat: bool,
    /// How long it may take, in the agent's unit.
    pub(super) timeout: Option<u32>,
}

/// A file, and what is written into it.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Target {
    /// The file.
    pub(super) path: PathBuf,
    /// In this order.
    pub(super) edits: Vec<Edit>,
}

impl AgentFiles {
    /// The files of the person whom the environment names, or those of a project.
    ///
    /// # Errors
    /// The environment names no home.
    pub fn from_environment(project: Option<PathBuf>) -> Result<Self, SetupError> {
        let set = |name: &str| std::env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
        let home = set("HOME")
            .ok_or_else(|| SetupError::input("HOME is not set, so the agents' settings cannot be found", "set HOME"))?;
        Ok(Self { config: set("XDG_CONFIG_HOME").unwrap_or_else(|| home.join(".config")), home, project })
    }
}

impl CodingAgent {
    /// Its name, as people write it.
    pub fn title(self) -> &'static str {
        match self {
            Self::ClaudeCode => "Claude Code",
            Self::Codex => "Codex",
            Self::Cursor => "Cursor",
            Self::Gemini => "Gemini CLI",
            Self::Opencode => "opencode",
            Self::Vscode => "VS Code",
        }
    }

    /// Its name on the command line, such as `claude-code`.
    pub fn name(self) -> String {
        self.to_possible_value().map(|value| value.get_name().to_owned()).unwrap_or_default()
    }

    /// The agent with a name of the command line.
    pub fn named(name: &str) -> Option<Self> {
        Self::from_str(name, false).ok()
    }

    /// The agents that are installed here: those whose program is on the `PATH`, or whose folder of settings exists.
    pub fn installed(place: &AgentFiles) -> Vec<Self> {
        let path = std::env::var_os("PATH").unwrap_or_default();
        let folders: Vec<PathBuf> = std::env::split_paths(&path).collect();
        Self::value_variants().iter().copied().filter(|agent| agent.is_installed(place, &folders)).collect()
    }

    fn program(self) -> &'static str {
        match self {
            Self::ClaudeCode => "claude",
            Self::Codex => "codex",
            Self::Cursor => "cursor",
            Self::Gemini => "gemini",
            Self::Opencode => "opencode",
            Self::Vscode => "code",
        }
    }

    /// Its folder of settings, or its program, is there.
    fn is_installed(self, place: &AgentFiles, path: &[PathBuf]) -> bool {
        let folder = match self {
            Self::ClaudeCode => place.home.join(".claude"),
            Self::Codex => place.home.join(".codex"),
            Self::Cursor => place.home.join(".cursor"),
            Self::Gemini => place.home.join(".gemini"),
            Self::Opencode => place.config.join("opencode"),
            Self::Vscode => vscode(place),
        };
        folder.is_dir() || path.iter().any(|folder| folder.join(self.program()).is_file())
    }

    fn targets(self, place: &AgentFiles, program: &str) -> Vec<Target> {
        let stdio = json!({"command": program, "args": ["mcp"]});
        let typed = json!({"type": "stdio", "command": program, "args": ["mcp"]});
        let (home, project) = (&place.home, place.project.as_deref());
        let at = |in_project: &str, in_home: &str| {
            project.map_or_else(|| home.join(in_home), |project| project.join(in_project))
        };
        let file = |path: PathBuf, edits: Vec<Edit>| Target { path, edits };
        let servers = |value: Value| Edit::Entry(&["mcpServers"], value);
        match self {
            Self::ClaudeCode => vec![
                file(at(".mcp.json", ".claude.json"), vec![servers(typed)]),
                file(at(".claude/settings.json", ".claude/settings.json"), hooks(&CLAUDE, program, Some(10))),
                file(at("CLAUDE.md", ".claude/CLAUDE.md"), vec![Edit::Instructions]),
            ],
            Self::Codex => vec![
                file(at(".codex/config.toml", ".codex/config.toml"), vec![Edit::Server(program.to_owned())]),
                file(at(".codex/hooks.json", ".codex/hooks.json"), hooks(&CODEX, program, Some(10))),
                file(at("AGENTS.md", ".codex/AGENTS.md"), vec![Edit::Instructions]),
            ],
            Self::Cursor => {
                let mut flat = vec![Edit::Default("version", json!(1))];
                flat.extend(CURSOR.iter().map(|(event, _, moment)| {
                    let command = command(program, moment);
                    Edit::Hook(Hook { event, matcher: None, command, flat: true, timeout: None })
                }));
                let mut files = vec![
                    file(at(".cursor/mcp.json", ".cursor/mcp.json"), vec![servers(stdio)]),
                    file(at(".cursor/hooks.json", ".cursor/hooks.json"), flat),
                ];
                // A person's own rules are in the program's settings, not in a file.
                files.extend(project.map(|project| file(project.join("AGENTS.md"), vec![Edit::Instructions])));
                files
            }
            Self::Gemini => {
                let mut edits = vec![servers(stdio)];
                // In milliseconds.
                edits.extend(hooks(&GEMINI, program, Some(10_000)));
                vec![
                    file(at(".gemini/settings.json", ".gemini/settings.json"), edits),
                    file(at("GEMINI.md", ".gemini/GEMINI.md"), vec![Edit::Instructions]),
                ]
            }
            Self::Opencode => {
                let entry = json!({"type": "local", "command": [program, "mcp"], "enabled": true});
                let folder = project.map_or_else(|| place.config.join("opencode"), Path::to_owned);
                vec![
                    file(opencode(&folder), vec![Edit::Entry(&["mcp"], entry)]),
                    file(folder.join("AGENTS.md"), vec![Edit::Instructions]),
                ]
            }
            Self::Vscode => {
                let entry = Edit::Entry(&["servers"], typed);
                match project {
                    Some(project) => vec![
                        file(project.join(".vscode/mcp.json"), vec![entry]),
                        file(project.join("AGENTS.md"), vec![Edit::Instructions]),
                    ],
                    None => vec![file(vscode(place).join("mcp.json"), vec![entry])],
                }
            }
        }
    }
}

/// The file of opencode's settings in a folder: the one that is there, of the two names that it reads.
fn opencode(folder: &Path) -> PathBuf {
    let commented = folder.join("opencode.jsonc");
    if commented.is_file() { commented } else { folder.join("opencode.json") }
}

/// A person's folder of VS Code's settings.
fn vscode(place: &AgentFiles) -> PathBuf {
    if cfg!(target_os = "macos") {
        place.home.join("Library/Application Support/Code/User")
    } else {
        place.config.join("Code/User")
    }
}

/// Events of an agent: its name for it, for which tools, and ergo's.
type Events = [(&'static str, Option<&'static str>, &'static str)];

const CLAUDE: [(&str, Option<&str>, &str); 5] = [
    ("SessionStart", None, "session-start"),
    ("UserPromptSubmit", None, "user-prompt"),
    ("PostToolUse", Some("Read|Edit|MultiEdit|Write|NotebookEdit"), "post-tool"),
    ("PreCompact", None, "pre-compact"),
    ("Stop", None, "stop"),
];

const CODEX: [(&str, Option<&str>, &str); 5] = [
    ("SessionStart", None, "session-start"),
    ("UserPromptSubmit", None, "user-prompt"),
    ("PostToolUse", Some("apply_patch"), "post-tool"),
    ("PreCompact", None, "pre-compact"),
    ("Stop", None, "stop"),
];

const GEMINI: [(&str, Option<&str>, &str); 4] = [
    ("SessionStart", None, "session-start"),
    ("BeforeAgent", None, "user-prompt"),
    ("AfterTool", Some("read_file|write_file|replace"), "post-tool"),
    ("PreCompress", None, "pre-compact"),
];

// What the other events say is not sure to reach the agent, and would be on the record as given.
const CURSOR: [(&str, Option<&str>, &str); 3] =
    [("sessionStart", None, "session-start"), ("preCompact", None, "pre-compact"), ("stop", None, "stop")];

fn hooks(events: &Events, program: &str, timeout: Option<u32>) -> Vec<Edit> {
    let hook = |(event, matcher, moment): &(&'static str, Option<&'static str>, &'static str)| {
        Edit::Hook(Hook { event, matcher: *matcher, command: command(program, moment), flat: false, timeout })
    };
    events.iter().map(hook).collect()
}

/// The command of a hook, for a shell.
fn command(program: &str, moment: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "/._-+".contains(c);
    if program.chars().all(plain) {
        format!("{program} hook {moment}")
    } else {
        format!("'{}' hook {moment}", program.replace('\'', "'\\''"))
    }
}

/// Every file of these agents, once.
pub(super) fn targets(agents: &[CodingAgent], place: &AgentFiles, program: &str) -> Vec<Target> {
    let mut all: Vec<Target> = Vec::new();
    for target in agents.iter().flat_map(|agent| agent.targets(place, program)) {
        // Several agents read one AGENTS.md.
        if !all.iter().any(|other| other.path == target.path) {
            all.push(target);
        }
    }
    all
}
