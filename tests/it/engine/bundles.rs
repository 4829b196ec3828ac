//! Laptops that share no network: exchange by files, and damaged or unexpected files.

use ergo::{
    api::{
        AdoptRequest, ApiError, CreateTeamRequest, ExportOutcome, ExportRequest, ImportOutcome, QuarantineRequest,
        RevokeRequest,
    },
    domain::{
        EventId, Scope,
        roster::{Grant, Granted, Role},
    },
    store::{Store, SyncImport},
    sync::transfer::{self, RosterFile},
};

use super::*;
use crate::support::laptop::write_facts;

pub(super) fn scope(project: &str) -> Scope {
    Scope::new("acme", project).unwrap()
}

pub(super) fn export(fixture: &Fixture, request: &ExportRequest) -> Result<(Vec<u8>, ExportOutcome), ApiError> {
    let mut file = Vec::new();
    let outcome = transfer::export(&fixture.engine, request, &mut file)?;
    assert_eq!(outcome.bytes, file.len() as u64);
    Ok((file, outcome))
}

pub(super) fn all(fixture: &Fixture) -> Vec<u8> {
    export(fixture, &ExportRequest::default()).unwrap().0
}

pub(super) fn to(name: &str) -> ExportRequest {
    ExportRequest { to: vec![name.to_owned()], ..ExportRequest::default() }
}

fn since(name: &str) -> ExportRequest {
    ExportRequest { since: Some(name.to_owned()), ..ExportRequest::default() }
}

fn since_file(file: &[u8]) -> ExportRequest {
    ExportRequest { since_file: vec![hex::encode(file)], ..ExportRequest::default() }
}

fn receipt(to: &str, import: &ImportOutcome) -> ExportRequest {
    ExportRequest { receipt_for: Some(import.bundle.clone()), ..self::to(to) }
}

pub(super) fn import(fixture: &Fixture, file: &[u8]) -> ImportOutcome {
    transfer::import(&fixture.engine, file).unwrap()
}

fn events(outcome: &ExportOutcome) -> u64 {
    outcome.scopes.iter().map(|scope| scope.events).sum()
}

fn create(fixture: &Fixture, name: &str) -> EventId {
    let request = CreateTeamRequest {
        caller: caller(),
        name: name.into(),
        device_name: Some("ada-laptop".into()),
        scopes: vec![scope("api")],
    };
    fixture.engine.create_team(&request).unwrap().id
}

/// Admits the other device, which joins by a file alone.
pub(super) fn admit_by_file(admin: &Fixture, other: &Fixture, name: &str, grant: Grant) {
    admin.engine.add_member(&caller(), None, other.engine.device(), "bob", name, &grant).unwrap();
    let (file, _) = export(admin, &ExportRequest { roster_only: true, ..to(name) }).unwrap();
    let RosterFile { team, from, events } =
        transfer::roster_in(file.as_slice(), &other.engine.config().device).unwrap();
    assert_eq!(from, admin.engine.device());
    other.engine.join_team(&caller(), team, &events, None, &[], &[]).unwrap();
}

fn everything() -> Grant {
    Grant { role: Role::Writer, scopes: Granted::All }
}

/// Two laptops in one team that never met.
fn pair() -> (Fixture, Fixture, EventId) {
    let (a, b) = (Fixture::of(1, AgentPolicy::Force), Fixture::of(2, AgentPolicy::Force));
    a.remember("We must use Postgres for the ledger", "it was there");
    let team = create(&a, "core");
    admit_by_file(&a, &b, "bob-laptop", everything());
    (a, b, team)
}

fn assert_alike(a: &Fixture, b: &Fixture) {
    let projection = |fixture: &Fixture| fixture.engine.with_reader(ergo::store::Reader::projection).unwrap();
    assert_eq!(projection(a), projection(b));
}

const KAFKA: &str = "We must use Kafka as the message broker";
const NO_KAFKA: &str = "We must not use Kafka as the message broker";

#[test]
fn a_team_lives_by_files_alone() {
    let (a, b, team) = pair();
    let yes = a.remember(KAFKA, "we know it");
    let no = b.remember(NO_KAFKA, "too heavy");
    let done = import(&b, &all(&a));
    assert!(done.whole && done.problems.is_empty() && !done.receipt, "{done:#?}");
    assert_eq!((done.stored, done.known > 0, done.quarantined_total), (2, true, 0));
    assert_eq!((done.team, done.from.name.as_str(), done.from_state.as_str()), (team, "ada-laptop", "active"));
    assert_eq!((done.cards.len(), done.scopes[0].maker_lacks, done.scopes[0].in_step), (1, 1, false));
    let back = import(&a, &all(&b));
    assert_eq!((back.stored, back.known > 0), (1, true));
    assert_eq!(back.cards.iter().map(|card| card.id).collect::<Vec<_>>(), [done.cards[0].id]);
    assert_eq!(back.new_authors.iter().map(|author| author.name.as_str()).collect::<Vec<_>>(), ["bob-laptop"]);
    assert!(back.scopes[0].in_step);
    assert_alike(&a, &b);
    // The card is settled on one device, and with the next file on the other.
    let mut order = order(CardAct::Supersede, "ada is right");
    order.winner = Some(yes.to_hex());
    super::done(a.resolve(done.cards[0].id, order));
    import(&b, &all(&a));
    assert_eq!((a.open_cards(), b.open_cards()), (0, 0));
    assert_eq!(b.claim(no).status, ergo::domain::Status::Superseded);
    assert_alike(&a, &b);
}

#[test]
fn files_are_taken_in_any_order_and_more_than_once() {
    let (a, _, _) = pair();
    let mut files = vec![all(&a)];
    for (subject, reason) in [("the cache", "fast"), ("the queue", "slow"), ("the index", "small")] {
        let before = files.last().unwrap().clone();
        a.remember(&format!("We must shard {subject}"), reason);
        files.push(export(&a, &since_file(&before)).unwrap().0);
    }
    for rotation in 0..files.len() {
        let b = Fixture::of(2, AgentPolicy::Force);
        let grant = export(&a, &ExportRequest { roster_only: true, ..to("bob-laptop") }).unwrap().0;
        let RosterFile { team, events, .. } = transfer::roster_in(grant.as_slice(), &b.engine.config().device).unwrap();
        b.engine.join_team(&caller(), team, &events, None, &[], &[]).unwrap();
        let mut order: Vec<_> = files.iter().collect();
        order.rotate_left(rotation);
        let mut stored = 0;
        for file in order.iter().chain(&order) {
            stored += import(&b, file).stored;
        }
        assert_eq!(stored, 4, "each once, whatever the order");
        assert_alike(&a, &b);
    }
}

#[test]
fn network_and_files_mix() {
    let (a, b, team) = pair();
    a.remember(KAFKA, "we know it");
    let file = all(&a);
    // Some events of the file arrive over the network first.
    let page = a.engine.with_reader(|reader| reader.events_after(&team, &scope("api"), &[], None, 1)).unwrap();
    let (now, from) = (b.engine.now(), Some(a.engine.device()));
    let take = SyncImport { team, from, events: page.events, document: None, peer: None, now };
    assert_eq!(b.engine.import_synced(&take).unwrap().stored.len(), 1);
    let done = import(&b, &file);
    assert_eq!((done.stored, done.scopes[0].arrived, done.scopes[0].in_step), (1, 2, true));
    assert_alike(&a, &b);
}

#[test]
fn a_bundle_opens_for_those_it_is_for_and_no_others() {
    let (a, b, _) = pair();
    let c = Fixture::of(3, AgentPolicy::Force);
    let refused = |fixture: &Fixture, file: &[u8]| transfer::import(&fixture.engine, file).unwrap_err();
    let file = all(&a);
    // A stranger, and a member that the bundle is not for.
    let error = refused(&c, &file);
    assert!(error.message.contains("does not belong to the team of the bundle"), "{error}");
    admit_by_file(&a, &c, "cy-laptop", Grant { role: Role::Reader, scopes: Granted::Only([].into()) });
    let error = refused(&c, &export(&a, &to("bob-laptop")).unwrap().0);
    assert!(error.message.contains("is encrypted for") && error.message.contains("not for this device"), "{error}");
    // A member can read what it was granted: here, only the roster.
    let done = import(&c, &all(&a));
    assert_eq!((done.closed_scopes, done.stored, done.scopes.len(), done.whole), (1, 0, 0, true));
    assert!(!done.receipt && done.all_closed(), "nothing in it could be read, and that is not a receipt: {done:#?}");
    let error = export(&a, &ExportRequest { scopes: vec!["acme/api".into()], ..to("cy-laptop") }).unwrap_err();
    assert!(error.field.as_deref() == Some("scopes") && error.hint.unwrap().contains("grant"), "{}", error.message);
    let (_, only) = export(&a, &to("cy-laptop")).unwrap();
    assert_eq!((only.scopes.len(), only.left_out), (0, vec![scope("api")]));
    // The maker can read its own bundle.
    let own = import(&a, &file);
    assert_eq!((own.stored, own.scopes[0].in_step), (0, false), "it is not in sync with itself: {own:#?}");
    // A device that does not belong to the team gets that error even if the bundle is not encrypted.
    let d = Fixture::of(4, AgentPolicy::Force);
    create(&d, "other");
    let (open, exported) = export(&a, &ExportRequest { open: true, ..ExportRequest::default() }).unwrap();
    assert_eq!(exported.sealed_to, None);
    let error = refused(&d, &open);
    assert!(error.message.contains("does not belong to the team") && error.hint.unwrap().contains("ergo sync join"));
    assert_eq!(import(&b, &open).stored, 2, "the claim, and that another came in");
}

#[test]
fn a_revoked_device_gets_no_events_and_its_later_ones_are_listed() {
    let (a, b, _) = pair();
    import(&b, &all(&a));
    let kept = b.remember("We must log in JSON", "agreed");
    import(&a, &all(&b));
    let late = b.remember(NO_KAFKA, "too heavy");
    let file = all(&b);
    let request = RevokeRequest {
        caller: caller(),
        device: "bob-laptop".into(),
        reason: "left".into(),
        ..RevokeRequest::default()
    };
    a.engine.revoke_from_team(&request).unwrap();
    let error = export(&a, &to("bob-laptop")).unwrap_err();
    assert!(error.message.contains("revoked"), "{error}");
    let error = transfer::import(&b.engine, all(&a).as_slice()).unwrap_err();
    assert!(error.message.contains("not for this device"), "{error}");
    // A file that the device made before it knew of its revocation: the authors of the events and the time of the
    // revocation count.
    let done = import(&a, &file);
    assert_eq!((done.from_state.as_str(), done.stored, done.quarantined_total), ("revoked", 0, 1));
    let event = &done.quarantined[0];
    assert_eq!((event.id, event.author.name.as_str(), event.refusal.as_str()), (late, "bob-laptop", "after_cut"));
    assert!(event.why.contains("revoked") && done.whole);
    // Each further import says so again, until a person discards the event (below).
    let again = import(&a, &file);
    assert_eq!((again.stored, again.quarantined_total, &again.quarantined), (0, 1, &done.quarantined));
    assert_eq!(again.known, done.known, "what is in quarantine is not called stored");
    // Whoever looks the file over finds it named too.
    let report = a.engine.with_reader(ergo::store::Reader::check).unwrap();
    assert_eq!((report.problems.len(), report.devices), (0, 2), "{report:?}");
    assert!(report.notes.iter().any(|note| note.contains(&late.short()) && note.contains("bob-laptop")), "{report:?}");
    assert_eq!(a.claim(kept).status, ergo::domain::Status::Active);
    let discard = QuarantineRequest { caller: caller(), events: vec![late.to_hex()], ..QuarantineRequest::default() };
    a.engine.discard_quarantined(&discard).unwrap();
    assert_eq!(import(&a, &file).quarantined_total, 0);
}

#[test]
fn what_is_left_of_a_file_is_used_and_what_is_missing_is_named() {
    let (a, b, _) = pair();
    let now = a.engine.now();
    let write = |store: &mut Store| {
        write_facts(store, now, "ada", "host", 2_100);
        Ok(())
    };
    a.engine.with_store(write).unwrap();
    let file = all(&a);
    let half = import(&b, &file[..file.len() * 2 / 3]);
    assert!(!half.whole && half.problems[0].contains("ends"), "{:?}", half.problems);
    let scope = &half.scopes[0];
    assert!(scope.arrived >= 1_024 && scope.arrived < scope.expected && !scope.in_step, "{scope:?}");
    let mut broken = file.clone();
    let at = broken.len() - 2_000;
    broken[at] ^= 1;
    let done = import(&b, &broken);
    assert!(
        !done.whole && done.problems.iter().any(|problem| problem.contains("modified, or moved")),
        "{:?}",
        done.problems
    );
    let rest = import(&b, &file);
    assert_eq!((rest.whole, half.stored + done.stored + rest.stored), (true, 2_101));
    assert!(rest.scopes[0].in_step);
    assert_alike(&a, &b);
}

#[test]
fn a_dry_run_says_what_would_be_and_does_nothing() {
    let (a, b, _) = pair();
    a.remember(KAFKA, "we know it");
    b.remember(NO_KAFKA, "too heavy");
    let file = all(&a);
    let before = b.engine.counts().unwrap().events;
    let names = || {
        std::fs::read_dir(b.dir.path())
            .unwrap()
            .map(|entry| entry.unwrap().file_name())
            .collect::<std::collections::BTreeSet<_>>()
    };
    let there = names();
    let would = transfer::dry_run(&b.engine, file.as_slice()).unwrap();
    assert_eq!((would.dry_run, would.stored, would.cards.len()), (true, 2, 1));
    assert!(would.cards[0].headline.contains("Kafka"), "{}", would.cards[0].headline);
    assert_eq!((b.engine.counts().unwrap().events, b.open_cards()), (before, 0));
    assert_eq!(names(), there, "the copy is gone");
    let does = import(&b, &file);
    assert_eq!((does.stored, does.cards.len()), (would.stored, would.cards.len()));
}

#[test]
fn receipts_tell_what_need_not_travel_again() {
    let (a, b, _) = pair();
    a.remember(KAFKA, "we know it");
    // Nothing is known about bob's events yet, since files may get lost.
    assert_eq!(events(&export(&a, &since("bob-laptop")).unwrap().1), 2);
    let (file, _) = export(&a, &to("bob-laptop")).unwrap();
    assert_eq!(events(&export(&a, &since("bob-laptop")).unwrap().1), 2, "sent is not arrived");
    let taken = import(&b, &file);
    let (receipt, exported) = export(&b, &receipt("ada-laptop", &taken)).unwrap();
    assert_eq!(events(&exported), 0);
    let done = import(&a, &receipt);
    assert!(done.receipt && done.scopes[0].maker_lacks == 0 && done.scopes[0].in_step, "{done:#?}");
    a.remember("We must use Redis as the cache", "fast");
    let (next, exported) = export(&a, &since("bob-laptop")).unwrap();
    assert_eq!((events(&exported), exported.since.as_str()), (1, "what bob-laptop has"));
    assert_eq!(import(&b, &next).stored, 1);
    // The same with the file itself, without stored progress.
    assert_eq!(events(&export(&a, &since_file(&receipt)).unwrap().1), 1);
    assert_eq!(events(&export(&a, &since_file(&file)).unwrap().1), 1);
    // A bundle shows the maker's progress as a receipt does.
    import(&a, &all(&b));
    assert_eq!(events(&export(&a, &since("bob-laptop")).unwrap().1), 0);
    // By date.
    assert_eq!(events(&export(&a, &since("2026-03-01")).unwrap().1), 3);
    let error = export(&a, &since("2026-03-02")).unwrap_err();
    assert!(error.field.as_deref() == Some("since") && error.message.contains("in the future"), "{error:?}");
    a.clock.store(NOON + 24 * 3_600_000, Ordering::Relaxed);
    assert_eq!(events(&export(&a, &since("2026-03-02")).unwrap().1), 0);
    for (wrong, field) in [(since("yesterday"), "since"), (since_file(b"no bundle"), "since"), (to("zoe"), "to")] {
        let error = export(&a, &wrong).unwrap_err();
        assert_eq!(error.field.as_deref(), Some(field), "{error}");
    }
    let error = export(&a, &ExportRequest { scopes: vec!["acme/nothing".into()], ..all_of() }).unwrap_err();
    assert!(error.hint.unwrap().contains("acme/api"), "{}", error.message);
}

fn all_of() -> ExportRequest {
    ExportRequest::default()
}

#[test]
fn one_file_serves_members_with_different_grants() {
    let (a, b, _) = pair();
    a.engine
        .remember(RememberRequest {
            caller: Caller { project: "web".into(), ..caller() },
            ..request(KAFKA, "web needs it")
        })
        .unwrap();
    let adopt = AdoptRequest { caller: caller(), in_team: None, scope: scope("web") };
    a.engine.adopt_into_team(&adopt).unwrap();
    let c = Fixture::of(3, AgentPolicy::Force);
    admit_by_file(&a, &c, "cy-laptop", Grant { role: Role::Writer, scopes: Granted::Only([scope("web")].into()) });
    let file = all(&a);
    let at_b = import(&b, &file);
    assert_eq!((at_b.closed_scopes, at_b.scopes.len(), at_b.stored), (0, 2, 4), "two claims, two acts of the roster");
    let at_c = import(&c, &file);
    assert_eq!((at_c.closed_scopes, at_c.scopes.len(), at_c.stored, at_c.whole), (1, 1, 1, true));
    assert_eq!(at_c.scopes[0].scope, scope("web"));
    let (_, part) = export(&a, &ExportRequest { scopes: vec!["acme/web".into()], ..all_of() }).unwrap();
    assert_eq!((part.scopes.len(), events(&part)), (1, 1));
}

#[test]
fn devices_that_read_different_projects_agree_on_what_these_say_alike() {
    let models = || {
        let models = ergo::infer::FakeModels::new().embedding(|text| Ok(ergo::infer::FakeModels::bag_of_words(text)));
        Arc::new(models.classifying(|_, _| Ok([6.0, 0.0, -2.0])))
    };
    let (a, b) = (Fixture::of(1, AgentPolicy::Force), Fixture::of(2, AgentPolicy::Force));
    let a = a.reopen_with_models(Guard::default(), models());
    let b = b.reopen_with_models(Guard::default(), models());
    let rule = |project: &str, statement: &str| RememberRequest {
        caller: Caller { project: project.into(), ..caller() },
        kind: Some(ClaimKind::Convention),
        source: Some("CLAUDE.md:1".into()),
        ..RememberRequest { statement: statement.into(), reason: Some("stated".into()), ..RememberRequest::default() }
    };
    stored(a.engine.remember_by_rules(&rule("api", "Use tabs for indentation in code.")).unwrap());
    stored(a.engine.remember_by_rules(&rule("web", "Never commit secrets.")).unwrap());
    let request = CreateTeamRequest {
        caller: caller(),
        name: "core".into(),
        device_name: Some("ada-laptop".into()),
        scopes: vec![scope("api"), scope("web")],
    };
    a.engine.create_team(&request).unwrap();
    admit_by_file(&a, &b, "bob-laptop", everything());
    import(&b, &all(&a));
    stored(b.engine.remember_by_rules(&rule("web", "Use tabs for indentation of code.")).unwrap());
    stored(b.engine.remember_by_rules(&rule("api", "Never commit secrets.")).unwrap());
    import(&a, &all(&b));
    let nothing = (std::collections::HashSet::new(), std::collections::HashSet::new());
    let judge = Caller { agent: Some("ergo notes".into()), ..caller() };
    let found = b.engine.reconcile_notes(&judge, &nothing.0, &nothing.1, &ergo::engine::ReconcileBudget::default());
    assert_eq!(found.unwrap().merged, 1);
    import(&a, &all(&b));
    let insights = |fixture: &Fixture| {
        let query = ergo::api::InsightsQuery { org_id: "acme".into(), ..ergo::api::InsightsQuery::default() };
        let items = fixture.engine.insights(&query).unwrap().items.into_iter();
        items.map(|one| (one.claim, one.projects, one.sightings, one.first_seen, one.last_seen)).collect::<Vec<_>>()
    };
    assert_eq!(insights(&a), insights(&b));
    assert_eq!(insights(&a).iter().map(|one| one.1).collect::<Vec<_>>(), [2, 2]);
    assert_alike(&a, &b);
}

#[test]
fn an_old_bundle_brings_no_text_back_that_was_redacted() {
    let (a, b, _) = pair();
    let id = a.remember(KAFKA, "we know it");
    let old = all(&a);
    import(&b, &old);
    done(a.engine.redact(on(id, "a secret was pasted")).unwrap());
    import(&b, &all(&a));
    let again = import(&b, &old);
    assert_eq!((again.stored, b.claim(id).flags.redacted), (0, true), "{again:#?}");
    assert_alike(&a, &b);
}
