//! The instructions for agents, between markers in a Markdown file.

use std::ops::Range;

use crate::domain::marked_section::{self, INSTRUCTIONS, SectionError, line_end};

/// The line above the instructions, which begins their section.
const BEGIN_LINE: &str = "<!-- ergo:begin (written by `ergo setup`; changes in this block are overwritten) -->";

/// The instructions on how to use ergo.
const TEXT: &str = include_str!("instructions.md");

/// Returns the section with its markers, with this line end.
fn section(end: &str) -> String {
    let lines = std::iter::once(BEGIN_LINE).chain(TEXT.lines()).chain([INSTRUCTIONS.end]);
    lines.flat_map(|line| [line, end]).collect()
}

fn find(text: &str) -> Result<Option<Range<usize>>, String> {
    marked_section::find(text, INSTRUCTIONS).map_err(|error| format!("cannot be changed: {error}"))
}

/// Returns the text with the instructions in their section, or at the end if there is none. Line ends are those of the
/// text.
pub(super) fn set(text: &str) -> Result<String, String> {
    let found = find(text)?;
    let end = line_end(text, found.clone());
    let section = section(end);
    Ok(match found {
        Some(found) => {
            [text.get(..found.start).unwrap_or_default(), &section, text.get(found.end..).unwrap_or_default()].concat()
        }
        None if text.is_empty() => section,
        // Always add one line break before the section, whatever the text ends with, so that `unset` can remove exactly
        // that.
        None => [text, end, &section].concat(),
    })
}

/// Returns the text without the section.
pub(super) fn unset(text: &str) -> Result<String, String> {
    let found = match marked_section::find(text, INSTRUCTIONS) {
        // Without a section there is nothing to remove.
        Err(SectionError::OpenFence(_)) => None,
        _ => find(text)?,
    };
    let Some(found) = found else { return Ok(text.to_owned()) };
    let (before, after) = (text.get(..found.start).unwrap_or_default(), text.get(found.end..).unwrap_or_default());
    let end = if text.get(found).is_some_and(|section| section.contains("\r\n")) { "\r\n" } else { "\n" };
    Ok([before.strip_suffix(end).unwrap_or(before), after].concat())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_section_without_its_end_is_left_to_a_person() {
        let lost = set("# Rules\n").unwrap().replace(&format!("{}\n", INSTRUCTIONS.end), "") + "- Be kind.\n";
        for changed in [set(&lost), unset(&lost)] {
            assert!(changed.unwrap_err().contains("line 3 begins ergo's section"));
        }
        let twice = set("").unwrap().repeat(2);
        for changed in [set(&twice), unset(&twice)] {
            assert!(changed.unwrap_err().contains("a second ergo section"));
        }
    }

    #[test]
    fn the_section_has_the_title_by_which_it_is_recognised() {
        assert_eq!(TEXT.lines().next(), Some(format!("## {}", marked_section::INSTRUCTIONS_TITLE).as_str()));
    }

    /// As the instructions of the MCP server do.
    #[test]
    fn the_user_sees_a_conflict_before_the_agent_settles_it() {
        assert!(TEXT.contains("Show that claim to the user; then follow it, replace it with"), "{TEXT}");
    }

    #[test]
    fn markers_in_a_block_of_code_are_text() {
        let quoted = format!("```\n{BEGIN_LINE}\n{}\n```\n", INSTRUCTIONS.end);
        let set = set(&quoted).unwrap();
        assert!(set.starts_with(&quoted) && set.matches(BEGIN_LINE).count() == 2, "{set}");
        assert_eq!(unset(&set).unwrap(), quoted);
        assert_eq!(unset("```\nopen\n").unwrap(), "```\nopen\n");
    }

    #[test]
    fn the_ends_of_lines_are_those_of_the_file() {
        let text = "# Rules\r\n\r\nBe kind.\r\n";
        let once = set(text).unwrap();
        assert!(!once.replace("\r\n", "").contains('\n'), "{once:?}");
        assert_eq!(set(&once).unwrap(), once);
        assert_eq!(unset(&once).unwrap(), text);
    }
}
