//! Recognises fenced code blocks in Markdown.

/// The state while a text is read line by line: within or outside a fenced code block.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Fence {
    open: Option<(char, usize)>,
}

impl Fence {
    /// Returns whether the following lines are code.
    pub(crate) fn is_open(self) -> bool {
        self.open.is_some()
    }

    /// Reads a line, which may open or close a block.
    pub(crate) fn read(&mut self, line: &str) {
        let line = line.trim_end_matches(['\r', '\n']);
        let indent = line.len() - line.trim_start_matches(' ').len();
        let Some(rest) = line.get(indent..).filter(|_| indent < 4) else { return };
        let Some(mark) = rest.chars().next().filter(|c| matches!(c, '`' | '~')) else { return };
        let length = rest.len() - rest.trim_start_matches(mark).len();
        let info = rest.get(length..).unwrap_or_default();
        match self.open {
            Some((open, least)) if open == mark && length >= least && info.trim().is_empty() => self.open = None,
            None if length >= 3 && !(mark == '`' && info.contains('`')) => self.open = Some((mark, length)),
            _ => {}
        }
    }
}
