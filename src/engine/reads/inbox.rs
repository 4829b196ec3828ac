//! The inbox: everything that wants a person.

use super::limit;
use crate::{
    api::{
        ApiError, CardSummary, Inbox, InboxGroup, InboxItem, InboxKind, InboxQuery, NoticeItem, NoticeKind,
        QuarantinedQuery, ReviewItem,
    },
    domain::{
        EventKind, Scope, Status,
        derive::{CardKind, local},
    },
    engine::{Engine, acts, check, gate, view},
    store::{CardFilter, ClaimFilter, NoticeRow, Reader},
};

/// The groups that are cards, in the order of the inbox.
const CARDS: [(InboxKind, CardKind); 5] = [
    (InboxKind::Refused, CardKind::Refused),
    (InboxKind::Contradiction, CardKind::Contradiction),
    (InboxKind::Contested, CardKind::Contested),
    (InboxKind::Proposed, CardKind::Proposed),
    (InboxKind::Found, CardKind::Found),
];

/// The most acts on its premises that are shown with a claim.
const MAX_CAUSES: usize = 5;

/// `GET /inbox`, without who waits to be let in: the daemon alone knows that.
pub(in crate::engine) fn inbox(engine: &Engine, query: &InboxQuery) -> Result<Inbox, ApiError> {
    let scope = check::optional_scope(query.org_id.as_deref(), query.project.as_deref())?;
    let limit = limit(query.limit)?;
    let now = (engine.config.clock)();
    let today = gate::day(now);
    let mut groups = engine.readers.lend().snapshot(|reader| {
        let mut groups = Vec::new();
        for (group, kind) in CARDS {
            let filter = CardFilter { scope: scope.clone(), now, kinds: vec![kind], ..CardFilter::default() };
            let page = reader.cards(&filter, limit, None)?;
            let items: Vec<CardSummary> = super::card::summaries(reader, page.items, now, &today)?;
            let items = items.into_iter().map(|card| InboxItem::Card(Box::new(card))).collect();
            groups.push(InboxGroup { group, total: page.total, items });
        }
        groups.push(noted(InboxKind::ByAgents, reader.notices(scope.as_ref(), false, limit)?, &today));
        groups.push(review(reader, scope.clone(), limit, &today)?);
        groups.push(noted(InboxKind::Warned, reader.notices(scope.as_ref(), true, limit)?, &today));
        Ok::<_, ApiError>(groups)
    })?;
    let list = engine.quarantined(&QuarantinedQuery { limit: Some(limit), ..QuarantinedQuery::default() })?;
    let items = list.items.into_iter().map(|item| InboxItem::Quarantined(Box::new(item))).collect();
    groups.push(InboxGroup { group: InboxKind::Quarantined, total: list.total, items });
    groups.retain(|group| group.total > 0);
    Ok(Inbox { total: groups.iter().map(|group| group.total).sum(), groups })
}

/// Active claims that need review, each with what changed.
fn review(reader: &Reader, scope: Option<Scope>, limit: usize, today: &str) -> Result<InboxGroup, ApiError> {
    let filter =
        ClaimFilter { scope, status: Some(Status::Active), needs_review: Some(true), ..ClaimFilter::default() };
    let page = reader.claims(&filter, limit, None)?;
    let mut items = Vec::new();
    for row in page.items {
        let mut causes = Vec::new();
        for id in row.causes.iter().rev().take(MAX_CAUSES) {
            causes.extend(reader.event(id)?.map(view::event));
        }
        items.push(InboxItem::Review(Box::new(ReviewItem { claim: view::claim(row, today), causes })));
    }
    Ok(InboxGroup { group: InboxKind::NeedsReview, total: page.total, items })
}

fn noted(group: InboxKind, (rows, total): (Vec<NoticeRow>, usize), today: &str) -> InboxGroup {
    let items = rows.into_iter().map(|row| InboxItem::Notice(Box::new(notice(row, today)))).collect();
    InboxGroup { group, total, items }
}

fn notice(row: NoticeRow, today: &str) -> NoticeItem {
    let note: acts::Note = row.event.body.and_then(|body| serde_json::from_str(&body.data?).ok()).unwrap_or_default();
    NoticeItem {
        id: row.event.id,
        what: match &row.event.kind {
            EventKind::Local(kind) if kind == local::FORCED => NoticeKind::Forced,
            EventKind::Local(kind) if kind == local::RETRACTED => NoticeKind::Retracted,
            _ => NoticeKind::Warned,
        },
        claim: view::claim(row.claim, today),
        against: view::claims(row.against, today),
        stage: note.stage,
        rule: note.rule,
        score: note.score,
        at: row.event.clock.wall,
        who: row.event.who,
        agent: row.event.agent,
    }
}
