//! The card of a retract that an agent may only propose.

use super::{card, id};
use crate::api::{ActOption, CardAct, CardKind, CardSummary, CardView};

/// The card of a retract that an agent may only propose.
pub(crate) fn proposal(n: u8) -> CardView {
    let plain = card(n);
    CardView {
        summary: CardSummary {
            kind: CardKind::Proposed,
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
