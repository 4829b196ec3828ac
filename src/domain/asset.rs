//! Files of `assets/` that are built into the program.

use std::fmt::Display;

/// Returns what was parsed from the built-in file of this name.
///
/// # Panics
/// If the file is invalid. A default instead would silently switch off what the file describes.
#[expect(clippy::panic, reason = "a built-in file is valid or the program is broken; tests parse each")]
pub fn expect_valid<T, E: Display>(name: &str, parsed: Result<T, E>) -> T {
    parsed.unwrap_or_else(|error| panic!("the built-in file {name} is invalid: {error}"))
}

#[cfg(test)]
mod tests {
    use super::expect_valid;

    #[test]
    #[should_panic(expected = "the built-in file judge.toml is invalid: no weights")]
    fn an_invalid_file_has_no_default() {
        assert_eq!(expect_valid("judge.toml", Ok::<_, String>(1)), 1);
        let _: u8 = expect_valid("judge.toml", Err("no weights"));
    }
}
