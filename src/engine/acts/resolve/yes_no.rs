//! The effects of yes and no on a story card: one plan, which the card announces and the act carries out.

use crate::{
    api::StoryQuestion,
    domain::{ClaimId, ClaimKind, Confusion, Flags, Status, StoryRule},
    engine::wording,
    store::ClaimRow,
    story::question,
};

/// The fields of a claim on a story card on which the effects of an answer depend.
#[derive(Clone, Copy, Debug)]
pub(in crate::engine) struct StorySide<'a> {
    pub(in crate::engine) id: ClaimId,
    pub(in crate::engine) kind: ClaimKind,
    pub(in crate::engine) status: Status,
    pub(in crate::engine) flags: Flags,
    pub(in crate::engine) replaced_by: &'a [ClaimId],
    pub(in crate::engine) statement: &'a str,
}

impl<'a> StorySide<'a> {
    /// Returns the side of a stored claim.
    pub(in crate::engine) fn of(row: &'a ClaimRow) -> Self {
        let ClaimRow { id, kind, status, flags, replaced_by, statement, .. } = row;
        Self { id: *id, kind: *kind, status: *status, flags: *flags, replaced_by, statement }
    }

    fn is_active(&self) -> bool {
        self.status == Status::Active
    }

    /// Returns whether this claim was superseded by `other` alone, so that it can be in force again without it.
    fn gave_way_to(&self, other: &Self) -> bool {
        let Flags { undone, redacted, .. } = self.flags;
        self.status == Status::Superseded && self.replaced_by == [other.id] && !undone && !redacted
    }
}

/// The effect of an answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in crate::engine) enum StoryAnswer {
    /// The claims are superseded by another claim of the card.
    Supersede(Vec<ClaimId>, ClaimId),
    /// These claims are retracted.
    Retract(Vec<ClaimId>),
    /// The first claim is retracted, and the second one, which it had superseded, is active again.
    Return(ClaimId, ClaimId),
    /// Every claim stays as it is, and the question is not asked again.
    Confirm,
}

/// Returns the effect of an answer. `sides`: the claims in the order of the story.
pub(in crate::engine) fn answer(confusion: Confusion, sides: &[StorySide<'_>], yes: bool) -> StoryAnswer {
    let (Some(first), Some(last)) = (sides.first(), sides.last()) else { return StoryAnswer::Confirm };
    let others = |kept: ClaimId| sides.iter().filter(move |side| side.is_active() && side.id != kept);
    match (confusion, yes) {
        (Confusion::Reversal | Confusion::Ambiguity, true) => replace(others(last.id), last),
        // The repeated statement does not hold, nor does the one it repeats: the claim between them stays.
        (Confusion::Reversal, false) => match sides {
            [first, turn, _] if turn.is_active() => {
                replace([first, last].into_iter().filter(|side| side.is_active()), turn)
            }
            [_, turn, _] if turn.gave_way_to(last) => StoryAnswer::Return(last.id, turn.id),
            _ => StoryAnswer::Retract(vec![last.id]),
        },
        (Confusion::Ambiguity, false) => replace(others(first.id), first),
        (Confusion::Stale, true) => StoryAnswer::Confirm,
        (Confusion::Stale, false) if sides.len() == 1 => StoryAnswer::Retract(vec![first.id]),
        (Confusion::Stale, false) => replace([first].into_iter().filter(|side| side.is_active()), last),
    }
}

/// Replaces claims by another one: by a supersede, or, because a fact cannot replace a guarded claim, by a retraction.
fn replace<'a>(losers: impl Iterator<Item = &'a StorySide<'a>>, winner: &StorySide<'_>) -> StoryAnswer {
    let losers: Vec<&StorySide<'_>> = losers.collect();
    let ids: Vec<ClaimId> = losers.iter().map(|side| side.id).collect();
    let by_fact = !winner.kind.is_guarded() && losers.iter().any(|side| side.kind.is_guarded());
    match (ids.is_empty(), by_fact || !winner.is_active()) {
        (true, _) => StoryAnswer::Confirm,
        (false, true) => StoryAnswer::Retract(ids),
        (false, false) => StoryAnswer::Supersede(ids, winner.id),
    }
}

/// Describes the effect of an answer in one sentence.
pub(in crate::engine) fn sentence(answer: &StoryAnswer, sides: &[StorySide<'_>]) -> String {
    let statements = |ids: &[ClaimId]| -> Vec<&str> {
        sides.iter().filter(|side| ids.contains(&side.id)).map(|side| side.statement).collect()
    };
    match answer {
        StoryAnswer::Supersede(losers, winner) => {
            let winner = statements(&[*winner]).first().map(|text| wording::quote(text)).unwrap_or_default();
            wording::summary(&format!("{winner} replaces"), &statements(losers))
        }
        StoryAnswer::Retract(ids) => {
            let none = sides.len() > 1 && sides.iter().all(|side| !side.is_active() || ids.contains(&side.id));
            let rest = if none { ", after which none of these claims is active" } else { "" };
            format!("{}{rest}", wording::summary("Retracts", &statements(ids)))
        }
        StoryAnswer::Return(last, turn) => {
            let turn = statements(&[*turn]).first().map(|text| wording::quote(text)).unwrap_or_default();
            format!("{} and reinstates {turn}", wording::summary("Retracts", &statements(&[*last])))
        }
        StoryAnswer::Confirm => "Confirms the claims as they are, and does not ask again".to_owned(),
    }
}

/// Returns the question of a story card with its answers. `sides`: the claims in the order of the story.
pub(in crate::engine) fn story_question(
    confusion: Confusion,
    rule: StoryRule,
    sides: &[StorySide<'_>],
) -> StoryQuestion {
    let statements: Vec<&str> = sides.iter().map(|side| side.statement).collect();
    StoryQuestion {
        confusion,
        question: question(confusion, rule, &statements),
        yes: sentence(&answer(confusion, sides, true), sides),
        no: sentence(&answer(confusion, sides, false), sides),
        claims: sides.iter().map(|side| side.id).collect(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::EventId;

    fn side(n: u8, active: bool) -> StorySide<'static> {
        let status = if active { Status::Active } else { Status::Superseded };
        let (kind, flags) = (ClaimKind::Decision, Flags::default());
        StorySide { id: EventId([n; 32]), kind, status, flags, replaced_by: &[], statement: "use it" }
    }

    #[test]
    fn each_answer_leaves_one_side_in_force() {
        let id = |n| EventId([n; 32]);
        let turn = [side(1, true), side(2, true), side(3, true)];
        let of = |confusion, sides: &[StorySide<'_>]| (answer(confusion, sides, true), answer(confusion, sides, false));
        assert_eq!(
            of(Confusion::Reversal, &turn),
            (StoryAnswer::Supersede(vec![id(1), id(2)], id(3)), StoryAnswer::Supersede(vec![id(1), id(3)], id(2)))
        );
        let superseded = [side(1, false), side(2, true), side(3, true)];
        assert_eq!(answer(Confusion::Reversal, &superseded, true), StoryAnswer::Supersede(vec![id(2)], id(3)));
        let pair = [side(1, true), side(2, true)];
        assert_eq!(
            of(Confusion::Ambiguity, &pair),
            (StoryAnswer::Supersede(vec![id(1)], id(2)), StoryAnswer::Supersede(vec![id(2)], id(1)))
        );
        assert_eq!(of(Confusion::Stale, &pair), (StoryAnswer::Confirm, StoryAnswer::Supersede(vec![id(1)], id(2))));
        assert_eq!(of(Confusion::Stale, &pair[..1]), (StoryAnswer::Confirm, StoryAnswer::Retract(vec![id(1)])));
        let by = [id(3)];
        let gave_way = StorySide { replaced_by: &by, ..side(2, false) };
        let chain = |turn| [side(1, false), turn, side(3, true)];
        assert_eq!(answer(Confusion::Reversal, &chain(gave_way), false), StoryAnswer::Return(id(3), id(2)));
        let redacted = StorySide { flags: Flags { redacted: true, ..Flags::default() }, ..gave_way };
        for turn in [redacted, StorySide { status: Status::Retracted, ..gave_way }, side(2, false)] {
            assert_eq!(answer(Confusion::Reversal, &chain(turn), false), StoryAnswer::Retract(vec![id(3)]));
        }
        let again = [side(1, false), side(2, true)];
        assert_eq!(of(Confusion::Reversal, &again), (StoryAnswer::Confirm, StoryAnswer::Retract(vec![id(2)])));
    }

    #[test]
    fn an_answer_says_in_a_sentence_what_it_does() {
        let named = |n, statement| StorySide { statement, ..side(n, true) };
        let sides = [named(1, "Use REST"), named(2, "Use GraphQL"), named(3, "The API is REST")];
        let says = |confusion, sides: &[StorySide<'_>], yes| sentence(&answer(confusion, sides, yes), sides);
        assert_eq!(says(Confusion::Reversal, &sides, true), "“The API is REST” replaces “Use REST” and “Use GraphQL”");
        assert_eq!(says(Confusion::Ambiguity, &sides[..2], false), "“Use REST” replaces “Use GraphQL”");
        assert_eq!(says(Confusion::Stale, &sides[..1], false), "Retracts “Use REST”");
        let by = [EventId([3; 32])];
        let [rest, graph, again] = sides;
        let rest = StorySide { status: Status::Superseded, ..rest };
        let graph = StorySide { status: Status::Superseded, replaced_by: &by, ..graph };
        let no = says(Confusion::Reversal, &[rest, graph, again], false);
        assert_eq!(no, "Retracts “The API is REST” and reinstates “Use GraphQL”");
        let graph = StorySide { status: Status::Retracted, ..graph };
        let no = says(Confusion::Reversal, &[rest, graph, again], false);
        assert_eq!(no, "Retracts “The API is REST”, after which none of these claims is active");
    }

    #[test]
    fn a_fact_never_replaces_a_decision() {
        let fact = StorySide { kind: ClaimKind::Fact, ..side(2, true) };
        let answer = answer(Confusion::Ambiguity, &[side(1, true), fact], true);
        assert_eq!(answer, StoryAnswer::Retract(vec![EventId([1; 32])]));
    }
}
