//! A listener with the API of cogito-ergo, so that its clients work unchanged with ergo's store.
//!
//! It runs only if the settings name an address, which must be a loopback address. It requires a token only if the
//! settings name a token file, since the original requires none. Web pages are refused; the content type is not
//! checked, as in the original. What is stored here becomes a fact under its own id; recalls return active claims,
//! word for word.

use std::sync::Arc;

use axum::{
    Router,
    body::{Body, Bytes},
    extract::{Request, State},
    middleware::{self, Next},
    response::{IntoResponse, Json, Response},
    routing::{get, post},
};
use http::{HeaderValue, StatusCode, header};
use http_body_util::{BodyExt, LengthLimitError, Limited};
use serde_json::{Map, Value, json};
use tokio::time::timeout;
use tower_http::catch_panic::CatchPanicLayer;

use super::{
    request_checks::{self, RunningRequest},
    state::SharedState,
};
use crate::{
    api::{
        ApiError, Caller, ClaimsQuery, MAX_RECALL, RecallRequest, RecallVerdict, RememberRequest, SnapshotQuery,
        WriteOutcome,
    },
    domain::{ClaimKind, Scope},
    engine::{Engine, Extracted, RecallMeans, fact_key_of},
};

/// The largest body, in bytes: that of the original.
const MAX_BODY: usize = 1024 * 1024;

/// The organisation, project and person for whom it speaks.
#[derive(Clone, Debug)]
pub(super) struct CompatCaller {
    pub(super) scope: Scope,
    pub(super) who: String,
    /// What its clients must bear; `None` if it asks for nothing.
    pub(super) token: Option<String>,
    /// What holds if a client does not say.
    pub(super) limits: Limits,
}

/// How much is answered with unless a client says so itself.
#[derive(Clone, Copy, Debug)]
pub(super) struct Limits {
    /// Memories of `/recall` and `/recall_b`.
    pub(super) recall: usize,
    /// The distance from which on they leave a memory out.
    pub(super) recall_threshold: f64,
    /// The same of `/query`.
    pub(super) query_threshold: f64,
}

/// The distance of a memory that has nothing in common with a question.
const FARTHEST: f64 = 500.0;

/// Memories of `/query` if the client does not say.
const QUERY_LIMIT: usize = 5;

/// How far a memory is from a question, by what it is ranked by: nearness is at most 1. As the original's clients show it, a smaller one is better.
fn distance(score: f32) -> f64 {
    ((1.0 - f64::from(score)).clamp(0.0, 1.0) * FARTHEST * 1000.0).round() / 1000.0
}

#[derive(Clone)]
struct Cogito {
    shared: SharedState,
    caller: Arc<CompatCaller>,
}

/// A failure in the original's form.
struct Refused(StatusCode, String);

impl IntoResponse for Refused {
    fn into_response(self) -> Response {
        let mut response = (self.0, Json(json!({ "error": self.1 }))).into_response();
        if self.0 == StatusCode::UNAUTHORIZED {
            response.headers_mut().insert(header::WWW_AUTHENTICATE, HeaderValue::from_static("Bearer"));
        }
        response
    }
}

impl From<ApiError> for Refused {
    fn from(error: ApiError) -> Self {
        let status = StatusCode::from_u16(error.code.status()).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
        Self(status, error.to_string())
    }
}

type Answer = Result<Json<Value>, Refused>;

/// What answers there.
pub(super) fn router(shared: SharedState, caller: CompatCaller) -> Router {
    let cogito = Cogito { shared, caller: Arc::new(caller) };
    Router::new()
        .route("/health", get(health))
        .route("/snapshot", get(snapshot))
        .route("/recall", post(recall))
        .route("/recall_b", post(recall_b))
        .route("/query", post(query))
        .route("/store", post(store))
        .route("/add", post(add))
        .fallback(async || Refused(StatusCode::NOT_FOUND, "not found".to_owned()))
        .layer(CatchPanicLayer::custom(request_checks::panicked))
        .layer(middleware::from_fn_with_state(cogito.clone(), pass))
        .with_state(cogito)
}

/// Counts the request, refuses web pages and names that were bent to this machine, asks for the token if there is one, and
/// keeps the time. The body is read here, so that one that never ends holds its connection no longer than [`request_checks::LIMIT`].
async fn pass(State(cogito): State<Cogito>, request: Request<Body>, next: Next) -> Response {
    let _busy = RunningRequest::new(&cogito.shared);
    let admitted = request_checks::check_origin(request.headers())
        .and_then(|()| request_checks::check_host(request.headers(), request.uri()))
        .and_then(|()| {
            cogito.caller.token.as_deref().map_or(Ok(()), |token| request_checks::bearer(request.headers(), token))
        });
    if let Err(error) = admitted {
        return Refused::from(error).into_response();
    }
    let (parts, body) = request.into_parts();
    let late = || Refused(StatusCode::REQUEST_TIMEOUT, "the request took too long".to_owned()).into_response();
    let body = match timeout(request_checks::LIMIT, Limited::new(body, MAX_BODY).collect()).await {
        Ok(Ok(whole)) => whole.to_bytes(),
        Ok(Err(error)) if error.is::<LengthLimitError>() => {
            let message = format!("the body is larger than {MAX_BODY} bytes");
            return Refused(StatusCode::PAYLOAD_TOO_LARGE, message).into_response();
        }
        Ok(Err(error)) => {
            return Refused(StatusCode::BAD_REQUEST, format!("the body ended early: {error}")).into_response();
        }
        Err(_) => return late(),
    };
    timeout(request_checks::LONG_LIMIT, next.run(Request::from_parts(parts, body.into())))
        .await
        .unwrap_or_else(|_| late())
}

/// The body as a JSON object; one that is none is empty, as in the original, where `lenient`.
fn fields(bytes: &[u8], lenient: bool) -> Result<Map<String, Value>, Refused> {
    match serde_json::from_slice::<Map<String, Value>>(bytes) {
        Ok(fields) => Ok(fields),
        Err(_) if lenient => Ok(Map::new()),
        Err(_) => Err(Refused(StatusCode::BAD_REQUEST, "invalid json".to_owned())),
    }
}

fn text(fields: &Map<String, Value>) -> String {
    fields.get("text").and_then(Value::as_str).unwrap_or_default().trim().to_owned()
}

async fn health(State(cogito): State<Cogito>) -> Answer {
    let query = cogito.claims();
    let scope = cogito.caller.scope.clone();
    let look = move |engine: &Engine| Ok((engine.claims(&query)?.total, engine.calibrated(&scope)?));
    let (count, calibrated) = cogito.shared.engine(look).await?;
    Ok(Json(json!({
        "status": "ok",
        "count": count,
        "version": env!("CARGO_PKG_VERSION"),
        "calibrated": calibrated,
        "snapshot": count > 0,
    })))
}

async fn snapshot(State(cogito): State<Cogito>) -> Answer {
    let Scope { org_id, project } = cogito.caller.scope.clone();
    let query = SnapshotQuery { org_id, project, rebuild: true, ..SnapshotQuery::default() };
    let page = cogito.shared.engine(move |engine| engine.snapshot(&query)).await?;
    if page.claims == 0 {
        return Err(Refused(StatusCode::NOT_FOUND, "no snapshot: nothing is stored yet".to_owned()));
    }
    Ok(Json(json!({ "snapshot": page.snapshot, "path": cogito.shared.store.display().to_string() })))
}

async fn recall(State(cogito): State<Cogito>, body: Bytes) -> Answer {
    cogito.find(&body, Asked { filter: true, ..cogito.caller.limits.into() }).await
}

async fn recall_b(State(cogito): State<Cogito>, body: Bytes) -> Answer {
    cogito.find(&body, cogito.caller.limits.into()).await
}

/// By vectors alone; by words if there is no embedder.
async fn query(State(cogito): State<Cogito>, body: Bytes) -> Answer {
    let narrow = RecallMeans { words: false, vocabulary: false, meaning: true };
    let asked =
        Asked { limit: QUERY_LIMIT, threshold: cogito.caller.limits.query_threshold, filter: false, ways: narrow };
    let Json(mut answer) = cogito.find(&body, asked).await?;
    let by_meaning = answer.get("by_meaning").and_then(Value::as_bool).unwrap_or_default();
    if !by_meaning {
        let ways = RecallMeans { meaning: false, ..RecallMeans::default() };
        Json(answer) = cogito.find(&body, Asked { ways, ..asked }).await?;
    }
    if let Some(fields) = answer.as_object_mut() {
        fields.remove("method");
        fields.remove("by_meaning");
    }
    Ok(Json(answer))
}

async fn store(State(cogito): State<Cogito>, body: Bytes) -> Answer {
    let fields = fields(&body, true)?;
    let text = text(&fields);
    if text.len() < 3 {
        return Err(Refused(StatusCode::BAD_REQUEST, "no text".to_owned()));
    }
    let id = fields.get("id").and_then(Value::as_str).map(str::trim).filter(|id| !id.is_empty()).map(str::to_owned);
    let id = cogito.keep(&text, id).await?;
    Ok(Json(json!({ "id": id, "text": text, "status": "stored", "queued_total": 0 })))
}

/// Stored as it was written: the sentences that the local language model points at, else the whole text. Nothing puts it into other words, and the
/// answer says what was done.
async fn add(State(cogito): State<Cogito>, body: Bytes) -> Answer {
    let text = text(&fields(&body, true)?);
    if text.is_empty() {
        return Err(Refused(StatusCode::BAD_REQUEST, "no text".to_owned()));
    }
    let Extracted { claims, method, note } = cogito.shared.engine(move |engine| Ok(engine.extract(&text))).await?;
    for claim in &claims {
        // Each is stored under what it says: who sends the text once more doubles nothing.
        cogito.keep(claim, None).await?;
    }
    // The original says so of a text that holds no fact, too.
    Ok(Json(json!({ "status": "stored", "count": claims.len(), "memories": claims, "method": method, "note": note })))
}

/// What holds of a question unless the client says otherwise.
#[derive(Clone, Copy)]
struct Asked {
    limit: usize,
    threshold: f64,
    filter: bool,
    ways: RecallMeans,
}

impl From<Limits> for Asked {
    fn from(limits: Limits) -> Self {
        Self { limit: limits.recall, threshold: limits.recall_threshold, filter: false, ways: RecallMeans::default() }
    }
}

impl Cogito {
    fn claims(&self) -> ClaimsQuery {
        let Scope { org_id, project } = self.caller.scope.clone();
        ClaimsQuery { org_id: Some(org_id), project: Some(project), limit: Some(1), ..ClaimsQuery::default() }
    }

    /// Recalls in the original's form. A question of nothing has the original's answer.
    async fn find(&self, body: &[u8], asked: Asked) -> Answer {
        let fields = fields(body, false)?;
        let query = text(&fields);
        if query.is_empty() {
            return Ok(Json(json!({ "memories": [], "method": "empty_query" })));
        }
        let limit = fields.get("limit").and_then(Value::as_u64).map_or(asked.limit, |limit| limit as usize);
        let threshold = fields.get("threshold").and_then(Value::as_f64).unwrap_or(asked.threshold);
        let Asked { filter, ways, .. } = asked;
        let Scope { org_id, project } = self.caller.scope.clone();
        let limit = Some(limit.clamp(1, MAX_RECALL));
        let request = RecallRequest { org_id, project, query, limit, filter, ..RecallRequest::default() };
        let answer = self.shared.engine(move |engine| engine.recall_by(&request, ways)).await?;
        let near =
            answer.hits.iter().map(|hit| (hit, distance(hit.score))).filter(|(_, distance)| *distance < threshold);
        // What has nothing to do with the question is no memory of it.
        let near = near.filter(|_| answer.verdict != RecallVerdict::Nothing);
        let memories: Vec<Value> =
            near.map(|(hit, distance)| json!({ "text": hit.claim.statement, "score": distance })).collect();
        // The original's command line shows the method and nothing else: there it says, too, that nothing is known.
        let method = match answer.verdict {
            RecallVerdict::Known => answer.method,
            verdict => format!("{}|{}", answer.method, verdict.as_str()),
        };
        Ok(Json(json!({
            "memories": memories,
            "method": method,
            "verdict": answer.verdict,
            "probability": answer.probability,
            "note": answer.notes.join(" "),
            "by_meaning": answer.by_meaning,
        })))
    }

    /// Stores a text as a fact under an id: the given one, or one that follows from the text. Returns with it.
    async fn keep(&self, text: &str, id: Option<String>) -> Result<String, Refused> {
        let id = id.unwrap_or_else(|| fact_key_of(text));
        let Scope { org_id, project } = self.caller.scope.clone();
        let request = RememberRequest {
            caller: Caller { org_id, project, who: self.caller.who.clone(), ..Caller::default() },
            statement: text.to_owned(),
            kind: Some(ClaimKind::Fact),
            key: Some(id.clone()),
            ..RememberRequest::default()
        };
        match self.shared.engine(move |engine| engine.remember(request)).await? {
            WriteOutcome::Stored(_) => Ok(id),
            _ => Err(Refused(StatusCode::CONFLICT, "it was not stored".to_owned())),
        }
    }
}

#[cfg(test)]
mod tests;
