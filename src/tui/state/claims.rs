//! The Claims screen: the scope tree, the list, the claim in full.

use super::{
    related::{RelatedClaims, RelatedQuery},
    search_line::{self, SearchLine, VerdictChoice},
    windowed::Windowed,
};
use crate::{
    api::{ClaimView, ClaimsQuery, ScopeView},
    domain::{ClaimKind, Scope, Status},
    tui::search_words::SearchWords,
};

/// Which part has the focus.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ClaimsFocus {
    /// The scope tree.
    Scopes,
    /// The list.
    #[default]
    List,
    /// The claim in full.
    Detail,
}

/// The screen.
#[derive(Clone, Debug, Default)]
pub struct ClaimsState {
    /// The claims.
    pub list: Windowed<ClaimView>,
    /// Which part has the focus.
    pub focus: ClaimsFocus,
    /// Only claims of this status; `None` shows all.
    pub status: StatusFilter,
    /// Only claims of this kind.
    pub kind: Option<ClaimKind>,
    /// Only claims that need review.
    pub needs_review: bool,
    /// Only claims by this person or agent.
    pub who: Option<String>,
    /// Only claims with this in their source.
    pub source: Option<String>,
    /// Only claims of the last so many days.
    pub days: Option<u64>,
    /// Only claims with this result of the guard.
    pub verdict: Option<VerdictChoice>,
    /// In which order they are listed.
    pub order: ClaimOrder,
    /// The search line as it was typed.
    pub search: String,
    /// What is near to its words, below the claims that have them.
    pub related: RelatedClaims,
    /// The row of the scope tree under the cursor.
    pub scope_row: usize,
    /// The first line shown of the claim in full.
    pub scroll: usize,
    /// There may be more than the list says: a search looks at so many matches and no more.
    pub at_least: bool,
    /// The error message, if reading failed.
    pub error: Option<String>,
}

/// An order of claims.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ClaimOrder {
    /// The newest first; of a search the best match.
    #[default]
    Newest,
    /// By kind.
    Kind,
    /// By source.
    Source,
}

impl ClaimOrder {
    /// The next one round.
    #[must_use]
    pub fn next(self) -> Self {
        match self {
            Self::Newest => Self::Kind,
            Self::Kind => Self::Source,
            Self::Source => Self::Newest,
        }
    }

    /// The word on the wire and on screen; `None` for the usual one.
    pub fn as_str(self) -> Option<&'static str> {
        match self {
            Self::Newest => None,
            Self::Kind => Some("kind"),
            Self::Source => Some("source"),
        }
    }
}

/// A status, or all.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StatusFilter(pub Option<Status>);

impl Default for StatusFilter {
    fn default() -> Self {
        Self(Some(Status::Active))
    }
}

impl StatusFilter {
    /// The next one round.
    #[must_use]
    pub fn next(self) -> Self {
        Self(match self.0 {
            Some(Status::Active) => None,
            None => Some(Status::Superseded),
            Some(Status::Superseded) => Some(Status::Retracted),
            Some(Status::Retracted | Status::Refused) => Some(Status::Active),
        })
    }

    /// The word on the wire and on screen.
    pub fn as_str(self) -> &'static str {
        self.0.map_or("all", Status::as_str)
    }
}

impl ClaimsState {
    /// What the list asks the daemon for: what the keys chose, and what the search line says over it.
    pub fn query(&self, scope: Option<&Scope>, now: u64, cursor: Option<String>) -> ClaimsQuery {
        let line = SearchLine::parse(&self.search);
        let status = line.status.map_or(self.status, StatusFilter);
        ClaimsQuery {
            org_id: scope.map(|scope| scope.org_id.clone()),
            project: scope.map(|scope| scope.project.clone()),
            status: Some(status.as_str().to_owned()),
            kind: Some(self.kinds(&line)).filter(|kinds| !kinds.is_empty()).map(|kinds| {
                let names: Vec<&str> = kinds.iter().map(|kind| kind.as_str()).collect();
                names.join(",")
            }),
            q: Some(line.words.trim_start().to_owned()).filter(|words| !words.trim().is_empty()),
            who: line.who.or_else(|| self.who.clone()),
            source: line.source.or_else(|| self.source.clone()),
            since: line.days.or(self.days).map(|days| search_line::since(days, now)),
            without: Some(line.without).filter(|words| !words.is_empty()),
            not_who: line.not_who,
            not_source: line.not_source,
            verdict: line.verdict.or(self.verdict).map(|verdict| verdict.as_str().to_owned()),
            needs_review: self.needs_review.then_some(true),
            order: self.order.as_str().map(str::to_owned),
            limit: Some(super::windowed::PAGE),
            cursor,
            ..ClaimsQuery::default()
        }
    }

    /// The kinds that are listed; empty for all.
    fn kinds(&self, line: &SearchLine) -> Vec<ClaimKind> {
        if line.kinds.is_empty() { self.kind.into_iter().collect() } else { line.kinds.clone() }
    }

    /// The words that are searched for.
    pub fn words(&self) -> SearchWords {
        SearchWords::of(&SearchLine::parse(&self.search).words)
    }

    /// What recall is to be asked beside the list, in these scopes; `None` for nothing.
    pub fn wanted(&self, scopes: &[Scope], now: u64) -> Option<RelatedQuery> {
        let line = SearchLine::parse(&self.search);
        RelatedQuery::of(&line, &self.query(None, now, None), &self.kinds(&line), scopes)
    }

    /// Decides what stands below the list, after either has changed.
    pub fn settle(&mut self, now: u64) {
        let query = self.query(None, now, None);
        self.related.settle(&self.list, &query);
    }

    /// The claim under the cursor: one of the list, or one that is near.
    pub fn current(&self) -> Option<&ClaimView> {
        match self.related.row() {
            Some(_) => self.related.current(),
            None => self.list.current(),
        }
    }

    /// The row under the cursor, where what is near is counted on after the list.
    pub fn row(&self) -> usize {
        self.related.row().map_or(self.list.cursor(), |row| self.list.known() + row)
    }

    /// Whether anything narrows the list besides the scope.
    pub fn is_filtered(&self) -> bool {
        !self.search.trim().is_empty() || self.has_filters()
    }

    /// Whether a key narrowed the list.
    pub fn has_filters(&self) -> bool {
        self.kind.is_some()
            || self.needs_review
            || self.status != StatusFilter::default()
            || self.who.is_some()
            || self.source.is_some()
            || self.days.is_some()
            || self.verdict.is_some()
    }

    /// Undoes what the keys chose.
    pub fn clear_filters(&mut self) {
        self.status = StatusFilter::default();
        self.kind = None;
        self.needs_review = false;
        (self.who, self.source, self.days, self.verdict) = (None, None, None, None);
    }
}

/// A row of the scope tree.
#[derive(Clone, Debug, PartialEq)]
pub enum TreeRow<'a> {
    /// All scopes together.
    All,
    /// An organisation.
    Org(&'a str),
    /// A scope within it; whether it is the last there.
    Scope(&'a ScopeView, bool),
}

impl TreeRow<'_> {
    /// The scope that the row limits the lists to; an organisation limits nothing.
    pub fn scope(&self) -> Option<&Scope> {
        match self {
            Self::Scope(view, _) => Some(&view.scope),
            Self::All | Self::Org(_) => None,
        }
    }
}

/// The scope tree as rows: all, then each organisation with its projects.
pub fn tree(scopes: &[ScopeView]) -> Vec<TreeRow<'_>> {
    let mut rows = vec![TreeRow::All];
    let mut sorted: Vec<&ScopeView> = scopes.iter().collect();
    sorted.sort_by(|a, b| a.scope.cmp(&b.scope));
    for (index, view) in sorted.iter().enumerate() {
        let org = view.scope.org_id.as_str();
        if index == 0 || sorted[index - 1].scope.org_id != org {
            rows.push(TreeRow::Org(org));
        }
        let last = sorted.get(index + 1).is_none_or(|next| next.scope.org_id != org);
        rows.push(TreeRow::Scope(view, last));
    }
    rows
}
