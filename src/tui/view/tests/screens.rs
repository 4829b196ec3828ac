//! The Inbox with each kind of item under the cursor, forks and merges of a chain, the tour, and empty screens.

use super::*;
use crate::{
    api::{ChainLink, Inbox, LogPage},
    tui::{
        drift::Drift,
        msg::{RequestAnswer, Slot},
        sample::{claim, history, id},
        state::{Tone, inbox::ItemId, why::WhyChain},
    },
};

fn inbox_at(size: (u16, u16), wanted: &ItemId) -> AppState {
    let mut state = screen(size, Screen::Inbox);
    for _ in 0..30 {
        if state.inbox.anchor() == Some(wanted) {
            break;
        }
        press(&mut state, "j");
    }
    assert_eq!(state.inbox.anchor(), Some(wanted));
    state
}

#[test]
fn each_sort_of_thing_in_the_inbox() {
    use crate::domain::EventId;
    let items = [
        ("card", crate::tui::sample::screens::inbox_card(1)),
        ("review", ItemId::Review(id(40))),
        ("warned", ItemId::Notice(EventId([0x51; 32]))),
        ("quarantined", ItemId::Quarantined(EventId([0x53; 32]))),
    ];
    for (name, thing) in items {
        for size in [(120, 40), (80, 24)] {
            shot(&format!("inbox_{name}_{}x{}", size.0, size.1), &mut inbox_at(size, &thing));
        }
    }
    let mut state = inbox_at((60, 16), &ItemId::Review(id(40)));
    press(&mut state, "enter");
    shot("inbox_review_60x16", &mut state);
}

#[test]
fn styles_of_the_inbox_with_and_without_colours() {
    let mut state = inbox_at((100, 24), &ItemId::Review(id(40)));
    insta::assert_snapshot!("inbox_styled_ansi", format!("{:?}", frame(&mut state, &Theme::ansi(true))));
    let mono = frame(&mut state, &Theme::mono(false));
    insta::assert_snapshot!("inbox_styled_mono", format!("{mono:?}"));
    for which in [Screen::Timeline, Screen::Models] {
        let mut state = screen((100, 24), which);
        let name = format!("{}_styled_ansi", which.title().to_lowercase());
        insta::assert_snapshot!(name, format!("{:?}", frame(&mut state, &Theme::ansi(true))));
    }
}

/// A claim that merged two, which had both replaced the same one.
fn forked_chain() -> WhyChain {
    let mut history = history();
    let (mut merged, mut left, mut right) = (
        claim(20, "Deploy on green CI and an approved review"),
        claim(21, "Deploy on green CI"),
        claim(22, "Deploy after a review"),
    );
    let root = claim(23, "Deploy every Friday");
    for old in [&mut left, &mut right] {
        old.status = crate::domain::Status::Superseded;
        old.replaced_by = vec![merged.id];
        old.replaces = vec![root.id];
    }
    let mut root = root;
    root.status = crate::domain::Status::Superseded;
    root.flags.contested = true;
    root.replaced_by = vec![left.id, right.id];
    merged.replaces = vec![left.id, right.id];
    let link = |claim: &crate::api::ClaimView, depth, by: Option<crate::domain::ClaimId>, why: &str| ChainLink {
        claim: claim.clone(),
        depth,
        replaced_by: by,
        change_reason: by.map(|_| why.to_owned()),
        changed_by: by.map(|_| "max".to_owned()),
        changed_on: None,
        changed_at: by.map(|_| crate::tui::sample::NOW - 7_200_000),
    };
    history.chain = vec![
        link(&merged, 0, None, ""),
        link(&left, 1, Some(merged.id), "Both are needed."),
        link(&right, 1, Some(merged.id), "Both are needed."),
        link(&root, 2, Some(left.id), "Fridays are over."),
    ];
    history.claim = merged;
    WhyChain::from(history)
}

#[test]
fn forks_and_merges_stand_on_rails_of_their_own() {
    for size in [(100, 40), (60, 16)] {
        let mut state = screen(size, Screen::Why);
        state.why.accept(forked_chain());
        for (n, drift) in [(20, Drift::Same), (21, Drift::Moved(31)), (22, Drift::Changed), (23, Drift::Gone)] {
            state.why.drifts.insert(id(n), drift);
        }
        shot(&format!("why_web_{}x{}", size.0, size.1), &mut state);
    }
    let mut state = screen((80, 24), Screen::Why);
    state.why.accept(forked_chain());
    insta::assert_snapshot!("why_web_ascii_80x24", text(&frame(&mut state, &Theme::mono(false))));
}

#[test]
fn no_half_word_stays_beside_a_message() {
    let mut state = screen((80, 24), Screen::Cards);
    press(&mut state, "enter");
    let long = text(&frame(&mut state, &Theme::ansi(true)));
    let _wake = state.toast(Tone::Warn, "Careful");
    let _wake = state.toast(Tone::Done, "Stored");
    let shown = text(&frame(&mut state, &Theme::ansi(true)));
    let at = shown.lines().position(|line| line.contains("Careful")).unwrap();
    let below = long.lines().nth(at).unwrap();
    assert!(below.trim_matches(['│', ' ']).len() > 20, "{long}");
    assert_eq!(shown.lines().nth(at).unwrap().trim_matches(['│', ' ', '!']), "Careful", "{shown}");
}

#[test]
fn with_ascii_nothing_of_ergos_own_is_beyond_it() {
    for each in Screen::TABS {
        let shown = text(&frame(&mut screen((80, 24), each), &Theme::mono(false)));
        assert!(!shown.contains(['…', '“', '”', '│', '·']), "{shown}");
    }
}

#[test]
fn the_tour_fits_every_screen() {
    for size in [(120, 40), (80, 24), (60, 16)] {
        let mut state = screen(size, Screen::Inbox);
        press(&mut state, "ctrl-t");
        for page in 1..=3 {
            shot(&format!("tour_{page}_{}x{}", size.0, size.1), &mut state);
            press(&mut state, "enter");
        }
    }
}

#[test]
fn the_detail_of_an_import_has_the_title_of_its_group() {
    let mut view = crate::tui::sample::screens::after_import();
    for item in view.groups.iter_mut().flat_map(|group| &mut group.items) {
        if let crate::api::InboxItem::Card(card) = item {
            card.accept = Some(crate::api::CardAct::Supersede);
        }
    }
    let mut state = screen((120, 40), Screen::Inbox);
    state.inbox = crate::tui::state::InboxState::default();
    state.inbox.accept(view);
    press(&mut state, "j");
    let shown = text(&frame(&mut state, &Theme::mono(true)));
    assert!(shown.contains("Writes proposed by agents 4"), "{shown}");
    assert!(shown.contains("Writes proposed by agents: 3 from an import"), "{shown}");
}

#[test]
fn what_an_import_left_is_a_row_that_opens_and_marks_are_seen() {
    for size in [(120, 40), (80, 24), (60, 16)] {
        let named = |name: &str| format!("{name}_{}x{}", size.0, size.1);
        let mut state = screen(size, Screen::Inbox);
        state.inbox = crate::tui::state::InboxState::default();
        state.inbox.accept(crate::tui::sample::screens::after_import());
        press(&mut state, "j");
        shot(&named("import_closed"), &mut state);
        press(&mut state, "enter space g space");
        shot(&named("import_marked"), &mut state);
        press(&mut state, "j b");
        shot(&named("import_form"), &mut state);
    }
}

#[test]
fn why_the_guard_thinks_so_is_one_key_away() {
    for size in [(120, 40), (80, 24)] {
        let mut state = screen(size, Screen::Inbox);
        press(&mut state, "j enter i");
        shot(&format!("card_details_{}x{}", size.0, size.1), &mut state);
    }
}

#[test]
fn every_tab_has_its_name_on_eighty_columns() {
    let mut state = screen((80, 24), Screen::Inbox);
    let shown = text(&frame(&mut state, &Theme::ansi(true)));
    let first = shown.lines().next().unwrap();
    for each in Screen::TABS {
        assert!(first.contains(each.title()), "{first}");
    }
}

#[test]
fn empty_screens_say_the_next_step() {
    for which in [Screen::Inbox, Screen::Timeline] {
        let mut state = screen((80, 24), which);
        let (slot, nothing) = match which {
            Screen::Inbox => (Slot::Inbox, RequestAnswer::Inbox(Inbox::default())),
            _ => (Slot::Timeline, RequestAnswer::Log(LogPage::default())),
        };
        if let Some(acts) = state.acts_mut() {
            acts.list.restart();
            assert!(acts.list.need().is_some());
        }
        state.inbox = crate::tui::state::InboxState::default();
        let ticket = state.ticket(slot);
        step(&mut state, Msg::Reply(ticket, Ok(nothing)));
        shot(&format!("empty_{}_80x24", which.title().to_lowercase()), &mut state);
    }
}

#[test]
fn a_chain_of_a_thousand_is_walked_to_its_end() {
    let mut history = history();
    let mut claims: Vec<_> = (0..1_000_u64)
        .map(|n| {
            let mut claim = claim(1, &format!("step {n}"));
            claim.id.0[..8].copy_from_slice(&(n + 1).to_be_bytes());
            claim
        })
        .collect();
    for n in 1..claims.len() {
        claims[n].status = crate::domain::Status::Superseded;
        claims[n].replaced_by = vec![claims[n - 1].id];
        let older = claims[n].id;
        claims[n - 1].replaces = vec![older];
    }
    history.chain = claims
        .iter()
        .enumerate()
        .map(|(n, claim)| ChainLink {
            claim: claim.clone(),
            depth: n,
            replaced_by: claim.replaced_by.first().copied(),
            change_reason: (n > 0).then(|| "it moved on".into()),
            changed_by: None,
            changed_on: None,
            changed_at: None,
        })
        .collect();
    history.claim = claims[0].clone();
    let mut state = screen((80, 24), Screen::Why);
    state.why.accept(WhyChain::from(history));
    press(&mut state, "G");
    for _ in 0..40 {
        if state.why.current_claim().is_some_and(|claim| claim.statement == "step 999") {
            break;
        }
        press(&mut state, "k");
    }
    let shown = text(&frame(&mut state, &Theme::ansi(true)));
    assert!(shown.contains("step 999"), "{shown}");
}

#[test]
fn what_has_the_words_and_what_is_near_stand_apart() {
    for size in [(200, 60), (120, 40), (80, 24), (60, 16)] {
        let mut state = screen(size, Screen::Claims);
        press(&mut state, "/ c a n a r y enter G k");
        shot(&format!("near_{}x{}", size.0, size.1), &mut state);
    }
    let mut state = screen((100, 24), Screen::Claims);
    press(&mut state, "/ s t a g i n g enter");
    insta::assert_snapshot!("near_styled_mono", format!("{:?}", frame(&mut state, &Theme::mono(false))));
}

#[test]
fn a_scope_and_what_setup_would_write_are_pages() {
    for size in [(200, 60), (120, 40), (80, 24), (60, 16)] {
        let mut state = screen(size, Screen::Claims);
        press(&mut state, "P");
        shot(&format!("page_{}x{}", size.0, size.1), &mut state);
        press(&mut state, "esc 7 i");
        let shown = text(&frame(&mut state, &Theme::ansi(true)));
        assert!(shown.contains("Preview: changes to the agents' files"), "{shown}");
        shot(&format!("setup_{}x{}", size.0, size.1), &mut state);
    }
}

#[test]
fn what_is_found_on_a_page_is_marked_and_in_view() {
    for size in [(120, 40), (80, 24), (60, 16)] {
        let mut state = screen(size, Screen::Claims);
        press(&mut state, "P / s o r t space 2");
        shot(&format!("page_typing_{}x{}", size.0, size.1), &mut state);
        press(&mut state, "enter N");
        shot(&format!("page_found_{}x{}", size.0, size.1), &mut state);
    }
}

#[test]
fn a_card_says_which_words_are_marked() {
    let mut state = screen((120, 40), Screen::Cards);
    let open = state.conflicts.card.as_mut().unwrap();
    open.view.sides[1].claim.statement = "Blue for the canary.\nIt takes a tenth of all users".into();
    open.compare(1);
    let theme = Theme::mono(false);
    let mut marked = Vec::new();
    for says in
        ["", "Every word that differs is highlighted. W highlights none", "Nothing is highlighted. W highlights"]
    {
        let buffer = frame(&mut state, &theme);
        let underlined = |cell: &&ratatui::buffer::Cell| cell.modifier.contains(theme.side_b.add_modifier);
        marked.push(buffer.content().iter().filter(underlined).count());
        let shown = text(&buffer);
        let whole: Vec<&str> = shown.split_whitespace().filter(|word| !word.starts_with('│')).collect();
        assert!(whole.join(" ").contains(says), "{shown}");
        // Only unhighlighted text keeps its line breaks.
        assert_eq!(shown.contains("Blue for the canary.  "), says.contains("Nothing"), "{shown}");
        press(&mut state, "W");
    }
    assert!(marked[0] < marked[1] && marked[2] < marked[0], "{marked:?}");
}

#[test]
fn scopes_that_were_not_asked_are_mentioned() {
    for size in [(120, 40), (80, 24), (60, 16)] {
        let mut state = screen(size, Screen::Claims);
        press(&mut state, "/ c a n a r y enter");
        state.claims.related.scopes_asked = 40;
        state.claims.related.unanswered.timed_out = 28;
        shot(&format!("unasked_{}x{}", size.0, size.1), &mut state);
        let error = |project: &str| (crate::tui::sample::scope(project), "the store is locked".to_owned());
        state.claims.related.unanswered.failed = vec![error("web"), error("ios")];
        shot(&format!("unasked_failed_{}x{}", size.0, size.1), &mut state);
    }
}

#[test]
fn what_an_agent_was_refused_and_was_given() {
    for size in [(200, 60), (120, 40), (80, 24), (60, 16)] {
        let mut state = screen(size, Screen::Agents);
        press(&mut state, "enter f f");
        shot(&format!("agents_given_{}x{}", size.0, size.1), &mut state);
    }
    let mut state = screen((80, 24), Screen::Agents);
    state.agents = crate::tui::state::AgentsState::default();
    let ticket = state.ticket(Slot::Agents);
    step(&mut state, Msg::Reply(ticket, Ok(RequestAnswer::Agents(crate::api::Agents::default()))));
    shot("empty_agents_80x24", &mut state);
    let mut state = screen((120, 40), Screen::Agents);
    state.agents = crate::tui::state::AgentsState::default();
    let own = crate::api::AgentView { agent: "ergo notes".into(), wrote: 3, ..crate::api::AgentView::default() };
    let ticket = state.ticket(Slot::Agents);
    let answer = crate::api::Agents { items: vec![own], ..crate::api::Agents::default() };
    step(&mut state, Msg::Reply(ticket, Ok(RequestAnswer::Agents(answer))));
    let shown = text(&frame(&mut state, &Theme::mono(false)));
    assert!(shown.contains("built in") && shown.contains("part of ergo") && !shown.contains("not possible"), "{shown}");
}

#[test]
fn reading_in_has_a_bar_while_it_lasts() {
    for size in [(120, 40), (80, 24), (60, 16)] {
        let mut state = screen(size, Screen::Models);
        for (claims, chunks) in [(12, 340), (0, 96)] {
            let mut diagnose = crate::tui::sample::screens::diagnose();
            (diagnose.unembedded.claims, diagnose.unembedded.chunks) = (claims, chunks);
            diagnose.problems.clear();
            let ticket = state.ticket(Slot::Diagnose);
            step(&mut state, Msg::Reply(ticket, Ok(RequestAnswer::Diagnose(Box::new(diagnose)))));
        }
        shot(&format!("reading_in_{}x{}", size.0, size.1), &mut state);
    }
}
