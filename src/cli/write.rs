//! The arguments that the writing verbs share.

use std::io::Read;

use super::{CliError, ui::SafeText};
use crate::{
    api::{Caller, RememberRequest},
    client::ClientError,
    domain::{ClaimKind, Qualifiers},
};

/// Where and when a claim holds.
#[derive(Clone, Debug, Default, clap::Args)]
#[command(next_help_heading = "Where and when it holds [default: everywhere, always]")]
pub(crate) struct Holds {
    /// The environment: prod, staging, dev, …
    #[arg(long, value_name = "ENV")]
    pub(crate) env: Option<String>,
    /// The team.
    #[arg(long, value_name = "TEAM")]
    pub(crate) team: Option<String>,
    /// The tenant.
    #[arg(long, value_name = "TENANT")]
    pub(crate) tenant: Option<String>,
    /// The first day, YYYY-MM-DD.
    #[arg(long, value_name = "DATE")]
    pub(crate) from: Option<String>,
    /// The last day, YYYY-MM-DD.
    #[arg(long, value_name = "DATE")]
    pub(crate) until: Option<String>,
}

impl From<Holds> for Qualifiers {
    fn from(holds: Holds) -> Self {
        let Holds { env, team, tenant, from, until } = holds;
        Self { env, team, tenant, valid_from: from, valid_until: until }
    }
}

/// What a new claim says besides its statement.
#[derive(Clone, Debug, Default, clap::Args)]
pub(crate) struct Said {
    /// Why. Required unless the kind is fact: a claim without a reason cannot defend itself.
    #[arg(short, long, value_name = "WHY")]
    pub(crate) reason: Option<String>,
    /// decision, constraint, rejection, convention or fact [default: decision].
    #[arg(short, long, value_name = "KIND")]
    pub(crate) kind: Option<ClaimKind>,
    /// The key of a fact: a later fact with the same key replaces it.
    #[arg(long, value_name = "KEY")]
    pub(crate) key: Option<String>,
    /// The id of a claim that this one rests on; may be given several times.
    #[arg(long = "depends-on", value_name = "ID")]
    pub(crate) depends_on: Vec<String>,
    /// Store it although it contradicts what is in force, with this justification on the record.
    #[arg(long, value_name = "WHY")]
    pub(crate) force_exception: Option<String>,
    /// The id of the claim to which this one is an exception; may be given several times [default: what the guard finds].
    #[arg(long, value_name = "ID")]
    pub(crate) exception_to: Vec<String>,
    /// Ask the guard only: store nothing, make no card.
    #[arg(long)]
    pub(crate) dry_run: bool,
    #[command(flatten)]
    pub(crate) holds: Holds,
}

impl Said {
    /// The request that these arguments make.
    pub(crate) fn request(self, caller: Caller, statement: String, source: Option<String>) -> RememberRequest {
        RememberRequest {
            caller,
            statement,
            kind: self.kind,
            reason: self.reason,
            source,
            key: self.key,
            depends_on: self.depends_on,
            qualifiers: self.holds.into(),
            force_exception: self.force_exception,
            exception_to: self.exception_to,
            dry_run: self.dry_run,
        }
    }
}

/// The fields of a write as the daemon names them, each with the argument that sets it here.
const FLAGS: [(&str, &str); 13] = [
    ("kind: fact", "--kind fact"),
    ("kind", "--kind"),
    ("reason", "--reason"),
    ("source", "--source"),
    ("key", "--key"),
    ("depends_on", "--depends-on"),
    ("force_exception", "--force-exception"),
    ("exception_to", "--exception-to"),
    ("env", "--env"),
    ("team", "--team"),
    ("tenant", "--tenant"),
    ("valid_from", "--from"),
    ("valid_until", "--until"),
];

/// An error of a write in the words of the command line: the daemon's name fields, which are arguments here.
pub(crate) fn in_flags(error: ClientError) -> CliError {
    let say = |text: &mut SafeText| *text = SafeText::lines(flags_for_fields(text));
    let mut error = CliError::from(error);
    say(&mut error.error);
    error.hints.iter_mut().for_each(say);
    error
}

/// A text of the daemon's with the arguments in place of the fields that they set.
pub(crate) fn flags_for_fields(text: &str) -> String {
    FLAGS.iter().fold(text.to_owned(), |text, (field, flag)| text.replace(&format!("`{field}`"), &format!("`{flag}`")))
}

/// The statement that words on the command line make; `-` alone reads it from stdin.
pub(crate) fn statement(words: &[String]) -> Result<String, CliError> {
    if words != ["-"] {
        return Ok(words.join(" "));
    }
    let mut text = String::new();
    // One byte more than is allowed, so that the daemon says that it is too long.
    let most = crate::api::MAX_TEXT as u64 + 1;
    std::io::stdin()
        .take(most)
        .read_to_string(&mut text)
        .map_err(|error| CliError::usage(format_args!("cannot read the statement from stdin: {error}")))?;
    Ok(text.trim().to_owned())
}
