//! The messages to the app ([`Msg`]) and the effects that it asks for ([`Effect`]): all traffic between the pure core
//! and the runtime.

use crossterm::event::MouseEventKind;

use super::{clipboard::Copied, drift::Drift, key::KeyPress, theme::ThemeBase};
use crate::{
    api::{
        ActRequest, Agents, AgentsQuery, AnswerJoinRequest, AuditOutcome, AuditRequest, Caller, CardView, Change,
        ClaimsPage, ClaimsQuery, ConflictsPage, ConflictsQuery, CreateTeamRequest, Diagnose, Doubts, DoubtsQuery,
        Health, History, Inbox, InboxQuery, IngestedFiles, IngestedQuery, Insights, InsightsQuery, JoinRequest,
        JoinView, JudgePairsRequest, JudgeRequest, JudgedPairs, LogPage, LogQuery, NotesRun, NotesScanRequest,
        NotesStatus, NotesWriteRequest, NotesWritten, PendingJoins, PromoteRequest, QuarantineRequest, Questions,
        QuestionsQuery, RecallAnswer, RecallRequest, Reembedded, RememberRequest, ResolveManyRequest, ResolveRequest,
        ResolvedMany, Scopes, Snapshot, SnapshotQuery, Story, StoryQuery, SupersedeRequest, SyncRound, SyncStatus,
        TeamDone, TeamView, UndoOutcome, UndoRequest, WhyAnswer, WhyRequest, WriteOutcome,
    },
    client::injected::InjectedClaim,
    domain::{ClaimId, OpId, Scope},
};

/// Something that happened to the app.
#[derive(Clone, Debug)]
pub enum Msg {
    /// The time now, in milliseconds since the Unix epoch; sent before what happened then.
    Clock(u64),
    Key(KeyPress),
    Paste(String),
    /// The mouse did something at a column and row.
    Mouse {
        kind: MouseEventKind,
        /// The column, from 0.
        column: u16,
        /// The row, from 0.
        row: u16,
    },
    /// The terminal's new size in columns and rows.
    Resize(u16, u16),
    /// An answer to a request.
    Reply(RequestId, Result<RequestAnswer, RequestFailure>),
    /// Something from the daemon's event stream.
    Live(Live),
    /// The daemon was asked to start, with this result.
    Started(Result<(), String>),
    /// The comparison of claims with the lines that their sources name.
    Drifted(Vec<(ClaimId, Drift)>),
    /// The text that `$EDITOR` returned; `None` if it is unchanged.
    Edited(Result<Option<String>, String>),
    /// The editor of a file ended, or why the file cannot be opened.
    Opened(Result<(), String>),
    /// A text was copied; with the text that the terminal has yet to copy, if no program took it.
    Copied(Copied, Option<String>),
    /// A time for which the app asked ([`Effect::Wake`]) has come.
    Woken,
}

/// An event of the daemon's stream.
#[derive(Clone, Debug)]
pub enum Live {
    /// Connected: from here on every change arrives.
    Up,
    Change(Box<Change>),
    /// The stream ended for this reason; it is tried again.
    Down(String),
}

/// The purpose of a request. Each slot has one current request: asking again makes the answers to earlier ones stale.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Slot {
    /// Whether the daemon answers.
    Health,
    /// The scope tree.
    Scopes,
    /// The list of cards.
    Conflicts,
    /// The card shown.
    Card,
    /// The list of claims.
    Claims,
    /// The why-chain shown.
    Why,
    /// Teams and peers.
    Sync,
    /// What needs attention.
    Inbox,
    /// Another page of a long group of the Inbox.
    InboxPage,
    /// The list of the Timeline.
    Timeline,
    /// The daemon and its models.
    Diagnose,
    /// An act on a claim, a card or a team.
    Act,
    /// The claims that are related to the words of a search.
    Found,
    /// The page over the screen.
    Page,
    /// Computing the vectors again.
    Reembed,
    /// The files that were ingested.
    Ingested,
    Agents,
    /// The claims that hooks injected.
    Injected,
    /// The acts of one agent.
    AgentActs,
    /// This person's last act before this session.
    LastAct,
    /// The marked cards, to know their sources.
    Marked,
    /// The state of this device's request to join a team.
    Join,
    /// The question about a held write.
    Question,
    /// The story of a scope.
    Story,
    /// The files of rules.
    Notes,
    /// The insights of an organisation.
    Insights,
    /// The pairs that wait for a verdict.
    Doubts,
    /// A verdict on such a pair.
    Judged,
}

impl Slot {
    pub const COUNT: usize = Self::Judged as usize + 1;
}

/// Identifies a request, so that its answer is recognised and a late one is dropped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RequestId {
    pub slot: Slot,
    /// Its generation within the slot.
    pub generation: u64,
}

/// A request that changes nothing.
#[derive(Clone, Debug, PartialEq)]
pub enum ReadRequest {
    /// `GET /health`.
    Health,
    /// `GET /scopes`.
    Scopes,
    /// `GET /claims`.
    Claims(Box<ClaimsQuery>),
    /// `GET /claims/{id}/history`; a full id or a prefix.
    History(String),
    /// `POST /why`.
    Why(WhyRequest),
    /// `GET /conflicts`.
    Conflicts(ConflictsQuery),
    /// `GET /conflicts/{id}`; a full id or a prefix.
    Card(String),
    /// `GET /conflicts/{id}` for each of these; cards that cannot be read are left out.
    Cards(Vec<String>),
    /// `GET /sync/status`, and `GET /sync/pending` if a device waits for admission.
    Sync,
    /// `GET /sync/joins/{id}`.
    Joined(String),
    /// `GET /inbox`.
    Inbox(InboxQuery),
    /// `GET /log`.
    Log(LogQuery),
    /// The change that `POST /undo` of this person would undo.
    LastAct(Caller),
    /// `GET /diagnose`.
    Diagnose,
    /// `POST /recall`, one per scope; the answers are merged.
    Recall(Vec<RecallRequest>),
    /// `GET /snapshot`.
    Snapshot(SnapshotQuery),
    /// `GET /ingested`.
    Ingested(IngestedQuery),
    /// `GET /agents`.
    Agents(AgentsQuery),
    /// `GET /notes/status`.
    Notes,
    /// `GET /notes/insights`.
    Insights(InsightsQuery),
    /// `POST /notes/write` as a preview: nothing is written.
    NotesPreview(Box<NotesWriteRequest>),
    /// `GET /story`.
    Story(StoryQuery),
    /// `GET /doubts`.
    Doubts(DoubtsQuery),
    /// `GET /questions`.
    Questions(QuestionsQuery),
    /// The claims that hooks injected, from this machine's files, with their statements, from the daemon.
    Injected,
    /// The output of `ergo setup --dry-run`.
    Setup {
        /// With `--remove`.
        remove: bool,
    },
}

/// A request that changes something.
#[derive(Clone, Debug, PartialEq)]
pub enum WriteRequest {
    /// `POST /conflicts/{id}/resolve`.
    Resolve { card: String, request: ResolveRequest },
    /// `POST /conflicts/resolve`; with `dry_run`, only the preview.
    ResolveMany(ResolveManyRequest),
    /// `POST /remember`.
    Remember(Box<RememberRequest>),
    /// `POST /notes/scan`.
    NotesScan(NotesScanRequest),
    /// `POST /notes/write`.
    NotesWrite(Box<NotesWriteRequest>),
    /// `POST /promote`.
    Promote(Box<PromoteRequest>),
    /// `POST /doubts`.
    JudgePairs(JudgePairsRequest),
    /// `POST /judge`.
    Judge(Box<JudgeRequest>),
    /// `POST /supersede`.
    Supersede(SupersedeRequest),
    /// `POST /retract`.
    Retract(ActRequest),
    /// `POST /reinstate`.
    Reinstate(ActRequest),
    /// `POST /redact`.
    Redact(ActRequest),
    /// `POST /reviewed`.
    Reviewed(ActRequest),
    /// `POST /undo`.
    Undo(UndoRequest),
    /// `POST /audit`.
    Audit(AuditRequest),
    /// `POST /sync/now`.
    SyncNow,
    /// `POST /sync/create`.
    CreateTeam(Box<CreateTeamRequest>),
    /// `POST /sync/join`.
    JoinTeam(Box<JoinRequest>),
    /// `POST /sync/quarantined/accept`, or `/discard`.
    Quarantine {
        /// Whether the events are accepted or discarded.
        accept: bool,
        request: QuarantineRequest,
    },
    /// `POST /sync/pending/{id}`.
    AnswerJoin {
        /// The id of the join request.
        id: String,
        /// The name that the device gave itself.
        name: String,
        request: AnswerJoinRequest,
    },
    /// `POST /reembed`: one step of computing the vectors again.
    Reembed,
    /// `ergo setup`.
    Setup {
        /// With `--remove`.
        remove: bool,
    },
}

/// Borrows the caller of a write; with `mut`, mutably.
macro_rules! caller_of {
    ($write:expr $(, $mutable:tt)?) => {
        match $write {
            WriteRequest::Resolve { request, .. } => Some(&$($mutable)? request.caller),
            WriteRequest::ResolveMany(request) => Some(&$($mutable)? request.caller),
            WriteRequest::Remember(request) => Some(&$($mutable)? request.caller),
            WriteRequest::NotesScan(request) => Some(&$($mutable)? request.caller),
            WriteRequest::NotesWrite(request) => Some(&$($mutable)? request.caller),
            WriteRequest::Promote(request) => Some(&$($mutable)? request.caller),
            WriteRequest::JudgePairs(request) => Some(&$($mutable)? request.caller),
            WriteRequest::Judge(request) => Some(&$($mutable)? request.caller),
            WriteRequest::Supersede(request) => Some(&$($mutable)? request.claim.caller),
            WriteRequest::Retract(request)
            | WriteRequest::Reinstate(request)
            | WriteRequest::Redact(request)
            | WriteRequest::Reviewed(request) => Some(&$($mutable)? request.caller),
            WriteRequest::Undo(request) => Some(&$($mutable)? request.caller),
            WriteRequest::Audit(request) => Some(&$($mutable)? request.caller),
            WriteRequest::CreateTeam(request) => Some(&$($mutable)? request.caller),
            WriteRequest::JoinTeam(request) => Some(&$($mutable)? request.caller),
            WriteRequest::Quarantine { request, .. } => Some(&$($mutable)? request.caller),
            WriteRequest::AnswerJoin { request, .. } => Some(&$($mutable)? request.caller),
            WriteRequest::SyncNow | WriteRequest::Reembed | WriteRequest::Setup { .. } => None,
        }
    };
}

impl WriteRequest {
    /// Returns the `op_id` of the act.
    pub fn op(&self) -> Option<OpId> {
        caller_of!(self).and_then(|caller| caller.op_id)
    }

    /// Replaces the `op_id` of the act.
    pub fn set_op(&mut self, op: Option<OpId>) {
        if let Some(caller) = caller_of!(self, mut) {
            caller.op_id = op;
        }
    }
}

/// What the app asks of the runtime.
#[derive(Clone, Debug, PartialEq)]
pub enum Effect {
    /// Send a read to the daemon; answered by [`Msg::Reply`].
    Read(RequestId, ReadRequest),
    /// Send a write to the daemon; answered by [`Msg::Reply`].
    Write(RequestId, Box<WriteRequest>),
    /// Start the daemon; answered by [`Msg::Started`].
    Start,
    /// Wake the app at this time, in milliseconds since the Unix epoch, by [`Msg::Woken`].
    Wake(u64),
    /// Put text on the clipboard; answered by [`Msg::Copied`].
    Copy {
        text: String,
        /// What the text is, in words.
        what: String,
    },
    /// Open a file of the project in `$VISUAL` or `$EDITOR`; answered by [`Msg::Opened`].
    Open {
        /// Its path within the project.
        path: String,
        /// The line, from 1.
        line: Option<usize>,
    },
    /// Clear the terminal and draw everything again.
    Repaint,
    /// Draw in this theme from now on.
    Theme(ThemeBase),
    /// Compare the lines that sources name with the statements; answered by [`Msg::Drifted`]. An entry is a claim, its
    /// source and its statement.
    Compare(Vec<(ClaimId, String, String)>),
    /// Store on this machine that the tour was shown.
    Toured,
    /// Open this text in `$VISUAL` or `$EDITOR`; answered by [`Msg::Edited`].
    Edit(String),
    /// Turn the mouse on or off.
    Mouse(bool),
    /// Give the terminal back and stop until the shell resumes the program.
    Suspend,
    Quit,
}

/// The scopes of a search that gave no answer, while others did.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct UnansweredScopes {
    /// The number of scopes that did not answer in time.
    pub timed_out: usize,
    /// The scopes that answered with an error, each with its message.
    pub failed: Vec<(Scope, String)>,
}

impl UnansweredScopes {
    pub fn count(&self) -> usize {
        self.timed_out + self.failed.len()
    }
}

/// An answer from the daemon.
#[derive(Clone, Debug)]
pub enum RequestAnswer {
    /// To [`ReadRequest::Health`].
    Health(Box<Health>),
    /// To [`ReadRequest::Scopes`].
    Scopes(Scopes),
    /// To [`ReadRequest::Claims`].
    Claims(ClaimsPage),
    /// To [`ReadRequest::History`].
    History(Box<History>),
    /// To [`ReadRequest::Why`].
    Why(Box<WhyAnswer>),
    /// To [`ReadRequest::Conflicts`].
    Conflicts(ConflictsPage),
    /// To [`ReadRequest::Card`].
    Card(Box<CardView>),
    /// To [`ReadRequest::Cards`].
    Cards(Vec<CardView>),
    /// To [`WriteRequest::ResolveMany`].
    Many(Box<ResolvedMany>),
    /// To every other write.
    Outcome(Box<WriteOutcome>),
    /// To [`WriteRequest::Undo`].
    Undone(Box<UndoOutcome>),
    /// To [`WriteRequest::Audit`].
    Audited(AuditOutcome),
    /// To [`ReadRequest::Sync`].
    Sync(Box<SyncStatus>, PendingJoins),
    /// To [`WriteRequest::CreateTeam`].
    TeamMade(Box<TeamView>),
    /// To [`WriteRequest::JoinTeam`] and [`ReadRequest::Joined`].
    Join(Box<JoinView>),
    /// To [`WriteRequest::SyncNow`].
    Synced(Box<SyncRound>),
    /// To [`ReadRequest::Inbox`].
    Inbox(Inbox),
    /// To [`ReadRequest::Log`].
    Log(LogPage),
    /// To [`ReadRequest::Diagnose`].
    Diagnose(Box<Diagnose>),
    /// To [`ReadRequest::Recall`]: the merged answers, and the scopes without an answer.
    Recalled(Box<RecallAnswer>, UnansweredScopes),
    /// To [`ReadRequest::Snapshot`].
    Snapshot(Snapshot),
    /// To [`ReadRequest::Ingested`].
    Ingested(IngestedFiles),
    /// To [`ReadRequest::Agents`].
    Agents(Agents),
    /// To [`ReadRequest::Notes`].
    Notes(Box<NotesStatus>),
    /// To [`ReadRequest::Insights`].
    Insights(Box<Insights>),
    /// To [`WriteRequest::NotesScan`].
    NotesRun(Box<NotesRun>),
    /// To [`ReadRequest::NotesPreview`] and [`WriteRequest::NotesWrite`].
    NotesWritten(Box<NotesWritten>),
    /// To [`ReadRequest::Story`].
    Story(Box<Story>),
    /// To [`ReadRequest::Doubts`].
    Doubts(Doubts),
    /// To [`WriteRequest::JudgePairs`].
    JudgedPairs(JudgedPairs),
    /// To [`ReadRequest::Questions`].
    Questions(Questions),
    /// To [`ReadRequest::Injected`].
    Injected(Vec<InjectedClaim>),
    /// To [`ReadRequest::Setup`] and [`WriteRequest::Setup`]: the output.
    Setup(String),
    /// To [`WriteRequest::Reembed`].
    Reembedded(Reembedded),
    /// To [`WriteRequest::Quarantine`].
    Team(TeamDone),
    /// To [`WriteRequest::AnswerJoin`]: which device was admitted or denied.
    Joined {
        /// The name that the device gave itself.
        name: String,
        /// Whether it was admitted.
        accepted: bool,
    },
}

/// Why a request failed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RequestFailure {
    pub kind: FailureKind,
    /// What happened, in one sentence.
    pub message: String,
    /// What to do next.
    pub hint: Option<String>,
    /// The field at fault.
    pub field: Option<String>,
}

/// The kinds of failure that the app treats differently.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FailureKind {
    /// No daemon answers.
    Unreachable,
    /// What the request is about does not exist.
    NotFound,
    /// There was no answer in time: whether the request was done is not known.
    Timeout,
    /// What the request is about has changed meanwhile.
    Stale,
    /// Any other failure.
    Refused,
}

/// A row of a list, with the id by which the cursor stays on it.
pub trait ListRow {
    type Id: Copy + Eq + std::hash::Hash + std::fmt::Debug;

    fn id(&self) -> Self::Id;
}

impl ListRow for crate::api::ClaimView {
    type Id = ClaimId;

    fn id(&self) -> ClaimId {
        self.id
    }
}

impl ListRow for crate::api::CardSummary {
    type Id = crate::domain::CardId;

    fn id(&self) -> Self::Id {
        self.id
    }
}
