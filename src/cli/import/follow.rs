//! Following rule files: what of a file is stored, replaced and retired when it is imported again.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    path::{Path, PathBuf},
};

use serde::{Deserialize, Serialize};

use super::{
    How,
    report::Left,
    scope,
    send::{Row, Sender},
};
use crate::{
    api::{ClaimView, ClaimsQuery, MAX_PAGE},
    cli::{CliError, Context, show::text::count, ui::Style},
    client::Client,
    config::record::write_private,
    domain::{ClaimId, Scope, Status, text::sanitize_line},
    files,
    interchange::{
        follow::{Fate, Line, compare},
        rules::is_from,
    },
};

/// Grows whenever the reader takes other claims from the same text, so that files are read anew.
const READER: u32 = 1;

/// The largest list of imported files that is read, in bytes.
const MAX_SEEN: u64 = 4 * 1024 * 1024;

/// A file as it is now.
pub(super) struct File {
    /// The hash of its text.
    pub(super) hash: String,
    /// The repository that it belongs to, else the folder; empty for standard input.
    pub(super) origin: String,
    /// Its path, as it stands in sources.
    pub(super) path: String,
    /// Its name, as it stands in reasons.
    pub(super) name: String,
    /// Its rules.
    pub(super) rows: Vec<Row>,
    /// What in it became none.
    pub(super) left: Vec<Left>,
}

/// A file, and what became of it since it was last imported.
struct Compared {
    file: File,
    /// It is as it was then: nothing was compared.
    untouched: bool,
    /// For each row.
    fates: Vec<Fate>,
    /// What came from it before.
    earlier: Vec<ClaimView>,
    /// Claims in force whose lines are gone, by index.
    gone: Vec<usize>,
}

/// Files that were compared with what came from them before.
pub(super) struct Followed {
    files: Vec<Compared>,
    seen: Seen,
    scope: Scope,
    place: String,
}

/// What this machine knows of a file that was imported without anything being refused.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
struct Import {
    hash: String,
    reader: u32,
    /// A claim that the import stored, kept or retired, and how it stood afterwards: an undo of the import changes that.
    probe: ClaimId,
    in_force: bool,
    /// The claims that came from it: a file of another repository with the same path does not change them.
    claims: BTreeSet<ClaimId>,
}

/// Which repository, or else which folder, a file belongs to.
pub(super) fn origin(file: &Path) -> String {
    if file.as_os_str() == "-" {
        return String::new();
    }
    let real = fs::canonicalize(file).unwrap_or_else(|_| file.to_owned());
    let folder = real.parent().map(Path::to_owned).unwrap_or_default();
    scope::project_of(&folder).identities.into_iter().next().unwrap_or_else(|| folder.display().to_string())
}

/// The files that were imported on this machine, by daemon, scope, origin and path.
#[derive(Debug, Default)]
struct Seen {
    path: PathBuf,
    imports: BTreeMap<String, Import>,
}

impl Seen {
    fn load(cx: &Context) -> Result<Self, CliError> {
        let path = cx.paths()?.state.join("imports.json");
        let text = files::text(&path, MAX_SEEN).unwrap_or_default();
        Ok(Self { path, imports: serde_json::from_str(&text).unwrap_or_default() })
    }

    fn save(&self) {
        // A list that cannot be written is written the next time.
        let _kept = serde_json::to_string(&self.imports).ok().and_then(|text| {
            fs::create_dir_all(self.path.parent()?).ok()?;
            write_private(&self.path, text.as_bytes()).ok()
        });
    }
}

impl Followed {
    /// Compares files with what came from them before. A dry run in a home without a store asks no daemon.
    pub(super) async fn compare(cx: &mut Context, files: Vec<File>, how: How) -> Result<Self, CliError> {
        let new = |file: File| Compared {
            fates: vec![Fate::New; file.rows.len()],
            untouched: false,
            earlier: Vec::new(),
            gone: Vec::new(),
            file,
        };
        if how.dry_run && std::env::var_os("ERGO_API_URL").is_none() && !cx.paths()?.store().exists() {
            let scope = cx.here()?.scope;
            let files = files.into_iter().map(new).collect();
            return Ok(Self { files, seen: Seen::default(), scope, place: String::new() });
        }
        let client = cx.client().await?;
        let scope = cx.known_scope(&client).await?;
        let seen = Seen::load(cx)?;
        let mut out = Self { files: Vec::new(), seen, scope, place: client.place() };
        for file in files {
            let known = out.seen.imports.get(&out.key(&file)).filter(|_| !how.dry_run && !how.details).cloned();
            let known = known.filter(|known| known.hash == file.hash && known.reader == READER);
            let compared = if let Some(known) = known
                && stands(&client, &known).await
            {
                Compared { untouched: true, ..new(File { rows: Vec::new(), left: Vec::new(), ..file }) }
            } else if file.origin.is_empty() {
                // What comes on standard input has no earlier version.
                new(file)
            } else {
                let others = out.of_others(&file);
                let mut earlier = earlier(&client, &out.scope, &file).await?;
                earlier.retain(|claim| !others.contains(&claim.id));
                difference(file, earlier)
            };
            out.files.push(compared);
        }
        Ok(out)
    }

    fn key(&self, file: &File) -> String {
        [&self.place, &self.scope.to_string(), &file.path, &file.origin].map(|part| part.replace('\n', " ")).join("\n")
    }

    /// The claims that came from files with this path in other repositories.
    fn of_others(&self, file: &File) -> BTreeSet<ClaimId> {
        let (own, path) = (self.key(file), format!("{}\n", file.path));
        let others = self.seen.imports.iter().filter(|(key, _)| **key != own && key.contains(&path));
        others.flat_map(|(_, import)| import.claims.iter().copied()).collect()
    }

    /// The rows that are new, or a new version of what was stored.
    pub(super) fn to_store(&self) -> Vec<Row> {
        let rows = self.files.iter().flat_map(|one| one.file.rows.iter().zip(&one.fates));
        rows.filter(|(_, fate)| matches!(fate, Fate::New | Fate::Changed(_))).map(|(row, _)| row.clone()).collect()
    }

    /// What became no row.
    pub(super) fn left(&self) -> Vec<Left> {
        self.files.iter().flat_map(|one| one.file.left.iter().cloned()).collect()
    }

    /// Makes memory as the files are: retires what is gone, replaces what changed, stores what is new.
    pub(super) async fn send(mut self, cx: &mut Context, sender: &mut Sender) -> Result<(), CliError> {
        let mut probes: Vec<Option<(ClaimId, bool)>> = vec![None; self.files.len()];
        let mut claims: Vec<BTreeSet<ClaimId>> = vec![BTreeSet::new(); self.files.len()];
        for ((one, probe), claims) in self.files.iter().zip(&mut probes).zip(&mut claims) {
            if one.untouched {
                sender.report.untouched.push(one.file.path.clone());
            }
            for old in one.gone.iter().filter_map(|at| one.earlier.get(*at)) {
                let reason = format!("No longer in {}.", one.file.path);
                if sender.retire(old, &reason).await? {
                    *probe = Some((old.id, false));
                }
            }
            for (row, fate) in one.file.rows.iter().zip(&one.fates) {
                if let Fate::Same(old) | Fate::Moved(old) = fate
                    && let Some(old) = one.earlier.get(*old)
                {
                    sender.report.same(row, old.id);
                    claims.insert(old.id);
                    probe.get_or_insert((old.id, old.status == Status::Active));
                }
            }
        }
        let mut waiting: Vec<(usize, Row)> = Vec::new();
        for (at, one) in self.files.iter().enumerate() {
            for (row, fate) in one.file.rows.iter().zip(&one.fates) {
                if let Fate::Changed(old) = fate
                    && let Some(old) = one.earlier.get(*old)
                {
                    waiting.push((at, Row { targets: vec![old.id], ..row.clone() }));
                }
            }
        }
        let new = self.files.iter().enumerate().flat_map(|(at, one)| {
            let rows = one.file.rows.iter().zip(&one.fates).filter(|(_, fate)| **fate == Fate::New);
            rows.map(move |(row, _)| (at, row.clone()))
        });
        let new: Vec<(usize, Row)> = new.collect();
        let total = waiting.len() + new.len();
        let mut new = new.into_iter();
        for done in 1..=total {
            let next =
                if waiting.is_empty() { new.next() } else { Some(waiting.remove(first_free(sender, &waiting).await)) };
            let Some((at, row)) = next else { break };
            cx.ui.progress(text!("importing {} of {}", done, total));
            if let Some(id) = sender.put(&row).await?
                && let (Some(probe), Some(claims)) = (probes.get_mut(at), claims.get_mut(at))
            {
                *probe = Some((id, true));
                claims.insert(id);
            }
        }
        // What was refused is tried again the next time.
        let refused = sender.report.has_refused();
        for ((one, probe), claims) in self.files.iter().zip(probes).zip(claims).filter(|((one, _), _)| !one.untouched) {
            if let Some((probe, in_force)) = probe {
                let key = self.key(&one.file);
                let hash = if refused { String::new() } else { one.file.hash.clone() };
                // What it stored before stays its own, whatever became of it.
                let before = self.seen.imports.remove(&key).map(|before| before.claims).unwrap_or_default();
                let claims = claims.into_iter().chain(before).collect();
                self.seen.imports.insert(key, Import { hash, reader: READER, probe, in_force, claims });
            }
        }
        self.seen.save();
        Ok(())
    }

    /// Shows the difference as a table, or as JSON.
    pub(super) fn show(&self, cx: &mut Context, details: bool) {
        let mut rows = Vec::new();
        for one in &self.files {
            for (row, fate) in one.file.rows.iter().zip(&one.fates) {
                let old = match fate {
                    Fate::Same(old) | Fate::Moved(old) | Fate::Changed(old) => one.earlier.get(*old),
                    Fate::New => None,
                };
                rows.push((word(*fate), Some(row), old));
            }
            rows.extend(one.gone.iter().map(|at| ("gone", None, one.earlier.get(*at))));
        }
        let left = self.left();
        if cx.ui.json {
            let rows: Vec<_> = rows
                .iter()
                .map(|(change, row, old)| {
                    serde_json::json!({
                        "change": change,
                        "statement": row.map_or_else(|| old.map(|old| &old.statement), |row| Some(&row.claim.statement)),
                        "kind": row.map_or_else(|| old.map(|old| old.kind), |row| row.claim.kind),
                        "reason": row.and_then(|row| row.claim.reason.as_ref()),
                        "source": row.map_or_else(|| old.and_then(|old| old.source.as_ref()), |row| Some(&row.source)),
                        "before": old.map(|old| serde_json::json!({ "claim_id": old.id, "statement": old.statement, "source": old.source })),
                    })
                })
                .collect();
            cx.ui.value(&serde_json::json!({ "dry_run": true, "rows": rows, "skipped": left }));
            return;
        }
        let ui = &mut cx.ui;
        let of = |row: Option<&Row>, old: Option<&ClaimView>| {
            let source = row.map_or_else(|| old.and_then(|old| old.source.clone()), |row| Some(row.source.clone()));
            sanitize_line(&source.unwrap_or_default())
        };
        let width = rows.iter().map(|(_, row, old)| of(*row, *old).chars().count()).max().unwrap_or_default();
        let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
        for (change, row, old) in &rows {
            *counts.entry(change).or_default() += 1;
            if *change == "same" && !details {
                continue;
            }
            let source = format!("{:<width$}", of(*row, *old));
            let kind = row.map_or_else(|| old.map(|old| old.kind), |row| row.claim.kind).unwrap_or_default();
            let style = match *change {
                "new" => Style::Good,
                "gone" => Style::Bad,
                "changed" => Style::Warn,
                _ => Style::Dim,
            };
            let change_word = ui.paint(style, format_args!("{change:<7}"));
            let statement =
                row.map_or_else(|| old.map(|old| old.statement.clone()), |row| Some(row.claim.statement.clone()));
            ui.line(text!(
                "{}  {}  {}  {}",
                change_word,
                format_args!("{kind:<10}"),
                source,
                statement.unwrap_or_default()
            ));
            if let Some(old) = old
                && matches!(*change, "changed" | "moved")
            {
                let before = format!(
                    "before   {:<10}  {:<width$}  {}",
                    "",
                    old.source.clone().unwrap_or_default(),
                    old.statement
                );
                let before = ui.paint(Style::Dim, sanitize_line(&before));
                ui.line(before);
            }
        }
        if details {
            for one in &left {
                let line = format!("skipped  {}  {} ({})", one.source(), one.why(), one.text());
                let line = ui.fit(&line, 0);
                let line = ui.paint(Style::Dim, line);
                ui.line(line);
            }
        }
        let of = |change: &str| counts.get(change).copied().unwrap_or_default();
        let told = format!(
            "{} new, {} changed, {} moved, {} gone, {} the same; {} skipped. Nothing was stored.",
            of("new"),
            of("changed"),
            of("moved"),
            of("gone"),
            of("same"),
            count(left.len(), "place", "places"),
        );
        ui.line(text!("{}", told));
    }
}

/// Returns the index of the first new version that no other line's old version stands against: those others go first. 0 if there is none.
async fn first_free(sender: &Sender, waiting: &[(usize, Row)]) -> usize {
    if waiting.len() < 2 {
        return 0;
    }
    for (at, (_, row)) in waiting.iter().enumerate() {
        let targets = waiting.iter().flat_map(|(_, row)| row.targets.iter().copied());
        let others: Vec<ClaimId> = targets.filter(|id| !row.targets.contains(id)).collect();
        if !sender.waits_for(row, &others).await.unwrap_or(false) {
            return at;
        }
    }
    0
}

fn word(fate: Fate) -> &'static str {
    match fate {
        Fate::Same(_) => "same",
        Fate::Moved(_) => "moved",
        Fate::Changed(_) => "changed",
        Fate::New => "new",
    }
}

/// Whether an import still stands: the claim by which that is told is as it was left.
async fn stands(client: &Client, import: &Import) -> bool {
    let claim = client.claim(&import.probe.to_hex()).await;
    claim.is_ok_and(|claim| !claim.flags.undone && (claim.status == Status::Active) == import.in_force)
}

/// What came from a file before, in the order of its lines: what is in force, and what a person took out of force.
async fn earlier(client: &Client, scope: &Scope, file: &File) -> Result<Vec<ClaimView>, CliError> {
    let mut query = ClaimsQuery {
        org_id: Some(scope.org_id.clone()),
        project: Some(scope.project.clone()),
        status: Some("all".to_owned()),
        source: Some(file.path.clone()),
        limit: Some(MAX_PAGE),
        ..ClaimsQuery::default()
    };
    let mut found: Vec<ClaimView> = Vec::new();
    loop {
        let page = client.claims(&query).await?;
        found.extend(page.items.into_iter().filter(|claim| {
            let stated = claim.reason.as_deref().is_some_and(|reason| is_from(&file.name, reason));
            stated && line_of(&file.path, claim).is_some() && !claim.flags.undone && claim.status != Status::Refused
        }));
        query.cursor = page.next;
        if query.cursor.is_none() {
            break;
        }
    }
    // What an import replaced or retired is history; what a person closed is not taken in again.
    let from_here: BTreeSet<ClaimId> = found.iter().map(|claim| claim.id).collect();
    let retired = format!("No longer in {}.", file.path);
    found.retain(|claim| match claim.status {
        Status::Active => true,
        Status::Superseded => !claim.replaced_by.iter().any(|by| from_here.contains(by)),
        Status::Retracted | Status::Refused => claim.closing_reason.as_deref() != Some(&retired),
    });
    found.sort_by_key(|claim| (line_of(&file.path, claim), claim.at, claim.id));
    Ok(found)
}

/// The line of a file that a claim's source names.
fn line_of(path: &str, claim: &ClaimView) -> Option<usize> {
    claim.source.as_deref()?.strip_prefix(path)?.strip_prefix(':')?.parse().ok()
}

fn difference(file: File, earlier: Vec<ClaimView>) -> Compared {
    let line = |source: Option<&str>| {
        source.and_then(|source| source.rsplit_once(':')).and_then(|(_, line)| line.parse().ok()).unwrap_or_default()
    };
    let now: Vec<Line> = file
        .rows
        .iter()
        .map(|row| Line { statement: row.claim.statement.clone(), line: line(Some(&row.source)) })
        .collect();
    let of = |claim: &ClaimView| Line { statement: claim.statement.clone(), line: line(claim.source.as_deref()) };
    // What a person closed is known by its words alone; only what is in force can change or be gone.
    let (active, closed): (Vec<ClaimView>, Vec<ClaimView>) =
        earlier.into_iter().partition(|claim| claim.status == Status::Active);
    let with = |claims: &[ClaimView], line: &Line| claims.iter().position(|claim| claim.statement == line.statement);
    let known = |line: &Line| with(&closed, line).filter(|_| with(&active, line).is_none());
    let open: Vec<Line> = now.iter().filter(|line| known(line).is_none()).cloned().collect();
    let lines: Vec<Line> = active.iter().map(of).collect();
    let compared = compare(&lines, &open);
    let mut fates = compared.now.into_iter();
    let fates = now
        .iter()
        .map(|line| match known(line) {
            Some(at) => Fate::Same(active.len() + at),
            None => fates.next().unwrap_or(Fate::New),
        })
        .collect();
    let earlier = active.into_iter().chain(closed).collect();
    Compared { file, untouched: false, fates, earlier, gone: compared.gone }
}
