//! One method per endpoint, in the types of [`crate::api`].

use std::{
    fmt::Write,
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use futures_util::stream::BoxStream;
use http::Method;
use serde::{Serialize, de::DeserializeOwned};
use serde_json::Value;

use super::{Api, ClientError, DEADLINE, LONG_DEADLINE, Request, Response};
use crate::{
    api::{
        ActRequest, AddRequest, Added, ApiError, AsOf, AuditOutcome, AuditRequest, BackupOutcome, BackupRequest,
        CalibrateRequest, Calibrated, Caller, CardView, Change, ClaimView, ClaimsPage, ClaimsQuery, ConflictsPage,
        ConflictsQuery, DependRequest, Diagnose, ErrorCode, Health, History, Inbox, InboxQuery, IngestRequest,
        Ingested, IngestedFiles, IngestedQuery, LogPage, LogQuery, LongTasks, ModelsStatus, PromoteRequest, Promotions,
        PromotionsQuery, RecallAnswer, RecallRequest, Reembedded, RememberRequest, ResolveManyRequest, ResolveRequest,
        ResolvedMany, Scopes, SizeByKind, SizeQuery, Snapshot, SnapshotQuery, Stopping, StoreCheck, Story, StoryQuery,
        SupersedeRequest, UndoOutcome, UndoRequest, WhyAnswer, WhyRequest, WriteOutcome,
    },
    domain::OpId,
};

/// A typed client of the daemon. Cheap to clone.
#[derive(Clone, Debug)]
pub struct Client {
    pub(super) api: Arc<dyn Api>,
    version_seen: Arc<Mutex<Option<String>>>,
}

pub(super) type ClientResult<T> = Result<T, ClientError>;

impl Client {
    /// Creates a client over a transport.
    pub fn new(api: Arc<dyn Api>) -> Self {
        Self { api, version_seen: Arc::default() }
    }

    /// Returns the daemon's address for messages.
    pub fn place(&self) -> String {
        self.api.place()
    }

    /// Returns the program version that the daemon named in its last answer.
    pub fn daemon_version(&self) -> Option<String> {
        self.version_seen.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Returns a sentence with the next step if the daemon's last answer named another version than this program's.
    pub fn skew(&self) -> Option<String> {
        let here = env!("CARGO_PKG_VERSION");
        let there = self.daemon_version()?;
        (there != here).then(|| {
            format!(
                "the daemon is ergo {there} and this is ergo {here}: run `ergo daemon stop`; the next command starts \
                    the new version"
            )
        })
    }

    /// `GET /health`.
    pub async fn health(&self) -> ClientResult<Health> {
        self.get("/health", "").await
    }

    /// [`Client::health`] with its own deadline, for waiting until a daemon is ready.
    pub async fn health_within(&self, deadline: Duration) -> ClientResult<Health> {
        self.value(Request { deadline, ..Request::new(Method::GET, "/health") }).await
    }

    /// `POST /check`: checks the whole store.
    pub async fn check_store(&self) -> ClientResult<StoreCheck> {
        self.value(Request { deadline: LONG_DEADLINE, ..Request::new(Method::POST, "/check") }).await
    }

    /// `GET /diagnose`.
    pub async fn diagnose(&self) -> ClientResult<Diagnose> {
        self.get("/diagnose", "").await
    }

    /// `GET /size`: the size of the store. By kind of data, it reads the whole file.
    pub async fn size_by_kind(&self, query: &SizeQuery) -> ClientResult<SizeByKind> {
        self.get_within(LONG_DEADLINE, "/size", query).await
    }

    /// `GET /tasks`: how far checks and backups are.
    pub async fn long_tasks(&self) -> ClientResult<LongTasks> {
        self.get("/tasks", "").await
    }

    /// `GET /scopes`.
    pub async fn scopes(&self) -> ClientResult<Scopes> {
        self.scopes_at(&AsOf::default()).await
    }

    /// [`Client::scopes`] as they were at a time.
    pub async fn scopes_at(&self, at: &AsOf) -> ClientResult<Scopes> {
        self.get_within(deadline_at(at.as_of), "/scopes", at).await
    }

    /// `GET /claims`: one page.
    pub async fn claims(&self, query: &ClaimsQuery) -> ClientResult<ClaimsPage> {
        self.get_within(deadline_at(query.as_of), "/claims", query).await
    }

    /// `GET /claims/{id}`, by id or prefix.
    pub async fn claim(&self, id: &str) -> ClientResult<ClaimView> {
        self.get(&format!("/claims/{}", segment(id)), "").await
    }

    /// `GET /claims/{id}/history`, by id or prefix.
    pub async fn history(&self, id: &str) -> ClientResult<History> {
        self.history_at(id, &AsOf::default()).await
    }

    /// [`Client::history`] as it was at a time.
    pub async fn history_at(&self, id: &str, at: &AsOf) -> ClientResult<History> {
        self.get_within(deadline_at(at.as_of), &format!("/claims/{}/history", segment(id)), at).await
    }

    /// `GET /inbox`.
    pub async fn inbox(&self, query: &InboxQuery) -> ClientResult<Inbox> {
        self.get("/inbox", &encode(query)?).await
    }

    /// `GET /conflicts`: one page.
    pub async fn conflicts(&self, query: &ConflictsQuery) -> ClientResult<ConflictsPage> {
        self.get_within(deadline_at(query.as_of), "/conflicts", query).await
    }

    /// `GET /conflicts/{id}`, by id or prefix.
    pub async fn card(&self, id: &str) -> ClientResult<CardView> {
        self.card_at(id, &AsOf::default()).await
    }

    /// [`Client::card`] as it was at a time.
    pub async fn card_at(&self, id: &str, at: &AsOf) -> ClientResult<CardView> {
        self.get_within(deadline_at(at.as_of), &format!("/conflicts/{}", segment(id)), at).await
    }

    /// `GET /log`: one page.
    pub async fn log(&self, query: &LogQuery) -> ClientResult<LogPage> {
        self.get("/log", &encode(query)?).await
    }

    /// `GET /story`.
    pub async fn story(&self, query: &StoryQuery) -> ClientResult<Story> {
        self.get_within(LONG_DEADLINE, "/story", query).await
    }

    /// `GET /promotions`.
    pub async fn promotions(&self, query: &PromotionsQuery) -> ClientResult<Promotions> {
        self.get_within(LONG_DEADLINE, "/promotions", query).await
    }

    /// `GET /openapi.json`.
    pub async fn openapi(&self) -> ClientResult<Value> {
        self.get("/openapi.json", "").await
    }

    /// `POST /reembed`: one step of recomputing the vectors.
    pub async fn reembed(&self) -> ClientResult<Reembedded> {
        self.value(Request { deadline: LONG_DEADLINE, ..Request::new(Method::POST, "/reembed") }).await
    }

    /// `POST /calibrate`.
    pub async fn calibrate(&self, request: &CalibrateRequest) -> ClientResult<Calibrated> {
        self.value(Request { deadline: LONG_DEADLINE, ..post_request("/calibrate", request)? }).await
    }

    /// `GET /snapshot`.
    pub async fn snapshot(&self, query: &SnapshotQuery) -> ClientResult<Snapshot> {
        let deadline = if query.rebuild { LONG_DEADLINE } else { deadline_at(query.as_of) };
        self.get_within(deadline, "/snapshot", query).await
    }

    /// `POST /add`: a raw text.
    pub async fn add(&self, request: &AddRequest) -> ClientResult<Added> {
        self.value(Request { deadline: LONG_DEADLINE, ..post_request("/add", request)? }).await
    }

    /// `POST /ingest`: one file.
    pub async fn ingest(&self, request: &IngestRequest) -> ClientResult<Ingested> {
        self.value(Request { deadline: LONG_DEADLINE, ..post_request("/ingest", request)? }).await
    }

    /// `GET /ingested`: the ingested files.
    pub async fn ingested(&self, query: &IngestedQuery) -> ClientResult<IngestedFiles> {
        self.get("/ingested", &encode(query)?).await
    }

    /// `POST /why`.
    pub async fn why(&self, request: &WhyRequest) -> ClientResult<WhyAnswer> {
        self.value(post_request("/why", request)?).await
    }

    /// `POST /recall`.
    pub async fn recall(&self, request: &RecallRequest) -> ClientResult<RecallAnswer> {
        self.value(post_request("/recall", request)?).await
    }

    /// `POST /remember`.
    pub async fn remember(&self, request: &RememberRequest) -> ClientResult<WriteOutcome> {
        let mut request = request.clone();
        name_op(&mut request.caller)?;
        self.post("/remember", &request).await
    }

    /// `POST /learn`: `remember` with a required source.
    pub async fn learn(&self, request: &RememberRequest) -> ClientResult<WriteOutcome> {
        let mut request = request.clone();
        name_op(&mut request.caller)?;
        self.post("/learn", &request).await
    }

    /// `POST /supersede`.
    pub async fn supersede(&self, request: &SupersedeRequest) -> ClientResult<WriteOutcome> {
        let mut request = request.clone();
        name_op(&mut request.claim.caller)?;
        self.post("/supersede", &request).await
    }

    /// `POST /retract`.
    pub async fn retract(&self, request: &ActRequest) -> ClientResult<WriteOutcome> {
        self.act("/retract", request).await
    }

    /// `POST /reinstate`.
    pub async fn reinstate(&self, request: &ActRequest) -> ClientResult<WriteOutcome> {
        self.act("/reinstate", request).await
    }

    /// `POST /redact`.
    pub async fn redact(&self, request: &ActRequest) -> ClientResult<WriteOutcome> {
        self.act("/redact", request).await
    }

    /// `POST /reviewed`.
    pub async fn reviewed(&self, request: &ActRequest) -> ClientResult<WriteOutcome> {
        self.act("/reviewed", request).await
    }

    /// `POST /depend`.
    pub async fn depend(&self, request: &DependRequest) -> ClientResult<WriteOutcome> {
        let mut request = request.clone();
        name_op(&mut request.caller)?;
        self.post("/depend", &request).await
    }

    /// `POST /promote`.
    pub async fn promote(&self, request: &PromoteRequest) -> ClientResult<WriteOutcome> {
        let mut request = request.clone();
        name_op(&mut request.caller)?;
        self.post("/promote", &request).await
    }

    /// `POST /demote`.
    pub async fn demote(&self, request: &ActRequest) -> ClientResult<WriteOutcome> {
        self.act("/demote", request).await
    }

    /// `POST /conflicts/{id}/resolve`, by id or prefix.
    pub async fn resolve(&self, card: &str, request: &ResolveRequest) -> ClientResult<WriteOutcome> {
        let mut request = request.clone();
        name_op(&mut request.caller)?;
        self.post(&format!("/conflicts/{}/resolve", segment(card)), &request).await
    }

    /// `POST /conflicts/resolve`.
    pub async fn resolve_many(&self, request: &ResolveManyRequest) -> ClientResult<ResolvedMany> {
        let mut request = request.clone();
        name_op(&mut request.caller)?;
        self.value(Request { deadline: LONG_DEADLINE, ..post_request("/conflicts/resolve", &request)? }).await
    }

    /// `POST /undo`.
    pub async fn undo(&self, request: &UndoRequest) -> ClientResult<UndoOutcome> {
        let mut request = request.clone();
        name_op(&mut request.caller)?;
        self.post("/undo", &request).await
    }

    /// `POST /audit`.
    pub async fn audit(&self, request: &AuditRequest) -> ClientResult<AuditOutcome> {
        let mut request = request.clone();
        name_op(&mut request.caller)?;
        self.value(Request { deadline: LONG_DEADLINE, ..post_request("/audit", &request)? }).await
    }

    /// `POST /backup` to an absolute path.
    pub async fn backup(&self, path: &str) -> ClientResult<BackupOutcome> {
        let request = BackupRequest { path: path.to_owned() };
        self.value(Request { deadline: LONG_DEADLINE, ..post_request("/backup", &request)? }).await
    }

    /// `GET /models`.
    pub async fn models(&self) -> ClientResult<ModelsStatus> {
        self.get("/models", "").await
    }

    /// `POST /models/reload`: the daemon loads what was installed or chosen.
    pub async fn reload_models(&self) -> ClientResult<ModelsStatus> {
        self.value(Request { deadline: LONG_DEADLINE, ..Request::new(Method::POST, "/models/reload") }).await
    }

    /// `POST /shutdown`; over the socket only.
    pub async fn shutdown(&self) -> ClientResult<Stopping> {
        // The daemon only sets a flag: if this takes longer, it hangs, and the caller has other means.
        self.value(Request { deadline: Duration::from_secs(3), ..Request::new(Method::POST, "/shutdown") }).await
    }

    /// `GET /events`: streams what changes from now on. See [`Api::changes`].
    pub fn changes(&self) -> BoxStream<'static, Result<Change, ClientError>> {
        self.api.changes()
    }

    /// Sends any request and parses its answer as a `T`, for a caller that has the request as JSON, with a write's key.
    pub async fn ask<T: DeserializeOwned>(&self, request: Request) -> ClientResult<T> {
        self.value(request).await
    }

    async fn act(&self, path: &str, request: &ActRequest) -> ClientResult<WriteOutcome> {
        let mut request = request.clone();
        name_op(&mut request.caller)?;
        self.post(path, &request).await
    }

    pub(super) async fn get<T: DeserializeOwned>(&self, path: &str, query: &str) -> ClientResult<T> {
        self.value(Request { query: query.to_owned(), ..Request::new(Method::GET, path) }).await
    }

    pub(super) async fn get_within<T: DeserializeOwned>(
        &self,
        deadline: Duration,
        path: &str,
        query: &impl Serialize,
    ) -> ClientResult<T> {
        self.value(Request { query: encode(query)?, deadline, ..Request::new(Method::GET, path) }).await
    }

    pub(super) async fn post<T: DeserializeOwned>(&self, path: &str, body: &impl Serialize) -> ClientResult<T> {
        self.value(post_request(path, body)?).await
    }

    pub(super) async fn value<T: DeserializeOwned>(&self, request: Request) -> ClientResult<T> {
        let response = self.api.send(request).await?;
        if response.version.is_some() {
            self.version_seen.lock().unwrap_or_else(PoisonError::into_inner).clone_from(&response.version);
        }
        read(&response, || self.api.place())
    }
}

/// Returns the deadline of a read as of a time: a state of the past is rebuilt first.
fn deadline_at(as_of: Option<u64>) -> Duration {
    if as_of.is_some() { LONG_DEADLINE } else { DEADLINE }
}

/// Adds an idempotency key to a write that has none: a retry is recognised only by its key.
pub(super) fn name_op(caller: &mut Caller) -> ClientResult<()> {
    if caller.op_id.is_none() {
        caller.op_id = Some(new_op()?);
    }
    Ok(())
}

/// Returns a fresh idempotency key.
fn new_op() -> ClientResult<OpId> {
    let mut bytes = [0; 16];
    getrandom::fill(&mut bytes).map_err(|e| {
        ClientError::Api(ApiError::internal(format!("cannot get random bytes from the operating system: {e}")))
    })?;
    Ok(OpId(bytes))
}

pub(super) fn post_request(path: &str, body: &impl Serialize) -> ClientResult<Request> {
    Ok(Request::post(path, serde_json::to_value(body).map_err(encoding_error)?))
}

pub(super) fn encode(query: &impl Serialize) -> ClientResult<String> {
    serde_urlencoded::to_string(query).map_err(encoding_error)
}

fn encoding_error(cause: impl std::fmt::Display) -> ClientError {
    ClientError::Api(ApiError::internal(format!("the request cannot be encoded: {cause}")))
}

/// Parses a response: the value, or the daemon's error. A 409 that is an outcome of the write is a value.
pub(super) fn read<T: DeserializeOwned>(response: &Response, place: impl Fn() -> String) -> ClientResult<T> {
    let bad = |cause: String| ClientError::BadAnswer { place: place(), cause };
    let outcome = response.status == 409
        && serde_json::from_slice::<Value>(&response.body).is_ok_and(|value| value.get("result").is_some());
    if outcome || (200..300).contains(&response.status) {
        return serde_json::from_slice(&response.body).map_err(|e| bad(e.to_string()));
    }
    match serde_json::from_slice::<ApiError>(&response.body) {
        Ok(error) => Err(ClientError::Api(error)),
        Err(_) if response.status == 401 => Err(ClientError::Api(ApiError::new(
            ErrorCode::Unauthorized,
            format!("{} rejected the token: set ERGO_API_TOKEN to that daemon's token", place()),
        ))),
        Err(_) => Err(bad(format!("HTTP {} without a known ergo error", response.status))),
    }
}

/// Encodes one path segment: everything but letters, digits and `-_~` as `%XX`.
pub(super) fn segment(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for byte in text.bytes() {
        match byte {
            b'0'..=b'9' | b'a'..=b'z' | b'A'..=b'Z' | b'-' | b'_' | b'~' => out.push(char::from(byte)),
            // A segment of dots would change the path.
            _ => drop(write!(out, "%{byte:02X}")),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::client::{FakeApi, FakeReply};

    fn client(fake: &Arc<FakeApi>) -> Client {
        Client::new(fake.clone())
    }

    #[tokio::test]
    async fn queries_and_ids_are_encoded() {
        let fake = Arc::new(FakeApi::new());
        fake.on(Method::GET, "/claims", FakeReply::json(200, &json!({"items": [], "total": 0})));
        let query = ClaimsQuery { q: Some("a&b c".into()), limit: Some(7), ..ClaimsQuery::default() };
        client(&fake).claims(&query).await.unwrap();
        let missing = client(&fake).claim("../health").await.unwrap_err();
        assert!(matches!(missing, ClientError::Api(error) if error.code == ErrorCode::NotFound));
        let targets: Vec<_> = fake.requests().iter().map(Request::target).collect();
        assert_eq!(targets, ["/claims?q=a%26b+c&limit=7", "/claims/%2E%2E%2Fhealth"]);
    }

    #[tokio::test]
    async fn a_write_always_carries_its_key_and_keeps_the_one_it_has() {
        let fake = Arc::new(FakeApi::new());
        let done =
            json!({"result": "done", "op_id": OpId([7; 16]), "scope": {"org_id": "a", "project": "b"}, "summary": "x"});
        fake.on(Method::POST, "/retract", FakeReply::json(200, &done));
        let client = client(&fake);
        client.retract(&ActRequest::default()).await.unwrap();
        let given = Caller { op_id: Some(OpId([9; 16])), ..Caller::default() };
        client.retract(&ActRequest { caller: given, ..ActRequest::default() }).await.unwrap();
        let keys: Vec<_> = fake.requests().iter().map(|r| r.body.as_ref().unwrap()["op_id"].clone()).collect();
        assert_eq!(keys[0].as_str().unwrap().len(), 32);
        assert_eq!(keys[1], json!(OpId([9; 16])));
    }

    #[tokio::test]
    async fn questions_about_the_past_and_to_a_language_model_have_the_long_deadline() {
        let fake = Arc::new(FakeApi::new());
        let client = client(&fake);
        // The script has no answers to these requests: only their deadlines matter.
        for (as_of, filter) in [(None, false), (Some(5), false), (None, true)] {
            client.recall(&RecallRequest { as_of, filter, ..RecallRequest::default() }).await.unwrap_err();
        }
        for as_of in [None, Some(5)] {
            client.why(&WhyRequest { as_of, ..WhyRequest::default() }).await.unwrap_err();
        }
        let deadlines: Vec<_> = fake.requests().iter().map(|request| request.deadline).collect();
        assert_eq!(deadlines, [DEADLINE, LONG_DEADLINE, LONG_DEADLINE, DEADLINE, LONG_DEADLINE]);
    }

    #[tokio::test]
    async fn a_409_is_an_outcome_or_an_error_by_what_it_says() {
        let fake = Arc::new(FakeApi::new());
        let stale = json!({"result": "stale", "message": "gone", "claim": null});
        fake.on(Method::POST, "/retract", FakeReply::json(409, &stale));
        fake.on(Method::POST, "/retract", FakeReply::error(ErrorCode::Ambiguous, "two fit"));
        let client = client(&fake);
        let first = client.retract(&ActRequest::default()).await.unwrap();
        assert!(matches!(first, WriteOutcome::Stale(stale) if stale.message == "gone"));
        let second = client.retract(&ActRequest::default()).await.unwrap_err();
        assert!(matches!(second, ClientError::Api(error) if error.code == ErrorCode::Ambiguous));
    }

    #[tokio::test]
    async fn an_older_daemon_is_reported() {
        let fake = Arc::new(FakeApi::new());
        fake.on(Method::GET, "/scopes", FakeReply::json(200, &json!({"items": []})).version("0.0.1"));
        let client = client(&fake);
        assert_eq!(client.skew(), None);
        client.scopes().await.unwrap();
        let warning = client.skew().unwrap();
        assert!(warning.contains("0.0.1") && warning.contains("ergo daemon stop"), "{warning}");
    }
}
