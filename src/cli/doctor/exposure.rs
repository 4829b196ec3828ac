//! Checks what other users or the network could read or change: folders, secrets, listeners, addresses.

use std::{fs, os::unix::fs::MetadataExt, path::Path};

use super::{Finding, fine, note, problem};
use crate::{
    client::Connect,
    config::{CogitoSettings, Config, ConfigError, Paths, is_safe_token, privacy, read_device_key},
    files,
};

/// Checks folders and secrets, the cogito listener, and the address in the environment.
pub(super) fn check(paths: &Paths) -> Vec<Finding> {
    let mut out = folders_and_secrets(paths);
    // An invalid configuration is reported already.
    let config = Config::load(paths).unwrap_or_default();
    out.extend(config.compat.cogito.iter().flat_map(cogito));
    out.extend(redirection(paths));
    out
}

/// Checks the permissions of folders and secrets.
fn folders_and_secrets(paths: &Paths) -> Vec<Finding> {
    let mut out = vec![checked("store folder", &paths.data, privacy::check_folder)];
    if paths.state != paths.data {
        out.push(checked("state folder", &paths.state, privacy::check_folder));
    }
    out.extend(paths.socket.parent().map(|folder| checked("socket folder", folder, privacy::check_folder)));
    if let Err(error) = privacy::check_file(&paths.store()) {
        out.push(refused("store", &error));
    }
    out.extend(device_key(&paths.device_key(), paths.store().exists()));
    if paths.token().exists() {
        out.push(token(&paths.token()));
    }
    out
}

/// Checks the file of the token for TCP and its content.
fn token(file: &Path) -> Finding {
    match files::text(file, files::MAX_SETTINGS) {
        Ok(text) if !is_safe_token(text.trim()) => problem(
            "token",
            format!("{} is empty, or its token is too short or unusable in a header", file.display()),
            "to replace the token, run `ergo daemon stop && ergo daemon start`".to_owned(),
        ),
        _ => secret("token", file),
    }
}

/// Checks the file of the device's key and its content.
fn device_key(file: &Path, has_store: bool) -> Option<Finding> {
    match read_device_key(file) {
        Ok(Some(_)) => Some(secret("device key", file)),
        Ok(None) if has_store => Some(Finding {
            hint: Some("restore a copy of the file before you start the daemon".to_owned()),
            ..note(
                "device key",
                format!(
                    "{} is missing: the next start creates a new one, with which this is another device for its teams",
                    file.display()
                ),
            )
        }),
        Ok(None) => None,
        Err(error) => Some(refused("device key", &error)),
    }
}

fn checked(what: &'static str, path: &Path, check: fn(&Path) -> Result<(), ConfigError>) -> Finding {
    let place = path.display();
    match check(path) {
        Ok(()) if path.exists() => fine(what, place.to_string()),
        Ok(()) => fine(what, format!("{place} (created when needed)")),
        Err(error) => refused(what, &error),
    }
}

fn refused(what: &'static str, error: &ConfigError) -> Finding {
    problem(what, error.to_string(), error.hint())
}

fn secret(what: &'static str, file: &Path) -> Finding {
    let place = file.display();
    let readable = fs::metadata(file).is_ok_and(|meta| meta.mode() & 0o077 != 0);
    match privacy::check_file(file) {
        Err(error) => refused(what, &error),
        Ok(()) if readable => {
            problem(what, format!("{place} is readable by other users"), format!("chmod 600 {place}"))
        }
        Ok(()) => fine(what, place.to_string()),
    }
}

/// Checks who may use the listener for clients of cogito-ergo.
fn cogito(settings: &CogitoSettings) -> Vec<Finding> {
    let CogitoSettings { listen, project, .. } = settings;
    match (settings.token(), &settings.token_file) {
        (Err(why), _) => vec![problem(
            "cogito",
            format!("the listener for clients of cogito-ergo is off: {why}"),
            "write a token to that file, then `ergo daemon stop && ergo daemon start`".to_owned(),
        )],
        (Ok(Some(_)), Some(file)) => {
            vec![fine("cogito", format!("{listen} requires a token")), secret("cogito token", file)]
        }
        (Ok(_), _) => vec![Finding {
            hint: Some("in config.toml, set `token_file` under [compat.cogito] to a file with a token".to_owned()),
            ..note(
                "cogito",
                format!(
                    "every local user can read and write the project “{project}” through {listen}, which requires no token"
                ),
            )
        }],
    }
}

/// Checks whether the environment redirects all calls to another daemon.
fn redirection(paths: &Paths) -> Option<Finding> {
    Some(match Connect::new(paths.clone()).elsewhere() {
        Ok(None) => return None,
        Ok(Some(named)) if named.own => {
            fine("address", format!("ERGO_API_URL names this home's daemon, {}", named.place))
        }
        Ok(Some(named)) => Finding {
            hint: Some("unset ERGO_API_URL to use this home's daemon".to_owned()),
            ..note(
                "address",
                format!("ERGO_API_URL sends every command to {} instead of this home's daemon", named.place),
            )
        },
        Err(error) => problem("address", error.to_string(), error.hint()),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cli::doctor::Health;

    #[test]
    fn a_token_that_could_be_guessed_is_a_problem() {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("token");
        for (text, is_safe) in [("x\n", false), ("", false), (&*"0a".repeat(32), true)] {
            crate::config::write_private(&file, text.as_bytes()).unwrap();
            assert_eq!(!matches!(token(&file).health, Health::Problem), is_safe, "{text}");
        }
    }
}
