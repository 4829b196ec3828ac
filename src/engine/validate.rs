//! Checks requests: every error names the field and says what to do. Pure.

use jiff::civil::Date;

use crate::{
    api::{
        ActRequest, ApiError, Caller, ErrorCode, MAX_CARDS, MAX_IDENTITY, MAX_IDS, MAX_NAME, MAX_TEXT, RememberRequest,
    },
    domain::{
        ClaimKind, Qualifiers, Scope, id,
        judgement::MODEL_JUDGE,
        scope::{ORGANISATION, RESERVED, ScopeError},
        text::{has_word, name_problem, sanitize},
    },
};

/// The person or agent that acts, checked. Blank optional fields are absent.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Actor {
    pub who: String,
    /// The agent through which the person acts.
    pub agent: Option<String>,
}

/// A claim to be written, checked: texts are trimmed at both ends, blank optional fields are absent.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct ClaimDraft {
    pub kind: ClaimKind,
    pub statement: String,
    pub reason: Option<String>,
    pub source: Option<String>,
    pub key: Option<String>,
    pub qualifiers: Qualifiers,
    pub exception: Option<String>,
}

/// Checks the further claims of an act. Only `reviewed` accepts them.
pub(super) fn also(request: &ActRequest, act: &str) -> Result<(), ApiError> {
    if request.also.is_empty() {
        return Ok(());
    }
    if act != "reviewed" {
        let message = format!("`{act}` takes one claim; only `reviewed` takes further ones in `also`");
        return Err(ApiError::field("also", message).hint("send one request for each claim"));
    }
    if request.also.len() >= MAX_CARDS {
        return Err(ApiError::field("also", format!("one request reviews at most {MAX_CARDS} claims")));
    }
    request.also.iter().try_for_each(|target| id("also", target).map(drop))
}

pub(super) fn actor(caller: &Caller) -> Result<Actor, ApiError> {
    let who = name("who", &caller.who)?
        .ok_or_else(|| ApiError::field("who", "`who` is empty").hint("name the person who acts"))?;
    let agent = caller.agent.as_deref().map_or(Ok(None), |agent| name("agent", agent))?;
    Ok(Actor { who, agent })
}

/// Returns a caller for an act of a model on a claim, in the name of the claim's writer. A peer may have written a name
/// that is invalid here; the model then acts in its own name.
pub(super) fn on_behalf(scope: &Scope, who: &str) -> Caller {
    let caller = Caller {
        org_id: scope.org_id.clone(),
        project: scope.project.clone(),
        who: who.to_owned(),
        agent: Some(MODEL_JUDGE.to_owned()),
        ..Caller::default()
    };
    if actor(&caller).is_ok() { caller } else { Caller { who: MODEL_JUDGE.to_owned(), ..caller } }
}

/// Checks the scope of a request that must name one.
pub(super) fn scope(caller: &Caller) -> Result<Scope, ApiError> {
    let scope = named(&caller.org_id, &caller.project)
        .map_err(|error| ApiError::from(error).hint("invalid scope: expected ORG/PROJECT"))?;
    for (field, name) in [("org_id", &scope.org_id), ("project", &scope.project)] {
        printable(field, name)?;
        if name.contains('/') {
            return Err(ApiError::field(field, format!("`{field}` must not contain “/”: “{name}”"))
                .hint("a scope has two parts, ORG/PROJECT"));
        }
    }
    Ok(scope)
}

/// Returns a scope from names that a person may use.
pub(super) fn named(org_id: &str, project: &str) -> Result<Scope, ScopeError> {
    let scope = Scope::new(org_id, project)?;
    if scope.org_id == ORGANISATION {
        return Err(ScopeError { field: "org_id", problem: "is `*`: only the project can be, as in `acme/*`" });
    }
    if scope.is_reserved() { Err(RESERVED) } else { Ok(scope) }
}

/// Checks an optional scope: the request must name both parts or neither.
pub(super) fn optional_scope(org_id: Option<&str>, project: Option<&str>) -> Result<Option<Scope>, ApiError> {
    let missing = |field: &str, other: &str| {
        ApiError::field(field, format!("`{field}` is missing: only `{other}` is given"))
            .hint("name both, or neither for all scopes; the project `*` is the organisation's own level")
    };
    match (org_id.unwrap_or_default(), project.unwrap_or_default()) {
        ("", "") => Ok(None),
        (_, "") => Err(missing("project", "org_id")),
        ("", _) => Err(missing("org_id", "project")),
        (org_id, project) => named(org_id, project)
            .map(Some)
            .map_err(|error| ApiError::from(error).hint("name both `org_id` and `project`, or neither")),
    }
}

/// Checks the identity of a scope, which tells scopes of the same name apart.
pub(super) fn identity(caller: &Caller) -> Result<Option<String>, ApiError> {
    let Some(identity) = caller.identity.as_deref().map(str::trim).filter(|text| !text.is_empty()) else {
        return Ok(None);
    };
    no_nul("identity", identity)?;
    size("identity", identity, MAX_IDENTITY)?;
    Ok(Some(identity.to_owned()))
}

/// Checks a claim to be written. If the request names no kind, it has `default_kind`.
pub(super) fn draft(request: &RememberRequest, default_kind: ClaimKind) -> Result<ClaimDraft, ApiError> {
    let kind = request.kind.unwrap_or(default_kind);
    let statement = required_worded("statement", &request.statement)?;
    let reason = worded("reason", request.reason.as_deref())?;
    if kind.is_guarded() && reason.is_none() {
        return Err(ApiError::field("reason", format!("a {kind} needs a `reason`"))
            .hint("say why it was decided; for a plain fact, use `kind: fact`, which needs no reason"));
    }
    let key = request.key.as_deref().map_or(Ok(None), |key| name("key", key))?;
    if key.is_some() && kind.is_guarded() {
        return Err(ApiError::field("key", format!("a {kind} cannot have a `key`: only facts have keys"))
            .hint("leave `key` out, or write it with `kind: fact`"));
    }
    let exception = match request.force_exception.as_deref() {
        Some(text) if text.trim().is_empty() => {
            return Err(ApiError::field(
                "force_exception",
                "`force_exception` is empty: it must say why both claims may stand",
            )
            .hint("say why both may stand, or leave `force_exception` out"));
        }
        None if !request.exception_to.is_empty() => Some(reason.clone().ok_or_else(|| {
            ApiError::field("force_exception", "an exception needs a justification in `force_exception`")
                .hint("set `force_exception` to the reason why both may stand")
        })?),
        other => worded("force_exception", other)?,
    };
    Ok(ClaimDraft {
        kind,
        statement,
        reason,
        source: optional("source", request.source.as_deref())?,
        key,
        qualifiers: qualifiers(&request.qualifiers)?,
        exception,
    })
}

/// Checks the reason of an act. `act` is the act's name in the error.
pub(super) fn reason(request: &ActRequest, act: &str) -> Result<String, ApiError> {
    worded("reason", Some(&request.reason))?.ok_or_else(|| {
        ApiError::field("reason", format!("{act} needs a `reason`")).hint("say why; it stays in the history")
    })
}

/// Checks the environment, team, tenant and dates of a claim.
pub(super) fn qualifiers(raw: &Qualifiers) -> Result<Qualifiers, ApiError> {
    let place = |field: &str, text: &Option<String>| text.as_deref().map_or(Ok(None), |text| name(field, text));
    let checked = Qualifiers {
        env: place("env", &raw.env)?,
        team: place("team", &raw.team)?,
        tenant: place("tenant", &raw.tenant)?,
        valid_from: day("valid_from", raw.valid_from.as_deref())?,
        valid_until: day("valid_until", raw.valid_until.as_deref())?,
    };
    match (&checked.valid_from, &checked.valid_until) {
        // Dates of this form sort as text.
        (Some(from), Some(until)) if from > until => {
            Err(ApiError::field("valid_until", format!("`valid_until` ({until}) is before `valid_from` ({from})")))
        }
        _ => Ok(checked),
    }
}

/// Checks that a text looks like an id or a prefix of one, and returns it in lower case.
pub(super) fn id(field: &str, text: &str) -> Result<String, ApiError> {
    let text = text.trim();
    if text.is_empty() {
        return Err(ApiError::field(
            field,
            format!("`{field}` is empty: expected an id, or at least its first {} digits", id::MIN_PREFIX),
        ));
    }
    if !id::is_prefix(text) {
        let shown: String = text.chars().take(80).collect();
        return Err(ApiError::field(
            field,
            format!("`{field}`: invalid id “{shown}”: expected {} to 64 hexadecimal digits", id::MIN_PREFIX),
        )
        .hint("`ergo claims` and `ergo conflicts` show ids"));
    }
    Ok(text.to_ascii_lowercase())
}

/// Checks the length of a list of ids, and the form of each id.
pub(super) fn ids(field: &str, list: &[String]) -> Result<Vec<String>, ApiError> {
    if list.len() > MAX_IDS {
        return Err(ApiError::field(
            field,
            format!("`{field}` lists {} ids; at most {MAX_IDS} are allowed", list.len()),
        ));
    }
    list.iter().map(|text| id(field, text)).collect()
}

/// Checks a text that must not be blank.
pub(super) fn required(field: &str, text: &str) -> Result<String, ApiError> {
    optional(field, Some(text))?.ok_or_else(|| empty(field))
}

/// Checks a statement or a reason like [`optional`], and refuses a text without a letter or digit, such as the “…” of
/// an example.
pub(super) fn worded(field: &str, text: Option<&str>) -> Result<Option<String>, ApiError> {
    match optional(field, text)? {
        Some(text) if !has_word(&text) => {
            Err(ApiError::field(field, format!("`{field}` contains no words")).hint("write at least a word"))
        }
        text => Ok(text),
    }
}

/// [`worded`] for a text that must not be blank.
pub(super) fn required_worded(field: &str, text: &str) -> Result<String, ApiError> {
    worded(field, Some(text))?.ok_or_else(|| empty(field))
}

fn empty(field: &str) -> ApiError {
    ApiError::field(field, format!("`{field}` is empty")).hint("write at least a word")
}

/// Checks a text of at most [`MAX_TEXT`] bytes without NUL, and trims it. A text that is blank or without visible
/// characters is absent.
pub(super) fn optional(field: &str, text: Option<&str>) -> Result<Option<String>, ApiError> {
    let Some(text) = text.map(str::trim).filter(|text| text.contains('\0') || shows(text)) else { return Ok(None) };
    no_nul(field, text)?;
    size(field, text, MAX_TEXT)?;
    Ok(Some(text.to_owned()))
}

/// Checks a short name on one line; blank is absent.
fn name(field: &str, text: &str) -> Result<Option<String>, ApiError> {
    let text = text.trim();
    if text.is_empty() {
        return Ok(None);
    }
    size(field, text, MAX_NAME)?;
    printable(field, text)?;
    Ok(Some(text.to_owned()))
}

/// Checks a name that may be absent; blank is absent.
pub(super) fn optional_name(field: &str, text: Option<&str>) -> Result<Option<String>, ApiError> {
    text.map_or(Ok(None), |text| name(field, text))
}

/// Checks a name that must not be blank.
pub(super) fn required_name(field: &str, text: &str) -> Result<String, ApiError> {
    name(field, text)?.ok_or_else(|| ApiError::field(field, format!("`{field}` is empty")))
}

/// Refuses a new name that contains an invisible character, because two such names would look the same.
pub(super) fn printable(field: &str, text: &str) -> Result<(), ApiError> {
    if !shows(text) {
        return Err(unseen(field));
    }
    match name_problem(text) {
        Some(problem) => {
            Err(ApiError::field(field, format!("`{field}` {problem}"))
                .hint("write it on one line, in visible characters"))
        }
        None => Ok(()),
    }
}

/// Whether a text has a visible character. A text without any would be stored and never found.
fn shows(text: &str) -> bool {
    !sanitize(text).trim().is_empty()
}

fn unseen(field: &str) -> ApiError {
    ApiError::field(field, format!("`{field}` contains no visible characters")).hint("write visible text")
}

fn day(field: &str, text: Option<&str>) -> Result<Option<String>, ApiError> {
    let Some(text) = text.map(str::trim).filter(|text| !text.is_empty()) else { return Ok(None) };
    match Date::strptime("%Y-%m-%d", text) {
        // Only years of four digits sort as text.
        Ok(date) if (1000..=9999).contains(&date.year()) => Ok(Some(date.to_string())),
        _ => {
            let shown: String = text.chars().take(40).collect();
            Err(ApiError::field(field, format!("`{field}`: invalid date “{shown}”"))
                .hint("write it as YYYY-MM-DD, such as 2026-03-01"))
        }
    }
}

fn no_nul(field: &str, text: &str) -> Result<(), ApiError> {
    match text.find('\0') {
        Some(at) => Err(ApiError::field(field, format!("`{field}` contains a NUL byte (at byte {at})"))
            .hint("send text, not binary data")),
        None => Ok(()),
    }
}

fn size(field: &str, text: &str, most: usize) -> Result<(), ApiError> {
    if text.len() <= most {
        return Ok(());
    }
    let hint = match field {
        "statement" | "reason" => "keep the claim short, and point to the long text with `source`",
        _ => "use a shorter one",
    };
    Err(ApiError {
        field: Some(field.to_owned()),
        ..ApiError::new(ErrorCode::TooLarge, format!("`{field}` has {} bytes; at most {most} are allowed", text.len()))
    }
    .hint(hint))
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;

    fn request() -> RememberRequest {
        RememberRequest {
            statement: "Deploy only on green CI".into(),
            reason: Some("red builds broke prod twice".into()),
            ..RememberRequest::default()
        }
    }

    #[test]
    fn a_guarded_claim_without_a_reason_is_pointed_to_facts() {
        for reason in [None, Some(String::new()), Some("  \n".into())] {
            let error = draft(&RememberRequest { reason, ..request() }, ClaimKind::Decision).unwrap_err();
            assert_eq!(error.code, ErrorCode::BadRequest);
            assert_eq!(error.field.as_deref(), Some("reason"));
            assert!(error.message.contains("decision") && error.hint.unwrap().contains("kind: fact"));
        }
        let fact = RememberRequest { reason: None, kind: Some(ClaimKind::Fact), ..request() };
        assert!(draft(&fact, ClaimKind::Decision).is_ok());
    }

    #[rstest]
    #[case::empty("statement", "")]
    #[case::blank("statement", " \t\n")]
    #[case::nul("statement", "a\0b")]
    #[case::nothing_to_see("statement", "\u{200b}\u{202e} \u{7}")]
    #[case::no_word("statement", "…")]
    fn a_bad_statement_names_its_field(#[case] field: &str, #[case] statement: &str) {
        let error =
            draft(&RememberRequest { statement: statement.into(), ..request() }, ClaimKind::Decision).unwrap_err();
        assert_eq!((error.code, error.field.as_deref()), (ErrorCode::BadRequest, Some(field)));
    }

    #[test]
    fn what_shows_nothing_is_no_name_and_no_reason() {
        let caller = |who: &str, org: &str, project: &str| Caller {
            who: who.into(),
            org_id: org.into(),
            project: project.into(),
            ..Caller::default()
        };
        assert_eq!(actor(&caller("\u{200b}", "acme", "api")).unwrap_err().field.as_deref(), Some("who"));
        assert_eq!(scope(&caller("ada", "\u{feff}", "api")).unwrap_err().field.as_deref(), Some("org_id"));
        assert_eq!(scope(&caller("ada", "acme", "\u{202e}")).unwrap_err().field.as_deref(), Some("project"));
        assert!(scope(&caller("ada", "acme", "שלום")).is_ok());
        assert!(scope(&caller("ada", "acme", "\u{200f}שלום")).is_err(), "two names that look the same");
        let reason = Some("\u{2060}\u{1}".to_owned());
        let error = draft(&RememberRequest { reason, ..request() }, ClaimKind::Decision).unwrap_err();
        assert_eq!(error.field.as_deref(), Some("reason"));
    }

    #[test]
    fn a_reason_has_a_letter_or_a_digit_of_some_script() {
        let with = |reason: &str| {
            let reason = Some(reason.to_owned());
            draft(&RememberRequest { reason, kind: Some(ClaimKind::Fact), ..request() }, ClaimKind::Decision)
        };
        for reason in ["…", "?", "— !"] {
            let error = with(reason).unwrap_err();
            assert_eq!(error.field.as_deref(), Some("reason"), "{reason}");
            assert_eq!(error.message, "`reason` contains no words");
            assert_eq!(error.hint.as_deref(), Some("write at least a word"));
            let act = ActRequest { reason: reason.into(), ..ActRequest::default() };
            assert!(super::reason(&act, "retract").is_err(), "{reason}");
        }
        for reason in ["7", "因为", "לכן", "ça"] {
            assert_eq!(with(reason).unwrap().reason.as_deref(), Some(reason));
        }
    }

    #[test]
    fn the_limit_on_texts_is_exact() {
        let with =
            |bytes: usize| draft(&RememberRequest { statement: "x".repeat(bytes), ..request() }, ClaimKind::Decision);
        assert!(with(MAX_TEXT).is_ok());
        let error = with(MAX_TEXT + 1).unwrap_err();
        assert_eq!((error.code, error.field.as_deref()), (ErrorCode::TooLarge, Some("statement")));
    }

    #[test]
    fn an_empty_justification_is_refused_and_not_ignored() {
        let error = draft(&RememberRequest { force_exception: Some(" ".into()), ..request() }, ClaimKind::Decision)
            .unwrap_err();
        assert_eq!(error.field.as_deref(), Some("force_exception"));
    }

    #[test]
    fn a_key_belongs_to_a_fact() {
        let keyed = RememberRequest { key: Some("db".into()), ..request() };
        assert_eq!(draft(&keyed, ClaimKind::Decision).unwrap_err().field.as_deref(), Some("key"));
        assert_eq!(draft(&keyed, ClaimKind::Fact).unwrap().key.as_deref(), Some("db"));
    }

    #[rstest]
    #[case("2026-03-01", Some("2026-03-01"))]
    #[case(" 2026-03-01 ", Some("2026-03-01"))]
    #[case("2026-02-30", None)]
    #[case("1.3.2026", None)]
    #[case("-002026-03-01", None)]
    #[case("soon", None)]
    fn days_are_parsed(#[case] text: &str, #[case] expected: Option<&str>) {
        let raw = Qualifiers { valid_from: Some(text.into()), ..Qualifiers::default() };
        match (qualifiers(&raw), expected) {
            (Ok(checked), Some(day)) => assert_eq!(checked.valid_from.as_deref(), Some(day)),
            (Err(error), None) => assert_eq!(error.field.as_deref(), Some("valid_from")),
            (other, _) => panic!("{text}: {other:?}"),
        }
    }

    #[test]
    fn a_window_that_ends_before_it_begins_is_refused() {
        let raw = Qualifiers {
            valid_from: Some("2026-03-02".into()),
            valid_until: Some("2026-03-01".into()),
            ..Qualifiers::default()
        };
        assert_eq!(qualifiers(&raw).unwrap_err().field.as_deref(), Some("valid_until"));
    }

    #[test]
    fn ids_are_prefixes_in_lower_case() {
        assert_eq!(id("target", " ABCD12 ").unwrap(), "abcd12");
        for bad in ["", "abc", "xyzw", "../../etc"] {
            assert_eq!(id("target", bad).unwrap_err().field.as_deref(), Some("target"), "{bad}");
        }
        assert!(ids("targets", &vec!["abcd".to_owned(); MAX_IDS + 1]).is_err());
    }

    #[test]
    fn a_model_acts_for_the_writer_if_the_name_can_be_used() {
        let scope = Scope::new("acme", "api").unwrap();
        let long = "a".repeat(MAX_NAME + 1);
        for (who, expected) in [("ada", "ada"), ("", MODEL_JUDGE), ("a\u{202e}b", MODEL_JUDGE), (&long, MODEL_JUDGE)] {
            let caller = on_behalf(&scope, who);
            assert_eq!((caller.who.as_str(), caller.agent.as_deref()), (expected, Some(MODEL_JUDGE)));
        }
    }

    #[test]
    fn blank_optional_fields_are_absent() {
        let caller = Caller { who: "ada".into(), agent: Some(" ".into()), ..Caller::default() };
        assert_eq!(actor(&caller).unwrap(), Actor { who: "ada".into(), agent: None });
        assert_eq!(actor(&Caller::default()).unwrap_err().field.as_deref(), Some("who"));
        assert_eq!(optional_scope(Some(""), None).unwrap(), None);
        for (org_id, project, missing) in [(Some("acme"), None, "project"), (None, Some("api"), "org_id")] {
            let error = optional_scope(org_id, project).unwrap_err();
            assert_eq!(error.field.as_deref(), Some(missing));
            assert!(error.message.starts_with(&format!("`{missing}` is missing")), "{error}");
            assert!(error.hint.unwrap().contains("`*`"));
        }
    }
}
