use super::*;

fn shown(text: &str) -> String {
    match read(text) {
        Stance::Neutral => "plain".to_owned(),
        Stance::Unclear => "unclear".to_owned(),
        Stance::NoRules(why) => why.to_owned(),
        Stance::Lead(lead) => {
            let sign = if lead.against { '-' } else { '+' };
            let colon = if lead.join == Join::Label { ":" } else { "" };
            format!("{sign}{}{colon}", lead.words)
        }
    }
}

#[rstest::rstest]
#[case("What we won't accept", "-Not accepted:")]
#[case("What we won’t accept", "-Not accepted:")]
#[case("We do not accept:", "-Not accepted:")]
#[case("Don't", "-Do not")]
#[case("🚫 Don'ts", "-Avoid")]
#[case("⛔ Workflow", "unclear")]
#[case("Do NOT:", "-Do not")]
#[case("Avoid", "-Avoid")]
#[case("Things to avoid", "-Avoid")]
#[case("Avoid in modules", "-Avoid in modules:")]
#[case("3. Anti-patterns", "-Avoid")]
#[case("Common mistakes", "-Avoid")]
#[case("Bad", "-Avoid")]
#[case("Out of scope", "-Out of scope:")]
#[case("Non-goals", "-Out of scope:")]
#[case("Not allowed", "-Not allowed:")]
#[case("Never", "-Never")]
#[case("Never do any of these:", "-Never")]
#[case("We never", "-Never")]
#[case("Rejected", "-Rejected:")]
#[case("Pull requests that will be rejected", "-Rejected:")]
#[case("These are not accepted as baselines:", "-Not accepted as baselines:")]
#[case("Forbidden functions:", "-Forbidden functions:")]
#[case("What not to do", "-Do not")]
#[case("Things we do not do", "-Do not")]
#[case("Must not:", "-Must not")]
#[case("❌", "-Avoid")]
#[case("Do", "+Do:")]
#[case("Always", "+Always")]
#[case("You should:", "+You should")]
#[case("What we accept", "+Accepted:")]
#[case("✅ Preferred", "+Preferred:")]
#[case("Do's and don'ts", "unclear")]
#[case("Good and bad", "unclear")]
#[case("Don't repeat yourself", "unclear")]
#[case("Avoiding deadlocks", "unclear")]
#[case("Should we use dbt?", "asks a question")]
#[case("Ideas for later", "undecided")]
#[case("PR template", "a template")]
#[case("Testing", "plain")]
#[case("Handling of notes", "plain")]
#[case("Documentation", "plain")]
fn a_heading_gives_its_items_a_stance(#[case] text: &str, #[case] expected: &str) {
    assert_eq!(shown(text), expected, "{text}");
}

#[test]
fn a_mark_is_a_sign_and_leaves_the_words() {
    assert_eq!(split_mark("❌ Never"), (Some(false), "Never"));
    assert_eq!(split_mark("✅ `x`"), (Some(true), "`x`"));
    assert_eq!(split_mark("⚠️ careful"), (None, "careful"));
    assert_eq!(split_mark("Élan"), (None, "Élan"));
}
