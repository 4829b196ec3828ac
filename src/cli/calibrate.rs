//! `ergo calibrate`: learns a project's vocabulary and the similarity of its unrelated claims.

use super::{CliError, Context, Exit, show::text::count, ui::Style};
use crate::{
    api::{CalibrateRequest, UnrelatedBaselineView},
    domain::text::sanitize_line,
};

/// Tune recall to a project: learn synonyms for its jargon, and measure how similar its unrelated claims are.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Only show the result; keep the previous calibration.
    #[arg(long)]
    dry_run: bool,
}

/// Runs the verb.
pub(crate) async fn run(args: Args, cx: &mut Context) -> Result<Exit, CliError> {
    let (client, scope) = cx.reader().await?;
    let caller = cx.caller()?;
    let (who, agent) = (Some(caller.who), caller.agent);
    let request = CalibrateRequest { org_id: scope.org_id, project: scope.project, who, agent, dry_run: args.dry_run };
    let answer = client.calibrate(&request).await?;
    if cx.ui.json {
        cx.ui.value(&answer);
        return Ok(Exit::Ok);
    }
    if let Some(note) = &answer.note {
        cx.ui.note(text!("{}", note));
    }
    for bridge in &answer.bridges {
        let from = cx.ui.paint(Style::Code, sanitize_line(&bridge.from));
        let why = match bridge.cosine {
            Some(cosine) if bridge.together == 0 => format!("similarity {cosine:.2}"),
            Some(cosine) => {
                format!("together in {}, similarity {cosine:.2}", count(bridge.together, "claim", "claims"))
            }
            None => format!("together in {}", count(bridge.together, "claim", "claims")),
        };
        let model = if bridge.confirmed { ", confirmed by the language model" } else { "" };
        let why = cx.ui.paint(Style::Dim, format!("{why}{model}"));
        cx.ui.line(text!("{} > {}  {}", from, sanitize_line(&bridge.to), why));
    }
    if let Some(UnrelatedBaselineView { sample, cosine, raise }) = answer.unrelated_baseline {
        let floor = match (raise * 100.0).round() {
            0.0 => "the recall floor stays at its default".to_owned(),
            up if up > 0.0 => format!("the recall floor is {raise:.2} above its default"),
            _ => {
                let lower = -raise;
                format!("the recall floor is {lower:.2} below its default")
            }
        };
        let of = count(sample, "claim", "claims");
        cx.ui.line(text!(
            "Unrelated claims have a similarity of up to {} (sample: {}): {}.",
            format_args!("{cosine:.2}"),
            of,
            floor
        ));
    }
    let bridges = count(answer.bridges.len(), "pair of related words", "pairs of related words");
    let of = count(answer.claims, "claim", "claims");
    let kept = if args.dry_run { "not saved" } else { "saved" };
    cx.ui.line(text!("{} from {}, {}.", bridges, of, kept));
    Ok(Exit::Ok)
}
