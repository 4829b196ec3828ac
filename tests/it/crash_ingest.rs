//! kill -9 of the daemon or the command during an ingest: no chunk of a file is lost or doubled, and no file is stored
//! in part.

use std::{collections::BTreeMap, fs, path::Path, process::Stdio, sync::Arc};

use ed25519_dalek::SigningKey;
use ergo::{
    api::IngestedQuery,
    client::Client,
    domain::Scope,
    guard::StructuralPairCheck,
    recall::chunking::{TextFormat, chunks},
    store::Store,
};

use crate::support::{TestHome, block_on, kill, until};

const FILES: usize = 30;
const PIECES: usize = 20;

/// Writes a library. Returns the number of chunks of each file.
fn write_library(folder: &Path) -> BTreeMap<String, usize> {
    fs::create_dir(folder).unwrap();
    let write = |n: usize| {
        let piece = |piece: usize| format!("# Part {piece}\n\nShelf {n} of the library keeps volume {piece}.\n\n");
        let text: String = (0..PIECES).map(piece).collect();
        let name = format!("{n:02}.md");
        fs::write(folder.join(&name), &text).unwrap();
        (format!("docs/{name}"), chunks(&text, TextFormat::Markdown).len())
    };
    (0..FILES).map(write).collect()
}

/// The stored files, each with its number of chunks.
fn in_force(client: &Client) -> Option<BTreeMap<String, usize>> {
    let query = IngestedQuery { org_id: "acme".into(), project: "api".into(), under: None };
    let files = block_on(client.ingested(&query)).ok()?;
    Some(files.items.into_iter().map(|file| (file.path, file.chunks)).collect())
}

const INGEST: [&str; 6] = ["--scope", "acme/api", "--no-spawn", "--json", "ingest", "docs"];

/// Ingests the library until `files` files are stored, then kills the daemon, or else the command. Returns the number
/// of files that are stored then.
fn cut(home: &TestHome, files: usize, the_daemon: bool) -> usize {
    let daemon = home.daemon();
    let mut command = home.command(INGEST).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    let client = home.client();
    until("some of the files are there", || in_force(&client).is_some_and(|there| there.len() >= files));
    if the_daemon {
        daemon.kill();
        command.wait().unwrap();
    } else {
        kill(command.id());
        command.wait().unwrap();
        daemon.kill();
    }
    let store = store(home);
    store.reader().ingested(&scope(), "").unwrap().len()
}

fn store(home: &TestHome) -> Store {
    Store::open(&home.paths().store(), SigningKey::from_bytes(&[1; 32]), Arc::new(StructuralPairCheck)).unwrap()
}

fn scope() -> Scope {
    Scope { org_id: "acme".into(), project: "api".into() }
}

#[test]
fn a_killed_ingest_loses_and_duplicates_nothing() {
    let home = TestHome::new();
    let library = write_library(&home.work().join("docs"));
    let pieces: usize = library.values().sum();
    assert_eq!((library.len(), pieces), (FILES, FILES * PIECES));
    let mut cut_short = false;
    for (round, files) in [4, 12, 20].into_iter().enumerate() {
        let there = cut(&home, files, round % 2 == 0);
        cut_short |= there < FILES;
        let store = store(&home);
        assert_eq!(store.check().unwrap().problems, Vec::<String>::new());
        // Every stored file is complete, and stored once.
        for file in store.reader().ingested(&scope(), "").unwrap() {
            assert_eq!(file.chunks, library[&file.path], "{}", file.path);
        }
    }
    assert!(cut_short, "every ingest ended before it could be killed: this shows nothing");

    let daemon = home.daemon();
    let before: usize = in_force(&home.client()).unwrap().values().sum();
    let report = home.run(INGEST).ok().json();
    let figure = |report: &serde_json::Value, name: &str| usize::try_from(report[name].as_u64().unwrap()).unwrap();
    assert_eq!((figure(&report, "files"), figure(&report, "chunks")), (FILES, pieces), "{report}");
    assert_eq!(figure(&report, "added"), pieces - before, "what was there is kept");
    assert_eq!(figure(&report, "retired"), 0, "{report}");
    assert_eq!(in_force(&home.client()).unwrap(), library);
    let again = home.run(INGEST).ok().json();
    assert_eq!((figure(&again, "added"), figure(&again, "retired")), (0, 0), "{again}");
    assert_eq!(daemon.terminate(), Some(0), "{}", home.log());
    assert_eq!(store(&home).reader().chunk_count(&scope(), usize::MAX >> 1).unwrap(), pieces);
}
