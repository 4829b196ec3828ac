//! Conflict cards: as a row of a list, or in full with both sides, the evidence and the commands that settle it.

use unicode_width::UnicodeWidthStr;

use super::{
    claim::{author, state, statement, writer},
    time::{ago, left},
};
use crate::{
    api::{CardAct, CardKind, CardSummary, CardView},
    cli::ui::{Style, Ui},
    domain::{
        guard_report::Evidence,
        text::{both_or_all, escape},
    },
};

/// Describes where a card comes from.
fn origin(card: &CardSummary) -> &'static str {
    match card.kind {
        CardKind::Refused if card.accept == Some(CardAct::Supersede) => "replacement proposed by an agent",
        CardKind::Refused if card.accept == Some(CardAct::Exception) => "exception proposed by an agent",
        CardKind::Refused => "refused write",
        CardKind::Contradiction => "contradiction between active claims",
        CardKind::Contested => "changed concurrently by two writers",
        CardKind::Found => "contradiction found later",
        CardKind::Proposed => "proposed by an agent",
        CardKind::Held => "write that waits for verdicts",
        CardKind::Story => "story question",
    }
}

/// Returns the `--reason` option of a command that settles a card; empty if `ergo resolve` has a default reason.
fn reason_flag(default: Option<&str>) -> &'static str {
    if default.is_some() { "" } else { " --reason '…'" }
}

impl Ui {
    /// Shows a card as a row of a list.
    pub(crate) fn card_row(&mut self, card: &CardSummary, now: u64) {
        let id = self.paint(Style::Code, card.id.short());
        let age = ago(card.at, now);
        let who = author(&card.who, card.agent.as_deref());
        let text = self.fit(&card.headline, 12);
        self.line(text!("{}  {}", id, text));
        let status = format!("{:?}", card.status).to_lowercase();
        let rest = format!("{:12}{status}, {}, {who}, {age}", "", origin(card));
        let rest = self.paint(Style::Dim, rest);
        self.line(rest);
    }

    /// Shows a card in full.
    pub(crate) fn card(&mut self, card: &CardView, now: u64) {
        self.prose(0, Some(Style::Strong), &card.summary.headline);
        let id = self.paint(Style::Code, card.summary.id.short());
        let scope = escape(&card.summary.scope.to_string());
        let from = origin(&card.summary);
        self.line(text!("card {} · {} · {} · {}", id, scope, from, ago(card.summary.at, now)));
        for (at, side) in card.sides.iter().enumerate() {
            self.line("");
            let c = &side.claim;
            let what = if side.new_claim { "not stored".to_owned() } else { state(c) };
            let id = self.paint(Style::Code, c.id.short());
            let author = writer(c);
            let number = self.paint(Style::Strong, format_args!("[{}]", at + 1));
            let other = Some(&c.scope).filter(|scope| **scope != card.summary.scope);
            let what = match other {
                Some(scope) => format!("{what} · {}", escape(&scope.to_string())),
                None => what,
            };
            self.line(text!("{} {} {} · {} · {} · {}", number, c.kind, id, what, ago(c.at, now), author));
            self.prose(4, None, statement(c));
            self.claim_fields(c);
            for now in &side.now {
                let label = if card.is_stored_as(side, now) { "stored as" } else { "replaced" };
                let since = if label == "replaced" { "since by " } else { "" };
                self.field(label, &format!("{since}{}: “{}”", now.id.short(), statement(now)));
            }
        }
        if !card.evidence.is_empty() {
            self.line("");
        }
        for evidence in &card.evidence {
            self.evidence(evidence);
        }
        if !card.advice.is_empty() {
            self.field("advice", &card.advice);
        }
        if let Some(settled) = &card.settled {
            let why = settled.reason.as_deref().map(|why| format!(" ({why})")).unwrap_or_default();
            let how = card.outcome().unwrap_or_default();
            if settled.is_by_somebody() {
                let who = author(&settled.who, settled.agent.as_deref());
                self.field("settled", &format!("by {who}, {}: {how}{why}", ago(settled.at, now)));
            } else {
                self.field("settled", &format!("by nobody: {how}{why}"));
            }
            if let Some(id) = settled.stored_as {
                self.field("stored as", &id.short());
            }
        }
        if let Some(until) = card.snoozed_until {
            self.field("snoozed", &format!("for another {}", left(until, now)));
        }
    }

    /// Shows why the guard reported a contradiction: the sentence, and what it is based on.
    pub(crate) fn evidence(&mut self, evidence: &Evidence) {
        if !evidence.sentence.is_empty() {
            self.field("why", &evidence.sentence);
        }
        if let Some(basis) = evidence.basis() {
            self.field("guard", &basis);
        }
    }

    /// Shows the possible acts on a card as commands, each with its meaning.
    pub(crate) fn card_commands(&mut self, card: &CardView) {
        let id = card.summary.id.short();
        let open = card.open_sides();
        let all = both_or_all(open);
        let sides = |act: CardAct| {
            let sides = card.sides.iter().enumerate();
            sides.filter(move |(at, _)| card.can_act_on(act, *at).is_ok()).map(|(at, side)| (at + 1, side))
        };
        let mut choices = Vec::new();
        for option in card.acts.iter().filter(|option| option.disabled.is_none()) {
            let why = reason_flag(option.prefill.as_deref());
            match option.act {
                CardAct::Supersede => {
                    for (number, side) in sides(option.act) {
                        let what = match (side.new_claim, open) {
                            (true, _) if card.summary.accept == Some(option.act) => {
                                "accept: store the new claim instead"
                            }
                            (true, 1) => "store the new claim",
                            (true, _) => "the new claim supersedes the existing one",
                            (false, 0) => "make this side active again",
                            (false, _) => "keep this side",
                        };
                        let why = reason_flag(side.claim.own_reason());
                        choices.push((format!("--keep {number}{why}"), format!("[{number}]: {what}")));
                    }
                    if card.can_merge().is_ok() {
                        let what = if open > 1 {
                            format!("a new statement supersedes {all}")
                        } else {
                            "store a new statement instead".to_owned()
                        };
                        choices.push((format!("--merge '…'{}", reason_flag(None)), what));
                    }
                }
                CardAct::Retract => {
                    for (number, side) in sides(option.act).filter(|(_, side)| !side.new_claim) {
                        let what = match card.summary.kind {
                            CardKind::Proposed => "accept: it was never right".to_owned(),
                            _ => format!("retract [{number}], which was never right ({})", side.claim.id.short()),
                        };
                        choices.push((format!("--retract {number}{why}"), what));
                    }
                }
                CardAct::Narrow => {
                    let rest = if open > 1 { format!("; {all} stay active") } else { String::new() };
                    for (number, _) in sides(option.act).take(1) {
                        choices.push((format!("--narrow {number} --env ENV{why}"), format!("limit [{number}]{rest}")));
                    }
                }
                CardAct::Exception => {
                    let accept = if card.summary.accept == Some(option.act) { "accept: " } else { "" };
                    choices.push((format!("--exception{why}"), format!("{accept}keep {all}, as an exception")));
                }
                CardAct::Dismiss if card.summary.kind == CardKind::Proposed => {
                    choices.push((format!("--dismiss{why}"), "reject: keep the claim".into()));
                }
                CardAct::Dismiss => {
                    choices.push((format!("--dismiss{why}"), "not a contradiction".into()));
                }
                CardAct::Discard => {
                    let reject = if card.summary.accept.is_some() { "reject: " } else { "" };
                    choices.push((format!("--discard{why}"), format!("{reject}discard the new claim")));
                }
                CardAct::Snooze => choices.push(("--snooze 3d".into(), "ask again in 3 days".into())),
                CardAct::Yes | CardAct::No => {
                    let effect = card.summary.story.as_ref().map(|story| match option.act {
                        CardAct::Yes => format!("yes: {}", story.yes),
                        _ => format!("no: {}", story.no),
                    });
                    let flags = format!("--{}{why}", option.act.as_str());
                    choices.insert(usize::from(option.act == CardAct::No), (flags, effect.unwrap_or_default()));
                }
            }
        }
        let lines: Vec<_> =
            choices.into_iter().map(|(flags, what)| (format!("ergo resolve {id} {flags}"), what)).collect();
        self.commands(&lines);
    }

    /// Shows commands, each with what it does, in columns if they fit.
    pub(crate) fn commands(&mut self, lines: &[(String, String)]) {
        let widest = |of: fn(&(String, String)) -> &str| lines.iter().map(|line| of(line).width()).max().unwrap_or(0);
        let (first, second) = (widest(|line| &line.0), widest(|line| &line.1));
        let aligned = self.width.is_none_or(|width| first + second + 6 <= width);
        for (command, what) in lines {
            let gap = if aligned { first - command.width() } else { 0 };
            let what = self.paint(Style::Dim, format_args!("# {what}"));
            let command = self.paint(Style::Code, command);
            self.line(text!("  {}{}  {}", command, " ".repeat(gap), what));
        }
    }
}
