//! The table of actions. The enum, the conditions and the handlers are all generated from its rows, so an action
//! without a key, a condition or a handler does not compile.
//!
//! Each layer uses only its part of a row: [`super`] the name, keys and texts, `state::enabled` the condition, and
//! `update` the handler. So the rows name functions of `update`, although this module depends neither on the state nor
//! on `update`.
//!
//! The parts of a row, in order: name, change to the memory, key scope, default keys, title, label in the footer (if it
//! has one there), other words by which the palette finds it; one sentence that says what it does; condition and
//! handler. Within a scope, the rows are in the order of the footer and the palette.

/// Expands a macro with all rows.
macro_rules! for_each_action {
    ($expand:ident) => {
        $expand! {
        // Card
        KeepNew: Undoable in Card by ["a"], "Keep new" "keep new", also ["accept", "choose", "resolve"];
            "The new claim stays and replaces the existing one.";
            if keep_new => |state, key, out| conflicts::settle(state, CardAct::Supersede, KeepSide::First, key, out);
        KeepExisting: Undoable in Card by ["b"], "Keep existing" "keep existing", also ["reject", "resolve", "old"];
            "The existing claim stays; the new one is discarded or superseded.";
            if keep_existing => |state, key, out| conflicts::settle(state, CardAct::Supersede, KeepSide::Second, key, out);
        Merge: Undoable in Card by ["m"], "Merge" "merge", also ["combine", "rewrite", "edit"];
            "Write one claim that replaces both.";
            if merge => |state, key, _| conflicts::form(state, CardAct::Supersede, None, key);
        Retract: Undoable in Card by ["r"], "Retract a claim" "retract", also ["delete", "remove", "wrong"];
            "Retract the claim that was never right, with a reason.";
            if retract_side => |state, key, _| conflicts::form(state, CardAct::Retract, None, key);
        Narrow: Undoable in Card by ["o"], "Narrow to a condition" "narrow", also ["limit", "scope", "environment"];
            "Limit one of the two to an environment, team, tenant or period, so that both hold.";
            if narrow => |state, key, _| conflicts::form(state, CardAct::Narrow, None, key);
        Exception: Undoable in Card by ["x"], "Keep both as an exception" "keep both", also ["allow", "waive"];
            "Keep both although they contradict; the reason is stored with them.";
            if exception => |state, key, out| conflicts::settle(state, CardAct::Exception, KeepSide::Both, key, out);
        Dismiss: Undoable in Card by ["d"], "Dismiss" "dismiss", also ["ignore", "false alarm", "not a conflict"];
            "Not a contradiction: both stay, and you are not asked about this pair again.";
            if dismiss => |state, key, out| conflicts::settle(state, CardAct::Dismiss, KeepSide::Both, key, out);
        Discard: Undoable in Card by ["D"], "Discard the new claim" "discard", also ["delete", "drop", "throw away"];
            "Discard the new claim; nothing is stored.";
            if discard => |state, key, out| conflicts::settle(state, CardAct::Discard, KeepSide::Both, key, out);
        Snooze: Undoable in Card by ["z"], "Snooze" "snooze", also ["later", "postpone", "defer"];
            "Hide the card until later, on this device only.";
            if snooze => |state, key, out| conflicts::settle(state, CardAct::Snooze, KeepSide::Both, key, out);
        NextCard: None in Card by ["n", "]"], "Next card" "next";
            "Go to the next card.";
            if cards_listed => |state, _, _| conflicts::step(state, 1);
        PrevCard: None in Card by ["N", "["], "Previous card";
            "Go to the previous card.";
            if cards_listed => |state, _, _| conflicts::step(state, -1);
        CardDetails: None in Card by ["i"], "The guard's evidence" "details", also ["evidence", "figures", "probability"];
            "Show or hide the guard's explanation, how it reads both claims, and the probability.";
            if card_details => |state, _, _| conflicts::toggle_details(state);
        CardWhy: None in Card by ["w"], "Why" "why";
            "Show the history of the existing claim: its reason, what it replaced, what depends on it.";
            if has_stored_side => |state, _, _| conflicts::why(state);
        CompareNext: None in Card by ["v"], "Compare the next claim";
            "If a card has several existing claims, compare the new one with the next of them.";
            if has_more_sides => |state, _, _| conflicts::compare_next(state);
        HighlightWords: None in Card by ["W"], "Change the highlighting";
            "Highlight the words that the guard compared, all that differ, or none.";
            if two_texts => |state, _, _| conflicts::highlight(state);

        // Notes
        NotesList: None in Notes by ["f"], "Files or insights" "files or insights";
            "List the files, or the insights with the claims that support them.";
            if always => |state, _, _| note_files::switch_listing(state);
        NotesScan: None in Notes by ["c"], "Read the files" "read files", also ["scan"];
            "Read the files that changed, and store their new rules.";
            if can_write => |state, _, out| note_files::scan(state, out);
        NotesWrite: None in Notes by ["w"], "Write a section" "write section";
            "Show what would be written into ergo's section of the file under the cursor; asks before it writes.";
            if note_file_selected => |state, _, out| note_files::preview(state, out);
        NotesPromote: Undoable in Notes by ["p"], "Promote" "promote", also ["organisation", "principle"];
            "Make the rule under the cursor, which several projects share, a claim of the organisation; asks first.";
            if promotable => |state, key, _| note_files::promote(state, key);

        // Answer
        AnswerYes: Undoable in Answer by ["y"], "Yes" "yes";
            "Answer the question with yes; the card says what that does.";
            if answer_yes => |state, key, _| conflicts::form(state, CardAct::Yes, None, key);
        AnswerNo: Undoable in Answer by ["n"], "No" "no";
            "Answer the question with no; the card says what that does.";
            if answer_no => |state, key, _| conflicts::form(state, CardAct::No, None, key);
        AnswerNever: Undoable in Answer by ["d"], "Dismiss" "dismiss", also ["ignore", "false alarm"];
            "The question is beside the point: every claim stays, and it is not asked again.";
            if dismiss => |state, key, out| conflicts::settle(state, CardAct::Dismiss, KeepSide::Both, key, out);
        AnswerLater: Undoable in Answer by ["z"], "Snooze" "snooze", also ["later", "postpone"];
            "Hide the question until later, on this device only.";
            if snooze => |state, key, out| conflicts::settle(state, CardAct::Snooze, KeepSide::Both, key, out);
        AnswerWhy: None in Answer by ["w"], "Why" "why";
            "Show the history of the newest claim.";
            if has_stored_side => |state, _, _| conflicts::why(state);
        AnswerNext: None in Answer by ["]"], "Next card" "next";
            "Go to the next card.";
            if cards_listed => |state, _, _| conflicts::step(state, 1);
        AnswerPrev: None in Answer by ["["], "Previous card";
            "Go to the previous card.";
            if cards_listed => |state, _, _| conflicts::step(state, -1);

        // Marks
        CardFilter: None in Marks by ["f"], "Filter by status" "filter";
            "Show open, snoozed, settled or all cards."; if always => |state, _, _| marks::filter(state);
        Mark: None in Marks by ["space"], "Mark" "mark", also ["select"];
            "Mark or unmark the item and go to the next. {keep_new}, {keep_existing}, {keep_source}, {exception}, {dismiss}, {discard} and {snooze} then act on all marked cards, {claim_reviewed} on all marked claims.";
            if markable => |state, _, _| marks::toggle(state);
        MarkRange: None in Marks by ["V"], "Mark up to here";
            "Mark everything from the last mark to the cursor.";
            if markable => |state, _, out| marks::range(state, out);
        MarkAll: None in Marks by ["*"], "Mark or unmark the group", also ["select everything"];
            "Mark everything listed in the group under the cursor, or unmark it.";
            if markable => |state, _, out| marks::group(state, out);

        Judge: None in Marks by ["J"], "Judge" "judge", also ["verdict", "answer", "pairs", "held"];
            "Answer the question about the held claim under the cursor; if there is none, judge waiting pairs.";
            if judgeable => held_write::judge;

        // Verdict
        Compatible: Undoable in Verdict by ["k"], "Keep both" "keep both", also ["compatible"];
            "Both claims hold.";
            if verdict_askable => |state, _, out| held_write::give(state, PairVerdict::Compatible, out);
        Replaces: Undoable in Verdict by ["r"], "Replaces it" "replaces it";
            "The new claim supersedes the existing one.";
            if verdict_askable => |state, _, out| held_write::give(state, PairVerdict::Replaces, out);
        Same: Undoable in Verdict by ["s"], "Same" "same";
            "Both say the same: only the older claim stays.";
            if verdict_askable => |state, _, out| held_write::give(state, PairVerdict::Same, out);
        Contradicts: Undoable in Verdict by ["c"], "Contradicts" "contradicts";
            "They cannot both hold: a card is opened, to decide which one does.";
            if verdict_askable => |state, _, out| held_write::give(state, PairVerdict::Contradicts, out);

        Withdraw: Undoable in Verdict by ["x"], "Withdraw the new claim" "withdraw", also ["do not store", "abandon"];
            "The new claim that waits for these answers is not stored.";
            if held_form_open => |state, _, out| held_write::withdraw(state, out);

        // Judging
        JudgingNext: None in Judging by ["n", "]", "right"], "Next pair" "next";
            "Go to the next pair, without a verdict on this one.";
            if always => |state, _, _| judging::step(state, 1);
        JudgingPrev: None in Judging by ["N", "[", "left"], "Previous pair";
            "Go to the previous pair."; if always => |state, _, _| judging::step(state, -1);
        JudgingUndo: Undoable in Judging by ["u"], "Undo" "undo", also ["take back"];
            "Undo the last verdict, and ask about its pair again.";
            if verdict_given => |state, _, out| judging::take_back(state, out);
        JudgingUp: None in Judging by ["up", "pgup"], "Up";
            "Scroll the pair up."; if always => |state, _, _| judging::scroll(state, Motion::By(-3));
        JudgingDown: None in Judging by ["down", "pgdn"], "Down";
            "Scroll the pair down."; if always => |state, _, _| judging::scroll(state, Motion::By(3));
        JudgingClose: None in Judging by ["esc", "q", "ctrl-c"], "Close" "close";
            "Back to the screen."; if always => |state, _, _| judging::close(state);

        // Card
        KeepSource: Undoable in Card by ["p"], "Keep one source" "one source";
            "On every marked card, keep the claim of one source or writer. A preview comes first.";
            if cards_marked => |state, key, out| conflicts::settle(state, CardAct::Supersede, KeepSide::Chosen, key, out);

        // Peers
        SyncNow: None in Peers by ["c"], "Sync now" "sync now";
            "Sync with every peer now.";
            if sync_now => |state, _, out| peers::sync_now(state, out);
        AdmitDevice: Final in Peers by ["i"], "Admit" "admit";
            "Admit the device under the cursor to the team, once both screens show the same six words.";
            if join_selected => |state, key, _| peers::ask(state, key, true);
        RejectDevice: Final in Peers by ["x"], "Deny" "deny", also ["reject"];
            "Deny the request under the cursor; its invitation cannot be used again.";
            if join_selected => |state, key, _| peers::ask(state, key, false);
        NewTeam: Final in Peers by ["n"], "Create a team" "new team", also ["make", "share"];
            "Create a team with this device as its first admin, and share a project with it.";
            if idle => |state, key, _| teams::make(state, key);
        JoinTeam: Final in Peers by ["J"], "Join a team" "join", also ["ticket", "invitation"];
            "Join a team with a ticket from one of its admins; both screens then show the same words.";
            if idle => |state, key, _| teams::join(state, key);

        // Why
        Ask: None in Why by ["a"], "Ask why" "ask";
            "Ask a question in words."; if always => |state, _, _| prompt::open(state, PromptPurpose::Why);

        // Move
        Up: None in Move by ["k", "up"], "Up";
            "One row up, or scroll."; if always => |state, _, _| motion::shift_focused(state, Motion::By(-1));
        Down: None in Move by ["j", "down"], "Down";
            "One row down, or scroll."; if always => |state, _, _| motion::shift_focused(state, Motion::By(1));
        PageUp: None in Move by ["pgup", "ctrl-b", "ctrl-u"], "Page up";
            "One screen up."; if always => |state, _, _| motion::turn_page(state, -1);
        PageDown: None in Move by ["pgdn", "ctrl-f", "ctrl-d"], "Page down";
            "One screen down."; if always => |state, _, _| motion::turn_page(state, 1);
        First: None in Move by ["g", "home"], "First";
            "To the first row."; if always => |state, _, _| motion::shift_focused(state, Motion::First);
        Last: None in Move by ["G", "end"], "Last";
            "To the last row."; if always => |state, _, _| motion::shift_focused(state, Motion::Last);
        Left: None in Move by ["h", "left"], "Left";
            "To the pane on the left."; if always => |state, _, _| motion::move_focus(state, -1, false);
        Right: None in Move by ["l", "right"], "Right";
            "To the pane on the right."; if always => |state, _, _| motion::move_focus(state, 1, false);
        NextPane: None in Move by ["tab"], "Next pane";
            "To the next pane."; if always => |state, _, _| motion::move_focus(state, 1, true);
        PrevPane: None in Move by ["shift-tab"], "Previous pane";
            "To the previous pane."; if always => |state, _, _| motion::move_focus(state, -1, true);
        Open: None in Move by ["enter"], "Open" "open";
            "Open what is under the cursor.";
            if openable => |state, key, out| motion::open(state, key, out);

        // Global
        Undo: Undoable in Global by ["u"], "Undo" "undo", also ["revert", "take back", "cancel"];
            "Undo your last change. Asks first if it is older than this session or in another scope. {redo} redoes it.";
            if idle => undo::undo;
        Redo: Undoable in Global by ["U"], "Redo", also ["again"];
            "Redo what was undone last.";
            if redoable => undo::redo;
        Search: None in Global by ["/"], "Search" "search", also ["find", "filter"];
            "Search claims by words and by meaning. Filters can be typed, such as by:NAME; !word excludes.";
            if always => |state, _, _| prompt::open(state, PromptPurpose::Search);
        Palette: None in Global by ["?", ":", "ctrl-p"], "Help and all commands" "help", also ["keys", "commands"];
            "Find a command by name; shows its key and, if it is unavailable, why.";
            if always => |state, _, _| palette::open(state);
        ShowInbox: None in Global by ["1"], "Inbox", also ["conflicts", "cards", "review"];
            "Go to what needs your attention."; if always => |state, _, _| global::go(state, Screen::Inbox);
        ShowClaims: None in Global by ["2"], "Claims";
            "Go to the claims."; if always => |state, _, _| global::go(state, Screen::Claims);
        ShowWhy: None in Global by ["3"], "Why";
            "Go to the history of a claim, with its reasons.";
            if always => |state, _, _| global::go(state, Screen::Why);
        ShowPeers: None in Global by ["4"], "Peers", also ["sync", "devices"];
            "Go to teams and their devices."; if always => |state, _, _| global::go(state, Screen::Peers);
        ShowTimeline: None in Global by ["5"], "Timeline", also ["history", "activity", "log"];
            "Go to the changes, newest first; most can be undone there.";
            if always => |state, _, _| global::go(state, Screen::Timeline);
        ShowModels: None in Global by ["6"], "Models", also ["status"];
            "Go to the models and the state of the daemon."; if always => |state, _, _| models::show(state);
        ShowAgents: None in Global by ["7"], "Agents";
            "Go to the agents: which are connected, what each wrote, what was refused, and what hooks injected.";
            if always => |state, _, _| agents::show(state);
        ShowNotes: None in Global by ["8"], "Notes", also ["files", "CLAUDE.md", "AGENTS.md", "principles", "rules"];
            "Go to the followed rule files and their states, and the insights of the organisation.";
            if always => |state, _, _| note_files::show(state);
        Back: None in Global by ["esc", "backspace"], "Back";
            "Back to where you came from."; if always => |state, _, _| global::back(state);
        AllScopes: None in Global by ["S"], "All scopes or this one", also ["project", "switch"];
            "Show all scopes, or only the scope of what is under the cursor.";
            if always => |state, _, _| global::toggle_scope(state);
        Snapshot: None in Global by ["P"], "Snapshot", also ["summary", "page", "print", "export"];
            "Show the active claims of the scope on one page, as agents get them.";
            if always => |state, _, out| page::open_snapshot(state, out);
        Audit: Undoable in Global by ["A"], "Audit", also ["check", "compare", "scan"];
            "Compare the active claims of the scope with each other, and open a card for each contradiction.";
            if idle => |state, _, out| global::audit(state, out);
        AddClaim: Undoable in Global by ["+"], "Add a claim" "add", also ["remember", "new", "create", "write"];
            "Write a claim with its reason; the guard compares it with the active claims.";
            if idle => |state, key, _| form::add(state, key);
        CopyText: None in Global by ["Y"], "Copy the text", also ["yank", "clipboard"];
            "Copy the statement of this claim, or of both sides of this card.";
            if text_selected => |state, _, out| global::copy_text(state, out);
        OpenSource: None in Global by ["E"], "Open the source", also ["file", "editor", "jump"];
            "Open the file that this claim comes from in $VISUAL or $EDITOR, at its line.";
            if source_selected => |state, _, out| global::open_source(state, out);
        Theme: None in Global by ["T"], "Theme", also ["colours", "colors", "dark", "light", "contrast"];
            "Switch between the dark, light and monochrome theme until the app ends.";
            if theme_changeable => |state, _, out| global::next_theme(state, out);
        CopyLink: None in Global by ["C"], "Copy a command to open it", also ["link", "share", "url"];
            "Copy the command that opens this card or claim.";
            if linkable => |state, _, out| global::copy_link(state, out);
        Start: None in Global by ["s"], "Start the daemon" "start";
            "Start the daemon.";
            if daemon_down => |state, _, out| global::start(state, out);
        Reload: None in Global by ["ctrl-r", "ctrl-l"], "Reload", also ["refresh"];
            "Load everything again, and redraw the screen."; if always => |state, _, out| live::reload(state, out);
        Log: None in Global by ["@"], "Session log", also ["history", "messages"];
            "Show your changes of this session as commands, and all messages.";
            if always => |state, _, _| global::open_log(state);
        Mouse: None in Global by ["M"], "Mouse on or off";
            "Let the mouse click and scroll in the app, or leave it to the terminal.";
            if always => |state, _, out| global::toggle_mouse(state, out);
        Suspend: None in Global by ["ctrl-z"], "Suspend";
            "Back to the shell; `fg` returns."; if always => |_, _, out| out.push(Effect::Suspend);
        Quit: None in Global by ["q", "ctrl-c"], "Quit" "quit", also ["exit", "close"];
            "Leave the app."; if always => |state, _, out| global::quit(state, out);
        Tour: None in Global by ["ctrl-t"], "Tour", also ["introduction", "onboarding"];
            "Show a short introduction."; if always => |state, _, _| tour::open(state);

        // Inbox
        InboxNext: None in Inbox by ["n", "]"], "Next" "next";
            "Go to the next one.";
            if inbox_listed => |state, _, _| inbox::next(state);
        InboxPrev: None in Inbox by ["N", "["], "Previous";
            "Go to the previous one.";
            if inbox_listed => |state, _, _| inbox::previous(state);

        // Pending
        AdmitPending: Final in Pending by ["i"], "Admit or accept" "admit";
            "Admit the device to the team, or accept the event; asks first.";
            if pending_acceptable => |state, key, _| inbox::answer(state, key, true);
        RejectPending: Final in Pending by ["x"], "Deny or discard" "deny", also ["reject"];
            "Deny the device, or discard the event; asks first.";
            if pending_selected => |state, key, _| inbox::answer(state, key, false);

        // Timeline
        UndoSelected: Undoable in Timeline by ["x"], "Undo this change" "undo this";
            "Undo the change under the cursor, whoever made it. If later changes depend on it, they are listed.";
            if act_undoable => |state, _, out| acts::undo_selected(state, out);
        TimelinePeriod: None in Timeline by ["f"], "Filter by time" "since";
            "Show the changes since your last visit, since yesterday, of the last seven days, or all.";
            if always => |state, _, _| acts::next_period(state);
        Story: None in Timeline by ["v"], "Story or changes" "story", also ["reversals", "marks", "stale", "ambiguity"];
            "Show the claims of the scope as a story, with what is unclear in it; or the changes again.";
            if always => |state, _, _| story::toggle(state);
        StoryCard: None in Timeline by ["o"], "Open the card" "open card";
            "Go to the card that asks about this mark of the story, or to the history of the claim.";
            if story_row_selected => |state, _, _| story::to_card(state);
        CopyCommand: None in Timeline by ["c"], "Copy the command line" "copy command";
            "Copy the command that does the same as the change under the cursor.";
            if act_has_command => |state, _, out| acts::copy_command(state, out);

        // Models
        Reembed: None in Models by ["e"], "Recompute the vectors" "recompute vectors", also ["embeddings", "reindex"];
            "Recompute all vectors after another embedder was chosen. Until then, search is by words only.";
            if reembed => |state, _, out| models::reembed(state, out);

        // Agents
        AgentFilter: None in Agents by ["f"], "Choose the list" "show";
            "Show what the agent did, what was refused, or what hooks injected.";
            if agent_selected => |state, _, _| agents::filter(state);
        AgentSetup: None in Agents by ["i"], "Set agents up" "set up";
            "Preview what setup would write for the installed agents; asks before it writes.";
            if always => |state, _, out| page::open(state, PageSubject::Setup { remove: false }, out);
        AgentRemove: None in Agents by ["x"], "Remove the setup";
            "Preview what setup would remove from the agents' files; asks before it writes.";
            if always => |state, _, out| page::open(state, PageSubject::Setup { remove: true }, out);

        // Claims
        StatusFilter: None in Claims by ["f"], "Filter by status" "status";
            "Show active, superseded, retracted or all claims.";
            if always => |state, _, _| claims::filter_status(state);
        KindFilter: None in Claims by ["F"], "Filter by kind" "kind";
            "Show one kind of claim, or all."; if always => |state, _, _| claims::filter_kind(state);
        ReviewFilter: None in Claims by ["V"], "Only what needs review";
            "Show only claims that need review, or all again.";
            if always => |state, _, _| claims::filter_review(state);

        // Claim
        ClaimWhy: None in Claim by ["w"], "Why" "why";
            "Show the history of the claim: its reason, what it replaced, what depends on it.";
            if claim_selected => |state, _, _| claims::why(state);
        ClaimSupersede: Undoable in Claim by ["e"], "Supersede" "supersede", also ["edit", "change", "replace", "update"];
            "The decision changed: write the claim that replaces it. The guard checks it.";
            if active_claim => |state, key, _| claims::form(state, ClaimAct::Supersede, key);
        ClaimRetract: Undoable in Claim by ["r"], "Retract" "retract", also ["delete", "remove", "wrong"];
            "Retract the claim because it was never right. It stays in the history.";
            if active_claim => |state, key, _| claims::form(state, ClaimAct::Retract, key);
        ClaimReinstate: Undoable in Claim by ["i"], "Reinstate" "reinstate", also ["restore", "bring back"];
            "Bring a superseded or retracted claim back, with a reason.";
            if past_claim => |state, key, _| claims::form(state, ClaimAct::Reinstate, key);
        ClaimReviewed: Undoable in Claim by ["v"], "Mark as reviewed" "reviewed", also ["confirm", "still holds", "approve"];
            "Confirm that the claim still holds, or that all marked claims do.";
            if needs_review => |state, key, _| claims::form(state, ClaimAct::Reviewed, key);
        ClaimRedact: Final in Claim by ["X"], "Redact", also ["erase", "secret", "delete the text"];
            "Delete the claim's text everywhere, e.g. a pasted secret. The record stays; the text cannot be restored.";
            if redactable => |state, key, _| claims::form(state, ClaimAct::Redact, key);

        // Matches
        NextMatch: None in Matches by ["n"], "Next match";
            "To the next row that matches the search.";
            if has_search => |state, _, out| matches::step(state, true, out);
        PrevMatch: None in Matches by ["N"], "Previous match";
            "To the previous row that matches the search.";
            if has_search => |state, _, out| matches::step(state, false, out);

        // Claims
        AgeFilter: None in Claims by ["t"], "Filter by age";
            "Only claims of the last day, week or month, or all.";
            if always => |state, _, _| claims::filter_age(state);
        AuthorFilter: None in Claims by ["p"], "Filter by author";
            "Only claims by the author of the claim under the cursor, or all again. In the search line: by:NAME.";
            if author_filterable => |state, _, _| claims::filter_author(state);
        SourceFilter: None in Claims by ["o"], "Filter by source";
            "Only claims from the file of the claim under the cursor, or all again. In the search line: source:FILE.";
            if source_filterable => |state, _, _| claims::filter_source(state);
        VerdictFilter: None in Claims by ["m"], "Filter by guard result", also ["disputed", "warned", "clean"];
            "Only claims that are on an open card, stored with a warning, neither of these, or all. In the search line: guard:warned.";
            if always => |state, _, _| claims::filter_verdict(state);
        SortClaims: None in Claims by ["O"], "Sort", also ["order", "newest", "kind", "source"];
            "Sort by time, by kind, or by source and line.";
            if always => |state, _, out| claims::sort(state, out);
        ClearFilters: None in Claims by ["c"], "Clear the filters", also ["reset"];
            "Show all active claims again.";
            if has_filter => |state, _, _| claims::clear_filters(state);

        // Form
        Submit: None in Form by ["ctrl-s"], "Submit" "submit", also ["save", "send"];
            "Submit the form; in the last field {advance} does so too."; if always => form::submit;
        Advance: None in Form by ["enter"], "Next field or submit";
            "Go to the next field; in the last one, submit the form."; if always => form::advance;
        NextField: None in Form by ["tab"], "Next field" "next field";
            "To the next field."; if always => |state, _, _| form::focus(state, 1);
        PrevField: None in Form by ["shift-tab"], "Previous field";
            "To the previous field."; if always => |state, _, _| form::focus(state, -1);
        NewLine: None in Form by ["alt-enter", "ctrl-j"], "New line";
            "Begin a new line in the text.";
            if always => |state, _, _| form::new_line(state);
        ClearLine: None in Form by ["ctrl-u"], "Clear the line";
            "Delete the text of the line.";
            if always => |state, _, _| form::clear(state);
        Editor: None in Form by ["ctrl-o"], "Open in an editor" "editor";
            "Write the text in $VISUAL or $EDITOR.";
            if always => |state, _, out| form::edit(state, out);
        Cancel: None in Form by ["esc", "ctrl-c"], "Cancel" "cancel";
            "Close the form; your text is kept until the app ends.";
            if always => |state, _, _| form::cancel(state);

        // Pick
        Pick: None in Pick by ["enter"], "Choose" "choose";
            "Run the command under the cursor, or submit the search line.";
            if always => palette::pick;
        PickUp: None in Pick by ["up", "ctrl-p", "ctrl-k"], "Up";
            "One row up.";
            if always => |state, _, _| palette::step(state, -1);
        PickDown: None in Pick by ["down", "ctrl-n", "ctrl-j"], "Down";
            "One row down.";
            if always => |state, _, _| palette::step(state, 1);
        PickPageUp: None in Pick by ["pgup"], "Page up";
            "One screen up.";
            if always => |state, _, _| palette::turn_page(state, -1);
        PickPageDown: None in Pick by ["pgdn"], "Page down";
            "One screen down.";
            if always => |state, _, _| palette::turn_page(state, 1);
        ClearInput: None in Pick by ["ctrl-u"], "Clear the line";
            "Delete what was typed.";
            if always => |state, _, _| palette::clear(state);
        Close: None in Pick by ["esc", "ctrl-c"], "Close" "close";
            "Back to the screen.";
            if always => |state, _, _| palette::close(state);

        // Log
        LogClose: None in Log by ["esc", "q", "backspace", "ctrl-c"], "Close" "close";
            "Back to the screen."; if always => |state, _, _| palette::close(state);

        // Confirm
        Yes: None in Confirm by ["y"], "Yes" "yes";
            "Do it.";
            if always => confirm::yes;
        No: None in Confirm by ["n", "esc", "ctrl-c", "q"], "No" "no";
            "Do nothing.";
            if always => |state, _, _| confirm::no(state);
        SwitchButton: None in Confirm by ["tab", "shift-tab", "left", "right", "h", "l"], "Switch button";
            "Move between the buttons; Cancel is first.";
            if always => |state, key, _| confirm::switch(state, key);
        PressButton: None in Confirm by ["enter"], "Press the button";
            "Press the button that has the focus.";
            if always => confirm::press;

        // Tour
        TourNext: None in Tour by ["enter", "space", "right", "l", "n"], "Next" "next";
            "To the next page.";
            if always => |state, _, out| tour::next(state, out);
        TourBack: None in Tour by ["left", "h", "backspace"], "Back";
            "To the previous page.";
            if always => |state, _, _| tour::back(state);
        TourEnd: None in Tour by ["esc", "q", "ctrl-c"], "Skip" "skip";
            "To the app.";
            if always => |state, _, out| tour::end(state, out);

        // Confirm
        PreviewUp: None in Confirm by ["up", "k"], "Up";
            "Scroll the preview up.";
            if always => |state, key, _| confirm::scroll(state, -1, key);
        PreviewDown: None in Confirm by ["down", "j"], "Down";
            "Scroll the preview down.";
            if always => |state, key, _| confirm::scroll(state, 1, key);

        // Page
        PageClose: None in Page by ["esc", "q", "backspace", "ctrl-c"], "Close" "close";
            "Back to the screen.";
            if always => |state, key, _| page::close(state, key);
        PageFind: None in Page by ["/"], "Find on the page" "find";
            "Find words on the page, as they are typed.";
            if page_loaded => |state, _, _| page::find(state);
        PageNext: None in Page by ["n"], "Next match" "next";
            "To the next line that matches.";
            if has_page_match => |state, _, _| page::step(state, true);
        PagePrev: None in Page by ["N"], "Previous match";
            "To the previous line that matches.";
            if has_page_match => |state, _, _| page::step(state, false);
        PageCopy: None in Page by ["y"], "Copy the page" "copy";
            "Copy the whole text.";
            if page_loaded => |state, _, out| page::copy(state, out);
        PageApply: Final in Page by ["a"], "Apply the changes" "apply";
            "Write the shown changes to the agents' files; asks first.";
            if page_writable => |state, key, _| page::apply(state, key);
        }
    };
}

pub(in crate::tui) use for_each_action;
