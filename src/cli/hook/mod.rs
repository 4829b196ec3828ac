//! `ergo hook`: run by a coding agent's program at certain events, to add claims to the agent's context.
//!
//! On any error a hook prints nothing and exits with 0, so that it never disturbs a session. Only invalid arguments, a
//! mistake in the program's settings, are reported on stderr. The added claims are recorded ([`session_record`]), and no
//! claim is added twice to a session.

mod brief;
mod payload;
mod questions;
mod session_record;

use std::{path::Path, time::Duration};

use clap::ValueEnum;
use serde_json::{Value, json};

use super::{CliError, Context, Exit, paging, scope::top_of};
use crate::{
    api::{
        Caller, ClaimView, ClaimsPage, ClaimsQuery, ConflictsPage, ConflictsQuery, LogQuery, RecallRequest,
        RecallVerdict,
    },
    client::{Client, Connect, injected},
    domain::Scope,
    setup::HookEvent,
};

use brief::Brief;
use payload::HookPayload;
use session_record::SessionRecord;

/// The timeout of a hook, in case the daemon hangs; without the time to start a daemon.
const TIMEOUT: Duration = Duration::from_secs(1);

/// The additional timeout if a daemon is started.
const START_TIMEOUT: Duration = Duration::from_secs(3);

/// The default token budget of a session's brief.
const BRIEF_TOKENS: usize = 1_200;

/// The maximum length of the query that is taken from a prompt, in bytes. Embedding time grows with the length, and the topic mostly
/// comes first, before logs and code.
const MAX_QUERY: usize = 320;

/// The most claims that are added for a prompt or a file.
const MAX_CLAIMS: usize = 5;

/// Add claims to a coding agent's context. Run by the agent's program.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Events: session-start, user-prompt, post-tool, pre-compact, stop. The event's JSON comes on stdin, as coding agents pass it to
hooks; the answer is JSON on stdout, or nothing. `ergo setup` installs the hooks, ERGO_HOOKS=off turns them off, and
`ergo injected` lists what they added.")]
pub(crate) struct Args {
    /// The event.
    #[arg(value_name = "EVENT")]
    event: String,
    /// Maximum tokens of the brief at the start of a session.
    #[arg(long, value_name = "TOKENS", default_value_t = BRIEF_TOKENS)]
    tokens: usize,
}

/// Runs the verb. Never fails.
pub(crate) fn run(args: Args, cx: &mut Context) -> Exit {
    if std::env::var("ERGO_HOOKS").is_ok_and(|value| turns_off(&value)) {
        return Exit::Ok;
    }
    let payload = HookPayload::from_stdin();
    let Ok(event) = HookEvent::from_str(&args.event, false) else {
        let known: Vec<_> = HookEvent::value_variants().iter().map(|event| event.as_str()).collect();
        let error = CliError::usage(format_args!("unknown event “{}”, so nothing was done", args.event));
        cx.ui.error(&error.hint(format_args!("the events are {}", known.join(", "))));
        return Exit::Ok;
    };
    // Without the event's folder, the claims of another project could be added.
    let Some(payload) = payload else { return Exit::Ok };
    if let Some(folder) = &payload.cwd {
        // If that fails, the working directory is the best guess.
        let _ = std::env::set_current_dir(folder);
    }
    // Only the start of a session waits for a daemon to start.
    let starting = if event == HookEvent::SessionStart { START_TIMEOUT } else { Duration::ZERO };
    let output = cx.block_on(async |cx| {
        let work = handle_event(event, args.tokens, &payload, cx);
        tokio::time::timeout(TIMEOUT + starting, work).await.map_err(CliError::internal)?
    });
    if let Ok(Some(output)) = output {
        cx.ui.value(&payload.output_json(event, &output));
    }
    Exit::Ok
}

/// Whether this value of ERGO_HOOKS turns the hooks off.
fn turns_off(value: &str) -> bool {
    ["off", "0", "false", "no"].iter().any(|word| value.trim().eq_ignore_ascii_case(word))
}

/// The output of a hook.
pub(super) enum HookOutput {
    /// For the agent's context.
    Context(String),
    /// A request to the agent before it stops.
    Stop(String),
    /// A message for the user.
    Person(String),
}

async fn handle_event(
    event: HookEvent,
    tokens: usize,
    payload: &HookPayload,
    cx: &mut Context,
) -> Result<Option<HookOutput>, CliError> {
    match event {
        HookEvent::SessionStart => {
            let (client, scope, mut session) = connect(event, payload, cx).await?;
            if matches!(payload.source.as_deref(), Some("clear" | "compact")) {
                // Earlier claims are no longer in the agent's context.
                session.forget(Context::now(), &scope)?;
            }
            let brief = session_brief(&client, &scope, &mut session, tokens).await?;
            Ok(brief.map(HookOutput::Context))
        }
        HookEvent::UserPrompt => {
            let Some(prompt) = payload.prompt.as_deref().filter(|prompt| prompt.trim().len() > 3) else {
                return Ok(None);
            };
            let (client, scope, mut session) = connect(event, payload, cx).await?;
            let claims = recalled(&client, &scope, prompt).await?;
            let text = new_to_session(&mut session, event, &scope, claims, "What is known about this")?;
            Ok(text.map(HookOutput::Context))
        }
        HookEvent::PostTool => {
            let Some(file) = payload.file.as_deref() else { return Ok(None) };
            let (client, scope, mut session) = connect(event, payload, cx).await?;
            let claims = claims_from_file(&client, &scope, file).await?;
            let about = format!("What is known about {}", brief::one_line(file));
            Ok(new_to_session(&mut session, event, &scope, claims, &about)?.map(HookOutput::Context))
        }
        HookEvent::PreCompact => Ok(Some(HookOutput::Person(
            "ergo: decisions that are not stored yet may be lost in the summary; store them with `ergo_remember`."
                .to_owned(),
        ))),
        HookEvent::Stop => {
            let (client, scope, mut session) = connect(event, payload, cx).await?;
            let caller = Caller { org_id: scope.org_id.clone(), project: scope.project.clone(), ..cx.caller()? };
            match questions::remind(&client, caller, payload, &mut session).await? {
                Some(reminder) => Ok(Some(HookOutput::Stop(reminder))),
                None => stop(&client, &scope, payload, &mut session).await,
            }
        }
    }
}

/// Connects to the daemon, which only the start of a session starts. Also returns the scope and the session's record.
async fn connect(
    event: HookEvent,
    payload: &HookPayload,
    cx: &Context,
) -> Result<(Client, Scope, SessionRecord), CliError> {
    let connect = cx.connect()?;
    let connect = Connect { spawn: connect.spawn && event == HookEvent::SessionStart, ..connect };
    let client = connect.client().await?;
    let scope = cx.known_scope(&client).await?;
    let folder = cx.paths()?.state.join(injected::FOLDER);
    let session = SessionRecord::open(&folder, payload.session.as_deref(), payload.agent.clone()).await?;
    Ok((client, scope, session))
}

/// Returns the brief of a scope: rules of the organisation, constraints, recent decisions, open conflicts, claims that need review.
async fn session_brief(
    client: &Client,
    scope: &Scope,
    session: &mut SessionRecord,
    tokens: usize,
) -> Result<Option<String>, CliError> {
    let of = |scope: &Scope, kinds: &str, limit: usize| ClaimsQuery {
        kind: Some(kinds.to_owned()),
        expired: Some(false),
        limit: Some(limit),
        ..paging::claims_of(scope)
    };
    let organisation = scope.organisation();
    let above = ClaimsQuery {
        // If the project narrowed a claim, its own version is among the project's claims.
        not_narrowed_in: Some(scope.project.clone()),
        ..of(&organisation, "constraint,decision,convention,rejection", 40)
    };
    let (constraints, decisions) = (of(scope, "constraint", 60), of(scope, "decision,convention,rejection", 40));
    let review = ClaimsQuery { needs_review: Some(true), kind: None, limit: Some(MAX_CLAIMS), ..constraints.clone() };
    let cards = ConflictsQuery { limit: Some(MAX_CLAIMS), ..paging::cards_of(scope) };
    let (above, constraints, decisions, review, cards) = tokio::join!(
        async { if scope.level().is_project() { client.claims(&above).await } else { Ok(ClaimsPage::default()) } },
        client.claims(&constraints),
        client.claims(&decisions),
        client.claims(&review),
        client.conflicts(&cards)
    );
    let (above, constraints, decisions): (ClaimsPage, ClaimsPage, ClaimsPage) = (above?, constraints?, decisions?);
    let (review, cards): (ClaimsPage, ConflictsPage) = (review?, cards?);
    if above.total + constraints.total + decisions.total + cards.total == 0 {
        return Ok(None);
    }
    let mut brief = Brief::new(scope, tokens);
    let mut given = Vec::new();
    let mut add = |brief: &mut Brief, title: &str, page: &ClaimsPage, share: usize| {
        let fresh: Vec<&ClaimView> = page.items.iter().filter(|claim| !session.knows(claim.id)).collect();
        let shown = brief.claims(title, &fresh, page.total, share);
        given.extend(fresh.iter().take(shown).map(|claim| claim.id));
    };
    let title = format!("Rules of all projects of {}", brief::one_line(&scope.org_id));
    add(&mut brief, &title, &above, 30);
    add(&mut brief, "Constraints", &constraints, if above.total == 0 { 50 } else { 60 });
    add(&mut brief, "Decisions, conventions and rejections, newest first", &decisions, 85);
    brief.cards(&cards);
    add(&mut brief, "Needs review: a claim that it depends on changed", &review, 100);
    let Some(text) = brief.finish() else { return Ok(None) };
    session.record(Context::now(), HookEvent::SessionStart.as_str(), scope, &given)?;
    Ok(Some(text))
}

async fn recalled(client: &Client, scope: &Scope, prompt: &str) -> Result<Vec<ClaimView>, CliError> {
    let request = RecallRequest {
        org_id: scope.org_id.clone(),
        project: scope.project.clone(),
        query: beginning(prompt).to_owned(),
        limit: Some(MAX_CLAIMS),
        ..RecallRequest::default()
    };
    let answer = client.recall(&request).await?;
    // Uncertain answers would mislead an agent that did not ask.
    if answer.verdict != RecallVerdict::Known {
        return Ok(Vec::new());
    }
    // A list is filled up to its limit with the next best claims, even if they have nothing to do with the question.
    let related = answer.hits.into_iter().filter(|hit| hit.verdict != Some(RecallVerdict::Nothing));
    Ok(related.map(|hit| hit.claim).collect())
}

/// Returns the beginning of a prompt, cut at a word boundary.
fn beginning(prompt: &str) -> &str {
    let prompt = prompt.trim();
    let (head, rest) = prompt.split_at(prompt.floor_char_boundary(MAX_QUERY));
    match head.rfind(char::is_whitespace) {
        Some(end) if !rest.is_empty() => &head[..end],
        _ => head,
    }
}

/// Returns the claims whose source is this file.
async fn claims_from_file(client: &Client, scope: &Scope, file: &str) -> Result<Vec<ClaimView>, CliError> {
    let here = std::env::current_dir().unwrap_or_default();
    let top = top_of(&here);
    let file = Path::new(file);
    let whole = if file.is_absolute() { file.to_owned() } else { here.join(file) };
    let path = whole.strip_prefix(&top).unwrap_or(&whole).display().to_string();
    let (source, limit) = (Some(path.clone()), Some(4 * MAX_CLAIMS));
    let query = ClaimsQuery { source, limit, expired: Some(false), ..paging::claims_of(scope) };
    let mut claims = client.claims(&query).await?.items;
    claims.retain(|claim| claim.source.as_deref().is_some_and(|source| payload::names(source, &path)));
    Ok(claims)
}

/// Returns the claims that have not expired and are new to this session, as text.
fn new_to_session(
    session: &mut SessionRecord,
    event: HookEvent,
    scope: &Scope,
    mut claims: Vec<ClaimView>,
    about: &str,
) -> Result<Option<String>, CliError> {
    claims.retain(|claim| !claim.flags.expired && !session.knows(claim.id));
    claims.truncate(MAX_CLAIMS);
    if claims.is_empty() {
        return Ok(None);
    }
    let ids: Vec<_> = claims.iter().map(|claim| claim.id).collect();
    session.record(Context::now(), event.as_str(), scope, &ids)?;
    Ok(Some(brief::list(about, &claims)))
}

/// Asks the agent, once per session, whether it should have stored something; only if no agent stored anything since the first
/// injection.
async fn stop(
    client: &Client,
    scope: &Scope,
    payload: &HookPayload,
    session: &mut SessionRecord,
) -> Result<Option<HookOutput>, CliError> {
    let Some(began) = session.first_injected_at() else { return Ok(None) };
    if payload.stopping || session.reminded() {
        return Ok(None);
    }
    let query = LogQuery { since: Some(began), acts: true, ..paging::events_of(scope) };
    let written = client.log(&query).await?.items.iter().any(|event| event.agent.is_some());
    session.remind(Context::now(), scope)?;
    let words = "Before you stop: was anything decided, ruled out or agreed in this session that the next one must know? If so, store it \
                 with ergo_remember and its reason. If not, stop.";
    Ok((!written).then(|| HookOutput::Stop(words.to_owned())))
}

impl HookOutput {
    /// Returns the output as JSON: in the format of programs that spell events in camel case, or in that of the others.
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
    fn every_usual_word_for_off_turns_the_hooks_off() {
        for (value, off) in [("off", true), ("0", true), ("False", true), ("no ", true), ("on", false), ("", false)] {
            assert_eq!(turns_off(value), off, "{value}");
        }
    }

    #[test]
    fn each_event_is_read_from_the_word_that_setup_writes() {
        for event in HookEvent::value_variants() {
            assert_eq!(HookEvent::from_str(event.as_str(), false), Ok(*event));
        }
    }

    #[test]
    fn of_a_long_prompt_the_beginning_is_asked_about_in_whole_words() {
        assert_eq!(beginning("  which port?\n"), "which port?");
        let long = "wörter ".repeat(200);
        let asked = beginning(&long);
        assert!(asked.len() <= MAX_QUERY && asked.len() > MAX_QUERY - 10 && asked.ends_with("wörter"), "{asked}");
        assert!(beginning(&"決".repeat(500)).len() <= MAX_QUERY, "a text without spaces is cut between characters");
    }
}
