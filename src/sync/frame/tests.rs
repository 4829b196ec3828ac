use proptest::{collection::vec, option, prelude::*};

use super::*;
use crate::domain::{
    DeviceId, EventId, Scope,
    replica::{Chain, ChainEnd, DocumentId, Month, SetDigest},
};

fn id() -> impl Strategy<Value = EventId> {
    any::<[u8; 32]>().prop_map(EventId)
}

fn chains() -> impl Strategy<Value = Vec<ChainEnd>> {
    let end = (any::<[u8; 32]>(), any::<u64>(), any::<bool>(), any::<u64>(), option::of(id()));
    let end = end.prop_map(|(author, epoch, adopted, next, head)| ChainEnd {
        chain: Chain { author: DeviceId(author), epoch, adopted },
        next,
        head,
    });
    vec(end, 0..4)
}

fn scope() -> impl Strategy<Value = Scope> {
    (any::<String>(), any::<String>()).prop_map(|(org_id, project)| Scope { org_id, project })
}

fn document() -> impl Strategy<Value = DocumentOffer> {
    (any::<u32>(), any::<u32>(), any::<u64>(), any::<[u8; 32]>(), any::<[u8; 32]>()).prop_map(
        |(month, part, events, heads, digest)| DocumentOffer {
            month: Month(month),
            part,
            events,
            heads,
            digest: SetDigest(digest),
        },
    )
}

fn body() -> impl Strategy<Value = WireBody> {
    (any::<[u8; 16]>(), vec(any::<u8>(), 0..900)).prop_map(|(salt, bytes)| WireBody { salt, bytes })
}

fn events() -> impl Strategy<Value = EventPage> {
    let event = (vec(any::<u8>(), 0..60), any::<[u8; 32]>(), option::of(body())).prop_map(|(header, half, body)| {
        let mut signature = [0; 64];
        signature[..32].copy_from_slice(&half);
        WireEvent { header, signature, body }
    });
    (vec(event, 0..4), any::<bool>(), option::of(scope())).prop_map(|(events, last, scope)| EventPage {
        events,
        last,
        scope,
    })
}

fn code() -> impl Strategy<Value = RejectCode> {
    prop_oneof![
        Just(RejectCode::NotPaired),
        Just(RejectCode::Busy),
        Just(RejectCode::DocPoisoned),
        Just(RejectCode::Other("novel".to_owned()))
    ]
}

fn message() -> impl Strategy<Value = Message> {
    let hello = (any::<u32>(), vec(any::<String>(), 0..3), option::of(id()), any::<u64>(), chains(), any::<u64>());
    let offer = (vec((scope(), chains(), vec(document(), 0..3)), 0..3), any::<bool>());
    prop_oneof![
        hello.prop_map(|(minor, features, team, instance, roster, clock)| Message::Hello(SessionHello {
            minor,
            features,
            versions: vec![1],
            team,
            instance,
            roster,
            clock
        })),
        events().prop_map(Message::Roster),
        offer.prop_map(|(scopes, reply)| Message::Offer(Offer {
            reply,
            waiting: reply.then_some(scopes.len() as u64),
            scopes: scopes
                .into_iter()
                .map(|(scope, chains, documents)| ScopeOffer { scope, chains, documents })
                .collect()
        })),
        (scope(), any::<[u32; 2]>(), any::<u64>(), vec(vec(any::<u8>(), 0..2000), 0..3)).prop_map(
            |(scope, [month, part], exchange, messages)| Message::Doc(DocumentMessage {
                scope,
                month: Month(month),
                part,
                exchange,
                turn: TurnKind::Next,
                messages: messages.into_iter().map(Into::into).collect(),
            })
        ),
        (scope(), vec(id(), 0..4)).prop_map(|(scope, events)| Message::Want(Want { scope, events })),
        (scope(), vec((id(), option::of(body())), 0..4))
            .prop_map(|(scope, bodies)| Message::Bodies(Bodies { scope, bodies })),
        (scope(), chains()).prop_map(|(scope, chains)| Message::WantSince(WantSince { scope, chains })),
        events().prop_map(Message::Events),
        (scope(), document()).prop_map(|(scope, document)| Message::Durable(Durable { scope, document })),
        (any::<[u8; 32]>(), any::<Option<u64>>()).prop_map(|(state, clock)| Message::Nudge(Nudge { state, clock })),
        (code(), any::<String>(), option::of(id())).prop_map(|(code, reason, document)| {
            let document = document.map(|id| DocumentId(id.0));
            Message::Error(Rejection { code, reason, document })
        }),
        Just(Message::Bye),
        (15_u8..0x80).prop_map(Message::Unknown),
    ]
}

/// Returns the bytes after the length, which is checked.
fn inner(bytes: &[u8]) -> &[u8] {
    let (head, rest) = bytes.split_first_chunk::<LENGTH>().unwrap();
    assert_eq!(length(*head), Ok(rest.len()));
    rest
}

proptest! {
    #[test]
    fn what_is_written_is_read(message in message()) {
        let bytes = encode(&message).unwrap();
        prop_assert_eq!(decode(inner(&bytes)), Ok(message));
    }

    #[test]
    fn any_bytes_are_read_or_refused(mut bytes in vec(any::<u8>(), 0..300), kind in 0_u8..16, packed: bool) {
        let _result = decode(&bytes);
        bytes.insert(0, kind | if packed { PACKED } else { 0 });
        let _result = decode(&bytes);
        // Valid zstd around random bytes, so that the fuzz test reaches the CBOR inside.
        if let Ok(framed) = frame(kind, &bytes.repeat(5)) {
            let _result = decode(inner(&framed));
        }
    }

    #[test]
    fn a_changed_frame_is_read_or_refused(message in message(), at: prop::sample::Index, bit in 0_u8..8) {
        let mut bytes = encode(&message).unwrap()[LENGTH..].to_vec();
        let at = at.index(bytes.len());
        bytes[at] ^= 1 << bit;
        let _result = decode(&bytes);
        let _cut = decode(&bytes[..at]);
    }
}

#[test]
fn a_length_beyond_the_limit_is_refused_before_anything_is_read() {
    assert_eq!(length([0; 4]), Err(FrameError::Malformed("it is empty".to_owned())));
    assert_eq!(length((MAX_FRAME as u32).to_le_bytes()), Ok(MAX_FRAME));
    assert_eq!(length([0xff; 4]), Err(FrameError::TooLong(u64::from(u32::MAX))));
    assert_eq!(length([0xff; 4]).unwrap_err().code(), RejectCode::TooBig);
}

#[test]
fn a_bomb_is_decompressed_only_to_its_declared_size() {
    let bomb = zstd::bulk::compress(&vec![0; MAX_BODY], ZSTD_LEVEL).unwrap();
    assert!(bomb.len() < 10_000, "{}", bomb.len());
    let declaring = |size: u32| {
        let mut frame = vec![4 | PACKED];
        frame.extend(size.to_le_bytes());
        frame.extend(&bomb);
        decode(&frame)
    };
    assert_eq!(declaring(1000), Err(FrameError::TooBig(1000)));
    assert_eq!(
        declaring(u32::MAX),
        Err(FrameError::TooBig(u64::from(u32::MAX))),
        "the limit holds whatever is declared"
    );
    assert!(matches!(declaring(MAX_BODY as u32), Err(FrameError::Malformed(_))), "unpacked, and no message");
    let small = unpack(&zstd::bulk::compress(b"abc", ZSTD_LEVEL).unwrap(), 3, MAX_BODY).unwrap();
    assert!(small.capacity() < 100_000, "memory follows what came: {}", small.capacity());
    assert!(matches!(
        unpack(&zstd::bulk::compress(b"abc", ZSTD_LEVEL).unwrap(), MAX_BODY as u32, MAX_BODY),
        Err(FrameError::Malformed(_))
    ));
}

#[test]
fn small_compressed_messages_do_not_take_much_memory() {
    // Empty strings take a byte each on the wire and two dozen in memory.
    let reason = |kind: u8, count: usize| {
        let mut body = vec![0xa2, 0, 0, 1, 0x9a];
        body.extend((count as u32).to_be_bytes());
        body.resize(body.len() + count, 0x60);
        decode(inner(&frame(kind, &body).unwrap()))
    };
    assert!(matches!(reason(1, 1000), Ok(Message::Hello(hello)) if hello.features.len() == 1000));
    assert_eq!(reason(1, 8_000_000).unwrap_err().code(), RejectCode::TooBig);
    // Empty messages in a turn.
    let mut turn = vec![0xa1, 5, 0x9a];
    turn.extend(60_000_000_u32.to_be_bytes());
    turn.resize(60_000_000, 0x40);
    let refused = decode(inner(&frame(4, &turn).unwrap()));
    assert!(matches!(&refused, Err(FrameError::Malformed(why)) if why.contains("more messages")), "{refused:?}");
}

#[test]
fn a_count_in_cbor_reserves_nothing() {
    // An array of 2^40 ids, and nothing after it.
    assert!(matches!(decode(&[5, 0xa1, 1, 0x9b, 0, 0, 1, 0, 0, 0, 0, 0]), Err(FrameError::Malformed(_))));
    assert!(matches!(decode(&[5, 0xa1, 1, 0x81, 0x5b, 0, 0, 1, 0, 0, 0, 0, 0]), Err(FrameError::Malformed(_))));
}

#[test]
fn a_message_that_is_too_long_is_not_written() {
    let messages = vec![vec![0; MAX_BODY].into()];
    let long =
        DocumentMessage { scope: at(), month: Month(202_611), part: 0, exchange: 0, turn: TurnKind::First, messages };
    assert!(matches!(encode(&Message::Doc(long)), Err(FrameError::TooBig(_))));
    let mut noise = vec![0; MAX_FRAME + 1];
    blake3::Hasher::new().finalize_xof().fill(&mut noise);
    assert!(matches!(frame(4, &noise), Err(FrameError::TooLong(_))), "it does not pack");
}

#[test]
fn a_newer_minor_version_is_understood() {
    // A greeting with a field 99 of nested values that this version does not know, and without most of its own fields.
    let mut e = minicbor::Encoder::new(Vec::new());
    e.map(3).unwrap().u8(0).unwrap().u32(7).unwrap();
    e.u8(3).unwrap().encode(Some(EventId([5; 32]))).unwrap();
    e.u8(99).unwrap().array(2).unwrap().str("novel").unwrap().map(1).unwrap().str("x").unwrap().null().unwrap();
    let bytes = frame(1, &e.into_writer()).unwrap();
    let expected = SessionHello { minor: 7, team: Some(EventId([5; 32])), ..SessionHello::default() };
    assert_eq!(decode(inner(&bytes)), Ok(Message::Hello(expected)));
    assert_eq!(decode(&[77, 1, 2, 3]), Ok(Message::Unknown(77)));
    let refused = Rejection { code: "too_odd".parse().unwrap(), reason: "no".to_owned(), document: None };
    let bytes = encode(&Message::Error(refused.clone())).unwrap();
    assert_eq!(decode(inner(&bytes)), Ok(Message::Error(refused)));
}

#[test]
fn of_a_long_reason_only_the_beginning_is_kept() {
    let refused = Rejection {
        code: RejectCode::Other("ä".repeat(20_000)),
        reason: "ä".repeat(20_000),
        document: Some(DocumentId([1; 32])),
    };
    let Ok(Message::Error(read)) = decode(inner(&encode(&Message::Error(refused)).unwrap())) else {
        panic!("no error")
    };
    assert_eq!((read.code.as_str().chars().count(), read.reason.chars().count()), (32, 500));
}

fn at() -> Scope {
    Scope { org_id: "acme".into(), project: "api".into() }
}

/// The bytes of version 1 of the protocol, which must stay readable.
#[test]
fn golden_frames() {
    let id = EventId([0xab; 32]);
    let chain = Chain { author: DeviceId([1; 32]), epoch: 2, adopted: false };
    let chain = ChainEnd { chain, next: 3, head: Some(id) };
    let hello = SessionHello {
        minor: 0,
        features: vec!["x".into()],
        versions: vec![1],
        team: Some(id),
        instance: 9,
        roster: vec![chain],
        clock: 1_763_000_000_000,
    };
    let month = Month(202_611);
    let messages = vec![vec![1, 2, 3].into()];
    let doc = DocumentMessage { scope: at(), month, part: 0, exchange: 1, turn: TurnKind::First, messages };
    let wire =
        WireEvent { header: vec![1], signature: [2; 64], body: Some(WireBody { salt: [3; 16], bytes: vec![4] }) };
    let offer = DocumentOffer { month, part: 1, events: 2, heads: [0xcd; 32], digest: SetDigest([0xef; 32]) };
    let refused =
        Rejection { code: RejectCode::TeamMismatch, reason: "no".into(), document: Some(DocumentId([7; 32])) };
    let messages = [
        Message::Hello(hello),
        Message::Roster(EventPage { events: vec![wire], last: true, scope: None }),
        Message::Offer(Offer {
            scopes: vec![ScopeOffer { scope: at(), chains: vec![chain], documents: vec![offer] }],
            reply: true,
            waiting: None,
        }),
        Message::Doc(doc),
        Message::Want(Want { scope: at(), events: vec![id] }),
        Message::Bodies(Bodies { scope: at(), bodies: vec![(id, None)] }),
        Message::WantSince(WantSince { scope: at(), chains: vec![] }),
        Message::Events(EventPage { events: vec![], last: true, scope: Some(at()) }),
        Message::Durable(Durable { scope: at(), document: offer }),
        Message::Nudge(Nudge { state: [8; 32], clock: None }),
        Message::Error(refused),
        Message::Bye,
    ];
    let shown: Vec<String> = messages.iter().map(|message| hex::encode(encode(message).unwrap())).collect();
    insta::assert_snapshot!(shown.join("\n"));
    for (message, bytes) in messages.into_iter().zip(shown) {
        assert_eq!(decode(inner(&hex::decode(bytes).unwrap())), Ok(message));
    }
}
