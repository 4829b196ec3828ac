//! Reads the followed files that changed, and updates their claims: a new line is stored, a changed line supersedes its
//! claim, a removed line retracts it.

use std::{
    collections::{BTreeSet, HashSet},
    io,
    path::{Path, PathBuf},
    time::Instant,
};

use super::{
    NotesKeeper, caller_in, concerns_rule, discover, earlier_lines, file_reader, line_claims, lock,
    own_claims::{self, OwnClaims},
    records::{self, RecordLinks},
    unread_lines::UnreadLines,
    watch_list::{LastComparison, WatchedFile, WatchedFragment, WatchedRule},
};
use crate::{
    api::{ApiError, Caller, ErrorCode, NotesRun, RememberRequest, SupersedeRequest, WriteOutcome},
    domain::{ClaimId, judgement::SCAN_JUDGE},
    interchange::{
        line_diff::{LineChange, RuleLine, compare},
        no_longer_in,
    },
    notes::rank::DAY,
};

/// The interval, in milliseconds, at which the claims of an unchanged file are recorded as seen: short enough that the
/// rank of a claim that is still in a file does not decay.
const OBSERVATION_INTERVAL: u64 = 30 * DAY;

/// What a pass changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Changed {
    Nothing,
    /// Only the list, which must be saved.
    List,
    /// Files or claims, so that the run is recorded in the list.
    FilesOrClaims,
}

/// Reads the files (only those at or below `only`, if given), and compares the claims of the affected organisations.
pub(super) fn scan(keeper: &NotesKeeper, caller: &Caller, only: Option<&Path>) -> Result<NotesRun, ApiError> {
    let began = Instant::now();
    let mut run = NotesRun { at: keeper.now(), kind: "scan".to_owned(), ..NotesRun::default() };
    let read = read_files(keeper, caller, only, &mut run)?;
    let compared = compare_claims(keeper, caller, &mut run);
    finish(keeper, &mut run, began, read.max(compared))?;
    Ok(run)
}

/// Reads the files like [`scan`], but does not compare claims: the affected organisations wait for [`compare_waiting`].
pub(super) fn read(keeper: &NotesKeeper, caller: &Caller, only: Option<&Path>) -> Result<NotesRun, ApiError> {
    let began = Instant::now();
    let mut run = NotesRun { at: keeper.now(), kind: "watch".to_owned(), ..NotesRun::default() };
    let changed = read_files(keeper, caller, only, &mut run)?;
    finish(keeper, &mut run, began, changed)?;
    Ok(run)
}

/// Compares the claims of the waiting organisations, with a budget for each.
pub(super) fn compare_waiting(keeper: &NotesKeeper, caller: &Caller) -> Result<NotesRun, ApiError> {
    let began = Instant::now();
    let mut run = NotesRun { at: keeper.now(), kind: "compare".to_owned(), ..NotesRun::default() };
    let changed = compare_claims(keeper, caller, &mut run);
    finish(keeper, &mut run, began, changed)?;
    Ok(run)
}

/// Saves the list after a pass that changed something.
fn finish(keeper: &NotesKeeper, run: &mut NotesRun, began: Instant, changed: Changed) -> Result<(), ApiError> {
    run.took_ms = began.elapsed().as_millis().try_into().unwrap_or(u64::MAX);
    if changed == Changed::Nothing {
        return Ok(());
    }
    let mut list = lock(&keeper.list);
    if changed == Changed::FilesOrClaims {
        list.record_run(run.clone());
    }
    list.save()
}

/// Reads the files (only those at or below `only`, if given). Adds the organisations whose claims must be compared to
/// the list.
fn read_files(
    keeper: &NotesKeeper,
    caller: &Caller,
    only: Option<&Path>,
    run: &mut NotesRun,
) -> Result<Changed, ApiError> {
    let _working = lock(&keeper.working);
    // If `only` is a followed file, the folders need not be searched for new files. But a changed record may name a new
    // one in its folder, and a file that is gone may have been renamed.
    let is_record = only.is_some_and(|only| lock(&keeper.list).is_record(only));
    let within = only.filter(|_| is_record).and_then(Path::parent);
    let is_rule_file =
        !is_record && only.is_some_and(|only| lock(&keeper.list).files.contains_key(only) && only.exists());
    let mut files_changed = !is_rule_file && discover_new(keeper, within);
    let paths: Vec<PathBuf> = {
        let list = lock(&keeper.list);
        list.files.keys().filter(|path| only.is_none_or(|only| path.starts_with(only))).cloned().collect()
    };
    if let (Some(only), true) = (only, paths.is_empty()) {
        return Err(ApiError::field("path", format!("{} is not followed", only.display()))
            .hint("follow it first: `ergo notes add PATH`"));
    }
    let mut orgs: BTreeSet<String> = BTreeSet::new();
    let ordered = records::in_order(&lock(&keeper.list), paths);
    let mut unread = UnreadLines::default();
    for (path, links) in &ordered {
        run.files += 1;
        let Some(before) = lock(&keeper.list).files.get(path).cloned() else { continue };
        let mut file = before.clone();
        if let Err(error) = scan_file(keeper, caller, (path, &mut file), links.as_ref(), &mut unread, run) {
            run.problems.push(format!("{}: {}", path.display(), error.message));
            // Keep the earlier state, so that the next scan repeats the whole file. Claims that are already stored are
            // then found by their words.
            file = WatchedFile { problem: Some(error.message), ..before.clone() };
        }
        if file != before {
            files_changed = true;
            if file.rules != before.rules {
                orgs.extend(file.scope.as_ref().map(|scope| scope.org_id.clone()));
            }
            lock(&keeper.list).files.insert(path.clone(), file);
        }
    }
    if only.is_none() {
        orgs.extend(outdated(keeper)?);
    }
    let changed = match (files_changed, orgs.is_empty()) {
        (true, _) => Changed::FilesOrClaims,
        (false, false) => Changed::List,
        (false, true) => Changed::Nothing,
    };
    lock(&keeper.list).pending.extend(orgs);
    Ok(changed)
}

/// Compares the claims of the waiting organisations.
fn compare_claims(keeper: &NotesKeeper, caller: &Caller, run: &mut NotesRun) -> Changed {
    let _comparing = lock(&keeper.comparing);
    // Files that are read from now on, and pairs that exceed the budget, wait for the next comparison.
    let orgs = std::mem::take(&mut lock(&keeper.list).pending);
    let mut changed = if orgs.is_empty() { Changed::Nothing } else { Changed::List };
    for org in orgs {
        if let Err(error) = reconcile(keeper, caller, &org, run) {
            changed = Changed::FilesOrClaims;
            run.problems.push(error.message);
            lock(&keeper.list).pending.insert(org);
        }
    }
    if run.merged + run.cards + run.doubts + run.inferred > 0 { Changed::FilesOrClaims } else { changed }
}

/// Returns the organisations whose claims must be compared although their files have not changed: because the models
/// have changed, or because claims were added in another way, such as by a peer.
fn outdated(keeper: &NotesKeeper) -> Result<BTreeSet<String>, ApiError> {
    let now = LastComparison { models: keeper.engine.comparing_models(), at: keeper.engine.log_position()? };
    let mut list = lock(&keeper.list);
    let mut orgs: BTreeSet<String> =
        list.files.values().filter_map(|file| file.scope.as_ref()).map(|scope| scope.org_id.clone()).collect();
    orgs.retain(|org| list.compared.get(org) != Some(&now));
    for org in &orgs {
        if list.compared.get(org).is_some_and(|before| before.models != now.models) {
            list.compare_again(org);
        }
    }
    Ok(orgs)
}

/// Follows new files in the followed folders, or only in one folder within them. Returns whether there were any.
fn discover_new(keeper: &NotesKeeper, within: Option<&Path>) -> bool {
    let roots: Vec<(PathBuf, String)> =
        lock(&keeper.list).roots.iter().map(|(path, org)| (path.clone(), org.clone())).collect();
    let mut any = false;
    for (root, org) in roots.iter().filter(|(root, _)| root.is_dir()) {
        let folder = within.map_or(Some(root.as_path()), |within| within.starts_with(root).then_some(within));
        for path in folder.into_iter().flat_map(discover::files_under) {
            let mut list = lock(&keeper.list);
            if list.should_follow(&path) {
                any = true;
                let file = discover::watched_file(&path, org, list.root_of(&path));
                list.files.insert(path, file);
            }
        }
    }
    any
}

fn scan_file(
    keeper: &NotesKeeper,
    caller: &Caller,
    (path, file): (&Path, &mut WatchedFile),
    links: Option<&RecordLinks>,
    unread: &mut UnreadLines,
    run: &mut NotesRun,
) -> Result<(), ApiError> {
    let unreadable = |error: io::Error| ApiError::new(ErrorCode::BadRequest, format!("cannot be read: {error}"));
    let stat = match file_reader::stat(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            line_claims::close_cards_of_deleted(keeper, caller, (path, file), unread)?;
            return Err(unreadable(error));
        }
        stat => stat.map_err(unreadable)?,
    };
    file.problem = None;
    let mut must_read = line_claims::read_settlements(keeper, &mut file.rules)? || links.is_some();
    OwnClaims::replace_undone(keeper, file)?;
    must_read = must_read || line_claims::has_returning(keeper, file)?;
    let current = file.is_current();
    if current && stat == file.stat && !must_read {
        return observe_unchanged(keeper, caller, file, run);
    }
    let text = file_reader::text(path).map_err(unreadable)?;
    let now = file_reader::parse(&file.shown, &text)
        .map_err(|error| ApiError::new(ErrorCode::BadRequest, error.to_string()))?;
    if current && now.hash == file.hash {
        // Only the modification time, ergo's section, another record or a refused rule has changed.
        if !must_read {
            file.stat = stat;
            return observe_unchanged(keeper, caller, file, run);
        }
    } else {
        run.changed_files += 1;
        run.fragments += now.fragments.len();
    }
    let (scope, identity) = keeper.scope_of(file, caller)?;
    let here = caller_in(caller, &scope, identity);
    let line = |statement: &str, line: usize| RuleLine { statement: statement.to_owned(), line };
    let earlier: Vec<RuleLine> = file.rules.iter().map(|rule| line(&rule.statement, rule.line)).collect();
    let current: Vec<RuleLine> = now.rules.iter().map(|rule| line(&rule.statement, rule.line)).collect();
    let mut difference = compare(&earlier, &current);
    file.scope = Some(scope.clone());
    if now.record.is_none() {
        let at = (path, &*file);
        earlier_lines::separate_moved_and_returned(keeper, caller, at, &now.rules, unread, &mut difference)?;
    }
    let mut old = std::mem::take(&mut file.rules);
    let mut own = OwnClaims::read(keeper, &scope, file, now.record.as_ref())?;
    let is_replaced = links.is_none_or(|links| !links.replaced_by.is_empty());
    let returns = now.record.as_ref().is_some_and(|record| record.is_in_force() && !is_replaced)
        && own.drop_replaced(keeper, file)?;
    let mut said = own.add_earlier(keeper, &old)?;
    // A line that was put back has its claim again, so the claim does not end with the refused line.
    said.retain(|claim| now.rules.iter().any(|rule| own.of(rule) == Some(*claim)));
    // What a record replaces: its own earlier words, and the claims of other records.
    let mut replaced = own.outdated.clone();
    for old in links.iter().flat_map(|links| &links.replaces) {
        let claims: Vec<ClaimId> = lock(&keeper.list).files.get(old).map(WatchedFile::claims).unwrap_or_default();
        for claim in claims {
            if keeper.is_active(claim)? {
                replaced.push(claim);
            }
        }
    }
    // The guard would refuse a record if the claim of its successor is stored already.
    let mut successor = None;
    for new in links.iter().flat_map(|links| &links.replaced_by) {
        if successor.is_none() {
            successor = own_claims::of_record(keeper, &scope, new)?.active();
        }
    }
    for rule in &mut old {
        rule.was_stored = rule.was_stored && !own.has(rule.claim);
    }
    let is_there = |rule: &WatchedRule| now.rules.iter().any(|now| rule.says_same(now.kind, &now.statement));
    // Handle removed lines first, so that a new line does not contradict the claim of a removed one. Of two equal
    // lines, the other one keeps the claim.
    for rule in difference.gone.iter().filter_map(|at| old.get(*at)).filter(|rule| !is_there(rule)) {
        if now.record.is_some() || !unread.have(keeper, caller, (path, &*file), rule)? {
            let mut ended = line_claims::claims_of(keeper, rule)?;
            ended.retain(|claim| !said.contains(claim));
            line_claims::retract(keeper, &here, (path, &*file), &ended, &no_longer_in(&file.shown), run)?;
        }
    }
    if now.record.is_none() {
        for rule in old.iter().filter(|rule| !is_there(rule)) {
            file.keep_gone(rule);
        }
    }
    let mut seen = Vec::new();
    for (rule, change) in now.rules.iter().zip(&difference.now) {
        let source = Some(format!("{}:{}", file.shown, rule.line));
        let request = RememberRequest {
            caller: here.clone(),
            statement: rule.statement.clone(),
            kind: Some(rule.kind),
            reason: Some(rule.reason.clone()),
            qualifiers: rule.qualifiers.clone(),
            source,
            ..RememberRequest::default()
        };
        let supersede = |targets: &[ClaimId], claim: RememberRequest| {
            let targets = targets.iter().map(|id| id.to_hex()).collect();
            // The file says in full where its rules hold.
            let request = SupersedeRequest { targets, drop_conditions: true, claim, ..SupersedeRequest::default() };
            keeper.engine.supersede(request)
        };
        let mut kept = WatchedRule {
            statement: rule.statement.clone(),
            kind: rule.kind,
            line: rule.line,
            claim: None,
            was_stored: false,
            closed: !rule.in_force,
            card: None,
            problem: None,
        };
        let is_changed = matches!(change, LineChange::Changed(_));
        let before = match change {
            LineChange::Same(at) | LineChange::Moved(at) | LineChange::Changed(at) => old.get(*at).cloned(),
            LineChange::New if now.record.is_none() => earlier_lines::earlier_line(keeper, path, file, rule)?,
            LineChange::New => None,
        };
        let before = match before {
            // Also a line that stayed may have lost its claim, with the same line of another file.
            Some(line) if now.record.is_none() && !is_changed => {
                line_claims::bring_back(keeper, &here, file, line, run)?
            }
            before => before,
        };
        match &before {
            // The claim of a record that is in force again is stored again.
            Some(before) if !is_changed && before.claim.is_some() && (kept.closed || !before.closed) && !returns => {
                run.known += 1;
                (kept.claim, kept.was_stored, kept.card) = (before.claim, before.was_stored, before.card);
                seen.extend(before.claim);
            }
            Some(before) if !is_changed && line_claims::is_declined(keeper, before)? => kept.card = before.card,
            _ => {
                let mut targets = match before.as_ref().filter(|before| is_changed || before.claim.is_none()) {
                    Some(before) => line_claims::claims_of(keeper, before)?,
                    None => Vec::new(),
                };
                targets.retain(|target| !said.contains(target));
                let known = own.of(rule).filter(|_| targets.is_empty());
                targets.extend(&replaced);
                if let Some(claim) = known {
                    run.known += 1;
                    kept.claim = Some(claim);
                } else if targets.is_empty() {
                    let beside = now.record.as_ref().zip(successor);
                    let beside = beside.map(|(record, successor)| record.claim_before(successor));
                    let request = RememberRequest { caller: here.clone(), ..beside.unwrap_or(request) };
                    record_outcome(keeper.engine.remember_by_rules(&request), path, &mut kept, run, false)?;
                } else {
                    record_outcome(supersede(&targets, request), path, &mut kept, run, true)?;
                }
            }
        }
        if let Some(claim) = kept.claim.filter(|_| now.record.is_some()) {
            records::replace_by(keeper, &here, claim, &replaced, &rule.reason, run)?;
            if let Some(reason) = links.and_then(|links| links.retract.clone()) {
                let ended = line_claims::claims_of(keeper, &kept)?;
                line_claims::retract(keeper, &here, (path, &*file), &ended, &reason, run)?;
            }
        }
        let claim = kept.claim;
        let owns_claim = |rule: &WatchedRule| rule.claim == claim && !rule.was_stored;
        kept.was_stored = kept.was_stored
            && !old.iter().chain(&file.rules).any(owns_claim)
            && !line_claims::another_had(keeper, path, file, owns_claim);
        file.add_rule(kept);
    }
    for rule in old.iter().filter(|rule| !is_there(rule)) {
        line_claims::close_card(keeper, (caller, &here), (path, &*file), rule, unread)?;
    }
    file.fragments = now
        .fragments
        .iter()
        .map(|part| WatchedFragment { id: part.id.to_hex(), lines: (part.first, part.last), hash: part.hash.to_hex() })
        .collect();
    let at = keeper.now();
    let due = file.scanned_at.is_some() && at.saturating_sub(file.observed_at) >= OBSERVATION_INTERVAL;
    if due {
        run.observed += keeper.engine.observe(&here, &seen)?;
    }
    if due || file.scanned_at.is_none() {
        file.observed_at = at;
    }
    (file.stat, file.hash, file.reader, file.scanned_at) = (stat, now.hash, file_reader::READER, Some(at));
    Ok(())
}

/// Records that the claims of an unchanged file were seen, once per [`OBSERVATION_INTERVAL`].
fn observe_unchanged(
    keeper: &NotesKeeper,
    caller: &Caller,
    file: &mut WatchedFile,
    run: &mut NotesRun,
) -> Result<(), ApiError> {
    let now = keeper.now();
    let Some(scope) = file.scope.clone().filter(|_| now.saturating_sub(file.observed_at) >= OBSERVATION_INTERVAL)
    else {
        return Ok(());
    };
    run.observed += keeper.engine.observe(&caller_in(caller, &scope, None), &file.claims())?;
    file.observed_at = now;
    Ok(())
}

/// Records the outcome of storing a line. If the line itself cannot be stored, adds a problem to the run, so that the
/// other lines are still stored.
fn record_outcome(
    outcome: Result<WriteOutcome, ApiError>,
    path: &Path,
    kept: &mut WatchedRule,
    run: &mut NotesRun,
    changed: bool,
) -> Result<(), ApiError> {
    let outcome = match outcome {
        Err(error) if concerns_rule(&error) => {
            run.problems.push(format!("{}:{}: {}", path.display(), kept.line, error.message));
            kept.problem = Some(error.message);
            return Ok(());
        }
        other => other?,
    };
    match outcome {
        WriteOutcome::Stored(stored) => {
            (kept.claim, kept.was_stored) = (Some(stored.claim_id), stored.duplicate);
            match (stored.duplicate, changed) {
                (true, _) => run.known += 1,
                (false, true) => run.superseded += 1,
                (false, false) => run.stored += 1,
            }
        }
        WriteOutcome::Conflict(refused) => {
            kept.card = refused.card_id;
            run.refused += 1;
        }
        WriteOutcome::Stale(stale) => run.problems.push(stale.message),
        WriteOutcome::Proposed(proposed) => {
            kept.card = Some(proposed.card_id);
            run.problems.push(proposed.summary);
        }
        // A scan does not ask for verdicts.
        WriteOutcome::Consider(_) | WriteOutcome::Done(_) => {}
    }
    Ok(())
}

/// Searches the claims of an organisation for equal claims and contradictions.
fn reconcile(keeper: &NotesKeeper, caller: &Caller, org: &str, run: &mut NotesRun) -> Result<(), ApiError> {
    let (done, asked): (HashSet<ClaimId>, HashSet<u64>) = {
        let list = lock(&keeper.list);
        (
            list.reconciled.get(org).into_iter().flatten().copied().collect(),
            list.asked.get(org).into_iter().flatten().copied().collect(),
        )
    };
    let judge = Caller {
        org_id: org.to_owned(),
        project: "notes".to_owned(),
        agent: Some(SCAN_JUDGE.to_owned()),
        op_id: None,
        identity: None,
        who: caller.who.clone(),
    };
    let found = keeper.engine.reconcile_notes(&judge, &done, &asked, &keeper.budget(org))?;
    run.merged += found.merged;
    run.cards += found.cards;
    run.doubts += found.doubts;
    run.inferred += found.inferred;
    run.left += found.left;
    run.problems.extend(found.skipped);
    let compared = LastComparison { models: keeper.engine.comparing_models(), at: keeper.engine.log_position()? };
    let mut list = lock(&keeper.list);
    list.compared.insert(org.to_owned(), compared);
    list.asked.entry(org.to_owned()).or_default().extend(found.asked);
    list.reconciled.entry(org.to_owned()).or_default().extend(found.done);
    if found.left > 0 {
        list.pending.insert(org.to_owned());
    }
    Ok(())
}
