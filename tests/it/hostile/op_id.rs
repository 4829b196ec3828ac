//! One `op_id`, two requests: the second is refused, whatever the act; a retry of the first is answered.

use ergo::{
    api::{
        ActRequest, Caller, ClaimsQuery, DependRequest, ErrorCode, IngestRequest, RememberRequest, Stored,
        SupersedeRequest, UndoRequest, WriteOutcome,
    },
    client::{Client, ClientError},
    domain::{ClaimId, OpId},
};

use crate::support::{TestHome, block_on, caller, decision, fact};

fn home() -> TestHome {
    TestHome::with_settings("[sync]\nmode = \"off\"\n")
}

fn by(op: u8) -> Caller {
    Caller { op_id: Some(OpId([op; 16])), ..caller() }
}

fn under(op: u8, request: RememberRequest) -> RememberRequest {
    RememberRequest { caller: by(op), ..request }
}

fn stored(client: &Client, request: &RememberRequest) -> Stored {
    match block_on(client.remember(request)).unwrap() {
        WriteOutcome::Stored(stored) => stored,
        other => panic!("not stored: {other:?}"),
    }
}

#[track_caller]
fn reused<T: std::fmt::Debug>(answer: Result<T, ClientError>) {
    match answer {
        Err(ClientError::Api(error)) => {
            assert_eq!((error.code, error.code.status()), (ErrorCode::OpIdReused, 409), "{error:?}");
            assert_eq!(error.field.as_deref(), Some("op_id"));
            assert!(error.hint.as_deref().unwrap_or_default().contains("new `op_id`"), "{error:?}");
        }
        other => panic!("not refused: {other:?}"),
    }
}

#[test]
fn another_statement_under_a_used_op_id_is_refused_and_a_retry_is_answered() {
    let home = home();
    let daemon = home.daemon();
    let client = home.client();
    let first = under(1, decision("Deploys run at noon."));
    let claim = stored(&client, &first).claim_id;
    reused(block_on(client.remember(&under(1, decision("Logs are JSON.")))));
    reused(block_on(
        client.remember(&under(
            1,
            RememberRequest { reason: Some("another".into()), ..decision("Deploys run at noon.") },
        )),
    ));
    daemon.kill();
    let _daemon = home.daemon();
    reused(block_on(client.remember(&under(1, decision("Logs are JSON.")))));

    // By another agent, from a clone elsewhere, from a line that moved: it asks for the same.
    let mut retry = RememberRequest { source: Some("docs/deploy.md:7".into()), ..first };
    retry.caller.agent = Some("claude-code/2".into());
    retry.caller.identity = Some("https://git.example/acme/api".into());
    let again = stored(&client, &retry);
    assert_eq!((again.claim_id, again.replayed), (claim, true));
    assert_eq!(block_on(client.claims(&ClaimsQuery::default())).unwrap().total, 1, "the other was not stored");
}

#[test]
fn every_act_refuses_another_request_under_its_op_id() {
    let home = home();
    let _daemon = home.daemon();
    let client = home.client();
    let claim = |statement: &str| stored(&client, &fact(statement, statement)).claim_id;
    let [a, b, c, d] = ["port 80", "host ada", "disk ssd", "team red"].map(claim);
    let act = |op: u8, target: ClaimId, reason: &str| ActRequest {
        caller: by(op),
        target: target.to_hex(),
        reason: reason.into(),
        ..ActRequest::default()
    };

    let depend = |op: u8, premise: ClaimId| DependRequest {
        caller: by(op),
        claim: a.to_hex(),
        premises: vec![premise.to_hex()],
    };
    block_on(client.depend(&depend(10, b))).unwrap();
    reused(block_on(client.depend(&depend(10, c))));
    block_on(client.depend(&depend(10, b))).unwrap();

    block_on(client.retract(&act(11, b, "wrong"))).unwrap();
    reused(block_on(client.retract(&act(11, c, "wrong"))));
    reused(block_on(client.reinstate(&act(11, b, "wrong"))));
    block_on(client.retract(&act(11, b, "wrong"))).unwrap();

    block_on(client.reviewed(&act(12, a, "still holds"))).unwrap();
    reused(block_on(client.reviewed(&act(12, a, "it is another"))));

    block_on(client.reinstate(&act(13, b, "right after all"))).unwrap();
    reused(block_on(client.reinstate(&act(13, b, "for another reason"))));

    let supersede = |op: u8, statement: &str| SupersedeRequest {
        targets: vec![c.to_hex()],
        claim: under(op, fact(statement, "disk ssd")),
        ..SupersedeRequest::default()
    };
    block_on(client.supersede(&supersede(14, "disk nvme"))).unwrap();
    reused(block_on(client.supersede(&supersede(14, "disk tape"))));

    let undo = |op: u8, target: u8| UndoRequest {
        caller: by(op),
        target_op: Some(OpId([target; 16])),
        ..UndoRequest::default()
    };
    block_on(client.undo(&undo(15, 14))).unwrap();
    reused(block_on(client.undo(&undo(15, 13))));
    block_on(client.undo(&undo(15, 14))).unwrap();

    block_on(client.redact(&act(16, d, "private"))).unwrap();
    reused(block_on(client.redact(&act(16, a, "private"))));

    let ingest = |op: u8, text: &str| IngestRequest {
        caller: by(op),
        path: "notes.md".into(),
        text: Some(text.into()),
        share: false,
    };
    block_on(client.ingest(&ingest(17, "# Notes\n\nThe port is 80."))).unwrap();
    reused(block_on(client.ingest(&ingest(17, "# Notes\n\nThe port is 81."))));
    reused(block_on(client.remember(&under(17, fact("another act", "another")))));
}

#[test]
fn an_act_without_the_hash_of_its_request_answers_every_request() {
    let home = home();
    let daemon = home.daemon();
    let client = home.client();
    let claim = stored(&client, &under(1, decision("Deploys run at noon."))).claim_id;
    daemon.terminate();
    let db = rusqlite::Connection::open(home.paths().store()).unwrap();
    assert_eq!(db.execute("DELETE FROM requests", []).unwrap(), 1);
    drop(db);
    let _daemon = home.daemon();
    let answer = stored(&client, &under(1, decision("Logs are JSON.")));
    assert_eq!((answer.claim_id, answer.replayed), (claim, true));
}

#[test]
fn a_redacted_text_leaves_no_hash_of_its_request() {
    let home = home();
    let daemon = home.daemon();
    let client = home.client();
    let claim = stored(&client, &under(1, decision("The password is hunter2."))).claim_id;
    let request =
        ActRequest { caller: by(2), target: claim.to_hex(), reason: "a secret".into(), ..ActRequest::default() };
    block_on(client.redact(&request)).unwrap();
    daemon.terminate();
    let db = rusqlite::Connection::open(home.paths().store()).unwrap();
    let kept = |op: u8| -> i64 {
        db.query_row("SELECT count(*) FROM requests WHERE op = ?1", [[op; 16]], |row| row.get(0)).unwrap()
    };
    assert_eq!((kept(1), kept(2)), (0, 1));
}
