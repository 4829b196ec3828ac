//! `ergo promote`: makes a claim of the organisation from claims of its projects; without ids, lists proposals.

use super::{CliError, Context, Exit, show, show::text::count, ui::Style};
use crate::{
    api::{PromoteRequest, Promotions, PromotionsQuery},
    domain::text::escape,
};

/// Make one claim of the whole organisation of claims of its projects.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Without an id, the claims are listed that enough projects agree on ([levels] in the settings). The claims of the projects stay, and
`ergo recall` shows the organisation's in their place. `ergo demote` undoes it.

Examples:
  ergo promote
  ergo promote 3f2a91bc04 --reason 'agreed by all teams'")]
pub(crate) struct Args {
    /// The claims of projects; those that say the same in other projects are recorded with them.
    #[arg(value_name = "ID")]
    claims: Vec<String>,
    /// Why it holds in the whole organisation; by default the first claim's reason.
    #[arg(long, value_name = "TEXT")]
    reason: Option<String>,
    /// What it says; by default what the first claim says.
    #[arg(long, value_name = "TEXT")]
    statement: Option<String>,
}

/// Runs the verb.
pub(crate) async fn run(args: Args, cx: &mut Context) -> Result<Exit, CliError> {
    if args.claims.is_empty() {
        return list(cx).await;
    }
    let (client, caller) = cx.writer().await?;
    let Args { claims, reason, statement } = args;
    let request = PromoteRequest { caller, claims, reason, statement };
    let outcome = client.promote(&request).await?;
    Ok(show::outcome::show(cx, &outcome, None))
}

async fn list(cx: &mut Context) -> Result<Exit, CliError> {
    let (client, scope) = cx.reader().await?;
    let answer = client.promotions(&PromotionsQuery { org_id: scope.org_id.clone() }).await?;
    if cx.ui.json {
        cx.ui.value(&answer);
    } else {
        show(cx, &answer, &scope.org_id);
    }
    Ok(Exit::Ok)
}

fn show(cx: &mut Context, answer: &Promotions, org: &str) {
    let now = Context::now();
    for item in &answer.items {
        let Some(first) = item.claims.first() else { continue };
        cx.ui.claim_row(first, now);
        let projects: Vec<&str> = item.claims.iter().map(|claim| claim.scope.project.as_str()).collect();
        let heading = cx.ui.paint(Style::Dim, count(item.projects, "project", "projects"));
        cx.ui.line(text!("  {}: {}", heading, escape(&projects.join(", "))));
    }
    match answer.items.first().and_then(|item| item.claims.first()) {
        Some(first) => {
            cx.ui.line("");
            let command = format!("ergo promote {}", first.id.short());
            cx.ui.commands(&[(command, format!("make it a claim of all projects of {}", escape(org)))]);
        }
        None => cx.ui.line(text!(
            "No claim is said by {} of {} or more and waits for a decision.",
            count(answer.promote_at, "project", "projects"),
            escape(org)
        )),
    }
}
