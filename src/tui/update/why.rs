//! The Why screen: questions, and navigation in the chain.

use super::{conflicts, prompt};
use crate::tui::state::{AppState, Screen, overlay::PromptPurpose, why::Subject};

/// Goes to the Why screen with a subject.
pub(super) fn show(state: &mut AppState, subject: Subject) {
    if state.screen != Screen::Why {
        state.back.push(state.screen);
        state.screen = Screen::Why;
        state.why.past.clear();
    } else if let Some(before) = state.why.subject.clone()
        && before != subject
    {
        state.why.past.push(before);
    }
    set(state, subject);
}

/// Changes the subject. The old chain is shown until the answer arrives.
pub(super) fn set(state: &mut AppState, subject: Subject) {
    if state.why.subject.as_ref() != Some(&subject) {
        state.why.place(None);
    }
    state.why.subject = Some(subject);
    state.why.error = None;
    state.requests.why = true;
}

/// Opens the item under the cursor: the chain of another claim, or a card. If there is none, opens the prompt for a
/// question.
pub(super) fn open(state: &mut AppState) {
    if let Some(card) = state.why.current_card() {
        conflicts::show(state, card.to_hex());
    } else if let Some(claim) = state.why.current_claim().map(|claim| claim.id) {
        let shown = state.why.chain.as_ref().and_then(|chain| chain.answer.as_ref()).map(|claim| claim.id);
        if shown != Some(claim) {
            show(state, Subject::Claim(claim.to_hex()));
        }
    } else {
        prompt::open(state, PromptPurpose::Why);
    }
}
