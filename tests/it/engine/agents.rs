//! Agents and the counts of their writes, which are the same whether they are counted at once or incrementally.

use ergo::api::{AgentView, AgentsQuery, Caller, LogQuery, RememberRequest, UndoRequest};

use super::{Fixture, agent, caller, done, on, refused, request, stored};

fn agents(fixture: &Fixture) -> Vec<AgentView> {
    fixture.engine.agents(&AgentsQuery::default()).unwrap()
}

fn by(agent: &str, project: &str, statement: &str) -> RememberRequest {
    let caller = Caller { agent: Some(agent.into()), project: project.into(), ..caller() };
    RememberRequest { caller, ..request(statement, "it is so") }
}

#[test]
fn what_is_counted_as_it_is_written_is_what_is_counted_at_once() {
    let fixture = Fixture::new();
    assert_eq!(agents(&fixture), []);
    stored(fixture.engine.remember(by("codex", "api", "We never ship on Fridays")).unwrap());
    fixture.remember("People write, too", "they are not agents");
    assert_eq!(agents(&fixture).iter().map(|one| (one.agent.as_str(), one.wrote)).collect::<Vec<_>>(), [("codex", 1)]);
    refused(fixture.engine.remember(by("claude", "api", "We always ship on Fridays")).unwrap());
    let claim = stored(fixture.engine.remember(by("claude", "web", "Pages load within a second")).unwrap()).claim_id;
    let grown = agents(&fixture);
    let rows: Vec<_> = grown.iter().map(|one| (one.agent.as_str(), one.wrote, one.refused)).collect();
    assert_eq!(rows, [("claude", 1, 1), ("codex", 1, 0)], "the last to write first");
    let retract = done(
        fixture
            .engine
            .retract(ergo::api::ActRequest {
                caller: Caller { project: "web".into(), ..agent() },
                ..on(claim, "never so")
            })
            .unwrap(),
    );
    fixture
        .engine
        .undo(UndoRequest {
            caller: Caller { project: "web".into(), ..agent() },
            target_op: Some(retract.op_id),
            ..UndoRequest::default()
        })
        .unwrap();
    let grown = agents(&fixture);
    assert_eq!((grown[0].agent.as_str(), grown[0].wrote), ("claude", 3), "an act each: remembered, retracted, undid");
    let here = AgentsQuery { org_id: Some("acme".into()), project: Some("web".into()) };
    let here_grown = fixture.engine.agents(&here).unwrap();
    assert_eq!(here_grown.iter().map(|one| (one.wrote, one.refused)).collect::<Vec<_>>(), [(3, 0)]);
    let fixture = fixture.reopen();
    assert_eq!((agents(&fixture), fixture.engine.agents(&here).unwrap()), (grown, here_grown));
    let nowhere = AgentsQuery { org_id: Some("acme".into()), project: Some("none".into()) };
    assert_eq!(fixture.engine.agents(&nowhere).unwrap(), []);
}

#[test]
fn what_somebody_did_is_listed_once_whether_as_a_person_or_as_an_agent() {
    let fixture = Fixture::new();
    for n in 0..7 {
        // A person of the agent's name, the agent for another, both at once, and a stranger.
        let (who, agent) = [("codex", None), ("ada", Some("codex")), ("codex", Some("codex")), ("max", None)][n % 4];
        let caller = Caller { who: who.into(), agent: agent.map(str::to_owned), ..caller() };
        let request = RememberRequest { caller, ..request(&format!("Service s{n} listens on port 80{n}"), "so it is") };
        stored(fixture.engine.remember(request).unwrap());
    }
    refused(fixture.engine.remember(by("codex", "api", "Service s0 must never listen on port 800")).unwrap());
    let mut query = LogQuery { who: Some("codex".into()), acts: true, limit: Some(2), ..LogQuery::default() };
    let (mut times, mut pages) = (Vec::new(), 0);
    loop {
        let page = fixture.engine.log(&query).unwrap();
        assert!(page.items.iter().all(|event| event.who == "codex" || event.agent.as_deref() == Some("codex")));
        times.extend(page.items.iter().map(|event| event.at));
        pages += 1;
        query.cursor = page.next;
        if query.cursor.is_none() {
            break;
        }
    }
    assert!(times.is_sorted_by(|a, b| a > b), "newest first, none twice: {times:?}");
    assert_eq!((times.len(), pages), (7, 4));
    let refusals = LogQuery { refused: true, acts: false, cursor: None, ..query };
    assert_eq!(fixture.engine.log(&refusals).unwrap().items.len(), 1);
    let begin = LogQuery { since: Some(1), refused: false, ..refusals };
    assert_eq!(fixture.engine.log(&begin).unwrap().total, 7, "with a beginning they are counted");
}
