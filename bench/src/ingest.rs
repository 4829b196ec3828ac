//! `ergo-bench ingest`: measures how fast files are ingested, and how fast their chunks get vectors.
//!
//! Files are made-up Markdown of about a hundred words a section, each section a piece. Each goes through the engine's real path, one act a file, on a
//! store file that waits for the disk.

use std::{fmt, path::PathBuf, sync::Arc, time::Instant};

use serde::Serialize;

use super::{
    store::{self, BenchError, Quantiles},
    store_synth as synth,
};
use ergo::{
    api::{Caller, IngestRequest},
    engine::{Engine, EngineConfig},
    guard::Guard,
    infer::{ModelRole, Models, NoModels},
};

/// Pieces of one file.
const PIECES: usize = 20;

/// Statements of one piece.
const STATEMENTS: usize = 12;

/// What to measure.
pub struct Options {
    /// Pieces of files that are taken in.
    pub chunks: usize,
    /// Of those, how many get a vector.
    pub embed: usize,
    /// Where the store is made, and removed afterwards.
    pub folder: PathBuf,
    /// The models; without an embedder nothing gets a vector.
    pub models: Option<Arc<dyn Models>>,
}

/// What was measured.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Report {
    pub files: usize,
    /// Pieces of them.
    pub chunks: usize,
    /// Their text, in bytes.
    pub bytes: usize,
    /// Seconds until all were taken in.
    pub taken_in_s: f64,
    /// One file, in milliseconds.
    pub file_ms: Quantiles,
    /// Seconds of taking them in again, unchanged.
    pub again_s: f64,
    /// The vectors; absent without an embedder.
    pub embedded: Option<Embedded>,
}

/// How fast pieces got vectors.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct Embedded {
    /// Pieces.
    pub chunks: usize,
    /// Tokens that the embedder read of them.
    pub tokens: u64,
    /// Seconds, writing the vectors included.
    pub seconds: f64,
}

/// Takes files in, once and once more, and gives their pieces vectors.
///
/// # Errors
/// Where a file, the store or the engine fails, and where pieces are lost or doubled.
pub fn run(options: &Options, progress: &mut dyn FnMut(&str)) -> Result<Report, BenchError> {
    std::fs::create_dir_all(&options.folder).map_err(|error| BenchError::Io { path: options.folder.clone(), error })?;
    let path = options.folder.join("bench-ingest.db");
    store::remove(&path)?;
    let models = options.models.clone().unwrap_or_else(|| Arc::new(NoModels));
    let engine =
        Engine::open_with_models(EngineConfig::new(&path, store::key()), Guard::default(), Arc::clone(&models))?;
    let files: Vec<IngestRequest> = (0..options.chunks.div_ceil(PIECES)).map(|n| file(n, options.chunks)).collect();
    let bytes = files.iter().filter_map(|file| file.text.as_deref()).map(str::len).sum();
    let mut report = Report { files: files.len(), bytes, ..Report::default() };
    progress(&format!("taking in {} pieces", options.chunks));
    let (mut times, begun) = (Vec::with_capacity(files.len()), Instant::now());
    for file in &files {
        let begun = Instant::now();
        report.chunks += engine.ingest(file)?.added;
        times.push(begun.elapsed().as_secs_f64() * 1000.0);
    }
    report.taken_in_s = begun.elapsed().as_secs_f64();
    report.file_ms = store::quantiles(times);
    progress("taking them in again");
    let begun = Instant::now();
    for file in &files {
        let again = engine.ingest(file)?;
        if again.added + again.retired > 0 {
            return Err(BenchError::Unexpected { statement: file.path.clone(), expected: "unchanged" });
        }
    }
    report.again_s = begun.elapsed().as_secs_f64();
    if models.info().role(ModelRole::Embedder).is_some() {
        progress("embedding them");
        // The first call loads the model: it is not what is measured.
        engine.fill_vectors()?;
        let (before, begun, mut chunks) = (models.info().embedded_tokens, Instant::now(), 0);
        while chunks < options.embed {
            match engine.fill_vectors()? {
                0 => break,
                some => chunks += some,
            }
        }
        let tokens = models.info().embedded_tokens - before;
        report.embedded = Some(Embedded { chunks, tokens, seconds: begun.elapsed().as_secs_f64() });
    }
    drop(engine);
    store::remove(&path)?;
    Ok(report)
}

/// The file with number `n`; all files together have so many pieces.
fn file(n: usize, chunks: usize) -> IngestRequest {
    let pieces = n * PIECES..chunks.min((n + 1) * PIECES);
    let piece = |piece: usize| {
        let statements = (piece * STATEMENTS..(piece + 1) * STATEMENTS).map(synth::statement);
        format!("# Part {piece}\n\n{}.\n", statements.collect::<Vec<_>>().join(".\n"))
    };
    let scope = store::scope();
    let caller = Caller { org_id: scope.org_id, project: scope.project, who: "bench".into(), ..Caller::default() };
    let text = pieces.map(piece).collect::<Vec<_>>().join("\n");
    IngestRequest { caller, path: format!("docs/{n}.md"), text: Some(text), share: false }
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let rate = |many: f64, seconds: f64| if seconds > 0.0 { many / seconds } else { 0.0 };
        let chunks = self.chunks as f64;
        writeln!(
            f,
            "taken in   {} pieces of {} files ({:.1} MB) in {:.1} s: {:.0} pieces/s; a file p50/p95 {:.1}/{:.1} ms",
            self.chunks,
            self.files,
            self.bytes as f64 / 1e6,
            self.taken_in_s,
            rate(chunks, self.taken_in_s),
            self.file_ms.p50,
            self.file_ms.p95,
        )?;
        writeln!(f, "again      unchanged, in {:.1} s: {:.0} pieces/s", self.again_s, rate(chunks, self.again_s))?;
        let Some(Embedded { chunks, tokens, seconds }) = self.embedded else {
            return writeln!(f, "embedded   nothing: there is no embedder");
        };
        writeln!(
            f,
            "embedded   {chunks} pieces, {tokens} tokens in {seconds:.1} s: {:.0} pieces/s, {:.0} tokens/s",
            rate(chunks as f64, seconds),
            rate(tokens as f64, seconds),
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ergo::infer::FakeModels;

    #[test]
    fn every_piece_is_taken_in_once_and_gets_a_vector() {
        let folder = tempfile::tempdir().unwrap();
        let models = FakeModels::new().embedding(|text| Ok(FakeModels::bag_of_words(text)));
        let options = Options {
            chunks: 45,
            embed: usize::MAX,
            folder: folder.path().join("new"),
            models: Some(Arc::new(models)),
        };
        let report = run(&options, &mut |_| {}).unwrap();
        assert_eq!((report.files, report.chunks), (3, 45));
        let embedded = report.embedded.unwrap();
        assert!(embedded.chunks < 45 && embedded.chunks > 35, "the first few load the model: {embedded:?}");
        assert_eq!(report.to_string().lines().count(), 3);
        assert_eq!(std::fs::read_dir(folder.path().join("new")).unwrap().count(), 0, "nothing is left behind");
    }
}
