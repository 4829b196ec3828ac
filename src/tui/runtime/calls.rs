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
        injected::{self, Given},
    },
    setup::{AgentFiles, CodingAgent, SetupError, SetupPlan},
    tui::{
        found, fuzzy,
        msg::{Answer, Failure, FailureKind, Read, Write},
    },
};

/// How long the app waits for what comes of a round with every peer, in milliseconds.
const ROUND_MS: u64 = 10_000;

/// How long the scopes of a search may take together: a person is typing.
const PATIENCE: Duration = Duration::from_millis(400);

/// Scopes that are asked at once: more would wait for the same models.
const AT_ONCE: usize = 4;

/// The most claims of which is looked up what they say, among those that hooks gave.
const LOOKED_UP: usize = 60;

/// Asks the daemon; `state` is the folder of this machine's state.
pub(super) async fn read(client: &Client, state: Option<&Path>, read: Read) -> Result<Answer, Failure> {
    Ok(match read {
        Read::Health => Answer::Health(Box::new(client.health().await?)),
        Read::Scopes => Answer::Scopes(client.scopes().await?),
        Read::Claims(query) => Answer::Claims(client.claims(&query).await?),
        Read::History(id) => Answer::History(Box::new(client.history(&id).await?)),
        Read::Why(request) => Answer::Why(Box::new(client.why(&request).await?)),
        Read::Conflicts(query) => Answer::Conflicts(client.conflicts(&query).await?),
        Read::Card(id) => Answer::Card(Box::new(client.card(&id).await?)),
        Read::Cards(ids) => Answer::Cards(cards(client, &ids).await?),
        Read::Inbox(query) => Answer::Inbox(client.inbox(&query).await?),
        Read::Log(query) => Answer::Log(client.log(&query).await?),
        Read::Recall(requests) => {
            let (answer, unasked) = recall(client, &requests).await?;
            Answer::Recalled(Box::new(answer), unasked)
        }
        Read::Snapshot(query) => Answer::Snapshot(client.snapshot(&query).await?),
        Read::Ingested(query) => Answer::Ingested(client.ingested(&query).await?),
        Read::Agents(query) => Answer::Agents(client.agents(&query).await?),
        Read::Given => Answer::Given(given(client, state).await?),
        Read::Setup { remove } => Answer::Setup(setup(state, remove, false).await?),
        Read::Joined(id) => Answer::Join(Box::new(client.sync_joined(&id).await?)),
        Read::Diagnose => Answer::Diagnose(Box::new(client.diagnose().await?)),
        Read::Sync => {
            let status = client.sync_status().await?;
            let pending = if status.pending > 0 { client.sync_pending().await? } else { PendingJoins::default() };
            Answer::Sync(Box::new(status), pending)
        }
    })
}

/// Reads cards, a few at a time; one that is gone meanwhile is left out.
async fn cards(client: &Client, ids: &[String]) -> Result<Vec<CardView>, ClientError> {
    let calls: Vec<_> = ids.iter().map(|id| client.card(id)).collect();
    let read: Vec<_> = stream::iter(calls).buffered(AT_ONCE).collect().await;
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

/// Asks in each scope, a few at a time, and puts together what comes within [`PATIENCE`]; says how many scopes have not answered by then. The
/// first answer is waited for however long it takes: models may have to be loaded for it.
async fn recall(client: &Client, requests: &[RecallRequest]) -> Result<(RecallAnswer, usize), ClientError> {
    let end = Instant::now() + PATIENCE;
    let calls: Vec<_> = requests.iter().map(|request| client.recall(request)).collect();
    let mut asked = stream::iter(calls).buffer_unordered(AT_ONCE);
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
            let unasked = requests.len() - answers.len();
            let mut merged = found::merge(answers);
            if !merged.hits.iter().any(found::is_alike) {
                let slips = spelled_alike(client, requests).await.unwrap_or_default();
                merged.hits.retain(|hit| slips.iter().all(|slip| slip.claim.id != hit.claim.id));
                merged.hits.splice(0..0, slips);
            }
            Ok((merged, unasked))
        }
    }
}

/// Claims in which a word is spelled nearly as in the question, the nearest first: looked for where neither words nor meaning found
/// any.
async fn spelled_alike(client: &Client, requests: &[RecallRequest]) -> Result<Vec<RecallHit>, ClientError> {
    let mut claims = Vec::new();
    for request in requests.iter().take(AT_ONCE) {
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
    let found = fuzzy::find(words, &texts).into_iter().take(SPELLED);
    Ok(found
        .filter_map(|(index, score)| Some((claims.get(index)?.clone(), score)))
        .map(|(claim, score)| RecallHit { claim, score: f32::from(score), cosine: None, words: Vec::new() })
        .collect())
}

/// Pages of claims of a scope in which a word is looked for that may be misspelled.
const PAGES: usize = 5;

/// The most claims that are shown for a word that may be misspelled.
const SPELLED: usize = 5;

/// What hooks gave on this machine, by claim, the latest with what it says.
async fn given(client: &Client, state: Option<&Path>) -> Result<Vec<Given>, Failure> {
    let Some(state) = state.map(Path::to_owned) else { return Ok(Vec::new()) };
    let read = tokio::task::spawn_blocking(move || injected::all(&state).map(|all| injected::by_claim(&all))).await;
    let mut given = match read {
        Ok(Ok(given)) => given,
        Ok(Err((path, error))) => {
            return Err(Failure::plain(format!("what hooks gave cannot be read in {}: {error}", path.display())));
        }
        Err(_) => return Err(Failure::plain("what hooks gave could not be read")),
    };
    for one in given.iter_mut().take(LOOKED_UP) {
        // Of another store, or redacted since: its id is what is left of it.
        one.statement = client.claim(&one.claim.to_hex()).await.ok().map(|claim| claim.statement);
    }
    Ok(given)
}

/// Plans the setup of the agents that are installed here, and writes it if told to: the diff and what it comes to, or what was done.
async fn setup(state: Option<&Path>, remove: bool, write: bool) -> Result<String, Failure> {
    let state = state.map(Path::to_owned).ok_or_else(|| Failure::plain("this app knows no folder for backups"))?;
    let run = move || -> Result<String, SetupError> {
        let place = AgentFiles::from_environment(None)?;
        let agents = CodingAgent::installed(&place);
        if agents.is_empty() {
            return Err(SetupError::none_installed());
        }
        let plan = SetupPlan::new(agents, &place, &state, remove)?;
        if write && !plan.is_empty() { plan.apply() } else { Ok(format!("{}{}", plan.diff(), plan.summary())) }
    };
    match tokio::task::spawn_blocking(run).await {
        Ok(result) => result.map_err(Failure::from),
        Err(_) => Err(Failure::plain("setup did not run: the app is being left")),
    }
}

impl From<SetupError> for Failure {
    fn from(error: SetupError) -> Self {
        let hint = match &error {
            SetupError::Input { hint, .. } => hint.map(str::to_owned),
            SetupError::File { .. } => None,
        };
        Self { hint, ..Self::plain(error.to_string()) }
    }
}

/// Tells the daemon; `state` is the folder of this machine's state.
pub(super) async fn write(client: &Client, state: Option<&Path>, write: Write) -> Result<Answer, Failure> {
    Ok(match write {
        Write::Resolve { card, request } => Answer::Outcome(Box::new(client.resolve(&card, &request).await?)),
        Write::ResolveMany(request) => Answer::Many(Box::new(client.resolve_many(&request).await?)),
        Write::Remember(request) => Answer::Outcome(Box::new(client.remember(&request).await?)),
        Write::Supersede(request) => Answer::Outcome(Box::new(client.supersede(&request).await?)),
        Write::Retract(request) => Answer::Outcome(Box::new(client.retract(&request).await?)),
        Write::Reinstate(request) => Answer::Outcome(Box::new(client.reinstate(&request).await?)),
        Write::Redact(request) => Answer::Outcome(Box::new(client.redact(&request).await?)),
        Write::Reviewed(request) => Answer::Outcome(Box::new(client.reviewed(&request).await?)),
        Write::Undo(request) => Answer::Undone(Box::new(client.undo(&request).await?)),
        Write::Audit(request) => Answer::Audited(client.audit(&request).await?),
        Write::Reembed => Answer::Reembedded(client.reembed().await?),
        Write::Setup { remove } => Answer::Setup(setup(state, remove, true).await?),
        Write::SyncNow => {
            let request = SyncNowRequest { device: None, wait_ms: Some(ROUND_MS) };
            Answer::Synced(Box::new(client.sync_now(&request).await?))
        }
        Write::CreateTeam(request) => Answer::TeamMade(Box::new(client.sync_create(&request).await?)),
        Write::JoinTeam(request) => Answer::Join(Box::new(client.sync_join(&request).await?)),
        Write::Quarantine { accept: true, request } => Answer::Team(client.sync_accept(&request).await?),
        Write::Quarantine { accept: false, request } => Answer::Team(client.sync_discard(&request).await?),
        Write::AnswerJoin { id, name, request } => {
            client.sync_answer(&id, &request).await?;
            Answer::Joined { name, accepted: request.accept }
        }
    })
}

impl From<ClientError> for Failure {
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

impl Failure {
    /// Something of this machine that did not work, in one sentence.
    pub(super) fn plain(message: impl Into<String>) -> Self {
        Self { kind: FailureKind::Refused, message: message.into(), hint: None, field: None, candidates: Vec::new() }
    }
}
