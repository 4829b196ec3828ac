//! The card of a retract that an agent may only propose.

use super::{card, id};
use crate::api::{ActOption, CardAct, CardKind, CardSummary, CardView};

pub(crate) fn proposal(n: u8) -> CardView {
    let plain = card(n);
    CardView {
        summary: CardSummary {
            kind: CardKind::Proposed,
            accept: Some(CardAct::Retract),
            headline: "An agent proposes to retract “The canary deployment is always blue”".into(),
            members: vec![id(100 + n)],
            score: 0.0,
            ..plain.summary
        },
        sides: plain.sides.into_iter().skip(1).collect(),
        evidence: vec![],
        acts: CardAct::ALL
            .into_iter()
            .map(|act| ActOption {
                act,
                disabled: (!matches!(act, CardAct::Retract | CardAct::Dismiss | CardAct::Snooze)).then(|| {
                    "only a retract was proposed: accept it with retract, or keep the claim with dismiss".into()
                }),
                prefill: (act == CardAct::Retract).then(|| "Blue never was the colour.".to_owned()),
            })
            .collect(),
        advice: "Agents may only propose here; its reason: “Blue never was the colour.”. Retract accepts that.".into(),
        ..plain
    }
}

/// The norm of “the canary is VALUE”.
pub(super) fn norm(value: &str) -> crate::domain::Norm {
    crate::domain::Norm {
        modality: crate::domain::norm::Modality::Must,
        subject: "canary".into(),
        subject_kind: crate::domain::norm::SubjectKind::Present,
        attribute: Some("colour".into()),
        object: Some("used".into()),
        value: Some(value.into()),
        words: vec![value.into()],
        ..crate::domain::Norm::default()
    }
}
