//! Lays out the columns of a history that forks and merges. Pure.

/// The most columns that are drawn; further ones share the last.
const MAX_COLUMNS: usize = 6;

/// What one column of one line shows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cell {
    Empty,
    /// The rail of another node.
    Rail,
    /// The node of this line.
    Node,
}

/// A node with its columns.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct GraphStep {
    /// Columns that end above the node, since they all lead to it: a claim that was replaced more than once.
    pub joins: Vec<usize>,
    /// The columns in the line of the node.
    pub cells: Vec<Cell>,
    pub column: usize,
    /// Columns that begin below the node: a claim that replaced more than one.
    pub splits: Vec<usize>,
    /// For each column, whether a rail goes on below the node.
    pub below: Vec<bool>,
}

/// Orders nodes so that each comes after every node that replaced it, as near to the given order as that allows.
/// `older` lists, by number, what each node replaced.
pub fn order(older: &[Vec<usize>]) -> Vec<usize> {
    let mut replacements = vec![0_usize; older.len()];
    for one in older.iter().flatten().filter(|one| **one < older.len()) {
        replacements[*one] += 1;
    }
    let mut done = vec![false; older.len()];
    let mut out = Vec::with_capacity(older.len());
    while out.len() < older.len() {
        // A cycle, which cannot occur, is cut where it is met first.
        let ready = (0..older.len()).find(|node| !done[*node] && replacements[*node] == 0);
        let Some(next) = ready.or_else(|| done.iter().position(|done| !done)) else { break };
        done[next] = true;
        out.push(next);
        for one in older[next].iter().filter(|one| **one < older.len()) {
            replacements[*one] = replacements[*one].saturating_sub(1);
        }
    }
    out
}

/// Returns the rails of nodes in this order. `older` lists, by number, what each node replaced; numbers at or before
/// the node's own are ignored.
pub fn rails(older: &[Vec<usize>]) -> Vec<GraphStep> {
    let mut columns: Vec<Option<usize>> = Vec::new();
    let mut steps = Vec::with_capacity(older.len());
    for (node, replaced) in older.iter().enumerate() {
        let own_columns: Vec<usize> = (0..columns.len()).filter(|at| columns[*at] == Some(node)).collect();
        let column = match own_columns.first() {
            Some(first) => *first,
            None => take_column(&mut columns, node),
        };
        let joins: Vec<usize> = own_columns.iter().skip(1).copied().collect();
        for at in &joins {
            columns[*at] = None;
        }
        let cells = columns
            .iter()
            .enumerate()
            .map(|(at, to)| match to {
                _ if at == column => Cell::Node,
                Some(_) => Cell::Rail,
                None => Cell::Empty,
            })
            .collect();
        columns[column] = None;
        let mut splits = Vec::new();
        let later: Vec<usize> = replaced.iter().copied().filter(|one| *one > node && *one < older.len()).collect();
        for (index, one) in later.into_iter().enumerate() {
            if index == 0 {
                columns[column] = Some(one);
            } else if !columns.contains(&Some(one)) {
                splits.push(take_column(&mut columns, one));
            }
        }
        while columns.last().is_some_and(Option::is_none) {
            columns.pop();
        }
        steps.push(GraphStep { joins, cells, column, splits, below: columns.iter().map(Option::is_some).collect() });
    }
    steps
}

/// Puts a node into a free column, or into a new one; beyond [`MAX_COLUMNS`], into the last.
fn take_column(columns: &mut Vec<Option<usize>>, node: usize) -> usize {
    let at = columns.iter().position(Option::is_none).unwrap_or(columns.len()).min(MAX_COLUMNS - 1);
    if at == columns.len() {
        columns.push(None);
    }
    columns[at] = Some(node);
    at
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn drawn(older: &[Vec<usize>]) -> String {
        let mut out = String::new();
        for step in rails(older) {
            if !step.joins.is_empty() {
                out.extend(["join ", &format!("{:?}", step.joins), "\n"]);
            }
            let line: String = step
                .cells
                .iter()
                .map(|cell| match cell {
                    Cell::Empty => ' ',
                    Cell::Rail => '|',
                    Cell::Node => '*',
                })
                .collect();
            out.push_str(line.trim_end());
            out.push('\n');
            if !step.splits.is_empty() {
                out.extend(["split ", &format!("{:?}", step.splits), "\n"]);
            }
        }
        out
    }

    #[test]
    fn a_chain_has_one_rail() {
        assert_eq!(drawn(&[vec![1], vec![2], vec![]]), "*\n*\n*\n");
    }

    #[test]
    fn a_claim_replaced_twice_joins_and_one_that_replaced_two_splits() {
        assert_eq!(drawn(&[vec![2], vec![2], vec![]]), "*\n|*\njoin [1]\n*\n");
        assert_eq!(drawn(&[vec![1, 2], vec![3], vec![3], vec![]]), "*\nsplit [1]\n*|\n|*\njoin [1]\n*\n");
    }

    #[test]
    fn the_newer_comes_first_whatever_order_they_came_in() {
        // 0 replaced 2; 2 was replaced by 1 as well, which comes later in the list.
        assert_eq!(order(&[vec![2], vec![2], vec![]]), [0, 1, 2]);
        assert_eq!(order(&[vec![1], vec![], vec![1]]), [0, 2, 1]);
        assert_eq!(order(&[vec![1], vec![0]]), [0, 1], "a circle is cut");
    }

    proptest! {
        #[test]
        fn any_web_is_drawn_with_every_node_once(older in prop::collection::vec(prop::collection::vec(0usize..40, 0..4), 0..40)) {
            let order = order(&older);
            let mut sorted = order.clone();
            sorted.sort_unstable();
            prop_assert_eq!(sorted, (0..older.len()).collect::<Vec<_>>());
            for step in rails(&older) {
                prop_assert!(step.cells.len() <= MAX_COLUMNS);
                prop_assert_eq!(step.cells.iter().filter(|cell| **cell == Cell::Node).count(), 1);
            }
        }
    }
}
