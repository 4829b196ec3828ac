//! `ergo promote`: makes a claim of the organisation from claims of its projects; without ids, lists proposals.

use super::{CliError, Context, Exit, show, show::text::count, ui::Style};
use crate::{
    api::{PromoteRequest, Promotions, PromotionsQuery},
    domain::text::escape,
};

/// Promote a claim that several projects share to a claim of the whole organisation.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Without an id, lists the claims that at least `promote_at` projects share (under [levels] in config.toml). The claims of the projects
stay; `ergo recall` shows the claim of the organisation instead of them. `ergo demote` reverses a promotion.

Examples:
  ergo promote
  ergo promote 3f2a91bc04 --reason 'agreed by all teams'")]
pub(crate) struct Args {
    /// The claims to promote. Claims of other projects that say the same are recorded as support.
    #[arg(value_name = "ID")]
    claims: Vec<String>,
    /// Why it holds in the whole organisation [default: the first claim's reason].
    #[arg(long, alias = "because", value_name = "WHY")]
    reason: Option<String>,
    /// The statement of the new claim [default: the first claim's].
    #[arg(long, value_name = "STATEMENT")]
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
            cx.ui.commands(&[(command, format!("promote it to all projects of {}", escape(org)))]);
        }
        None => cx.ui.line(text!(
            "No claims to promote: none is stated by at least {} of {}.",
            count(answer.promote_at, "project", "projects"),
            escape(org)
        )),
    }
}
