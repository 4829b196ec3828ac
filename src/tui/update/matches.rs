//! Moves between search matches.

use super::{claims, motion::Motion};
use crate::tui::{
    hits::Pane,
    msg::Effect,
    search_words::SearchWords,
    state::{
        AppState, Screen, Tone,
        story::StoryRow,
        why::{Node, WhyChain},
    },
};

/// Goes to the next or previous match on the screen. If there is none, a message says so.
pub(super) fn step(state: &mut AppState, forward: bool, out: &mut Vec<Effect>) {
    let words = state.claims.words();
    let missed = match state.screen {
        Screen::Why => in_chain(state, &words, forward),
        Screen::Timeline if state.timeline.story.is_some() => in_story(state, &words, forward),
        Screen::Timeline => among_acts(state, &words, forward),
        _ => in_list(state, forward),
    };
    if let Some(text) = missed {
        out.push(state.toast(Tone::Info, text));
    }
}

/// Goes to the next or previous row: every row of the list matches the search, and so do the related claims below it.
fn in_list(state: &mut AppState, forward: bool) -> Option<String> {
    let before = state.claims.row();
    let height = state.hits.height(Pane::Claims);
    claims::move_cursor(state, Motion::By(if forward { 1 } else { -1 }), height);
    (state.claims.row() == before).then(|| no_match(forward))
}

fn in_chain(state: &mut AppState, words: &SearchWords, forward: bool) -> Option<String> {
    let here = state.why.current().map_or(0, |(index, _)| index);
    let nodes = state.why.shown().map(WhyChain::nodes).unwrap_or_default();
    let has = |at: &usize| match nodes.get(*at) {
        Some(Node::Claim { claim, .. }) => {
            let texts = [Some(&claim.statement), claim.reason.as_ref(), claim.source.as_ref()];
            words.all_in(texts.into_iter().flatten().map(String::as_str))
        }
        Some(Node::Card(card)) => words.all_in([card.headline.as_str()]),
        None => false,
    };
    let found = if forward { (here + 1..nodes.len()).find(has) } else { (0..here).rev().find(has) };
    let Some(found) = found else { return Some(no_match(forward)) };
    state.why.step(found.cast_signed() - here.cast_signed());
    None
}

fn among_acts(state: &mut AppState, words: &SearchWords, forward: bool) -> Option<String> {
    let height = state.hits.height(Pane::Acts);
    let all = state.keys.say("{last} loads all");
    let again = if forward { "{next_match} continues" } else { "{prev_match} continues" };
    let again = state.keys.say(again);
    let acts = state.acts_mut()?;
    let stops = |at: &usize| {
        acts.list.get(*at).is_none_or(|event| {
            let texts = [&event.statement, &event.about, &event.reason];
            words.all_in(texts.into_iter().flatten().map(String::as_str))
        })
    };
    let (here, known) = (acts.list.cursor(), acts.list.known());
    // Stops at the first match, or at the first act that is not in memory.
    let found = if forward { (here + 1..known).find(stops) } else { (0..here).rev().find(stops) };
    if let Some(found) = found {
        let is_loaded = acts.list.get(found).is_some();
        // The cursor stops before an act that is not loaded, so that the next step checks it.
        let place = if is_loaded { found } else { found.saturating_add_signed(if forward { -1 } else { 1 }) };
        acts.list.place(place, height);
        acts.scroll = 0;
        return (!is_loaded).then(|| format!("No match so far; more changes are loading: {again}."));
    }
    // Older acts are loaded as the cursor moves down.
    let rest = forward && !acts.list.is_whole();
    Some(if rest {
        format!("No further match in the {known} changes loaded so far: {all}.")
    } else {
        no_match(forward)
    })
}

fn in_story(state: &mut AppState, words: &SearchWords, forward: bool) -> Option<String> {
    let story = state.timeline.story.as_mut()?;
    let found = {
        let rows = story.rows();
        let has = |at: &usize| match rows.get(*at) {
            Some(StoryRow::Mark(mark)) => words.all_in([mark.question.as_str()]),
            Some(StoryRow::Claim(claim)) => {
                words.all_in([Some(claim.statement.as_str()), claim.reason.as_deref()].into_iter().flatten())
            }
            None => false,
        };
        let here = story.row();
        if forward { (here + 1..rows.len()).find(has) } else { (0..here).rev().find(has) }
    };
    let Some(found) = found else { return Some(no_match(forward)) };
    story.place(found);
    None
}

fn no_match(forward: bool) -> String {
    if forward { "This was the last match.".to_owned() } else { "This was the first match.".to_owned() }
}
