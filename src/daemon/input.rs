//! Reads requests: JSON bodies, queries, ids. What is wrong is named by its field, and nothing unknown is passed over.

use axum::extract::{FromRequest, FromRequestParts, Path, Request};
use http::{header, request::Parts};
use http_body_util::{BodyExt, LengthLimitError, Limited};
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};
use utoipa::{
    PartialSchema, ToSchema,
    openapi::{RefOr, Schema},
};

use super::answer::Failure;
use crate::{
    api::{ApiError, ErrorCode, MAX_BODY, MAX_FILE, MAX_INGEST_BODY, MAX_TEXT},
    domain::{id, text::cut_line},
};

/// A JSON object in the body, as a `T`.
pub(super) struct Input<T>(pub(super) T);

/// A JSON object in the body, as a `T`, whose texts may be whole files.
pub(super) struct Large<T>(pub(super) T);

/// The query, as a `T`.
pub(super) struct Query<T>(pub(super) T);

/// The `{id}` of the path: an id or prefix.
pub(super) struct Id(pub(super) String);

impl<T, S> FromRequest<S> for Input<T>
where
    T: DeserializeOwned + ToSchema,
    S: Sync,
{
    type Rejection = Failure;

    async fn from_request(request: Request, _: &S) -> Result<Self, Failure> {
        let bytes = read(request, MAX_BODY).await?;
        Ok(Self(parse(&bytes, MAX_TEXT)?))
    }
}

impl<T, S> FromRequest<S> for Large<T>
where
    T: DeserializeOwned + ToSchema,
    S: Sync,
{
    type Rejection = Failure;

    async fn from_request(request: Request, _: &S) -> Result<Self, Failure> {
        let bytes = read(request, MAX_INGEST_BODY).await?;
        Ok(Self(parse(&bytes, MAX_FILE)?))
    }
}

impl<T, S> FromRequestParts<S> for Query<T>
where
    T: DeserializeOwned + PartialSchema + ToSchema,
    S: Sync,
{
    type Rejection = Failure;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, Failure> {
        Ok(Self(parse_query(parts.uri.query().unwrap_or_default())?))
    }
}

impl<S: Send + Sync> FromRequestParts<S> for Id {
    type Rejection = Failure;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, Failure> {
        let wrong = |said: &str| ApiError::field("id", said).hint(ID_HINT);
        let path = Path::<String>::from_request_parts(parts, state).await;
        let Path(text) = path.map_err(|_| wrong("the id in the path is no text"))?;
        if id::is_prefix(&text) {
            return Ok(Self(text.to_ascii_lowercase()));
        }
        let said = if text.trim().is_empty() {
            "the id is empty".to_owned()
        } else {
            format!("“{}” is no id", cut_line(&text, 80))
        };
        Err(wrong(&said).into())
    }
}

const ID_HINT: &str = "an id is 64 hexadecimal digits; its first 4 or more do where they are unambiguous";

/// Reads the body up to its limit, in bytes.
async fn read(request: Request, most: usize) -> Result<Vec<u8>, ApiError> {
    let too_large = || {
        ApiError::new(ErrorCode::TooLarge, format!("the body is larger than {most} bytes")).hint(
            "statements and reasons hold at most 8 KiB each; keep documents where they are and name them as source",
        )
    };
    let declared = request.headers().get(header::CONTENT_LENGTH).and_then(|v| v.to_str().ok()?.parse::<usize>().ok());
    if declared.is_some_and(|length| length > most) {
        return Err(too_large());
    }
    match Limited::new(request.into_body(), most).collect().await {
        Ok(whole) => Ok(whole.to_bytes().into()),
        Err(error) if error.is::<LengthLimitError>() => Err(too_large()),
        Err(error) => Err(ApiError::new(ErrorCode::BadRequest, format!("the body broke off: {error}"))),
    }
}

/// Reads a JSON object as a `T`: its fields are known, hold no NUL and no more than `most` bytes.
fn parse<T: DeserializeOwned + ToSchema>(bytes: &[u8], most: usize) -> Result<T, ApiError> {
    if bytes.is_empty() {
        return Err(ApiError::new(ErrorCode::BadRequest, "the body is empty").hint("send a JSON object"));
    }
    let fields: Map<String, Value> = serde_json::from_slice(bytes).map_err(|error| {
        let what = if error.is_data() { "the body is not a JSON object" } else { "the body is not JSON" };
        ApiError::new(ErrorCode::BadRequest, format!("{what}: {error}"))
    })?;
    let known = fields_of::<T>();
    for (field, value) in &fields {
        check_known(field, &known)?;
        check_text(field, value, most)?;
    }
    serde_json::from_slice(bytes).map_err(|error| {
        let said = plain(&error.to_string());
        match named(&said).map(str::to_owned).or_else(|| culprit::<T>(&fields)) {
            Some(field) => {
                let said = fields.get(&field).and_then(|value| refusal::<T>(&field, value)).unwrap_or(said);
                wrong::<T>(&field, &said)
            }
            None => ApiError::new(ErrorCode::BadRequest, format!("the body is wrong: {said}")),
        }
    })
}

fn parse_query<T: DeserializeOwned + ToSchema>(query: &str) -> Result<T, ApiError> {
    let pairs: Vec<(String, String)> = serde_urlencoded::from_str(query)
        .map_err(|e| ApiError::new(ErrorCode::BadRequest, format!("the query is not understood: {e}")))?;
    let known = fields_of::<T>();
    for (at, (field, value)) in pairs.iter().enumerate() {
        check_known(field, &known)?;
        if pairs.iter().take(at).any(|(before, _)| before == field) {
            return Err(ApiError::field(field, format!("`{field}` stands twice")).hint("leave one of the two out"));
        }
        if value.contains('\0') {
            return Err(ApiError::field(field, format!("`{field}` holds a NUL character")));
        }
        if let Err(e) = serde_urlencoded::from_str::<T>(&encode(field, value)) {
            return Err(wrong::<T>(field, &e.to_string()));
        }
    }
    serde_urlencoded::from_str(query)
        .map_err(|e| ApiError::new(ErrorCode::BadRequest, format!("the query is not understood: {e}")))
}

fn encode(field: &str, value: &str) -> String {
    serde_urlencoded::to_string([(field, value)]).unwrap_or_default()
}

fn check_known(field: &str, known: &[String]) -> Result<(), ApiError> {
    if known.iter().any(|name| name == field) {
        return Ok(());
    }
    let shown: String = field.chars().take(40).collect();
    let near = known.iter().find(|name| name.starts_with(&shown) || shown.starts_with(name.as_str()));
    let hint = match near {
        Some(near) => format!("is `{near}` meant? `GET /openapi.json` lists all fields"),
        None => format!("expected one of: {}", known.join(", ")),
    };
    Err(ApiError::field(&shown, format!("there is no field `{shown}` here")).hint(hint))
}

/// No text may hold a NUL or be overlong, wherever in the body it stands.
fn check_text(field: &str, value: &Value, most: usize) -> Result<(), ApiError> {
    match value {
        Value::String(text) if text.contains('\0') => {
            Err(ApiError::field(field, format!("`{field}` holds a NUL character")))
        }
        Value::String(text) if text.len() > most => {
            let message = format!("`{field}` has {} bytes; at most {most} are accepted", text.len());
            let hint = "say it in fewer words; a long text stays where it is, and `ergo ingest` makes it known";
            Err(ApiError { field: Some(field.to_owned()), ..ApiError::new(ErrorCode::TooLarge, message) }.hint(hint))
        }
        Value::Array(items) => items.iter().try_for_each(|item| check_text(field, item, most)),
        Value::Object(items) => items.values().try_for_each(|item| check_text(field, item, most)),
        _ => Ok(()),
    }
}

/// The error for a value that does not fit its field, with what the documentation says of it.
fn wrong<T: ToSchema>(field: &str, said: &str) -> ApiError {
    let error = ApiError::field(field, format!("`{field}` is wrong: {}", in_words(said)));
    match documented::<T>(field) {
        Some(meant) => error.hint(format!("`{field}`: {meant}")),
        None => error,
    }
}

/// What the parser said of a value, for those who do not know its language.
fn in_words(said: &str) -> String {
    const WORDS: [(&str, &str); 12] = [
        ("invalid digit found in string", "it is no whole number from 0"),
        ("cannot parse integer from empty string", "it is empty, and no number"),
        ("number too large to fit in target type", "the number is too large"),
        ("number too small to fit in target type", "the number is too small"),
        ("provided string was not `true` or `false`", "it is neither `true` nor `false`"),
        ("expected usize", "expected a whole number from 0"),
        ("expected u64", "expected a whole number from 0"),
        ("expected u32", "expected a whole number from 0"),
        ("expected a sequence", "expected a list"),
        ("expected a map", "expected an object"),
        ("type: sequence", "type: list"),
        ("type: map", "type: object"),
    ];
    let said = WORDS.iter().fold(said.to_owned(), |said, (theirs, ours)| said.replace(theirs, ours));
    // The name of a type here says nothing outside.
    match said.split_once("expected struct ") {
        Some((before, _)) => format!("{before}expected an object"),
        None => said,
    }
}

/// The names that the JSON object of a `T` may hold, flattened parts included, by its schema.
fn fields_of<T: ToSchema>() -> Vec<String> {
    let mut names = Vec::new();
    each_field::<T>(&mut |name, _| names.push(name.to_owned()));
    names
}

/// What the documentation says of a field, in one line.
fn documented<T: ToSchema>(field: &str) -> Option<String> {
    let mut found = None;
    each_field::<T>(&mut |name, schema| {
        if name == field {
            let said = match schema {
                RefOr::T(Schema::Object(object)) => object.description.as_deref(),
                RefOr::T(Schema::Array(array)) => array.description.as_deref(),
                RefOr::T(Schema::OneOf(one_of)) => one_of.description.as_deref(),
                RefOr::T(_) => None,
                RefOr::Ref(reference) => Some(reference.description.as_str()).filter(|text| !text.is_empty()),
            };
            found = said.map(|text| text.split_whitespace().collect::<Vec<_>>().join(" "));
        }
    });
    found
}

fn each_field<T: ToSchema>(tell: &mut dyn FnMut(&str, &RefOr<Schema>)) {
    let mut parts = Vec::new();
    T::schemas(&mut parts);
    collect(&T::schema(), &parts, tell);
}

fn collect(schema: &RefOr<Schema>, parts: &[(String, RefOr<Schema>)], tell: &mut dyn FnMut(&str, &RefOr<Schema>)) {
    match schema {
        RefOr::Ref(reference) => {
            let name = reference.ref_location.rsplit('/').next().unwrap_or_default();
            if let Some((_, schema @ RefOr::T(_))) = parts.iter().find(|(known, _)| known == name) {
                collect(schema, parts, tell);
            }
        }
        RefOr::T(Schema::Object(object)) => object.properties.iter().for_each(|(name, schema)| tell(name, schema)),
        RefOr::T(Schema::AllOf(all)) => all.items.iter().for_each(|item| collect(item, parts, tell)),
        RefOr::T(_) => {}
    }
}

/// The first field whose value alone is refused: flattened parts lose the place of an error, so each field is tried.
fn culprit<T: DeserializeOwned>(fields: &Map<String, Value>) -> Option<String> {
    fields.iter().find(|(field, value)| refusal::<T>(field, value).is_some()).map(|(field, _)| field.clone())
}

/// Why this value is refused in this field, where it is.
fn refusal<T: DeserializeOwned>(field: &str, value: &Value) -> Option<String> {
    let alone = Value::Object(Map::from_iter([(field.to_owned(), value.clone())]));
    let said = plain(&serde_json::from_value::<T>(alone).err()?.to_string());
    named(&said).is_none().then_some(said)
}

/// The field that an error misses, or found twice.
fn named(said: &str) -> Option<&str> {
    let field = said.strip_prefix("missing field `").or_else(|| said.strip_prefix("duplicate field `"))?;
    field.split('`').next()
}

/// An error of the parser without the place in the text, which says nothing to someone who did not write the JSON.
fn plain(said: &str) -> String {
    said.split(" at line ").next().unwrap_or(said).to_owned()
}

#[cfg(test)]
mod tests {
    use axum::body::Body;
    use serde_json::json;

    use super::*;
    use crate::api::{
        ActRequest, ClaimsQuery, RecallRequest, RememberRequest, ResolveManyRequest, ResolveRequest, SupersedeRequest,
    };

    fn refused<T: DeserializeOwned + ToSchema>(body: &str) -> ApiError {
        match parse::<T>(body.as_bytes(), MAX_TEXT) {
            Ok(_) => panic!("accepted: {body}"),
            Err(error) => error,
        }
    }

    #[tokio::test]
    async fn what_is_no_id_is_shown_as_it_was_written() {
        for (path, said) in [("/claims/zz%1b%5b31mz", "“zz[31mz” is no id"), ("/claims/%20", "the id is empty")] {
            let request = http::Request::builder().uri(path).body(Body::empty()).unwrap();
            let ask = |Id(id): Id| async move { id };
            let mut router = axum::Router::new().route("/claims/{id}", axum::routing::get(ask));
            let response = tower_service::Service::call(&mut router, request).await.unwrap();
            let body = response.into_body().collect().await.unwrap().to_bytes();
            let error: ApiError = serde_json::from_slice(&body).unwrap();
            assert_eq!((error.message.as_str(), error.field.as_deref()), (said, Some("id")));
            assert!(error.hint.unwrap().contains("hexadecimal"));
        }
    }

    #[test]
    fn fields_of_flattened_parts_are_known() {
        let known = fields_of::<SupersedeRequest>();
        for field in ["targets", "successor", "statement", "org_id", "op_id", "env", "valid_until", "dry_run"] {
            assert!(known.iter().any(|name| name == field), "{field} is not among {known:?}");
        }
    }

    #[test]
    fn a_wrong_type_is_named_wherever_the_field_lives() {
        let cases: [(Value, &str); 7] = [
            (json!({"statement": 5}), "statement"),
            (json!({"statement": "x", "org_id": 5}), "org_id"),
            (json!({"env": ["prod"]}), "env"),
            (json!({"kind": "wish"}), "kind"),
            (json!({"op_id": "xyz"}), "op_id"),
            (json!({"depends_on": [5]}), "depends_on"),
            (json!({"statement": null}), "statement"),
        ];
        for (body, field) in cases {
            let error = refused::<RememberRequest>(&body.to_string());
            assert_eq!((error.code, error.field.as_deref()), (ErrorCode::BadRequest, Some(field)), "{error}");
        }
        let error = refused::<ResolveRequest>(r#"{"act": "burn"}"#);
        assert_eq!(error.field.as_deref(), Some("act"), "{error}");
        assert!(error.message.contains("supersede"), "{error}");
        let error = refused::<ResolveRequest>(r#"{"reason": "x"}"#);
        assert_eq!(error.field.as_deref(), Some("act"), "{error}");
        let error = refused::<ActRequest>(r#"{"expect_rev": "new"}"#);
        assert_eq!(error.field.as_deref(), Some("expect_rev"), "{error}");
    }

    #[test]
    fn what_is_no_number_or_stands_twice_is_said_in_words_with_what_is_meant() {
        for query in ["as_of=2026-11-23", "as_of=-1", "as_of=", "as_of=1e999"] {
            let error = parse_query::<ClaimsQuery>(query).unwrap_err();
            assert!(!error.message.contains("digit") && !error.message.contains("u64"), "{error}");
            assert!(error.hint.unwrap().contains("milliseconds since the Unix epoch"), "{query}");
        }
        let error = refused::<RecallRequest>(r#"{"limit": -1}"#);
        assert!(error.message.ends_with("integer `-1`, expected a whole number from 0"), "{error}");
        assert!(error.hint.unwrap().contains("up to 50"));
        let error = refused::<RememberRequest>(r#"{"depends_on": "abcd"}"#);
        assert!(error.message.ends_with("expected a list"), "{error}");
        assert_eq!(error.hint.as_deref(), Some("`depends_on`: Ids of the claims that this one rests on."));
        let error = refused::<RememberRequest>(r#"{"statement": "a", "statement": "b"}"#);
        assert_eq!(error.field.as_deref(), Some("statement"), "{error}");
        let error = parse_query::<ClaimsQuery>("limit=1&q=x&limit=2").unwrap_err();
        assert_eq!((error.field.as_deref(), error.hint.is_some()), (Some("limit"), true), "{error}");
        let error = refused::<ResolveManyRequest>(r#"{"cards": ["ffff"]}"#);
        assert!(error.message.ends_with("expected an object"), "{error}");
    }

    #[test]
    fn unknown_fields_are_refused_with_the_one_that_is_meant() {
        let error = refused::<RememberRequest>(r#"{"statement": "x", "reasons": "y"}"#);
        assert_eq!(error.field.as_deref(), Some("reasons"));
        assert!(error.hint.unwrap().contains("`reason`"));
        let error = parse_query::<ClaimsQuery>("statu=all").unwrap_err();
        assert_eq!(error.field.as_deref(), Some("statu"));
        let error = parse_query::<ClaimsQuery>("q=x&limit=many").unwrap_err();
        assert_eq!(error.field.as_deref(), Some("limit"));
        assert_eq!(parse_query::<ClaimsQuery>("q=a+b&limit=3").unwrap().limit, Some(3));
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
    }
}
