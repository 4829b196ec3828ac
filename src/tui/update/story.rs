//! The Timeline as a story: showing it, navigation, and the way from a mark to its card.

use super::{conflicts, global, motion::Motion, reads, why};
use crate::{
    domain::ClaimId,
    tui::{
        hits::Pane,
        msg::{Effect, ReadRequest, Slot},
        state::{
            AppState, Focus, Screen,
            story::{StoryRow, StoryState},
            why::Subject,
        },
    },
};

/// Shows the claims of the scope as a story, or the acts again.
pub(super) fn toggle(state: &mut AppState) {
    let scope = global::scope_of_act(state);
    global::go(state, Screen::Timeline);
    state.timeline.focus = Focus::List;
    state.timeline.story = match state.timeline.story {
        Some(_) => None,
        None => Some(StoryState::new(scope)),
    };
}

/// Requests the shown story if it was not read yet, or should be read again.
pub(super) fn request(state: &mut AppState, out: &mut Vec<Effect>) {
    let waits = state.waits(Slot::Story);
    let (shown, now) = (state.scope.clone(), state.now);
    let AppState { timeline, settings, .. } = state;
    let Some(story) = &mut timeline.story else { return };
    if let Some(scope) = shown.filter(|scope| *scope != story.scope) {
        *story = StoryState::new(scope);
    }
    let query = story.query(story.span.begin(settings.last_here, now, &settings.zone));
    let fresh = story.asked.as_ref() == Some(&query);
    // The answer to another query must not be shown as this story, so that query is not waited for.
    if fresh && (waits || !state.requests.story) {
        return;
    }
    story.asked = Some(query.clone());
    state.requests.story = false;
    reads::read(state, Slot::Story, ReadRequest::Story(query), out);
}

pub(super) fn place(state: &mut AppState, row: usize) {
    if let Some(story) = &mut state.timeline.story {
        story.place(row);
    }
}

/// Moves in a pane of the story.
pub(super) fn shift(state: &mut AppState, pane: Pane, motion: Motion) {
    let overflow = state.hits.overflow(pane);
    let Some(story) = &mut state.timeline.story else { return };
    if pane == Pane::Story {
        let last = story.rows().len().saturating_sub(1);
        story.place(motion.apply(story.row(), last));
    } else {
        motion.scroll(&mut story.scroll, overflow);
    }
}

/// Opens the row under the cursor in full; from there, goes to its card or why-chain.
pub(super) fn open(state: &mut AppState) {
    if state.timeline.focus == Focus::List {
        state.timeline.focus = Focus::Detail;
        return;
    }
    to_card(state);
}

/// Goes to the card of the mark under the cursor; if there is none, to the why-chain of the mark's newest claim.
pub(super) fn to_card(state: &mut AppState) {
    if let Some(card) = state.timeline.story.as_ref().and_then(StoryState::mark).and_then(|mark| mark.card) {
        return conflicts::show(state, card.to_hex());
    }
    let claim: Option<ClaimId> = match state.timeline.story.as_ref().and_then(StoryState::current) {
        Some(StoryRow::Mark(mark)) => mark.claims.last().copied(),
        Some(StoryRow::Claim(claim)) => Some(claim.id),
        None => None,
    };
    if let Some(claim) = claim {
        why::show(state, Subject::Claim(claim.to_hex()));
    }
}
