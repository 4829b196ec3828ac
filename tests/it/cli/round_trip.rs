//! An export that is imported into an empty store gives the same claims with the same history.

use serde_json::{Value, json};

use super::{
    super::support::{TestHome, git},
    refused, remember,
};

/// The claims of an export without what an import gives anew: ids are replaced by statements, and times are left out.
fn rows(home: &TestHome, scope: &str) -> Vec<Value> {
    let export = home.run(["export", "jsonl", "--scope", scope]).ok().stdout;
    let lines: Vec<Value> = export.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let claims = lines.iter().filter(|line| line["type"] == "claim").map(|line| &line["claim"]);
    let claims: Vec<&Value> = claims.filter(|claim| claim["flags"]["undone"] != true).collect();
    let name = |id: &Value| {
        let claim = claims.iter().find(|claim| claim["id"] == *id);
        claim.map_or(Value::Null, |claim| claim["statement"].clone())
    };
    let names = |ids: &Value| {
        let mut names: Vec<String> =
            ids.as_array().into_iter().flatten().map(|id| name(id).as_str().unwrap_or_default().to_owned()).collect();
        names.sort();
        names
    };
    let row = |claim: &&Value| {
        let beside = claim["beside"].as_array().into_iter().flatten();
        let beside: Vec<Value> =
            beside.map(|other| json!([other["relation"], other["statement"], other["reason"]])).collect();
        json!({
            "statement": claim["statement"], "kind": claim["kind"], "status": claim["status"],
            "reason": claim["reason"], "closing_reason": claim["closing_reason"], "source": claim["source"],
            "key": claim["key"], "qualifiers": claim["qualifiers"], "replaces": names(&claim["replaces"]),
            "replaced_by": names(&claim["replaced_by"]), "premises": names(&claim["premises"]), "beside": beside,
        })
    };
    let mut rows: Vec<Value> = claims.iter().map(row).collect();
    rows.sort_by_key(Value::to_string);
    rows
}

/// Stores claims of which many contradict one that was closed or accepted beside them.
fn history(home: &TestHome) {
    let remember = |statement: &str| remember(home, statement, &format!("Why: {statement}"));
    // Retracted, and then corrected.
    let wrong = remember("Tests must reach the network.");
    home.run(["retract", &wrong, "--reason", "It was a typing error."]).ok();
    remember("Tests must not reach the network.");
    // Dismissed.
    let card = refused(home);
    home.run(["resolve", &card, "--dismiss", "--reason", "There are two canaries."]).ok();
    // The older claim is the exception.
    remember("Deployments must use a green gate.");
    let gate = home.run(["remember", "Deployments must use a yellow gate.", "--reason", "It is seen.", "--json"]);
    assert_eq!(gate.code, Some(1), "{gate:?}");
    let card = gate.json()["card_id"].as_str().unwrap().to_owned();
    home.run(["resolve", &card, "--exception=1", "--reason", "Green was for one week."]).ok();
    // Superseded by a new claim, and by one that existed.
    let old = remember("Releases are cut on Mondays.");
    home.run(["supersede", &old, "Releases are cut on Tuesdays.", "--reason", "Mondays are full."]).ok();
    let (short, long) = (remember("Commits are signed."), remember("Commits and tags are signed by a hardware key."));
    home.run(["supersede", &short, "--by", &long, "--reason", "The newer one covers it."]).ok();
    // Reinstated after its opposite was stored and retracted.
    let back = remember("The API must use REST.");
    home.run(["retract", &back, "--reason", "A trial."]).ok();
    let trial = remember("The API must not use REST.");
    home.run(["retract", &trial, "--reason", "The trial is over."]).ok();
    home.run(["reinstate", &back, "--reason", "REST is back."]).ok();
    // Facts.
    for value in ["8080", "9090"] {
        home.run(["remember", &format!("The port is {value}."), "--kind", "fact", "--key", "port"]).ok();
    }
}

#[test]
fn an_import_into_an_empty_project_gives_the_exported_claims_and_history() {
    let home = TestHome::new();
    let _daemon = home.daemon();
    history(&home);
    let here = home.run(["claims", "--json"]).ok().json()["items"][0]["scope"].clone();
    let here = format!("{}/{}", here["org_id"].as_str().unwrap(), here["project"].as_str().unwrap());
    let before = rows(&home, &here);
    home.run(["export", "jsonl", "dump.jsonl"]).ok();
    let import = ["import", "jsonl", "dump.jsonl", "--scope", "acme/copy", "--json"];
    let report = home.run(import).ok().json();
    assert_eq!((report["refused"].clone(), report["skipped"].clone()), (json!([]), json!([])), "{report:#}");
    let after = rows(&home, "acme/copy");
    assert_same(&before, &after);
    assert_eq!(home.run(["conflicts", "--scope", "acme/copy", "--json"]).ok().json()["total"], 0);

    // The dismissal still holds, and a second run changes nothing.
    let again = home.run(import).ok().json();
    assert_eq!((again["stored"].clone(), again["refused"].clone()), (json!([]), json!([])), "{again:#}");
    assert_same(&before, &rows(&home, "acme/copy"));
    // One command takes all of it back.
    home.run(["undo", "--import", report["import"].as_str().unwrap(), "--scope", "acme/copy"]).ok();
    assert_eq!(home.run(["claims", "--scope", "acme/copy", "--json"]).ok().json()["total"], 0);
    home.run(import).ok();
    assert_same(&before, &rows(&home, "acme/copy"));
}

fn assert_same(before: &[Value], after: &[Value]) {
    let text = |rows: &[Value]| rows.iter().map(|row| format!("{row:#}")).collect::<Vec<_>>().join("\n");
    assert!(before == after, "before:\n{}\nafter:\n{}", text(before), text(after));
}

#[test]
fn a_row_that_is_refused_is_listed_and_the_exit_code_says_so() {
    let home = TestHome::new();
    let _daemon = home.daemon();
    remember(&home, "Commits must be signed.", "Audits.");
    remember(&home, "Releases are cut on Mondays.", "People are there.");
    home.run(["export", "jsonl", "dump.jsonl"]).ok();
    home.run(["remember", "Commits must not be signed.", "--reason", "No keys.", "--scope", "acme/copy"]).ok();
    let import = home.run(["import", "jsonl", "dump.jsonl", "--scope", "acme/copy"]);
    assert_eq!(import.code, Some(1), "{import:?}");
    assert!(import.stdout.contains("1 stored") && import.stdout.contains("Refused: dump.jsonl:2"), "{import:?}");
}

#[test]
fn a_preview_of_a_history_checks_the_rules_against_the_stored_claims() {
    let home = TestHome::new();
    let work = home.work();
    git(&work, &["init", "-q"]);
    std::fs::write(work.join("CLAUDE.md"), "# Rules\n\n- Deployments must use a blue canary.\n").unwrap();
    git(&work, &["add", "CLAUDE.md"]);
    git(&work, &["commit", "-q", "-m", "Use a canary"]);
    let _daemon = home.daemon();
    let dry = ["import", "rules", "--history", "CLAUDE.md", "--dry-run"];
    assert!(!home.run(dry).ok().stdout.contains("refuse"));
    remember(&home, "Deployments must use a red canary.", "Red is seen from afar.");
    let preview = home.run(dry).ok().stdout;
    assert!(preview.contains("Would be refused: CLAUDE.md:3"), "{preview}");
    assert!(preview.contains("The guard would refuse 1 and warn of 0. Nothing was stored."), "{preview}");
    let json = home.run(dry.iter().chain(&["--json"])).ok().json();
    assert_eq!(json["guard"][0]["would_be"], "refused", "{json}");
}
