//! The acts on the Timeline: a window on the daemon's log, one row per act.

use super::{Focus, story::StoryState, windowed::Windowed};
use crate::{
    api::{EventView, LogQuery},
    domain::{ClaimId, Scope},
    tui::msg::ListRow,
};

/// Milliseconds of a day.
const DAY: u64 = 86_400_000;

impl ListRow for EventView {
    type Id = ClaimId;

    fn id(&self) -> ClaimId {
        self.id
    }
}

/// From when on acts are listed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Period {
    /// Since the person was last here.
    LastHere,
    /// Since the beginning of yesterday.
    Yesterday,
    /// Of seven days.
    Week,
    /// All.
    #[default]
    All,
}

impl Period {
    /// The next one round; the one that asks for a last time is left out where there was none.
    #[must_use]
    pub fn next(self, been_here: bool) -> Self {
        match self {
            Self::LastHere => Self::Yesterday,
            Self::Yesterday => Self::Week,
            Self::Week => Self::All,
            Self::All if been_here => Self::LastHere,
            Self::All => Self::Yesterday,
        }
    }

    /// Its beginning, in milliseconds since the Unix epoch. `midnight` is the beginning of today.
    pub fn begin(self, last_here: Option<u64>, midnight: u64) -> Option<u64> {
        match self {
            Self::LastHere => last_here,
            Self::Yesterday => Some(midnight.saturating_sub(DAY)),
            Self::Week => Some(midnight.saturating_sub(6 * DAY)),
            Self::All => None,
        }
    }
}

/// A list of acts.
#[derive(Clone, Debug, Default)]
pub struct TimelineState {
    /// The acts, newest first.
    pub list: Windowed<EventView>,
    /// From when on.
    pub span: Period,
    /// Which part has the focus.
    pub focus: Focus,
    /// The first line shown of the act in full.
    pub scroll: usize,
    /// Why it could not be read.
    pub error: Option<String>,
    /// The claims as a story, if they are shown in place of the acts.
    pub story: Option<StoryState>,
}

impl TimelineState {
    /// What the list asks the daemon for.
    pub fn query(&self, scope: Option<&Scope>, since: Option<u64>, cursor: Option<String>) -> LogQuery {
        LogQuery {
            org_id: scope.map(|scope| scope.org_id.clone()),
            project: scope.map(|scope| scope.project.clone()),
            since,
            acts: true,
            limit: Some(super::windowed::PAGE),
            cursor,
            ..LogQuery::default()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_spans_go_round_and_begin_where_they_say() {
        let mut span = Period::All;
        let mut seen = Vec::new();
        for _ in 0..4 {
            span = span.next(true);
            seen.push(span);
        }
        assert_eq!(seen, [Period::LastHere, Period::Yesterday, Period::Week, Period::All]);
        assert_eq!(Period::All.next(false), Period::Yesterday);
        assert_eq!(Period::LastHere.begin(Some(7), 10 * DAY), Some(7));
        assert_eq!(Period::Yesterday.begin(None, 10 * DAY), Some(9 * DAY));
        assert_eq!(Period::All.begin(Some(7), 10 * DAY), None);
    }
}
