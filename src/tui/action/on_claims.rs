//! The acts on claims: narrowing their list, going from match to match, and what is done to one.
#![allow(clippy::enum_glob_use, reason = "the table names every act")]

use super::{
    Action::*,
    ActionSpec,
    KeyScope::{Claim, Claims, Matches},
    enabled as can,
    rows::{acts, asks, plain},
};

/// Every one.
pub(super) const ON_CLAIMS: &[ActionSpec] = &[
    plain(
        StatusFilter,
        Claims,
        &["f"],
        "status",
        "Filter by status",
        "Show active, superseded, retracted or all claims.",
        can::always,
    ),
    plain(KindFilter, Claims, &["F"], "kind", "Filter by kind", "Show one kind of claim, or all.", can::always),
    plain(
        ReviewFilter,
        Claims,
        &["V"],
        "",
        "Only what needs review",
        "Show only claims of which something they rest on has changed, or all again.",
        can::always,
    ),
    plain(
        ClaimWhy,
        Claim,
        &["w"],
        "why",
        "Why",
        "Show how the claim came about: its reasons, what it replaced, what rests on it.",
        can::claim,
    ),
    acts(
        ClaimSupersede,
        Claim,
        &["e"],
        "supersede",
        "Supersede",
        "The decision changed: write the claim that replaces it. The guard checks it.",
        can::active_claim,
    )
    .also(&["edit", "change", "replace", "update"]),
    acts(
        ClaimRetract,
        Claim,
        &["r"],
        "retract",
        "Retract",
        "It was never right: take the claim out, with a reason. It stays in the history.",
        can::active_claim,
    )
    .also(&["delete", "remove", "wrong"]),
    acts(
        ClaimReinstate,
        Claim,
        &["i"],
        "reinstate",
        "Reinstate",
        "Bring a superseded or retracted claim back, with a reason.",
        can::past_claim,
    )
    .also(&["restore", "bring back"]),
    acts(
        ClaimReviewed,
        Claim,
        &["v"],
        "reviewed",
        "Mark as reviewed",
        "You looked at it and it stands, with a reason. If several are marked, all of them.",
        can::needs_review,
    )
    .also(&["confirm", "still holds", "approve"]),
    asks(
        ClaimRedact,
        Claim,
        &["X"],
        "",
        "Redact",
        "Delete the claim's text everywhere, e.g. a pasted secret. The record stays; the text cannot be restored.",
        can::redactable,
    )
    .also(&["erase", "secret", "delete the text"]),
    plain(NextMatch, Matches, &["n"], "", "Next match", "To the next row that matches the search.", can::matches),
    plain(
        PrevMatch,
        Matches,
        &["N"],
        "",
        "Previous match",
        "To the previous row that matches the search.",
        can::matches,
    ),
    plain(
        AgeFilter,
        Claims,
        &["t"],
        "",
        "Filter by age",
        "Only claims of the last day, week or month, or all.",
        can::always,
    ),
    plain(
        PersonFilter,
        Claims,
        &["p"],
        "",
        "Filter by author",
        "Only claims by whoever wrote the one under the cursor, or all again. In the search line: by:NAME.",
        can::person_filter,
    ),
    plain(
        SourceFilter,
        Claims,
        &["o"],
        "",
        "Filter by source",
        "Only claims from the file that the one under the cursor comes from, or all again. In the search line: source:FILE.",
        can::source_filter,
    ),
    plain(
        VerdictFilter,
        Claims,
        &["m"],
        "",
        "Filter by verdict",
        "Only claims that are disputed, stored with a warning, neither, or all.",
        can::always,
    ),
    plain(
        SortClaims,
        Claims,
        &["O"],
        "",
        "Sort",
        "The newest first, by kind, or by source: files in their order, and their lines.",
        can::always,
    )
    .also(&["order", "newest", "kind", "source"]),
    plain(Widen, Claims, &["c"], "", "Clear the filters", "Show all active claims again.", can::narrowed)
        .also(&["reset"]),
];
