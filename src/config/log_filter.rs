//! Log filters: a level, or levels per module.

use tracing_subscriber::{EnvFilter, filter::LevelFilter};

use super::toml_text::nearest;

/// The levels, from none to all.
const LEVELS: [&str; 6] = ["off", "error", "warn", "info", "debug", "trace"];

/// The modules of this program that a filter may name after `ergo::`.
const MODULES: [&str; 14] = [
    "cli",
    "client",
    "config",
    "daemon",
    "engine",
    "files",
    "infer",
    "interchange",
    "mcp",
    "setup",
    "store",
    "sync",
    "tui",
    "worker",
];

/// Says which module of ergo a log filter names that does not exist. Such a part of the filter has no effect.
pub(super) fn unknown_module(text: &str) -> Option<String> {
    let named = text.split(',').filter_map(|part| part.trim().strip_prefix("ergo::"));
    let first = |path: &str| path.split([':', '=', '[']).next().unwrap_or_default().trim().to_owned();
    let unknown = named.map(first).find(|module| !MODULES.contains(&module.as_str()))?;
    Some(format!("ergo has no module `ergo::{unknown}`{}", nearest(&unknown, MODULES)))
}

/// Parses a log filter, such as `info,ergo::sync=debug`.
///
/// # Errors
/// What was expected. A word without a level is an error: the library takes it for the name of a module, so that a
/// misspelt level would turn all other modules off.
pub fn log_filter(text: &str) -> Result<EnvFilter, String> {
    let expected =
        "expected off, error, warn, info, debug or trace, or a level per module such as info,ergo::sync=debug";
    let mut parts = text.split(',').map(str::trim).filter(|part| !part.is_empty()).peekable();
    if parts.peek().is_none() {
        return Err(expected.to_owned());
    }
    // A filter of spans, in brackets, may contain commas.
    if !text.contains('[') {
        for part in parts {
            let level = part.rsplit_once('=').map_or(part, |(_, level)| level).trim();
            if level.is_empty() || level.parse::<LevelFilter>().is_err() {
                return Err(format!("{expected}{}", nearest(level, LEVELS)));
            }
        }
    }
    EnvFilter::try_new(text).map_err(|error| format!("{error}; {expected}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[rstest::rstest]
    #[case("info", "")]
    #[case("WARN", "")]
    #[case("info,ergo::sync=debug", "")]
    #[case("warn,ergo[span]=trace", "")]
    #[case("wran", "did you mean `warn`?")]
    #[case("info,ergo=debgu", "did you mean `debug`?")]
    #[case("loud", "or trace, or a level per module")]
    #[case("ergo::sync", "ergo::sync=debug")]
    #[case("ergo=", "expected off")]
    #[case("", "expected off")]
    #[case(" , ", "expected off")]
    fn a_filter_that_would_silence_the_log_by_mistake_is_an_error(#[case] text: &str, #[case] problem: &str) {
        match log_filter(text) {
            Ok(_) => assert_eq!(problem, "", "{text}"),
            Err(error) => assert!(!problem.is_empty() && error.contains(problem), "{text}: {error}"),
        }
    }

    #[rstest::rstest]
    #[case("info,ergo::sync=debug,ergo::daemon::notes=trace,iroh=warn,ergo=info", None)]
    #[case("ergo::nosuch=debug", Some("ergo has no module `ergo::nosuch`"))]
    #[case("info, ergo::synk::service=debug", Some("ergo has no module `ergo::synk`; did you mean `sync`?"))]
    #[case("ergo::demon[span]=debug", Some("ergo has no module `ergo::demon`; did you mean `daemon`?"))]
    fn a_module_that_does_not_exist_is_named(#[case] text: &str, #[case] problem: Option<&str>) {
        assert_eq!(unknown_module(text).as_deref(), problem);
    }

    #[test]
    fn the_modules_are_those_of_the_program() {
        let modules = include_str!("../lib.rs").lines().filter_map(|line| {
            line.strip_prefix("pub ")
                .unwrap_or(line)
                .strip_prefix("mod ")?
                .strip_suffix(';')
                .filter(|name| *name != "steps")
        });
        assert_eq!(modules.collect::<Vec<_>>(), MODULES);
    }
}
