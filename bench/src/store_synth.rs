//! Made-up claims for measurements: numbered, always the same, and without contradictions. Words are shared as in real
//! projects, where some occur in every twentieth claim and most are rare.

/// Words that the guard does not take for alternatives of each other, so that no two subjects seem to be the same.
const QUALITIES: [&str; 40] = [
    "acacia", "alder", "aspen", "bamboo", "baobab", "beech", "birch", "cedar", "cherry", "cypress", "ebony", "elder",
    "elm", "fir", "hazel", "hemlock", "hickory", "holly", "juniper", "larch", "laurel", "linden", "maple", "oak",
    "olive", "palm", "pear", "pine", "poplar", "redwood", "rowan", "spruce", "sycamore", "tamarack", "teak", "walnut",
    "willow", "yew", "rosewood", "mahogany",
];

const THINGS: [&str; 50] = [
    "archive",
    "auction",
    "badge",
    "basket",
    "billing",
    "booking",
    "cache",
    "calendar",
    "catalog",
    "checkout",
    "cluster",
    "console",
    "courier",
    "crawler",
    "dashboard",
    "exporter",
    "forecast",
    "gateway",
    "importer",
    "indexer",
    "invoice",
    "ledger",
    "library",
    "loader",
    "mailer",
    "market",
    "metrics",
    "notifier",
    "orders",
    "parser",
    "payroll",
    "planner",
    "portal",
    "pricing",
    "profile",
    "proxy",
    "queue",
    "ranking",
    "registry",
    "replica",
    "report",
    "router",
    "scheduler",
    "search",
    "session",
    "settlement",
    "shipping",
    "storage",
    "tracker",
    "wallet",
];

const PARTS: [&str; 10] =
    ["api", "worker", "module", "plugin", "service", "job", "daemon", "agent", "bridge", "adapter"];

/// Verb, value, and a value that contradicts it.
const RULES: [(&str, &str, &str); 6] = [
    ("must use a", "blue canary", "red canary"),
    ("must listen on port", "8080", "9090"),
    ("must keep logs for", "30 days", "90 days"),
    ("must run on", "Postgres", "MySQL"),
    ("must retry at most", "3 times", "12 times"),
    ("must be written in", "Rust", "Go"),
];

const REASONS: [&str; 5] = [
    "an outage in spring showed that anything else is fragile",
    "the audit asked for one rule that can be checked",
    "it was measured against the alternatives and was cheaper to run",
    "the team knows it and on call stays bearable",
    "two customers depend on it by contract",
];

/// Returns the subject of claim `n`, and the index of its rule.
fn place(n: usize) -> (String, usize) {
    let (quality, rest) = (n % QUALITIES.len(), n / QUALITIES.len());
    let (thing, rest) = (rest % THINGS.len(), rest / THINGS.len());
    let (part, rest) = (rest % PARTS.len(), rest / PARTS.len());
    let (rule, round) = (rest % RULES.len(), rest / RULES.len());
    let subject = format!("{} {} {}", QUALITIES[quality], THINGS[thing], PARTS[part]);
    // From 120,000 claims on, the subjects get a number.
    (if round == 0 { subject } else { format!("{subject} {round}") }, rule)
}

/// Returns the statement of claim `n`.
pub(super) fn statement(n: usize) -> String {
    let (subject, rule) = place(n);
    let (verb, value, _) = RULES[rule];
    format!("The {subject} {verb} {value}")
}

/// Returns a statement that contradicts claim `n`.
pub(super) fn contrary(n: usize) -> String {
    let (subject, rule) = place(n);
    let (verb, _, value) = RULES[rule];
    format!("The {subject} {verb} {value}")
}

/// Returns a statement that may contradict claim `n`, so that its writer is asked.
pub(super) fn doubtful(n: usize) -> String {
    let (subject, rule) = place(n);
    format!("Something other than {} is fine for the {subject}", RULES[rule].1)
}

/// Returns two statements that contradict each other and nothing else: each pair has a subject of its own.
pub(super) fn opposed(n: usize) -> [String; 2] {
    let (place, number) = (PLACES[n % PLACES.len()], n / PLACES.len());
    ["blue", "red"].map(|colour| format!("The {place} turnstile {number} must use a {colour} canary"))
}

/// Returns the reason of claim `n`.
pub(super) fn reason(n: usize) -> String {
    format!("{} (case {n})", REASONS[n % REASONS.len()])
}

/// The dimension of made-up vectors, which is that of the shipped embedder.
pub(super) const DIMENSION: usize = 384;

const PLACES: [&str; 16] = [
    "glacier",
    "orchard",
    "lighthouse",
    "bakery",
    "desert",
    "harbour",
    "theatre",
    "vineyard",
    "meadow",
    "quarry",
    "aquarium",
    "cathedral",
    "stadium",
    "volcano",
    "nursery",
    "tavern",
];

const PURSUITS: [&str; 14] = [
    "violins are tuned",
    "bread is kneaded",
    "goats are milked",
    "kites are flown",
    "poems are recited",
    "trout are smoked",
    "statues are polished",
    "children learn to swim",
    "candles are poured",
    "horses are groomed",
    "chess is played",
    "tulips are planted",
    "wool is dyed",
    "dancers rehearse",
];

/// Returns a statement that is unrelated to all claims, and hardly related to others of this kind.
pub(super) fn unrelated(n: usize) -> String {
    let (place, pursuit) = (n % PLACES.len(), (n / PLACES.len() + n) % PURSUITS.len());
    let often = ["at dawn", "in winter", "after rain", "on holidays", "by moonlight"][n / 3 % 5];
    format!("Beside the {}, {} {often}", PLACES[place], PURSUITS[pursuit])
}

/// Returns a pseudorandom vector of length 1, seeded by a number.
pub(super) fn direction(n: usize, dimension: usize) -> Vec<f32> {
    let mut bytes = vec![0; dimension * 2];
    blake3::Hasher::new().update(&n.to_le_bytes()).finalize_xof().fill(&mut bytes);
    let numbers = bytes.chunks_exact(2).map(|pair| f32::from(i16::from_le_bytes([pair[0], pair[1]])));
    let length = numbers.clone().map(|x| x * x).sum::<f32>().sqrt().max(1.0);
    numbers.map(|x| x / length).collect()
}

/// Returns a made-up embedding of claim `n`: claims of one subject are near each other, those of one rule slightly nearer
/// than unrelated ones. `voice` selects a wording of the claim.
pub(super) fn vector(n: usize, voice: u64) -> Vec<f32> {
    let (subject, rule) = place(n);
    let of = |text: &str| {
        let mut seed = [0; 8];
        blake3::Hasher::new().update(text.as_bytes()).finalize_xof().fill(&mut seed);
        u64::from_le_bytes(seed)
    };
    let mut parts = [of(&subject), of(RULES[rule].0), of(&format!("{n} {voice}"))];
    let mut number = |part: usize| {
        // Xorshift (Marsaglia, "Xorshift RNGs", 2003) as a float, -1 to 1.
        let state = &mut parts[part];
        *state ^= *state << 13;
        *state ^= *state >> 7;
        *state ^= *state << 17;
        (*state >> 40) as f32 / (1_u32 << 23) as f32 - 1.0
    };
    (0..DIMENSION).map(|_| number(0) + 0.5 * number(1) + 0.7 * number(2)).collect()
}

/// Returns a question that claim `n` answers.
pub(super) fn question(n: usize) -> String {
    format!("why is it that {}?", statement(n).to_lowercase())
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;
    use ergo::{
        domain::{Qualifiers, Tier},
        guard::{Guard, NormedClaim, PairScores, ParsedClaim},
    };

    /// Returns whether `second` would be refused beside `first`.
    fn refused(first: &str, second: &str) -> bool {
        let guard = Guard::default();
        let parsed = |statement: &str| {
            ParsedClaim::new(NormedClaim {
                statement: statement.to_owned(),
                norms: guard.normalise(statement, &Qualifiers::default()).norms,
                ..NormedClaim::default()
            })
        };
        guard.compare(&parsed(second), &parsed(first), &PairScores::default()).tier == Tier::Block
    }

    #[test]
    fn what_is_meant_to_contradict_contradicts_its_pair_and_nothing_else() {
        for n in 0..20 {
            let [here, there] = opposed(n);
            assert!(refused(&here, &there), "{here} / {there}");
            for other in (0..20).filter(|other| *other != n) {
                assert!(!refused(&opposed(other)[0], &there), "{other}: {there}");
            }
            // One claim of every rule and part, and of many subjects.
            for other in (0..120_000).step_by(1_999) {
                for mine in [&here, &there] {
                    assert!(!refused(&statement(other), mine), "{} / {mine}", statement(other));
                }
            }
        }
    }

    #[test]
    fn no_two_claims_are_the_same() {
        let unrelated_ones: BTreeSet<String> = (0..200).map(unrelated).collect();
        assert_eq!(unrelated_ones.len(), 200);
        let all: BTreeSet<String> = (0..250_000).step_by(7).map(statement).collect();
        assert_eq!(all.len(), 250_000_usize.div_ceil(7));
        assert_ne!(statement(5), contrary(5));
    }

    #[test]
    fn vectors_of_one_subject_lie_near_each_other() {
        let cosine = |a: &[f32], b: &[f32]| {
            let dot = |a: &[f32], b: &[f32]| a.iter().zip(b).map(|(x, y)| x * y).sum::<f32>();
            dot(a, b) / (dot(a, a) * dot(b, b)).sqrt()
        };
        let (one, same_subject, stranger) = (vector(3, 0), vector(20_003, 0), vector(44_444, 0));
        assert_eq!(place(3).0, place(20_003).0);
        assert!(cosine(&one, &vector(3, 1)) > cosine(&one, &same_subject));
        assert!(cosine(&one, &same_subject) > cosine(&one, &stranger) + 0.2);
    }
}
