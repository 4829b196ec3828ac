//! Test data: scopes, claims, cards and a chain as the daemon would send them.

pub(crate) mod agents;
pub(crate) mod notes;
mod proposal;
pub(crate) mod screens;

pub(crate) use proposal::proposal;
pub(crate) use screens::pending;

use jiff::tz::TimeZone;

use super::{
    msg::{Effect, Live, Msg, ReadRequest, RequestAnswer, RequestId},
    state::{AppSettings, AppState},
    theme::Theme,
    update::{self, Opening},
    view,
};
use crate::{
    api::{
        ActOption, Bearing, BoundScope, CardAct, CardKind, CardPair, CardSide, CardStatus, CardSummary, CardView,
        ChainLink, ClaimView, ClaimsPage, ConflictsPage, Health, History, PeerPath, PeerState, PeerView, PendingJoins,
        Role, ScopeStatus, ScopeView, Scopes, SyncMode, SyncStatus, TeamStatus, WhyAnswer,
    },
    domain::{
        CardId, ClaimId, ClaimKind, DeviceId, EventId, Flags, OpId, Qualifiers, Scope, Status,
        guard_report::{Confidence, Evidence, Relation, RuleId, Stage},
    },
};

/// 2026-11-22 14:00 UTC.
pub(crate) const NOW: u64 = 1_795_356_000_000;

const HOUR: u64 = 3_600_000;

pub(crate) fn scope(project: &str) -> Scope {
    Scope { org_id: "acme".into(), project: project.into() }
}

pub(crate) fn settings() -> AppSettings {
    AppSettings {
        who: "zoe".into(),
        scope: scope("api"),
        identities: Vec::new(),
        read_only: false,
        no_color: false,
        demonstration: false,
        zone: TimeZone::UTC,
        seed: [7; 16],
        autostart: false,
        last_here: Some(NOW - 26 * HOUR),
        tour: false,
    }
}

pub(crate) fn id(n: u8) -> ClaimId {
    let mut bytes = [0; 32];
    bytes[0] = n;
    bytes[1] = n.wrapping_mul(37);
    bytes[2] = 0x5e;
    ClaimId::from_slice(&bytes).unwrap()
}

pub(crate) fn card_id(n: u8) -> CardId {
    CardId([n; 32])
}

pub(crate) fn claim(n: u8, statement: &str) -> ClaimView {
    ClaimView {
        id: id(n),
        scope: scope("api"),
        kind: ClaimKind::Decision,
        status: Status::Active,
        flags: Flags::default(),
        statement: statement.into(),
        reason: Some("Releases must be seen by a tenth of the users before all of them.".into()),
        source: Some("docs/adr/0004-canary.md:12".into()),
        who: "zoe".into(),
        agent: None,
        device: DeviceId([0xd1; 32]),
        provenance: crate::api::Provenance::default(),
        at: NOW - 50 * HOUR,
        key: None,
        qualifiers: Qualifiers::default(),
        norms: vec![proposal::norm("blue")],
        replaced_by: vec![],
        replaces: vec![],
        premises: vec![],
        dependents: 0,
        closing_reason: None,
        beside: vec![],
        level: crate::domain::Level::Project,
        seen_in: 0,
        rev: 3,
    }
}

pub(crate) fn summary(n: u8, status: CardStatus) -> CardSummary {
    CardSummary {
        id: card_id(n),
        kind: if n.is_multiple_of(2) { CardKind::Contradiction } else { CardKind::Refused },
        status,
        scope: scope("api"),
        headline: format!("The canary's colour is red here, and blue in what is stored ({n})"),
        pair: Some(CardPair {
            new: format!("The canary deployment of shop {n} is always red"),
            existing: format!("The canary deployment of shop {n} is always blue, and takes a tenth of the traffic"),
            source: Some("CLAUDE.md:31".into()),
        }),
        story: None,
        accept: None,
        op_id: Some(OpId([n; 16])),
        members: vec![id(n), id(100 + n)],
        at: NOW - u64::from(n) * HOUR,
        who: "max".into(),
        agent: Some("claude-code".into()),
        score: 0.97,
        rev: 5,
    }
}

pub(crate) fn card(n: u8) -> CardView {
    let mut new_claim = claim(n, "The canary deployment is always red");
    new_claim.reason = Some("Red is what the dashboards alert on.".into());
    new_claim.source = Some("CLAUDE.md:31".into());
    new_claim.who = "max".into();
    new_claim.agent = Some("claude-code".into());
    new_claim.norms = vec![proposal::norm("red")];
    new_claim.at = NOW - u64::from(n) * HOUR;
    let mut stored = claim(100 + n, "The canary deployment is always blue, and takes a tenth of the traffic");
    stored.dependents = 2;
    let refused = !n.is_multiple_of(2);
    CardView {
        summary: summary(n, CardStatus::Open),
        sides: vec![
            CardSide { claim: new_claim, new_claim: refused, bears: vec![], now: vec![] },
            CardSide {
                claim: stored,
                new_claim: false,
                bears: vec![Bearing { id: id(60), statement: "Dashboards alert on the canary's colour".into() }],
                now: vec![],
            },
        ],
        evidence: vec![Evidence {
            stage: Stage::Structural,
            rule: RuleId::ValueConflict,
            relation: Relation::Contradiction,
            confidence: Confidence::High,
            sentence: "Both say what colour the canary has, and the colours differ.".into(),
            field: "value".into(),
            words: vec!["red".into()],
            their_words: vec!["blue".into()],
            norm: proposal::norm("red"),
            their_norm: proposal::norm("blue"),
            features: [
                ("overlap", 0.62),
                ("cosine", 0.81),
                ("probability", 0.97),
                ("limit", 0.39),
                ("contradiction_forward", 3.4),
                ("contradiction_backward", 2.1),
                ("entailment_forward", -4.0),
                ("entailment_backward", -3.2),
            ]
            .map(|(name, figure)| (name.to_owned(), figure))
            .into(),
            ..Evidence::default()
        }],
        acts: CardAct::ALL
            .into_iter()
            .map(|act| ActOption {
                act,
                disabled: match act {
                    CardAct::Discard if !refused => Some("both claims are stored: keep one, or retract one".to_owned()),
                    CardAct::Yes | CardAct::No => Some("this card asks no question".to_owned()),
                    _ => None,
                },
                prefill: (act == CardAct::Supersede).then(|| "Red is what the dashboards alert on.".to_owned()),
            })
            .collect(),
        advice: "If the decision changed, keep the new claim. If both hold, but in different environments or periods, limit one (narrow). If the \
                 new claim is a mistake, discard it."
            .into(),
        settled: None,
        snoozed_until: None,
    }
}

const STATEMENTS: [(&str, ClaimKind); 7] = [
    ("Use PostgreSQL 16 for the main store", ClaimKind::Decision),
    ("Requests time out after 30 seconds", ClaimKind::Constraint),
    ("No ORM: queries are written in SQL", ClaimKind::Rejection),
    ("Errors end with what to do next", ClaimKind::Convention),
    ("The staging host is staging-2", ClaimKind::Fact),
    ("決定：日本語のテキストも正しく表示する 🚀", ClaimKind::Decision),
    ("Evil \u{1b}[31mred\u{1b}[0m \u{202e}txet\u{202c} and a\u{200b}b", ClaimKind::Decision),
];

pub(crate) fn claims() -> ClaimsPage {
    let items: Vec<ClaimView> = STATEMENTS
        .iter()
        .zip(10..)
        .map(|((statement, kind), n)| {
            let mut claim = claim(n, statement);
            claim.kind = *kind;
            claim.at = NOW - u64::from(n) * 9 * HOUR;
            claim.flags.needs_review = n == 11;
            claim
        })
        .collect();
    ClaimsPage { total: items.len(), items, at_least: false, next: None }
}

/// A claim's history: twice replaced, with a premise, a dependent and a card.
pub(crate) fn history() -> History {
    let newest = claim(20, "Deploy on green CI and an approved review");
    let mut middle = claim(21, "Deploy on green CI only");
    middle.status = Status::Superseded;
    middle.at = NOW - 400 * HOUR;
    middle.reason = Some("Red builds reached production twice in May.".into());
    let mut oldest = claim(22, "Deploy every Friday");
    oldest.status = Status::Superseded;
    oldest.at = NOW - 9_000 * HOUR;
    oldest.reason = Some("One release a week is what support can follow.".into());
    let link = |claim: &ClaimView, depth, by: Option<ClaimId>, reason: Option<&str>| ChainLink {
        claim: claim.clone(),
        depth,
        replaced_by: by,
        change_reason: reason.map(str::to_owned),
        changed_by: by.map(|_| "max via claude-code".to_owned()),
        changed_on: None,
        changed_at: by.map(|_| NOW - 60 * HOUR),
    };
    History {
        chain: vec![
            link(&newest, 0, None, None),
            link(&middle, 1, Some(newest.id), Some("A green build was deployed that nobody had read.")),
            link(&oldest, 2, Some(middle.id), Some("Releases no longer wait for a day of the week.")),
        ],
        claim: newest,
        events: vec![],
        successors: vec![],
        premises: vec![claim(23, "CI runs the whole test suite")],
        dependents: vec![claim(24, "Hotfixes need one review as well")],
        cards: vec![summary(2, CardStatus::Open)],
    }
}

fn view_of(project: &str, active: usize, open_cards: usize) -> ScopeView {
    ScopeView {
        scope: scope(project),
        active,
        total: active + 4,
        open_cards,
        needs_review: 1,
        latest: NOW,
        identity: None,
    }
}

fn peer(n: u8, name: &str, person: &str) -> PeerView {
    PeerView {
        device: DeviceId([n; 32]),
        team: EventId([0x7e; 32]),
        name: name.into(),
        person: person.into(),
        you: false,
        state: PeerState::Active,
        role: Role::Writer,
        scopes: None,
        connected: false,
        path: None,
        latency_ms: None,
        sent_bytes: 0,
        received_bytes: 0,
        addresses: vec![],
        last_seen: None,
        last_sync: None,
        we_lack: 0,
        they_lack: 0,
        digests_equal: false,
        quarantined: 0,
        not_taken: 0,
        clock_ahead_ms: None,
        last_error: None,
        advice: None,
        needs_person: false,
    }
}

/// A team of four devices in different states.
pub(crate) fn sync_status() -> SyncStatus {
    let mut ada = peer(0xa1, "ada-laptop", "ada");
    (ada.connected, ada.path, ada.latency_ms, ada.digests_equal) = (true, Some(PeerPath::Lan), Some(1.8), true);
    ada.addresses = vec!["192.168.1.20:41234".into()];
    (ada.last_seen, ada.last_sync) = (Some(NOW), Some(NOW - 20_000));
    let mut max = peer(0xa2, "max-desk", "max");
    (max.last_seen, max.last_sync, max.they_lack) = (Some(NOW - 3 * HOUR), Some(NOW - 5 * HOUR), 4);
    max.last_error = Some("no answer at 192.168.1.31:40022 within 5 s".into());
    max.advice = Some(
        "Is it switched on and on this network? A bundle carries claims without one: ergo sync export FILE.".into(),
    );
    let mut lost = peer(0xa3, "max-old-laptop", "max");
    lost.state = PeerState::Revoked;
    let mut here = peer(0xd1, "zoe-laptop", "zoe");
    (here.you, here.role) = (true, Role::Admin);
    SyncStatus {
        mode: SyncMode::Lan,
        says: SyncMode::Lan.meaning().into(),
        device: Some(here.device),
        addresses: vec!["192.168.1.10:40001".into()],
        problems: vec![],
        teams: vec![TeamStatus {
            role: Some(Role::Admin),
            scopes: vec![ScopeStatus {
                bound: BoundScope { scope: scope("api"), local: scope("api") },
                events: 1_204,
                digest: "9f2c51aa77e0".into(),
                quarantined: 0,
                open_cards: 2,
            }],
            peers: vec![here, ada, max, lost],
            open_cards: 2,
            in_sync: true,
            ..TeamStatus::new(EventId([0x7e; 32]), "core")
        }],
        pending: 1,
    }
}

/// Returns what the daemon would answer.
pub(crate) fn answer(read: &ReadRequest) -> RequestAnswer {
    match read {
        ReadRequest::Health => RequestAnswer::Health(Box::new(Health {
            status: "ok".into(),
            version: env!("CARGO_PKG_VERSION").into(),
            api: 1,
            pid: 1,
            uptime_s: 9,
            retrieval: true,
            nli: "not available".into(),
            embedder: "not available".into(),
        })),
        ReadRequest::Scopes => {
            RequestAnswer::Scopes(Scopes { items: vec![view_of("api", 7, 3), view_of("web", 41, 0)] })
        }
        ReadRequest::Claims(_) => RequestAnswer::Claims(claims()),
        ReadRequest::History(_) => RequestAnswer::History(Box::new(history())),
        ReadRequest::Why(_) => {
            let history = history();
            RequestAnswer::Why(Box::new(WhyAnswer {
                answer: Some(history.claim),
                chain: history.chain,
                ..WhyAnswer::default()
            }))
        }
        ReadRequest::Conflicts(query) => RequestAnswer::Conflicts(match query.status.as_deref() {
            Some("open" | "all") => {
                ConflictsPage { items: (1..=3).map(|n| summary(n, CardStatus::Open)).collect(), total: 3, next: None }
            }
            _ => ConflictsPage::default(),
        }),
        ReadRequest::Inbox(_) => RequestAnswer::Inbox(screens::inbox()),
        ReadRequest::Log(_) => RequestAnswer::Log(screens::log()),
        ReadRequest::LastAct(_) => RequestAnswer::Log(screens::last_act()),
        ReadRequest::Recall(requests) => {
            RequestAnswer::Recalled(Box::new(agents::recalled(requests)), super::msg::UnansweredScopes::default())
        }
        ReadRequest::Snapshot(_) => RequestAnswer::Snapshot(agents::snapshot()),
        ReadRequest::Ingested(_) => RequestAnswer::Ingested(agents::ingested()),
        ReadRequest::Agents(_) => RequestAnswer::Agents(agents::agents()),
        ReadRequest::Notes => RequestAnswer::Notes(Box::new(notes::status())),
        ReadRequest::Insights(_) => RequestAnswer::Insights(Box::new(notes::insights())),
        ReadRequest::NotesPreview(request) => RequestAnswer::NotesWritten(Box::new(notes::written(&request.path))),
        ReadRequest::Story(_) => RequestAnswer::Story(Box::new(screens::story())),
        ReadRequest::Doubts(_) => RequestAnswer::Doubts(screens::doubts()),
        ReadRequest::Questions(_) => RequestAnswer::Questions(screens::questions()),
        ReadRequest::Injected => RequestAnswer::Injected(agents::injected()),
        ReadRequest::Setup { .. } => RequestAnswer::Setup(agents::SETUP.to_owned()),
        ReadRequest::Diagnose => RequestAnswer::Diagnose(Box::new(screens::diagnose())),
        ReadRequest::Joined(_) => RequestAnswer::Join(Box::new(screens::join(crate::api::JoinState::Joined))),
        ReadRequest::Sync => RequestAnswer::Sync(Box::new(sync_status()), PendingJoins { items: vec![pending()] }),
        ReadRequest::Cards(ids) => {
            let known = |id: &String| (1..=9).find(|n| card_id(*n).to_hex() == *id).map(card);
            RequestAnswer::Cards(ids.iter().filter_map(known).collect())
        }
        ReadRequest::Card(id) => {
            let n = (1..=9).find(|n| card_id(*n).to_hex().starts_with(id.as_str())).unwrap_or(1);
            RequestAnswer::Card(Box::new(card(n)))
        }
    }
}

/// Answers every read until none is left; returns the other effects.
pub(crate) fn settle(state: &mut AppState, effects: Vec<Effect>) -> Vec<Effect> {
    let mut rest = Vec::new();
    let mut queue: Vec<Effect> = effects;
    while let Some(effect) = queue.pop() {
        if let Effect::Read(ticket, read) = effect {
            queue.extend(step(state, Msg::Reply(ticket, Ok(answer(&read)))));
        } else {
            rest.push(effect);
        }
    }
    rest
}

/// Handles a message, then draws a frame at the state's size.
pub(crate) fn step(state: &mut AppState, msg: Msg) -> Vec<Effect> {
    let out = update::update(state, msg);
    paint(state);
    out
}

/// Presses keys, in their written form and separated by spaces, and answers reads; returns the other effects.
pub(crate) fn press(state: &mut AppState, keys: &str) -> Vec<Effect> {
    let mut rest = Vec::new();
    for key in keys.split(' ') {
        // Half a second between presses, so that they do not count as one key held down.
        state.now += 500;
        let key = super::key::KeyPress::parse(key).unwrap();
        let out = step(state, Msg::Key(key));
        rest.extend(settle(state, out));
    }
    rest
}

/// Returns the first write among effects.
pub(crate) fn written(effects: &[Effect]) -> Option<(RequestId, super::msg::WriteRequest)> {
    effects.iter().find_map(|effect| match effect {
        Effect::Write(ticket, write) => Some((*ticket, (**write).clone())),
        _ => None,
    })
}

/// Returns an app of this size that has read everything.
pub(crate) fn app(size: (u16, u16), opening: Opening) -> AppState {
    let mut state = AppState::new(settings(), size, NOW);
    let effects = update::open(&mut state, opening);
    paint(&mut state);
    settle(&mut state, effects);
    let effects = step(&mut state, Msg::Live(Live::Up));
    settle(&mut state, effects);
    state
}

/// Draws a frame and records its areas in the state.
pub(crate) fn frame(state: &mut AppState, theme: &Theme) -> ratatui::buffer::Buffer {
    let area = ratatui::layout::Rect::new(0, 0, state.size.0, state.size.1);
    let mut buffer = ratatui::buffer::Buffer::empty(area);
    let hits = view::draw(state, theme, area, &mut buffer);
    state.painted(hits);
    buffer
}

fn paint(state: &mut AppState) {
    frame(state, &Theme::ansi(true));
}

/// Returns the text of a frame, one line per row.
pub(crate) fn text(buffer: &ratatui::buffer::Buffer) -> String {
    let mut out = String::new();
    for y in 0..buffer.area.height {
        let mut row = String::new();
        let mut skip = 0;
        for x in 0..buffer.area.width {
            let symbol = buffer[(x, y)].symbol();
            if skip == 0 {
                row.push_str(symbol);
            }
            skip = if skip > 0 { skip - 1 } else { super::text::width(symbol).max(1) - 1 };
        }
        out.push_str(row.trim_end());
        out.push('\n');
    }
    out
}
