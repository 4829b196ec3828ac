//! Handles the daemon's answers. Outdated ones are dropped; a failure is reported and loses nothing.

use super::{
    card_answers, claims, conflicts, cursor, form, held_write, inbox, judging, live, many, models, note_files, page,
    reads, teams, undo,
};
use crate::{
    api::{AuditOutcome, CardStatus, Done, Refused, RoundResult, Stored, WriteOutcome},
    client::known_scope,
    domain::{CardId, ClaimId, text::count},
    tui::{
        hits::Pane,
        msg::{Effect, FailureKind, RequestAnswer, RequestFailure, RequestId, Slot},
        state::{
            Acting, AppState, Daemon, Screen, SessionAct, Tone,
            conflicts::CardListFilter,
            form::{ClaimAct, FieldId, FormSubject},
            inbox::ItemId,
            why::WhyChain,
        },
        text,
    },
};

/// Handles an answer or a failure.
pub(super) fn reply(
    state: &mut AppState,
    ticket: RequestId,
    result: Result<RequestAnswer, RequestFailure>,
    out: &mut Vec<Effect>,
) {
    if !state.accept_answer(ticket) {
        return;
    }
    match result {
        Ok(answer) => {
            // These two answers come from files of this machine, not from the daemon.
            if !matches!(answer, RequestAnswer::Setup(_) | RequestAnswer::Injected(_)) {
                live::daemon_answered(state, out);
            }
            answered(state, ticket.slot, answer, out);
        }
        Err(mut failure) => {
            failure.message = text::short_ids(&failure.message);
            failed(state, ticket.slot, &failure, out);
        }
    }
}

fn answered(state: &mut AppState, slot: Slot, answer: RequestAnswer, out: &mut Vec<Effect>) {
    match answer {
        RequestAnswer::Health(health) => state.daemon = Daemon::Up { version: health.version },
        RequestAnswer::Scopes(scopes) => {
            state.scopes = scopes.items;
            let known = known_scope(&state.settings.scope, &state.settings.identities, &state.scopes);
            let before = std::mem::replace(&mut state.home, known);
            // The daemon may know the project by another name than its folder.
            if state.scope.as_ref() == Some(&before.0) && before.0 != state.home.0 {
                state.scope = Some(state.home.0.clone());
                claims::rescope(state);
            }
            claims::follow_scope(state);
        }
        RequestAnswer::Conflicts(page) => {
            let height = state.hits.height(Pane::Cards);
            // A card that someone else settled stays under the cursor until the cursor leaves it.
            let released = state.conflicts.released.take();
            let keep = state.conflicts.filter == CardListFilter::Open && released != state.conflicts.list.anchor();
            state.conflicts.list.accept(page.items, page.total, page.next, keep, height);
            if state.screen == Screen::Cards {
                state.conflicts.marks.keep_listed(&state.conflicts.list);
            }
            state.conflicts.error = None;
            if state.conflicts.list.is_empty() && state.conflicts.wanted.is_none() {
                state.conflicts.card = None;
                state.requests.asked_card = None;
            }
            conflicts::open_wanted(state);
        }
        RequestAnswer::Card(view) => card_answers::card(state, *view, out),
        RequestAnswer::Cards(views) => many::choose(state, &views),
        RequestAnswer::Claims(page) => {
            let height = state.hits.height(Pane::Claims);
            state.claims.accept(page, height);
        }
        RequestAnswer::History(history) => {
            state.why.accept(WhyChain::from(*history));
            reads::compare_sources(state, out);
        }
        RequestAnswer::Why(answer) => {
            state.why.accept(WhyChain::from(*answer));
            reads::compare_sources(state, out);
        }
        RequestAnswer::Inbox(view) if slot == Slot::InboxPage => inbox::accept_page(state, view, out),
        RequestAnswer::Inbox(view) => inbox::accept(state, view, out),
        RequestAnswer::Log(page) if slot == Slot::LastAct => undo::found(state, page, out),
        RequestAnswer::Log(page) if slot == Slot::AgentActs => {
            let height = state.hits.height(Pane::AgentActs);
            state.agents.list.accept(page.items, page.total, page.next, false, height);
            state.agents.list_error = None;
        }
        RequestAnswer::Log(page) => {
            let height = state.hits.height(Pane::Acts);
            state.timeline.list.accept(page.items, page.total, page.next, false, height);
            state.timeline.error = None;
        }
        RequestAnswer::Diagnose(diagnose) => {
            state.models.accept(diagnose, state.now);
            out.extend(state.models.again_at().map(Effect::Wake));
        }
        RequestAnswer::Recalled(answer, unanswered) => state.claims.related.accept(*answer, unanswered),
        RequestAnswer::Snapshot(snapshot) => {
            let whole = snapshot.shown == snapshot.claims;
            let note = if whole { String::new() } else { format!("{} of {}", snapshot.shown, snapshot.claims) };
            page::accept(state, snapshot.snapshot, note);
        }
        RequestAnswer::Ingested(files) => state.models.files = Some(files),
        RequestAnswer::Reembedded(done) => models::accept(state, done, out),
        RequestAnswer::Agents(view) => state.agents.accept(view),
        RequestAnswer::Notes(status) => state.notes.accept(*status),
        RequestAnswer::Insights(insights) => state.notes.accept_insights(*insights),
        RequestAnswer::NotesRun(run) => note_files::scanned(state, &run, out),
        RequestAnswer::NotesWritten(written) => note_files::written(state, &written, slot == Slot::Page, out),
        RequestAnswer::Story(story) => {
            if let Some(shown) = &mut state.timeline.story {
                shown.accept(*story);
            }
        }
        RequestAnswer::Doubts(doubts) => judging::accept(state, doubts),
        RequestAnswer::JudgedPairs(judged) => judging::stored(state, judged, out),
        RequestAnswer::Questions(questions) => held_write::found(state, questions, out),
        RequestAnswer::Injected(injected) => state.agents.accept_injected(injected),
        RequestAnswer::Setup(text) if slot == Slot::Page => page::accept(state, text, String::new()),
        RequestAnswer::Setup(text) => {
            state.acting = None;
            let last = text.lines().rfind(|line| !line.trim().is_empty()).unwrap_or("Setup has finished.");
            out.push(state.toast(Tone::Done, sentence(last)));
        }
        RequestAnswer::Team(done) => {
            state.acting = None;
            state.inbox.settle_acting();
            state.requests.sync = true;
            state.requests.inbox = true;
            out.push(state.toast(Tone::Done, sentence(&done.summary)));
        }
        RequestAnswer::Outcome(outcome) => {
            let acting = state.acting.take();
            match *outcome {
                WriteOutcome::Done(done) => self::done(state, done, acting.as_ref(), out),
                WriteOutcome::Stored(stored) => self::stored(state, stored, acting.as_ref(), out),
                WriteOutcome::Proposed(proposed) => {
                    form::close(state, acting.as_ref());
                    let summary = proposed.summary;
                    let act = SessionAct {
                        op: proposed.op_id,
                        scope: proposed.scope,
                        summary,
                        about: Vec::new(),
                        opens: false,
                        settled: 0,
                    };
                    out.push(state.toast(Tone::Warn, sentence(&act.summary)));
                    state.record_act(act);
                    live::refresh_all(state);
                }
                WriteOutcome::Consider(consider) => held_write::asked(state, consider, acting.as_ref(), out),
                WriteOutcome::Conflict(refused) => self::refused(state, &refused, acting.as_ref(), out),
                WriteOutcome::Stale(stale) => card_answers::stale(state, stale, acting.as_ref(), out),
            }
        }
        RequestAnswer::Many(answer) => many::answered(state, *answer, out),
        RequestAnswer::Undone(undone) => {
            judging::undone(state, undone.undone);
            undo::done(state, *undone, out);
        }
        RequestAnswer::Audited(audit) => audited(state, &audit, out),
        RequestAnswer::Sync(status, pending) => state.peers.accept(*status, pending.items),
        RequestAnswer::TeamMade(team) => teams::made(state, &team, out),
        RequestAnswer::Join(view) => teams::joining(state, &view, slot, out),
        RequestAnswer::Synced(round) => {
            state.acting = None;
            let pending = std::mem::take(&mut state.peers.pending);
            let in_step = round.peers.iter().all(|one| one.result == RoundResult::InStep);
            state.peers.accept(round.status, pending);
            state.requests.sync = true;
            out.push(state.toast(if in_step { Tone::Done } else { Tone::Warn }, round.summary));
        }
        RequestAnswer::Joined { name, accepted } => {
            state.acting = None;
            state.inbox.settle_acting();
            state.requests.sync = true;
            state.requests.inbox = true;
            let text = if accepted { format!("{name} is in the team.") } else { format!("{name} was denied.") };
            out.push(state.toast(Tone::Done, text));
        }
    }
}

/// Handles the success of an act.
fn done(state: &mut AppState, done: Done, acting: Option<&Acting>, out: &mut Vec<Effect>) {
    // A redaction cannot be undone, so no undo is offered.
    let final_act = matches!(acting, Some(Acting::Form(FormSubject::Claim { act: ClaimAct::Redact, .. })));
    form::close(state, acting);
    state.conflicts.marks.remove_rows(&state.inbox.acting);
    let (about, settled) = settle_rows(state, done.card_id);
    cursor::claims(state, &done.claims);
    let claims: Vec<ClaimId> = done.claims.iter().map(|claim| claim.id).collect();
    inbox::release(state, &claims);
    let place = state.scope_suffix(&done.scope);
    let (summary, until) = (done.summary.trim_end().trim_end_matches('.'), inbox::snoozed_until(state));
    let undo = if final_act { "" } else { "{undo} to undo" };
    out.push(state.toast_with(Tone::Done, format!("{summary}{until}{place}."), undo));
    if !final_act {
        let (op, scope, summary) = (done.op_id, done.scope, done.summary);
        state.record_act(SessionAct { op, scope, summary, about, opens: false, settled });
    }
    for warning in done.warnings {
        out.push(state.toast(Tone::Warn, warning.message));
    }
    if !done.needs_review.is_empty() {
        out.push(state.toast(Tone::Warn, need_review(done.needs_review.len())));
    }
    if let Some(card) = done.card_id {
        next_card(state, card);
    }
    live::refresh_all(state);
}

/// Settles the rows of an act in the Inbox. Returns the items on which it acted, and how many items it settled.
fn settle_rows(state: &mut AppState, card: Option<CardId>) -> (Vec<ItemId>, usize) {
    let before = state.inbox.settled;
    let items = state.inbox.settle_acting();
    (card.map_or(items, |card| vec![ItemId::Card(card)]), state.inbox.settled - before)
}

fn stored(state: &mut AppState, stored: Stored, acting: Option<&Acting>, out: &mut Vec<Effect>) {
    let names = StoredNames::of(state, acting);
    form::close(state, acting);
    if stored.duplicate {
        let text = format!("Nothing was stored: {} already says the same.", state.claim_name(stored.claim_id));
        out.push(state.toast(Tone::Done, text));
    } else {
        let (about, settled) = settle_rows(state, None);
        let name = |id: &ClaimId| names.replaced(*id).unwrap_or_else(|| state.claim_name(*id));
        let replaced: Vec<String> = stored.superseded.iter().take(MAX_NAMED_CLAIMS).map(name).collect();
        let more = if stored.superseded.len() > replaced.len() { ", …" } else { "" };
        let replaced =
            if replaced.is_empty() { String::new() } else { format!(", in place of {}{more}", replaced.join(", ")) };
        let place = state.scope_suffix(&stored.scope);
        let name = names.new.unwrap_or_else(|| stored.claim_id.short());
        let summary = format!("Stored {name}{replaced}{place}");
        cursor::claim(state, stored.claim_id);
        out.push(state.toast_with(Tone::Done, format!("{summary}."), "{undo} to undo"));
        let (op, scope) = (stored.op_id, stored.scope);
        state.record_act(SessionAct { op, scope, summary, about, opens: false, settled });
    }
    for warning in stored.warnings {
        out.push(state.toast(Tone::Warn, warning.message));
    }
    for doubt in stored.doubts.iter().take(MAX_MENTIONED_DOUBTS) {
        let what = text::fit(&doubt.statement, 70);
        out.push(state.toast(Tone::Warn, format!("Does “{what}” still hold?")));
    }
    live::refresh_all(state);
}

/// The maximum number of replaced claims that a message names.
const MAX_NAMED_CLAIMS: usize = 2;

/// The names of claims that the form of a write knows.
struct StoredNames {
    new: Option<String>,
    asked_about: Vec<(ClaimId, String)>,
}

impl StoredNames {
    fn of(state: &mut AppState, acting: Option<&Acting>) -> Self {
        let Some(form) = form::of_act(state, acting) else { return Self { new: None, asked_about: Vec::new() } };
        let written = [form.text(FieldId::Statement), form.held_statement.clone()];
        Self {
            new: written.iter().find(|text| !text.is_empty()).map(|text| text::quoted(text)),
            asked_about: form.verdicts().map(|(doubt, _)| (doubt.id, text::quoted(&doubt.statement))).collect(),
        }
    }

    fn replaced(&self, id: ClaimId) -> Option<String> {
        self.asked_about.iter().find(|(own, _)| *own == id).map(|(_, name)| name.clone())
    }
}

/// The maximum number of doubts that are shown after a claim was stored.
const MAX_MENTIONED_DOUBTS: usize = 2;

fn refused(state: &mut AppState, refused: &Refused, acting: Option<&Acting>, out: &mut Vec<Effect>) {
    state.inbox.acting.clear();
    let first = refused.conflicts.first();
    let why = first
        .map_or_else(|| "it contradicts an active claim".to_owned(), |conflict| conflict.evidence.sentence.clone());
    let against =
        first.map_or_else(String::new, |conflict| format!(" (against {})", text::quoted(&conflict.claim.statement)));
    let card = match (refused.card_id, &refused.settled) {
        (Some(card), Some(settled)) => format!(" Its card {} {}.", card.short(), settled.words()),
        (Some(_), None) if refused.unsettled => " Nothing was changed: the card stays open.".to_owned(),
        (Some(_), None) => " The text is kept on a card in the Inbox.".to_owned(),
        (None, _) => String::new(),
    };
    let message = format!("Refused by the guard: {}{against}.{card}", why.trim_end_matches('.'));
    if matches!(acting, Some(Acting::Form(FormSubject::Held { .. }))) {
        form::close(state, acting);
    }
    if form::is_open(state, acting) {
        state.add_log_line(Tone::Warn, message.clone());
    } else {
        out.push(state.toast(Tone::Warn, message.clone()));
    }
    form::refused(state, acting, message);
    live::refresh_all(state);
}

fn audited(state: &mut AppState, audit: &AuditOutcome, out: &mut Vec<Effect>) {
    let (op, scope) = match state.acting.take() {
        Some(Acting::Audit(op, scope)) => (op, scope),
        _ => (None, state.shown_scope()),
    };
    let found = match audit.opened.len() {
        0 => "no new contradiction".to_owned(),
        1 => "one new card".to_owned(),
        n => format!("{n} new cards"),
    };
    let claims = count(audit.claims, "claim", "claims");
    let summary = format!("{claims} compared{}: {found}", state.scope_suffix(&scope));
    // An audit that opened no card stored nothing that could be undone.
    let undoable = op.filter(|_| !audit.opened.is_empty());
    let hint = if undoable.is_some() { "{undo} to undo" } else { "" };
    out.push(state.toast_with(Tone::Done, format!("{summary}."), hint));
    if let Some(op) = undoable {
        let about = audit.opened.iter().map(|card| ItemId::Card(card.id)).collect();
        state.record_act(SessionAct { op, scope, summary, about, opens: true, settled: 0 });
    }
    live::refresh_all(state);
}

/// Returns a sentence that says how many claims need review after an act.
pub(super) fn need_review(count: usize) -> String {
    match count {
        1 => "One dependent claim needs review.".to_owned(),
        n => format!("{n} dependent claims need review."),
    }
}

/// Returns the text with one period at its end.
pub(super) fn sentence(text: &str) -> String {
    let text = text.trim_end();
    if text.ends_with(['.', '!', '?', '…']) { text.to_owned() } else { format!("{text}.") }
}

/// Marks a card as settled in the list. The cursor goes to the next card, or to the previous one if it was the last.
fn next_card(state: &mut AppState, id: CardId) {
    let height = state.hits.height(Pane::Cards);
    let list = &mut state.conflicts.list;
    list.update(id, |row| row.status = CardStatus::Settled);
    state.conflicts.released = Some(id);
    if list.anchor() == Some(id) {
        list.step(1, height);
        if list.anchor() == Some(id) {
            list.step(-1, height);
        }
    }
}

fn failed(state: &mut AppState, slot: Slot, failure: &RequestFailure, out: &mut Vec<Effect>) {
    let unreachable = failure.kind == FailureKind::Unreachable;
    let message = match &failure.hint {
        Some(hint) => format!("{} ({hint})", failure.message),
        None => failure.message.clone(),
    };
    match slot {
        // These report every failure themselves, also in the log.
        Slot::Act => act_failed(state, failure, out),
        Slot::Doubts | Slot::Judged => judging::failed(state, slot, failure, out),
        Slot::Reembed => return models::failed(state, failure, out),
        Slot::Page => return page::failed(state, failure),
        _ if unreachable => state.add_log_line(Tone::Bad, failure.message.clone()),
        Slot::Conflicts => {
            state.conflicts.list.failed();
            state.conflicts.error = Some(message);
        }
        Slot::Card => {
            state.conflicts.wanted = None;
            state.conflicts.card_error = Some(message);
        }
        Slot::Claims => {
            state.claims.list.failed();
            state.claims.error = Some(message);
        }
        Slot::Why => state.why.error = Some(message),
        Slot::Sync => state.peers.error = Some(message),
        Slot::Inbox | Slot::InboxPage => state.inbox.error = Some(message),
        Slot::Timeline => {
            state.timeline.list.failed();
            state.timeline.error = Some(message);
        }
        Slot::Notes => state.notes.error = Some(message),
        Slot::Insights => state.notes.insights_error = Some(message),
        Slot::Story => {
            if let Some(story) = &mut state.timeline.story {
                story.error = Some(message);
            }
        }
        Slot::Diagnose => {
            state.models.failed(message, state.now);
            out.extend(state.models.again_at().map(Effect::Wake));
        }
        Slot::Agents => state.agents.error = Some(message),
        Slot::AgentActs => {
            state.agents.list.failed();
            state.agents.list_error = Some(message);
        }
        Slot::Injected => {
            state.agents.accept_injected(Vec::new());
            state.add_log_line(Tone::Warn, message);
        }
        // These only add to a list that is complete without them, so the failure goes to the log only.
        Slot::Found | Slot::Ingested => state.add_log_line(Tone::Warn, message),
        Slot::Health | Slot::Scopes => out.push(state.toast(Tone::Bad, message)),
        Slot::Join => teams::poll_failed(state, failure, message, out),
        Slot::LastAct | Slot::Marked | Slot::Question => out.push(state.toast(Tone::Bad, message)),
    }
    if unreachable {
        reads::daemon_lost(state, failure.message.clone());
    }
}

fn act_failed(state: &mut AppState, failure: &RequestFailure, out: &mut Vec<Effect>) {
    state.inbox.acting.clear();
    let acting = state.acting.take();
    if matches!(failure.kind, FailureKind::Timeout | FailureKind::Unreachable)
        && let Some(act) = state.answer_lost()
    {
        undo::done_without_answer(state, act, out);
    }
    if let (Some(Acting::Undo(op, _) | Acting::Withdraw { op, .. }), FailureKind::Stale) = (&acting, failure.kind) {
        undo::stale(state, *op);
    }
    form::failed(state, acting.as_ref(), failure);
    if form::is_open(state, acting.as_ref()) {
        state.add_log_line(Tone::Bad, failure.message.clone());
    } else {
        let hint = failure.hint.as_deref().map_or_else(String::new, |hint| format!(" ({hint})"));
        out.push(state.toast(Tone::Bad, format!("{}{hint}", failure.message)));
    }
}
