//! The resources, which a client can read without a tool: the scope on one page, a claim, and why a claim holds.

use rmcp::{
    ErrorData,
    model::{ListResourcesResult, ReadResourceResult, Resource, ResourceContents, ResourceTemplate},
};
use serde::Deserialize;
use serde_json::Value;

use super::{
    call::{ToolCall, ToolError, encode},
    pipe::shown,
    shape,
};
use crate::{
    api::{ClaimView, ClaimsPage, ClaimsQuery, History, Snapshot, SnapshotQuery},
    client::{LONG_DEADLINE, Method, Request},
    domain::{
        Scope, id,
        text::{sanitize, sanitize_line},
    },
};

const CLAIM: &str = "ergo://claim/";
const WHY: &str = "ergo://why/";
const SNAPSHOT: &str = "ergo://snapshot";
const JSON: &str = "application/json";
const MARKDOWN: &str = "text/markdown";

/// The query that may follow [`SNAPSHOT`].
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct SnapshotParams {
    /// `ORG/PROJECT`.
    scope: String,
}

/// Returns the templates of the resources' URIs.
pub(super) fn templates() -> Vec<ResourceTemplate> {
    vec![
        ResourceTemplate::new(format!("{CLAIM}{{id}}"), "claim")
            .with_title("A claim")
            .with_description("A claim by its id or the beginning of one, with its reason and source.")
            .with_mime_type(JSON),
        ResourceTemplate::new(format!("{WHY}{{id}}"), "why")
            .with_title("Why a claim holds")
            .with_description("A claim, the claims that it replaced, and the reason for each change.")
            .with_mime_type(JSON),
        ResourceTemplate::new(format!("{SNAPSHOT}{{?scope}}"), "snapshot")
            .with_title("A scope on one page")
            .with_description("The active claims of a scope (ORG/PROJECT), by kind and subject, each with its id.")
            .with_mime_type(MARKDOWN),
    ]
}

/// Lists the page of the session's scope, and its active claims, 50 at a time.
pub(super) async fn list(call: &ToolCall<'_>, cursor: Option<String>) -> Result<ListResourcesResult, ErrorData> {
    let scope = call.own().await.map_err(ToolError::protocol)?;
    let whole = scope.as_ref().filter(|_| cursor.is_none()).map(|_| {
        Resource::new(SNAPSHOT, "snapshot")
            .with_title("The project on one page")
            .with_description("The active claims of this project, by kind and subject, each with its id.")
            .with_mime_type(MARKDOWN)
    });
    let (org_id, project) = scope.map(|scope| (scope.org_id, scope.project)).unzip();
    let query = ClaimsQuery { org_id, project, limit: Some(50), cursor, ..ClaimsQuery::default() };
    let query = encode(&query).map_err(ToolError::protocol)?;
    let page: ClaimsPage = call.get("/claims", &query).await.map_err(ToolError::protocol)?;
    let item = |claim: &ClaimView| {
        let statement: String = sanitize_line(&claim.statement).chars().take(120).collect();
        Resource::new(format!("{CLAIM}{}", claim.id.short()), format!("{} {}", claim.kind, claim.id.short()))
            .with_description(statement)
            .with_mime_type(JSON)
    };
    let items = whole.into_iter().chain(page.items.iter().map(item));
    let mut list = ListResourcesResult::with_all_items(items.collect());
    list.next_cursor = page.next;
    Ok(list)
}

/// Returns the resource with this URI.
pub(super) async fn read(call: &ToolCall<'_>, uri: &str) -> Result<ReadResourceResult, ErrorData> {
    let unknown = || {
        let message =
            format!("unknown resource {}; expected {CLAIM}ID, {WHY}ID or {SNAPSHOT}?scope=ORG/PROJECT", shown(uri));
        ErrorData::resource_not_found(message, None)
    };
    let part = |prefix: &str| uri.strip_prefix(prefix).filter(|text| id::is_prefix(text)).map(str::to_ascii_lowercase);
    if let Some(query) = uri.strip_prefix(SNAPSHOT) {
        let scope = snapshot_scope(call, query).await?.ok_or_else(unknown)?;
        return snapshot(call, scope, uri).await;
    }
    let value: Value = if let Some(claim) = part(CLAIM) {
        let claim: ClaimView = call.get(&format!("/claims/{claim}"), "").await.map_err(ToolError::not_found)?;
        shape::claim(&claim)
    } else if let Some(claim) = part(WHY) {
        let history: History = call.get(&format!("/claims/{claim}/history"), "").await.map_err(ToolError::not_found)?;
        shape::chain(&history.chain)
    } else {
        return Err(unknown());
    };
    Ok(ReadResourceResult::new(vec![ResourceContents::text(value.to_string(), uri).with_mime_type(JSON)]))
}

/// Returns the scope of a snapshot: the one in the query, otherwise the session's; `None` if the query is invalid.
async fn snapshot_scope(call: &ToolCall<'_>, query: &str) -> Result<Option<Scope>, ErrorData> {
    if query.is_empty() {
        let own = call.own().await.map_err(ToolError::protocol)?;
        let message = format!("this connection has no default project. Next: read {SNAPSHOT}?scope=ORG/PROJECT");
        return own.map(Some).ok_or_else(|| ErrorData::resource_not_found(message, None));
    }
    let named: Option<SnapshotParams> =
        query.strip_prefix('?').and_then(|query| serde_urlencoded::from_str(query).ok());
    let scope = named.and_then(|named| {
        let (org, project) = named.scope.split_once('/')?;
        Scope::new(org, project).ok()
    });
    Ok(scope)
}

/// Returns the current page of a scope.
async fn snapshot(call: &ToolCall<'_>, scope: Scope, uri: &str) -> Result<ReadResourceResult, ErrorData> {
    // Rebuild the page, so that an agent does not read a page from before its last write.
    let query =
        SnapshotQuery { org_id: scope.org_id, project: scope.project, rebuild: true, ..SnapshotQuery::default() };
    let query = encode(&query).map_err(ToolError::protocol)?;
    let request = Request { query, deadline: LONG_DEADLINE, ..Request::new(Method::GET, "/snapshot") };
    let page: Snapshot = call.ask(request).await.map_err(ToolError::protocol)?;
    let text = sanitize(&page.snapshot);
    Ok(ReadResourceResult::new(vec![ResourceContents::text(text, uri).with_mime_type(MARKDOWN)]))
}
