//! `GET /log`: the log of acts.

use super::{limit, list_cursor::ListMark};
use crate::{
    api::{ApiError, LogPage, LogQuery},
    domain::{derive::is_unstored, id::is_prefix},
    engine::{Engine, acts, validate, view},
    store::LogFilter,
};

/// `GET /log`.
pub(in crate::engine) fn log(engine: &Engine, query: &LogQuery) -> Result<LogPage, ApiError> {
    let scope = validate::optional_scope(query.org_id.as_deref(), query.project.as_deref())?;
    let who = query.who.as_deref().map(str::trim).filter(|who| !who.is_empty()).map(str::to_owned);
    if let Some(id) = query.id.as_deref().filter(|id| !is_prefix(id)) {
        return Err(ApiError::field("id", format!("invalid id “{id}”: expected at least 4 hexadecimal digits")));
    }
    let id = query.id.clone();
    let filter = LogFilter { scope, since: query.since, acts: query.acts, who, refused: query.refused, id };
    let limit = limit(query.limit)?;
    let mark = ListMark::of("log", query);
    let cursor = mark.position(query.cursor.as_deref())?;
    engine.readers.lend().snapshot(|reader| {
        let page = reader.log(&filter, limit, cursor)?;
        let mut items = Vec::with_capacity(page.items.len());
        for row in page.items {
            let accept = if query.acts { acts::act_accepting_refusal(reader, &row)? } else { None };
            // What was refused is the write itself, even if it was redacted, and not a claim that it contradicts.
            let is_about_target = query.acts && (accept.is_some() || !is_unstored(&row.kind));
            let first = row.targets.first().copied().filter(|_| is_about_target);
            let undone = if query.acts { acts::describe_undone(reader, &row)? } else { None };
            let settlement = if query.acts { acts::describe_settlement(reader, &row)? } else { None };
            let mut event = view::event(row);
            event.accept = accept;
            if let Some((outcome, reason)) = settlement {
                // The event itself may be a stored claim, which has its own reason.
                (event.outcome, event.reason) = (Some(outcome), reason.or(event.reason));
            }
            if let Some((what, redo)) = undone {
                (event.about, event.redo) = (Some(view::shorten(&what)), redo);
            } else if let Some(first) = first {
                let target = reader.event(&first)?.and_then(|target| target.body);
                event.about = target.and_then(|body| body.statement).map(|text| view::shorten(&text));
            }
            items.push(event);
        }
        Ok(LogPage { items, total: page.total, next: mark.mark(page.next) })
    })
}
