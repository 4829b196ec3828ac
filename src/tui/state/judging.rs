//! Judging the waiting pairs one by one: the shown pair, the verdict on each pair, and the verdicts that are still to
//! be sent.

use crate::{
    api::{Doubts, DoubtsQuery, JudgedPairs, PairEffect, PairInDoubt},
    domain::{CardId, OpId, PairVerdict, Scope},
    tui::word_diff::{self, PairDiff},
};

/// Pairs requested at a time.
const PAIRS_PER_PAGE: usize = 50;

/// A pair, and the verdict that was given on it in this app.
#[derive(Clone, Debug)]
pub struct PairToJudge {
    pub pair: PairInDoubt,
    /// The differing words of the newer claim and of the older one.
    pub diff: PairDiff,
    /// The verdict, once it was given.
    pub verdict: Option<PairVerdict>,
    /// The act that stored the verdict, and its effect; `None` until the daemon has answered.
    pub stored: Option<(OpId, PairEffect)>,
}

impl PairToJudge {
    /// Returns whether a verdict was given that is not known to be stored.
    fn is_unsent(&self) -> bool {
        self.verdict.is_some() && self.stored.is_none()
    }
}

/// What it takes to take a verdict back.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TakenBack {
    /// Nothing more: the verdict was not sent, and is removed.
    Done,
    /// The verdict is stored: its act is to be undone.
    ByUndo(OpId, Scope),
    /// The verdict was sent and has no answer yet, so it stays.
    NotYet,
}

/// The pairs that wait for a verdict, and the shown one.
#[derive(Clone, Debug)]
pub struct JudgingState {
    /// The scope of the pairs; `None` for all scopes.
    pub scope: Option<Scope>,
    pub pairs: Vec<PairToJudge>,
    /// The shown pair.
    pub at: usize,
    /// The number of waiting pairs, including those that were not read.
    pub total: usize,
    /// Whether the daemon has answered.
    pub loaded: bool,
    /// The error message, if a verdict was not stored or the pairs were not read.
    pub error: Option<String>,
    /// The first visible line of the pair.
    pub scroll: usize,
    /// The judged pairs, in the order of their verdicts.
    given: Vec<CardId>,
    /// The pair whose verdict was sent and has no answer yet.
    sending: Option<CardId>,
}

impl JudgingState {
    /// Creates the state for the pairs of a scope, or of all scopes, before they are read.
    pub fn new(scope: Option<Scope>) -> Self {
        Self {
            scope,
            pairs: Vec::new(),
            at: 0,
            total: 0,
            loaded: false,
            error: None,
            scroll: 0,
            given: Vec::new(),
            sending: None,
        }
    }

    /// Starts again with the pairs of a scope. Of the known pairs, only those with unsent verdicts are kept.
    pub fn reopen(&mut self, scope: Option<Scope>) {
        self.pairs.retain(PairToJudge::is_unsent);
        self.given.retain(|id| self.pairs.iter().any(|known| known.pair.id == *id));
        (self.scope, self.loaded, self.error) = (scope, false, None);
        (self.at, self.scroll, self.total) = (self.pairs.len(), 0, 0);
    }

    /// Returns the number of verdicts that were given and are not known to be stored. One of them may have been sent.
    pub fn unsent(&self) -> usize {
        self.pairs.iter().filter(|known| known.is_unsent()).count()
    }

    /// Returns the verdicts that were given and not sent yet, in the order in which they were given. They count as sent
    /// from then on.
    pub fn all_to_send(&mut self) -> Vec<(PairInDoubt, PairVerdict)> {
        let unsent = self.given.iter().filter(|id| self.sending != Some(**id)).filter_map(|id| self.pair(*id));
        let unsent: Vec<_> = unsent
            .filter(|known| known.is_unsent())
            .filter_map(|known| Some((known.pair.clone(), known.verdict?)))
            .collect();
        self.given.clear();
        unsent
    }

    /// Returns the query for the waiting pairs.
    pub fn query(&self) -> DoubtsQuery {
        let (org_id, project) = self.scope.clone().map(|scope| (scope.org_id, scope.project)).unzip();
        DoubtsQuery { org_id, project, limit: Some(PAIRS_PER_PAGE) }
    }

    /// Takes the waiting pairs, in place of the known pairs without a verdict.
    pub fn accept(&mut self, doubts: Doubts) {
        let shown = self.current().map(|shown| shown.pair.id);
        self.pairs.retain(|known| known.verdict.is_some() || Some(known.pair.id) == shown);
        for pair in doubts.items {
            if self.pairs.iter().all(|known| known.pair.id != pair.id) {
                let diff = word_diff::words(&pair.newer.statement, &pair.older.statement);
                self.pairs.push(PairToJudge { pair, diff, verdict: None, stored: None });
            }
        }
        // The daemon's total still includes the pairs whose verdicts are not stored yet.
        let here = |known: &&PairToJudge| self.scope.as_ref().is_none_or(|scope| *scope == known.pair.scope);
        let unsent = self.pairs.iter().filter(|known| known.is_unsent()).filter(here).count();
        self.total = doubts.total.saturating_sub(unsent);
        self.loaded = true;
        self.error = None;
        let back = shown.and_then(|shown| self.index_of(shown));
        self.at = back.or_else(|| self.first_unjudged_from(0)).unwrap_or(self.at);
    }

    /// The shown pair.
    pub fn current(&self) -> Option<&PairToJudge> {
        self.pairs.get(self.at)
    }

    /// Returns the number of verdicts that were given in this app.
    pub fn judged(&self) -> usize {
        self.given.len()
    }

    /// Returns whether every pair that was read is judged, and there are more pairs to read.
    pub fn wants_more(&self) -> bool {
        self.loaded && self.total > 0 && self.first_unjudged_from(0).is_none() && self.sending.is_none()
    }

    /// Moves by a number of pairs.
    pub fn step(&mut self, by: isize) {
        let last = self.pairs.len().saturating_sub(1);
        self.show(self.at.saturating_add_signed(by).min(last));
    }

    /// Gives a verdict on the shown pair, and shows the next pair without one.
    pub fn give(&mut self, verdict: PairVerdict) {
        let Some(shown) = self.pairs.get_mut(self.at).filter(|shown| shown.verdict.is_none()) else { return };
        shown.verdict = Some(verdict);
        self.given.push(shown.pair.id);
        self.total = self.total.saturating_sub(1);
        self.error = None;
        let next = self.first_unjudged_from(self.at).or_else(|| self.first_unjudged_from(0));
        self.show(next.unwrap_or(self.at));
    }

    /// Returns the next verdict to send, unless another one waits for its answer. It counts as sent from then on.
    pub fn next_to_send(&mut self) -> Option<(PairInDoubt, PairVerdict)> {
        if self.sending.is_some() {
            return None;
        }
        let unsent = |id: &&CardId| self.pair(**id).is_some_and(|known| known.stored.is_none());
        let id = *self.given.iter().find(unsent)?;
        let known = self.pair(id)?;
        let next = (known.pair.clone(), known.verdict?);
        self.sending = Some(id);
        Some(next)
    }

    /// Takes the answer to the verdict that was sent.
    pub fn stored(&mut self, judged: &JudgedPairs) {
        let sent = self.sending.take();
        for pair in &judged.pairs {
            if let Some(known) = self.pairs.iter_mut().find(|known| known.pair.id == pair.pair) {
                known.stored = Some((judged.op_id, pair.effect));
            }
        }
        // The answer to a retry does not list the pairs.
        if let Some(known) = sent.and_then(|id| self.pairs.iter_mut().find(|known| known.pair.id == id))
            && known.stored.is_none()
        {
            known.stored = Some((judged.op_id, PairEffect::Kept));
        }
    }

    /// Handles a verdict that was not stored: it and the later ones must be given again, and its pair is shown.
    pub fn failed(&mut self, message: String) {
        let unsent: Vec<CardId> = self
            .given
            .iter()
            .copied()
            .filter(|id| self.pair(*id).is_some_and(|known| known.stored.is_none()))
            .collect();
        for id in &unsent {
            self.clear_verdict(*id);
        }
        self.sending = None;
        self.error = Some(message);
        if let Some(at) = unsent.first().and_then(|id| self.index_of(*id)) {
            self.show(at);
        }
    }

    /// Removes the pair whose verdict was sent, because the pair no longer waits.
    pub fn remove_sent(&mut self) {
        let Some(id) = self.sending.take() else { return };
        self.given.retain(|given| *given != id);
        if let Some(at) = self.index_of(id) {
            self.pairs.remove(at);
            if self.at > at {
                self.at -= 1;
            }
        }
    }

    /// Takes the last verdict back; `None` if no verdict was given.
    pub fn take_back(&mut self) -> Option<TakenBack> {
        let id = *self.given.last()?;
        let known = self.pair(id)?;
        if let Some((op, _)) = known.stored {
            return Some(TakenBack::ByUndo(op, known.pair.scope.clone()));
        }
        if self.sending == Some(id) {
            return Some(TakenBack::NotYet);
        }
        self.clear_verdict(id);
        if let Some(at) = self.index_of(id) {
            self.show(at);
        }
        Some(TakenBack::Done)
    }

    /// Returns whether there is a verdict to take back.
    pub fn can_take_back(&self) -> bool {
        !self.given.is_empty()
    }

    /// Handles the undo of an act: the pairs that it judged wait again, and the first of them is shown.
    pub fn undone(&mut self, op: OpId) {
        let of_act = |known: &&PairToJudge| known.stored.is_some_and(|(act, _)| act == op);
        let ids: Vec<CardId> = self.pairs.iter().filter(of_act).map(|known| known.pair.id).collect();
        for id in &ids {
            self.clear_verdict(*id);
        }
        if let Some(at) = ids.first().and_then(|id| self.index_of(*id)) {
            self.show(at);
        }
    }

    fn clear_verdict(&mut self, id: CardId) {
        self.given.retain(|given| *given != id);
        self.total += 1;
        if let Some(known) = self.pairs.iter_mut().find(|known| known.pair.id == id) {
            (known.verdict, known.stored) = (None, None);
        }
    }

    fn show(&mut self, at: usize) {
        if at != self.at {
            (self.at, self.scroll) = (at, 0);
        }
    }

    fn pair(&self, id: CardId) -> Option<&PairToJudge> {
        self.pairs.iter().find(|known| known.pair.id == id)
    }

    fn index_of(&self, id: CardId) -> Option<usize> {
        self.pairs.iter().position(|known| known.pair.id == id)
    }

    fn first_unjudged_from(&self, at: usize) -> Option<usize> {
        (at..self.pairs.len()).find(|at| self.pairs.get(*at).is_some_and(|known| known.verdict.is_none()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::api::JudgedPair;
    use crate::tui::sample::{scope, screens::doubts};

    fn loaded() -> JudgingState {
        let mut judging = JudgingState::new(None);
        judging.accept(doubts());
        judging
    }

    fn answer(pair: &PairInDoubt, op: u8) -> JudgedPairs {
        JudgedPairs {
            op_id: OpId([op; 16]),
            scope: scope("api"),
            summary: "Judged a pair of claims: compatible".into(),
            pairs: vec![JudgedPair {
                pair: pair.id,
                verdict: PairVerdict::Compatible,
                effect: PairEffect::Kept,
                card_id: None,
            }],
            left: 0,
            replayed: false,
        }
    }

    #[test]
    fn verdicts_are_given_faster_than_they_are_sent_and_none_is_lost() {
        let mut judging = loaded();
        let total = judging.total;
        judging.give(PairVerdict::Compatible);
        let (first, verdict) = judging.next_to_send().unwrap();
        assert_eq!(verdict, PairVerdict::Compatible);
        judging.give(PairVerdict::Same);
        assert!(judging.next_to_send().is_none(), "one at a time");
        assert_eq!((judging.at, judging.total, judging.judged()), (2, total - 2, 2));
        judging.stored(&answer(&first, 1));
        assert_eq!(judging.next_to_send().unwrap().1, PairVerdict::Same);
        judging.failed("no daemon".into());
        assert_eq!(
            (judging.at, judging.total, judging.judged()),
            (1, total - 1, 1),
            "what was not stored is asked again"
        );
    }

    #[test]
    fn the_last_verdict_is_taken_back_first() {
        let mut judging = loaded();
        judging.give(PairVerdict::Compatible);
        let (first, _) = judging.next_to_send().unwrap();
        judging.stored(&answer(&first, 1));
        judging.give(PairVerdict::Same);
        assert_eq!(judging.take_back(), Some(TakenBack::Done), "it was not sent yet");
        assert_eq!(judging.at, 1);
        assert_eq!(judging.take_back(), Some(TakenBack::ByUndo(OpId([1; 16]), scope("api"))));
        judging.undone(OpId([1; 16]));
        assert_eq!((judging.at, judging.judged(), judging.can_take_back()), (0, 0, false));
    }

    #[test]
    fn what_was_judged_elsewhere_leaves_the_queue() {
        let mut judging = loaded();
        judging.step(1);
        let shown = judging.current().unwrap().pair.id;
        let mut later = doubts();
        later.items.remove(0);
        later.total -= 1;
        judging.accept(later);
        assert_eq!(judging.current().unwrap().pair.id, shown, "the pair that is read stays");
        assert_eq!(judging.pairs.len(), doubts().items.len() - 1);
    }

    #[test]
    fn more_is_read_once_all_are_judged() {
        let mut judging = loaded();
        for n in 0..judging.pairs.len() {
            assert!(!judging.wants_more());
            judging.give(PairVerdict::Compatible);
            let (pair, _) = judging.next_to_send().unwrap();
            judging.stored(&answer(&pair, u8::try_from(n).unwrap()));
        }
        assert!(judging.wants_more(), "{} wait", judging.total);
        judging.accept(Doubts::default());
        assert!(!judging.wants_more());
    }
}
