//! A daemon that only reads, and has 100,000 claims: answers made on the spot, so that the app can be looked at beside them.

use std::{
    io::{BufRead, BufReader, Read, Write},
    net::{TcpListener, TcpStream},
    thread,
};

use ergo::{
    api::{
        CardSummary, Change, ClaimView, ClaimsPage, ClaimsQuery, ConflictsPage, Health, Provenance, ScopeView, Scopes,
        VERSION_HEADER,
    },
    domain::{ClaimId, ClaimKind, DeviceId, Flags, Qualifiers, Scope, Status},
};

/// The number of claims.
pub(crate) const CROWD: usize = 100_000;

/// Starts it on a free port of this machine; it ends with the process. Returns its address for `ERGO_API_URL`.
pub(crate) fn start() -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            thread::spawn(move || answer(stream));
        }
    });
    url
}

fn answer(mut stream: TcpStream) -> Option<()> {
    let mut reader = BufReader::new(stream.try_clone().ok()?);
    let mut line = String::new();
    reader.read_line(&mut line).ok()?;
    let target = line.split(' ').nth(1)?.to_owned();
    loop {
        let mut header = String::new();
        if reader.read_line(&mut header).ok()? <= 2 {
            break;
        }
    }
    let (path, query) = target.split_once('?').unwrap_or((&target, ""));
    let version = format!("{VERSION_HEADER}: {}", env!("CARGO_PKG_VERSION"));
    if path == "/events" {
        let hello = serde_json::to_string(&Change { event: "hello".into(), ..Change::default() }).ok()?;
        let head =
            format!("HTTP/1.1 200 OK\r\n{version}\r\nContent-Type: text/event-stream\r\nConnection: close\r\n\r\n");
        write!(stream, "{head}event: hello\ndata: {hello}\n\n").ok()?;
        // The stream stays silent until the app ends.
        let _left = reader.read(&mut [0]);
        return None;
    }
    let body = match path {
        "/health" => serde_json::to_vec(&health()),
        "/scopes" => serde_json::to_vec(&scopes()),
        "/claims" => serde_json::to_vec(&claims(query)),
        "/conflicts" => serde_json::to_vec(&ConflictsPage { items: Vec::<CardSummary>::new(), total: 0, next: None }),
        _ => Ok(b"{\"code\":\"not_found\",\"message\":\"it is not here\"}".to_vec()),
    };
    let body = body.ok()?;
    let status = if body.starts_with(b"{\"code\"") { "404 Not Found" } else { "200 OK" };
    let length = body.len();
    let head = format!(
        "HTTP/1.1 {status}\r\n{version}\r\nContent-Type: application/json\r\nContent-Length: {length}\r\nConnection: close\r\n\r\n"
    );
    stream.write_all(head.as_bytes()).ok()?;
    stream.write_all(&body).ok()
}

fn scope() -> Scope {
    Scope { org_id: "acme".into(), project: "api".into() }
}

fn health() -> Health {
    Health {
        status: "ok".into(),
        version: env!("CARGO_PKG_VERSION").into(),
        api: ergo::api::API_VERSION,
        pid: 1,
        uptime_s: 1,
        retrieval: true,
        nli: "not available".into(),
        embedder: "not available".into(),
    }
}

fn scopes() -> Scopes {
    let view = ScopeView {
        scope: scope(),
        active: CROWD,
        total: CROWD,
        open_cards: 0,
        needs_review: 0,
        latest: 0,
        identity: None,
    };
    Scopes { items: vec![view] }
}

/// A page of claims, or of those whose statement has what is searched for.
fn claims(query: &str) -> ClaimsPage {
    let get = |name: &str| {
        let found = query.split('&').find_map(|part| part.split_once('=').filter(|(key, _)| *key == name));
        found.map(|(_, value)| value.to_owned())
    };
    let limit = get("limit").and_then(|limit| limit.parse().ok());
    page(&ClaimsQuery { q: get("q"), limit, cursor: get("cursor"), ..ClaimsQuery::default() })
}

/// The page that a query asks for.
pub(crate) fn page(query: &ClaimsQuery) -> ClaimsPage {
    let from: usize = query.cursor.as_ref().and_then(|cursor| cursor.parse().ok()).unwrap_or(0);
    let limit = query.limit.unwrap_or(50);
    let wanted = query.q.as_deref().unwrap_or("");
    let fits = |n: &usize| wanted.is_empty() || n.to_string().contains(wanted);
    let total = if wanted.is_empty() { CROWD } else { (0..CROWD).filter(fits).count() };
    let items: Vec<ClaimView> = (0..CROWD).filter(fits).skip(from).take(limit).map(claim).collect();
    let to = from + items.len();
    ClaimsPage { items, total, at_least: false, next: (to < total).then(|| to.to_string()) }
}

/// The `n`th claim.
pub(crate) fn claim(n: usize) -> ClaimView {
    let mut id = [0; 32];
    id[..8].copy_from_slice(&(n as u64).wrapping_mul(0x9E37_79B9_7F4A_7C15).to_be_bytes());
    id[8..16].copy_from_slice(&(n as u64).to_be_bytes());
    ClaimView {
        id: ClaimId::from_slice(&id).unwrap(),
        scope: scope(),
        kind: ClaimKind::Decision,
        status: Status::Active,
        flags: Flags::default(),
        statement: format!("Service {n} keeps its sessions in the shared cache"),
        reason: Some("Sessions that outlive a deployment have surprised people twice.".into()),
        source: Some(format!("docs/adr/{n:06}.md:12")),
        who: "zoe".into(),
        agent: Some("an-agent".into()),
        device: DeviceId([1; 32]),
        provenance: Provenance::default(),
        at: 1_795_300_000_000 - n as u64 * 60_000,
        key: None,
        qualifiers: Qualifiers::default(),
        norms: vec![],
        replaced_by: vec![],
        replaces: vec![],
        premises: vec![],
        dependents: 0,
        closing_reason: None,
        beside: vec![],
        level: ergo::domain::Level::Project,
        seen_in: 0,
        rev: 1,
    }
}
