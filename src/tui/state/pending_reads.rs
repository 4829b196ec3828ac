//! Which data must be read again.

use super::why;

/// What should be read again, and what was asked for last.
#[derive(Clone, Debug, Default)]
pub struct Requests {
    /// The daemon's health.
    pub health: bool,
    /// The scope tree.
    pub scopes: bool,
    /// The card under the cursor.
    pub card: bool,
    /// The why-chain.
    pub why: bool,
    /// Teams and peers.
    pub sync: bool,
    /// What needs attention.
    pub inbox: bool,
    /// The page of a long group that was turned to.
    pub inbox_page: bool,
    /// How the daemon and its models are.
    pub diagnose: bool,
    /// Which agents there are.
    pub agents: bool,
    /// The files of rules, and the principles.
    pub notes: bool,
    /// The story that is shown.
    pub story: bool,
    /// What hooks gave agents.
    pub injected: bool,
    /// The card that was asked for last.
    pub asked_card: Option<String>,
    /// The why-chain that was asked for last.
    pub asked_why: Option<why::Subject>,
}
