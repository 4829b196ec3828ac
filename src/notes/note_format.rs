//! The formats of rule files for different agents: file names, budgets, and the text of ergo's section.

use std::{collections::BTreeMap, fmt::Write, str::FromStr};

use serde::{Deserialize, Serialize};

use crate::domain::{
    ClaimKind, Scope,
    marked_section::claims_title,
    text::{sanitize_line, without_place},
};

/// The format of ergo's section in a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, utoipa::ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum NoteFormat {
    /// `CLAUDE.md`: bullets by domain, with reasons.
    Claude,
    /// `AGENTS.md` and others: bullets by kind, with reasons.
    Agents,
    /// `.cursorrules`: bullets only.
    Cursor,
    /// `copilot-instructions.md`: short sentences.
    Copilot,
    /// A numbered list in plain text, for a system prompt.
    Chatgpt,
}

impl NoteFormat {
    /// Every format.
    pub const ALL: [Self; 5] = [Self::Claude, Self::Agents, Self::Cursor, Self::Copilot, Self::Chatgpt];

    /// Returns the word used in commands and in JSON.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Claude => "claude",
            Self::Agents => "agents",
            Self::Cursor => "cursor",
            Self::Copilot => "copilot",
            Self::Chatgpt => "chatgpt",
        }
    }

    /// Returns the format of the file with this path.
    pub fn of(path: &str) -> Self {
        let name = path.rsplit('/').next().unwrap_or(path);
        match name {
            "CLAUDE.md" | "CLAUDE.local.md" => Self::Claude,
            ".cursorrules" => Self::Cursor,
            "copilot-instructions.md" => Self::Copilot,
            _ if name.strip_suffix(".mdc").is_some() => Self::Cursor,
            _ => Self::Agents,
        }
    }

    /// Returns the default budget of the section, in tokens.
    pub fn budget(self) -> usize {
        match self {
            Self::Claude | Self::Agents => 2_000,
            Self::Chatgpt => 1_500,
            Self::Cursor | Self::Copilot => 1_000,
        }
    }
}

impl FromStr for NoteFormat {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        Self::ALL
            .into_iter()
            .find(|format| format.as_str() == text)
            .ok_or_else(|| format!("unknown format “{text}” (expected claude, agents, cursor, copilot or chatgpt)"))
    }
}

/// A line of the section.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NoteLine {
    /// The kind of its claim.
    pub kind: ClaimKind,
    /// Its domain.
    pub domain: String,
    /// Its statement.
    pub statement: String,
    /// Its conditions and exceptions, such as “only env staging”.
    pub limits: Option<String>,
    /// Its reason.
    pub reason: Option<String>,
    /// The short id of its claim.
    pub claim: String,
    /// Whether it holds in the whole organisation.
    pub of_organisation: bool,
    /// Whether it contradicts a line of the file.
    pub is_conflict: bool,
    /// The short id of the open card with the contradiction.
    pub card: Option<String>,
}

impl NoteLine {
    /// Returns its text in a format, without a list marker.
    pub fn text(&self, format: NoteFormat) -> String {
        let mut text = String::new();
        if self.is_conflict {
            let card = self.card.as_ref().map(|card| format!("card {card}: ")).unwrap_or_default();
            // Writing to a string does not fail.
            let _ = write!(text, "[CONFLICT] {card}this file contradicts ");
        }
        text.push_str(&sanitize_line(&self.statement));
        // Limits are in every format, because without them it would be a different claim.
        if let Some(limits) = &self.limits {
            let _ = write!(text, " ({})", sanitize_line(limits));
        }
        let detailed = matches!(format, NoteFormat::Claude | NoteFormat::Agents);
        if detailed && let Some(reason) = self.reason.as_deref().and_then(without_place) {
            let _ = write!(text, " *Because:* {}", sanitize_line(reason));
        }
        if detailed && self.of_organisation {
            text.push_str(" (organisation)");
        }
        if detailed {
            let _ = write!(text, " `{}`", self.claim);
        }
        text
    }
}

/// The kinds in order, with their titles.
const TITLES: [(ClaimKind, &str); 5] = [
    (ClaimKind::Constraint, "Constraints"),
    (ClaimKind::Decision, "Decisions"),
    (ClaimKind::Convention, "Conventions"),
    (ClaimKind::Rejection, "Rejected"),
    (ClaimKind::Fact, "Facts"),
];

/// Returns the content of the section: the conflicts, then the lines in groups, in the given order within each.
pub fn content(scope: &Scope, format: NoteFormat, lines: &[NoteLine]) -> String {
    let title = claims_title(&sanitize_line(&scope.to_string()));
    let mut text = match format {
        NoteFormat::Chatgpt => format!("{title}\n"),
        _ => format!("## {title}\n"),
    };
    if lines.is_empty() {
        text.push_str("\nNo further claims: this file already contains all of them.\n");
        return text;
    }
    let (conflicts, rest): (Vec<&NoteLine>, Vec<&NoteLine>) = lines.iter().partition(|line| line.is_conflict);
    let mut groups: Vec<(String, Vec<&NoteLine>)> = Vec::new();
    match format {
        NoteFormat::Claude => {
            let mut domains: BTreeMap<&str, Vec<&NoteLine>> = BTreeMap::new();
            for line in &rest {
                domains.entry(&line.domain).or_default().push(line);
            }
            groups.extend(domains.into_iter().map(|(domain, lines)| (capital(domain), lines)));
        }
        NoteFormat::Agents => {
            for (kind, title) in TITLES {
                let of: Vec<&NoteLine> = rest.iter().copied().filter(|line| line.kind == kind).collect();
                groups.push((title.to_owned(), of));
            }
        }
        NoteFormat::Cursor | NoteFormat::Copilot | NoteFormat::Chatgpt => groups.push((String::new(), rest)),
    }
    groups.insert(0, ("Conflicts".to_owned(), conflicts));
    let mut number = 0;
    for (title, lines) in groups.into_iter().filter(|(_, lines)| !lines.is_empty()) {
        let titled = matches!(format, NoteFormat::Claude | NoteFormat::Agents);
        if titled && !title.is_empty() {
            let _ = write!(text, "\n### {title}\n");
        }
        if number == 0 || titled {
            text.push('\n');
        }
        for line in lines {
            number += 1;
            let _ = match format {
                NoteFormat::Chatgpt => writeln!(text, "{number}. {}", line.text(format)),
                _ => writeln!(text, "- {}", line.text(format)),
            };
        }
    }
    text
}

fn capital(word: &str) -> String {
    let mut chars = word.chars();
    chars.next().map_or_else(String::new, |first| first.to_uppercase().chain(chars).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line(kind: ClaimKind, domain: &str, statement: &str) -> NoteLine {
        NoteLine {
            kind,
            domain: domain.into(),
            statement: statement.into(),
            limits: None,
            reason: Some("it helps".into()),
            claim: "0123456789".into(),
            of_organisation: false,
            is_conflict: false,
            card: None,
        }
    }

    #[test]
    fn each_agent_gets_its_own_form() {
        let mut lines = vec![
            line(ClaimKind::Convention, "git", "Sign commits"),
            line(ClaimKind::Constraint, "testing", "Tests use no fixed port"),
        ];
        lines[1].of_organisation = true;
        let scope = Scope { org_id: "acme".into(), project: "api".into() };
        let of = |format| content(&scope, format, &lines);
        let claude = of(NoteFormat::Claude);
        assert!(claude.contains("### Git\n\n- Sign commits *Because:* it helps `0123456789`\n"), "{claude}");
        assert!(
            claude.contains("### Testing\n\n- Tests use no fixed port *Because:* it helps (organisation)"),
            "{claude}"
        );
        let agents = of(NoteFormat::Agents);
        assert!(agents.find("### Constraints") < agents.find("### Conventions"), "{agents}");
        assert_eq!(
            of(NoteFormat::Cursor),
            "## Active claims of acme/api (ergo)\n\n- Sign commits\n- Tests use no fixed port\n"
        );
        assert_eq!(
            of(NoteFormat::Chatgpt),
            "Active claims of acme/api (ergo)\n\n1. Sign commits\n2. Tests use no fixed port\n"
        );
        lines[1].limits = Some("only env staging".into());
        let limited = content(&scope, NoteFormat::Cursor, &lines);
        assert!(limited.contains("- Tests use no fixed port (only env staging)\n"), "{limited}");
        lines[0].is_conflict = true;
        let conflict = content(&scope, NoteFormat::Copilot, &lines);
        assert!(conflict.contains("- [CONFLICT] this file contradicts Sign commits\n"), "{conflict}");
        lines[0].card = Some("abcdef0123".into());
        let conflict = content(&scope, NoteFormat::Copilot, &lines);
        assert!(conflict.contains("- [CONFLICT] card abcdef0123: this file contradicts Sign commits\n"), "{conflict}");
        assert!(content(&scope, NoteFormat::Claude, &[]).contains("No further claims"));
    }

    #[test]
    fn a_file_is_known_by_its_name() {
        assert_eq!(NoteFormat::of("a/CLAUDE.md"), NoteFormat::Claude);
        assert_eq!(NoteFormat::of(".github/copilot-instructions.md"), NoteFormat::Copilot);
        assert_eq!(NoteFormat::of(".cursor/rules/a.mdc"), NoteFormat::Cursor);
        assert_eq!(NoteFormat::of("GEMINI.md"), NoteFormat::Agents);
        assert_eq!("copilot".parse(), Ok(NoteFormat::Copilot));
        assert!("word".parse::<NoteFormat>().unwrap_err().contains("chatgpt"));
    }
}
