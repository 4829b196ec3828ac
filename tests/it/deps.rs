//! Checks of the rules in `deny.toml` without cargo-deny: licences, and crates that may occur only once.

use std::{collections::BTreeSet, process::Command};

use serde_json::Value;

fn root_file(name: &str) -> String {
    let path = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join(name);
    std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

fn deny_toml() -> toml::Table {
    root_file("deny.toml").parse().unwrap()
}

fn allowed_licences() -> BTreeSet<String> {
    let deny = deny_toml();
    deny["licenses"]["allow"].as_array().unwrap().iter().map(|id| id.as_str().unwrap().to_owned()).collect()
}

/// Whether an SPDX expression (`AND`, `OR`, `WITH`, parentheses, the old `/` for `OR`) can be met by allowed licences.
fn can_be_met(expression: &str, allowed: &BTreeSet<String>) -> bool {
    let spaced = expression.replace('(', " ( ").replace(')', " ) ").replace('/', " OR ").replace(" WITH ", "+WITH+");
    let tokens: Vec<&str> = spaced.split_whitespace().collect();
    let mut at = 0;
    let met = any_of(&tokens, &mut at, allowed);
    assert_eq!(at, tokens.len(), "no SPDX expression: {expression}");
    met
}

fn any_of(tokens: &[&str], at: &mut usize, allowed: &BTreeSet<String>) -> bool {
    let mut met = all_of(tokens, at, allowed);
    while tokens.get(*at) == Some(&"OR") {
        *at += 1;
        met |= all_of(tokens, at, allowed);
    }
    met
}

fn all_of(tokens: &[&str], at: &mut usize, allowed: &BTreeSet<String>) -> bool {
    let mut met = one(tokens, at, allowed);
    while tokens.get(*at) == Some(&"AND") {
        *at += 1;
        met &= one(tokens, at, allowed);
    }
    met
}

fn one(tokens: &[&str], at: &mut usize, allowed: &BTreeSet<String>) -> bool {
    let token = tokens.get(*at).copied().unwrap_or_default();
    *at += 1;
    if token != "(" {
        return allowed.contains(&token.replace("+WITH+", " WITH "));
    }
    let met = any_of(tokens, at, allowed);
    assert_eq!(tokens.get(*at), Some(&")"), "an open parenthesis in {tokens:?}");
    *at += 1;
    met
}

/// The packages that are compiled here, by `cargo metadata`, which reads their manifests without a network.
fn packages() -> Vec<Value> {
    let cargo = std::env::var("CARGO").unwrap_or_else(|_| "cargo".into());
    let version = Command::new("rustc").arg("-vV").output().unwrap().stdout;
    let version = String::from_utf8(version).unwrap();
    let host = version.lines().find_map(|line| line.strip_prefix("host: ")).unwrap();
    let output = Command::new(cargo)
        .args(["metadata", "--format-version", "1", "--locked", "--offline", "--filter-platform", host])
        .current_dir(env!("CARGO_MANIFEST_DIR"))
        .output()
        .unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let metadata: Value = serde_json::from_slice(&output.stdout).unwrap();
    metadata["packages"].as_array().unwrap().clone()
}

#[test]
fn licence_expressions_are_read_as_spdx_means_them() {
    let allowed = BTreeSet::from(["MIT".to_owned(), "Apache-2.0 WITH LLVM-exception".to_owned()]);
    for good in [
        "MIT",
        "MIT OR GPL-3.0",
        "LGPL-3.0/MIT",
        "(GPL-2.0 OR MIT) AND MIT",
        "Apache-2.0 WITH LLVM-exception",
        "MPL-2.0 AND GPL-3.0 OR MIT",
    ] {
        assert!(can_be_met(good, &allowed), "{good}");
    }
    for bad in ["GPL-3.0", "MIT AND GPL-3.0", "Apache-2.0", "(MIT OR X) AND LGPL-2.1"] {
        assert!(!can_be_met(bad, &allowed), "{bad}");
    }
}

#[test]
fn every_dependency_has_an_allowed_licence() {
    let allowed = allowed_licences();
    assert!(allowed.iter().all(|id| !id.contains("GPL")), "deny.toml allows a licence that binds the whole program");
    let packages = packages();
    assert!(packages.len() > 100, "cargo metadata lists only {} packages", packages.len());
    let refused: Vec<String> = packages
        .iter()
        .filter(|package| !package["license"].as_str().is_some_and(|text| can_be_met(text, &allowed)))
        .map(|package| format!("{} {}: {}", package["name"], package["version"], package["license"]))
        .collect();
    assert!(refused.is_empty(), "licences that deny.toml does not allow:\n{}", refused.join("\n"));
}

#[test]
fn what_may_be_there_only_once_is_there_once_and_what_is_banned_is_not() {
    let lock: toml::Table = root_file("Cargo.lock").parse().unwrap();
    let locked = |name: &str| {
        let packages = lock["package"].as_array().unwrap();
        packages.iter().filter(|package| package["name"].as_str() == Some(name)).count()
    };
    assert!(locked("ergo") == 1 && locked("ratatui") == 1, "the lock file was not understood");
    for ban in deny_toml()["bans"]["deny"].as_array().unwrap() {
        let (name, may_be_once) = (ban["crate"].as_str().unwrap(), ban.get("deny-multiple-versions").is_some());
        let most = usize::from(may_be_once);
        assert!(locked(name) <= most, "Cargo.lock has {} versions of {name}; deny.toml allows {most}", locked(name));
    }
}

#[test]
fn everything_comes_from_the_registry() {
    let lock: toml::Table = root_file("Cargo.lock").parse().unwrap();
    for package in lock["package"].as_array().unwrap() {
        let source = package.get("source").and_then(|source| source.as_str());
        let ours = matches!(package["name"].as_str(), Some("ergo" | "ergo-bench" | "ergo-core"));
        assert!(
            ours || source == Some("registry+https://github.com/rust-lang/crates.io-index"),
            "{} comes from {source:?}",
            package["name"]
        );
    }
}
