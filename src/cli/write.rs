//! The shared arguments of the verbs that write claims.

use std::io::Read;

use super::CliError;
use crate::{
    api::{Caller, RememberRequest},
    domain::{ClaimKind, Qualifiers},
};

/// Where and when a claim holds.
#[derive(Clone, Debug, Default, clap::Args)]
#[command(next_help_heading = "Where and when it holds [default: everywhere, always]")]
pub(crate) struct QualifierArgs {
    /// The environment in which the claim holds, such as prod or staging.
    #[arg(long, value_name = "ENV")]
    pub(crate) env: Option<String>,
    /// The team for which the claim holds (a label, not a team of `ergo sync`).
    #[arg(long, value_name = "TEAM")]
    pub(crate) team: Option<String>,
    /// The tenant for which the claim holds.
    #[arg(long, value_name = "TENANT")]
    pub(crate) tenant: Option<String>,
    /// The first day on which the claim holds, YYYY-MM-DD.
    #[arg(long, value_name = "DATE")]
    pub(crate) from: Option<String>,
    /// The last day on which the claim holds, YYYY-MM-DD.
    #[arg(long, value_name = "DATE")]
    pub(crate) until: Option<String>,
}

impl QualifierArgs {
    /// Returns the first of these options that was given.
    pub(crate) fn first_given(&self) -> Option<&'static str> {
        let Self { env, team, tenant, from, until } = self;
        let given = [("--env", env), ("--team", team), ("--tenant", tenant), ("--from", from), ("--until", until)];
        given.into_iter().find_map(|(flag, value)| value.is_some().then_some(flag))
    }
}

impl From<QualifierArgs> for Qualifiers {
    fn from(qualifiers: QualifierArgs) -> Self {
        let QualifierArgs { env, team, tenant, from, until } = qualifiers;
        Self { env, team, tenant, valid_from: from, valid_until: until }
    }
}

/// The arguments of a new claim, besides its statement.
#[derive(Clone, Debug, Default, clap::Args)]
pub(crate) struct NewClaimArgs {
    /// The reason. Required, except for facts and in `ergo learn`.
    #[arg(short, long, alias = "because", value_name = "WHY", value_parser = printable)]
    pub(crate) reason: Option<String>,
    /// decision, constraint, rejection, convention or fact [default: decision].
    #[arg(short, long, value_name = "KIND")]
    pub(crate) kind: Option<ClaimKind>,
    /// The key of a fact: a later fact with the same key replaces it. Without one, only a fact that gives a property
    /// (port, version, owner, …) another value does.
    #[arg(long, value_name = "KEY")]
    pub(crate) key: Option<String>,
    /// The id of a claim that this one depends on; may be given several times.
    #[arg(long = "depends-on", value_name = "ID")]
    pub(crate) depends_on: Vec<String>,
    /// Store the claim even if it contradicts an active one, and record this justification.
    #[arg(long, value_name = "WHY")]
    pub(crate) force_exception: Option<String>,
    /// The id of the claim to which this one is an exception; may be given several times [default: those that the guard finds].
    #[arg(long, value_name = "ID")]
    pub(crate) exception_to: Vec<String>,
    /// Only run the guard: store nothing, open no conflict card.
    #[arg(long)]
    pub(crate) dry_run: bool,
    #[command(flatten)]
    pub(crate) qualifiers: QualifierArgs,
}

impl NewClaimArgs {
    /// Builds the request.
    pub(crate) fn request(self, caller: Caller, statement: String, source: Option<String>) -> RememberRequest {
        RememberRequest {
            caller,
            statement,
            kind: self.kind,
            reason: self.reason,
            source,
            key: self.key,
            depends_on: self.depends_on,
            qualifiers: self.qualifiers.into(),
            force_exception: self.force_exception,
            exception_to: self.exception_to,
            consider: false,
            dry_run: self.dry_run,
        }
    }
}

/// Joins the words of a statement; `-` alone reads it from stdin.
pub(crate) fn statement(words: &[String]) -> Result<String, CliError> {
    let text = if words == ["-"] { read_statement()? } else { words.join(" ") };
    printable(&text).map_err(|problem| {
        CliError::usage(format_args!("the statement {problem}"))
            .hint("remove it; text that was copied from a terminal may hold colour codes")
    })
}

/// Refuses a text with a control character other than a line break or a tab, since nobody would see that it is stored.
fn printable(text: &str) -> Result<String, String> {
    match text.chars().find(|c| c.is_control() && !matches!(c, '\n' | '\r' | '\t')) {
        Some(c) => Err(format!("contains the control character U+{:04X}", u32::from(c))),
        None => Ok(text.to_owned()),
    }
}

fn read_statement() -> Result<String, CliError> {
    let mut text = String::new();
    // One byte beyond the limit, so that the daemon reports that it is too long.
    let most = crate::api::MAX_TEXT as u64 + 1;
    std::io::stdin()
        .take(most)
        .read_to_string(&mut text)
        .map_err(|error| CliError::usage(format_args!("cannot read the statement from stdin: {error}")))?;
    Ok(text.trim().to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[rstest::rstest]
    #[case("Use tabs.\n\tAlways. 決定 e\u{301}", None)]
    #[case("Use \u{1b}[31mred\u{1b}[0m.", Some("U+001B"))]
    #[case("Use \u{7f}tabs.", Some("U+007F"))]
    #[case("\u{9b}2J", Some("U+009B"))]
    fn control_characters_are_refused(#[case] text: &str, #[case] found: Option<&str>) {
        let error = statement(&[text.to_owned()]).err().map(|error| error.to_string());
        assert_eq!(error.is_some(), found.is_some(), "{error:?}");
        assert!(error.unwrap_or_default().contains(found.unwrap_or_default()));
    }
}
