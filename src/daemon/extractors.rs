//! Extractors of requests: JSON bodies, queries, ids. Errors name the field by its path. An unknown field is an error,
//! also one in the query of an operation that takes its fields from the body.

use axum::extract::{FromRequest, FromRequestParts, Path, Request};
use http::{Uri, header, request::Parts};
use http_body_util::{BodyExt, LengthLimitError, Limited};
use serde::{Deserialize, de::DeserializeOwned};
use serde_json::Value;
use tokio::time::timeout;
use url::form_urlencoded;

use super::{request_checks::TIMEOUT, response::ErrorResponse};
use crate::{
    api::{ApiError, ErrorCode, MAX_BODY, MAX_FILE, MAX_INGEST_BODY, MAX_TEXT},
    domain::{id, text::cut_line},
};

/// Extracts the JSON object in the body.
pub(super) struct JsonBody<T>(pub(super) T);

/// Extracts the JSON object in the body, with higher limits: its texts may be whole files.
pub(super) struct LargeJsonBody<T>(pub(super) T);

/// Extracts the query string.
pub(super) struct QueryString<T>(pub(super) T);

/// Extracts nothing, for an operation without fields: refuses any in the query or the body.
pub(super) struct NoFields;

/// Extracts `{id}` from the path: an id or the prefix of one, in lower case.
pub(super) struct IdInPath(pub(super) String);

/// The limits of a body, and what to do about one that exceeds them.
struct BodyLimits {
    /// The maximum size of the body, in bytes.
    body: usize,
    body_hint: &'static str,
    /// The maximum length of each text in it, in bytes.
    text: usize,
    text_hint: &'static str,
}

const LIMITS: BodyLimits = BodyLimits {
    body: MAX_BODY,
    body_hint: "statements and reasons may have at most 8 KiB each; leave long documents where they are and name them in \
        `source`",
    text: MAX_TEXT,
    text_hint: "shorten it; to make a long text searchable, ingest its file with `ergo ingest`",
};

/// The fields that contain a question, which has no file.
const QUESTIONS: [&str; 2] = ["query", "question"];

const LARGE_LIMITS: BodyLimits = BodyLimits {
    body: MAX_INGEST_BODY,
    body_hint: "a file may have at most 2 MiB; split a larger one, and ingest its parts",
    text: MAX_FILE,
    text_hint: "split the file, and ingest its parts",
};

impl<T, S> FromRequest<S> for JsonBody<T>
where
    T: DeserializeOwned,
    S: Sync,
{
    type Rejection = ErrorResponse;

    async fn from_request(request: Request, _: &S) -> Result<Self, ErrorResponse> {
        Ok(Self(read_fields(request, &LIMITS).await?))
    }
}

impl<T, S> FromRequest<S> for LargeJsonBody<T>
where
    T: DeserializeOwned,
    S: Sync,
{
    type Rejection = ErrorResponse;

    async fn from_request(request: Request, _: &S) -> Result<Self, ErrorResponse> {
        Ok(Self(read_fields(request, &LARGE_LIMITS).await?))
    }
}

impl<S: Sync> FromRequest<S> for NoFields {
    type Rejection = ErrorResponse;

    async fn from_request(request: Request, _: &S) -> Result<Self, ErrorResponse> {
        #[derive(Deserialize)]
        #[serde(deny_unknown_fields, expecting = "an object")]
        struct Nothing {}
        let Nothing {} = parse_query(request.uri().query().unwrap_or_default())?;
        let bytes = read(request, &LIMITS).await?;
        if !bytes.trim_ascii().is_empty() {
            let Nothing {} = parse(&bytes, &LIMITS)?;
        }
        Ok(Self)
    }
}

impl<T, S> FromRequestParts<S> for QueryString<T>
where
    T: DeserializeOwned,
    S: Sync,
{
    type Rejection = ErrorResponse;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, ErrorResponse> {
        Ok(Self(parse_query(parts.uri.query().unwrap_or_default())?))
    }
}

impl<S: Send + Sync> FromRequestParts<S> for IdInPath {
    type Rejection = ErrorResponse;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, ErrorResponse> {
        let hint = id_hint(parts.uri.path());
        let invalid = |message: &str| ApiError::field("id", message).hint(hint);
        let path = Path::<String>::from_request_parts(parts, state).await;
        let Path(text) = path.map_err(|_| invalid("the id in the path is not UTF-8"))?;
        if id::is_prefix(&text) {
            return Ok(Self(text.to_ascii_lowercase()));
        }
        let message = if text.trim().is_empty() {
            "the id is empty".to_owned()
        } else {
            format!("invalid id “{}”", cut_line(&text, 80))
        };
        Err(invalid(&message).into())
    }
}

/// Says how the ids of a path are written, and where they are found.
fn id_hint(path: &str) -> &'static str {
    const HINTS: [(&str, &str); 3] = [
        ("/sync/pending/", "give at least 4 hexadecimal digits; `ergo sync pending` shows the ids"),
        ("/sync/invites/", "give at least 4 hexadecimal digits; `GET /sync/invites` lists the ids"),
        ("/sync/joins/", "give the 16 hexadecimal digits of `id` in the answer to `POST /sync/join`"),
    ];
    let hint = HINTS.iter().find(|(start, _)| path.starts_with(start)).map(|(_, hint)| *hint);
    hint.unwrap_or("give 4 to 64 hexadecimal digits; `ergo claims` and `ergo conflicts` show ids")
}

/// Reads the fields of a request from its body. Refuses a query, which would have no effect.
async fn read_fields<T: DeserializeOwned>(request: Request, limits: &BodyLimits) -> Result<T, ApiError> {
    if let Some(field) = first_parameter(request.uri()) {
        let message = format!("`{field}` is in the query, where it has no effect");
        let hint = format!("`{field}` belongs in the body, a JSON object; {FIELDS_HINT}");
        return Err(ApiError::field(&field, message).hint(hint));
    }
    parse(&read(request, limits).await?, limits)
}

fn first_parameter(uri: &Uri) -> Option<String> {
    let (field, _) = form_urlencoded::parse(uri.query()?.as_bytes()).next()?;
    Some(cut_line(&field, 80))
}

/// Reads a body. One that arrives slowly may not occupy its connection for as long as a slow answer may take.
async fn read(request: Request, limits: &BodyLimits) -> Result<Vec<u8>, ApiError> {
    let most = limits.body;
    let too_large =
        || ApiError::new(ErrorCode::TooLarge, format!("the body is larger than {most} bytes")).hint(limits.body_hint);
    let declared = request.headers().get(header::CONTENT_LENGTH).and_then(|v| v.to_str().ok()?.parse::<usize>().ok());
    if declared.is_some_and(|length| length > most) {
        return Err(too_large());
    }
    match timeout(TIMEOUT, Limited::new(request.into_body(), most).collect()).await {
        Ok(Ok(whole)) => Ok(whole.to_bytes().into()),
        Ok(Err(error)) if error.is::<LengthLimitError>() => Err(too_large()),
        Ok(Err(error)) => Err(ApiError::new(ErrorCode::BadRequest, format!("the body ended early: {error}"))),
        Err(_) => {
            let message = format!("the body took longer than {} s to arrive; nothing was done", TIMEOUT.as_secs());
            Err(ApiError::new(ErrorCode::Timeout, message).hint("send the whole body at once"))
        }
    }
}

/// The hint of errors about a field.
const FIELDS_HINT: &str = "`GET /openapi.json` lists the fields and their types";

/// The maximum length of an error's message in characters. A message quotes the request, so it could be long.
const MAX_MESSAGE: usize = 600;

/// Parses a JSON object whose texts contain no NUL and are not too long.
fn parse<T: DeserializeOwned>(bytes: &[u8], limits: &BodyLimits) -> Result<T, ApiError> {
    if bytes.trim_ascii_start().first() != Some(&b'{') {
        return Err(ApiError::new(ErrorCode::BadRequest, "the body is not a JSON object").hint("send a JSON object"));
    }
    let malformed = |error| {
        ApiError::new(ErrorCode::BadRequest, format!("the body is not valid JSON: {error}")).hint("send a JSON object")
    };
    // Checked first, since a request with such a text is refused for it, whatever else it lacks. A shorter body cannot
    // contain a longer text, and JSON can contain a NUL only as an escape.
    if bytes.len() > limits.text || bytes.windows(6).any(|escape| escape == br"\u0000") {
        let value: Value = serde_json::from_slice(bytes).map_err(malformed)?;
        for (field, value) in value.as_object().into_iter().flatten() {
            check_text(field, value, limits)?;
        }
    }
    let mut json = serde_json::Deserializer::from_slice(bytes);
    let request = serde_path_to_error::deserialize(&mut json).map_err(|error| {
        let path = error.path().to_string();
        let error = error.into_inner();
        if error.is_data() { invalid_field(&path, None, &error.to_string()) } else { malformed(error) }
    })?;
    json.end().map_err(malformed)?;
    Ok(request)
}

fn parse_query<T: DeserializeOwned>(query: &str) -> Result<T, ApiError> {
    let pairs = form_urlencoded::parse(query.as_bytes());
    if let Some((field, _)) = pairs.clone().find(|(_, value)| value.contains('\0')) {
        return Err(nul_error(&cut_line(&field, 80)));
    }
    if let Some(field) = field_with_invalid_utf8(query) {
        return Err(ApiError::field(&field, format!("`{field}` is not UTF-8"))
            .hint("encode the text as UTF-8, then each byte as `%` and two hexadecimal digits"));
    }
    serde_path_to_error::deserialize(serde_urlencoded::Deserializer::new(pairs)).map_err(|error| {
        let path = error.path().to_string();
        let value = pairs.clone().find(|(field, _)| *field == path).map(|(_, value)| value);
        invalid_field(&path, value.as_deref(), &error.into_inner().to_string())
    })
}

/// Returns the first field of a query that is not UTF-8.
fn field_with_invalid_utf8(query: &str) -> Option<String> {
    query.split('&').find_map(|pair| {
        let (field, value) = form_urlencoded::parse(pair.as_bytes()).next()?;
        // The parser puts U+FFFD in place of invalid bytes; a text may also contain this character.
        let count = |text: &str| text.matches(char::REPLACEMENT_CHARACTER).count();
        let sent = count(pair) + pair.to_ascii_uppercase().matches("%EF%BF%BD").count();
        (count(&field) + count(&value) > sent).then(|| cut_line(&field, 80))
    })
}

/// Returns the error for an invalid value, or for a missing, unknown or duplicate field. `message` is serde's.
fn invalid_field(path: &str, value: Option<&str>, message: &str) -> ApiError {
    let path = cut_line(path, 80);
    let is_time = TIMES.contains(&&*path) && (value.is_some() || message.contains("expected u64"));
    let error = match (quoted_field(message), value) {
        (Some(field), _) => ApiError::field(&cut_line(field, 80), cut_line(&readable(field, message), MAX_MESSAGE)),
        (None, Some(value)) if is_time => {
            let message = format!("invalid `{path}` “{}”: expected {TIME_FORM}", cut_line(value, 80));
            ApiError::field(&path, message)
        }
        (None, _) if path == "." => ApiError::new(ErrorCode::BadRequest, cut_line(message, MAX_MESSAGE)),
        (None, None) => ApiError::field(&path, cut_line(&format!("`{path}`: {message}"), MAX_MESSAGE)),
        (None, Some(value)) => ApiError::field(
            &path,
            cut_line(&format!("invalid `{path}` “{}”: {message}", cut_line(value, 80)), MAX_MESSAGE),
        ),
    };
    if is_time { error.hint(format!("give {TIME_FORM}, {TIME_EXAMPLE}")) } else { error.hint(FIELDS_HINT) }
}

/// The fields that contain a time, if they contain a number.
const TIMES: [&str; 4] = ["as_of", "since", "until", "before"];

const TIME_FORM: &str = "milliseconds since the Unix epoch";

const TIME_EXAMPLE: &str = "such as 1767225600000 for 2026-01-01T00:00:00Z";

/// Sorts the known fields in serde's message about an unknown one, the most similar first. Drops the place of a missing
/// field, which is none.
fn readable(field: &str, message: &str) -> String {
    let (problem, rest) = message.rsplit_once(", expected ").unwrap_or((message, ""));
    if problem.starts_with("missing") {
        return problem.rsplit_once(" at line ").map_or(problem, |(problem, _)| problem).to_owned();
    }
    let mut known: Vec<&str> = rest.split('`').skip(1).step_by(2).collect();
    if !problem.starts_with("unknown") || known.is_empty() {
        return message.to_owned();
    }
    let field = cut_line(field, 80);
    known.sort_by_cached_key(|known| strsim::osa_distance(&field, known));
    format!("{problem}, expected one of `{}`", known.join("`, `"))
}

/// Returns the field that is missing, unknown or duplicate, if the message says so.
fn quoted_field(message: &str) -> Option<&str> {
    let starts = ["missing field `", "unknown field `", "duplicate field `"];
    starts.into_iter().find_map(|start| message.strip_prefix(start))?.split('`').next()
}

fn nul_error(field: &str) -> ApiError {
    ApiError::field(field, format!("`{field}` contains a NUL character")).hint("send the text without it")
}

/// Refuses a value that contains, at any depth, a text with a NUL or one that is too long.
fn check_text(field: &str, value: &Value, limits: &BodyLimits) -> Result<(), ApiError> {
    match value {
        Value::String(text) if text.contains('\0') => Err(nul_error(field)),
        Value::String(text) if text.len() > limits.text => {
            let message = format!("`{field}` has {} bytes; at most {} are accepted", text.len(), limits.text);
            let error = ApiError { field: Some(field.to_owned()), ..ApiError::new(ErrorCode::TooLarge, message) };
            Err(error.hint(if QUESTIONS.contains(&field) { "ask a shorter question" } else { limits.text_hint }))
        }
        Value::Array(items) => items.iter().try_for_each(|item| check_text(field, item, limits)),
        Value::Object(items) => items.values().try_for_each(|item| check_text(field, item, limits)),
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use axum::body::Body;
    use serde_json::json;

    use super::*;
    use crate::api::{
        ActRequest, ClaimsQuery, IngestRequest, JudgeRequest, RecallRequest, RememberRequest, ResolveManyRequest,
        ResolveRequest, SupersedeRequest,
    };

    fn refused<T: DeserializeOwned>(body: &str) -> ApiError {
        match parse::<T>(body.as_bytes(), &LIMITS) {
            Ok(_) => panic!("accepted: {body}"),
            Err(error) => error,
        }
    }

    #[tokio::test]
    async fn what_is_no_id_is_shown_as_it_was_written() {
        for (path, message, hint) in [
            ("/claims/zz%1b%5b31mz", "invalid id “zz[31mz”", "`ergo claims`"),
            ("/claims/%20", "the id is empty", "`ergo claims`"),
            ("/sync/joins/zz", "invalid id “zz”", "`POST /sync/join`"),
            ("/sync/invites/zz", "invalid id “zz”", "`GET /sync/invites`"),
            ("/sync/pending/zz", "invalid id “zz”", "`ergo sync pending`"),
        ] {
            let request = http::Request::builder().uri(path).body(Body::empty()).unwrap();
            let ask = |IdInPath(id): IdInPath| async move { id };
            let mut router = axum::Router::new();
            for route in ["/claims/{id}", "/sync/joins/{id}", "/sync/invites/{id}", "/sync/pending/{id}"] {
                router = router.route(route, axum::routing::get(ask));
            }
            let response = tower_service::Service::call(&mut router, request).await.unwrap();
            let body = response.into_body().collect().await.unwrap().to_bytes();
            let error: ApiError = serde_json::from_slice(&body).unwrap();
            assert_eq!((error.message.as_str(), error.field.as_deref()), (message, Some("id")));
            let given = error.hint.unwrap();
            assert!(given.contains("hexadecimal") && given.contains(hint), "{given}");
        }
    }

    #[test]
    fn an_error_names_the_field_by_its_path_and_says_what_was_found() {
        let cases: [(Value, &str, &str); 9] = [
            (json!({"statement": 5}), "statement", "integer `5`, expected a string"),
            (json!({"statement": "x", "org_id": 5}), "org_id", "integer `5`"),
            (json!({"env": ["prod"]}), "env", "sequence, expected a string"),
            (json!({"kind": "wish"}), "kind", "`wish`, expected one of"),
            (json!({"op_id": "xyz"}), "op_id", ""),
            (json!({"depends_on": ["abcd", 5]}), "depends_on[1]", "integer `5`"),
            (json!({"depends_on": "abcd"}), "depends_on", "string \"abcd\", expected a sequence"),
            (json!({"statement": null}), "statement", "null"),
            (json!({"targets": ["abcd"]}), "targets", "unknown field"),
        ];
        for (body, field, found) in cases {
            let error = refused::<RememberRequest>(&body.to_string());
            assert_eq!((error.code, error.field.as_deref()), (ErrorCode::BadRequest, Some(field)), "{error}");
            assert!(error.message.contains(found) && error.message.contains(&format!("`{field}`")), "{error}");
            assert_eq!(error.hint.as_deref(), Some(FIELDS_HINT));
        }
        let error = refused::<ResolveRequest>(r#"{"act": "burn"}"#);
        assert_eq!(error.field.as_deref(), Some("act"), "{error}");
        assert!(error.message.contains("supersede"), "{error}");
        let error = refused::<ResolveRequest>(r#"{"reason": "x"}"#);
        assert_eq!((error.field.as_deref(), error.message.as_str()), (Some("act"), "missing field `act`"));
        let error = refused::<ActRequest>(r#"{"expect_rev": "new"}"#);
        assert_eq!(error.field.as_deref(), Some("expect_rev"), "{error}");
        let error = refused::<RecallRequest>(r#"{"limit": -1}"#);
        assert!(error.message.starts_with("`limit`: invalid value: integer `-1`, expected usize"), "{error}");
        let error = refused::<RememberRequest>(r#"{"statement": "a", "statement": "b"}"#);
        assert_eq!(error.field.as_deref(), Some("statement"), "{error}");
        let error = refused::<JudgeRequest>(r#"{"verdicts": {"abcd": "same", "abcd": "compatible"}}"#);
        assert_eq!(error.field.as_deref(), Some("verdicts"), "{error}");
        assert!(error.message.contains("`abcd` occurs twice"), "{error}");
        let error = refused::<ResolveManyRequest>(r#"{"act": "dismiss", "cards": ["ffff"]}"#);
        assert_eq!(error.field.as_deref(), Some("cards[0]"), "{error}");
    }

    #[test]
    fn a_query_is_read_with_the_same_care() {
        for (query, field) in [
            ("as_of=2026-11-23", "as_of"),
            ("as_of=-1", "as_of"),
            ("as_of=", "as_of"),
            ("q=x&limit=many", "limit"),
            ("statu=all", "statu"),
            ("limit=1&q=x&limit=2", "limit"),
            ("q=a%00b", "q"),
            ("limit=3&q=%ff", "q"),
            ("q=a%EF%BFb", "q"),
        ] {
            let error = parse_query::<ClaimsQuery>(query).unwrap_err();
            assert_eq!((error.code, error.field.as_deref()), (ErrorCode::BadRequest, Some(field)), "{query}: {error}");
            assert!(error.hint.is_some() && error.message.contains(field), "{query}: {error}");
        }
        let error = parse_query::<ClaimsQuery>("as_of=2026-11-23").unwrap_err();
        assert_eq!(error.message, "invalid `as_of` “2026-11-23”: expected milliseconds since the Unix epoch");
        assert!(error.hint.unwrap().contains("1767225600000"));
        let error = refused::<RecallRequest>(r#"{"as_of": "2026-11-23"}"#);
        assert!(error.message.contains("\"2026-11-23\""), "{error}");
        assert!(error.hint.unwrap().contains("1767225600000"));
        assert_eq!(parse_query::<ClaimsQuery>("q=a+b&limit=3").unwrap().limit, Some(3));
        assert_eq!(parse_query::<ClaimsQuery>("q=%c3%bc%ef%bf%bd").unwrap().q.as_deref(), Some("ü\u{fffd}"));
    }

    #[test]
    fn an_unknown_field_is_answered_with_those_of_its_operation_the_nearest_first() {
        let error = refused::<RememberRequest>(r#"{"statment": "x"}"#);
        let known = error.message.split_once("expected one of ").unwrap().1;
        assert!(known.starts_with("`statement`, "), "{error}");
        for other in ["targets", "successor", "expect_rev", "drop_conditions"] {
            assert!(!known.contains(other), "{error}");
            assert!(
                refused::<SupersedeRequest>(&json!({format!("{other}s"): 1}).to_string())
                    .message
                    .contains(&format!("expected one of `{other}`")),
                "{other}"
            );
        }
        let error = parse_query::<ClaimsQuery>("stat=all").unwrap_err();
        assert!(error.message.contains("expected one of `status`, "), "{error}");
    }

    #[test]
    fn what_is_written_is_read_again_and_an_unknown_field_is_refused_with_the_known_ones() {
        let caller = crate::api::Caller {
            org_id: "acme".into(),
            op_id: Some(crate::domain::OpId([7; 16])),
            ..Default::default()
        };
        let qualifiers = crate::domain::Qualifiers { env: Some("prod".into()), ..Default::default() };
        let claim = RememberRequest { caller, qualifiers, statement: "x".into(), dry_run: true, ..Default::default() };
        let sent = serde_json::to_vec(&claim).unwrap();
        assert_eq!(parse::<RememberRequest>(&sent, &LIMITS).unwrap(), claim);
        let supersede =
            SupersedeRequest { targets: vec!["ab".into()], expect_rev: Some(1), claim, ..Default::default() };
        let sent = serde_json::to_vec(&supersede).unwrap();
        assert_eq!(parse::<SupersedeRequest>(&sent, &LIMITS).unwrap(), supersede);
        for error in [
            refused::<RememberRequest>(r#"{"statement": "x", "reasons": "y"}"#),
            refused::<SupersedeRequest>(r#"{"reasons": "y"}"#),
            refused::<ActRequest>(r#"{"reasons": "y"}"#),
        ] {
            assert_eq!(error.field.as_deref(), Some("reasons"), "{error}");
            assert!(error.message.contains("`reason`") && error.message.contains("`org_id`"), "{error}");
        }
        let error = refused::<ActRequest>(&json!({"\u{1b}[31m".repeat(100_000): "y"}).to_string());
        assert!(error.message.len() < 4 * MAX_MESSAGE && !error.message.contains('\u{1b}'));
    }

    #[test]
    fn what_is_no_json_object_nul_or_overlong_is_refused() {
        for body in ["", "{", "[]", "5", "{\"statement\": \"a\"} x", &"[".repeat(100_000)] {
            assert_eq!(refused::<RememberRequest>(body).code, ErrorCode::BadRequest, "{body:.20}");
        }
        let error = refused::<RememberRequest>(r#"{"reason": "a\u0000b"}"#);
        assert!(error.message.contains("NUL") && error.field.as_deref() == Some("reason"), "{error}");
        let error = refused::<RememberRequest>(r#"{"depends_on": ["a\u0000b"]}"#);
        assert_eq!(error.field.as_deref(), Some("depends_on"));
        let error = refused::<RememberRequest>(&json!({"statement": "x".repeat(MAX_TEXT + 1)}).to_string());
        assert_eq!((error.code, error.field.as_deref()), (ErrorCode::TooLarge, Some("statement")));
        assert!(error.hint.unwrap().contains("ingest its file"));
        let error = refused::<RecallRequest>(&json!({"query": "x".repeat(MAX_TEXT + 1)}).to_string());
        assert_eq!(error.hint.as_deref(), Some("ask a shorter question"));
    }

    #[tokio::test]
    async fn a_file_that_is_too_large_is_split_and_not_ingested_again() {
        for (length, most) in [(MAX_FILE + 1, MAX_FILE), (MAX_INGEST_BODY, MAX_INGEST_BODY)] {
            let body = json!({"path": "a.md", "text": "x".repeat(length)}).to_string();
            let request = http::Request::builder().body(Body::from(body)).unwrap();
            let Err(ErrorResponse(error)) = LargeJsonBody::<IngestRequest>::from_request(request, &()).await else {
                panic!("{length} bytes are accepted");
            };
            assert!(error.code == ErrorCode::TooLarge && error.message.contains(&most.to_string()), "{error}");
            let hint = error.hint.unwrap();
            assert!(hint.contains("split") && !hint.contains("ergo ingest"), "{hint}");
        }
    }
}
