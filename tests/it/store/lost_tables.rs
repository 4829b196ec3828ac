//! Damaged tables that do not belong to the log: what a recovery keeps, and what it computes again.

use std::{fs::File, os::unix::fs::FileExt, path::Path, sync::Arc};

use ergo::{
    domain::roster::Role,
    store::{Store, StoreOptions, TableLoss},
};

use super::{
    support::{Fixture, Plain, decision, key, scope},
    team::{Peer, assert_alike, pair},
};

/// Overwrites a page of a table with zeros: its root, or a leaf if it has several.
fn damage(file: &Path, table: &str, leaf: bool) {
    let db = rusqlite::Connection::open(file).unwrap();
    let (root, size): (u64, u64) = db
        .query_row("SELECT rootpage, page_size FROM sqlite_schema, pragma_page_size WHERE name = ?1", [table], |row| {
            Ok((row.get(0)?, row.get(1)?))
        })
        .unwrap();
    drop(db);
    let file = File::options().read(true).write(true).open(file).unwrap();
    let page = |number: u64| {
        let mut bytes = vec![0; size as usize];
        file.read_exact_at(&mut bytes, (number - 1) * size).unwrap();
        bytes
    };
    let mut damaged = root;
    if leaf {
        let root = page(root);
        // The type of an inner page of an index or a table, the number of its cells, and the first cells' places.
        assert!(matches!(root[0], 2 | 5), "{table} has one page");
        let number = |at: usize| usize::from(u16::from_be_bytes([root[at], root[at + 1]]));
        let cell = number(12 + 2 * (number(3) / 2));
        damaged = u64::from(u32::from_be_bytes([root[cell], root[cell + 1], root[cell + 2], root[cell + 3]]));
    }
    file.write_all_at(&vec![0; size as usize], (damaged - 1) * size).unwrap();
}

/// Closes a store, damages it, recovers it and opens it again.
fn recovered(mut f: Fixture, device: u8, damaged: &[(&str, bool)]) -> (Fixture, Vec<TableLoss>) {
    let (file, me) = (f.store.reader().path().to_owned(), f.store.device());
    drop(f.store);
    for (table, leaf) in damaged {
        damage(&file, table, *leaf);
    }
    Store::check_recoverable(&file).unwrap();
    let done = Store::recover(&file, Some(&me), &Plain, &mut ()).unwrap();
    assert!(done.kept.exists());
    f.store = Store::open_with(&file, key(device), Arc::new(Plain), StoreOptions { durable: false }).unwrap();
    assert_eq!(f.store.check().unwrap().problems, Vec::<String>::new());
    (f, done.losses)
}

#[test]
fn a_lost_team_is_computed_again_from_its_events() {
    let (mut a, b, team) = pair();
    a.add(decision("cache", "on"));
    let names = b.store.reader().team_scopes(&team).unwrap();
    let (mut b, losses) =
        recovered(b, 2, &[("teams", false), ("team_scopes", false), ("devices", false), ("documents", false)]);
    let mut lost: Vec<_> = losses.iter().map(|loss| loss.table).collect();
    lost.sort_unstable();
    assert_eq!(lost, ["devices", "documents", "team_scopes", "teams"]);
    assert_eq!(b.store.reader().team_scopes(&team).unwrap().len(), names.len());
    assert!(b.store.reader().team_scopes(&team).unwrap().iter().all(|row| row.writes));
    b.pull(team, &a);
    let theirs = b.add(decision("log", "json"));
    assert_eq!(a.pull(team, &b).stored, [theirs]);
    assert_alike(&a, &b, team);
}

#[test]
fn a_team_that_was_left_stays_left() {
    let (mut a, mut b) = (Fixture::of(1), Fixture::of(2));
    let team = a.found();
    a.adopt(team, "api");
    a.admit(team, &b, Role::Writer);
    b.join(team, &a);
    let revoke = ergo::domain::roster::RosterChange::Revoke { device: b.device(), cuts: Vec::new() };
    a.change(Some(team), revoke);
    b.take(team, a.roster_events(team));
    let (b, _) = recovered(b, 2, &[("teams", false), ("team_scopes", false)]);
    let rows = b.store.reader().teams().unwrap();
    assert!(rows.len() == 1 && rows[0].left_at.is_some());
    assert_eq!(b.store.reader().team_of(&scope("api")).unwrap(), None);
}

#[test]
fn a_damaged_page_costs_only_the_rows_on_it() {
    let f = Fixture::of(1);
    let db = rusqlite::Connection::open(f.store.reader().path()).unwrap();
    let fill = "WITH RECURSIVE t (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM t WHERE n < 4000)
        INSERT INTO contacts SELECT printf('10.0.%05d:4433', n), 'peer', n, n FROM t";
    db.execute_batch(fill).unwrap();
    drop(db);
    let (f, losses) = recovered(f, 1, &[("contacts", true)]);
    let [loss] = losses[..] else { panic!("{losses:?}") };
    assert!(loss.table == "contacts" && loss.rows > 3_800 && loss.rows < 4_000, "{loss:?}");
    let kept = f.store.reader().contacts().unwrap();
    assert_eq!(kept.len(), loss.rows);
    let ends = ["10.0.00001:4433", "10.0.04000:4433"];
    assert!(ends.iter().all(|end| kept.iter().any(|row| row.address == *end)), "both sides of the damage");
}
