//! Claims for tests.

use crate::{
    api::ClaimView,
    domain::{ClaimKind, DeviceId, EventId, Flags, Qualifiers, Scope, Status},
};

/// Returns an active decision with `number` in its id and its time.
pub(crate) fn claim(number: u8, statement: &str) -> ClaimView {
    ClaimView {
        id: EventId([number; 32]),
        scope: Scope { org_id: "acme".into(), project: "api".into() },
        kind: ClaimKind::Decision,
        status: Status::Active,
        flags: Flags::default(),
        statement: statement.into(),
        reason: Some(format!("Why {statement}")),
        source: None,
        who: "ada".into(),
        agent: None,
        device: DeviceId([0; 32]),
        provenance: crate::api::Provenance::default(),
        at: u64::from(number) * 86_400_000,
        key: None,
        qualifiers: Qualifiers::default(),
        norms: vec![],
        replaced_by: vec![],
        replaces: vec![],
        premises: vec![],
        dependents: 0,
        closing_reason: None,
        beside: vec![],
        level: crate::domain::Level::Project,
        seen_in: 0,
        rev: 1,
    }
}
