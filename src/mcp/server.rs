//! One MCP session: answers the requests of the protocol.

use std::{path::PathBuf, sync::Arc, time::Instant};

use rmcp::{
    ErrorData, RoleServer, ServerHandler,
    model::{
        CallToolRequestParams, CallToolResponse, CustomRequest, CustomResult, ErrorCode, GetPromptRequestParams,
        GetPromptResponse, Implementation, ListPromptsResult, ListResourceTemplatesResult, ListResourcesResult,
        ListToolsResult, PaginatedRequestParams, ReadResourceRequestParams, ReadResourceResponse, ServerCapabilities,
        ServerConfig,
    },
    service::RequestContext,
};

use super::{
    call::ToolCall,
    call_limit::CallLimit,
    daemon_link::DaemonLink,
    pipe::shown,
    prompts,
    recent_clients::RecentClients,
    resources,
    tools::{self, Profile},
};
use crate::{api::PresentQuery, domain::Scope};

/// What an agent is told when it connects: when to use which tool. Costs context in every session, so it is short.
const INSTRUCTIONS: &str = "ergo is this project's memory of decisions, constraints, conventions, rejections and \
    facts, with their reasons. Before you choose or change something, call ergo_recall, or ergo_why for reasons. When \
    something is decided, store it with ergo_remember and its reason, one claim per call. A result \"conflict\" is \
    not an error: the statement contradicts an active claim and was not stored. Read that claim; then follow it, \
    replace it with ergo_supersede and a reason, or store an exception with force_exception. Never act against an \
    active claim without one of these. A result \"consider\" asks how the statement relates to active claims: answer \
    with ergo_judge.";

/// The longest name by which a client without a session is listed, in characters.
const NAME: usize = 60;

/// How a session behaves.
#[derive(Clone, Debug)]
pub struct McpSettings {
    /// Which tools are offered.
    pub profile: Profile,
    /// Where calls act that do not say where; `None` if each must say so.
    pub scope: Option<Scope>,
    /// What tells the project from another of that name, the best first; none if a person named it.
    pub identities: Vec<String>,
    /// The folder whose files may be read: the project's. `None` if none is.
    pub folder: Option<PathBuf>,
    /// Who acts; by default the client, by the name that it gives itself.
    pub who: Option<String>,
    /// A person is asked about a conflict if the client can ask one.
    pub ask_person: bool,
}

/// A session's answers. Cheap to clone.
#[derive(Clone, Debug)]
pub struct McpBridge {
    inner: Arc<Inner>,
}

#[derive(Debug)]
pub(super) struct Inner {
    pub(super) settings: McpSettings,
    pub(super) link: DaemonLink,
    pub(super) gate: CallLimit,
    recent: RecentClients,
}

impl McpBridge {
    /// A session with this daemon.
    pub fn new(settings: McpSettings, link: DaemonLink) -> Self {
        Self { inner: Arc::new(Inner { settings, link, gate: CallLimit::new(), recent: RecentClients::default() }) }
    }

    /// Comes to the daemon while the client is still saying hello.
    pub async fn warm(&self) {
        self.inner.link.warm().await;
    }

    /// A call of this client's.
    fn call(&self, context: &RequestContext<RoleServer>) -> ToolCall<'_> {
        ToolCall::new(&self.inner, name(context))
    }

    /// The daemon lists this client's session for as long as it lasts. A session without a project is the daemon's own bridge over
    /// HTTP, in which each request stands alone: whoever asks there is listed until it is quiet, as [`RecentClients`] knows.
    fn stay(&self, context: &RequestContext<RoleServer>) {
        let Some(scope) = self.inner.settings.scope.clone() else {
            let agent: String = name(context).chars().take(NAME).collect();
            if self.inner.recent.note(&agent, Instant::now()) {
                tokio::spawn(visit(Arc::clone(&self.inner), agent));
            }
            return;
        };
        let query = PresentQuery { agent: name(context), org_id: Some(scope.org_id), project: Some(scope.project) };
        let inner = Arc::clone(&self.inner);
        tokio::spawn(async move { inner.link.stay(&query).await });
    }
}

/// Lists a client until it is quiet.
async fn visit(inner: Arc<Inner>, agent: String) {
    let query = PresentQuery { agent, ..PresentQuery::default() };
    let quiet = async {
        while let Some(left) = inner.recent.left(&query.agent, Instant::now()) {
            tokio::time::sleep(left).await;
        }
    };
    let here = async {
        inner.link.warm().await;
        inner.link.visit(&query).await;
    };
    tokio::select! {
        () = quiet => {}
        () = here => {}
    }
}

/// The name that the client gives itself.
fn name(context: &RequestContext<RoleServer>) -> String {
    let name = context.client_info().map(|info| shown(info.name.trim())).filter(|name| !name.is_empty());
    name.unwrap_or_else(|| "agent".to_owned())
}

impl ServerHandler for McpBridge {
    fn get_info(&self) -> ServerConfig {
        let capabilities = ServerCapabilities::builder().enable_tools().enable_resources().enable_prompts().build();
        ServerConfig::new(capabilities)
            .with_server_info(Implementation::new("ergo", env!("CARGO_PKG_VERSION")).with_title("ergo"))
            .with_instructions(INSTRUCTIONS)
    }

    async fn list_tools(
        &self,
        _: Option<PaginatedRequestParams>,
        context: RequestContext<RoleServer>,
    ) -> Result<ListToolsResult, ErrorData> {
        self.stay(&context);
        Ok(ListToolsResult::with_all_items(tools::list(self.inner.settings.profile)))
    }

    async fn call_tool(
        &self,
        request: CallToolRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        let Some(tool) = tools::named(&request.name) else {
            let names: Vec<_> = tools::names(self.inner.settings.profile).collect();
            let message = format!("unknown tool `{}`; expected one of {}", shown(&request.name), names.join(", "));
            return Err(ErrorData::invalid_params(message, None));
        };
        let response = self.call(&context).tool(tool, request, &context).await;
        // After it: the daemon is there now, if it can be.
        self.stay(&context);
        response
    }

    async fn list_resources(
        &self,
        page: Option<PaginatedRequestParams>,
        context: RequestContext<RoleServer>,
    ) -> Result<ListResourcesResult, ErrorData> {
        self.stay(&context);
        resources::list(&self.call(&context), page.and_then(|page| page.cursor)).await
    }

    async fn list_resource_templates(
        &self,
        _: Option<PaginatedRequestParams>,
        _: RequestContext<RoleServer>,
    ) -> Result<ListResourceTemplatesResult, ErrorData> {
        Ok(ListResourceTemplatesResult::with_all_items(resources::templates()))
    }

    async fn read_resource(
        &self,
        request: ReadResourceRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<ReadResourceResponse, ErrorData> {
        self.stay(&context);
        resources::read(&self.call(&context), &request.uri).await.map(Into::into)
    }

    async fn list_prompts(
        &self,
        _: Option<PaginatedRequestParams>,
        _: RequestContext<RoleServer>,
    ) -> Result<ListPromptsResult, ErrorData> {
        Ok(ListPromptsResult::with_all_items(prompts::list()))
    }

    async fn get_prompt(
        &self,
        request: GetPromptRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<GetPromptResponse, ErrorData> {
        self.stay(&context);
        prompts::get(&self.call(&context), &request.name).await.map(Into::into)
    }

    /// What is no request of the protocol; also one whose parameters do not fit it.
    async fn on_custom_request(
        &self,
        request: CustomRequest,
        _: RequestContext<RoleServer>,
    ) -> Result<CustomResult, ErrorData> {
        let method = shown(&request.method);
        let known = ["tools/call", "resources/read", "prompts/get", "initialize"].contains(&&*method);
        let (code, message) = if known {
            (ErrorCode::INVALID_PARAMS, format!("invalid parameters for `{method}`"))
        } else {
            (ErrorCode::METHOD_NOT_FOUND, format!("unknown method `{method}`"))
        };
        Err(ErrorData::new(code, message, None))
    }
}
