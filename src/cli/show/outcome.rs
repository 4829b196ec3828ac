//! The answer to a write: stored, done, refused by the guard, or stale.

use super::{
    claim::{state, statement, writer},
    text::{count, quote},
    time::ago,
};
use crate::{
    api::{Conflict, Done, Proposed, Refused, Stale, Stored, Warning, WriteOutcome},
    cli::{
        Context, Exit,
        ui::{SafeText, Style, Ui},
        write::flags_for_fields,
    },
    domain::text::{escape, sanitize_line},
};

/// The most claims that are named of those that need review.
const NAMED: usize = 10;

/// Shows the answer to a write, and tells how the program ends. `statement` is what was to be written, where something was.
pub(crate) fn show(cx: &mut Context, outcome: &WriteOutcome, statement: Option<&str>) -> Exit {
    let exit = exit(outcome);
    if cx.ui.json {
        cx.ui.value(outcome);
        return exit;
    }
    let now = Context::now();
    match outcome {
        WriteOutcome::Stored(stored) => cx.ui.stored(stored),
        WriteOutcome::Done(done) => cx.ui.done(done),
        WriteOutcome::Proposed(proposed) => cx.ui.proposed(proposed),
        WriteOutcome::Conflict(refused) => cx.ui.refused(refused, statement, now),
        WriteOutcome::Stale(stale) => cx.ui.stale(stale, now),
    }
    exit
}

/// How the program ends after this answer.
pub(crate) fn exit(outcome: &WriteOutcome) -> Exit {
    match outcome {
        WriteOutcome::Stored(_) | WriteOutcome::Done(_) => Exit::Ok,
        WriteOutcome::Conflict(_) | WriteOutcome::Proposed(_) => Exit::Refused,
        WriteOutcome::Stale(_) => Exit::Stale,
    }
}

impl Ui {
    fn stored(&mut self, stored: &Stored) {
        let id = self.paint(Style::Code, stored.claim_id.short());
        let scope = escape(&stored.scope.to_string());
        if self.quiet {
            self.line(text!("{}", stored.claim_id.short()));
        } else if stored.dry_run {
            self.line(text!("Would be stored in {}: the guard has nothing against it.", scope));
        } else if stored.duplicate {
            self.line(text!(
                "Known already: {} in {} says the same and is in force. It is not stored again.",
                id,
                scope
            ));
        } else {
            let done = self.paint(Style::Good, "Stored");
            let replaced: Vec<_> = stored.superseded.iter().map(|id| self.paint(Style::Code, id.short())).collect();
            let replaced = match replaced.as_slice() {
                [] => SafeText::default(),
                ids => text!("; it replaces {}", SafeText::join(ids, ", ")),
            };
            self.line(text!("{} {} in {}{}.", done, id, scope, replaced));
        }
        self.warnings(&stored.warnings);
    }

    fn done(&mut self, done: &Done) {
        if !self.quiet {
            self.prose(0, None, &done.summary);
            if !done.needs_review.is_empty() {
                let ids: Vec<_> = done.needs_review.iter().take(NAMED).map(|id| id.short()).collect();
                let all = done.needs_review.len();
                let many = count(all, "claim that rests on it needs", "claims that rest on it need");
                let more = if all > NAMED { ", …" } else { "" };
                self.line(text!("{} review: {}{}", many, ids.join(", "), more));
                self.line("  ergo claims --needs-review");
            }
        }
        self.warnings(&done.warnings);
    }

    /// What an agent may only propose: nothing changed yet.
    fn proposed(&mut self, proposed: &Proposed) {
        self.prose(0, None, &format!("{}.", proposed.summary));
        let card = proposed.card_id.short();
        self.commands(&[
            (format!("ergo resolve {card} --retract 1"), "a person accepts it".into()),
            (format!("ergo resolve {card} --dismiss --reason '…'"), "a person keeps the claim".into()),
        ]);
    }

    fn warnings(&mut self, warnings: &[Warning]) {
        for warning in warnings {
            let label = self.paint(Style::Warn, "Warning:");
            let message = sanitize_line(&flags_for_fields(&warning.message));
            self.line(text!("{} {}", label, message));
            for claim in &warning.claims {
                let id = self.paint(Style::Code, claim.id.short());
                let text = self.fit(statement(claim), 14);
                self.line(text!("  {}  {}", id, text));
            }
            if let Some(conflict) = &warning.conflict {
                let id = conflict.claim.id.short();
                let text = self.fit(statement(&conflict.claim), 14);
                let id = self.paint(Style::Code, id);
                self.line(text!("  {}  {}", id, text));
                self.evidence(&conflict.evidence);
            }
        }
    }

    /// A refusal: what was refused, what stands against it and why, and the ways on as commands.
    pub(crate) fn refused(&mut self, refused: &Refused, written: Option<&str>, now: u64) {
        let label = self.paint(Style::Bad, "Refused:");
        let scope = escape(&refused.scope.to_string());
        self.line(text!("{} this contradicts what {} holds.", label, scope));
        if let Some(written) = written {
            self.line("");
            self.field("you wrote", written);
        }
        for conflict in &refused.conflicts {
            self.line("");
            self.conflict(conflict, now);
        }
        self.line("");
        match refused.card_id {
            Some(card) => {
                let id = self.paint(Style::Code, card.short());
                self.line(text!("It is not lost: it waits on card {} until someone decides.", id));
                self.line("");
                let card = card.short();
                let old = refused.conflicts.first().map(|conflict| conflict.claim.id.short()).unwrap_or_default();
                let why = quote("why the change");
                self.commands(&[
                    (
                        format!("ergo resolve {card} --keep 1 --reason {why}"),
                        "the world changed: replace the old".into(),
                    ),
                    (format!("ergo resolve {card} --retract {old} --reason '…'"), "the old was never right".into()),
                    (
                        format!("ergo resolve {card} --narrow 1 --env ENV --reason '…'"),
                        "both hold, each in its place".into(),
                    ),
                    (format!("ergo resolve {card} --exception --reason '…'"), "both stay, on the record".into()),
                    (format!("ergo resolve {card} --dismiss --reason '…'"), "not a contradiction: store it".into()),
                    (format!("ergo resolve {card} --discard --reason '…'"), "drop it".into()),
                    (format!("ergo tui --conflict {card}"), "look at both side by side".into()),
                ]);
            }
            None => {
                for way in &refused.ways_on {
                    self.prose(2, None, way);
                }
            }
        }
    }

    fn conflict(&mut self, conflict: &Conflict, now: u64) {
        let claim = &conflict.claim;
        self.field("against", statement(claim));
        let author = writer(claim);
        let state = state(claim);
        let line = format!("{} {} · {state} · {} · {author}", claim.kind, claim.id.short(), ago(claim.at, now));
        self.field("", &line);
        self.claim_fields(claim);
        self.evidence(&conflict.evidence);
    }

    fn stale(&mut self, stale: &Stale, now: u64) {
        let label = self.paint(Style::Warn, "Stale:");
        let message = sanitize_line(&stale.message);
        self.line(text!("{} {}", label, message));
        if let Some(claim) = &stale.claim {
            self.line("");
            self.claim(claim, now);
        }
        if !stale.heads.is_empty() {
            self.line("");
            self.line("What now stands in its place:");
            for head in &stale.heads {
                self.claim_row(head, now);
            }
        }
        if let Some(card) = &stale.card {
            self.line("");
            self.card(card, now);
        }
        let mut ways = Vec::new();
        if let Some(head) = stale.heads.first() {
            ways.push((
                format!("ergo supersede {} '…' --reason '…'", head.id.short()),
                "act on the current one".to_owned(),
            ));
        }
        if stale.can_reinstate
            && let Some(claim) = &stale.claim
        {
            ways.push((format!("ergo reinstate {} --reason '…'", claim.id.short()), "bring it back".to_owned()));
        }
        if !ways.is_empty() {
            self.line("");
            self.commands(&ways);
        }
    }
}
