//! A text over the screen: a scope on a page, and what setup would write.

use super::reads;
use crate::{
    api::SnapshotQuery,
    tui::{
        action::Action,
        key::KeyPress,
        msg::{Effect, Failure, Read, Slot, Write},
        state::{
            Overlay, State, Tone,
            overlay::Confirm,
            page::{About, Page},
        },
    },
};

/// About how many tokens a page has: more than an agent is given, since a person scrolls.
const TOKENS: usize = 4_000;

/// Opens a page, and asks for its text.
pub(super) fn open(state: &mut State, about: About, out: &mut Vec<Effect>) {
    let request = match &about {
        About::Snapshot(scope) => Read::Snapshot(SnapshotQuery {
            org_id: scope.org_id.clone(),
            project: scope.project.clone(),
            tokens: Some(TOKENS),
            ..SnapshotQuery::default()
        }),
        About::Setup { remove } => Read::Setup { remove: *remove },
    };
    state.overlay = Some(Overlay::Page(Box::new(Page::new(about))));
    reads::read(state, Slot::Page, request, out);
}

/// Takes the text of the page that is open.
pub(super) fn accept(state: &mut State, text: String, note: String) {
    if let Some(Overlay::Page(page)) = &mut state.overlay {
        (page.text, page.note, page.trouble) = (Some(text), note, None);
    }
}

/// The text could not be read.
pub(super) fn failed(state: &mut State, failure: &Failure) {
    if let Some(Overlay::Page(page)) = &mut state.overlay {
        page.trouble = Some((failure.message.clone(), failure.hint.clone().unwrap_or_default()));
    }
}

/// Does an act of a page.
pub(super) fn perform(state: &mut State, id: Action, key: Option<KeyPress>, out: &mut Vec<Effect>) {
    let Some(Overlay::Page(page)) = &state.overlay else { return };
    match id {
        Action::PageClose => state.overlay = None,
        Action::PageCopy => {
            if let Some(text) = page.text.clone() {
                out.push(Effect::Copy(text));
                out.push(state.toast(Tone::Info, "Copied the page."));
            }
        }
        Action::PageApply => {
            if let About::Setup { remove } = page.about {
                let files = page.text.iter().flat_map(|text| text.lines()).filter(|line| line.starts_with("+++ "));
                let files = match files.count() {
                    1 => "one file".to_owned(),
                    n => format!("{n} files"),
                };
                let (question, effect) = if remove {
                    (
                        "Take ergo out of these files?",
                        format!("{files} will be as before setup, where nobody changed them since."),
                    )
                } else {
                    (
                        "Write into these files?",
                        format!("{files} will change. They are kept as they were; ergo setup --remove takes it back."),
                    )
                };
                let write = Write::Setup { remove };
                state.overlay = Some(Overlay::Confirm(Confirm::new(question, effect, "Write", write, key)));
            }
        }
        _ => {}
    }
}
