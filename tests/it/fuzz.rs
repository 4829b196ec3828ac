//! The decoders of what strangers and files bring: the committed corpus, then mutations of it. The targets for
//! `fuzz/` call the same entries, guided by coverage (`scripts/fuzz.sh`).
//!
//! `ERGO_FUZZ_SECONDS=60` goes on for that long; `ERGO_FUZZ_SEED=7` takes other mutations.

mod entries {
    include!(concat!(env!("CARGO_MANIFEST_DIR"), "/fuzz/entries.rs"));
}

use std::{
    fs,
    panic::{AssertUnwindSafe, catch_unwind},
    path::{Path, PathBuf},
    time::{Duration, Instant},
};

use ed25519_dalek::SigningKey;
use ergo::{
    domain::{
        Body, ClaimKind, DeviceId, EventId, EventKind, Header, Hlc, OpId, Scope, SignedEvent,
        event::VERSION,
        replica::{Chain, ChainEnd, Month, SetDigest},
    },
    infer::catalogue::gguf::GgufHeader,
    sync::{
        compact::CompactMessage,
        document::{DocumentEntry, IndexDocument},
        frame::{
            self, Bodies, CompactDocument, DocumentMessage, DocumentOffer, EventPage, FollowingBodies, Message, Nudge,
            Offer, ScopeOffer, SessionHello, TurnKind, WireEvent,
        },
        ticket::{InviteSecret, Ticket},
    },
};

use crate::support::{gguf, random::Random};

/// The number of mutations for each entry in a usual run, which are always the same.
const MUTATIONS: u64 = 600;

fn number(name: &str) -> Option<u64> {
    std::env::var(name).ok()?.parse().ok()
}

fn folder(target: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("fuzz/corpus").join(target)
}

/// The corpus of a target, always in the same order.
fn corpus(target: &str) -> Vec<Vec<u8>> {
    let mut files: Vec<PathBuf> =
        fs::read_dir(folder(target)).into_iter().flatten().map(|entry| entry.unwrap().path()).collect();
    files.sort();
    let mut all: Vec<Vec<u8>> = files.iter().map(|file| fs::read(file).unwrap()).collect();
    let more: &[&str] = match target {
        // The golden files, which must stay readable.
        "bundle" => &[
            "src/sync/bundle/golden/v1-sealed.ergo",
            "src/sync/bundle/golden/v1-open.ergo",
            "src/sync/bundle/golden/v1.card",
        ],
        "rules" => {
            &["CONTRIBUTING.md", "tests/fixtures/import/rules/CLAUDE.md", "tests/fixtures/import/rules/.cursorrules"]
        }
        _ => &[],
    };
    let root = PathBuf::from(env!("CARGO_MANIFEST_DIR"));
    all.extend(more.iter().map(|file| fs::read(root.join(file)).unwrap()));
    assert!(all.len() >= 2, "{target} has no corpus");
    all
}

/// Changes bytes in one of the ways that break decoders.
fn mutate(random: &mut Random, bytes: &mut Vec<u8>, other: &[u8]) {
    let at = random.below(bytes.len().max(1));
    let end = at + random.below(bytes.len() - at.min(bytes.len()) + 1).min(64);
    let odd = [0, 1, 0x17, 0x18, 0x19, 0x1a, 0x1b, 0x1f, 0x7f, 0x80, 0x9f, 0xbf, 0xf6, 0xff];
    match random.below(9) {
        _ if bytes.is_empty() => bytes.extend_from_slice(other),
        0 => bytes[at] ^= 1 << random.below(8),
        1 => bytes[at] = odd[random.below(odd.len())],
        2 => bytes[at] = random.next() as u8,
        3 => bytes.insert(at, odd[random.below(odd.len())]),
        4 => drop(bytes.drain(at..end)),
        5 => {
            let again = bytes[at..end].to_vec();
            drop(bytes.splice(at..at, again));
        }
        6 => bytes.truncate(at),
        7 => bytes[at..end].fill(0xff),
        _ => {
            let from = random.below(other.len().max(1));
            let piece = other[from..(from + 200).min(other.len())].to_vec();
            drop(bytes.splice(at..end, piece));
        }
    }
}

/// Runs the corpus and its mutations through an entry.
fn run(target: &str, entry: fn(&[u8])) {
    let corpus = corpus(target);
    let give = |bytes: &[u8]| {
        let ended = catch_unwind(AssertUnwindSafe(|| entry(bytes)));
        assert!(ended.is_ok(), "{target} failed; the input, for fuzz/corpus/{target}: {}", hex::encode(bytes));
    };
    for bytes in &corpus {
        give(bytes);
    }
    let seed = number("ERGO_FUZZ_SEED").unwrap_or(1);
    let mut random = Random::new(seed);
    let (begin, time) = (Instant::now(), number("ERGO_FUZZ_SECONDS").map(Duration::from_secs));
    let (mut tried, mut slowest) = (0_u64, Duration::ZERO);
    while time.map_or(tried < MUTATIONS, |time| begin.elapsed() < time) {
        let mut bytes = corpus[random.below(corpus.len())].clone();
        for _ in 0..=random.below(4) {
            let other = random.below(corpus.len());
            mutate(&mut random, &mut bytes, &corpus[other]);
        }
        let one = Instant::now();
        give(&bytes);
        slowest = slowest.max(one.elapsed());
        tried += 1;
    }
    println!(
        "{target}: {} of the corpus and {tried} mutations with seed {seed}, the slowest {slowest:?}",
        corpus.len()
    );
    assert!(slowest < Duration::from_secs(10), "an input took {slowest:?}");
}

#[test]
fn frames_of_a_peer() {
    run("frame", entries::frame);
}

#[test]
fn events_of_anybody() {
    run("event", entries::event);
}

#[test]
fn tickets_as_they_are_pasted() {
    run("ticket", entries::ticket);
}

#[test]
fn files_that_were_found() {
    run("bundle", entries::bundle);
}

#[test]
fn sync_messages_of_a_peer() {
    run("message", entries::message);
    run("message", entries::exchange);
}

#[test]
fn headers_of_model_files() {
    run("gguf", entries::gguf);
}

#[test]
fn rule_files_of_a_project() {
    run("rules", entries::rules);
}

#[test]
fn requests_to_the_daemon() {
    run("http", entries::http);
}

fn event(seq: u64, body: bool) -> SignedEvent {
    let key = SigningKey::from_bytes(&[1; 32]);
    let header = Header {
        version: VERSION,
        team: Some(EventId([9; 32])),
        scope: Scope { org_id: "acme".into(), project: "api".into() },
        author: DeviceId(key.verifying_key().to_bytes()),
        epoch: 1,
        seq,
        prev: Some(EventId([seq as u8; 32])),
        clock: Hlc { wall: 1_790_000_000_000 + seq, count: 0 },
        kind: if seq.is_multiple_of(2) { EventKind::Assert } else { EventKind::Supersede },
        op: OpId([3; 16]),
        targets: (1..seq).map(|n| EventId([n as u8; 32])).collect(),
        successor: None,
        seen: vec![EventId([8; 32])],
        claim_kind: Some(ClaimKind::Decision),
        key_hash: None,
        who: "ada".into(),
        agent: Some("an agent".into()),
        body_hash: EventId([0; 32]),
    };
    let statement = Some("Deploys run only on green CI.".to_owned());
    let sealed = Body { statement, reason: Some("we measured it".into()), ..Body::default() }.seal([5; 16]);
    let mut event = SignedEvent::sign(header, sealed, &key).unwrap();
    if !body {
        event.body = None;
    }
    event
}

fn is_header(bytes: &[u8]) -> bool {
    GgufHeader::read(&mut &*bytes).is_ok()
}

/// One message of every kind with content.
fn messages() -> Vec<(&'static str, Message)> {
    let scope = || Scope { org_id: "acme".into(), project: "api".into() };
    let end = ChainEnd {
        chain: Chain { author: DeviceId([1; 32]), epoch: 7, adopted: false },
        next: 3,
        head: Some(EventId([2; 32])),
    };
    let document =
        DocumentOffer { month: Month(202_611), part: 0, events: 9, heads: [4; 32], digest: SetDigest([6; 32]) };
    let offer = ScopeOffer { scope: scope(), chains: vec![end], documents: vec![document] };
    let hello =
        SessionHello { team: Some(EventId([9; 32])), versions: vec![1], roster: vec![end], ..SessionHello::default() };
    let events = (1..9).map(|seq| WireEvent::from(&event(seq, seq % 3 > 0))).collect();
    let body = frame::WireBody { salt: [1; 16], bytes: vec![0xa1; 700] };
    let doc = DocumentMessage {
        scope: scope(),
        month: Month(202_611),
        part: 1,
        exchange: 2,
        turn: TurnKind::First,
        messages: vec![vec![0x42, 0, 0, 0, 0].into()],
    };
    let event = event(1, true);
    let (kept, tail) = event.header_bytes.split_at(event.header_bytes.len() - 32);
    let taken = CompactMessage {
        skeleton: b"before and after".to_vec(),
        gaps: vec![6, 1, 0, 5, 0, 1],
        header_lengths: vec![event.header_bytes.len() as u32],
        prev_distance: vec![0],
        prev_offset: vec![0],
        incompressible: [&event.signature, tail].concat(),
        headers: kept.to_vec(),
    };
    let (turn, messages) = (TurnKind::Next, vec![taken]);
    let lean = CompactDocument { scope: scope(), month: Month(202_611), part: 1, exchange: 2, turn, messages };
    let mut following = FollowingBodies {
        scope: scope(),
        month: Month(202_611),
        part: 1,
        exchange: 2,
        lengths: vec![],
        salts: vec![],
        bytes: vec![],
    };
    following.push(Some(body.clone()));
    following.push(None);
    vec![
        ("hello", Message::Hello(hello)),
        ("roster", Message::Roster(EventPage { events, last: true, scope: None })),
        ("offer", Message::Offer(Offer { scopes: vec![offer], reply: true, ..Offer::default() })),
        ("doc", Message::Doc(doc)),
        ("bodies", Message::Bodies(Bodies { scope: scope(), bodies: vec![(EventId([7; 32]), Some(body))] })),
        ("lean", Message::Compact(lean)),
        ("following", Message::FollowingBodies(following)),
        ("nudge", Message::Nudge(Nudge { state: [1; 32], clock: Some(2) })),
        ("bye", Message::Bye),
    ]
}

fn ticket(addresses: u8) -> Ticket {
    let id = iroh::SecretKey::from_bytes(&[1; 32]).public();
    let all = (0..addresses).map(|n| iroh::TransportAddr::Ip(([10, 0, 0, n], 20_000).into()));
    let endpoint = iroh::EndpointAddr::from_parts(id, all);
    Ticket {
        device: DeviceId(*id.as_bytes()),
        addresses: Ticket::addresses_of(&endpoint, true),
        team: EventId([9; 32]),
        team_name: "platform".into(),
        secret: InviteSecret([4; 16]),
        expires: 1_790_000_000,
    }
}

#[test]
#[ignore = "writes fuzz/corpus; run it after a change of the formats, and add what the fuzzer found"]
fn write_the_corpus() {
    let write = |target: &str, name: &str, bytes: &[u8]| {
        fs::create_dir_all(folder(target)).unwrap();
        fs::write(folder(target).join(name), bytes).unwrap();
    };
    for (name, message) in messages() {
        write("frame", name, &frame::encode(&message).unwrap()[frame::LENGTH..]);
    }
    for seq in 0..4 {
        write("event", &format!("event-{seq}"), &entries::event_bytes(&event(seq, true)));
    }
    write("event", "redacted", &entries::event_bytes(&event(4, false)));
    for (name, addresses) in [("lan", 1), ("many", 4)] {
        write("ticket", name, ticket(addresses).to_text().as_bytes());
    }
    write("ticket", "cut", &ticket(2).to_text().as_bytes()[..40]);
    let entries = (0..4).map(|seq| DocumentEntry::of(&event(seq, true))).collect();
    let held = IndexDocument::rebuild(entries).unwrap().document;
    let (mut ours, first) = held.begin_exchange(None, true);
    let (mut theirs, _) = IndexDocument::empty().begin_exchange(None, false);
    let (mut message, mut number) = (first, 0);
    while let Some(bytes) = message {
        write("message", &format!("message-{number}"), &bytes);
        let to = if number % 2 == 0 { &mut theirs } else { &mut ours };
        message = to.receive(&bytes).unwrap().reply;
        number += 1;
    }
    let folder = tempfile::tempdir().unwrap();
    for (name, make) in [("llm", (|path| gguf::write_tiny_llm(path, 1)) as fn(&Path)), ("nli", gguf::write_tiny_nli)] {
        make(&folder.path().join(name));
        let model = fs::read(folder.path().join(name)).unwrap();
        let ends = (0..model.len()).step_by(256).find(|end| is_header(&model[..*end]));
        write("gguf", name, &model[..ends.unwrap()]);
    }
    let requests = [
        (
            "POST /remember",
            r#"{"org_id":"acme","project":"api","who":"ada","statement":"Use tabs.","kind":"decision","reason":"It is shorter."}"#,
        ),
        (
            "POST /supersede",
            r#"{"org_id":"acme","project":"api","who":"ada","targets":["abcd"],"statement":"Use spaces.","env":"prod","valid_until":"2030-01-01","reason":"r","dry_run":true}"#,
        ),
        (
            "POST /retract",
            r#"{"who":"ada","target":"abcd","reason":"It was wrong.","op_id":"00112233445566778899aabbccddeeff"}"#,
        ),
        ("POST /recall", r#"{"org_id":"acme","project":"api","query":"tabs or spaces?","limit":5}"#),
        (
            "POST /conflicts/resolve",
            r#"{"who":"ada","cards":[{"id":"abcdabcd"}],"act":"dismiss","reason":"no contradiction"}"#,
        ),
        ("POST /ingest", r#"{"org_id":"acme","project":"api","who":"ada","path":"docs/a.md","text":"A file."}"#),
        ("GET /claims?org_id=acme&project=api&status=all&q=tabs&limit=3&as_of=1790000000000", ""),
    ];
    for (line, body) in requests {
        let path = line.split([' ', '?']).nth(1).unwrap();
        let name = path.trim_start_matches('/').replace('/', "-");
        write("http", &name, format!("{line}\n{body}").as_bytes());
    }
    // Valid bundles are in src/sync/bundle/golden; these are invalid files.
    write("bundle", "empty", b"");
    write("bundle", "text", b"ergo");
}

#[test]
fn the_corpus_holds_what_can_be_read() {
    assert!(corpus("frame").iter().filter(|bytes| frame::decode(bytes).is_ok()).count() >= messages().len());
    let readable = |bytes: &Vec<u8>| std::str::from_utf8(bytes).is_ok_and(|text| Ticket::parse(text, 0).is_ok());
    assert!(corpus("ticket").iter().filter(|bytes| readable(bytes)).count() >= 2);
    for seq in 0..4 {
        assert!(
            corpus("event").contains(&entries::event_bytes(&event(seq, true))),
            "events of version 1 are read for ever"
        );
    }
    assert!(corpus("gguf").iter().all(|bytes| is_header(bytes)));
    for bytes in corpus("http") {
        let status = entries::request(&bytes).expect("a request of the API");
        assert!(status != 400 && status < 500, "{status}: {}", String::from_utf8_lossy(&bytes));
    }
}
