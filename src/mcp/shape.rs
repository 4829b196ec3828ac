//! Shortens the daemon's answers and makes them safe for a model to read: short ids, dates instead of times, no empty
//! fields, no invisible or direction-changing characters.

use jiff::Timestamp;
use serde_json::{Map, Value, json};

use super::{doubts, person::Decision, tool_hints};
use crate::{
    api::{
        Beside, BesideRelation, CardSummary, CardView, ChainLink, ClaimView, Conflict, ConflictsPage, Diagnose,
        EventView, History, Ingested, RecallAnswer, RecallVerdict, Reference, Refused, ScopeView, UndoOutcome, Warning,
        WhyAnswer, WriteOutcome,
    },
    domain::{CardId, ClaimId, Scope, Status, text::sanitize},
};

/// The maximum number of claims or cards in each further list of an answer, such as `others`.
const MAX_LISTED: usize = 5;

/// The maximum number of claims in `needs_review`. If there are more, their total number is given, too.
const MAX_NEEDS_REVIEW: usize = 20;

/// The maximum number of characters of a file's passage that answers the question.
const MAX_ANSWER: usize = 1_500;

/// The maximum number of characters of a file's passage that may answer the question.
const MAX_REFERENCE: usize = 300;

/// Omits the empty fields of an object.
pub(super) fn omit_empty(value: Value) -> Value {
    let Value::Object(fields) = value else { return value };
    let is_filled = |value: &Value| match value {
        Value::Null | Value::Bool(false) => false,
        Value::String(text) => !text.is_empty(),
        Value::Array(items) => !items.is_empty(),
        Value::Object(fields) => !fields.is_empty(),
        _ => true,
    };
    Value::Object(fields.into_iter().filter(|(_, value)| is_filled(value)).collect::<Map<_, _>>())
}

fn safe(text: &str) -> Value {
    Value::String(sanitize(text))
}

fn text_or_null(text: Option<&String>) -> Value {
    text.map_or(Value::Null, |text| safe(text))
}

fn ids(ids: &[ClaimId]) -> Value {
    ids.iter().map(|id| id.short()).collect()
}

/// Formats a time, in milliseconds since the Unix epoch, as a date.
pub(super) fn day(at: u64) -> Value {
    let time = i64::try_from(at).ok().and_then(|at| Timestamp::from_millisecond(at).ok());
    time.map_or(Value::Null, |time| Value::String(time.strftime("%Y-%m-%d").to_string()))
}

fn by(who: &str, agent: Option<&String>) -> Value {
    match agent {
        Some(agent) if agent != who => safe(&format!("{who} through {agent}")),
        _ => safe(who),
    }
}

/// Names who wrote a claim, and who accepted its text if that is another one.
fn written_by(view: &ClaimView) -> Value {
    let stored_by = by(&view.who, view.agent.as_ref());
    match (&view.provenance.text_writer, stored_by.as_str()) {
        (Some(writer), Some(accepted)) => {
            let wrote = by(&writer.who, writer.agent.as_ref());
            safe(&format!("{}, accepted by {accepted}", wrote.as_str().unwrap_or_default()))
        }
        _ => stored_by,
    }
}

/// Formats a claim.
pub(super) fn claim(view: &ClaimView) -> Value {
    // A refused new claim has a field of its own for that (see `card`).
    let status = (!matches!(view.status, Status::Active | Status::Refused)).then(|| view.status.as_str());
    let holds = &view.qualifiers;
    let beside =
        |relation| view.beside.iter().filter(|other| other.relation == relation).map(beside).collect::<Value>();
    omit_empty(json!({
        "id": view.id.short(),
        "kind": view.kind.as_str(),
        "statement": safe(&view.statement),
        "reason": text_or_null(view.reason.as_ref()),
        "source": text_or_null(view.source.as_ref()),
        "by": written_by(view),
        "on": day(view.at),
        "status": status,
        "flags": view.flag_words().collect::<Value>(),
        "key": text_or_null(view.key.as_ref()),
        "env": text_or_null(holds.env.as_ref()),
        "team": text_or_null(holds.team.as_ref()),
        "tenant": text_or_null(holds.tenant.as_ref()),
        "valid_from": text_or_null(holds.valid_from.as_ref()),
        "valid_until": text_or_null(holds.valid_until.as_ref()),
        "closed_because": text_or_null(view.closing_reason.as_ref()),
        "replaced_by": ids(&view.replaced_by),
        "projects": (view.seen_in > 0).then_some(view.seen_in),
        "exception_to": beside(BesideRelation::Rule),
        "exceptions": beside(BesideRelation::Exception),
        "limited_beside": beside(BesideRelation::General),
        "except_under_conditions": beside(BesideRelation::Limited),
        "fits_with": beside(BesideRelation::Compatible),
    }))
}

/// Formats a claim that stands beside another one, and why both do.
fn beside(other: &Beside) -> Value {
    omit_empty(json!({
        "id": other.claim.short(),
        "statement": safe(&other.statement),
        "because": text_or_null(other.reason.as_ref()),
        "by": by(&other.who, other.agent.as_ref()),
    }))
}

fn claims(views: &[ClaimView]) -> Value {
    views.iter().take(MAX_LISTED).map(claim).collect()
}

/// Formats a scope, unless it is the session's own.
fn elsewhere(scope: &Scope, home: Option<&Scope>) -> Value {
    if home == Some(scope) { Value::Null } else { safe(&scope.to_string()) }
}

/// Formats the answer to a write. `home` is the session's scope, which is not named.
pub(super) fn outcome(outcome: WriteOutcome, home: Option<&Scope>) -> Value {
    match outcome {
        WriteOutcome::Stored(stored) => omit_empty(json!({
            "result": "stored",
            "claim_id": stored.claim_id.short(),
            "scope": elsewhere(&stored.scope, home),
            "duplicate": stored.duplicate,
            "dry_run": stored.dry_run,
            "superseded": ids(&stored.superseded),
            "warnings": warnings(&stored.warnings),
            "message": (!stored.doubts.is_empty()).then_some(doubts::MENTION),
            "doubts": doubts::mentioned(&stored.doubts),
        })),
        WriteOutcome::Consider(consider) => json!({
            "result": "consider",
            "message": doubts::QUESTION,
            "token": safe(&consider.token),
            "doubts": doubts::asked(&consider.doubts),
        }),
        WriteOutcome::Done(done) => omit_empty(json!({
            "result": "done",
            "summary": safe(&done.summary),
            "claim_id": done.claim_id.map(ClaimId::short),
            "scope": elsewhere(&done.scope, home),
            "needs_review": ids(done.needs_review.get(..MAX_NEEDS_REVIEW).unwrap_or(&done.needs_review)),
            "needs_review_total": (done.needs_review.len() > MAX_NEEDS_REVIEW).then_some(done.needs_review.len()),
            "warnings": warnings(&done.warnings),
        })),
        WriteOutcome::Proposed(proposed) => omit_empty(json!({
            "result": "proposed",
            "summary": safe(&proposed.summary),
            "card_id": proposed.card_id.short(),
            "claim": claim(&proposed.claim),
        })),
        WriteOutcome::Conflict(refused) => conflict(&refused, home),
        WriteOutcome::Stale(stale) => omit_empty(json!({
            "result": "stale",
            "message": safe(&stale.message),
            "claim": stale.claim.as_deref().map(claim),
            "now": claims(&stale.heads),
            "can_reinstate": stale.can_reinstate,
        })),
    }
}

fn warnings(warnings: &[Warning]) -> Value {
    let one = |warning: &Warning| {
        omit_empty(json!({
            "code": warning.code,
            "message": safe(&tool_hints::as_tools(&warning.message)),
            "conflict": warning.conflict.as_ref().map(evidence),
            "claims": warning.claims.iter().map(named).collect::<Value>(),
        }))
    };
    warnings.iter().map(one).collect()
}

/// Formats a claim as its id and statement only.
fn named(view: &ClaimView) -> Value {
    json!({"id": view.id.short(), "statement": safe(&view.statement)})
}

fn evidence(conflict: &Conflict) -> Value {
    let evidence = &conflict.evidence;
    omit_empty(json!({
        "claim": claim(&conflict.claim),
        "tier": conflict.tier,
        "score": evidence.estimate().map(|probability| (f64::from(probability) * 100.0).round() / 100.0),
        "stage": conflict.stage,
        "rule": conflict.rule,
        "why": safe(&evidence.sentence),
        "words": evidence.words.iter().map(|word| safe(word)).collect::<Value>(),
        "their_words": evidence.their_words.iter().map(|word| safe(word)).collect::<Value>(),
    }))
}

/// Formats a refusal: the contradicting claims, and the ways to continue, each as a call that the agent can make.
fn conflict(refused: &Refused, home: Option<&Scope>) -> Value {
    omit_empty(json!({
        "result": "conflict",
        "scope": elsewhere(&refused.scope, home),
        "card_id": refused.card_id.map(CardId::short),
        "conflicts": refused.conflicts.iter().map(evidence).collect::<Value>(),
        "ways_to_continue": if refused.unsettled { ways_to_settle(refused) } else { ways_to_continue(refused) },
    }))
}

/// Lists the ways to continue after a resolution of a card was refused.
fn ways_to_settle(refused: &Refused) -> Value {
    if refused.may_only_propose {
        return json!([{"way": "cancel", "how": "nothing was changed, and the card stays open: call ergo_resolve with \
            another act or statement, or leave the card to a person"}]);
    }
    json!([
        {"way": "cancel", "how": "nothing was changed, and the card stays open: call ergo_resolve with another act or statement"},
        {
            "way": "supersede",
            "how": "if the contradicting claim changed: call ergo_supersede with it as a target first, then ergo_resolve again",
            "targets": targets(refused),
        },
    ])
}

fn targets(refused: &Refused) -> Value {
    refused.conflicts.iter().map(|conflict| conflict.claim.id.short()).collect()
}

/// Lists the ways to continue after a write was refused.
fn ways_to_continue(refused: &Refused) -> Value {
    let targets = targets(refused);
    let proposes = refused.may_only_propose;
    let acceptance = if proposes { "; a person must accept it if a person wrote one of them" } else { "" };
    let narrow = if proposes {
        "if yours holds only in some places or at some times: call the same tool again with its env, team, tenant, \
            valid_from or valid_until"
    } else {
        "if both hold, in different places or at different times: call ergo_resolve with this card, act `narrow`, the \
            claim to limit as target, and its env, team, tenant, valid_from or valid_until"
    };
    let cancel = match &refused.settled {
        Some(settled) => {
            safe(&format!("keep the active claim and follow it; the write is not kept: its card {}", settled.words()))
        }
        None => {
            safe("keep the active claim and follow it; the refused write stays on its card until a person settles it")
        }
    };
    let then = if proposes { "it waits until a person accepts it" } else { "both are recorded" };
    json!([
        {"way": "cancel", "how": cancel},
        {
            "way": "supersede",
            "how": format!("if the decision changed: call ergo_supersede with these targets, your statement and the \
                reason for the change{acceptance}"),
            "targets": targets,
        },
        {"way": "narrow", "how": narrow},
        {
            "way": "exception",
            "how": format!("if both must stand: call the same tool again with force_exception (why both stand) and \
                exception_to (the id of the claim that is the rule); {then}"),
            "exception_to": targets,
        },
    ])
}

/// Formats the outcome of a refused write after a person has decided about it.
pub(super) fn decided(after: WriteOutcome, decision: &Decision, home: Option<&Scope>) -> Value {
    let mut value = outcome(after, home);
    if let Value::Object(fields) = &mut value {
        fields.insert("decided_by_user".to_owned(), json!(decision.act));
        fields.extend(decision.reason.as_ref().map(|reason| ("user_reason".to_owned(), safe(reason))));
    }
    value
}

/// Changes a formatted refusal that a person has confirmed.
pub(super) fn cancelled(mut refusal: Value) -> Value {
    if let Value::Object(fields) = &mut refusal {
        fields.insert("decided_by_user".to_owned(), json!("cancel"));
        fields.remove("ways_to_continue");
    }
    refusal
}

/// Formats the answer of `ergo_why`.
pub(super) fn why(answer: WhyAnswer) -> Value {
    omit_empty(json!({
        "answer": answer.answer.as_ref().map(claim),
        "may_disagree": claims(&answer.may_disagree),
        // The first link is the answer itself.
        "replaced": answer.chain.iter().skip(1).map(link).collect::<Value>(),
        "rests_on": claims(&answer.premises),
        "dependents": claims(&answer.dependents),
        "open_conflicts": answer.cards.iter().take(MAX_LISTED).map(summary).collect::<Value>(),
        "others": claims(&answer.others),
        "note": text_or_null(answer.note.as_ref()),
    }))
}

fn link(link: &ChainLink) -> Value {
    let mut value = claim(&link.claim);
    if let Value::Object(fields) = &mut value {
        fields.extend(link.change_reason.as_ref().map(|reason| ("replaced_because".to_owned(), safe(reason))));
        fields.extend(link.changed_at.map(|at| ("replaced_on".to_owned(), day(at))));
    }
    value
}

/// Formats a claim and all claims that it replaced.
pub(super) fn chain(links: &[ChainLink]) -> Value {
    json!({"chain": links.iter().map(link).collect::<Value>()})
}

/// Formats the answer of `ergo_recall`: at most `limit` claims, and passages of files. A passage that answers the
/// question comes first, with more of its text. Of the others, the beginning shows whether the file is worth reading.
pub(super) fn recall(answer: RecallAnswer, limit: usize) -> Value {
    let answers = answer.verdict == RecallVerdict::Reference;
    let (best, rest) = answer.references.split_at(usize::from(answers && !answer.references.is_empty()));
    let mut value = omit_empty(json!({
        "answer_in_file": best.first().map(|passage| reference(passage, MAX_ANSWER)),
        "references": rest.iter().take(limit).map(|passage| reference(passage, MAX_REFERENCE)).collect::<Value>(),
        "notes": answer.notes.iter().map(|note| safe(note)).collect::<Value>(),
    }));
    if let Value::Object(fields) = &mut value {
        let probability = (f64::from(answer.probability) * 100.0).round() / 100.0;
        fields.insert("verdict".to_owned(), json!(answer.verdict));
        fields.insert("probability".to_owned(), json!(probability));
        fields.insert("claims".to_owned(), answer.hits.iter().take(limit).map(|hit| claim(&hit.claim)).collect());
    }
    value
}

/// Formats a passage of a file, with at most `most` characters of its text.
fn reference(passage: &Reference, most: usize) -> Value {
    let place = format!("{}:{}-{}", passage.path, passage.first, passage.last);
    let text = match passage.text.char_indices().nth(most) {
        Some((end, _)) => format!("{}…", &passage.text[..end]),
        None => passage.text.clone(),
    };
    let mut value = json!({"source": safe(&place), "text": safe(&text)});
    if let (Value::Object(fields), Some(who)) = (&mut value, &passage.shared_by) {
        fields.insert("shared_by".to_owned(), safe(who));
    }
    value
}

/// Formats the result of `ergo_ingest`.
pub(super) fn ingested(done: &Ingested) -> Value {
    json!({
        "path": safe(&done.path),
        "chunks": done.chunks,
        "added": done.added,
        "kept": done.kept,
        "removed": done.retired,
    })
}

/// Formats the history of a claim.
pub(super) fn history(history: History) -> Value {
    let event = |event: &EventView| {
        omit_empty(json!({
            "did": event.kind,
            "on": day(event.at),
            "by": by(&event.who, event.agent.as_ref()),
            "reason": text_or_null(event.reason.as_ref()),
            "undone": event.undone,
        }))
    };
    omit_empty(json!({
        "claim": claim(&history.claim),
        "events": history.events.iter().map(event).collect::<Value>(),
        "replaced": history.chain.iter().skip(1).map(link).collect::<Value>(),
        "now": claims(&history.successors),
        "rests_on": claims(&history.premises),
        "dependents": claims(&history.dependents),
        "conflicts": history.cards.iter().take(MAX_LISTED).map(summary).collect::<Value>(),
    }))
}

fn summary(card: &CardSummary) -> Value {
    omit_empty(json!({
        "card": card.id.short(),
        "kind": card.kind,
        "what": safe(&card.headline),
        "status": card.status,
        "since": day(card.at),
        "by": by(&card.who, card.agent.as_ref()),
    }))
}

/// Formats a page of cards.
pub(super) fn conflicts(page: &ConflictsPage) -> Value {
    let mut value = omit_empty(json!({"next": page.next}));
    if let Value::Object(fields) = &mut value {
        fields.insert("total".to_owned(), json!(page.total));
        fields.insert("cards".to_owned(), page.items.iter().map(summary).collect());
    }
    value
}

/// Formats a card in full.
pub(super) fn card(view: CardView) -> Value {
    let acts = view.acts.iter().filter(|option| option.disabled.is_none()).map(|option| option.act.as_str());
    let mut value = omit_empty(json!({
        "card": summary(&view.summary),
        "sides": view.sides.iter().map(|side| {
            let mut value = claim(&side.claim);
            if let (Value::Object(fields), true) = (&mut value, side.new_claim) {
                fields.insert("refused".to_owned(), json!(true));
            }
            value
        }).collect::<Value>(),
        "why": view.evidence.iter().map(|evidence| safe(&evidence.sentence)).collect::<Value>(),
        "advice": safe(&tool_hints::as_tools(&view.advice)),
        "acts": acts.collect::<Vec<_>>(),
    }));
    if let (Value::Object(fields), Some(settled)) = (&mut value, &view.settled) {
        let by = settled.is_by_somebody().then(|| by(&settled.who, settled.agent.as_ref()));
        let settled = omit_empty(json!({"by": by, "act": settled.act, "reason": text_or_null(settled.reason.as_ref()),
                "stored_as": settled.stored_as.map(ClaimId::short)}));
        fields.insert("settled".to_owned(), settled);
    }
    value
}

/// Formats the result of `ergo_undo`.
pub(super) fn undone(done: &UndoOutcome) -> Value {
    json!({"result": "done", "summary": safe(&done.summary)})
}

/// Formats the state of the daemon, and adds the fields of [`scopes`].
pub(super) fn diagnose(diagnose: &Diagnose, scopes: Value) -> Value {
    let mut value = json!({
        "version": diagnose.health.version,
        "claims": diagnose.claims,
        "active": diagnose.active,
        "open_conflicts": diagnose.open_cards,
        "needs_review": diagnose.needs_review,
        "guard": diagnose.guard,
        "nli": diagnose.health.nli,
        "embedder": diagnose.health.embedder,
        "problems": diagnose.problems.iter().map(|problem| safe(problem)).collect::<Value>(),
    });
    if let (Value::Object(fields), Value::Object(scopes)) = (&mut value, scopes) {
        fields.extend(scopes);
    }
    value
}

/// Formats the scopes with their counts, and the session's scope.
pub(super) fn scopes(scopes: &[ScopeView], here: Option<&Scope>) -> Value {
    let one = |view: &ScopeView| json!({"scope": safe(&view.scope.to_string()), "active": view.active, "open_conflicts": view.open_cards});
    json!({"here": here.map_or_else(|| safe("no default project: pass `scope` with each \
        call"), |here| safe(&here.to_string())), "scopes": scopes.iter().take(100).map(one).collect::<Value>()})
}
