//! Requests of the app as calls of the client, and their failures as the app understands them.

use std::{path::Path, time::Duration};

use futures_util::stream::{self, StreamExt};
use tokio::time::{Instant, timeout_at};

use crate::{
    api::{
        CardView, ClaimsQuery, ErrorCode, MAX_PAGE, PendingJoins, RecallAnswer, RecallHit, RecallRequest,
        SyncNowRequest,
    },
    client::{
        Client, ClientError,
        injected::{self, InjectedClaim},
    },
    setup::{AgentFiles, CodingAgent, SetupError, SetupPlan},
    tui::{
        fuzzy,
        msg::{FailureKind, ReadRequest, RequestAnswer, RequestFailure, WriteRequest},
        search_words,
    },
};

/// How long the app waits for what comes of a round with every peer, in milliseconds.
const SYNC_WAIT_MS: u64 = 10_000;

/// How long the scopes of a search may take together: a person is typing.
const TIMEOUT: Duration = Duration::from_millis(400);

/// Scopes that are asked at once: more would wait for the same models.
const CONCURRENT: usize = 4;

/// The most claims of which is looked up what they say, among those that hooks gave.
const MAX_LOOKUPS: usize = 60;

/// Asks the daemon; `state` is the folder of this machine's state.
pub(super) async fn read(
    client: &Client,
    state: Option<&Path>,
    read: ReadRequest,
) -> Result<RequestAnswer, RequestFailure> {
    Ok(match read {
        ReadRequest::Health => RequestAnswer::Health(Box::new(client.health().await?)),
        ReadRequest::Scopes => RequestAnswer::Scopes(client.scopes().await?),
        ReadRequest::Claims(query) => RequestAnswer::Claims(client.claims(&query).await?),
        ReadRequest::History(id) => RequestAnswer::History(Box::new(client.history(&id).await?)),
        ReadRequest::Why(request) => RequestAnswer::Why(Box::new(client.why(&request).await?)),
        ReadRequest::Conflicts(query) => RequestAnswer::Conflicts(client.conflicts(&query).await?),
        ReadRequest::Card(id) => RequestAnswer::Card(Box::new(client.card(&id).await?)),
        ReadRequest::Cards(ids) => RequestAnswer::Cards(cards(client, &ids).await?),
        ReadRequest::Inbox(query) => RequestAnswer::Inbox(client.inbox(&query).await?),
        ReadRequest::Log(query) => RequestAnswer::Log(client.log(&query).await?),
        ReadRequest::Recall(requests) => {
            let (answer, unanswered) = recall(client, &requests).await?;
            RequestAnswer::Recalled(Box::new(answer), unanswered)
        }
        ReadRequest::Snapshot(query) => RequestAnswer::Snapshot(client.snapshot(&query).await?),
        ReadRequest::Ingested(query) => RequestAnswer::Ingested(client.ingested(&query).await?),
        ReadRequest::Agents(query) => RequestAnswer::Agents(client.agents(&query).await?),
        ReadRequest::Notes => RequestAnswer::Notes(Box::new(client.notes_status().await?)),
        ReadRequest::Insights(query) => RequestAnswer::Insights(Box::new(client.notes_insights(&query).await?)),
        ReadRequest::NotesPreview(request) => {
            RequestAnswer::NotesWritten(Box::new(client.notes_write(&request).await?))
        }
        ReadRequest::Story(query) => RequestAnswer::Story(Box::new(client.story(&query).await?)),
        ReadRequest::Doubts(query) => RequestAnswer::Doubts(client.doubts(&query).await?),
        ReadRequest::Questions(query) => RequestAnswer::Questions(client.questions(&query).await?),
        ReadRequest::Injected => RequestAnswer::Injected(injected(client, state).await?),
        ReadRequest::Setup { remove } => RequestAnswer::Setup(setup(state, remove, false).await?),
        ReadRequest::Joined(id) => RequestAnswer::Join(Box::new(client.sync_joined(&id).await?)),
        ReadRequest::Diagnose => RequestAnswer::Diagnose(Box::new(client.diagnose().await?)),
        ReadRequest::Sync => {
            let status = client.sync_status().await?;
            let pending = if status.pending > 0 { client.sync_pending().await? } else { PendingJoins::default() };
            RequestAnswer::Sync(Box::new(status), pending)
        }
    })
}

/// Reads cards, a few at a time; one that is gone meanwhile is left out.
async fn cards(client: &Client, ids: &[String]) -> Result<Vec<CardView>, ClientError> {
    let calls: Vec<_> = ids.iter().map(|id| client.card(id)).collect();
    let read: Vec<_> = stream::iter(calls).buffered(CONCURRENT).collect().await;
    let mut views = Vec::new();
    for card in read {
        match card {
            Ok(card) => views.push(card),
            Err(error) if error.is_unreachable() => return Err(error),
            Err(_) => {}
        }
    }
    Ok(views)
}

/// Asks in each scope, a few at a time, and puts together what comes within [`TIMEOUT`]; says how many scopes have not answered by then. The
/// first answer is waited for however long it takes: models may have to be loaded for it.
async fn recall(client: &Client, requests: &[RecallRequest]) -> Result<(RecallAnswer, usize), ClientError> {
    let end = Instant::now() + TIMEOUT;
    let calls: Vec<_> = requests.iter().map(|request| client.recall(request)).collect();
    let mut asked = stream::iter(calls).buffer_unordered(CONCURRENT);
    let (mut answers, mut failed) = (Vec::new(), None);
    loop {
        let next = if answers.is_empty() {
            asked.next().await
        } else {
            timeout_at(end, asked.next()).await.unwrap_or_default()
        };
        match next {
            Some(Ok(answer)) => answers.push(answer),
            Some(Err(error)) => failed = Some(error),
            None => break,
        }
    }
    match failed {
        Some(error) if answers.is_empty() => Err(error),
        _ => {
            let unanswered = requests.len() - answers.len();
            let mut merged = search_words::merge(answers);
            if !merged.hits.iter().any(search_words::is_alike) {
                let slips = spelled_alike(client, requests).await.unwrap_or_default();
                merged.hits.retain(|hit| slips.iter().all(|slip| slip.claim.id != hit.claim.id));
                merged.hits.splice(0..0, slips);
            }
            Ok((merged, unanswered))
        }
    }
}

/// Claims in which a word is spelled nearly as in the question, the nearest first: looked for if neither words nor meaning found
/// any.
async fn spelled_alike(client: &Client, requests: &[RecallRequest]) -> Result<Vec<RecallHit>, ClientError> {
    let mut claims = Vec::new();
    for request in requests.iter().take(CONCURRENT) {
        let kinds: Vec<&str> = request.kinds.iter().map(|kind| kind.as_str()).collect();
        let mut query = ClaimsQuery {
            org_id: Some(request.org_id.clone()),
            project: Some(request.project.clone()),
            kind: Some(kinds.join(",")).filter(|kinds| !kinds.is_empty()),
            status: request.include_history.then(|| "all".to_owned()),
            limit: Some(MAX_PAGE),
            ..ClaimsQuery::default()
        };
        for _ in 0..PAGES {
            let page = client.claims(&query).await?;
            claims.extend(page.items);
            query.cursor = page.next;
            if query.cursor.is_none() {
                break;
            }
        }
    }
    let texts: Vec<&str> = claims.iter().map(|claim| claim.statement.as_str()).collect();
    let words = requests.first().map_or("", |request| request.query.as_str());
    let found = fuzzy::find(words, &texts).into_iter().take(MAX_MISSPELLED);
    Ok(found
        .filter_map(|(index, score)| Some((claims.get(index)?.clone(), score)))
        .map(|(claim, score)| RecallHit {
            claim,
            score: f32::from(score),
            cosine: None,
            words: Vec::new(),
            verdict: None,
        })
        .collect())
}

/// Pages of claims of a scope in which a word is looked for that may be misspelled.
const PAGES: usize = 5;

/// The most claims that are shown for a word that may be misspelled.
const MAX_MISSPELLED: usize = 5;

/// What hooks gave on this machine, by claim, the latest with what it says.
async fn injected(client: &Client, state: Option<&Path>) -> Result<Vec<InjectedClaim>, RequestFailure> {
    let Some(state) = state.map(Path::to_owned) else { return Ok(Vec::new()) };
    let read = tokio::task::spawn_blocking(move || injected::all(&state).map(|all| injected::by_claim(&all))).await;
    let mut injected = match read {
        Ok(Ok(injected)) => injected,
        Ok(Err((path, error))) => {
            return Err(RequestFailure::plain(format!(
                "the record of injected claims cannot be read from {}: {error}",
                path.display()
            )));
        }
        Err(_) => return Err(RequestFailure::plain("the record of injected claims could not be read")),
    };
    for one in injected.iter_mut().take(MAX_LOOKUPS) {
        // Of another store, or redacted since: its id is what is left of it.
        one.statement = client.claim(&one.claim.to_hex()).await.ok().map(|claim| claim.statement);
    }
    Ok(injected)
}

/// Plans the setup of the agents that are installed here, and writes it if told to: the diff and what it comes to, or what was done.
async fn setup(state: Option<&Path>, remove: bool, write: bool) -> Result<String, RequestFailure> {
    let state = state.map(Path::to_owned).ok_or_else(|| RequestFailure::plain("no folder for backups is set"))?;
    let run = move || -> Result<String, SetupError> {
        let place = AgentFiles::from_environment(None)?;
        let agents = CodingAgent::installed(&place);
        if agents.is_empty() {
            return Err(SetupError::none_installed(remove));
        }
        let plan = SetupPlan::new(agents, &place, &state, remove)?;
        if write && !plan.is_empty() { plan.apply() } else { Ok(format!("{}{}", plan.diff(), plan.summary())) }
    };
    match tokio::task::spawn_blocking(run).await {
        Ok(result) => result.map_err(RequestFailure::from),
        Err(_) => Err(RequestFailure::plain("setup did not run: the app is closing")),
    }
}

impl From<SetupError> for RequestFailure {
    fn from(error: SetupError) -> Self {
        let hint = match &error {
            SetupError::Input { hint, .. } => hint.map(str::to_owned),
            SetupError::File { .. } | SetupError::Changed(_) => None,
        };
        Self { hint, ..Self::plain(error.to_string()) }
    }
}

/// Tells the daemon; `state` is the folder of this machine's state.
pub(super) async fn write(
    client: &Client,
    state: Option<&Path>,
    write: WriteRequest,
) -> Result<RequestAnswer, RequestFailure> {
    Ok(match write {
        WriteRequest::Resolve { card, request } => {
            RequestAnswer::Outcome(Box::new(client.resolve(&card, &request).await?))
        }
        WriteRequest::ResolveMany(request) => RequestAnswer::Many(Box::new(client.resolve_many(&request).await?)),
        WriteRequest::Remember(request) => RequestAnswer::Outcome(Box::new(client.remember(&request).await?)),
        WriteRequest::NotesScan(request) => RequestAnswer::NotesRun(Box::new(client.notes_scan(&request).await?)),
        WriteRequest::NotesWrite(request) => RequestAnswer::NotesWritten(Box::new(client.notes_write(&request).await?)),
        WriteRequest::Promote(request) => RequestAnswer::Outcome(Box::new(client.promote(&request).await?)),
        WriteRequest::JudgePairs(request) => RequestAnswer::JudgedPairs(client.judge_pairs(&request).await?),
        WriteRequest::Judge(request) => RequestAnswer::Outcome(Box::new(client.judge(&request).await?)),
        WriteRequest::Supersede(request) => RequestAnswer::Outcome(Box::new(client.supersede(&request).await?)),
        WriteRequest::Retract(request) => RequestAnswer::Outcome(Box::new(client.retract(&request).await?)),
        WriteRequest::Reinstate(request) => RequestAnswer::Outcome(Box::new(client.reinstate(&request).await?)),
        WriteRequest::Redact(request) => RequestAnswer::Outcome(Box::new(client.redact(&request).await?)),
        WriteRequest::Reviewed(request) => RequestAnswer::Outcome(Box::new(client.reviewed(&request).await?)),
        WriteRequest::Undo(request) => RequestAnswer::Undone(Box::new(client.undo(&request).await?)),
        WriteRequest::Audit(request) => RequestAnswer::Audited(client.audit(&request).await?),
        WriteRequest::Reembed => RequestAnswer::Reembedded(client.reembed().await?),
        WriteRequest::Setup { remove } => RequestAnswer::Setup(setup(state, remove, true).await?),
        WriteRequest::SyncNow => {
            let request = SyncNowRequest { device: None, wait_ms: Some(SYNC_WAIT_MS) };
            RequestAnswer::Synced(Box::new(client.sync_now(&request).await?))
        }
        WriteRequest::CreateTeam(request) => RequestAnswer::TeamMade(Box::new(client.sync_create(&request).await?)),
        WriteRequest::JoinTeam(request) => RequestAnswer::Join(Box::new(client.sync_join(&request).await?)),
        WriteRequest::Quarantine { accept: true, request } => RequestAnswer::Team(client.sync_accept(&request).await?),
        WriteRequest::Quarantine { accept: false, request } => {
            RequestAnswer::Team(client.sync_discard(&request).await?)
        }
        WriteRequest::AnswerJoin { id, name, request } => {
            client.sync_answer(&id, &request).await?;
            RequestAnswer::Joined { name, accepted: request.accept }
        }
    })
}

impl From<ClientError> for RequestFailure {
    fn from(error: ClientError) -> Self {
        let (kind, field, candidates) = match &error {
            ClientError::Timeout { .. } => (FailureKind::Timeout, None, Vec::new()),
            ClientError::Api(api) => {
                let kind = match api.code {
                    ErrorCode::NotFound => FailureKind::NotFound,
                    ErrorCode::Stale => FailureKind::Stale,
                    _ => FailureKind::Refused,
                };
                (kind, api.field.clone(), api.candidates.clone())
            }
            other if other.is_unreachable() => (FailureKind::Unreachable, None, Vec::new()),
            _ => (FailureKind::Refused, None, Vec::new()),
        };
        Self { kind, message: error.to_string(), hint: error.hint(), field, candidates }
    }
}

impl RequestFailure {
    /// Something of this machine that did not work, in one sentence.
    pub(super) fn plain(message: impl Into<String>) -> Self {
        Self { kind: FailureKind::Refused, message: message.into(), hint: None, field: None, candidates: Vec::new() }
    }
}
