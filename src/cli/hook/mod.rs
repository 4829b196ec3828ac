//! `ergo hook`: what a coding agent's own program runs at certain moments of a session, to give the agent what is known.
//!
//! Whatever goes wrong, a hook says nothing and exits with 0: an agent's session must not suffer from its memory. What it gives is on the
//! record ([`record`]), and no claim is given twice into one session.

mod brief;
mod input;
mod record;

use std::{path::Path, time::Duration};

use serde_json::{Value, json};

use super::{CliError, Context, Exit, scope::top_of};
use crate::{
    api::{ClaimView, ClaimsPage, ClaimsQuery, ConflictsPage, ConflictsQuery, LogQuery, RecallRequest, RecallVerdict},
    client::{Client, Connect, injected},
    domain::Scope,
};

use brief::Brief;
use input::Input;
use record::Session;

/// How long a hook may take, all told, but for a daemon that it starts. It takes far less; this is for a daemon that hangs.
const PATIENCE: Duration = Duration::from_secs(1);

/// How long a session may wait for a daemon that is started for it.
const STARTING: Duration = Duration::from_secs(3);

/// How many tokens the brief of a session takes, unless it is told otherwise.
const BRIEF_TOKENS: usize = 1_200;

/// How much of a prompt is asked about, in bytes. Its vector takes a time that grows with it, and what a prompt is about mostly stands at its
/// beginning; behind that come logs and code.
const ASKED: usize = 320;

/// How many claims a prompt or a file brings along at most.
const FEW: usize = 5;

/// Give a coding agent what is known, at a moment of its session; its program runs this.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Moments: session-start, user-prompt, post-tool, pre-compact, stop. JSON on stdin says what happened, as coding agents give it to
their hooks; the answer is JSON on stdout, or nothing. `ergo setup` installs these. ERGO_HOOKS=off turns them off; `ergo injected`
lists what was given.")]
pub(crate) struct Args {
    /// The moment.
    #[arg(value_name = "MOMENT")]
    moment: String,
    /// At most how many tokens the brief at the beginning of a session takes.
    #[arg(long, value_name = "TOKENS", default_value_t = BRIEF_TOKENS)]
    tokens: usize,
}

/// Runs the verb. Never fails.
pub(crate) fn run(args: Args, cx: &mut Context) -> Exit {
    if std::env::var_os("ERGO_HOOKS").is_some_and(|value| value == "off") {
        return Exit::Ok;
    }
    let input = Input::given();
    if let Some(folder) = &input.cwd {
        // Where that is no folder, the working directory is as good a guess.
        let _same = std::env::set_current_dir(folder);
    }
    let moment = args.moment.clone();
    // Only a session waits for a daemon to start; what comes later does without.
    let starting = if moment == "session-start" { STARTING } else { Duration::ZERO };
    let given = cx.block_on(async |cx| {
        let work = give(&args, &input, cx);
        tokio::time::timeout(PATIENCE + starting, work).await.map_err(CliError::internal)?
    });
    if let Ok(Some(given)) = given {
        cx.ui.value(&input.answer(&moment, &given));
    }
    Exit::Ok
}

/// What a hook has to say.
pub(super) enum Given {
    /// For the agent's context.
    Context(String),
    /// For the agent, before it may stop.
    Stop(String),
    /// For the person.
    Person(String),
}

async fn give(args: &Args, input: &Input, cx: &mut Context) -> Result<Option<Given>, CliError> {
    let connect = cx.connect()?;
    let connect = Connect { spawn: connect.spawn && args.moment == "session-start", ..connect };
    let client = connect.client().await?;
    let scope = cx.known_scope(&client).await?;
    let folder = cx.paths()?.state.join(injected::FOLDER);
    let mut session = Session::open(&folder, input.session.as_deref().unwrap_or("unnamed"), input.agent.clone())?;
    match args.moment.as_str() {
        "session-start" => {
            if matches!(input.source.as_deref(), Some("clear" | "compact")) {
                // What was given before is gone from the agent's context.
                session.forget(Context::now(), &scope)?;
            }
            let brief = whole(&client, &scope, &mut session, args.tokens).await?;
            Ok(brief.map(Given::Context))
        }
        "user-prompt" => {
            let Some(prompt) = input.prompt.as_deref().filter(|prompt| prompt.trim().len() > 3) else {
                return Ok(None);
            };
            let claims = recalled(&client, &scope, prompt).await?;
            Ok(few(&mut session, &args.moment, &scope, claims, "What is known about this")?.map(Given::Context))
        }
        "post-tool" => {
            let Some(file) = input.file.as_deref() else { return Ok(None) };
            let claims = attached(&client, &scope, file).await?;
            let about = format!("What is known about {}", brief::plain(file));
            Ok(few(&mut session, &args.moment, &scope, claims, &about)?.map(Given::Context))
        }
        "pre-compact" => Ok(Some(Given::Person(
            "ergo: decisions that are not stored yet are lost to the summary; `ergo_remember` keeps them.".to_owned(),
        ))),
        "stop" => stop(&client, &scope, input, &mut session).await,
        _ => Ok(None),
    }
}

/// The brief of a scope: constraints first, recent decisions, open conflicts, what needs review.
async fn whole(
    client: &Client,
    scope: &Scope,
    session: &mut Session,
    tokens: usize,
) -> Result<Option<String>, CliError> {
    let of = |kinds: &str, limit: usize| ClaimsQuery {
        org_id: Some(scope.org_id.clone()),
        project: Some(scope.project.clone()),
        kind: Some(kinds.to_owned()),
        limit: Some(limit),
        ..ClaimsQuery::default()
    };
    let (constraints, decisions) = (of("constraint", 60), of("decision,convention,rejection", 40));
    let review = ClaimsQuery { needs_review: Some(true), kind: None, limit: Some(FEW), ..constraints.clone() };
    let cards = ConflictsQuery {
        org_id: Some(scope.org_id.clone()),
        project: Some(scope.project.clone()),
        limit: Some(FEW),
        ..ConflictsQuery::default()
    };
    let (constraints, decisions, review, cards) = tokio::join!(
        client.claims(&constraints),
        client.claims(&decisions),
        client.claims(&review),
        client.conflicts(&cards)
    );
    let (constraints, decisions, review, cards): (ClaimsPage, ClaimsPage, ClaimsPage, ConflictsPage) =
        (constraints?, decisions?, review?, cards?);
    if constraints.total + decisions.total + cards.total == 0 {
        return Ok(None);
    }
    let mut brief = Brief::new(scope, tokens);
    let mut given = Vec::new();
    let mut add = |brief: &mut Brief, title: &str, page: &ClaimsPage, share: usize| {
        let fresh: Vec<&ClaimView> = page.items.iter().filter(|claim| !session.knows(claim.id)).collect();
        let shown = brief.claims(title, &fresh, page.total, share);
        given.extend(fresh.iter().take(shown).map(|claim| claim.id));
    };
    add(&mut brief, "Constraints", &constraints, 50);
    add(&mut brief, "Decisions, conventions and rejections, the newest first", &decisions, 85);
    brief.cards(&cards);
    add(&mut brief, "Needs review: what it rests on has changed", &review, 100);
    let Some(text) = brief.end() else { return Ok(None) };
    session.give(Context::now(), "session-start", scope, &given)?;
    Ok(Some(text))
}

async fn recalled(client: &Client, scope: &Scope, prompt: &str) -> Result<Vec<ClaimView>, CliError> {
    let request = RecallRequest {
        org_id: scope.org_id.clone(),
        project: scope.project.clone(),
        query: beginning(prompt).to_owned(),
        limit: Some(FEW),
        ..RecallRequest::default()
    };
    let answer = client.recall(&request).await?;
    // What perhaps answers would mislead whoever did not ask.
    Ok(if answer.verdict == RecallVerdict::Known {
        answer.hits.into_iter().map(|hit| hit.claim).collect()
    } else {
        Vec::new()
    })
}

/// The beginning of a prompt, up to the end of a word.
fn beginning(prompt: &str) -> &str {
    let prompt = prompt.trim();
    let (head, rest) = prompt.split_at(prompt.floor_char_boundary(ASKED));
    match head.rfind(char::is_whitespace) {
        Some(end) if !rest.is_empty() => &head[..end],
        _ => head,
    }
}

/// The claims whose source is this file.
async fn attached(client: &Client, scope: &Scope, file: &str) -> Result<Vec<ClaimView>, CliError> {
    let here = std::env::current_dir().unwrap_or_default();
    let top = top_of(&here);
    let file = Path::new(file);
    let whole = if file.is_absolute() { file.to_owned() } else { here.join(file) };
    let path = whole.strip_prefix(&top).unwrap_or(&whole).display().to_string();
    let query = ClaimsQuery {
        org_id: Some(scope.org_id.clone()),
        project: Some(scope.project.clone()),
        source: Some(path.clone()),
        limit: Some(4 * FEW),
        ..ClaimsQuery::default()
    };
    let mut claims = client.claims(&query).await?.items;
    claims.retain(|claim| claim.source.as_deref().is_some_and(|source| input::names(source, &path)));
    Ok(claims)
}

/// A few claims that this session does not know yet.
fn few(
    session: &mut Session,
    moment: &str,
    scope: &Scope,
    mut claims: Vec<ClaimView>,
    about: &str,
) -> Result<Option<String>, CliError> {
    claims.retain(|claim| !session.knows(claim.id));
    claims.truncate(FEW);
    if claims.is_empty() {
        return Ok(None);
    }
    let ids: Vec<_> = claims.iter().map(|claim| claim.id).collect();
    session.give(Context::now(), moment, scope, &ids)?;
    Ok(Some(brief::list(about, &claims)))
}

/// Once in a session, and only where no agent has stored anything since it began, the agent is asked whether it should have.
async fn stop(client: &Client, scope: &Scope, input: &Input, session: &mut Session) -> Result<Option<Given>, CliError> {
    let Some(began) = session.began() else { return Ok(None) };
    if input.stopping || session.reminded() {
        return Ok(None);
    }
    let query = LogQuery {
        org_id: Some(scope.org_id.clone()),
        project: Some(scope.project.clone()),
        since: Some(began),
        acts: true,
        limit: Some(200),
        ..LogQuery::default()
    };
    let written = client.log(&query).await?.items.iter().any(|event| event.agent.is_some());
    session.remind(Context::now(), scope)?;
    let words = "Before you stop: was anything decided, ruled out or agreed in this session that the next one must know? Then store it \
                 with ergo_remember, with its reason. If not, stop.";
    Ok((!written).then(|| Given::Stop(words.to_owned())))
}

impl Given {
    /// As the agent's program reads it. `camel` is the name of the event as it was given, where that program gives one.
    fn json(&self, event: &str, camel: bool) -> Value {
        match self {
            Self::Context(text) if camel => json!({"additional_context": text}),
            Self::Context(text) => json!({"hookSpecificOutput": {"hookEventName": event, "additionalContext": text}}),
            Self::Stop(text) if camel => json!({"followup_message": text}),
            Self::Stop(text) => json!({"decision": "block", "reason": text}),
            Self::Person(text) if camel => json!({"user_message": text}),
            Self::Person(text) => json!({"systemMessage": text}),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_a_long_prompt_the_beginning_is_asked_about_in_whole_words() {
        assert_eq!(beginning("  which port?\n"), "which port?");
        let long = "wörter ".repeat(200);
        let asked = beginning(&long);
        assert!(asked.len() <= ASKED && asked.len() > ASKED - 10 && asked.ends_with("wörter"), "{asked}");
        assert!(beginning(&"決".repeat(500)).len() <= ASKED, "a text without spaces is cut between characters");
    }
}
