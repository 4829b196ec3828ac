//! The state of the app: changed only by `update`, read by `view`.

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
    theme::ThemeBase,
};
use crate::{
    api::{Caller, CardKind, CardSummary, ClaimView, InboxItem, InboxKind, PendingJoin, ScopeView},
    domain::{ClaimId, OpId, Scope},
};

/// What does not change while the app runs.
#[derive(Clone, Debug)]
pub struct AppSettings {
    /// The person at the keyboard.
    pub who: String,
    /// The scope of the place where the app was opened, as that place names it.
    pub scope: Scope,
    /// What tells that project from another of its name, the best first.
    pub identities: Vec<String>,
    /// Nothing may be changed.
    pub read_only: bool,
    /// No file of the person's own is written.
    pub demonstration: bool,
    /// The time zone in which times are shown.
    pub zone: TimeZone,
    /// Random bytes from which the keys of acts are derived, so that a retry is recognised.
    pub seed: [u8; 16],
    /// Start the daemon at once if none answers when the app opens.
    pub autostart: bool,
    /// Where the daemon is looked for, for messages.
    pub place: String,
    /// When this person last left the app on this machine, in milliseconds since the Unix epoch.
    pub last_here: Option<u64>,
    /// Show the tour first.
    pub tour: bool,
}

/// What is known about the daemon.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Daemon {
    /// Nothing yet.
    #[default]
    Unknown,
    /// It answers.
    Up {
        /// Its program version.
        version: String,
    },
    /// It does not.
    Down {
        /// The error message.
        message: String,
    },
    /// It was asked to start.
    Starting,
}

/// An act that waits for its answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Acting {
    /// That of a form.
    Form(form::FormSubject),
    /// Taking back an act, or an undo.
    Undo(OpId, Scope),
    /// Dropping a text, which nothing undoes.
    Redact,
    /// Comparing what is active.
    Audit(Scope),
    /// What a question was answered with yes.
    Confirmed,
}

/// What somebody else did.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LastChange {
    /// Who.
    pub by: String,
    /// What, in a sentence.
    pub summary: String,
    /// The claims whose state changed.
    pub claims: Vec<ClaimId>,
}

/// The whole app.
#[derive(Clone, Debug)]
pub struct AppState {
    /// What does not change.
    pub settings: AppSettings,
    /// Now, in milliseconds since the Unix epoch.
    pub now: u64,
    /// The terminal's size in columns and rows.
    pub size: (u16, u16),
    /// The screen shown.
    pub screen: Screen,
    /// The screens to go back to.
    pub back: Vec<Screen>,
    /// The scope that the lists are limited to; `None` shows all.
    pub scope: Option<Scope>,
    /// What is known about the daemon.
    pub daemon: Daemon,
    /// The scope of the place where the app was opened, under the name by which the daemon knows it, and its identity.
    pub home: (Scope, Option<String>),
    /// The scopes and their counts.
    pub scopes: Vec<ScopeView>,
    /// The Inbox screen.
    pub inbox: InboxState,
    /// The cards by status, the card that is shown, and what is marked.
    pub conflicts: ConflictsState,
    /// The Claims screen.
    pub claims: ClaimsState,
    /// The Why screen.
    pub why: WhyState,
    /// The Peers screen.
    pub peers: PeersState,
    /// The Timeline screen.
    pub timeline: TimelineState,
    /// The Models screen.
    pub models: ModelsState,
    /// The Agents screen.
    pub agents: AgentsState,
    /// The Notes screen.
    pub notes: NotesState,
    /// What others did last: said if it settled what was under the cursor.
    pub last_change: Option<LastChange>,
    /// For which background the app is drawn.
    pub theme: ThemeBase,
    /// Which key means which act.
    pub keys: Keymap,
    /// What lies over the screen.
    pub overlay: Option<Overlay>,
    /// Forms that were closed without being sent, by what they are about.
    pub drafts: HashMap<form::FormSubject, ActForm>,
    /// The pairs that were closed before all verdicts given on them were sent.
    pub closed_pairs: Option<Box<judging::JudgingState>>,
    /// Short messages, the newest last.
    pub toasts: Vec<Toast>,
    /// What happened in this session, the newest last.
    pub log: VecDeque<LogLine>,
    /// Acts of this session that undo can undo, the latest last.
    pub done: Vec<SessionAct>,
    /// Undos of this session that can be undone, the latest last.
    pub undone: Vec<SessionAct>,
    /// What was sent and waits for its answer.
    pub acting: Option<Acting>,
    /// What should be read again as soon as nothing of the kind is under way.
    pub requests: Requests,
    /// Acts of this session whose changes come back over the event stream.
    pub own: VecDeque<OpId>,
    /// What is known of acts without an answer.
    unanswered: UnansweredActs,
    /// Whether the daemon is still to be started by itself.
    pub autostart: bool,
    /// Where things were painted last.
    pub hits: HitMap,
    /// Whether the mouse is ours.
    pub mouse: bool,
    /// The generation of each slot's current request, and whether it is under way.
    slots: [(u64, bool); Slot::COUNT],
    ops: u64,
}

impl AppState {
    /// An app that knows nothing yet, on a terminal of this size.
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
            closed_pairs: None,
            toasts: Vec::new(),
            log: VecDeque::new(),
            done: Vec::new(),
            undone: Vec::new(),
            acting: None,
            requests: Requests::default(),
            own: VecDeque::new(),
            unanswered: UnansweredActs::default(),
            hits: HitMap::default(),
            mouse: true,
            slots: [(0, false); Slot::COUNT],
            ops: 0,
        }
    }

    /// The key scopes that hold now.
    pub fn chain(&self) -> &'static [KeyScope] {
        match &self.overlay {
            Some(Overlay::Form(form)) if form.asks_verdict() => chains::FORM_VERDICT,
            Some(Overlay::Form(_)) => chains::FORM,
            Some(Overlay::Palette(_) | Overlay::Prompt(_) | Overlay::Log { .. }) => chains::PICK,
            Some(Overlay::Judging(_)) => chains::JUDGING,
            Some(Overlay::Confirm(_)) => chains::CONFIRM,
            Some(Overlay::Tour { .. }) => chains::TOUR,
            Some(Overlay::Page(page)) if page.is_typing() => chains::PICK,
            Some(Overlay::Page(_)) => chains::PAGE,
            None => self.screen_chain(),
        }
    }

    /// The key scopes of the screen, whatever lies over it.
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

    /// Begins a new request in a slot: answers to earlier ones are late from now on.
    pub fn ticket(&mut self, slot: Slot) -> RequestId {
        let (generation, waiting) = &mut self.slots[slot as usize];
        *generation += 1;
        *waiting = true;
        RequestId { slot, generation: *generation }
    }

    /// Takes note that a request was answered; `false` where a later one has replaced it.
    pub fn take(&mut self, ticket: RequestId) -> bool {
        let (generation, waiting) = &mut self.slots[ticket.slot as usize];
        let current = *generation == ticket.generation;
        if current {
            *waiting = false;
        }
        current
    }

    /// The answer to what was asked in this slot is no longer wanted.
    pub fn forget(&mut self, slot: Slot) {
        let (generation, waiting) = &mut self.slots[slot as usize];
        *generation += 1;
        *waiting = false;
    }

    /// Whether a request of this slot is under way.
    pub fn waits(&self, slot: Slot) -> bool {
        self.slots[slot as usize].1
    }

    /// Who acts, in `scope`, under a fresh key.
    pub fn caller(&mut self, scope: &Scope) -> Caller {
        self.ops += 1;
        let mut hasher = blake3::Hasher::new();
        hasher.update(&self.settings.seed);
        hasher.update(&self.ops.to_be_bytes());
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

    /// The claim that acts on claims would act on now.
    pub fn selected_claim(&self) -> Option<&ClaimView> {
        match self.screen {
            Screen::Claims => self.claims.current().filter(|_| self.claims.list.loaded()),
            Screen::Why => self.why.current_claim(),
            Screen::Inbox => self.inbox.claim(),
            Screen::Cards | Screen::Peers | Screen::Timeline | Screen::Models | Screen::Agents | Screen::Notes => None,
        }
    }

    /// The card that acts on cards would act on now: if it is not the one under the cursor, there is none, since acts on
    /// another would surprise.
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

    /// The scope of what is under the cursor of the Inbox.
    fn scope_under(&self) -> Option<&Scope> {
        match self.screen {
            Screen::Inbox => self.inbox.scope(),
            Screen::Cards => self.conflicts.list.current().map(|card| &card.scope),
            _ => None,
        }
    }

    /// The cards that one act would settle: those that are marked in the scope of the card under the cursor, else those of the
    /// import under it; empty where an act is about one card.
    pub fn marked_cards(&self) -> Vec<&CardSummary> {
        let Some(scope) = self.scope_under() else { return Vec::new() };
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

    /// The claims that one act would be about, as for [`AppState::marked_cards`], each with its rows.
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

    /// Whether an act on cards is about several of them.
    pub fn is_marked(&self) -> bool {
        !self.marked_cards().is_empty()
    }

    /// Who waits for admission, if that is under the cursor.
    pub fn waiting(&self) -> Option<&PendingJoin> {
        match self.screen {
            Screen::Inbox => self.inbox.joining(),
            Screen::Peers => self.peers.waiting(),
            _ => None,
        }
    }

    /// The list of acts, if it is shown.
    pub fn acts(&self) -> Option<&TimelineState> {
        (self.screen == Screen::Timeline && self.timeline.story.is_none()).then_some(&self.timeline)
    }

    /// The story, if it is shown.
    pub fn story(&self) -> Option<&story::StoryState> {
        self.timeline.story.as_ref().filter(|_| self.screen == Screen::Timeline)
    }

    /// [`AppState::acts`], to be changed.
    pub fn acts_mut(&mut self) -> Option<&mut TimelineState> {
        (self.screen == Screen::Timeline && self.timeline.story.is_none()).then_some(&mut self.timeline)
    }

    /// The beginning of today, in milliseconds since the Unix epoch.
    pub fn midnight(&self) -> u64 {
        super::times::midnight(self.now, &self.settings.zone)
    }

    /// The scope in which an act without a claim or card takes place.
    pub fn shown_scope(&self) -> Scope {
        self.scope.clone().unwrap_or_else(|| self.home.0.clone())
    }

    /// Whether nothing can be had from the daemon.
    pub fn is_offline(&self) -> bool {
        matches!(self.daemon, Daemon::Down { .. } | Daemon::Starting)
    }

    /// Whether the terminal has room for one part of a screen at a time only.
    pub fn is_narrow(&self) -> bool {
        self.size.0 < 76 || self.size.1 < 18
    }

    /// How many cards wait, over all scopes.
    pub fn open_cards(&self) -> usize {
        self.scopes.iter().map(|scope| scope.open_cards).sum()
    }

    /// What the runtime tells after a frame was painted: where things are, and that an open question has been seen.
    pub fn painted(&mut self, hits: HitMap) {
        self.hits = hits;
        if let Some(Overlay::Confirm(confirm)) = &mut self.overlay {
            confirm.painted.get_or_insert(self.now);
        }
    }
}
