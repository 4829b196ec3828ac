//! The form of an act: its fields, their prefilled values, and the request that it makes.

use ratatui_textarea::{TextArea, WrapMode};

use crate::{
    api::{CardAct, CardRef, Doubt, DoubtBand, Keep},
    domain::{CardId, ClaimId, OpId, PairVerdict, Scope},
    tui::{key::KeyPress, msg::WriteRequest},
};

/// Hours for which a card can be snoozed.
pub const SNOOZES: [(&str, u64); 4] = [("4 hours", 4), ("1 day", 24), ("3 days", 72), ("1 week", 168)];

/// What a claim's form does.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ClaimAct {
    /// Replace it.
    Supersede,
    /// Take it out.
    Retract,
    /// Bring it back.
    Reinstate,
    /// Say that it still holds.
    Reviewed,
    /// Drop its text.
    Redact,
}

/// What the form is about; also the name of its draft.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum FormSubject {
    /// An act on a card.
    Card {
        /// The card.
        id: CardId,
        /// The act.
        act: CardAct,
        /// A merged text replaces both.
        merged: bool,
        /// The side that stays.
        winner: Option<ClaimId>,
    },
    /// An act on all marked cards.
    Many {
        /// The act.
        act: CardAct,
        /// Which side stays.
        keep: KeepSide,
    },
    /// An act on a claim.
    Claim {
        /// The claim.
        id: ClaimId,
        /// The act.
        act: ClaimAct,
    },
    /// A new claim.
    New,
    /// A new team.
    NewTeam,
    /// Joining a team.
    JoinTeam,
    /// How a held write relates to the claims that it may contradict.
    Held {
        /// The card on which it waits.
        id: CardId,
    },
}

/// Which side of many cards stays.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum KeepSide {
    /// The first of each.
    First,
    /// The second of each.
    Second,
    /// That of a source or writer, which is chosen in the form.
    Chosen,
    /// The act is not about sides.
    Both,
}

/// What a field holds, and where it goes in the request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FieldId {
    /// The side that is acted on.
    Target,
    /// Whose side stays, on many cards.
    Keep,
    /// The new text.
    Statement,
    /// The environment.
    Env,
    /// The team.
    Team,
    /// The tenant.
    Tenant,
    /// The first day.
    From,
    /// The last day.
    Until,
    /// For how long a card is snoozed.
    Snooze,
    /// Why.
    Reason,
    /// Of which kind the new claim is.
    Kind,
    /// Where the new claim comes from.
    Source,
    /// In which scope.
    Scope,
    /// What the new team is called.
    Name,
    /// The ticket of a team.
    Ticket,
    /// How the team sees this device.
    Device,
    /// What a held write is to one claim.
    Verdict,
    /// Why these verdicts were given.
    Because,
}

impl FieldId {
    /// The name of the field in requests, by which the daemon's errors name it.
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

/// A field.
#[derive(Clone, Debug)]
pub struct Field {
    /// What it holds.
    pub id: FieldId,
    /// Its label.
    pub label: &'static str,
    /// What to write there.
    pub hint: &'static str,
    /// What was written.
    pub input: FieldInput,
}

/// What a field takes.
#[derive(Clone, Debug)]
pub enum FieldInput {
    /// Text of several lines.
    Text(Box<TextArea<'static>>),
    /// Text of one line.
    Line(Box<TextArea<'static>>),
    /// One of several.
    Choice {
        /// The labels.
        options: Vec<String>,
        /// The one chosen.
        chosen: usize,
    },
    /// What a held write is to a claim that it may contradict.
    Verdict {
        /// The claim.
        doubt: Box<Doubt>,
        /// The answer, once it was given.
        chosen: Option<PairVerdict>,
    },
}

impl Field {
    /// Whether this is a question that has to be answered and is not.
    pub fn is_unanswered(&self) -> bool {
        matches!(&self.input, FieldInput::Verdict { doubt, chosen: None } if doubt.band == DoubtBand::Ask)
    }
}

/// A form.
#[derive(Clone, Debug)]
pub struct ActForm {
    /// What it is about.
    pub about: FormSubject,
    /// Its heading.
    pub title: String,
    /// What will happen, in a sentence.
    pub effect: String,
    /// The scope of what it is about.
    pub scope: Scope,
    /// The revision of the card or claim as it was shown; absent if it was not shown.
    pub rev: Option<u64>,
    /// The sides of the card, for the choice of a target.
    pub members: Vec<ClaimId>,
    /// The marked cards, if it is about those.
    pub cards: Vec<CardRef>,
    /// What names the question that it answers; empty if it answers none.
    pub token: String,
    /// The act that held the write in question: to undo it withdraws the write.
    pub withdraws: Option<OpId>,
    /// What the choice of [`FieldId::Keep`] stands for.
    pub keeps: Vec<Keep>,
    /// The fields.
    pub fields: Vec<Field>,
    /// The field that has the focus.
    pub focus: usize,
    /// What is wrong, and in which field.
    pub error: Option<(Option<FieldId>, String)>,
    /// It has been sent and waits for its answer.
    pub sending: bool,
    /// What was sent last and may have happened: the same again goes under the same key.
    pub sent: Option<(WriteRequest, OpId)>,
    /// The key that opened it, until it has been let go: a key held down types nothing.
    pub opener: Option<(KeyPress, u64)>,
}

impl ActForm {
    /// Writes into a field of several lines that is empty.
    pub fn prefill(&mut self, id: FieldId, text: &str) {
        if let Some(Field { input: FieldInput::Text(area), .. }) = self.fields.iter_mut().find(|field| field.id == id)
            && area.is_empty()
        {
            **area = several_lines(text);
        }
    }

    /// Restores the texts and choices of a draft of the same form. What the form offers is its own: a choice is found again by
    /// what it stood for, and if that is no longer offered, the usual one stays.
    pub fn restore(&mut self, draft: Self) {
        let restored: Vec<Option<FieldInput>> =
            self.fields.iter().map(|field| self.restored(field, draft.same_field(field)?, &draft)).collect();
        for (field, input) in self.fields.iter_mut().zip(restored) {
            if let Some(input) = input {
                field.input = input;
            }
        }
        self.focus = draft.focus.min(self.fields.len().saturating_sub(1));
        self.sent = draft.sent;
    }

    /// The field that corresponds to one of another form: for a verdict, that on the same claim.
    fn same_field(&self, other: &Field) -> Option<&Field> {
        self.fields.iter().find(|own| match (&own.input, &other.input) {
            (FieldInput::Verdict { doubt: own, .. }, FieldInput::Verdict { doubt: other, .. }) => own.id == other.id,
            _ => own.id == other.id,
        })
    }

    /// The input of a field with what the draft has in it; `None` if nothing of that can be used.
    fn restored(&self, field: &Field, before: &Field, draft: &Self) -> Option<FieldInput> {
        match (&field.input, &before.input) {
            (FieldInput::Text(_), FieldInput::Text(_)) | (FieldInput::Line(_), FieldInput::Line(_)) => {
                Some(before.input.clone())
            }
            (FieldInput::Choice { options, .. }, FieldInput::Choice { options: offered, chosen }) => {
                let again = match field.id {
                    FieldId::Target => position(&self.members, draft.members.get(*chosen)?),
                    FieldId::Keep => position(&self.keeps, draft.keeps.get(*chosen)?),
                    _ => position(options, offered.get(*chosen)?),
                };
                Some(FieldInput::Choice { options: options.clone(), chosen: again? })
            }
            (FieldInput::Verdict { doubt, .. }, FieldInput::Verdict { chosen, .. }) => {
                Some(FieldInput::Verdict { doubt: doubt.clone(), chosen: *chosen })
            }
            _ => None,
        }
    }

    /// The scope in which the act takes place: that which is chosen in the form of a new claim, else the form's own.
    pub fn scope_of_act(&self) -> Scope {
        if self.about != FormSubject::New {
            return self.scope.clone();
        }
        let chosen = self.text(FieldId::Scope);
        let chosen = chosen.split_once('/').map(|(org, project)| Scope { org_id: org.into(), project: project.into() });
        chosen.unwrap_or_else(|| self.scope.clone())
    }

    /// The text of a field; empty if there is no such field.
    pub fn text(&self, id: FieldId) -> String {
        self.fields.iter().find(|field| field.id == id).map_or_else(String::new, |field| match &field.input {
            FieldInput::Text(area) | FieldInput::Line(area) => area.lines().join("\n").trim().to_owned(),
            FieldInput::Choice { options, chosen } => options.get(*chosen).cloned().unwrap_or_default(),
            FieldInput::Verdict { chosen, .. } => chosen.map(|verdict| verdict.to_string()).unwrap_or_default(),
        })
    }

    /// The number chosen in a field; 0 if there is no such field.
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

    /// Whether the focus is on the last field.
    pub fn at_end(&self) -> bool {
        self.focus + 1 >= self.fields.len()
    }

    /// The text area that has the focus.
    pub fn area(&mut self) -> Option<&mut TextArea<'static>> {
        match &mut self.fields.get_mut(self.focus)?.input {
            FieldInput::Text(area) | FieldInput::Line(area) => Some(area),
            FieldInput::Choice { .. } | FieldInput::Verdict { .. } => None,
        }
    }

    /// Whether the focus is on a question about two claims.
    pub fn asks_verdict(&self) -> bool {
        self.fields.get(self.focus).is_some_and(|field| field.id == FieldId::Verdict)
    }

    /// The claims that are asked about, each with the answer.
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

/// A text area of one line, the cursor at its end.
pub fn one_line(text: &str) -> TextArea<'static> {
    let mut area = TextArea::new(vec![crate::domain::text::sanitize_line(text)]);
    area.move_cursor(ratatui_textarea::CursorMove::End);
    area
}

/// Takes the text of the line under the cursor away.
pub fn clear_line(area: &mut TextArea<'static>) {
    area.move_cursor(ratatui_textarea::CursorMove::End);
    area.delete_line_by_head();
}

/// A text area of several lines that wraps at words, the cursor at its end.
pub fn several_lines(text: &str) -> TextArea<'static> {
    let mut area = TextArea::new(crate::domain::text::sanitize(text).split('\n').map(str::to_owned).collect());
    area.set_wrap_mode(WrapMode::WordOrGlyph);
    area.move_cursor(ratatui_textarea::CursorMove::Bottom);
    area.move_cursor(ratatui_textarea::CursorMove::End);
    area
}
