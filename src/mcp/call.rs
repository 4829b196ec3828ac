//! Runs a tool call: sends the arguments, with author and scope, to the daemon, and returns its answer.

use rmcp::{
    ErrorData, RoleServer,
    model::{CallToolRequestParams, CallToolResponse, CallToolResult, ContentBlock, JsonObject},
    service::RequestContext,
};
use serde::{Serialize, de::DeserializeOwned};
use serde_json::{Value, json};

use super::{
    judge_tool::ConsideredWrite,
    person,
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

/// Where a call acts, by its own word or the session's.
struct CallScope {
    scope: Scope,
    identities: Vec<String>,
}

/// The error of a tool call: a sentence for the agent, with the next step.
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

    /// As an error of the protocol, if there is no other way to say it.
    pub(super) fn protocol(self) -> ErrorData {
        ErrorData::internal_error(self.0, None)
    }

    /// What is asked for does not exist.
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

    /// Runs a tool. What goes wrong is a result that says so: a client hides errors of the protocol from its model.
    pub(super) async fn tool(
        &self,
        tool: McpTool,
        request: CallToolRequestParams,
        context: &RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        let _pass = match self.inner.gate.pass().await {
            Ok(pass) => pass,
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
        // An argument that is not given, however that is said.
        arguments.retain(|_, value| !value.is_null());
        let value = match tool {
            McpTool::Remember | McpTool::Learn => {
                let path = if tool == McpTool::Learn { "/learn" } else { "/remember" };
                listed(&mut arguments, "exception_to");
                only_of(tool, &arguments)?;
                let body = considering(self.writing(arguments).await?);
                let outcome: WriteOutcome = self.post(path, &body).await?;
                if let WriteOutcome::Conflict(refused) = &outcome
                    && self.settings().ask_person
                    && let Some(card) = refused.card_id
                {
                    match person::ask(refused, request, context).await {
                        person::PersonReply::Wait(question) => return Ok((*question).into()),
                        person::PersonReply::Decided(decision) => {
                            let outcome = self.decided(&card.to_hex(), &decision, &body).await?;
                            return Ok(result(shape::decided(outcome, &decision, self.home())));
                        }
                        person::PersonReply::Cancelled => {
                            return Ok(result(shape::cancelled(shape::outcome(outcome, self.home()))));
                        }
                        person::PersonReply::None => {}
                    }
                }
                match self.considered(outcome, request, context).await? {
                    ConsideredWrite::Outcome(outcome) => shape::outcome(*outcome, self.home()),
                    ConsideredWrite::Wait(wait) => return Ok(wait),
                }
            }
            McpTool::Supersede => {
                // One target is what most calls have.
                if let Some(target) = arguments.remove("target") {
                    arguments.insert("targets".to_owned(), json!([target]));
                }
                listed(&mut arguments, "targets");
                listed(&mut arguments, "exception_to");
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
                // The answer is the first of them.
                let limit = limit(&arguments).saturating_sub(1);
                arguments.insert("limit".to_owned(), json!(limit));
                let body = self.reading(arguments).await?;
                shape::why(self.post::<WhyAnswer>("/why", &body).await?)
            }
            McpTool::Recall => {
                only_of(tool, &arguments)?;
                let limit = limit(&arguments);
                arguments.entry("limit").or_insert(json!(limit));
                let body = self.reading(arguments).await?;
                shape::recall(self.post::<RecallAnswer>("/recall", &body).await?, limit)
            }
            McpTool::History => {
                let claim = id(&mut arguments, "claim")?;
                only(&arguments, &[])?;
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

    /// The scopes that hold claims, and which is this session's.
    async fn list_scopes(&self) -> Result<Value, ToolError> {
        let here = self.place(&mut JsonObject::new()).ok();
        let scopes = self.scopes().await?;
        let here = here.map(|here| known_scope(&here.scope, &here.identities, &scopes).0);
        Ok(shape::scopes(&scopes, here.as_ref()))
    }

    /// The scope that an answer need not name.
    pub(super) fn home(&self) -> Option<&Scope> {
        self.settings().scope.as_ref()
    }

    async fn conflicts(&self, mut arguments: JsonObject) -> Result<Value, ToolError> {
        if arguments.contains_key("card") {
            let card = id(&mut arguments, "card")?;
            only(&arguments, &["scope"])?;
            return Ok(shape::card(self.get::<CardView>(&format!("/conflicts/{card}"), "").await?));
        }
        let scope = self.known(&mut arguments).await?;
        only(&arguments, &["status", "limit", "cursor"])?;
        let mut query: ConflictsQuery = serde_json::from_value(Value::Object(arguments)).map_err(|error| {
            ToolError::new(format!("invalid arguments: {error}. Next: use only `status`, `limit`, `cursor` and `card`"))
        })?;
        query.limit.get_or_insert(20);
        (query.org_id, query.project) = (Some(scope.org_id), Some(scope.project));
        let page: ConflictsPage = self.get("/conflicts", &encode(&query)?).await?;
        Ok(shape::conflicts(&page))
    }

    /// The session's scope, under the name by which the daemon knows it; `None` where it belongs to no project, and means all.
    pub(super) async fn own(&self) -> Result<Option<Scope>, ToolError> {
        match self.settings().scope {
            Some(_) => self.known(&mut JsonObject::new()).await.map(Some),
            None => Ok(None),
        }
    }

    /// The open cards of the session's scope.
    pub(super) async fn open_cards(&self) -> Result<(ConflictsPage, Option<Scope>), ToolError> {
        let scope = self.own().await?;
        let (org_id, project) = scope.clone().map(|scope| (scope.org_id, scope.project)).unzip();
        let query = ConflictsQuery { org_id, project, limit: Some(20), ..ConflictsQuery::default() };
        Ok((self.get("/conflicts", &encode(&query)?).await?, scope))
    }

    /// Does what a person decided about a refused write.
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
        order.insert("op_id".to_owned(), json!(fresh_op()?));
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

    /// The body of a write: the arguments, who acts, where, and the key by which a repetition is known.
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

    /// Adds who acts, and the key by which a repetition is known.
    pub(super) fn acting(&self, mut arguments: JsonObject) -> Result<JsonObject, ToolError> {
        let who = self.settings().who.clone().unwrap_or_else(|| self.agent.clone());
        arguments.entry("who").or_insert_with(|| json!(who));
        arguments.insert("agent".to_owned(), json!(self.agent));
        if !arguments.contains_key("op_id") {
            arguments.insert("op_id".to_owned(), json!(fresh_op()?));
        }
        Ok(arguments)
    }

    /// The body of a read: the arguments, and the scope under the name by which the daemon knows it.
    async fn reading(&self, mut arguments: JsonObject) -> Result<JsonObject, ToolError> {
        let scope = self.known(&mut arguments).await?;
        arguments.insert("org_id".to_owned(), json!(scope.org_id));
        arguments.insert("project".to_owned(), json!(scope.project));
        Ok(arguments)
    }

    /// Where to read, by the arguments or the session; what says so is taken out of the arguments.
    async fn known(&self, arguments: &mut JsonObject) -> Result<Scope, ToolError> {
        let place = self.place(arguments)?;
        if place.identities.is_empty() {
            return Ok(place.scope);
        }
        Ok(known_scope(&place.scope, &place.identities, &self.scopes().await?).0)
    }

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
        // Who names only the organisation means this project in it, by what it is.
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

/// How many claims an answer has unless more are asked for: nobody reads further.
const FEW: usize = 3;

/// How many claims are asked for.
fn limit(arguments: &JsonObject) -> usize {
    arguments.get("limit").and_then(Value::as_u64).map_or(FEW, |limit| limit as usize)
}

/// The same data as text and as structure: clients show their model one of the two.
fn result(value: Value) -> CallToolResponse {
    CallToolResult::structured(value).into()
}

pub(super) fn encode(query: &impl Serialize) -> Result<String, ToolError> {
    serde_urlencoded::to_string(query)
        .map_err(|error| ToolError::new(format!("the request cannot be encoded as JSON: {error}")))
}

/// Makes a list of the one text that stands if a list is expected.
fn listed(arguments: &mut JsonObject, name: &str) {
    if let Some(one) = arguments.get_mut(name).filter(|value| value.is_string()) {
        *one = json!([one.take()]);
    }
}

/// Makes an object of its JSON: some models write an object as text.
pub(super) fn object_in_text(arguments: &mut JsonObject, name: &str) {
    let Some(value) = arguments.get_mut(name) else { return };
    if let Some(Ok(object)) = value.as_str().map(serde_json::from_str::<JsonObject>) {
        *value = Value::Object(object);
    }
}

/// Makes a write wait for verdicts if it may contradict active claims.
fn considering(mut body: JsonObject) -> JsonObject {
    body.insert("consider".to_owned(), json!(true));
    body
}

/// Takes a text out of the arguments.
pub(super) fn text(arguments: &mut JsonObject, name: &str) -> Result<Option<String>, ToolError> {
    match arguments.remove(name) {
        None => Ok(None),
        Some(Value::String(text)) => Ok(Some(text)),
        Some(_) => Err(ToolError::new(format!("`{name}` must be a string"))),
    }
}

/// Takes an id, or the beginning of one, out of the arguments.
fn id(arguments: &mut JsonObject, name: &str) -> Result<String, ToolError> {
    let given = text(arguments, name)?.ok_or_else(|| ToolError::new(format!("`{name}` is missing: give the id")))?;
    let given = given.trim().to_ascii_lowercase();
    if crate::domain::id::is_prefix(&given) {
        return Ok(given);
    }
    Err(ToolError::new(format!("`{name}`: invalid id: give at least its first 4 hexadecimal digits")))
}

/// Refuses arguments that nobody reads.
pub(super) fn only(arguments: &JsonObject, known: &[&str]) -> Result<(), ToolError> {
    let Some(stray) = arguments.keys().find(|name| !known.contains(&name.as_str())) else { return Ok(()) };
    let stray = super::pipe::shown(stray);
    let expected = if known.is_empty() { "no arguments".to_owned() } else { known.join(", ") };
    Err(ToolError::new(format!("unknown argument `{stray}`; expected: {expected}")))
}

/// Refuses arguments that the tool's schema lacks. How a caller may say who acts, where, under which key and as of when is not in the
/// schemas, and taken all the same.
fn only_of(tool: McpTool, arguments: &JsonObject) -> Result<(), ToolError> {
    const UNLISTED: [&str; 9] =
        ["scope", "org_id", "project", "who", "op_id", "identity", "expect_rev", "as_of", "filter"];
    let known = tool.arguments();
    let Some(stray) = arguments.keys().find(|name| !known.contains(name) && !UNLISTED.contains(&name.as_str())) else {
        return Ok(());
    };
    let known: Vec<&str> = known.iter().map(String::as_str).collect();
    let stray = super::pipe::shown(stray);
    let expected = if known.is_empty() { "no arguments".to_owned() } else { known.join(", ") };
    Err(ToolError::new(format!("unknown argument `{stray}`; expected: {expected}")))
}

/// The arguments of `ergo_resolve` as the daemon takes them: where a claim holds is one object, and a time is a number.
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

/// A key by which the daemon knows a write again that it was sent twice.
fn fresh_op() -> Result<OpId, ToolError> {
    let mut bytes = [0; 16];
    getrandom::fill(&mut bytes)
        .map_err(|error| ToolError::new(format!("cannot get random bytes from the operating system: {error}")))?;
    Ok(OpId(bytes))
}
