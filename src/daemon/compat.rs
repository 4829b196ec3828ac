//! A listener with the API of cogito-ergo ("the original"), so that its clients work unchanged with ergo's store.
//!
//! It runs only if the settings name an address, which must be a loopback address. It requires a token only if the
//! settings name a token file, since the original requires none. Requests of web pages are refused; the content type is
//! not checked, as in the original. A stored text becomes a fact with an id of its own. A recall returns the statements
//! of active claims, word for word.

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

/// The maximum size of a body in bytes, as in the original.
const MAX_BODY: usize = 1024 * 1024;

/// The scope and person of all requests, and what applies to them.
#[derive(Clone, Debug)]
pub(super) struct CompatCaller {
    pub(super) scope: Scope,
    pub(super) who: String,
    /// The token that clients must send; `None` if they need none.
    pub(super) token: Option<String>,
    pub(super) limits: Limits,
}

/// The default limits of answers. A request can have its own.
#[derive(Clone, Copy, Debug)]
pub(super) struct Limits {
    /// The number of memories of `/recall` and `/recall_b`.
    pub(super) recall: usize,
    /// The distance from which `/recall` and `/recall_b` leave a memory out.
    pub(super) recall_threshold: f64,
    /// The distance from which `/query` leaves a memory out.
    pub(super) query_threshold: f64,
}

/// The distance of a memory that has nothing in common with a question.
const MAX_DISTANCE: f64 = 500.0;

/// The default number of memories of `/query`.
const QUERY_LIMIT: usize = 5;

/// Converts recall's score, which is at most 1, into the distance that the original's clients show: smaller is better.
fn distance(score: f32) -> f64 {
    ((1.0 - f64::from(score)).clamp(0.0, 1.0) * MAX_DISTANCE * 1000.0).round() / 1000.0
}

#[derive(Clone)]
struct Cogito {
    shared: SharedState,
    caller: Arc<CompatCaller>,
}

/// An error in the original's form.
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

/// Returns the router of the listener.
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
        .layer(middleware::from_fn_with_state(cogito.clone(), check_request))
        .with_state(cogito)
}

/// Middleware: counts the request, checks its origin, host and token, and limits its time. The body is read here, so
/// that one that never ends occupies its connection no longer than [`request_checks::TIMEOUT`].
async fn check_request(State(cogito): State<Cogito>, request: Request<Body>, next: Next) -> Response {
    let _busy = RunningRequest::new(&cogito.shared);
    let admitted = request_checks::check_origin(request.headers())
        .and_then(|()| request_checks::check_host(request.headers(), request.uri()))
        .and_then(|()| {
            cogito
                .caller
                .token
                .as_deref()
                .map_or(Ok(()), |token| request_checks::check_bearer(request.headers(), token))
        });
    if let Err(error) = admitted {
        return Refused::from(error).into_response();
    }
    let (parts, body) = request.into_parts();
    let timed_out = || Refused(StatusCode::REQUEST_TIMEOUT, "the request took too long".to_owned()).into_response();
    let body = match timeout(request_checks::TIMEOUT, Limited::new(body, MAX_BODY).collect()).await {
        Ok(Ok(whole)) => whole.to_bytes(),
        Ok(Err(error)) if error.is::<LengthLimitError>() => {
            let message = format!("the body is larger than {MAX_BODY} bytes");
            return Refused(StatusCode::PAYLOAD_TOO_LARGE, message).into_response();
        }
        Ok(Err(error)) => {
            return Refused(StatusCode::BAD_REQUEST, format!("the body ended early: {error}")).into_response();
        }
        Err(_) => return timed_out(),
    };
    timeout(request_checks::LONG_TIMEOUT, next.run(Request::from_parts(parts, body.into())))
        .await
        .unwrap_or_else(|_| timed_out())
}

/// Parses the body as a JSON object. If `lenient`, an invalid body counts as an empty object, as in the original.
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
    cogito.find(&body, FindOptions { filter: true, ..cogito.caller.limits.into() }).await
}

async fn recall_b(State(cogito): State<Cogito>, body: Bytes) -> Answer {
    cogito.find(&body, cogito.caller.limits.into()).await
}

/// Recalls by vectors alone, or by words if there is no embedder.
async fn query(State(cogito): State<Cogito>, body: Bytes) -> Answer {
    let by_vectors = RecallMeans { words: false, vocabulary: false, meaning: true };
    let threshold = cogito.caller.limits.query_threshold;
    let options = FindOptions { limit: QUERY_LIMIT, threshold, filter: false, means: by_vectors };
    let Json(mut answer) = cogito.find(&body, options).await?;
    let by_meaning = answer.get("by_meaning").and_then(Value::as_bool).unwrap_or_default();
    if !by_meaning {
        let means = RecallMeans { meaning: false, ..RecallMeans::default() };
        Json(answer) = cogito.find(&body, FindOptions { means, ..options }).await?;
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
    let id = cogito.store_fact(&text, id).await?;
    Ok(Json(json!({ "id": id, "text": text, "status": "stored", "queued_total": 0 })))
}

/// Stores the sentences that the local language model selects, or the whole text without one. Nothing is reworded, and
/// the answer says which method was used.
async fn add(State(cogito): State<Cogito>, body: Bytes) -> Answer {
    let text = text(&fields(&body, true)?);
    if text.is_empty() {
        return Err(Refused(StatusCode::BAD_REQUEST, "no text".to_owned()));
    }
    let Extracted { claims, method, note } = cogito.shared.engine(move |engine| Ok(engine.extract(&text))).await?;
    for claim in &claims {
        // The id of each follows from its text, so a text that is sent again makes no duplicates.
        cogito.store_fact(claim, None).await?;
    }
    // Like the original, answer `stored` even if the text has no facts.
    Ok(Json(json!({ "status": "stored", "count": claims.len(), "memories": claims, "method": method, "note": note })))
}

/// How to answer a question. The request may replace `limit` and `threshold`.
#[derive(Clone, Copy)]
struct FindOptions {
    limit: usize,
    threshold: f64,
    filter: bool,
    means: RecallMeans,
}

impl From<Limits> for FindOptions {
    fn from(limits: Limits) -> Self {
        Self { limit: limits.recall, threshold: limits.recall_threshold, filter: false, means: RecallMeans::default() }
    }
}

impl Cogito {
    fn claims(&self) -> ClaimsQuery {
        let Scope { org_id, project } = self.caller.scope.clone();
        ClaimsQuery { org_id: Some(org_id), project: Some(project), limit: Some(1), ..ClaimsQuery::default() }
    }

    /// Recalls, and answers in the original's form; also to an empty question.
    async fn find(&self, body: &[u8], options: FindOptions) -> Answer {
        let fields = fields(body, false)?;
        let query = text(&fields);
        if query.is_empty() {
            return Ok(Json(json!({ "memories": [], "method": "empty_query" })));
        }
        let limit = fields.get("limit").and_then(Value::as_u64).map_or(options.limit, |limit| limit as usize);
        let threshold = fields.get("threshold").and_then(Value::as_f64).unwrap_or(options.threshold);
        let FindOptions { filter, means, .. } = options;
        let Scope { org_id, project } = self.caller.scope.clone();
        let limit = Some(limit.clamp(1, MAX_RECALL));
        let request = RecallRequest { org_id, project, query, limit, filter, ..RecallRequest::default() };
        let answer = self.shared.engine(move |engine| engine.recall_by(&request, means)).await?;
        let near =
            answer.hits.iter().map(|hit| (hit, distance(hit.score))).filter(|(_, distance)| *distance < threshold);
        // With the verdict that nothing is known, none of the hits answers the question.
        let near = near.filter(|_| answer.verdict != RecallVerdict::Nothing);
        let memories: Vec<Value> =
            near.map(|(hit, distance)| json!({ "text": hit.claim.statement, "score": distance })).collect();
        // The original's command line shows only the method, so a verdict other than `known` is appended to it.
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

    /// Stores a text as a fact with the given id as its key, or with one that follows from the text. Returns the id.
    async fn store_fact(&self, text: &str, id: Option<String>) -> Result<String, Refused> {
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
