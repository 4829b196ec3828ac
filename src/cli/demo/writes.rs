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

/// Three that contradict a decision or a rule (another value, the opposite stance, a wider limit), and two that only look
/// like it (another subject, another place).
pub(super) const WRITES: [Write; 5] = [
    Write {
        statement: "The TCP port of the daemon is 9000.",
        reason: "Another program has 8788 on my machine.",
        refused: true,
    },
    Write { statement: "Tests may use a fixed port.", reason: "It is simpler to write.", refused: true },
    Write {
        statement: "The test suite takes at most 10 minutes on two cores.",
        reason: "The new tests are slow.",
        refused: true,
    },
    Write {
        statement: "The TCP port of the reverse proxy is 9000.",
        reason: "The office proxy listens there.",
        refused: false,
    },
    Write { statement: "Use `unwrap` in tests.", reason: "A test that panics says where.", refused: false },
];
