//! audit: what is active is compared with itself.

use ergo::{
    api::{AuditOutcome, AuditRequest, CardKind},
    domain::{Norm, Qualifiers, Status, norm::SubjectKind},
    guard::{Guard, Normalised, Normaliser, RuleNormaliser},
};

use super::*;

#[test]
fn a_store_without_contradictions_stays_as_it_is() {
    let bed = Bed::new();
    for name in ["billing", "search", "mail", "checkout", "payroll"] {
        bed.remember(&format!("The {name} service logs to its own file"), "order");
    }
    bed.acts();
    let outcome = bed.engine.audit(AuditRequest { caller: caller(), dry_run: false }).unwrap();
    assert_eq!((outcome.claims, outcome.opened.len()), (5, 0));
    // By words alone some are in doubt, which writes nothing to the log.
    assert_eq!(bed.acts(), ["doubts"]);
}

#[test]
fn an_exception_is_known_and_opens_no_card() {
    let bed = Bed::new();
    bed.remember("Deployments must use a blue canary", "safe");
    let card = bed.refuse("Deployments must use a red canary", "prettier");
    done(bed.resolve(card, order(CardAct::Exception, "for the festival")));
    let outcome = bed.engine.audit(AuditRequest { caller: caller(), dry_run: false }).unwrap();
    assert_eq!((outcome.known, outcome.opened.len(), bed.open_cards()), (1, 0, 0));
}

/// A normaliser that understands nothing: what an older version of ergo may have been.
struct Blind;

impl Normaliser for Blind {
    fn normalise(&self, _: &str, _: &Qualifiers) -> Normalised {
        let norm = Norm { subject_kind: SubjectKind::Missing, ..Norm::default() };
        Normalised { norms: vec![norm], version: "blind/1".into(), problems: vec![] }
    }
}

fn audit(bed: &Bed, dry_run: bool) -> AuditOutcome {
    bed.engine.audit(AuditRequest { caller: caller(), dry_run }).unwrap()
}

#[test]
fn what_an_older_guard_let_in_is_found_by_the_present_rules_once() {
    let bed = Bed::new().reopen_with(Guard::default().with_normaliser(Box::new(Blind)));
    let blue = bed.remember("Deployments must use a blue canary", "safe");
    let red = bed.remember("Deployments must use a red canary", "prettier");
    assert_eq!(bed.open_cards(), 0);
    let bed = bed.reopen();
    bed.acts();

    let dry = audit(&bed, true);
    assert_eq!((dry.opened.len(), bed.open_cards(), bed.acts().len()), (1, 0, 0));
    let outcome = audit(&bed, false);
    assert_eq!((outcome.claims, outcome.opened.len(), outcome.known), (2, 1, 0));
    assert_eq!((outcome.opened[0].id, outcome.opened[0].kind), (dry.opened[0].id, CardKind::Found));
    assert_eq!((bed.open_cards(), bed.acts()), (1, vec!["audit".to_owned()]));
    let again = audit(&bed, false);
    assert_eq!((again.opened.len(), again.known, bed.open_cards()), (0, 1, 1));

    let winner = Some(blue.to_hex());
    let card = outcome.opened[0].id;
    done(bed.resolve(card, ResolveRequest { winner, ..order(CardAct::Supersede, "blue stays") }));
    assert_eq!((bed.claim(red).status, bed.open_cards()), (Status::Superseded, 0));
    bed.undo();
    assert_eq!((bed.claim(red).status, bed.open_cards()), (Status::Active, 1));
    done(bed.resolve(card, order(CardAct::Dismiss, "two fleets")));
    assert_eq!((audit(&bed, false).opened.len(), bed.open_cards()), (0, 0));
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
fn only_claims_of_an_older_normaliser_are_normalised_again() {
    let bed = Bed::new().reopen_with(Guard::default().with_normaliser(Box::new(Blind)));
    bed.remember("Deployments must use a blue canary", "safe");
    let bed = bed.reopen();
    bed.remember("The billing service logs to its own file", "order");
    let normalised = Arc::new(AtomicU64::new(0));
    let guard = Guard::default().with_normaliser(Box::new(Counting(Arc::clone(&normalised))));
    let bed = bed.reopen_with(guard);
    assert_eq!(audit(&bed, true).claims, 2);
    assert_eq!(normalised.load(Ordering::Relaxed), 1);
}
