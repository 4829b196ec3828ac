//! `why`: the best claim with a reason for a question, and what led to it; the best one without if it answers much
//! better; otherwise the nearest claims.

use std::collections::HashSet;

use super::{
    cards_of, chain,
    history::MAX_DEPENDENTS,
    recall::{self, FoundClaim, RecallFindings},
};
use crate::{
    api::{ApiError, ErrorCode, MAX_RECALL, WhyAnswer, WhyRequest},
    domain::{
        ClaimId, ClaimKind, Scope, Status,
        id::{SHORT, is_prefix},
    },
    engine::{Engine, beside, find, guard_calls, past_reads::PastTime, validate, view},
    store::{ClaimRow, Lookup, Reader},
};

/// The default number of further claims in an answer.
const DEFAULT_OTHERS: usize = 5;

/// The greatest number of claims that may disagree with an answer.
const MAX_BESIDE: usize = 2;

/// The number of next claims that are compared with the answer.
const MAX_COMPARED: usize = 8;

/// The score by which a claim without a reason must exceed every one with a reason to be the answer. A choice: a fact
/// beside the decision on the same subject scored up to 0.1 more, beside a decision on another subject 0.5 more.
const LEAD_OVER_REASON: f64 = 0.3;

/// The greatest difference in score to the answer of a claim that may disagree with it.
const MAX_SCORE_GAP: f64 = 0.45;

/// The cosine from which two statements are about one subject.
const MIN_COSINE: f32 = 0.45;

/// `POST /why`.
pub(in crate::engine) fn why(engine: &Engine, request: &WhyRequest) -> Result<WhyAnswer, ApiError> {
    let question = validate::required("question", &request.question)?;
    let scope = validate::named(&request.org_id, &request.project)?;
    let limit = match request.limit {
        Some(many) if many > MAX_RECALL => {
            return Err(ApiError::field(
                "limit",
                format!("`limit` is {many}; at most {MAX_RECALL} further claims are listed"),
            ));
        }
        asked => asked.unwrap_or(DEFAULT_OTHERS),
    };
    let now = request.as_of.unwrap_or_else(|| (engine.config.clock)());
    let at = PastTime::of(&scope, request.as_of);
    let named = engine.read_at(at.as_ref(), |reader| {
        let asked = WhyRun::new(reader, &scope, now);
        asked.by_id(&question)?.map(|row| asked.answer_by_id(row)).transpose()
    })?;
    if let Some(answer) = named {
        return Ok(answer);
    }
    // Outside of a read of the store, because this waits for the embedder.
    let find = |kinds: &[ClaimKind]| recall::find(engine, &scope, &question, kinds, request.as_of);
    let mut findings = find(&[])?;
    let (mut reasoned, unreasoned): (Vec<FoundClaim>, Vec<FoundClaim>) =
        std::mem::take(&mut findings.found).into_iter().partition(is_reasoned);
    if !reasoned.iter().any(|found| found.answers) {
        // Facts, which seldom have a reason, may have filled the results.
        let guarded: Vec<ClaimKind> = ClaimKind::ALL.into_iter().filter(|kind| kind.is_guarded()).collect();
        reasoned = find(&guarded)?.found;
        reasoned.retain(is_reasoned);
    }
    findings.found = reasoned;
    engine.read_at(at.as_ref(), |reader| WhyRun::new(reader, &scope, now).by_recall(findings, unreasoned, limit))
}

/// Whether a hexadecimal text is an id and no word or number: as long as ergo prints them, with digits and letters.
fn is_surely_id(text: &str) -> bool {
    let has = |class: fn(&u8) -> bool| text.bytes().any(|byte| class(&byte));
    text.len() >= SHORT && has(u8::is_ascii_digit) && has(u8::is_ascii_alphabetic)
}

/// Whether a claim has a reason.
fn is_reasoned(found: &FoundClaim) -> bool {
    found.row.reason.as_deref().is_some_and(|reason| !reason.trim().is_empty())
}

struct WhyRun<'a> {
    reader: &'a Reader,
    scope: &'a Scope,
    now: u64,
    today: String,
}

impl<'a> WhyRun<'a> {
    fn new(reader: &'a Reader, scope: &'a Scope, now: u64) -> Self {
        Self { reader, scope, now, today: guard_calls::day(now) }
    }

    /// Returns the claim that the question names by its id. A word such as “decade” can look like one.
    fn by_id(&self, question: &str) -> Result<Option<ClaimRow>, ApiError> {
        if !is_prefix(question) {
            return Ok(None);
        }
        let prefix = question.to_ascii_lowercase();
        match self.reader.find_claim(&prefix)? {
            Lookup::One(id) => Ok(self.reader.claim(&id)?),
            Lookup::None => match find::refused(self.reader, &prefix)? {
                Some(card) => find::stored_as(self.reader, &card),
                None if is_surely_id(&prefix) => {
                    Err(find::missing("question", &prefix, "claim", "`ergo claims` lists them"))
                }
                None => Ok(None),
            },
            Lookup::Many(ids) if prefix.bytes().any(|byte| byte.is_ascii_digit()) => {
                let mut error = ApiError::new(ErrorCode::Ambiguous, format!("{prefix} matches more than one claim"))
                    .hint("give more digits of the id");
                error.field = Some("question".into());
                error.candidates = ids.iter().map(|id| id.to_hex()).collect();
                Err(error)
            }
            Lookup::Many(_) => Ok(None),
        }
    }

    fn answer_by_id(&self, row: ClaimRow) -> Result<WhyAnswer, ApiError> {
        let heads = if row.status == Status::Active { Vec::new() } else { self.reader.heads(&row.id)? };
        let note = match (row.status, heads.first()) {
            (Status::Active, _) if row.reason.is_none() => Some(without_reason(&row).to_owned()),
            (Status::Active, _) => None,
            (status, head) => {
                let status = row.flags.status_word(status);
                Some(match head {
                    Some(head) => format!("This claim is {status}; {} replaced it.", head.id.short()),
                    None => format!("This claim is {status}, and no claim replaced it."),
                })
            }
        };
        let mut answer = self.full(row)?;
        answer.others = view::claims(heads, &self.today);
        answer.note = note;
        Ok(answer)
    }

    /// Answers with the best claim that has a reason, or with the best one without if that leads by
    /// [`LEAD_OVER_REASON`]; if none answers, with no claim, and lists the nearest ones. `findings` has the claims with a
    /// reason.
    fn by_recall(
        &self,
        findings: RecallFindings,
        unreasoned: Vec<FoundClaim>,
        limit: usize,
    ) -> Result<WhyAnswer, ApiError> {
        let asked: Vec<&str> = findings.question.terms.iter().map(|term| term.asked.as_str()).collect();
        if asked.is_empty() {
            return Ok(nothing("The question has no words to search for: ask about a thing or a choice."));
        }
        let about = asked.join(", ");
        let mut reasoned = findings.found;
        let scores = unreasoned.iter().filter(|found| found.answers).map(|found| found.score.total);
        let least = scores.fold(f64::NEG_INFINITY, f64::max) - LEAD_OVER_REASON;
        let Some(best) = reasoned.iter().position(|found| found.answers && found.score.total >= least) else {
            return self.unreasoned_or_nearest(reasoned, unreasoned, &about, limit);
        };
        let best = reasoned.remove(best);
        let total = best.score.total;
        // Read again with its premises, which a list does not read.
        let whole = self.rule_of(self.reader.claim(&best.row.id)?.unwrap_or(best.row))?;
        let related = self.related(&whole)?;
        let id = whole.id;
        let mut answer = self.full(whole)?;
        // Claims beside the answer are already listed with it.
        let named: HashSet<ClaimId> = answer.answer.iter().flat_map(|claim| &claim.beside).map(|b| b.claim).collect();
        reasoned.retain(|found| found.row.id != id && !named.contains(&found.row.id));
        let beside = self.beside(id, total, &reasoned, &related)?;
        let (beside, rest): (Vec<FoundClaim>, Vec<FoundClaim>) =
            reasoned.into_iter().partition(|found| beside.contains(&found.row.id));
        let others = rest.into_iter().chain(unreasoned).filter(|found| found.answers).map(|found| found.row);
        let others = others.take(limit);
        answer.others = view::claims(others, &self.today);
        answer.may_disagree = view::claims(beside.into_iter().map(|found| found.row), &self.today);
        if !answer.may_disagree.is_empty() {
            answer.note = Some(MAY_DISAGREE.to_owned());
        }
        beside::fill_exceptions(self.reader, &mut answer.others)?;
        Ok(answer)
    }

    /// Answers with the best claim without a reason, if it answers; otherwise with no claim, and lists the nearest
    /// ones, with and without a reason.
    fn unreasoned_or_nearest(
        &self,
        reasoned: Vec<FoundClaim>,
        unreasoned: Vec<FoundClaim>,
        about: &str,
        limit: usize,
    ) -> Result<WhyAnswer, ApiError> {
        let answers = unreasoned.iter().any(|found| found.answers);
        let mut nearest: Vec<FoundClaim> = reasoned;
        nearest.extend(unreasoned);
        nearest.sort_by(|a, b| b.probability.total_cmp(&a.probability));
        if answers {
            nearest.retain(|found| found.answers);
        }
        let best = nearest.iter().position(|found| answers && !is_reasoned(found));
        let mut nearest: Vec<ClaimRow> = nearest.into_iter().map(|found| found.row).collect();
        let mut answer = if let Some(best) = best {
            let best = nearest.remove(best);
            let whole = self.reader.claim(&best.id)?.unwrap_or(best);
            let note = without_reason(&whole);
            WhyAnswer { note: Some(note.to_owned()), ..self.full(whole)? }
        } else if nearest.is_empty() {
            nothing(&format!("No claim was found in {} about: {about}.", self.scope))
        } else {
            nothing(&format!("No claim in {} clearly answers this.", self.scope))
        };
        answer.others = view::claims(nearest.into_iter().take(limit), &self.today);
        Ok(answer)
    }

    /// Returns the rule to which a claim is an exception, or the general claim of which it is a limited form; the claim
    /// itself if there is none.
    fn rule_of(&self, mut row: ClaimRow) -> Result<ClaimRow, ApiError> {
        let mut seen = HashSet::from([row.id]);
        loop {
            let beside = beside::of(self.reader, &row.id, None)?;
            let rule = beside.iter().find(|other| other.relation.is_broader() && !seen.contains(&other.claim));
            let Some(rule) = rule.map(|other| self.reader.claim(&other.claim)).transpose()?.flatten() else {
                return Ok(row);
            };
            seen.insert(rule.id);
            row = rule;
        }
    }

    /// Returns the claims whose relation to this one is known: those on a card with it, settled or not, its premises
    /// and its dependents.
    fn related(&self, row: &ClaimRow) -> Result<HashSet<ClaimId>, ApiError> {
        let mut related: HashSet<ClaimId> = HashSet::new();
        for card in cards_of(self.reader, &row.id, self.now, &self.today)? {
            related.extend(card.members);
        }
        related.extend(self.reader.premises(&row.id)?.iter().map(|row| row.id));
        related.extend(self.reader.dependents(&row.id, MAX_DEPENDENTS)?.iter().map(|row| row.id));
        Ok(related)
    }

    /// Chooses from the next claims those that are about the same subject as the answer and answer the question nearly
    /// as well.
    fn beside(
        &self,
        answer: ClaimId,
        total: f64,
        next: &[FoundClaim],
        related: &HashSet<ClaimId>,
    ) -> Result<Vec<ClaimId>, ApiError> {
        let near = next.iter().filter(|found| {
            found.row.kind.is_guarded()
                && total - found.score.total <= MAX_SCORE_GAP
                && !related.contains(&found.row.id)
        });
        let near: Vec<ClaimId> = near.map(|found| found.row.id).take(MAX_COMPARED).collect();
        let alike = self.reader.alike(&answer, &near)?;
        let same_subject = near.into_iter().zip(alike).filter(|(_, cosine)| cosine.is_some_and(|c| c >= MIN_COSINE));
        Ok(same_subject.map(|(id, _)| id).take(MAX_BESIDE).collect())
    }

    fn full(&self, row: ClaimRow) -> Result<WhyAnswer, ApiError> {
        let mut claim = view::claim(row.clone(), &self.today);
        beside::fill_in(self.reader, &mut claim, Some(self.scope))?;
        let mut chain = chain::back(self.reader, &row, &self.today)?;
        if let Some(first) = chain.first_mut() {
            first.claim.beside.clone_from(&claim.beside);
        }
        Ok(WhyAnswer {
            chain,
            premises: view::claims(self.reader.premises(&row.id)?, &self.today),
            dependents: view::claims(self.reader.dependents(&row.id, MAX_DEPENDENTS)?, &self.today),
            cards: cards_of(self.reader, &row.id, self.now, &self.today)?
                .into_iter()
                .filter(|card| card.status != crate::api::CardStatus::Settled)
                .collect(),
            answer: Some(claim),
            may_disagree: Vec::new(),
            others: Vec::new(),
            note: None,
        })
    }
}

/// The note shown if two active claims have the same subject.
const MAY_DISAGREE: &str =
    "More than one active claim is about this. Check whether all of them hold; the dates show which is newer.";

/// The note shown for an answer without a reason.
fn without_reason(row: &ClaimRow) -> &'static str {
    if row.flags.redacted {
        "The text and the reason of this claim were redacted."
    } else if row.kind.is_guarded() {
        "This claim has no recorded reason."
    } else {
        "This is a fact: no reason was recorded with it."
    }
}

fn nothing(note: &str) -> WhyAnswer {
    WhyAnswer { note: Some(note.to_owned()), ..WhyAnswer::default() }
}
