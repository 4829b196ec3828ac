//! The Agents screen: which agents there are, and what the one under the cursor did or was given.

use super::{
    Focus,
    windowed::{PAGE, Windowed},
};
use crate::{
    api::{AgentSession, AgentView, Agents as View, EventView, LogQuery, is_name_of},
    client::injected::InjectedClaim,
    domain::Scope,
};

/// What is listed of an agent.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum AgentListing {
    /// Its acts, and what was refused.
    #[default]
    Acts,
    /// Only what was refused.
    Refused,
    /// What hooks gave it, by claim.
    Injected,
}

impl AgentListing {
    /// The next one round.
    #[must_use]
    pub fn next(self) -> Self {
        match self {
            Self::Acts => Self::Refused,
            Self::Refused => Self::Injected,
            Self::Injected => Self::Acts,
        }
    }
}

/// An agent in the list.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AgentEntry {
    /// Its name; `None` for sessions whose hooks sent none.
    pub name: Option<String>,
    /// What it wrote, if it did.
    pub wrote: Option<AgentView>,
    /// Its sessions that are connected, the newest first.
    pub sessions: Vec<AgentSession>,
    /// How many claims hooks gave it.
    pub injected: usize,
}

/// The screen.
#[derive(Clone, Debug, Default)]
pub struct AgentsState {
    /// The daemon's last answer; `None` before the first one.
    pub view: Option<View>,
    /// What hooks gave, by claim; `None` before it was read.
    pub injected: Option<Vec<InjectedClaim>>,
    /// What the agent under the cursor did.
    pub list: Windowed<EventView>,
    /// What is listed of it.
    pub shown: AgentListing,
    /// Which part has the focus.
    pub focus: Focus,
    /// The row among what was given.
    pub injected_row: usize,
    /// Why the agents could not be read.
    pub error: Option<String>,
    row: usize,
    under: Option<String>,
}

impl AgentsState {
    /// The agents: those that wrote something, the last first; those that only are connected; those that only were given something.
    pub fn entries(&self) -> Vec<AgentEntry> {
        let none: &[AgentSession] = &[];
        let connected = self.view.as_ref().map_or(none, |view| &view.connected);
        let injected = self.injected.as_deref().unwrap_or_default();
        let mut names: Vec<&str> = Vec::new();
        let wrote = self.view.iter().flat_map(|view| &view.items).map(|item| item.agent.as_str());
        for name in wrote.chain(connected.iter().map(|session| session.agent.as_str())) {
            if !names.contains(&name) {
                names.push(name);
            }
        }
        for agent in injected.iter().flat_map(|one| &one.agents) {
            if !names.iter().any(|name| is_name_of(agent, name)) {
                names.push(agent);
            }
        }
        let entry = |name: &str| AgentEntry {
            name: Some(name.to_owned()),
            wrote: self.view.iter().flat_map(|view| &view.items).find(|item| item.agent == name).cloned(),
            sessions: connected.iter().filter(|session| session.agent == name).cloned().collect(),
            injected: injected.iter().filter(|one| one.agents.iter().any(|agent| is_name_of(agent, name))).count(),
        };
        let mut entries: Vec<AgentEntry> = names.into_iter().map(entry).collect();
        let unnamed = injected.iter().filter(|one| one.agents.is_empty()).count();
        if unnamed > 0 {
            entries.push(AgentEntry { name: None, wrote: None, sessions: Vec::new(), injected: unnamed });
        }
        entries
    }

    /// The row under the cursor: it holds on to its agent.
    pub fn row(&self) -> usize {
        let entries = self.entries();
        let held = self.under.as_ref().and_then(|name| entries.iter().position(|own| own.name.as_ref() == Some(name)));
        held.unwrap_or(self.row).min(entries.len().saturating_sub(1))
    }

    /// The agent under the cursor.
    pub fn entry(&self) -> Option<AgentEntry> {
        self.entries().into_iter().nth(self.row())
    }

    /// Puts the cursor on a row; says whether that is another agent.
    pub fn place(&mut self, row: usize) -> bool {
        let before = self.entry().map(|entry| entry.name);
        self.row = row;
        self.under = None;
        let after = self.entry().map(|entry| entry.name);
        self.under = after.clone().flatten();
        let other = before != after;
        if other {
            self.begin();
        }
        other
    }

    /// Reads the list anew.
    pub fn begin(&mut self) {
        self.list.restart();
        self.injected_row = 0;
    }

    /// Takes what the daemon says.
    pub fn accept(&mut self, view: View) {
        let before = self.entry();
        self.view = Some(view);
        self.error = None;
        self.hold(before.as_ref());
    }

    /// Takes what hooks gave.
    pub fn accept_injected(&mut self, injected: Vec<InjectedClaim>) {
        let before = self.entry();
        self.injected = Some(injected);
        self.hold(before.as_ref());
    }

    /// Keeps the cursor on its agent; the list is read anew if that is another one now.
    fn hold(&mut self, before: Option<&AgentEntry>) {
        let after = self.entry();
        if before.map(|entry| &entry.name) != after.as_ref().map(|entry| &entry.name) {
            self.begin();
        }
        self.under = after.and_then(|entry| entry.name);
    }

    /// What hooks gave the agent under the cursor, by claim.
    pub fn injected_here(&self) -> Vec<&InjectedClaim> {
        let Some(entry) = self.entry() else { return Vec::new() };
        let here = |one: &&InjectedClaim| match &entry.name {
            Some(name) => one.agents.iter().any(|agent| is_name_of(agent, name)),
            None => one.agents.is_empty(),
        };
        self.injected.iter().flatten().filter(here).collect()
    }

    /// How often a claim was given, and into how many sessions.
    pub fn injected_of(&self, claim: crate::domain::ClaimId) -> Option<&InjectedClaim> {
        self.injected.iter().flatten().find(|one| one.claim == claim)
    }

    /// What the list asks the daemon for; `None` if nothing is to be asked.
    pub fn query(&self, scope: Option<&Scope>, cursor: Option<String>) -> Option<LogQuery> {
        let who = self.entry()?.name?;
        Some(LogQuery {
            org_id: scope.map(|scope| scope.org_id.clone()),
            project: scope.map(|scope| scope.project.clone()),
            who: Some(who),
            acts: self.shown == AgentListing::Acts,
            refused: self.shown == AgentListing::Refused,
            limit: Some(PAGE),
            cursor,
            ..LogQuery::default()
        })
    }

    /// Whether the cursor is on something that opens.
    pub fn can_open(&self) -> bool {
        match (self.focus, self.shown) {
            (Focus::List, _) => self.entry().is_some(),
            (Focus::Detail, AgentListing::Injected) => !self.injected_here().is_empty(),
            (Focus::Detail, _) => self.list.current().is_some(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tui::sample::agents::{agents, injected};

    #[test]
    fn agents_are_listed_once_whatever_is_known_of_them() {
        let mut screen = AgentsState::default();
        screen.accept(agents());
        screen.accept_injected(injected());
        let names: Vec<_> = screen.entries().into_iter().map(|entry| entry.name).collect();
        let expected = ["claude-code", "codex-mcp-client", "cursor-vscode", "gemini"].map(|name| Some(name.to_owned()));
        assert_eq!(names, [expected.as_slice(), &[None]].concat());
        assert_eq!(screen.entries()[1].injected, 1, "codex is what codex-mcp-client is told of by its hooks");
    }

    #[test]
    fn the_cursor_holds_on_to_its_agent() {
        let mut screen = AgentsState::default();
        screen.accept(agents());
        assert!(screen.place(1) && !screen.place(1));
        let mut later = agents();
        later.items.reverse();
        screen.accept(later);
        assert_eq!((screen.row(), screen.entry().unwrap().name.as_deref()), (0, Some("codex-mcp-client")));
        let query = screen.query(None, None).unwrap();
        assert_eq!((query.who.as_deref(), query.acts, query.refused), (Some("codex-mcp-client"), true, false));
        screen.shown = screen.shown.next();
        assert!(screen.query(None, None).unwrap().refused);
    }
}
