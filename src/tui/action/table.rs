//! The table itself.

use super::{
    Action::{self, *},
    ActionSpec, Danger,
    KeyScope::{self, *},
    enabled as can,
};
use crate::tui::state::State;

/// One row without danger to the memory.
const fn plain(
    id: Action,
    scope: KeyScope,
    keys: &'static [&'static str],
    short: &'static str,
    title: &'static str,
    help: &'static str,
    enabled: fn(&State) -> Result<(), String>,
) -> ActionSpec {
    ActionSpec { id, title, short, help, keys, scope, danger: Danger::None, enabled }
}

/// One row that changes the memory, and that undo reverses.
const fn acts(
    id: Action,
    scope: KeyScope,
    keys: &'static [&'static str],
    short: &'static str,
    title: &'static str,
    help: &'static str,
    enabled: fn(&State) -> Result<(), String>,
) -> ActionSpec {
    ActionSpec { id, title, short, help, keys, scope, danger: Danger::Undoable, enabled }
}

/// Every act. Within a scope the order is that of the footer and the palette.
pub static ACTIONS: &[ActionSpec] = &[
    acts(KeepA, Conflicts, &["a"], "keep A", "Keep A", "A stays and supersedes the other side; the reason is prefilled.", can::keep_a),
    acts(KeepB, Conflicts, &["b"], "keep B", "Keep B", "The side shown as B stays and supersedes the others; the reason is prefilled.", can::keep_b),
    acts(Merge, Conflicts, &["m"], "merge", "Merge", "Write one claim that replaces both sides.", can::merge),
    acts(Retract, Conflicts, &["r"], "retract", "Retract a side", "Take a side out as wrong at birth, with a reason.", can::retract_side),
    acts(Narrow, Conflicts, &["o"], "only in…", "Narrow: only in…", "Say where or when a side holds (environment, team, tenant, dates), so that both hold.", can::narrow),
    acts(Exception, Conflicts, &["x"], "both", "Keep both as an exception", "Both stay, with a justification on the record.", can::exception),
    acts(Dismiss, Conflicts, &["d"], "dismiss", "Dismiss", "Not a contradiction: a held candidate is stored, and this pair never blocks again.", can::dismiss),
    acts(Discard, Conflicts, &["D"], "discard", "Discard the candidate", "Drop the refused write; nothing is stored.", can::discard),
    acts(Snooze, Conflicts, &["z"], "snooze", "Snooze", "Put the card off for a while, on this machine only.", can::snooze),
    plain(NextCard, Conflicts, &["n", "]"], "next", "Next card", "Go to the next card.", can::has_cards),
    plain(PrevCard, Conflicts, &["N", "["], "", "Previous card", "Go to the card before.", can::has_cards),
    plain(CardWhy, Conflicts, &["w"], "why", "Why", "Open the why-chain of the stored claim on this card.", can::card_why),
    plain(OtherSide, Conflicts, &["v"], "", "Compare with another side", "Where a card has more than two sides, compare A with the next of them.", can::other_side),
    plain(CardFilter, Conflicts, &["f"], "filter", "Filter cards", "Show open, snoozed, settled or all cards.", can::always),
    //
    plain(Search, Claims, &["/"], "search", "Search", "Search statements, reasons and sources; the daemon does the work, the total is shown.", can::always),
    plain(StatusFilter, Claims, &["f"], "status", "Filter by status", "Show active, superseded, retracted or all claims.", can::always),
    plain(KindFilter, Claims, &["F"], "kind", "Filter by kind", "Show one kind of claim, or all.", can::always),
    plain(ReviewFilter, Claims, &["V"], "", "Only what needs review", "Show only claims whose premises changed, or all again.", can::always),
    //
    plain(Ask, Why, &["/"], "ask", "Ask why", "Ask a question in words; the best reasoned claim answers.", can::always),
    //
    plain(ClaimWhy, Claim, &["w"], "why", "Why", "Open the claim's why-chain: what it replaced, the reasons, what rests on it.", can::claim),
    acts(ClaimSupersede, Claim, &["e"], "supersede", "Supersede", "The world changed: write the claim that takes its place. The guard checks it.", can::active_claim),
    acts(ClaimRetract, Claim, &["r"], "retract", "Retract", "Wrong at birth: take the claim out, with a reason. It stays in history.", can::active_claim),
    acts(ClaimReinstate, Claim, &["i"], "reinstate", "Reinstate", "Bring a superseded or retracted claim back, with a reason.", can::past_claim),
    acts(ClaimReviewed, Claim, &["v"], "reviewed", "Mark as reviewed", "It still holds although a premise changed: record that, with a reason.", can::needs_review),
    ActionSpec {
        id: ClaimRedact,
        title: "Redact",
        short: "",
        help: "Drop the claim's text everywhere, for a secret that was pasted. The record stays; the text never comes back.",
        keys: &["X"],
        scope: Claim,
        danger: Danger::Final,
        enabled: can::redactable,
    },
    //
    plain(Up, Move, &["k", "up"], "", "Up", "One row up, or scroll.", can::always),
    plain(Down, Move, &["j", "down"], "", "Down", "One row down, or scroll.", can::always),
    plain(PageUp, Move, &["pgup", "ctrl-b", "ctrl-u"], "", "Page up", "One screen up.", can::always),
    plain(PageDown, Move, &["pgdn", "ctrl-f", "ctrl-d", "space"], "", "Page down", "One screen down.", can::always),
    plain(First, Move, &["g", "home"], "", "First", "To the first row.", can::always),
    plain(Last, Move, &["G", "end"], "", "Last", "To the last row; pages are fetched on the way.", can::always),
    plain(Left, Move, &["h", "left"], "", "Left", "To the pane on the left.", can::always),
    plain(Right, Move, &["l", "right"], "", "Right", "To the pane on the right.", can::always),
    plain(NextPane, Move, &["tab"], "", "Next pane", "To the next pane.", can::always),
    plain(PrevPane, Move, &["shift-tab"], "", "Previous pane", "To the pane before.", can::always),
    plain(Open, Move, &["enter"], "open", "Open", "Open what is under the cursor.", can::always),
    //
    acts(Undo, Global, &["u"], "undo", "Undo", "Take back the last act; undo is itself an act, and U takes it back.", can::undo),
    acts(Redo, Global, &["U"], "", "Redo", "Take back the last undo.", can::redo),
    plain(Palette, Global, &["?", ":", "ctrl-p"], "help", "Help and all acts", "Search every act by name; shows its key, and why it cannot be done now.", can::always),
    plain(ShowConflicts, Global, &["1"], "", "Conflicts", "Go to the cards that wait for a decision.", can::always),
    plain(ShowClaims, Global, &["2"], "", "Claims", "Go to the claims.", can::always),
    plain(ShowWhy, Global, &["3"], "", "Why", "Go to the why-chain.", can::always),
    plain(Back, Global, &["esc", "backspace"], "", "Back", "Back to where you came from.", can::always),
    plain(AllScopes, Global, &["S"], "", "All scopes or this one", "Show everything, or only the scope in hand.", can::always),
    acts(Audit, Global, &["A"], "", "Audit", "Compare what is already active in the scope, and open a card for each contradiction.", can::audit),
    plain(CopyLink, Global, &["y"], "", "Copy a link", "Copy the command that opens this card or claim.", can::link),
    plain(Start, Global, &["s"], "start", "Start the daemon", "Start the daemon where none is running.", can::start),
    plain(Reload, Global, &["ctrl-r", "ctrl-l"], "", "Reload", "Read everything again and repaint.", can::always),
    plain(Log, Global, &["@"], "", "Log", "Everything this session did and was told, each act with its command line.", can::always),
    plain(Mouse, Global, &["M"], "", "Mouse on or off", "Let the mouse click and scroll here, or leave it to the terminal.", can::always),
    plain(Suspend, Global, &["ctrl-z"], "", "Suspend", "Back to the shell; `fg` returns.", can::always),
    plain(Quit, Global, &["q", "ctrl-c"], "quit", "Quit", "Leave the app.", can::always),
    //
    plain(Submit, Form, &["ctrl-s"], "save", "Save", "Do it. In the last field, enter does the same.", can::always),
    plain(NextField, Form, &["tab"], "next field", "Next field", "To the next field.", can::always),
    plain(PrevField, Form, &["shift-tab"], "", "Previous field", "To the field before.", can::always),
    plain(NewLine, Form, &["alt-enter", "ctrl-j"], "", "New line", "Begin a new line in the text.", can::always),
    plain(Editor, Form, &["ctrl-o"], "editor", "Open in an editor", "Write the text in $VISUAL or $EDITOR.", can::always),
    plain(Cancel, Form, &["esc"], "cancel", "Cancel", "Close the form; what was written is kept until the app ends.", can::always),
    //
    plain(Pick, KeyScope::Pick, &["enter"], "choose", "Choose", "Do what is under the cursor.", can::always),
    plain(PickUp, KeyScope::Pick, &["up", "ctrl-p", "ctrl-k"], "", "Up", "One row up.", can::always),
    plain(PickDown, KeyScope::Pick, &["down", "ctrl-n", "ctrl-j"], "", "Down", "One row down.", can::always),
    plain(PickPageUp, KeyScope::Pick, &["pgup"], "", "Page up", "One screen up.", can::always),
    plain(PickPageDown, KeyScope::Pick, &["pgdn"], "", "Page down", "One screen down.", can::always),
    plain(Close, KeyScope::Pick, &["esc", "ctrl-c"], "close", "Close", "Back to the screen.", can::always),
    //
    plain(Yes, Confirm, &["y"], "yes", "Yes", "Do it.", can::always),
    plain(No, Confirm, &["n", "esc", "ctrl-c", "q"], "no", "No", "Do nothing.", can::always),
    plain(SwitchButton, Confirm, &["tab", "shift-tab", "left", "right", "h", "l"], "", "Other button", "Move between the buttons; Cancel is first.", can::always),
    plain(PressButton, Confirm, &["enter"], "", "Press the button", "Press the button that has the focus.", can::always),
];
