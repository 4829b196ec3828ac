//! Measures how long a daemon takes to answer each read of the app over the socket, including parsing.

use std::{fmt::Display, future::Future, time::Instant};

use ergo::{
    api::{
        AgentsQuery, Caller, ClaimsQuery, ConflictsQuery, InboxQuery, LogQuery, RecallRequest, RememberRequest,
        SnapshotQuery,
    },
    client::{Client, ClientError},
    domain::{ClaimKind, Scope},
};

use ergo_bench::measure::{Quantiles, millis};

use super::crowded_store;

/// The target of the 95th percentile of each read, in milliseconds.
const BAR: f64 = 20.0;

/// Prints a row for each read: the median, the 95th percentile, and the first read, for which nothing is cached yet.
pub(crate) async fn measure(client: &Client, rounds: usize) {
    println!("{:42} {:>12} {:>12} {:>12}", "a read, over the socket", "median", "95 of 100", "the first");
    let Scope { org_id, project } = crowded_store::scope();
    let (org_id, project) = (Some(org_id), Some(project));
    let inbox = InboxQuery { limit: Some(50), ..InboxQuery::default() };
    row("the inbox", rounds, || client.inbox(&inbox)).await;
    let mut after_write = Vec::new();
    for round in 0..rounds {
        write(client, round).await;
        after_write.push(timed(|| client.inbox(&inbox)).await);
    }
    print("the inbox after each write", &after_write);
    for group in client.inbox(&inbox).await.unwrap().groups {
        let one = InboxQuery { group: Some(group.group), ..inbox.clone() };
        row(format!("  {}: {}", group.group.title(), group.total), rounds, || client.inbox(&one)).await;
    }
    let agents = AgentsQuery::default();
    row("the agents", rounds, || client.agents(&agents)).await;
    let mut after_write = Vec::new();
    for round in 0..rounds {
        write(client, rounds + round).await;
        after_write.push(timed(|| client.agents(&agents)).await);
    }
    print("the agents after each write", &after_write);
    let here = AgentsQuery { org_id: org_id.clone(), project: project.clone() };
    row("the agents of a scope", rounds, || client.agents(&here)).await;
    let acts = LogQuery { who: Some("codex".into()), acts: true, limit: Some(200), ..LogQuery::default() };
    row("what an agent did", rounds, || client.log(&acts)).await;
    let refused = LogQuery { acts: false, refused: true, ..acts.clone() };
    row("what an agent was refused", rounds, || client.log(&refused)).await;
    let stranger = LogQuery { who: Some("nobody".into()), ..acts.clone() };
    row("what a newcomer did", rounds, || client.log(&stranger)).await;
    let log = LogQuery { acts: true, limit: Some(200), ..LogQuery::default() };
    row("the log", rounds, || client.log(&log)).await;
    let timeline = LogQuery { acts: false, since: Some(1), ..log.clone() };
    row("the timeline of everything", rounds, || client.log(&timeline)).await;
    row("the scopes", rounds, || client.scopes()).await;
    let page = ClaimsQuery { limit: Some(200), ..ClaimsQuery::default() };
    row("a page of claims", rounds, || client.claims(&page)).await;
    let who = ClaimsQuery { who: Some("codex".into()), ..page.clone() };
    row("  by one agent", rounds, || client.claims(&who)).await;
    for verdict in ["disputed", "warned", "clean"] {
        let query = ClaimsQuery { verdict: Some(verdict.into()), ..page.clone() };
        row(format!("  {verdict}"), rounds, || client.claims(&query)).await;
    }
    let without = ClaimsQuery { without: Some("service".into()), ..page.clone() };
    row("  without a common word", rounds, || client.claims(&without)).await;
    let words = ClaimsQuery { q: Some("service".into()), ..page.clone() };
    row("  with a common word", rounds, || client.claims(&words)).await;
    let recall = RecallRequest {
        org_id: org_id.clone().unwrap(),
        project: project.clone().unwrap(),
        query: "which service keeps the sessions".into(),
        limit: Some(20),
        ..RecallRequest::default()
    };
    row("a search by words and meaning", rounds, || client.recall(&recall)).await;
    let snapshot = SnapshotQuery { org_id: org_id.unwrap(), project: project.unwrap(), ..SnapshotQuery::default() };
    row("the scope on a page, as it is kept", rounds, || client.snapshot(&snapshot)).await;
    let anew = SnapshotQuery { rebuild: true, ..snapshot };
    row("the scope on a page, made anew", rounds, || client.snapshot(&anew)).await;
    let cards = ConflictsQuery { limit: Some(50), ..ConflictsQuery::default() };
    row("a page of cards", rounds, || client.conflicts(&cards)).await;
    let settled = ConflictsQuery { status: Some("settled".into()), ..cards };
    row("  of those that are settled", rounds, || client.conflicts(&settled)).await;
    row("the daemon's own figures", rounds, || client.diagnose()).await;
}

async fn write(client: &Client, round: usize) {
    let Scope { org_id, project } = crowded_store::scope();
    let caller = Caller { org_id, project, who: "ada".into(), agent: Some("codex".into()), ..Caller::default() };
    let statement = format!("Measurement {round} was made");
    let kind = Some(ClaimKind::Fact);
    client.remember(&RememberRequest { caller, statement, kind, ..RememberRequest::default() }).await.unwrap();
}

async fn row<T, F: Future<Output = Result<T, ClientError>>>(
    what: impl Display,
    rounds: usize,
    mut read: impl FnMut() -> F,
) {
    let mut times = Vec::new();
    for _ in 0..rounds {
        times.push(timed(&mut read).await);
    }
    print(&what.to_string(), &times);
}

async fn timed<T, F: Future<Output = Result<T, ClientError>>>(mut read: impl FnMut() -> F) -> f64 {
    let begin = Instant::now();
    read().await.unwrap();
    millis(begin.elapsed())
}

/// Prints a row. The times, in milliseconds, must be in the order in which they were measured.
fn print(what: &str, times: &[f64]) {
    let first = times.first().copied().unwrap_or_default();
    let Quantiles { p50, p95, .. } = Quantiles::of(times.to_vec());
    let over = if p95 > BAR { "  over" } else { "" };
    println!("{what:42} {p50:>12.2} {p95:>12.2} {first:>12.2} ms{over}");
}
