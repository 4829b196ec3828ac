//! Describes in words what was done with the followed files. The command line and the app use the same words.

use super::{NotesRun, NotesWritten};
use crate::domain::text::count;

impl NotesRun {
    /// Summarises the run in one sentence without a period: “Read 3 files, 1 changed: 2 claims stored, 1 refused”.
    pub fn sentence(&self) -> String {
        let files = count(self.files, "file", "files");
        if self.kind == "write" {
            return format!("Wrote ergo's section of {files}");
        }
        if self.kind == "remove" {
            return format!("Removed ergo's section from {files}");
        }
        let counts = [
            (self.stored, "stored"),
            (self.superseded, "superseded"),
            (self.retracted, "retracted"),
            (self.reinstated, "reinstated"),
            (self.refused, "refused"),
            (self.observed, "seen again"),
        ];
        let mut parts: Vec<String> =
            counts.iter().filter(|(count, _)| *count > 0).map(|(count, what)| format!("{count} {what}")).collect();
        if let Some(first) = parts.first_mut() {
            // Only the first part says “claims”; the other numbers count claims too.
            let (number, what) = first.split_once(' ').unwrap_or_default();
            *first = format!("{number} {} {what}", if number == "1" { "claim" } else { "claims" });
        }
        if self.merged > 0 {
            parts.push(format!("{} of equal claims found", count(self.merged, "pair", "pairs")));
        }
        if self.cards > 0 {
            parts.push(format!("{} found", count(self.cards, "contradiction", "contradictions")));
        }
        if self.doubts > 0 {
            parts.push(format!("{} in doubt", count(self.doubts, "pair", "pairs")));
        }
        if self.kind == "compare" {
            let found = if parts.is_empty() { "nothing found".to_owned() } else { parts.join(", ") };
            return format!("Compared claims: {found}");
        }
        match (self.changed_files, parts.is_empty()) {
            (0, true) if self.files == 0 => "No files are followed".to_owned(),
            // A file that cannot be read may have changed.
            (0, true) if !self.problems.is_empty() => format!("Read {files}: no new claims"),
            (0, true) => format!("Read {files}: nothing has changed"),
            (0, false) => format!("Read {files}: {}", parts.join(", ")),
            (changed, true) => format!("Read {files}, {changed} changed: no new claims"),
            (changed, false) => format!("Read {files}, {changed} changed: {}", parts.join(", ")),
        }
    }

    /// Says in one sentence without a period what is left for the next run; `None` if nothing is.
    pub fn rest(&self) -> Option<String> {
        (self.left > 0).then(|| {
            format!("{} of similar claims will be compared by the next scan", count(self.left, "pair", "pairs"))
        })
    }
}

impl NotesWritten {
    /// Says in one sentence without a period what was, or would be, written into the section: “Wrote 3 claims into ergo's section of
    /// CLAUDE.md”.
    pub fn sentence(&self) -> String {
        if self.removed {
            return match (self.written, self.changed) {
                (true, _) => format!("Removed ergo's section from {}", self.path),
                (false, true) => format!("Would remove ergo's section from {}", self.path),
                (false, false) => format!("Nothing to remove: {} has no section of ergo", self.path),
            };
        }
        let verb = match (self.written, self.changed) {
            (true, _) => "Wrote",
            (false, true) => "Would write",
            (false, false) => return format!("Nothing to write: ergo's section of {} is up to date", self.path),
        };
        format!("{verb} {} into ergo's section of {}", count(self.chosen, "claim", "claims"), self.path)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_run_is_summarised_in_one_sentence() {
        let run = NotesRun { files: 3, changed_files: 1, ..NotesRun::default() };
        let of = |run: &NotesRun| run.sentence();
        assert_eq!(of(&NotesRun { changed_files: 0, ..run.clone() }), "Read 3 files: nothing has changed");
        let unread = NotesRun { problems: vec!["a.md: no".into()], changed_files: 0, ..run.clone() };
        assert_eq!(of(&unread), "Read 3 files: no new claims");
        assert_eq!(of(&NotesRun::default()), "No files are followed");
        assert_eq!(of(&run), "Read 3 files, 1 changed: no new claims");
        let stored = NotesRun { stored: 1, reinstated: 3, refused: 2, cards: 1, ..run.clone() };
        let says = "Read 3 files, 1 changed: 1 claim stored, 3 reinstated, 2 refused, 1 contradiction found";
        assert_eq!(of(&stored), says);
        assert_eq!(
            of(&NotesRun { files: 1, changed_files: 0, merged: 2, ..run }),
            "Read 1 file: 2 pairs of equal claims found"
        );
        assert_eq!(
            of(&NotesRun { doubts: 2, ..NotesRun::default() }),
            "Read 0 files: 2 pairs in doubt",
            "they wait for a judge"
        );
        let compared = NotesRun { kind: "compare".into(), ..NotesRun::default() };
        assert_eq!(of(&compared), "Compared claims: nothing found");
        assert_eq!(of(&NotesRun { doubts: 1, ..compared }), "Compared claims: 1 pair in doubt");
        assert_eq!(
            of(&NotesRun { kind: "write".into(), files: 1, changed_files: 1, ..NotesRun::default() }),
            "Wrote ergo's section of 1 file"
        );
    }
}
