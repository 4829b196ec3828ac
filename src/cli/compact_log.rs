//! `ergo compact`: removes old events of the local log that nothing needs any more.

use std::{path::Path, sync::Arc};

use ed25519_dalek::SigningKey;
use serde::Serialize;

use super::{CliError, Context, Exit, show::text::count, status::bytes};
use crate::{
    api::SizeQuery,
    client::{Connect, injected},
    config::{Paths, StoreFile, StoreLock, disk},
    guard::StructuralPairCheck,
    store::{CompactedLog, FileShrink, Store, StoreError},
};

/// Remove old events of the local log that nothing needs any more.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
The daemon must be stopped, except with --dry-run. Removes, once older than `[store] keep_local_days`:
notices that a person has seen, passages that are no longer in their file, and the records of sessions that ended.
Claims, their history, cards and what can be undone stay as they are, and so does everything that syncs.
The file gets smaller only if more than half of it is free; otherwise new claims use the free part.")]
pub(crate) struct Args {
    /// Show what would be removed, and remove nothing.
    #[arg(long)]
    dry_run: bool,
}

/// The removed data, or with `--dry-run` the data to remove.
#[derive(Debug, Default, Serialize)]
struct Compacted {
    dry_run: bool,
    /// Events older than this, in milliseconds since the Unix epoch.
    before: u64,
    events: usize,
    bytes: u64,
    /// Records of sessions into which hooks injected claims.
    sessions: usize,
    session_bytes: u64,
    /// Bytes by which the file and its write-ahead log got smaller.
    freed: u64,
    /// Why the file kept its size.
    #[serde(skip_serializing_if = "Option::is_none")]
    kept: Option<String>,
}

/// Runs the verb.
pub(crate) fn run(args: Args, cx: &mut Context) -> Result<Exit, CliError> {
    if !args.dry_run {
        cx.must_be_person("compact the store")?;
    }
    let paths = cx.paths()?.clone();
    let before = cx.config()?.store.old_before(Context::now());
    let mut done = Compacted { dry_run: args.dry_run, before, ..Compacted::default() };
    match StoreLock::owner(&paths) {
        Some(_) if args.dry_run => {
            let query = SizeQuery { before: Some(before), by_kind: false };
            // The daemon that has this store open, whatever `ERGO_API_URL` says.
            let connect = Connect { spawn: false, ..Connect::private(paths.clone()) };
            let size = cx.block_on(async |_| Ok(connect.client().await?.size_by_kind(&query).await?))?;
            (done.events, done.bytes) = (size.compact_events, size.compact_bytes);
        }
        Some(owner) => {
            return Err(CliError::new(Exit::Unreachable, format_args!("the store is in use: {owner}"))
                .hint(owner.way_to_run("ergo compact")));
        }
        None if StoreFile::look_unless_lost(&paths)? == StoreFile::Present => compact_file(&paths, &mut done)?,
        None => {}
    }
    let sessions = injected::forget_old(&paths.state, before, args.dry_run)
        .map_err(|(path, error)| CliError::file("remove", &path, &error))?;
    (done.sessions, done.session_bytes) = sessions;
    show(&done, cx);
    Ok(Exit::Ok)
}

/// Compacts the store's file while no daemon has it open.
fn compact_file(paths: &Paths, done: &mut Compacted) -> Result<(), CliError> {
    let _lock = StoreLock::take(paths, "compact")?;
    let failed = |error: StoreError| {
        CliError::internal(format_args!("{} cannot be compacted: {error}", paths.store().display()))
    };
    let mut store = open(&paths.store()).map_err(failed)?;
    if done.dry_run {
        let CompactedLog { events, bytes } = store.reader().compactable(done.before).map_err(failed)?;
        (done.events, done.bytes) = (events, bytes);
        return Ok(());
    }
    let CompactedLog { events, bytes: removed } = store.compact(done.before).map_err(failed)?;
    (done.events, done.bytes) = (events, removed);
    match store.shrink(disk::free_bytes(&paths.data)).map_err(failed)? {
        FileShrink::Shrunk { before, after } => done.freed = before.saturating_sub(after),
        FileShrink::Kept { free, used } => {
            let (free, used) = (bytes(free), bytes(used));
            done.kept = Some(format!(
                "{free} of the file are free for new claims, and to shrink it, {used} would have to be rewritten"
            ));
        }
        FileShrink::NoRoom { needed } => {
            done.kept = Some(format!("to shrink it, {} must be free on the disk", bytes(needed)));
        }
    }
    Ok(())
}

fn open(file: &Path) -> Result<Store, StoreError> {
    // Nothing is signed here: any key works.
    Store::open(file, SigningKey::from_bytes(&[0; 32]), Arc::new(StructuralPairCheck))
}

fn show(done: &Compacted, cx: &mut Context) {
    if cx.ui.json {
        cx.ui.value(done);
        return;
    }
    if cx.ui.quiet {
        return;
    }
    let verb = if done.dry_run { "Would remove" } else { "Removed" };
    let events = count(done.events, "event", "events");
    let sessions = count(done.sessions, "record of a session", "records of sessions");
    cx.ui.line(text!(
        "{} {} of the local log ({}) and {} ({}).",
        verb,
        events,
        bytes(done.bytes),
        sessions,
        bytes(done.session_bytes)
    ));
    if done.freed > 0 {
        cx.ui.line(text!("The file is {} smaller.", bytes(done.freed)));
    }
    if let Some(why) = &done.kept {
        cx.ui.line(text!("The file keeps its size: {}.", why.as_str()));
    }
}
