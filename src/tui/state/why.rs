//! The Why screen: one claim, what it replaced and what replaced it, its premises and its dependents.

use std::collections::HashMap;

use crate::{
    api::{CardStatus, CardSummary, ChainLink, ClaimView, EventView, History, WhyAnswer},
    domain::{CardId, ClaimId, Scope},
    tui::{drift::Drift, graph},
};

/// How many lines one step scrolls within a node.
const LINES_PER_STEP: isize = 3;

/// The subject of the Why screen.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Subject {
    /// A claim, by id or prefix.
    Claim(String),
    /// A question in words.
    Question {
        text: String,
        /// The scope in which it is asked.
        scope: Scope,
    },
}

#[derive(Clone, Debug, Default)]
pub struct WhyState {
    /// The current subject.
    pub subject: Option<Subject>,
    /// The earlier subjects, to which the Back key returns; the latest last.
    pub past: Vec<Subject>,
    /// The last answer.
    pub chain: Option<WhyChain>,
    /// The node under the cursor.
    pub cursor: Option<NodeId>,
    /// How many lines the node under the cursor is scrolled, if it does not fit on the screen as a whole.
    pub scroll: usize,
    /// The error message, if reading failed.
    pub error: Option<String>,
    /// Whether each claim's source file still contains its statement, as far as it is known.
    pub drifts: HashMap<ClaimId, Drift>,
}

/// The answer to a subject: from a claim's history, or from a question.
#[derive(Clone, Debug, Default)]
pub struct WhyChain {
    /// The claim that is explained.
    pub answer: Option<ClaimView>,
    /// The claims that replaced it, the oldest first.
    pub successors: Vec<ClaimView>,
    /// The claim and the claims that it replaced, the newest first.
    pub links: Vec<ChainLink>,
    pub premises: Vec<ClaimView>,
    pub dependents: Vec<ClaimView>,
    /// The open cards about the claim.
    pub cards: Vec<CardSummary>,
    /// Further claims that match the question.
    pub others: Vec<ClaimView>,
    /// Judgements on the claim and other claims.
    pub judgements: Vec<EventView>,
    /// A message, if there is no answer.
    pub note: Option<String>,
    /// The order of the claims of [`WhyChain::unordered`], computed once, since a chain may have hundreds of them.
    order: Vec<usize>,
}

/// The part of the screen in which a node is listed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Section {
    Chain,
    Premises,
    Dependents,
    Cards,
    /// Further claims that match the question.
    Others,
}

/// The identity of a node, which stays the same when the list changes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct NodeId {
    pub section: Section,
    /// The id of the claim or the card.
    pub id: [u8; 32],
}

/// An item on which the cursor can stand.
#[derive(Clone, Debug)]
pub enum Node<'a> {
    /// A claim; in the chain, also the step that links it to its successor.
    Claim {
        section: Section,
        claim: &'a ClaimView,
        link: Option<&'a ChainLink>,
    },
    Card(&'a CardSummary),
}

impl Node<'_> {
    /// Returns the identity of the node.
    pub fn id(&self) -> NodeId {
        match self {
            Self::Claim { section, claim, .. } => NodeId { section: *section, id: claim.id.0 },
            Self::Card(card) => NodeId { section: Section::Cards, id: card.id.0 },
        }
    }
}

fn claims(section: Section, claims: &[ClaimView]) -> Vec<Node<'_>> {
    claims.iter().map(|claim| Node::Claim { section, claim, link: None }).collect()
}

/// Returns the open cards; settled cards show in the chain.
fn open(mut cards: Vec<CardSummary>) -> Vec<CardSummary> {
    cards.retain(|card| card.status == CardStatus::Open);
    cards
}

impl From<History> for WhyChain {
    fn from(history: History) -> Self {
        Self {
            answer: Some(history.claim),
            successors: history.successors,
            links: history.chain,
            premises: history.premises,
            dependents: history.dependents,
            cards: open(history.cards),
            judgements: history.events.into_iter().filter(|event| event.kind.starts_with("judgement.")).collect(),
            ..Self::default()
        }
        .ordered()
    }
}

impl From<WhyAnswer> for WhyChain {
    fn from(answer: WhyAnswer) -> Self {
        Self {
            answer: answer.answer,
            links: answer.chain,
            premises: answer.premises,
            dependents: answer.dependents,
            cards: open(answer.cards),
            others: answer.may_disagree.into_iter().chain(answer.others).collect(),
            note: answer.note,
            ..Self::default()
        }
        .ordered()
    }
}

/// Returns for each claim in `nodes` which of these claims it replaced, as indexes among the claims.
pub fn replaced<'a>(nodes: impl Iterator<Item = &'a Node<'a>>) -> Vec<Vec<usize>> {
    let chain: Vec<(&ClaimView, Option<ClaimId>)> = nodes
        .filter_map(|node| match node {
            Node::Claim { claim, link, .. } => Some((*claim, link.and_then(|link| link.replaced_by))),
            Node::Card(_) => None,
        })
        .collect();
    let replaced = |newer: &ClaimView| -> Vec<usize> {
        let by_it = |(claim, by): &(&ClaimView, Option<ClaimId>)| {
            claim.id != newer.id
                && (newer.replaces.contains(&claim.id)
                    || claim.replaced_by.contains(&newer.id)
                    || *by == Some(newer.id))
        };
        chain.iter().enumerate().filter(|(_, other)| by_it(other)).map(|(at, _)| at).collect()
    };
    chain.iter().map(|(claim, _)| replaced(claim)).collect()
}

impl WhyChain {
    /// Returns the claims of the chain as they were answered. If chains fork and merge, a claim fewer steps away is not
    /// always newer.
    fn unordered(&self) -> Vec<Node<'_>> {
        let mut nodes = claims(Section::Chain, &self.successors);
        nodes.reverse();
        if self.links.is_empty() {
            nodes.extend(self.answer.iter().map(|claim| Node::Claim { section: Section::Chain, claim, link: None }));
        }
        let known: Vec<ClaimId> = self.successors.iter().map(|claim| claim.id).collect();
        nodes.extend(self.links.iter().filter(|link| !known.contains(&link.claim.id)).map(|link| Node::Claim {
            section: Section::Chain,
            claim: &link.claim,
            link: Some(link),
        }));
        nodes
    }

    fn ordered(mut self) -> Self {
        self.order = graph::order(&replaced(self.unordered().iter()));
        self
    }

    /// Returns all items on which the cursor can stand, from the newest claim down.
    pub fn nodes(&self) -> Vec<Node<'_>> {
        let mut placed: Vec<Option<Node<'_>>> = self.unordered().into_iter().map(Some).collect();
        let mut nodes: Vec<Node<'_>> = self.order.iter().filter_map(|at| placed.get_mut(*at)?.take()).collect();
        nodes.extend(self.cards.iter().map(Node::Card));
        nodes.extend(claims(Section::Premises, &self.premises));
        nodes.extend(claims(Section::Dependents, &self.dependents));
        nodes.extend(claims(Section::Others, &self.others));
        nodes
    }

    /// Returns the node of the claim that is explained.
    pub fn home(&self) -> Option<NodeId> {
        self.answer.as_ref().map(|claim| NodeId { section: Section::Chain, id: claim.id.0 })
    }
}

impl WhyState {
    /// Returns the shown chain; `None` if reading the subject failed.
    pub fn shown(&self) -> Option<&WhyChain> {
        self.chain.as_ref().filter(|_| self.error.is_none())
    }

    /// Returns the node under the cursor, with its index.
    pub fn current(&self) -> Option<(usize, Node<'_>)> {
        let nodes = self.shown()?.nodes();
        let index = nodes.iter().position(|node| Some(node.id()) == self.cursor).unwrap_or(0);
        nodes.into_iter().nth(index).map(|node| (index, node))
    }

    /// Returns the claim under the cursor.
    pub fn current_claim(&self) -> Option<&ClaimView> {
        match self.current()?.1 {
            Node::Claim { claim, .. } => Some(claim),
            Node::Card(_) => None,
        }
    }

    /// Returns the card under the cursor.
    pub fn current_card(&self) -> Option<CardId> {
        match self.current()?.1 {
            Node::Card(card) => Some(card.id),
            Node::Claim { .. } => None,
        }
    }

    /// Moves the cursor by `rows` nodes.
    pub fn step(&mut self, rows: isize) {
        let Some(chain) = self.shown() else { return };
        let nodes = chain.nodes();
        let here = nodes.iter().position(|node| Some(node.id()) == self.cursor).unwrap_or(0);
        let next = here.saturating_add_signed(rows).min(nodes.len().saturating_sub(1));
        let next = nodes.get(next).map(Node::id);
        drop(nodes);
        self.place(next);
    }

    /// Puts the cursor on a node, at its beginning.
    pub fn place(&mut self, node: Option<NodeId>) {
        (self.cursor, self.scroll) = (node, 0);
    }

    /// Scrolls the node under the cursor, of which `overflow` lines do not fit on the screen. Returns `false` if its
    /// beginning or end is shown already.
    pub fn scroll(&mut self, rows: isize, overflow: usize) -> bool {
        let before = self.scroll.min(overflow);
        self.scroll = before.saturating_add_signed(rows.saturating_mul(LINES_PER_STEP)).min(overflow);
        self.scroll != before
    }

    /// Takes an answer. The cursor stays on its node; if that is gone, it goes to the claim that is explained.
    pub fn accept(&mut self, chain: WhyChain) {
        let kept = self.cursor.filter(|id| chain.nodes().iter().any(|node| node.id() == *id));
        self.cursor = kept.or_else(|| chain.home()).or_else(|| chain.nodes().first().map(Node::id));
        self.chain = Some(chain);
        self.error = None;
    }
}
