//! What needs attention: in a row of a list, or whole with the ways on.

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

/// How many there are, as far as it was counted: “12”, or “10000 or more”.
pub(crate) fn counted(group: &InboxGroup) -> String {
    if group.at_least { format!("{} or more", group.total) } else { group.total.to_string() }
}

/// The commands that settle a thing, the likeliest first, each with what it means.
pub(crate) fn ways(item: &InboxItem) -> Vec<(String, String)> {
    let way = |command: String, what: &str| (command, what.to_owned());
    match item {
        InboxItem::Card(card) => vec![way(format!("ergo resolve {} --interactive", card.id.short()), "settle it")],
        InboxItem::Review(item) => {
            let id = item.claim.id.short();
            vec![
                way(format!("ergo reviewed {id} --reason '…'"), "it still holds"),
                way(format!("ergo supersede {id} '…' --reason '…'"), "the world changed"),
                way(format!("ergo retract {id} --reason '…'"), "it was never right"),
                way(format!("ergo why {id}"), "how it came about"),
            ]
        }
        InboxItem::Notice(item) => {
            let id = item.claim.id.short();
            let (command, what) = match item.what {
                NoticeKind::Retracted => (format!("ergo reinstate {id} --reason '…'"), "bring it back"),
                _ => (format!("ergo retract {id} --reason '…'"), "it was never right"),
            };
            let seen = quote("Looked at it: it stands.");
            vec![
                way(format!("ergo reviewed {id} --reason {seen}"), "it is well as it is"),
                way(command, what),
                way(format!("ergo why {id}"), "how it came about"),
            ]
        }
        InboxItem::Quarantined(item) => {
            let id = item.id.short();
            vec![
                way(format!("ergo sync quarantine discard {id}"), "put it away, here"),
                way(format!("ergo sync quarantine accept {id}"), "let it in, for the whole team"),
            ]
        }
        InboxItem::Joining(join) => {
            let words = join.words.join(" ");
            vec![
                way(
                    format!("ergo sync admit {} --words {}", join.id, quote(&words)),
                    "where the other screen shows the same words",
                ),
                way(format!("ergo sync deny {}", join.id), "where it does not"),
            ]
        }
    }
}

/// What an event did to something that a claim rests on.
fn change(cause: &EventView, now: u64) -> String {
    let did = match cause.kind.as_str() {
        "supersede" => "superseded",
        "retract" | "resolve.retract" => "retracted",
        "reinstate" => "reinstated",
        "redact" => "redacted",
        _ => "changed",
    };
    let mut out =
        format!("{} {did} what it rests on, {}", author(&cause.who, cause.agent.as_deref()), ago(cause.at, now));
    if let Some(new) = &cause.statement {
        out = format!("{out}: “{new}”");
    }
    if let Some(reason) = &cause.reason {
        out = format!("{out} ({reason})");
    }
    out
}

/// What was done, and by whom.
fn deed(item: &NoticeItem) -> String {
    let who = author(&item.who, item.agent.as_deref());
    match item.what {
        NoticeKind::Warned => format!("{who} stored this although the guard warned."),
        NoticeKind::Forced => format!("{who} let this stand beside what it contradicts, as an exception."),
        NoticeKind::Dismissed => format!("{who} said that these do not contradict each other, and let both stand."),
        NoticeKind::Retracted => format!("{who} retracted this claim, which a person wrote."),
    }
}

impl Ui {
    /// A thing in a list: its id and what it is; then what is to be known of it, who, and when.
    pub(crate) fn inbox_row(&mut self, item: &InboxItem, now: u64) {
        let (id, head, rest) = match item {
            InboxItem::Card(card) => {
                let rest = format!("{}, {}", author(&card.who, card.agent.as_deref()), ago(card.at, now));
                (card.id.short(), card.headline.clone(), rest)
            }
            InboxItem::Review(item) => {
                let rest = item.causes.first().map_or_else(|| "what it rests on changed".into(), |c| change(c, now));
                (item.claim.id.short(), item.claim.statement.clone(), rest)
            }
            InboxItem::Notice(item) => {
                let rest =
                    format!("{} {}, {}", item.sentence, author(&item.who, item.agent.as_deref()), ago(item.at, now));
                (item.claim.id.short(), item.claim.statement.clone(), rest)
            }
            InboxItem::Quarantined(item) => {
                let head = item.text.clone().unwrap_or_else(|| format!("an event: {}", item.kind));
                (item.id.short(), head, format!("{} {}, came {}", item.why, item.who, ago(item.received_at, now)))
            }
            InboxItem::Joining(join) => {
                let head = format!("{} wants into {}", join.name, join.team_name);
                (join.id.clone(), head, format!("{}, for {} more", join.person, left(join.expires_at, now)))
            }
        };
        let id = self.paint(Style::Code, format_args!("{:10}", sanitize_line(&id)));
        let head = self.fit(&head, 12);
        self.line(text!("{}  {}", id, head));
        let rest = self.fit(&rest, 12);
        let rest = self.paint(Style::Dim, rest);
        self.line(text!("{}{}", " ".repeat(12), rest));
    }

    /// A thing whole, where it is no card.
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
        self.line("What this claim rests on has changed. Does it still hold?");
        for cause in &item.causes {
            let text = change(cause, now);
            self.field("change", &text);
        }
        self.claim(&item.claim, now);
    }

    fn notice_item(&mut self, item: &NoticeItem, now: u64) {
        self.prose(0, None, &item.sentence);
        self.prose(0, None, &deed(item));
        self.claim(&item.claim, now);
        for other in &item.against {
            self.line("Beside it stands:");
            self.claim(other, now);
        }
    }

    fn quarantined_item(&mut self, item: &QuarantinedView, now: u64) {
        self.prose(0, Some(Style::Strong), item.text.as_deref().unwrap_or("(an event without a text)"));
        let device = item.author_name.clone().unwrap_or_else(|| item.author.short());
        let (kind, scope) = (sanitize_line(&item.kind), escape(&item.scope.to_string()));
        let who = escape(&format!("{} on {device}", item.who));
        self.line(text!("{} {} · {} · {} · came {}", kind, item.id.short(), scope, who, ago(item.received_at, now)));
        self.prose(0, Some(Style::Warn), &item.why);
    }

    fn joining_item(&mut self, join: &PendingJoin, now: u64) {
        let text = format!(
            "{} wants to join {} with “{}” as {}. It waits for {} more.",
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
            "The other screen must show the same six words. If they differ, reject: someone may be intercepting the connection.",
        );
    }
}
