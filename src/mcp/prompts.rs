//! The prompts that a client offers its person.

use std::fmt::Write;

use rmcp::{
    ErrorData,
    model::{GetPromptResult, Prompt, PromptMessage, Role},
};

use super::{call::ToolCall, call::ToolError, pipe::shown};
use crate::domain::text::sanitize_line;

const REVIEW: &str = "review_conflicts";

/// Every prompt.
pub(super) fn list() -> Vec<Prompt> {
    let about = "Go through the open conflicts of this project, one by one.";
    vec![Prompt::new(REVIEW, Some(about), None).with_title("Review open conflicts")]
}

/// The prompt of this name, with what is open now.
pub(super) async fn get(call: &ToolCall<'_>, name: &str) -> Result<GetPromptResult, ErrorData> {
    if name != REVIEW {
        let said = format!("unknown prompt `{}`; the only prompt is {REVIEW}", shown(name));
        return Err(ErrorData::invalid_params(said, None));
    }
    let (page, scope) = call.open_cards().await.map_err(ToolError::protocol)?;
    let scope = scope.map_or_else(|| "all scopes".to_owned(), |scope| sanitize_line(&scope.to_string()));
    let mut text = if page.items.is_empty() {
        format!("There are no open conflicts in {scope}. Tell me so, and do nothing else.")
    } else {
        format!(
            "Open conflicts in {scope}: {}. Take them one by one: show me both claims with their reasons \
                (ergo_conflicts with the card's id), say in one sentence what disagrees and what you would do, and \
                ask me. Settle a card with ergo_resolve only as I answer, and record my reason.\n",
            page.total
        )
    };
    for card in &page.items {
        // Writing to a string does not fail.
        let _ = write!(text, "\n- {}: {}", card.id.short(), sanitize_line(&card.headline));
    }
    if page.total > page.items.len() {
        text.push_str("\n- … and more: ergo_conflicts lists all of them");
    }
    Ok(GetPromptResult::new(vec![PromptMessage::new_text(Role::User, text)]).with_description("Review open conflicts"))
}
