//! The background pass over stored claims reads the newest first, and continues after a restart.

use ergo::{
    api::DoubtsQuery,
    infer::{FakeModels, InferError, ModelRole},
};

use super::{
    doubts::doubting,
    inference::{EARLY, LATE, trusting},
    *,
};

/// Pairs that the gate queues, the older claim first.
const PAIRS: [[&str; 2]; 2] = [
    ["The weekly report goes to the finance team first", "The weekly report goes to the finance team as a draft"],
    ["The monthly invoice goes to the sales team first", "The monthly invoice goes to the sales team as a draft"],
];

/// Subjects of unrelated claims.
const SUBJECTS: [&str; 20] = [
    "Invoices",
    "Backups",
    "Tickets",
    "Servers",
    "Logs",
    "Releases",
    "Tests",
    "Branches",
    "Reviews",
    "Secrets",
    "Images",
    "Queues",
    "Caches",
    "Sessions",
    "Reports",
    "Schemas",
    "Alerts",
    "Budgets",
    "Contracts",
    "Screens",
];

fn waiting(fixture: &Fixture) -> u64 {
    fixture.engine.counts().unwrap().guard.waiting
}

#[test]
fn the_newest_claim_is_read_first() {
    let fixture = Fixture::new().reopen_with(doubting());
    let ids: Vec<ClaimId> =
        PAIRS.iter().flatten().map(|statement| fixture.remember(statement, "they plan by it")).collect();
    let queued = || {
        let doubts = fixture.engine.doubts(&DoubtsQuery::default()).unwrap();
        doubts.items.iter().map(|pair| pair.newer.id).collect::<Vec<_>>()
    };
    assert!(fixture.engine.deepen_next().unwrap());
    assert_eq!(queued(), [ids[3]]);
    while fixture.engine.deepen_next().unwrap() {}
    assert_eq!(queued(), [ids[3], ids[1]]);
}

#[test]
fn after_a_restart_it_goes_on_where_it_was() {
    let fixture = Fixture::new();
    for subject in SUBJECTS {
        fixture.remember(&format!("{subject} are documented"), "somebody asks each week");
    }
    assert_eq!(waiting(&fixture), 20);
    for _ in 0..4 {
        assert!(fixture.engine.deepen_next().unwrap());
    }
    let fixture = fixture.reopen();
    assert_eq!(waiting(&fixture), 16, "the four newest were read");
    // What came after that waits besides, and is read first.
    fixture.remember("Holidays are announced in spring", "people plan by it");
    let fixture = fixture.reopen();
    assert_eq!(waiting(&fixture), 17);
    assert!(fixture.engine.deepen_next().unwrap());
    let fixture = fixture.reopen();
    assert_eq!(waiting(&fixture), 16);
    while fixture.engine.deepen_next().unwrap() {}
    let fixture = fixture.reopen();
    assert_eq!(waiting(&fixture), 0);
    fixture.remember("Parcels leave at noon", "the post comes then");
    assert_eq!(waiting(&fixture.reopen()), 1);
}

#[test]
fn a_claim_that_comes_back_or_is_stored_from_a_card_is_compared_again_too() {
    for reinstates in [true, false] {
        let busy = Arc::new(std::sync::atomic::AtomicBool::new(true));
        let seen = Arc::clone(&busy);
        let models = FakeModels::new().embedding(|text| Ok(FakeModels::bag_of_words(text))).classifying(move |a, b| {
            if seen.load(Ordering::Relaxed) {
                return Err(InferError::Busy { role: ModelRole::Nli });
            }
            let opposed = [a, b].contains(&EARLY) && [a, b].contains(&LATE);
            Ok([0.0, 0.0, if opposed { 4.0 } else { -5.0 }])
        });
        let fixture = Fixture::new().reopen_with_models(trusting(), Arc::new(models));
        let answer = if reinstates {
            let late = fixture.remember(LATE, "one look is enough");
            fixture.retract(late, "too early to say");
            fixture.remember(EARLY, "cheap to change");
            while fixture.engine.deepen_next().unwrap() {}
            done(fixture.engine.reinstate(on(late, "it was right")).unwrap())
        } else {
            fixture.remember(EARLY, "cheap to change");
            fixture.remember("The linter must run as a hook", "fast");
            let card = fixture.refuse("The linter must not run as a hook", "slow");
            while fixture.engine.deepen_next().unwrap() {}
            let merged = ResolveRequest { statement: Some(LATE.into()), ..order(CardAct::Supersede, "settled") };
            done(fixture.resolve(card, merged))
        };
        assert!(answer.warnings.iter().any(|warning| warning.code == "stage_skipped"), "{:?}", answer.warnings);
        assert_eq!(fixture.open_cards(), 0);
        busy.store(false, Ordering::Relaxed);
        while fixture.engine.deepen_next().unwrap() {}
        assert_eq!(fixture.open_cards(), 1, "reinstated: {reinstates}");
    }
}
