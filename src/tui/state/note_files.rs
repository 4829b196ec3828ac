//! The Notes screen: the followed rule files, and the insights, of which a principle is a promoted one.

use super::Focus;
use crate::{
    api::{InsightView, Insights, InsightsQuery, NoteFileView, NotesStatus},
    domain::{ClaimId, Scope},
};

/// Insights requested at a time.
const MAX_INSIGHTS: usize = 200;

/// Which rows are listed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum NotesListing {
    #[default]
    Files,
    /// The insights: what several projects say alike.
    Principles,
}

#[derive(Clone, Debug, Default)]
pub struct NotesState {
    /// The rule files and the last runs over them; `None` before the first answer.
    pub status: Option<NotesStatus>,
    /// The insights; `None` before the first answer.
    pub insights: Option<Insights>,
    /// The organisation whose insights were requested last; `None` if they should be requested again.
    pub asked_org: Option<String>,
    /// Which rows are listed.
    pub shown: NotesListing,
    /// The pane that has the focus.
    pub focus: Focus,
    /// The first visible line of the detail pane.
    pub scroll: usize,
    /// The error message, if reading the files failed.
    pub error: Option<String>,
    /// The error message, if reading the insights failed.
    pub insights_error: Option<String>,
    /// Whether the cursor goes to the first insight that can be promoted, once the insights arrive.
    seeks_promotion: bool,
    rows: [usize; 2],
}

impl NotesState {
    /// Returns the query for the insights of the scope's organisation.
    pub fn query(scope: &Scope) -> InsightsQuery {
        InsightsQuery { org_id: scope.org_id.clone(), limit: Some(MAX_INSIGHTS), ..InsightsQuery::default() }
    }

    pub fn files(&self) -> &[NoteFileView] {
        self.status.as_ref().map_or(&[], |status| &status.files)
    }

    /// Returns the insights, the highest rank first.
    pub fn principles(&self) -> &[InsightView] {
        self.insights.as_ref().map_or(&[], |insights| &insights.items)
    }

    /// Forgets the insights, since they may be those of another organisation than the shown one.
    pub fn forget_insights(&mut self) {
        (self.insights, self.insights_error, self.asked_org) = (None, None, None);
    }

    /// Returns why the listed rows could not be read.
    pub fn shown_error(&self) -> Option<&String> {
        match self.shown {
            NotesListing::Files => self.error.as_ref(),
            NotesListing::Principles => self.insights_error.as_ref(),
        }
    }

    /// Returns the number of listed rows.
    pub fn len(&self) -> usize {
        match self.shown {
            NotesListing::Files => self.files().len(),
            NotesListing::Principles => self.principles().len(),
        }
    }

    /// Returns whether nothing is listed.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Returns the row under the cursor.
    pub fn row(&self) -> usize {
        self.rows.get(self.shown as usize).copied().unwrap_or(0)
    }

    /// Returns the file under the cursor.
    pub fn file(&self) -> Option<&NoteFileView> {
        self.files().get(self.row()).filter(|_| self.shown == NotesListing::Files)
    }

    /// Returns the insight under the cursor.
    pub fn principle(&self) -> Option<&InsightView> {
        self.principles().get(self.row()).filter(|_| self.shown == NotesListing::Principles)
    }

    /// Switches between the files and the insights.
    pub fn switch_listing(&mut self) {
        self.shown = match self.shown {
            NotesListing::Files => NotesListing::Principles,
            NotesListing::Principles => NotesListing::Files,
        };
        (self.focus, self.scroll) = (Focus::List, 0);
    }

    /// Lists the insights, with the cursor on the first one that can be promoted.
    pub fn seek_promotion(&mut self) {
        if self.shown == NotesListing::Files {
            self.switch_listing();
        }
        self.focus = Focus::List;
        self.seeks_promotion = true;
        self.find_promotion();
    }

    fn find_promotion(&mut self) {
        if let Some(row) =
            self.principles().iter().position(|insight| insight.candidate).filter(|_| self.seeks_promotion)
        {
            self.rows[1] = row;
            (self.seeks_promotion, self.scroll) = (false, 0);
        }
    }

    /// Puts the cursor on a row, at most the last one.
    pub fn place(&mut self, row: usize) {
        let row = row.min(self.len().saturating_sub(1));
        if let Some(own) = self.rows.get_mut(self.shown as usize)
            && *own != row
        {
            (*own, self.scroll) = (row, 0);
        }
    }

    /// Takes the files. The cursor stays on its file.
    pub fn accept(&mut self, status: NotesStatus) {
        let before = self.files().get(self.rows[0]).map(|file| file.path.clone());
        self.status = Some(status);
        self.error = None;
        let found = before.and_then(|before| self.files().iter().position(|file| file.path == before));
        self.rows[0] = found.unwrap_or(self.rows[0]).min(self.files().len().saturating_sub(1));
    }

    /// Takes the insights. The cursor stays on its insight.
    pub fn accept_insights(&mut self, insights: Insights) {
        let before: Option<ClaimId> = self.principles().get(self.rows[1]).map(|insight| insight.claim);
        self.insights = Some(insights);
        self.insights_error = None;
        let found = before.and_then(|before| self.principles().iter().position(|insight| insight.claim == before));
        self.rows[1] = found.unwrap_or(self.rows[1]).min(self.principles().len().saturating_sub(1));
        self.find_promotion();
        self.seeks_promotion = false;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tui::sample::notes::{insights, status};

    #[test]
    fn each_list_keeps_its_row_and_the_cursor_its_file() {
        let mut notes = NotesState::default();
        notes.accept(status());
        notes.accept_insights(insights());
        notes.place(2);
        let path = notes.file().unwrap().path.clone();
        notes.switch_listing();
        assert!(notes.file().is_none());
        notes.place(1);
        assert_eq!(notes.principle().unwrap().claim, insights().items[1].claim);
        notes.switch_listing();
        let mut later = status();
        later.files.remove(0);
        notes.accept(later);
        assert_eq!((notes.file().unwrap().path.clone(), notes.row()), (path, 1));
        notes.accept(NotesStatus::default());
        assert!(notes.is_empty() && notes.file().is_none());
    }
}
