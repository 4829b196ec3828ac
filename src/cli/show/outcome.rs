//! Answers to writes: stored, done, proposed, refused or stale.

use super::{
    claim::{state, statement, writer},
    text::count,
    time::ago,
};
use crate::{
    api::{CardAct, CardSettlement, Conflict, Done, Doubt, Proposed, Refused, Stale, Stored, Warning, WriteOutcome},
    cli::{
        Context, Exit,
        api_words::in_arguments,
        ui::{SafeText, Style, Ui},
    },
    domain::{
        CardId,
        text::{escape, sanitize_line},
    },
};

/// The most claims needing review that are listed.
const MAX_LISTED: usize = 10;

/// The command that lists the claims to review.
pub(crate) const TO_REVIEW: &str = "ergo claims --needs-review";

/// The most similar claims that are named after a stored write.
const MAX_DOUBTS: usize = 2;

/// Shows the answer to a write and returns the exit code. `statement` is the statement that was sent, if any.
pub(crate) fn show(cx: &mut Context, outcome: &WriteOutcome, statement: Option<&str>) -> Exit {
    let exit = exit(outcome);
    if cx.ui.json {
        cx.ui.value(outcome);
        return exit;
    }
    let now = Context::now();
    match outcome {
        WriteOutcome::Stored(stored) => cx.ui.stored(stored),
        WriteOutcome::Consider(consider) => cx.ui.prose(0, None, &consider.message),
        WriteOutcome::Done(done) => {
            let to_review = cx.in_scope(TO_REVIEW);
            cx.ui.done(done, &to_review);
        }
        WriteOutcome::Proposed(proposed) => cx.ui.proposed(proposed),
        WriteOutcome::Conflict(refused) => cx.ui.refused(refused, statement, now),
        WriteOutcome::Stale(stale) => cx.ui.stale(stale, now),
    }
    exit
}

/// Returns the exit code of an answer.
pub(crate) fn exit(outcome: &WriteOutcome) -> Exit {
    match outcome {
        WriteOutcome::Stored(_) | WriteOutcome::Consider(_) | WriteOutcome::Done(_) => Exit::Ok,
        WriteOutcome::Conflict(_) | WriteOutcome::Proposed(_) => Exit::Refused,
        WriteOutcome::Stale(_) => Exit::Stale,
    }
}

impl Ui {
    fn stored(&mut self, stored: &Stored) {
        let id = self.paint(Style::Code, stored.claim_id.short());
        let scope = escape(&stored.scope.to_string());
        if self.quiet {
            // A dry run has no id.
            if !stored.dry_run {
                self.line(text!("{}", stored.claim_id.short()));
            }
        } else if stored.dry_run {
            let clean = stored.warnings.is_empty() && stored.doubts.is_empty();
            let found = if clean { "The guard found no contradiction: it" } else { "It" };
            self.line(text!("{} would be stored in {}.", found, scope));
        } else if stored.duplicate {
            self.line(text!("Already stored: {} in {} says the same.", id, scope));
        } else {
            let done = self.paint(Style::Good, "Stored");
            let replaced: Vec<_> = stored.superseded.iter().map(|id| self.paint(Style::Code, id.short())).collect();
            let replaced = match replaced.as_slice() {
                [] => SafeText::default(),
                ids => text!("; it replaces {}", SafeText::join(ids, ", ")),
            };
            self.line(text!("{} {} in {}{}.", done, id, scope, replaced));
        }
        self.warnings_of_write(&stored.warnings);
        self.doubts(&stored.doubts, &stored.warnings);
    }

    /// Names claims about the same matter as a stored write, besides those that a warning names. They may also say the same.
    fn doubts(&mut self, doubts: &[Doubt], warnings: &[Warning]) {
        let warned = |id| {
            warnings.iter().any(|warning| {
                let conflict = warning.conflict.iter().map(|conflict| &conflict.claim);
                warning.claims.iter().chain(conflict).any(|claim| claim.id == id)
            })
        };
        let doubts: Vec<_> = doubts.iter().filter(|doubt| !warned(doubt.id)).take(MAX_DOUBTS).collect();
        if doubts.is_empty() {
            return;
        }
        self.note("Similar claims. Supersede or retract those that no longer hold:");
        for doubt in doubts {
            let statement = self.fit(&doubt.statement, 14);
            self.note(text!("  {}  {}", doubt.id.short(), statement));
        }
    }

    /// Shows an act. `to_review`: the command that lists the claims to review.
    fn done(&mut self, done: &Done, to_review: &str) {
        if !self.quiet {
            self.prose(0, None, &done.summary);
            if !done.needs_review.is_empty() {
                let ids: Vec<_> = done.needs_review.iter().take(MAX_LISTED).map(|id| id.short()).collect();
                let all = done.needs_review.len();
                let many = count(all, "claim depends on it and needs", "claims depend on it and need");
                let more = if all > MAX_LISTED { ", …" } else { "" };
                self.line(text!("{} review: {}{}", many, ids.join(", "), more));
                self.line(text!("  {}", to_review));
            }
        }
        self.warnings_of_write(&done.warnings);
    }

    /// Shows the warnings of a write; on stderr if stdout is for the id alone.
    fn warnings_of_write(&mut self, warnings: &[Warning]) {
        if self.quiet {
            self.redirected_to_stderr(|ui| ui.warnings(warnings));
        } else {
            self.warnings(warnings);
        }
    }

    /// Shows a proposal of an agent, which changed nothing yet.
    fn proposed(&mut self, proposed: &Proposed) {
        self.prose(0, None, &format!("{}.", proposed.summary));
        let card = proposed.card_id.short();
        let [accept, dismiss] = match proposed.accept {
            CardAct::Supersede => ["--keep 1", "--discard"],
            CardAct::Exception => ["--exception", "--discard"],
            _ => ["--retract 1", "--dismiss"],
        };
        self.commands(&[
            (format!("ergo resolve {card} {accept}"), "a person accepts the proposal".into()),
            (format!("ergo resolve {card} {dismiss} --reason '…'"), "a person dismisses the proposal".into()),
        ]);
    }

    pub(in crate::cli) fn warnings(&mut self, warnings: &[Warning]) {
        for warning in warnings {
            let label = self.paint(Style::Warn, "Warning:");
            let message = sanitize_line(&in_arguments(&warning.message));
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

    /// Shows a refusal: what was refused, which claims it contradicts and why, and the commands that settle it.
    pub(crate) fn refused(&mut self, refused: &Refused, written: Option<&str>, now: u64) {
        let label = self.paint(Style::Bad, "Refused:");
        let scope = escape(&refused.scope.to_string());
        self.line(text!("{} this contradicts an active claim in {}.", label, scope));
        // The numbers of the sides on the card, by which the commands below name them.
        let keeps = refused.card_id.is_some() && !refused.unsettled && refused.settled.is_none();
        let sides = if keeps { ("[1] written", "[2] against") } else { ("you wrote", "against") };
        if let Some(written) = written {
            self.line("");
            self.field(sides.0, written);
        }
        let against = if refused.conflicts.len() == 1 { sides.1 } else { "against" };
        for conflict in &refused.conflicts {
            self.line("");
            self.conflict(against, conflict, now);
        }
        self.line("");
        if let (Some(card), Some(settled)) = (refused.card_id, &refused.settled) {
            return self.settled_before(card, settled, now);
        }
        match refused.card_id {
            Some(card) if refused.unsettled => {
                let id = self.paint(Style::Code, card.short());
                self.line(text!("Nothing was changed, and card {} stays open. To go on:", id));
                self.line("");
                let settle = format!("ergo resolve {} --interactive", card.short());
                let mut commands = vec![(settle, "settle it in another way, or with another text".to_owned())];
                for conflict in &refused.conflicts {
                    let old = conflict.claim.id.short();
                    commands.extend([
                        (format!("ergo supersede {old} '…' --reason '…'"), format!("{old} changed: replace it first")),
                        (
                            format!("ergo retract {old} --reason '…'"),
                            format!("{old} was never right: retract it first"),
                        ),
                    ]);
                }
                self.commands(&commands);
            }
            Some(card) if refused.may_only_propose => {
                let id = self.paint(Style::Code, card.short());
                self.line(text!("The new claim is kept on card {} until a person settles it. An agent can:", id));
                self.line("");
                let card = card.short();
                let old = refused.conflicts.first().map(|conflict| conflict.claim.id.short()).unwrap_or_default();
                let again = format!("ergo remember '…' --reason '…' --exception-to {old} --force-exception '…'");
                self.commands(&[
                    (
                        format!("ergo supersede {old} '…' --reason '…'"),
                        "something changed: propose to replace it".into(),
                    ),
                    (again, "both must stand: propose an exception".into()),
                    (format!("ergo resolve {card} --discard --reason '…'"), "discard the new claim".into()),
                ]);
            }
            Some(card) => {
                let id = self.paint(Style::Code, card.short());
                self.line(text!("The new claim is kept on card {}. To settle the conflict:", id));
                self.line("");
                let card = card.short();
                let old = refused.conflicts.first().map(|conflict| conflict.claim.id.short()).unwrap_or_default();
                self.commands(&[
                    (
                        format!("ergo resolve {card} --keep 1 --reason '…'"),
                        "something changed: supersede the existing claim".into(),
                    ),
                    (
                        format!("ergo resolve {card} --retract {old} --reason '…'"),
                        "the existing claim was never right".into(),
                    ),
                    (
                        format!("ergo resolve {card} --narrow 1 --env ENV --reason '…'"),
                        "limit [1]; both stay active".into(),
                    ),
                    (format!("ergo resolve {card} --exception --reason '…'"), "keep both, as an exception".into()),
                    (format!("ergo resolve {card} --dismiss --reason '…'"), "not a contradiction: store it".into()),
                    (format!("ergo resolve {card} --discard --reason '…'"), "discard the new claim".into()),
                    (format!("ergo tui --conflict {card}"), "compare both side by side".into()),
                ]);
            }
            None => {
                for way in &refused.ways_on {
                    self.prose(2, None, &in_arguments(way));
                }
            }
        }
    }

    /// Says that the card of a refused write is settled, and how: a person decided about the write before.
    fn settled_before(&mut self, card: CardId, settled: &CardSettlement, now: u64) {
        let id = self.paint(Style::Code, card.short());
        let (how, when) = (sanitize_line(&settled.words()), ago(settled.at, now));
        self.line(text!("Its card {} {}, {}.", id, how, when));
        if let Some(reason) = &settled.reason {
            self.field("because", reason);
        }
        if let Some(stored) = settled.stored_as {
            self.field("stored as", &stored.short());
        }
        let mut commands = vec![(format!("ergo conflicts {}", card.short()), "show the card".to_owned())];
        if let Some(op) = settled.op_id {
            commands.push((format!("ergo undo {}", op.short()), "open the card again".to_owned()));
        }
        self.commands(&commands);
    }

    fn conflict(&mut self, label: &str, conflict: &Conflict, now: u64) {
        let claim = &conflict.claim;
        self.field(label, statement(claim));
        let author = writer(claim);
        let state = state(claim);
        let line = format!("{} {} · {state} · {} · {author}", claim.kind, claim.id.short(), ago(claim.at, now));
        self.field("", &line);
        self.claim_fields(claim);
        self.evidence(&conflict.evidence);
    }

    fn stale(&mut self, stale: &Stale, now: u64) {
        let label = self.paint(Style::Warn, "Stale:");
        let message = sanitize_line(&in_arguments(&stale.message));
        self.line(text!("{} {}", label, message));
        if let Some(claim) = &stale.claim {
            self.line("");
            self.claim(claim, now);
        }
        if !stale.heads.is_empty() {
            self.line("");
            self.line("Its current version:");
            for head in &stale.heads {
                self.claim_row(head, now);
            }
        }
        if let Some(card) = &stale.card {
            self.line("");
            self.card(card, now);
        }
        let mut commands = Vec::new();
        if let Some(head) = stale.heads.first() {
            commands.push((
                format!("ergo supersede {} '…' --reason '…'", head.id.short()),
                "replace the current version".to_owned(),
            ));
        }
        if stale.can_reinstate
            && let Some(claim) = &stale.claim
        {
            commands
                .push((format!("ergo reinstate {} --reason '…'", claim.id.short()), "make it active again".to_owned()));
        }
        if !commands.is_empty() {
            self.line("");
            self.commands(&commands);
        }
    }
}
