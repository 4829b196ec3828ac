//! Files of earlier versions stay readable, and no modification of a file yields other events.

use std::io;

use proptest::prelude::*;

use super::*;

const SEALED: &[u8] = include_bytes!("../golden/v1-sealed.ergo");
const OPEN: &[u8] = include_bytes!("../golden/v1-open.ergo");
const CARD: &[u8] = include_bytes!("../golden/v1.card");

/// The content of the files, which `make_golden_files` created.
const GOLDEN: (&[u64], &[(u8, &[u32])]) = (&[2, 12, 1], &[(1, &[1, 2]), (2, &[1])]);

#[test]
fn files_of_version_1_stay_readable() {
    let sealed = read(SEALED, 2).unwrap();
    assert_eq!(sealed.report, BundleReport { complete: true, sealed_sections: 1, ..BundleReport::default() });
    let open = read(OPEN, 7).unwrap();
    assert_eq!(open.report, BundleReport { complete: true, ..BundleReport::default() });
    for (section, count) in (0..).zip(GOLDEN.0) {
        assert_eq!(open.events[&section], chain(section, *count));
        assert_eq!(open.heads[&section], head(section, &chain(section, *count)));
        if section < 2 {
            assert_eq!(sealed.events[&section], open.events[&section]);
        }
    }
    assert_eq!((sealed.manifest, open.manifest), (Some(manifest()), Some(manifest())));
    assert_eq!(note::open(CARD).unwrap(), note::SignedNote { device: device(1), payload: b"golden".to_vec() });
    let id = BundleReader::new(SEALED, &key(2)).unwrap().id();
    assert_eq!(id.to_string(), include_str!("../golden/v1-sealed.id").trim());
}

#[test]
#[ignore = "makes the golden files of the version that is current; run it only for a new version"]
fn make_golden_files() {
    let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("src/sync/bundle/golden");
    let sealed = bundle(GOLDEN.0, Some(GOLDEN.1));
    let id = BundleReader::new(sealed.as_slice(), &key(2)).unwrap().id();
    let write = |name: &str, bytes: &[u8]| {
        let mut file = std::fs::OpenOptions::new().write(true).create_new(true).open(folder.join(name)).unwrap();
        io::Write::write_all(&mut file, bytes).unwrap();
    };
    write("v1-sealed.ergo", &sealed);
    write("v1-sealed.id", id.to_string().as_bytes());
    write("v1-open.ergo", &bundle(GOLDEN.0, None));
    write("v1.card", &note::seal(b"golden", &key(1)).unwrap());
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, ..ProptestConfig::default() })]

    /// No modification of a file causes a panic, and every event that is read is one that was written.
    #[test]
    fn no_change_to_a_file_makes_an_event(
        sealed: bool,
        changes in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>(), 0..4_u8), 1..8),
    ) {
        let mut bytes = if sealed { SEALED } else { OPEN }.to_vec();
        let original = bytes.clone();
        for (at, value, how) in changes {
            let at = at.index(bytes.len());
            match how {
                0 => bytes[at] = value,
                1 => bytes.truncate(at + 1),
                2 => drop(bytes.remove(at)),
                _ => bytes.insert(at, value),
            }
            if bytes.is_empty() {
                bytes.push(value);
            }
        }
        if let Ok(found) = read(bytes.as_slice(), 2) {
            prop_assert_eq!(found.report.complete, bytes == original);
            for (section, events) in found.events {
                let known = chain(section, GOLDEN.0[section as usize]);
                for event in events {
                    prop_assert!(known.contains(&event));
                }
            }
        }
    }

    /// Random bytes cause no panic and yield no events.
    #[test]
    fn noise_is_no_bundle(noise in prop::collection::vec(any::<u8>(), 0..3_000), begins: bool) {
        let bytes = if begins { [&OPEN[..frames(OPEN)[0]], &noise].concat() } else { noise };
        let complete = read(bytes.as_slice(), 2).is_ok_and(|found| found.report.complete || !found.events.is_empty());
        prop_assert!(!complete);
        prop_assert!(note::open(&bytes).is_err());
        prop_assert!(event_chunk::decode(&bytes).map_or(true, |(events, _)| events.is_empty()));
    }
}
