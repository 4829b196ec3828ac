//! Test data for the screens other than cards and claims.

use super::{HOUR, NOW, card_id, claim, id, scope, summary};
use crate::{
    api::{
        ActOption, CardAct, CardKind, CardSide, CardStatus, CardSummary, CardView, Consider, Diagnose, Doubt,
        DoubtBand, Doubts, EventView, GuardCounts, Health, Inbox, InboxGroup, InboxItem, InboxKind, LogPage,
        ModelStatus, ModelsStatus, NoticeItem, NoticeKind, PairInDoubt, PendingJoin, QuarantinedView, Questions,
        ReviewItem, Role, Story, StoryMark, StoryQuestion, Timing, WorkerStatus,
    },
    domain::{ClaimId, ClaimKind, Confusion, DeviceId, EventId, OpId, Status, guard_report::Stage},
};

/// An event of the log.
pub(crate) fn event(n: u8, kind: &str, statement: Option<&str>) -> EventView {
    EventView {
        id: ClaimId::from_slice(&[n; 32]).unwrap(),
        kind: kind.into(),
        op_id: OpId([n; 16]),
        scope: scope("api"),
        who: if n.is_multiple_of(2) { "zoe" } else { "max" }.into(),
        agent: (!n.is_multiple_of(2)).then(|| "claude-code".into()),
        device: DeviceId([0xd1; 32]),
        device_name: None,
        at: NOW - u64::from(n) * 5 * HOUR,
        targets: vec![id(n)],
        reason: Some("Releases no longer wait for a day of the week.".into()),
        statement: statement.map(str::to_owned),
        about: Some("Deploy every Friday".into()),
        outcome: None,
        accept: None,
        undone: n == 5,
        redo: false,
    }
}

fn group(group: InboxKind, total: usize, items: Vec<InboxItem>) -> InboxGroup {
    let next = (total > items.len()).then(|| "a.b.c".to_owned());
    InboxGroup { group, total, at_least: false, items, next }
}

fn cards(numbers: impl IntoIterator<Item = u8>, kind: CardKind) -> Vec<InboxItem> {
    let card = |n| InboxItem::Card(Box::new(CardSummary { kind, ..summary(n, CardStatus::Open) }));
    numbers.into_iter().map(card).collect()
}

/// An inbox with something in every group.
pub(crate) fn inbox() -> Inbox {
    let mut review = claim(40, "Hotfixes need one review as well");
    review.flags.needs_review = true;
    let warned = NoticeItem {
        id: EventId([0x51; 32]),
        what: NoticeKind::Warned,
        sentence: "They set the same thing to different values: “thirty days” against “a week”.".into(),
        claim: claim(41, "Backups are kept for thirty days"),
        against: vec![claim(42, "Backups are kept for a week")],
        stage: Some(Stage::Nli),
        rule: Some("contradiction".into()),
        score: Some(0.61),
        op_id: Some(OpId([0x51; 16])),
        at: NOW - 2 * HOUR,
        who: "max".into(),
        agent: Some("claude-code".into()),
    };
    let forced = NoticeItem {
        id: EventId([0x52; 32]),
        what: NoticeKind::Forced,
        sentence: "One rules out what the other asks for: “may skip the linter” against “is linted”.".into(),
        claim: claim(43, "The nightly build may skip the linter"),
        ..warned.clone()
    };
    let refused = QuarantinedView {
        id: EventId([0x53; 32]),
        team: EventId([0x7e; 32]),
        scope: scope("api"),
        who: "mallory".into(),
        author: DeviceId([0xbb; 32]),
        author_name: Some("max-old-laptop".into()),
        from: None,
        from_name: None,
        kind: "supersede".into(),
        text: Some("Anyone may deploy at any time".into()),
        at: NOW - 9 * HOUR,
        received_at: NOW - HOUR,
        refusal: "after_cut".into(),
        why: "It was written after the device max-old-laptop was revoked from the team.".into(),
        discarded: false,
    };
    let groups = vec![
        group(InboxKind::Joining, 1, vec![InboxItem::Joining(Box::new(pending()))]),
        group(InboxKind::Refused, 2, cards([1, 3], CardKind::Refused)),
        group(InboxKind::Contradiction, 1, cards([2], CardKind::Contradiction)),
        group(InboxKind::Found, 120, cards([4], CardKind::Found)),
        group(InboxKind::ByAgents, 1, vec![InboxItem::Notice(Box::new(forced))]),
        group(
            InboxKind::NeedsReview,
            1,
            vec![InboxItem::Review(Box::new(ReviewItem {
                claim: review,
                causes: vec![event(7, "supersede", Some("Reviews are done in pairs"))],
            }))],
        ),
        group(InboxKind::Warned, 1, vec![InboxItem::Notice(Box::new(warned))]),
        group(InboxKind::Quarantined, 1, vec![InboxItem::Quarantined(Box::new(refused))]),
    ];
    Inbox { total: groups.iter().map(|group| group.total).sum(), groups, ..Inbox::default() }
}

/// An inbox with three refused writes and nothing else.
pub(crate) fn three_cards() -> Inbox {
    let items = (1..=3).map(|n| InboxItem::Card(Box::new(summary(n, CardStatus::Open)))).collect();
    Inbox { groups: vec![group(InboxKind::Refused, 3, items)], total: 3, ..Inbox::default() }
}

/// An inbox after an import of which three rows were refused and two warned about, with a refused write of another
/// scope.
pub(crate) fn after_import() -> Inbox {
    let import = |n: u8| Some(OpId([[0xaa; 6].as_slice(), &[n; 10]].concat().try_into().unwrap_or_default()));
    let refused = |n: u8| {
        let mut card = CardSummary { kind: CardKind::Refused, op_id: import(n), ..summary(n, CardStatus::Open) };
        if let Some(pair) = &mut card.pair {
            pair.source = Some(format!("docs/adr/000{n}.md:12"));
        }
        InboxItem::Card(Box::new(card))
    };
    let warned = |n: u8| {
        let mut claim = claim(60 + n, &format!("Backups of shop {n} are kept for thirty days"));
        claim.source = Some("docs/adr/0009-backups.md:3".into());
        InboxItem::Notice(Box::new(NoticeItem {
            id: EventId([0x60 + n; 32]),
            what: NoticeKind::Warned,
            sentence: "They set the same thing to different values: “thirty days” against “a week”.".into(),
            claim,
            against: vec![claim_of_a_week(n)],
            stage: Some(Stage::Nli),
            rule: Some("contradiction".into()),
            score: Some(0.61),
            op_id: import(0x60 + n),
            at: NOW - 2 * HOUR,
            who: "max".into(),
            agent: None,
        }))
    };
    let mut elsewhere = CardSummary { kind: CardKind::Refused, ..summary(9, CardStatus::Open) };
    elsewhere.scope = scope("web");
    let mut cards = vec![InboxItem::Card(Box::new(elsewhere))];
    cards.extend([1, 3, 5].map(refused));
    let groups = vec![group(InboxKind::Refused, 4, cards), group(InboxKind::Warned, 2, [1, 2].map(warned).into())];
    Inbox { total: 6, groups, ..Inbox::default() }
}

fn claim_of_a_week(n: u8) -> crate::api::ClaimView {
    claim(70 + n, &format!("Backups of shop {n} are kept for a week"))
}

fn settling(n: u8, kind: &str, outcome: &str) -> EventView {
    EventView { outcome: Some(outcome.into()), ..event(n, kind, None) }
}

pub(crate) fn log() -> LogPage {
    let items = vec![
        event(1, "local.refused", Some("The canary deployment is always red")),
        event(2, "supersede", Some("Deploy on green CI and an approved review")),
        event(3, "assert", Some("決定：日本語のテキストも正しく表示する 🚀")),
        event(4, "retract", None),
        settling(5, "resolve.exception", "kept both as an exception: “Deploy every Friday” and “Deploy on green CI”"),
        settling(6, "local.settled", "kept “Deploy every Friday”, discarded “Deploy on green CI only”"),
        event(30, "fact_set", Some("The staging host is staging-2")),
    ];
    LogPage { total: items.len(), items, next: None }
}

/// The last act of the person at the app.
pub(crate) fn last_act() -> LogPage {
    let items = log().items.into_iter().filter(|event| event.agent.is_none()).take(1).collect();
    LogPage { items, ..LogPage::default() }
}

/// A daemon with two models, one of which has a problem.
pub(crate) fn diagnose() -> Diagnose {
    let model = |role: &str, name: &str, loaded| ModelStatus {
        role: role.into(),
        name: name.into(),
        loaded,
        computes: Some("CPU".into()),
        ..ModelStatus::default()
    };
    Diagnose {
        health: Health {
            status: "ok".into(),
            version: env!("CARGO_PKG_VERSION").into(),
            api: 1,
            pid: 4711,
            uptime_s: 93_784,
            retrieval: true,
            nli: "mini-nli".into(),
            embedder: "mini-embed".into(),
        },
        store: "/home/zoe/.local/share/ergo/ergo.db".into(),
        store_bytes: 48_234_496,
        schema: 4,
        log: "/home/zoe/.local/state/ergo/daemon.log".into(),
        socket: Some("/run/user/1000/ergo/ergo.sock".into()),
        tcp: None,
        device: DeviceId([0xd1; 32]),
        events: 103_411,
        claims: 100_312,
        active: 84_120,
        open_cards: 3,
        needs_review: 1,
        guard: GuardCounts {
            clean: 1_204,
            warn: 12,
            block: 3,
            exception: 1,
            ungated: 0,
            inferred: 5_220,
            deepened: 41,
            refined: 40,
            waiting: 17,
            story_dropped: 0,
            skipped: 2,
        },
        nli_unfitted: false,
        thresholds: vec![],
        ask_thresholds: vec![],
        requests: 88_213,
        store_problem: None,
        problems: vec!["port 8788 is taken: only the socket serves; set daemon.tcp in config.toml".into()],
        changed_settings: vec![],
        settings_without_effect: vec![],
        models: ModelsStatus {
            roles: vec![
                model("embedder", "mini-embed", true),
                ModelStatus { problem: Some("its file is gone".into()), ..model("nli", "mini-nli", false) },
            ],
            workers: vec![WorkerStatus {
                roles: vec!["embedder".into(), "nli".into()],
                pid: Some(4712),
                rss_bytes: 212_000_000,
                restarts: 1,
            }],
            failures: [("timeout".to_owned(), 2)].into(),
            problems: vec![],
        },
        unembedded: crate::api::Unembedded::default(),
        timings: vec![
            Timing { stage: "models, before a write".into(), count: 1_220, mean_us: 41_200, max_us: 412_000 },
            Timing { stage: "an act, judged and stored".into(), count: 1_224, mean_us: 1_830, max_us: 22_100 },
        ],
    }
}

/// Returns the Inbox id of the card with this number.
pub(crate) fn inbox_card(n: u8) -> crate::tui::state::inbox::ItemId {
    crate::tui::state::inbox::ItemId::Card(card_id(n))
}

/// This device's request to join a team.
pub(crate) fn join(state: crate::api::JoinState) -> crate::api::JoinView {
    crate::api::JoinView {
        id: "00112233".into(),
        state,
        team_name: "core".into(),
        inviter: "ada-laptop".into(),
        person: "ada".into(),
        role: crate::api::Role::Writer,
        words: ["anvil", "copper", "lemon", "tiger", "orbit", "maple"].map(str::to_owned).to_vec(),
        expires_at: NOW + 240_000,
        team: None,
        error: None,
    }
}

/// A held write, which waits on card 7 for verdicts on the claims 80 and 81.
pub(crate) fn consider() -> Consider {
    let doubt = |n: u8, statement: &str, band| Doubt {
        id: id(n),
        kind: ClaimKind::Decision,
        statement: statement.into(),
        reason: Some("They plan by it.".into()),
        who: "zoe".into(),
        agent: None,
        at: NOW - 50 * HOUR,
        band,
    };
    Consider {
        token: card_id(7).to_hex(),
        card_id: card_id(7),
        op_id: OpId([7; 16]),
        scope: scope("api"),
        agent: None,
        statement: "The weekly report goes to the finance team as a draft".into(),
        message: "Not stored yet: it may contradict, replace or repeat active claims.".into(),
        doubts: vec![
            doubt(82, "Reports are archived for ten years", DoubtBand::Mention),
            doubt(80, "The weekly report goes to the finance team first", DoubtBand::Ask),
            doubt(
                81,
                "Drafts of reports stay within the team that writes them, whoever asks for them, and are never sent as files",
                DoubtBand::Ask,
            ),
        ],
        until: NOW + 600_000,
        replayed: false,
    }
}

/// The held writes.
pub(crate) fn questions() -> Questions {
    Questions { items: vec![consider()] }
}

/// A story with a reversal and a stale claim.
pub(crate) fn story() -> Story {
    let dated = |n: u8, days: u64, statement: &str, status| {
        let mut claim = claim(n, statement);
        (claim.at, claim.status, claim.source) = (NOW - days * 24 * HOUR, status, None);
        claim
    };
    let claims = vec![
        dated(90, 400, "The public API is REST", Status::Active),
        dated(91, 300, "Postgres 14 runs in every environment", Status::Active),
        dated(92, 120, "The public API moves to GraphQL", Status::Active),
        dated(93, 60, "All databases run Postgres 17", Status::Active),
        dated(94, 20, "Use tabs", Status::Superseded),
        dated(95, 2, "New endpoints of the public API are REST", Status::Active),
    ];
    let mark = |confusion, question: &str, numbers: &[u8]| StoryMark {
        confusion,
        question: question.into(),
        claims: numbers.iter().map(|n| id(*n)).collect(),
        by_model: false,
        card: (confusion == Confusion::Reversal).then(|| card_id(5)),
    };
    Story {
        read: claims.len(),
        claims,
        marks: vec![
            mark(Confusion::Stale, "Does “Postgres 14 runs in every environment” still hold?", &[91, 93]),
            mark(Confusion::Reversal, "Is the public API REST again, instead of GraphQL?", &[90, 92, 95]),
        ],
        cut: false,
        waiting: 0,
        in_sessions: 0,
        sessions: 0,
    }
}

/// Three of five pairs that wait for a verdict.
pub(crate) fn doubts() -> Doubts {
    let pair = |n: u8, newer: &str, older: &str| {
        let (mut newer, mut older) = (claim(n, newer), claim(n + 1, older));
        (newer.at, older.at) = (NOW - 3 * HOUR, NOW - 90 * 24 * HOUR);
        newer.agent = Some("claude-code".into());
        older.reason = Some("The last incident began with it.".into());
        PairInDoubt { id: card_id(n), scope: scope("api"), band: DoubtBand::Ask, newer, older }
    };
    Doubts {
        total: 5,
        scopes: Vec::new(),
        items: vec![
            pair(110, "Retries use a fixed delay of two seconds", "Retries back off exponentially"),
            pair(112, "The worker pool has 16 threads", "The worker pool is as large as the number of cores"),
            pair(114, "決定：配備は毎週金曜日に行う", "決定：配備は毎週月曜日に行う"),
        ],
    }
}

/// The card of the reversal in [`story`].
pub(crate) fn story_card() -> CardView {
    let sides = [90, 92, 95].map(|n| {
        let claim = story().claims.into_iter().find(|claim| claim.id == id(n));
        CardSide { claim: claim.unwrap_or_else(|| claim_of_a_week(n)), new_claim: false, bears: vec![], now: vec![] }
    });
    let question = StoryQuestion {
        confusion: Confusion::Reversal,
        question: "Is the public API REST again, instead of GraphQL?".into(),
        yes: "“New endpoints of the public API are REST” supersedes the two claims before it.".into(),
        no: "“The public API moves to GraphQL” supersedes both claims about REST.".into(),
        claims: [90, 92, 95].map(id).into(),
    };
    let card = super::card(5);
    CardView {
        summary: CardSummary { kind: CardKind::Story, pair: None, story: Some(question), ..card.summary },
        sides: sides.into_iter().rev().collect(),
        evidence: vec![],
        acts: CardAct::ALL
            .into_iter()
            .map(|act| ActOption {
                act,
                disabled: (!matches!(act, CardAct::Yes | CardAct::No | CardAct::Snooze | CardAct::Dismiss))
                    .then(|| "this card asks a question: answer yes or no".to_owned()),
                prefill: None,
            })
            .collect(),
        ..card
    }
}

/// A device that waits for admission.
pub(crate) fn pending() -> PendingJoin {
    PendingJoin {
        id: "5e11a0b2c3d4e5f6".into(),
        invite: "0011223344556677".into(),
        team: EventId([0x7e; 32]),
        team_name: "core".into(),
        device: DeviceId([0xee; 32]),
        name: "eve-laptop".into(),
        person: "eve".into(),
        role: Role::Writer,
        scopes: vec![scope("api")],
        words: ["anvil", "copper", "lemon", "tiger", "orbit", "maple"].map(str::to_owned).to_vec(),
        expires_at: NOW + 240_000,
    }
}
