//! The state of the app. Only `update` changes it; `view` reads it.

pub mod acts;
pub mod agents;
pub mod claims;
pub mod conflicts;
mod enabled;
pub mod form;
pub mod inbox;
pub mod judging;
pub mod marks;
mod messages;
pub mod models;
pub mod note_files;
pub mod overlay;
pub mod page;
pub mod peers;
mod pending_reads;
pub mod related;
mod screen;
pub mod search_line;
mod session_acts;
pub mod story;
pub mod why;
pub mod windowed;

use std::collections::{HashMap, VecDeque};

use jiff::tz::TimeZone;

pub use acts::TimelineState;
pub use agents::AgentsState;
pub use claims::ClaimsState;
pub use conflicts::ConflictsState;
pub use form::ActForm;
use inbox::InboxRow;
pub use inbox::InboxState;
use marks::{ClaimMark, Marks};
pub use messages::{LogLine, TOAST_MS, Toast, Tone};
pub use models::ModelsState;
pub use note_files::NotesState;
pub use overlay::Overlay;
pub use peers::PeersState;
pub use pending_reads::Requests;
pub use screen::{Focus, Screen};
pub use session_acts::SessionAct;
use session_acts::UnansweredActs;
pub use why::WhyState;

use super::{
    action::{KeyScope, Keymap, chains},
    hits::HitMap,
    msg::{RequestId, Slot},
    text,
    theme::ThemeBase,
};
use crate::{
    api::{Caller, CardKind, CardSummary, ClaimView, InboxItem, InboxKind, PendingJoin, ScopeView},
    domain::{CardId, ClaimId, OpId, Scope},
};

/// Settings that do not change while the app runs.
#[derive(Clone, Debug)]
pub struct AppSettings {
    /// The name of the person who uses the app.
    pub who: String,
    /// The scope of the folder in which the app was opened, as that folder names it.
    pub scope: Scope,
    /// What distinguishes that project from another of the same name, the best first.
    pub identities: Vec<String>,
    /// Whether the app was opened with `--read-only`.
    pub read_only: bool,
    /// Whether the app draws without colours, whatever its theme.
    pub no_color: bool,
    /// Whether this is the demonstration, which does not write the person's own files.
    pub demonstration: bool,
    /// The time zone of displayed times.
    pub zone: TimeZone,
    /// Random bytes from which the `op_id`s of acts are derived, so that the daemon recognises a retry.
    pub seed: [u8; 16],
    /// Whether to start the daemon if none answers when the app opens.
    pub autostart: bool,
    /// When this person last left the app on this machine, in milliseconds since the Unix epoch.
    pub last_here: Option<u64>,
    /// Whether to show the tour first.
    pub tour: bool,
}

/// What the app knows about the daemon.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Daemon {
    /// No answer yet.
    #[default]
    Unknown,
    /// The daemon answers.
    Up { version: String },
    /// The daemon does not answer.
    Down { message: String },
    /// The app has asked the daemon to start.
    Starting,
}

/// An act that was sent and has no answer yet.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Acting {
    /// The act of a form.
    Form(form::FormSubject),
    /// Undoing an act, or redoing it by undoing its undo.
    Undo(OpId, Scope),
    /// Withdrawing a held write by undoing the act that held it.
    Withdraw {
        /// The act that held the write.
        op: OpId,
        scope: Scope,
        /// The card with the question about the write.
        card: CardId,
        statement: String,
    },
    /// Comparing the active claims of a scope, with the `op_id` by which that can be undone.
    Audit(Option<OpId>, Scope),
    /// An act that was confirmed in a dialog, or an act without a form.
    Confirmed,
}

/// The latest act of another person or agent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LastChange {
    /// The name of that person or agent.
    pub by: String,
    /// One sentence that says what the act did.
    pub summary: String,
    pub claims: Vec<ClaimId>,
}

/// The whole state of the app.
#[derive(Clone, Debug)]
pub struct AppState {
    pub settings: AppSettings,
    /// The current time in milliseconds since the Unix epoch.
    pub now: u64,
    /// The size of the terminal in columns and rows.
    pub size: (u16, u16),
    pub screen: Screen,
    /// The earlier screens, to which the Back key returns; the latest last.
    pub back: Vec<Screen>,
    /// The scope that the lists are limited to; `None` shows all.
    pub scope: Option<Scope>,
    pub daemon: Daemon,
    /// The scope of the folder in which the app was opened, by the name under which the daemon knows it, and its
    /// identity.
    pub home: (Scope, Option<String>),
    /// All scopes, with their counts.
    pub scopes: Vec<ScopeView>,
    pub inbox: InboxState,
    /// The list of cards of one status, the shown card, and the marked items.
    pub conflicts: ConflictsState,
    pub claims: ClaimsState,
    pub why: WhyState,
    pub peers: PeersState,
    pub timeline: TimelineState,
    pub models: ModelsState,
    pub agents: AgentsState,
    pub notes: NotesState,
    /// The latest act of another person or agent. A message names it if it settled the item under the cursor.
    pub last_change: Option<LastChange>,
    pub theme: ThemeBase,
    pub keys: Keymap,
    /// The dialog or page that covers the screen.
    pub overlay: Option<Overlay>,
    /// Forms that were closed without being sent, by subject.
    pub drafts: HashMap<form::FormSubject, ActForm>,
    /// Whether the person was told that quitting discards the drafts.
    pub asked_about_drafts: bool,
    /// The pairs of a judging dialog that was closed before all its verdicts were sent.
    pub closed_pairs: Option<Box<judging::JudgingState>>,
    /// The short messages on the screen, the newest last.
    pub toasts: Vec<Toast>,
    /// The log of this session, the newest line last.
    pub log: VecDeque<LogLine>,
    /// Acts of this session that can be undone, the latest last.
    pub undo_stack: Vec<SessionAct>,
    /// Undos of this session that can be redone, the latest last.
    pub redo_stack: Vec<SessionAct>,
    /// Whether rule files were read after the last act, undo or redo of this session. That is not undone as one act.
    pub read_files_last: bool,
    /// The act that was sent and has no answer yet.
    pub acting: Option<Acting>,
    /// Data to read again as soon as no request for the same data is under way.
    pub requests: Requests,
    /// The `op_id`s of this session's acts, by which their changes are recognised on the event stream.
    pub own_ops: VecDeque<OpId>,
    /// Acts that have no answer, and changes that arrived before the answer to their act.
    unanswered: UnansweredActs,
    /// Whether the app may still start the daemon without being asked.
    pub autostart: bool,
    /// The positions of what the last frame painted, for the mouse.
    pub hits: HitMap,
    /// Whether the app handles the mouse; otherwise the terminal does.
    pub mouse: bool,
    /// For each slot, the generation of the latest request and whether that request is under way.
    slots: [(u64, bool); Slot::COUNT],
    op_count: u64,
}

/// Returns whether a terminal of this size, in columns and rows, has room for only one pane of a screen at a time.
pub fn is_narrow((columns, rows): (u16, u16)) -> bool {
    columns < 76 || rows < 18
}

impl AppState {
    /// Creates the state of an app that has read nothing yet.
    pub fn new(settings: AppSettings, size: (u16, u16), now: u64) -> Self {
        Self {
            autostart: settings.autostart,
            home: (settings.scope.clone(), settings.identities.first().cloned()),
            settings,
            now,
            size,
            screen: Screen::default(),
            back: Vec::new(),
            scope: None,
            daemon: Daemon::default(),
            scopes: Vec::new(),
            inbox: InboxState::default(),
            conflicts: ConflictsState::default(),
            claims: ClaimsState::default(),
            why: WhyState::default(),
            peers: PeersState::default(),
            timeline: TimelineState::default(),
            models: ModelsState::default(),
            agents: AgentsState::default(),
            notes: NotesState::default(),
            last_change: None,
            overlay: None,
            theme: ThemeBase::default(),
            keys: Keymap::default(),
            drafts: HashMap::new(),
            asked_about_drafts: false,
            closed_pairs: None,
            toasts: Vec::new(),
            log: VecDeque::new(),
            undo_stack: Vec::new(),
            redo_stack: Vec::new(),
            read_files_last: false,
            acting: None,
            requests: Requests::default(),
            own_ops: VecDeque::new(),
            unanswered: UnansweredActs::default(),
            hits: HitMap::default(),
            mouse: true,
            slots: [(0, false); Slot::COUNT],
            op_count: 0,
        }
    }

    /// Returns the key scopes in force, the first one first in precedence.
    pub fn chain(&self) -> &'static [KeyScope] {
        match &self.overlay {
            Some(Overlay::Form(form)) if form.asks_verdict() => chains::FORM_VERDICT,
            Some(Overlay::Form(_)) => chains::FORM,
            Some(Overlay::Palette(_) | Overlay::Prompt(_)) => chains::PICK,
            Some(Overlay::Log { .. }) => chains::LOG,
            Some(Overlay::Judging(_)) => chains::JUDGING,
            Some(Overlay::Confirm(_)) => chains::CONFIRM,
            Some(Overlay::Tour { .. }) => chains::TOUR,
            Some(Overlay::Page(page)) if page.is_typing() => chains::PICK,
            Some(Overlay::Page(_)) => chains::PAGE,
            None => self.screen_chain(),
        }
    }

    /// Returns the key scopes of the screen, whether or not an overlay covers it.
    pub fn screen_chain(&self) -> &'static [KeyScope] {
        match self.screen {
            Screen::Inbox => match self.inbox.item() {
                Some(InboxItem::Card(card)) if card.kind == CardKind::Story => chains::CARD_STORY,
                Some(InboxItem::Card(_)) => chains::CARDS,
                Some(InboxItem::Review(_) | InboxItem::Notice(_)) => chains::INBOX_CLAIM,
                Some(InboxItem::Quarantined(_) | InboxItem::Joining(_)) => chains::INBOX_PENDING,
                None => match self.inbox.current() {
                    Some(InboxRow::Import(InboxKind::Refused, _)) => chains::CARDS,
                    Some(InboxRow::Import(..)) => chains::INBOX_CLAIM,
                    _ => chains::INBOX,
                },
            },
            Screen::Cards => match self.conflicts.list.current() {
                Some(card) if card.kind == CardKind::Story => chains::CARD_STORY,
                _ => chains::CARDS,
            },
            Screen::Claims => chains::CLAIMS,
            Screen::Why => chains::WHY,
            Screen::Peers => chains::PEERS,
            Screen::Timeline => chains::TIMELINE,
            Screen::Models => chains::MODELS,
            Screen::Agents => chains::AGENTS,
            Screen::Notes => chains::NOTES,
        }
    }

    /// Begins a new request in a slot. Answers to earlier requests of the slot are ignored from now on.
    pub fn ticket(&mut self, slot: Slot) -> RequestId {
        let (generation, waiting) = &mut self.slots[slot as usize];
        *generation += 1;
        *waiting = true;
        RequestId { slot, generation: *generation }
    }

    /// Records the answer to a request. Returns `false` if the answer is outdated, because a later request has replaced
    /// this one.
    pub fn accept_answer(&mut self, ticket: RequestId) -> bool {
        let (generation, waiting) = &mut self.slots[ticket.slot as usize];
        let current = *generation == ticket.generation;
        if current {
            *waiting = false;
        }
        current
    }

    /// Cancels the request of a slot: its answer will be ignored.
    pub fn cancel_request(&mut self, slot: Slot) {
        let (generation, waiting) = &mut self.slots[slot as usize];
        *generation += 1;
        *waiting = false;
    }

    /// Returns whether a request of this slot is under way.
    pub fn waits(&self, slot: Slot) -> bool {
        self.slots[slot as usize].1
    }

    /// Returns the caller of a new act in `scope`, with a fresh `op_id`.
    pub fn caller(&mut self, scope: &Scope) -> Caller {
        self.op_count += 1;
        let mut hasher = blake3::Hasher::new();
        hasher.update(&self.settings.seed);
        hasher.update(&self.op_count.to_be_bytes());
        let mut op = [0; 16];
        op.copy_from_slice(&hasher.finalize().as_bytes()[..16]);
        let (home, identity) = &self.home;
        let identity = identity.clone().filter(|_| scope == home);
        Caller {
            org_id: scope.org_id.clone(),
            project: scope.project.clone(),
            who: self.settings.who.clone(),
            agent: None,
            op_id: Some(OpId(op)),
            identity,
        }
    }

    /// Returns the claim on which an act on a claim would act.
    pub fn selected_claim(&self) -> Option<&ClaimView> {
        match self.screen {
            Screen::Claims => self.claims.current().filter(|_| self.claims.list.loaded()),
            Screen::Why => self.why.current_claim(),
            Screen::Inbox => self.inbox.claim(),
            Screen::Cards | Screen::Peers | Screen::Timeline | Screen::Models | Screen::Agents | Screen::Notes => None,
        }
    }

    /// Names a claim in a message: by the beginning of its statement if the claim is loaded, else by its short id.
    pub fn claim_name(&self, id: ClaimId) -> String {
        let on_card = self.conflicts.card.iter().flat_map(|card| &card.view.sides).map(|side| &side.claim);
        let mut known = on_card.chain(self.claims.list.find_row(id)).chain(self.selected_claim());
        let claim = known.find(|claim| claim.id == id && !claim.flags.redacted);
        claim.map_or_else(|| id.short(), |claim| text::quoted(&claim.statement))
    }

    /// Returns the card on which an act on a card would act. It is `None` until the card under the cursor is loaded,
    /// since an act on another card would surprise.
    pub fn selected_card(&self) -> Option<&conflicts::Card> {
        match self.screen {
            Screen::Cards => self.conflicts.current(),
            Screen::Inbox => {
                let id = self.inbox.card()?;
                self.conflicts.card.as_ref().filter(|card| card.view.summary.id == id)
            }
            _ => None,
        }
    }

    /// Returns the scope of the item under the cursor, on the Inbox and its lists of cards.
    fn scope_at_cursor(&self) -> Option<&Scope> {
        match self.screen {
            Screen::Inbox => self.inbox.scope(),
            Screen::Cards => self.conflicts.list.current().map(|card| &card.scope),
            _ => None,
        }
    }

    /// Returns the cards that one act would settle: the marked cards in the scope of the card under the cursor,
    /// otherwise the cards of the import under the cursor. Empty if the act is about one card.
    pub fn marked_cards(&self) -> Vec<&CardSummary> {
        let Some(scope) = self.scope_at_cursor() else { return Vec::new() };
        let on_card = match self.inbox.current() {
            _ if self.screen == Screen::Cards => true,
            Some(InboxRow::Item(_, InboxItem::Card(_)) | InboxRow::Import(InboxKind::Refused, _)) => true,
            _ => false,
        };
        let marked = if on_card { self.conflicts.marks.cards_in(scope) } else { Vec::new() };
        if !marked.is_empty() || self.screen == Screen::Cards {
            return marked;
        }
        let imported = self.inbox.imported().into_iter();
        imported.filter_map(|item| if let InboxItem::Card(card) = item { Some(&**card) } else { None }).collect()
    }

    /// Returns the claims on which one act would act, chosen as in [`AppState::marked_cards`]; each claim with its
    /// rows.
    pub fn marked_claims(&self) -> Vec<ClaimMark> {
        if self.screen != Screen::Inbox {
            return Vec::new();
        }
        let Some(scope) = self.inbox.scope() else { return Vec::new() };
        let on_claim = match self.inbox.current() {
            Some(InboxRow::Item(_, InboxItem::Review(_) | InboxItem::Notice(_))) => true,
            Some(InboxRow::Import(kind, _)) => kind != InboxKind::Refused,
            _ => false,
        };
        let marked: Vec<ClaimMark> =
            if on_claim { self.conflicts.marks.claims_in(scope).into_iter().cloned().collect() } else { Vec::new() };
        if !marked.is_empty() {
            return marked;
        }
        let mut of_import = Marks::default();
        self.inbox.imported().into_iter().for_each(|item| of_import.add_item(item));
        of_import.claims_in(scope).into_iter().cloned().collect()
    }

    /// Returns whether an act on cards would act on the marked cards or on an import.
    pub fn is_marked(&self) -> bool {
        !self.marked_cards().is_empty()
    }

    /// Returns the join request under the cursor.
    pub fn waiting(&self) -> Option<&PendingJoin> {
        match self.screen {
            Screen::Inbox => self.inbox.joining(),
            Screen::Peers => self.peers.waiting(),
            _ => None,
        }
    }

    /// Returns the list of acts, if the Timeline shows it.
    pub fn acts(&self) -> Option<&TimelineState> {
        (self.screen == Screen::Timeline && self.timeline.story.is_none()).then_some(&self.timeline)
    }

    /// Returns the story, if the Timeline shows it.
    pub fn story(&self) -> Option<&story::StoryState> {
        self.timeline.story.as_ref().filter(|_| self.screen == Screen::Timeline)
    }

    /// The mutable form of [`AppState::acts`].
    pub fn acts_mut(&mut self) -> Option<&mut TimelineState> {
        (self.screen == Screen::Timeline && self.timeline.story.is_none()).then_some(&mut self.timeline)
    }

    /// Returns the scope of an act that is about neither a claim nor a card.
    pub fn shown_scope(&self) -> Scope {
        self.scope.clone().unwrap_or_else(|| self.home.0.clone())
    }

    /// Returns whether the daemon cannot be reached.
    pub fn is_offline(&self) -> bool {
        matches!(self.daemon, Daemon::Down { .. } | Daemon::Starting)
    }

    /// Returns whether the terminal has room for only one pane of a screen at a time.
    pub fn is_narrow(&self) -> bool {
        is_narrow(self.size)
    }

    /// Returns the number of open cards in all scopes.
    pub fn open_cards(&self) -> usize {
        self.scopes.iter().map(|scope| scope.open_cards).sum()
    }

    /// Records where the last frame painted things, and that an open confirmation or form has been seen. The runtime
    /// calls this after each frame.
    pub fn painted(&mut self, hits: HitMap) {
        self.hits = hits;
        match &mut self.overlay {
            Some(Overlay::Confirm(confirm)) => _ = confirm.painted.get_or_insert(self.now),
            Some(Overlay::Form(form)) => form.painted = true,
            _ => {}
        }
    }
}
