//! `ergo-bench ingest`: measures how fast files are ingested, and how fast their chunks get vectors.
//!
//! The files are made-up Markdown with sections of about a hundred words. Each section becomes a chunk. Each file goes
//! through the engine's real path, one act per file, into a store file that waits for the disk.

use std::{fmt, path::PathBuf, sync::Arc, time::Instant};

use serde::Serialize;

use super::{
    error::BenchError,
    measure::{Quantiles, millis},
    store, store_synth as synth,
};
use ergo::{
    api::IngestRequest,
    engine::{Engine, EngineConfig},
    guard::Guard,
    infer::{ModelRole, Models, NoModels},
};

const CHUNKS_PER_FILE: usize = 20;

const STATEMENTS_PER_CHUNK: usize = 12;

/// Options of `ergo-bench ingest`.
pub struct IngestOptions {
    /// Chunks to ingest.
    pub chunks: usize,
    /// The number of these chunks that are embedded.
    pub embed: usize,
    /// The folder of the temporary store.
    pub folder: PathBuf,
    /// The models; without an embedder no chunk gets a vector.
    pub models: Option<Arc<dyn Models>>,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct IngestBenchReport {
    pub files: usize,
    /// Chunks of all files.
    pub chunks: usize,
    /// Length of all texts, in bytes.
    pub bytes: usize,
    /// Seconds until all files were ingested.
    pub taken_in_s: f64,
    /// Time per file, in milliseconds.
    pub file_ms: Quantiles,
    /// Seconds for ingesting all files again, unchanged.
    pub again_s: f64,
    /// The vectors; absent without an embedder.
    pub embedded: Option<EmbeddedChunks>,
}

/// The speed of embedding.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct EmbeddedChunks {
    pub chunks: usize,
    /// Tokens that the embedder read.
    pub tokens: u64,
    /// Seconds, including the time to write the vectors.
    pub seconds: f64,
}

/// Ingests files, ingests them again unchanged, and embeds their chunks.
///
/// # Errors
/// Also if ingesting a file again adds or retires chunks.
pub fn run(options: &IngestOptions, progress: &mut dyn FnMut(&str)) -> Result<IngestBenchReport, BenchError> {
    std::fs::create_dir_all(&options.folder).map_err(BenchError::io(&options.folder))?;
    let path = options.folder.join("bench-ingest.db");
    store::remove(&path)?;
    let models = options.models.clone().unwrap_or_else(|| Arc::new(NoModels));
    let engine =
        Engine::open_with_models(EngineConfig::new(&path, store::key()), Guard::default(), Arc::clone(&models))?;
    let files: Vec<IngestRequest> =
        (0..options.chunks.div_ceil(CHUNKS_PER_FILE)).map(|n| file(n, options.chunks)).collect();
    let bytes = files.iter().filter_map(|file| file.text.as_deref()).map(str::len).sum();
    let mut report = IngestBenchReport { files: files.len(), bytes, ..IngestBenchReport::default() };
    progress(&format!("taking in {} pieces", options.chunks));
    let (mut times, begun) = (Vec::with_capacity(files.len()), Instant::now());
    for file in &files {
        let begun = Instant::now();
        report.chunks += engine.ingest(file)?.added;
        times.push(millis(begun.elapsed()));
    }
    report.taken_in_s = begun.elapsed().as_secs_f64();
    report.file_ms = Quantiles::of(times);
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
        // The first call loads the model, and is not measured.
        engine.fill_vectors()?;
        let (before, begun, mut chunks) = (models.info().embedded_tokens, Instant::now(), 0);
        while chunks < options.embed {
            match engine.fill_vectors()? {
                0 => break,
                some => chunks += some,
            }
        }
        let tokens = models.info().embedded_tokens - before;
        report.embedded = Some(EmbeddedChunks { chunks, tokens, seconds: begun.elapsed().as_secs_f64() });
    }
    drop(engine);
    store::remove(&path)?;
    Ok(report)
}

/// Returns the request that ingests file `n`; all files together have `chunks` chunks.
fn file(n: usize, chunks: usize) -> IngestRequest {
    let numbers = n * CHUNKS_PER_FILE..chunks.min((n + 1) * CHUNKS_PER_FILE);
    let section = |chunk: usize| {
        let statements = (chunk * STATEMENTS_PER_CHUNK..(chunk + 1) * STATEMENTS_PER_CHUNK).map(synth::statement);
        format!("# Part {chunk}\n\n{}.\n", statements.collect::<Vec<_>>().join(".\n"))
    };
    let caller = store::caller(store::scope());
    let text = numbers.map(section).collect::<Vec<_>>().join("\n");
    IngestRequest { caller, path: format!("docs/{n}.md"), text: Some(text), share: false }
}

impl fmt::Display for IngestBenchReport {
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
        let Some(EmbeddedChunks { chunks, tokens, seconds }) = self.embedded else {
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
        let options = IngestOptions {
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
