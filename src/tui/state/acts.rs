//! The list of acts on the Timeline: a window on the daemon's log, one row per act.

use jiff::tz::TimeZone;

use super::{Focus, story::StoryState, windowed::Windowed};
use crate::{
    api::{EventView, LogQuery},
    domain::{ClaimId, Scope},
    tui::{msg::ListRow, times::midnight_before},
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

    /// Returns the beginning of the period in milliseconds since the Unix epoch; `None` for all acts.
    pub fn begin(self, last_here: Option<u64>, now: u64, zone: &TimeZone) -> Option<u64> {
        match self {
            Self::LastHere => last_here,
            Self::Yesterday => Some(midnight_before(now, 1, zone)),
            Self::Week => Some(midnight_before(now, 6, zone)),
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
    use crate::tui::state::search_line::DAY_MS;

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
        let (now, zone) = (10 * DAY_MS + 5, TimeZone::UTC);
        assert_eq!(Period::LastHere.begin(Some(7), now, &zone), Some(7));
        assert_eq!(Period::Yesterday.begin(None, now, &zone), Some(9 * DAY_MS));
        assert_eq!(Period::Week.begin(None, now, &zone), Some(4 * DAY_MS));
        assert_eq!(Period::All.begin(Some(7), now, &zone), None);
    }
}
