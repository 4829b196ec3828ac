//! Cursors of lists. Each contains a hash of its list and filters, so that no other list continues with it.

use serde::Serialize;
use serde_json::Value;

use crate::api::ApiError;

/// The length of the hash in a cursor, in hexadecimal digits.
const MARK_LENGTH: usize = 8;

/// Fields of a query that may differ between two pages.
const FREE_FIELDS: [&str; 2] = ["limit", "cursor"];

/// Limits in time, which must be given for each page or for none, but may differ: clients compute them anew for each
/// page (“since 7 days ago”), and the position after a claim does not depend on them. The time `as_of` must be the
/// same, because the pages of two states do not belong together.
const MOVING_FIELDS: [&str; 2] = ["since", "until"];

/// Marks the cursors of one list with certain filters, and recognises them.
pub(super) struct ListMark(String);

impl ListMark {
    pub(super) fn of(list: &str, query: &impl Serialize) -> Self {
        let mut filters = serde_json::to_value(query).unwrap_or_default();
        if let Value::Object(fields) = &mut filters {
            fields.retain(|name, _| !FREE_FIELDS.contains(&name.as_str()));
            for name in MOVING_FIELDS {
                if let Some(value) = fields.get_mut(name) {
                    *value = Value::Bool(!value.is_null());
                }
            }
        }
        let mut mark = blake3::hash(format!("ergo/cursor/1 {list} {filters}").as_bytes()).to_hex().to_string();
        mark.truncate(MARK_LENGTH);
        Self(mark)
    }

    /// Marks the cursor of the next page.
    pub(super) fn mark(&self, next: Option<String>) -> Option<String> {
        next.map(|position| format!("{}.{position}", self.0))
    }

    /// Returns the position in a marked cursor. Fails if it is that of another list or of other filters.
    pub(super) fn position<'a>(&self, cursor: Option<&'a str>) -> Result<Option<&'a str>, ApiError> {
        let Some(cursor) = cursor else { return Ok(None) };
        match cursor.split_once('.') {
            Some((mark, position)) if mark == self.0 => Ok(Some(position)),
            _ => Err(ApiError::field(
                "cursor",
                "`cursor` belongs to another list, or to this list with other filters or of another time",
            )
            .hint("pass `next` of the previous page unchanged, with the same filters, or leave `cursor` out")),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::api::{ClaimsQuery, LogQuery};

    #[test]
    fn a_cursor_continues_only_its_own_list() {
        let query = ClaimsQuery { who: Some("ada".into()), since: Some(1), limit: Some(5), ..ClaimsQuery::default() };
        let mark = ListMark::of("claims", &query);
        let next = mark.mark(Some("1.2.3".into())).unwrap();
        let later = ClaimsQuery { since: Some(2), limit: Some(9), cursor: Some(next.clone()), ..query.clone() };
        assert_eq!(ListMark::of("claims", &later).position(Some(&next)).unwrap(), Some("1.2.3"));
        let timed = |change: fn(&mut ClaimsQuery)| {
            let mut other = query.clone();
            change(&mut other);
            ListMark::of("claims", &other)
        };
        let without_since = timed(|other| other.since = None);
        let with_until = timed(|other| other.until = Some(3));
        let earlier_state = timed(|other| other.as_of = Some(4));
        assert!(
            timed(|other| other.as_of = Some(5)).position(earlier_state.mark(next.clone().into()).as_deref()).is_err()
        );
        let other_filter = ListMark::of("claims", &ClaimsQuery { who: Some("bob".into()), ..query.clone() });
        let other_list = ListMark::of("log", &LogQuery { who: query.who.clone(), ..LogQuery::default() });
        let others = [&other_filter, &other_list, &without_since, &with_until, &earlier_state];
        for (mark, cursor) in others.into_iter().map(|mark| (mark, &*next)).chain([(&mark, "1.2.3"), (&mark, "")]) {
            let error = mark.position(Some(cursor)).unwrap_err();
            assert!(error.field.as_deref() == Some("cursor") && error.hint.is_some(), "{cursor}");
        }
        assert_eq!((mark.mark(None), mark.position(None).unwrap()), (None, None));
    }
}
