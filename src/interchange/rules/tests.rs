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

fn numbered_rules() -> Vec<(usize, String)> {
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
    assert_eq!(numbered_rules(), expected.map(|(line, text)| (line, text.to_owned())));
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

/// Returns the statements of the rules in a text.
fn statements(text: &str) -> Vec<String> {
    parse("X.md", text).rules.into_iter().map(|rule| rule.statement).collect()
}

fn why(text: &str) -> Vec<String> {
    parse("X.md", text).skipped.into_iter().map(|skip| skip.why).collect()
}

#[rstest::rstest]
#[case("## What we won't accept\n\n- a report with `n = 1` per cell.", "Not accepted: a report with `n = 1` per cell.")]
#[case("We do not accept:\n\n- generated code", "Not accepted: generated code.")]
#[case("Never do any of these:\n\n- commit secrets", "Never commit secrets.")]
#[case("## Don't\n\n- Add a global", "Do not add a global.")]
#[case("## Don't\n\n- Don't add a global.", "Don't add a global.")]
#[case("## Avoid\n\n- macros", "Avoid macros.")]
#[case("## Never\n\n- Use Redis for caching.", "Never use Redis for caching.")]
#[case("## Avoid\n\n- Add macros", "Do not add macros.")]
#[case("## Anti-patterns\n\n- Logic in triggers. It hides.", "Avoid logic in triggers.")]
#[case("## Bad\n\n- Div with an `onClick`", "Avoid div with an `onClick`.")]
#[case("## Out of scope\n\n- Windows XP support", "Out of scope: Windows XP support.")]
#[case("## Not allowed\n\n- force pushes", "Not allowed: force pushes.")]
#[case("## Rejected\n\n- GitFlow: long-lived branches hide conflicts.", "Rejected: GitFlow.")]
#[case("## Don't\n\n### On hosts\n\n- install packages", "Do not install packages.")]
#[case("**Not allowed**\n\n- force pushes", "Not allowed: force pushes.")]
#[case("- Bad: casting to silence an error", "Avoid casting to silence an error.")]
#[case("- ✅ Good: write a type guard", "Write a type guard.")]
#[case("- ❌ `enum` for sets", "Avoid `enum` for sets.")]
#[case("- ~~Data is loaded by hand.~~", "No longer: data is loaded by hand.")]
#[case("- ~~Use yarn.~~ Use pnpm.", "Use pnpm.")]
#[case("- 3. Schema files live in `x`.", "Schema files live in `x`.")]
#[case("<rules>\n- Use tabs always.\n</rules>", "Use tabs always.")]
#[case("PRs are closed if they:\n\n- Touch many files", "PRs are closed if they touch many files.")]
#[case("| Use | Instead of |\n|---|---|\n| `a` | `b` |", "Use `a` instead of `b`.")]
#[case("| Rule | Why |\n|---|---|\n| Use CSS modules | globals leak |", "Use CSS modules.")]
#[case("API keys live in Vault. Never paste one into a PR.", "API keys: never paste one into a PR.")]
fn what_is_stored_says_what_the_document_says(#[case] text: &str, #[case] expected: &str) {
    assert_eq!(statements(text), [expected], "{text}");
}

#[test]
fn a_table_of_dos_and_donts_gives_both() {
    let text = "| Do | Don't |\n|---|---|\n| Export names | Use default exports |\n";
    let rules = parse("X.md", text).rules;
    let found: Vec<_> = rules.iter().map(|rule| (rule.statement.as_str(), rule.denied, rule.line)).collect();
    assert_eq!(found, [("Export names.", false, 3), ("Do not use default exports.", true, 3)]);
}

#[rstest::rstest]
#[case("Include:\n\n- what changed", "part of a template or an example")]
#[case("- Summary: <one sentence>", "a template to fill in")]
#[case("- Full integration architecture.", "not a rule")]
#[case("- Never paste one into a PR.", "incomplete without the previous sentence")]
#[case("- Skip in emergencies.", "incomplete without the previous sentence")]
#[case("## Ideas\n\n- Use Redis for everything.", "undecided")]
#[case("## Good and bad\n\n- Comment each query", "unclear whether “Good and bad” asserts or denies")]
#[case("<!-- ergo:begin (x) -->\n- Never store secrets.\n<!-- ergo:end -->", "written by ergo")]
#[case("<!-- ergo:claims:begin (x) -->\n- Use tabs. *Because:* y\n<!-- ergo:claims:end -->", "written by ergo")]
fn what_is_no_claim_is_left_out_and_reported(#[case] text: &str, #[case] expected: &str) {
    assert_eq!((statements(text), why(text)), (Vec::new(), vec![expected.to_owned()]), "{text}");
}

/// Returns the statements of the rules in a text with their lines and reasons, without the place that each reason ends with.
fn reasons(text: &str) -> Vec<(usize, String, String)> {
    let reason = |rule: &Rule| rule.reason.strip_suffix("Stated in X.md.").unwrap_or(&rule.reason).trim().to_owned();
    parse("X.md", text).rules.iter().map(|rule| (rule.line, rule.statement.clone(), reason(rule))).collect()
}

fn found(rules: &[(usize, &str, &str)]) -> Vec<(usize, String, String)> {
    rules.iter().map(|(line, statement, reason)| (*line, (*statement).to_owned(), (*reason).to_owned())).collect()
}

#[rstest::rstest]
// One sentence a line.
#[case(
    "Use PostgreSQL for storage.\nMongoDB keeps the sessions.\nNever log secrets.\n",
    &[(1, "Use PostgreSQL for storage.", ""), (2, "MongoDB keeps the sessions.", ""), (3, "Never log secrets.", "")],
    &[]
)]
// Lines without periods or without capital letters.
#[case(
    "Use strict TypeScript everywhere\nNo default exports\nPrefer composition over inheritance\nServer code\n",
    &[
        (1, "Use strict TypeScript everywhere.", ""),
        (2, "No default exports.", ""),
        (3, "Prefer composition over inheritance.", ""),
    ],
    &[4]
)]
#[case(
    "use tabs for indentation\nnever use spaces\nprefer short names\n",
    &[(1, "Use tabs for indentation.", ""), (2, "Never use spaces.", ""), (3, "Prefer short names.", "")],
    &[]
)]
// A line that says that it is a reason, is indented, or refers to the line before it belongs to that line.
#[case(
    "Use PostgreSQL for storage\nbecause it has transactions.\nNever log secrets.\nReason: logs must be readable.\n\
     Keep migrations small.\nThey have shipped.\nUse one queue\n  for all jobs.\n",
    &[
        (1, "Use PostgreSQL for storage.", "It has transactions."),
        (3, "Never log secrets.", "Reason: logs must be readable."),
        (5, "Keep migrations small.", "They have shipped."),
        (7, "Use one queue for all jobs.", ""),
    ],
    &[]
)]
// Long lines that each are a sentence, the longest of them first, and a wrapped one among them.
#[case(
    "Use PostgreSQL for everything that must survive a restart of the whole service.\n\
     MongoDB is kept for the sessions.\nNever log secrets, because they end up in files that\neveryone can read.\n\
     Tests must not sleep.\n",
    &[
        (1, "Use PostgreSQL for everything that must survive a restart of the whole service.", ""),
        (2, "MongoDB is kept for the sessions.", ""),
        (3, "Never log secrets.", "They end up in files that everyone can read."),
        (5, "Tests must not sleep.", ""),
    ],
    &[]
)]
// A wrapped paragraph stays whole, even if a sentence or a name begins a line.
#[case(
    "Never modify a migration that is on the main branch, since others have applied\n\
     it already and would have to repair their databases by hand. They have no time.\n\
     PostgreSQL does not forgive. Use the backup host if a repair cannot be put off to\nMonday morning.\n",
    &[
        (
            1,
            "Never modify a migration that is on the main branch, since others have applied it already and would \
             have to repair their databases by hand.",
            "They have no time. PostgreSQL does not forgive.",
        ),
        (3, "Use the backup host if a repair cannot be put off to Monday morning.", ""),
    ],
    &[]
)]
#[case("All services talk over TLS and must use\nPostgreSQL.\n", &[(1, "All services talk over TLS and must use PostgreSQL.", "")], &[])]
// A plain line below a list is not part of its last item.
#[case(
    "- Never log secrets.\nMongoDB keeps the sessions.\n- Use tabs,\n  as everyone does.\n",
    &[(1, "Never log secrets.", ""), (3, "Use tabs, as everyone does.", "")],
    &[2]
)]
// Labels introduce the lines below them.
#[case(
    "Never do any of these:\nCommit secrets\nPush to main\nTesting:\nUse vitest\n",
    &[(2, "Never commit secrets.", ""), (3, "Never push to main.", ""), (5, "Use vitest.", "")],
    &[]
)]
fn each_plain_line_stands_for_itself(
    #[case] text: &str,
    #[case] rules: &[(usize, &str, &str)],
    #[case] skipped: &[usize],
) {
    let lines: Vec<usize> = parse("X.md", text).skipped.iter().map(|skip| skip.line).collect();
    assert_eq!((reasons(text), lines), (found(rules), skipped.to_vec()), "{text}");
}

#[rstest::rstest]
#[case("- [ ] Use Redis for the sessions", "a to-do")]
#[case("- [ ] Not done: must add tests", "a to-do")]
#[case("[ ] Not done: must add tests", "a to-do")]
#[case("- Not done: must add tests", "unclear what “Do not” denies")]
fn an_open_task_is_not_a_rule(#[case] text: &str, #[case] expected: &str) {
    assert_eq!((statements(text), why(text)), (Vec::new(), vec![expected.to_owned()]), "{text}");
}

#[test]
fn the_items_below_an_open_task_are_parts_of_it_and_a_done_one_is_a_rule() {
    let text = "- [ ] Sessions:\n  - Use Redis\n- [x] Use PostgreSQL for orders\n";
    assert_eq!(statements(text), ["Use PostgreSQL for orders."]);
    assert_eq!(why(text), ["a to-do", "a to-do"]);
}

#[test]
fn a_rule_that_needs_the_previous_sentence_is_listed_if_it_becomes_a_reason() {
    let text = "- Use PostgreSQL for orders. Otherwise you must ask the team first.\n";
    assert_eq!(statements(text), ["Use PostgreSQL for orders."]);
    assert_eq!(why(text), [INCOMPLETE]);
}

#[test]
fn each_sentence_of_a_paragraph_is_a_rule_a_reason_or_listed() {
    let text = "Ops is run by Eve. We use PostgreSQL 16. Migrations must be reversible. Ops is run by Bob.\n";
    assert_eq!(
        reasons(text),
        found(&[(1, "We use PostgreSQL 16.", ""), (1, "Migrations must be reversible.", "Ops is run by Bob.")])
    );
    let skipped: Vec<_> = parse("X.md", text).skipped.into_iter().map(|skip| (skip.text, skip.why)).collect();
    assert_eq!(skipped, [("Ops is run by Eve.".to_owned(), NOT_A_RULE.to_owned())]);
}

#[test]
fn a_reason_says_which_file_it_is_from() {
    let reason = &parse("AGENTS.md", "# A\n\n- Never commit secrets.\n").rules[0].reason;
    assert!(is_from("AGENTS.md", reason) && !is_from("CLAUDE.md", reason));
    assert!(is_from("AGENTS.md", "Stated in AGENTS.md.") && !is_from("AGENTS.md", "Because I say so."));
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

#[test]
fn what_ergo_wrote_is_skipped_even_without_its_markers() {
    let text = "- Never commit secrets.\n\n## Active claims of acme/api (ergo)\n\n### Constraints\n\n\
        - Never deploy on Fridays. `0123456789`\n\n## Project memory: ergo\n\n- Never store secrets.\n\n## More\n\n\
        - Use tabs for indentation.\n";
    let found = parse("AGENTS.md", text);
    let statements: Vec<&str> = found.rules.iter().map(|rule| rule.statement.as_str()).collect();
    assert_eq!(statements, ["Never commit secrets.", "Use tabs for indentation."]);
    let skipped: Vec<(usize, &str)> = found.skipped.iter().map(|skip| (skip.line, skip.why.as_str())).collect();
    assert_eq!(skipped, [(7, "written by ergo"), (11, "written by ergo")]);
}

#[test]
fn what_a_file_says_of_its_project_before_all_else_is_no_rule() {
    let statements =
        |text: &str| -> Vec<String> { parse("CLAUDE.md", text).rules.into_iter().map(|rule| rule.statement).collect() };
    let (description, tabs) = ("Order service for the shop.", "Use tabs for indentation.");
    for title in ["", "# Shop\n\n"] {
        assert_eq!(statements(&format!("{title}{description}\n\n- {tabs}\n")), [tabs]);
        let text = format!("{title}{description} Never log card numbers.\n\n- {tabs}\n");
        assert_eq!(statements(&text), ["Never log card numbers.", tabs]);
    }
    assert_eq!(statements(&format!("# Shop\n\n{tabs}\n\nMore.\n")), [tabs], "an instruction opens a file, too");
    for elsewhere in
        [format!("# Shop\n\n- {tabs}\n\n{description}\n"), format!("# Shop\n\n## Rules\n\n{description}\n")]
    {
        assert!(statements(&elsewhere).contains(&description.to_owned()), "{elsewhere}");
    }
}
