//! Values that contain punctuation: addresses, host names, regions, colours.
//!
//! They are parsed by crates (`url`, `email_address`, `ipnet`) and the standard library.

use std::net::{IpAddr, SocketAddr};

use email_address::EmailAddress;
use ipnet::IpNet;
use url::{Host, Url};

/// The maximum length of a value, in bytes: the longest possible host name, with room for a path.
const MAX_VALUE: usize = 512;

/// Marks that end a sentence or a quotation and are not part of the value before them.
const TRAILING: &[char] = &['.', ',', ';', ':', '!', '?', '\'', '’', '"', '”', ')', ']', '}', '*', '_'];

/// Reads a value at the beginning of `text`. Returns its length in bytes and its canonical form. `versioned` means that a version
/// number is expected, so that `1.2.3.4` is not an IP address.
pub(crate) fn read(text: &str, versioned: bool) -> Option<(usize, String)> {
    let end = text.find(|c: char| c.is_whitespace() || matches!(c, '`' | '"' | '“' | '”' | '<' | '>' | '(' | '|'));
    let run = &text[..end.unwrap_or(text.len())];
    if run.len() > MAX_VALUE || !run.contains(['-', '.', ':', '@', '#']) {
        return None;
    }
    let run = run.strip_suffix("'s").or_else(|| run.strip_suffix("’s")).unwrap_or(run);
    // "[::1]:80" keeps its bracket; "see fe80::" keeps its colons.
    let run = run.trim_end_matches(TRAILING);
    let compared = address(run, versioned).or_else(|| colour(run)).or_else(|| host(run))?;
    Some((run.len(), compared))
}

/// Parses a URL, an e-mail address, an IP address with or without a port, or a network.
fn address(run: &str, versioned: bool) -> Option<String> {
    if run.contains("://") {
        let url = Url::parse(run).ok().filter(Url::has_host)?;
        return Some(url.as_str().trim_end_matches('/').to_owned());
    }
    if let Some((_, domain)) = run.rsplit_once('@') {
        return (EmailAddress::is_valid(run) && domain_name(domain).is_some()).then(|| run.to_lowercase());
    }
    if !run.contains(|c: char| c.is_ascii_digit() || c == ':') {
        return None;
    }
    let plain = || run.parse::<IpAddr>().ok().filter(|ip| !(versioned && ip.is_ipv4())).map(|ip| ip.to_string());
    let network = || run.contains('/').then(|| run.parse::<IpNet>().ok()).flatten().map(|network| network.to_string());
    plain().or_else(network).or_else(|| run.parse::<SocketAddr>().ok().map(|address| address.to_string()))
}

/// Parses a colour of three, six or eight hexadecimal digits into its long form. `#123`, without a letter, is an issue.
fn colour(run: &str) -> Option<String> {
    let digits = run.strip_prefix('#')?;
    if digits.len() < 6 && !digits.contains(|c: char| c.is_ascii_alphabetic()) {
        return None;
    }
    let long = if digits.len() == 3 { digits.chars().flat_map(|c| [c, c]).collect() } else { digits.to_lowercase() };
    let bytes = hex::decode(&long).ok()?;
    matches!(bytes.len(), 3 | 4).then(|| format!("#{}", long.to_lowercase()))
}

/// Parses a hyphenated name of a host or region, with an optional port: one with dots, or one whose last part has a number
/// (`cache-a.internal`, `eu-west-1`).
fn host(run: &str) -> Option<String> {
    let (name, port) = match run.rsplit_once(':') {
        Some((name, port)) => (name, Some(port.parse::<u16>().ok()?)),
        None => (run, None),
    };
    if !name.contains('-') || !name.starts_with(|c: char| c.is_ascii_alphabetic()) {
        return None;
    }
    let numbered = || name.rsplit('-').next().is_some_and(|last| last.contains(|c: char| c.is_ascii_digit()));
    let name = if name.contains('.') { domain_name(name)? } else { label(name).filter(|_| numbered())? };
    Some(port.map_or_else(|| name.clone(), |port| format!("{name}:{port}")))
}

/// Parses a domain name. Its top level must be in lower case, so that two sentences without a space between them are not one.
fn domain_name(name: &str) -> Option<String> {
    let (rest, top) = name.rsplit_once('.')?;
    let word = top.len() >= 2 && top.bytes().all(|b| b.is_ascii_lowercase());
    let whole = rest.split('.').all(|part| label(part).is_some());
    (word && whole).then(|| name.to_lowercase())
}

/// Parses a label of a host name.
fn label(part: &str) -> Option<String> {
    let marks = part.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'-');
    if part.is_empty() || !marks || part.starts_with('-') || part.ends_with('-') || part.contains("--") {
        return None;
    }
    match Host::parse(part) {
        Ok(Host::Domain(name)) => Some(name),
        // `url` parses a number as an IP address.
        Ok(Host::Ipv4(_) | Host::Ipv6(_)) => Some(part.to_lowercase()),
        Err(_) => None,
    }
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;

    #[rstest]
    #[case::url("https://Example.com/a/ and", Some("https://example.com/a"))]
    #[case::url_at_the_end("https://example.com/a?b=1.", Some("https://example.com/a?b=1"))]
    #[case::mail("ops-team@example.com.", Some("ops-team@example.com"))]
    #[case::package("react@18.2.0", None)]
    #[case::ip("10.0.0.5, then", Some("10.0.0.5"))]
    #[case::ip_with_port("10.0.0.5:8080", Some("10.0.0.5:8080"))]
    #[case::network("10.0.0.0/8", Some("10.0.0.0/8"))]
    #[case::ipv6("fe80::1", Some("fe80::1"))]
    #[case::time("12:30", None)]
    #[case::number("3.5", None)]
    #[case::colour("#FF8800.", Some("#ff8800"))]
    #[case::short_colour("#f80", Some("#ff8800"))]
    #[case::issue("#123", None)]
    #[case::host("cache-a.internal.", Some("cache-a.internal"))]
    #[case::host_with_port("db-1.example.com:5432", Some("db-1.example.com:5432"))]
    #[case::region("eu-west-1", Some("eu-west-1"))]
    #[case::machine("Staging-2's", Some("staging-2"))]
    #[case::words("non-blocking", None)]
    #[case::date("2026-01-05", None)]
    #[case::sentences("end-of-line.Then", None)]
    #[case::amount("3-node", None)]
    fn a_value_is_read_whole(#[case] text: &str, #[case] expected: Option<&str>) {
        assert_eq!(read(text, false).map(|(_, compared)| compared).as_deref(), expected, "{text}");
    }

    #[test]
    fn four_numbers_after_version_are_not_an_address() {
        assert_eq!(read("1.2.3.4", true), None);
        assert_eq!(read("1.2.3.4", false), Some((7, "1.2.3.4".into())));
    }
}
