//! The prefix of a prompt is cached on disk, so it must hold no text of a claim.

use std::collections::BTreeSet;

use ergo::{
    api::{AddRequest, ReadStoryRequest, RecallRequest, SnapshotQuery},
    domain::{
        Scope,
        pair_prompt::{PromptClaim, PromptPair},
    },
    engine::{deep_odds, norm_prompt},
    infer::{Call, FakeModels, ModelJudge, Models, Prompt},
};

use super::*;

const TEXTS: [&str; 3] = [
    "The zanzibar gateway must be written in Rust",
    "The zanzibar gateway must listen on port 8080",
    "The zanzibar gateway must keep logs for 30 days",
];

/// The prompts that a language model received.
type Prompts = Arc<Mutex<Vec<Prompt>>>;

fn recording(prompts: &Prompts) -> Arc<FakeModels> {
    let record = || {
        let prompts = Arc::clone(prompts);
        move |prompt: &Prompt| prompts.lock().unwrap().push(prompt.clone())
    };
    let (generated, answered, expected) = (record(), record(), record());
    Arc::new(
        FakeModels::new()
            .generating(move |prompt| {
                generated(prompt);
                Ok("[]".to_owned())
            })
            .answering(move |prompt, answers| {
                answered(prompt);
                Ok(vec![-1.0; answers.len()])
            })
            .expecting(move |prompt, _| {
                expected(prompt);
                Ok(vec![-1.0])
            }),
    )
}

#[test]
fn no_prefix_of_a_prompt_holds_the_text_of_a_claim() {
    let prompts = Prompts::default();
    let models = recording(&prompts);
    let judge = ModelJudge::Local(Arc::clone(&models) as Arc<dyn Models>);
    let fixture = Fixture::new();
    for text in TEXTS {
        fixture.remember(text, "the zanzibar team asked for it");
    }
    let (llm, judges) = (Arc::clone(&models), vec![judge.clone()]);
    let fixture = fixture.reopen_with_models_as(Guard::default(), llm, |config| config.judges = judges);
    let Caller { org_id, project, .. } = caller();
    let call = Call::foreground(std::time::Duration::from_secs(10));
    let claim = |text: &str| PromptClaim {
        kind: ClaimKind::Decision,
        statement: text.to_owned(),
        reason: None,
        day: "2026-03-01".into(),
        project: Some("zanzibar".into()),
    };
    let builders: [(&str, &dyn Fn()); 7] = [
        ("norm", &|| prompts.lock().unwrap().push(norm_prompt(TEXTS[0]).unwrap())),
        ("deep stage", &|| assert!(deep_odds(&*models, TEXTS[0], TEXTS[1], call).is_ok())),
        ("pair judge", &|| {
            let pair = PromptPair { newer: claim(TEXTS[0]), older: claim(TEXTS[1]) };
            judge.verdicts(&[pair], call).unwrap();
        }),
        ("story", &|| {
            while fixture.engine.read_stories().unwrap() {}
            let request = ReadStoryRequest { caller: caller(), ..ReadStoryRequest::default() };
            fixture.engine.read_story_for(&request).unwrap();
        }),
        ("sentences", &|| {
            let request = AddRequest { caller: caller(), text: TEXTS.join(". "), ..AddRequest::default() };
            fixture.engine.add(&request).unwrap();
        }),
        ("snapshot", &|| {
            let (org_id, project) = (org_id.clone(), project.clone());
            fixture.engine.snapshot(&SnapshotQuery { org_id, project, ..SnapshotQuery::default() }).unwrap();
            fixture.engine.lead_snapshot(&Scope::new("acme", "api").unwrap()).unwrap();
        }),
        ("recall filter", &|| {
            let (org_id, project, query) = (org_id.clone(), project.clone(), "zanzibar gateway".into());
            let request = RecallRequest { org_id, project, query, filter: true, ..RecallRequest::default() };
            fixture.engine.recall(&request).unwrap();
        }),
    ];
    let mut prefixes = BTreeSet::new();
    for (name, build) in builders {
        prompts.lock().unwrap().clear();
        build();
        let built = std::mem::take(&mut *prompts.lock().unwrap());
        let holds = |text: &str| text.to_lowercase().contains("zanzibar");
        assert!(built.iter().any(|prompt| holds(&prompt.text)), "{name}: {built:?}");
        for prompt in built {
            assert!(!prompt.prefix.iter().any(|turn| holds(&turn.text)), "{name}: {prompt:?}");
            prefixes.insert(prompt.prefix[0].text.clone());
        }
    }
    assert!(prefixes.len() >= builders.len(), "each has instructions of its own: {prefixes:#?}");
}
