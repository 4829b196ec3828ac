//! Claims: as a row of a list, or in full.

use super::{
    text::count,
    time::{ago, day},
};
use crate::{
    api::ClaimView,
    cli::ui::{SafeText, Style, Ui},
    domain::{
        Status,
        text::{self, escape},
    },
};

/// The placeholder of a redacted statement.
const REDACTED: &str = "(redacted)";

/// Returns a claim's statement for display.
pub(crate) fn statement(claim: &ClaimView) -> &str {
    if claim.flags.redacted { REDACTED } else { &claim.statement }
}

/// Describes status and flags: “active, needs review”.
pub(crate) fn state(claim: &ClaimView) -> String {
    let status = claim.flags.status_word(claim.status);
    // Undone replaces the status, and redaction is visible from the text.
    let parts = claim.flag_words().filter(|word| !matches!(*word, "undone" | "redacted"));
    std::iter::once(status).chain(parts).collect::<Vec<_>>().join(", ")
}

/// Names the author: “ada”, or “ada via claude”.
pub(crate) fn author(who: &str, agent: Option<&str>) -> String {
    escape(&text::writer(who, agent))
}

/// Names the author of a claim, and the device if a team names it: “ada via claude, on ada-laptop”.
pub(crate) fn writer(claim: &ClaimView) -> String {
    let who = escape(&claim.writer());
    match claim.device_words() {
        Some(device) => format!("{who}, on {}", escape(&device)),
        None => who,
    }
}

impl Ui {
    /// Shows a claim as a row of a list: id, kind, state unless it is active, statement; shortened to one line on a terminal.
    pub(crate) fn claim_row(&mut self, claim: &ClaimView, now: u64) {
        let id = self.paint(Style::Code, claim.id.short());
        let kind = format!("{:<10}", claim.kind.as_str());
        let state = Some(state(claim)).filter(|state| state != "active");
        let conditions = claim.qualifiers.conditions().map(|conditions| format!("only {conditions}"));
        let future = claim.qualifiers.valid_from.as_ref().filter(|first| **first > day(now));
        let from = future.map(|first| format!("from {first}"));
        let marks: Vec<_> = state.into_iter().chain(conditions).chain(from).collect();
        let mark = if marks.is_empty() { String::new() } else { escape(&format!("[{}] ", marks.join("; "))) };
        let age = ago(claim.at, now);
        let used = 10 + 2 + 10 + 1 + mark.len() + 2 + age.len();
        let text = self.fit(statement(claim), used);
        let style = if claim.status == Status::Active && !claim.flags.undone { Style::Warn } else { Style::Dim };
        let mark = if mark.is_empty() { SafeText::default() } else { self.paint(style, mark) };
        let age = self.paint(Style::Dim, age);
        self.line(text!("{}  {} {}{}  {}", id, kind, mark, text, age));
    }

    /// Shows a claim in full.
    pub(crate) fn claim(&mut self, claim: &ClaimView, now: u64) {
        self.prose(0, Some(Style::Strong), statement(claim));
        let id = self.paint(Style::Code, claim.id.short());
        let state = state(claim);
        let state = if state == "active" { SafeText::from("active") } else { self.paint(Style::Warn, state) };
        let author = writer(claim);
        let scope = escape(&claim.scope.to_string());
        self.line(text!("{} {} · {} · {} · {} · {}", claim.kind, id, state, scope, ago(claim.at, now), author));
        self.claim_fields(claim);
    }

    /// Shows in how many projects a claim of the organisation was seen.
    pub(crate) fn seen_in(&mut self, claim: &ClaimView) {
        if claim.seen_in > 0 {
            self.field("seen in", &count(claim.seen_in, "project", "projects"));
        }
    }

    /// Shows the claims to which this one is an exception, or that are exceptions to it, with the reasons.
    pub(crate) fn beside(&mut self, claim: &ClaimView) {
        for other in &claim.beside {
            let (label, text) = other.words();
            self.field(label, &text);
        }
    }

    /// Shows the fields of a claim: reason, source, key, qualifiers, closing reason, exceptions, and how many claims depend on it.
    pub(crate) fn claim_fields(&mut self, claim: &ClaimView) {
        match (&claim.reason, claim.kind.is_guarded() && !claim.flags.redacted) {
            (Some(reason), _) => self.field("because", reason),
            (None, true) => self.field("because", claim.flags.missing_reason()),
            (None, false) => {}
        }
        if let Some(source) = &claim.source {
            self.field("source", source);
        }
        if let Some(key) = &claim.key {
            self.field("key", key);
        }
        if let Some(holds) = claim.qualifiers.holds() {
            self.field("holds", &holds);
        }
        if let Some(reason) = &claim.closing_reason {
            self.field(claim.status.as_str(), &format!("because: {reason}"));
        }
        self.seen_in(claim);
        self.beside(claim);
        if claim.dependents > 0 {
            self.field("dependents", &count(claim.dependents, "claim", "claims"));
        }
    }
}
