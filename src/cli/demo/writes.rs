//! The claims that the demonstration tries to write.

/// A claim and whether the guard must refuse it; a test checks that.
pub(super) struct DemoWrite {
    pub(super) statement: &'static str,
    pub(super) reason: &'static str,
    /// Whether it contradicts an imported claim.
    pub(super) refused: bool,
}

/// Three contradict a decision or a rule (another value, the opposite stance, a wider limit), and two only look like it
/// (another subject, another place).
pub(super) const WRITES: [DemoWrite; 5] = [
    DemoWrite {
        statement: "The TCP port of the daemon is 9000.",
        reason: "Another program has 8788 on my machine.",
        refused: true,
    },
    DemoWrite { statement: "Tests may use a fixed port.", reason: "It is simpler to write.", refused: true },
    DemoWrite {
        statement: "The test suite takes at most 10 minutes on two cores.",
        reason: "The new tests are slow.",
        refused: true,
    },
    DemoWrite {
        statement: "The TCP port of the reverse proxy is 9000.",
        reason: "The office proxy listens there.",
        refused: false,
    },
    DemoWrite { statement: "Use `unwrap` in tests.", reason: "A test that panics says where.", refused: false },
];
