//! The Timeline as a story: what is unclear in it first, then its claims by date, the newest first.

use super::acts::Period;
use crate::{
    api::{ClaimView, Story, StoryMark, StoryQuery},
    domain::{ClaimId, Confusion, Scope},
};

/// A row.
#[derive(Clone, Copy, Debug)]
pub enum StoryRow<'a> {
    /// A place that is unclear.
    Mark(&'a StoryMark),
    /// A claim.
    Claim(&'a ClaimView),
}

/// What a row is, whatever stands above it.
#[derive(Clone, Debug, PartialEq, Eq)]
enum RowId {
    Mark(Vec<ClaimId>),
    Claim(ClaimId),
}

/// The story of a scope.
#[derive(Clone, Debug)]
pub struct StoryState {
    /// Whose it is.
    pub scope: Scope,
    /// From when on.
    pub span: Period,
    /// The daemon's last answer.
    pub story: Option<Box<Story>>,
    /// What was asked for last.
    pub asked: Option<StoryQuery>,
    /// The first line shown of what is under the cursor.
    pub scroll: usize,
    /// Why it could not be read.
    pub error: Option<String>,
    row: usize,
}

impl StoryState {
    /// The story of a scope, still to be read.
    pub fn new(scope: Scope) -> Self {
        Self { scope, span: Period::All, story: None, asked: None, scroll: 0, error: None, row: 0 }
    }

    /// What the daemon is asked for.
    pub fn query(&self, since: Option<u64>) -> StoryQuery {
        let Scope { org_id, project } = self.scope.clone();
        StoryQuery { org_id, project, subject: None, since }
    }

    /// Every row.
    pub fn rows(&self) -> Vec<StoryRow<'_>> {
        let marks = self.story.iter().flat_map(|story| story.marks.iter().rev()).map(StoryRow::Mark);
        marks.chain(self.story.iter().flat_map(|story| story.claims.iter().rev()).map(StoryRow::Claim)).collect()
    }

    /// The number of the row under the cursor.
    pub fn row(&self) -> usize {
        self.row
    }

    /// The row under the cursor.
    pub fn current(&self) -> Option<StoryRow<'_>> {
        self.rows().get(self.row).copied()
    }

    /// The mark under the cursor.
    pub fn mark(&self) -> Option<&StoryMark> {
        match self.current()? {
            StoryRow::Mark(mark) => Some(mark),
            StoryRow::Claim(_) => None,
        }
    }

    /// A claim of the story.
    pub fn claim(&self, id: ClaimId) -> Option<&ClaimView> {
        self.story.as_ref()?.claims.iter().find(|claim| claim.id == id)
    }

    /// Puts the cursor on a row, or on the last.
    pub fn place(&mut self, row: usize) {
        let row = row.min(self.rows().len().saturating_sub(1));
        if row != self.row {
            (self.row, self.scroll) = (row, 0);
        }
    }

    /// Takes what the daemon says; the cursor stays on its row, if that is still there.
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

/// The letters of the claims of a mark or a story card, in order: claims that make the same choice share one. A reversal ends with the choice that it began
/// with.
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
