//! `ergo agents`: which coding agents are connected, and what each did.

use super::{
    CliError, Context, Exit,
    show::{text::count, time::ago},
    ui::Style,
};
use crate::{
    api::{AgentView, AgentsQuery},
    domain::text::escape,
};

/// List the coding agents that wrote something or are connected, and what each did.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
`ergo log --who AGENT` lists what one wrote, with `--refused` what of it was refused; `ergo injected` what hooks gave it.")]
pub(crate) struct Args {
    /// Of all projects.
    #[arg(long)]
    all: bool,
}

/// Runs the verb.
pub(crate) async fn run(args: Args, cx: &mut Context) -> Result<Exit, CliError> {
    let (client, scope) = cx.reader().await?;
    let (org_id, project) = (!args.all).then_some(scope).map(|scope| (scope.org_id, scope.project)).unzip();
    let agents = client.agents(&AgentsQuery { org_id, project }).await?;
    if cx.ui.json {
        cx.ui.value(&agents);
        return Ok(Exit::Ok);
    }
    let now = Context::now();
    for AgentView { agent, wrote, refused, last, people, .. } in &agents.items {
        let here = agents.connected.iter().filter(|session| session.agent == *agent).count();
        let name = cx.ui.paint(Style::Strong, escape(agent));
        let state = match here {
            0 => "not connected".to_owned(),
            n => count(n, "session connected", "sessions connected"),
        };
        cx.ui.line(text!("{}  {}", name, state));
        let told = [count(*wrote, "act", "acts"), format!("{refused} refused"), format!("last {}", ago(*last, now))];
        let of = escape(&people.join(", "));
        cx.ui.line(text!("  {}, for {}", told.join(", "), of));
    }
    let mut silent: Vec<&str> = agents.connected.iter().map(|session| session.agent.as_str()).collect();
    silent.retain(|name| agents.items.iter().all(|item| item.agent != *name));
    silent.sort_unstable();
    silent.dedup();
    for agent in &silent {
        let name = cx.ui.paint(Style::Strong, escape(agent));
        cx.ui.line(text!("{}  connected, wrote nothing yet", name));
    }
    if agents.items.is_empty() && silent.is_empty() {
        cx.ui.line("No agent is connected, and none wrote anything here.");
        cx.ui.commands(&[("ergo setup".to_owned(), "tell the agents that are installed here of ergo".to_owned())]);
    }
    Ok(Exit::Ok)
}
