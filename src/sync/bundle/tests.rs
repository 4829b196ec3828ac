//! The promises of the bundle format: each recipient reads exactly what was written for it, and no modification of a
//! file yields other events.

mod golden;

use std::{
    collections::{BTreeMap, BTreeSet},
    io::{self, Read},
};

use ed25519_dalek::SigningKey;

use super::{format::*, *};
use crate::domain::{
    Body, DeviceId, EventId, EventKind, Hlc, OpId, Scope, SignedEvent,
    event::{Header as EventHeader, VERSION},
    replica::{Chain, ChainEnd, SetDigest},
};

const CREATED: u64 = 1_795_000_000_000;

fn key(n: u8) -> SigningKey {
    SigningKey::from_bytes(&[n; 32])
}

fn device(n: u8) -> DeviceId {
    DeviceId(key(n).verifying_key().to_bytes())
}

fn scope(section: u32) -> Scope {
    Scope::new(if section == 0 { "@team" } else { "acme" }, format!("p{section}")).unwrap()
}

/// The chain of device 1 in a scope.
fn chain(section: u32, count: u64) -> Vec<SignedEvent> {
    let mut prev = None;
    (0..count)
        .map(|seq| {
            let header = EventHeader {
                version: VERSION,
                team: Some(EventId([5; 32])),
                scope: scope(section),
                author: device(1),
                epoch: 9,
                seq,
                prev,
                clock: Hlc { wall: CREATED + seq, count: 0 },
                kind: EventKind::Assert,
                op: OpId([seq as u8; 16]),
                targets: vec![],
                successor: None,
                seen: vec![],
                claim_kind: None,
                key_hash: None,
                who: "ada".into(),
                agent: None,
                body_hash: EventId([0; 32]),
            };
            let text = format!("We deploy on day {seq} of project {section}.");
            let body = Body { statement: Some(text), reason: Some("measured".into()), ..Body::default() };
            let mut event = SignedEvent::sign(header, body.seal([seq as u8; 16]), &key(1)).unwrap();
            prev = Some(event.id);
            if seq % 5 == 4 {
                event.body = None;
            }
            event
        })
        .collect()
}

fn head(section: u32, events: &[SignedEvent]) -> SectionHead {
    let chain = Chain { author: device(1), epoch: 9, adopted: false };
    let ends = vec![ChainEnd { chain, next: events.len() as u64, head: events.last().map(|event| event.id) }];
    SectionHead {
        scope: scope(section),
        events: events.len() as u64,
        ends,
        digest: SetDigest::of(events.iter().map(|e| &e.id)),
    }
}

fn manifest() -> BundleManifest {
    BundleManifest {
        team_name: "core".into(),
        from_name: "ada-laptop".into(),
        since: "all".into(),
        ..BundleManifest::default()
    }
}

/// A bundle of device 1 with these numbers of events by section, for devices and the sections that each may open.
fn bundle(counts: &[u64], to: Option<&[(u8, &[u32])]>) -> Vec<u8> {
    seeded([3; 32], counts, to)
}

fn seeded(seed: [u8; 32], counts: &[u64], to: Option<&[(u8, &[u32])]>) -> Vec<u8> {
    let sections: Vec<Vec<SignedEvent>> = (0..).zip(counts).map(|(section, count)| chain(section, *count)).collect();
    let recipients = to.map(|to| {
        let recipient = |(n, sections): &(u8, &[u32])| Recipient {
            device: device(*n),
            sections: sections.iter().copied().collect::<BTreeSet<_>>(),
        };
        to.iter().map(recipient).collect()
    });
    let plan = BundlePlan {
        team: EventId([5; 32]),
        created: CREATED,
        seed,
        recipients,
        manifest: manifest(),
        heads: (0..).zip(&sections).map(|(section, events)| head(section, events)).collect(),
    };
    let mut writer = BundleWriter::new(Vec::new(), &key(1), plan).unwrap();
    for (section, events) in (0..).zip(sections) {
        for event in events {
            writer.push(section, event).unwrap();
        }
    }
    writer.finish().unwrap().1
}

/// The content that a device reads from a file.
#[derive(Debug, Default, PartialEq)]
struct BundleContents {
    manifest: Option<BundleManifest>,
    heads: BTreeMap<u32, SectionHead>,
    events: BTreeMap<u32, Vec<SignedEvent>>,
    report: BundleReport,
}

fn read(bytes: impl Read, n: u8) -> Result<BundleContents, BundleError> {
    let mut reader = BundleReader::new(bytes, &key(n))?;
    let mut found = BundleContents::default();
    for item in reader.by_ref() {
        match item {
            BundleItem::Manifest(manifest) => found.manifest = Some(manifest),
            BundleItem::Head(section, head) => drop(found.heads.insert(section, head)),
            BundleItem::Events(section, events) => found.events.entry(section).or_default().extend(events),
        }
    }
    found.report = reader.report();
    Ok(found)
}

/// The offsets of the frames of a bundle, and the end of the last one.
fn frames(bytes: &[u8]) -> Vec<usize> {
    let length = |at: usize| u32::from_le_bytes(bytes[at..at + 4].try_into().unwrap()) as usize;
    let mut places = vec![PREFIX + length(PREFIX - 4)];
    while *places.last().unwrap() < bytes.len() {
        let at = *places.last().unwrap();
        places.push(at + FRAME_HEADER + length(at + 5));
    }
    places
}

#[test]
fn events_come_out_as_they_went_in_and_signed() {
    for to in [None, Some([(1, [1, 2].as_slice()), (2, &[1, 2])].as_slice())] {
        let bytes = bundle(&[3, 1_500, 7], to);
        let found = read(bytes.as_slice(), 2).unwrap();
        assert_eq!(found.report, BundleReport { complete: true, ..BundleReport::default() });
        assert_eq!(found.manifest, Some(manifest()));
        for (section, count) in [(0, 3), (1, 1_500), (2, 7)] {
            assert_eq!(found.events[&section], chain(section, count));
            assert_eq!(found.heads[&section], head(section, &found.events[&section]));
        }
    }
}

#[test]
fn a_bundle_without_events_is_a_bundle() {
    let found = read(bundle(&[0, 0], Some(&[(2, &[1])])).as_slice(), 2).unwrap();
    assert!(found.report.complete && found.events.is_empty() && found.heads.len() == 2);
}

#[test]
fn each_recipient_opens_its_scopes_and_no_others() {
    let bytes = bundle(&[2, 3, 4], Some(&[(1, &[1, 2]), (2, &[1]), (3, &[])]));
    let found = read(bytes.as_slice(), 2).unwrap();
    assert_eq!(found.report, BundleReport { complete: true, sealed_sections: 1, ..BundleReport::default() });
    assert_eq!(found.events.keys().copied().collect::<Vec<_>>(), [0, 1]);
    let found = read(bytes.as_slice(), 3).unwrap();
    assert_eq!((found.report.sealed_sections, found.heads.len(), found.events.len()), (2, 1, 1));
    let refused = read(bytes.as_slice(), 4).unwrap_err();
    assert!(matches!(&refused, BundleError::NotARecipient { sealed_to, .. } if sealed_to.len() == 3));
    assert!(refused.to_string().contains(&device(1).short()) && refused.to_string().contains("--to"), "{refused}");
}

#[test]
fn sealed_text_is_nowhere_in_the_file() {
    let open = bundle(&[1, 1], None);
    let sealed = bundle(&[1, 1], Some(&[(2, &[1])]));
    // zstd does not compress a few bytes, so the words are in the file as plain text.
    let holds = |bytes: &[u8], text: &str| bytes.windows(text.len()).any(|window| window == text.as_bytes());
    for text in ["ada-laptop", "acme", "measured"] {
        assert!(holds(&open, text), "{text}");
        assert!(!holds(&sealed, text), "{text}");
    }
}

#[test]
fn one_envelope_does_not_serve_another_device_or_another_bundle() {
    let bytes = bundle(&[1], Some(&[(2, &[])]));
    let mut input = bytes.as_slice();
    let plain = note::read_prefixed(&mut input, FileKind::Bundle, 1, MAX_HEADER).unwrap();
    let rest = input.to_vec();
    let forge = |change: &dyn Fn(&mut BundleHeader)| {
        let mut header: BundleHeader = minicbor::decode(&plain).unwrap();
        change(&mut header);
        let header = minicbor::to_vec(&header).unwrap();
        let length = (header.len() as u32).to_le_bytes();
        [&MAGIC, [1, 1].as_slice(), &length, &header, &rest].concat()
    };
    assert!(read(forge(&|_| {}).as_slice(), 2).unwrap().report.complete);
    let renamed = forge(&|header| header.envelopes.as_mut().unwrap()[0].device = device(3));
    assert!(matches!(read(renamed.as_slice(), 3), Err(BundleError::BadEnvelope(_))));
    let other_team = forge(&|header| header.team = EventId([6; 32]));
    assert!(matches!(read(other_team.as_slice(), 2), Err(BundleError::BadEnvelope(_))));
    // Every frame is bound to the fields to which no envelope is bound.
    let older = read(forge(&|header| header.created = 1).as_slice(), 2).unwrap();
    assert!(older.events.is_empty() && older.manifest.is_none() && !older.report.damages.is_empty());
    // Read as an unencrypted bundle, the frames of a sealed one are invalid.
    let opened = read(forge(&|header| header.envelopes = None).as_slice(), 2).unwrap();
    assert!(opened.events.is_empty() && !opened.report.complete);
}

#[test]
fn a_truncated_file_gives_its_whole_frames() {
    let bytes = bundle(&[2, 2_100], Some(&[(2, &[1])]));
    let places = frames(&bytes);
    assert_eq!(places.len(), 1 + 3 + 1 + 3 + 1, "manifest, two heads, roster, three frames of events, the end");
    for (index, pair) in places.windows(2).enumerate() {
        for cut in [pair[0], pair[0] + 1, pair[0] + FRAME_HEADER, pair[1] - 1] {
            let found = read(&bytes[..cut], 2).unwrap();
            let count: usize = found.events.values().map(Vec::len).sum();
            let expected = [0, 0, 0, 0, 2, 2 + 1_024, 2 + 2_048, 2 + 2_100][index];
            assert_eq!(count, expected, "cut at {cut}");
            assert!(!found.report.complete);
            let damage = &found.report.damages[0];
            assert_eq!((damage.offset, damage.frame), (pair[0] as u64, index as u64), "{damage}");
            assert!(damage.what.contains("ends"), "{damage}");
        }
    }
    for cut in 0..places[0] {
        let error = read(&bytes[..cut], 2).unwrap_err();
        assert!(matches!(error, BundleError::NotErgo | BundleError::Header { .. }), "{error}");
    }
}

#[test]
fn a_damaged_frame_is_named_and_the_others_are_used() {
    for to in [None, Some([(2, [1].as_slice())].as_slice())] {
        let bytes = bundle(&[2, 2_100], to);
        let places = frames(&bytes);
        let mut broken = bytes.clone();
        broken[places[5] - 3] ^= 1;
        let found = read(broken.as_slice(), 2).unwrap();
        assert_eq!(found.events[&1].len(), 2_100 - 1_024);
        assert_eq!(found.report.damages.len(), 1);
        assert_eq!((found.report.damages[0].frame, found.report.damages[0].offset), (4, places[4] as u64));
        assert!(!found.report.complete);
    }
}

#[test]
fn frames_that_change_places_are_not_used_there() {
    for to in [None, Some([(2, [1].as_slice())].as_slice())] {
        let bytes = bundle(&[2, 2_048], to);
        let places = frames(&bytes);
        let swapped =
            [&bytes[..places[4]], &bytes[places[5]..places[6]], &bytes[places[4]..places[5]], &bytes[places[6]..]];
        let found = read(swapped.concat().as_slice(), 2).unwrap();
        assert_eq!((found.events.len(), found.report.damages.len()), (1, 3), "the roster alone, and no signature");
        // A frame can be neither repeated nor taken from another bundle.
        let other = seeded([4; 32], &[2, 2_048], to);
        let foreign = [&bytes[..places[4]], &other[frames(&other)[4]..frames(&other)[5]], &bytes[places[5]..]];
        let found = read(foreign.concat().as_slice(), 2).unwrap();
        assert_eq!((found.events[&1].len(), found.report.complete), (1_024, false));
    }
}

#[test]
fn only_the_maker_can_end_a_bundle() {
    let bytes = bundle(&[2], None);
    let places = frames(&bytes);
    // An event is left out and the counts are adapted: each frame is valid, but the signature of the whole is not.
    let id = BundleReader::new(bytes.as_slice(), &key(2)).unwrap().id();
    let mut forged = bytes[..places[2]].to_vec();
    let trailer = BundleTrailer { frames: 2, events: 0, signature: minicbor::bytes::ByteArray::from([7; 64]) };
    let plain = minicbor::to_vec(&trailer).unwrap();
    let packed = event_chunk::pack(&plain).unwrap();
    let head =
        FrameHead { kind: FrameKind::Trailer, section: 0, stored: packed.len() as u32, plain: plain.len() as u32 };
    forged.extend_from_slice(&head.bytes());
    forged.extend_from_slice(&head.check(id, 2, &packed));
    forged.extend_from_slice(&packed);
    let found = read(forged.as_slice(), 2).unwrap();
    assert!(!found.report.complete);
    assert!(found.report.damages[0].what.contains("signature"), "{}", found.report.damages[0]);
    let longer = [bytes.as_slice(), b"more"].concat();
    assert!(!read(longer.as_slice(), 2).unwrap().report.complete);
}

#[test]
fn wrong_declared_sizes_cost_nothing() {
    let bytes = bundle(&[2], None);
    let places = frames(&bytes);
    let with = |at: usize, value: u32| {
        let mut lie = bytes.clone();
        lie[at..at + 4].copy_from_slice(&value.to_le_bytes());
        lie
    };
    for (at, what) in [(places[0] + 5, "at most"), (places[0] + 9, "at most")] {
        let found = read(with(at, u32::MAX).as_slice(), 2).unwrap();
        assert!(found.report.damages[0].what.contains(what), "{}", found.report.damages[0]);
    }
    let error = read(with(PREFIX - 4, u32::MAX).as_slice(), 2).unwrap_err();
    assert!(error.to_string().contains("at most"), "{error}");
    // A header with a large declared length, and endless frames: no more is read than the limits allow.
    for endless in [with(PREFIX - 4, MAX_HEADER as u32)[..PREFIX].to_vec(), bytes[..places[0]].to_vec()] {
        let mut input = Counted(endless.as_slice().chain(io::repeat(2)), 0);
        let _ = read(&mut input, 2);
        assert!(input.1 <= MAX_HEADER + MAX_CHUNK_BYTES, "{}", input.1);
    }
}

/// Counts the bytes that are read.
struct Counted<R>(R, usize);

impl<R: Read> Read for Counted<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let length = self.0.read(buffer)?;
        self.1 += length;
        Ok(length)
    }
}

/// An unencrypted bundle with another frame of events, whose check hash is valid whatever it holds.
fn with_content(plain: &[u8], declared: usize) -> Vec<u8> {
    let bytes = bundle(&[2], None);
    let places = frames(&bytes);
    let id = BundleReader::new(bytes.as_slice(), &key(2)).unwrap().id();
    let packed = event_chunk::pack(plain).unwrap();
    let head = FrameHead { kind: FrameKind::Events, section: 0, stored: packed.len() as u32, plain: declared as u32 };
    [&bytes[..places[2]], &head.bytes(), &head.check(id, 2, &packed), &packed, &bytes[places[3]..]].concat()
}

#[test]
fn bombs_in_a_frame_are_rejected() {
    let events = chain(0, 2);
    let good = event_chunk::encode(&events);
    assert_eq!(read(with_content(&good, good.len()).as_slice(), 2).unwrap().events[&0], events);
    let billion = [0x9a, 0x3b, 0x9a, 0xca, 0x00];
    let long_bytes = [0x81, 0x82, 0x5b, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff];
    let zeros = vec![0; MAX_CHUNK_BYTES * 4];
    let nested = vec![0x81; 100_000];
    for (plain, declared, what) in [
        (billion.as_slice(), billion.len(), "at most 1024"),
        (long_bytes.as_slice(), long_bytes.len(), "cannot be read"),
        (&zeros, MAX_CHUNK_BYTES, "decompress"),
        (&good, good.len() - 1, "decompress"),
        (&good, good.len() + 1, "are declared"),
        (&nested, nested.len(), "cannot be read"),
        (b"\x80more", 5, "extra bytes"),
        (b"", 0, "cannot be read"),
    ] {
        let found = read(with_content(plain, declared).as_slice(), 2).unwrap();
        assert!(found.events.is_empty() && !found.report.complete);
        assert!(found.report.damages[0].what.contains(what), "{} / {what}", found.report.damages[0]);
    }
    // One invalid event does not make the others invalid.
    let mut one_bad = events.clone();
    one_bad[0].header_bytes.push(0);
    let plain = event_chunk::encode(&one_bad);
    let found = read(with_content(&plain, plain.len()).as_slice(), 2).unwrap();
    assert_eq!(found.events[&0], events[1..]);
    assert!(found.report.damages[0].what.contains("canonical"), "{}", found.report.damages[0]);
}

#[test]
fn a_file_of_another_kind_says_what_it_is() {
    let card = note::seal(b"hello", &key(1)).unwrap();
    let error = read(card.as_slice(), 2).unwrap_err().to_string();
    assert!(error.contains("join request") && error.contains("ergo sync approve"), "{error}");
    let error = note::open(&bundle(&[0], None)).unwrap_err().to_string();
    assert!(error.contains("ergo sync import"), "{error}");
    assert!(matches!(read(b"PK\x03\x04".as_slice(), 2), Err(BundleError::NotErgo)));
    assert!(matches!(read(b"".as_slice(), 2), Err(BundleError::NotErgo)));
    let mut newer = bundle(&[0], None);
    newer[9] = 2;
    assert!(matches!(read(newer.as_slice(), 2), Err(BundleError::Newer(2))));
    assert_eq!(file_kind(&card), Some(FileKind::Card));
    assert_eq!(file_kind(b"text"), None);
}

#[test]
fn a_card_is_what_its_device_signed() {
    let bytes = note::seal(b"ada's laptop", &key(1)).unwrap();
    assert_eq!(note::open(&bytes).unwrap(), note::SignedNote { device: device(1), payload: b"ada's laptop".to_vec() });
    for index in 0..bytes.len() {
        let mut changed = bytes.clone();
        changed[index] ^= 0x10;
        assert!(note::open(&changed).is_err(), "byte {index}");
        assert!(note::open(&bytes[..index]).is_err(), "cut at {index}");
    }
    assert!(note::open(&[bytes.as_slice(), b"x"].concat()).is_err());
    assert!(note::seal(&vec![0; note::MAX_NOTE + 1], &key(1)).is_err());
}

#[test]
fn the_writer_checks_counts_and_order() {
    let plan = |events| BundlePlan {
        team: EventId([5; 32]),
        created: CREATED,
        seed: [3; 32],
        recipients: None,
        manifest: manifest(),
        heads: vec![SectionHead { events, ..head(0, &[]) }, head(1, &[])],
    };
    let event = chain(0, 1).remove(0);
    let mut writer = BundleWriter::new(Vec::new(), &key(1), plan(0)).unwrap();
    writer.push(0, event.clone()).unwrap();
    assert!(writer.finish().is_err(), "one more than was said");
    let mut writer = BundleWriter::new(Vec::new(), &key(1), plan(1)).unwrap();
    assert!(matches!(writer.push(2, event.clone()), Err(BundleError::Order(_))));
    writer.push(0, event.clone()).unwrap();
    assert!(writer.push(1, event.clone()).is_ok());
    assert!(matches!(writer.push(0, event), Err(BundleError::Order(_))));
    assert!(BundleWriter::new(Vec::new(), &key(1), BundlePlan { heads: vec![], ..plan(0) }).is_err());
    assert!(BundleWriter::new(Vec::new(), &key(1), BundlePlan { recipients: Some(vec![]), ..plan(0) }).is_err());
}

#[test]
fn heads_with_too_many_chains_are_not_kept() {
    let chain = Chain { author: device(1), epoch: 9, adopted: false };
    let per_head = 45_000;
    let heads: Vec<SectionHead> = (0..5)
        .map(|section| SectionHead {
            ends: vec![ChainEnd { chain, next: 1, head: None }; per_head],
            ..head(section, &[])
        })
        .collect();
    let plan = BundlePlan {
        team: EventId([5; 32]),
        created: CREATED,
        seed: [3; 32],
        recipients: None,
        manifest: manifest(),
        heads,
    };
    let (_, bytes) = BundleWriter::new(Vec::new(), &key(1), plan).unwrap().finish().unwrap();
    let mut reader = BundleReader::new(bytes.as_slice(), &key(2)).unwrap();
    let kept = reader.by_ref().filter(|item| matches!(item, BundleItem::Head(..))).count();
    assert_eq!(kept, reader::MAX_ENDS / per_head);
    let report = reader.report();
    assert!(!report.complete);
    assert!(report.damages[0].to_string().contains("more than 200000 chains"), "{:?}", report.damages);
}
