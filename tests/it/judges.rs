//! Judges in the real program: a command from the settings works off the queue, and a person judges at the terminal.

use std::{
    io::{BufRead, BufReader, Read, Write},
    process::{Child, Command, Stdio},
    time::Duration,
};

use ergo::{
    api::{
        Caller, CardKind, ClaimsQuery, ConflictsQuery, DoubtsQuery, JudgeNextRequest, JudgePairsRequest, LogQuery,
        PairInDoubt, VerdictOnPair,
    },
    client::Client,
    domain::PairVerdict,
};

use crate::support::{
    TestHome, WITHOUT_MODELS, await_exit, block_on, caller, decision,
    doubtful::{NEW, OLD},
    eventually, kill, runs, time_until, until,
};

/// A judge command that gives every pair of its prompt this verdict.
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
    let home = TestHome::new();
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

/// A command that hangs, and writes its process id to a file.
fn hanging_command(file: &std::path::Path, budget: u8) -> String {
    let script = format!("echo $$ > {0}.new; mv {0}.new {0}; sleep 600; :", file.display());
    format!("{WITHOUT_MODELS}[judge]\nbudget_percent = {budget}\ncommand = [\"sh\", \"-c\", '''{script}''']\n")
}

#[rstest::rstest]
#[case::in_the_background(100)]
#[case::in_a_request(0)]
fn a_command_that_judges_ends_with_the_daemon(#[case] budget: u8) {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("pid");
    let home = TestHome::with_config(&hanging_command(&file, budget));
    let daemon = home.daemon();
    block_on(async {
        let client = home.client();
        client.remember(&decision(OLD)).await.unwrap();
        client.remember(&decision(NEW)).await.unwrap();
        waits_for(&client, 1).await;
    });
    // Without a budget, only a request asks the judge.
    let audit = ["audit", "--judge", "--scope", "acme/api"];
    let mut audit = (budget == 0).then(|| home.command(audit).stdout(Stdio::null()).spawn().unwrap());
    until("the command runs", || file.exists());
    let pid: u32 = std::fs::read_to_string(&file).unwrap().trim().parse().unwrap();
    assert_eq!(daemon.terminate(), Some(0));
    let ended = time_until(Duration::from_secs(10), || !runs(pid)).is_some();
    kill(pid);
    if let Some(audit) = &mut audit {
        await_exit(audit, "the audit");
    }
    assert!(ended, "the command outlives the daemon");
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
    let home = TestHome::new();
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
    assert!(run(&["judge", "--scope", "acme/api"]).contains("No pairs to judge"));
    let claims = run(&["claims", "--scope", "acme/api"]);
    assert!(claims.contains(NEW) && !claims.contains(OLD), "{claims}");
}

/// The environment variable that makes this program a completion server, with its verdict; see [`serve_completions`].
const SERVED_VERDICT: &str = "TEST_SERVED_VERDICT";

/// A server of chat completions in a process of its own; ends with this value.
struct CompletionServer {
    child: Child,
    address: String,
}

impl CompletionServer {
    fn new(verdict: &str) -> Self {
        let mut child = Command::new(std::env::current_exe().unwrap())
            .args(["--exact", "judges::serve_completions", "--ignored", "--nocapture"])
            .env(SERVED_VERDICT, verdict)
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
        let address = lines.find_map(|line| line.unwrap().strip_prefix("serves ").map(str::to_owned)).unwrap();
        Self { child, address }
    }
}

impl Drop for CompletionServer {
    fn drop(&mut self) {
        drop(self.child.kill());
        drop(self.child.wait());
    }
}

/// The process behind [`CompletionServer`]: gives each pair of a prompt the same verdict.
#[test]
#[ignore = "a server that the tests beside it start"]
fn serve_completions() {
    let Ok(verdict) = std::env::var(SERVED_VERDICT) else { return };
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    println!("\nserves http://{}/v1", listener.local_addr().unwrap());
    for stream in listener.incoming() {
        let mut stream = BufReader::new(stream.unwrap());
        let (mut length, mut line, mut keyed) = (0, String::new(), false);
        while stream.read_line(&mut line).unwrap() > 2 {
            let head = line.to_ascii_lowercase();
            length = head.strip_prefix("content-length:").map_or(length, |text| text.trim().parse().unwrap());
            keyed |= head.trim() == "authorization: bearer a-key";
            line.clear();
        }
        let mut body = vec![0; length];
        stream.read_exact(&mut body).unwrap();
        let asked: serde_json::Value = serde_json::from_slice(&body).unwrap();
        let message = asked["messages"].as_array().unwrap().last().unwrap()["content"].as_str().unwrap().to_owned();
        // A story has no pairs, so the answer finds nothing in it.
        let lines = message.lines().map(|line| serde_json::from_str::<serde_json::Value>(line).unwrap());
        let pairs = lines.filter(|line| !line["pair"].is_null()).enumerate().map(|(at, line)| {
            assert_eq!(line["pair"], at + 1);
            serde_json::json!({ "pair": at + 1, "verdict": verdict, "because": "served" })
        });
        let content = pairs.collect::<serde_json::Value>().to_string();
        let answer = serde_json::json!({ "choices": [{ "message": { "role": "assistant", "content": content } }] });
        let (status, answer) = if keyed { ("200 OK", answer.to_string()) } else { ("401 Unauthorized", String::new()) };
        let head = format!("HTTP/1.1 {status}\r\ncontent-length: {}\r\nconnection: close\r\n\r\n", answer.len());
        stream.get_mut().write_all((head + &answer).as_bytes()).unwrap();
    }
}

#[test]
fn a_model_behind_an_address_gives_each_of_the_four_verdicts() {
    for verdict in PairVerdict::ALL {
        let server = CompletionServer::new(verdict.as_str());
        let home = TestHome::with_config(&format!(
            "{WITHOUT_MODELS}[judge]\nbudget_percent = 100\nendpoint = \"{}\"\nmodel = \"served\"\n",
            server.address
        ));
        let _daemon = home.daemon_by(|mut program| {
            program.env("ERGO_LLM_KEY", "a-key");
            program
        });
        block_on(async {
            let client = home.client();
            client.remember(&decision(OLD)).await.unwrap();
            client.remember(&decision(NEW)).await.unwrap();
            let kind = format!("judgement.{verdict}");
            let log = async || client.log(&LogQuery::default()).await.unwrap();
            eventually(&kind, async || log().await.items.iter().any(|event| event.kind == kind)).await;
            assert_eq!(client.doubts(&DoubtsQuery::default()).await.unwrap().total, 0);
            // A model only proposes: without a person, only `compatible` has an effect.
            let cards = client.conflicts(&ConflictsQuery::default()).await.unwrap();
            assert_eq!(cards.total, usize::from(verdict != PairVerdict::Compatible), "{verdict}");
            assert!(cards.items.iter().all(|card| card.headline.contains("served")), "{cards:?}");
            assert_eq!(client.claims(&ClaimsQuery::default()).await.unwrap().items.len(), 2, "{verdict}");
        });
    }
}

#[test]
fn the_doctor_names_an_agent_that_calls_every_pair_compatible() {
    let home = TestHome::new();
    let _daemon = home.daemon();
    let agent = || Caller { agent: Some("parrot".to_owned()), ..caller() };
    let doctor = || String::from_utf8(home.command(["doctor"]).output().unwrap().stdout).unwrap();
    let judge = async |client: &Client, many: usize, verdict: PairVerdict| {
        let waiting = client.doubts(&DoubtsQuery { limit: Some(many), ..DoubtsQuery::default() }).await.unwrap();
        assert_eq!(waiting.items.len(), many);
        let verdict = |pair: &PairInDoubt| VerdictOnPair { pair: pair.id.to_hex(), verdict, because: None };
        let request = JudgePairsRequest {
            caller: agent(),
            verdicts: waiting.items.iter().map(verdict).collect(),
            because: Some("fine".to_owned()),
            ..JudgePairsRequest::default()
        };
        client.judge_pairs(&request).await.unwrap();
    };
    let ways = [
        "draft",
        "letter",
        "table",
        "summary",
        "drawing",
        "recording",
        "poster",
        "speech",
        "slide",
        "story",
        "poem",
        "film",
    ];
    let more = ["song", "map", "model", "list", "quiz", "book", "play", "game", "chart", "note"];
    block_on(async {
        let client = home.client();
        for way in ways.iter().chain(&more) {
            client
                .remember(&decision(&format!("The weekly report goes to the finance team as a {way}")))
                .await
                .unwrap();
        }
        let enough = async || client.doubts(&DoubtsQuery::default()).await.unwrap().total >= 51;
        eventually("51 pairs wait", enough).await;
        judge(&client, 49, PairVerdict::Compatible).await;
    });
    assert!(!doctor().contains("parrot called every pair"), "49 are not enough");
    block_on(async { judge(&home.client(), 1, PairVerdict::Compatible).await });
    let found = doctor();
    assert!(found.contains("parrot called every pair of claims compatible in its last 50 verdicts"), "{found}");
    block_on(async { judge(&home.client(), 1, PairVerdict::Same).await });
    assert!(!doctor().contains("parrot called every pair"), "one other verdict shows that it reads");
}

/// A command that asks about the first and the last claim of a story, and writes its prompt to the file `kept`.
fn story_command(kept: &std::path::Path) -> String {
    let kept = kept.display();
    let script = format!(
        r#"cat > {kept}; ids=$(grep -o '^{{"id":"[0-9a-f]*' {kept} | cut -d'"' -f4); set -- $ids; first=$1; for last; do :; done; printf '[{{"claim_ids": ["%s", "%s"], "question": "Is the cache still limited to a thousand pages?"}}]' "$first" "$last""#
    );
    format!("{WITHOUT_MODELS}[judge]\nbudget_percent = 100\ncommand = [\"sh\", \"-c\", '''{script}''']\n")
}

#[test]
fn a_command_reads_the_story_in_the_background_and_its_question_is_answered() {
    let folder = tempfile::tempdir().unwrap();
    let kept = folder.path().join("prompt");
    let home = TestHome::with_config(&story_command(&kept));
    let _daemon = home.daemon();
    block_on(async {
        let client = home.client();
        let claims = [
            ("ada", "2025-02-01", "The cache holds a thousand pages."),
            ("bob", "2025-03-01", "Pages stay in the cache for good."),
        ];
        for (who, day, statement) in claims {
            let mut request = decision(statement);
            request.caller.who = who.into();
            request.qualifiers.valid_from = Some(day.into());
            client.remember(&request).await.unwrap();
        }
        let query = ConflictsQuery { kind: Some("story".into()), ..ConflictsQuery::default() };
        let asked = async || client.conflicts(&query).await.unwrap().total == 1;
        eventually("the command's question is a card", asked).await;
        let card = client.conflicts(&query).await.unwrap().items.remove(0);
        assert_eq!((card.kind, card.agent.as_deref()), (CardKind::Story, Some("ergo")));
        let view = client.card(&card.id.to_hex()).await.unwrap();
        let sentence = &view.evidence[0].sentence;
        assert!(sentence.contains("asks: Is the cache still limited to a thousand pages?"), "{sentence}");
    });
    let prompt = std::fs::read_to_string(&kept).unwrap();
    assert!(prompt.contains("\"on\":\"2025-02-01 00:00\"") && prompt.contains("\"by\":\"bob\""), "{prompt}");
    let story = home.run(["story", "--scope", "acme/api"]).ok().stdout;
    assert!(story.contains("(asked by a language model)"), "{story}");
    let id = home.run(["conflicts", "--scope", "acme/api", "--json"]).ok().json()["items"][0]["id"].clone();
    let answered = home.run(["resolve", id.as_str().unwrap(), "--no", "--reason", "pages are never dropped"]).ok();
    assert!(answered.stdout.contains(" replaces "), "{answered:?}");
    let claims = home.run(["claims", "--scope", "acme/api"]).ok().stdout;
    assert!(claims.contains("for good") != claims.contains("a thousand"), "one of both is left: {claims}");
}
