//! `ergo judge`: shows the pairs of claims that may contradict each other one by one; a key judges each.

use std::io::IsTerminal;

use super::{
    CliError, Context, Exit,
    ask::Asker,
    doubts::verdict_of,
    show::{claim::author, text::count, time::ago},
    ui::Style,
};
use crate::{
    api::{
        Caller, ClaimView, Doubts, DoubtsQuery, ErrorCode, JudgePairsRequest, JudgedPair, JudgedPairs, MAX_PAIRS,
        PairEffect, PairInDoubt, VerdictOnPair,
    },
    client::{Client, ClientError},
    domain::{
        PairVerdict, Scope,
        text::{escape, sanitize_line},
    },
};

/// Judge pairs of stored claims that may contradict each other.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Without arguments it shows the pairs one by one and asks: k compatible (keep both), r the newer claim replaces the older
one, s same, c contradicts (opens a conflict card), n next pair, q quit. `--json` lists the pairs.
A person's verdict takes effect at once; an agent's verdict that would change a claim opens a card. `ergo undo` reverses both.")]
pub(crate) struct Args {
    /// A pair's id or unique prefix.
    #[arg(value_name = "PAIR", requires = "verdict")]
    pair: Option<String>,
    /// How the newer claim relates to the older one: contradicts, replaces, same or compatible.
    #[arg(value_name = "VERDICT")]
    verdict: Option<PairVerdict>,
    /// The reason, in one sentence. It stays on the record.
    #[arg(short, long, alias = "because", value_name = "WHY", requires = "pair")]
    reason: Option<String>,
    /// In all scopes.
    #[arg(long, conflicts_with = "pair")]
    all: bool,
}

/// Returns the command that judges the pairs of a scope, or of all scopes.
pub(super) fn command(cx: &Context, scope: Option<&Scope>) -> String {
    if scope.is_some() { cx.in_scope("ergo judge") } else { "ergo judge --all".to_owned() }
}

/// Runs the verb.
pub(crate) async fn run(args: Args, cx: &mut Context) -> Result<Exit, CliError> {
    if let (Some(pair), Some(verdict)) = (args.pair, args.verdict) {
        let client = cx.client().await?;
        let request = VerdictOnPair { pair, verdict, because: args.reason };
        let judged = judge(&client, cx.caller()?, request).await?;
        if cx.ui.json {
            cx.ui.value(&judged);
        } else {
            cx.ui.line(text!("{}.", judged.summary));
            judged.pairs.iter().for_each(|pair| show_effect(cx, pair));
        }
        return Ok(Exit::Ok);
    }
    let (client, scope) = cx.reader().await?;
    let scope = (!args.all).then_some(scope);
    let doubts = client.doubts(&query(scope.as_ref(), MAX_PAIRS)).await?;
    if cx.ui.json {
        cx.ui.value(&doubts);
        return Ok(Exit::Ok);
    }
    if doubts.total == 0 {
        let place = scope.as_ref().map_or_else(|| "any scope".to_owned(), |scope| escape(&scope.to_string()));
        cx.ui.line(text!("No pairs to judge in {}.", place));
        let mut commands = vec![(cx.in_scope("ergo audit"), "compare all active claims".to_owned())];
        if scope.is_some() {
            commands.push(("ergo judge --all".to_owned(), "judge those of all scopes".to_owned()));
        }
        cx.ui.commands(&commands);
        return Ok(Exit::Ok);
    }
    let caller = cx.caller()?;
    let person = caller.agent.is_none() && std::io::stdin().is_terminal();
    match Asker::new().filter(|_| person) {
        Some(mut asker) => review(cx, &client, &mut asker, &caller, scope.as_ref()).await,
        None => Ok(list(cx, &doubts)),
    }
}

fn query(scope: Option<&Scope>, limit: usize) -> DoubtsQuery {
    let (org_id, project) = scope.map(|scope| (scope.org_id.clone(), scope.project.clone())).unzip();
    DoubtsQuery { org_id, project, limit: Some(limit) }
}

/// Lists the pairs if nobody can answer.
fn list(cx: &mut Context, doubts: &Doubts) -> Exit {
    for pair in &doubts.items {
        show(cx, pair);
    }
    cx.ui.line(text!("{} to judge.", count(doubts.total, "pair", "pairs")));
    let first = doubts.items.first().map(|pair| pair.id.short()).unwrap_or_default();
    cx.ui.commands(&[(format!("ergo judge {first} compatible --reason '…'"), "judge a pair".to_owned())]);
    Exit::Ok
}

/// A person's answer about a pair.
enum Answer {
    Verdict(PairVerdict),
    Next,
    Quit,
}

/// Asks about one pair after the other until none is left, or the person quits.
pub(super) async fn review(
    cx: &mut Context,
    client: &Client,
    asker: &mut Asker,
    caller: &Caller,
    scope: Option<&Scope>,
) -> Result<Exit, CliError> {
    let mut skipped: Vec<String> = Vec::new();
    let mut judged = 0;
    loop {
        // Each verdict may settle other pairs, so the queue is read again.
        let doubts = client.doubts(&query(scope, MAX_PAIRS)).await?;
        let Some(pair) = doubts.items.iter().find(|pair| !skipped.contains(&pair.id.to_hex())) else {
            let left = match doubts.total {
                0 => String::new(),
                all if all > skipped.len() => format!("; {all} left, of which {} were shown", skipped.len()),
                all => format!("; {all} left"),
            };
            cx.ui.line(text!("{} judged{}.", count(judged, "pair", "pairs"), left));
            return Ok(Exit::Ok);
        };
        cx.ui.line(text!("\n{} to judge", count(doubts.total, "pair", "pairs")));
        show(cx, pair);
        match answer(cx, asker)? {
            Answer::Verdict(verdict) => {
                let request = VerdictOnPair { pair: pair.id.to_hex(), verdict, because: None };
                match judge(client, caller.clone(), request).await {
                    Ok(done) => {
                        judged += 1;
                        done.pairs.iter().for_each(|pair| show_effect(cx, pair));
                    }
                    // Another request judged the pair in the meantime.
                    Err(ClientError::Api(error)) if error.code == ErrorCode::Stale => {}
                    Err(error) => return Err(error.into()),
                }
            }
            Answer::Next => skipped.push(pair.id.to_hex()),
            Answer::Quit => {
                cx.ui.line(text!("{} judged; {} left.", count(judged, "pair", "pairs"), doubts.total));
                return Ok(Exit::Ok);
            }
        }
    }
}

fn answer(cx: &mut Context, asker: &mut Asker) -> Result<Answer, CliError> {
    loop {
        let prompt = "  k: keep both, r: replaces, s: same, c: contradicts, n: next, q: quit? ";
        let Some(line) = asker.ask(cx, prompt)? else { return Ok(Answer::Quit) };
        match line.to_ascii_lowercase().as_str() {
            "n" | "next" | "" => return Ok(Answer::Next),
            "q" | "quit" => return Ok(Answer::Quit),
            word => match verdict_of(word) {
                Some(verdict) => return Ok(Answer::Verdict(verdict)),
                None => cx.ui.line("  Type k, r, s, c, n or q."),
            },
        }
    }
}

async fn judge(client: &Client, caller: Caller, request: VerdictOnPair) -> Result<JudgedPairs, ClientError> {
    client.judge_pairs(&JudgePairsRequest { caller, verdicts: vec![request], ..JudgePairsRequest::default() }).await
}

/// Shows a pair: its id, and each claim with its author and reason.
fn show(cx: &mut Context, pair: &PairInDoubt) {
    let id = cx.ui.paint(Style::Code, pair.id.short());
    cx.ui.line(text!("pair {} in {}", id, crate::domain::text::escape(&pair.scope.to_string())));
    let with_scope = pair.newer.scope != pair.older.scope;
    for (label, claim) in [("newer", &pair.newer), ("older", &pair.older)] {
        side(cx, label, claim, with_scope);
    }
}

/// Shows one claim of a pair; with its scope if the claims have different scopes.
fn side(cx: &mut Context, label: &str, claim: &ClaimView, with_scope: bool) {
    let id = cx.ui.paint(Style::Code, claim.id.short());
    let scope = if with_scope { format!("{}, ", claim.scope) } else { String::new() };
    let by = format!("{scope}{}, {}", author(&claim.who, claim.agent.as_deref()), ago(claim.at, Context::now()));
    let statement = sanitize_line(&claim.statement);
    let by = cx.ui.paint(Style::Dim, format_args!("({by})"));
    cx.ui.line(text!("  {}  {}  {}  {}", label, id, statement, by));
    if let Some(reason) = &claim.reason {
        cx.ui.line(text!("         because {}", sanitize_line(reason)));
    }
}

/// Shows the effect of a verdict.
fn show_effect(cx: &mut Context, pair: &JudgedPair) {
    let outcome = match pair.effect {
        PairEffect::Kept => "both stay active; you are not asked about this pair again".to_owned(),
        PairEffect::Replaced => "the newer claim superseded the older one".to_owned(),
        PairEffect::Merged => "only the older claim stays active".to_owned(),
        PairEffect::Card => format!("card {} opened: settle it with `ergo resolve`", pair.pair.short()),
        PairEffect::Stale => "this pair was already judged, or one of its claims is no longer active".to_owned(),
    };
    cx.ui.line(text!("  {}", outcome));
}
