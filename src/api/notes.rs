//! Notes: the files of rules that are followed, what rises from them, and what is written back.
//!
//! Paths are absolute paths on the machine of the daemon.

use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};

use super::request;
use crate::domain::{CardId, ClaimId, ClaimKind, ConflictKind, LinkKind, Scope};
pub use crate::notes::{Lifecycle, NoteCategory, NoteFormat};

request! {
    /// `POST /notes/add`: follows files, repositories, or folders of repositories.
    #[derive(Default)]
    pub struct NotesAddRequest {
        /// Who acts; the organisation counts for projects that have none of their own.
        caller,
        /// Absolute paths of files and folders.
        #[serde(default)]
        pub paths: Vec<String>,
        /// Stop following them instead; their claims stay.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        pub remove: bool,
    }
}

/// The answer to `notes/add`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct NotesAdded {
    /// The files that are followed since, or no longer.
    pub files: Vec<NoteFileView>,
    /// Paths that cannot be followed, with the reason.
    pub problems: Vec<String>,
    /// The daemon watches the files: it reads them at once, and whenever they are saved.
    #[serde(default)]
    pub watching: bool,
}

request! {
    /// `POST /notes/scan`: reads the files that changed since the last scan.
    #[derive(Default)]
    pub struct NotesScanRequest {
        /// Who acts.
        caller,
        /// Only this file, or the files in this folder; all if it is left out.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        pub path: Option<String>,
    }
}

/// A run over the files: what it read and did.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(default)]
pub struct NotesRun {
    /// When it began, in milliseconds since the Unix epoch.
    pub at: u64,
    /// What it was: `scan`, `write`, `watch` (a daemon that watches read files), `compare` (it compared claims).
    pub kind: String,
    /// How long it took, in milliseconds.
    pub took_ms: u64,
    /// Files that were looked at.
    pub files: usize,
    /// Of those, how many had changed.
    pub changed_files: usize,
    /// Fragments of the changed files.
    pub fragments: usize,
    /// Claims that were stored.
    pub stored: usize,
    /// Claims that were superseded, because their line changed.
    pub superseded: usize,
    /// Claims that were retracted, because their line is gone.
    pub retracted: usize,
    /// Lines whose claim was stored before.
    pub known: usize,
    /// Lines that the guard refused; each has a card.
    pub refused: usize,
    /// Claims that were recorded as seen again.
    pub observed: usize,
    /// Pairs of claims in other words that were found to say the same.
    pub merged: usize,
    /// Cards that were opened for contradictions among claims, those of different projects included.
    pub cards: usize,
    /// Pairs of claims of different projects that were put into the queue of doubts, for a judge.
    #[serde(default)]
    pub doubts: usize,
    /// Pairs that the cross-encoder was asked about.
    pub inferred: usize,
    /// Pairs that are left for the next run, because this one's budget was used up.
    pub left: usize,
    /// What went wrong, in sentences.
    pub problems: Vec<String>,
}

/// How a file and the memory stand to each other.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum NoteFileState {
    /// The file was not read yet.
    #[default]
    New,
    /// Neither has changed.
    InStep,
    /// The file has changed since it was read.
    ChangedHere,
    /// Claims have changed since ergo wrote its section.
    ChangedThere,
    /// The file contradicts a claim: there is a card.
    Conflict,
    /// The file is not there, or cannot be read.
    Missing,
}

impl NoteFileState {
    /// The words on screen.
    pub fn words(self) -> &'static str {
        match self {
            Self::New => "not read yet",
            Self::InStep => "up to date",
            Self::ChangedHere => "file changed",
            Self::ChangedThere => "claims changed",
            Self::Conflict => "conflict",
            Self::Missing => "missing",
        }
    }
}

/// A file that is followed.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct NoteFileView {
    /// Its path.
    pub path: String,
    /// The scope of its claims.
    pub scope: Option<Scope>,
    /// How it stands.
    pub state: NoteFileState,
    /// Its fragments.
    pub fragments: usize,
    /// Its lines that are claims.
    pub claims: usize,
    /// The open cards on which it contradicts claims.
    pub cards: Vec<CardId>,
    /// When it was last read, in milliseconds since the Unix epoch.
    pub scanned_at: Option<u64>,
    /// When ergo's section was last written.
    pub written_at: Option<u64>,
    /// Why it cannot be read or written.
    pub problem: Option<String>,
}

/// `GET /notes/status`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct NotesStatus {
    /// Whether the daemon watches the files.
    pub watching: bool,
    /// The files, by path.
    pub files: Vec<NoteFileView>,
    /// The last runs, the newest first.
    pub runs: Vec<NotesRun>,
}

request! {
    /// `POST /notes/write`: writes what is known into ergo's own section of a file. Nothing else in the file is changed.
    #[derive(Default)]
    pub struct NotesWriteRequest {
        /// Who acts, and which project the file belongs to.
        caller,
        /// The file; created if it does not exist.
        #[serde(default)]
        pub path: String,
        /// The claims are those of the caller's project, whatever the file's folder.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        pub of_caller: bool,
        /// Only show the section.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        pub dry_run: bool,
        /// The form of the section; by default that of the file's name.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        pub format: Option<NoteFormat>,
        /// The budget of the section in tokens; by default that of the format.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        pub tokens: Option<usize>,
    }
}

/// The answer to `notes/write`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct NotesWritten {
    /// The file.
    pub path: String,
    /// The scope of its claims.
    pub scope: Scope,
    /// The form of the section.
    pub format: NoteFormat,
    /// Whether the file differs from what is, or would be, written.
    pub changed: bool,
    /// Whether the file was written.
    pub written: bool,
    /// The content of the section.
    pub section: String,
    /// The section as it was; empty if there was none.
    pub before: String,
    /// About how many tokens the section has.
    pub tokens: usize,
    /// The budget.
    pub budget: usize,
    /// Claims in the section.
    pub chosen: usize,
    /// Claims that did not fit the budget.
    pub left_out: usize,
    /// Claims that the file says itself.
    pub said: usize,
    /// Claims that contradict the file.
    pub conflicts: Vec<NoteConflict>,
}

request! {
    /// `POST /notes/check`: compares files with the memory and stores nothing.
    #[derive(Default)]
    pub struct NotesCheckRequest {
        /// Who acts.
        caller,
        /// Only this file, or the files in this folder; all that are followed if it is left out.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        pub path: Option<String>,
    }
}

/// The answer to `notes/check`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct NotesCheck {
    /// Files that were compared.
    pub files: usize,
    /// Rules that were compared.
    pub rules: usize,
    /// Where a file and the memory disagree.
    pub conflicts: Vec<NoteConflict>,
    /// Files that could not be compared, with the reason.
    pub problems: Vec<String>,
}

/// A line of a file and a claim that disagree.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct NoteConflict {
    /// The file.
    pub path: String,
    /// The line, from 1.
    pub line: Option<usize>,
    /// What the file says.
    pub says: String,
    /// What the claim says, or what became of it.
    pub against: String,
    /// The claim.
    pub claim: Option<ClaimId>,
    /// The card on which both stand.
    pub card: Option<CardId>,
    /// In which way they exclude each other, if they do; else the claim was withdrawn.
    pub kind: Option<ConflictKind>,
}

/// `GET /notes/insights`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, IntoParams, ToSchema)]
#[serde(default, deny_unknown_fields)]
pub struct InsightsQuery {
    /// The organisation.
    pub org_id: String,
    /// Only insights that this project has.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub project: Option<String>,
    /// Only principles: what holds in the whole organisation.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub principles: bool,
    /// Only what may be promoted.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub candidates: bool,
    /// With this status: `active`, `decaying`, `pruned` or `all`; by default all that are not pruned.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub status: Option<String>,
    /// Maximum number [default: 50].
    #[serde(skip_serializing_if = "Option::is_none")]
    pub limit: Option<usize>,
}

/// The insights of an organisation, the highest rank first.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct Insights {
    /// Some of them.
    pub items: Vec<InsightView>,
    /// How many match.
    pub total: usize,
}

/// What projects of an organisation say alike.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct InsightView {
    /// The claim whose words stand for it.
    pub claim: ClaimId,
    /// Its statement.
    pub statement: String,
    /// Its kind.
    pub kind: ClaimKind,
    /// The claim of the organisation's level that says it.
    pub principle: Option<ClaimId>,
    /// Whether it may be promoted.
    pub candidate: bool,
    /// What supports it: the claims of projects, with their weights.
    pub derivations: Vec<Derivation>,
    /// How many projects say it.
    pub projects: usize,
    /// How often it was seen.
    pub sightings: usize,
    /// When it was first seen, in milliseconds since the Unix epoch.
    pub first_seen: u64,
    /// When it was last seen.
    pub last_seen: u64,
    /// 0 to 1.
    pub confidence: f64,
    /// 0 to 1.
    pub recency: f64,
    /// The quality of its sources, 0 to 1.
    pub quality: f64,
    /// 0 to 1: confidence 35 %, frequency 25 %, recency 20 %, quality 15 %, links 5 %.
    pub rank: f64,
    /// Whether it decays.
    pub status: Lifecycle,
    /// One of its claims stands on an open card.
    pub contradicted: bool,
    /// What sort of rule it is.
    pub category: NoteCategory,
    /// Its domain.
    pub domain: String,
    /// Other domains and languages.
    pub tags: Vec<String>,
}

/// A claim that supports an insight.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct Derivation {
    /// The claim.
    pub claim: ClaimId,
    /// Its scope.
    pub scope: Scope,
    /// Its words.
    pub statement: String,
    /// Its source.
    pub source: Option<String>,
    /// Its share, 0 to 1: all shares of an insight add up to 1.
    pub weight: f64,
    /// The claim of the organisation was made of it; else it came later, or nothing was promoted.
    #[serde(default)]
    pub promoted: bool,
}

/// `GET /notes/links`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, IntoParams, ToSchema)]
#[serde(default, deny_unknown_fields)]
pub struct NoteLinksQuery {
    /// The organisation.
    pub org_id: String,
}

/// The links among the claims of an organisation.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct NoteLinks {
    /// The links.
    pub items: Vec<NoteLink>,
}

/// A link between two claims.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct NoteLink {
    /// The claim that bears on the other one.
    pub from: ClaimId,
    /// Its statement.
    pub from_statement: String,
    /// How.
    pub kind: LinkKind,
    /// The other one.
    pub to: ClaimId,
    /// Its statement.
    pub to_statement: String,
}

/// `GET /insights`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, IntoParams, ToSchema)]
#[serde(default, deny_unknown_fields)]
pub struct InsightFiguresQuery {
    /// The organisation.
    pub org_id: String,
}

/// The figures of an organisation on one page.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct InsightFigures {
    /// The organisation.
    pub org_id: String,
    /// Its projects with claims.
    pub projects: usize,
    /// Their active claims.
    pub claims: usize,
    /// The insights that these amount to.
    pub insights: usize,
    /// The rules that most projects have.
    pub shared: Vec<InsightView>,
    /// The subjects with most open cards.
    pub contested: Vec<ContestedSubject>,
    /// What decays, or was pruned.
    pub decayed: Vec<InsightView>,
    /// The principles.
    pub promoted: Vec<InsightView>,
    /// What may be promoted.
    pub candidates: Vec<InsightView>,
}

/// A subject on which claims contradict each other.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct ContestedSubject {
    /// The subject, as a claim about it is worded.
    pub subject: String,
    /// Its open cards.
    pub cards: usize,
}

request! {
    /// `POST /notes/calibrate`: fits the least similarity of equal claims, for each domain, to pairs that were judged. Shows it, unless one of the
    /// flags is set.
    #[derive(Default)]
    pub struct NotesCalibrateRequest {
        /// Who acts; the organisation counts.
        caller,
        /// Use the thresholds that were found, on this device.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        pub apply: bool,
        /// Use the one of the settings again, in all domains.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        pub reset: bool,
    }
}

/// The answer to `notes/calibrate`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct NotesCalibrated {
    /// The domains that have judged pairs, or a threshold of their own.
    pub domains: Vec<DomainThreshold>,
    /// Whether other thresholds are in use since.
    #[serde(default)]
    pub changed: bool,
}

/// The least similarity of equal claims in one domain.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct DomainThreshold {
    /// The domain.
    pub domain: String,
    /// Pairs that were judged, by persons or models; not those that the comparison after a scan judged by the threshold itself.
    pub judged: usize,
    /// The threshold; without one, ten pairs are not there yet, or no threshold is right for 95 % of them.
    pub threshold: Option<f32>,
    /// The threshold that is in use.
    #[serde(default)]
    pub in_use: f32,
    /// It is that of the settings.
    #[serde(default)]
    pub is_default: bool,
}
