//! Writes claims as Markdown decision records, one per claim, with links between predecessors and successors.

use std::{
    collections::{BTreeMap, BTreeSet},
    fmt::Write,
};

use super::sentence::cut;
use crate::{
    api::ClaimView,
    domain::{ClaimId, ClaimKind, Status, text::sanitize},
};

/// The maximum length of a title, in characters.
const MAX_TITLE: usize = 80;

/// The maximum length of the title's part of a file name, in bytes.
const MAX_SLUG: usize = 60;

/// A decision record to write.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RecordFile {
    /// Its name: `0001-use-postgres.md`.
    pub name: String,
    pub text: String,
}

/// Returns a record for each guarded claim, numbered by time. Facts, undone and redacted claims are left out.
pub fn records(claims: &[ClaimView]) -> Vec<RecordFile> {
    let mut exported: Vec<&ClaimView> = claims
        .iter()
        .filter(|claim| claim.kind.is_guarded() && !claim.flags.undone && !claim.flags.redacted)
        .filter(|claim| !claim.statement.trim().is_empty())
        .collect();
    exported.sort_by_key(|claim| (claim.at, claim.id));
    exported.dedup_by_key(|claim| claim.id);
    let numbered: BTreeMap<ClaimId, RecordName> = exported
        .iter()
        .enumerate()
        .map(|(at, claim)| {
            let title = cut(one_line(&claim.statement).trim_end_matches('.'), MAX_TITLE);
            let name = format!("{:04}-{}.md", at + 1, slug(&title));
            (claim.id, RecordName { number: at + 1, title, name })
        })
        .collect();
    let mut replaces: BTreeMap<ClaimId, BTreeSet<ClaimId>> = BTreeMap::new();
    for claim in &exported {
        replaces.entry(claim.id).or_default().extend(&claim.replaces);
        for by in &claim.replaced_by {
            replaces.entry(*by).or_default().insert(claim.id);
        }
    }
    let empty = BTreeSet::new();
    exported
        .iter()
        .filter_map(|claim| {
            let own = numbered.get(&claim.id)?;
            let old: Vec<_> =
                replaces.get(&claim.id).unwrap_or(&empty).iter().filter_map(|id| numbered.get(id)).collect();
            let new: Vec<_> = claim.replaced_by.iter().filter_map(|id| numbered.get(id)).collect();
            Some(RecordFile { name: own.name.clone(), text: text(claim, own, &old, &new) })
        })
        .collect()
}

/// The number, title and file name of a record.
struct RecordName {
    number: usize,
    title: String,
    name: String,
}

impl RecordName {
    fn link(&self) -> String {
        format!("[{}. {}]({})", self.number, escape(&self.title), self.name)
    }
}

fn text(claim: &ClaimView, own: &RecordName, old: &[&RecordName], new: &[&RecordName]) -> String {
    let mut out = String::new();
    let status = match (claim.status, claim.kind) {
        (Status::Active, ClaimKind::Rejection) => "Rejected",
        (Status::Active, _) => "Accepted",
        (Status::Superseded, _) => "Superseded",
        (Status::Retracted | Status::Refused, _) => "Deprecated",
    };
    let mut push = |line: &str| {
        // Writing to a string cannot fail.
        let _ = writeln!(out, "{line}");
    };
    push(&format!("# {}. {}\n", own.number, escape(&own.title)));
    push(&format!("Date: {}\n", date(claim.at)));
    push("## Status\n");
    push(&format!("{status}\n"));
    for new in new {
        push(&format!("Superseded by {}\n", new.link()));
    }
    for old in old {
        push(&format!("Supersedes {}\n", old.link()));
    }
    push("## Context\n");
    push(&format!("{}\n", paragraph(claim.reason.as_deref().unwrap_or("No reason is recorded."))));
    push("## Decision\n");
    push(&format!("{}\n", paragraph(&claim.statement)));
    if claim.status != Status::Active
        && let Some(reason) = &claim.closing_reason
    {
        push("## Why it is no longer active\n");
        push(&format!("{}\n", paragraph(reason)));
    }
    push("## Provenance\n");
    let agent = claim.agent.as_ref().map(|agent| format!(" through {agent}")).unwrap_or_default();
    push(&format!("- Kind: {}", claim.kind));
    push(&format!("- Recorded by: {}", escape(&one_line(&format!("{}{agent}", claim.who)))));
    if let Some(source) = &claim.source {
        push(&format!("- Source: {}", escape(&one_line(source))));
    }
    if let Some(holds) = claim.qualifiers.holds() {
        push(&format!("- Holds for: {}", escape(&one_line(&holds))));
    }
    push(&format!("- Claim: {}", claim.id));
    out
}

fn one_line(text: &str) -> String {
    sanitize(text).split_whitespace().collect::<Vec<_>>().join(" ")
}

/// Formats prose as one Markdown paragraph that is parsed as the same words, and not as a heading or a list.
fn paragraph(text: &str) -> String {
    let line = escape(&one_line(text));
    let digits = line.len() - line.trim_start_matches(|c: char| c.is_ascii_digit()).len();
    let rest = line.get(digits..).unwrap_or_default();
    let marked = line.starts_with(['#', '-', '+', '>', '=', '|']) || (digits > 0 && rest.starts_with(['.', ')']));
    if marked { [line.get(..digits).unwrap_or_default(), "\\", rest].concat() } else { line }
}

/// Escapes the characters that Markdown would parse as emphasis, a link, a tag or an entity. Code spans stay as they are.
fn escape(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut before = ' ';
    let mut rest = text;
    while let Some(c) = rest.chars().next() {
        let code = code_span(rest);
        let taken = if code > 0 { code } else { c.len_utf8() };
        let (part, after) = rest.split_at_checked(taken).unwrap_or((rest, ""));
        let next = after.chars().next().unwrap_or(' ');
        let special = match c {
            '`' => code == 0,
            // Within a word, `_` is no emphasis: `snake_case`.
            '_' => !(before.is_alphanumeric() && next.is_alphanumeric()),
            _ => matches!(c, '\\' | '*' | '~' | '[' | ']' | '<' | '&'),
        };
        if special {
            out.push('\\');
        }
        out.push_str(part);
        (before, rest) = (c, after);
    }
    out
}

/// Returns the length in bytes of the code span with which a text begins; 0 if it does not begin with one.
fn code_span(text: &str) -> usize {
    let run = |text: &str| text.len() - text.trim_start_matches('`').len();
    let opening = run(text);
    if opening == 0 {
        return 0;
    }
    let mut at = opening;
    loop {
        let rest = text.get(at..).unwrap_or_default();
        let Some(found) = rest.find('`') else { return 0 };
        let closing = run(rest.get(found..).unwrap_or_default());
        at += found + closing;
        if closing == opening {
            return at;
        }
    }
}

fn slug(title: &str) -> String {
    let mut out = String::new();
    for c in title.chars() {
        if c.is_ascii_alphanumeric() {
            out.push(c.to_ascii_lowercase());
        } else if !out.ends_with('-') && !out.is_empty() {
            out.push('-');
        }
        if out.len() >= MAX_SLUG {
            break;
        }
    }
    let out = out.trim_end_matches('-');
    if out.is_empty() { "claim".to_owned() } else { out.to_owned() }
}

/// Formats the UTC date of a time in milliseconds since the Unix epoch.
fn date(at: u64) -> String {
    let millis = i64::try_from(at).unwrap_or(i64::MAX);
    jiff::Timestamp::from_millisecond(millis)
        .map_or_else(|_| "unknown".to_owned(), |at| at.to_zoned(jiff::tz::TimeZone::UTC).date().to_string())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::interchange::{
        adr::{Record, RecordStatus},
        fixture::claim,
    };

    fn pair() -> Vec<ClaimView> {
        let mut old = claim(1, "Use MongoDB [for events].");
        let mut new = claim(2, "Use PostgreSQL for events.");
        old.status = Status::Superseded;
        old.replaced_by = vec![new.id];
        old.closing_reason = Some("It lost writes.".into());
        new.replaces = vec![old.id];
        new.source = Some("docs/a.md:3".into());
        vec![new, old]
    }

    #[test]
    fn what_is_exported_is_imported_with_its_links() {
        let files = records(&pair());
        let read: Vec<Record> = files.iter().map(|file| Record::parse(&file.name, &file.text).unwrap()).collect();
        assert_eq!(files[0].name, "0001-use-mongodb-for-events.md");
        assert_eq!(read[0].status, RecordStatus::Superseded);
        assert_eq!(read[0].statement, "Use MongoDB [for events].");
        assert!(read[1].matches(&read[0].superseded_by[0]));
        assert!(read[0].matches(&read[1].supersedes[0]));
        assert_eq!(read[1].statement, "Use PostgreSQL for events.");
        assert_eq!(read[1].reason, "Why Use PostgreSQL for events.");
        assert_eq!(read[1].date.as_deref(), Some("1970-01-03"));
    }

    #[test]
    fn facts_and_what_was_undone_or_redacted_are_no_records() {
        let mut claims = [claim(1, "a"), claim(2, "b"), claim(3, "c"), claim(4, "d")];
        claims[0].kind = ClaimKind::Fact;
        claims[1].flags.undone = true;
        claims[2].flags.redacted = true;
        let names: Vec<_> = records(&claims).into_iter().map(|file| file.name).collect();
        assert_eq!(names, ["0001-d.md"]);
    }

    #[rstest::rstest]
    #[case(ClaimKind::Constraint, "Keep `__init__`-less packages: no code in __init__.py, pass **kwargs on")]
    #[case(ClaimKind::Convention, "1. Use a * b, ~5 and C:\\temp <br> [x](y) &amp; ``` more.")]
    #[case(ClaimKind::Decision, "we use max_page of 3. Pages are cut, because they are large.")]
    #[case(ClaimKind::Decision, "- This is no list.")]
    #[case(
        ClaimKind::Rejection,
        "We do not use GraphQL for the public API, since its queries cannot be cached at the edge. REST stays."
    )]
    fn a_claim_comes_back_as_it_was(#[case] kind: ClaimKind, #[case] statement: &str) {
        let mut one = claim(1, statement);
        one.kind = kind;
        one.reason = Some("it was asked, and _agreed_".into());
        one.qualifiers.env = Some("staging, eu".into());
        one.qualifiers.valid_until = Some("2030-01-01".into());
        let file = records(&[one.clone()]).remove(0);
        let read = Record::parse(&file.name, &file.text).unwrap();
        assert_eq!((read.kind(), read.statement.as_str()), (kind, statement));
        assert_eq!(read.reason, "it was asked, and _agreed_");
        assert_eq!((read.qualifiers(), read.exported.unwrap().id), (one.qualifiers, one.id));
    }

    proptest::proptest! {
        #[test]
        fn any_statement_makes_a_safe_name_and_a_record_that_can_be_read(statement in "\\PC{1,120}") {
            let claims = [claim(1, &statement)];
            for file in records(&claims) {
                let safe = file.name.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'-' || b == b'.');
                proptest::prop_assert!(safe && file.name.len() <= 80, "{}", file.name);
                proptest::prop_assert!(file.text.contains("## Decision"));
            }
        }
    }
}
