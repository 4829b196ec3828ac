//! Items of the inbox: as a row of a list, or in full, and the commands that settle them.

use super::{
    claim::author,
    text::quote,
    time::{ago, left},
};
use crate::{
    api::{EventView, InboxGroup, InboxItem, NoticeItem, NoticeKind, PendingJoin, QuarantinedView, ReviewItem},
    cli::ui::{Style, Ui},
    domain::text::{escape, sanitize_line},
};

/// Formats the size of a group: “12”, or “10000 or more”.
pub(crate) fn counted(group: &InboxGroup) -> String {
    if group.at_least { format!("{} or more", group.total) } else { group.total.to_string() }
}

/// Returns the commands that settle an item, most likely first, each with its meaning.
pub(crate) fn settling_commands(item: &InboxItem) -> Vec<(String, String)> {
    let entry = |command: String, what: &str| (command, what.to_owned());
    match item {
        InboxItem::Card(card) => vec![entry(format!("ergo resolve {} --interactive", card.id.short()), "settle it")],
        InboxItem::Review(item) => {
            let id = item.claim.id.short();
            vec![
                entry(format!("ergo reviewed {id} --reason '…'"), "it still holds"),
                entry(format!("ergo supersede {id} '…' --reason '…'"), "something changed: replace it"),
                entry(format!("ergo retract {id} --reason '…'"), "it was never right"),
                entry(format!("ergo why {id}"), "show its history"),
            ]
        }
        InboxItem::Notice(item) => {
            let id = item.claim.id.short();
            let (command, what) = match item.what {
                NoticeKind::Retracted => (format!("ergo reinstate {id} --reason '…'"), "make it active again"),
                _ => (format!("ergo retract {id} --reason '…'"), "it was never right"),
            };
            let seen = quote("Reviewed: nothing to change.");
            vec![
                entry(format!("ergo reviewed {id} --reason {seen}"), "leave it as it is"),
                entry(command, what),
                entry(format!("ergo why {id}"), "show its history"),
            ]
        }
        InboxItem::Quarantined(item) => {
            let id = item.id.short();
            let mut entries = vec![entry(format!("ergo sync quarantine discard {id}"), "discard it on this device")];
            if !item.waits_for_date() {
                entries.push(entry(format!("ergo sync quarantine accept {id}"), "accept it for the whole team"));
            }
            entries
        }
        InboxItem::Joining(join) => {
            let words = join.words.join(" ");
            vec![
                entry(
                    format!("ergo sync admit {} --words {}", join.id, quote(&words)),
                    "if the other screen shows the same words",
                ),
                entry(format!("ergo sync deny {}", join.id), "if it shows other words"),
            ]
        }
    }
}

/// Describes what an event did to a premise of a claim.
fn change(cause: &EventView, now: u64) -> String {
    let did = cause.verb();
    let mut out = format!(
        "{} {did} a claim that it depends on, {}",
        author(&cause.who, cause.agent.as_deref()),
        ago(cause.at, now)
    );
    if let Some(new) = &cause.statement {
        out = format!("{out}: “{new}”");
    }
    if let Some(reason) = &cause.reason {
        out = format!("{out} ({reason})");
    }
    out
}

/// Describes the act that a notice reports, and its author.
fn describe_notice(item: &NoticeItem) -> String {
    let who = author(&item.who, item.agent.as_deref());
    match item.what {
        NoticeKind::Warned => format!("{who} stored this; the guard warned that it may contradict another claim."),
        NoticeKind::Forced => format!("{who} stored this as an exception, although it contradicts another claim."),
        NoticeKind::Dismissed => format!("{who} dismissed this contradiction and kept both claims."),
        NoticeKind::Retracted => format!("{who} retracted this claim, which a person wrote."),
    }
}

impl Ui {
    /// Shows an item as a row of a list: id and text, then details, author and time, and its scope if `scoped`.
    pub(crate) fn inbox_row(&mut self, item: &InboxItem, scoped: bool, now: u64) {
        let (id, head, rest) = match item {
            InboxItem::Card(card) => {
                let rest = format!("{}, {}", author(&card.who, card.agent.as_deref()), ago(card.at, now));
                (card.id.short(), card.headline.clone(), rest)
            }
            InboxItem::Review(item) => {
                let rest =
                    item.causes.first().map_or_else(|| "a claim that it depends on changed".into(), |c| change(c, now));
                (item.claim.id.short(), item.claim.statement.clone(), rest)
            }
            InboxItem::Notice(item) => {
                let rest =
                    format!("{} {}, {}", item.sentence, author(&item.who, item.agent.as_deref()), ago(item.at, now));
                (item.claim.id.short(), item.claim.statement.clone(), rest)
            }
            InboxItem::Quarantined(item) => {
                let head = item.text.clone().unwrap_or_else(|| format!("(an event without text: {})", item.verb()));
                (item.id.short(), head, format!("{}; {}, received {}", item.why, item.who, ago(item.received_at, now)))
            }
            InboxItem::Joining(join) => {
                let head = format!("{} asks to join {}", join.name, join.team_name);
                (join.id.clone(), head, format!("{}, expires in {}", join.person, left(join.expires_at, now)))
            }
        };
        let id = self.paint(Style::Code, format_args!("{:10}", sanitize_line(&id)));
        let head = self.fit(&head, 12);
        self.line(text!("{}  {}", id, head));
        let rest = match item.scope().filter(|_| scoped) {
            Some(scope) => format!("{scope}: {rest}"),
            None => rest,
        };
        let rest = self.fit(&rest, 12);
        let rest = self.paint(Style::Dim, rest);
        self.line(text!("{}{}", " ".repeat(12), rest));
    }

    /// Shows an item in full; a card as a row.
    pub(crate) fn inbox_item(&mut self, item: &InboxItem, now: u64) {
        match item {
            InboxItem::Card(card) => self.card_row(card, now),
            InboxItem::Review(item) => self.review_item(item, now),
            InboxItem::Notice(item) => self.notice_item(item, now),
            InboxItem::Quarantined(item) => self.quarantined_item(item, now),
            InboxItem::Joining(join) => self.joining_item(join, now),
        }
    }

    fn review_item(&mut self, item: &ReviewItem, now: u64) {
        self.line("A claim that this one depends on changed. Does this one still hold?");
        for cause in &item.causes {
            let text = change(cause, now);
            self.field("change", &text);
        }
        self.claim(&item.claim, now);
    }

    fn notice_item(&mut self, item: &NoticeItem, now: u64) {
        self.prose(0, None, &item.sentence);
        self.prose(0, None, &describe_notice(item));
        self.claim(&item.claim, now);
        for other in &item.against {
            self.line(match item.what {
                NoticeKind::Warned => "It may contradict:",
                NoticeKind::Dismissed => "The other claim:",
                NoticeKind::Forced | NoticeKind::Retracted => "It contradicts:",
            });
            self.claim(other, now);
        }
    }

    fn quarantined_item(&mut self, item: &QuarantinedView, now: u64) {
        self.prose(0, Some(Style::Strong), item.text.as_deref().unwrap_or("(an event without text)"));
        let device = item.author_name.clone().unwrap_or_else(|| item.author.short());
        let scope = escape(&item.scope.to_string());
        let who = escape(&format!("{} on {device}", item.who));
        self.line(text!(
            "{} {} · {} · {} · received {}",
            item.verb(),
            item.id.short(),
            scope,
            who,
            ago(item.received_at, now)
        ));
        self.prose(0, Some(Style::Warn), &item.why);
    }

    fn joining_item(&mut self, join: &PendingJoin, now: u64) {
        let text = format!(
            "{} asks to join {} with the device “{}”, as {}. The request expires in {}.",
            join.person,
            join.team_name,
            join.name,
            join.role,
            left(join.expires_at, now)
        );
        self.prose(0, Some(Style::Strong), &text);
        let words = join.words.join(" ");
        self.field("words", &words);
        self.prose(
            0,
            None,
            "The other screen must show the same six words. If they differ, deny the request: it may be a man-in-the-middle attack.",
        );
    }
}
