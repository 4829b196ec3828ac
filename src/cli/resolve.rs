//! `ergo resolve`: settles a conflict by an act, or line by line.

use super::{
    CliError, Context, Exit, resolve_many, review,
    show::{self, time},
    write::Holds,
};
use crate::{
    api::{CardAct, CardView, Keep, ResolveRequest},
    client::Client,
};

/// Settle a conflict: keep one side, merge, retract, narrow, make an exception, dismiss, discard or snooze.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
A side is named by its number on the card (1, 2) or by the claim's id. Several cards are settled by one act, which one
`ergo undo` takes back.

Examples:
  ergo resolve 5ad0c0ffee --keep 1 --reason 'The cluster moved in June.'
  ergo resolve 5ad0c0ffee --merge 'Deploy daily, but not on Fridays.' --reason 'Both had a point.'
  ergo resolve 5ad0c0ffee --narrow 1 --env staging --reason 'Only production must wait.'
  ergo resolve 5ad0c0ffee 77b1e5 --keep 2
  ergo resolve --all --keep-source CLAUDE.md --dry-run
  ergo resolve 5ad0c0ffee --interactive")]
pub(crate) struct Args {
    /// The cards' ids; without one, the only card that waits here.
    #[arg(value_name = "CARD")]
    cards: Vec<String>,
    /// Every card that waits here, by one act.
    #[arg(long, conflicts_with_all = ["cards", "interactive"])]
    all: bool,
    /// Say what would become of several cards; change nothing.
    #[arg(long)]
    dry_run: bool,
    /// Why; where it is known from the card, that is used.
    #[arg(short, long, value_name = "WHY")]
    reason: Option<String>,
    /// With --narrow: other words for the narrowed claim.
    #[arg(long, value_name = "STATEMENT", requires = "narrow")]
    statement: Option<String>,
    /// Go through the conflicts line by line.
    #[arg(short, long)]
    interactive: bool,
    #[command(flatten)]
    act: Act,
    #[command(flatten)]
    holds: Holds,
}

/// What to do; one of these.
#[derive(Debug, Default, clap::Args)]
#[group(multiple = false)]
#[command(next_help_heading = "Acts")]
pub(crate) struct Act {
    /// This side stays, and replaces the others.
    #[arg(long, value_name = "SIDE")]
    keep: Option<String>,
    /// Of each card, the side from this source stays: a file, whatever the line.
    #[arg(long, value_name = "SOURCE")]
    keep_source: Option<String>,
    /// Of each card, the side by this person, or through this agent, stays.
    #[arg(long, value_name = "NAME")]
    keep_writer: Option<String>,
    /// This side gives way to the other.
    #[arg(long, value_name = "SIDE")]
    supersede: Option<String>,
    /// A new statement replaces all sides.
    #[arg(long, value_name = "STATEMENT")]
    merge: Option<String>,
    /// This side was never right.
    #[arg(long, value_name = "SIDE")]
    retract: Option<String>,
    /// This side holds only where and when the options below say.
    #[arg(long, value_name = "SIDE")]
    narrow: Option<String>,
    /// Both stay, on the record: this side is the exception, the other one the rule [default: the refused or newer side].
    #[arg(long, value_name = "SIDE", num_args = 0..=1, require_equals = true, default_missing_value = "")]
    exception: Option<String>,
    /// Not a contradiction: this pair is never refused again.
    #[arg(long)]
    dismiss: bool,
    /// Drop the refused claim.
    #[arg(long)]
    discard: bool,
    /// Not now: come back then (3d, 2 weeks, 2026-12-01).
    #[arg(long, value_name = "WHEN")]
    snooze: Option<String>,
}

/// Runs the verb.
pub(crate) async fn run(args: Args, cx: &mut Context) -> Result<Exit, CliError> {
    let client = cx.client().await?;
    if args.interactive {
        if args.cards.len() > 1 {
            return Err(
                CliError::usage("one card at a time is gone through").hint("leave the cards out to go through all")
            );
        }
        let card = args.cards.into_iter().next();
        return review::run(cx, &client, review::Which { card, ..review::Which::default() }).await;
    }
    let many = args.all || args.dry_run || args.cards.len() > 1;
    if many || args.act.keep_source.is_some() || args.act.keep_writer.is_some() {
        let order = order_for_many(&args)?;
        if args.cards.is_empty() && !args.all {
            return Err(CliError::usage("which cards?").hint("name them, or say --all for every card that waits here"));
        }
        return resolve_many::run(cx, &client, &args.cards, order).await;
    }
    let card = match args.cards.first() {
        Some(card) => client.card(card).await?,
        None => only_card(cx, &client).await?,
    };
    let Some(mut request) = request(&args.act, &card)? else {
        return Err(CliError::usage("what shall be done with it?")
            .hint(format_args!("`ergo resolve {} --interactive` shows both sides and asks", card.summary.id.short()))
            .hint(
                "or name an act: --keep, --merge, --retract, --narrow, --exception, --dismiss, --discard, --snooze",
            ));
    };
    request.caller = cx.anyone()?;
    if request.act == CardAct::Narrow {
        request.statement = args.statement;
    }
    request.qualifiers = args.holds.into();
    if request.act == CardAct::Narrow && request.qualifiers.is_empty() {
        return Err(CliError::usage("where does the narrowed claim hold?")
            .hint("say one or more of --env, --team, --tenant, --from, --until"));
    }
    request.reason = match args.reason {
        Some(reason) => reason,
        None => prefill(&card, &request).unwrap_or_default(),
    };
    if request.reason.trim().is_empty() && request.act != CardAct::Snooze {
        return Err(CliError::usage("a decision needs its reason").hint("add --reason 'why'"));
    }
    let outcome = client.resolve(&card.summary.id.to_hex(), &request).await?;
    Ok(show::outcome::show(cx, &outcome, request.statement.as_deref()))
}

/// What to do with several cards: an act that means the same on each.
fn order_for_many(args: &Args) -> Result<resolve_many::Order, CliError> {
    let act = &args.act;
    let (act, keep, until) = if let Some(side) = &act.keep {
        let keep = match side.as_str() {
            "1" => Keep::First,
            "2" => Keep::Second,
            _ => {
                return Err(CliError::usage(format_args!("“{side}” is no side that several cards have"))
                    .hint("--keep 1 keeps the newer side of each, --keep 2 what stood there before"));
            }
        };
        (CardAct::Supersede, Some(keep), None)
    } else if let Some(source) = &act.keep_source {
        (CardAct::Supersede, Some(Keep::Source(source.clone())), None)
    } else if let Some(writer) = &act.keep_writer {
        (CardAct::Supersede, Some(Keep::Writer(writer.clone())), None)
    } else if act.exception.as_deref() == Some("") {
        (CardAct::Exception, None, None)
    } else if act.dismiss {
        (CardAct::Dismiss, None, None)
    } else if act.discard {
        (CardAct::Discard, None, None)
    } else if let Some(when) = &act.snooze {
        (CardAct::Snooze, None, Some(time::moment(when, 1)?))
    } else {
        return Err(CliError::usage("what shall be done with all of them?").hint(
            "name an act: --keep 1, --keep 2, --keep-source, --keep-writer, --exception, --dismiss, --discard, --snooze",
        ));
    };
    let reason = args.reason.clone().unwrap_or_default();
    Ok(resolve_many::Order { act, keep, reason, until, dry_run: args.dry_run })
}

/// The reason that is known for an act: of the side that stays, else what the card says.
pub(crate) fn prefill(card: &CardView, request: &ResolveRequest) -> Option<String> {
    if let Some(winner) = &request.winner {
        let stays = card.sides.iter().find(|side| side.claim.id.to_hex() == *winner);
        return stays.and_then(|side| side.claim.own_reason()).map(str::to_owned);
    }
    card.acts.iter().find(|option| option.act == request.act).and_then(|option| option.prefill.clone())
}

/// An act on a card as it was shown, with nothing else said.
pub(crate) fn blank(card: &CardView, act: CardAct) -> ResolveRequest {
    ResolveRequest {
        caller: crate::api::Caller::default(),
        act,
        reason: String::new(),
        winner: None,
        target: None,
        statement: None,
        qualifiers: crate::domain::Qualifiers::default(),
        until: None,
        expect_rev: Some(card.summary.rev),
    }
}

fn request(act: &Act, card: &CardView) -> Result<Option<ResolveRequest>, CliError> {
    let blank = |act| blank(card, act);
    Ok(Some(if let Some(winner) = &act.keep {
        ResolveRequest { winner: Some(side(card, winner)?), ..blank(CardAct::Supersede) }
    } else if let Some(loser) = &act.supersede {
        ResolveRequest { winner: Some(other_side(card, loser)?), ..blank(CardAct::Supersede) }
    } else if let Some(statement) = &act.merge {
        ResolveRequest { statement: Some(statement.clone()), ..blank(CardAct::Supersede) }
    } else if let Some(target) = &act.retract {
        ResolveRequest { target: Some(side(card, target)?), ..blank(CardAct::Retract) }
    } else if let Some(target) = &act.narrow {
        ResolveRequest { target: Some(side(card, target)?), ..blank(CardAct::Narrow) }
    } else if let Some(side_of) = &act.exception {
        let target = Some(side_of).filter(|named| !named.is_empty()).map(|named| side(card, named)).transpose()?;
        ResolveRequest { target, ..blank(CardAct::Exception) }
    } else if act.dismiss {
        blank(CardAct::Dismiss)
    } else if act.discard {
        blank(CardAct::Discard)
    } else if let Some(when) = &act.snooze {
        ResolveRequest { until: Some(time::moment(when, 1)?), ..blank(CardAct::Snooze) }
    } else {
        return Ok(None);
    }))
}

/// The full id of a side that is named by its number on the card, or by an id or prefix.
pub(crate) fn side(card: &CardView, named: &str) -> Result<String, CliError> {
    let named = named.trim().to_ascii_lowercase();
    let by_number = named.parse::<usize>().ok().filter(|_| named.len() < crate::domain::id::MIN_PREFIX);
    let found: Vec<_> = card
        .sides
        .iter()
        .enumerate()
        .filter(|(at, side)| match by_number {
            Some(number) => at + 1 == number,
            None => named.len() >= crate::domain::id::MIN_PREFIX && side.claim.id.to_hex().starts_with(&named),
        })
        .map(|(_, side)| side.claim.id.to_hex())
        .collect();
    if let [one] = found.as_slice() {
        return Ok(one.clone());
    }
    let sides = card.sides.iter().enumerate();
    let sides: Vec<_> = sides.map(|(at, side)| format!("{} ({})", at + 1, side.claim.id.short())).collect();
    Err(CliError::usage(format_args!("“{named}” is no side of card {}", card.summary.id.short()))
        .hint(format_args!("its sides are {}", sides.join(", "))))
}

/// The one side that is left when `named` gives way.
fn other_side(card: &CardView, named: &str) -> Result<String, CliError> {
    let loser = side(card, named)?;
    let mut others = card.sides.iter().map(|side| side.claim.id.to_hex()).filter(|id| *id != loser);
    match (others.next(), others.next()) {
        (Some(winner), None) => Ok(winner),
        _ => Err(CliError::usage(format_args!("card {} has more than two sides", card.summary.id.short()))
            .hint("name the one that stays: --keep SIDE")),
    }
}

async fn only_card(cx: &Context, client: &Client) -> Result<CardView, CliError> {
    let scope = cx.known_scope(client).await?;
    let query = crate::api::ConflictsQuery {
        org_id: Some(scope.org_id.clone()),
        project: Some(scope.project.clone()),
        limit: Some(2),
        ..Default::default()
    };
    let page = client.conflicts(&query).await?;
    match page.items.as_slice() {
        [card] => Ok(client.card(&card.id.to_hex()).await?),
        [] => Err(CliError::usage(format_args!("no conflict waits in {scope}"))
            .hint("`ergo conflicts --all` looks in all projects")),
        _ => Err(CliError::usage(format_args!("{} conflicts wait in {scope}: which one?", page.total))
            .hint("`ergo conflicts` lists them; `ergo resolve --interactive` goes through them")),
    }
}
