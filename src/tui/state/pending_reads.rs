//! Which data to read again.

use super::why;

/// Which data to read again, and which card and why-chain were requested last.
#[derive(Clone, Debug, Default)]
pub struct Requests {
    pub health: bool,
    pub scopes: bool,
    pub card: bool,
    pub why: bool,
    /// Teams and peers.
    pub sync: bool,
    /// The Inbox.
    pub inbox: bool,
    /// The page of a long group that the Inbox was turned to.
    pub inbox_page: bool,
    /// The state of the daemon and its models.
    pub diagnose: bool,
    pub agents: bool,
    /// The rule files and the insights.
    pub notes: bool,
    pub story: bool,
    /// The claims that hooks injected for agents.
    pub injected: bool,
    /// The card that was requested last, by id or prefix.
    pub asked_card: Option<String>,
    /// The why-chain that was requested last.
    pub asked_why: Option<why::Subject>,
}
