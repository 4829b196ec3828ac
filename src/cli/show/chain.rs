//! The history of a claim as a timeline in plain characters.

use super::{claim, time::ago};
use crate::{
    api::ChainLink,
    cli::ui::{SafeText, Style, Ui},
};

impl Ui {
    /// Shows the history of a claim, newest first: each claim, and why its successor replaced it. The first one is shown without
    /// its reason, which was shown before.
    pub(crate) fn chain(&mut self, chain: &[ChainLink], now: u64) {
        for (at, link) in chain.iter().enumerate() {
            let c = &link.claim;
            if let Some(reason) = &link.change_reason {
                let by = match (&link.changed_by, link.changed_at) {
                    (Some(who), Some(when)) => format!(" ({who}{}, {})", on_device(link), ago(when, now)),
                    (Some(who), None) => format!(" ({who}{})", on_device(link)),
                    _ => String::new(),
                };
                self.rail("|    ", &format!("replaced because: {reason}{by}"), Some(Style::Dim));
            }
            let id = self.paint(Style::Code, c.id.short());
            let text = self.fit(claim::statement(c), 5 + 10 + 2);
            self.line(text!("  o  {}  {}", id, text));
            let last = at + 1 == chain.len();
            let rail = if last { "     " } else { "|    " };
            let author = claim::writer(c);
            self.rail(rail, &format!("{}, {author}, {}", c.kind, ago(c.at, now)), Some(Style::Dim));
            if at > 0
                && let Some(reason) = &c.reason
            {
                self.rail(rail, &format!("because: {reason}"), None);
            }
        }
    }

    /// Prints wrapped text to the right of the line that connects the claims.
    fn rail(&mut self, rail: &str, text: &str, style: Option<Style>) {
        let text = crate::domain::text::sanitize(text);
        for line in super::text::wrap(&text, self.width.map(|width| width.saturating_sub(7))) {
            let line = style.map_or_else(|| SafeText::line(&line), |style| self.paint(style, &line));
            self.line(text!("  {}{}", rail, line).trimmed());
        }
    }
}

/// Returns the device on which a claim was replaced, if a team names it.
fn on_device(link: &ChainLink) -> String {
    link.changed_on.as_ref().map_or_else(String::new, |device| format!(", on {device}"))
}
