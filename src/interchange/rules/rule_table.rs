//! Tables of rules, with columns such as “Do” and “Don't”, “Use” and “Instead of”, “Rule” and “Why”.

use super::{RuleReader, is_code, lead_of, lowered, stance};
use crate::interchange::{
    markdown::Block,
    sentence::{capital, with_period},
};
use stance::{Lead, Stance};

/// The content of a column.
enum Column {
    Rules,
    /// Items that the column's heading asserts or denies.
    Led(Lead),
    /// Things to use instead of those in the column [`Column::Instead`].
    Use,
    /// Things not to use.
    Instead,
    /// Reasons.
    Why,
    Other,
}

impl RuleReader<'_> {
    pub(super) fn table(&mut self, block: &Block) {
        let Some(((_, header), rows)) = block.rows.split_first() else { return self.skip(block, "", "a table") };
        let columns: Vec<Column> = header.iter().map(|cell| column(cell)).collect();
        let no_rules = match self.above() {
            Stance::NoRules(why) => Some(why),
            Stance::Neutral | Stance::Unclear | Stance::Lead(_) => None,
        };
        let has_rules = columns.iter().any(|column| matches!(column, Column::Rules | Column::Led(_)))
            || (columns.iter().any(|column| matches!(column, Column::Use))
                && columns.iter().any(|column| matches!(column, Column::Instead)));
        if !has_rules || no_rules.is_some() {
            return self.skip(block, &block.text, no_rules.unwrap_or("a table"));
        }
        for (line, cells) in rows {
            self.row(block, &columns, cells, *line);
        }
    }

    fn row(&mut self, block: &Block, columns: &[Column], cells: &[String], line: usize) {
        let of = |test: fn(&Column) -> bool| {
            columns
                .iter()
                .zip(cells)
                .find(|(column, _)| test(column))
                .map(|(_, cell)| cell.trim())
                .filter(|cell| !cell.is_empty())
        };
        let why = of(|column| matches!(column, Column::Why)).map(|why| with_period(&capital(why))).unwrap_or_default();
        let at = self.out.rules.len();
        let new = of(|column| matches!(column, Column::Use));
        let old = of(|column| matches!(column, Column::Instead));
        let good = of(|column| matches!(column, Column::Led(lead) if !lead.against));
        let bad = of(|column| matches!(column, Column::Led(lead) if lead.against));
        match (new.zip(old), good.zip(bad)) {
            (Some((new, old)), _) => {
                self.rule(block, &format!("Use {} instead of {}", lowered(new), lowered(old)), &why, "");
            }
            (None, Some((good, bad))) if is_code(good) && is_code(bad) => {
                self.rule(block, &format!("Use {good}, not {bad}"), &why, "");
            }
            _ => {
                for (column, cell) in columns.iter().zip(cells) {
                    let cell = stance::split_mark(cell.trim()).1;
                    let text = if why.is_empty() { cell.to_owned() } else { format!("{} {why}", with_period(cell)) };
                    match column {
                        _ if cell.is_empty() => {}
                        Column::Rules => self.sentences(block, &text, super::wording::is_rule_item),
                        Column::Led(lead) => self.led(block, lead, &text),
                        Column::Use | Column::Instead | Column::Why | Column::Other => {}
                    }
                }
            }
        }
        for rule in self.out.rules.iter_mut().skip(at) {
            rule.line = line;
        }
    }
}

fn column(header: &str) -> Column {
    let plain = header.trim().to_lowercase();
    let plain = plain.trim_matches(|c: char| !c.is_alphanumeric());
    match plain {
        "rule" | "rules" | "requirement" | "guideline" | "convention" | "policy" | "principle" => Column::Rules,
        "why" | "reason" | "rationale" | "because" | "motivation" => Column::Why,
        "use" | "use this" | "use instead" | "prefer" | "new" => Column::Use,
        "instead of" | "not" | "rather than" | "over" | "not this" => Column::Instead,
        _ => lead_of(stance::read(header)).map_or(Column::Other, Column::Led),
    }
}
