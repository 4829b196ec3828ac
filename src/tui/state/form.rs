//! The form of an act: its fields, their prefilled values, and the request that it makes.

use crossterm::event::{KeyCode, KeyEvent, KeyModifiers};
use ratatui_textarea::{TextArea, WrapMode};

use crate::{
    api::{CardAct, CardRef, Doubt, DoubtBand, Keep},
    domain::{CardId, ClaimId, OpId, PairVerdict, Scope},
    tui::{key::KeyPress, msg::WriteRequest},
};

/// The periods for which a card can be snoozed: label, and hours.
pub const SNOOZES: [(&str, u64); 4] = [("4 hours", 4), ("1 day", 24), ("3 days", 72), ("1 week", 168)];

/// An act on a claim.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ClaimAct {
    /// Replace the claim by a newer one.
    Supersede,
    /// Withdraw the claim.
    Retract,
    /// Make a superseded or retracted claim active again.
    Reinstate,
    /// Confirm that a claim that needs review still holds.
    Reviewed,
    /// Remove the text of the claim for good.
    Redact,
}

/// The subject of a form; its draft is kept under it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum FormSubject {
    /// An act on a card.
    Card {
        id: CardId,
        act: CardAct,
        /// Whether a merged claim replaces both sides.
        merged: bool,
        /// The claim that stays.
        winner: Option<ClaimId>,
    },
    /// An act on all marked cards.
    Many {
        act: CardAct,
        /// Which side of each card stays.
        keep: KeepSide,
    },
    Claim {
        id: ClaimId,
        act: ClaimAct,
    },
    /// A new claim.
    New,
    /// A new team.
    NewTeam,
    /// Joining a team.
    JoinTeam,
    /// The question how a held write relates to the claims that it may contradict.
    Held {
        /// The card that keeps the held write.
        id: CardId,
    },
}

impl FormSubject {
    /// Returns the one card that the form is about.
    pub fn card(self) -> Option<CardId> {
        match self {
            Self::Card { id, .. } | Self::Held { id } => Some(id),
            Self::Many { .. } | Self::Claim { .. } | Self::New | Self::NewTeam | Self::JoinTeam => None,
        }
    }
}

/// Which side stays, on each of the marked cards.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum KeepSide {
    /// The first side.
    First,
    /// The second side.
    Second,
    /// The side of one source or writer, which is chosen in the form.
    Chosen,
    /// The act is not about which side stays.
    Both,
}

/// What a field holds, and to which member of the request it belongs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FieldId {
    /// The claim on which the act is done.
    Target,
    /// The source or writer whose side stays, on the marked cards.
    Keep,
    /// The statement of the new claim.
    Statement,
    Env,
    /// A condition: the team.
    Team,
    Tenant,
    /// A condition: the first day, as `YYYY-MM-DD`.
    From,
    /// A condition: the last day, as `YYYY-MM-DD`.
    Until,
    /// The period for which a card is snoozed.
    Snooze,
    /// The reason of the act or the new claim.
    Reason,
    /// The kind of the new claim.
    Kind,
    /// The source of the new claim.
    Source,
    /// The scope of the new claim, or the scope that a new team shares.
    Scope,
    /// The name of the new team.
    Name,
    /// The ticket with which to join a team.
    Ticket,
    /// The name under which the team sees this device.
    Device,
    /// The verdict on a held write and one claim.
    Verdict,
    /// The reason of the verdicts.
    Because,
}

impl FieldId {
    /// Returns the name of the field in requests, which errors of the daemon use too.
    pub fn wire(self) -> &'static str {
        match self {
            Self::Target => "target",
            Self::Keep => "keep",
            Self::Statement => "statement",
            Self::Env => "env",
            Self::Team => "team",
            Self::Tenant => "tenant",
            Self::From => "valid_from",
            Self::Until => "valid_until",
            Self::Snooze => "until",
            Self::Reason => "reason",
            Self::Kind => "kind",
            Self::Source => "source",
            Self::Scope => "project",
            Self::Name => "name",
            Self::Ticket => "ticket",
            Self::Device => "device_name",
            Self::Verdict => "verdicts",
            Self::Because => "because",
        }
    }
}

#[derive(Clone, Debug)]
pub struct Field {
    pub id: FieldId,
    pub label: &'static str,
    /// What to write there, shown while the field is empty.
    pub hint: &'static str,
    pub input: FieldInput,
    /// Whether something was typed or chosen in it.
    pub edited: bool,
}

/// The content of a field, by its type.
#[derive(Clone, Debug)]
pub enum FieldInput {
    Text(Box<TextArea<'static>>),
    Line(Box<TextArea<'static>>),
    /// A choice of one of several options.
    Choice {
        options: Vec<String>,
        /// The index of the chosen option.
        chosen: usize,
    },
    /// The verdict on a held write and a claim that it may contradict.
    Verdict {
        doubt: Box<Doubt>,
        chosen: Option<PairVerdict>,
    },
}

impl Field {
    pub fn new(id: FieldId, label: &'static str, hint: &'static str, input: FieldInput) -> Self {
        Self { id, label, hint, input, edited: false }
    }

    /// Returns whether this is a question that must be answered and has no answer yet.
    pub fn is_unanswered(&self) -> bool {
        matches!(&self.input, FieldInput::Verdict { doubt, chosen: None } if doubt.band == DoubtBand::Ask)
    }
}

/// A form for an act.
#[derive(Clone, Debug)]
pub struct ActForm {
    pub about: FormSubject,
    pub title: String,
    /// What the act will do, in a sentence.
    pub effect: String,
    /// The scope of the subject.
    pub scope: Scope,
    /// The revision of the card or claim as it was shown; `None` if it was not shown.
    pub rev: Option<u64>,
    /// For a card, the claims between which [`FieldId::Target`] chooses; for a claim, the further claims on which the
    /// same act is done.
    pub members: Vec<ClaimId>,
    /// The marked cards, if the act is about those.
    pub cards: Vec<CardRef>,
    /// The token of the question that the form answers; empty if it answers none.
    pub token: String,
    /// The statement of the held write that the form asks about; empty if it asks about none.
    pub held_statement: String,
    /// The act by which the write in question was held; undoing it withdraws the write.
    pub withdraws: Option<OpId>,
    /// What each option of [`FieldId::Keep`] stands for.
    pub keeps: Vec<Keep>,
    pub fields: Vec<Field>,
    /// The index of the field that has the focus.
    pub focus: usize,
    /// The error message, and the field to which it belongs.
    pub error: Option<(Option<FieldId>, String)>,
    /// Why it can no longer be submitted, in a sentence: for example, because its card was settled meanwhile.
    pub outdated: Option<String>,
    /// Whether the form was sent and has no answer yet.
    pub sending: bool,
    /// The request that was sent last and may have been executed, with its `op_id`. The same request is sent again
    /// under the same `op_id`.
    pub sent: Option<(WriteRequest, OpId)>,
    /// The key that opened the form, until it is released, and when it was last seen, in milliseconds since the Unix
    /// epoch. While it is held down, it types nothing.
    pub opener: Option<(KeyPress, u64)>,
    /// Whether the form was painted. Before that, no key gives a verdict.
    pub painted: bool,
}

impl ActForm {
    /// Fills a field of several lines if it is empty.
    pub fn prefill(&mut self, id: FieldId, text: &str) {
        if let Some(Field { input: FieldInput::Text(area), .. }) = self.fields.iter_mut().find(|field| field.id == id)
            && area.is_empty()
        {
            **area = several_lines(text);
        }
    }

    /// Returns whether something was typed or chosen in the form.
    pub fn is_edited(&self) -> bool {
        self.fields.iter().any(|field| field.edited)
    }

    /// Restores the edited texts and the choices of a draft of the same form. A text that was only prefilled is not
    /// restored, since its source may have changed. The options are those of this form: a choice is restored by what it
    /// stood for. If that is no longer offered, the default choice stays.
    pub fn restore(&mut self, draft: Self) {
        let restored: Vec<Option<Field>> =
            self.fields.iter().map(|field| self.restored(field, draft.same_field(field)?, &draft)).collect();
        for (field, restored) in self.fields.iter_mut().zip(restored) {
            if let Some(restored) = restored {
                *field = restored;
            } else if field.id == FieldId::Target {
                let gone = "the claim that you chose can no longer be chosen; this is another one".to_owned();
                self.error = Some((Some(FieldId::Target), gone));
            }
        }
        self.focus = draft.focus.min(self.fields.len().saturating_sub(1));
        self.sent = draft.sent;
    }

    /// Returns the field that corresponds to a field of another form; for a verdict, the field about the same claim.
    fn same_field(&self, other: &Field) -> Option<&Field> {
        self.fields.iter().find(|own| match (&own.input, &other.input) {
            (FieldInput::Verdict { doubt: own, .. }, FieldInput::Verdict { doubt: other, .. }) => own.id == other.id,
            _ => own.id == other.id,
        })
    }

    /// Returns a field with the draft's content; `None` if that content cannot be used.
    fn restored(&self, field: &Field, before: &Field, draft: &Self) -> Option<Field> {
        let input = match (&field.input, &before.input) {
            (FieldInput::Text(_), FieldInput::Text(_)) | (FieldInput::Line(_), FieldInput::Line(_)) => {
                if before.edited { before.input.clone() } else { field.input.clone() }
            }
            (FieldInput::Choice { options, .. }, FieldInput::Choice { options: offered, chosen }) => {
                let again = match field.id {
                    FieldId::Target => position(&self.members, draft.members.get(*chosen)?),
                    FieldId::Keep => position(&self.keeps, draft.keeps.get(*chosen)?),
                    _ => position(options, offered.get(*chosen)?),
                };
                FieldInput::Choice { options: options.clone(), chosen: again? }
            }
            (FieldInput::Verdict { doubt, .. }, FieldInput::Verdict { chosen, .. }) => {
                FieldInput::Verdict { doubt: doubt.clone(), chosen: *chosen }
            }
            _ => return None,
        };
        Some(Field { input, edited: before.edited, ..field.clone() })
    }

    /// Returns the scope of the act: in the form of a new claim the chosen scope, otherwise the scope of the form.
    pub fn scope_of_act(&self) -> Scope {
        if self.about != FormSubject::New {
            return self.scope.clone();
        }
        let chosen = self.text(FieldId::Scope);
        let chosen = chosen.split_once('/').map(|(org, project)| Scope { org_id: org.into(), project: project.into() });
        chosen.unwrap_or_else(|| self.scope.clone())
    }

    /// Returns the text of a field; empty if there is no such field.
    pub fn text(&self, id: FieldId) -> String {
        self.fields.iter().find(|field| field.id == id).map_or_else(String::new, |field| match &field.input {
            FieldInput::Text(area) | FieldInput::Line(area) => area.lines().join("\n").trim().to_owned(),
            FieldInput::Choice { options, chosen } => options.get(*chosen).cloned().unwrap_or_default(),
            FieldInput::Verdict { chosen, .. } => chosen.map(|verdict| verdict.to_string()).unwrap_or_default(),
        })
    }

    /// Returns the index of the chosen option of a field; 0 if there is no such field.
    pub fn chosen(&self, id: FieldId) -> usize {
        self.fields
            .iter()
            .find(|field| field.id == id)
            .and_then(|field| match &field.input {
                FieldInput::Choice { chosen, .. } => Some(*chosen),
                FieldInput::Text(_) | FieldInput::Line(_) | FieldInput::Verdict { .. } => None,
            })
            .unwrap_or(0)
    }

    /// Returns whether the focus is on the last field.
    pub fn at_end(&self) -> bool {
        self.focus + 1 >= self.fields.len()
    }

    /// Returns the text area that has the focus.
    pub fn area(&mut self) -> Option<&mut TextArea<'static>> {
        match &mut self.fields.get_mut(self.focus)?.input {
            FieldInput::Text(area) | FieldInput::Line(area) => Some(area),
            FieldInput::Choice { .. } | FieldInput::Verdict { .. } => None,
        }
    }

    /// Returns whether the focus is on a question about two claims.
    pub fn asks_verdict(&self) -> bool {
        self.fields.get(self.focus).is_some_and(|field| field.id == FieldId::Verdict)
    }

    /// Returns the claims that the form asks about, each with its answer.
    pub fn verdicts(&self) -> impl Iterator<Item = (&Doubt, Option<PairVerdict>)> {
        self.fields.iter().filter_map(|field| match &field.input {
            FieldInput::Verdict { doubt, chosen } => Some((&**doubt, *chosen)),
            _ => None,
        })
    }
}

fn position<T: PartialEq>(all: &[T], wanted: &T) -> Option<usize> {
    all.iter().position(|one| one == wanted)
}

/// Returns a text area of one line, with the cursor at its end.
pub fn one_line(text: &str) -> TextArea<'static> {
    let mut area = TextArea::new(vec![crate::domain::text::sanitize_line(text)]);
    area.move_cursor(ratatui_textarea::CursorMove::End);
    area
}

/// Types a key into a text area of one line. Returns whether the text changed. What would begin a line or insert blanks
/// types nothing: Enter and Tab, also with Ctrl or Alt.
pub fn type_in_line(area: &mut TextArea<'static>, key: KeyPress) -> bool {
    let breaks = matches!(key.code, KeyCode::Enter | KeyCode::Tab)
        || key.code == KeyCode::Char('m') && key.mods.contains(KeyModifiers::CONTROL);
    !breaks && area.input(KeyEvent::new(key.code, key.mods))
}

/// Deletes the text of the line under the cursor. Returns whether there was any.
pub fn clear_line(area: &mut TextArea<'static>) -> bool {
    area.move_cursor(ratatui_textarea::CursorMove::End);
    area.delete_line_by_head()
}

/// Returns a text area of several lines that wraps at words, with the cursor at its end. The text keeps its invisible
/// characters, so that what is not edited is sent as it was; the view does not draw them.
pub fn several_lines(text: &str) -> TextArea<'static> {
    let mut area = TextArea::new(text.split('\n').map(str::to_owned).collect());
    area.set_wrap_mode(WrapMode::WordOrGlyph);
    area.move_cursor(ratatui_textarea::CursorMove::Bottom);
    area.move_cursor(ratatui_textarea::CursorMove::End);
    area
}
