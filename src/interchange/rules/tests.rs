use super::*;

const FILE: &str = "\
# Guide for contributors

This project is a web server. Run the tests before you push. They take a minute.

## Code style

- Use `thiserror` for errors, because `anyhow` hides the type.
- Never modify existing migrations. They have shipped.
- **Naming**: prefer `snake_case`.
- `src/api/` - the wire types
- `cargo test`
- [Architecture](ARCHITECTURE.md)

```sh
cargo build
```

| a | b |
|---|---|
| must | not |

### Don't

- Commit secrets
- Use `unwrap()` outside tests

## Before a release

Always run these before tagging:

1. `make check`
2. the smoke test

When writing tests:

- use a temporary directory
  - never the home directory
";

fn told() -> Vec<(usize, String)> {
    parse("AGENTS.md", FILE).rules.into_iter().map(|rule| (rule.line, rule.statement)).collect()
}

#[test]
fn one_claim_a_rule_with_its_line() {
    let expected = [
        (3, "Run the tests before you push."),
        (7, "Use `thiserror` for errors."),
        (8, "Never modify existing migrations."),
        (9, "Naming: prefer `snake_case`."),
        (24, "Do not commit secrets."),
        (25, "Do not use `unwrap()` outside tests."),
        (31, "Always run these before tagging: `make check`."),
        (32, "Always run these before tagging: the smoke test."),
        (36, "When writing tests: use a temporary directory."),
        (37, "Never the home directory."),
    ];
    assert_eq!(told(), expected.map(|(line, text)| (line, text.to_owned())));
}

#[test]
fn the_reason_is_the_clause_the_sentence_after_or_the_place() {
    let rules = parse("AGENTS.md", FILE).rules;
    let place = "Stated in AGENTS.md under “Guide for contributors > Code style”.";
    assert_eq!(rules[0].reason, "They take a minute. Stated in AGENTS.md under “Guide for contributors”.");
    assert_eq!(rules[1].reason, format!("`anyhow` hides the type. {place}"));
    assert_eq!(rules[2].reason, format!("They have shipped. {place}"));
    assert_eq!(rules[3].reason, place);
    assert_eq!(rules[2].kind, ClaimKind::Constraint);
    assert_eq!(rules[3].kind, ClaimKind::Convention);
}

#[test]
fn what_is_left_out_is_named_with_its_line() {
    let skipped: Vec<_> = parse("AGENTS.md", FILE).skipped.into_iter().map(|s| (s.line, s.why)).collect();
    let expected = [(10, "describes a file or a command"), (12, "a link"), (14, "code"), (18, "a table")];
    for (line, why) in expected {
        assert!(skipped.contains(&(line, why.to_owned())), "{line} {why}: {skipped:?}");
    }
}

#[test]
fn plain_text_without_headings_is_read_too() {
    let rules = parse(".cursorrules", "You are an expert in Rust.\n\nAlways use the stable toolchain.\n").rules;
    assert_eq!(rules.len(), 1);
    assert_eq!(rules[0].reason, "Stated in .cursorrules.");
}

proptest::proptest! {
    #[test]
    fn no_text_makes_it_panic_and_lines_are_in_the_file(text in "([-*#>`|a-zA-Z .:!?\\n]|never|must|Use ){0,200}") {
        let lines = text.lines().count().max(1);
        let found = parse("x", &text);
        for rule in &found.rules {
            proptest::prop_assert!(rule.line >= 1 && rule.line <= lines);
            proptest::prop_assert!(!rule.statement.trim().is_empty() && !rule.reason.is_empty());
        }
    }
}
