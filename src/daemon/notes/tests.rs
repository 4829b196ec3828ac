//! Tests of rule files that become claims, with fake models.

use std::{collections::HashMap, fs, path::Path, sync::mpsc::channel, thread, time::Duration};

use ed25519_dalek::SigningKey;
use tempfile::TempDir;

use super::*;
use crate::{
    api::{DoubtsQuery, InsightsQuery, JudgePairsRequest, RememberRequest, VerdictOnPair, WriteOutcome},
    domain::{PairVerdict, Status},
    engine::{AgentPolicy, EngineConfig},
    guard::{GateWeights, Guard, doubt_gate::GateRegression},
    infer::{FakeModels, Models},
};

/// A device that follows the files of a folder.
struct Workspace {
    dir: TempDir,
    keeper: NotesKeeper,
}

impl Workspace {
    fn new(guard: Guard, models: FakeModels) -> Self {
        Self::of(AgentPolicy::Force, guard, models)
    }

    fn of(agents_may: AgentPolicy, guard: Guard, models: FakeModels) -> Self {
        let dir = tempfile::tempdir().unwrap();
        let paths = Paths::under(dir.path().join("home"));
        fs::create_dir_all(dir.path().join("home")).unwrap();
        let mut config = EngineConfig::new(paths.store(), SigningKey::from_bytes(&[7; 32]));
        (config.durable, config.agents_may) = (false, agents_may);
        let models: Arc<dyn Models> = Arc::new(models);
        let engine = Arc::new(Engine::open_with_models(config, guard, models).unwrap());
        let keeper = keeper(dir.path(), engine);
        Self { dir, keeper }
    }

    /// The same device after a restart of its daemon.
    fn restarted(self) -> Self {
        let Self { dir, keeper: before } = self;
        let engine = Arc::clone(&before.engine);
        drop(before);
        Self { keeper: keeper(dir.path(), engine), dir }
    }

    fn write(&self, project: &str, rules: &[String]) {
        let folder = self.dir.path().join("src").join(project);
        fs::create_dir_all(&folder).unwrap();
        let lines: Vec<String> = rules.iter().map(|rule| format!("- {rule}")).collect();
        fs::write(folder.join("CLAUDE.md"), format!("# Rules\n\n{}\n", lines.join("\n"))).unwrap();
    }

    fn follow(&self) -> NotesAdded {
        let src = self.dir.path().join("src").display().to_string();
        self.keeper.add(&NotesAddRequest { caller: caller(), paths: vec![src], remove: false }).unwrap()
    }

    fn scan(&self) -> NotesRun {
        let run = self.keeper.scan(&NotesScanRequest { caller: caller(), path: None }).unwrap();
        assert!(run.problems.is_empty(), "{run:?}");
        run
    }

    fn calibrate(&self, apply: bool, reset: bool) -> DomainThreshold {
        let request = NotesCalibrateRequest { caller: caller(), apply, reset };
        let domains = self.keeper.calibrate(&request).unwrap().domains;
        domains.into_iter().find(|found| found.domain == "testing").unwrap()
    }

    /// Returns the number of insights.
    fn insights(&self) -> usize {
        let query = InsightsQuery { org_id: "acme".into(), ..InsightsQuery::default() };
        self.keeper.engine.insights(&query).unwrap().total
    }
}

fn keeper(dir: &Path, engine: Arc<Engine>) -> NotesKeeper {
    let mut config = Config { org_id: "acme".into(), who: "ada".into(), ..Config::default() };
    // Use one threshold for all pairs, so that the tests can count them.
    config.notes.nearest_similarity = config.notes.similarity;
    NotesKeeper::open(&Paths::under(dir.join("home")), &config, engine)
}

fn caller() -> Caller {
    Caller { org_id: "acme".into(), project: "notes".into(), who: "ada".into(), ..Caller::default() }
}

const NAMES: [&str; 14] = [
    "alpha", "bravo", "charlie", "delta", "echo", "foxtrot", "golf", "hotel", "india", "juliet", "kilo", "lima",
    "mike", "november",
];

/// Returns rules about these names in the words of one project, and in those of the other one.
fn rules(names: &[&str]) -> [Vec<String>; 2] {
    let one = names.iter().map(|name| format!("Test suites about {name} run nightly."));
    let other = names.iter().map(|name| format!("Each night the {name} tests are started."));
    [one.collect(), other.collect()]
}

/// Models for which the two rules about a name have a similarity somewhat below the threshold of the settings (60 %),
/// and rules about different names are far apart. The cross-encoder says that each claim follows from the other.
fn half_near() -> FakeModels {
    let places: HashMap<&str, usize> = NAMES.iter().enumerate().map(|(at, name)| (*name, at)).collect();
    let embed = move |text: &str| {
        let mut vector = vec![0.0; 32];
        match text.split(|c: char| !c.is_alphanumeric()).find_map(|word| places.get(word)) {
            Some(at) if text.starts_with("Each night") => {
                vector[2 * at] = 0.56;
                vector[2 * at + 1] = (1.0_f32 - 0.56 * 0.56).sqrt();
            }
            Some(at) => vector[2 * at] = 1.0,
            None => vector[2 * NAMES.len()] = 1.0,
        }
        Ok(vector)
    };
    FakeModels::new().embedding(embed).classifying(|_, _| Ok([6.0, 0.0, -2.0]))
}

/// A guard whose gate has every pair in doubt.
fn doubting() -> Guard {
    let words = GateRegression { ask: 0.5, mention: 0.2, weights: [("intercept".to_owned(), 3.0)].into() };
    Guard::default().with_gate(GateWeights { words, ..GateWeights::default() })
}

#[test]
fn thresholds_from_judged_pairs_take_effect_in_the_next_scan_and_a_reset_takes_them_back() {
    let space = Workspace::new(doubting(), half_near());
    let [one, other] = rules(&NAMES[..13]);
    space.write("one", &one);
    space.write("other", &other);
    assert_eq!(space.follow().files.len(), 2);
    let run = space.scan();
    assert_eq!((run.stored, run.merged, run.inferred, space.insights()), (26, 0, 13, 26), "{run:?}");

    // A person judges all pairs but the last as the same.
    let judge = |names: &[&str]| {
        let query = DoubtsQuery { limit: Some(50), ..DoubtsQuery::default() };
        let pairs = space.keeper.engine.doubts(&query).unwrap().items;
        let pairs = pairs.into_iter().filter(|pair| names.iter().any(|name| pair.newer.statement.contains(name)));
        let verdict = |pair: crate::api::PairInDoubt| VerdictOnPair {
            pair: pair.id.to_hex(),
            verdict: PairVerdict::Same,
            because: None,
        };
        let verdicts = pairs.map(verdict).collect();
        let request = JudgePairsRequest { caller: caller(), verdicts, ..JudgePairsRequest::default() };
        space.keeper.engine.judge_pairs(&request).unwrap()
    };
    assert_eq!(judge(&NAMES[..9]).pairs.len(), 9);
    let few = space.calibrate(false, false);
    assert_eq!((few.judged, few.threshold), (9, None), "too few to fit anything");
    judge(&NAMES[9..12]);
    assert_eq!(space.insights(), 14);
    let shown = space.calibrate(false, false);
    let fitted = shown.threshold.unwrap();
    assert!((fitted - 0.56).abs() < 0.02 && shown.is_default && shown.judged == 12, "{shown:?}");
    assert_eq!(space.scan().merged, 0, "shown, not used");

    let used = space.calibrate(true, false);
    assert!((used.in_use - fitted).abs() < 1e-6 && !used.is_default, "{used:?}");
    assert_eq!((space.scan().merged, space.insights()), (1, 13), "the pair that nobody judged");

    let space = space.restarted();
    assert!(!space.calibrate(false, false).is_default, "kept over a restart");
    let reset = space.calibrate(false, true);
    assert!((reset.in_use - 0.6).abs() < 1e-6 && reset.is_default, "{reset:?}");
    let [one, other] = rules(&NAMES);
    space.write("one", &one);
    space.write("other", &other);
    let run = space.scan();
    assert_eq!((run.stored, run.merged, space.insights()), (2, 0, 15), "{run:?}");
}

#[test]
fn what_cannot_be_applied_and_reset_at_once_is_refused() {
    let space = Workspace::new(Guard::default(), FakeModels::new());
    let request = NotesCalibrateRequest { caller: caller(), apply: true, reset: true };
    assert_eq!(space.keeper.calibrate(&request).unwrap_err().field.as_deref(), Some("reset"));
}

/// Models for which claims about the same thing are near, and the cross-encoder classifies every pair as neutral.
fn bag_of_words() -> FakeModels {
    FakeModels::new().embedding(|text| Ok(FakeModels::bag_of_words(text))).classifying(|_, _| Ok([-2.0, 4.0, -2.0]))
}

#[rstest::rstest]
#[case::opposed("Commits must be signed.", "Commits must not be signed.", "direct")]
#[case::in_tests("In tests, mocks must not be used.", "Mocks must be used.", "contextual")]
#[case::public_api("For the public API: panics are forbidden.", "Panics are allowed.", "contextual")]
#[case::on_windows("Paths must be absolute on Windows.", "Paths must not be absolute.", "contextual")]
#[case::in_production("In production, requests must be logged.", "Requests must not be logged.", "contextual")]
#[case::narrower("Functions have at most 40 lines.", "Functions have at most 60 lines.", "partial")]
#[case::narrower_time(
    "Requests time out after at most 5 seconds.",
    "Requests time out after at most 30 seconds.",
    "partial"
)]
#[case::coverage("Test coverage is at least 80 %.", "Test coverage is at least 90 %.", "partial")]
#[case::strength("Commits should be signed.", "Commits must not be signed.", "partial")]
fn two_projects_exclude_each_other_in_full_in_part_or_under_a_condition(
    #[case] one: &str,
    #[case] other: &str,
    #[case] kind: &str,
    #[values(false, true)] with_models: bool,
) {
    let models = if with_models { bag_of_words() } else { FakeModels::new() };
    let space = Workspace::new(Guard::default(), models);
    space.write("one", &[one.to_owned(), "Be kind in reviews.".to_owned()]);
    space.write("other", &[other.to_owned(), "Releases are cut on Mondays.".to_owned()]);
    space.follow();
    let run = space.scan();
    assert_eq!(run.cards, 1, "{run:?}");
    let check = space.keeper.check(&NotesCheckRequest { caller: caller(), path: None }).unwrap();
    let kinds: Vec<&str> = check.conflicts.iter().map(|conflict| conflict.kind.unwrap().as_str()).collect();
    assert_eq!(kinds, [kind; 2], "each file disagrees with the other one: {check:?}");
}

#[rstest::rstest]
#[case::names("The birch router must use a proxy.", "The beech router must use a proxy.", 0)]
#[case::names_in_the_middle("The cedar crawler api has a blue canary.", "The cedar indexer api has a blue canary.", 0)]
#[case::sorts("Unit tests must not use the network.", "Integration tests must not use the network.", 0)]
#[case::tools("Use tabs for indentation.", "Use spaces for indentation.", 0)]
#[case::environments("The staging database is backed up nightly.", "The production database is backed up nightly.", 0)]
#[case::other_words("All user input must be escaped.", "Escape all user input.", 1)]
#[case::each("All public functions must have a doc comment.", "Every public function must have a doc comment.", 1)]
fn what_two_projects_demand_of_two_things_is_no_one_rule_whatever_the_models_say(
    #[case] one: &str,
    #[case] other: &str,
    #[case] merged: usize,
) {
    let credulous = FakeModels::new().embedding(|_| Ok(vec![1.0, 0.0])).classifying(|_, _| Ok([6.0, 0.0, -2.0]));
    let space = Workspace::new(Guard::default(), credulous);
    space.write("one", &[one.to_owned()]);
    space.write("other", &[other.to_owned()]);
    space.follow();
    let run = space.scan();
    assert_eq!((run.inferred, run.merged, space.insights()), (1, merged, 2 - merged), "{run:?}");
}

#[rstest::rstest]
#[case::other_things("Functions have at most 40 lines.", "Files have at most 500 lines.")]
#[case::other_units("Requests take at most 2 seconds.", "Requests have at most 2 megabytes.")]
#[case::other_parts("In tests, mocks must be used.", "On Windows, mocks must not be used.")]
#[case::other_subject("In tests, mocks must not be used.", "Linters must be used.")]
fn rules_that_only_look_alike_get_no_card(#[case] one: &str, #[case] other: &str) {
    let space = Workspace::new(Guard::default(), bag_of_words());
    space.write("one", &[one.to_owned()]);
    space.write("other", &[other.to_owned()]);
    space.follow();
    let run = space.scan();
    assert_eq!(run.cards, 0, "{run:?}");
}

#[test]
fn claims_that_come_otherwise_are_compared_by_the_next_scan_and_then_no_more() {
    let space = Workspace::new(Guard::default(), FakeModels::new());
    space.write("one", &["Commits must be signed.".to_owned()]);
    space.follow();
    assert_eq!(space.scan().cards, 0);
    let request = crate::api::RememberRequest {
        caller: Caller { project: "other".into(), ..caller() },
        statement: "Commits must not be signed.".into(),
        kind: Some(crate::domain::ClaimKind::Convention),
        reason: Some("slow".into()),
        ..crate::api::RememberRequest::default()
    };
    space.keeper.engine.remember(request).unwrap();
    assert_eq!(space.scan().cards, 1);
    let runs = space.keeper.status().unwrap().runs.len();
    assert_eq!(
        (space.scan().cards, space.keeper.status().unwrap().runs.len()),
        (0, runs),
        "nothing new, and no run on record"
    );
}

#[test]
fn a_claim_that_opposes_a_refused_rule_is_written_with_the_card_and_the_line() {
    let space = Workspace::new(Guard::default(), FakeModels::new());
    let request = RememberRequest {
        caller: Caller { project: "one".into(), ..caller() },
        statement: "Commits must not be signed.".into(),
        kind: Some(crate::domain::ClaimKind::Convention),
        reason: Some("slow".into()),
        ..RememberRequest::default()
    };
    space.keeper.engine.remember(request).unwrap();
    space.write("one", &["Commits must be signed.".to_owned()]);
    space.follow();
    assert_eq!(space.scan().refused, 1);
    let path = space.dir.path().join("src/one/CLAUDE.md").display().to_string();
    let request = NotesWriteRequest { caller: caller(), path, dry_run: true, ..NotesWriteRequest::default() };
    let conflicts = space.keeper.write(&request).unwrap().conflicts;
    let [conflict] = conflicts.as_slice() else { panic!("{conflicts:?}") };
    assert_eq!((conflict.line, conflict.says.as_str()), (Some(3), "Commits must be signed."));
    assert!(conflict.card.is_some() && conflict.kind.is_some(), "{conflict:?}");
}

#[test]
fn a_watching_daemon_reads_first_and_compares_afterwards() {
    let space = Workspace::new(Guard::default(), FakeModels::new());
    space.write("one", &["Commits must be signed.".to_owned()]);
    space.write("other", &["Commits must not be signed.".to_owned()]);
    space.follow();
    let read = read_changes::read(&space.keeper, &caller(), None).unwrap();
    assert_eq!((read.stored, read.cards), (2, 0));
    let compared = read_changes::compare_waiting(&space.keeper, &caller()).unwrap();
    assert_eq!((compared.files, compared.cards), (0, 1));
    assert_eq!(read_changes::compare_waiting(&space.keeper, &caller()).unwrap().cards, 0, "nothing waits");
    let kinds: Vec<String> = space.keeper.status().unwrap().runs.into_iter().map(|run| run.kind).collect();
    assert_eq!(kinds, ["compare", "watch"], "the newest first");
}

#[test]
fn a_file_is_read_while_claims_are_compared() {
    let (began, has_begun) = channel();
    let (finish, may_finish) = channel::<()>();
    let (began, may_finish) = (Mutex::new(began), Mutex::new(may_finish));
    let models = half_near().classifying(move |_, _| {
        let _heard = lock(&began).send(());
        // Blocks until the test drops the sender. If files could not be read meanwhile, the test would notice the wait.
        let _ended = lock(&may_finish).recv_timeout(Duration::from_secs(20));
        Ok([6.0, 0.0, -2.0])
    });
    let space = Workspace::new(Guard::default(), models);
    let [one, other] = rules(&NAMES[..1]);
    space.write("one", &one);
    space.write("other", &other);
    space.follow();
    thread::scope(|scope| {
        let comparing = scope.spawn(|| space.scan());
        has_begun.recv().unwrap();
        space.write("one", &[one[0].clone(), "Releases are cut on Mondays.".to_owned()]);
        let read = read_changes::read(&space.keeper, &caller(), None).unwrap();
        assert_eq!((read.stored, comparing.is_finished()), (1, false));
        drop(finish);
        assert_eq!(comparing.join().unwrap().inferred, 1);
    });
    assert!(lock(&space.keeper.list).pending.contains("acme"), "what was read meanwhile is compared next");
}

#[test]
fn another_model_compares_all_pairs_anew() {
    let deaf = half_near().classifying(|_, _| Ok([-2.0, 4.0, -2.0]));
    let space = Workspace::new(Guard::default(), deaf);
    let [one, other] = rules(&NAMES[..2]);
    space.write("one", &one);
    space.write("other", &other);
    space.follow();
    assert_eq!((space.scan().inferred, space.scan().inferred), (2, 0));
    lock(&space.keeper.list).compared.values_mut().for_each(|last| last.models = "others".to_owned());
    assert_eq!((space.scan().inferred, space.scan().inferred), (2, 0));
}

#[test]
fn what_projects_say_about_one_subject_is_a_cluster() {
    let space = Workspace::new(Guard::default(), bag_of_words());
    let lines = |acts: [&str; 2]| acts.map(|act| format!("Database migrations are {act} by a person.")).to_vec();
    space.write("one", &lines(["reviewed", "tested"]));
    space.write("other", &[lines(["documented", "announced"]), vec!["Be kind.".to_owned()]].concat());
    space.follow();
    space.scan();
    let query = |similarity| crate::api::NoteClustersQuery { org_id: "acme".into(), similarity, limit: None };
    let found = space.keeper.engine.note_clusters(&query(None)).unwrap();
    assert_eq!((found.total, found.insights, found.items[0].members.len(), found.items[0].projects), (1, 5, 4, 2));
    assert!(found.items[0].coherence > 0.8 && found.items[0].domain == "database", "{found:?}");
    assert_eq!(space.keeper.engine.note_clusters(&query(Some(100))).unwrap().total, 0);
    // Adds another cluster. At most `limit` clusters are listed, the largest first.
    let secrets =
        ["stored", "rotated", "encrypted"].map(|act| format!("Secrets of the deployment are {act} in a vault."));
    space.write("third", &secrets);
    space.scan();
    let one = crate::api::NoteClustersQuery { limit: Some(1), ..query(None) };
    let found = space.keeper.engine.note_clusters(&one).unwrap();
    assert_eq!((found.total, found.items.len(), found.items[0].members.len()), (2, 1, 4));
    assert_eq!(space.keeper.engine.note_clusters(&query(Some(0))).unwrap_err().field.as_deref(), Some("similarity"));
}

#[test]
fn a_path_that_is_not_there_is_not_followed_and_the_answer_says_so() {
    let space = Workspace::new(Guard::default(), FakeModels::new());
    let request = NotesAddRequest { caller: caller(), paths: vec!["/nonexistent/x".into()], remove: false };
    let answer = space.keeper.add(&request).unwrap();
    assert_eq!((answer.files.len(), answer.problems), (0, vec!["/nonexistent/x does not exist".to_owned()]));
}

#[test]
fn what_a_failed_scan_left_over_is_done_by_the_next_one() {
    let space = Workspace::new(Guard::default(), FakeModels::new());
    let rules = ["Commits are signed with a key.", "Tabs indent the code."].map(str::to_owned);
    space.write("api", &rules);
    space.follow();
    assert_eq!(space.scan().stored, 2);
    space.write("api", &rules[..1]);
    // The store refuses acts of a caller without a name.
    let nobody = Caller { who: "\u{7}".into(), ..caller() };
    let failed = space.keeper.scan(&NotesScanRequest { caller: nobody, path: None }).unwrap();
    assert_eq!((failed.problems.len(), failed.retracted), (1, 0), "{failed:?}");
    let problem = || lock(&space.keeper.list).files.values().find_map(|file| file.problem.clone());
    assert!(problem().is_some());
    let next = space.scan();
    assert_eq!((next.retracted, next.known, problem()), (1, 1, None), "{next:?}");
}

#[test]
fn a_file_that_can_be_read_again_has_no_problem_any_more() {
    let space = Workspace::new(Guard::default(), FakeModels::new());
    space.write("api", &["Tabs indent the code.".to_owned()]);
    space.follow();
    space.scan();
    let (path, aside) = (space.dir.path().join("src/api/CLAUDE.md"), space.dir.path().join("aside"));
    let problem = || lock(&space.keeper.list).files.values().find_map(|file| file.problem.clone());
    fs::rename(&path, &aside).unwrap();
    space.keeper.scan(&NotesScanRequest { caller: caller(), path: None }).unwrap();
    assert!(problem().unwrap().contains("cannot be read"));
    fs::rename(&aside, &path).unwrap();
    space.scan();
    assert_eq!(problem(), None);
}

#[test]
fn one_bad_path_follows_none_of_the_others() {
    let space = Workspace::new(Guard::default(), FakeModels::new());
    space.write("api", &["Tabs indent the code.".to_owned()]);
    let src = space.dir.path().join("src").display().to_string();
    let request = NotesAddRequest { caller: caller(), paths: vec![src, "src".into()], remove: false };
    assert!(space.keeper.add(&request).unwrap_err().message.contains("not an absolute path"));
    assert!(lock(&space.keeper.list).files.is_empty());
}

#[test]
fn a_claim_that_somebody_stored_before_stays_when_its_line_is_reworded_or_goes() {
    let space = Workspace::new(Guard::default(), FakeModels::new());
    let rules = ["Commits are signed with a key.", "Tabs indent the code."].map(str::to_owned);
    space.write("api", &rules[..1]);
    space.follow();
    assert_eq!(space.scan().stored, 1);
    let scope = lock(&space.keeper.list).files.values().find_map(|file| file.scope.clone()).unwrap();
    let rule = file_reader::parse("CLAUDE.md", &format!("# Rules\n\n- {}\n", rules[1])).unwrap().rules.remove(0);
    let request = RememberRequest {
        caller: Caller { org_id: scope.org_id, project: scope.project, ..caller() },
        statement: rule.statement,
        kind: Some(rule.kind),
        reason: Some("ada decided so".to_owned()),
        ..RememberRequest::default()
    };
    let WriteOutcome::Stored(adas) = space.keeper.engine.remember(request).unwrap() else { panic!("not stored") };
    let is_active = || space.keeper.engine.claim(&adas.claim_id.to_hex()).unwrap().status == Status::Active;
    space.write("api", &rules);
    assert_eq!(space.scan().known, 2);
    space.write("api", &[rules[0].clone(), "Tabs indent all of the code.".to_owned()]);
    let run = space.scan();
    assert_eq!((run.superseded, run.retracted, is_active()), (0, 0, true), "{run:?}");
    space.write("api", &rules);
    space.scan();
    space.write("api", &rules[..1]);
    space.scan();
    assert!(is_active(), "ada's claim is not the file's");
    space.write("api", &["Reviews take a day.".to_owned()]);
    let run = space.scan();
    assert_eq!(run.retracted + run.superseded, 1, "the file's own rule goes with its line: {run:?}");
}

#[test]
fn a_decision_record_is_read_as_its_import_stores_it() {
    let (path, text) = (
        "docs/adr/0001-store.md",
        "# 1. Store\n\nDate: 2024-05-01\n\n## Status\n\nAccepted\n\n## Decision\n\nWe keep all data in Postgres.\n",
    );
    let record = crate::interchange::adr::Record::parse(path, text).unwrap();
    let rule = file_reader::parse(path, text).unwrap().rules.remove(0);
    assert_eq!(rule.qualifiers.valid_from.as_deref(), Some("2024-05-01"));
    assert_eq!(
        (rule.statement, rule.kind, rule.qualifiers),
        (record.statement.clone(), record.kind(), record.qualifiers())
    );
}

#[test]
fn a_scan_by_an_agent_that_may_only_propose_names_its_proposals() {
    let device = Workspace::of(AgentPolicy::Propose, Guard::default(), FakeModels::new());
    let tabs = |language: &str| format!("Always use tabs for the indentation of {language} files.");
    device.write("api", &[tabs("Go"), "Never log request bodies.".to_owned()]);
    device.follow();
    device.scan();
    device.write("api", &[tabs("Rust")]);
    let by_agent = Caller { agent: Some("claude".into()), ..caller() };
    let run = device.keeper.scan(&NotesScanRequest { caller: by_agent, path: None }).unwrap();
    let waits = run.problems.iter().filter(|problem| problem.contains("until a person settles card")).count();
    assert_eq!((waits, run.retracted, run.superseded), (2, 0, 0), "{run:?}");
}
