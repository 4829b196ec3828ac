//! Sends the app's requests through the client, and converts failures into those of the app.

use std::{path::Path, time::Duration};

use futures_util::stream::{self, StreamExt};
use tokio::time::{Instant, timeout_at};

use crate::{
    api::{
        CardView, ClaimView, ClaimsQuery, ErrorCode, LogPage, MAX_PAGE, PendingJoins, RecallAnswer, RecallHit,
        RecallRequest, SyncNowRequest,
    },
    client::{
        Client, ClientError,
        injected::{self, InjectedClaim},
    },
    domain::Scope,
    setup::{AgentFiles, CodingAgent, SetupError, SetupPlan},
    tui::{
        fuzzy,
        msg::{FailureKind, ReadRequest, RequestAnswer, RequestFailure, UnansweredScopes, WriteRequest},
        search_words, text,
    },
};

/// How long the app waits for a sync round with every peer, in milliseconds.
const SYNC_WAIT_MS: u64 = 10_000;

/// How long the scopes of a search may take together; short, because a person is typing.
const SEARCH_TIMEOUT: Duration = Duration::from_millis(400);

/// The most scopes or cards that are read at once: more would wait for the same models.
const MAX_CONCURRENT: usize = 4;

/// The most injected claims whose statements are looked up.
const MAX_LOOKUPS: usize = 60;

/// Sends a read; `state` is the folder of this machine's state.
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
        ReadRequest::LastAct(caller) => {
            let items = client.last_act(caller).await?.map(|(_, event)| event).into_iter().collect();
            RequestAnswer::Log(LogPage { items, ..LogPage::default() })
        }
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

/// Reads cards, a few at a time; those that cannot be read are left out.
async fn cards(client: &Client, ids: &[String]) -> Result<Vec<CardView>, ClientError> {
    let calls: Vec<_> = ids.iter().map(|id| client.card(id)).collect();
    let read: Vec<_> = stream::iter(calls).buffered(MAX_CONCURRENT).collect().await;
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

/// Searches each scope, a few at a time, and merges the answers that arrive within [`SEARCH_TIMEOUT`]. Also returns the
/// scopes without an answer.
///
/// The first answer is awaited without a timeout of its own, because models may have to be loaded for it.
async fn recall(client: &Client, requests: &[RecallRequest]) -> Result<(RecallAnswer, UnansweredScopes), ClientError> {
    let end = Instant::now() + SEARCH_TIMEOUT;
    let calls: Vec<_> = requests.iter().map(async |request| (request, client.recall(request).await)).collect();
    let mut answering = stream::iter(calls).buffer_unordered(MAX_CONCURRENT);
    let (mut answers, mut errors) = (Vec::new(), Vec::new());
    loop {
        let next = if answers.is_empty() {
            answering.next().await
        } else {
            timeout_at(end, answering.next()).await.unwrap_or_default()
        };
        match next {
            Some((_, Ok(answer))) => answers.push(answer),
            Some((request, Err(error))) => errors.push((request, error)),
            None => break,
        }
    }
    if answers.is_empty()
        && let Some((_, error)) = errors.pop()
    {
        return Err(error);
    }
    let unanswered = unanswered(requests.len() - answers.len(), errors);
    let mut merged = search_words::merge(answers);
    if !merged.hits.iter().any(search_words::is_alike) {
        let misspelled = misspelled_matches(client, requests).await.unwrap_or_default();
        merged.hits.retain(|hit| misspelled.iter().all(|found| found.claim.id != hit.claim.id));
        merged.hits.splice(0..0, misspelled);
    }
    Ok((merged, unanswered))
}

/// Sorts the scopes without an answer, `count` in all, into those that answered with an error and those that timed out.
fn unanswered(count: usize, errors: Vec<(&RecallRequest, ClientError)>) -> UnansweredScopes {
    let failed: Vec<_> = errors
        .into_iter()
        .filter(|(_, error)| !matches!(error, ClientError::Timeout { .. }))
        .map(|(request, error)| {
            let scope = Scope { org_id: request.org_id.clone(), project: request.project.clone() };
            (scope, text::short_ids(&error.to_string()))
        })
        .collect();
    UnansweredScopes { timed_out: count - failed.len(), failed }
}

/// Finds claims with words spelled nearly as in the question, the closest first; used if neither words nor meaning
/// found any.
async fn misspelled_matches(client: &Client, requests: &[RecallRequest]) -> Result<Vec<RecallHit>, ClientError> {
    let mut claims = Vec::new();
    for request in requests.iter().take(MAX_CONCURRENT) {
        let kinds: Vec<&str> = request.kinds.iter().map(|kind| kind.as_str()).collect();
        let mut query = ClaimsQuery {
            org_id: Some(request.org_id.clone()),
            project: Some(request.project.clone()),
            kind: Some(kinds.join(",")).filter(|kinds| !kinds.is_empty()),
            status: request.include_history.then(|| "all".to_owned()),
            limit: Some(MAX_PAGE),
            ..ClaimsQuery::default()
        };
        for _ in 0..MAX_PAGES {
            let page = client.claims(&query).await?;
            claims.extend(page.items);
            query.cursor = page.next;
            if query.cursor.is_none() {
                break;
            }
        }
    }
    let words = requests.first().map_or_else(String::new, |request| request.query.clone());
    // With thousands of claims this takes a while, in which other requests must go on.
    Ok(tokio::task::spawn_blocking(move || closest(&words, &claims)).await.unwrap_or_default())
}

/// Returns the claims whose words are spelled nearly as these, the closest first.
fn closest(words: &str, claims: &[ClaimView]) -> Vec<RecallHit> {
    let texts: Vec<&str> = claims.iter().map(|claim| claim.statement.as_str()).collect();
    let found = fuzzy::find(words, &texts).into_iter().take(MAX_MISSPELLED);
    found
        .filter_map(|(index, score)| Some((claims.get(index)?.clone(), score)))
        .map(|(claim, score)| RecallHit {
            claim,
            score: f32::from(score),
            cosine: None,
            words: Vec::new(),
            verdict: None,
        })
        .collect()
}

/// The most pages of claims per scope in which a misspelled word is looked for.
const MAX_PAGES: usize = 5;

/// The most claims that are shown for a misspelled word.
const MAX_MISSPELLED: usize = 5;

/// Returns the claims that hooks injected on this machine; only the latest are looked up for their statements.
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
    for entry in injected.iter_mut().take(MAX_LOOKUPS) {
        // A claim of another store, or one that was redacted, may have nothing left but its id.
        entry.statement = client.claim(&entry.claim.to_hex()).await.ok().map(|claim| claim.statement);
    }
    Ok(injected)
}

/// Plans the setup of the agents that are installed here, and applies it if `write` is set. Returns the diff with a
/// summary, or what was done.
async fn setup(state: Option<&Path>, remove: bool, write: bool) -> Result<String, RequestFailure> {
    let state = state.map(Path::to_owned).ok_or_else(|| RequestFailure::plain("no folder for backups is set"))?;
    let run = move || -> Result<String, SetupError> {
        let place = AgentFiles::from_environment(None)?;
        let plan = SetupPlan::new(CodingAgent::chosen(&place, remove)?, &place, &state, remove)?;
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

/// Sends a write; `state` is the folder of this machine's state.
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

/// The maximum number of ids that are shown if a prefix fits several.
const MAX_CANDIDATES: usize = 5;

/// Returns the ids that an error names, shortened; `None` if it names none.
fn candidates(error: &ClientError) -> Option<String> {
    let ClientError::Api(api) = error else { return None };
    let ids: Vec<&str> = api.candidates.iter().take(MAX_CANDIDATES).map(String::as_str).collect();
    let what = if api.code == ErrorCode::Ambiguous { "did you mean" } else { "related" };
    (!ids.is_empty()).then(|| format!("{what}: {}", text::short_ids(&ids.join(", "))))
}

impl From<ClientError> for RequestFailure {
    fn from(error: ClientError) -> Self {
        let (kind, field) = match &error {
            ClientError::Timeout { .. } => (FailureKind::Timeout, None),
            ClientError::Api(api) => {
                let kind = match api.code {
                    ErrorCode::NotFound => FailureKind::NotFound,
                    ErrorCode::Stale => FailureKind::Stale,
                    _ => FailureKind::Refused,
                };
                (kind, api.field.clone())
            }
            other if other.is_unreachable() => (FailureKind::Unreachable, None),
            _ => (FailureKind::Refused, None),
        };
        let hints: Vec<String> = error.hint().into_iter().chain(candidates(&error)).collect();
        let hint = Some(hints.join("; ")).filter(|hint| !hint.is_empty());
        Self { kind, message: error.to_string(), hint, field }
    }
}

impl RequestFailure {
    /// Creates a failure that happened on this machine, described in one sentence.
    pub(super) fn plain(message: impl Into<String>) -> Self {
        Self { kind: FailureKind::Refused, message: message.into(), hint: None, field: None }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{api::ApiError, tui::sample::scope};

    #[test]
    fn the_ids_that_a_prefix_fits_are_named() {
        let mut error = ApiError::new(ErrorCode::Ambiguous, "ab matches more than one claim");
        error.candidates = vec!["ab".repeat(32), "abcd".repeat(16)];
        let failure = RequestFailure::from(ClientError::Api(error));
        let hint = failure.hint.unwrap();
        assert!(hint.ends_with("did you mean: ababababab, abcdabcdab"), "{hint}");
    }

    #[test]
    fn a_scope_that_failed_has_not_timed_out() {
        let request = |project: &str| {
            let Scope { org_id, project } = scope(project);
            RecallRequest { org_id, project, ..RecallRequest::default() }
        };
        let (web, ios) = (request("web"), request("ios"));
        let timeout = ClientError::Timeout { place: "here".into(), after: SEARCH_TIMEOUT };
        let error = ClientError::Api(ApiError::new(ErrorCode::Internal, "the store is locked"));
        let found = unanswered(3, vec![(&web, error), (&ios, timeout)]);
        assert_eq!(
            found,
            UnansweredScopes { timed_out: 2, failed: vec![(scope("web"), "the store is locked".to_owned())] }
        );
    }
}
