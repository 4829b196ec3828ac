//! Tests of the whole guard: the table of labelled pairs, and properties of the normaliser and the comparison.

use proptest::prelude::*;
use rstest::rstest;

use super::*;
use crate::domain::{guard_report::Relation, id::EventId, norm::SubjectKind};

fn new_claim(statement: &str) -> NormedClaim {
    let norms = Guard::default().normalise(statement, &Qualifiers::default()).norms;
    NormedClaim {
        id: Some(EventId([1; 32])),
        kind: ClaimKind::Decision,
        statement: statement.into(),
        norms,
        ..NormedClaim::default()
    }
}

fn parse(claim: &NormedClaim) -> Arc<ParsedClaim> {
    Arc::new(ParsedClaim::new(claim.clone()))
}

fn parse_all(claims: &[NormedClaim]) -> Vec<Arc<ParsedClaim>> {
    claims.iter().map(parse).collect()
}

fn judge(guard: &Guard, incoming: &NormedClaim, against: &[NormedClaim], under: JudgeContext<'_>) -> GuardReport {
    guard.judge(&parse(incoming), &parse_all(against), under)
}

fn under(today: &str) -> JudgeContext<'_> {
    JudgeContext { today, ..JudgeContext::default() }
}

fn judged(first: &str, second: &str) -> GuardReport {
    judge(&Guard::default(), &new_claim(second), &[new_claim(first)], under("2026-01-01"))
}

/// Returns whether the rules neither refuse the second claim nor call the two compatible, so that the models decide.
fn is_left_open(first: &str, second: &str) -> bool {
    let (first, second) = (parse(&new_claim(first)), parse(&new_claim(second)));
    let ruling = Guard::default().weigh_stored(&second, &first, under("2026-01-01"));
    ruling.is_some_and(|ruling| !ruling.compatible && ruling.tier != Tier::Block)
}

#[test]
fn the_written_pairs() {
    let mut wrong = Vec::new();
    let mut rows = 0;
    for line in include_str!("fixtures/pairs.tsv").lines().filter(|line| !line.is_empty() && !line.starts_with('#')) {
        let mut fields = line.split('\t');
        let (Some(label), Some(first), Some(second)) = (fields.next(), fields.next(), fields.next()) else {
            panic!("a row has a label and two statements: {line}");
        };
        rows += 1;
        let report = judged(first, second);
        let right = match label {
            "contradiction" => report.tier == Tier::Block,
            "known miss" => true,
            "open" => is_left_open(first, second) && is_left_open(second, first),
            _ => report.tier != Tier::Block,
        };
        if !right {
            let why = report
                .findings
                .first()
                .map(|f| format!("{} {:.2}: {}", f.evidence.rule.as_str(), f.score, f.evidence.sentence));
            wrong.push(format!("{label}: {:?} {why:?}\n  {first}\n  {second}", report.tier));
        }
    }
    assert!(rows >= 60, "{rows} rows");
    assert!(wrong.is_empty(), "{} of {rows}:\n{}", wrong.len(), wrong.join("\n"));
}

/// A purpose ("to keep …") is not part of the norm; what follows "decided to" is.
#[rstest]
#[case("Sessions are kept in Redis", ", to make logins fast and bring them closer to the way of the server")]
#[case(
    "We have decided to adopt the Datamapper pattern for reports",
    ", to make testing easier and also map more closely to the ledger"
)]
#[case("Use Postgres for storage", ", to simplify the backups")]
#[case("Use Postgres for storage", ", to keep the backups simple")]
#[case("Logs go to stdout", " because the disks are small")]
fn a_purpose_is_left_out(#[case] statement: &str, #[case] purpose: &str) {
    assert_eq!(new_claim(&format!("{statement}{purpose}.")).norms, new_claim(&format!("{statement}.")).norms);
}

#[rstest]
#[case("We have decided to keep sessions in Redis.", "session")]
#[case("It is forbidden to keep secrets in logs.", "secret")]
#[case("Make sure to keep the changelog in order.", "changelog")]
fn the_infinitive_of_a_decision_or_prohibition_is_not_a_purpose(#[case] statement: &str, #[case] subject: &str) {
    let norms = new_claim(statement).norms;
    assert_eq!((norms[0].subject_kind, norms[0].subject.as_str()), (SubjectKind::Present, subject), "{norms:?}");
}

#[test]
fn a_block_explains_itself() {
    let report = judged("Wrap lines at 72 characters.", "Wrap lines at 100 characters.");
    let finding = &report.findings[0];
    assert_eq!(report.tier, Tier::Block);
    assert_eq!(finding.evidence.relation, Relation::Contradiction);
    assert!(
        finding.evidence.sentence.contains("72") && finding.evidence.sentence.contains("100"),
        "{}",
        finding.evidence.sentence
    );
    assert!(!finding.evidence.words.is_empty() && !finding.evidence.their_words.is_empty());
}

#[rstest]
#[case("Use MongoDB for sessions.", "Use MongoDB for sessions.", Tier::Block)]
#[case("Do not use MongoDB.", "Use MongoDB.", Tier::Block)]
#[case("Use MongoDB instead of Postgres.", "Use MongoDB.", Tier::Block)]
#[case("Use MongoDB, not Postgres.", "Use MongoDB.", Tier::Block)]
#[case("Use MongoDB instead of Postgres.", "Use Postgres.", Tier::Clean)]
#[case("Code review is optional.", "Code review is required.", Tier::Clean)]
#[case("Kafka", "Use Kafka for the event bus.", Tier::Block)]
#[case("Kafka for the event bus: it needs a cluster.", "Use Kafka for the event bus.", Tier::Block)]
#[case("Rejected: Kafka, since it needs a cluster.", "Use Kafka for the event bus.", Tier::Block)]
#[case("We rejected Kafka because it needs a cluster.", "Kafka is used for the event bus.", Tier::Block)]
#[case("Rejected: Kafka.", "Do not use Kafka.", Tier::Clean)]
#[case("Rejected: Kafka for metrics.", "Use Kafka for the event bus.", Tier::Clean)]
fn a_rejection_says_not(#[case] rejected: &str, #[case] decided: &str, #[case] tier: Tier) {
    let guard = Guard::default();
    let normalised = guard.normalise_claim(ClaimKind::Rejection, rejected, &Qualifiers::default());
    let rejection = NormedClaim { kind: ClaimKind::Rejection, norms: normalised.norms, ..new_claim(rejected) };
    let report = judge(&guard, &new_claim(decided), &[rejection], under("2026-01-01"));
    assert_eq!(report.tier, tier, "{:?}", report.findings);
}

#[test]
fn an_expired_claim_contradicts_nothing() {
    let report = judge(
        &Guard::default(),
        &new_claim("The API port is 9090."),
        &[new_claim("Until 2025-03-31 the API port is 8080.")],
        under("2026-01-01"),
    );
    assert_eq!(report.tier, Tier::Clean);
}

#[test]
fn qualifiers_override_the_text() {
    let guard = Guard::default();
    let of = |env: &str, statement: &str| {
        let qualifiers = Qualifiers { env: Some(env.into()), ..Qualifiers::default() };
        NormedClaim { norms: guard.normalise(statement, &qualifiers).norms, ..new_claim(statement) }
    };
    let (blue, red) = ("Deploys must use a blue canary.", "Deploys must use a red canary.");
    assert_eq!(judge(&guard, &of("prod", red), &[of("dev", blue)], under("2026-01-01")).tier, Tier::Clean);
    assert_eq!(judge(&guard, &of("prod", red), &[of("production", blue)], under("2026-01-01")).tier, Tier::Block);
}

#[test]
fn a_statement_in_decomposed_form_keeps_its_contradictions() {
    let decomposed = "The owner of the cafe\u{301} service is Zoe\u{308}.";
    assert_eq!(judged(decomposed, "The owner of the café service is Ada.").tier, Tier::Block);
}

#[test]
fn questions_are_missing_and_prose_is_not() {
    let kind = |statement: &str| new_claim(statement).norms[0].subject_kind;
    assert_eq!(kind("Should we use Postgres?"), SubjectKind::Missing);
    assert_eq!(kind("What if we used Postgres"), SubjectKind::Missing);
    assert_eq!(kind("“Should we use Postgres?”"), SubjectKind::Missing);
    assert_eq!(kind("Check `ready` before asking \"what is next?\""), SubjectKind::Present);
    assert_eq!(kind("Use Postgres. Any objections?"), SubjectKind::Present);
    assert_eq!(kind("Things."), SubjectKind::Fuzzy);
    assert_eq!(kind("Use Postgres."), SubjectKind::Present);
}

#[test]
fn subjects_are_canonical() {
    for statement in [
        "Deploys must use a blue canary",
        "Deployments must use a blue canary.",
        "Deploying must use a blue canary",
        "The deploy must use a blue canary.",
    ] {
        let norm = &new_claim(statement).norms[0];
        assert_eq!(
            (norm.subject.as_str(), norm.object.as_deref(), norm.value.as_deref()),
            ("deploy", Some("used"), Some("blue")),
            "{statement}"
        );
    }
}

/// Returns a guard whose judge uses the cross-encoder's score alone.
fn guard_by_inference() -> Guard {
    let mut weights = JudgeWeights { weights: [("margin".to_owned(), 10.0)].into(), ..JudgeWeights::default() };
    (weights.thresholds.block, weights.thresholds.warn) = (0.9, 0.6);
    weights.rules = weights::built_in().rules.clone();
    Guard::default().with_weights(weights)
}

fn inferred(contradiction: f32) -> PairScores {
    let logits = [0.0, 0.0, contradiction];
    PairScores {
        cosine: Some(0.8),
        inference: Some(Inference { forward: logits, backward: logits, gate: None }),
        ..PairScores::default()
    }
}

#[test]
fn inference_decides_pairs_that_the_rules_leave_open() {
    let (first, second) = (
        new_claim("Reviews happen before anything is merged."),
        new_claim("Merging comes first, somebody looks at it later."),
    );
    let guard = guard_by_inference();
    let with = |scores: PairScores| {
        judge(&guard, &second, std::slice::from_ref(&first), JudgeContext { scores: &[scores], ..under("2026-01-01") })
    };
    assert_eq!(with(PairScores::default()).tier, Tier::Clean);
    assert_eq!(with(inferred(-4.0)).tier, Tier::Clean);
    let report = with(inferred(4.0));
    assert_eq!((report.tier, report.inferred), (Tier::Block, 1));
    let evidence = &report.findings[0].evidence;
    assert_eq!((evidence.rule, evidence.relation), (RuleId::Inferred, Relation::Contradiction));
    assert!(evidence.features.contains_key("margin") && evidence.features.contains_key("probability"));
    assert!(evidence.sentence.contains("later"), "{}", evidence.sentence);
}

#[test]
fn inference_overrules_no_norm() {
    let guard = guard_by_inference();
    let with = |first: &str, second: &str, margin: f32| {
        let under = JudgeContext { scores: &[inferred(margin)], ..under("2026-01-01") };
        judge(&guard, &new_claim(second), &[new_claim(first)], under).tier
    };
    assert_eq!(with("Deploys must use a blue canary.", "Deploys must use a red canary.", -9.0), Tier::Block);
    assert_eq!(
        with("Deploys must use a blue canary in staging.", "Deploys must use a red canary in production.", 9.0),
        Tier::Clean
    );
    assert_eq!(with("Use Postgres.", "Should we use MySQL?", 9.0), Tier::Clean);
}

#[test]
fn rules_and_inference_give_one_probability() {
    let (first, second) =
        (new_claim("Use tabs for the indentation of code."), new_claim("Never indent code with tabs."));
    let with = |scores: PairScores| {
        let under = JudgeContext { scores: &[scores], ..under("2026-01-01") };
        let report = judge(&Guard::default(), &second, std::slice::from_ref(&first), under);
        (report.tier, report.findings.first().map_or(0.0, |finding| finding.score))
    };
    assert_eq!(with(PairScores::default()).0, Tier::Block);
    let (sure, open, doubted) = (with(inferred(6.0)), with(inferred(0.0)), with(inferred(-6.0)));
    assert!(sure.1 > open.1 && open.1 > doubted.1, "{sure:?} {open:?} {doubted:?}");
    assert_eq!(sure.0, Tier::Block);
    assert_ne!(doubted.0, Tier::Block, "the cross-encoder takes back what is no norm");
}

#[test]
fn a_refusal_follows_from_the_probability_alone() {
    let limit = |finding: &Finding| finding.evidence.features["limit"];
    let firsts = ["Use tabs for the indentation of code.", "Deploys must use a blue canary.", "Reviews come early."];
    let seconds =
        ["Never indent code with tabs.", "Deploys must use a red canary.", "Reviews come late, after the merge."];
    for (first, second) in firsts.into_iter().zip(seconds) {
        for scores in [PairScores::default(), inferred(-5.0), inferred(1.0), inferred(3.0), inferred(9.0)] {
            let under = JudgeContext { scores: &[scores], ..under("2026-01-01") };
            for finding in judge(&Guard::default(), &new_claim(second), &[new_claim(first)], under).findings {
                assert_eq!(finding.tier == Tier::Block, finding.score >= limit(&finding), "{finding:?}");
                assert!((finding.score - finding.evidence.features["probability"]).abs() < 1e-6);
            }
        }
    }
}

#[test]
fn with_weights_of_another_cross_encoder_inference_warns_and_refuses_nothing() {
    let with = |first: &str, second: &str, contradiction: f32| {
        let under = JudgeContext {
            scores: &[inferred(contradiction)],
            cross_encoder: CrossEncoder::Unfitted,
            ..under("2026-01-01")
        };
        judge(&guard_by_inference(), &new_claim(second), &[new_claim(first)], under).tier
    };
    let (early, late) =
        ("Reviews happen before anything is merged.", "Merging comes first, somebody looks at it later.");
    assert_eq!((with(early, late, 9.0), with(early, late, -9.0)), (Tier::Warn, Tier::Clean));
    // Nor does it remove a warning.
    let (tabs, never) = ("Use tabs for the indentation of code.", "Never indent code with tabs.");
    assert_eq!(with(tabs, never, -9.0), Tier::Block);
}

#[rstest]
#[case::two_languages("Use tabs in Go files.", "Use spaces in Python files.")]
#[case::two_services("Use port 1 for service 1.", "Use port 0 for service 0.")]
#[case::coined("Use the c23 handler for w23.", "Use the c3 handler for w3.")]
#[case::host_and_cloud("The database host is db1.example.com.", "The database cloud is AWS.")]
#[case::figures(
    "Sampling is 50 % in staging of requests and 10 % of jobs.",
    "Sampling is 20 % of uploads and 20 % of mails."
)]
#[case::free_of("Keep the domain layer free of framework imports.", "The domain layer cannot import the framework.")]
#[case::suffix("Keep the parser allocation-free.", "The parser must not allocate.")]
#[case::without("Write the core without global state.", "The core must not use global state.")]
#[case::stop("Stop using Redis for sessions.", "Do not use Redis for sessions.")]
#[case::avoid("Avoid global state in the core.", "Keep the core free of global state.")]
#[case::no_longer("The build no longer needs Docker.", "The build must not depend on Docker.")]
#[case::replaced("The placeholder is replaced by the project's name.", "Every template has a placeholder.")]
fn an_apparent_contradiction_is_clean(#[case] first: &str, #[case] second: &str) {
    for (a, b) in [(first, second), (second, first)] {
        let report = judged(a, b);
        assert_eq!(report.tier, Tier::Clean, "{a} / {b}: {:?}", report.findings);
    }
}

#[rstest]
#[case::free_of("Keep the domain layer free of framework imports.", "Import the framework in the domain layer.")]
#[case::no_longer("The build no longer uses Docker.", "The build uses Docker.")]
#[case::host("The database host is db-a.example.com.", "The database host is db-b.example.com.")]
#[case::region("The region of the cluster is eu-west-1.", "The region of the cluster is us-east-2.")]
#[case::colour("The colour of the brand is #ff8800.", "The colour of the brand is #0088ff.")]
#[case::mail(
    "The address of the security team is sec@example.com.",
    "The address of the security team is cert@example.com."
)]
#[case::url(
    "The url of the registry is https://a.example.com/v2.",
    "The url of the registry is https://b.example.com/v2."
)]
#[case::address("The address of the gateway is 10.0.0.5.", "The address of the gateway is 10.0.0.9.")]
fn a_contradiction_is_refused(#[case] first: &str, #[case] second: &str) {
    let report = judged(first, second);
    assert_eq!(
        report.tier,
        Tier::Block,
        "{:?} {:?}: {:?}",
        new_claim(first).norms,
        new_claim(second).norms,
        report.findings
    );
}

#[rstest]
#[case("The url of the registry is https://A.example.com/v2.", "https://a.example.com/v2")]
#[case("The address of the security team is sec-ops@example.com.", "sec-ops@example.com")]
#[case("The region of the cluster is eu-west-1.", "eu-west-1")]
#[case("The colour of the brand is #F80.", "#ff8800")]
#[case("The address of the gateway is 10.0.0.5.", "10.0.0.5")]
#[case("The host of the cache is cache-a.internal.", "cache-a.internal")]
#[case("The host of the database is db-primary.", "db-primary")]
#[case("Sessions are stored in Postgres.", "postgres")]
fn a_value_is_complete_and_readable(#[case] statement: &str, #[case] value: &str) {
    let norms = new_claim(statement).norms;
    assert_eq!(norms[0].value.as_deref(), Some(value), "{norms:?}");
}

#[rstest]
#[case("Avoid the batch API for a single call.", "Use the batch API to chain calls.")]
#[case("Source files have at most 400 lines.", "Test files have at most 800 lines.")]
#[case("Never push to main.", "Push to main only when the release is cut.")]
fn adjacent_statements_with_different_conditions_are_compatible(#[case] first: &str, #[case] second: &str) {
    let at = |statement: &str, source: &str| NormedClaim { source: Some(source.into()), ..new_claim(statement) };
    let report =
        judge(&Guard::default(), &at(second, "AGENTS.md:13"), &[at(first, "AGENTS.md:12")], under("2026-01-01"));
    assert_eq!(report.tier, Tier::Clean, "{:?}", report.findings);
}

#[test]
fn adjacent_statements_that_contradict_each_other_are_not_compatible() {
    let at = |statement: &str, source: &str| NormedClaim { source: Some(source.into()), ..new_claim(statement) };
    let (tabs, never) = ("Use tabs for the indentation of code.", "Never indent code with tabs.");
    let guard = Guard::default();
    for source in ["AGENTS.md:12", "AGENTS.md:13"] {
        let report = judge(&guard, &at(never, source), &[at(tabs, "AGENTS.md:12")], under("2026-01-01"));
        assert_eq!(report.tier, Tier::Block);
    }
}

#[test]
fn a_fact_warns_and_refuses_nothing_and_facts_are_not_compared() {
    let fact = |statement: &str| NormedClaim { kind: ClaimKind::Fact, ..new_claim(statement) };
    let (port, rule) = ("The API port is 9090.", "The API port must be 8080.");
    let guard = Guard::default();
    for (ours, theirs) in [(new_claim(rule), fact(port)), (fact(port), new_claim(rule))] {
        let report = judge(&guard, &ours, &[theirs], under("2026-01-01"));
        assert_eq!(report.tier, Tier::Warn);
        assert_eq!(report.findings[0].evidence.relation, Relation::Contradiction);
    }
    assert_eq!(judge(&guard, &fact("The API port is 8080."), &[fact(port)], under("2026-01-01")).tier, Tier::Clean);
}

#[test]
fn a_scope_that_dismissed_findings_needs_more_to_block() {
    let (first, second) = (
        new_claim("Reviews happen before anything is merged."),
        new_claim("Merging comes first, somebody looks at it later."),
    );
    let with = |shift: f32| {
        let cross_encoder = CrossEncoder::Fitted { shift };
        let under = JudgeContext { scores: &[inferred(2.0)], cross_encoder, ..under("2026-01-01") };
        judge(&guard_by_inference(), &second, std::slice::from_ref(&first), under).tier
    };
    assert_eq!((with(0.0), with(0.09)), (Tier::Block, Tier::Warn));
}

#[test]
fn a_few_similar_undecided_pairs_pass_the_inference_gate() {
    let guard = Guard::default();
    let ours = new_claim("Integration tests run on every push to main.");
    let against: Vec<NormedClaim> = [
        "Deploys must use a blue canary.",
        "Integration tests run once a night on main.",
        "Push to main only through a merge queue.",
        "Do integration tests run on main?",
    ]
    .map(new_claim)
    .into();
    assert_eq!(guard.select_for_inference(&parse(&ours), &parse_all(&against), under("2026-01-01")).first(), Some(&1));
    assert!(
        !guard.select_for_inference(&parse(&ours), &parse_all(&against), under("2026-01-01")).contains(&3),
        "a question states nothing"
    );
    let near = [PairScores { cosine: Some(0.9), ..PairScores::default() }];
    let under = JudgeContext { scores: &near, ..under("2026-01-01") };
    assert!(
        guard.select_for_inference(&parse(&ours), &parse_all(&against), under).contains(&0),
        "meaning alone is enough"
    );
    let many = vec![against[1].clone(); 50];
    assert_eq!(
        guard.select_for_inference(&parse(&ours), &parse_all(&many), JudgeContext::default()).len(),
        guard.weights().gate.most
    );
}

#[test]
fn a_number_identifies_one_of_several_instances() {
    let norm = &new_claim("Service 1 logs to its own file.").norms[0];
    assert_eq!((norm.subject.as_str(), norm.value.as_deref()), ("servic", None), "{norm:?}");
    let norm = &new_claim("The daemon listens on port 8788.").norms[0];
    assert_eq!(norm.value.as_deref(), Some("8788"));
}

#[rstest]
#[case("Service s0x9 listens on port 3009.", "Service s7x0 listens on port 3700.", Tier::Clean)]
#[case("The worker w1a must log to stdout.", "The worker w2b must not log to stdout.", Tier::Clean)]
#[case("Clusters of type k8s are upgraded by hand.", "Clusters of type k3s are not upgraded by hand.", Tier::Clean)]
#[case("The node ipv6-host3 keeps backups for 30 days.", "The node ipv6-host4 keeps backups for 90 days.", Tier::Clean)]
// One name with two values.
#[case("Service s0x9 listens on port 3009.", "Service s0x9 listens on port 3700.", Tier::Block)]
#[case("The worker w1a must log to stdout.", "The worker w1a must not log to stdout.", Tier::Block)]
#[case("The protocol of the gateway is http2.", "The protocol of the gateway is http1.1.", Tier::Block)]
#[case("The gateway's port is 8080 on host3.", "The gateway's port is 9090 on host3.", Tier::Block)]
fn names_of_letters_and_digits_identify_instances(#[case] first: &str, #[case] second: &str, #[case] tier: Tier) {
    let report = judged(first, second);
    assert_eq!(report.tier, tier, "{first} / {second}: {:?}", report.findings);
}

#[rstest]
#[case("Deployments on Friday are forbidden.", "Deploys on Thursdays are fine.", Tier::Clean)]
#[case("Service s0x9 listens on port 3009.", "Service s7x0 listens on port 3700.", Tier::Clean)]
#[case("Worker 3 runs on port 9003.", "Worker 4 runs on port 9004.", Tier::Clean)]
#[case("Worker 3 must log to stdout.", "Worker 4 must not log to stdout.", Tier::Clean)]
// The number is the value.
#[case("Node 18 is used for builds.", "Node 20 is used for builds.", Tier::Block)]
#[case("Service s0x9 listens to the bus.", "Service s0x9 ignores the bus.", Tier::Block)]
fn distinct_instances_are_not_inferred(#[case] first: &str, #[case] second: &str, #[case] tier: Tier) {
    let under = JudgeContext { scores: &[inferred(9.0)], ..under("2026-01-01") };
    let report = judge(&guard_by_inference(), &new_claim(second), &[new_claim(first)], under);
    assert_eq!(report.tier, tier, "{first} / {second}: {:?}", report.findings);
}

proptest! {
    #[test]
    fn any_text_has_norms_and_compares_with_itself(text in "\\PC{0,200}", other in "\\PC{0,200}") {
        let (a, b) = (new_claim(&text), new_claim(&other));
        prop_assert!(!a.norms.is_empty());
        let guard = Guard::default();
        prop_assert!(judge(&guard, &a, &[b.clone(), a.clone()], under("2026-01-01")).compared == 2);
        prop_assert!(guard.compare(&parse(&b), &parse(&a), &PairScores::default()).score <= 1.0);
        let _ = Guard::index_terms(&a.norms, &text);
    }

    #[test]
    fn words_of_rules_in_any_order_never_panic(words in proptest::collection::vec(proptest::sample::select(vec![
        "never", "use", "not", "only", "the", "tabs", "spaces", ",", ".", "(", ")", "if", "because", "over", "prefer", "than", "rather", "10", "MB", "at", "most", "`x`",
        "is", "are", "forbidden", "in", "production", "until", "2026-01-01", "between", "and", "may", "must", "unless", ":", "—", "no", "longer", "q3", "may", "1",
    ]), 0..40)) {
        let text = words.join(" ");
        let a = new_claim(&text);
        prop_assert!(!a.norms.is_empty());
        // The order of a pair does not change whether it is a contradiction.
        let b = new_claim("Never use tabs in production, only spaces.");
        let guard = Guard::default();
        let (one, two) = (guard.compare(&parse(&a), &parse(&b), &PairScores::default()), guard.compare(&parse(&b), &parse(&a), &PairScores::default()));
        prop_assert!((one.score - two.score).abs() < 1e-4, "{} {}", one.score, two.score);
    }
}
