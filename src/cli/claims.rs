//! `ergo claims`: lists claims.

use super::{
    CliError, Context, Exit, paging,
    show::{text::count, time},
};
use crate::{
    api::{ClaimsPage, ClaimsQuery},
    domain::text::escape,
};

/// List claims, with filters.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  ergo claims
  ergo claims deploy --kind decision,constraint --without friday
  ergo claims --needs-review --all")]
pub(crate) struct Args {
    /// Words to look for in statement, reason and source.
    #[arg(value_name = "WORDS")]
    words: Vec<String>,
    /// active, superseded, retracted or all.
    #[arg(long, value_name = "STATUS", default_value = "active")]
    status: String,
    /// One kind, or several separated by commas.
    #[arg(short, long, value_name = "KIND")]
    kind: Option<String>,
    /// Only by this person or agent.
    #[arg(long, value_name = "NAME")]
    who: Option<String>,
    /// Only claims that need review, because a claim that they depend on changed.
    #[arg(long)]
    needs_review: bool,
    /// Only claims written since then: a date, a time, or a span such as 3d.
    #[arg(long, value_name = "WHEN")]
    since: Option<String>,
    /// Only claims written until then.
    #[arg(long, value_name = "WHEN")]
    until: Option<String>,
    /// Only claims whose source contains this, such as docs/adr.
    #[arg(long, value_name = "SOURCE")]
    source: Option<String>,
    /// Only claims without any of these words in statement, reason and source.
    #[arg(long, value_name = "WORDS")]
    without: Option<String>,
    /// Not by this person or agent.
    #[arg(long, value_name = "NAME")]
    not_who: Option<String>,
    /// Only claims whose source does not contain this.
    #[arg(long, value_name = "SOURCE")]
    not_source: Option<String>,
    /// disputed (on an open conflict card), warned (stored with a warning of the guard) or clean (neither).
    #[arg(long, value_name = "VERDICT")]
    verdict: Option<String>,
    /// The state at this time: a date, a time, or a span such as 3d.
    #[arg(long, value_name = "WHEN")]
    as_of: Option<String>,
    /// In all scopes.
    #[arg(long)]
    all: bool,
    /// Maximum number of claims, up to 200.
    #[arg(short = 'n', long, value_name = "COUNT", default_value_t = 50)]
    limit: usize,
    /// Continue after the cursor that the previous page printed.
    #[arg(long, value_name = "CURSOR")]
    cursor: Option<String>,
}

/// Runs the verb.
pub(crate) async fn run(args: Args, cx: &mut Context) -> Result<Exit, CliError> {
    let moment = |when: &Option<String>| when.as_deref().map(|when| time::moment(when, -1)).transpose();
    let (as_of, since, until) =
        (moment(&args.as_of)?, args.since.as_deref().map(time::since).transpose()?, moment(&args.until)?);
    let (client, scope) = cx.reader().await?;
    let scope = (!args.all).then_some(scope);
    let place = scope.as_ref().map_or_else(|| "all scopes".to_owned(), |scope| escape(&scope.to_string()));
    let (org_id, project) = scope.map(|scope| (scope.org_id, scope.project)).unzip();
    let words = Some(args.words.join(" ")).filter(|words| !words.is_empty());
    let query = ClaimsQuery {
        order: None,
        org_id,
        project,
        status: Some(args.status.clone()),
        kind: args.kind.clone(),
        q: words.clone(),
        who: args.who.clone(),
        needs_review: args.needs_review.then_some(true),
        expired: None,
        since,
        until,
        source: args.source.clone(),
        without: args.without.clone(),
        not_who: args.not_who.clone(),
        not_source: args.not_source.clone(),
        not_narrowed_in: None,
        verdict: args.verdict.clone(),
        as_of,
        limit: Some(args.limit),
        cursor: args.cursor.clone(),
    };
    let page = client.claims(&query).await?;
    if cx.ui.json {
        cx.ui.value(&page);
        return Ok(Exit::Ok);
    }
    let narrowed = words.is_some()
        || args.needs_review
        || query.since.or(query.until).is_some()
        || [&query.kind, &query.who, &query.source, &query.without, &query.not_who, &query.not_source, &query.verdict]
            .into_iter()
            .any(Option::is_some);
    let now = as_of.unwrap_or_else(Context::now);
    for claim in &page.items {
        cx.ui.claim_row(claim, now);
    }
    // Claims that are no longer active are not a beginning.
    let has_inactive = page.items.is_empty() && args.status == "active" && !narrowed && {
        let any = ClaimsQuery { status: Some("all".to_owned()), limit: Some(1), cursor: None, ..query };
        client.claims(&any).await?.total > 0
    };
    if page.items.is_empty() && (narrowed || has_inactive || !matches!(args.status.as_str(), "active" | "all")) {
        nothing_matches(cx, &args, narrowed, &place);
    } else {
        show_rest(cx, &page, &place, as_of);
    }
    Ok(Exit::Ok)
}

/// Says that no claim has the given status or passes the filters, and how to find more.
fn nothing_matches(cx: &mut Context, args: &Args, filtered: bool, place: &str) {
    if filtered {
        cx.ui.line(text!("No claim in {} matches.", place));
    } else {
        cx.ui.line(text!("No {} claims in {}.", args.status, place));
    }
    let mut commands = Vec::new();
    if args.status != "all" {
        commands.push((paging::with_status("all"), "include claims of any status".to_owned()));
    }
    if !args.all {
        commands.push((paging::in_all_scopes(), "search all scopes".to_owned()));
    }
    cx.ui.commands(&commands);
}

/// Shows the lines below the rows: that there are no claims at all, or how to list the next ones.
fn show_rest(cx: &mut Context, page: &ClaimsPage, place: &str, as_of: Option<u64>) {
    if page.items.is_empty() {
        if as_of.is_some() {
            cx.ui.line(text!("There were no claims in {} at that time.", place));
            cx.ui.commands(&[("ergo log --all".to_owned(), "show what was stored when".to_owned())]);
        } else {
            cx.ui.line(text!("There are no claims in {} yet.", place));
            cx.ui.commands(&[
                (cx.in_scope("ergo remember '…' --reason '…'"), "store a first decision".to_owned()),
                (cx.in_scope("ergo import rules CLAUDE.md"), "import the rules of a file".to_owned()),
                (cx.in_scope("ergo import adr docs/adr"), "import decision records".to_owned()),
                ("ergo scopes".to_owned(), "list the scopes that have claims".to_owned()),
            ]);
        }
        return;
    }
    if let Some(next) = &page.next {
        let shown = page.items.len();
        cx.ui.note(text!(
            "{} of {}{} shown. More: {}",
            shown,
            if page.at_least { "at least " } else { "" },
            count(page.total, "claim", "claims"),
            paging::next_page(next, as_of)
        ));
    }
}
