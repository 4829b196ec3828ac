//! Tells a wrapped paragraph from lines that each stand for themselves, as in many `.cursorrules` files, and splits the latter.

use super::{anaphora, clean, stance, wording};
use crate::interchange::markdown::{Block, BlockKind};

/// How much shorter than its longest line a line of a wrapped paragraph may be, in characters, besides the next word.
const RAGGED: usize = 10;

/// The least width of wrapped text, in characters: shorter lines end where their author ended them.
const NARROW: usize = 60;

/// Labels of a text that gives the reason of the rule before it.
const REASON_LABELS: [&str; 4] = ["reason:", "reasons:", "why:", "rationale:"];

/// First words of a line that gives the reason of the rule before it.
const REASON_STARTS: [&str; 4] = ["because ", "this is because ", "that is because ", "so that "];

/// Last words with which no sentence ends, besides those of [`stance::open_word`].
const OPEN: &str = "\
a an the in on from as at than into not your our its their this these via per through without unless until while using \
use because but has have do does where whose every each any all no";

/// A line of a block.
struct Line<'a> {
    /// Its words, as in the block's text.
    text: &'a str,
    /// As in the file.
    raw: &'a str,
    /// The byte offset of its words in the block's text.
    offset: usize,
    number: usize,
}

impl Line<'_> {
    fn indent(&self) -> usize {
        self.raw.len() - self.raw.trim_start().len()
    }

    fn width(&self) -> usize {
        self.raw.trim_end().chars().count()
    }

    /// Whether its sentence or the line itself ends here by the author's punctuation.
    fn ends(&self) -> bool {
        let text = self.text.trim_end_matches(['"', '”', '\'', '’', ')', '`']);
        text.ends_with(['.', '!', '?', '…']) || self.raw.ends_with("  ") || self.raw.ends_with('\\')
    }

    /// Whether its last sentence must continue in the next line.
    fn is_open(&self) -> bool {
        let last = self.text.split_whitespace().last().unwrap_or_default();
        self.text.ends_with([',', '-', '–', '—', '/', '&', '+', '('])
            || !last.ends_with(':') && stance::open_word(last)
            || wording::listed(OPEN, &last.to_lowercase())
    }

    /// Whether it begins like the rest of a sentence.
    fn begins_inside(&self) -> bool {
        self.text.starts_with(|c: char| c.is_lowercase() || c.is_ascii_digit() || "([{,;:–—-&/+=→".contains(c))
    }

    fn is_marked(&self) -> bool {
        stance::split_mark(self.text).1.len() < self.text.len() || clean::unnumbered(self.text).len() < self.text.len()
    }

    /// Whether it is all bold, so that it serves as a heading.
    fn is_bold(&self) -> bool {
        let inner = self.raw.trim().trim_end_matches(':').strip_prefix("**").and_then(|rest| rest.strip_suffix("**"));
        inner.is_some_and(|inner| !inner.contains("**"))
    }

    /// Whether it belongs to the rule before it by its own words.
    fn refers_back(&self) -> bool {
        let first = self.text.split_whitespace().next().unwrap_or_default().to_lowercase();
        is_reason(self.text)
            || begins_with(self.text, &REASON_STARTS)
            || matches!(first.as_str(), "it" | "they" | "them")
            || anaphora::is_context_dependent(self.text) && wording::is_imperative(self.text)
    }

    /// Whether the author ended the line although the first word of the next one had room.
    fn is_early(&self, next: &Line<'_>, width: usize) -> bool {
        let word = next.text.split_whitespace().next().unwrap_or_default();
        self.width() + 1 + word.chars().count() + RAGGED <= width
    }
}

/// Whether a text is labelled as the reason of the rule before it.
pub(super) fn is_reason(text: &str) -> bool {
    begins_with(text, &REASON_LABELS)
}

fn begins_with(text: &str, starts: &[&str]) -> bool {
    let lower = text.to_lowercase();
    starts.iter().any(|start| lower.starts_with(start))
}

/// Splits a paragraph or an item before the lines that stand for themselves; `source` are the lines of the file. If most of them
/// ask for something, or if a line with a colon introduces them, they are items.
pub(super) fn split(block: Block, source: &[&str]) -> Vec<Block> {
    let divisible = matches!(block.kind, BlockKind::Paragraph | BlockKind::Item { .. });
    if block.quoted || !divisible || block.breaks.len() < 2 {
        return vec![block];
    }
    let lines = lines(&block, source);
    let starts = starts(&block, &lines);
    if starts.len() < 2 {
        return vec![block];
    }
    let ends = starts.iter().skip(1).copied().chain([lines.len()]);
    let mut parts: Vec<Block> =
        starts.iter().zip(ends).filter_map(|(from, to)| part(&block, lines.get(*from..to)?)).collect();
    let introduces = |part: &Block| part.text.ends_with(':') || part.bold;
    let members: Vec<&str> = parts.iter().filter(|part| !introduces(part)).map(|part| part.text.as_str()).collect();
    let asks = |text: &&&str| wording::is_imperative(text) || text.starts_with("No ");
    let mut listed = 2 * members.iter().filter(asks).count() > members.len();
    if block.kind == BlockKind::Paragraph {
        for part in &mut parts {
            if introduces(part) {
                listed = true;
            } else if listed {
                part.kind = BlockKind::Item { depth: 0 };
            }
        }
    }
    parts
}

fn lines<'a>(block: &'a Block, source: &[&'a str]) -> Vec<Line<'a>> {
    let raw = |number: usize| source.get(number.saturating_sub(1)).copied().unwrap_or_default();
    let line =
        |(offset, number, text): (usize, usize, &'a str)| Line { text: text.trim(), raw: raw(number), offset, number };
    block.lines().map(line).collect()
}

/// Returns the indices of the lines at which a part begins.
fn starts(block: &Block, lines: &[Line<'_>]) -> Vec<usize> {
    let width = lines.iter().map(Line::width).max().unwrap_or_default();
    // In a file without capital letters, they tell nothing.
    let lower = lines.iter().all(|line| line.begins_inside() || line.text.ends_with(':'));
    let punctuated = lines.last().is_some_and(Line::ends);
    let is_inside = |before: &Line<'_>, line: &Line<'_>| {
        before.is_open()
            || is_open_code(block.text.get(..line.offset).unwrap_or_default())
            || !lower && line.begins_inside() && !before.ends()
    };
    let pairs = || lines.iter().zip(lines.iter().skip(1));
    let wrapped = width >= NARROW
        && pairs().any(|(before, line)| is_inside(before, line))
        && !pairs().any(|(before, line)| before.is_early(line, width));
    let indent = lines.first().map_or(0, Line::indent);
    let begins = |before: &Line<'_>, line: &Line<'_>| {
        if line.is_marked() || line.is_bold() || before.is_bold() {
            return true;
        }
        if line.indent() > indent || line.refers_back() || wrapped || is_inside(before, line) {
            return false;
        }
        // A sentence without a period continues if the paragraph has periods and the line is full.
        before.ends() || before.is_early(line, width) || before.width() < NARROW || !punctuated
    };
    let later = pairs().enumerate().filter(|(_, (before, line))| begins(before, line)).map(|(at, _)| at + 1);
    std::iter::once(0).chain(later).collect()
}

/// Whether a text ends inside `code`.
fn is_open_code(text: &str) -> bool {
    text.matches('`').count() % 2 == 1
}

/// Returns the part of a block that consists of these lines.
fn part(block: &Block, lines: &[Line<'_>]) -> Option<Block> {
    let (first, last) = (lines.first()?, lines.last()?);
    let text = block.text.get(first.offset..last.offset + last.text.len())?.trim_end().to_owned();
    let links = block.links.iter().filter(|link| text.contains(&link.text)).cloned().collect();
    Some(Block {
        line: first.number,
        breaks: lines.iter().map(|line| (line.offset - first.offset, line.number)).collect(),
        bold: block.bold || (lines.len() == 1 && first.is_bold()),
        links,
        text,
        rows: Vec::new(),
        struck: if first.offset == 0 { block.struck.clone() } else { String::new() },
        headings: block.headings.clone(),
        kind: if first.offset == 0 { block.kind } else { BlockKind::Paragraph },
        quoted: false,
    })
}
