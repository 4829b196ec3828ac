//! An MCP session: answers the requests of the protocol.

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

/// The instructions for an agent that connects: when to use which tool. They are short, because they cost context in
/// every session.
const INSTRUCTIONS: &str = "ergo is this project's memory of decisions, constraints, conventions, rejections and \
    facts, with their reasons. Before you choose or change something, call ergo_recall, or ergo_why for reasons. When \
    something is decided, store it with ergo_remember and its reason, one claim per call. A result \"conflict\" is \
    not an error: the statement contradicts an active claim and was not stored. Show that claim to the user; then \
    follow it, replace it with ergo_supersede and a reason, or store an exception with the reason in force_exception. \
    The user can undo both changes. Never act against an active claim without one of these. A result \"consider\" \
    asks how the statement relates to active claims: answer with ergo_judge.";

/// The maximum length, in characters, of the name by which a client without a session is listed.
const MAX_NAME: usize = 60;

/// The settings of a session.
#[derive(Clone, Debug)]
pub struct McpSettings {
    /// The set of tools that are listed.
    pub profile: Profile,
    /// The scope of calls that name none; `None` if each call must name its scope.
    pub scope: Option<Scope>,
    /// Texts that distinguish the project from others of the same name, the best first; empty if a person named the
    /// project.
    pub identities: Vec<String>,
    /// The project's folder, whose files may be ingested; `None` if no files may be read.
    pub folder: Option<PathBuf>,
    /// The author of writes, which no call may change; by default the name that the call or the client gives.
    pub who: Option<String>,
    /// Whether to ask a person about a conflict, if the client can do that.
    pub ask_person: bool,
}

/// The server of a session. Cheap to clone.
#[derive(Clone, Debug)]
pub struct McpBridge {
    inner: Arc<Inner>,
}

#[derive(Debug)]
pub(super) struct Inner {
    pub(super) settings: McpSettings,
    pub(super) link: DaemonLink,
    pub(super) calls: CallLimit,
    recent: RecentClients,
}

impl McpBridge {
    /// Creates the server of a session with this daemon.
    pub fn new(settings: McpSettings, link: DaemonLink) -> Self {
        Self { inner: Arc::new(Inner { settings, link, calls: CallLimit::new(), recent: RecentClients::default() }) }
    }

    /// Connects to the daemon in advance, while the client is still in its handshake.
    pub async fn warm(&self) {
        self.inner.link.connect_early().await;
    }

    fn call(&self, context: &RequestContext<RoleServer>) -> ToolCall<'_> {
        ToolCall::new(&self.inner, name(context))
    }

    /// Has the daemon list this client while its session lasts. Without a project, this is the daemon's own bridge over
    /// HTTP, which has no sessions. Then the client is listed until [`RecentClients`] no longer counts it as connected.
    fn register(&self, context: &RequestContext<RoleServer>) {
        let Some(scope) = self.inner.settings.scope.clone() else {
            let agent: String = name(context).chars().take(MAX_NAME).collect();
            if self.inner.recent.record(&agent, Instant::now()) {
                tokio::spawn(register_until_quiet(Arc::clone(&self.inner), agent));
            }
            return;
        };
        let query = PresentQuery { agent: name(context), org_id: Some(scope.org_id), project: Some(scope.project) };
        let inner = Arc::clone(&self.inner);
        tokio::spawn(async move { inner.link.register_once(&query).await });
    }
}

/// Has the daemon list a client until [`RecentClients`] no longer counts it as connected.
async fn register_until_quiet(inner: Arc<Inner>, agent: String) {
    let query = PresentQuery { agent, ..PresentQuery::default() };
    let quiet = async {
        while let Some(remaining) = inner.recent.remaining(&query.agent, Instant::now()) {
            tokio::time::sleep(remaining).await;
        }
    };
    let registered = async {
        inner.link.connect_early().await;
        inner.link.register(&query).await;
    };
    tokio::select! {
        () = quiet => {}
        () = registered => {}
    }
}

/// Returns the name that the client gives itself; `agent` if it gives none.
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
        self.register(&context);
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
        // After the call, which has started the daemon if necessary.
        self.register(&context);
        response
    }

    async fn list_resources(
        &self,
        page: Option<PaginatedRequestParams>,
        context: RequestContext<RoleServer>,
    ) -> Result<ListResourcesResult, ErrorData> {
        self.register(&context);
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
        self.register(&context);
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
        self.register(&context);
        prompts::get(&self.call(&context), &request.name).await.map(Into::into)
    }

    /// Answers unknown requests, and known ones with invalid parameters.
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
