use crate::tui::action::Action;

/// A screen of the app.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Screen {
    /// Everything that needs attention.
    #[default]
    Inbox,
    /// The scope tree and its claims.
    Claims,
    /// The why-chain of one claim.
    Why,
    /// Teams and their devices.
    Peers,
    /// Acts, which can be undone there.
    Timeline,
    /// Models, and the state of the daemon.
    Models,
    /// Coding agents, and what each did.
    Agents,
    /// The followed rule files, and the insights.
    Notes,
    /// The Inbox filtered by status: cards that are snoozed, settled, or all. It has no tab of its own.
    Cards,
}

impl Screen {
    /// The screens that have a tab, in order.
    pub const TABS: [Self; 8] =
        [Self::Inbox, Self::Claims, Self::Why, Self::Peers, Self::Timeline, Self::Models, Self::Agents, Self::Notes];

    /// Returns the action that goes to the screen.
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

    /// Returns the screen whose tab is highlighted while this one is shown.
    #[must_use]
    pub fn tab(self) -> Self {
        match self {
            Self::Cards => Self::Inbox,
            other => other,
        }
    }

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
    #[default]
    List,
    /// The item under the cursor of the list, in full.
    Detail,
}
