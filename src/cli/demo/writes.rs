//! What the demonstration's agent tries to write after everything is remembered.

/// One write, with what is expected of it: a test holds each to its word.
pub(super) struct Write {
    /// The claim.
    pub(super) statement: &'static str,
    /// Why the agent wants it.
    pub(super) reason: &'static str,
    /// Whether it contradicts what is remembered.
    pub(super) refused: bool,
}

/// Three that contradict a decision or a rule, and two that only look like it.
pub(super) const WRITES: [Write; 5] = [
    Write {
        statement: "The TCP port of the daemon is 9000.",
        reason: "Another program has 8788 on my machine.",
        refused: true,
    },
    Write {
        statement: "Dependencies under the GPL are allowed.",
        reason: "There is a good parser under the GPL.",
        refused: true,
    },
    Write { statement: "Tests may use a fixed port.", reason: "It is simpler to write.", refused: true },
    Write {
        statement: "Tests must use a temporary folder.",
        reason: "Two test runs at once share a machine.",
        refused: false,
    },
    Write {
        statement: "The TCP port of the metrics endpoint is 9090.",
        reason: "It is what the dashboards expect.",
        refused: false,
    },
];
