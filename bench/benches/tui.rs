//! The app without a terminal, with 100,000 claims: a frame of 200x60, a key without its frame, and a key with its frame.
#![allow(missing_docs, clippy::unwrap_used, clippy::expect_used, unreachable_pub, dead_code)]

mod claims_app;
#[path = "../../tests/it/support/crowd.rs"]
mod crowd;

use std::hint::black_box;

use criterion::{Criterion, criterion_group, criterion_main};
use crossterm::event::{KeyCode, KeyModifiers};
use ergo::tui::{key::KeyPress, msg::Msg, theme::Theme, update, view};
use ratatui::buffer::Buffer;

use claims_app::{AREA, settle};

fn bench(c: &mut Criterion) {
    let theme = Theme::ansi(true);
    let mut buffer = Buffer::empty(AREA);
    let mut state = claims_app::open();
    let hits = view::draw(&state, &theme, AREA, &mut buffer);
    state.painted(hits);
    c.bench_function("draw 200x60, 100k claims", |b| {
        b.iter(|| {
            buffer.reset();
            black_box(view::draw(&state, &theme, AREA, &mut buffer))
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
            let hits = view::draw(&state, &theme, AREA, &mut buffer);
            state.painted(hits);
        });
    });
}

criterion_group!(benches, bench);
criterion_main!(benches);
