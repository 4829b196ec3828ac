//! The Timeline as a story: first its marks, at which something is unclear, then its claims by date; both the newest
//! first.

use super::acts::Period;
use crate::{
    api::{ClaimView, Story, StoryMark, StoryQuery},
    domain::{ClaimId, Confusion, Scope},
};

#[derive(Clone, Copy, Debug)]
pub enum StoryRow<'a> {
    /// A mark: a reversal, an ambiguity or a stale claim.
    Mark(&'a StoryMark),
    Claim(&'a ClaimView),
}

/// The identity of a row, which stays the same when the rows above it change.
#[derive(Clone, Debug, PartialEq, Eq)]
enum RowId {
    Mark(Vec<ClaimId>),
    Claim(ClaimId),
}

/// The story of a scope.
#[derive(Clone, Debug)]
pub struct StoryState {
    pub scope: Scope,
    /// The period of the story.
    pub span: Period,
    /// The daemon's last answer; `None` before the first one.
    pub story: Option<Box<Story>>,
    /// The query that was sent last.
    pub asked: Option<StoryQuery>,
    /// The first visible line of the detail pane.
    pub scroll: usize,
    /// The error message, if reading failed.
    pub error: Option<String>,
    row: usize,
}

impl StoryState {
    /// Creates the state of a scope's story, which is not read yet.
    pub fn new(scope: Scope) -> Self {
        Self { scope, span: Period::All, story: None, asked: None, scroll: 0, error: None, row: 0 }
    }

    /// Returns the query for the story.
    pub fn query(&self, since: Option<u64>) -> StoryQuery {
        let Scope { org_id, project } = self.scope.clone();
        StoryQuery { org_id, project, subject: None, since }
    }

    /// Returns all rows.
    pub fn rows(&self) -> Vec<StoryRow<'_>> {
        let marks = self.story.iter().flat_map(|story| story.marks.iter().rev()).map(StoryRow::Mark);
        marks.chain(self.story.iter().flat_map(|story| story.claims.iter().rev()).map(StoryRow::Claim)).collect()
    }

    /// Returns the index of the row under the cursor.
    pub fn row(&self) -> usize {
        self.row
    }

    /// Returns the row under the cursor.
    pub fn current(&self) -> Option<StoryRow<'_>> {
        self.rows().get(self.row).copied()
    }

    /// Returns the mark under the cursor.
    pub fn mark(&self) -> Option<&StoryMark> {
        match self.current()? {
            StoryRow::Mark(mark) => Some(mark),
            StoryRow::Claim(_) => None,
        }
    }

    /// Returns a claim of the story.
    pub fn claim(&self, id: ClaimId) -> Option<&ClaimView> {
        self.story.as_ref()?.claims.iter().find(|claim| claim.id == id)
    }

    /// Puts the cursor on a row, at most the last one.
    pub fn place(&mut self, row: usize) {
        let row = row.min(self.rows().len().saturating_sub(1));
        if row != self.row {
            (self.row, self.scroll) = (row, 0);
        }
    }

    /// Takes the daemon's answer. The cursor stays on its row, if that is still there.
    pub fn accept(&mut self, story: Story) {
        let id = |row: &StoryRow<'_>| match row {
            StoryRow::Mark(mark) => RowId::Mark(mark.claims.clone()),
            StoryRow::Claim(claim) => RowId::Claim(claim.id),
        };
        let before = self.current().as_ref().map(id);
        self.story = Some(Box::new(story));
        self.error = None;
        let found = before.and_then(|before| self.rows().iter().position(|row| id(row) == before));
        self.place(found.unwrap_or(self.row));
    }
}

/// Returns a letter for each claim of a mark or a story card, in order. Claims that make the same choice share a
/// letter: a reversal ends with the choice with which it began.
pub fn turns(confusion: Confusion, count: usize) -> Vec<char> {
    let back = confusion == Confusion::Reversal && count > 2;
    (0..count).map(|at| if back && at + 1 == count { 'A' } else { letter(at) }).collect()
}

fn letter(at: usize) -> char {
    u8::try_from(at).ok().filter(|at| *at < 26).map_or('·', |at| char::from(b'A' + at))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tui::sample::{scope, screens::story};

    #[test]
    fn a_reversal_ends_where_it_began() {
        let line = |confusion, count| turns(confusion, count).into_iter().collect::<String>();
        assert_eq!(line(Confusion::Reversal, 3), "ABA");
        assert_eq!(line(Confusion::Reversal, 4), "ABCA");
        assert_eq!(line(Confusion::Ambiguity, 2), "AB");
        assert_eq!(line(Confusion::Reversal, 2), "AB");
        assert_eq!(turns(Confusion::Stale, 30).len(), 30);
    }

    #[test]
    fn the_cursor_stays_on_its_row() {
        let mut state = StoryState::new(scope("api"));
        state.accept(story());
        state.place(3);
        let Some(StoryRow::Claim(claim)) = state.current() else { panic!("no claim") };
        let claim = claim.id;
        let mut later = story();
        later.marks.remove(0);
        state.accept(later);
        assert!(matches!(state.current(), Some(StoryRow::Claim(now)) if now.id == claim));
        state.accept(Story::default());
        assert_eq!((state.row(), state.rows().len()), (0, 0));
    }
}
