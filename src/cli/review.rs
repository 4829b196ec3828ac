//! The line-based review of conflicts: what `ergo resolve --interactive` prints and asks, and `ergo tui --plain` for each card.
//!
//! No drawing, no cursor, no colour that carries meaning: it reads well aloud and in a log. Without someone to answer, it
//! prints every card with its ways on and ends.

use super::{
    CliError, Context, Exit,
    ask::Asker,
    resolve::{blank, prefill, side},
    show::{self, text::count, time},
    ui::Style,
    undo,
};
use crate::{
    api::{CardAct, CardStatus, CardView, ConflictsQuery, MAX_PAGE, ResolveRequest, WhyRequest, WriteOutcome},
    client::Client,
};

/// What to go through: everything that waits here, or less.
#[derive(Clone, Debug, Default)]
pub(crate) struct Which {
    /// This card alone.
    pub(crate) card: Option<String>,
    /// Only the cards on which this claim takes part.
    pub(crate) claim: Option<String>,
    /// Ask nothing, change nothing.
    pub(crate) read_only: bool,
}

/// What a line of a person means.
#[derive(Debug, PartialEq)]
pub(super) enum Answer {
    Act(CardAct, Option<String>),
    Merge,
    Why(String),
    Undo,
    Next,
    Quit,
    Help,
    Unknown(String),
}

/// The letters are those of the app.
const HELP: &str = "\
a      keep side 1: it replaces the other        b      keep side 2; b 3 keeps side 3
m      merge: a new text replaces both           r 1    retract side 1: it was never right
o 1    only in…: both hold, side 1 in its place  x      exception: both stay, on the record
d      dismiss: not a contradiction              D      discard the refused claim
z 3d   snooze: not now                           w 1    why: how side 1 came about
u      undo my last act                          n      the next card; Enter, too
q      quit";

/// Goes through the cards.
pub(crate) async fn run(cx: &mut Context, client: &Client, which: Which) -> Result<Exit, CliError> {
    let cards = cards(cx, client, &which).await?;
    if cx.ui.json {
        let mut views = Vec::new();
        for id in &cards {
            views.push(client.card(id).await?);
        }
        cx.ui.value(&views);
        return Ok(Exit::Ok);
    }
    if cards.is_empty() {
        cx.ui.line("No conflicts wait here.");
        cx.ui.commands(&[
            ("ergo audit".to_owned(), "compare all that is in force".to_owned()),
            ("ergo conflicts --all".to_owned(), "look in all projects".to_owned()),
        ]);
        return Ok(Exit::Ok);
    }
    let mut asker = if which.read_only { None } else { Asker::new() };
    let total = cards.len();
    cx.ui.line(text!("{} to decide.", count(total, "conflict", "conflicts")));
    for (at, id) in cards.iter().enumerate() {
        cx.ui.line("");
        let place = cx.ui.paint(Style::Dim, format_args!("{} of {total}", at + 1));
        cx.ui.line(place);
        if !one(cx, client, id, asker.as_mut()).await? {
            break;
        }
    }
    Ok(Exit::Ok)
}

/// The ids of the cards to go through, oldest first: what waits longest comes first.
async fn cards(cx: &Context, client: &Client, which: &Which) -> Result<Vec<String>, CliError> {
    if let Some(card) = &which.card {
        return Ok(vec![client.card(card).await?.summary.id.to_hex()]);
    }
    if let Some(claim) = &which.claim {
        let history = client.history(claim).await?;
        let open = history.cards.iter().filter(|card| card.status == CardStatus::Open);
        return Ok(open.map(|card| card.id.to_hex()).collect());
    }
    let scope = cx.known_scope(client).await?;
    let mut query = ConflictsQuery {
        org_id: Some(scope.org_id),
        project: Some(scope.project),
        limit: Some(MAX_PAGE),
        ..ConflictsQuery::default()
    };
    let mut found = Vec::new();
    loop {
        let page = client.conflicts(&query).await?;
        found.extend(page.items.iter().map(|card| card.id.to_hex()));
        query.cursor = page.next;
        if query.cursor.is_none() {
            break;
        }
    }
    found.reverse();
    Ok(found)
}

/// Shows one card and asks until it is settled or left; `false` ends the review.
pub(super) async fn one(
    cx: &mut Context,
    client: &Client,
    id: &str,
    mut asker: Option<&mut Asker>,
) -> Result<bool, CliError> {
    let mut card = client.card(id).await?;
    let now = Context::now();
    cx.ui.card(&card, now);
    let Some(asker) = asker.as_mut() else {
        cx.ui.line("");
        cx.ui.card_ways(&card);
        return Ok(!cx.ui.gone());
    };
    loop {
        let Some(line) = asker.ask(cx, "\nWhat now? [a, b, m, r, o, x, d, D, z, w, u, n, q, ?] ")? else {
            return Ok(false);
        };
        match parse(&line) {
            Answer::Quit => return Ok(false),
            Answer::Next => return Ok(true),
            Answer::Help => cx.ui.line(HELP),
            Answer::Unknown(word) => {
                cx.ui.line(text!("“{}” is none of the answers:", word));
                cx.ui.line(HELP);
            }
            Answer::Undo => match undo::last_act(cx, client, asker).await {
                Ok(true) => card = client.card(id).await?,
                Ok(false) => {}
                Err(error) => cx.ui.error(&error),
            },
            Answer::Why(named) => match why(cx, client, &card, &named).await {
                Ok(()) => {}
                Err(error) => cx.ui.error(&error),
            },
            Answer::Act(act, named) => match settle(cx, client, &card, act, named, asker).await {
                Ok(Some(true)) => return Ok(true),
                Ok(Some(false)) => card = client.card(id).await?,
                Ok(None) => {}
                Err(error) => cx.ui.error(&error),
            },
            Answer::Merge => match settle(cx, client, &card, CardAct::Supersede, None, asker).await {
                Ok(Some(true)) => return Ok(true),
                Ok(Some(false)) => card = client.card(id).await?,
                Ok(None) => {}
                Err(error) => cx.ui.error(&error),
            },
        }
    }
}

/// Does one act, asking for what it needs. `Some(true)`: done; `Some(false)`: the daemon said no; `None`: left off.
async fn settle(
    cx: &mut Context,
    client: &Client,
    card: &CardView,
    act: CardAct,
    named: Option<String>,
    asker: &mut Asker,
) -> Result<Option<bool>, CliError> {
    let option = card.acts.iter().find(|option| option.act == act);
    if let Some(why_not) = option.and_then(|option| option.disabled.as_deref()) {
        cx.ui.line(text!("Not possible: {}.", why_not));
        return Ok(None);
    }
    let mut request = ResolveRequest { caller: cx.anyone()?, ..blank(card, act) };
    match act {
        CardAct::Supersede if named.is_none() => {
            let text = asker.ask(cx, "The text that replaces both (empty: leave off): ")?.unwrap_or_default();
            if text.is_empty() {
                return Ok(None);
            }
            request.statement = Some(text);
        }
        CardAct::Supersede => request.winner = named.map(|named| side(card, &named)).transpose()?,
        CardAct::Retract | CardAct::Narrow => {
            let first = act == CardAct::Narrow || card.sides.len() < 2;
            let named = named.unwrap_or_else(|| if first { "1" } else { "2" }.to_owned());
            request.target = Some(side(card, &named)?);
        }
        CardAct::Snooze => {
            request.until = Some(time::moment(named.as_deref().unwrap_or("1d"), 1)?);
        }
        CardAct::Exception | CardAct::Dismiss | CardAct::Discard => {}
    }
    if act == CardAct::Narrow && !narrow(cx, asker, &mut request)? {
        return Ok(None);
    }
    if act != CardAct::Snooze {
        let known = prefill(card, &request);
        let prompt = match &known {
            Some(known) => text!("Why? [Enter: {}] ", known),
            None => "Why? (empty: leave off) ".into(),
        };
        let Some(said) = asker.ask(cx, prompt)? else { return Ok(None) };
        request.reason = if said.is_empty() { known.unwrap_or_default() } else { said };
        if request.reason.trim().is_empty() {
            cx.ui.line("Left off: a decision needs its reason.");
            return Ok(None);
        }
    }
    let outcome = client.resolve(&card.summary.id.to_hex(), &request).await?;
    show::outcome::show(cx, &outcome, request.statement.as_deref());
    Ok(Some(matches!(outcome, WriteOutcome::Stored(_) | WriteOutcome::Done(_))))
}

/// Asks where the narrowed claim holds; `false` where nothing was said.
fn narrow(cx: &mut Context, asker: &mut Asker, request: &mut ResolveRequest) -> Result<bool, CliError> {
    let holds = &mut request.qualifiers;
    let fields = [
        ("environment", &mut holds.env),
        ("team", &mut holds.team),
        ("tenant", &mut holds.tenant),
        ("first day, YYYY-MM-DD", &mut holds.valid_from),
        ("last day, YYYY-MM-DD", &mut holds.valid_until),
    ];
    for (name, field) in fields {
        let Some(said) = asker.ask(cx, text!("It holds only for this {} (empty: any): ", name))? else {
            return Ok(false);
        };
        if !said.is_empty() {
            *field = Some(said);
        }
    }
    if request.qualifiers.is_empty() {
        cx.ui.line("Left off: it would hold everywhere, as before.");
        return Ok(false);
    }
    Ok(true)
}

async fn why(cx: &mut Context, client: &Client, card: &CardView, named: &str) -> Result<(), CliError> {
    let scope = &card.summary.scope;
    let question = side(card, named)?;
    let request =
        WhyRequest { org_id: scope.org_id.clone(), project: scope.project.clone(), question, ..WhyRequest::default() };
    let answer = client.why(&request).await?;
    let now = Context::now();
    match &answer.answer {
        Some(claim) => {
            cx.ui.claim(claim, now);
            cx.ui.chain(&answer.chain, now);
        }
        None => cx.ui.line("Nothing led to it: it is new."),
    }
    Ok(())
}

pub(super) fn parse(line: &str) -> Answer {
    let mut words = line.split_whitespace();
    let typed = words.next().unwrap_or_default();
    // In the app the same letter drops the refused write, or says that it is no contradiction.
    let word = if typed == "D" { "discard".to_owned() } else { typed.to_lowercase() };
    let rest = words.collect::<Vec<_>>().join(" ");
    // “r1” is “r 1”.
    let digits_from = word.find(|c: char| c.is_ascii_digit()).unwrap_or(word.len());
    let (letters, digits) = word.split_at(digits_from);
    let named = Some(if rest.is_empty() { digits.to_owned() } else { rest }).filter(|named| !named.is_empty());
    let side = |fallback: &str| Some(named.clone().unwrap_or_else(|| fallback.to_owned()));
    match letters {
        "" if digits.is_empty() => Answer::Next,
        "" => Answer::Act(CardAct::Supersede, Some(digits.to_owned())),
        "a" | "keep" | "supersede" => Answer::Act(CardAct::Supersede, side("1")),
        "b" => Answer::Act(CardAct::Supersede, side("2")),
        "m" | "merge" => Answer::Merge,
        "r" | "retract" => Answer::Act(CardAct::Retract, named),
        "o" | "only" | "narrow" => Answer::Act(CardAct::Narrow, named),
        "x" | "exception" => Answer::Act(CardAct::Exception, None),
        "d" | "dismiss" => Answer::Act(CardAct::Dismiss, None),
        "discard" => Answer::Act(CardAct::Discard, None),
        "z" | "snooze" => Answer::Act(CardAct::Snooze, named),
        "w" | "why" => Answer::Why(named.unwrap_or_else(|| "1".to_owned())),
        "u" | "undo" => Answer::Undo,
        "n" | "next" => Answer::Next,
        "q" | "quit" | "exit" => Answer::Quit,
        "?" | "h" | "help" => Answer::Help,
        _ => Answer::Unknown(crate::domain::text::sanitize_line(line)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[rstest::rstest]
    #[case("", Answer::Next)]
    #[case("2", Answer::Act(CardAct::Supersede, Some("2".into())))]
    #[case("a", Answer::Act(CardAct::Supersede, Some("1".into())))]
    #[case("b", Answer::Act(CardAct::Supersede, Some("2".into())))]
    #[case("b3", Answer::Act(CardAct::Supersede, Some("3".into())))]
    #[case("d", Answer::Act(CardAct::Dismiss, None))]
    #[case("D", Answer::Act(CardAct::Discard, None))]
    #[case("x", Answer::Act(CardAct::Exception, None))]
    #[case("n", Answer::Next)]
    #[case("keep 3f2a91", Answer::Act(CardAct::Supersede, Some("3f2a91".into())))]
    #[case("R 1", Answer::Act(CardAct::Retract, Some("1".into())))]
    #[case("z 2 weeks", Answer::Act(CardAct::Snooze, Some("2 weeks".into())))]
    #[case("w", Answer::Why("1".into()))]
    #[case("?", Answer::Help)]
    #[case("frob", Answer::Unknown("frob".into()))]
    fn a_line_is_an_answer(#[case] line: &str, #[case] answer: Answer) {
        assert_eq!(parse(line), answer);
    }
}
