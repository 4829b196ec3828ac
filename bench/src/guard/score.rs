//! Measures one way to compare claims.

use std::collections::BTreeMap;

use serde::Serialize;

use super::{
    bins::Bins,
    data::Data,
    path::GuardPath,
    replay::{ReplayedWrite, replay},
    report::{FalseRate, FoundShares, GuardRow, PairsScore, PhenomenonScore, RecallAt, RuleCounts, SupersedeScore},
};
use crate::measure::{Quantiles, millis};
use ergo::domain::{ClaimKind, Tier};

/// A wrong answer, for `--explain`.
#[derive(Clone, Debug, Serialize)]
pub struct WrongAnswer {
    /// The id of the pair, or the ids of the two rows.
    pub id: String,
    /// The kind of error: a false block, or a miss.
    pub what: String,
    /// The earlier statement.
    pub a: String,
    /// The later one.
    pub b: String,
    /// The guard's evidence.
    pub why: String,
    pub score: f32,
}

fn share(part: usize, whole: usize) -> f64 {
    if whole == 0 { 0.0 } else { part as f64 / whole as f64 }
}

fn tier_name(tier: Tier) -> &'static str {
    match tier {
        Tier::Clean => "clean",
        Tier::Warn => "warn",
        Tier::Block => "block",
    }
}

/// Returns the rule in the guard's evidence, which [`super::path::why`] puts first.
fn rule_of(why: &str) -> &str {
    why.split_once(':').map_or("", |(rule, _)| rule)
}

/// Writes `a`, then `b`, in a new project; returns the tier, the score and the evidence of `b`.
fn pair(path: &mut dyn GuardPath, a: &str, b: &str, took: &mut Vec<f64>) -> (Tier, f32, String) {
    path.fresh();
    path.write(ClaimKind::Decision, a);
    let answer = path.write(ClaimKind::Decision, b);
    took.push(millis(answer.took));
    answer.opposed.into_iter().next().map_or((Tier::Clean, 0.0, String::new()), |o| (o.tier, o.score, o.why))
}

/// Returns the recall on contradictions at the lowest threshold at which each corpus has at most `per_1000` false blocks.
fn recall_at(scores: &[f32], corpora: [&[ReplayedWrite]; 2], per_1000: f64) -> f64 {
    // In a corpus of n rows, floor(n · rate) rows may be at or above the threshold, which is just above the next row.
    let limit = corpora
        .iter()
        .map(|replayed| {
            let mut all: Vec<f32> = replayed.iter().filter(|s| !s.narrates_change).map(|s| s.score).collect();
            all.sort_by(|a, b| b.total_cmp(a));
            let allowed = (all.len() as f64 * per_1000 / 1000.0).floor() as usize;
            all.get(allowed).copied().unwrap_or(0.0)
        })
        .fold(0.0_f32, f32::max);
    share(scores.iter().filter(|score| **score > limit).count(), scores.len())
}

/// Returns how many of 1,000 rows have a tier.
fn per_1000(replayed: &[ReplayedWrite], tier: Tier) -> f64 {
    let counted: Vec<&ReplayedWrite> = replayed.iter().filter(|s| !s.narrates_change).collect();
    1000.0 * share(counted.iter().filter(|s| s.tier == tier).count(), counted.len())
}

/// Measures one way to compare claims on all data.
pub(super) fn row(name: &str, path: &mut dyn GuardPath, data: &Data, explain: bool) -> GuardRow {
    let mut wrong = Vec::new();
    let mut took = Vec::new();
    let mut pairs = PairsScore::default();
    let mut by_phenomenon: BTreeMap<String, PhenomenonScore> = BTreeMap::new();
    let (mut hits, mut blocks, mut wanted, mut accepted) = (0, 0, 0, 0);
    let mut scores = Vec::new();
    let mut calibration = Bins::default();
    let mut by_rule: BTreeMap<String, RuleCounts> = BTreeMap::new();
    for row in &data.pairs {
        let (tier, score, why) = pair(path, &row.a, &row.b, &mut took);
        let is_contradiction = row.label == "contradiction";
        let blocked = tier == Tier::Block;
        if score > 0.0 {
            calibration.add(score, is_contradiction);
        }
        let fits = if row.accept_tiers.is_empty() {
            blocked == is_contradiction
        } else {
            row.accept_tiers.iter().any(|t| t == tier_name(tier))
        };
        wanted += usize::from(is_contradiction);
        blocks += usize::from(blocked);
        hits += usize::from(blocked && is_contradiction);
        accepted += usize::from(fits);
        if is_contradiction {
            scores.push(score);
        }
        let entry = by_phenomenon.entry(row.phenomenon.clone()).or_default();
        entry.rows += 1;
        entry.accepted_rows += usize::from(fits);
        entry.blocked_rows += usize::from(blocked);
        if blocked {
            let counts = by_rule.entry(rule_of(&why).to_owned()).or_default();
            *(if is_contradiction { &mut counts.found } else { &mut counts.wrong_pairs }) += 1;
        }
        if explain && (blocked != is_contradiction) {
            let what = if blocked { format!("false block ({})", row.label) } else { "miss".into() };
            wrong.push(WrongAnswer { id: row.id.clone(), what, a: row.a.clone(), b: row.b.clone(), why, score });
        }
    }
    for entry in by_phenomenon.values_mut() {
        entry.accepted = share(entry.accepted_rows, entry.rows);
        entry.blocked = share(entry.blocked_rows, entry.rows);
    }
    pairs.rows = data.pairs.len();
    pairs.precision = share(hits, blocks);
    pairs.recall = share(hits, wanted);
    pairs.f1 = if hits == 0 { 0.0 } else { 2.0 * pairs.precision * pairs.recall / (pairs.precision + pairs.recall) };
    pairs.accepted = share(accepted, data.pairs.len());
    pairs.by_phenomenon = by_phenomenon;

    let rules = replay(path, &data.rules, ClaimKind::Convention, &mut took, explain.then_some(&mut wrong));
    let adr = replay(path, &data.adr, ClaimKind::Decision, &mut took, explain.then_some(&mut wrong));
    for replayed in rules.iter().chain(&adr).filter(|replayed| !replayed.narrates_change) {
        for score in &replayed.scores {
            calibration.add(*score, false);
        }
        if let Some(why) = &replayed.refused_by {
            by_rule.entry(rule_of(why).to_owned()).or_default().false_blocks += 1;
        }
    }
    let adr_supersede = supersede(path, data, &mut took, explain.then_some(&mut wrong));
    GuardRow {
        name: name.to_owned(),
        pairs,
        recall_at: RecallAt {
            zero: recall_at(&scores, [&rules, &adr], 0.0),
            two_per_1000: recall_at(&scores, [&rules, &adr], 2.0),
        },
        false_blocks_per_1000: FalseRate { rules: per_1000(&rules, Tier::Block), adr: per_1000(&adr, Tier::Block) },
        warns_per_1000: FalseRate { rules: per_1000(&rules, Tier::Warn), adr: per_1000(&adr, Tier::Warn) },
        adr_narrating_blocked: adr.iter().filter(|s| s.narrates_change && s.tier == Tier::Block).count(),
        adr_supersede,
        by_rule,
        calibration,
        write_ms: Quantiles::of(took),
        wrong,
    }
}

fn supersede(
    path: &mut dyn GuardPath,
    data: &Data,
    took: &mut Vec<f64>,
    mut wrong: Option<&mut Vec<WrongAnswer>>,
) -> SupersedeScore {
    let mut out = SupersedeScore::default();
    let mut counts = [(0, 0, 0), (0, 0, 0)];
    let (mut refinements, mut refused) = (0, 0);
    for row in &data.supersede {
        let (tier, score, why) = pair(path, &row.old.claim, &row.new.claim, took);
        if row.label == "contradiction" {
            let (rows, block, found) = &mut counts[usize::from(row.visible_in_text != "explicit")];
            *rows += 1;
            *block += usize::from(tier == Tier::Block);
            *found += usize::from(tier != Tier::Clean);
        } else {
            refinements += 1;
            refused += usize::from(tier == Tier::Block);
        }
        let missed = row.label == "contradiction" && tier == Tier::Clean;
        if let (Some(wrong), true) =
            (wrong.as_deref_mut(), missed || (row.label != "contradiction" && tier == Tier::Block))
        {
            let what = if missed { "miss (superseded)" } else { "false block (refinement)" };
            wrong.push(WrongAnswer {
                id: row.id.clone(),
                what: what.into(),
                a: row.old.claim.clone(),
                b: row.new.claim.clone(),
                why,
                score,
            });
        }
    }
    let found = |(rows, block, found): (usize, usize, usize)| FoundShares {
        rows,
        block: share(block, rows),
        found: share(found, rows),
    };
    out.explicit = found(counts[0]);
    out.implicit = found(counts[1]);
    out.refinement_blocked = share(refused, refinements);
    out
}
