//! `ergo story`: prints the claims of a scope by date, and marks reversals, ambiguities and stale claims.

use super::{
    CliError, Context, Exit,
    show::{claim, text::count, time},
    ui::{SafeText, Style},
    why::{drift_words, drifts},
};
use crate::{
    api::{ClaimView, StoryMark, StoryQuery},
    domain::{Status, drift::Drift, text::sanitize_line},
};

/// The maximum number of listed claims that their source no longer contains.
const MAX_DRIFTED: usize = 10;

/// Print the claims of a scope by date, and mark reversals, ambiguities and stale claims.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Only claims about this subject.
    #[arg(long, value_name = "WORDS")]
    subject: Option<String>,
    /// Only since this time: a date, a time, or a span such as 30d.
    #[arg(long, value_name = "WHEN")]
    since: Option<String>,
    /// Only reversals, ambiguities and stale claims, without the claims between them.
    #[arg(long)]
    marks: bool,
}

/// Runs the verb.
pub(crate) async fn run(args: Args, cx: &mut Context) -> Result<Exit, CliError> {
    let since = args.since.map(|when| time::since(&when)).transpose()?;
    let (client, scope) = cx.reader().await?;
    let narrowed = args.subject.is_some() || since.is_some();
    let query = StoryQuery { org_id: scope.org_id, project: scope.project, subject: args.subject, since };
    let story = client.story(&query).await?;
    let drifted = drifted(cx, &story.claims);
    if cx.ui.json {
        let mut value = serde_json::to_value(&story).unwrap_or_default();
        if let (false, Some(fields)) = (drifted.is_empty(), value.as_object_mut()) {
            let entry = |(claim, drift): &(&ClaimView, Drift)| serde_json::json!({ "claim": claim.id, "source": claim.source, "drift": drift_words(*drift) });
            fields.insert("drifted".to_owned(), drifted.iter().map(entry).collect());
        }
        cx.ui.value(&value);
        return Ok(Exit::Ok);
    }
    if !args.marks {
        for claim in &story.claims {
            line(cx, claim);
        }
    }
    for mark in &story.marks {
        show(cx, mark, &story.claims);
    }
    let unmarked = story.marks.is_empty() && drifted.is_empty();
    let more = drifted.len().saturating_sub(MAX_DRIFTED);
    for (claim, drift) in drifted.into_iter().take(MAX_DRIFTED) {
        let kind = cx.ui.paint(Style::Warn, "source");
        let source = sanitize_line(claim.source.as_deref().unwrap_or_default());
        cx.ui.line(text!("\n{}  {}: {}", kind, source, drift_words(drift)));
        line(cx, claim);
    }
    if more > 0 {
        cx.ui.note(text!("The sources of {} changed, too.", count(more, "other claim", "other claims")));
    }
    if story.claims.is_empty() {
        cx.ui.line(if narrowed { "No claim matches." } else { "No claims yet." });
    } else if unmarked {
        cx.ui.line(text!("\nNo reversals, ambiguities or stale claims in {}.", count(story.read, "claim", "claims")));
    }
    if story.in_sessions > 0 {
        let claims = count(story.in_sessions, "claim", "claims");
        let sessions = count(story.sessions, "working session", "working sessions");
        cx.ui.note(text!("{} in {}. Claims of one session are not compared with each other.", claims, sessions));
    }
    if story.waiting > 0 {
        cx.ui.note(text!("{} have not been read yet.", count(story.waiting, "claim", "claims")));
    }
    if story.cut {
        cx.ui.note(text!("Only the newest {} claims are listed.", story.read));
    }
    Ok(Exit::Ok)
}

/// Returns the active claims that their source file no longer contains. They get no card, since this depends on the files of this
/// device.
fn drifted<'a>(cx: &Context, claims: &'a [ClaimView]) -> Vec<(&'a ClaimView, Drift)> {
    if !cx.is_in_project() {
        return Vec::new();
    }
    let changed = drifts(claims).into_iter().filter(|(_, drift)| matches!(drift, Drift::Changed | Drift::Gone));
    let claim = |(id, drift)| {
        let claim = claims.iter().find(|claim| claim.id == id)?;
        (claim.status == Status::Active).then_some((claim, drift))
    };
    changed.filter_map(claim).collect()
}

/// Shows a claim of the story on one line: day, id, statement and author.
fn line(cx: &mut Context, view: &ClaimView) {
    let day = cx.ui.paint(Style::Dim, time::day(view.qualifiers.happened(view.at)));
    let id = cx.ui.paint(Style::Code, view.id.short());
    let state = match view.status {
        Status::Active => SafeText::default(),
        _ => cx.ui.paint(Style::Warn, format!(" [{}]", claim::state(view))),
    };
    let who = claim::author(&view.who, view.agent.as_deref());
    let what = cx.ui.fit(&sanitize_line(&view.statement), 10 + 2 + 10 + 2 + 14 + 2 + who.chars().count());
    let who = cx.ui.paint(Style::Dim, who);
    cx.ui.line(text!("{}  {}  {}{}  {}", day, id, what, state, who));
}

/// Shows a mark: its kind, its question and its claims.
fn show(cx: &mut Context, mark: &StoryMark, claims: &[ClaimView]) {
    let kind = cx.ui.paint(Style::Warn, mark.confusion.as_str());
    let by = cx.ui.paint(Style::Dim, if mark.by_model { " (asked by a language model)" } else { "" });
    cx.ui.line(text!("\n{}  {}{}", kind, sanitize_line(&mark.question), by));
    for id in &mark.claims {
        if let Some(claim) = claims.iter().find(|claim| claim.id == *id) {
            line(cx, claim);
        }
    }
    if let Some(card) = &mark.card {
        let id = card.short();
        cx.ui.commands(&[
            (format!("ergo conflicts {id}"), "what each answer does".to_owned()),
            (format!("ergo resolve {id} --yes --reason '…'"), "answer yes".to_owned()),
            (format!("ergo resolve {id} --no --reason '…'"), "answer no".to_owned()),
        ]);
    }
}
