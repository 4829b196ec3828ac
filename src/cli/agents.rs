//! `ergo agents`: lists the connected coding agents and what each wrote.

use super::{
    CliError, Context, Exit,
    show::{text::count, time::ago},
    ui::Style,
};
use crate::{
    api::{AgentView, AgentsQuery},
    domain::{judgement::built_in, text::escape},
};

/// List the coding agents that are connected or wrote something.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
`ergo log --who AGENT` lists what an agent wrote, `--refused` only what was refused; `ergo injected` lists what hooks injected.")]
pub(crate) struct Args {
    /// In all scopes.
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
    for AgentView { agent, wrote, refused, last, people, judgements, .. } in &agents.items {
        let here = agents.connected.iter().filter(|session| session.agent == *agent).count();
        let name = cx.ui.paint(Style::Strong, escape(agent));
        let state = match (here, built_in(agent)) {
            (0, Some(part)) => part.to_owned(),
            (0, None) => "not connected".to_owned(),
            (n, _) => count(n, "session connected", "sessions connected"),
        };
        cx.ui.line(text!("{}  {}", name, state));
        let parts =
            [count(*wrote, "change", "changes"), format!("{refused} refused"), format!("last {}", ago(*last, now))];
        // An agent that acts for nobody else gives its own name as that of the person.
        let people: Vec<&str> = people.iter().map(String::as_str).filter(|who| who != agent).collect();
        let of =
            if people.is_empty() { String::new() } else { escape(&format!(", on behalf of {}", people.join(", "))) };
        cx.ui.line(text!("  {}{}", parts.join(", "), of));
        if let Some(judged) = judgements.words() {
            cx.ui.line(text!("  {}", judged));
        }
    }
    let mut silent: Vec<&str> = agents.connected.iter().map(|session| session.agent.as_str()).collect();
    silent.retain(|name| agents.items.iter().all(|item| item.agent != *name));
    silent.sort_unstable();
    silent.dedup();
    for agent in &silent {
        let name = cx.ui.paint(Style::Strong, escape(agent));
        cx.ui.line(text!("{}  connected, no writes yet", name));
    }
    if agents.items.is_empty() && silent.is_empty() {
        cx.ui.line("No agent is connected, and no agent has written here.");
        cx.ui.commands(&[("ergo setup".to_owned(), "connect the installed agents to ergo".to_owned())]);
    }
    Ok(Exit::Ok)
}
