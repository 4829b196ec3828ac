//! Writes all active claims as a block for AGENTS.md and similar files, for agents without tools. `ergo notes write` writes a
//! selection of them.

use std::fmt::Write;

use crate::{
    api::ClaimView,
    domain::{
        ClaimKind, Scope, Status,
        marked_section::{CLAIMS, CLAIMS_BEGIN_LINE, claims_title},
        text::{sanitize_line, without_place},
    },
};

/// The kinds in order, with their titles.
const TITLES: [(ClaimKind, &str); 4] = [
    (ClaimKind::Constraint, "Constraints"),
    (ClaimKind::Decision, "Decisions"),
    (ClaimKind::Convention, "Conventions"),
    (ClaimKind::Rejection, "Rejected"),
];

/// Returns the block of a scope's active claims. Facts are left out, since they change too often for a file.
pub fn block(scope: &Scope, claims: &[ClaimView]) -> String {
    let mut text = format!("{CLAIMS_BEGIN_LINE}\n## {}\n", claims_title(&sanitize_line(&scope.to_string())));
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
            // A claim that contains a marker must not end the block.
            let safe = |text: &str| sanitize_line(text).replace("<!--", "<! --").replace("-->", "-- >");
            let reason =
                claim.reason.as_deref().and_then(without_place).map(|reason| format!(" *Because:* {}", safe(reason)));
            let limits = claim.limits().map(|limits| format!(" ({})", safe(&limits))).unwrap_or_default();
            let statement = safe(&claim.statement);
            let _ = writeln!(text, "- {statement}{limits}{} `{}`", reason.unwrap_or_default(), claim.id.short());
        }
    }
    text.push_str(CLAIMS.end);
    text.push('\n');
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::interchange::fixture::claim;

    #[test]
    fn the_block_has_the_active_claims_and_none_ends_it() {
        let mut constraint = claim(2, "Never log --> bodies");
        constraint.kind = ClaimKind::Constraint;
        let mut gone = claim(3, "gone");
        gone.status = Status::Retracted;
        let scope = constraint.scope.clone();
        let text = block(&scope, &[claim(1, "Use tabs"), constraint, gone]);
        let (binds, decided) = (text.find("Never log -- > bodies").unwrap(), text.find("Use tabs").unwrap());
        assert!(binds < decided && !text.contains("gone"), "{text}");
    }
}
