//! The ways in which a text reaches the clipboard: a program of this machine, or the terminal (OSC 52), which may be on
//! another one.

/// A program that copies its input to the clipboard.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ClipboardTool {
    pub program: &'static str,
    pub arguments: &'static [&'static str],
    /// Whether it reads UTF-16, low byte first, instead of UTF-8.
    pub utf16: bool,
}

impl ClipboardTool {
    const fn new(program: &'static str, arguments: &'static [&'static str]) -> Self {
        Self { program, arguments, utf16: false }
    }

    /// Encodes a text as the program reads it.
    pub fn bytes(&self, text: &str) -> Vec<u8> {
        if self.utf16 { text.encode_utf16().flat_map(u16::to_le_bytes).collect() } else { text.as_bytes().to_vec() }
    }
}

const WINDOWS: ClipboardTool = ClipboardTool { utf16: true, ..ClipboardTool::new("clip.exe", &[]) };
const MAC: ClipboardTool = ClipboardTool::new("pbcopy", &[]);
const WAYLAND: ClipboardTool = ClipboardTool::new("wl-copy", &["--type", "text/plain"]);
const X11: [ClipboardTool; 2] = [
    ClipboardTool::new("xclip", &["-selection", "clipboard", "-in"]),
    ClipboardTool::new("xsel", &["--clipboard", "--input"]),
];
/// With `-w`, tmux passes the text on to the terminal around it.
const TMUX: ClipboardTool = ClipboardTool::new("tmux", &["load-buffer", "-w", "-"]);

/// Where the app runs, as far as it matters for the clipboard.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ClipboardEnvironment {
    /// Whether the terminal is on another machine.
    pub ssh: bool,
    /// Whether there is a Wayland display.
    pub wayland: bool,
    /// Whether there is an X display.
    pub x11: bool,
    /// Whether the app runs within tmux.
    pub tmux: bool,
    /// Whether the app runs within Windows.
    pub windows: bool,
    /// Whether the app runs on a Mac.
    pub mac: bool,
}

impl ClipboardEnvironment {
    /// Detects the environment; `set` says whether an environment variable is set and not empty.
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

    /// Returns the installed programs that may work here, the best first.
    pub fn tools(self, installed: impl Fn(&str) -> bool) -> Vec<ClipboardTool> {
        let if_available =
            |available: bool, tools: &[ClipboardTool]| if available { tools.to_vec() } else { Vec::new() };
        let all = [
            if_available(self.windows, &[WINDOWS]),
            // Over SSH, it would copy to the clipboard of the machine at the other end.
            if_available(self.mac && !self.ssh, &[MAC]),
            if_available(self.wayland, &[WAYLAND]),
            if_available(self.x11, &X11),
            if_available(self.tmux, &[TMUX]),
        ];
        all.concat().into_iter().filter(|tool| installed(tool.program)).collect()
    }

    /// Whether the terminal is asked before any program: if it is on another machine, so is the clipboard.
    pub fn terminal_first(self) -> bool {
        self.ssh
    }

    /// Returns what helps if the terminal did not copy the text.
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
    /// What the text was, in words.
    pub what: String,
    /// The program that took it.
    pub tool: Option<&'static str>,
    /// Whether the terminal was asked to copy it.
    pub terminal: bool,
    /// Where the app runs.
    pub place: ClipboardEnvironment,
}

impl Copied {
    /// Returns one sentence for people. The terminal does not answer, so whether it copied the text is not known.
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
