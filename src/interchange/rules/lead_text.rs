//! Splits the words that introduce a rule from it, and joins them with it.

use super::{
    Context, clean,
    stance::{self, Lead, Stance},
    wording,
};
use crate::interchange::sentence::uncapital;

/// Returns the effect of a line that ends with a colon.
pub(super) fn opening(text: &str) -> Context {
    let text = text.trim_end_matches(':').trim();
    let plain = clean::unnumbered(stance::split_mark(text).1);
    if wording::opens_form(plain) {
        return Context::Form;
    }
    match stance::read(text) {
        Stance::Lead(lead) => Context::Stance(Stance::Lead(lead)),
        Stance::NoRules(why) => Context::Stance(Stance::NoRules(why)),
        // A denial that is no heading belongs to each item: “Never commit: secrets”.
        Stance::Neutral | Stance::Unclear if wording::applies_to_items(plain) => Context::Words(plain.to_owned()),
        Stance::Unclear => Context::Stance(Stance::Unclear),
        Stance::Neutral => Context::None,
    }
}

/// Splits a label such as “Bad: …”, “Don't: …” or “Forbidden: …” from the text after it.
pub(super) fn label(text: &str) -> Option<(Lead, &str)> {
    let (label, rest) = text.split_once(':')?;
    let rest = rest.strip_prefix(' ')?.trim();
    let short = label.split_whitespace().count() <= 3 && !label.contains(['`', '.', ',']);
    let lead = lead_of(stance::read(label)).filter(|_| short && !rest.is_empty())?;
    Some((lead, stance::split_mark(rest).1))
}

pub(super) fn lead_of(stance: Stance) -> Option<Lead> {
    match stance {
        Stance::Lead(lead) => Some(lead),
        Stance::Neutral | Stance::Unclear | Stance::NoRules(_) => None,
    }
}

/// Splits a denied text from its explanation after a dash; with `named`, also after a colon that follows a name of up to four words.
pub(super) fn split_explanation(text: &str, named: bool) -> Option<(&str, &str)> {
    let dash = [" — ", " – ", " - ", "; "].iter().find_map(|dash| text.split_once(dash));
    let colon = || {
        text.split_once(": ").filter(|(name, _)| named && name.split_whitespace().count() <= 4 && !name.contains('`'))
    };
    dash.or_else(colon).filter(|(what, why)| !what.trim().is_empty() && why.split_whitespace().count() >= 2)
}

/// Whether a text is only code.
pub(super) fn is_code(text: &str) -> bool {
    text.split('`').step_by(2).all(|outside| !outside.chars().any(char::is_alphanumeric)) && text.contains('`')
}

/// Lower-cases the first letter, except of names.
pub(super) fn lowered(text: &str) -> String {
    let (first, rest) = text.split_once(char::is_whitespace).unwrap_or((text, ""));
    let inner = first.chars().skip(1).any(|c| c.is_uppercase() || c.is_ascii_digit());
    let name = rest.trim_start().starts_with(char::is_uppercase) && !wording::is_instruction(text);
    if inner || name { text.to_owned() } else { uncapital(text) }
}

/// Joins the words before a list with an item: “When writing tests: use a temporary directory”, “PRs are closed if they touch …”.
pub(super) fn join(lead: &str, item: &str) -> String {
    let lead = lead.trim_end_matches([':', '.']);
    if lead.split_whitespace().last().is_some_and(stance::open_word) {
        format!("{lead} {}", lowered(item))
    } else {
        format!("{lead}: {item}")
    }
}
