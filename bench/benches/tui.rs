//! The app without a terminal, with 100,000 claims: a frame of 200x60, a key without its frame, and a key with its frame.
#![allow(missing_docs, clippy::unwrap_used, clippy::expect_used)]

use std::hint::black_box;

use criterion::{Criterion, criterion_group, criterion_main};
use crossterm::event::{KeyCode, KeyModifiers};
use ergo::{
    api::{ClaimView, ClaimsPage, ScopeView, Scopes},
    domain::{ClaimId, ClaimKind, DeviceId, Flags, Qualifiers, Scope, Status},
    tui::{
        key::KeyPress,
        msg::{Effect, Msg, ReadRequest, RequestAnswer},
        state::{AppSettings, AppState, Screen},
        theme::Theme,
        update::{self, Opening},
        view,
    },
};
use ratatui::{buffer::Buffer, layout::Rect};

const TOTAL: usize = 100_000;
const NOW: u64 = 1_795_356_000_000;

fn scope() -> Scope {
    Scope::new("acme", "api").unwrap()
}

fn claim(n: usize) -> ClaimView {
    let mut id = [0; 32];
    id[..8].copy_from_slice(&n.to_be_bytes());
    ClaimView {
        id: ClaimId::from_slice(&id).unwrap(),
        scope: scope(),
        kind: ClaimKind::Decision,
        status: Status::Active,
        flags: Flags::default(),
        statement: format!("Service {n} keeps its sessions in the shared cache for at most {} minutes", n % 60),
        reason: Some("Sessions that outlive a deployment have surprised people twice.".into()),
        source: Some(format!("docs/adr/{n:04}.md:12")),
        who: "zoe".into(),
        agent: Some("an-agent".into()),
        device: DeviceId([1; 32]),
        provenance: ergo::api::Provenance::default(),
        at: NOW - n as u64 * 60_000,
        key: None,
        qualifiers: Qualifiers::default(),
        norms: vec![],
        replaced_by: vec![],
        replaces: vec![],
        premises: vec![],
        dependents: 0,
        closing_reason: None,
        beside: vec![],
        level: ergo::domain::Level::Project,
        seen_in: 0,
        rev: 1,
    }
}

fn answer(read: &ReadRequest) -> Option<RequestAnswer> {
    match read {
        ReadRequest::Claims(query) => {
            let from: usize = query.cursor.as_deref().map_or(0, |cursor| cursor.parse().unwrap());
            let to = (from + query.limit.unwrap_or(200)).min(TOTAL);
            let next = (to < TOTAL).then(|| to.to_string());
            Some(RequestAnswer::Claims(ClaimsPage {
                items: (from..to).map(claim).collect(),
                total: TOTAL,
                at_least: false,
                next,
            }))
        }
        ReadRequest::Scopes => Some(RequestAnswer::Scopes(Scopes {
            items: vec![ScopeView {
                scope: scope(),
                active: TOTAL,
                total: TOTAL,
                open_cards: 3,
                needs_review: 0,
                latest: NOW,
                identity: None,
            }],
        })),
        _ => None,
    }
}

fn settle(state: &mut AppState, effects: Vec<Effect>) {
    let mut queue = effects;
    while let Some(effect) = queue.pop() {
        if let Effect::Read(ticket, read) = effect
            && let Some(answer) = answer(&read)
        {
            queue.extend(update::update(state, Msg::Reply(ticket, Ok(answer))));
        }
    }
}

fn app() -> AppState {
    let settings = AppSettings {
        who: "zoe".into(),
        scope: scope(),
        identities: Vec::new(),
        read_only: false,
        demonstration: false,
        zone: jiff::tz::TimeZone::UTC,
        seed: [1; 16],
        autostart: false,
        last_here: None,
        tour: false,
    };
    let mut state = AppState::new(settings, (200, 60), NOW);
    let effects = update::open(&mut state, Opening { screen: Some(Screen::Claims), ..Opening::default() });
    settle(&mut state, effects);
    state
}

fn bench(c: &mut Criterion) {
    let theme = Theme::ansi(true);
    let area = Rect::new(0, 0, 200, 60);
    let mut buffer = Buffer::empty(area);
    let mut state = app();
    let hits = view::draw(&state, &theme, area, &mut buffer);
    state.painted(hits);
    c.bench_function("draw 200x60, 100k claims", |b| {
        b.iter(|| {
            buffer.reset();
            black_box(view::draw(&state, &theme, area, &mut buffer))
        });
    });
    let down = KeyPress::new(KeyCode::Down, KeyModifiers::NONE);
    let up = KeyPress::new(KeyCode::Up, KeyModifiers::NONE);
    c.bench_function("update: one key, 100k claims", |b| {
        b.iter(|| {
            for key in [down, up] {
                black_box(update::update(&mut state, Msg::Key(key)));
            }
        });
    });
    c.bench_function("key to painted buffer, paging through 100k claims", |b| {
        let page = KeyPress::new(KeyCode::PageDown, KeyModifiers::NONE);
        b.iter(|| {
            let effects = update::update(&mut state, Msg::Key(page));
            settle(&mut state, effects);
            buffer.reset();
            let hits = view::draw(&state, &theme, area, &mut buffer);
            state.painted(hits);
        });
    });
}

criterion_group!(benches, bench);
criterion_main!(benches);
