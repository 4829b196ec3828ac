//! Explains why a search found a claim: where its words are, compared by the stems of the text index.

use crate::{
    api::{ClaimView, RecallAnswer, RecallHit, RecallVerdict},
    domain::text::stems,
};

/// From how many letters the last word of a search also finds longer words; as in the daemon.
const MIN_PREFIX: usize = 3;

/// The least cosine similarity that is mentioned, and by which a claim with none of the words is shown; less counts as
/// unrelated.
pub const MIN_SIMILARITY: f32 = 0.3;

/// The most hits that are kept of several scopes together.
const MAX_MERGED_HITS: usize = 30;

/// The words of a search.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SearchWords(Vec<Word>);

#[derive(Clone, Debug, PartialEq, Eq)]
struct Word {
    typed: String,
    stem: String,
    /// Whether the word may still be typed: then longer words match too.
    may_grow: bool,
}

impl Word {
    fn matches(&self, token: &str, stem: &str) -> bool {
        self.stem == stem || (self.may_grow && token.starts_with(&self.typed))
    }
}

/// Splits a text into runs of letters and digits, and what is between them.
fn parts(text: &str) -> impl Iterator<Item = &str> {
    let mut rest = text;
    std::iter::from_fn(move || {
        let in_word = rest.chars().next()?.is_alphanumeric();
        let end = rest.find(|c: char| c.is_alphanumeric() != in_word).unwrap_or(rest.len());
        let (part, after) = rest.split_at(end);
        rest = after;
        Some(part)
    })
}

fn stem(token: &str) -> String {
    stems(token).concat()
}

impl SearchWords {
    /// Parses the words of a search, as typed so far.
    pub fn of(search: &str) -> Self {
        let typing = search.ends_with(char::is_alphanumeric);
        let mut words: Vec<Word> = Vec::new();
        for part in parts(search).filter(|part| part.starts_with(char::is_alphanumeric)) {
            let typed = part.to_lowercase();
            let stem = stem(&typed);
            words.retain(|word| word.stem != stem);
            words.push(Word { typed, stem, may_grow: false });
        }
        if let Some(last) = words.last_mut().filter(|last| typing && last.typed.chars().count() >= MIN_PREFIX) {
            last.may_grow = true;
        }
        Self(words)
    }

    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    fn has(&self, part: &str) -> bool {
        let token = part.to_lowercase();
        part.starts_with(char::is_alphanumeric) && self.matching_word(&token).is_some()
    }

    fn matching_word(&self, token: &str) -> Option<&Word> {
        let stem = stem(token);
        self.0.iter().find(|word| word.matches(token, &stem))
    }

    /// Splits a text into runs, each with whether it is one of the words.
    pub fn runs(&self, text: &str) -> Vec<(String, bool)> {
        let mut runs: Vec<(String, bool)> = Vec::new();
        for part in parts(text) {
            let hit = !self.is_empty() && self.has(part);
            match runs.last_mut() {
                Some((run, false)) if !hit => run.push_str(part),
                _ => runs.push((part.to_owned(), hit)),
            }
        }
        runs
    }

    /// Returns the words that are in a text, as they were typed.
    fn words_in(&self, text: &str) -> Vec<&str> {
        let mut seen: Vec<&str> = Vec::new();
        for part in parts(text).filter(|part| part.starts_with(char::is_alphanumeric)) {
            if let Some(word) = self.matching_word(&part.to_lowercase())
                && !seen.contains(&word.typed.as_str())
            {
                seen.push(&word.typed);
            }
        }
        seen
    }

    /// Whether every word is in one of these texts; `false` if there are no words.
    pub fn all_in<'a>(&self, texts: impl IntoIterator<Item = &'a str>) -> bool {
        let mut missing: Vec<&Word> = self.0.iter().collect();
        for part in texts.into_iter().flat_map(parts).filter(|part| part.starts_with(char::is_alphanumeric)) {
            let token = part.to_lowercase();
            let stem = stem(&token);
            missing.retain(|word| !word.matches(&token, &stem));
        }
        !self.is_empty() && missing.is_empty()
    }

    /// Says for a list where the words are; empty if one of them is in the statement, which the list shows.
    pub fn elsewhere(&self, claim: &ClaimView) -> &'static str {
        let here = |text: Option<&str>| text.is_some_and(|text| !self.words_in(text).is_empty());
        if self.is_empty() || here(Some(&claim.statement)) {
            ""
        } else if here(claim.reason.as_deref()) {
            "in its reason"
        } else if here(claim.source.as_deref()) {
            "in its source"
        } else {
            ""
        }
    }

    /// Says in one sentence why a claim was found: its words and where they are, related words that led to it, and its
    /// similarity. Empty if there is nothing to say.
    pub fn why(&self, claim: &ClaimView, hit: Option<&RecallHit>) -> String {
        let mut parts = Vec::new();
        let mut named = Vec::new();
        let places = [
            ("statement", Some(claim.statement.as_str())),
            ("reason", claim.reason.as_deref()),
            ("source", claim.source.as_deref()),
        ];
        let mut found: Vec<(Vec<&str>, Vec<&str>)> = Vec::new();
        for (place, text) in places {
            let words = self.words_in(text.unwrap_or_default());
            match found.iter_mut().find(|(own, _)| *own == words) {
                Some((_, places)) => places.push(place),
                None if !words.is_empty() => found.push((words, vec![place])),
                None => {}
            }
        }
        for (words, places) in found {
            let places = match places.split_last() {
                Some((last, rest)) if !rest.is_empty() => format!("{} and {last}", rest.join(", ")),
                _ => places.concat(),
            };
            parts.push(format!("“{}” in its {places}", words.join("”, “")));
            named.extend(words);
        }
        if let Some(hit) = hit {
            let through: Vec<&str> =
                hit.words.iter().map(String::as_str).filter(|word| !named.contains(word)).collect();
            if !through.is_empty() {
                let related = if through.len() == 1 { "a related word" } else { "related words" };
                parts.push(format!("“{}” by {related}", through.join("”, “")));
            }
            match hit.cosine {
                Some(cosine) if cosine >= MIN_SIMILARITY => parts.push(format!("similarity {cosine:.2}")),
                Some(cosine) if parts.is_empty() => {
                    parts.push(format!("closest match, but similarity only {:.2}", cosine.max(0.0)));
                }
                _ => {}
            }
        }
        parts.join("; ")
    }
}

/// Whether a hit matches what was asked, by a word or in meaning.
pub fn is_alike(hit: &RecallHit) -> bool {
    !hit.words.is_empty() || hit.cosine.is_some_and(|cosine| cosine >= MIN_SIMILARITY)
}

/// Merges the answers of several scopes, active claims first, then the best. The scores of scopes can be compared,
/// because they are computed in the same way.
pub fn merge(answers: Vec<RecallAnswer>) -> RecallAnswer {
    let mut all = RecallAnswer::default();
    for answer in answers {
        all.method = answer.method;
        all.by_meaning |= answer.by_meaning;
        if answer.probability > all.probability || answer.verdict == RecallVerdict::Known {
            all.verdict = if all.verdict == RecallVerdict::Known { all.verdict } else { answer.verdict };
        }
        all.probability = all.probability.max(answer.probability);
        all.hits.extend(answer.hits);
    }
    let past = |hit: &RecallHit| hit.claim.status != crate::domain::Status::Active;
    all.hits.sort_by(|a, b| past(a).cmp(&past(b)).then(b.score.total_cmp(&a.score)));
    all.hits.truncate(MAX_MERGED_HITS);
    all
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tui::sample::claim;

    fn marked(search: &str, text: &str) -> Vec<String> {
        SearchWords::of(search).runs(text).into_iter().filter(|(_, hit)| *hit).map(|(run, _)| run).collect()
    }

    #[test]
    fn words_are_found_by_their_stems_and_the_last_one_as_it_is_typed() {
        assert_eq!(
            marked("deploy fridays", "Deployments, each Friday: deploy-once"),
            ["Deployments", "Friday", "deploy"]
        );
        assert_eq!(marked("cana", "The canary"), ["canary"]);
        assert_eq!(marked("cana ", "The canary"), Vec::<String>::new(), "the word is whole");
        assert_eq!(marked("ca", "The canary, a ca"), ["ca"], "too short to stand for others");
        assert_eq!(marked("", "The canary"), Vec::<String>::new());
        assert_eq!(marked("配備", "決定：配備"), ["配備"]);
    }

    #[test]
    fn every_word_must_stand_somewhere() {
        let words = SearchWords::of("deploy fri");
        assert!(words.all_in(["Deployments", "not on Fridays"]));
        assert!(!words.all_in(["Deployments"]) && !words.all_in([]) && !SearchWords::of("").all_in(["a"]));
    }

    #[test]
    fn nothing_of_a_text_is_lost_in_its_runs() {
        for text in ["", "The canary is blue.", "…é—ü…", "a\u{202e}b"] {
            let whole: String = SearchWords::of("canary é").runs(text).into_iter().map(|(run, _)| run).collect();
            assert_eq!(whole, text);
        }
    }

    #[test]
    fn what_was_found_says_why() {
        let claim = claim(1, "The canary is blue");
        let words = SearchWords::of("canary users tenth");
        assert_eq!(words.why(&claim, None), "“canary” in its statement and source; “tenth”, “users” in its reason");
        assert_eq!(SearchWords::of("canary ").why(&claim, None), "“canary” in its statement and source");
        assert_eq!(words.elsewhere(&claim), "");
        assert_eq!(SearchWords::of("tenth").elsewhere(&claim), "in its reason");
        assert_eq!(SearchWords::of("adr").elsewhere(&claim), "in its source");
        let hit = RecallHit {
            claim: claim.clone(),
            score: 1.0,
            cosine: Some(0.814),
            words: vec!["rollout".into()],
            verdict: None,
        };
        let explanation = SearchWords::of("rollout").why(&claim, Some(&hit));
        assert_eq!(explanation, "“rollout” by a related word; similarity 0.81");
        let far = |words: &[&str]| {
            let words = words.iter().map(|word| (*word).to_owned()).collect();
            SearchWords::of("zebra").why(&claim, Some(&RecallHit { cosine: Some(-0.04), words, ..hit.clone() }))
        };
        assert_eq!(far(&[]), "closest match, but similarity only 0.00");
        assert_eq!(far(&["zebra"]), "“zebra” by a related word");
    }

    #[test]
    fn answers_of_several_scopes_are_one_with_the_past_last() {
        let hit = |n, score| RecallHit { claim: claim(n, "x"), score, cosine: None, words: vec![], verdict: None };
        let mut past = hit(9, 9.0);
        past.claim.status = crate::domain::Status::Superseded;
        let one = RecallAnswer { hits: vec![hit(1, 0.9), hit(2, 0.2)], ..Default::default() };
        let two = RecallAnswer { hits: vec![past, hit(3, 0.5)], verdict: RecallVerdict::Known, ..one.clone() };
        let all = merge(vec![one, two]);
        let order: Vec<_> = all.hits.iter().map(|hit| hit.claim.id).collect();
        assert_eq!(order, [1, 3, 2, 9].map(crate::tui::sample::id));
        assert_eq!(all.verdict, RecallVerdict::Known);
    }
}
