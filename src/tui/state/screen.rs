//! The screens and their names.

use crate::tui::action::Action;

/// The screens.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Screen {
    /// Everything that wants a person.
    #[default]
    Inbox,
    /// The scope tree and its claims.
    Claims,
    /// One claim's why-chain.
    Why,
    /// Teams, their devices, and how things stand with them.
    Peers,
    /// What happened.
    Timeline,
    /// Models, and the daemon's health.
    Models,
    /// Acts, and taking them back.
    Log,
    /// Cards, also those that are settled.
    Conflicts,
    /// Coding agents, and what each did.
    Agents,
}

impl Screen {
    /// In the order of the tabs.
    pub const ALL: [Self; 9] = [
        Self::Inbox,
        Self::Claims,
        Self::Why,
        Self::Peers,
        Self::Timeline,
        Self::Models,
        Self::Log,
        Self::Conflicts,
        Self::Agents,
    ];

    /// The act that leads to it.
    pub fn act(self) -> Action {
        match self {
            Self::Inbox => Action::ShowConflicts,
            Self::Claims => Action::ShowClaims,
            Self::Why => Action::ShowWhy,
            Self::Peers => Action::ShowPeers,
            Self::Timeline => Action::ShowTimeline,
            Self::Models => Action::ShowModels,
            Self::Log => Action::ShowLog,
            Self::Conflicts => Action::ShowCards,
            Self::Agents => Action::ShowAgents,
        }
    }

    /// Its name.
    pub fn title(self) -> &'static str {
        match self {
            Self::Inbox => "Inbox",
            Self::Claims => "Claims",
            Self::Why => "Why",
            Self::Peers => "Peers",
            Self::Timeline => "Timeline",
            Self::Models => "Models",
            Self::Log => "Log",
            Self::Conflicts => "Conflicts",
            Self::Agents => "Agents",
        }
    }
}
