//! Events that one of two devices lacks: how they are counted, reported and requested.

use ergo::{
    domain::{SignedEvent, replica::Month, roster::Role},
    store::SyncImport,
    sync::{
        index,
        session::{DocumentKey, SessionCommand, SessionPhase},
    },
};

use super::nodes::{Node, connect, meet, scope};
use crate::support::eventually;

#[tokio::test]
async fn what_is_in_no_document_counts_as_missing_at_the_peer() {
    let (a, b) = (Node::new(183), Node::new(184));
    let team = a.create_team(&["api", "web"]);
    a.admit(team, &b, Role::Writer, None);
    a.fact("api", "stuck", "its document cannot be read");
    a.fact("web", "sent", "the other scope goes on");
    let row = a.engine.with_reader(|r| r.undocumented(&team, &scope("api"), 1)).unwrap().remove(0);
    let key = DocumentKey { scope: scope("api"), month: Month::of(row.clock), part: 0 };
    let a = a.without(key.document_id(team));
    let failed = index::flush(&a.context, team).await.unwrap_err();
    assert!(failed.message.contains("unreadable"), "{}", failed.message);
    assert_eq!(failed.documents.iter().map(|(key, _)| key.scope.clone()).collect::<Vec<_>>(), [scope("web")]);
    let (mut x, mut y) = connect(&a, &b, team);
    y.synced().await;
    let view = x.until(|view| view.phase == SessionPhase::Live && view.missing_at_peer == 1).await;
    assert!(!view.in_sync, "{view:?}");
    assert_eq!((b.set(team, "web").0, b.set(team, "api").0), (1, 0));
    x.commands.send(SessionCommand::Stop).unwrap();
    drop((x.end().await, y.end().await));
    // Once the document can be read, it is sent as ever.
    let a = a.restarted();
    meet(&a, &b, team).await;
    assert_eq!(b.set(team, "api"), a.set(team, "api"));
}

#[tokio::test]
async fn a_body_is_found_although_more_than_a_page_of_others_is_lost() {
    let (a, b, lost) = (Node::new(187), Node::new(188), Node::new(189));
    let team = a.create_team(&["api"]);
    a.admit(team, &b, Role::Writer, None);
    a.admit(team, &lost, Role::Writer, None);
    meet(&a, &b, team).await;
    lost.many(1, 1_100, 0);
    let read = lost.engine.with_reader(|r| r.events_after(&team, &scope("api"), &[], None, 2_000));
    let events = read.unwrap().events;
    // Only b has a body, of the event that is asked for last.
    let last = events.iter().map(|event| event.id).max().unwrap();
    for node in [&a, &b] {
        let bare = events.iter().map(|event| {
            let keeps = event.id == last && node.device() == b.device();
            SignedEvent { body: event.body.clone().filter(|_| keeps), ..event.clone() }
        });
        let (events, now) = (bare.collect(), node.engine.now());
        node.engine.import_synced(&SyncImport { team, from: None, events, document: None, peer: None, now }).unwrap();
    }
    let missing =
        |node: &Node| node.engine.with_reader(|r| r.missing_bodies(&team, &scope("api"), None, 2_000)).unwrap().len();
    assert_eq!((missing(&a), missing(&b)), (1_100, 1_099));
    let (x, y) = connect(&a, &b, team);
    eventually("a has the body", async || missing(&a) == 1_099).await;
    x.commands.send(SessionCommand::Stop).unwrap();
    drop((x.end().await, y.end().await));
}
