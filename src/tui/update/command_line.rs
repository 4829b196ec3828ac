//! The command line that does the same as an act. The log shows it, so that people can do without the app what they did
//! in it.

use crate::{
    api::{
        ActRequest, Caller, CardAct, EventView, JudgeRequest, Keep, ResolveManyRequest, ResolveRequest, VerdictOnPair,
    },
    domain::{PairVerdict, text::quote},
    tui::{msg::WriteRequest, times},
};

/// Returns the command line of an act.
pub(super) fn of(write: &WriteRequest) -> String {
    match write {
        WriteRequest::Resolve { card, request } => resolve(card, request),
        WriteRequest::ResolveMany(request) => resolve_many(request),
        WriteRequest::Remember(request) => {
            let mut out = format!("ergo remember {}", quote(&request.statement));
            let kind = request.kind.map(|kind| kind.as_str().to_owned());
            for (flag, value) in
                [("kind", kind), ("reason", request.reason.clone()), ("source", request.source.clone())]
            {
                if let Some(value) = value {
                    out.extend([" --", flag, " ", &quote(&value)]);
                }
            }
            format!("{out} --scope {}", scope(&request.caller))
        }
        WriteRequest::Judge(request) => judge(request),
        WriteRequest::JudgePairs(request) => {
            let lines: Vec<String> = request.verdicts.iter().map(judge_pair).collect();
            lines.join("; ")
        }
        WriteRequest::Promote(request) => {
            let claims: Vec<_> = request.claims.iter().map(|id| short(id)).collect();
            format!("ergo promote {}", claims.join(" "))
        }
        WriteRequest::NotesScan(_) => "ergo notes scan".to_owned(),
        WriteRequest::NotesWrite(request) => format!("ergo notes write {}", quote(&request.path)),
        WriteRequest::Supersede(request) => {
            let (first, also) =
                request.targets.split_first().map_or(("", &[][..]), |(first, also)| (first.as_str(), also));
            let also: Vec<_> = also.iter().map(|id| format!(" --also {}", short(id))).collect();
            let also = also.concat();
            let reason = quote(request.claim.reason.as_deref().unwrap_or_default());
            // It names the scope, so that it is right in any folder.
            let scope = scope(&request.claim.caller);
            let statement = quote(&request.claim.statement);
            format!("ergo supersede {} {statement}{also} --reason {reason} --scope {scope}", short(first))
        }
        WriteRequest::Retract(request) => act("retract", request),
        WriteRequest::Reinstate(request) => act("reinstate", request),
        WriteRequest::Redact(request) => act("redact --yes", request),
        WriteRequest::Reviewed(request) => act("reviewed", request),
        WriteRequest::Undo(request) => {
            request.target_op.map_or_else(|| "ergo undo".to_owned(), |op| format!("ergo undo {op}"))
        }
        WriteRequest::Audit(request) => {
            format!("ergo audit --scope {}", scope(&request.caller))
        }
        WriteRequest::CreateTeam(request) => {
            let scopes: Vec<String> =
                request.scopes.iter().map(|scope| format!(" {}", quote(&scope.to_string()))).collect();
            format!("ergo sync create {}{}", quote(&request.name), scopes.concat())
        }
        // A ticket gives access to the team, so it is kept out of the log.
        WriteRequest::JoinTeam(_) => "ergo sync join -".to_owned(),
        WriteRequest::SyncNow => "ergo sync now".to_owned(),
        WriteRequest::Reembed => "ergo reembed".to_owned(),
        WriteRequest::Setup { remove: false } => "ergo setup".to_owned(),
        WriteRequest::Setup { remove: true } => "ergo setup --remove".to_owned(),
        WriteRequest::Quarantine { accept, request } => {
            let verb = if *accept { "accept" } else { "discard" };
            let events: Vec<_> = request.events.iter().map(|id| short(id)).collect();
            format!("ergo sync quarantine {verb} {}", events.join(" "))
        }
        WriteRequest::AnswerJoin { id, request, .. } => {
            format!("ergo sync {} {}", if request.accept { "admit" } else { "deny" }, short(id))
        }
    }
}

/// Returns the command line that does the same as a stored act; `None` if the event does not tell all of it. Of a new
/// claim it tells neither kind, source and conditions, nor the whole statement, nor whether it settled a card.
pub(in crate::tui) fn of_event(event: &EventView) -> Option<String> {
    let target = event.targets.first().map(|id| id.short()).unwrap_or_default();
    let reason = event.reason.as_deref().map(|reason| format!(" --reason {}", quote(reason))).unwrap_or_default();
    let card = || crate::domain::CardId::of_members(&event.targets).short();
    Some(match event.kind.as_str() {
        "retract" => format!("ergo retract {target}{reason}"),
        "reinstate" => format!("ergo reinstate {target}{reason}"),
        "redact" | "local.redact" => format!("ergo redact {target}{reason}"),
        "resolve.reviewed" => format!("ergo reviewed {target}{reason}"),
        "resolve.exception" => format!("ergo resolve {} --exception{reason}", card()),
        "resolve.dismiss" => format!("ergo resolve {} --dismiss{reason}", card()),
        "promote" => {
            let claims: Vec<_> = event.targets.iter().skip(1).map(|id| format!(" {}", id.short())).collect();
            format!("ergo promote{}", claims.concat())
        }
        "depend" => {
            let premises: Vec<_> = event.targets.iter().skip(1).map(|id| format!(" --on {}", id.short())).collect();
            format!("ergo depend {target}{}", premises.concat())
        }
        "local.found" => format!("ergo audit --scope {}", quote(&event.scope.to_string())),
        _ => return None,
    })
}

/// Returns the scope of a caller, quoted because a shell would expand `acme/*`.
fn scope(caller: &Caller) -> String {
    quote(&format!("{}/{}", caller.org_id, caller.project))
}

/// Returns the command line that answers the question about a held write: an act on its card, if all verdicts are the
/// same.
fn judge(request: &JudgeRequest) -> String {
    let card = short(&request.token);
    let reason = quote(request.because.as_deref().unwrap_or_default());
    let mut verdicts = request.verdicts.values();
    let first = verdicts.next().filter(|first| verdicts.all(|other| other == *first));
    match first {
        Some(PairVerdict::Compatible) => format!("ergo resolve {card} --dismiss --reason {reason}"),
        Some(PairVerdict::Replaces) => format!("ergo resolve {card} --keep 1 --reason {reason}"),
        Some(PairVerdict::Same) => format!("ergo resolve {card} --discard --reason {reason}"),
        Some(PairVerdict::Contradicts) | None => format!("ergo resolve {card} --interactive"),
    }
}

fn judge_pair(verdict: &VerdictOnPair) -> String {
    let because = verdict.because.as_deref().map(|because| format!(" --reason {}", quote(because)));
    format!("ergo judge {} {}{}", short(&verdict.pair), verdict.verdict.as_str(), because.unwrap_or_default())
}

fn act(verb: &str, request: &ActRequest) -> String {
    let ids: Vec<String> = std::iter::once(&request.target).chain(&request.also).map(|id| short(id)).collect();
    format!("ergo {verb} {} --reason {}", ids.join(" "), quote(&request.reason))
}

fn resolve(card: &str, request: &ResolveRequest) -> String {
    let mut out = format!("ergo resolve {}", short(card));
    let mut flag = |name: &str, value: Option<String>| {
        if let Some(value) = value {
            out.push_str(" --");
            out.push_str(name);
            if !value.is_empty() {
                out.push(' ');
                out.push_str(&value);
            }
        }
    };
    let side = |id: &Option<String>| id.as_deref().map(short);
    match request.act {
        CardAct::Supersede if request.statement.is_some() => flag("merge", request.statement.as_deref().map(quote)),
        CardAct::Supersede => flag("keep", side(&request.winner)),
        CardAct::Retract => flag("retract", side(&request.target)),
        CardAct::Narrow => flag("narrow", side(&request.target)),
        CardAct::Exception | CardAct::Dismiss | CardAct::Discard | CardAct::Yes | CardAct::No => {
            flag(request.act.as_str(), Some(String::new()));
        }
        CardAct::Snooze => flag("snooze", request.until.map(times::utc)),
    }
    let q = &request.qualifiers;
    flag("env", q.env.as_deref().map(quote));
    flag("team", q.team.as_deref().map(quote));
    flag("tenant", q.tenant.as_deref().map(quote));
    flag("from", q.valid_from.as_deref().map(quote));
    flag("until", q.valid_until.as_deref().map(quote));
    flag("reason", (request.act != CardAct::Snooze).then(|| quote(&request.reason)));
    out
}

fn resolve_many(request: &ResolveManyRequest) -> String {
    let cards: Vec<String> = request.cards.iter().map(|card| short(&card.id)).collect();
    let how = match (&request.keep, request.act) {
        (Some(Keep::First), _) => "--keep 1".to_owned(),
        (Some(Keep::Second), _) => "--keep 2".to_owned(),
        (Some(Keep::Source(source)), _) => format!("--keep-source {}", quote(source)),
        (Some(Keep::Writer(writer)), _) => format!("--keep-writer {}", quote(writer)),
        (None, CardAct::Snooze) => format!("--snooze {}", request.until.map(times::utc).unwrap_or_default()),
        (None, act) => format!("--{}", act.as_str()),
    };
    let mut out = format!("ergo resolve {} {how}", cards.join(" "));
    if !request.reason.is_empty() {
        out.extend([" --reason ", &quote(&request.reason)]);
    }
    if request.dry_run {
        out.push_str(" --dry-run");
    }
    out
}

fn short(id: &str) -> String {
    id.chars().take(crate::domain::id::SHORT).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{client::moment, domain::Qualifiers};

    #[test]
    fn a_snooze_ends_at_the_same_time_on_the_command_line() {
        // 2026-11-22 18:00:09 UTC.
        let until = Some(1_795_370_409_000);
        let one = ResolveRequest {
            caller: Caller::default(),
            act: CardAct::Snooze,
            reason: String::new(),
            winner: None,
            target: None,
            statement: None,
            qualifiers: Qualifiers::default(),
            drop_conditions: false,
            until,
            expect_rev: None,
        };
        let many = ResolveManyRequest {
            caller: Caller::default(),
            cards: vec![],
            act: CardAct::Snooze,
            keep: None,
            reason: String::new(),
            until,
            dry_run: false,
        };
        for line in [resolve("0123456789", &one), resolve_many(&many)] {
            let written = line.split_whitespace().last().unwrap();
            assert_eq!(moment(written, 1), until, "{line}");
        }
    }
}
