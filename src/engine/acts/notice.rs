//! Notices: acts that a person should review in the inbox. They contain no text of claims, so a redaction does not
//! change them.

use serde::{Deserialize, Serialize};

use crate::{
    domain::{ClaimId, EventKind, Tier, derive::local, guard_report::Stage},
    engine::{act_context::ActContext, guard_result::GuardResult},
    store::{ClaimRow, EventDraft, Ref},
};

/// The part of the guard's finding that a notice stores.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub(in crate::engine) struct NoticeData {
    /// The stage of the guard that made the finding.
    pub(in crate::engine) stage: Option<Stage>,
    /// The rule that made the finding.
    pub(in crate::engine) rule: Option<String>,
    /// The probability of the contradiction, 0 to 1.
    pub(in crate::engine) score: Option<f32>,
    /// The agent dismissed the contradiction rather than making an exception.
    pub(in crate::engine) dismissed: bool,
}

fn draft(kind: &str, claim: Ref, against: impl IntoIterator<Item = ClaimId>, note: &NoticeData) -> EventDraft {
    let targets = std::iter::once(claim).chain(against.into_iter().map(Ref::Id));
    let mut draft = EventDraft::new(EventKind::Local(kind.into()), targets);
    draft.body.data = serde_json::to_string(note).ok();
    draft
}

/// Returns the notice about a claim that is stored as the first draft of its act: by an agent past a block, or with a
/// warning.
pub(in crate::engine) fn of_write(context: &ActContext<'_>, judged: &GuardResult, forced: bool) -> Option<EventDraft> {
    let kind = match judged.report.tier {
        Tier::Block if forced && context.actor.agent.is_some() => local::FORCED,
        Tier::Warn => local::WARNED,
        _ => return None,
    };
    let tier = judged.report.tier;
    // A person is not asked twice about one pair.
    let has_card = |id: &ClaimId| context.answered.as_ref().is_some_and(|answered| answered.opens_card_about(id));
    let against = judged.conflicts.iter().filter(|one| one.tier == tier && !has_card(&one.claim.id));
    let first = against.clone().next()?;
    let note = NoticeData {
        stage: Some(first.stage),
        rule: Some(first.rule.clone()).filter(|rule| !rule.is_empty()),
        score: Some(first.score),
        dismissed: false,
    };
    Some(draft(kind, Ref::Draft(0), against.map(|conflict| conflict.claim.id), &note))
}

/// Returns the notice about a claim that an agent keeps beside others by settling their card: as an exception, or
/// because it sees no contradiction.
pub(in crate::engine) fn of_card(
    context: &ActContext<'_>,
    claim: Ref,
    against: impl IntoIterator<Item = ClaimId>,
    dismissed: bool,
) -> Option<EventDraft> {
    context.actor.agent.as_ref()?;
    Some(draft(local::FORCED, claim, against, &NoticeData { dismissed, ..NoticeData::default() }))
}

/// Returns the notice about a person's claim that an agent retracts.
pub(in crate::engine) fn of_retract(context: &ActContext<'_>, claim: &ClaimRow) -> Option<EventDraft> {
    let bold = context.actor.agent.is_some() && claim.agent.is_none();
    bold.then(|| draft(local::RETRACTED, Ref::Id(claim.id), [], &NoticeData::default()))
}
