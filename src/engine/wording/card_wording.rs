//! The texts of a card: what disagrees, what to do, and which acts are possible.

use super::{
    quote,
    replacement_proposal::{self, ProposedWrite},
    summary::short,
};
use crate::{
    api::{ActOption, CardAct, CardKind, CardPair, CardStatus, ClaimView},
    domain::{ConflictKind, OpId, Status, guard_report::Evidence},
    notes::sameness::conflict_kind,
};

/// The facts about a card on which its texts depend.
#[derive(Clone, Copy, Debug)]
pub(in crate::engine) struct CardContext<'a> {
    pub kind: CardKind,
    pub status: CardStatus,
    /// The refused new claim, on the card of a refused write.
    pub new_claim: Option<&'a ClaimView>,
    /// The stored claims, newest first.
    pub claims: &'a [&'a ClaimView],
    /// The claim that opposed the new claim, if all that oppose it now replaced such claims.
    pub replaced: Option<&'a ClaimView>,
    /// Why the claims cannot both hold, strongest first.
    pub evidence: &'a [Evidence],
    /// The reason of an agent that proposes an exception for a refused write, or a retract.
    pub proposed: Option<&'a str>,
    /// The write that an agent proposes.
    pub proposal: Option<ProposedWrite<'a>>,
    /// The question of a story card.
    pub question: Option<&'a str>,
    /// Whether an active claim on the card belongs to another project; the card's project cannot change it.
    pub apart: bool,
    /// The act that settled the card.
    pub settled_by: Option<OpId>,
}

impl CardContext<'_> {
    /// Whether no claim that opposed the new claim is active any more.
    fn new_claim_is_unopposed(&self) -> bool {
        self.new_claim.is_some() && self.active().next().is_none()
    }

    /// Whether none of the claims of an open contested card is active.
    fn none_is_active(&self) -> bool {
        self.kind == CardKind::Contested && self.status != CardStatus::Settled && self.active().next().is_none()
    }

    /// Returns the claim of an open contested card that one writer retracted and another one replaced by the active
    /// claims.
    fn retracted_and_replaced(&self) -> Option<&ClaimView> {
        let contested =
            self.kind == CardKind::Contested && self.status != CardStatus::Settled && !self.none_is_active();
        self.claims.iter().copied().find(|claim| contested && claim.status == Status::Retracted)
    }

    pub(super) fn active(&self) -> impl Iterator<Item = &ClaimView> {
        self.claims.iter().copied().filter(|claim| claim.status == Status::Active)
    }

    /// Returns the active claim of the organisation's level that opposes a claim of a project: the card of the project
    /// cannot replace or retract it.
    fn of_organisation(&self) -> Option<&ClaimView> {
        let is_project = |claim: &&ClaimView| claim.scope.level().is_project();
        let mut sides = self.new_claim.into_iter().chain(self.active());
        sides.any(|claim| is_project(&claim)).then(|| self.active().find(|claim| !is_project(claim))).flatten()
    }

    /// Returns the newer side, whose reason explains the change.
    fn newer(&self) -> Option<&ClaimView> {
        self.new_claim.or_else(|| self.claims.first().copied())
    }
}

/// Describes in one sentence what disagrees.
pub(in crate::engine) fn headline(facts: &CardContext<'_>) -> String {
    let of_status = |status: Status| facts.claims.iter().find(|claim| claim.status == status);
    if let (true, Some(kept), Some(replaced)) =
        (facts.none_is_active(), of_status(Status::Retracted), of_status(Status::Superseded))
    {
        return format!(
            "{} was retracted and kept instead of {}, by writers who had not seen each other's change: neither is active",
            quote(&kept.statement),
            quote(&replaced.statement)
        );
    }
    if let (true, [first, second, rest @ ..]) = (facts.none_is_active(), facts.claims) {
        let more = if rest.is_empty() { String::new() } else { format!(" (and {} more)", rest.len()) };
        return format!(
            "{} and {}{more} replaced each other, by writers who had not seen each other's change: none of them is active",
            quote(&first.statement),
            quote(&second.statement)
        );
    }
    if let Some(retracted) = facts.retracted_and_replaced() {
        let by: Vec<String> = facts.active().map(|claim| quote(&claim.statement)).collect();
        return format!(
            "{} was retracted, and was replaced by {}, by writers who had not seen each other's change",
            quote(&retracted.statement),
            by.join(" and ")
        );
    }
    if facts.kind == CardKind::Contested {
        return match facts.claims {
            [] => "A claim was replaced twice, by writers who had not seen each other's change".into(),
            [one] => {
                format!(
                    "{} was both replaced and retracted, by writers who had not seen each other's change",
                    quote(&one.statement)
                )
            }
            [first, second, rest @ ..] => {
                let more = if rest.is_empty() { String::new() } else { format!(" (and {} more)", rest.len()) };
                format!(
                    "{} and {}{more} took the place of the same claim, by writers who had not seen each other's change",
                    quote(&first.statement),
                    quote(&second.statement)
                )
            }
        };
    }
    if let Some(proposed) = replacement_proposal::headline(facts) {
        return proposed;
    }
    if let (Some(new_claim), Some(replaced), Some(now)) = (facts.new_claim, facts.replaced, facts.active().next()) {
        let verb = if facts.kind == CardKind::Held { "may contradict" } else { "contradicts" };
        let [new, old, now] = [new_claim, replaced, now].map(|claim| quote(&claim.statement));
        return format!("{new} {verb} {old}, which has been replaced by {now}");
    }
    if facts.kind == CardKind::Proposed {
        let what = facts.claims.first().map_or_else(|| "a claim".to_owned(), |claim| quote(&claim.statement));
        return format!("An agent proposes to retract {what}");
    }
    if let (CardKind::Story, Some(question)) = (facts.kind, facts.question) {
        return question.to_owned();
    }
    if let Some(sentence) = facts.evidence.iter().map(|e| e.sentence.trim()).find(|sentence| !sentence.is_empty()) {
        return sentence.to_owned();
    }
    if let (CardKind::Held, Some(new_claim), [first, ..]) = (facts.kind, facts.new_claim, facts.claims) {
        return format!("{} may contradict {}", quote(&new_claim.statement), quote(&first.statement));
    }
    match (facts.new_claim, facts.claims) {
        (Some(new_claim), [first, ..]) => contradicts(new_claim, first),
        (None, [first, second, ..]) => contradicts(first, second),
        _ => facts.newer().map_or_else(|| "Claims that contradict each other".into(), |claim| quote(&claim.statement)),
    }
}

fn contradicts(a: &ClaimView, b: &ClaimView) -> String {
    format!("{} contradicts {}", quote(&a.statement), quote(&b.statement))
}

/// Returns the texts of the first two claims on a card, the newer one first.
pub(in crate::engine) fn pair<'a>(sides: impl IntoIterator<Item = &'a ClaimView>) -> Option<CardPair> {
    let mut sides = sides.into_iter();
    let (new, existing) = (sides.next()?, sides.next()?);
    let source = new.source.as_deref().map(|source| short(source, MAX_LISTED_CHARS));
    Some(CardPair {
        new: short(&new.statement, MAX_LISTED_CHARS),
        existing: short(&existing.statement, MAX_LISTED_CHARS),
        source,
    })
}

/// The greatest number of characters of a claim in a row of a list.
const MAX_LISTED_CHARS: usize = 200;

/// Says how a person can settle the card, in a sentence or two.
pub(in crate::engine) fn advice(facts: &CardContext<'_>) -> String {
    if facts.status == CardStatus::Settled {
        return match facts.settled_by {
            Some(op) => format!("Settled. To open it again, undo that change: `ergo undo {}`.", op.short()),
            None => "There is nothing left to decide.".into(),
        };
    }
    if let Some(advice) = replacement_proposal::advice(facts) {
        return advice;
    }
    match facts.kind {
        CardKind::Refused | CardKind::Held if facts.new_claim_is_unopposed() => {
            "The claim that contradicted it is no longer active. Keep the new claim to store it, or discard it.".into()
        }
        CardKind::Refused => {
            let asked = facts.proposed.map_or_else(String::new, |why| {
                format!("The agent asks for an exception, because: “{why}”. To accept it, make it an exception. ")
            });
            let replaced = if facts.replaced.is_some() {
                "The claim that contradicted it was replaced. If the new claim does not contradict the claim in its \
                 place, dismiss the card. "
            } else {
                ""
            };
            if let Some(advice) = advice_on_organisation(facts) {
                return format!("{asked}{replaced}{advice} If the new claim is a mistake, discard it.");
            }
            format!(
                "{asked}{replaced}If the decision changed, keep the new claim. If both hold, but in different environments or periods, \
                 limit one (narrow). If the new claim is a mistake, discard it."
            )
        }
        CardKind::Held if facts.of_organisation().is_some() => {
            "Its writer was asked and has not answered. Dismiss to store it beside the others; make it an exception if it \
             contradicts them; discard it if they already say the same."
                .into()
        }
        CardKind::Held => {
            "Its writer was asked and has not answered. Dismiss to store it beside the others; keep the new claim if it replaces \
             them; discard it if they already say the same."
                .into()
        }
        CardKind::Contradiction | CardKind::Found => advice_between_projects(facts)
            .or_else(|| Some(format!("{} If the project's claim is wrong, retract it.", advice_on_organisation(facts)?)))
            .unwrap_or_else(|| {
            "Keep the one that still holds, and retract one that was never right. If both hold, but in different environments or \
                periods, limit one (narrow)."
                .into()
        }),
        CardKind::Proposed => {
            let reason =
                facts.proposed.map_or_else(|| "It gave no reason".into(), |why| format!("Its reason: “{why}”"));
            format!("{reason}. Retract the claim if it was never right; dismiss to keep it.")
        }
        CardKind::Contested if facts.none_is_active() => {
            "Keep one of them, which makes it active again, or merge them into one text. If none of them holds any more, dismiss \
                the card."
                .into()
        }
        CardKind::Contested if facts.active().nth(1).is_none() => {
            "If the active claim holds, dismiss the card, which keeps it. If none of them holds, retract it.".into()
        }
        CardKind::Contested => "Keep one of them, or merge both into one text.".into(),
        CardKind::Story => "Answer yes or no. If the claims are about different things, dismiss the card.".into(),
    }
}

/// Says how a project can settle a contradiction with a claim of its organisation, if that is what the card is about.
fn advice_on_organisation(facts: &CardContext<'_>) -> Option<String> {
    let scope = &facts.of_organisation()?.scope;
    Some(format!(
        "One claim is of {scope} and holds in all its projects. If this project may differ, make an exception, or \
         limit one of the claims (narrow). If the decision changed for all, supersede the claim in {scope}."
    ))
}

/// Says how to settle a contradiction between claims of two projects, according to its kind.
fn advice_between_projects(facts: &CardContext<'_>) -> Option<String> {
    let mut scopes = facts.active().map(|claim| &claim.scope).filter(|scope| scope.level().is_project());
    let first = scopes.next()?;
    let second = scopes.find(|scope| *scope != first)?;
    let settles = "in its own project, which settles the card";
    Some(match facts.evidence.first().map(conflict_kind).unwrap_or_default() {
        ConflictKind::Direct => format!(
            "{first} and {second} contradict each other. Correct the wrong claim {settles}; or dismiss the card, if each project decides \
             this for itself."
        ),
        ConflictKind::Partial => format!(
            "The rules of {first} and {second} differ in part. Align one with the other {settles}; or dismiss the card, if each project \
             decides this for itself."
        ),
        ConflictKind::Contextual => format!(
            "Only one of the claims of {first} and {second} has a condition, so that both may be right. If they are, dismiss the card; \
             else add the condition to the other claim {settles}."
        ),
    })
}

/// Lists every act, with the reason why it is not possible if it is not, and the reason to prefill if one is known.
pub(in crate::engine) fn acts(facts: &CardContext<'_>) -> Vec<ActOption> {
    CardAct::ALL
        .into_iter()
        .map(|act| {
            let disabled = disabled(facts, act).map(str::to_owned);
            let prefill = if disabled.is_none() { prefill(facts, act) } else { None };
            ActOption { act, disabled, prefill }
        })
        .collect()
}

fn disabled(facts: &CardContext<'_>, act: CardAct) -> Option<&'static str> {
    if facts.status == CardStatus::Settled {
        return Some("the card is settled: undo the change that settled it first");
    }
    let refused = matches!(facts.kind, CardKind::Refused | CardKind::Held);
    if facts.kind == CardKind::Proposed && !matches!(act, CardAct::Retract | CardAct::Dismiss | CardAct::Snooze) {
        return Some("only a retraction was proposed: retract the claim, or dismiss the card to keep it");
    }
    if facts.apart && !matches!(act, CardAct::Exception | CardAct::Dismiss | CardAct::Snooze) {
        return Some(
            "a claim on the card belongs to another project: correct it there, which settles the card, or dismiss the card if each claim holds in \
             its own project",
        );
    }
    if matches!(act, CardAct::Yes | CardAct::No) {
        return (facts.kind != CardKind::Story).then_some("this card asks no question");
    }
    if facts.new_claim.is_some_and(|claim| claim.statement.is_empty())
        && !matches!(act, CardAct::Supersede | CardAct::Discard | CardAct::Snooze)
    {
        return Some("the text of the new claim was redacted: give a new statement, or discard the new claim");
    }
    match act {
        CardAct::Retract | CardAct::Narrow | CardAct::Exception if facts.none_is_active() => {
            Some("none of the claims is active: keep one first, or dismiss the card")
        }
        CardAct::Supersede if facts.none_is_active() => None,
        // The claim was retracted by one writer and replaced by another.
        CardAct::Supersede | CardAct::Exception if !refused && facts.active().nth(1).is_none() => {
            Some("only one of the claims is active: dismiss the card to keep it, or retract it")
        }
        CardAct::Supersede | CardAct::Snooze => None,
        CardAct::Discard if !refused => Some("both claims are stored: keep one, or retract one"),
        CardAct::Discard => None,
        CardAct::Retract | CardAct::Exception | CardAct::Narrow if facts.new_claim_is_unopposed() => {
            Some("no active claim contradicts the new claim now: keep it, or discard it")
        }
        CardAct::Retract | CardAct::Narrow | CardAct::Exception | CardAct::Dismiss | CardAct::Yes | CardAct::No => None,
    }
}

fn prefill(facts: &CardContext<'_>, act: CardAct) -> Option<String> {
    match act {
        CardAct::Supersede | CardAct::Narrow => facts.newer().and_then(ClaimView::own_reason).map(str::to_owned),
        CardAct::Exception => facts.proposed.map(str::to_owned),
        // Names the claim by its id: a copy of its text would outlive a redaction of the claim.
        CardAct::Discard => facts.active().next().map(|claim| format!("claim {} still holds", claim.id.short())),
        CardAct::Retract if facts.kind == CardKind::Proposed => facts.proposed.map(str::to_owned),
        CardAct::Retract | CardAct::Dismiss | CardAct::Snooze | CardAct::Yes | CardAct::No => None,
    }
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;
    use crate::{
        domain::{ClaimKind, DeviceId, EventId, Flags, Qualifiers, Scope},
        engine::wording::summary::quote as q,
    };

    fn claim(statement: &str, status: Status) -> ClaimView {
        ClaimView {
            id: EventId([1; 32]),
            scope: Scope { org_id: "acme".into(), project: "api".into() },
            kind: ClaimKind::Decision,
            status,
            flags: Flags::default(),
            statement: statement.into(),
            reason: Some(format!("why {statement}")),
            source: None,
            who: "ada".into(),
            agent: None,
            device: DeviceId([0; 32]),
            provenance: crate::api::Provenance::default(),
            at: 0,
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

    /// An open card without a new claim.
    fn open<'a>(kind: CardKind, claims: &'a [&'a ClaimView]) -> CardContext<'a> {
        CardContext {
            kind,
            status: CardStatus::Open,
            new_claim: None,
            claims,
            replaced: None,
            evidence: &[],
            proposed: None,
            proposal: None,
            question: None,
            apart: false,
            settled_by: None,
        }
    }

    fn allowed(facts: &CardContext<'_>) -> Vec<CardAct> {
        acts(facts).into_iter().filter(|option| option.disabled.is_none()).map(|option| option.act).collect()
    }

    #[rstest]
    #[case::refused(CardKind::Refused, true, Status::Active, &CardAct::ALL[..7])]
    #[case::story(CardKind::Story, false, Status::Active,
        &[CardAct::Supersede, CardAct::Retract, CardAct::Narrow, CardAct::Exception, CardAct::Dismiss, CardAct::Snooze,
            CardAct::Yes, CardAct::No])]
    #[case::new_claim_is_unopposed(CardKind::Refused, true, Status::Retracted,
        &[CardAct::Supersede, CardAct::Dismiss, CardAct::Discard, CardAct::Snooze])]
    #[case::contradiction(CardKind::Contradiction, false, Status::Active,
        &[CardAct::Supersede, CardAct::Retract, CardAct::Narrow, CardAct::Exception, CardAct::Dismiss, CardAct::Snooze])]
    #[case::contested(CardKind::Contested, false, Status::Active,
        &[CardAct::Supersede, CardAct::Retract, CardAct::Narrow, CardAct::Exception, CardAct::Dismiss, CardAct::Snooze])]
    #[case::withdrawn(CardKind::Contested, false, Status::Retracted,
        &[CardAct::Retract, CardAct::Narrow, CardAct::Dismiss, CardAct::Snooze])]
    fn each_kind_of_card_allows_its_acts(
        #[case] kind: CardKind,
        #[case] refused: bool,
        #[case] status: Status,
        #[case] expected: &[CardAct],
    ) {
        let (red, blue) = (claim("use red", Status::Active), claim("use blue", status));
        let claims: Vec<&ClaimView> = if refused { vec![&blue] } else { vec![&red, &blue] };
        let facts = CardContext { new_claim: refused.then_some(&red), ..open(kind, &claims) };
        assert_eq!(allowed(&facts), expected);
        let apart = allowed(&CardContext { apart: true, ..facts });
        assert!(
            apart.iter().all(|act| matches!(act, CardAct::Exception | CardAct::Dismiss | CardAct::Snooze)),
            "{apart:?}"
        );
        assert!(allowed(&CardContext { status: CardStatus::Settled, ..facts }).is_empty());
        assert!(!advice(&facts).is_empty());
    }

    #[test]
    fn the_guards_own_sentence_is_the_headline_where_there_is_one() {
        let (red, blue) = (claim("use red", Status::Active), claim("use blue", Status::Active));
        let evidence = [Evidence { sentence: "the canary is red or blue".into(), ..Evidence::default() }];
        let existing = [&blue];
        let mut facts =
            CardContext { new_claim: Some(&red), evidence: &evidence, ..open(CardKind::Refused, &existing) };
        assert_eq!(headline(&facts), "the canary is red or blue");
        facts.evidence = &[];
        assert_eq!(headline(&facts), format!("{} contradicts {}", q("use red"), q("use blue")));
        facts.kind = CardKind::Contested;
        let both = [&red, &blue];
        facts.claims = &both;
        assert!(headline(&facts).contains("had not seen each other's change"));
    }

    #[test]
    fn claims_that_replaced_each_other_can_be_kept_or_dismissed() {
        let (red, blue) = (claim("use red", Status::Superseded), claim("use blue", Status::Superseded));
        let both = [&red, &blue];
        let facts = open(CardKind::Contested, &both);
        assert!(headline(&facts).starts_with(&format!("{} and {} replaced each other", q("use red"), q("use blue"))));
        assert!(advice(&facts).contains("active again"));
        assert_eq!(allowed(&facts), [CardAct::Supersede, CardAct::Dismiss, CardAct::Snooze]);
        let gone = claim("use blue", Status::Retracted);
        let facts = CardContext { claims: &[&gone, &red], ..facts };
        assert!(headline(&facts).starts_with(&format!(
            "{} was retracted and kept instead of {}",
            q("use blue"),
            q("use red")
        )));
        assert_eq!(allowed(&facts), [CardAct::Supersede, CardAct::Dismiss, CardAct::Snooze]);
    }

    #[test]
    fn reasons_are_prefilled_where_they_are_known() {
        let (red, blue) = (claim("use red", Status::Active), claim("use blue", Status::Active));
        let existing = [&blue];
        let facts = CardContext {
            new_claim: Some(&red),
            proposed: Some("one week only"),
            ..open(CardKind::Refused, &existing)
        };
        let prefill = |act| acts(&facts).into_iter().find(|option| option.act == act).and_then(|option| option.prefill);
        assert_eq!(prefill(CardAct::Supersede).as_deref(), Some("why use red"));
        assert_eq!(prefill(CardAct::Exception).as_deref(), Some("one week only"));
        assert_eq!(
            prefill(CardAct::Discard).as_deref(),
            Some(format!("claim {} still holds", blue.id.short()).as_str())
        );
        assert_eq!(prefill(CardAct::Retract), None);
        let imported = ClaimView {
            reason: Some("Stated in AGENTS.md under “Guide”.".into()),
            source: Some("docs/AGENTS.md:12".into()),
            ..claim("use red", Status::Active)
        };
        let facts = CardContext { new_claim: Some(&imported), ..facts };
        let prefill = |act| acts(&facts).into_iter().find(|option| option.act == act).and_then(|option| option.prefill);
        assert_eq!(prefill(CardAct::Supersede), None, "where it was stated is no reason");
    }
}
