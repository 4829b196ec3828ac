//! A recording of the app without a terminal, as an asciicast, for the README.

use std::fmt::Write as _;

use ratatui::{
    backend::{Backend, CrosstermBackend},
    buffer::Buffer,
};

/// Milliseconds between two keys.
const KEY_INTERVAL: u64 = 900;

/// Milliseconds for which the last frame stays.
const LAST_FRAME: u64 = 2_500;

/// Frames at their times, as the bytes that would have gone to a terminal.
pub(super) struct Cast {
    size: (u16, u16),
    before: Buffer,
    /// Milliseconds since the beginning.
    at: u64,
    events: Vec<(u64, String)>,
}

impl Cast {
    /// Creates an empty recording of a terminal of this size.
    pub(super) fn new(size: (u16, u16)) -> Self {
        let before = Buffer::empty(ratatui::layout::Rect::new(0, 0, size.0, size.1));
        Self { size, before, at: 0, events: vec![(0, "\u{1b}[?25l\u{1b}[2J".to_owned())] }
    }

    /// Lets the time of this many keys pass.
    pub(super) fn wait(&mut self, keys: u64) {
        self.at += KEY_INTERVAL * keys;
    }

    /// Records what differs from the frame before.
    ///
    /// # Errors
    /// Never in practice: it writes into memory.
    pub(super) fn frame(&mut self, buffer: &Buffer) -> std::io::Result<()> {
        let changes = self.before.diff(buffer);
        if changes.is_empty() {
            return Ok(());
        }
        let mut bytes = Vec::new();
        CrosstermBackend::new(&mut bytes).draw(changes.into_iter())?;
        self.events.push((self.at, String::from_utf8_lossy(&bytes).into_owned()));
        self.before = buffer.clone();
        Ok(())
    }

    /// Returns the recording in the format asciicast v2: a header, then one event per line.
    pub(super) fn finish(mut self, title: &str) -> String {
        self.events.push((self.at + LAST_FRAME, String::new()));
        let (width, height) = self.size;
        let header = serde_json::json!({ "version": 2, "width": width, "height": height, "title": title });
        let mut out = format!("{header}\n");
        for (at, data) in self.events {
            let seconds = format!("{}.{:03}", at / 1000, at % 1000);
            let _ = writeln!(out, "[{seconds}, \"o\", {}]", serde_json::Value::String(data));
        }
        out
    }
}

#[cfg(test)]
mod tests {
    use ratatui::{layout::Rect, style::Style};

    use super::*;

    #[test]
    fn a_recording_holds_what_changed_and_when() {
        let mut cast = Cast::new((20, 2));
        let mut buffer = Buffer::empty(Rect::new(0, 0, 20, 2));
        buffer.set_string(0, 0, "one", Style::new());
        cast.frame(&buffer).unwrap();
        cast.wait(1);
        cast.frame(&buffer).unwrap();
        buffer.set_string(4, 1, "two", Style::new());
        cast.frame(&buffer).unwrap();
        let text = cast.finish("ergo");
        let lines: Vec<serde_json::Value> = text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
        assert_eq!((lines[0]["version"].as_u64(), lines[0]["width"].as_u64()), (Some(2), Some(20)));
        assert_eq!(lines.len(), 5, "header, cleared, one, two, the end: {text}");
        assert!(lines[2][2].as_str().unwrap().contains("one") && lines[3][2].as_str().unwrap().contains("two"));
        assert_eq!(lines[3][0].as_f64(), Some(0.9));
    }
}
