//! Judges over the real program: a command that the settings name works the queue off, and a person does at the terminal.

use ergo::{
    api::{CardKind, ConflictsQuery, DoubtsQuery, JudgeNextRequest, LogQuery},
    client::Client,
};

use crate::support::{TestHome, block_on, caller, decision, eventually};

const OLD: &str = "The weekly report goes to the finance team first";
const NEW: &str = "The weekly report goes to the finance team as a draft";

/// Without models the gate goes by words alone.
const WITHOUT_MODELS: &str = "[daemon]\ntcp = false\n[models]\nnli = \"none\"\nembedder = \"none\"\n";

/// A command that gives every pair of its prompt this verdict.
fn command(verdict: &str) -> String {
    let script = format!(
        "n=$(grep -c '^{{\"pair\"'); i=1; printf '['; while [ $i -le $n ]; do [ $i -gt 1 ] && printf ,; printf '{{\"pair\":%d,\"verdict\":\"{verdict}\",\"because\":\"read\"}}' $i; i=$((i+1)); done; printf ']'"
    );
    format!("{WITHOUT_MODELS}[judge]\nbudget_percent = 100\ncommand = [\"sh\", \"-c\", '''{script}''']\n")
}

async fn waits_for(client: &Client, pairs: usize) {
    let waiting = async || client.doubts(&DoubtsQuery::default()).await.unwrap().total == pairs;
    eventually(&format!("{pairs} pairs wait"), waiting).await;
}

#[test]
fn the_queue_outlives_the_daemon_and_a_command_works_it_off() {
    let home = TestHome::with_config(WITHOUT_MODELS);
    let daemon = home.daemon();
    block_on(async {
        let client = home.client();
        client.remember(&decision(OLD)).await.unwrap();
        client.remember(&decision(NEW)).await.unwrap();
        waits_for(&client, 1).await;
        assert_eq!(client.inbox(&ergo::api::InboxQuery::default()).await.unwrap().doubts, 1);
        let request = JudgeNextRequest { caller: caller(), ..JudgeNextRequest::default() };
        let nobody = client.judge_next(&request).await.unwrap();
        assert_eq!((nobody.judges.len(), nobody.left, nobody.asked), (0, 0, 0), "no judge is set");
    });
    daemon.kill();
    std::fs::write(home.path().join("config.toml"), command("contradicts")).unwrap();
    let _daemon = home.daemon();
    block_on(async {
        let client = home.client();
        waits_for(&client, 0).await;
        let cards = client.conflicts(&ConflictsQuery::default()).await.unwrap();
        assert_eq!((cards.total, cards.items[0].kind), (1, CardKind::Found));
        assert_eq!(cards.items[0].agent.as_deref(), Some("ergo"));
        let log = client.log(&LogQuery::default()).await.unwrap();
        assert!(log.items.iter().any(|event| event.kind == "judgement.contradicts"), "{log:?}");
    });
    let doctor = String::from_utf8(home.command(["doctor"]).output().unwrap().stdout).unwrap();
    assert!(doctor.contains("claims are given to the command `sh -c"), "{doctor}");
}

#[test]
fn an_audit_estimates_judges_and_reports() {
    let home = TestHome::with_config(&command("compatible").replace("budget_percent = 100", "budget_percent = 0"));
    let _daemon = home.daemon();
    block_on(async {
        let client = home.client();
        client.remember(&decision(OLD)).await.unwrap();
        client.remember(&decision(NEW)).await.unwrap();
        waits_for(&client, 1).await;
    });
    let run = |args: &[&str]| {
        let output = home.command([&["audit", "--scope", "acme/api"], args].concat()).output().unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8(output.stdout).unwrap()
    };
    let estimated = run(&["--dry-run"]);
    assert!(estimated.contains("1 pair in doubt can be judged: about 2 s and"), "{estimated}");
    let refused = run(&[]);
    assert!(refused.contains("1 pair in doubt can be judged"), "nobody agreed that claims go to a command: {refused}");
    let judged = run(&["--judge"]);
    assert!(judged.contains("1 pair judged, 0 cards opened; 0 left."), "{judged}");
    let again = run(&["--judge"]);
    assert!(!again.contains("in doubt"), "what was judged is not asked about again: {again}");
}

#[test]
fn a_person_judges_by_the_command_line() {
    let home = TestHome::with_config(WITHOUT_MODELS);
    let _daemon = home.daemon();
    let pair = block_on(async {
        let client = home.client();
        client.remember(&decision(OLD)).await.unwrap();
        client.remember(&decision(NEW)).await.unwrap();
        waits_for(&client, 1).await;
        client.doubts(&DoubtsQuery::default()).await.unwrap().items[0].id
    });
    let run = |args: &[&str]| {
        let output = home.command(args).output().unwrap();
        format!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr))
    };
    let inbox = run(&["inbox"]);
    assert!(inbox.contains("To judge: 1 pair that may contradict"), "{inbox}");
    let listed = run(&["judge", "--scope", "acme/api"]);
    assert!(listed.contains(&pair.short()) && listed.contains(OLD) && listed.contains(NEW), "{listed}");
    let wrong = run(&["judge", &pair.short(), "fine"]);
    assert!(wrong.contains("contradicts, replaces, same or compatible"), "{wrong}");
    let judged = run(&["judge", &pair.short(), "replaces", "--because", "the report is a draft since March"]);
    assert!(judged.contains("the newer claim superseded the older one"), "{judged}");
    assert!(run(&["judge", "--scope", "acme/api"]).contains("No pair of claims waits"));
    let claims = run(&["claims", "--scope", "acme/api"]);
    assert!(claims.contains(NEW) && !claims.contains(OLD), "{claims}");
}
