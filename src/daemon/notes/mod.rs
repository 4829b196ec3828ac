//! Notes: the rule files that this device follows. Stores their rules as claims, and writes claims into ergo's own
//! section of a file.
//!
//! The list of followed files, with the last known state of each, concerns only this device. So it is in a file of the
//! home and not in the store.

mod compare;
mod discover;
mod earlier_lines;
mod file_reader;
mod line_claims;
mod own_claims;
mod read_changes;
mod records;
mod section_writer;
mod unread_lines;
mod watch_list;
mod watcher;

use std::{
    io,
    path::{Path, PathBuf},
    sync::{Arc, Mutex, MutexGuard, PoisonError, mpsc::Sender},
};

pub(super) use watcher::NotesWatcher;

use crate::{
    api::{
        ApiError, Caller, DomainThreshold, ErrorCode, NoteFileState, NoteFileView, NotesAddRequest, NotesAdded,
        NotesCalibrateRequest, NotesCalibrated, NotesCheck, NotesCheckRequest, NotesRun, NotesScanRequest, NotesStatus,
        NotesWriteRequest, NotesWritten,
    },
    config::{Config, NotesSettings, Paths},
    domain::{CardId, ClaimId, Scope},
    engine::{Engine, ReconcileBudget, RefusedRule},
    files::rule_files::{self, FoundRuleFiles},
    notes::sameness::SameThresholds,
};
use watch_list::{WatchList, WatchedFile};

/// The notes of this device.
pub(super) struct NotesKeeper {
    engine: Arc<Engine>,
    settings: NotesSettings,
    /// The caller of acts without a request: the person of this device, and the organisation of the settings.
    owner: Caller,
    /// Held while files are read or written.
    working: Mutex<()>,
    /// Held while claims are compared. This may take long, and files can be read meanwhile.
    comparing: Mutex<()>,
    list: Mutex<WatchList>,
    /// The channel to the watcher; `None` if there is no watcher.
    wake: Mutex<Option<Sender<watcher::Notice>>>,
}

impl NotesKeeper {
    /// Reads the list of followed files.
    pub(super) fn open(paths: &Paths, config: &Config, engine: Arc<Engine>) -> Self {
        let owner = Caller {
            org_id: config.org_id.clone(),
            project: "notes".to_owned(),
            who: config.who.clone(),
            ..Caller::default()
        };
        Self {
            engine,
            settings: config.notes,
            owner,
            working: Mutex::default(),
            comparing: Mutex::default(),
            list: Mutex::new(WatchList::load(paths.notes())),
            wake: Mutex::default(),
        }
    }

    /// Returns the problem with the list of followed files that a person must solve.
    pub(super) fn problem(&self) -> Option<String> {
        lock(&self.list).problem()
    }

    /// Follows files, or stops following them.
    pub(super) fn add(&self, request: &NotesAddRequest) -> Result<NotesAdded, ApiError> {
        lock(&self.list).usable()?;
        let _working = lock(&self.working);
        let mut answer = NotesAdded::default();
        if request.paths.is_empty() {
            return Err(ApiError::field("paths", "`paths` is empty").hint("name files or folders"));
        }
        if let Some(path) = request.paths.iter().find(|path| !Path::new(path).is_absolute()) {
            return Err(ApiError::field("paths", format!("{path} is not an absolute path")));
        }
        for path in &request.paths {
            let path = Path::new(path);
            let path = std::fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
            if request.remove {
                let removed = lock(&self.list).remove(&path);
                if removed.is_empty() {
                    answer.problems.push(format!("{} is not followed", path.display()));
                }
                answer.files.extend(removed.iter().map(|(path, file)| view(path, file)));
                continue;
            }
            let unreadable = |error: io::Error| format!("{} cannot be read: {error}", path.display());
            match path.try_exists() {
                Ok(true) => {}
                Ok(false) => {
                    answer.problems.push(format!("{} does not exist", path.display()));
                    continue;
                }
                Err(error) => {
                    answer.problems.push(unreadable(error));
                    continue;
                }
            }
            let FoundRuleFiles { files: found, is_cut } = rule_files::search_under(&path);
            if is_cut {
                answer.problems.push(format!(
                    "{} has more than {} entries, and the rest was not searched: add the folders in it one by one",
                    path.display(),
                    rule_files::MOST_ENTRIES
                ));
            }
            if found.is_empty() {
                if path.is_dir()
                    && let Err(error) = std::fs::read_dir(&path)
                {
                    answer.problems.push(unreadable(error));
                    continue;
                }
                answer.problems.push(format!(
                    "{} is not a rule file and contains none (CLAUDE.md, AGENTS.md, .cursorrules, \
                     .github/copilot-instructions.md, CONTRIBUTING.md, a folder of decision records)",
                    path.display()
                ));
                continue;
            }
            let known = lock(&self.list).follow(&path, &request.caller.org_id, found);
            let list = lock(&self.list);
            answer.files.extend(known.iter().filter_map(|path| Some(view(path, list.files.get(path)?))));
        }
        lock(&self.list).save()?;
        answer.watching = self.notify_watcher(watcher::Notice::Files);
        Ok(answer)
    }

    /// Reads the files that changed, and compares the claims of the affected organisations.
    pub(super) fn scan(&self, request: &NotesScanRequest) -> Result<NotesRun, ApiError> {
        lock(&self.list).usable()?;
        let only = request.path.as_deref().map(absolute).transpose()?;
        read_changes::scan(self, &request.caller, only.as_deref())
    }

    /// Writes ergo's section of a file.
    pub(super) fn write(&self, request: &NotesWriteRequest) -> Result<NotesWritten, ApiError> {
        lock(&self.list).usable()?;
        section_writer::write(self, request)
    }

    /// Compares files with the stored claims, without storing anything.
    pub(super) fn check(&self, request: &NotesCheckRequest) -> Result<NotesCheck, ApiError> {
        lock(&self.list).usable()?;
        let only = request.path.as_deref().map(absolute).transpose()?;
        Ok(compare::check(self, &request.caller, only.as_deref()))
    }

    /// Fits the minimum similarity of equal claims to judged pairs, for each domain. Uses the result if the request
    /// says so.
    pub(super) fn calibrate(&self, request: &NotesCalibrateRequest) -> Result<NotesCalibrated, ApiError> {
        lock(&self.list).usable()?;
        if request.apply && request.reset {
            return Err(ApiError::field("reset", "`apply` and `reset` exclude each other"));
        }
        let _comparing = lock(&self.comparing);
        let org = &request.caller.org_id;
        let mut answer = self.engine.calibrate_notes(org)?;
        let mut list = lock(&self.list);
        let mut own = list.thresholds.get(org).cloned().unwrap_or_default();
        if request.reset {
            own.clear();
        }
        if request.apply {
            own.extend(answer.domains.iter().filter_map(|found| Some((found.domain.clone(), found.threshold?))));
        }
        answer.changed = own != list.thresholds.get(org).cloned().unwrap_or_default();
        if answer.changed {
            // Pairs that were compared with the earlier thresholds must be compared again.
            list.compare_again(org);
            list.thresholds.insert(org.clone(), own.clone());
            list.save()?;
        }
        for domain in own.keys() {
            if answer.domains.iter().all(|found| found.domain != *domain) {
                answer.domains.push(DomainThreshold { domain: domain.clone(), ..DomainThreshold::default() });
            }
        }
        let default = f32::from(self.settings.similarity) / 100.0;
        for found in &mut answer.domains {
            let of_domain = own.get(&found.domain);
            (found.in_use, found.is_default) = (of_domain.copied().unwrap_or(default), of_domain.is_none());
        }
        Ok(answer)
    }

    /// Returns the state of the files, and the last runs.
    pub(super) fn status(&self) -> Result<NotesStatus, ApiError> {
        let (mut files, runs) = {
            let list = lock(&self.list);
            list.usable()?;
            (list.files.clone(), list.runs.clone())
        };
        let scopes = self.engine.scopes()?.items;
        let mut views = Vec::with_capacity(files.len());
        for (path, file) in &mut files {
            line_claims::read_settlements(self, &mut file.rules)?;
            let mut view = view(path, file);
            view.cards = self.open_cards(file)?;
            let active_claims = self.engine.active_claims(&file.claims())?;
            let (mut active, mut is_closed) = (0, false);
            for rule in &file.rules {
                let Some(claim) = rule.claim else {
                    match line_claims::refused(self, rule)? {
                        Some(RefusedRule::NotStored { opposed, .. }) if opposed.is_empty() => view.retried += 1,
                        Some(RefusedRule::NotStored { declined: true, .. }) => view.declined += 1,
                        _ => {}
                    }
                    continue;
                };
                if active_claims.contains(&claim) {
                    active += 1;
                } else {
                    is_closed |= !rule.closed;
                }
            }
            view.claims = active;
            // The section of a file also contains claims of the organisation's level.
            let is_of_file = |scope: &Scope, file: &Scope| {
                scope == file || scope.org_id == file.org_id && !scope.level().is_project()
            };
            let of_file = file.scope.as_ref().map(|file| scopes.iter().filter(|scope| is_of_file(&scope.scope, file)));
            let latest = of_file.and_then(|scopes| scopes.map(|scope| scope.latest).max());
            view.state = match file_reader::stat(path) {
                Err(_) => NoteFileState::Missing,
                Ok(_) if file.problem.is_some() && file_reader::text(path).is_err() => NoteFileState::Missing,
                Ok(_) if file.scanned_at.is_none() => NoteFileState::New,
                Ok(stat) if stat != file.stat => NoteFileState::ChangedHere,
                Ok(_) if !view.cards.is_empty() => NoteFileState::Conflict,
                Ok(_) if is_closed || view.retried > 0 => NoteFileState::ChangedThere,
                Ok(_) if view.declined > 0 => NoteFileState::LineDeclined,
                Ok(_) if file.written_at.is_some_and(|at| latest.is_some_and(|latest| latest > at)) => {
                    NoteFileState::ChangedThere
                }
                Ok(_) => NoteFileState::InStep,
            };
            views.push(view);
        }
        Ok(NotesStatus { watching: self.settings.watch, files: views, runs: runs.into_iter().rev().collect() })
    }

    /// Returns the open cards of a file's rules.
    fn open_cards(&self, file: &WatchedFile) -> Result<Vec<CardId>, ApiError> {
        let refused: Vec<_> = file.rules.iter().filter_map(|rule| rule.card).collect();
        self.engine.open_cards_of(&file.claims(), &refused)
    }

    /// Whether a claim is stored and active.
    fn is_active(&self, claim: ClaimId) -> Result<bool, ApiError> {
        Ok(self.engine.active_claims(&[claim])?.contains(&claim))
    }

    /// Returns the scope of a file, with the name that the store has for its project, and the project's identity.
    fn scope_of(&self, file: &WatchedFile, caller: &Caller) -> Result<(Scope, Option<String>), ApiError> {
        let org = if file.org.is_empty() { &caller.org_id } else { &file.org };
        let org = if org.is_empty() { &self.owner.org_id } else { org };
        let named = Scope::new(org.clone(), file.project.clone())?;
        let scopes = self.engine.scopes()?.items;
        Ok(crate::api::known_scope(&named, &file.identities, &scopes))
    }

    /// Returns the scope of a caller, with the name that the store has for it.
    fn scope_of_caller(&self, caller: &Caller) -> Result<Scope, ApiError> {
        let named = Scope::new(caller.org_id.clone(), caller.project.clone())?;
        let identities: Vec<String> = caller.identity.iter().cloned().collect();
        Ok(crate::api::known_scope(&named, &identities, &self.engine.scopes()?.items).0)
    }

    /// Returns the budget and the thresholds of a comparison in an organisation.
    fn budget(&self, org: &str) -> ReconcileBudget {
        let share = |percent: u8| f32::from(percent) / 100.0;
        let NotesSettings { similarity, nearest_similarity, entailment, pairs, .. } = self.settings;
        ReconcileBudget {
            inferred: pairs,
            same: SameThresholds {
                cosine: share(similarity),
                nearest: share(nearest_similarity.min(similarity)),
                entailed: share(entailment),
            },
            domains: lock(&self.list).thresholds.get(org).cloned().unwrap_or_default(),
        }
    }

    fn now(&self) -> u64 {
        (self.engine.config().clock)()
    }

    /// Sends a notice to the watcher. Returns whether there is one.
    fn notify_watcher(&self, notice: watcher::Notice) -> bool {
        lock(&self.wake).as_ref().is_some_and(|wake| wake.send(notice).is_ok())
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

fn absolute(path: &str) -> Result<PathBuf, ApiError> {
    let path = Path::new(path);
    if !path.is_absolute() {
        return Err(ApiError::field("path", format!("{} is not an absolute path", path.display())));
    }
    Ok(std::fs::canonicalize(path).unwrap_or_else(|_| path.to_owned()))
}

/// Returns a caller who acts in the project of a file. `identity` distinguishes the project from others of its name.
fn caller_in(caller: &Caller, scope: &Scope, identity: Option<String>) -> Caller {
    let (org_id, project) = (scope.org_id.clone(), scope.project.clone());
    Caller { org_id, project, identity, op_id: None, ..caller.clone() }
}

/// Whether an error concerns only one rule of a file, such as a text that is too long or a rule that only a person may
/// bring back, so that the other rules can be stored.
fn concerns_rule(error: &ApiError) -> bool {
    matches!(error.field.as_deref(), Some("statement" | "reason")) || error.code == ErrorCode::NeedsPerson
}

/// Returns the view of a file without what only the store or the file system knows.
fn view(path: &Path, file: &WatchedFile) -> NoteFileView {
    NoteFileView {
        path: path.display().to_string(),
        scope: file.scope.clone(),
        state: NoteFileState::New,
        fragments: file.fragments.len(),
        claims: file.rules.len(),
        cards: Vec::new(),
        declined: 0,
        retried: 0,
        scanned_at: file.scanned_at,
        written_at: file.written_at,
        problem: file.problem(),
    }
}

#[cfg(test)]
mod tests;
