//! What a client may read without a tool: a claim, and why it holds.

use rmcp::{
    ErrorData,
    model::{ListResourcesResult, ReadResourceResult, Resource, ResourceContents, ResourceTemplate},
};
use serde_json::Value;

use super::{
    call::{Call, Failed, encode},
    pipe::shown,
    shape,
};
use crate::{
    api::{ClaimView, ClaimsPage, ClaimsQuery, History},
    domain::{id, text::sanitize_line},
};

const CLAIM: &str = "ergo://claim/";
const WHY: &str = "ergo://why/";
const JSON: &str = "application/json";

/// How resources are named.
pub(super) fn templates() -> Vec<ResourceTemplate> {
    vec![
        ResourceTemplate::new(format!("{CLAIM}{{id}}"), "claim")
            .with_title("A claim")
            .with_description("A claim by its id or the beginning of one, with its reason and source.")
            .with_mime_type(JSON),
        ResourceTemplate::new(format!("{WHY}{{id}}"), "why")
            .with_title("A why-chain")
            .with_description("A claim, everything that it replaced, and the reason of each change.")
            .with_mime_type(JSON),
    ]
}

/// The claims in force in the session's scope, a page at a time.
pub(super) async fn list(call: &Call<'_>, cursor: Option<String>) -> Result<ListResourcesResult, ErrorData> {
    let (org_id, project) =
        call.own().await.map_err(Failed::protocol)?.map(|scope| (scope.org_id, scope.project)).unzip();
    let query = ClaimsQuery { org_id, project, limit: Some(50), cursor, ..ClaimsQuery::default() };
    let query = encode(&query).map_err(Failed::protocol)?;
    let page: ClaimsPage = call.get("/claims", &query).await.map_err(Failed::protocol)?;
    let item = |claim: &ClaimView| {
        let statement: String = sanitize_line(&claim.statement).chars().take(120).collect();
        Resource::new(format!("{CLAIM}{}", claim.id.short()), format!("{} {}", claim.kind, claim.id.short()))
            .with_description(statement)
            .with_mime_type(JSON)
    };
    let mut list = ListResourcesResult::with_all_items(page.items.iter().map(item).collect());
    list.next_cursor = page.next;
    Ok(list)
}

/// The resource of this name.
pub(super) async fn read(call: &Call<'_>, uri: &str) -> Result<ReadResourceResult, ErrorData> {
    let unknown = || {
        let said = format!("there is no resource {}; there are {CLAIM}ID and {WHY}ID", shown(uri));
        ErrorData::resource_not_found(said, None)
    };
    let part = |prefix: &str| uri.strip_prefix(prefix).filter(|text| id::is_prefix(text)).map(str::to_ascii_lowercase);
    let value: Value = if let Some(claim) = part(CLAIM) {
        let claim: ClaimView = call.get(&format!("/claims/{claim}"), "").await.map_err(Failed::not_found)?;
        shape::claim(&claim)
    } else if let Some(claim) = part(WHY) {
        let history: History = call.get(&format!("/claims/{claim}/history"), "").await.map_err(Failed::not_found)?;
        shape::chain(&history.chain)
    } else {
        return Err(unknown());
    };
    Ok(ReadResourceResult::new(vec![ResourceContents::text(value.to_string(), uri).with_mime_type(JSON)]))
}
