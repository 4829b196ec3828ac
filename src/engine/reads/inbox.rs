//! The inbox: everything that needs attention.

use super::{limit, list_cursor::ListMark};
use crate::{
    api::{
        ApiError, CardSummary, Inbox, InboxGroup, InboxItem, InboxKind, InboxQuery, NoticeItem, NoticeKind,
        QuarantinedQuery, ReviewItem,
    },
    domain::{
        EventKind, Scope, Status,
        derive::{CardKind, local},
    },
    engine::{Engine, acts, beside, guard_calls, guard_result, validate, view, wording},
    store::{CardFilter, ClaimFilter, NoticeRow, Page, Reader},
};

/// The groups that consist of cards, in the order of the inbox.
const CARD_GROUPS: [(InboxKind, CardKind); 7] = [
    (InboxKind::Refused, CardKind::Refused),
    (InboxKind::Contradiction, CardKind::Contradiction),
    (InboxKind::Contested, CardKind::Contested),
    (InboxKind::Proposed, CardKind::Proposed),
    (InboxKind::Found, CardKind::Found),
    (InboxKind::Held, CardKind::Held),
    (InboxKind::Story, CardKind::Story),
];

/// The greatest number of events on premises shown with a claim that needs review.
const MAX_CAUSES: usize = 5;

/// `GET /inbox`, without the requests for admission, which only the daemon knows.
pub(in crate::engine) fn inbox(engine: &Engine, query: &InboxQuery) -> Result<Inbox, ApiError> {
    let scope = validate::optional_scope(query.org_id.as_deref(), query.project.as_deref())?;
    let limit = limit(query.limit)?;
    let mark = |group: InboxKind| ListMark::of("inbox", &InboxQuery { group: Some(group), ..query.clone() });
    let cursor = match query.group {
        Some(group) => mark(group).position(query.cursor.as_deref())?,
        None if query.cursor.is_some() => {
            return Err(ApiError::field("cursor", "`cursor` needs `group`: it continues one group"));
        }
        None => None,
    };
    let wanted = |group: InboxKind| query.group.is_none_or(|only| only == group);
    let now = (engine.config.clock)();
    let today = guard_calls::day(now);
    let (mut groups, doubts, promotions, returns_at) = engine.readers.lend().snapshot(|reader| {
        let mut groups = Vec::new();
        // Kinds without an open card need not be counted one by one.
        let waiting = reader.waiting_kinds(scope.as_ref(), now)?;
        for (group, kind) in CARD_GROUPS.into_iter().filter(|(group, kind)| wanted(*group) && waiting.contains(kind)) {
            let filter = CardFilter { scope: scope.clone(), now, kinds: vec![kind], ..CardFilter::default() };
            let page = reader.cards(&filter, limit, cursor)?;
            let items: Vec<CardSummary> = super::card::summaries(reader, page.items, now, &today)?;
            let items = items.into_iter().map(|card| InboxItem::Card(Box::new(card))).collect();
            groups.push(InboxGroup { group, total: page.total, at_least: page.at_least, items, next: page.next });
        }
        for group in [InboxKind::ByAgents, InboxKind::NeedsReview, InboxKind::Warned].into_iter().filter(|g| wanted(*g))
        {
            groups.push(if group == InboxKind::NeedsReview {
                review(reader, scope.clone(), limit, cursor, &today)?
            } else {
                let page = reader.notices(scope.as_ref(), group == InboxKind::Warned, limit, cursor)?;
                noted(engine, reader, group, page, &today)?
            });
        }
        let doubts = reader.doubts(scope.as_ref(), 0)?.scopes.iter().map(|(_, pairs)| pairs).sum();
        let promotions = engine.proposed_promotions(reader, scope.as_ref())?;
        Ok::<_, ApiError>((groups, doubts, promotions, reader.next_snooze_end(scope.as_ref(), now)?))
    })?;
    if wanted(InboxKind::Quarantined) {
        groups.push(quarantined(engine, scope.as_ref(), limit, cursor)?);
    }
    groups.retain(|group| group.total > 0);
    for group in &mut groups {
        group.next = mark(group.group).mark(group.next.take());
    }
    Ok(Inbox { total: groups.iter().map(|group| group.total).sum(), groups, doubts, promotions, returns_at })
}

/// Returns the quarantined events, of one scope or of all. The cursor is the number of earlier ones.
fn quarantined(
    engine: &Engine,
    scope: Option<&Scope>,
    limit: usize,
    cursor: Option<&str>,
) -> Result<InboxGroup, ApiError> {
    let before = match cursor {
        None => 0,
        Some(text) => text.parse().map_err(|_| {
            ApiError::field("cursor", "invalid `cursor` for this group: pass `next` of its last page unchanged")
        })?,
    };
    let most = limit.saturating_add(before);
    let list = match scope {
        Some(scope) => engine.quarantined_in_scope(scope, most)?,
        None => engine.quarantined_up_to(&QuarantinedQuery::default(), most)?,
    };
    let items: Vec<InboxItem> =
        list.items.into_iter().skip(before).map(|item| InboxItem::Quarantined(Box::new(item))).collect();
    let next = (!items.is_empty() && before + items.len() < list.total).then(|| (before + items.len()).to_string());
    Ok(InboxGroup { group: InboxKind::Quarantined, total: list.total, at_least: false, items, next })
}

/// Returns the active claims that need review, each with the events that caused it.
fn review(
    reader: &Reader,
    scope: Option<Scope>,
    limit: usize,
    cursor: Option<&str>,
    today: &str,
) -> Result<InboxGroup, ApiError> {
    let filter =
        ClaimFilter { scope, status: Some(Status::Active), needs_review: Some(true), ..ClaimFilter::default() };
    let page = reader.claims(&filter, limit, cursor)?;
    let mut items = Vec::new();
    for row in page.items {
        let mut causes = Vec::new();
        for id in row.causes.iter().rev().take(MAX_CAUSES) {
            causes.extend(reader.event(id)?.map(view::event));
        }
        items.push(InboxItem::Review(Box::new(ReviewItem { claim: view::claim(row, today), causes })));
    }
    let (total, at_least, next) = (page.total, page.at_least, page.next);
    Ok(InboxGroup { group: InboxKind::NeedsReview, total, at_least, items, next })
}

fn noted(
    engine: &Engine,
    reader: &Reader,
    group: InboxKind,
    page: Page<NoticeRow>,
    today: &str,
) -> Result<InboxGroup, ApiError> {
    let mut items = Vec::new();
    for row in page.items {
        let mut item = notice(engine, row, today);
        beside::fill(reader, &mut item.claim)?;
        beside::fill_exceptions(reader, &mut item.against)?;
        items.push(InboxItem::Notice(Box::new(item)));
    }
    Ok(InboxGroup { group, total: page.total, at_least: page.at_least, items, next: page.next })
}

fn notice(engine: &Engine, row: NoticeRow, today: &str) -> NoticeItem {
    let body = row.event.body.as_ref();
    let note: acts::NoticeData =
        body.and_then(|body| serde_json::from_str(body.data.as_ref()?).ok()).unwrap_or_default();
    let what = match &row.event.kind {
        EventKind::Local(kind) if kind == local::FORCED && note.dismissed => NoticeKind::Dismissed,
        EventKind::Local(kind) if kind == local::FORCED => NoticeKind::Forced,
        EventKind::Local(kind) if kind == local::RETRACTED => NoticeKind::Retracted,
        _ => NoticeKind::Warned,
    };
    NoticeItem {
        id: row.event.id,
        what,
        sentence: sentence(engine, what, &note, &row),
        claim: view::claim(row.claim, today),
        against: view::claims(row.against, today),
        stage: note.stage,
        rule: note.rule,
        score: note.score,
        op_id: Some(row.event.op),
        at: row.event.clock.wall,
        who: row.event.who,
        agent: row.event.agent,
    }
}

/// Describes in one sentence what disagrees. A notice contains no text of claims, so the guard explains their present
/// words.
fn sentence(engine: &Engine, what: NoticeKind, note: &acts::NoticeData, row: &NoticeRow) -> String {
    let claim = wording::quote(&row.claim.statement);
    if what == NoticeKind::Retracted {
        let by = row.event.agent.as_deref().unwrap_or(&row.event.who);
        return format!("{by} retracted {claim}, which {} wrote.", row.claim.who);
    }
    let Some(other) = row.against.first() else {
        return format!("The claim that {claim} was compared with no longer exists.");
    };
    if row.claim.flags.redacted || other.flags.redacted {
        return "The two claims may contradict each other; the text of one of them was redacted.".to_owned();
    }
    let explanation = guard_calls::explain(
        &engine.guard,
        guard_result::normed_claim(&row.claim),
        guard_result::normed_claim(other),
        note.stage,
    );
    explanation.unwrap_or_else(|| format!("{claim} may contradict {}.", wording::quote(&other.statement)))
}
