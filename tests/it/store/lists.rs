//! Lists: pages, totals, search, nearby claims.

use ergo::{
    domain::{ClaimKind, EventKind, Status, guard_report::PairCheck, norm::IndexTerms},
    store::{ClaimFilter, EventDraft, NearbyLists, NearbyQuery, StoreError},
};

use super::support::{Fixture, Plain, body, claim, decision, fact, on, scope};

fn walk(f: &Fixture, filter: &ClaimFilter, limit: usize) -> Vec<ergo::domain::ClaimId> {
    let mut found = Vec::new();
    let mut cursor: Option<String> = None;
    loop {
        let page = f.store.reader().claims(filter, limit, cursor.as_deref()).unwrap();
        assert!(page.items.len() <= limit);
        found.extend(page.items.iter().map(|row| row.id));
        assert!(page.total >= found.len());
        if page.next.is_none() {
            assert_eq!(page.total, found.len());
            return found;
        }
        cursor = page.next;
    }
}

#[test]
fn pages_hold_every_claim_once_newest_first_whatever_their_size() {
    let mut f = Fixture::new();
    let mut made = Vec::new();
    for n in 0..17 {
        let kind = ClaimKind::ALL[n % 4];
        made.push(f.add(claim(kind, body(&format!("s{n}"), "1", true))));
    }
    made.push(f.add(fact("k", "1", [])));
    f.act(vec![on(EventKind::Retract, &[made[3]], "x")]);
    made.reverse();
    for limit in [1, 4, 18, 200] {
        assert_eq!(walk(&f, &ClaimFilter::default(), limit), made);
    }
    let active = ClaimFilter { status: Some(Status::Active), scope: Some(scope("api")), ..ClaimFilter::default() };
    assert_eq!(walk(&f, &active, 5).len(), 17);
    let rejections = ClaimFilter { kinds: vec![ClaimKind::Rejection, ClaimKind::Fact], ..active.clone() };
    assert_eq!(walk(&f, &rejections, 3).len(), 5);
    let nobody = ClaimFilter { who: Some("bob".into()), ..active.clone() };
    assert_eq!(walk(&f, &nobody, 3).len(), 0);
    let elsewhere = ClaimFilter { scope: Some(scope("web")), ..active };
    assert_eq!(walk(&f, &elsewhere, 3).len(), 0);
    let error = f.store.reader().claims(&ClaimFilter::default(), 3, Some("x")).unwrap_err();
    assert!(matches!(error, StoreError::BadCursor(_)));
}

#[test]
fn a_filter_says_what_is_not_wanted_and_its_total_is_right() {
    let mut f = Fixture::new();
    for (statement, source) in [
        ("The canary is blue", "docs/adr/1.md"),
        ("The canary is red", "CLAUDE.md"),
        ("The banner is blue", "docs/adr/2.md"),
    ] {
        let mut draft = plain(statement, "we said so");
        draft.body.source = Some(source.into());
        f.act(vec![draft]);
    }
    let all = ClaimFilter { status: Some(Status::Active), ..ClaimFilter::default() };
    let statements = |filter: &ClaimFilter, words: &str| {
        let reader = f.store.reader();
        let page =
            if words.is_empty() { reader.claims(filter, 10, None) } else { reader.search(filter, words, 10, None) };
        let page = page.unwrap();
        assert_eq!(page.total, page.items.len());
        let mut texts: Vec<_> = page.items.into_iter().map(|row| row.statement).collect();
        texts.sort();
        texts
    };
    let without = ClaimFilter { without: Some("canary".into()), ..all.clone() };
    assert_eq!(statements(&without, ""), ["The banner is blue"]);
    assert_eq!(statements(&without, "blue"), ["The banner is blue"]);
    let without = ClaimFilter { without: Some("red banner".into()), ..all.clone() };
    assert_eq!(statements(&without, ""), ["The canary is blue"], "none of several words");
    let elsewhere = ClaimFilter { not_source: Some("docs/adr".into()), ..all.clone() };
    assert_eq!(statements(&elsewhere, ""), ["The canary is red"]);
    let writer = f.store.reader().claims(&all, 1, None).unwrap().items[0].who.clone();
    assert_eq!(statements(&ClaimFilter { not_who: Some(writer), ..all.clone() }, ""), Vec::<String>::new());
    assert_eq!(statements(&ClaimFilter { not_who: Some("nobody".into()), ..all }, "").len(), 3);
}

fn texts(f: &Fixture, words: &str) -> Vec<String> {
    let filter = ClaimFilter { scope: Some(scope("api")), status: Some(Status::Active), ..ClaimFilter::default() };
    f.store.reader().search(&filter, words, 10, None).unwrap().items.into_iter().map(|row| row.statement).collect()
}

fn plain(statement: &str, reason: &str) -> EventDraft {
    let mut draft = decision("x", "1");
    draft.body.norms = None;
    draft.body.statement = Some(statement.into());
    draft.body.reason = Some(reason.into());
    draft
}

#[test]
fn search_finds_word_forms_accents_and_beginnings_within_the_scope() {
    let mut f = Fixture::new();
    f.act(vec![
        plain("Deployments run through the Zürich gateway", "latency"),
        plain("Logs are kept for thirty days", "deploying is audited"),
        plain("Colours are blue", "taste"),
    ]);
    f.act_in("web", vec![plain("Deploys are frozen", "elsewhere")]);
    assert_eq!(
        texts(&f, "why deploy")[0],
        "Deployments run through the Zürich gateway",
        "a statement outweighs a reason"
    );
    assert_eq!(texts(&f, "why deploy").len(), 2);
    assert_eq!(texts(&f, "zurich "), ["Deployments run through the Zürich gateway"]);
    assert_eq!(texts(&f, "gatew").len(), 1, "as it is typed");
    for hostile in ["", "\"", "* OR", "a:b NEAR(", "scope1", "(((", "\u{0}"] {
        assert!(texts(&f, hostile).len() <= 3, "{hostile}");
    }
    assert!(texts(&f, "scope1 ").is_empty(), "how scopes are written is no word");
}

#[test]
fn search_pages_follow_each_other() {
    let mut f = Fixture::new();
    for n in 0..7 {
        f.add(plain(&format!("gateway number {n}"), "since"));
    }
    let filter = ClaimFilter::default();
    let first = f.store.reader().search(&filter, "gateway ", 4, None).unwrap();
    let second = f.store.reader().search(&filter, "gateway ", 4, first.next.as_deref()).unwrap();
    assert_eq!((first.total, first.items.len(), second.items.len(), second.next.is_some()), (7, 4, 3, false));
    assert!(first.items.iter().all(|row| second.items.iter().all(|other| other.id != row.id)));
}

#[test]
fn a_search_goes_on_behind_its_last_claim_although_something_was_written() {
    let mut f = Fixture::new();
    for n in 0..7 {
        f.add(plain(&format!("gateway number {n}"), "since"));
    }
    let search = |f: &Fixture, cursor: Option<&str>| {
        f.store.reader().search(&ClaimFilter::default(), "gateway ", 4, cursor).unwrap()
    };
    let first = search(&f, None);
    // Moves the ranks of all matches, which depend on the mean length of the texts.
    f.add(plain(&"another matter with many words ".repeat(20), "since"));
    let second = search(&f, first.next.as_deref());
    let seen: Vec<String> = first.items.iter().chain(&second.items).map(|row| row.statement.clone()).collect();
    assert_eq!(seen, (0..7).rev().map(|n| format!("gateway number {n}")).collect::<Vec<_>>());
}

#[test]
fn what_fits_a_filter_is_found_behind_thousands_of_matches_that_do_not() {
    let mut f = Fixture::new();
    let old = f.add(plain("deploy by hand", "since"));
    let until = Some(f.now());
    f.act((0..1_200).map(|n| plain(&format!("deploy service {n}"), "since")).collect());
    let filter = ClaimFilter { until, ..ClaimFilter::default() };
    let page = f.store.reader().search(&filter, "deploy ", 10, None).unwrap();
    assert_eq!(page.items.iter().map(|row| row.id).collect::<Vec<_>>(), [old]);
    assert_eq!((page.total, page.at_least), (1, false));
    let all = f.store.reader().search(&ClaimFilter::default(), "deploy ", 10, None).unwrap();
    assert_eq!((all.total, all.at_least), (1_000, true));
}

fn nearby_claims(f: &Fixture, subjects: &[&str], terms: &[&str], limit: usize) -> Vec<String> {
    let list = |words: &[&str]| words.iter().map(|word| (*word).to_owned()).collect();
    let query = NearbyQuery {
        facts: false,
        scopes: vec![scope("api")],
        terms: IndexTerms { subjects: list(subjects), terms: list(terms), ..IndexTerms::default() },
        exclude: Vec::new(),
        limit,
    };
    f.store.reader().nearby_claims(&query).unwrap().into_iter().map(|row| row.statement).collect()
}

#[test]
fn nearby_claims_share_a_subject_or_rare_words_and_are_active_and_guarded() {
    let mut f = Fixture::new();
    let a = f.add(decision("port", "80"));
    f.act(vec![decision("host", "ada"), fact("port", "80", [])]);
    f.act_in("web", vec![decision("port", "80")]);
    assert_eq!(nearby_claims(&f, &["port"], &[], 24), ["port must be 80"]);
    assert_eq!(nearby_claims(&f, &[], &["ada"], 24), ["host must be ada"]);
    assert!(nearby_claims(&f, &["cache"], &["never-seen"], 24).is_empty());
    f.act(vec![on(EventKind::Retract, &[a], "x")]);
    assert!(nearby_claims(&f, &["port"], &[], 24).is_empty());
}

/// Six words, each of four, each shared by a thousand claims and more; no two claims share all.
fn common_words(n: usize) -> String {
    let words = [["acacia", "alder", "aspen", "beech"], ["badge", "basket", "cache", "ledger"]];
    let more = [["api", "job", "agent", "bridge"], ["north", "south", "east", "west"]];
    let last = [["red", "green", "blue", "white"], ["daily", "weekly", "monthly", "yearly"]];
    let slots = words.iter().chain(&more).chain(&last).enumerate();
    slots.map(|(slot, words)| words[n >> (2 * slot) & 3]).collect::<Vec<_>>().join(" ")
}

/// A store with every claim of common words.
fn thousands() -> Fixture {
    let mut f = Fixture::new();
    f.act((0..4096).map(|n| plain(&common_words(n), "since")).collect());
    f
}

/// Asks for claims with the first words of a text.
fn near(text: &str, words: usize) -> NearbyQuery {
    let words: Vec<&str> = text.split(' ').take(words).collect();
    NearbyQuery {
        facts: false,
        scopes: vec![scope("api")],
        terms: Plain.index_terms(&[], &words.join(" ")),
        exclude: Vec::new(),
        limit: 16,
    }
}

#[test]
fn what_shares_only_common_words_is_found_behind_thousands() {
    let f = thousands();
    // All words are as common as the others, and this claim is the oldest of those that have them.
    for oldest in [0, 1, 21] {
        let text = common_words(oldest);
        let found = f.store.reader().nearby_claims(&near(&text, 5)).unwrap();
        assert!(found.iter().any(|row| row.statement == text), "{text}");
    }
}

#[test]
fn lists_that_are_kept_find_the_same_until_something_is_written() {
    let mut f = thousands();
    let mut kept = NearbyLists::default();
    for n in (0..4096).step_by(61).chain([0, 1, 21]) {
        for words in [2, 4, 6] {
            let query = near(&common_words(n), words);
            let reader = f.store.reader();
            assert_eq!(
                reader.nearby_places_by(&mut kept, &query).unwrap(),
                reader.nearby_places(&query).unwrap(),
                "{n} {words}"
            );
        }
    }
    f.add(plain(&common_words(0), "again"));
    let query = near(&common_words(0), 6);
    let known = f.store.reader().nearby_places_by(&mut kept, &query).unwrap();
    assert_ne!(known, f.store.reader().nearby_places(&query).unwrap(), "what was read is not read again");
}

#[test]
fn a_rare_shared_word_wins_over_many_common_ones() {
    let mut f = Fixture::new();
    let old = f.add(decision("deploy", "zebra"));
    let drafts = (0..1_500).map(|n| decision("deploy", &format!("v{n}"))).map(|mut draft| {
        draft.body.norms = None;
        draft
    });
    f.act(drafts.collect());
    let found = nearby_claims(&f, &["deploy"], &["be", "must", "zebra"], 8);
    assert_eq!(found[0], f.store.reader().claim(&old).unwrap().unwrap().statement);
    assert_eq!(found.len(), 8);
}
