//! Replays of the two corpora.

use super::{
    data::CorpusRow,
    path::{GuardPath, Opposed},
    score::WrongAnswer,
};
use crate::measure::millis;
use ergo::domain::{ClaimKind, Tier};

/// A row of a corpus, with the strongest finding against an unrelated row.
pub(super) struct ReplayedWrite {
    pub(super) tier: Tier,
    pub(super) score: f32,
    pub(super) narrates_change: bool,
    /// The scores against all unrelated rows.
    pub(super) scores: Vec<f32>,
    /// The reason of the refusal, if it was refused.
    pub(super) refused_by: Option<String>,
}

/// Replays a corpus, with a new project for each unit.
pub(super) fn replay(
    path: &mut dyn GuardPath,
    rows: &[CorpusRow],
    kind: ClaimKind,
    took: &mut Vec<f64>,
    mut wrong: Option<&mut Vec<WrongAnswer>>,
) -> Vec<ReplayedWrite> {
    let mut replayed = Vec::with_capacity(rows.len());
    let mut project: Vec<&CorpusRow> = Vec::new();
    for row in rows {
        if project.first().is_none_or(|first| first.unit != row.unit) {
            path.fresh();
            project.clear();
        }
        let answer = path.write(kind, &row.text);
        took.push(millis(answer.took));
        let unrelated = |opposed: &&Opposed| {
            let other = project[opposed.number];
            !row.related_ids.contains(&other.id) && !other.related_ids.contains(&row.id)
        };
        let scores = answer.opposed.iter().filter(unrelated).map(|opposed| opposed.score).collect();
        let strongest = answer
            .opposed
            .iter()
            .filter(unrelated)
            .max_by(|a, b| a.tier.cmp(&b.tier).then(a.score.total_cmp(&b.score)));
        if let (Some(wrong), Some(opposed)) =
            (wrong.as_deref_mut(), strongest.filter(|o| o.tier == Tier::Block && !row.narrates_change))
        {
            let other = project[opposed.number];
            wrong.push(WrongAnswer {
                id: format!("{} {}", other.id, row.id),
                what: "false block".into(),
                a: other.text.clone(),
                b: row.text.clone(),
                why: opposed.why.clone(),
                score: opposed.score,
            });
        }
        replayed.push(ReplayedWrite {
            tier: strongest.map_or(Tier::Clean, |o| o.tier),
            score: strongest.map_or(0.0, |o| o.score),
            narrates_change: row.narrates_change,
            scores,
            refused_by: strongest.filter(|o| o.tier == Tier::Block).map(|o| o.why.clone()),
        });
        project.push(row);
    }
    replayed
}
