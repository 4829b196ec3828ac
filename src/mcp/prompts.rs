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
    let about = "Go through the conflicts that wait for a decision in this project, one by one.";
    vec![Prompt::new(REVIEW, Some(about), None).with_title("Review open conflicts")]
}

/// The prompt of this name, with what is open now.
pub(super) async fn get(call: &ToolCall<'_>, name: &str) -> Result<GetPromptResult, ErrorData> {
    if name != REVIEW {
        let said = format!("there is no prompt `{}`; there is {REVIEW}", shown(name));
        return Err(ErrorData::invalid_params(said, None));
    }
    let (page, scope) = call.open_cards().await.map_err(ToolError::protocol)?;
    let scope = scope.map_or_else(|| "all projects".to_owned(), |scope| sanitize_line(&scope.to_string()));
    let mut text = if page.items.is_empty() {
        format!("No conflict waits for a decision in {scope}. Say so, and do nothing.")
    } else {
        format!(
            "In {scope} {} conflicts wait for a decision. Take them one by one: show me both claims and their reasons with \
             ergo_conflicts and the card's id, say in one sentence what disagrees and what you would do, and ask me. Settle a card \
             with ergo_resolve only by what I answer, with my reason.\n",
            page.total
        )
    };
    for card in &page.items {
        // Writing to a string does not fail.
        let _ = write!(text, "\n- {}: {}", card.id.short(), sanitize_line(&card.headline));
    }
    if page.total > page.items.len() {
        text.push_str("\n- and more: ergo_conflicts lists them");
    }
    Ok(GetPromptResult::new(vec![PromptMessage::new_text(Role::User, text)]).with_description("Review open conflicts"))
}
