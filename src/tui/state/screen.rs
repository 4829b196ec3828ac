//! The screens and their names.

use crate::tui::action::Action;

/// The screens.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Screen {
    /// Everything that needs attention.
    #[default]
    Inbox,
    /// The scope tree and its claims.
    Claims,
    /// One claim's why-chain.
    Why,
    /// Teams, their devices, and how things stand with them.
    Peers,
    /// Acts, and taking them back.
    Timeline,
    /// Models, and the daemon's health.
    Models,
    /// Coding agents, and what each did.
    Agents,
    /// Files of rules, and the principles that rise from them.
    Notes,
    /// The Inbox filtered by status: cards that are snoozed, settled, or all. It has no tab of its own.
    Cards,
}

impl Screen {
    /// Those that have a tab, in that order.
    pub const TABS: [Self; 8] =
        [Self::Inbox, Self::Claims, Self::Why, Self::Peers, Self::Timeline, Self::Models, Self::Agents, Self::Notes];

    /// The act that leads to it.
    pub fn act(self) -> Action {
        match self {
            Self::Inbox | Self::Cards => Action::ShowInbox,
            Self::Claims => Action::ShowClaims,
            Self::Why => Action::ShowWhy,
            Self::Peers => Action::ShowPeers,
            Self::Timeline => Action::ShowTimeline,
            Self::Models => Action::ShowModels,
            Self::Agents => Action::ShowAgents,
            Self::Notes => Action::ShowNotes,
        }
    }

    /// The one whose tab is lit while this one is shown.
    #[must_use]
    pub fn tab(self) -> Self {
        match self {
            Self::Cards => Self::Inbox,
            other => other,
        }
    }

    /// Its name.
    pub fn title(self) -> &'static str {
        match self {
            Self::Inbox | Self::Cards => "Inbox",
            Self::Claims => "Claims",
            Self::Why => "Why",
            Self::Peers => "Peers",
            Self::Timeline => "Timeline",
            Self::Models => "Models",
            Self::Agents => "Agents",
            Self::Notes => "Notes",
        }
    }
}

/// The part of a screen with a list that has the focus.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Focus {
    /// The list.
    #[default]
    List,
    /// What is under the list's cursor.
    Detail,
}
