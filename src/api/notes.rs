//! Notes: the rule files that ergo follows, the insights derived from them, and ergo's section in them.
//!
//! Paths are absolute, on the machine of the daemon.

use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};

use super::request;
use crate::domain::{CardId, ClaimId, ClaimKind, ConflictKind, LinkKind, Scope};
pub use crate::notes::{Lifecycle, NoteCategory, NoteFormat};

request! {
    /// `POST /notes/add`: follows files, repositories, or folders of repositories.
    #[derive(Default)]
    pub struct NotesAddRequest {
        /// Who acts; its organisation is used for projects that have none of their own.
        caller,
        /// Absolute paths of files and folders.
        pub paths: Vec<String>,
        /// Stop following these paths instead; their claims stay.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        pub remove: bool,
    }
}

/// The answer to `notes/add`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct NotesAdded {
    /// The files that are now followed, or no longer followed.
    pub files: Vec<NoteFileView>,
    /// Paths that cannot be followed, with the reason.
    pub problems: Vec<String>,
    /// Whether the daemon watches the files, that is, reads them immediately and whenever they are saved.
    #[serde(default)]
    pub watching: bool,
}

request! {
    /// `POST /notes/scan`: reads the files that changed since the last scan.
    #[derive(Default)]
    pub struct NotesScanRequest {
        /// Who acts.
        caller(who),
        /// Only this file, or the files in this folder; all if omitted.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        pub path: Option<String>,
    }
}

/// One run over the followed files: what it read and did.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(default)]
pub struct NotesRun {
    /// When it began, in milliseconds since the Unix epoch.
    pub at: u64,
    /// The kind of run: `scan`, `write` or `remove` (of ergo's section), `watch` (the daemon read changed files), `compare`
    /// (it compared claims).
    pub kind: String,
    /// Its duration, in milliseconds.
    pub took_ms: u64,
    /// Files that were checked for changes.
    pub files: usize,
    /// Files that had changed.
    pub changed_files: usize,
    /// Fragments of the changed files.
    pub fragments: usize,
    /// Claims that were stored.
    pub stored: usize,
    /// Claims that were superseded, because their line changed.
    pub superseded: usize,
    /// Claims that were retracted, because their line is gone.
    pub retracted: usize,
    /// Claims that were reinstated, because their line is back.
    pub reinstated: usize,
    /// Lines whose claim was already stored.
    pub known: usize,
    /// Lines that the guard refused; each has a card.
    pub refused: usize,
    /// Claims for which another sighting was recorded.
    pub observed: usize,
    /// Pairs of claims with different words that were found to say the same.
    pub merged: usize,
    /// Cards that were opened for contradictions among claims, including claims of different projects.
    pub cards: usize,
    /// Pairs of claims of different projects that were added to the queue of doubts.
    #[serde(default)]
    pub doubts: usize,
    /// Pairs that the cross-encoder scored.
    pub inferred: usize,
    /// Pairs left for the next run, because the budget of this one was used up.
    pub left: usize,
    /// Problems, in sentences.
    pub problems: Vec<String>,
}

/// The state of a file compared with the stored claims.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum NoteFileState {
    /// The file has not been read yet.
    #[default]
    New,
    /// Neither the file nor its claims have changed.
    InStep,
    /// The file has changed since it was read.
    ChangedHere,
    /// A claim of the file is no longer active, nothing opposes a refused line any more, or claims have changed since
    /// ergo wrote its section.
    ChangedThere,
    /// The file contradicts a claim, and there is a card.
    Conflict,
    /// The file has a line that the guard refused, and a person settled its card against the line.
    LineDeclined,
    /// The file does not exist or cannot be read.
    Missing,
}

impl NoteFileState {
    /// Returns the words shown for the state.
    pub fn words(self) -> &'static str {
        match self {
            Self::New => "not read yet",
            Self::InStep => "up to date",
            Self::ChangedHere => "file changed",
            Self::ChangedThere => "claims changed",
            Self::Conflict => "conflict",
            Self::LineDeclined => "line declined",
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
    /// Its state compared with the stored claims.
    pub state: NoteFileState,
    /// The number of its fragments.
    pub fragments: usize,
    /// The number of its lines with an active claim.
    pub claims: usize,
    /// The open cards with contradictions between it and claims.
    pub cards: Vec<CardId>,
    /// The number of its lines whose cards were settled against them, and that still contradict active claims.
    #[serde(default)]
    pub declined: usize,
    /// The number of its refused lines that the next scan tries again, because nothing opposes them any more.
    #[serde(default)]
    pub retried: usize,
    /// When it was last read, in milliseconds since the Unix epoch.
    pub scanned_at: Option<u64>,
    /// When ergo's section was last written, in milliseconds since the Unix epoch.
    pub written_at: Option<u64>,
    /// Why it or some of its lines cannot be read or stored.
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
    /// `POST /notes/write`: writes claims into ergo's own section of a file, or removes the section. Nothing else in the
    /// file is changed.
    #[derive(Default)]
    pub struct NotesWriteRequest {
        /// Who acts, and the project to which the file belongs.
        caller,
        /// The file; created if it does not exist.
        pub path: String,
        /// Write the claims of the caller's project, whatever the file's folder.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        pub of_caller: bool,
        /// Dry run: only return the section.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        pub dry_run: bool,
        /// Remove the section instead of writing it.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        pub remove: bool,
        /// The format of the section; by default chosen by the file's name.
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
    /// The format of the section.
    pub format: NoteFormat,
    /// Whether the file differed from what was, or would be, written.
    pub changed: bool,
    /// Whether the file was written.
    pub written: bool,
    /// Whether the section was, or would be, removed.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub removed: bool,
    /// The new content of the section.
    pub section: String,
    /// The previous content of the section; empty if there was none.
    pub before: String,
    /// Estimated number of tokens of the section.
    pub tokens: usize,
    /// The budget of the section in tokens.
    pub budget: usize,
    /// The number of claims in the section.
    pub chosen: usize,
    /// The number of claims that did not fit into the budget.
    pub left_out: usize,
    /// The number of claims left out because the rest of the file already says them.
    pub said: usize,
    /// Contradictions between claims and the file.
    pub conflicts: Vec<NoteConflict>,
}

request! {
    /// `POST /notes/check`: compares files with the stored claims and stores nothing.
    #[derive(Default)]
    pub struct NotesCheckRequest {
        /// Who acts.
        caller(who),
        /// Only this file, or the files in this folder; all that are followed if omitted.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        pub path: Option<String>,
    }
}

/// The answer to `notes/check`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct NotesCheck {
    /// The number of files that were compared.
    pub files: usize,
    /// The number of rules that were compared.
    pub rules: usize,
    /// Contradictions between files and claims.
    pub conflicts: Vec<NoteConflict>,
    /// Files that could not be compared, with the reason.
    pub problems: Vec<String>,
}

/// A line of a file that disagrees with a claim.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct NoteConflict {
    /// The file.
    pub path: String,
    /// The line, from 1.
    pub line: Option<usize>,
    /// The text of the file.
    pub says: String,
    /// The statement of the claim, or what happened to it.
    pub against: String,
    /// The claim.
    pub claim: Option<ClaimId>,
    /// The scope of the claim, if it is not that of the file.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub scope: Option<Scope>,
    /// The card with both, if there is one.
    pub card: Option<CardId>,
    /// The kind of contradiction; absent if the card does not say it, or if there is no card because the file states a
    /// claim that is no longer active.
    pub kind: Option<ConflictKind>,
}

/// The maximum number of insights in one answer.
pub const MAX_LISTED_INSIGHTS: usize = 10_000;

/// `GET /notes/insights`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, IntoParams, ToSchema)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub struct InsightsQuery {
    /// The organisation.
    pub org_id: String,
    /// Only insights of this project.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub project: Option<String>,
    /// Only principles, which hold in the whole organisation.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub principles: bool,
    /// Only insights that may be promoted.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub candidates: bool,
    /// `active`, `decaying`, `pruned` or `all`; by default all that are not pruned.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub status: Option<String>,
    /// The maximum number of insights, up to 10,000; default 50.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub limit: Option<usize>,
}

/// The insights of an organisation, the highest rank first.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct Insights {
    /// The first ones, up to the limit.
    pub items: Vec<InsightView>,
    /// The number of insights that match.
    pub total: usize,
}

/// An insight: claims of an organisation's projects that say the same.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct InsightView {
    /// The claim that represents it.
    pub claim: ClaimId,
    /// The statement of that claim.
    pub statement: String,
    /// Its kind.
    pub kind: ClaimKind,
    /// The claim of the organisation's level that says the same.
    pub principle: Option<ClaimId>,
    /// Whether it may be promoted.
    pub candidate: bool,
    /// The claims of projects that support it, with their weights.
    pub derivations: Vec<Derivation>,
    /// The number of projects that have it.
    pub projects: usize,
    /// The number of times that it was seen.
    pub sightings: usize,
    /// When it was first seen, in milliseconds since the Unix epoch.
    pub first_seen: u64,
    /// When it was last seen, in milliseconds since the Unix epoch.
    pub last_seen: u64,
    /// The confidence, 0 to 1.
    pub confidence: f64,
    /// How recently it was seen, 0 to 1.
    pub recency: f64,
    /// The quality of its sources, 0 to 1.
    pub quality: f64,
    /// The weighted sum, 0 to 1: confidence 35 %, frequency 25 %, recency 20 %, quality 15 %, links 5 %.
    pub rank: f64,
    /// Its lifecycle: whether it is active, decays or was pruned.
    pub status: Lifecycle,
    /// Whether one of its claims is on an open card.
    pub contradicted: bool,
    /// The category of the rule.
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
    /// Its statement.
    pub statement: String,
    /// Its source.
    pub source: Option<String>,
    /// Its share, 0 to 1: all shares of an insight add up to 1.
    pub weight: f64,
    /// Whether the organisation's claim was promoted from it. False if it was added later, or if nothing was promoted.
    #[serde(default)]
    pub promoted: bool,
}

/// `GET /notes/links`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, IntoParams, ToSchema)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
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
    /// The claim that is related to the other one.
    pub from: ClaimId,
    /// Its statement.
    pub from_statement: String,
    /// The relation.
    pub kind: LinkKind,
    /// The other claim.
    pub to: ClaimId,
    /// Its statement.
    pub to_statement: String,
}

/// `GET /insights`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, IntoParams, ToSchema)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub struct InsightFiguresQuery {
    /// The organisation.
    pub org_id: String,
}

/// Figures about the insights of an organisation.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct InsightFigures {
    /// The organisation.
    pub org_id: String,
    /// The number of its projects that have claims.
    pub projects: usize,
    /// The number of active claims of these projects.
    pub claims: usize,
    /// The number of insights.
    pub insights: usize,
    /// The insights that most projects share.
    pub shared: Vec<InsightView>,
    /// The subjects with the most open cards.
    pub contested: Vec<ContestedSubject>,
    /// Insights that decay or were pruned.
    pub decayed: Vec<InsightView>,
    /// The principles.
    pub promoted: Vec<InsightView>,
    /// Insights that may be promoted.
    pub candidates: Vec<InsightView>,
}

/// A subject on which claims contradict each other.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct ContestedSubject {
    /// The subject, as a claim about it is worded.
    pub subject: String,
    /// The number of its open cards.
    pub cards: usize,
}

request! {
    /// `POST /notes/calibrate`: fits the minimum similarity of equal claims, for each domain, to judged pairs. Only shows the result unless
    /// one of the flags is set.
    #[derive(Default)]
    pub struct NotesCalibrateRequest {
        /// Who acts; only the organisation is used.
        caller(org_id),
        /// Use the fitted thresholds on this device.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        pub apply: bool,
        /// Use the threshold of the settings again, in all domains.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        pub reset: bool,
    }
}

/// The answer to `notes/calibrate`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct NotesCalibrated {
    /// The domains that have judged pairs or a threshold of their own.
    pub domains: Vec<DomainThreshold>,
    /// Whether this request changed the thresholds in use.
    #[serde(default)]
    pub changed: bool,
}

/// The minimum similarity of equal claims in one domain.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct DomainThreshold {
    /// The domain.
    pub domain: String,
    /// The number of pairs judged by people or models, without those that the comparison after a scan judged by this threshold.
    pub judged: usize,
    /// The fitted threshold; absent if there are fewer than ten pairs, or if no threshold is right for 95 % of them.
    pub threshold: Option<f32>,
    /// The threshold that is in use.
    #[serde(default)]
    pub in_use: f32,
    /// Whether that is the threshold of the settings.
    #[serde(default)]
    pub is_default: bool,
}
