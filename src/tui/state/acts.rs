//! The list of acts on the Timeline: a window on the daemon's log, one row per act.

use super::{Focus, search_line::DAY_MS, story::StoryState, windowed::Windowed};
use crate::{
    api::{EventView, LogQuery},
    domain::{ClaimId, Scope},
    tui::msg::ListRow,
};

impl ListRow for EventView {
    type Id = ClaimId;

    fn id(&self) -> ClaimId {
        self.id
    }
}

/// The period whose acts are listed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Period {
    /// Since the person last left the app on this machine.
    LastHere,
    /// Since the beginning of yesterday.
    Yesterday,
    /// Today and the six days before.
    Week,
    /// All acts.
    #[default]
    All,
}

impl Period {
    /// Returns the next period in the cycle. `been_here`: whether there was an earlier visit; otherwise the cycle skips
    /// [`Period::LastHere`].
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

    /// Returns the beginning of the period in milliseconds since the Unix epoch; `None` for all acts. `midnight` is the
    /// beginning of today.
    pub fn begin(self, last_here: Option<u64>, midnight: u64) -> Option<u64> {
        match self {
            Self::LastHere => last_here,
            Self::Yesterday => Some(midnight.saturating_sub(DAY_MS)),
            Self::Week => Some(midnight.saturating_sub(6 * DAY_MS)),
            Self::All => None,
        }
    }
}

/// The Timeline screen.
#[derive(Clone, Debug, Default)]
pub struct TimelineState {
    pub list: Windowed<EventView>,
    /// The period whose acts are listed.
    pub span: Period,
    /// The pane that has the focus.
    pub focus: Focus,
    /// The first visible line of the detail pane.
    pub scroll: usize,
    /// The error message, if reading failed.
    pub error: Option<String>,
    /// The story of the scope, if it is shown in place of the acts.
    pub story: Option<StoryState>,
}

impl TimelineState {
    /// Returns the query for one page of the list.
    pub fn query(&self, scope: Option<&Scope>, since: Option<u64>, cursor: Option<String>) -> LogQuery {
        LogQuery {
            org_id: scope.map(|scope| scope.org_id.clone()),
            project: scope.map(|scope| scope.project.clone()),
            since,
            acts: true,
            limit: Some(super::windowed::PAGE_SIZE),
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
        assert_eq!(Period::LastHere.begin(Some(7), 10 * DAY_MS), Some(7));
        assert_eq!(Period::Yesterday.begin(None, 10 * DAY_MS), Some(9 * DAY_MS));
        assert_eq!(Period::All.begin(Some(7), 10 * DAY_MS), None);
    }
}
