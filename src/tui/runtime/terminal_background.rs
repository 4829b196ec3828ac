//! Detects whether the terminal's background is light: from the environment, otherwise by asking the terminal.

use std::{
    io::{self, Read, Write},
    time::Duration,
};

use crossterm::event::{Event, KeyCode, KeyModifiers};
use rustix::termios::{OptionalActions, SpecialCodeIndex, tcgetattr, tcsetattr};
use tokio::time::Instant;

use crate::tui::key::KeyPress;

/// How long the terminal may take to answer, in tenths of a second.
const ANSWER_TIMEOUT: u8 = 1;

/// The most bytes that are read as answers; both together have fewer.
const MAX_ANSWER: usize = 256;

/// Asks for the background colour, and then for something that every terminal answers: once that answer is there, the
/// first one will not come.
const QUESTION: &[u8] = b"\x1b]11;?\x1b\\\x1b[c";

/// The result of asking for the background.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct BackgroundAnswer {
    /// The keys that were typed before the answer came.
    pub(super) typed: Vec<KeyPress>,
    /// Whether the background is light; `None` if that is unknown.
    pub(super) light: Option<bool>,
    /// Whether the terminal was asked and has not answered in time: it may still answer.
    pub(super) late: bool,
}

/// Detects the background from the environment, otherwise asks the terminal, which must be in raw mode already.
pub(super) fn detect() -> BackgroundAnswer {
    let set = |name: &str| std::env::var(name).unwrap_or_default();
    if let Some(light) = from_colorfgbg(&set("COLORFGBG")) {
        return BackgroundAnswer { light: Some(light), ..BackgroundAnswer::default() };
    }
    // A multiplexer answers for itself, or passes the question on to a terminal far away.
    let multiplexed = !set("TMUX").is_empty() || set("TERM").starts_with("screen") || set("TERM").starts_with("tmux");
    if multiplexed || set("TERM") == "dumb" {
        return BackgroundAnswer::default();
    }
    match ask() {
        Ok(answer) => BackgroundAnswer { light: light_of(&answer), late: !answered(&answer), typed: typed(&answer) },
        Err(_) => BackgroundAnswer::default(),
    }
}

/// Reads `COLORFGBG`, such as `15;0`: the last number is the background's.
fn from_colorfgbg(value: &str) -> Option<bool> {
    let background: u8 = value.rsplit(';').next()?.parse().ok()?;
    Some(background == 7 || (10..=15).contains(&background))
}

/// Sends the question, and reads until both answers are there or the time is over.
fn ask() -> io::Result<Vec<u8>> {
    let mut out = io::stdout();
    out.write_all(QUESTION)?;
    out.flush()?;
    let mut terminal = std::fs::File::open("/dev/tty")?;
    // With these settings, a read returns what is there, or after the timeout nothing.
    let before = tcgetattr(&terminal)?;
    let mut with_timeout = before.clone();
    with_timeout.special_codes[SpecialCodeIndex::VMIN] = 0;
    with_timeout.special_codes[SpecialCodeIndex::VTIME] = ANSWER_TIMEOUT;
    tcsetattr(&terminal, OptionalActions::Now, &with_timeout)?;
    let read = read(&mut terminal);
    tcsetattr(&terminal, OptionalActions::Now, &before)?;
    read
}

fn read(terminal: &mut impl Read) -> io::Result<Vec<u8>> {
    let mut answer = Vec::new();
    let mut byte = [0];
    while !answered(&answer) && answer.len() < MAX_ANSWER && terminal.read(&mut byte)? > 0 {
        answer.push(byte[0]);
    }
    Ok(answer)
}

/// Whether the answer to the second question, which ends in `c`, is there.
fn answered(answer: &[u8]) -> bool {
    let text = String::from_utf8_lossy(answer);
    text.rfind("\x1b[?").is_some_and(|at| text[at..].ends_with('c'))
}

/// Returns the plain keys among the answers: letters, enter and tab, which people type ahead.
fn typed(answer: &[u8]) -> Vec<KeyPress> {
    let text = String::from_utf8_lossy(answer);
    let mut out = Vec::new();
    let mut chars = text.chars().peekable();
    while let Some(c) = chars.next() {
        match c {
            // Skip an answer up to its end.
            '\x1b' if chars.peek() == Some(&']') => {
                while let Some(c) = chars.next() {
                    if c == '\x07' || c == '\x1b' && chars.next_if_eq(&'\\').is_some() {
                        break;
                    }
                }
            }
            '\x1b' if chars.next_if_eq(&'[').is_some() => {
                let _end = chars.find(|c| ('\x40'..='\x7e').contains(c));
            }
            '\r' => out.push(KeyPress::new(KeyCode::Enter, KeyModifiers::NONE)),
            '\t' => out.push(KeyPress::new(KeyCode::Tab, KeyModifiers::NONE)),
            c if !c.is_control() => out.push(KeyPress::char(c)),
            _ => {}
        }
    }
    out
}

/// Whether the colour in an answer such as `ESC ] 11 ; rgb:ffff/ffff/ffff ESC \` is light.
fn light_of(answer: &[u8]) -> Option<bool> {
    let text = String::from_utf8_lossy(answer);
    let color = &text[text.find("rgb:")? + 4..];
    let mut parts = color.split(|c: char| !c.is_ascii_hexdigit()).map(|part| {
        let value = u32::from_str_radix(part, 16).ok()?;
        // One to four digits; their number determines the full scale.
        let full = 16_u32.checked_pow(u32::try_from(part.len()).ok()?)? - 1;
        Some(f64::from(value) / f64::from(full.max(1)))
    });
    let (r, g, b) = (parts.next()??, parts.next()??, parts.next()??);
    Some(0.299 * r + 0.587 * g + 0.114 * b > 0.5)
}

/// How long after the question an answer may still come.
const LATE_ANSWER_WINDOW: Duration = Duration::from_secs(5);

/// The most keys that are dropped as one late answer, which has fewer.
const MAX_KEYS: usize = 64;

/// Keeps a late answer from being taken for keys: what is read as Alt-] up to its end is dropped.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct LateAnswerFilter {
    /// The time until which an answer may begin.
    until: Option<Instant>,
    /// The number of dropped keys of an answer that has begun.
    dropped: Option<usize>,
}

impl LateAnswerFilter {
    /// Creates the filter for a question that was asked at `now`; `late`: its answer may still come.
    pub(super) fn new(late: bool, now: Instant) -> Self {
        Self { until: late.then(|| now + LATE_ANSWER_WINDOW), dropped: None }
    }

    /// Whether an event belongs to a late answer, and must be dropped.
    pub(super) fn drops(&mut self, event: &Event, now: Instant) -> bool {
        let Event::Key(key) = event else { return false };
        let alt = key.modifiers.contains(KeyModifiers::ALT);
        if let Some(dropped) = self.dropped {
            let end = alt && key.code == KeyCode::Char('\\')
                || key.code == KeyCode::Char('g') && key.modifiers.contains(KeyModifiers::CONTROL);
            self.dropped = (!end && dropped + 1 < MAX_KEYS).then_some(dropped + 1);
            return true;
        }
        if self.until.is_some_and(|until| now < until) && alt && key.code == KeyCode::Char(']') {
            (self.until, self.dropped) = (None, Some(1));
            return true;
        }
        false
    }
}

#[cfg(test)]
mod tests {
    use crossterm::event::KeyEvent;

    use super::*;

    #[test]
    fn the_environment_and_the_terminal_say_whether_it_is_light() {
        for (value, light) in
            [("15;0", Some(false)), ("0;15", Some(true)), ("0;default;7", Some(true)), ("", None), ("0;default", None)]
        {
            assert_eq!(from_colorfgbg(value), light, "{value}");
        }
        for (answer, light) in [
            ("\x1b]11;rgb:ffff/ffff/ffff\x1b\\\x1b[?62;22c", Some(true)),
            ("\x1b]11;rgb:1b1b/1f1f/2727\x07", Some(false)),
            ("\x1b]11;rgb:ff/ff/ff\x07", Some(true)),
            ("\x1b[?62c", None),
            ("\x1b]11;rgb:ffff/", None),
            ("", None),
        ] {
            assert_eq!(light_of(answer.as_bytes()), light, "{answer:?}");
        }
        assert!(answered(b"\x1b]11;rgb:ff/ff/ff\x07\x1b[?62;22c") && !answered(b"\x1b]11;rgb:cc/cc/cc\x07"));
    }

    #[test]
    fn what_was_typed_ahead_is_not_lost_among_the_answers() {
        let keys = |bytes: &[u8]| typed(bytes).iter().map(ToString::to_string).collect::<Vec<_>>().join(" ");
        assert_eq!(keys(b"2\x1b]11;rgb:ffff/ffff/ffff\x1b\\j\x1b[?62;22c\r"), "2 j enter");
        assert_eq!(keys(b"\x1b]11;rgb:0/0/0\x07\x1b[A\x1b[?62c"), "");
    }

    #[test]
    fn a_late_answer_is_no_typing() {
        let key = |c, mods| Event::Key(KeyEvent::new(KeyCode::Char(c), mods));
        let answer =
            [(']', KeyModifiers::ALT), ('1', KeyModifiers::NONE), ('r', KeyModifiers::NONE), ('\\', KeyModifiers::ALT)];
        let now = Instant::now();
        let mut filter = LateAnswerFilter::new(true, now);
        assert!(!filter.drops(&key('r', KeyModifiers::NONE), now), "before it, keys are keys");
        assert!(answer.iter().all(|(c, mods)| filter.drops(&key(*c, *mods), now)));
        assert!(!filter.drops(&key('r', KeyModifiers::NONE), now), "after it, too");
        assert!(!LateAnswerFilter::new(false, now).drops(&key(']', KeyModifiers::ALT), now));
    }

    #[test]
    fn a_key_is_no_late_answer_for_ever() {
        let bracket = Event::Key(KeyEvent::new(KeyCode::Char(']'), KeyModifiers::ALT));
        let letter = Event::Key(KeyEvent::new(KeyCode::Char('j'), KeyModifiers::NONE));
        let now = Instant::now();
        assert!(
            !LateAnswerFilter::new(true, now).drops(&bracket, now + LATE_ANSWER_WINDOW),
            "an answer would have come"
        );
        let mut filter = LateAnswerFilter::new(true, now);
        assert!(filter.drops(&bracket, now));
        let dropped = (0..1_000).take_while(|_| filter.drops(&letter, now)).count();
        assert_eq!(dropped, MAX_KEYS - 1, "nor without an end");
    }
}
