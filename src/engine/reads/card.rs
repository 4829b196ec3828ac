//! Conflict cards.

use super::{chain, limit, list_cursor::ListMark};
use crate::{
    api::{
        ApiError, Bearing, CardAct, CardKind, CardSide, CardSummary, CardView, ClaimView, ConflictsPage,
        ConflictsQuery, StoryQuestion,
    },
    domain::{ClaimId, EventId, Status, derive, guard_report::Evidence},
    engine::{Engine, acts, beside, find, guard_calls, past_reads::PastTime, validate, view as views, wording},
    store::{CardFilter, CardRow, EventRow, Reader},
};

/// The greatest number of claims that a card shows in place of an inactive side.
const MAX_SUCCESSORS: usize = 3;

/// The greatest number of dependents that a card shows for a side.
const MAX_DEPENDENTS: usize = 3;

/// `GET /conflicts`.
pub(in crate::engine) fn conflicts(engine: &Engine, query: &ConflictsQuery) -> Result<ConflictsPage, ApiError> {
    let now = query.as_of.unwrap_or_else(|| (engine.config.clock)());
    let filter = CardFilter {
        scope: validate::optional_scope(query.org_id.as_deref(), query.project.as_deref())?,
        status: views::card_filter(query.status.as_deref())?,
        now,
        kinds: kinds(query.kind.as_deref())?,
    };
    let limit = limit(query.limit)?;
    let mark = ListMark::of("conflicts", query);
    let cursor = mark.position(query.cursor.as_deref())?;
    let at = query.as_of.map(|as_of| PastTime { scope: filter.scope.clone(), as_of });
    engine.read_at(at.as_ref(), |reader| {
        let page = reader.cards(&filter, limit, cursor)?;
        let items = summaries(reader, page.items, now, &guard_calls::day(now))?;
        Ok(ConflictsPage { items, total: page.total, next: mark.mark(page.next) })
    })
}

/// `GET /conflicts/{id}`, in the present or at a time in the past.
pub(in crate::engine) fn card(engine: &Engine, id: &str, as_of: Option<u64>) -> Result<CardView, ApiError> {
    let now = as_of.unwrap_or_else(|| (engine.config.clock)());
    // A prefix is resolved in the present.
    let (row, at) = {
        let reader = engine.readers.lend();
        let row = find::card(&reader, "card", id)?;
        let at = as_of.map(|as_of| past_of(&reader, &row, as_of)).transpose()?;
        (row, at)
    };
    engine.read_at(at.as_ref(), |reader| {
        let missing = || match row.kind {
            // Only the present cards of stories exist.
            derive::CardKind::Story => {
                ApiError::not_found(format!("card {} cannot be shown as of an earlier time", row.id.short()))
                    .hint("leave `as_of` out: cards of stories follow from the claims as they are now")
            }
            _ => ApiError::not_found(format!("card {} did not exist at that time", row.id.short()))
                .hint("leave `as_of` out, or name a later time"),
        };
        view(reader, reader.card(&row.id)?.ok_or_else(missing)?, now, &guard_calls::day(now))
    })
}

/// Returns the past to read a card in: that of its scope, or of the whole store if a claim on it belongs to another
/// project.
fn past_of(reader: &Reader, row: &CardRow, as_of: u64) -> Result<PastTime, ApiError> {
    let claims = reader.bare_claims_with_ids(&row.members)?;
    let own = claims.iter().all(|claim| row.scope.takes(&claim.scope));
    Ok(PastTime { scope: own.then(|| row.scope.clone()), as_of })
}

/// Parses the kinds of cards in a request, separated by commas.
fn kinds(text: Option<&str>) -> Result<Vec<CardKind>, ApiError> {
    let words = text.unwrap_or_default().split(',').map(str::trim).filter(|word| !word.is_empty());
    words
        .map(|word| match word {
            "refused" => Ok(CardKind::Refused),
            "contradiction" => Ok(CardKind::Contradiction),
            "contested" => Ok(CardKind::Contested),
            "found" => Ok(CardKind::Found),
            "proposed" => Ok(CardKind::Proposed),
            "held" => Ok(CardKind::Held),
            "story" => Ok(CardKind::Story),
            other => Err(ApiError::field(
                "kind",
                format!(
                    "unknown `kind` “{}”: expected refused, contradiction, contested, found, proposed, held or story",
                    other.chars().take(40).collect::<String>()
                ),
            )),
        })
        .collect()
}

/// Returns cards as a list shows them.
pub(super) fn summaries(
    reader: &Reader,
    rows: Vec<CardRow>,
    now: u64,
    today: &str,
) -> Result<Vec<CardSummary>, ApiError> {
    rows.into_iter().map(|row| Sides::read(reader, &row, today).map(|sides| sides.summary(&row, now))).collect()
}

/// Returns a card in full.
pub(in crate::engine) fn view(reader: &Reader, row: CardRow, now: u64, today: &str) -> Result<CardView, ApiError> {
    let sides = Sides::read(reader, &row, today)?;
    let claims: Vec<&ClaimView> = sides.claims.iter().collect();
    let facts = sides.facts(&row, now, &claims);
    let (acts, advice) = (wording::acts(&facts), wording::advice(&facts));
    let settling_act = match row.settled.as_ref().filter(|_| !row.open) {
        Some(by) => reader.op(&by.op)?,
        None => Vec::new(),
    };
    let mut settled = views::settlement(&row);
    if let Some(settled) = &mut settled {
        settled.stored_as = find::stored_by(reader, &row, &settling_act)?.map(|row| row.id);
        settled.merged = acts::is_merged(reader, &row, &settling_act)?;
        if row.kind == CardKind::Proposed && row.settled.is_none() && is_withdrawn(reader, &row)? {
            (settled.act, settled.reason) = (acts::WITHDRAW.to_owned(), None);
        }
    }
    let mut stored = Vec::new();
    for claim in &sides.claims {
        let mut claim = claim.clone();
        beside::fill(reader, &mut claim)?;
        let bears = if claim.dependents > 0 { reader.dependents(&claim.id, MAX_DEPENDENTS)? } else { Vec::new() };
        let bears = bears.into_iter().map(|row| Bearing { id: row.id, statement: row.statement }).collect();
        let now = in_place_of(reader, &claim, today)?;
        stored.push(CardSide { claim, new_claim: false, bears, now });
    }
    let stored_as = match &sides.new_claim {
        Some(new_claim) => stored_as(reader, &settling_act, new_claim, today)?,
        None => Vec::new(),
    };
    Ok(CardView {
        summary: sides.summary(&row, now),
        acts,
        advice,
        settled,
        snoozed_until: row.snoozed_until.filter(|until| *until > now),
        evidence: sides.evidence,
        sides: sides
            .new_claim
            .into_iter()
            .map(|claim| CardSide { claim, new_claim: true, bears: Vec::new(), now: stored_as.clone() })
            .chain(stored)
            .collect(),
    })
}

/// Whether the agent withdrew its proposal: the act that opened the card was undone.
fn is_withdrawn(reader: &Reader, row: &CardRow) -> Result<bool, ApiError> {
    Ok(reader.op(&row.op)?.iter().all(|event| !event.effective))
}

/// Returns the active claims that replaced an inactive one, newest first.
fn in_place_of(reader: &Reader, claim: &ClaimView, today: &str) -> Result<Vec<ClaimView>, ApiError> {
    if claim.status == Status::Active || claim.replaced_by.is_empty() {
        return Ok(Vec::new());
    }
    let mut later = chain::forward(reader, &find::row(reader, &claim.id)?, today)?;
    later.retain(|claim| claim.status == Status::Active);
    later.reverse();
    later.truncate(MAX_SUCCESSORS);
    Ok(later)
}

/// Returns the active claims that came of a refused new claim when its card was settled.
fn stored_as(
    reader: &Reader,
    settling_act: &[EventRow],
    new_claim: &ClaimView,
    today: &str,
) -> Result<Vec<ClaimView>, ApiError> {
    let mut now = Vec::new();
    for event in settling_act.iter().filter(|event| event.creates_claim()) {
        let made = views::claim(find::row(reader, &event.id)?, today);
        now.extend(in_place_of(reader, &made, today)?);
        if made.status == Status::Active {
            now.push(made);
        }
    }
    // A narrowed side is stored beside the new claim. If no stored claim has the new claim's text, a text that replaced
    // both was stored.
    let own = |claim: &ClaimView| claim.statement == new_claim.statement;
    if now.iter().any(own) {
        now.retain(own);
    }
    now.truncate(MAX_SUCCESSORS);
    Ok(now)
}

/// Returns the cards on which a claim is.
pub(in crate::engine) fn cards_of(
    reader: &Reader,
    member: &EventId,
    now: u64,
    today: &str,
) -> Result<Vec<CardSummary>, ApiError> {
    reader
        .cards_of(member)?
        .into_iter()
        .map(|row| Sides::read(reader, &row, today).map(|sides| sides.summary(&row, now)))
        .collect()
}

fn story_side(claim: &ClaimView) -> acts::StorySide<'_> {
    let ClaimView { id, kind, status, flags, replaced_by, statement, .. } = claim;
    acts::StorySide { id: *id, kind: *kind, status: *status, flags: *flags, replaced_by, statement }
}

/// The content of a card, read from the store.
struct Sides {
    new_claim: Option<ClaimView>,
    /// The stored claims. On an open card with a new claim, the active claims in place of each replaced one.
    claims: Vec<ClaimView>,
    /// If only claims oppose the new claim that are not on the card: the first claim on the card that they replaced.
    replaced: Option<ClaimView>,
    evidence: Vec<Evidence>,
    proposed: Option<String>,
    /// The act that accepts what an agent proposes.
    accept: Option<CardAct>,
    /// The claims that the new claim is to replace; on an open card, the active claims in place of each replaced one.
    to_replace: Vec<ClaimId>,
    story: Option<StoryQuestion>,
}

impl Sides {
    fn read(reader: &Reader, row: &CardRow, today: &str) -> Result<Self, ApiError> {
        let new_claim = match &row.new_claim {
            Some(id) => reader.new_claim(id)?.map(|claim| views::claim(claim, today)),
            None => None,
        };
        let stored = || row.members.iter().filter(|member| Some(**member) != row.new_claim);
        let rows = if row.open && new_claim.is_some() {
            acts::opposing_claims(reader, row)?
        } else {
            stored().map(|member| find::row(reader, member)).collect::<Result<_, _>>()?
        };
        let claims = views::claims(rows, today);
        let mut active = claims.iter().filter(|claim| claim.status == Status::Active).peekable();
        let replaced = if active.peek().is_some() && active.all(|claim| !row.members.contains(&claim.id)) {
            let gone = stored().find(|member| claims.iter().all(|claim| claim.id != **member));
            gone.map(|member| find::row(reader, member)).transpose()?.map(|row| views::claim(row, today))
        } else {
            None
        };
        let intent = match row.kind {
            CardKind::Refused | CardKind::Held => acts::write_intent(reader, &row.id)?,
            _ => acts::WriteIntent::default(),
        };
        let accept = acts::accepting_act(row, &intent);
        let mut to_replace = Vec::new();
        for id in intent.supersedes.into_iter().filter(|_| accept.is_some()) {
            if claims.iter().any(|claim| claim.id == id) {
                to_replace.push(id);
            } else {
                to_replace.extend(reader.heads(&id)?.iter().map(|head| head.id));
            }
        }
        let proposed = match row.kind {
            CardKind::Proposed => acts::proposed_reason(reader, &row.id)?,
            _ => intent.exception,
        };
        let evidence = row.report.findings.iter().map(|finding| finding.evidence.clone()).collect();
        let story = row.story.map(|(confusion, rule)| {
            // The question needs the order of the story; the card lists the newest claim first.
            acts::story_question(confusion, rule, &claims.iter().rev().map(story_side).collect::<Vec<_>>())
        });
        Ok(Self { new_claim, claims, replaced, evidence, proposed, accept, to_replace, story })
    }

    fn facts<'a>(&'a self, row: &CardRow, now: u64, claims: &'a [&'a ClaimView]) -> wording::CardContext<'a> {
        wording::CardContext {
            kind: row.kind,
            status: views::card_status(row, now),
            new_claim: self.new_claim.as_ref(),
            claims,
            replaced: self.replaced.as_ref(),
            evidence: &self.evidence,
            proposed: self.proposed.as_deref(),
            proposal: self.accept.map(|accept| wording::ProposedWrite { accept, replaces: &self.to_replace }),
            question: self.story.as_ref().map(|story| story.question.as_str()),
            apart: claims.iter().any(|claim| claim.status == Status::Active && !row.scope.takes(&claim.scope)),
            settled_by: row.settled.as_ref().map(|settled| settled.op),
        }
    }

    fn summary(&self, row: &CardRow, now: u64) -> CardSummary {
        let claims: Vec<&ClaimView> = self.claims.iter().collect();
        CardSummary {
            id: row.id,
            kind: row.kind,
            status: views::card_status(row, now),
            scope: row.scope.clone(),
            headline: wording::headline(&self.facts(row, now, &claims)),
            pair: wording::pair(self.new_claim.iter().chain(&self.claims)),
            story: self.story.clone(),
            accept: self.accept,
            op_id: Some(row.op),
            members: row.members.clone(),
            at: row.clock.wall,
            who: row.who.clone(),
            agent: row.agent.clone(),
            score: row.report.findings.iter().map(|finding| finding.score).fold(0.0, f32::max),
            // The card itself does not change if a claim that is not on it is replaced.
            rev: claims.iter().filter(|one| !row.members.contains(&one.id)).map(|one| one.rev).fold(row.rev, u64::max),
        }
    }
}
