//! `resolve`: a person settles a card. Each is one act, hence one undo; what is stored on the way passes the guard again.

mod active;
mod local;
mod many;
mod refused;

pub(in crate::engine) use many::resolve_many;

use super::candidate::Text;
use crate::{
    api::{ApiError, Caller, CardAct, CardKind, Done, ErrorCode, ResolveRequest, Stale, Warning, WriteOutcome},
    domain::{ClaimKind, EventKind},
    engine::{
        Engine,
        asked::asked,
        check,
        foresee::Foresight,
        gate,
        judged::Incoming,
        lookup,
        session::{Place, Session},
        view,
    },
    store::{CardRow, ClaimRow, Draft},
};

/// `POST /conflicts/{id}/resolve`.
pub(in crate::engine) fn resolve(
    engine: &Engine,
    card: &str,
    request: &ResolveRequest,
) -> Result<WriteOutcome, ApiError> {
    let id = check::id("card", card)?;
    let order = Order::checked(request)?;
    let foresights = foresee(engine, &request.caller, &id, &order).unwrap_or_default();
    engine.act_foreseeing(&request.caller, asked("resolve", &(&id, request)), foresights, |session| {
        if let Some(mut answer) = super::replay::act(session)? {
            if let WriteOutcome::Done(done) = &mut answer {
                done.card_id = Some(lookup::card(session.reader(), "card", &id)?.id);
            }
            return Ok(answer);
        }
        let card = lookup::card(session.reader(), "card", &id)?;
        match plan(session, &card, &order, request.expect_rev)? {
            Plan::Commit(settling) => finish(session, &card, settling).map(WriteOutcome::Done),
            Plan::Answer(answer) => Ok(*answer),
        }
    })
}

/// What settling a card comes to; nothing is written yet.
enum Plan {
    /// These events.
    Commit(Settling),
    /// Nothing: this answer.
    Answer(Box<WriteOutcome>),
}

/// The events that settle a card.
struct Settling {
    drafts: Vec<Draft>,
    /// What they do, in one sentence.
    summary: String,
    warnings: Vec<Warning>,
    /// What gives way since the world changed, and the statement that takes its place.
    change: Option<(Vec<ClaimRow>, String)>,
}

impl Settling {
    /// Events about which the guard says nothing more.
    fn plan(drafts: Vec<Draft>, summary: String) -> Plan {
        Plan::Commit(Self { drafts, summary, warnings: Vec::new(), change: None })
    }
}

/// Looks at a card under the write lock, and at what the order would make of it.
fn plan(session: &Session<'_>, card: &CardRow, order: &Order, expect_rev: Option<u64>) -> Result<Plan, ApiError> {
    if let Some(stale) = stale(session, card, expect_rev)? {
        return Ok(Plan::Answer(Box::new(stale)));
    }
    must_be_enabled(session, card, order.act)?;
    match (order.act, view::card_kind(card.kind)) {
        (CardAct::Snooze, _) => local::snooze(session, card, order),
        (CardAct::Discard, _) => local::discard(session, card, order),
        (act, CardKind::Proposed) => {
            let (drafts, summary) = super::propose::settle(session, card, act, &order.reason)?;
            Ok(Settling::plan(drafts, summary))
        }
        (_, CardKind::Refused) => refused::settle(session, card, order),
        _ => active::settle(session, card, order),
    }
}

/// What models say of the texts that settling this card may store. An error here comes again under the lock, where it is answered.
fn foresee(engine: &Engine, caller: &Caller, card: &str, order: &Order) -> Result<Vec<Foresight>, ApiError> {
    let (scope, members, texts) = {
        let reader = engine.readers.lend();
        if caller.op_id.is_some_and(|op| reader.op(&op).is_ok_and(|events| !events.is_empty())) {
            return Ok(Vec::new());
        }
        let card = lookup::card(&reader, "card", card)?;
        let candidate = match &card.candidate {
            Some(id) => reader.candidate(id)?,
            None => None,
        };
        let mut rows = Vec::new();
        for member in card.members.iter().filter(|member| Some(**member) != card.candidate) {
            rows.push(lookup::row(&reader, member)?);
        }
        let mut texts: Vec<(ClaimKind, String)> = Vec::new();
        let model = candidate.as_ref().or_else(|| rows.iter().find(|row| row.kind.is_guarded()));
        if let Some((model, text)) = model.zip(order.text.statement.clone()) {
            texts.push((model.kind, text));
        }
        // A candidate that gives way is not stored, so that nothing is asked about it.
        let gives_way = card.candidate.zip(order.winner.as_ref());
        let gives_way = gives_way.is_some_and(|(id, winner)| !id.to_hex().starts_with(winner));
        let stores = !matches!(order.act, CardAct::Discard | CardAct::Snooze) && !gives_way;
        texts.extend(candidate.filter(|_| stores).map(|row| (row.kind, row.statement)));
        if order.act == CardAct::Narrow {
            let target = order.target.clone().unwrap_or_default();
            texts.extend(
                rows.iter()
                    .find(|row| row.id.to_hex().starts_with(&target))
                    .map(|row| (row.kind, row.statement.clone())),
            );
        }
        (card.scope, card.members, texts)
    };
    let mut foresights: Vec<Foresight> = Vec::new();
    for (kind, statement) in texts.iter().filter(|(_, text)| !text.is_empty()) {
        if foresights.iter().any(|known| known.is_of(statement)) {
            continue;
        }
        let normed = gate::normalise(&engine.guard, *kind, statement, &order.text.qualifiers);
        foresights.push(engine.foresee(&Incoming {
            scope: &scope,
            kind: *kind,
            statement,
            source: None,
            normed: &normed,
            exclude: &members,
        }));
    }
    Ok(foresights)
}

/// What to do with a card, checked.
pub(super) struct Order {
    act: CardAct,
    /// Empty only for `snooze`.
    reason: String,
    winner: Option<String>,
    target: Option<String>,
    text: Text,
    until: Option<u64>,
}

impl Order {
    fn checked(request: &ResolveRequest) -> Result<Self, ApiError> {
        let reason = check::optional("reason", Some(&request.reason))?;
        let reason = match (reason, request.act) {
            (Some(reason), _) => reason,
            (None, CardAct::Snooze) => String::new(),
            (None, act) => {
                return Err(ApiError::field(
                    "reason",
                    format!("to settle a card by {} needs a `reason`", act.as_str()),
                )
                .hint("say why; it stays in the history"));
            }
        };
        let side = |field: &str, text: &Option<String>| text.as_deref().map(|text| check::id(field, text)).transpose();
        Ok(Self {
            act: request.act,
            winner: side("winner", &request.winner)?,
            target: side("target", &request.target)?,
            text: Text {
                statement: check::optional("statement", request.statement.as_deref())?,
                reason: Some(reason.clone()),
                change_reason: None,
                qualifiers: check::qualifiers(&request.qualifiers)?,
            },
            reason,
            until: request.until,
        })
    }

    /// What is different about the claim that is narrowed: it stays as right as it was, for its own reason.
    fn narrowing(&self) -> Text {
        Text { reason: None, change_reason: Some(self.reason.clone()), ..self.text.clone() }
    }

    /// The side that the act is on: `winner` for supersede, `target` for retract and narrow.
    fn side<'a>(&'a self, field: &str) -> Result<&'a str, ApiError> {
        let side = if field == "winner" { &self.winner } else { &self.target };
        side.as_deref().ok_or_else(|| {
            ApiError::field(field, format!("{} needs a `{field}`: the id of a claim on the card", self.act.as_str()))
        })
    }
}

/// The answer where the card is settled, or changed since it was shown.
fn stale(session: &Session<'_>, card: &CardRow, expect_rev: Option<u64>) -> Result<Option<WriteOutcome>, ApiError> {
    let short = card.id.short();
    let message = if !card.open {
        match &card.settled {
            Some(by) => format!("card {short} was settled by {} ({}); nothing was done", by.who, by.act),
            None => format!("card {short} is settled: what contradicted each other is no longer active"),
        }
    } else if expect_rev.is_some_and(|rev| rev != card.rev) {
        format!("card {short} changed since it was shown; nothing was done")
    } else {
        return Ok(None);
    };
    Ok(Some(WriteOutcome::Stale(Stale {
        message,
        claim: None,
        heads: Vec::new(),
        card: Some(Box::new(session.card_view(&card.id)?)),
        can_reinstate: false,
    })))
}

fn must_be_enabled(session: &Session<'_>, card: &CardRow, act: CardAct) -> Result<(), ApiError> {
    let view = session.card_view(&card.id)?;
    match view.acts.into_iter().find(|option| option.act == act).and_then(|option| option.disabled) {
        Some(why) => Err(ApiError::field("act", format!("{} is not possible here: {why}", act.as_str()))),
        None => Ok(()),
    }
}

/// Which of `sides` a prefix names.
fn pick<'a>(field: &str, prefix: &str, sides: &'a [ClaimRow]) -> Result<&'a ClaimRow, ApiError> {
    let mut fits = sides.iter().filter(|row| row.id.to_hex().starts_with(prefix));
    match (fits.next(), fits.next()) {
        (Some(row), None) => Ok(row),
        (None, _) => {
            let named = lookup::named(prefix);
            Err(ApiError::field(field, format!("claim {named} is not on this card, or no longer in force"))
                .hint("`ergo conflicts` shows the claims on a card"))
        }
        (Some(_), Some(_)) => {
            let mut error =
                ApiError::new(ErrorCode::Ambiguous, format!("{prefix} fits more than one claim on this card"))
                    .hint("give more digits of the id");
            error.field = Some(field.to_owned());
            error.candidates = sides.iter().map(|row| row.id.to_hex()).filter(|id| id.starts_with(prefix)).collect();
            Err(error)
        }
    }
}

/// Commits, and answers with the settled card.
fn finish(session: &mut Session<'_>, card: &CardRow, settling: Settling) -> Result<Done, ApiError> {
    let Settling { drafts, summary, mut warnings, change } = settling;
    let place = Place::at(&card.scope);
    let committed = session.commit(&place, drafts, "resolve", summary.clone())?;
    if let Some((old, new)) = change {
        warnings.extend(session.still_in_force(&place, &old, &new, &committed)?);
    }
    let mut done = session.done(committed, summary)?;
    done.card_id = Some(card.id);
    done.warnings = warnings;
    Ok(done)
}

/// The event that says, in the shared log, how a card that every machine computes was settled. `first` stands before the other members:
/// of an exception, the side that is one.
fn on_record(
    card: &CardRow,
    act: crate::domain::ResolveAct,
    first: Option<crate::domain::ClaimId>,
    reason: &str,
) -> Draft {
    let mut members = card.members.clone();
    members.sort_by_key(|member| Some(*member) != first);
    let members = members.into_iter().map(crate::store::Ref::Id);
    let mut draft = Draft::new(EventKind::Resolve(act), members);
    draft.body.reason = Some(reason.to_owned());
    draft
}
