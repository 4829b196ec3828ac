//! Groups of insights on one subject, as the API shows them.

use std::collections::BTreeSet;

use super::views;
use crate::{
    api::{ApiError, ClusterMember, MAX_CLUSTERED, NoteCluster, NoteClusters, NoteClustersQuery},
    domain::Scope,
    engine::{Engine, reads::limit_of_list},
    notes::{Insight, Lifecycle, cluster},
};

/// The default number of listed clusters.
const DEFAULT_LIMIT: usize = 20;

pub(super) fn clusters(engine: &Engine, query: &NoteClustersQuery) -> Result<NoteClusters, ApiError> {
    let org = views::organisation(&query.org_id)?;
    let least = match query.similarity {
        None => cluster::LEAST,
        Some(percent) if (1..=100).contains(&percent) => f32::from(percent) / 100.0,
        Some(other) => {
            let message = format!("invalid `similarity` {other}: expected 1 to 100 percent");
            return Err(ApiError::field("similarity", message));
        }
    };
    let limit = limit_of_list(query.limit, DEFAULT_LIMIT, MAX_CLUSTERED)?;
    let book = engine.notes_book(org)?;
    let vectors = engine.readers.lend().organisation_vectors(org)?;
    let mut insights = book.insights();
    insights.retain(|insight| insight.lifecycle != Lifecycle::Pruned);
    views::sort(&mut insights);
    let vector = |insight: &Insight| vectors.get(&book.claims.get(insight.wording)?.id);
    let compared: Vec<(&Insight, &[f32])> = insights
        .iter()
        .filter_map(|insight| Some((insight, vector(insight)?.as_slice())))
        .take(MAX_CLUSTERED)
        .collect();
    let points: Vec<&[f32]> = compared.iter().map(|(_, vector)| *vector).collect();
    let found = cluster::clusters(&points, least);
    let view = |cluster: &cluster::Cluster| {
        let members: Vec<&Insight> =
            cluster.members.iter().filter_map(|at| compared.get(*at)).map(|(insight, _)| *insight).collect();
        let projects: BTreeSet<&Scope> = members.iter().flat_map(|insight| &insight.projects).collect();
        NoteCluster {
            coherence: f64::from(cluster.coherence),
            projects: projects.len(),
            domain: members.first().map(|insight| insight.labels.domain.to_owned()).unwrap_or_default(),
            contradicted: members.iter().any(|insight| insight.contradicted),
            members: members
                .iter()
                .filter_map(|insight| {
                    let wording = book.claims.get(insight.wording)?;
                    let statement = wording.statement.clone();
                    Some(ClusterMember { claim: wording.id, statement, projects: insight.agreeing })
                })
                .collect(),
        }
    };
    let items = found.iter().take(limit).map(view).collect();
    Ok(NoteClusters { items, total: found.len(), insights: compared.len() })
}
