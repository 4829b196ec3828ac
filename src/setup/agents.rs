//! The supported coding agents, and what setup writes into which of their files.

use std::path::{Path, PathBuf};

use clap::ValueEnum;
use serde_json::{Value, json};

use super::SetupError;
use crate::files::find_program;

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

/// The folders whose files setup writes: those of a person or of a project.
#[derive(Clone, Debug)]
pub struct AgentFiles {
    /// The person's home folder.
    pub home: PathBuf,
    /// The person's configuration folder (`XDG_CONFIG_HOME`).
    pub config: PathBuf,
    /// The repository whose files are written instead of the person's own.
    pub project: Option<PathBuf>,
}

/// One change to a file.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Edit {
    /// JSON: sets the entry `ergo` to this value, in the object at this path of names.
    Entry(&'static [&'static str], Value),
    /// JSON: adds a command that the agent runs at an event.
    Hook(Hook),
    /// JSON: sets a name of the top object to this value, unless the file has the name.
    Default(&'static str, Value),
    /// TOML: adds a table `mcp_servers.ergo` that starts this program.
    Server(String),
    /// Markdown: adds the instructions for agents, between two markers.
    Instructions,
}

/// A command that an agent runs at an event.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Hook {
    /// The agent's name of the event.
    pub(super) event: &'static str,
    /// The tools at whose events the command runs, as the agent's pattern; `None` for all.
    pub(super) matcher: Option<&'static str>,
    pub(super) command: String,
    /// The command is an element of the event's list, and not of a group in that list.
    pub(super) flat: bool,
    /// The time limit in the agent's unit.
    pub(super) timeout: Option<u32>,
}

/// A file and the edits that setup makes in it.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Target {
    pub(super) path: PathBuf,
    /// The edits in the order in which they are made.
    pub(super) edits: Vec<Edit>,
}

impl AgentFiles {
    /// Returns the files of the person whom the environment names, or those of a project.
    ///
    /// # Errors
    /// If `HOME` is not set.
    pub fn from_environment(project: Option<PathBuf>) -> Result<Self, SetupError> {
        let set = |name: &str| std::env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
        let home = set("HOME")
            .ok_or_else(|| SetupError::input("HOME is not set, so the agents' settings cannot be found", "set HOME"))?;
        Ok(Self { config: set("XDG_CONFIG_HOME").unwrap_or_else(|| home.join(".config")), home, project })
    }
}

impl CodingAgent {
    /// Returns the display name.
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

    /// Returns the name on the command line, such as `claude-code`.
    pub fn name(self) -> String {
        self.to_possible_value().map(|value| value.get_name().to_owned()).unwrap_or_default()
    }

    /// Returns the agent with a command-line name.
    pub fn named(name: &str) -> Option<Self> {
        Self::from_str(name, false).ok()
    }

    /// Returns the installed agents: those whose program is in the `PATH`, or whose settings folder exists.
    pub fn installed(place: &AgentFiles) -> Vec<Self> {
        Self::value_variants().iter().copied().filter(|agent| agent.is_installed(place)).collect()
    }

    /// Returns the agents to set up, or to remove ergo from, if none is named: the installed ones. If none is
    /// installed, a removal takes all of them, because settings outlive programs.
    ///
    /// # Errors
    /// If there is no agent to set up.
    pub fn chosen(place: &AgentFiles, remove: bool) -> Result<Vec<Self>, SetupError> {
        let installed = Self::installed(place);
        match (installed.is_empty(), remove) {
            (false, _) => Ok(installed),
            (true, true) => Ok(Self::value_variants().to_vec()),
            (true, false) => Err(SetupError::input(
                "found no supported coding agent",
                "name one, such as `ergo setup claude-code`; supported: claude-code, codex, cursor, gemini, opencode, vscode",
            )),
        }
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

    fn is_installed(self, place: &AgentFiles) -> bool {
        let folder = match self {
            Self::ClaudeCode => place.home.join(".claude"),
            Self::Codex => place.home.join(".codex"),
            Self::Cursor => place.home.join(".cursor"),
            Self::Gemini => place.home.join(".gemini"),
            Self::Opencode => place.config.join("opencode"),
            Self::Vscode => vscode_folder(place),
        };
        folder.is_dir() || find_program(self.program()).is_some()
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
                flat.extend(CURSOR.iter().map(|(event, _, own)| {
                    let command = command(program, *own);
                    Edit::Hook(Hook { event, matcher: None, command, flat: true, timeout: None })
                }));
                let mut files = vec![
                    file(at(".cursor/mcp.json", ".cursor/mcp.json"), vec![servers(stdio)]),
                    file(at(".cursor/hooks.json", ".cursor/hooks.json"), flat),
                ];
                // Cursor keeps a person's own rules in its settings, not in a file.
                files.extend(project.map(|project| file(project.join("AGENTS.md"), vec![Edit::Instructions])));
                files
            }
            Self::Gemini => {
                let mut edits = vec![servers(stdio)];
                // Gemini's unit is milliseconds.
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
                    file(opencode_settings(&folder), vec![Edit::Entry(&["mcp"], entry)]),
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
                    None => vec![file(vscode_folder(place).join("mcp.json"), vec![entry])],
                }
            }
        }
    }
}

/// Returns opencode's settings file in a folder: the existing one of the two names that it reads.
fn opencode_settings(folder: &Path) -> PathBuf {
    let commented = folder.join("opencode.jsonc");
    if commented.is_file() { commented } else { folder.join("opencode.json") }
}

/// Returns the folder of a person's VS Code settings.
fn vscode_folder(place: &AgentFiles) -> PathBuf {
    if cfg!(target_os = "macos") {
        place.home.join("Library/Application Support/Code/User")
    } else {
        place.config.join("Code/User")
    }
}

/// An event at which a coding agent's program runs `ergo hook`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum HookEvent {
    /// A session starts, or its context was cleared.
    SessionStart,
    /// The user has sent a prompt.
    UserPrompt,
    /// The agent has read or changed a file.
    PostTool,
    /// The agent is about to summarise its context.
    PreCompact,
    /// The agent is about to stop.
    Stop,
}

impl HookEvent {
    /// Returns the argument of `ergo hook`.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::SessionStart => "session-start",
            Self::UserPrompt => "user-prompt",
            Self::PostTool => "post-tool",
            Self::PreCompact => "pre-compact",
            Self::Stop => "stop",
        }
    }
}

/// An event of an agent: the agent's name, the pattern of tools, and ergo's name.
type AgentEvent = (&'static str, Option<&'static str>, HookEvent);

const CLAUDE: [AgentEvent; 5] = [
    ("SessionStart", None, HookEvent::SessionStart),
    ("UserPromptSubmit", None, HookEvent::UserPrompt),
    ("PostToolUse", Some("Read|Edit|MultiEdit|Write|NotebookEdit"), HookEvent::PostTool),
    ("PreCompact", None, HookEvent::PreCompact),
    ("Stop", None, HookEvent::Stop),
];

const CODEX: [AgentEvent; 5] = [
    ("SessionStart", None, HookEvent::SessionStart),
    ("UserPromptSubmit", None, HookEvent::UserPrompt),
    ("PostToolUse", Some("apply_patch"), HookEvent::PostTool),
    ("PreCompact", None, HookEvent::PreCompact),
    ("Stop", None, HookEvent::Stop),
];

const GEMINI: [AgentEvent; 4] = [
    ("SessionStart", None, HookEvent::SessionStart),
    ("BeforeAgent", None, HookEvent::UserPrompt),
    ("AfterTool", Some("read_file|write_file|replace"), HookEvent::PostTool),
    ("PreCompress", None, HookEvent::PreCompact),
];

// The output of hooks at other events may not reach the agent, although ergo would record it as delivered.
const CURSOR: [AgentEvent; 3] = [
    ("sessionStart", None, HookEvent::SessionStart),
    ("preCompact", None, HookEvent::PreCompact),
    ("stop", None, HookEvent::Stop),
];

fn hooks(events: &[AgentEvent], program: &str, timeout: Option<u32>) -> Vec<Edit> {
    let hook = |(event, matcher, own): &AgentEvent| {
        Edit::Hook(Hook { event, matcher: *matcher, command: command(program, *own), flat: false, timeout })
    };
    events.iter().map(hook).collect()
}

/// Returns the shell command of a hook.
fn command(program: &str, event: HookEvent) -> String {
    let event = event.as_str();
    let plain = |c: char| c.is_ascii_alphanumeric() || "/._-+".contains(c);
    if program.chars().all(plain) {
        format!("{program} hook {event}")
    } else {
        format!("'{}' hook {event}", program.replace('\'', "'\\''"))
    }
}

/// Returns the files of these agents, each once.
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
