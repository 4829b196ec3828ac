//! Made-up claims for measurements: as many as wanted, always the same, none contradicting another, their words shared as
//! in real projects, where some occur in every twentieth claim and most are rare.

/// Names that are no alternatives to each other, so that two subjects never look like one.
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

/// The subject of claim `n`, its rule, and the number of times that all subjects were used before.
fn place(n: usize) -> (String, usize) {
    let (quality, rest) = (n % QUALITIES.len(), n / QUALITIES.len());
    let (thing, rest) = (rest % THINGS.len(), rest / THINGS.len());
    let (part, rest) = (rest % PARTS.len(), rest / PARTS.len());
    let (rule, round) = (rest % RULES.len(), rest / RULES.len());
    let subject = format!("{} {} {}", QUALITIES[quality], THINGS[thing], PARTS[part]);
    // Beyond 120,000 claims the subjects get a number.
    (if round == 0 { subject } else { format!("{subject} {round}") }, rule)
}

/// Claim `n`.
pub(super) fn statement(n: usize) -> String {
    let (subject, rule) = place(n);
    let (verb, value, _) = RULES[rule];
    format!("The {subject} {verb} {value}")
}

/// What contradicts claim `n`.
pub(super) fn contrary(n: usize) -> String {
    let (subject, rule) = place(n);
    let (verb, _, value) = RULES[rule];
    format!("The {subject} {verb} {value}")
}

/// Why claim `n` holds.
pub(super) fn reason(n: usize) -> String {
    format!("{} (case {n})", REASONS[n % REASONS.len()])
}

/// A question that claim `n` answers.
pub(super) fn question(n: usize) -> String {
    format!("why is it that {}?", statement(n).to_lowercase())
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn no_two_claims_are_the_same() {
        let all: BTreeSet<String> = (0..250_000).step_by(7).map(statement).collect();
        assert_eq!(all.len(), 250_000_usize.div_ceil(7));
        assert_ne!(statement(5), contrary(5));
    }
}
