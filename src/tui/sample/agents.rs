//! Test data about agents, injected claims, related claims, and ingested files.

use std::fmt::Write as _;

use super::{HOUR, NOW, claim, id, scope};
use crate::{
    api::{
        AgentSession, AgentView, Agents, IngestedFile, IngestedFiles, RecallAnswer, RecallHit, RecallRequest,
        RecallVerdict, Snapshot,
    },
    client::injected::InjectedClaim,
    domain::AgentJudgements,
};

/// Three agents: two that wrote something, one of which is connected, and one that is connected and wrote nothing.
pub(crate) fn agents() -> Agents {
    let wrote = |agent: &str, wrote, refused, hours| AgentView {
        agent: agent.into(),
        wrote,
        refused,
        first: NOW - 900 * HOUR,
        last: NOW - hours * HOUR,
        people: vec!["max".into(), "zoe".into()],
        ..AgentView::default()
    };
    let session = |agent: &str, minutes: u64| AgentSession {
        agent: agent.into(),
        scope: Some(scope("api")),
        since: NOW - minutes * 60_000,
    };
    let judgements = AgentJudgements {
        asked: 12,
        contradicts: 1,
        replaces: 2,
        compatible: 11,
        overturned: 1,
        ..AgentJudgements::default()
    };
    Agents {
        items: vec![
            AgentView { judgements, ..wrote("claude-code", 1_204, 3, 2) },
            wrote("codex-mcp-client", 17, 0, 70),
        ],
        connected: vec![session("claude-code", 42), session("cursor-vscode", 3)],
    }
}

/// Claims that hooks injected: for a known agent, for one that is known by a longer name, for an unknown one, and for
/// an unnamed one.
pub(crate) fn injected() -> Vec<InjectedClaim> {
    let one = |n: u8, statement: Option<&str>, agent: Option<&str>, times| InjectedClaim {
        claim: id(n),
        scope: scope("api"),
        statement: statement.map(str::to_owned),
        times,
        sessions: times.min(3),
        hooks: ["session-start", "user-prompt"].map(str::to_owned).into(),
        agents: agent.map(str::to_owned).into_iter().collect(),
        last: NOW - u64::from(n) * HOUR,
    };
    vec![
        one(10, Some("Use PostgreSQL 16 for the main store"), Some("claude-code"), 12),
        one(11, Some("Requests time out after 30 seconds"), Some("claude-code"), 4),
        one(12, Some("No ORM: queries are written in SQL"), Some("codex"), 1),
        one(13, Some(""), Some("gemini"), 2),
        one(14, None, None, 1),
    ]
}

/// The answer to any question: one claim that the list has too, and two that it does not have.
pub(crate) fn recalled(requests: &[RecallRequest]) -> RecallAnswer {
    let hit = |n: u8, statement: &str, cosine, words: &[&str]| RecallHit {
        claim: claim(n, statement),
        score: cosine,
        cosine: Some(cosine),
        words: words.iter().map(|word| (*word).to_owned()).collect(),
        verdict: None,
    };
    RecallAnswer {
        method: "decompose_2".into(),
        by_meaning: true,
        verdict: if requests.is_empty() { RecallVerdict::Nothing } else { RecallVerdict::Known },
        hits: vec![
            hit(10, "Use PostgreSQL 16 for the main store", 0.81, &["database"]),
            hit(50, "A tenth of the traffic goes to the canary for an hour before all of it does", 0.74, &["canary"]),
            hit(51, "Rollbacks are one command, and need nobody's leave", 0.42, &[]),
        ],
        ..RecallAnswer::default()
    }
}

pub(crate) fn snapshot() -> Snapshot {
    let mut page = "# acme/api\n\n## Constraints\n\n".to_owned();
    for n in 0..30 {
        let _ = writeln!(
            page,
            "- Requests of sort {n} time out after 30 seconds, whoever asks and however often [{n:08x}]"
        );
    }
    Snapshot { snapshot: page, claims: 41, shown: 30, tokens: 800, at: NOW, ..Snapshot::default() }
}

/// Six ingested files.
pub(crate) fn ingested() -> IngestedFiles {
    let files = ["docs/design.md", "docs/api.md", "README.md", "docs/ops/runbook.md", "src/lib.rs", "CHANGELOG.md"];
    let items: Vec<IngestedFile> = files
        .iter()
        .zip([120, 48, 31, 22, 9, 4])
        .map(|(path, chunks)| IngestedFile { path: (*path).into(), chunks })
        .collect();
    IngestedFiles { chunks: items.iter().map(|file| file.chunks).sum(), items }
}

/// The output of setup on a machine with one agent.
pub(crate) const SETUP: &str = "\
--- /home/zoe/.claude.json
+++ /home/zoe/.claude.json
@@ -1,3 +1,10 @@
 {
+  \"mcpServers\": {
+    \"ergo\": {
+      \"type\": \"stdio\",
+      \"command\": \"ergo\",
+      \"args\": [\"mcp\"]
+    }
+  },
-  \"old\": true,
   \"theme\": \"dark\"
 }

--- /dev/null
+++ /home/zoe/.claude/CLAUDE.md
@@ -0,0 +1,2 @@
+<!-- ergo -->
+Before you choose or change something, ask ergo.

2 files would change; nothing was written.";
