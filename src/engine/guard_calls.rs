//! Calls of the guard. A failure becomes a warning, and never fails a write.

use std::{
    panic::{AssertUnwindSafe, catch_unwind},
    sync::Arc,
};

pub(super) use crate::domain::ago::day;
use crate::{
    api::Warning,
    domain::{ClaimKind, GuardReport, Norm, Qualifiers, Tier, guard_report::Stage},
    guard::{self, DoubtfulPair, Guard, JudgeContext, MAX_CANDIDATES, NormedClaim, PairScores, ParsedClaim, Ruling},
};

/// The greatest size of an event's norms in bytes. Norms beyond it are not compared.
const MAX_NORMS: usize = 6 * 1024;

/// A normalised statement, or the warning that it could not be normalised.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct NormalisedStatement {
    /// The norms; empty if normalising failed.
    pub norms: Vec<Norm>,
    /// The normaliser's name and version; `none` if it panicked.
    pub version: String,
    /// The warning to the writer if normalising failed.
    pub warning: Option<Warning>,
}

/// Normalises a statement. A failure is a warning, so that the claim is stored unchecked.
pub(super) fn normalise(
    guard: &Guard,
    kind: ClaimKind,
    statement: &str,
    qualifiers: &Qualifiers,
) -> NormalisedStatement {
    match caught("normalised a statement", || guard.normalise_claim(kind, statement, qualifiers)) {
        Some(done) if !done.norms.is_empty() => {
            NormalisedStatement { norms: first_that_fit(done.norms), version: done.version, warning: None }
        }
        Some(done) => {
            let why = done.problems.first().cloned().unwrap_or_else(|| "no norm was found in it".into());
            NormalisedStatement {
                norms: Vec::new(),
                version: done.version,
                warning: Some(ungated("the normaliser", &why)),
            }
        }
        None => NormalisedStatement {
            norms: Vec::new(),
            version: "none".into(),
            warning: Some(ungated("the normaliser", "it failed on this statement")),
        },
    }
}

/// Runs a part of the guard; `None` if it panics, which is logged. By contract the guard does not panic, but even a
/// defect in it must not lose a write. `act` is what it did, for the log.
pub(super) fn caught<T>(act: &str, run: impl FnOnce() -> T) -> Option<T> {
    let done = catch_unwind(AssertUnwindSafe(run)).ok();
    if done.is_none() {
        tracing::error!("the guard panicked while it {act}");
    }
    done
}

/// Parses a claim for comparison. A failure is a warning, so that the write is stored unchecked.
pub(super) fn parse(claim: NormedClaim) -> Result<Arc<ParsedClaim>, Box<Warning>> {
    caught("parsed a claim", || Arc::new(ParsedClaim::new(claim))).ok_or_else(failed)
}

/// [`parse`] of several claims.
pub(super) fn parse_all(claims: Vec<NormedClaim>) -> Result<Vec<Arc<ParsedClaim>>, Box<Warning>> {
    claims.into_iter().map(parse).collect()
}

/// Applies the rules to a claim and each stored one. A failure is a warning, so that the claim is stored unchecked.
pub(super) fn rulings(
    guard: &Guard,
    incoming: &ParsedClaim,
    against: &[Arc<ParsedClaim>],
) -> Result<Vec<Ruling>, Box<Warning>> {
    caught("applied the rules", || guard.rulings(incoming, against)).ok_or_else(failed)
}

/// Judges a claim against stored ones. A failure is a warning, so that the claim is stored unchecked.
pub(super) fn judge(
    guard: &Guard,
    incoming: &ParsedClaim,
    against: &[Arc<ParsedClaim>],
    under: JudgeContext<'_>,
) -> Result<GuardReport, Box<Warning>> {
    caught("judged a claim", || guard.judge(incoming, against, under)).ok_or_else(failed)
}

/// Judges two stored claims by rules and models together; `None` on a failure.
pub(super) fn weigh_stored(
    guard: &Guard,
    newer: &ParsedClaim,
    older: &ParsedClaim,
    under: JudgeContext<'_>,
) -> Option<Ruling> {
    caught("judged two stored claims", || guard.weigh_stored(newer, older, under)).flatten()
}

fn failed() -> Box<Warning> {
    Box::new(ungated("the guard", "it failed on this statement"))
}

/// Explains in one sentence why two claims may not both hold, by the present rules; `None` if the rules find nothing.
/// `stage` is the stage of the guard that made the finding at the write.
pub(super) fn explain(guard: &Guard, ours: NormedClaim, theirs: NormedClaim, stage: Option<Stage>) -> Option<String> {
    let (ours, theirs) = (parse(ours).ok()?, parse(theirs).ok()?);
    caught("explained a contradiction", || guard.explain(&ours, &theirs, stage == Some(Stage::Nli))).flatten()
}

/// Chooses the found claims with which a write is compared. On a failure, those that share the most words.
pub(super) fn shortlist(
    incoming: &NormedClaim,
    found: &[NormedClaim],
    by_words: usize,
    scores: &[PairScores],
) -> Vec<usize> {
    caught("chose claims to compare", || guard::shortlist(incoming, found, by_words, scores))
        .unwrap_or_else(|| (0..found.len().min(MAX_CANDIDATES)).collect())
}

/// Selects the nearby claims about which a cross-encoder should be asked; none on a failure, which the judge reports
/// itself.
pub(super) fn select_for_inference(
    guard: &Guard,
    incoming: &ParsedClaim,
    against: &[Arc<ParsedClaim>],
    under: JudgeContext<'_>,
) -> Vec<usize> {
    caught("chose pairs for the cross-encoder", || guard.select_for_inference(incoming, against, under))
        .unwrap_or_default()
}

/// Selects further nearby claims about which a cross-encoder should be asked for the gate; none on a failure.
pub(super) fn select_for_gate(
    guard: &Guard,
    incoming: &ParsedClaim,
    against: &[Arc<ParsedClaim>],
    under: JudgeContext<'_>,
    selected: &[usize],
) -> Vec<usize> {
    caught("chose pairs for the gate", || guard.select_for_gate(incoming, against, under, selected)).unwrap_or_default()
}

/// Returns the nearby claims that a write may contradict; none on a failure.
pub(super) fn doubts(
    guard: &Guard,
    incoming: &ParsedClaim,
    against: &[Arc<ParsedClaim>],
    under: JudgeContext<'_>,
) -> Vec<DoubtfulPair> {
    caught("looked for doubts", || guard.doubts(incoming, against, under)).unwrap_or_default()
}

/// Returns the facts that a new fact may make outdated; none on a failure.
pub(super) fn outdated_facts(
    guard: &Guard,
    incoming: &ParsedClaim,
    against: &[Arc<ParsedClaim>],
    under: JudgeContext<'_>,
) -> Vec<usize> {
    caught("looked for outdated facts", || guard.outdated_facts(incoming, against, under)).unwrap_or_default()
}

/// Selects the nearby claims about which a language model should be asked; none on a failure.
pub(super) fn select_for_deep_stage(
    guard: &Guard,
    incoming: &ParsedClaim,
    against: &[Arc<ParsedClaim>],
    under: JudgeContext<'_>,
) -> Vec<usize> {
    caught("chose pairs for the language model", || guard.select_for_deep_stage(incoming, against, under))
        .unwrap_or_default()
}

/// Returns the warning to the writer about stages that did not run, but only if they could have changed the result.
pub(super) fn skipped(report: &GuardReport) -> Option<Warning> {
    if report.tier == Tier::Clean || report.skipped.is_empty() {
        return None;
    }
    Some(Warning::new("nli_unavailable", report.skipped.join("; ")))
}

fn ungated(stage: &str, why: &str) -> Warning {
    Warning::new("ungated", format!("stored without being compared with other claims: {stage} failed ({why})"))
}

/// Returns the first norms, as many as fit into an event beside its texts.
pub(super) fn first_that_fit(norms: Vec<Norm>) -> Vec<Norm> {
    let mut left = MAX_NORMS;
    norms
        .into_iter()
        .take_while(|norm| {
            let size = minicbor::to_vec(norm).map_or(usize::MAX, |bytes| bytes.len());
            let fits = size <= left;
            left = left.saturating_sub(size);
            fits
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::guard::{Normalised, Normaliser};

    struct Broken;

    impl Normaliser for Broken {
        fn normalise(&self, _: &str, _: &Qualifiers) -> Normalised {
            panic!("a defect")
        }
    }

    struct Wordless;

    impl Normaliser for Wordless {
        fn normalise(&self, _: &str, _: &Qualifiers) -> Normalised {
            Normalised { problems: vec!["the model answered with chatter".into()], ..Normalised::default() }
        }
    }

    struct Verbose;

    impl Normaliser for Verbose {
        fn normalise(&self, _: &str, _: &Qualifiers) -> Normalised {
            let norm = Norm { subject: "x".repeat(1000), ..Norm::default() };
            Normalised { norms: vec![norm; 50], version: "verbose/1".into(), problems: vec![] }
        }
    }

    #[test]
    fn a_broken_normaliser_costs_a_warning_and_no_write() {
        let normalised = normalise(
            &Guard::default().with_normaliser(Box::new(Broken)),
            ClaimKind::Decision,
            "x",
            &Qualifiers::default(),
        );
        assert_eq!(normalised.norms, []);
        assert_eq!(normalised.warning.unwrap().code, "ungated");
        let normalised = normalise(
            &Guard::default().with_normaliser(Box::new(Wordless)),
            ClaimKind::Decision,
            "x",
            &Qualifiers::default(),
        );
        assert!(normalised.warning.unwrap().message.contains("chatter"));
    }

    #[test]
    fn a_panic_of_the_guard_is_caught() {
        assert_eq!(caught("judged a claim", || 7), Some(7));
        assert_eq!(caught::<i32>("judged a claim", || panic!("a defect")), None);
    }

    #[test]
    fn norms_never_outgrow_an_event() {
        let normalised = normalise(
            &Guard::default().with_normaliser(Box::new(Verbose)),
            ClaimKind::Decision,
            "x",
            &Qualifiers::default(),
        );
        assert_eq!(normalised.norms.len(), 6);
        assert!(minicbor::to_vec(&normalised.norms).unwrap().len() <= MAX_NORMS + 8);
    }
}
