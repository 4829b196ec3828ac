//! `ergo-bench notes`: which pairs of claims are taken for the same, and how long the scan of a workspace takes.
//!
//! The pairs are `pairs.jsonl`: two statements, whether they say the same, and what sort of pair it is. The workspace is made up: projects with
//! a CLAUDE.md each, whose rules are partly their own and partly shared with others.

use std::{
    collections::BTreeMap,
    fmt, fs,
    path::{Path, PathBuf},
    time::{Duration, Instant},
};

use ergo::{
    api::{Caller, ClaimsQuery, NotesAddRequest, NotesRun, NotesScanRequest},
    config::Paths,
    domain::{ClaimKind, Qualifiers, text::count},
    guard::Guard,
    infer::{Call, Models},
    notes::sameness::{Entailment, SameThresholds, is_same, may_be_same},
};
use serde::{Deserialize, Serialize};

use super::{bar::Bar, daemon::Daemon, store::BenchError, store_synth};

/// The largest data file that is read, in bytes.
const MAX_FILE: u64 = 16 * 1024 * 1024;

/// How long one pair may take.
const PATIENCE: Duration = Duration::from_mins(1);

/// A labelled pair.
#[derive(Clone, Debug, Deserialize)]
struct PairRow {
    a: String,
    b: String,
    same: bool,
    kind: String,
}

/// What was measured of pairs.
#[derive(Debug, Default, Serialize)]
pub struct PairReport {
    /// The pairs.
    pub pairs: usize,
    /// Of the pairs taken for the same, the share that are.
    pub precision: f64,
    /// Of the pairs that are the same, the share taken for it.
    pub recall: f64,
    /// Taken for the same, of all, by sort of pair.
    pub by_kind: BTreeMap<String, (usize, usize)>,
    /// Precision and recall at other thresholds: cosine, entailment, precision, recall.
    pub thresholds: Vec<(f32, f32, f64, f64)>,
    /// Pairs each of which is the other's nearest among all statements.
    pub mutual: usize,
    /// Precision and recall at other least cosines of such pairs: cosine, precision, recall.
    pub nearest: Vec<(f32, f64, f64)>,
    /// The wrong answers.
    pub errors: Vec<String>,
}

/// Measures which pairs are taken for the same.
///
/// # Errors
/// If the file cannot be read, or a model fails.
pub fn pairs(data: &Path, models: &dyn Models, explain: bool) -> anyhow::Result<PairReport> {
    let text = ergo::files::text(data, MAX_FILE)?;
    let rows: Vec<PairRow> = text.lines().map(serde_json::from_str).collect::<Result<_, _>>()?;
    let call = Call::background(PATIENCE);
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
    let cosine = |one: &str, other: &str| -> f32 { vectors[one].iter().zip(&vectors[other]).map(|(x, y)| x * y).sum() };
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
    let mut report = PairReport { pairs: rows.len(), precision, recall, ..PairReport::default() };
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

impl fmt::Display for PairReport {
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

/// What the measurement of a workspace needs.
#[derive(Debug)]
pub struct Options {
    /// Projects.
    pub projects: usize,
    /// Fragments of each project.
    pub fragments: usize,
    /// Scans without a change that are timed.
    pub rescans: usize,
    /// The folder for home and workspace.
    pub folder: PathBuf,
    /// The program of the daemon.
    pub program: PathBuf,
}

/// What was measured of a workspace.
#[derive(Debug, Default, Serialize)]
pub struct WorkspaceReport {
    /// Projects.
    pub projects: usize,
    /// Fragments in all.
    pub fragments: usize,
    /// What the first scan did.
    pub first: NotesRun,
    /// The scans that the first one's budget left over, in milliseconds each.
    pub left_ms: Vec<u64>,
    /// The median of the scans without a change, in milliseconds.
    pub rescan_ms: u64,
    /// The slowest of them.
    pub slowest_ms: u64,
    /// The daemon's resident memory once it had settled, and after the last scan without a change, in kilobytes.
    pub memory_kb: (u64, u64),
    /// The figures beside what they should be at most.
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
        writeln!(f, "scans without a change: median {} ms, slowest {} ms", self.rescan_ms, self.slowest_ms)?;
        writeln!(f, "memory: {} kB before and {} kB after", self.memory_kb.0, self.memory_kb.1)?;
        writeln!(f, "\n{}", Bar::heading("workspace"))?;
        self.bars.iter().try_for_each(|bar| writeln!(f, "{bar}"))
    }
}

/// Saves that are timed.
const SAVES: usize = 5;

/// Scans without a change before the memory is looked at: what is loaded once is loaded then.
const SETTLING: usize = 20;

/// By how much the memory may grow over the scans without a change and still be called flat, in percent: allocators keep pages of what was freed.
const FLAT: f64 = 5.0;

/// Measures the scan of a workspace.
///
/// # Errors
/// If the daemon fails, or a file cannot be written.
pub async fn workspace(options: &Options, progress: &mut dyn FnMut(String)) -> Result<WorkspaceReport, BenchError> {
    let io = |path: &Path| {
        let path = path.to_owned();
        move |error: std::io::Error| BenchError::Io { path: path.clone(), error }
    };
    let (home, work) = (options.folder.join("home"), options.folder.join("work"));
    fs::create_dir_all(&home).map_err(io(&home))?;
    let paths = Paths::under(&home);
    let settings = paths.config.clone();
    let configure = |watch: bool| {
        fs::write(&settings, format!("[daemon]\ntcp = false\n[notes]\nwatch = {watch}\n")).map_err(io(&home))
    };
    // What is watched would be read when it is added, and not by the scan that is timed.
    configure(false)?;
    let mut last = work.clone();
    for project in 0..options.projects {
        let folder = work.join(project_name(project));
        fs::create_dir_all(&folder).map_err(io(&folder))?;
        last = folder.join("CLAUDE.md");
        fs::write(&last, rules(project, options.fragments)).map_err(io(&folder))?;
    }
    let mut daemon = Daemon::new(paths, options.program.clone())?;
    daemon.start().await?;
    let caller = Caller { org_id: "bench".into(), project: "notes".into(), who: "bench".into(), ..Caller::default() };
    let add = NotesAddRequest { caller: caller.clone(), paths: vec![work.display().to_string()], remove: false };
    daemon.client.notes_add(&add).await?;
    let request = NotesScanRequest { caller, path: None };
    progress("first scan".to_owned());
    let began = Instant::now();
    let first = daemon.client.notes_scan(&request).await?;
    let first_s = began.elapsed().as_secs_f64();
    // What the budget of one run left over is done before others are timed.
    let (mut left, mut left_ms) = (first.left, Vec::new());
    while left > 0 {
        progress(format!("{left} pairs are left"));
        let run = daemon.client.notes_scan(&request).await?;
        left = run.left;
        left_ms.push(run.took_ms);
    }
    let mut times = Vec::with_capacity(options.rescans);
    let mut before = 0;
    for at in 0..SETTLING + options.rescans {
        progress(format!("scan {} without a change", at + 1));
        if at == SETTLING {
            before = memory(daemon.pid());
        }
        let began = Instant::now();
        daemon.client.notes_scan(&request).await?;
        if at >= SETTLING {
            times.push(began.elapsed().as_millis() as u64);
        }
    }
    let after = memory(daemon.pid());
    daemon.stop().await?;
    configure(true)?;
    daemon.start().await?;
    let mut saved = Duration::ZERO;
    // The first save may come before the daemon watches.
    for at in 0..=SAVES {
        progress(format!("save {}", at + 1));
        // No two of these contradict each other: a refused rule would never be stored.
        let rule = store_synth::statement(2_000_000 + at) + ".";
        let text = fs::read_to_string(&last).map_err(io(&last))? + &format!("\n## More {at}\n\n- {rule}\n");
        fs::write(&last, text).map_err(io(&last))?;
        let took = until_stored(&daemon, &project_name(options.projects.saturating_sub(1)), &rule).await?;
        saved = if at == 0 { saved } else { saved.max(took) };
    }
    daemon.stop().await?;
    times.sort_unstable();
    let rescan_ms = times.get(times.len() / 2).copied().unwrap_or_default();
    let growth = 100.0 * (after as f64 - before as f64) / before.max(1) as f64;
    Ok(WorkspaceReport {
        projects: options.projects,
        fragments: first.fragments,
        first,
        left_ms,
        rescan_ms,
        slowest_ms: times.last().copied().unwrap_or_default(),
        memory_kb: (before, after),
        bars: vec![
            Bar::new("first scan, with embeddings", first_s, 60.0, "s"),
            Bar::new("scan without a change, median", rescan_ms as f64, 300.0, "ms"),
            Bar::new("a save until it is in the store, slowest", saved.as_secs_f64() * 1_000.0, 1_000.0, "ms"),
            Bar::new("growth of memory over these scans", growth, FLAT, "%"),
        ],
    })
}

/// The name of a project's folder, and so of the project.
fn project_name(project: usize) -> String {
    format!("project-{project:02}")
}

/// Waits until a watched file's new rule is a claim; returns how long that took.
async fn until_stored(daemon: &Daemon, project: &str, rule: &str) -> Result<Duration, BenchError> {
    let query = ClaimsQuery {
        org_id: Some("bench".into()),
        project: Some(project.to_owned()),
        limit: Some(5),
        ..ClaimsQuery::default()
    };
    let began = Instant::now();
    loop {
        let newest = daemon.client.claims(&query).await?.items;
        if newest.iter().any(|claim| claim.statement == rule) || began.elapsed() > PATIENCE {
            return Ok(began.elapsed());
        }
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
}

/// The rules of a project: a heading and a rule each; every fourth rule is one that other projects have, too.
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

/// The resident memory of a process, in kilobytes; 0 if the system does not say.
fn memory(pid: Option<u32>) -> u64 {
    let Some(pid) = pid else { return 0 };
    let status = fs::read_to_string(format!("/proc/{pid}/status")).unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
    line.and_then(|line| line.trim().split(' ').next()?.parse().ok()).unwrap_or_default()
}
