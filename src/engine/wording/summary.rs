//! One-sentence summaries of acts, and the ways to continue after a refusal.

use crate::{
    api::{ApiError, Conflict, ErrorCode},
    domain::{EventId, Qualifiers, Tier},
};

/// The greatest number of characters of a quoted statement.
const MAX_QUOTED_CHARS: usize = 72;

/// Returns a statement on one line in quotation marks, cut at a word if it is long.
pub(in crate::engine) fn quote(statement: &str) -> String {
    format!("“{}”", short(statement, MAX_QUOTED_CHARS))
}

/// Quotes all of these statements: “a”, “b” and “c”.
pub(in crate::engine) fn quote_all(statements: &[&str]) -> String {
    let quoted: Vec<String> = statements.iter().map(|statement| quote(statement)).collect();
    match quoted.as_slice() {
        [rest @ .., last] if !rest.is_empty() => format!("{} and {last}", rest.join(", ")),
        one => one.concat(),
    }
}

/// Returns what a judge said, with its reason if it gave one.
pub(in crate::engine) fn judgement(said: &str, because: Option<&str>) -> String {
    match because.map(str::trim).filter(|because| !because.is_empty()) {
        Some(because) => format!("{said}: {because}"),
        None => format!("{said}."),
    }
}

/// Returns a statement on one line, cut at a word if it has more than `most` characters.
pub(in crate::engine) fn short(statement: &str, most: usize) -> String {
    let line = statement.split_whitespace().collect::<Vec<_>>().join(" ");
    if line.is_empty() {
        return "(redacted)".into();
    }
    if line.chars().count() <= most {
        return line;
    }
    let cut: String = line.chars().take(most).collect();
    let cut = match cut.rsplit_once(' ') {
        Some((head, _)) if head.chars().count() > most / 2 => head,
        _ => cut.as_str(),
    };
    format!("{}…", cut.trim_end_matches([',', ';', ':', '.', ' ']))
}

/// Summarises an act: its verb in the past tense, and the statements of the claims that it changed.
pub(in crate::engine) fn summary(verb: &str, statements: &[&str]) -> String {
    match statements {
        [] => verb.to_owned(),
        [one] => format!("{verb} {}", quote(one)),
        [one, two] => format!("{verb} {} and {}", quote(one), quote(two)),
        [one, rest @ ..] => format!("{verb} {} and {} more", quote(one), rest.len()),
    }
}

/// Summarises a merge: the statements that were merged, and the one in their place.
pub(in crate::engine) fn merged(old: &[&str], new: &str) -> String {
    format!("{} into {}", summary("Merged", old), quote(new))
}

/// Summarises a narrowing: where and when the claim holds from now on, or that it was reworded if no qualifier was
/// given.
pub(in crate::engine) fn holds_only(statement: &str, only: &Qualifiers) -> String {
    let parts: Vec<String> = [
        ("in ", &only.env),
        ("for team ", &only.team),
        ("for tenant ", &only.tenant),
        ("from ", &only.valid_from),
        ("until ", &only.valid_until),
    ]
    .into_iter()
    .filter_map(|(word, value)| value.as_ref().map(|value| format!("{word}{value}")))
    .collect();
    match parts.as_slice() {
        [] => format!("Reworded: {}", quote(statement)),
        parts => format!("{} now holds only {}", quote(statement), parts.join(", ")),
    }
}

/// Summarises a refusal for the event stream.
pub(in crate::engine) fn refused_summary(statement: &str, conflicts: &[Conflict]) -> String {
    match conflicts.iter().find(|conflict| conflict.tier == Tier::Block) {
        Some(conflict) => {
            format!("Refused {}: it contradicts {}", quote(statement), quote(&conflict.claim.statement))
        }
        None => format!("Refused {}", quote(statement)),
    }
}

/// Lists the ways to continue after a refusal. `may_only_propose`: the writer is an agent whose exceptions a person must
/// accept.
pub(in crate::engine) fn ways_on(conflicts: &[Conflict], may_only_propose: bool) -> Vec<String> {
    let ids = blocking_ids(conflicts);
    let organisation = conflicts.iter().find(|c| c.tier == Tier::Block && !c.claim.level.is_project());
    let supersede = match organisation {
        Some(c) => format!(
            "Supersede: {} holds in each project of {}. If it changed for all of them, replace it in the scope '{}'.",
            c.claim.id.short(),
            c.claim.scope.org_id,
            c.claim.scope
        ),
        None => format!("Supersede: if the decision changed, replace {ids} and say why."),
    };
    let mut ways = vec![
        "Cancel: keep what is stored and follow it.".to_owned(),
        supersede,
        "Narrow: if both hold, but in different environments or periods, store it again with `env`, `team`, `tenant`, `valid_from` \
            or `valid_until`."
            .to_owned(),
    ];
    ways.push(if may_only_propose {
        "Exception: if both must stand, store it again with `force_exception` set to the justification. It waits on \
            the card until a person accepts it."
            .to_owned()
    } else {
        "Exception: if both must stand, store it again with `force_exception` set to the justification.".to_owned()
    });
    ways
}

/// Returns the short ids of the claims because of which the guard refuses.
fn blocking_ids(conflicts: &[Conflict]) -> String {
    let ids: Vec<String> = conflicts.iter().filter(|c| c.tier == Tier::Block).map(|c| c.claim.id.short()).collect();
    ids.join(", ")
}

/// Lists the ways to continue after the guard refused what was to settle a card.
pub(in crate::engine) fn ways_to_settle(conflicts: &[Conflict]) -> Vec<String> {
    let ids = blocking_ids(conflicts);
    vec![
        "Settle the card in another way, or with another `statement`.".to_owned(),
        format!("Supersede or retract {ids} first, if it no longer holds; then settle the card as you wanted."),
    ]
}

/// Returns the error of an undo of an act on which later events depend. `all` counts these events; `events` are the
/// first of them.
pub(in crate::engine) fn built_on(events: &[(EventId, String)], all: usize) -> ApiError {
    let named: Vec<String> = events.iter().take(3).map(|(id, what)| format!("{what} ({})", id.short())).collect();
    let more = all.saturating_sub(named.len());
    let rest = if more == 0 { String::new() } else { format!(" and {more} more") };
    let mut error = ApiError::new(
        ErrorCode::BuiltOn,
        format!("this change cannot be undone, since later changes build on it: {}{rest}", named.join(", ")),
    )
    .hint("undo those first, the latest one first");
    error.candidates = events.iter().map(|(id, _)| id.to_hex()).collect();
    error
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quotes_are_one_short_line() {
        assert_eq!(quote("Use\n  blue"), "“Use blue”");
        let long = quote(&"all deployments go through the blue canary first ".repeat(4));
        assert!(long.chars().count() <= MAX_QUOTED_CHARS + 3 && long.ends_with("…”"), "{long}");
        assert!(quote(&"x".repeat(500)).chars().count() <= MAX_QUOTED_CHARS + 3);
        assert_eq!(quote(""), "“(redacted)”");
    }

    #[test]
    fn a_judgement_without_a_reason_ends_with_a_period() {
        assert_eq!(judgement("bo judged", Some("both need the port")), "bo judged: both need the port");
        for without in [None, Some(""), Some(" ")] {
            assert_eq!(judgement("bo judged", without), "bo judged.");
        }
    }

    #[test]
    fn all_statements_can_be_quoted() {
        assert_eq!(quote_all(&["a"]), "“a”");
        assert_eq!(quote_all(&["a", "b"]), "“a” and “b”");
        assert_eq!(quote_all(&["a", "b", "c"]), "“a”, “b” and “c”");
    }

    #[test]
    fn summaries_count_what_they_do_not_name() {
        assert_eq!(summary("Retracted", &["a"]), "Retracted “a”");
        assert_eq!(summary("Superseded", &["a", "b", "c"]), "Superseded “a” and 2 more");
    }

    #[test]
    fn a_narrowed_claim_says_where_and_when_it_holds() {
        let mut only = Qualifiers { env: Some("staging".into()), ..Qualifiers::default() };
        assert_eq!(holds_only("Use blue", &only), "“Use blue” now holds only in staging");
        only.valid_until = Some("2027-01-31".into());
        assert_eq!(holds_only("Use blue", &only), "“Use blue” now holds only in staging, until 2027-01-31");
        assert_eq!(holds_only("Use blue", &Qualifiers::default()), "Reworded: “Use blue”");
    }

    #[test]
    fn an_undo_that_is_built_upon_names_what_stands_in_the_way() {
        let events: Vec<_> = (0..5).map(|n| (EventId([n; 32]), "a supersede".to_owned())).collect();
        let error = built_on(&events, events.len());
        assert_eq!(error.code, ErrorCode::BuiltOn);
        assert_eq!(error.candidates.len(), 5);
        assert!(error.message.contains("and 2 more") && error.hint.is_some());
    }
}
