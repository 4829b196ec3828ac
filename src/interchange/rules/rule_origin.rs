//! Recognises claims that an import or a scan of a rule file stored.

use crate::{
    api::ClaimView,
    domain::{Status, text::STATED},
    interchange::no_longer_in,
};

/// The number of hexadecimal digits of a commit's id in a reason.
pub const SHORT_ID: usize = 10;

/// Whether a claim's reason says that it comes from a rule file of this name.
pub fn is_from(name: &str, reason: &str) -> bool {
    let stated = format!("{STATED}{name}");
    reason.rfind(&stated).is_some_and(|at| {
        reason
            .get(at + stated.len()..)
            .is_some_and(|rest| rest == "." || (rest.starts_with(" under “") && rest.ends_with("”.")))
    })
}

/// Whether a claim comes from a commit of a rule file: it has a first day, and its reason ends with an author and a short id, as
/// the import of a history writes it.
pub fn is_from_commit(claim: &ClaimView) -> bool {
    let commit = claim.reason.as_deref().and_then(|reason| reason.strip_suffix(')')?.rsplit_once(", "));
    let is_id = |id: &str| id.len() == SHORT_ID && id.bytes().all(|byte| byte.is_ascii_hexdigit());
    claim.qualifiers.valid_from.is_some() && commit.is_some_and(|(before, id)| before.contains(" (") && is_id(id))
}

/// Whether an import or a scan closed a claim because its line was removed from the file at this path, or was changed there.
/// Claims that a person closed do not return with their lines.
pub fn left_with_line(claim: &ClaimView, path: &str) -> bool {
    let name = path.rsplit('/').next().unwrap_or(path);
    let reason = claim.closing_reason.as_deref().unwrap_or_default();
    match claim.status {
        Status::Retracted => reason == no_longer_in(path),
        // The reason of the new line's claim is that of the change.
        Status::Superseded => is_from(name, reason),
        Status::Active | Status::Refused => false,
    }
}
