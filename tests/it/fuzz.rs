//! The decoders of what strangers and files bring, for a bounded time: the committed corpus, then mutations of it. The targets for
//! cargo-fuzz in `fuzz/` call the same entries.
//!
//! `ERGO_FUZZ_SECONDS=60` goes on for longer; `ERGO_FUZZ_SEED=7` takes other mutations.

mod entries {
    include!(concat!(env!("CARGO_MANIFEST_DIR"), "/fuzz/entries.rs"));
}

use std::{
    fs,
    panic::{AssertUnwindSafe, catch_unwind},
    path::PathBuf,
    time::{Duration, Instant},
};

use ed25519_dalek::SigningKey;
use ergo::{
    domain::{
        Body, ClaimKind, DeviceId, EventId, EventKind, Header, Hlc, OpId, Scope, SignedEvent,
        event::VERSION,
        replica::{Chain, ChainEnd, Month, SetDigest},
    },
    sync::{
        compact::CompactMessage,
        frame::{
            self, Bodies, CompactDocument, DocumentMessage, DocumentOffer, EventPage, FollowingBodies, Message, Nudge,
            Offer, ScopeOffer, SessionHello, TurnKind, WireEvent,
        },
        ticket::{InviteSecret, Ticket},
    },
};

/// How long mutations are tried for each entry in a usual run: always the same ones, some thousands.
const SECONDS: u64 = 1;

fn number(name: &str, usual: u64) -> u64 {
    std::env::var(name).ok().and_then(|text| text.parse().ok()).unwrap_or(usual)
}

fn folder(target: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("fuzz/corpus").join(target)
}

/// The corpus of a target, always in the same order.
fn corpus(target: &str) -> Vec<Vec<u8>> {
    let mut files: Vec<PathBuf> = fs::read_dir(folder(target)).unwrap().map(|entry| entry.unwrap().path()).collect();
    files.sort();
    let mut all: Vec<Vec<u8>> = files.iter().map(|file| fs::read(file).unwrap()).collect();
    if target == "bundle" {
        // Those that must be readable for ever.
        for name in ["v1-sealed.ergo", "v1-open.ergo", "v1.card"] {
            all.push(
                fs::read(PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("src/sync/bundle/golden").join(name)).unwrap(),
            );
        }
    }
    assert!(all.len() >= 2, "{target} has no corpus");
    all
}

/// Xorshift: Marsaglia, "Xorshift RNGs", 2003.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0
    }

    fn below(&mut self, bound: usize) -> usize {
        (self.next() % bound.max(1) as u64) as usize
    }

    /// Changes bytes in one of the ways that break decoders.
    fn mutate(&mut self, bytes: &mut Vec<u8>, other: &[u8]) {
        let at = self.below(bytes.len());
        let end = at + self.below(bytes.len() - at.min(bytes.len()) + 1).min(64);
        let odd = [0, 1, 0x17, 0x18, 0x19, 0x1a, 0x1b, 0x1f, 0x7f, 0x80, 0x9f, 0xbf, 0xf6, 0xff];
        match self.below(9) {
            _ if bytes.is_empty() => bytes.extend_from_slice(other),
            0 => bytes[at] ^= 1 << self.below(8),
            1 => bytes[at] = odd[self.below(odd.len())],
            2 => bytes[at] = self.next() as u8,
            3 => bytes.insert(at, odd[self.below(odd.len())]),
            4 => drop(bytes.drain(at..end)),
            5 => {
                let again = bytes[at..end].to_vec();
                drop(bytes.splice(at..at, again));
            }
            6 => bytes.truncate(at),
            7 => bytes[at..end].fill(0xff),
            _ => {
                let from = self.below(other.len());
                let piece = other[from..(from + 200).min(other.len())].to_vec();
                drop(bytes.splice(at..end, piece));
            }
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
    let seed = number("ERGO_FUZZ_SEED", 1);
    let mut random = Random(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1);
    let (begin, time) = (Instant::now(), Duration::from_secs(number("ERGO_FUZZ_SECONDS", SECONDS)));
    let (mut tried, mut slowest) = (0_u64, Duration::ZERO);
    while begin.elapsed() < time {
        let mut bytes = corpus[random.below(corpus.len())].clone();
        for _ in 0..=random.below(4) {
            let other = random.below(corpus.len());
            random.mutate(&mut bytes, &corpus[other]);
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

/// One message of every sort that carries something.
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
        ("nudge", Message::Nudge(Nudge { state: [1; 32] })),
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
    let write = |target: &str, name: &str, bytes: &[u8]| fs::write(folder(target).join(name), bytes).unwrap();
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
    // Bundles stand in src/sync/bundle/golden; here is what is none.
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
}
