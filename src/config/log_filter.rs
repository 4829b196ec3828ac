//! Log filters: a level, or levels per module.

use tracing_subscriber::{EnvFilter, filter::LevelFilter};

use super::toml_text::nearest;

/// The levels, from none to all.
const LEVELS: [&str; 6] = ["off", "error", "warn", "info", "debug", "trace"];

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
}
