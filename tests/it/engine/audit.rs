//! audit: the active claims are compared with each other.

use ergo::{
    api::{AuditOutcome, AuditRequest, CardKind, CardStatus},
    domain::{Norm, Qualifiers, Status, norm::SubjectKind},
    guard::{Guard, Normalised, Normaliser, RuleNormaliser},
};

use super::*;

#[test]
fn a_store_without_contradictions_stays_as_it_is() {
    let fixture = Fixture::new();
    for name in ["billing", "search", "mail", "checkout", "payroll"] {
        fixture.remember(&format!("The {name} service logs to its own file"), "order");
    }
    fixture.acts();
    let outcome = fixture.engine.audit(AuditRequest { caller: caller(), dry_run: false }).unwrap();
    assert_eq!((outcome.claims, outcome.opened.len()), (5, 0));
    // Compared by words alone, some are in doubt, which writes nothing to the log.
    assert_eq!(fixture.acts(), ["doubts"]);
}

#[test]
fn an_exception_is_known_and_opens_no_card() {
    let fixture = Fixture::new();
    fixture.remember("Deployments must use a blue canary", "safe");
    let card = fixture.refuse("Deployments must use a red canary", "prettier");
    done(fixture.resolve(card, order(CardAct::Exception, "for the festival")));
    let outcome = fixture.engine.audit(AuditRequest { caller: caller(), dry_run: false }).unwrap();
    assert_eq!((outcome.known, outcome.opened.len(), fixture.open_cards()), (1, 0, 0));
}

/// A normaliser that understands nothing, like an older version of ergo.
struct Blind;

impl Normaliser for Blind {
    fn normalise(&self, _: &str, _: &Qualifiers) -> Normalised {
        let norm = Norm { subject_kind: SubjectKind::Missing, ..Norm::default() };
        Normalised { norms: vec![norm], version: "blind/1".into(), problems: vec![] }
    }
}

fn audit(fixture: &Fixture, dry_run: bool) -> AuditOutcome {
    fixture.engine.audit(AuditRequest { caller: caller(), dry_run }).unwrap()
}

#[test]
fn what_an_older_guard_let_in_is_found_by_the_present_rules_once() {
    let fixture = Fixture::new().reopen_with(Guard::default().with_normaliser(Box::new(Blind)));
    let blue = fixture.remember("Deployments must use a blue canary", "safe");
    let red = fixture.remember("Deployments must use a red canary", "prettier");
    assert_eq!(fixture.open_cards(), 0);
    let fixture = fixture.reopen();
    fixture.acts();

    let dry = audit(&fixture, true);
    assert_eq!((dry.opened.len(), fixture.open_cards(), fixture.acts().len()), (1, 0, 0));
    let outcome = audit(&fixture, false);
    assert_eq!((outcome.claims, outcome.opened.len(), outcome.known), (2, 1, 0));
    assert_eq!((outcome.opened[0].id, outcome.opened[0].kind), (dry.opened[0].id, CardKind::Found));
    let opened: Vec<_> = fixture.changes.lock().unwrap().iter().flat_map(|change| change.opened.clone()).collect();
    assert_eq!(opened, [outcome.opened[0].id]);
    assert_eq!((fixture.open_cards(), fixture.acts()), (1, vec!["audit".to_owned()]));
    let again = audit(&fixture, false);
    assert_eq!((again.opened.len(), again.known, fixture.open_cards()), (0, 1, 1));

    let winner = Some(blue.to_hex());
    let card = outcome.opened[0].id;
    done(fixture.resolve(card, ResolveRequest { winner, ..order(CardAct::Supersede, "blue stays") }));
    assert_eq!((fixture.claim(red).status, fixture.open_cards()), (Status::Superseded, 0));
    fixture.undo();
    assert_eq!((fixture.claim(red).status, fixture.open_cards()), (Status::Active, 1));
    done(fixture.resolve(card, order(CardAct::Dismiss, "two fleets")));
    assert_eq!((audit(&fixture, false).opened.len(), fixture.open_cards()), (0, 0));
}

#[test]
fn undo_takes_back_the_cards_of_an_audit_and_redo_brings_them_back() {
    let fixture = Fixture::new().reopen_with(Guard::default().with_normaliser(Box::new(Blind)));
    fixture.remember("Deployments must use a blue canary", "safe");
    fixture.remember("Deployments must use a red canary", "prettier");
    let fixture = fixture.reopen();
    let op = OpId([5; 16]);
    let caller = Caller { op_id: Some(op), ..caller() };
    let opened = fixture.engine.audit(AuditRequest { caller, dry_run: false }).unwrap().opened;
    assert_eq!((opened.len(), fixture.open_cards()), (1, 1));
    let undone = fixture.undo();
    assert_eq!((undone.undone, fixture.open_cards()), (op, 0));
    assert_eq!(fixture.card(opened[0].id).summary.status, CardStatus::Settled, "it is not open any more");
    let again = UndoRequest { caller: super::caller(), target_op: Some(undone.op_id), ..UndoRequest::default() };
    assert!(fixture.engine.undo(again).unwrap().redo);
    assert_eq!(fixture.open_cards(), 1);
}

/// The rules, with the number of statements that they normalised.
struct Counting(Arc<AtomicU64>);

impl Normaliser for Counting {
    fn normalise(&self, statement: &str, qualifiers: &Qualifiers) -> Normalised {
        self.0.fetch_add(1, Ordering::Relaxed);
        RuleNormaliser.normalise(statement, qualifiers)
    }
}

#[test]
fn a_retry_of_an_audit_compares_nothing_again() {
    let fixture = Fixture::new().reopen_with(Guard::default().with_normaliser(Box::new(Blind)));
    fixture.remember("Deployments must use a blue canary", "safe");
    fixture.remember("Deployments must use a red canary", "prettier");
    let normalised = Arc::new(AtomicU64::new(0));
    let guard = Guard::default().with_normaliser(Box::new(Counting(Arc::clone(&normalised))));
    let fixture = fixture.reopen_with(guard);
    let audit = || {
        let caller = Caller { op_id: Some(op(5)), ..caller() };
        fixture.engine.audit(AuditRequest { caller, dry_run: false }).unwrap()
    };
    let first = audit();
    assert_eq!((first.opened.len(), normalised.load(Ordering::Relaxed)), (1, 2));
    let again = audit();
    assert_eq!((again.opened[0].id, again.compared), (first.opened[0].id, 0));
    assert_eq!(normalised.load(Ordering::Relaxed), 2);
}

#[test]
fn only_claims_of_an_older_normaliser_are_normalised_again() {
    let fixture = Fixture::new().reopen_with(Guard::default().with_normaliser(Box::new(Blind)));
    fixture.remember("Deployments must use a blue canary", "safe");
    let fixture = fixture.reopen();
    fixture.remember("The billing service logs to its own file", "order");
    let normalised = Arc::new(AtomicU64::new(0));
    let guard = Guard::default().with_normaliser(Box::new(Counting(Arc::clone(&normalised))));
    let fixture = fixture.reopen_with(guard);
    assert_eq!(audit(&fixture, true).claims, 2);
    assert_eq!(normalised.load(Ordering::Relaxed), 1);
}
