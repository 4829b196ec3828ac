//! Runs a tool call: sends its arguments, with author and scope, to the daemon, and returns the answer.

use rmcp::{
    ErrorData, RoleServer,
    model::{CallToolRequestParams, CallToolResponse, CallToolResult, ContentBlock, JsonObject},
    service::RequestContext,
};
use serde::{Serialize, de::DeserializeOwned};
use serde_json::{Value, json};

use super::{
    client_question::ClientReply,
    judge_tool::ConsideredWrite,
    person::{self, PersonAnswer},
    server::{Inner, McpSettings},
    shape, tool_hints,
    tools::McpTool,
};
use crate::{
    api::{
        CardView, ConflictsPage, ConflictsQuery, Diagnose, History, RecallAnswer, ScopeView, Scopes, UndoOutcome,
        WhyAnswer, WriteOutcome,
    },
    client::{ClientError, MOMENT_FORMS, Method, Request, known_scope, moment},
    domain::{OpId, Scope, scope::InvalidScope, text::sanitize},
};

/// A tool call of one client.
pub(super) struct ToolCall<'a> {
    inner: &'a Inner,
    /// The client's name.
    agent: String,
}

/// The scope of a call, from its arguments or the session's settings.
struct CallScope {
    scope: Scope,
    /// See [`McpSettings::identities`].
    identities: Vec<String>,
}

/// The error of a tool call, as a text for the agent with the next step.
#[derive(Debug)]
pub(super) struct ToolError(pub(super) String);

impl From<ClientError> for ToolError {
    fn from(error: ClientError) -> Self {
        let mut message = error.to_string();
        if let ClientError::Api(api) = &error
            && !api.candidates.is_empty()
        {
            let ids: Vec<_> = api.candidates.iter().map(|id| id.get(..16).unwrap_or(id)).collect();
            message = format!("{message}: {}", ids.join(", "));
        }
        if let Some(hint) = tool_hints::next_step(&error) {
            message = format!("{message}. Next: {hint}");
        }
        Self(sanitize(&tool_hints::as_tools(&message)))
    }
}

impl ToolError {
    pub(super) fn new(message: impl Into<String>) -> Self {
        Self(message.into())
    }

    /// Converts into an error of the protocol, for requests whose result cannot contain an error.
    pub(super) fn protocol(self) -> ErrorData {
        ErrorData::internal_error(self.0, None)
    }

    /// Converts into the protocol's error for a missing resource.
    pub(super) fn not_found(self) -> ErrorData {
        ErrorData::resource_not_found(self.0, None)
    }
}

impl<'a> ToolCall<'a> {
    pub(super) fn new(inner: &'a Inner, agent: String) -> Self {
        Self { inner, agent }
    }

    pub(super) fn settings(&self) -> &McpSettings {
        &self.inner.settings
    }

    /// Runs a tool. An error is returned as a result, because clients hide errors of the protocol from their model.
    pub(super) async fn tool(
        &self,
        tool: McpTool,
        request: CallToolRequestParams,
        context: &RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        let _running = match self.inner.calls.enter().await {
            Ok(running) => running,
            Err(message) => return Ok(CallToolResult::error(vec![ContentBlock::text(message)]).into()),
        };
        let arguments = request.arguments.clone().unwrap_or_default();
        Ok(match self.run(tool, arguments, &request, context).await {
            Ok(response) => response,
            Err(ToolError(message)) => CallToolResult::error(vec![ContentBlock::text(message)]).into(),
        })
    }

    async fn run(
        &self,
        tool: McpTool,
        mut arguments: JsonObject,
        request: &CallToolRequestParams,
        context: &RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ToolError> {
        // An argument that is null counts as not given.
        arguments.retain(|_, value| !value.is_null());
        let value = match tool {
            McpTool::Remember | McpTool::Learn => {
                let path = if tool == McpTool::Learn { "/learn" } else { "/remember" };
                wrap_in_list(&mut arguments, "exception_to");
                only_of(tool, &arguments)?;
                let body = considering(self.writing(arguments).await?);
                let outcome: WriteOutcome = self.post(path, &body).await?;
                if let WriteOutcome::Conflict(refused) = &outcome
                    && self.settings().ask_person
                    // What a person answers through the agent counts as the agent's act, which a person must accept.
                    && !refused.may_only_propose
                    && let Some(card) = refused.card_id
                {
                    match person::ask(refused, request, context).await {
                        ClientReply::Wait(question) => return Ok((*question).into()),
                        ClientReply::Answered(PersonAnswer::Decided(decision)) => {
                            let outcome = self.decided(&card.to_hex(), &decision, &body).await?;
                            return Ok(result(shape::decided(outcome, &decision, self.home())));
                        }
                        ClientReply::Answered(PersonAnswer::Cancelled) => {
                            return Ok(result(shape::cancelled(shape::outcome(outcome, self.home()))));
                        }
                        ClientReply::None => {}
                    }
                }
                match self.considered(outcome, request, context).await? {
                    ConsideredWrite::Outcome(outcome) => shape::outcome(*outcome, self.home()),
                    ConsideredWrite::Wait(wait) => return Ok(wait),
                }
            }
            McpTool::Supersede => {
                // Most calls have one target, so accept `target`, too.
                if let Some(target) = arguments.remove("target") {
                    arguments.insert("targets".to_owned(), json!([target]));
                }
                wrap_in_list(&mut arguments, "targets");
                wrap_in_list(&mut arguments, "exception_to");
                only_of(tool, &arguments)?;
                let body = considering(self.writing(arguments).await?);
                let outcome = self.post("/supersede", &body).await?;
                match self.considered(outcome, request, context).await? {
                    ConsideredWrite::Outcome(outcome) => shape::outcome(*outcome, self.home()),
                    ConsideredWrite::Wait(wait) => return Ok(wait),
                }
            }
            McpTool::Judge => {
                only_of(tool, &arguments)?;
                self.judge(arguments).await?
            }
            McpTool::Retract => {
                only_of(tool, &arguments)?;
                let body = self.writing(arguments).await?;
                shape::outcome(self.post("/retract", &body).await?, self.home())
            }
            McpTool::Resolve => {
                only_of(tool, &arguments)?;
                let card = id(&mut arguments, "card")?;
                let body = self.writing(as_resolve_request(arguments)?).await?;
                shape::outcome(self.post(&format!("/conflicts/{card}/resolve"), &body).await?, self.home())
            }
            McpTool::Why => {
                only_of(tool, &arguments)?;
                // The answer itself counts as one of the claims.
                let limit = limit(&arguments)?.saturating_sub(1);
                arguments.insert("limit".to_owned(), json!(limit));
                let body = self.reading(arguments).await?;
                shape::why(self.post::<WhyAnswer>("/why", &body).await?)
            }
            McpTool::Recall => {
                only_of(tool, &arguments)?;
                let limit = limit(&arguments)?;
                arguments.entry("limit").or_insert(json!(limit));
                let body = self.reading(arguments).await?;
                shape::recall(self.post::<RecallAnswer>("/recall", &body).await?, limit)
            }
            McpTool::History => {
                only(&arguments, &["claim", "scope"])?;
                let claim = id(&mut arguments, "claim")?;
                shape::history(self.get::<History>(&format!("/claims/{claim}/history"), "").await?)
            }
            McpTool::Ingest => shape::ingested(&self.ingest(arguments).await?),
            McpTool::Conflicts => return self.conflicts(arguments).await.map(result),
            McpTool::Undo => {
                only_of(tool, &arguments)?;
                let body = self.writing(arguments).await?;
                shape::undone(&self.post::<UndoOutcome>("/undo", &body).await?)
            }
            McpTool::Diagnose => {
                only_of(tool, &arguments)?;
                let diagnose = self.get::<Diagnose>("/diagnose", "").await?;
                shape::diagnose(&diagnose, self.list_scopes().await?)
            }
            McpTool::Scopes => {
                only_of(tool, &arguments)?;
                self.list_scopes().await?
            }
        };
        Ok(result(value))
    }

    /// Lists the scopes that have claims, and names the session's scope.
    async fn list_scopes(&self) -> Result<Value, ToolError> {
        let here = self.place(&mut JsonObject::new()).ok();
        let scopes = self.scopes().await?;
        let here = here.map(|here| known_scope(&here.scope, &here.identities, &scopes).0);
        Ok(shape::scopes(&scopes, here.as_ref()))
    }

    /// Returns the session's scope, which an answer need not name.
    pub(super) fn home(&self) -> Option<&Scope> {
        self.settings().scope.as_ref()
    }

    async fn conflicts(&self, mut arguments: JsonObject) -> Result<Value, ToolError> {
        if arguments.contains_key("card") {
            only(&arguments, &["card", "scope"])?;
            let card = id(&mut arguments, "card")?;
            return Ok(shape::card(self.get::<CardView>(&format!("/conflicts/{card}"), "").await?));
        }
        only(&arguments, &["status", "limit", "cursor", "scope", "org_id", "project"])?;
        let scope = self.known(&mut arguments).await?;
        let mut query: ConflictsQuery = serde_json::from_value(Value::Object(arguments)).map_err(|error| {
            ToolError::new(format!("invalid arguments: {error}. Next: use only `status`, `limit`, `cursor` and `card`"))
        })?;
        query.limit.get_or_insert(20);
        (query.org_id, query.project) = (Some(scope.org_id), Some(scope.project));
        let page: ConflictsPage = self.get("/conflicts", &encode(&query)?).await?;
        Ok(shape::conflicts(&page))
    }

    /// Returns the session's scope, with the name that the daemon has for it; `None` if the session has no project,
    /// which stands for all scopes.
    pub(super) async fn own(&self) -> Result<Option<Scope>, ToolError> {
        match self.settings().scope {
            Some(_) => self.known(&mut JsonObject::new()).await.map(Some),
            None => Ok(None),
        }
    }

    /// Returns the open cards of the session's scope, and the scope.
    pub(super) async fn open_cards(&self) -> Result<(ConflictsPage, Option<Scope>), ToolError> {
        let scope = self.own().await?;
        let (org_id, project) = scope.clone().map(|scope| (scope.org_id, scope.project)).unzip();
        let query = ConflictsQuery { org_id, project, limit: Some(20), ..ConflictsQuery::default() };
        Ok((self.get("/conflicts", &encode(&query)?).await?, scope))
    }

    /// Settles the card of a refused write as a person decided.
    async fn decided(
        &self,
        card: &str,
        decision: &person::Decision,
        body: &JsonObject,
    ) -> Result<WriteOutcome, ToolError> {
        let mut order = JsonObject::new();
        for field in ["org_id", "project", "who", "agent", "identity"] {
            order.extend(body.get(field).map(|value| (field.to_owned(), value.clone())));
        }
        order.insert("op_id".to_owned(), json!(new_op_id()?));
        order.insert("act".to_owned(), json!(decision.act));
        let given = decision.reason.clone().or_else(|| body.get("reason").and_then(Value::as_str).map(str::to_owned));
        order.insert(
            "reason".to_owned(),
            json!(given.unwrap_or_else(|| "the user chose this when the agent asked; no reason was given".to_owned())),
        );
        if decision.act == "supersede" {
            let view: CardView = self.get(&format!("/conflicts/{card}"), "").await?;
            let new_claim = view.sides.iter().find(|side| side.new_claim);
            order.extend(new_claim.map(|side| ("winner".to_owned(), json!(side.claim.id))));
        }
        self.post(&format!("/conflicts/{card}/resolve"), &order).await
    }

    /// Returns the body of a write: the arguments with scope, author and `op_id`.
    pub(super) async fn writing(&self, mut arguments: JsonObject) -> Result<JsonObject, ToolError> {
        let place = self.place(&mut arguments)?;
        let identity = if place.identities.is_empty() {
            None
        } else {
            known_scope(&place.scope, &place.identities, &self.scopes().await?).1
        };
        arguments.insert("org_id".to_owned(), json!(place.scope.org_id));
        arguments.insert("project".to_owned(), json!(place.scope.project));
        arguments.extend(identity.map(|identity| ("identity".to_owned(), json!(identity))));
        self.acting(arguments)
    }

    /// Adds the author and an `op_id` to the arguments.
    pub(super) fn acting(&self, mut arguments: JsonObject) -> Result<JsonObject, ToolError> {
        let who = match (&self.settings().who, arguments.get("who")) {
            (Some(fixed), Some(given)) if given != fixed => {
                let fixed = sanitize(fixed);
                return Err(ToolError::new(format!(
                    "`who` cannot be chosen here: `ergo mcp --who` sets it to “{fixed}”. Next: leave `who` out"
                )));
            }
            (Some(fixed), _) => json!(fixed),
            (None, Some(given)) => given.clone(),
            (None, None) => json!(self.agent),
        };
        arguments.insert("who".to_owned(), who);
        arguments.insert("agent".to_owned(), json!(self.agent));
        if !arguments.contains_key("op_id") {
            arguments.insert("op_id".to_owned(), json!(new_op_id()?));
        }
        Ok(arguments)
    }

    /// Returns the body of a read: the arguments with the scope, which has the daemon's name for it.
    async fn reading(&self, mut arguments: JsonObject) -> Result<JsonObject, ToolError> {
        let scope = self.known(&mut arguments).await?;
        arguments.insert("org_id".to_owned(), json!(scope.org_id));
        arguments.insert("project".to_owned(), json!(scope.project));
        Ok(arguments)
    }

    /// Returns the scope to read, with the daemon's name for it. Removes the arguments that name the scope.
    async fn known(&self, arguments: &mut JsonObject) -> Result<Scope, ToolError> {
        let place = self.place(arguments)?;
        if place.identities.is_empty() {
            return Ok(place.scope);
        }
        Ok(known_scope(&place.scope, &place.identities, &self.scopes().await?).0)
    }

    /// Returns the scope of a call. Removes the arguments that name it.
    fn place(&self, arguments: &mut JsonObject) -> Result<CallScope, ToolError> {
        let McpSettings { scope, identities, .. } = self.settings();
        let both = text(arguments, "scope")?;
        let (org, project) = (text(arguments, "org_id")?, text(arguments, "project")?);
        let (org, project) = match both {
            Some(both) => {
                let Scope { org_id, project } = both.parse().map_err(|error: InvalidScope| {
                    let given = sanitize(&both);
                    ToolError::new(format!(
                        "invalid `scope` “{given}”: {error}. Next: call ergo_diagnose, which lists the scopes"
                    ))
                })?;
                (Some(org_id), Some(project))
            }
            None => (org, project),
        };
        let missing = || {
            ToolError::new(
                "`scope` is missing, and this connection has no default project. Next: pass `scope` as ORG/PROJECT",
            )
        };
        if org.is_none() && project.is_none() {
            let scope = scope.clone().ok_or_else(missing)?;
            return Ok(CallScope { scope, identities: identities.clone() });
        }
        // If only the organisation is named, this project in it is meant, with its identities.
        let identities = if project.is_some() { Vec::new() } else { identities.clone() };
        let org = org.or_else(|| scope.as_ref().map(|scope| scope.org_id.clone()));
        let project = project.or_else(|| scope.as_ref().map(|scope| scope.project.clone()));
        let (org, project) = org.zip(project).ok_or_else(missing)?;
        let scope = Scope::new(org, project)
            .map_err(|error| ToolError::new(format!("{error}. Next: give `scope` as ORG/PROJECT")))?;
        Ok(CallScope { scope, identities })
    }

    async fn scopes(&self) -> Result<Vec<ScopeView>, ToolError> {
        Ok(self.get::<Scopes>("/scopes", "").await?.items)
    }

    pub(super) async fn get<T: DeserializeOwned>(&self, path: &str, query: &str) -> Result<T, ToolError> {
        let request = Request { query: query.to_owned(), ..Request::new(Method::GET, path) };
        self.ask(request).await
    }

    pub(super) async fn post<T: DeserializeOwned>(&self, path: &str, body: &JsonObject) -> Result<T, ToolError> {
        self.ask(Request::post(path, Value::Object(body.clone()))).await
    }

    pub(super) async fn ask<T: DeserializeOwned>(&self, request: Request) -> Result<T, ToolError> {
        Ok(self.inner.link.ask(request).await?)
    }
}

/// The default number of claims in an answer: agents rarely need more.
const DEFAULT_LIMIT: usize = 3;

/// Returns the number of claims that the call asks for.
fn limit(arguments: &JsonObject) -> Result<usize, ToolError> {
    let Some(given) = arguments.get("limit") else { return Ok(DEFAULT_LIMIT) };
    let limit = given.as_u64().and_then(|limit| usize::try_from(limit).ok());
    limit.ok_or_else(|| ToolError::new("`limit` must be a whole number"))
}

/// Returns a value as text and as structured content: clients show one of the two to their model.
fn result(value: Value) -> CallToolResponse {
    CallToolResult::structured(value).into()
}

pub(super) fn encode(query: &impl Serialize) -> Result<String, ToolError> {
    serde_urlencoded::to_string(query)
        .map_err(|error| ToolError::new(format!("the request cannot be encoded as JSON: {error}")))
}

/// Replaces a text by a list of this text, if an argument should be a list.
fn wrap_in_list(arguments: &mut JsonObject, name: &str) {
    if let Some(one) = arguments.get_mut(name).filter(|value| value.is_string()) {
        *one = json!([one.take()]);
    }
}

/// Replaces a text by the JSON object that it contains, because some models write an object as text.
pub(super) fn parse_object(arguments: &mut JsonObject, name: &str) {
    let Some(value) = arguments.get_mut(name) else { return };
    if let Some(Ok(object)) = value.as_str().map(serde_json::from_str::<JsonObject>) {
        *value = Value::Object(object);
    }
}

/// Adds that the write waits for verdicts if it may contradict active claims.
fn considering(mut body: JsonObject) -> JsonObject {
    body.insert("consider".to_owned(), json!(true));
    body
}

/// Removes a text from the arguments and returns it.
pub(super) fn text(arguments: &mut JsonObject, name: &str) -> Result<Option<String>, ToolError> {
    match arguments.remove(name) {
        None => Ok(None),
        Some(Value::String(text)) => Ok(Some(text)),
        Some(_) => Err(ToolError::new(format!("`{name}` must be a string"))),
    }
}

/// Removes an id, or the prefix of one, from the arguments and returns it.
fn id(arguments: &mut JsonObject, name: &str) -> Result<String, ToolError> {
    let given = text(arguments, name)?.ok_or_else(|| ToolError::new(format!("`{name}` is missing: give the id")))?;
    let given = given.trim().to_ascii_lowercase();
    if crate::domain::id::is_prefix(&given) {
        return Ok(given);
    }
    Err(ToolError::new(format!("`{name}`: invalid id: give at least its first 4 hexadecimal digits")))
}

/// Refuses unknown arguments.
pub(super) fn only(arguments: &JsonObject, known: &[&str]) -> Result<(), ToolError> {
    refuse_unknown(arguments, known, &[])
}

/// Refuses arguments that the tool's schema does not have. Arguments for author, scope, `op_id` and time are not in the
/// schemas, but accepted.
fn only_of(tool: McpTool, arguments: &JsonObject) -> Result<(), ToolError> {
    const UNLISTED: [&str; 9] =
        ["scope", "org_id", "project", "who", "op_id", "identity", "expect_rev", "as_of", "filter"];
    let known = tool.arguments();
    refuse_unknown(arguments, &known.iter().map(String::as_str).collect::<Vec<_>>(), &UNLISTED)
}

/// Refuses arguments that are in neither list. The error names those of the first.
fn refuse_unknown(arguments: &JsonObject, listed: &[&str], unlisted: &[&str]) -> Result<(), ToolError> {
    let mut names = arguments.keys().map(String::as_str);
    let Some(stray) = names.find(|name| !listed.contains(name) && !unlisted.contains(name)) else { return Ok(()) };
    let stray = super::pipe::shown(stray);
    let expected = if listed.is_empty() { "no arguments".to_owned() } else { listed.join(", ") };
    Err(ToolError::new(format!("unknown argument `{stray}`; expected: {expected}")))
}

/// Converts the arguments of `ergo_resolve` into the daemon's form: qualifiers are one object, and a time is a number.
fn as_resolve_request(mut arguments: JsonObject) -> Result<JsonObject, ToolError> {
    let mut qualifiers = JsonObject::new();
    for name in ["env", "team", "tenant", "valid_from", "valid_until"] {
        qualifiers.extend(arguments.remove(name).map(|value| (name.to_owned(), value)));
    }
    if !qualifiers.is_empty() {
        arguments.insert("qualifiers".to_owned(), Value::Object(qualifiers));
    }
    if let Some(until) = text(&mut arguments, "until")? {
        let at = moment(&until, 1).ok_or_else(|| {
            ToolError::new(format!("invalid `until`: “{}”. Next: give {MOMENT_FORMS}", sanitize(&until)))
        })?;
        arguments.insert("until".to_owned(), json!(at));
    }
    Ok(arguments)
}

/// Returns a new random `op_id`, by which the daemon recognises a repeated write.
fn new_op_id() -> Result<OpId, ToolError> {
    let mut bytes = [0; 16];
    getrandom::fill(&mut bytes)
        .map_err(|error| ToolError::new(format!("cannot get random bytes from the operating system: {error}")))?;
    Ok(OpId(bytes))
}
