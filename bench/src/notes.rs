//! `ergo-bench notes`: which pairs of claims are taken to say the same, and how long the scan of a workspace takes.
//!
//! The pairs are in `pairs.jsonl`: two statements, whether they say the same, and the kind of pair. The workspace is made
//! up: projects with a CLAUDE.md each. Some rules are the project's own, others occur in several projects.

use std::{
    collections::BTreeMap,
    fmt, fs,
    path::{Path, PathBuf},
    time::{Duration, Instant},
};

use ergo::{
    api::{ClaimsQuery, NotesAddRequest, NotesRun, NotesScanRequest},
    client::Client,
    config::Paths,
    domain::{ClaimKind, Qualifiers, Scope, numeric, text::count},
    guard::Guard,
    infer::{Call, Models},
    notes::sameness::{Entailment, SameThresholds, is_same, may_be_same},
};
use serde::{Deserialize, Serialize};

use super::{
    bar::Bar,
    daemon::{BenchDaemon, runtime},
    error::BenchError,
    measure::{Quantiles, millis, read_json_lines, resident_memory},
    store, store_synth,
};

/// The deadline of a model's answer, of a saved rule, and of a scan that reduces the number of open pairs.
const TIMEOUT: Duration = Duration::from_mins(1);

/// A labelled pair.
#[derive(Clone, Debug, Deserialize)]
struct SamenessRow {
    a: String,
    b: String,
    same: bool,
    kind: String,
}

#[derive(Debug, Default, Serialize)]
pub struct SamenessReport {
    /// The number of pairs.
    pub pairs: usize,
    /// Of the pairs taken for the same, the share that are.
    pub precision: f64,
    /// Of the pairs that are the same, the share taken for the same.
    pub recall: f64,
    /// By kind of pair: the number taken for the same, and the number of pairs.
    pub by_kind: BTreeMap<String, (usize, usize)>,
    /// Other thresholds: cosine, entailment, precision, recall.
    pub thresholds: Vec<(f32, f32, f64, f64)>,
    /// Pairs each of which is the other's nearest among all statements.
    pub mutual: usize,
    /// Other cosine thresholds of such pairs: cosine, precision, recall.
    pub nearest: Vec<(f32, f64, f64)>,
    /// The wrong answers.
    pub errors: Vec<String>,
}

/// Measures which pairs are taken for the same.
pub fn pairs(data: &Path, models: &dyn Models, explain: bool) -> Result<SamenessReport, BenchError> {
    let rows: Vec<SamenessRow> = read_json_lines(data)?;
    let call = Call::background(TIMEOUT);
    let guard = Guard::default();
    let norms = |text: &str| guard.normalise_claim(ClaimKind::Convention, text, &Qualifiers::default()).norms;
    let mut statements: Vec<&str> = rows.iter().flat_map(|row| [&*row.a, &*row.b]).collect();
    statements.sort_unstable();
    statements.dedup();
    let mut vectors: BTreeMap<&str, Vec<f32>> = BTreeMap::new();
    for statement in statements {
        let vector = models.embed(&[statement.to_owned()], call)?.pop().unwrap_or_default();
        vectors.insert(statement, vector);
    }
    let cosine = |one: &str, other: &str| numeric::cosine(&vectors[one], &vectors[other]);
    let nearest = |one: &str| -> Option<&str> {
        let others = vectors.keys().filter(|other| **other != one).map(|other| (cosine(one, other), *other));
        others.max_by(|a, b| a.0.total_cmp(&b.0)).map(|(_, other)| other)
    };
    let mut scored = Vec::with_capacity(rows.len());
    for row in &rows {
        let cosine = cosine(&row.a, &row.b);
        let mutual = nearest(&row.a) == Some(&row.b) && nearest(&row.b) == Some(&row.a);
        let both = [(row.a.clone(), row.b.clone()), (row.b.clone(), row.a.clone())];
        let answers = models.classify(&both, call)?;
        let entailment = match answers.as_slice() {
            [forward, backward] => Entailment::of(forward.logits, backward.logits),
            _ => Entailment::default(),
        };
        scored.push((row, [norms(&row.a), norms(&row.b)], cosine, mutual, entailment));
    }
    let at = |from: SameThresholds| {
        let (mut hits, mut reported, mut all) = (0_usize, 0_usize, 0_usize);
        for (row, [a, b], cosine, mutual, entailment) in &scored {
            let found = is_same((&row.a, a), (&row.b, b), *cosine, *entailment, from.of_pair(*mutual));
            hits += usize::from(found && row.same);
            reported += usize::from(found);
            all += usize::from(row.same);
        }
        (hits as f64 / reported.max(1) as f64, hits as f64 / all.max(1) as f64)
    };
    let shipped = SameThresholds::default();
    let (precision, recall) = at(shipped);
    let mut report = SamenessReport { pairs: rows.len(), precision, recall, ..SamenessReport::default() };
    for cosine in [0.4, 0.5, 0.6, 0.7, 0.8] {
        for entailed in [0.2, 0.35, 0.5, 0.65, 0.8] {
            let (precision, recall) = at(SameThresholds { cosine, nearest: cosine, entailed });
            report.thresholds.push((cosine, entailed, precision, recall));
        }
    }
    report.mutual = scored.iter().filter(|(.., mutual, _)| *mutual).count();
    for nearest in [0.3, 0.35, 0.4, 0.45, 0.5, 0.55, 0.6] {
        let (precision, recall) = at(SameThresholds { nearest, ..shipped });
        report.nearest.push((nearest, precision, recall));
    }
    for (row, [a, b], cosine, mutual, entailment) in &scored {
        let found = is_same((&row.a, a), (&row.b, b), *cosine, *entailment, shipped.of_pair(*mutual));
        let count = report.by_kind.entry(row.kind.clone()).or_default();
        count.0 += usize::from(found);
        count.1 += 1;
        if explain && found != row.same {
            report.errors.push(format!(
                "{}: “{}” / “{}” (cosine {cosine:.2}, entailed {:.2} and {:.2}, words allow it: {})",
                if found { "wrongly the same" } else { "missed" },
                row.a,
                row.b,
                entailment.forward,
                entailment.backward,
                may_be_same((&row.a, a), (&row.b, b), 1.0, shipped)
            ));
        }
    }
    Ok(report)
}

impl fmt::Display for SamenessReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{} pairs: precision {:.3}, recall {:.3}", self.pairs, self.precision, self.recall)?;
        for (kind, (found, all)) in &self.by_kind {
            writeln!(f, "  {kind:<12} {found} of {all} taken for the same")?;
        }
        writeln!(f, "  cosine  entailed  precision  recall")?;
        for (cosine, entailed, precision, recall) in &self.thresholds {
            writeln!(f, "  {cosine:>6.2}  {entailed:>8.2}  {precision:>9.3}  {recall:>6.3}")?;
        }
        writeln!(f, "  least cosine of the {} pairs that are each other's nearest", self.mutual)?;
        for (cosine, precision, recall) in &self.nearest {
            writeln!(f, "  {cosine:>6.2}  {precision:>19.3}  {recall:>6.3}")?;
        }
        self.errors.iter().try_for_each(|error| writeln!(f, "  {error}"))
    }
}

/// Options of `ergo-bench notes --workspace`.
#[derive(Debug)]
pub struct WorkspaceOptions {
    pub projects: usize,
    /// Fragments per project.
    pub fragments: usize,
    /// Timed scans without a change.
    pub rescans: usize,
    /// The folder of home and workspace.
    pub folder: PathBuf,
    /// The program to run as the daemon.
    pub program: PathBuf,
}

#[derive(Debug, Default, Serialize)]
pub struct WorkspaceReport {
    pub projects: usize,
    /// Fragments of all projects.
    pub fragments: usize,
    /// The result of the first scan.
    pub first: NotesRun,
    /// Times of the scans for the pairs that exceeded the first scan's budget, in milliseconds.
    pub left_ms: Vec<u64>,
    /// The median of the scans without a change, in milliseconds.
    pub rescan_ms: f64,
    /// The slowest scan without a change, in milliseconds.
    pub slowest_ms: f64,
    /// The daemon's resident memory before and after the timed scans without a change, in kilobytes; 0 without `/proc`.
    pub memory_kb: (u64, u64),
    pub bars: Vec<Bar>,
}

impl fmt::Display for WorkspaceReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let NotesRun { stored, known, refused, merged, cards, doubts, inferred, left, .. } = self.first;
        writeln!(
            f,
            "{}, {}",
            count(self.projects, "project", "projects"),
            count(self.fragments, "fragment", "fragments")
        )?;
        writeln!(
            f,
            "first scan: {stored} stored, {known} known, {refused} refused, {merged} the same, {cards} cards, {doubts} in doubt, {inferred} pairs inferred, {left} left"
        )?;
        if !self.left_ms.is_empty() {
            writeln!(
                f,
                "the {} scans that worked off the rest: {} ms",
                self.left_ms.len(),
                self.left_ms.iter().sum::<u64>()
            )?;
        }
        writeln!(f, "scans without a change: median {:.0} ms, slowest {:.0} ms", self.rescan_ms, self.slowest_ms)?;
        writeln!(f, "memory: {} kB before and {} kB after", self.memory_kb.0, self.memory_kb.1)?;
        writeln!(f, "\n{}", Bar::heading("workspace"))?;
        self.bars.iter().try_for_each(|bar| writeln!(f, "{bar}"))
    }
}

/// Timed saves of a watched file.
const SAVES: usize = 5;

/// Scans without a change before the memory is read for the first time: some things are loaded once.
const SETTLING_SCANS: usize = 20;

/// The growth of memory over the scans without a change that still counts as flat, in percent: allocators keep pages of
/// what was freed.
const MAX_GROWTH_PERCENT: f64 = 5.0;

/// Measures the scan of a made-up workspace.
pub fn workspace(options: &WorkspaceOptions, progress: &mut dyn FnMut(&str)) -> Result<WorkspaceReport, BenchError> {
    runtime()?.block_on(measure_workspace(options, progress))
}

async fn measure_workspace(
    options: &WorkspaceOptions,
    progress: &mut dyn FnMut(&str),
) -> Result<WorkspaceReport, BenchError> {
    let (home, work) = (options.folder.join("home"), options.folder.join("work"));
    fs::create_dir_all(&home).map_err(BenchError::io(&home))?;
    let paths = Paths::under(&home);
    let settings = paths.config.clone();
    let configure = |watch: bool| {
        fs::write(&settings, format!("[daemon]\ntcp = false\n[notes]\nwatch = {watch}\n"))
            .map_err(BenchError::io(&home))
    };
    // A watched workspace would be read when it is added, and not by the timed scan.
    configure(false)?;
    let mut last = work.clone();
    for project in 0..options.projects {
        let folder = work.join(project_name(project));
        fs::create_dir_all(&folder).map_err(BenchError::io(&folder))?;
        last = folder.join("CLAUDE.md");
        fs::write(&last, rules(project, options.fragments)).map_err(BenchError::io(&folder))?;
    }
    let mut daemon = BenchDaemon::new(paths, options.program.clone())?;
    daemon.start().await?;
    let caller = store::caller(Scope { org_id: "bench".into(), project: "notes".into() });
    let add = NotesAddRequest { caller: caller.clone(), paths: vec![work.display().to_string()], remove: false };
    daemon.client.notes_add(&add).await?;
    let request = NotesScanRequest { caller, path: None };
    progress("first scan");
    let began = Instant::now();
    let first = daemon.client.notes_scan(&request).await?;
    let first_s = began.elapsed().as_secs_f64();
    // The pairs that exceeded the budget are compared before other scans are timed.
    let (mut left, mut left_ms) = (first.left, Vec::new());
    let mut last_decrease = Instant::now();
    while left > 0 {
        progress(&format!("{left} pairs are left"));
        let run = daemon.client.notes_scan(&request).await?;
        left_ms.push(run.took_ms);
        if run.left < left {
            last_decrease = Instant::now();
        } else if last_decrease.elapsed() > TIMEOUT {
            let what = format!("a scan compared some of the {} pairs that are left", run.left);
            return Err(BenchError::Late { what, log: daemon.log() });
        }
        left = run.left;
    }
    let mut times = Vec::with_capacity(options.rescans);
    let mut before = 0;
    for at in 0..SETTLING_SCANS + options.rescans {
        progress(&format!("scan {} without a change", at + 1));
        if at == SETTLING_SCANS {
            before = memory_kb(&daemon);
        }
        let began = Instant::now();
        daemon.client.notes_scan(&request).await?;
        if at >= SETTLING_SCANS {
            times.push(millis(began.elapsed()));
        }
    }
    let after = memory_kb(&daemon);
    daemon.stop().await?;
    configure(true)?;
    daemon.start().await?;
    let mut saved = Duration::ZERO;
    // The first save is not timed: it may come before the daemon watches the file.
    for at in 0..=SAVES {
        progress(&format!("save {}", at + 1));
        // No two of these contradict each other: a refused rule would never be stored.
        let rule = store_synth::statement(2_000_000 + at) + ".";
        let text = fs::read_to_string(&last).map_err(BenchError::io(&last))? + &format!("\n## More {at}\n\n- {rule}\n");
        fs::write(&last, text).map_err(BenchError::io(&last))?;
        let project = project_name(options.projects.saturating_sub(1));
        let Some(took) = until_stored(&daemon.client, &project, &rule, TIMEOUT).await? else {
            return Err(BenchError::Late { what: format!("the saved rule “{rule}” is stored"), log: daemon.log() });
        };
        saved = if at == 0 { saved } else { saved.max(took) };
    }
    daemon.stop().await?;
    let Quantiles { p50: rescan_ms, max: slowest_ms, .. } = Quantiles::of(times);
    let growth = 100.0 * (after as f64 - before as f64) / before.max(1) as f64;
    Ok(WorkspaceReport {
        projects: options.projects,
        fragments: first.fragments,
        first,
        left_ms,
        rescan_ms,
        slowest_ms,
        memory_kb: (before, after),
        bars: vec![
            Bar::new("first scan, with embeddings", first_s, 60.0, "s"),
            Bar::new("scan without a change, median", rescan_ms, 300.0, "ms"),
            Bar::new("a save until it is in the store, slowest", millis(saved), 1_000.0, "ms"),
            Bar::new("growth of memory over these scans", growth, MAX_GROWTH_PERCENT, "%"),
        ],
    })
}

/// Returns the name of a project and its folder.
fn project_name(project: usize) -> String {
    format!("project-{project:02}")
}

/// Waits until a rule is stored as one of the newest claims of a project. Returns the time that this took; `None` if it
/// did not happen within `timeout`.
async fn until_stored(
    client: &Client,
    project: &str,
    rule: &str,
    timeout: Duration,
) -> Result<Option<Duration>, BenchError> {
    let query = ClaimsQuery {
        org_id: Some("bench".into()),
        project: Some(project.to_owned()),
        limit: Some(5),
        ..ClaimsQuery::default()
    };
    let began = Instant::now();
    while began.elapsed() <= timeout {
        let newest = client.claims(&query).await?.items;
        if newest.iter().any(|claim| claim.statement == rule) {
            return Ok(Some(began.elapsed()));
        }
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    Ok(None)
}

/// Returns the rule file of a project: fragments of a heading and a rule. Every fourth rule also occurs in other
/// projects.
fn rules(project: usize, fragments: usize) -> String {
    let mut text = "# Rules\n".to_owned();
    for at in 0..fragments {
        let rule = if at % 4 == 0 {
            store_synth::statement(1_000_000 + at * 7 + project % 5)
        } else {
            store_synth::statement(project * fragments + at)
        };
        text.extend(["\n## Part ", &at.to_string(), "\n\n- ", &rule, ".\n"]);
    }
    text
}

/// Returns the resident memory of a daemon in kilobytes; 0 without `/proc`.
fn memory_kb(daemon: &BenchDaemon) -> u64 {
    daemon.pid().and_then(resident_memory).unwrap_or_default() / 1024
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use ergo::{
        api::{Change, ClaimsPage},
        client::{Api, ByteStream, ClientError, Download, Request, Response},
    };
    use futures_util::{
        FutureExt, StreamExt,
        future::{self, BoxFuture},
        stream::{self, BoxStream},
    };

    use super::*;

    /// A daemon that stores nothing.
    #[derive(Debug)]
    struct EmptyDaemon;

    impl EmptyDaemon {
        fn unused<T: Send + 'static>() -> BoxFuture<'static, T> {
            future::pending().boxed()
        }
    }

    impl Api for EmptyDaemon {
        fn send(&self, _: Request) -> BoxFuture<'_, Result<Response, ClientError>> {
            let body = serde_json::to_vec(&ClaimsPage::default()).unwrap().into();
            future::ready(Ok(Response { status: 200, body, version: None })).boxed()
        }

        fn upload(&self, _: Request, _: ByteStream) -> BoxFuture<'_, Result<Response, ClientError>> {
            Self::unused()
        }

        fn download(&self, _: Request) -> BoxFuture<'_, Result<Download, ClientError>> {
            Self::unused()
        }

        fn changes(&self) -> BoxStream<'static, Result<Change, ClientError>> {
            stream::empty().boxed()
        }

        fn place(&self) -> String {
            "nowhere".to_owned()
        }
    }

    #[test]
    fn a_rule_that_is_never_stored_has_no_time() {
        let client = Client::new(Arc::new(EmptyDaemon));
        let waiting = until_stored(&client, "project-00", "Use tabs.", Duration::from_millis(20));
        assert_eq!(runtime().unwrap().block_on(waiting).unwrap(), None);
    }
}
