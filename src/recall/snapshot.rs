//! A scope on one page: what is in force, by kind and subject, as Markdown within a budget of tokens.
//!
//! The same claims make the same page. Where not all have room, each subject keeps its newest claim before any keeps a second one, and the page says
//! how many are left out.

use std::{
    collections::{BTreeMap, HashMap},
    fmt::Write,
};

use crate::domain::{ClaimId, ClaimKind, text::sanitize_line};

/// Tokens of a page unless others are asked for.
pub const TOKENS: usize = 800;

/// Bytes of English text that make a token, about: what models of today have.
const BYTES_A_TOKEN: usize = 4;

/// How long a statement may be, in characters, from the most that is tried to the least.
const WIDTHS: [usize; 4] = [240, 160, 100, 64];

/// What is kept for the last line.
const LAST_LINE: usize = 80;

/// The kinds in the order of the page, with their headings.
const KINDS: [(ClaimKind, &str); 5] = [
    (ClaimKind::Constraint, "Constraints"),
    (ClaimKind::Decision, "Decisions"),
    (ClaimKind::Rejection, "Rejected"),
    (ClaimKind::Convention, "Conventions"),
    (ClaimKind::Fact, "Facts"),
];

/// A claim as the page needs it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entry {
    /// Its id.
    pub id: ClaimId,
    /// Its kind.
    pub kind: ClaimKind,
    /// What it is about; empty where nobody knows.
    pub subject: String,
    /// The statement.
    pub statement: String,
    /// When it was written, in milliseconds since the Unix epoch.
    pub at: u64,
}

/// A page.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Page {
    /// The Markdown.
    pub text: String,
    /// How many claims stand on it.
    pub shown: usize,
    /// How many tokens it has, about.
    pub tokens: usize,
}

/// About how many tokens a text has.
pub fn tokens(text: &str) -> usize {
    text.len().div_ceil(BYTES_A_TOKEN)
}

/// Puts claims on a page of about so many tokens. `total` is how many are in force, which may be more than were read.
pub fn page(title: &str, mut entries: Vec<Entry>, total: usize, budget: usize) -> Page {
    entries.sort_by(|a, b| b.at.cmp(&a.at).then(a.id.cmp(&b.id)));
    // Of each subject the newest first, of all subjects.
    let mut turns: HashMap<(ClaimKind, &str), usize> = HashMap::new();
    let mut order: Vec<(usize, &Entry)> = Vec::with_capacity(entries.len());
    for entry in &entries {
        let turn = turns.entry((entry.kind, entry.subject.as_str())).or_default();
        order.push((*turn, entry));
        *turn += 1;
    }
    let rank = |kind: ClaimKind| KINDS.iter().position(|(known, _)| *known == kind);
    order.sort_by_key(|(turn, entry)| (*turn, rank(entry.kind)));
    let order: Vec<&Entry> = order.into_iter().map(|(_, entry)| entry).collect();
    let room = budget.saturating_mul(BYTES_A_TOKEN);
    let head = format!("# {}: {total} in force\n", sanitize_line(title));
    let headings: usize = KINDS.iter().map(|(_, heading)| heading.len() + 6).sum();
    let free = room.saturating_sub(head.len() + headings + LAST_LINE);
    let mut chosen = (WIDTHS[WIDTHS.len() - 1], 0);
    for width in WIDTHS {
        let mut left = free;
        let fits = order.iter().take_while(|entry| {
            let length = line(entry, width).len();
            let fits = length <= left;
            left = left.saturating_sub(length);
            fits
        });
        chosen = (width, fits.count());
        if chosen.1 == order.len() {
            break;
        }
    }
    let (width, shown) = chosen;
    let mut text = head;
    for (kind, heading) in KINDS {
        let mut groups: BTreeMap<&str, Vec<&Entry>> = BTreeMap::new();
        for entry in order.iter().take(shown).filter(|entry| entry.kind == kind) {
            groups.entry(&entry.subject).or_default().push(entry);
        }
        if groups.is_empty() {
            continue;
        }
        // Writing into a text cannot fail, here and below.
        let _ = write!(text, "\n## {heading}\n\n");
        for entry in groups.into_values().flatten() {
            text.push_str(&line(entry, width));
        }
    }
    if shown < total {
        let _ = write!(text, "\n{} more: `ergo recall` finds them.\n", total - shown);
    }
    Page { shown, tokens: tokens(&text), text }
}

/// A claim on one line.
fn line(entry: &Entry, width: usize) -> String {
    let statement = sanitize_line(&entry.statement);
    let statement = match statement.char_indices().nth(width) {
        Some((at, _)) => format!("{}…", statement[..at].trim_end()),
        None => statement,
    };
    format!("- {statement} ({})\n", entry.id.short())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn entry(n: u8, kind: ClaimKind, subject: &str, statement: &str) -> Entry {
        Entry {
            id: crate::domain::EventId([n; 32]),
            kind,
            subject: subject.into(),
            statement: statement.into(),
            at: n.into(),
        }
    }

    #[test]
    fn a_page_has_kinds_then_subjects_then_the_newest_first() {
        let entries = vec![
            entry(1, ClaimKind::Decision, "port", "The port is 80"),
            entry(2, ClaimKind::Decision, "cache", "The cache is Redis"),
            entry(3, ClaimKind::Decision, "port", "The port is open"),
            entry(4, ClaimKind::Constraint, "deploy", "Deploys need\ngreen CI"),
            entry(5, ClaimKind::Fact, "", "Bonn"),
        ];
        let page = page("acme/api", entries, 5, TOKENS);
        let lines: Vec<&str> =
            page.text.lines().filter(|line| !line.is_empty()).map(|line| line.split(" (").next().unwrap()).collect();
        assert_eq!(
            lines,
            [
                "# acme/api: 5 in force",
                "## Constraints",
                "- Deploys need green CI",
                "## Decisions",
                "- The cache is Redis",
                "- The port is open",
                "- The port is 80",
                "## Facts",
                "- Bonn"
            ]
        );
        assert_eq!((page.shown, page.tokens), (5, tokens(&page.text)));
    }

    #[test]
    fn where_room_is_short_each_subject_keeps_one_before_any_keeps_two() {
        let long = "word ".repeat(60);
        let mut entries: Vec<Entry> = (0..30).map(|n| entry(n, ClaimKind::Decision, "port", &long)).collect();
        entries.push(entry(0, ClaimKind::Fact, "old", "The oldest of all"));
        let page = page("acme/api", entries, 31, 200);
        assert!(page.text.contains("The oldest of all"), "{}", page.text);
        assert!(page.shown < 31 && page.tokens <= 200, "{page:?}");
        assert!(page.text.contains(&format!("{} more", 31 - page.shown)));
    }

    proptest! {
        #[test]
        fn the_budget_holds_and_order_leaves_no_trace(
            claims in prop::collection::vec((0..5_usize, "[a-c]?", "\\PC{0,300}"), 0..60),
            budget in 60_usize..1_500,
            turn in 0..60_usize,
        ) {
            let mut entries: Vec<Entry> = claims.iter().enumerate().map(|(n, (kind, subject, statement))| {
                entry(n as u8, KINDS[*kind].0, subject, statement)
            }).collect();
            let first = page("acme/api", entries.clone(), entries.len(), budget);
            prop_assert!(first.tokens <= budget.max(tokens(first.text.lines().next().unwrap_or_default()) + 30), "{first:?}");
            if !entries.is_empty() {
                let by = turn % entries.len();
                entries.rotate_left(by);
            }
            prop_assert_eq!(first, page("acme/api", entries.clone(), entries.len(), budget));
        }
    }
}
