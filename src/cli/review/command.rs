//! The answers of the review: letters, which are those of the app, and words.

use std::borrow::Cow;

use crate::{
    api::{ActOption, CardAct, CardKind, CardView, InboxItem},
    cli::ui::SafeText,
    domain::{
        Status,
        text::{both_or_all, sanitize_line},
    },
};

/// The meaning of an answer.
#[derive(Clone, Debug, PartialEq)]
pub(in crate::cli) enum ReviewCommand {
    /// Settle the card by an act, on the side that was named.
    Card(CardAct, Option<String>),
    /// Say how a held claim relates to those that it may contradict.
    Judge,
    /// Confirm that the claim still holds.
    Confirm,
    /// Replace the claim by a new statement.
    Supersede,
    /// Retract the claim.
    Retract,
    /// Make the claim active again, accept the event, or admit the device.
    Accept,
    /// Discard the event, or deny the device.
    Deny,
    /// Show the history of the claim, or of the side that was named.
    Why(String),
    /// Undo the last act.
    Undo,
    /// Skip the item.
    Next,
    /// End the review.
    Quit,
    /// Show the answers.
    Help,
    /// An unknown answer.
    Unknown(String),
}

/// The answers that settle a card: letter, act, example and effect. `{all}` and `{others}` stand for the sides.
const CARD_ANSWERS: [(&str, CardAct, &str, &str); 11] = [
    ("y", CardAct::Yes, "y", "yes; the card says what that does"),
    ("no", CardAct::No, "no", "no; the card says what that does"),
    ("a", CardAct::Supersede, "a", "keep side 1: it supersedes {others}"),
    ("b", CardAct::Supersede, "b", "keep side 2; b 3 keeps side 3"),
    ("m", CardAct::Supersede, "m", "merge: a new statement supersedes {all}"),
    ("r", CardAct::Retract, "r 1", "retract side 1: it was never right"),
    ("o", CardAct::Narrow, "o 1", "narrow side 1 to an environment, team, tenant or period"),
    ("x", CardAct::Exception, "x", "exception: keep {all}"),
    ("d", CardAct::Dismiss, "d", "dismiss: no contradiction"),
    ("D", CardAct::Discard, "D", "discard the refused claim"),
    ("z", CardAct::Snooze, "z 3d", "snooze"),
];

/// The meaning of the answer `j`, which only the card of a held claim takes.
const HELD_HELP: &str = "say how it relates to each of the others: keep both, replaces it, same, contradicts";

/// Returns the answers that settle a card: those whose act is possible on its sides.
fn answers_on(card: &CardView) -> impl Iterator<Item = (&'static str, &'static str, &'static str)> + '_ {
    card_answers(&card.acts).filter(|(letter, ..)| match *letter {
        "a" => card.can_act_on(CardAct::Supersede, 0).is_ok(),
        "b" => (1..card.sides.len()).any(|index| card.can_act_on(CardAct::Supersede, index).is_ok()),
        "m" => card.can_merge().is_ok(),
        _ => true,
    })
}

/// Returns the answers whose act is possible.
fn card_answers(acts: &[ActOption]) -> impl Iterator<Item = (&'static str, &'static str, &'static str)> + '_ {
    let possible = |act: CardAct| acts.iter().any(|option| option.act == act && option.disabled.is_none());
    CARD_ANSWERS
        .iter()
        .filter(move |(_, act, ..)| possible(*act))
        .map(|(letter, _, example, meaning)| (*letter, *example, *meaning))
}

/// Returns the effect of an answer to a card with this number of sides.
fn with_sides(meaning: &str, sides: usize) -> String {
    let others = if sides > 2 { "the others" } else { "the other" };
    meaning.replace("{all}", &both_or_all(sides)).replace("{others}", others)
}

/// Returns the letters that an item takes; `card` is the item in full if it is a card.
pub(super) fn letters(item: &InboxItem, card: Option<&CardView>) -> Vec<&'static str> {
    let mut own: Vec<&str> = Vec::new();
    match card {
        Some(card) => {
            own.extend((card.summary.kind == CardKind::Held).then_some("j"));
            own.extend(answers_on(card).map(|(letter, ..)| letter));
            own.push("w");
        }
        None => own.extend(answers(item).iter().map(|(letter, _)| *letter)),
    }
    own.extend(["u", "n", "q", "?"]);
    own
}

/// Returns the answers that an item takes, each with its meaning; `card` is the item in full if it is a card.
pub(super) fn help(item: &InboxItem, card: Option<&CardView>) -> SafeText {
    let mut lines: Vec<(&str, Cow<'_, str>)> = Vec::new();
    match card {
        Some(card) => {
            lines.extend((card.summary.kind == CardKind::Held).then_some(("j", HELD_HELP.into())));
            let sides = card.open_sides();
            lines.extend(answers_on(card).map(|(_, example, meaning)| (example, with_sides(meaning, sides).into())));
            lines.push(("w 1", "why: the history of side 1".into()));
        }
        None => lines.extend(answers(item).iter().map(|(letter, meaning)| (*letter, (*meaning).into()))),
    }
    let always = [("u", "undo my last change"), ("n", "next item (or Enter)"), ("q", "quit")];
    lines.extend(always.map(|(letter, meaning)| (letter, meaning.into())));
    let lines: Vec<SafeText> =
        lines.into_iter().map(|(letter, meaning)| text!("{}{}", format_args!("{letter:6}"), &*meaning)).collect();
    SafeText::join(&lines, "\n")
}

/// The answers to an item that is no card.
fn answers(item: &InboxItem) -> &'static [(&'static str, &'static str)] {
    const WHY: (&str, &str) = ("w", "why: show its history");
    const RETRACT: (&str, &str) = ("r", "retract it: it was never right");
    match item {
        InboxItem::Card(_) => &[],
        InboxItem::Review(_) => {
            &[("v", "it still holds"), ("e", "something changed: write a new statement"), RETRACT, WHY]
        }
        InboxItem::Notice(item) if item.claim.status != Status::Active => {
            &[("v", "reviewed: leave it as it is"), ("i", "make it active again"), WHY]
        }
        InboxItem::Notice(_) => &[("v", "reviewed: leave it as it is"), ("e", "write a new statement"), RETRACT, WHY],
        InboxItem::Quarantined(event) if event.waits_for_date() => &[("x", "discard it on this device")],
        InboxItem::Quarantined(_) => &[("i", "accept it for the whole team"), ("x", "discard it on this device")],
        InboxItem::Joining(_) => &[("i", "admit it: both screens show the same words"), ("x", "deny it")],
    }
}

/// Parses an answer to a card, or to another item. “r1” means “r 1”.
pub(in crate::cli) fn parse(line: &str, card: bool) -> ReviewCommand {
    let mut words = line.split_whitespace();
    let typed = words.next().unwrap_or_default();
    // In the app, D discards the refused claim and d dismisses the card.
    let word = if typed == "D" { "discard".to_owned() } else { typed.to_lowercase() };
    let rest = words.collect::<Vec<_>>().join(" ");
    let (letters, digits) = word.split_at(word.find(|c: char| c.is_ascii_digit()).unwrap_or(word.len()));
    let side = Some(if rest.is_empty() { digits.to_owned() } else { rest }).filter(|side| !side.is_empty());
    let or = |default: &str| Some(side.clone().unwrap_or_else(|| default.to_owned()));
    match (letters, card) {
        ("", _) if digits.is_empty() => ReviewCommand::Next,
        ("n" | "next", _) => ReviewCommand::Next,
        ("u" | "undo", _) => ReviewCommand::Undo,
        ("q" | "quit" | "exit", _) => ReviewCommand::Quit,
        ("?" | "h" | "help", _) => ReviewCommand::Help,
        ("w" | "why", _) => ReviewCommand::Why(side.unwrap_or_else(|| "1".to_owned())),
        ("", true) => ReviewCommand::Card(CardAct::Supersede, Some(digits.to_owned())),
        ("a" | "keep" | "supersede", true) => ReviewCommand::Card(CardAct::Supersede, or("1")),
        ("b", true) => ReviewCommand::Card(CardAct::Supersede, or("2")),
        // Without a side, the user is asked for the new statement.
        ("m" | "merge", true) => ReviewCommand::Card(CardAct::Supersede, None),
        ("r" | "retract", true) => ReviewCommand::Card(CardAct::Retract, side),
        ("o" | "only" | "narrow", true) => ReviewCommand::Card(CardAct::Narrow, side),
        ("x" | "exception", true) => ReviewCommand::Card(CardAct::Exception, None),
        ("d" | "dismiss", true) => ReviewCommand::Card(CardAct::Dismiss, None),
        ("discard", true) => ReviewCommand::Card(CardAct::Discard, None),
        ("y" | "yes", true) => ReviewCommand::Card(CardAct::Yes, None),
        ("no", true) => ReviewCommand::Card(CardAct::No, None),
        ("j" | "judge", true) => ReviewCommand::Judge,
        ("z" | "snooze", true) => ReviewCommand::Card(CardAct::Snooze, side),
        ("v" | "reviewed", false) => ReviewCommand::Confirm,
        ("e" | "supersede", false) => ReviewCommand::Supersede,
        ("r" | "retract", false) => ReviewCommand::Retract,
        ("i" | "reinstate" | "accept" | "admit", false) => ReviewCommand::Accept,
        ("x" | "discard" | "deny", false) => ReviewCommand::Deny,
        _ => ReviewCommand::Unknown(sanitize_line(line)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[rstest::rstest]
    #[case("", ReviewCommand::Next)]
    #[case("2", ReviewCommand::Card(CardAct::Supersede, Some("2".into())))]
    #[case("a", ReviewCommand::Card(CardAct::Supersede, Some("1".into())))]
    #[case("b", ReviewCommand::Card(CardAct::Supersede, Some("2".into())))]
    #[case("b3", ReviewCommand::Card(CardAct::Supersede, Some("3".into())))]
    #[case("m", ReviewCommand::Card(CardAct::Supersede, None))]
    #[case("d", ReviewCommand::Card(CardAct::Dismiss, None))]
    #[case("D", ReviewCommand::Card(CardAct::Discard, None))]
    #[case("x", ReviewCommand::Card(CardAct::Exception, None))]
    #[case("J", ReviewCommand::Judge)]
    #[case("y", ReviewCommand::Card(CardAct::Yes, None))]
    #[case("no", ReviewCommand::Card(CardAct::No, None))]
    #[case("n", ReviewCommand::Next)]
    #[case("keep 3f2a91", ReviewCommand::Card(CardAct::Supersede, Some("3f2a91".into())))]
    #[case("R 1", ReviewCommand::Card(CardAct::Retract, Some("1".into())))]
    #[case("z 2 weeks", ReviewCommand::Card(CardAct::Snooze, Some("2 weeks".into())))]
    #[case("w", ReviewCommand::Why("1".into()))]
    #[case("?", ReviewCommand::Help)]
    #[case("frob", ReviewCommand::Unknown("frob".into()))]
    fn an_answer_to_a_card(#[case] line: &str, #[case] command: ReviewCommand) {
        assert_eq!(parse(line, true), command);
    }

    #[test]
    fn only_answers_whose_act_is_possible_are_offered() {
        let offered = |possible: &[CardAct]| -> Vec<&str> {
            let option = |act: CardAct| ActOption {
                act,
                disabled: (!possible.contains(&act)).then(|| "not here".to_owned()),
                prefill: None,
            };
            let acts: Vec<ActOption> = CardAct::ALL.into_iter().map(option).collect();
            card_answers(&acts).map(|(letter, ..)| letter).collect()
        };
        // A card between two projects, a question of the story, and everything.
        assert_eq!(offered(&[CardAct::Exception, CardAct::Dismiss, CardAct::Snooze]), ["x", "d", "z"]);
        assert_eq!(offered(&[CardAct::Yes, CardAct::No, CardAct::Supersede]), ["y", "no", "a", "b", "m"]);
        let all = offered(&CardAct::ALL);
        assert_eq!(all.len(), CARD_ANSWERS.len());
        for letter in all {
            assert!(matches!(parse(letter, true), ReviewCommand::Card(..)), "{letter}");
        }
    }

    #[test]
    fn an_answer_says_how_many_sides_it_is_about() {
        let meanings = |sides| CARD_ANSWERS.map(|(.., meaning)| with_sides(meaning, sides)).join("\n");
        for (sides, merge, keep) in
            [(2, "supersedes both", "supersedes the other\n"), (3, "supersedes all 3", "supersedes the others\n")]
        {
            let meanings = meanings(sides);
            assert!(meanings.contains(merge) && meanings.contains(keep) && !meanings.contains('{'), "{meanings}");
        }
    }

    #[rstest::rstest]
    #[case("", ReviewCommand::Next)]
    #[case("V", ReviewCommand::Confirm)]
    #[case("admit", ReviewCommand::Accept)]
    #[case("x", ReviewCommand::Deny)]
    #[case("r", ReviewCommand::Retract)]
    #[case("?", ReviewCommand::Help)]
    #[case("2", ReviewCommand::Unknown("2".into()))]
    #[case("frob", ReviewCommand::Unknown("frob".into()))]
    fn an_answer_to_another_item(#[case] line: &str, #[case] command: ReviewCommand) {
        assert_eq!(parse(line, false), command);
    }
}
