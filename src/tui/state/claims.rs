//! The Claims screen: the scope tree, the list of claims, and one claim in full.

use jiff::tz::TimeZone;

use super::{
    related::{RelatedClaims, RelatedQuery},
    search_line::{SearchLine, Since, VerdictChoice},
    windowed::Windowed,
};
use crate::{
    api::{ClaimView, ClaimsPage, ClaimsQuery, ScopeView},
    domain::{ClaimKind, Scope, Status},
    tui::search_words::SearchWords,
};

/// The pane that has the focus.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ClaimsFocus {
    Scopes,
    #[default]
    List,
    /// The claim under the cursor, in full.
    Detail,
}

#[derive(Clone, Debug, Default)]
pub struct ClaimsState {
    pub list: Windowed<ClaimView>,
    /// The pane that has the focus.
    pub focus: ClaimsFocus,
    /// Only claims of this status.
    pub status: StatusFilter,
    /// Only claims of this kind.
    pub kind: Option<ClaimKind>,
    /// Only claims that need review.
    pub needs_review: bool,
    /// Only claims by this person or agent.
    pub who: Option<String>,
    /// Only claims with this in their source.
    pub source: Option<String>,
    /// Only claims of this number of last days.
    pub days: Option<u64>,
    /// Only claims with this result of the guard.
    pub verdict: Option<VerdictChoice>,
    pub order: ClaimOrder,
    pub search: String,
    /// The claims that recall finds for the search line, which are listed below the claims that contain its words.
    pub related: RelatedClaims,
    pub scope_row: usize,
    /// The first visible line of the detail pane.
    pub scroll: usize,
    /// Whether the list may be incomplete: the daemon looks at a limited number of matches of a search.
    pub at_least: bool,
    /// The error message, if reading failed.
    pub error: Option<String>,
}

/// An order of claims.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ClaimOrder {
    /// The newest first; for a search, the best match first.
    #[default]
    Newest,
    Kind,
    Source,
}

impl ClaimOrder {
    /// Returns the next order in the cycle.
    #[must_use]
    pub fn next(self) -> Self {
        match self {
            Self::Newest => Self::Kind,
            Self::Kind => Self::Source,
            Self::Source => Self::Newest,
        }
    }

    /// Returns the word of the order on the wire and on screen; `None` for the default order.
    pub fn as_str(self) -> Option<&'static str> {
        match self {
            Self::Newest => None,
            Self::Kind => Some("kind"),
            Self::Source => Some("source"),
        }
    }
}

/// One status, or all.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StatusFilter(pub Option<Status>);

impl Default for StatusFilter {
    fn default() -> Self {
        Self(Some(Status::Active))
    }
}

impl StatusFilter {
    /// Returns the next filter in the cycle.
    #[must_use]
    pub fn next(self) -> Self {
        Self(match self.0 {
            Some(Status::Active) => None,
            None => Some(Status::Superseded),
            Some(Status::Superseded) => Some(Status::Retracted),
            Some(Status::Retracted | Status::Refused) => Some(Status::Active),
        })
    }

    /// Returns the word of the filter on the wire and on screen.
    pub fn as_str(self) -> &'static str {
        self.0.map_or("all", Status::as_str)
    }
}

impl ClaimsState {
    /// Returns the query for one page of the list; `None` if the filters exclude every kind, so that no claim can match.
    /// A filter in the search line takes precedence over the same filter set by a key.
    pub fn query(
        &self,
        scope: Option<&Scope>,
        (now, zone): (u64, &TimeZone),
        cursor: Option<String>,
    ) -> Option<ClaimsQuery> {
        let line = SearchLine::parse(&self.search);
        let kinds = self.kinds(&line);
        if kinds.as_ref().is_some_and(Vec::is_empty) {
            return None;
        }
        let status = line.status.map_or(self.status, StatusFilter);
        Some(ClaimsQuery {
            org_id: scope.map(|scope| scope.org_id.clone()),
            project: scope.map(|scope| scope.project.clone()),
            status: Some(status.as_str().to_owned()),
            kind: kinds.map(|kinds| {
                let names: Vec<&str> = kinds.iter().map(|kind| kind.as_str()).collect();
                names.join(",")
            }),
            q: Some(line.words.trim_start().to_owned()).filter(|words| !words.trim().is_empty()),
            who: line.who.or_else(|| self.who.clone()),
            source: line.source.or_else(|| self.source.clone()),
            since: line.since.or(self.days.map(Since::Days)).map(|since| since.begin(now, zone)),
            without: Some(line.without).filter(|words| !words.is_empty()),
            not_who: line.not_who,
            not_source: line.not_source,
            verdict: line.verdict.or(self.verdict).map(|verdict| verdict.as_str().to_owned()),
            needs_review: self.needs_review.then_some(true),
            order: self.order.as_str().map(str::to_owned),
            limit: Some(super::windowed::PAGE_SIZE),
            cursor,
            ..ClaimsQuery::default()
        })
    }

    /// Takes a page of the list.
    pub fn accept(&mut self, page: ClaimsPage, height: usize) {
        self.at_least = page.at_least;
        self.list.accept(page.items, page.total, page.next, false, height);
        self.error = None;
    }

    /// Returns the kinds that are listed; `None` for all.
    pub fn kinds(&self, line: &SearchLine) -> Option<Vec<ClaimKind>> {
        line.kinds().or_else(|| self.kind.map(|kind| vec![kind]))
    }

    /// Returns the words of the search line, without its filters.
    pub fn words(&self) -> SearchWords {
        SearchWords::of(&SearchLine::parse(&self.search).words)
    }

    /// Returns the query that recall is asked in these scopes in addition to the list; `None` for none.
    pub fn related_query(&self, scopes: &[Scope], now: (u64, &TimeZone)) -> Option<RelatedQuery> {
        let line = SearchLine::parse(&self.search);
        RelatedQuery::of(&line, &self.query(None, now, None)?, &self.kinds(&line).unwrap_or_default(), scopes)
    }

    /// Updates the claims below the list after the list or the related claims have changed.
    pub fn update_related(&mut self, now: (u64, &TimeZone)) {
        if let Some(query) = self.query(None, now, None) {
            self.related.update_below_list(&self.list, &query);
        }
    }

    /// Returns the claim under the cursor: one of the list, or a related claim below it.
    pub fn current(&self) -> Option<&ClaimView> {
        match self.related.row() {
            Some(_) => self.related.current(),
            None => self.list.current(),
        }
    }

    /// Returns the row under the cursor; the related claims are numbered on after the rows of the list.
    pub fn row(&self) -> usize {
        self.related.row().map_or(self.list.cursor(), |row| self.list.known() + row)
    }

    /// Returns whether a search or a filter narrows the list.
    pub fn is_filtered(&self) -> bool {
        !self.search.trim().is_empty() || self.has_filters()
    }

    /// Returns whether a filter is set by a key.
    pub fn has_filters(&self) -> bool {
        self.kind.is_some()
            || self.needs_review
            || self.status != StatusFilter::default()
            || self.who.is_some()
            || self.source.is_some()
            || self.days.is_some()
            || self.verdict.is_some()
    }

    /// Resets the filters that keys set.
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
    All,
    /// An organisation as a heading.
    Org(&'a str),
    /// A scope of the organisation above it, and whether it is the last one of that organisation.
    Scope(&'a ScopeView, bool),
}

impl TreeRow<'_> {
    /// Returns the scope to which the row limits the lists; `None` for an organisation's heading, which limits nothing.
    pub fn scope(&self) -> Option<&Scope> {
        match self {
            Self::Scope(view, _) => Some(&view.scope),
            Self::All | Self::Org(_) => None,
        }
    }
}

/// Returns the rows of the scope tree: all scopes, then each organisation with its projects.
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
