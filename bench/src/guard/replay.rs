//! Replays of the two corpora.

use super::{
    data::CorpusRow,
    path::{GuardPath, Opposed},
    score::Wrong,
};
use ergo::domain::{ClaimKind, Tier};

/// What a replay saw of one row: the strongest answer against an unrelated row.
pub(super) struct Seen {
    pub(super) tier: Tier,
    pub(super) score: f32,
    pub(super) narrates_change: bool,
    /// The scores against all unrelated rows.
    pub(super) scores: Vec<f32>,
    /// Why it was refused, if it was.
    pub(super) refused_by: Option<String>,
}

/// Replays a corpus, one fresh project a unit, and looks at every answer.
pub(super) fn replay(
    path: &mut dyn GuardPath,
    rows: &[CorpusRow],
    kind: ClaimKind,
    took: &mut Vec<f64>,
    mut wrong: Option<&mut Vec<Wrong>>,
) -> Vec<Seen> {
    let mut seen = Vec::with_capacity(rows.len());
    let mut project: Vec<&CorpusRow> = Vec::new();
    for row in rows {
        if project.first().is_none_or(|first| first.unit != row.unit) {
            path.fresh();
            project.clear();
        }
        let answer = path.write(kind, &row.text);
        took.push(answer.took.as_secs_f64() * 1000.0);
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
            wrong.push(Wrong {
                id: format!("{} {}", other.id, row.id),
                what: "false block".into(),
                a: other.text.clone(),
                b: row.text.clone(),
                why: opposed.why.clone(),
                score: opposed.score,
            });
        }
        seen.push(Seen {
            tier: strongest.map_or(Tier::Clean, |o| o.tier),
            score: strongest.map_or(0.0, |o| o.score),
            narrates_change: row.narrates_change,
            scores,
            refused_by: strongest.filter(|o| o.tier == Tier::Block).map(|o| o.why.clone()),
        });
        project.push(row);
    }
    seen
}
