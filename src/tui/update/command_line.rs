//! The command line that does the same as an act: shown in the log, so that what the app does can be done without it.

use crate::{
    api::{ActRequest, CardAct, ResolveRequest},
    domain::OpId,
    tui::msg::Write,
};

/// The key of an act.
pub(super) fn op(write: &Write) -> Option<OpId> {
    match write {
        Write::Resolve { request, .. } => request.caller.op_id,
        Write::Supersede(request) => request.claim.caller.op_id,
        Write::Retract(request) | Write::Reinstate(request) | Write::Redact(request) | Write::Reviewed(request) => {
            request.caller.op_id
        }
        Write::Undo(request) => request.caller.op_id,
        Write::Audit(request) => request.caller.op_id,
    }
}

/// The command line.
pub(super) fn of(write: &Write) -> String {
    match write {
        Write::Resolve { card, request } => resolve(card, request),
        Write::Supersede(request) => format!(
            "ergo supersede {} {} --reason {}",
            request.targets.iter().map(|id| short(id)).collect::<Vec<_>>().join(" "),
            quote(&request.claim.statement),
            quote(request.claim.reason.as_deref().unwrap_or(""))
        ),
        Write::Retract(request) => act("retract", request),
        Write::Reinstate(request) => act("reinstate", request),
        Write::Redact(request) => act("redact", request),
        Write::Reviewed(request) => act("reviewed", request),
        Write::Undo(request) => {
            request.target_op.map_or_else(|| "ergo undo".to_owned(), |op| format!("ergo undo {op}"))
        }
        Write::Audit(_) => "ergo audit".to_owned(),
    }
}

fn act(verb: &str, request: &ActRequest) -> String {
    format!("ergo {verb} {} --reason {}", short(&request.target), quote(&request.reason))
}

fn resolve(card: &str, request: &ResolveRequest) -> String {
    let mut out = format!("ergo resolve {} {}", short(card), request.act.as_str());
    let mut flag = |name: &str, value: Option<String>| {
        if let Some(value) = value {
            out.push_str(" --");
            out.push_str(name);
            out.push(' ');
            out.push_str(&value);
        }
    };
    flag("winner", request.winner.as_deref().map(short));
    flag("target", request.target.as_deref().map(short));
    flag("statement", request.statement.as_deref().map(quote));
    let q = &request.qualifiers;
    flag("env", q.env.as_deref().map(quote));
    flag("team", q.team.as_deref().map(quote));
    flag("tenant", q.tenant.as_deref().map(quote));
    flag("valid-from", q.valid_from.as_deref().map(quote));
    flag("valid-until", q.valid_until.as_deref().map(quote));
    flag(
        "until",
        request.until.map(|at| crate::tui::when::minute(at, &jiff::tz::TimeZone::UTC).replace(' ', "T") + "Z"),
    );
    let reason = (request.act != CardAct::Snooze).then(|| quote(&request.reason));
    flag("reason", reason);
    out
}

fn short(id: &str) -> String {
    id.chars().take(crate::domain::id::SHORT).collect()
}

/// A word as a shell takes it.
fn quote(text: &str) -> String {
    let line = crate::domain::text::sanitize_line(text);
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_./:".contains(c);
    if !line.is_empty() && line.chars().all(plain) { line } else { format!("'{}'", line.replace('\'', r"'\''")) }
}
