//! Two laptops that never see each other, each with a daemon of its own: what they share travels as files.

use std::thread;

use ed25519_dalek::SigningKey;
use ergo::{
    api::{
        Caller, CardAct, ConflictsQuery, CreateTeamRequest, ExportRequest, ImportOutcome, ImportQuery, ResolveRequest,
    },
    domain::{
        DeviceId, Qualifiers, Scope,
        roster::{Grant, Granted, Role},
    },
    engine::{Engine, EngineConfig},
    guard::StructuralPairCheck,
    store::Store,
    sync::transfer,
};
use futures_util::{StreamExt, TryStreamExt};

use crate::support::{TestHome, block_on, caller, decision, laptop::write_facts, until};

const CONFIG: &str =
    "[daemon]\ntcp = false\n[models]\nembedder = \"none\"\nnli = \"none\"\nllm = \"none\"\n[sync]\nmode = \"off\"\n";

/// A laptop whose key is known.
struct Laptop {
    home: TestHome,
    key: SigningKey,
}

impl Laptop {
    fn new(number: u8) -> Self {
        let key = SigningKey::from_bytes(&[number; 32]);
        let home = TestHome::with_key(CONFIG, &key);
        // A key beside no store would be that of a lost one.
        drop(Engine::open(EngineConfig::new(home.paths().store(), key.clone())).unwrap());
        Self { home, key }
    }

    /// The store, while no daemon has it.
    fn engine(&self) -> Engine {
        Engine::open(EngineConfig::new(self.home.paths().store(), self.key.clone())).unwrap()
    }

    fn export(&self, request: &ExportRequest) -> Vec<u8> {
        block_on(async {
            let (outcome, length, body) = self.home.client().export_bundle(request).await.unwrap();
            let file = body
                .try_fold(Vec::new(), async |mut all, piece| {
                    all.extend_from_slice(&piece);
                    Ok(all)
                })
                .await
                .unwrap();
            assert_eq!((length, outcome.bytes), (Some(outcome.bytes), file.len() as u64));
            file
        })
    }

    fn import(&self, file: &[u8], dry_run: bool) -> ImportOutcome {
        let pieces: Vec<_> = file.chunks(10_000).map(|piece| Ok(bytes::Bytes::copy_from_slice(piece))).collect();
        let body = futures_util::stream::iter(pieces).boxed();
        block_on(async { self.home.client().import_bundle(&ImportQuery { dry_run }, body).await }).unwrap()
    }

    fn open_cards(&self) -> Vec<ergo::api::CardSummary> {
        block_on(async { self.home.client().conflicts(&ConflictsQuery::default()).await }).unwrap().items
    }

    fn events(&self) -> usize {
        block_on(async { self.home.client().diagnose().await }).unwrap().events
    }
}

/// Two laptops in one team that shares a project; the second joined by a file.
fn pair() -> (Laptop, Laptop) {
    pair_with(&["api"])
}

/// [`pair`], with these projects of the organisation.
fn pair_with(projects: &[&str]) -> (Laptop, Laptop) {
    let (ada, bob) = (Laptop::new(1), Laptop::new(2));
    let grant = {
        let engine = ada.engine();
        let request = CreateTeamRequest {
            caller: caller(),
            name: "core".into(),
            device_name: Some("ada-laptop".into()),
            scopes: projects.iter().map(|project| Scope::new("acme", *project).unwrap()).collect(),
        };
        engine.create_team(&request).unwrap();
        let grant = Grant { role: Role::Writer, scopes: Granted::All };
        engine.add_member(&caller(), None, bob.engine().device(), "bob", "bob-laptop", &grant).unwrap();
        let mut file = Vec::new();
        let request = ExportRequest { to: vec!["bob-laptop".into()], roster_only: true, ..ExportRequest::default() };
        transfer::export(&engine, &request, &mut file).unwrap();
        file
    };
    let roster = transfer::roster_in(grant.as_slice(), &bob.key).unwrap();
    let bobs = Caller { who: "bob".into(), ..caller() };
    bob.engine().join_team(&bobs, roster.team, &roster.events, None, &[], &[]).unwrap();
    (ada, bob)
}

#[test]
fn a_contradiction_found_on_import_is_the_same_card_on_both_after_the_way_back() {
    let (ada, bob) = pair();
    let (_ada, _bob) = (ada.home.daemon(), bob.home.daemon());
    let write = |laptop: &Laptop, statement: &str| {
        block_on(async { laptop.home.client().remember(&decision(statement)).await }).unwrap();
    };
    write(&ada, "We must use Kafka as the message broker.");
    write(&bob, "We must not use Kafka as the message broker.");
    let there = ada.export(&ExportRequest::default());
    let would = bob.import(&there, true);
    assert_eq!((would.dry_run, would.cards.len(), bob.open_cards().len()), (true, 1, 0));
    let did = bob.import(&there, false);
    assert!(did.whole && did.stored == 1 && did.cards.len() == 1, "{did:#?}");
    let back = ada.import(&bob.export(&ExportRequest::default()), false);
    assert_eq!((back.stored, back.quarantined_total), (1, 0));
    let (ours, theirs) = (ada.open_cards(), bob.open_cards());
    assert_eq!((ours.len(), ours[0].id), (1, theirs[0].id));
    assert_eq!(ours[0].members, theirs[0].members);
    // Settled by one, closed at the other by the next file.
    let winner = back.cards[0].members[0].to_hex();
    let order = ResolveRequest {
        caller: caller(),
        act: CardAct::Supersede,
        reason: "measured".into(),
        winner: Some(winner),
        target: None,
        statement: None,
        qualifiers: Qualifiers::default(),
        drop_conditions: false,
        until: None,
        expect_rev: None,
    };
    block_on(async { ada.home.client().resolve(&ours[0].id.to_hex(), &order).await }).unwrap();
    let receipt = bob.export(&ExportRequest {
        to: vec!["ada-laptop".into()],
        receipt_for: Some(did.bundle),
        ..ExportRequest::default()
    });
    assert!(ada.import(&receipt, false).receipt);
    let rest = ada.export(&ExportRequest { since: Some("bob-laptop".into()), ..ExportRequest::default() });
    assert!(rest.len() < there.len() + 2_000);
    let last = bob.import(&rest, false);
    assert!(last.stored >= 1 && last.scopes[0].in_step, "{last:#?}");
    assert_eq!((ada.open_cards().len(), bob.open_cards().len()), (0, 0));
}

#[test]
fn a_rule_of_the_organisation_travels_in_a_file_and_holds_in_the_projects_at_the_other_end() {
    let (ada, bob) = pair_with(&["api", "*"]);
    let (_ada, _bob) = (ada.home.daemon(), bob.home.daemon());
    let remember = |laptop: &Laptop, scope: &str, statement: &str| {
        let args = ["remember", statement, "--kind", "constraint", "--reason", "audits", "--scope", scope, "--json"];
        laptop.home.run(args)
    };
    let rule = remember(&ada, "acme/*", "Releases must be signed.").ok().json()["claim_id"].clone();
    let only = |scope: &str| ExportRequest { scopes: vec![scope.into()], ..ExportRequest::default() };
    assert_eq!(bob.import(&ada.export(&only("acme/api")), false).stored, 0, "the project's file has none of it");
    assert_eq!(bob.import(&ada.export(&only("acme/*")), false).stored, 1);
    let there = bob.home.run(["claims", "--scope", "acme/*", "--json"]).ok().json();
    assert_eq!((&there["items"][0]["id"], &there["items"][0]["level"]), (&rule, &"organisation".into()), "{there}");
    assert_eq!(remember(&bob, "acme/api", "Releases must not be signed.").code, Some(1), "it holds in his project");
    // Withdrawn at home, it is withdrawn there.
    ada.home.run(["retract", rule.as_str().unwrap(), "--reason", "no longer"]).ok();
    bob.import(&ada.export(&only("acme/*")), false);
    assert_eq!(remember(&bob, "acme/web", "Releases must not be signed.").code, Some(0));
}

#[test]
fn a_receipt_that_is_not_written_is_an_error() {
    let (ada, bob) = pair();
    let (_ada, _bob) = (ada.home.daemon(), bob.home.daemon());
    let path = |name: &str| ada.home.path().join(name).to_str().unwrap().to_owned();
    let (file, receipt) = (path("bob.ergo"), path("receipt.ergo"));
    std::fs::write(&file, bob.export(&ExportRequest::default())).unwrap();
    ada.home.run(["sync", "import", &file, "--receipt", &receipt, "--json"]).ok();
    ada.home.run(["sync", "revoke", "bob-laptop", "--reason", "it was lost", "-y"]).ok();
    std::fs::remove_file(&receipt).unwrap();
    let done = ada.home.run(["sync", "import", &file, "--receipt", &receipt, "--json"]);
    assert!(done.code == Some(1) && done.stderr.contains("no receipt was written"), "{done:?}");
    assert!(done.json()["bundle"].is_string() && !std::path::Path::new(&receipt).exists(), "{done:?}");
}

#[test]
fn a_bundle_whose_scopes_are_all_sealed_for_others_is_refused_with_the_way_to_get_them() {
    let (ada, bob) = pair_with(&["api", "web"]);
    let cy = DeviceId(SigningKey::from_bytes(&[3; 32]).verifying_key().to_bytes());
    let grant = Grant { role: Role::Writer, scopes: Granted::All };
    ada.engine().add_member(&caller(), None, cy, "cy", "cy-laptop", &grant).unwrap();
    let (_ada, _bob) = (ada.home.daemon(), bob.home.daemon());
    let path = ada.home.path().join("ada.ergo").to_str().unwrap().to_owned();
    ada.home.run(["sync", "grant", "bob-laptop", "--only", "acme/web"]).ok();
    let file = ada.export(&ExportRequest { scopes: vec!["acme/api".into()], ..ExportRequest::default() });
    std::fs::write(&path, file).unwrap();
    let done = bob.home.run(["sync", "import", &path]);
    assert!(done.code == Some(1) && done.stdout.contains("A bundle of “core”"), "{done:?}");
    assert!(done.stdout.contains("encrypted for other devices") && done.stderr.contains("ergo sync grant"), "{done:?}");
}

#[test]
fn the_copy_that_an_interrupted_dry_run_left_is_deleted_at_the_start() {
    let (ada, bob) = pair();
    let copy = ada.home.paths().store().with_extension("dry-run");
    std::fs::create_dir(&copy).unwrap();
    std::fs::write(copy.join("ergo.db"), "a text that was redacted since").unwrap();
    let (_ada, _bob) = (ada.home.daemon(), bob.home.daemon());
    assert!(!copy.exists());
    ada.import(&bob.export(&ExportRequest::default()), true);
    assert!(!copy.exists(), "a dry run deletes its own");
}

#[test]
fn kill_nine_in_the_middle_of_an_import_costs_nothing_but_the_time() {
    let (ada, bob) = pair();
    const FACTS: usize = 6_000;
    {
        let mut store =
            Store::open(&ada.home.paths().store(), ada.key.clone(), std::sync::Arc::new(StructuralPairCheck)).unwrap();
        write_facts(&mut store, 1_790_000_000_000, "ada", "host", FACTS);
    }
    let mut file = Vec::new();
    transfer::export(&ada.engine(), &ExportRequest::default(), &mut file).unwrap();
    let daemon = bob.home.daemon();
    let before = bob.events();
    // The file comes slowly, so that the daemon has stored some of it and not all when it is killed.
    let (client, pieces) = (bob.home.client(), file.clone());
    let sender = thread::spawn(move || {
        let pieces: Vec<_> = pieces.chunks(64 * 1024).map(|piece| Ok(bytes::Bytes::copy_from_slice(piece))).collect();
        let held = pieces.len() - 1;
        let body = futures_util::stream::iter(pieces).enumerate().then(move |(at, piece)| async move {
            // The last piece never comes.
            if at == held {
                std::future::pending::<()>().await;
            }
            piece
        });
        block_on(async { client.import_bundle(&ImportQuery::default(), body.boxed()).await }).unwrap_err()
    });
    until("a part of the file is stored", || bob.events() > before);
    daemon.kill();
    sender.join().unwrap();
    let part = {
        let store =
            Store::open(&bob.home.paths().store(), bob.key.clone(), std::sync::Arc::new(StructuralPairCheck)).unwrap();
        let report = store.check().unwrap();
        assert!(report.problems.is_empty(), "{report:?}");
        store.reader().counts(0).unwrap().claims
    };
    assert!(part > 0 && part < FACTS, "{part} of {FACTS}");
    let _daemon = bob.home.daemon();
    let done = bob.import(&file, false);
    assert!(done.whole && done.scopes[0].in_step, "{done:#?}");
    assert_eq!(done.stored as usize + part, FACTS);
    let claims = block_on(async { bob.home.client().diagnose().await }).unwrap().claims;
    assert_eq!(claims, FACTS);
}
