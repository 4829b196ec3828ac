use serde_json::json;

use super::*;
use crate::cli::commit_check::git_diff;

/// A constraint with one norm; the guard reads a prohibition in each of the statements here.
fn claim(statement: &str, norm: serde_json::Value) -> ClaimView {
    let value = json!({
        "id": "ab".repeat(32), "scope": {"org_id": "a", "project": "b"}, "kind": "constraint", "status": "active",
        "statement": statement, "reason": "Because.", "source": null, "who": "ada", "agent": null, "norms": [norm],
        "device": "11".repeat(32), "at": 0, "key": null, "rev": 1,
    });
    serde_json::from_value(value).unwrap()
}

fn forbids(statement: &str) -> ClaimView {
    claim(statement, json!({"modality": "must_not", "subject": "x"}))
}

fn change(path: &str, line: &str) -> Vec<ChangedFile> {
    git_diff::read(&format!("--- a/{path}\n+++ b/{path}\n@@ -0,0 +7 @@\n+{line}\n")).unwrap()
}

fn violations(claim: &ClaimView, files: &[ChangedFile]) -> Vec<ConstraintViolation> {
    ConstraintCheck::of(claim, files, "2026-03-01").map(|check| check.violations(files)).unwrap_or_default()
}

#[rstest::rstest]
#[case("package.json", r#"    "lodash": "^4.17.0","#, true)]
#[case("Cargo.toml", "lodash = \"1\"", true)]
#[case("requirements-dev.txt", "lodash==1.2", true)]
#[case("package.json", r#"    "lodash-es": "^4","#, false)]
#[case("Cargo.toml", "# lodash is gone", false)]
#[case("src/a.js", "import lodash from 'lodash'", false)]
fn a_package_that_must_not_be_used(#[case] path: &str, #[case] line: &str, #[case] broken: bool) {
    let found = violations(&forbids("Never use lodash."), &change(path, line));
    assert_eq!(!found.is_empty(), broken, "{found:?}");
    assert!(found.iter().all(|violation| violation.line == Some(7) && violation.why.contains("lodash")));
}

#[rstest::rstest]
#[case("Never use left-pad.", "left-pad")]
#[case("Never use lodash-es.", "lodash-es")]
#[case("Never use openssl-sys.", "openssl-sys")]
#[case("Never use serde_yaml.", "serde_yaml")]
#[case("Never use @scope/pkg.", "@scope/pkg")]
#[case("moment is forbidden.", "moment")]
#[case("moment and left-pad are not allowed.", "left-pad")]
#[case("The moment library must not be used.", "moment")]
#[case("Never depend on moment.", "moment")]
#[case("Do not use the moment package.", "moment")]
#[case("Do not add new dependencies on openssl-sys.", "openssl-sys")]
#[case("Dependencies such as left-pad are forbidden.", "left-pad")]
#[case("Avoid the lodash package.", "lodash")]
#[case("Never use moment or lodash.", "lodash")]
#[case("Use lodash-es, never lodash.", "lodash")]
#[case("Don't use lodash, use lodash-es.", "lodash")]
#[case("Do not import `left-pad`.", "left-pad")]
#[case("Never add `left-pad` as a dependency.", "left-pad")]
#[case("Do not add `@scope/pkg` to our dependencies, because it is slow.", "@scope/pkg")]
#[case("`left-pad` must not be added as a new dependency.", "left-pad")]
#[case("Never add left-pad as a dependency.", "left-pad")]
#[case("We no longer use jquery.", "jquery")]
#[case("Agents are not allowed to install left-pad.", "left-pad")]
fn packages_in_many_words(#[case] statement: &str, #[case] package: &str) {
    let claim = forbids(statement);
    for line in [format!(r#""{package}": "1""#), format!("{package} = \"1\"")] {
        assert_eq!(violations(&claim, &change("package.json", &line)).len(), 1, "{statement} {line}");
    }
    for line in [format!(r#""{package}-x": "1""#), r#""lodash-fp": "1""#.to_owned(), r#""tracing": "1""#.to_owned()] {
        assert_eq!(violations(&claim, &change("package.json", &line)), [], "{statement} {line}");
    }
}

#[rstest::rstest]
#[case("Do not use `unwrap` outside tests.", "src/a.rs", "x.unwrap();", true)]
#[case("Do not use `unwrap` outside tests.", "src/a.rs", "x.unwrap_or(1);", false)]
#[case("Do not use `unwrap` outside tests.", "tests/it/a.rs", "x.unwrap();", false)]
#[case("Do not use `unwrap` outside tests.", "src/store_test.go", "x.unwrap();", false)]
#[case("Do not use `unwrap` outside tests.", "src/latest.rs", "x.unwrap();", true)]
#[case("Do not use `unwrap` outside tests.", "src/attestation.rs", "x.unwrap();", true)]
#[case("Do not use `unwrap` outside tests.", "README.md", "never `unwrap`", false)]
#[case("Outside tests, never use `unwrap`.", "tests/a.rs", "x.unwrap();", false)]
#[case("Never use `unwrap` (except in `benches/` and test code).", "benches/a.rs", "x.unwrap();", false)]
#[case("Never use `unwrap` (except in `benches/` and test code).", "tests/a.rs", "x.unwrap();", false)]
#[case("Never use `unwrap` (except in `benches/` and test code).", "src/a.rs", "x.unwrap();", true)]
#[case("Never use `unwrap` except for tests.", "src/format.rs", "x.unwrap();", true)]
#[case("Never use `unwrap` except for tests.", "platform/tests/a.rs", "x.unwrap();", false)]
#[case("Use `thiserror`, never `anyhow`.", "src/a.rs", "use thiserror::Error;", false)]
#[case("Use `thiserror`, never `anyhow`.", "src/a.rs", "use anyhow::Result;", true)]
#[case("Do not use `println!`; use `tracing` instead.", "src/a.rs", "tracing::info!();", false)]
#[case("Do not use `println!`; use `tracing` instead.", "src/a.rs", "println!();", true)]
#[case("Use `tracing` instead of `println!`.", "src/a.rs", "println!();", true)]
#[case("Use `tracing` instead of `println!`.", "src/a.rs", "tracing::info!();", false)]
#[case("Never use `eval`, because `Function` does the same.", "a.js", "Function(x)", false)]
#[case("`unwrap` and `expect` must not be used in `src/daemon/`.", "src/daemon/a.rs", "x.expect(y)", true)]
#[case("`unwrap` and `expect` must not be used in `src/daemon/`.", "src/cli/a.rs", "x.expect(y)", false)]
#[case("The use of `eval` is forbidden.", "a.js", "eval(x)", true)]
#[case("No `dbg!` in commits.", "a.rs", "dbg!(x)", true)]
#[case("Avoid using `eval`.", "a.js", "eval(x)", true)]
#[case("`domain` must not import `store`.", "src/domain/a.rs", "use crate::store;", true)]
#[case("`domain` must not import `store`.", "src/engine/a.rs", "use crate::{domain, store};", false)]
#[case("Tests must not use `sleep`.", "src/a.rs", "sleep(1)", false)]
#[case("Tests must not use `sleep`.", "tests/a.rs", "sleep(1)", true)]
#[case("In tests, never use `sleep`.", "src/a.rs", "sleep(1)", false)]
#[case("In tests, never use `sleep`.", "tests/a.rs", "sleep(1)", true)]
#[case("Tests use `clock`, never `sleep`.", "src/a.rs", "sleep(1)", false)]
#[case("Never use `lodash`.", "package.json", "\"lodash-es\": \"1\"", false)]
#[case("Never use `.unwrap()`.", "src/a.rs", "x.unwrap();", true)]
#[case("Never use `requests`.", "a.py", "# We do not use requests any more.", false)]
#[case("Never use `requests`.", "a.py", "import requests  # for now", true)]
#[case("Never use `requests`.", "a.py", "import httpx  # not requests", false)]
#[case("Never use `lodash`.", "a.js", "import x from 'lodash'", true)]
#[case("Never use `@ts-ignore`.", "a.ts", "// @ts-ignore: later", true)]
#[case("Never add `lodash` as a dependency.", "src/a.js", "import lodash from 'lodash'", false)]
#[case("Do not add `lodash` to the dependencies in `web/`.", "web/package.json", "\"lodash\": \"1\"", true)]
#[case("Do not add `lodash` to the dependencies in `web/`.", "package.json", "\"lodash\": \"1\"", false)]
#[case("TypeScript must not use `any`.", "src/a.ts", "let x: any = y;", true)]
#[case("TypeScript must not use `any`.", "web/a.tsx", "let x: any = y;", true)]
#[case("TypeScript must not use `any`.", "src/a.rs", "cfg!(any(unix))", false)]
#[case("TypeScript must not use `any`.", "typescript/a.js", "Promise.any(x)", false)]
#[case("TypeScript code must not use `any` outside tests.", "tests/a.ts", "let x: any = y;", false)]
#[case("Do not use `@ts-nocheck` in TypeScript.", "src/a.ts", "// @ts-nocheck", true)]
#[case("Do not use `@ts-nocheck` in TypeScript.", "src/a.js", "// @ts-nocheck", false)]
#[case("Never use `print` except in Python.", "a.py", "print(x)", false)]
#[case("Never use `print` except in Python.", "a.lua", "print(x)", true)]
#[case("Never use `eval` in `python`.", "src/a.py", "eval(x)", false)]
#[case("Never use `TODO`.", "a.rs", "x(); // TODO", true)]
#[case("Never use `TODO`.", "a.rs", "x(); // TODOs are elsewhere", false)]
fn code_that_must_not_be_written(
    #[case] statement: &str,
    #[case] path: &str,
    #[case] line: &str,
    #[case] broken: bool,
) {
    let found = violations(&forbids(statement), &change(path, line));
    assert_eq!(!found.is_empty(), broken, "{found:?}");
}

#[rstest::rstest]
#[case("Do not use `unwrap` outside tests.", "mod tests {", false)]
#[case("Do not use `unwrap` outside tests.", "mod attestation {", true)]
#[case("Do not use `unwrap` outside tests.", "fn tests() {", true)]
#[case("Do not use `unwrap` outside `benches/`.", "mod tests {", true)]
fn a_module_within_a_file_is_a_place(#[case] statement: &str, #[case] section: &str, #[case] broken: bool) {
    let diff = format!("--- a/src/a.rs\n+++ b/src/a.rs\n@@ -6,0 +7 @@ {section}\n+    x.unwrap();\n");
    let found = violations(&forbids(statement), &git_diff::read(&diff).unwrap());
    assert_eq!(!found.is_empty(), broken, "{found:?}");
}

#[rstest::rstest]
#[case("Never edit files under vendor/.", "vendor/a/b.c", true)]
#[case("Never edit files under vendor/.", "src/vendor.rs", false)]
#[case("Files under `gen/` must never be edited by hand.", "gen/a.rs", true)]
#[case("`vendor/` must not be changed.", "vendor/a", true)]
#[case("Changes to `vendor/` are forbidden.", "vendor/a", true)]
#[case("Do not commit `*.sql` files.", "db/dump.sql", true)]
#[case("Do not commit `*.sql` files.", "db/dump.sql.rs", false)]
#[case("Never commit `.env`.", "app/.env", true)]
#[case("Never edit `Cargo.lock`.", "Cargo.lock", true)]
#[case("Never change `docs/adr/*`.", "docs/adr/1.md", true)]
#[case("Never change `docs/adr/*`.", "docs/a.md", false)]
#[case("Never change `docs/adr`.", "docs/adr/1.md", true)]
#[case("Never use `unwrap` in `src/daemon/`.", "src/daemon/a.rs", false)]
#[case("Never commit secrets to `config/`.", "config/a.toml", false)]
#[case("Never change the port in `config/prod.yaml`.", "config/prod.yaml", false)]
fn a_file_that_must_not_be_touched(#[case] statement: &str, #[case] path: &str, #[case] broken: bool) {
    let found = violations(&forbids(statement), &change(path, "x"));
    assert_eq!(!found.is_empty(), broken, "{found:?}");
    assert!(found.iter().all(|violation| violation.line.is_none()));
}

/// The diff of a file that is moved, of which each line is indented.
fn moved(from: &str, to: &str, line: &str) -> String {
    format!(
        "diff --git a/{from} b/{from}\ndeleted file mode 100644\n--- a/{from}\n+++ /dev/null\n@@ -1 +0,0 @@\n-{line}\n\
         diff --git a/{to} b/{to}\nnew file mode 100644\n--- /dev/null\n+++ b/{to}\n@@ -0,0 +1 @@\n+  {line}\n"
    )
}

#[rstest::rstest]
#[case("Never use `unwrap`.", "src/a.rs", "src/b.rs", "x.unwrap();", false)]
#[case("Never use `unwrap` outside tests.", "tests/a.rs", "src/a.rs", "x.unwrap();", true)]
#[case("Never use `unwrap` in `src/daemon/`.", "src/cli/a.rs", "src/daemon/a.rs", "x.unwrap();", true)]
#[case("Never use `unwrap` in `src/daemon/`.", "src/daemon/a.rs", "src/daemon/b.rs", "x.unwrap();", false)]
#[case("Never use lodash.", "package.json", "web/package.json", "\"lodash\": \"1\"", false)]
#[case("Never use lodash.", "lodash.txt", "package.json", "\"lodash\": \"1\"", true)]
fn a_line_that_moves_is_a_violation_only_if_it_was_none_before(
    #[case] statement: &str,
    #[case] from: &str,
    #[case] to: &str,
    #[case] line: &str,
    #[case] broken: bool,
) {
    let found = violations(&forbids(statement), &git_diff::read(&moved(from, to, line)).unwrap());
    assert_eq!(!found.is_empty(), broken, "{found:?}");
    assert!(found.iter().all(|violation| violation.file == to));
}

#[test]
fn a_removed_line_outweighs_only_one_added_line() {
    let diff = moved("a.rs", "b.rs", "x.unwrap();") + "--- a/c.rs\n+++ b/c.rs\n@@ -0,0 +7 @@\n+x.unwrap();\n";
    let found = violations(&forbids("Never use `unwrap`."), &git_diff::read(&diff).unwrap());
    assert_eq!(found.len(), 1, "{found:?}");
}

#[rstest::rstest]
#[case("Never commit files under `web/dist`.", "web/dist/a.js", "web/src/a.js", &[])]
#[case("Never commit files under `web/dist`.", "web/src/a.js", "web/dist/a.js", &["web/dist/a.js"])]
#[case("Do not add files to vendor/.", "vendor/a.c", "a.c", &[])]
#[case("`*.sql` files must not be committed.", "dump.sql", "dump.rs", &[])]
#[case("Never edit files under vendor/.", "vendor/a.c", "a.c", &["vendor/a.c"])]
#[case("Never edit files under vendor/.", "vendor/a.c", "vendor/b.c", &["vendor/a.c", "vendor/b.c"])]
#[case("Never delete `docs/adr/*`.", "docs/adr/1.md", "docs/1.md", &["docs/adr/1.md"])]
fn a_file_that_must_not_be_added_may_be_deleted(
    #[case] statement: &str,
    #[case] from: &str,
    #[case] to: &str,
    #[case] broken: &[&str],
) {
    let found = violations(&forbids(statement), &git_diff::read(&moved(from, to, "x")).unwrap());
    let files: Vec<_> = found.iter().map(|violation| violation.file.as_str()).collect();
    assert_eq!(files, broken, "{found:?}");
}

#[rstest::rstest]
#[case("Never use global variables.")]
#[case("Never use moment or other date libraries with plugins.")]
#[case("Never commit without `make test`.")]
#[case("Never use `unwrap` without a comment.")]
#[case("Never use `unwrap` if the value comes from outside.")]
#[case("Never use `unwrap` unless the value is constant.")]
#[case("Never use `println!` for logging.")]
#[case("Never use `unwrap` in code that can panic.")]
#[case("Never return `null`.")]
#[case("Never remove `#[must_use]`.")]
#[case("For errors, never use `anyhow`.")]
#[case("Pure modules of the core must not use `SystemTime`.")]
#[case("The daemon must not use `println!`.")]
#[case("A handler need not use `unwrap`.")]
#[case("`unwrap` is not forbidden.")]
#[case("Never use `npm` as a dependency manager.")]
#[case("Never add `lodash` as a dependency of the core.")]
#[case("Never remove `lodash` as a dependency.")]
#[case("Never use `any` in TypeScript tests.")]
#[case("Do not guess.")]
#[case("Dependencies under the GPL are forbidden.")]
#[case("Only `cli` may use `println!`.")]
fn what_cannot_be_checked_is_not_counted_as_checked(#[case] statement: &str) {
    let files = change("src/a.rs", "x");
    let check = ConstraintCheck::of(&forbids(statement), &files, "2026-03-01").err();
    assert_eq!(check, Some(NotChecked::NotComparable), "{statement}");
}

#[test]
fn a_word_names_a_place_if_a_changed_file_is_in_it() {
    let claim = forbids("The daemon must not use `println!`.");
    assert_eq!(violations(&claim, &change("src/daemon/a.rs", "println!()")).len(), 1);
    let elsewhere = change("src/cli/a.rs", "println!()");
    assert!(ConstraintCheck::of(&claim, &elsewhere, "2026-03-01").is_err());
}

#[rstest::rstest]
#[case("must", "8080", "api.yaml", "port: 9090", true)]
#[case("must", "8080", "compose.yaml", "API_PORT=9090", true)]
#[case("must", "8080", "compose.yaml", "api_port: 9090", true)]
#[case("must", "8080", "main.ts", "const apiPort = 9090;", true)]
#[case("must", "8080", "compose.yaml", "API_PORT=8080", false)]
#[case("must", "8080", "compose.yaml", "-e DB_PORT=5432 -e API_PORT=9090", true)]
#[case("must", "8080", "compose.yaml", "-e DB_PORT=5432 -e API_PORT=8080", false)]
#[case("must", "8080", "compose.yaml", "WEB_API_PORT=9090", false)]
#[case("must", "8080", "compose.yaml", "GRAPI_PORT=9090", false)]
#[case("must", "8080", "compose.yaml", "PORT=9090", false)]
#[case("must", "8080", "compose.yaml", "api: --port 9090", true)]
#[case("must", "8080", "api.yaml", "containerPort: 9090", true)]
#[case("must", "8080", "api.yaml", "ports: [9090]", true)]
#[case("must", "8080", "api.yaml", "port: 8080", false)]
#[case("must", "8080", "web.yaml", "port: 9090", false)]
#[case("must", "8080", "api.yaml", "# port: 9090", false)]
#[case("must", "8080", "api.ts", "import a from \"b10\"", false)]
#[case("must", "8080", "api.ts", "support 10 viewports, report 20", false)]
#[case("must_not", "22", "web.yaml", "port: 22", true)]
#[case("must_not", "22", "web.yaml", "SSH_PORT=22", true)]
#[case("must_not", "22", "web.yaml", "port: 2222", false)]
fn a_port_that_is_another(
    #[case] modality: &str,
    #[case] port: &str,
    #[case] path: &str,
    #[case] line: &str,
    #[case] broken: bool,
) {
    let norm =
        json!({"modality": modality, "subject": "api", "attribute": "listen port", "value": port, "words": ["API"]});
    let found = violations(&claim("The API listens on this port.", norm), &change(path, line));
    assert_eq!(!found.is_empty(), broken, "{found:?}");
}

#[test]
fn a_constraint_with_an_exception_names_it() {
    let mut claim = forbids("Never use lodash.");
    let beside = |relation: &str| {
        let value = json!({
            "relation": relation, "claim": "cd".repeat(32), "statement": "The kiosk uses lodash.", "reason": "Old.",
            "who": "ada", "at": 0,
        });
        serde_json::from_value(value).unwrap()
    };
    claim.beside = vec![beside("compatible"), beside("exception")];
    let found = violations(&claim, &change("package.json", "\"lodash\": \"4\""));
    assert_eq!((found.len(), found[0].exceptions.len()), (1, 1), "{found:?}");
    assert_eq!(found[0].exceptions[0].relation, BesideRelation::Exception);
}

#[rstest::rstest]
#[case(json!({}), true)]
#[case(json!({"valid_from": "2026-03-01"}), true)]
#[case(json!({"valid_from": "2025-01-01", "valid_until": "2027-01-01"}), true)]
#[case(json!({"valid_from": "2026-03-02"}), false)]
#[case(json!({"env": "prod"}), false)]
#[case(json!({"team": "core"}), false)]
#[case(json!({"tenant": "acme", "valid_from": "2025-01-01"}), false)]
fn a_constraint_is_checked_once_it_holds_for_the_whole_repository(
    #[case] qualifiers: serde_json::Value,
    #[case] checkable: bool,
) {
    let skipped = |claim: &ClaimView| ConstraintCheck::of(claim, &[], "2026-03-01").err();
    let mut only = forbids("Never use lodash.");
    only.qualifiers = serde_json::from_value(qualifiers).unwrap();
    assert_eq!(skipped(&only), (!checkable).then_some(NotChecked::Limited));
    only.flags.expired = true;
    assert_eq!(skipped(&only), Some(NotChecked::Limited));
}

#[test]
fn a_statement_that_limits_itself_to_an_environment_is_not_checked() {
    let norm = json!({"modality": "must_not", "subject": "debug", "scope": {"env": "prod"}});
    let check = ConstraintCheck::of(&claim("Never use `debug` in production.", norm), &[], "2026-03-01").err();
    assert_eq!(check, Some(NotChecked::Limited));
}

#[test]
fn of_one_constraint_only_the_first_violations_are_reported() {
    let many: String = (0..50).map(|_| "+lodash = 1\n").collect();
    let files = git_diff::read(&format!("--- a/Cargo.toml\n+++ b/Cargo.toml\n@@ -0,0 +1,50 @@\n{many}")).unwrap();
    assert_eq!(violations(&forbids("Never use lodash."), &files).len(), MAX_VIOLATIONS);
}
