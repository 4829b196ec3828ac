//! Clusters statements about one subject by the density of their vectors, which have length 1 (DBSCAN).

use std::collections::VecDeque;

use crate::domain::numeric::cosine;

/// The default minimum cosine of neighbours. From it on, claims are about one subject, in different words.
pub const LEAST: f32 = 0.6;

/// The number of neighbours, including itself, from which a statement is a core point of a cluster.
const MIN_CORE_NEIGHBOURS: usize = 3;

/// A cluster of statements about one subject.
#[derive(Clone, Debug, PartialEq)]
pub struct Cluster {
    /// The indexes of its statements, the nearest to the centre first.
    pub members: Vec<usize>,
    /// The mean cosine of its members to their centre, 0 to 1.
    pub coherence: f32,
}

/// Returns the clusters of vectors whose neighbours have at least the cosine `least`, the largest first. A vector near too few others is
/// in no cluster. Vectors of different dimensions are never neighbours.
pub fn clusters(vectors: &[&[f32]], least: f32) -> Vec<Cluster> {
    let near: Vec<Vec<usize>> = vectors
        .iter()
        .map(|one| {
            (0..vectors.len()).filter(|at| vectors.get(*at).is_some_and(|other| cosine(one, other) >= least)).collect()
        })
        .collect();
    let is_core = |at: usize| near.get(at).is_some_and(|near| near.len() >= MIN_CORE_NEIGHBOURS);
    let mut taken = vec![false; vectors.len()];
    let mut found = Vec::new();
    for start in 0..vectors.len() {
        if !is_core(start) || std::mem::replace(&mut taken[start], true) {
            continue;
        }
        let mut members = vec![start];
        let mut next = VecDeque::from([start]);
        while let Some(at) = next.pop_front() {
            for other in near.get(at).into_iter().flatten() {
                if !std::mem::replace(&mut taken[*other], true) {
                    members.push(*other);
                    if is_core(*other) {
                        next.push_back(*other);
                    }
                }
            }
        }
        found.push(describe(vectors, members));
    }
    found.sort_by(|a, b| b.members.len().cmp(&a.members.len()).then(a.members.cmp(&b.members)));
    found
}

fn describe(vectors: &[&[f32]], mut members: Vec<usize>) -> Cluster {
    let of = |at: &usize| vectors.get(*at).copied().unwrap_or_default();
    let mut centre = vec![0.0_f32; members.first().map_or(0, |at| of(at).len())];
    for at in &members {
        centre.iter_mut().zip(of(at)).for_each(|(sum, x)| *sum += x);
    }
    let length = cosine(&centre, &centre).sqrt().max(f32::MIN_POSITIVE);
    let nearness = |at: &usize| cosine(&centre, of(at)) / length;
    members.sort_by(|a, b| nearness(b).total_cmp(&nearness(a)).then(a.cmp(b)));
    let coherence = members.iter().map(nearness).sum::<f32>() / members.len().max(1) as f32;
    Cluster { members, coherence }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns a vector of length 1 at an angle in degrees.
    fn at(degrees: f32) -> Vec<f32> {
        vec![degrees.to_radians().cos(), degrees.to_radians().sin()]
    }

    fn of(degrees: &[f32], least: f32) -> Vec<Vec<usize>> {
        let vectors: Vec<Vec<f32>> = degrees.iter().map(|degrees| at(*degrees)).collect();
        let vectors: Vec<&[f32]> = vectors.iter().map(Vec::as_slice).collect();
        clusters(&vectors, least).into_iter().map(|cluster| cluster.members).collect()
    }

    #[test]
    fn what_stands_close_together_is_a_cluster_and_what_stands_alone_is_none() {
        // Two clusters and one vector alone; the middle of each cluster is first.
        let mut found = of(&[0.0, 10.0, 20.0, 88.0, 90.0, 92.0, 94.0, 96.0, 180.0], 0.97);
        assert_eq!(found.iter().map(|members| members[0]).collect::<Vec<_>>(), [5, 1]);
        for members in &mut found {
            members.sort_unstable();
        }
        assert_eq!(found, [vec![3, 4, 5, 6, 7], vec![0, 1, 2]]);
        assert_eq!(of(&[0.0, 10.0], 0.9), Vec::<Vec<usize>>::new(), "two are no crowd");
        assert_eq!(of(&[], 0.9), Vec::<Vec<usize>>::new());
    }

    #[test]
    fn a_chain_of_neighbours_is_one_cluster_and_the_coherence_says_how_loose_it_is() {
        assert_eq!(of(&[0.0, 20.0, 40.0, 60.0, 80.0], 0.93)[0].len(), 5);
        let (close, loose) = ([at(0.0), at(1.0), at(2.0)], [at(0.0), at(20.0), at(40.0)]);
        let coherence = |of: &[Vec<f32>; 3]| clusters(&of.each_ref().map(Vec::as_slice), 0.9)[0].coherence;
        assert!(coherence(&close) > 0.999 && coherence(&loose) < 0.98);
    }

    #[test]
    fn vectors_of_another_dimension_are_far_from_all() {
        let (long, short) = ([1.0, 0.0, 0.0], [1.0, 0.0]);
        assert!(clusters(&[&long, &long, &short], 0.5).is_empty());
    }
}
