//! The instructions for agents, between marks in a Markdown file.

const BEGIN: &str = "<!-- ergo:begin (written by `ergo setup`; changes in this block are overwritten) -->";
const END: &str = "<!-- ergo:end -->";

/// How an agent uses ergo.
const INSTRUCTIONS: &str = include_str!("instructions.md");

fn whole() -> String {
    format!("{BEGIN}\n{INSTRUCTIONS}{END}\n")
}

/// Where the marks and what is between them stand, with the end of the line.
fn found(text: &str) -> Option<(usize, usize)> {
    let begin = text.find("<!-- ergo:begin")?;
    let end = begin + text.get(begin..)?.find(END)? + END.len();
    let line = text.get(end..).is_some_and(|rest| rest.starts_with('\n'));
    Some((begin, end + usize::from(line)))
}

/// The text with the instructions: in their place where they are, else at the end.
pub(super) fn set(text: &str) -> String {
    if let Some((begin, end)) = found(text) {
        return [text.get(..begin).unwrap_or_default(), &whole(), text.get(end..).unwrap_or_default()].concat();
    }
    // One line break more than there was, whatever the text ends with: so it can be told what to take out again.
    if text.is_empty() { whole() } else { format!("{text}\n{}", whole()) }
}

/// The text without them.
pub(super) fn unset(text: &str) -> String {
    let Some((begin, end)) = found(text) else { return text.to_owned() };
    let before = text.get(..begin).unwrap_or_default();
    let before = before.strip_suffix('\n').unwrap_or(before);
    [before, text.get(end..).unwrap_or_default()].concat()
}
