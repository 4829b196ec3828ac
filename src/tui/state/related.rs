//! Claims that recall finds for the search line in addition to those with its words: by meaning, and by synonyms.

use super::{search_line::SearchLine, windowed::Windowed};
use crate::{
    api::{ClaimView, ClaimsQuery, RecallAnswer, RecallHit, RecallRequest, RecallVerdict},
    domain::{ClaimId, ClaimKind, Scope, Status, text::words},
    tui::{msg::UnansweredScopes, search_words::is_alike},
};

/// The maximum number of scopes that are asked. They share one deadline, so the most relevant ones come first.
const MAX_SCOPES: usize = 200;

/// The minimum number of characters of a query.
const MIN_QUERY_CHARS: usize = 3;

/// Hits requested in each scope.
const HITS_PER_SCOPE: usize = 12;

/// The number of best hits that are shown if no hit is like the query and no claim contains its words.
const MAX_WEAK_HITS: usize = 5;

/// One query to recall, in several scopes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RelatedQuery {
    words: String,
    kinds: Vec<ClaimKind>,
    history: bool,
    scopes: Vec<Scope>,
}

impl RelatedQuery {
    /// Returns the query of the search line in these scopes, the most relevant scope first. `None` if recall cannot
    /// answer it: it has too few characters, or a filter that recall does not know.
    pub fn of(line: &SearchLine, query: &ClaimsQuery, kinds: &[ClaimKind], scopes: &[Scope]) -> Option<Self> {
        let text = line.words.trim();
        // Recall cannot filter by the guard's result.
        let supported = query.verdict.is_none() && query.status.as_deref() != Some("superseded");
        let supported = supported && query.status.as_deref() != Some("retracted");
        if text.chars().count() < MIN_QUERY_CHARS || !supported || scopes.is_empty() {
            return None;
        }
        Some(Self {
            words: text.to_owned(),
            kinds: kinds.to_vec(),
            history: query.status.as_deref() == Some("all"),
            scopes: scopes.iter().take(MAX_SCOPES).cloned().collect(),
        })
    }

    /// Returns the requests, one per scope.
    pub fn requests(&self) -> Vec<RecallRequest> {
        let one = |scope: &Scope| RecallRequest {
            org_id: scope.org_id.clone(),
            project: scope.project.clone(),
            query: self.words.clone(),
            limit: Some(HITS_PER_SCOPE),
            kinds: self.kinds.clone(),
            include_history: self.history,
            ..RecallRequest::default()
        };
        self.scopes.iter().map(one).collect()
    }
}

/// The claims that recall found for the search line.
#[derive(Clone, Debug, Default)]
pub struct RelatedClaims {
    /// The query that was asked last; `None` if it should be asked again.
    pub asked: Option<RelatedQuery>,
    /// The hits, the best first.
    pub hits: Vec<RecallHit>,
    /// Whether the hits answer the query.
    pub verdict: RecallVerdict,
    /// Whether recall compared vectors.
    pub by_meaning: bool,
    /// The scopes that gave no answer.
    pub unanswered: UnansweredScopes,
    /// The number of scopes asked.
    pub scopes_asked: usize,
    /// The indexes of the hits that are listed below the list, because the list does not contain them.
    near: Vec<usize>,
    /// The claim under the cursor, if the cursor is below the list.
    cursor_claim: Option<ClaimId>,
}

impl RelatedClaims {
    /// Removes all hits, since nothing is searched for.
    pub fn clear(&mut self) {
        *self = Self::default();
    }

    /// Takes recall's answer.
    pub fn accept(&mut self, answer: RecallAnswer, unanswered: UnansweredScopes) {
        (self.hits, self.verdict, self.by_meaning) = (answer.hits, answer.verdict, answer.by_meaning);
        self.scopes_asked = self.asked.as_ref().map_or(unanswered.count(), |asked| asked.scopes.len());
        self.unanswered = unanswered;
        self.near.clear();
    }

    /// Returns the hit for a claim, if recall found it.
    pub fn hit(&self, id: ClaimId) -> Option<&RecallHit> {
        self.hits.iter().find(|hit| hit.claim.id == id)
    }

    /// Returns the hits that are listed below the list, the best first.
    pub fn near(&self) -> impl ExactSizeIterator<Item = &RecallHit> {
        self.near.iter().map(|index| &self.hits[*index])
    }

    /// Returns the row under the cursor, from 0 below the list; `None` if the cursor is in the list.
    pub fn row(&self) -> Option<usize> {
        let under = self.cursor_claim?;
        self.near().position(|hit| hit.claim.id == under)
    }

    /// Returns the claim under the cursor, if the cursor is below the list.
    pub fn current(&self) -> Option<&ClaimView> {
        self.row().and_then(|row| self.near().nth(row)).map(|hit| &hit.claim)
    }

    /// Puts the cursor on a row below the list, at most the last one.
    pub fn place(&mut self, row: usize) {
        let row = row.min(self.near.len().saturating_sub(1));
        let under = self.near().nth(row).map(|hit| hit.claim.id);
        self.cursor_claim = under;
    }

    /// Moves the cursor back into the list.
    pub fn return_to_list(&mut self) {
        self.cursor_claim = None;
    }

    /// Updates the hits below the list: those that the list does not contain and that match the filters. There are none
    /// before the whole list is known. If the list is empty, the cursor goes to the best hit.
    pub fn update_below_list(&mut self, list: &Windowed<ClaimView>, query: &ClaimsQuery) {
        let before = self.row().unwrap_or(0);
        let whole = list.loaded() && list.known() >= list.total();
        let beside = |hit: &RecallHit| list.find_row(hit.claim.id).is_none() && fits(&hit.claim, query);
        let hits = self.hits.iter().enumerate().filter(|(_, hit)| whole && beside(hit));
        let (near, far): (Vec<_>, Vec<_>) = hits.partition(|(_, hit)| is_alike(hit));
        let shown =
            if near.is_empty() && list.is_empty() { far.into_iter().take(MAX_WEAK_HITS).collect() } else { near };
        self.near = shown.into_iter().map(|(index, _)| index).collect();
        if self.row().is_none() && (self.cursor_claim.is_some() || list.is_empty()) {
            self.place(before);
        }
    }
}

/// Returns whether a claim matches all filters other than the words.
fn fits(claim: &ClaimView, query: &ClaimsQuery) -> bool {
    let by = |name: &str| claim.who == name || claim.agent.as_deref() == Some(name);
    let from =
        |text: &str| claim.source.as_deref().is_some_and(|own| own.to_lowercase().contains(&text.to_lowercase()));
    let has = |not: &str| {
        let texts = [Some(&claim.statement), claim.reason.as_ref(), claim.source.as_ref()];
        let all: Vec<String> = texts.into_iter().flatten().flat_map(|text| words(text).collect::<Vec<_>>()).collect();
        words(not).any(|word| all.contains(&word))
    };
    (query.status.as_deref() == Some("all") || claim.status == Status::Active)
        && query.who.as_deref().is_none_or(by)
        && !query.not_who.as_deref().is_some_and(by)
        && query.source.as_deref().is_none_or(from)
        && !query.not_source.as_deref().is_some_and(from)
        && query.since.is_none_or(|since| claim.at >= since)
        && query.needs_review.is_none_or(|review| claim.flags.needs_review == review)
        && !query.without.as_deref().is_some_and(has)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tui::sample::{claim, id, scope};

    fn hits(numbers: &[u8]) -> RecallAnswer {
        let hit =
            |n: &u8| RecallHit { claim: claim(*n, "x"), score: 1.0, cosine: Some(0.5), words: vec![], verdict: None };
        RecallAnswer { hits: numbers.iter().map(hit).collect(), ..RecallAnswer::default() }
    }

    fn list(numbers: &[u8], total: usize) -> Windowed<ClaimView> {
        let mut list = Windowed::default();
        assert!(list.need().is_some());
        list.accept(numbers.iter().map(|n| claim(*n, "x")).collect(), total, None, false, 10);
        list
    }

    #[test]
    fn what_is_near_stands_once_and_after_the_whole_list() {
        let mut found = RelatedClaims::default();
        found.accept(hits(&[1, 2, 3]), UnansweredScopes::default());
        let all = ClaimsQuery { status: Some("active".into()), ..ClaimsQuery::default() };
        found.update_below_list(&list(&[2], 1), &all);
        assert_eq!(found.near().map(|hit| hit.claim.id).collect::<Vec<_>>(), [id(1), id(3)]);
        assert_eq!(found.row(), None, "the cursor stays in the list");
        found.update_below_list(&list(&[2], 900), &all);
        assert_eq!(found.near().len(), 0, "there is more of the list");
        found.update_below_list(&list(&[], 0), &all);
        assert_eq!((found.near().len(), found.row()), (3, Some(0)), "where the list is empty the cursor is here");
        found.place(9);
        assert_eq!(found.row(), Some(2));
        found.accept(hits(&[1]), UnansweredScopes::default());
        found.update_below_list(&list(&[], 0), &all);
        assert_eq!(found.row(), Some(0), "what is gone leaves the cursor on what is left");
        let mine = ClaimsQuery { who: Some("max".into()), ..all };
        found.update_below_list(&list(&[], 0), &mine);
        assert_eq!((found.near().len(), found.row()), (0, None));
    }

    #[test]
    fn a_few_letters_and_what_recall_cannot_tell_ask_for_nothing() {
        let ask =
            |words: &str, query: ClaimsQuery| RelatedQuery::of(&SearchLine::parse(words), &query, &[], &[scope("api")]);
        let plain = ClaimsQuery { status: Some("active".into()), ..ClaimsQuery::default() };
        assert!(ask("ca", plain.clone()).is_none() && ask("canary", plain.clone()).is_some());
        assert!(ask("canary", ClaimsQuery { verdict: Some("warned".into()), ..plain.clone() }).is_none());
        assert!(ask("canary", ClaimsQuery { status: Some("retracted".into()), ..plain.clone() }).is_none());
        let all = ask("canary !by:max", ClaimsQuery { status: Some("all".into()), ..plain }).unwrap();
        assert_eq!((all.requests().len(), all.requests()[0].include_history), (1, true));
        assert_eq!(all.requests()[0].query, "canary");
    }

    #[test]
    fn filters_hold_for_what_is_near_too() {
        let claim = claim(1, "The canary is blue");
        let takes = |query: ClaimsQuery| fits(&claim, &query);
        assert!(takes(ClaimsQuery::default()));
        assert!(takes(ClaimsQuery { source: Some("DOCS/adr".into()), ..ClaimsQuery::default() }));
        assert!(!takes(ClaimsQuery { not_source: Some("docs".into()), ..ClaimsQuery::default() }));
        assert!(!takes(ClaimsQuery { without: Some("red canary".into()), ..ClaimsQuery::default() }));
        assert!(takes(ClaimsQuery { without: Some("red".into()), ..ClaimsQuery::default() }));
        assert!(!takes(ClaimsQuery { not_who: Some("zoe".into()), ..ClaimsQuery::default() }));
        assert!(!takes(ClaimsQuery { since: Some(u64::MAX), ..ClaimsQuery::default() }));
    }
}
