//! The ways by which a text reaches the clipboard: a program of this machine, or the terminal (OSC 52), which may be far from it.

/// A program that puts what it reads on the clipboard.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ClipboardTool {
    /// Its name.
    pub program: &'static str,
    /// What it is called with.
    pub arguments: &'static [&'static str],
    /// It reads UTF-16, the low byte first; else UTF-8.
    pub wide: bool,
}

impl ClipboardTool {
    const fn new(program: &'static str, arguments: &'static [&'static str]) -> Self {
        Self { program, arguments, wide: false }
    }

    /// A text as it reads it.
    pub fn bytes(&self, text: &str) -> Vec<u8> {
        if self.wide { text.encode_utf16().flat_map(u16::to_le_bytes).collect() } else { text.as_bytes().to_vec() }
    }
}

const WINDOWS: ClipboardTool = ClipboardTool { wide: true, ..ClipboardTool::new("clip.exe", &[]) };
const MAC: ClipboardTool = ClipboardTool::new("pbcopy", &[]);
const WAYLAND: ClipboardTool = ClipboardTool::new("wl-copy", &["--type", "text/plain"]);
const X11: [ClipboardTool; 2] = [
    ClipboardTool::new("xclip", &["-selection", "clipboard", "-in"]),
    ClipboardTool::new("xsel", &["--clipboard", "--input"]),
];
/// With `-w` it goes on to the terminal around tmux.
const TMUX: ClipboardTool = ClipboardTool::new("tmux", &["load-buffer", "-w", "-"]);

/// Where the app runs, as far as the clipboard goes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ClipboardEnvironment {
    /// On another machine than the terminal.
    pub ssh: bool,
    /// Beside a Wayland display.
    pub wayland: bool,
    /// Beside an X display.
    pub x11: bool,
    /// Within tmux.
    pub tmux: bool,
    /// Within Windows.
    pub windows: bool,
    /// On a Mac.
    pub mac: bool,
}

impl ClipboardEnvironment {
    /// By which environment variables are set, and not to nothing.
    pub fn of(set: impl Fn(&str) -> bool) -> Self {
        Self {
            ssh: set("SSH_CONNECTION") || set("SSH_TTY"),
            wayland: set("WAYLAND_DISPLAY"),
            x11: set("DISPLAY"),
            tmux: set("TMUX"),
            windows: set("WSL_DISTRO_NAME"),
            mac: cfg!(target_os = "macos"),
        }
    }

    /// The programs that may work here and are installed, the best first.
    pub fn tools(self, installed: impl Fn(&str) -> bool) -> Vec<ClipboardTool> {
        let here = |there: bool, tools: &[ClipboardTool]| if there { tools.to_vec() } else { Vec::new() };
        let all = [
            here(self.windows, &[WINDOWS]),
            // Over a connection they are of the machine at the other end.
            here(self.mac && !self.ssh, &[MAC]),
            here(self.wayland, &[WAYLAND]),
            here(self.x11, &X11),
            here(self.tmux, &[TMUX]),
        ];
        all.concat().into_iter().filter(|tool| installed(tool.program)).collect()
    }

    /// Whether the terminal is told before any program is tried: if it stands on another machine, so does the clipboard.
    pub fn terminal_first(self) -> bool {
        self.ssh
    }

    /// What helps if the terminal did not take it.
    fn advice(self) -> &'static str {
        match self {
            Self { ssh: true, .. } => "allow OSC 52 in the terminal",
            Self { tmux: true, .. } => "run `tmux set -s set-clipboard on`",
            Self { wayland: true, .. } => "install wl-clipboard",
            Self { x11: true, .. } => "install xclip or xsel",
            _ => "allow OSC 52 in the terminal",
        }
    }
}

/// How a text was copied.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Copied {
    /// What it was, in words.
    pub what: String,
    /// The program that took it.
    pub tool: Option<&'static str>,
    /// The terminal was told.
    pub terminal: bool,
    /// Where the app runs.
    pub place: ClipboardEnvironment,
}

impl Copied {
    /// One sentence for people. The terminal does not answer: whether it took the text is not known.
    pub fn sentence(&self) -> String {
        match (self.tool, self.terminal) {
            (Some(tool), false) => format!("Copied with {tool}: {}", self.what),
            (Some(tool), true) => format!("Sent to the terminal, and copied with {tool}: {}", self.what),
            (None, _) => {
                format!("Sent to the terminal: {}. If the clipboard is empty, {}.", self.what, self.place.advice())
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn place(variables: &[&str]) -> ClipboardEnvironment {
        ClipboardEnvironment { mac: false, ..ClipboardEnvironment::of(|name| variables.contains(&name)) }
    }

    fn names(place: ClipboardEnvironment) -> Vec<&'static str> {
        place.tools(|_| true).iter().map(|tool| tool.program).collect()
    }

    #[test]
    fn what_may_work_is_tried_and_nothing_else() {
        assert_eq!(names(place(&[])), Vec::<&str>::new());
        assert_eq!(names(place(&["WAYLAND_DISPLAY", "DISPLAY"])), ["wl-copy", "xclip", "xsel"]);
        assert_eq!(names(place(&["DISPLAY", "TMUX"])), ["xclip", "xsel", "tmux"]);
        assert_eq!(names(place(&["WSL_DISTRO_NAME", "WAYLAND_DISPLAY"])), ["clip.exe", "wl-copy"]);
        assert_eq!(names(ClipboardEnvironment { mac: true, ..ClipboardEnvironment::default() }), ["pbcopy"]);
        assert_eq!(
            names(ClipboardEnvironment { mac: true, ssh: true, ..ClipboardEnvironment::default() }),
            Vec::<&str>::new()
        );
        let only_xsel = place(&["DISPLAY"]).tools(|program| program == "xsel");
        assert_eq!(only_xsel, [X11[1]], "what is not installed is not tried");
    }

    #[test]
    fn over_a_connection_the_terminal_is_first() {
        assert!(place(&["SSH_CONNECTION"]).terminal_first() && place(&["SSH_TTY"]).terminal_first());
        assert!(!place(&["TMUX", "DISPLAY"]).terminal_first());
        assert_eq!(names(place(&["SSH_TTY", "TMUX"])), ["tmux"], "what helps besides is done besides");
    }

    #[test]
    fn the_sentence_says_how() {
        let copied = |tool, terminal, variables: &[&str]| {
            Copied { what: "the page".into(), tool, terminal, place: place(variables) }.sentence()
        };
        assert_eq!(copied(Some("wl-copy"), false, &[]), "Copied with wl-copy: the page");
        assert_eq!(copied(Some("tmux"), true, &[]), "Sent to the terminal, and copied with tmux: the page");
        for (variables, advice) in [
            (&["SSH_TTY", "TMUX"][..], "allow OSC 52 in the terminal"),
            (&["TMUX"], "run `tmux set -s set-clipboard on`"),
            (&["WAYLAND_DISPLAY", "DISPLAY"], "install wl-clipboard"),
            (&["DISPLAY"], "install xclip or xsel"),
            (&[], "allow OSC 52 in the terminal"),
        ] {
            let message = copied(None, true, variables);
            assert_eq!(message, format!("Sent to the terminal: the page. If the clipboard is empty, {advice}."));
        }
    }

    #[test]
    fn windows_reads_wide_letters() {
        assert_eq!(WINDOWS.bytes("é"), [0xe9, 0]);
        assert_eq!(WAYLAND.bytes("é"), "é".as_bytes());
    }
}
