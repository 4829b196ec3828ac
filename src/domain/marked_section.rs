//! Ergo's own sections in files that it does not own, each between two markers.
//!
//! A marker must be at the beginning of a line; in a code block it is ordinary text.

use std::ops::Range;

use super::fence::Fence;

/// The markers of a section: how its first and its last line begin.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Markers {
    /// The beginning of the line above the content.
    pub begin: &'static str,
    /// The beginning of the line below the content.
    pub end: &'static str,
}

/// The section of claims, which `ergo notes write` and `ergo export agents` write.
pub const CLAIMS: Markers = Markers { begin: "<!-- ergo:claims:begin", end: "<!-- ergo:claims:end -->" };

/// The line above the section of claims, whichever command writes it.
pub const CLAIMS_BEGIN_LINE: &str =
    "<!-- ergo:claims:begin (written by ergo; changes in this block are overwritten) -->";

/// The section of instructions for agents, which `ergo setup` writes.
pub const INSTRUCTIONS: Markers = Markers { begin: "<!-- ergo:begin", end: "<!-- ergo:end -->" };

/// How the first and the last line of a merge conflict begin. The line between the two versions may also underline a
/// heading.
const CONFLICT_MARKERS: [&str; 2] = ["<<<<<<<", ">>>>>>>"];

/// The title of the section of instructions.
pub const INSTRUCTIONS_TITLE: &str = "Project memory: ergo";

/// The beginning and the end of the title of a section of claims, around the name of the scope.
const CLAIMS_TITLE: (&str, &str) = ("Active claims of ", " (ergo)");

/// Returns the title of the section of claims of a scope with this name.
pub fn claims_title(scope: &str) -> String {
    [CLAIMS_TITLE.0, scope, CLAIMS_TITLE.1].concat()
}

/// Whether a heading is the title of one of ergo's sections. It tells that ergo wrote the text below it, even if
/// somebody deleted the markers.
pub fn is_own_title(heading: &str) -> bool {
    heading == INSTRUCTIONS_TITLE || heading.starts_with(CLAIMS_TITLE.0) && heading.ends_with(CLAIMS_TITLE.1)
}

/// Why it is unclear which lines of a file belong to ergo, and which to its authors. A person has to change the file
/// first.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SectionError {
    /// A first line without a last one; the line, and the missing marker.
    #[error(
        "line {0} begins ergo's section, and the line that ends it is missing: add the line `{1}` below the lines that \
         ergo wrote, or delete these lines with it"
    )]
    Unended(usize, &'static str),
    /// A last line without a first one; the line, and the beginning of the missing marker.
    #[error(
        "line {0} ends ergo's section, and the line that begins it is missing: add the line `{1} -->` above the lines \
         that ergo wrote, or delete these lines with it"
    )]
    Unbegun(usize, &'static str),
    /// A second section, or one within the other.
    #[error("line {0} begins a second ergo section: delete one of the two, with the lines between its markers")]
    Second(usize),
    /// A code block without an end, in a file without a section.
    #[error("the code block that begins in line {0} is never closed: close it")]
    OpenFence(usize),
    /// Lines of two versions, between the markers of a merge; the line of the first marker.
    #[error("the file has merge conflicts, the first one in line {0}: resolve them")]
    MergeConflict(usize),
}

/// Returns the byte range of the section, from its begin marker to the end of the line with its end marker; `None` if there is none.
///
/// # Errors
/// If it is unclear where the section is. If there is none, also if a code block is never closed, because a section that is
/// appended to such a file would be code.
pub fn find(text: &str, markers: Markers) -> Result<Option<Range<usize>>, SectionError> {
    let (found, error) = read(text, markers);
    error.map_or(Ok(found.into_iter().next()), Err)
}

/// Returns the byte ranges of all sections that have both markers, even if other markers are wrong.
pub fn complete(text: &str, markers: Markers) -> Vec<Range<usize>> {
    read(text, markers).0
}

/// Checks that it is clear which lines of a text belong to ergo, and which to its authors.
///
/// # Errors
/// A marker without its counterpart, a second section of the same markers, or a merge conflict.
pub fn check(text: &str) -> Result<(), SectionError> {
    if let Some(line) = merge_conflict(text) {
        return Err(SectionError::MergeConflict(line));
    }
    for markers in [CLAIMS, INSTRUCTIONS] {
        match find(text, markers) {
            Ok(_) | Err(SectionError::OpenFence(_)) => {}
            Err(error) => return Err(error),
        }
    }
    Ok(())
}

/// Returns the number of the first line with which git marks a merge conflict; `None` if there is none. In a code block,
/// it is an example.
fn merge_conflict(text: &str) -> Option<usize> {
    let mut fence = Fence::default();
    let is_conflict = |line: &str| {
        let label = CONFLICT_MARKERS.iter().find_map(|marker| line.strip_prefix(marker));
        label.is_some_and(|label| label.starts_with(' ') || label.trim_end().is_empty())
    };
    let found = lines(text).into_iter().position(|(_, line)| {
        let is_code = fence.is_open();
        fence.read(line);
        !is_code && is_conflict(line)
    });
    found.map(|at| at + 1)
}

/// Returns the line ending of most lines outside the section, or of the section's lines if there are no others.
pub fn line_end(text: &str, section: Option<Range<usize>>) -> &'static str {
    let count = |text: &str| (text.matches('\n').count(), text.matches("\r\n").count());
    let section = section.unwrap_or_default();
    let part = |range: Range<usize>| count(text.get(range).unwrap_or_default());
    let (before, after) = (part(0..section.start), part(section.end..text.len()));
    let (all, windows) = match (before.0 + after.0, before.1 + after.1) {
        (0, _) => part(section),
        counted => counted,
    };
    if windows * 2 > all { "\r\n" } else { "\n" }
}

/// Returns the complete sections of a text, and the first error in its markers.
fn read(text: &str, markers: Markers) -> (Vec<Range<usize>>, Option<SectionError>) {
    let lines = lines(text);
    let (mut found, mut error): (Vec<Range<usize>>, Option<SectionError>) = (Vec::new(), None);
    let (mut fence, mut fenced_from) = (Fence::default(), 0);
    let is_marker = |line: &str| line.starts_with(markers.begin) || line.starts_with(markers.end);
    let mut at = 0;
    while let Some((start, line)) = lines.get(at) {
        at += 1;
        let was_open = fence.is_open();
        fence.read(line);
        if fence.is_open() && !was_open {
            fenced_from = at;
        }
        if was_open || fence.is_open() || !is_marker(line) {
            continue;
        }
        if line.starts_with(markers.end) {
            error = error.or(Some(SectionError::Unbegun(at, markers.begin)));
            continue;
        }
        // Within the section, a claim cannot open a code block: only ergo writes these lines.
        let next = (at..lines.len()).find(|next| lines.get(*next).is_some_and(|(_, line)| is_marker(line)));
        let next = next.and_then(|next| Some((next, lines.get(next)?)));
        let wrong = match next {
            _ if !found.is_empty() => Some(SectionError::Second(at)),
            None => Some(SectionError::Unended(at, markers.end)),
            Some((next, (_, line))) if line.starts_with(markers.begin) => Some(SectionError::Second(next + 1)),
            Some(_) => None,
        };
        error = error.or(wrong);
        if let Some((next, (from, line))) = next
            && line.starts_with(markers.end)
        {
            found.push(*start..from + line.len());
            at = next + 1;
        }
    }
    if found.is_empty() && fence.is_open() {
        error = error.or(Some(SectionError::OpenFence(fenced_from)));
    }
    (found, error)
}

/// Returns the lines of a text with their line endings, and the position of each; a byte order mark belongs to no line.
fn lines(text: &str) -> Vec<(usize, &str)> {
    let mut end = 0;
    text.split_inclusive('\n')
        .map(|whole| {
            let line = if end == 0 { whole.strip_prefix('\u{feff}').unwrap_or(whole) } else { whole };
            end += whole.len();
            (end - line.len(), line)
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(text: &str) -> Vec<&str> {
        complete(text, INSTRUCTIONS).into_iter().map(|range| &text[range]).collect()
    }

    #[test]
    fn a_marker_alone_is_no_section_and_the_others_are_found() {
        let (begin, end) = ("<!-- ergo:begin -->\n", "<!-- ergo:end -->\n");
        let orphan = format!("{begin}mine\n{begin}x\n{end}after\n");
        assert_eq!(find(&orphan, INSTRUCTIONS), Err(SectionError::Second(3)));
        assert_eq!(shown(&orphan), [format!("{begin}x\n{end}")]);
        let lost = find(&format!("{begin}mine\n"), INSTRUCTIONS);
        assert_eq!(lost, Err(SectionError::Unended(1, INSTRUCTIONS.end)));
        assert!(shown(&format!("{end}{begin}mine\n")).is_empty());
        assert_eq!(shown(&format!("{begin}{end}").repeat(2)).len(), 2);
    }

    #[test]
    fn the_marker_that_an_error_names_completes_the_section() {
        let (begin, end) = (format!("{}\n", super::CLAIMS_BEGIN_LINE), format!("{}\n", CLAIMS.end));
        for (damaged, completed) in [
            (format!("{begin}- x\n"), format!("{begin}- x\n<ADDED>\n")),
            (format!("- x\n{end}"), format!("<ADDED>\n- x\n{end}")),
        ] {
            let error = check(&damaged).unwrap_err().to_string();
            let added = error.split('`').nth(1).unwrap();
            assert_eq!(check(&completed.replace("<ADDED>", added)), Ok(()), "{error}");
            assert!(error.contains("or delete these lines with it"), "{error}");
        }
    }

    #[test]
    fn both_sorts_of_sections_are_checked_and_code_is_text() {
        let claims = "<!-- ergo:claims:begin -->\n- x\n<!-- ergo:claims:end -->\n";
        let both = format!("{claims}<!-- ergo:begin -->\n<!-- ergo:end -->\n");
        assert_eq!(check(&both), Ok(()));
        let lost = check(&format!("{both}<!-- ergo:end -->\n"));
        assert_eq!(lost, Err(SectionError::Unbegun(6, INSTRUCTIONS.begin)));
        assert_eq!(check(&format!("{claims}{claims}")), Err(SectionError::Second(4)));
        assert_eq!(check("```\n<!-- ergo:begin -->\n"), Ok(()), "a fence without an end has no markers");
        assert_eq!(check("See `<!-- ergo:begin`.\n"), Ok(()), "a line that mentions it");
    }

    #[test]
    fn a_merge_conflict_is_found_outside_of_code_and_an_underlined_heading_is_none() {
        let conflict = "# Rules\n\n<<<<<<< HEAD\n- a\n=======\n- b\n>>>>>>> topic\n";
        assert_eq!(check(conflict), Err(SectionError::MergeConflict(3)));
        assert_eq!(check(&conflict.replace('\n', "\r\n")), Err(SectionError::MergeConflict(3)));
        assert_eq!(check("- a\n>>>>>>>\n"), Err(SectionError::MergeConflict(2)), "half of it is left");
        let section = format!("{}\n{conflict}{}\n", super::CLAIMS_BEGIN_LINE, CLAIMS.end);
        assert_eq!(check(&section), Err(SectionError::MergeConflict(4)));
        assert_eq!(check(&format!("```\n{conflict}```\n")), Ok(()));
        assert_eq!(check("Rules\n=======\n\n> a quote\n\n<<<<<<<<- an arrow\n"), Ok(()));
    }
}
