//! `resolve`: settles a card. Each resolution is one act, and so has one undo; claims that it stores pass the guard
//! again.

mod active;
mod local;
mod many;
mod refused;
mod yes_no;

pub(in crate::engine) use many::resolve_many;
pub(in crate::engine) use yes_no::{StorySide, story_question};

use super::{
    refused_write::{Rewording, opposing_claims},
    supersede::kept_conditions,
};
use crate::{
    api::{
        ApiError, Caller, CardAct, CardKind, CardView, Done, ErrorCode, ResolveRequest, Stale, Warning, WriteOutcome,
    },
    domain::{ClaimId, ClaimKind, EventKind, Qualifiers, Status},
    engine::{
        Engine,
        act_context::{ActContext, WriteScope},
        find, guard_calls,
        guard_result::IncomingClaim,
        model_results::ModelResults,
        request_hash::request_hash,
        validate, wording,
    },
    store::{CardRow, ClaimRow, EventDraft},
};

/// `POST /conflicts/{id}/resolve`.
pub(in crate::engine) fn resolve(
    engine: &Engine,
    card: &str,
    request: &ResolveRequest,
) -> Result<WriteOutcome, ApiError> {
    let id = validate::id("card", card)?;
    let resolution = Resolution::checked(request)?;
    let model_results = ask_models(engine, &request.caller, &id, &resolution).unwrap_or_default();
    engine.act_with_models(&request.caller, request_hash("resolve", &(&id, request)), model_results, |context| {
        if let Some(mut answer) = super::replay::act(context)? {
            if let WriteOutcome::Done(done) = &mut answer {
                done.card_id = Some(find::card(context.reader(), "card", &id)?.id);
            }
            return Ok(answer);
        }
        let card = find::card(context.reader(), "card", &id)?;
        match plan(context, &card, &resolution, request.expect_rev)? {
            Plan::Commit(settling) => finish(context, &card, settling).map(WriteOutcome::Done),
            Plan::Answer(answer) => Ok(*answer),
        }
    })
}

/// The plan for a card; nothing is written yet.
enum Plan {
    /// Commit these events.
    Commit(Settling),
    /// Write nothing and return this answer.
    Answer(Box<WriteOutcome>),
}

/// The events that settle a card.
struct Settling {
    drafts: Vec<EventDraft>,
    /// What the events do, in one sentence.
    summary: String,
    warnings: Vec<Warning>,
    /// If a decision changed: the replaced claims, and the statement that replaces them.
    change: Option<(Vec<ClaimRow>, String)>,
    /// A claim that becomes active again.
    reinstates: Option<ClaimId>,
}

impl Settling {
    /// Returns a plan without warnings of the guard.
    fn plan(drafts: Vec<EventDraft>, summary: String) -> Plan {
        Plan::Commit(Self { drafts, summary, warnings: Vec::new(), change: None, reinstates: None })
    }
}

/// Plans the resolution of a card under the write lock.
fn plan(
    context: &ActContext<'_>,
    card: &CardRow,
    resolution: &Resolution,
    expect_rev: Option<u64>,
) -> Result<Plan, ApiError> {
    let view = context.card_view(&card.id)?;
    if !card.open || expect_rev.is_some_and(|rev| rev != view.summary.rev) {
        return Ok(Plan::Answer(Box::new(stale(view))));
    }
    must_be_enabled(view, resolution.act)?;
    if matches!(resolution.act, CardAct::Yes | CardAct::No) && card.kind != CardKind::Story {
        let message =
            format!("card {} asks no question: only a story card is answered with yes or no", card.id.short());
        return Err(ApiError::field("act", message));
    }
    match (resolution.act, card.kind) {
        (CardAct::Snooze, _) => local::snooze(context, card, resolution),
        (CardAct::Discard, _) => local::discard(context, card, resolution),
        (act, CardKind::Proposed) => {
            let (drafts, summary) = super::propose::settle(context, card, act, &resolution.reason)?;
            Ok(Settling::plan(drafts, summary))
        }
        (_, CardKind::Refused | CardKind::Held) => refused::settle(context, card, resolution),
        _ => active::settle(context, card, resolution),
    }
}

/// Asks the models about the texts that settling this card may store. An error here occurs again under the lock if it
/// matters.
fn ask_models(
    engine: &Engine,
    caller: &Caller,
    card: &str,
    resolution: &Resolution,
) -> Result<Vec<ModelResults>, ApiError> {
    let (scope, members, texts, qualifiers) = {
        let reader = engine.readers.lend();
        if caller.op_id.is_some_and(|op| reader.op(&op).is_ok_and(|events| !events.is_empty())) {
            return Ok(Vec::new());
        }
        let card = find::card(&reader, "card", card)?;
        let new_claim = match &card.new_claim {
            Some(id) => reader.new_claim(id)?,
            None => None,
        };
        let rows = match card.new_claim {
            Some(_) => opposing_claims(&reader, &card)?,
            None => card.members.iter().map(|member| find::row(&reader, member)).collect::<Result<_, _>>()?,
        };
        // The models see a merged text with the conditions that it keeps.
        let today = guard_calls::day((engine.config.clock)());
        let mut qualifiers = resolution.text.qualifiers.clone();
        if resolution.merges() && !resolution.drops_conditions {
            let sides = rows.iter().filter(|row| row.status == Status::Active).chain(&new_claim);
            qualifiers = qualifiers.or(&kept_conditions(sides, &today));
        }
        let mut texts: Vec<(ClaimKind, String)> = Vec::new();
        let model = new_claim.as_ref().or_else(|| rows.iter().find(|row| row.kind.is_guarded()));
        if let Some((model, text)) = model.zip(resolution.text.statement.clone()) {
            texts.push((model.kind, text));
        }
        // If the new claim loses, it is not stored, so the models are not asked about it.
        let gives_way = card.new_claim.zip(resolution.winner.as_ref());
        let gives_way = gives_way.is_some_and(|(id, winner)| !id.to_hex().starts_with(winner));
        let stores = !matches!(resolution.act, CardAct::Discard | CardAct::Snooze) && !gives_way;
        texts.extend(new_claim.filter(|_| stores).map(|row| (row.kind, row.statement)));
        if resolution.act == CardAct::Narrow {
            let target = resolution.target.clone().unwrap_or_default();
            texts.extend(
                rows.iter()
                    .find(|row| row.id.to_hex().starts_with(&target))
                    .map(|row| (row.kind, row.statement.clone())),
            );
        }
        // If the claims replaced each other, the one to keep becomes active again.
        if let (CardAct::Supersede, Some(winner)) = (resolution.act, &resolution.winner) {
            let kept = rows.iter().filter(|row| row.status != Status::Active && row.id.to_hex().starts_with(winner));
            texts.extend(kept.map(|row| (row.kind, row.statement.clone())));
        }
        // The answer no to a reversal may reinstate the claim between its two statements.
        if let (CardAct::No, [_, turn, _]) = (resolution.act, rows.as_slice())
            && turn.status != Status::Active
        {
            texts.push((turn.kind, turn.statement.clone()));
        }
        let members: Vec<ClaimId> = card.new_claim.into_iter().chain(rows.iter().map(|row| row.id)).collect();
        (card.scope, members, texts, qualifiers)
    };
    let mut model_results: Vec<ModelResults> = Vec::new();
    for (kind, statement) in texts.iter().filter(|(_, text)| !text.is_empty()) {
        if model_results.iter().any(|known| known.is_of(statement)) {
            continue;
        }
        let normalised = guard_calls::normalise(&engine.guard, *kind, statement, &qualifiers);
        model_results.push(engine.ask_models(&IncomingClaim {
            scope: &scope,
            kind: *kind,
            statement,
            source: None,
            normalised: &normalised,
            exclude: &members,
            consider: false,
        }));
    }
    Ok(model_results)
}

/// A checked request to settle a card.
pub(super) struct Resolution {
    act: CardAct,
    /// Empty only for `snooze`.
    reason: String,
    winner: Option<String>,
    target: Option<String>,
    text: Rewording,
    /// Whether a merged text keeps no conditions of the sides.
    drops_conditions: bool,
    until: Option<u64>,
}

impl Resolution {
    fn checked(request: &ResolveRequest) -> Result<Self, ApiError> {
        let reason = validate::worded("reason", Some(&request.reason))?;
        let reason = match (reason, request.act) {
            (Some(reason), _) => reason,
            (None, CardAct::Snooze) => String::new(),
            (None, act) => {
                return Err(ApiError::field(
                    "reason",
                    format!("settling a card with {} needs a `reason`", act.as_str()),
                )
                .hint("say why; it stays in the history"));
            }
        };
        let side =
            |field: &str, text: &Option<String>| text.as_deref().map(|text| validate::id(field, text)).transpose();
        let resolution = Self {
            act: request.act,
            winner: side("winner", &request.winner)?,
            target: side("target", &request.target)?,
            text: Rewording {
                statement: validate::worded("statement", request.statement.as_deref())?,
                reason: Some(reason.clone()),
                change_reason: None,
                qualifiers: validate::qualifiers(&request.qualifiers)?,
            },
            reason,
            drops_conditions: request.drop_conditions,
            until: request.until,
        };
        resolution.must_use_all_fields()?;
        Ok(resolution)
    }

    /// Whether the act replaces all sides by a new text.
    fn merges(&self) -> bool {
        self.act == CardAct::Supersede && self.text.statement.is_some()
    }

    /// Refuses a field that the act would ignore: the caller would believe that it took effect.
    fn must_use_all_fields(&self) -> Result<(), ApiError> {
        let act = self.act;
        let merges = self.merges();
        let narrows = act == CardAct::Narrow;
        let names_target = matches!(act, CardAct::Retract | CardAct::Narrow | CardAct::Exception);
        let Qualifiers { env, team, tenant, valid_from, valid_until } = &self.text.qualifiers;
        let text = |field, text: &Option<String>, is_used, users| (field, text.is_some(), is_used, users);
        let qualifier =
            |field, value| text(field, value, narrows || merges, "`narrow`, and for `supersede` with a `statement`");
        let fields = [
            text("winner", &self.winner, act == CardAct::Supersede && !merges, "`supersede` without a `statement`"),
            text("target", &self.target, names_target, "`retract`, `narrow` and `exception`"),
            text("statement", &self.text.statement, merges || narrows, "`supersede` and `narrow`"),
            ("drop_conditions", self.drops_conditions, merges, "`supersede` with a `statement`"),
            qualifier("env", env),
            qualifier("team", team),
            qualifier("tenant", tenant),
            qualifier("valid_from", valid_from),
            qualifier("valid_until", valid_until),
            ("until", self.until.is_some(), act == CardAct::Snooze, "`snooze`"),
        ];
        match fields.into_iter().find(|(_, is_given, is_used, _)| *is_given && !is_used) {
            Some((field, _, _, users)) => {
                Err(ApiError::field(field, format!("`{field}` has no effect here: it is only for {users}"))
                    .hint(format!("leave `{field}` out, or choose another act")))
            }
            None => Ok(()),
        }
    }

    /// Returns `row` as the model of a text that merges `sides`, with the conditions that the text keeps.
    fn merged_like<'a>(&self, row: &ClaimRow, sides: impl IntoIterator<Item = &'a ClaimRow>, today: &str) -> ClaimRow {
        let qualifiers = if self.drops_conditions { Qualifiers::default() } else { kept_conditions(sides, today) };
        ClaimRow { qualifiers, ..row.clone() }
    }

    /// Returns the rewording of a claim that is narrowed: it keeps its own reason, and the resolution's reason explains
    /// the change.
    fn narrowing(&self) -> Rewording {
        Rewording { reason: None, change_reason: Some(self.reason.clone()), ..self.text.clone() }
    }

    /// Says in a sentence what holds after a claim was narrowed: its earlier conditions hold as well.
    fn narrowed(&self, target: &ClaimRow) -> String {
        let given = &self.text.qualifiers;
        let all = if given.is_empty() { given.clone() } else { given.clone().or(&target.qualifiers) };
        wording::holds_only(self.text.statement.as_deref().unwrap_or(&target.statement), &all)
    }

    /// Returns the side that the act names: `winner` for supersede, `target` for retract and narrow.
    fn side<'a>(&'a self, field: &str) -> Result<&'a str, ApiError> {
        let side = if field == "winner" { &self.winner } else { &self.target };
        side.as_deref().ok_or_else(|| {
            ApiError::field(field, format!("{} needs a `{field}`: the id of a claim on the card", self.act.as_str()))
        })
    }
}

/// Returns the answer that the card is settled, or has changed since it was shown.
fn stale(card: CardView) -> WriteOutcome {
    let message = card
        .settled_message()
        .unwrap_or_else(|| format!("card {} changed since it was shown; nothing was done", card.summary.id.short()));
    WriteOutcome::Stale(Stale::of_card(message, card))
}

fn must_be_enabled(card: CardView, act: CardAct) -> Result<(), ApiError> {
    match card.acts.into_iter().find(|option| option.act == act).and_then(|option| option.disabled) {
        Some(why) => Err(ApiError::field("act", format!("{} is not possible here: {why}", act.as_str()))),
        None => Ok(()),
    }
}

/// Finds the one of `sides`, the active claims of a card and its refused write, that a prefix names.
fn pick<'a>(card: &CardRow, field: &str, prefix: &str, sides: &'a [ClaimRow]) -> Result<&'a ClaimRow, ApiError> {
    let mut fits = sides.iter().filter(|row| row.id.to_hex().starts_with(prefix));
    match (fits.next(), fits.next()) {
        (Some(row), None) => Ok(row),
        (None, _) => {
            let named = find::named(prefix);
            let inactive = card.members.iter().any(|member| member.to_hex().starts_with(prefix));
            let why = if inactive { "on this card, but no longer active" } else { "not on this card" };
            Err(ApiError::field(field, format!("claim {named} is {why}"))
                .hint(format!("`ergo conflicts {}` shows the claims on the card", card.id.short())))
        }
        (Some(_), Some(_)) => {
            let mut error =
                ApiError::new(ErrorCode::Ambiguous, format!("{prefix} matches more than one claim on this card"))
                    .hint("give more digits of the id");
            error.field = Some(field.to_owned());
            error.candidates = sides.iter().map(|row| row.id.to_hex()).filter(|id| id.starts_with(prefix)).collect();
            Err(error)
        }
    }
}

/// Commits the events, and returns the settled card.
fn finish(context: &mut ActContext<'_>, card: &CardRow, settling: Settling) -> Result<Done, ApiError> {
    let Settling { drafts, summary, mut warnings, change, reinstates } = settling;
    let write_scope = WriteScope::at(&card.scope);
    let committed = context.commit(&write_scope, drafts, "resolve", summary.clone())?;
    for id in committed.created.iter().copied().chain(reinstates) {
        context.engine.deepen_later(id, false, false);
    }
    if let Some((old, new)) = change {
        warnings.extend(context.still_in_force(&write_scope, &old, &new, &committed)?);
    }
    let mut done = context.done(committed, summary)?;
    done.card_id = Some(card.id);
    done.warnings = warnings;
    Ok(done)
}

/// Returns the event of the shared log that records how a card which every device derives was settled. `first` becomes
/// the first member: of an exception, the side that is the exception.
fn on_record(
    card: &CardRow,
    act: crate::domain::ResolveAct,
    first: Option<crate::domain::ClaimId>,
    reason: &str,
) -> EventDraft {
    let mut members = card.members.clone();
    members.sort_by_key(|member| Some(*member) != first);
    let members = members.into_iter().map(crate::store::Ref::Id);
    let mut draft = EventDraft::new(EventKind::Resolve(act), members);
    draft.body.reason = Some(reason.to_owned());
    if let Some((confusion, rule)) = card.story {
        draft.body.data = Some(serde_json::json!({ "confusion": confusion, "rule": rule }).to_string());
    }
    draft
}
