//! Writes active claims as a block for AGENTS.md and similar files, for agents without tools.

use std::fmt::Write;

use crate::{
    api::ClaimView,
    domain::{ClaimKind, Scope, Status, text::sanitize_line},
};

const BEGIN: &str =
    "<!-- ergo:claims:begin (written by `ergo export agents`; changes in this block are overwritten) -->";
const END: &str = "<!-- ergo:claims:end -->";

/// The kinds in order, with their titles.
const TITLES: [(ClaimKind, &str); 4] = [
    (ClaimKind::Constraint, "Constraints"),
    (ClaimKind::Decision, "Decisions"),
    (ClaimKind::Convention, "Conventions"),
    (ClaimKind::Rejection, "Rejected"),
];

/// Returns the block of a scope's active claims. Facts are left out, since they change too often for a file.
pub fn block(scope: &Scope, claims: &[ClaimView]) -> String {
    let mut text = format!("{BEGIN}\n## Active claims of {} (ergo)\n", sanitize_line(&scope.to_string()));
    for (kind, title) in TITLES {
        let mut of: Vec<_> = claims
            .iter()
            .filter(|claim| claim.kind == kind && claim.status == Status::Active && !claim.flags.redacted)
            .filter(|claim| !claim.flags.expired && !claim.flags.undone)
            .collect();
        of.sort_by_key(|claim| (claim.at, claim.id));
        if !of.is_empty() {
            // Writing to a string does not fail.
            let _ = write!(text, "\n### {title}\n\n");
        }
        for claim in of {
            // No claim can end the block.
            let safe = |text: &str| sanitize_line(text).replace("<!--", "<! --").replace("-->", "-- >");
            let reason = claim.reason.as_deref().map(|reason| format!(" *Because:* {}", safe(reason)));
            let _ = writeln!(text, "- {}{} `{}`", safe(&claim.statement), reason.unwrap_or_default(), claim.id.short());
        }
    }
    text.push_str(END);
    text.push('\n');
    text
}

/// Puts the block into a file's text: replaces an existing block, or else appends it.
pub fn put(text: &str, block: &str) -> String {
    let begin = text.find("<!-- ergo:claims:begin");
    let end = begin.and_then(|begin| Some(begin + text.get(begin..)?.find(END)? + END.len()));
    match begin.zip(end) {
        Some((begin, end)) => {
            let rest = text.get(end..).unwrap_or_default();
            [text.get(..begin).unwrap_or_default(), block, rest.strip_prefix('\n').unwrap_or(rest)].concat()
        }
        None if text.is_empty() => block.to_owned(),
        None => format!("{}\n\n{block}", text.trim_end_matches('\n')),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::interchange::fixture::claim;

    #[test]
    fn the_block_takes_its_own_place_and_what_is_around_it_stays() {
        let mut constraint = claim(2, "Never log --> bodies");
        constraint.kind = ClaimKind::Constraint;
        let mut gone = claim(3, "gone");
        gone.status = Status::Retracted;
        let scope = constraint.scope.clone();
        let text = block(&scope, &[claim(1, "Use tabs"), constraint, gone]);
        let (binds, decided) = (text.find("Never log -- > bodies").unwrap(), text.find("Use tabs").unwrap());
        assert!(binds < decided && !text.contains("gone"), "{text}");
        let once = put("# Rules\n\nBe kind.\n", &text);
        assert!(once.starts_with("# Rules\n\nBe kind.\n\n<!-- ergo:claims"), "{once}");
        assert_eq!(put(&once, &text), once);
        let longer = once.clone() + "\nAfter.\n";
        let other = put(&longer, &block(&scope, &[]));
        assert!(other.ends_with("\n\nAfter.\n") && !other.contains("tabs"), "{other}");
    }
}
