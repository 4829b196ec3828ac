//! The token for TCP.

/// The minimum length of a token; ergo writes 64 hexadecimal digits.
const MIN_TOKEN: usize = 32;

/// Returns whether a text is long enough for a token, and consists of characters that a header can contain.
pub fn is_safe_token(text: &str) -> bool {
    text.len() >= MIN_TOKEN && text.bytes().all(|byte| byte.is_ascii_graphic())
}
