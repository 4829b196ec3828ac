//! `ergo resolve`: settles conflicts.

use super::{
    CliError, Context, Exit, paging, resolve_many,
    review::{self, CardSelection},
    show::{self, time},
    write::QualifierArgs,
};
use crate::{
    api::{CardAct, CardView, ConflictsQuery, Keep, ResolveRequest, Stale, WriteOutcome},
    client::Client,
};

/// Settle a conflict: keep one side, merge, retract, narrow, make an exception, answer yes or no, dismiss, discard or snooze.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
A side is named by its number on the card (1, 2) or by the claim's id. Several cards are settled together: a single
`ergo undo` reopens them all.

Examples:
  ergo resolve 5ad0c0ffee --keep 1 --reason 'The cluster moved in June.'
  ergo resolve 5ad0c0ffee --merge 'Deploy daily, but not on Fridays.' --reason 'Both had a point.'
  ergo resolve 5ad0c0ffee --narrow 1 --env staging --reason 'Only production must wait.'
  ergo resolve 5ad0c0ffee --no --reason 'The trial of GraphQL is over.'
  ergo resolve 5ad0c0ffee 77b1e5 --keep 2
  ergo resolve --all --keep-source CLAUDE.md --dry-run
  ergo resolve 5ad0c0ffee --interactive")]
pub(crate) struct Args {
    /// The cards' ids [default: the only open card of this project].
    #[arg(value_name = "CARD")]
    cards: Vec<String>,
    /// Settle every open card of this project together.
    #[arg(long, conflicts_with_all = ["cards", "interactive"])]
    all: bool,
    /// Show what would happen to the cards; change nothing. Only with an option that can settle several cards.
    #[arg(long)]
    dry_run: bool,
    /// The reason [default: the card's, if it has one].
    #[arg(short, long, alias = "because", value_name = "WHY")]
    reason: Option<String>,
    /// With --narrow: a new statement for the narrowed claim.
    #[arg(long, value_name = "STATEMENT", requires = "narrow")]
    statement: Option<String>,
    /// Review the open conflicts of this project one by one.
    #[arg(short, long, conflicts_with_all = ["dry_run", "reason", "statement", "CardActArgs", "QualifierArgs"])]
    interactive: bool,
    /// With --merge: do not keep the conditions that all sides have in common, such as --env prod.
    #[arg(long, requires = "merge")]
    drop_conditions: bool,
    #[command(flatten)]
    act: CardActArgs,
    #[command(flatten)]
    qualifiers: QualifierArgs,
}

/// The act; exactly one of these.
#[derive(Debug, Default, clap::Args)]
#[group(multiple = false)]
#[command(next_help_heading = "Acts")]
pub(crate) struct CardActArgs {
    /// Keep this side; it supersedes the others.
    #[arg(long, value_name = "SIDE")]
    keep: Option<String>,
    /// On each card, keep the side from this source file.
    #[arg(long, value_name = "SOURCE")]
    keep_source: Option<String>,
    /// On each card, keep the side of this person or agent.
    #[arg(long, value_name = "NAME")]
    keep_writer: Option<String>,
    /// Replace this side with the other one.
    #[arg(long, value_name = "SIDE")]
    supersede: Option<String>,
    /// Replace all sides with a new statement.
    #[arg(long, value_name = "STATEMENT")]
    merge: Option<String>,
    /// Retract this side: it was never right.
    #[arg(long, value_name = "SIDE")]
    retract: Option<String>,
    /// Narrow this side with the options below, such as --env.
    #[arg(long, value_name = "SIDE")]
    narrow: Option<String>,
    /// Keep both: this side is an exception to the other [default: the new claim].
    #[arg(long, value_name = "SIDE", num_args = 0..=1, require_equals = true, default_missing_value = "")]
    exception: Option<String>,
    /// Dismiss: there is no contradiction. Keep both, store a refused claim, and never report this pair again.
    #[arg(long)]
    dismiss: bool,
    /// Discard the refused claim.
    #[arg(long)]
    discard: bool,
    /// Answer yes to a card that asks a question; the card says what that does.
    #[arg(long)]
    yes: bool,
    /// Answer no to a card that asks a question; the card says what that does.
    #[arg(long)]
    no: bool,
    /// Snooze until then (3d, 2 weeks, 2026-12-01).
    #[arg(long, value_name = "WHEN")]
    snooze: Option<String>,
}

impl CardActArgs {
    /// Returns the act that was given, if it settles one card at a time.
    fn of_one_card(&self) -> Option<&'static str> {
        let given = [
            ("--supersede", self.supersede.is_some()),
            ("--merge", self.merge.is_some()),
            ("--retract", self.retract.is_some()),
            ("--narrow", self.narrow.is_some()),
            ("--exception=SIDE", self.exception.as_deref().is_some_and(|side| !side.is_empty())),
            ("--yes", self.yes),
            ("--no", self.no),
        ];
        given.into_iter().find_map(|(flag, given)| given.then_some(flag))
    }
}

/// Runs the verb.
pub(crate) async fn run(args: Args, cx: &mut Context) -> Result<Exit, CliError> {
    let limits = args.act.narrow.is_some() || args.act.merge.is_some();
    if let Some(flag) = args.qualifiers.first_given().filter(|_| !limits) {
        return Err(CliError::usage(format_args!("`{flag}` works only with `--narrow` or `--merge`"))
            .hint(format_args!("to limit a side to it: `--narrow SIDE {flag} …`")));
    }
    let client = cx.client().await?;
    if args.interactive {
        if args.cards.len() > 1 {
            return Err(
                CliError::usage("`--interactive` takes at most one card").hint("omit the cards to review all of them")
            );
        }
        let selection = args.cards.into_iter().next().map_or(CardSelection::Project, CardSelection::Card);
        return review::cards(cx, &client, selection, false).await;
    }
    let many = args.all || args.dry_run || args.cards.len() > 1;
    if many || args.act.keep_source.is_some() || args.act.keep_writer.is_some() {
        let resolution = bulk_resolution(&args)?;
        if args.cards.is_empty() && !args.all {
            return Err(
                CliError::usage("no cards given").hint("name them, or use --all for every open card of this project")
            );
        }
        return resolve_many::run(cx, &client, &args.cards, resolution).await;
    }
    let card = match args.cards.first() {
        Some(card) => client.card(card).await?,
        None => only_card(cx, &client).await?,
    };
    if let Some(message) = card.settled_message() {
        return Ok(show::outcome::show(cx, &WriteOutcome::Stale(Stale::of_card(message, card)), None));
    }
    let Some(mut request) = request(&args.act, &card)? else {
        return Err(CliError::usage("no action given")
            .hint(format_args!("`ergo resolve {} --interactive` shows both sides and asks", card.summary.id.short()))
            .hint("or say how to settle it: --keep, --merge, --retract, --narrow, --exception, --dismiss, --discard or --snooze")
            .hint("if the card asks a question: --yes or --no"));
    };
    request.caller = cx.caller()?;
    if request.act == CardAct::Narrow {
        request.statement = args.statement;
    }
    request.qualifiers = args.qualifiers.into();
    request.drop_conditions = args.drop_conditions;
    if request.act == CardAct::Narrow && request.qualifiers.is_empty() {
        return Err(CliError::usage("--narrow needs a condition")
            .hint("use one or more of --env, --team, --tenant, --from, --until"));
    }
    request.reason = match args.reason {
        Some(reason) => reason,
        None => prefill(&card, &request).unwrap_or_default(),
    };
    if request.reason.trim().is_empty() && request.act != CardAct::Snooze {
        return Err(CliError::usage("a reason is required").hint("add --reason '…'"));
    }
    let outcome = client.resolve(&card.summary.id.to_hex(), &request).await?;
    Ok(show::outcome::show(cx, &outcome, request.statement.as_deref()))
}

/// Returns the act for several cards, which must mean the same on each.
fn bulk_resolution(args: &Args) -> Result<resolve_many::BulkResolution, CliError> {
    let act = &args.act;
    let (act, keep, until) = if let Some(side) = &act.keep {
        let keep = match side.as_str() {
            "1" => Keep::First,
            "2" => Keep::Second,
            _ => {
                return Err(CliError::usage(format_args!("invalid side “{side}” for several cards"))
                    .hint("--keep 1 keeps the new claim of each card, --keep 2 the existing one"));
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
        let error = match act.of_one_card() {
            Some(flag) if args.dry_run => format!("`{flag}` has no `--dry-run`"),
            Some(flag) => format!("`{flag}` settles one card at a time"),
            None => "no action given".to_owned(),
        };
        return Err(CliError::usage(error).hint(
            "several cards, and `--dry-run`, take --keep 1, --keep 2, --keep-source, --keep-writer, --exception, --dismiss, --discard or --snooze",
        ));
    };
    let reason = args.reason.clone().unwrap_or_default();
    Ok(resolve_many::BulkResolution { act, keep, reason, until, dry_run: args.dry_run })
}

/// Returns the default reason of an act: that of the side that stays, else the card's. None for a merged text: it is a
/// claim of its own, in which a copy of a side's reason would outlive a redaction of the side.
pub(crate) fn prefill(card: &CardView, request: &ResolveRequest) -> Option<String> {
    if request.act == CardAct::Supersede && request.statement.is_some() {
        return None;
    }
    if let Some(winner) = &request.winner {
        let stays = card.sides.iter().find(|side| side.claim.id.to_hex() == *winner);
        return stays.and_then(|side| side.claim.own_reason()).map(str::to_owned);
    }
    card.acts.iter().find(|option| option.act == request.act).and_then(|option| option.prefill.clone())
}

/// Returns a request with an act and nothing else.
pub(crate) fn blank(card: &CardView, act: CardAct) -> ResolveRequest {
    ResolveRequest {
        caller: crate::api::Caller::default(),
        act,
        reason: String::new(),
        winner: None,
        target: None,
        statement: None,
        qualifiers: crate::domain::Qualifiers::default(),
        drop_conditions: false,
        until: None,
        expect_rev: Some(card.summary.rev),
    }
}

fn request(act: &CardActArgs, card: &CardView) -> Result<Option<ResolveRequest>, CliError> {
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
    } else if act.yes {
        blank(CardAct::Yes)
    } else if act.no {
        blank(CardAct::No)
    } else if let Some(when) = &act.snooze {
        ResolveRequest { until: Some(time::moment(when, 1)?), ..blank(CardAct::Snooze) }
    } else {
        return Ok(None);
    }))
}

/// Returns the full id of a side, given its number on the card, or an id or prefix.
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
    Err(CliError::usage(format_args!("card {} has no side “{named}”", card.summary.id.short()))
        .hint(format_args!("its sides are {}", sides.join(", "))))
}

/// Returns the other side of a card with two sides.
fn other_side(card: &CardView, named: &str) -> Result<String, CliError> {
    let loser = side(card, named)?;
    let mut others = card.sides.iter().map(|side| side.claim.id.to_hex()).filter(|id| *id != loser);
    match (others.next(), others.next()) {
        (Some(winner), None) => Ok(winner),
        _ => Err(CliError::usage(format_args!("card {} has more than two sides", card.summary.id.short()))
            .hint("name the side to keep: --keep SIDE")),
    }
}

async fn only_card(cx: &Context, client: &Client) -> Result<CardView, CliError> {
    let scope = cx.known_scope(client).await?;
    let page = client.conflicts(&ConflictsQuery { limit: Some(2), ..paging::cards_of(&scope) }).await?;
    match page.items.as_slice() {
        [card] => Ok(client.card(&card.id.to_hex()).await?),
        [] => Err(CliError::usage(format_args!("no open conflicts in {scope}"))
            .hint("`ergo conflicts --all` lists those of all scopes")),
        _ => Err(CliError::usage(format_args!("{scope} has {} open conflicts: name one", page.total)).hint(
            format_args!(
                "`{}` lists them; `{}` reviews them",
                cx.in_scope("ergo conflicts"),
                cx.in_scope("ergo resolve --interactive")
            ),
        )),
    }
}
