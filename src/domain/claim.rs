//! The kind, status, conditions and derived flags of a claim.

use std::{fmt, str::FromStr};

use minicbor::{Decode, Encode};
use serde::{Deserialize, Serialize};

/// Who wrote a text that was refused or proposed, and that another one accepted on its card. Stored as JSON with the
/// claim.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, utoipa::ToSchema)]
pub struct TextWriter {
    /// The person.
    pub who: String,
    /// The agent through which they wrote it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agent: Option<String>,
}

/// The kind of a claim. A fact replaces the earlier fact of its key and needs no reason; the four other kinds are *guarded*.
#[derive(
    Clone,
    Copy,
    Debug,
    Default,
    PartialEq,
    Eq,
    PartialOrd,
    Ord,
    Hash,
    Serialize,
    Deserialize,
    Encode,
    Decode,
    utoipa::ToSchema,
)]
#[serde(rename_all = "snake_case")]
#[cbor(index_only)]
pub enum ClaimKind {
    /// A statement that a later one under the same key replaces; needs no reason and is not checked by the guard.
    #[n(0)]
    Fact,
    /// A choice that was made.
    #[default]
    #[n(1)]
    Decision,
    /// Something that must hold.
    #[n(2)]
    Constraint,
    /// Something that was considered and turned down.
    #[n(3)]
    Rejection,
    /// A way of doing things in the project.
    #[n(4)]
    Convention,
}

impl ClaimKind {
    /// Every kind, in the order of display.
    pub const ALL: [Self; 5] = [Self::Decision, Self::Constraint, Self::Rejection, Self::Convention, Self::Fact];

    /// Returns whether claims of this kind need a reason and are checked by the guard.
    pub fn is_guarded(self) -> bool {
        self != Self::Fact
    }

    /// Returns the word used in JSON and on screen.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Fact => "fact",
            Self::Decision => "decision",
            Self::Constraint => "constraint",
            Self::Rejection => "rejection",
            Self::Convention => "convention",
        }
    }
}

impl fmt::Display for ClaimKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}

impl FromStr for ClaimKind {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        Self::ALL.into_iter().find(|kind| kind.as_str() == text).ok_or_else(|| {
            format!("unknown kind “{text}”: expected fact, decision, constraint, rejection or convention")
        })
    }
}

/// The stored status of a claim. Everything else (contested, expired, …) is derived: see [`Flags`].
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, utoipa::ToSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum Status {
    /// Active.
    #[default]
    Active,
    /// Replaced by a later claim: "I changed my mind, and here is why".
    Superseded,
    /// Withdrawn, because it was wrong from the start.
    Retracted,
    /// Refused by the guard: kept only on its card, and never active.
    Refused,
}

impl Status {
    /// Returns the word used in JSON and on screen.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Active => "active",
            Self::Superseded => "superseded",
            Self::Retracted => "retracted",
            Self::Refused => "refused",
        }
    }
}

impl fmt::Display for Status {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}

impl FromStr for Status {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        [Self::Active, Self::Superseded, Self::Retracted]
            .into_iter()
            .find(|status| status.as_str() == text)
            .ok_or_else(|| format!("unknown status “{text}”: expected active, superseded or retracted"))
    }
}

/// Properties of a claim that are derived besides its status.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, utoipa::ToSchema)]
#[serde(default)]
pub struct Flags {
    /// It was replaced, or its fact key was set, more than once by writers who had not seen each other's act; or it and other
    /// claims replaced each other.
    pub contested: bool,
    /// A premise, direct or indirect, is no longer active.
    pub needs_review: bool,
    /// It contradicts another active claim, and an exception allows both.
    pub excepted: bool,
    /// Its `valid_until` has passed; computed when read.
    pub expired: bool,
    /// The change that created it was undone.
    pub undone: bool,
    /// Its text was redacted; the record remains.
    pub redacted: bool,
}

impl Flags {
    /// Returns the word shown for a status. A claim whose creation was undone has the status retracted, but is shown as undone, because
    /// nobody said that it was wrong.
    pub fn status_word(self, status: Status) -> &'static str {
        if self.undone { "undone" } else { status.as_str() }
    }

    /// Returns the text shown in place of a missing reason.
    pub fn missing_reason(self) -> &'static str {
        if self.redacted { "(redacted)" } else { "(no reason given)" }
    }

    /// Returns the words shown for the flags that are set.
    pub fn words(self) -> impl Iterator<Item = &'static str> {
        let all = [
            (self.contested, "contested"),
            (self.needs_review, "needs review"),
            (self.excepted, "exception"),
            (self.expired, "expired"),
            (self.undone, "undone"),
            (self.redacted, "redacted"),
        ];
        all.into_iter().filter(|(set, _)| *set).map(|(_, word)| word)
    }
}

/// The conditions under which a claim holds, as its writer gave them; unset means everywhere and always. They override the
/// conditions that the guard reads in the statement.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize, Encode, Decode, utoipa::ToSchema)]
#[serde(default)]
#[cbor(map)]
pub struct Qualifiers {
    /// The environment: `prod`, `staging`, `dev`, …
    #[n(0)]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub env: Option<String>,
    /// The team.
    #[n(1)]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub team: Option<String>,
    /// The tenant.
    #[n(2)]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tenant: Option<String>,
    /// The first day on which it holds, `YYYY-MM-DD`.
    #[n(3)]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub valid_from: Option<String>,
    /// The last day on which it holds, `YYYY-MM-DD`.
    #[n(4)]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub valid_until: Option<String>,
}

impl Qualifiers {
    /// Describes all fields that are set: “env staging, from 2026-05-01, until 2027-01-01”; `None` if none is.
    pub fn holds(&self) -> Option<String> {
        let Self { env, team, tenant, valid_from, valid_until } = self;
        let parts = [("env", env), ("team", team), ("tenant", tenant), ("from", valid_from), ("until", valid_until)];
        let parts: Vec<_> =
            parts.into_iter().filter_map(|(word, value)| Some(format!("{word} {}", value.as_deref()?))).collect();
        (!parts.is_empty()).then(|| parts.join(", "))
    }

    /// Describes the conditions, such as “env staging, until 2027-01-01”; `None` if there are none. The first day is left out, because that
    /// of an imported record is only the record's date.
    pub fn conditions(&self) -> Option<String> {
        Self { valid_from: None, ..self.clone() }.holds()
    }

    /// Returns when a claim written at `written` was decided: at the start of its first day, in UTC, if that is earlier. Both times are in
    /// milliseconds since the Unix epoch.
    pub fn happened(&self, written: u64) -> u64 {
        let day = self.valid_from.as_deref().and_then(|day| day.parse::<jiff::civil::Date>().ok());
        let start = day.and_then(|day| day.to_zoned(jiff::tz::TimeZone::UTC).ok());
        let start = start.and_then(|start| u64::try_from(start.timestamp().as_millisecond()).ok());
        start.map_or(written, |start| start.min(written))
    }

    /// Returns the conditions that both have.
    #[must_use]
    pub fn shared(&self, other: &Self) -> Self {
        let both = |ours: &Option<String>, theirs: &Option<String>| ours.clone().filter(|_| ours == theirs);
        Self {
            env: both(&self.env, &other.env),
            team: both(&self.team, &other.team),
            tenant: both(&self.tenant, &other.tenant),
            valid_from: both(&self.valid_from, &other.valid_from),
            valid_until: both(&self.valid_until, &other.valid_until),
        }
    }

    /// Returns the conditions that a new text keeps from the claims which it replaces: those that all of them have. A
    /// first day that has passed is not kept, because it says when the old claims were decided. `today`: `YYYY-MM-DD`.
    pub fn kept<'a>(replaced: impl IntoIterator<Item = &'a Self>, today: &str) -> Self {
        let of_all = replaced.into_iter().cloned().reduce(|a, b| a.shared(&b)).unwrap_or_default();
        Self { valid_from: of_all.valid_from.filter(|day| day.as_str() > today), ..of_all }
    }

    /// Returns the conditions that `other` does not have.
    #[must_use]
    pub fn without(&self, other: &Self) -> Self {
        let own = |ours: &Option<String>, theirs: &Option<String>| ours.clone().filter(|_| ours != theirs);
        Self {
            env: own(&self.env, &other.env),
            team: own(&self.team, &other.team),
            tenant: own(&self.tenant, &other.tenant),
            valid_from: own(&self.valid_from, &other.valid_from),
            valid_until: own(&self.valid_until, &other.valid_until),
        }
    }

    /// Returns these conditions, and those of `base` for the fields that are not set.
    #[must_use]
    pub fn or(self, base: &Self) -> Self {
        Self {
            env: self.env.or_else(|| base.env.clone()),
            team: self.team.or_else(|| base.team.clone()),
            tenant: self.tenant.or_else(|| base.tenant.clone()),
            valid_from: self.valid_from.or_else(|| base.valid_from.clone()),
            valid_until: self.valid_until.or_else(|| base.valid_until.clone()),
        }
    }

    /// Returns whether no field is set.
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }
}
