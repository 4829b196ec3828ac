//! Parses records that `ergo export adr` wrote: they have a section “Provenance”, and their other sections contain the claim's own
//! words.

use super::{Sections, decision::is_prose};
use crate::domain::{ClaimId, ClaimKind, Qualifiers};

/// The fields of a claim that only exported records contain.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ExportedClaim {
    pub id: ClaimId,
    pub kind: ClaimKind,
    /// Where and when the claim holds.
    pub holds: Qualifiers,
}

/// Returns the kind and the conditions of an exported claim; `None` for a record that ergo did not write.
pub(super) fn read(sections: &Sections<'_>) -> Option<ExportedClaim> {
    let items = sections.find(&["provenance"])?;
    let field = |name: &str| items.iter().find_map(|item| item.text.strip_prefix(name)?.strip_prefix(": "));
    let id = field("Claim")?.parse().ok()?;
    let kind = field("Kind")?.parse().ok()?;
    Some(ExportedClaim { id, kind, holds: field("Holds for").map(holds).unwrap_or_default() })
}

/// Returns the whole prose of a section, and its line.
pub(super) fn whole(sections: &Sections<'_>, name: &str) -> Option<(usize, String)> {
    let blocks: Vec<_> = sections.find(&[name])?.iter().filter(|block| is_prose(block)).collect();
    let text: Vec<&str> = blocks.iter().map(|block| block.text.as_str()).collect();
    Some((blocks.first()?.line, text.join(" ")))
}

/// Parses a text that [`Qualifiers::holds`] wrote.
fn holds(text: &str) -> Qualifiers {
    let known = |part: &str| ["env ", "team ", "tenant ", "from ", "until "].iter().any(|word| part.starts_with(word));
    let mut parts: Vec<String> = Vec::new();
    for part in text.split(", ") {
        match parts.last_mut().filter(|_| !known(part)) {
            // A comma within a value.
            Some(last) => last.extend([", ", part]),
            None => parts.push(part.to_owned()),
        }
    }
    let mut out = Qualifiers::default();
    for (word, value) in parts.iter().filter_map(|part| part.split_once(' ')) {
        let field = match word {
            "env" => &mut out.env,
            "team" => &mut out.team,
            "tenant" => &mut out.tenant,
            "from" => &mut out.valid_from,
            "until" => &mut out.valid_until,
            _ => continue,
        };
        *field = Some(value.to_owned());
    }
    out
}
