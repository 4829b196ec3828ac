//! `ergo manual`: the pages of docs/ in the terminal.

use clap::CommandFactory;

use super::{
    Cli, CliError, Context, Exit, reference,
    ui::{SafeText, Style},
};

/// Show a page of the manual, or list the pages.
#[derive(Debug, clap::Args)]
#[command(after_help = "To page through it: ergo manual start | less")]
pub(crate) struct Args {
    /// The page, such as `start` or `settings`.
    #[arg(value_name = "PAGE")]
    page: Option<String>,
}

/// A page: its name, which is that of its file, its description, and its text.
type Page = (&'static str, &'static str, &'static str);

/// The pages, except the reference of the command line, which is generated. A test compares them with docs/ and docs/SUMMARY.md.
const PAGES: [Page; 22] = [
    ("start", "first steps, and the terms", include_str!("../../docs/start.md")),
    ("install", "packages: install, upgrade, remove", include_str!("../../docs/install.md")),
    ("clients", "coding agents", include_str!("../../docs/clients/README.md")),
    ("claude-code", "Claude Code", include_str!("../../docs/clients/claude-code.md")),
    ("codex", "Codex", include_str!("../../docs/clients/codex.md")),
    ("cursor", "Cursor", include_str!("../../docs/clients/cursor.md")),
    ("gemini", "Gemini CLI", include_str!("../../docs/clients/gemini.md")),
    ("opencode", "opencode", include_str!("../../docs/clients/opencode.md")),
    ("vscode", "VS Code", include_str!("../../docs/clients/vscode.md")),
    ("testing", "tests with other programs' clients", include_str!("../../docs/clients/testing.md")),
    ("notes", "rule files such as CLAUDE.md", include_str!("../../docs/notes.md")),
    ("story", "reversals, ambiguities, stale claims", include_str!("../../docs/story.md")),
    ("team-sync", "teams and bundles", include_str!("../../docs/team-sync.md")),
    ("settings", "settings, files, environment", include_str!("../../docs/settings.md")),
    ("keys", "the app's keys", include_str!("../../docs/keys.md")),
    ("theme", "the app's colours", include_str!("../../docs/theme.md")),
    ("gpu", "models on a GPU", include_str!("../../docs/gpu.md")),
    ("http-api", "calls over HTTP", include_str!("../../docs/http-api.md")),
    ("guard", "what the guard finds and misses", include_str!("../../docs/guard.md")),
    ("recall", "how recall finds claims", include_str!("../../docs/recall.md")),
    ("speed", "speed, measured", include_str!("../../docs/speed.md")),
    ("comparison", "comparison with other memories, measured", include_str!("../../docs/comparison.md")),
];

/// Runs the verb.
pub(crate) fn run(args: Args, cx: &mut Context) -> Result<Exit, CliError> {
    let Some(name) = args.page else {
        list(cx);
        return Ok(Exit::Ok);
    };
    let name = name.trim_end_matches(".md").to_lowercase();
    if name == CLI_PAGE.0 {
        let mut command = Cli::command();
        command.build();
        show(cx, CLI_PAGE.0, &reference::markdown(&command));
        return Ok(Exit::Ok);
    }
    let page = PAGES.iter().find(|(page, ..)| *page == name);
    let (name, _, text) = page.ok_or_else(|| {
        CliError::usage(format_args!("the manual has no page “{name}”")).hint("`ergo manual` lists the pages")
    })?;
    show(cx, name, text);
    Ok(Exit::Ok)
}

/// The name and description of the generated page.
const CLI_PAGE: (&str, &str) = ("cli", "every command and option");

fn list(cx: &mut Context) {
    let pages = || PAGES.iter().map(|(name, about, _)| (*name, *about)).chain([CLI_PAGE]);
    if cx.ui.json {
        let items: Vec<_> = pages().map(|(page, about)| serde_json::json!({"page": page, "about": about})).collect();
        return cx.ui.value(&serde_json::json!({ "pages": items }));
    }
    for (name, about) in pages() {
        let name = cx.ui.paint(Style::Code, format_args!("{name:<14}"));
        cx.ui.line(text!("{} {}", name, about));
    }
    cx.ui.note("To read one: ergo manual PAGE");
}

/// Prints a page; headings and code stand out.
fn show(cx: &mut Context, name: &str, text: &str) {
    if cx.ui.json {
        return cx.ui.value(&serde_json::json!({ "page": name, "text": text }));
    }
    let mut code = false;
    for line in text.lines() {
        let fence = line.trim_start().starts_with("```");
        code ^= fence;
        // A terminal cannot show pictures.
        if line.starts_with("![") {
            continue;
        }
        let style = match line {
            _ if fence => Some(Style::Dim),
            _ if code => Some(Style::Code),
            line if line.starts_with('#') => Some(Style::Strong),
            _ => None,
        };
        let line = match style {
            Some(style) => cx.ui.paint(style, SafeText::line(line)),
            None => SafeText::line(line),
        };
        cx.ui.line(line);
    }
}

#[cfg(test)]
mod tests {
    use std::{
        collections::BTreeSet,
        fs,
        path::{Path, PathBuf},
    };

    use super::*;
    use crate::config::Config;

    fn docs() -> PathBuf {
        Path::new(env!("CARGO_MANIFEST_DIR")).join("docs")
    }

    /// The Markdown files of docs/, by their paths in it.
    fn files(folder: &Path, found: &mut BTreeSet<String>) {
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                files(&path, found);
            } else if path.extension().is_some_and(|end| end == "md") && !path.ends_with("SUMMARY.md") {
                found.insert(path.strip_prefix(docs()).unwrap().display().to_string());
            }
        }
    }

    /// Returns the targets of links in a text, without external ones and without the anchors.
    fn links(text: &str) -> Vec<String> {
        let mut code = false;
        let prose = text.lines().filter(|line| {
            let fence = line.trim_start().starts_with("```");
            code ^= fence;
            !code && !fence
        });
        let prose: Vec<&str> = prose.collect();
        let targets = prose.iter().flat_map(|line| line.split("](").skip(1)).filter_map(|rest| rest.split(')').next());
        let own = targets.filter(|target| !target.contains("://") && !target.starts_with("mailto:"));
        own.filter_map(|target| target.split('#').next())
            .filter(|target| !target.is_empty())
            .map(str::to_owned)
            .collect()
    }

    #[test]
    fn every_page_of_docs_is_in_the_summary_and_in_the_manual() {
        let mut all = BTreeSet::new();
        files(&docs(), &mut all);
        let summary = fs::read_to_string(docs().join("SUMMARY.md")).unwrap();
        let listed: BTreeSet<String> = links(&summary).into_iter().collect();
        assert_eq!(all, listed, "docs/ and docs/SUMMARY.md");
        let name = |path: &str| match path.strip_suffix("/README.md") {
            Some(folder) => folder.to_owned(),
            None => path.rsplit('/').next().unwrap().trim_end_matches(".md").to_owned(),
        };
        let expected: BTreeSet<String> =
            all.iter().filter(|path| !path.starts_with("adr/")).map(|path| name(path)).collect();
        let pages: BTreeSet<String> =
            PAGES.iter().map(|(name, ..)| *name).chain([CLI_PAGE.0]).map(str::to_owned).collect();
        assert_eq!(pages, expected, "docs/ and `ergo manual`");
    }

    /// The commented lines of the example are settings without a fixed default.
    #[test]
    fn the_page_of_settings_shows_every_setting_with_a_valid_value() {
        let page = fs::read_to_string(docs().join("settings.md")).unwrap();
        let example = page.split("```toml\n").nth(1).and_then(|rest| rest.split("```").next()).unwrap();
        let lines: Vec<&str> = example.lines().map(|line| line.strip_prefix("# ").unwrap_or(line)).collect();
        let config = Config::parse(&lines.join("\n"), Path::new("docs/settings.md")).unwrap();
        assert!(config.compat.cogito.is_some());
        let Config { tui, guard, models, sync, judge, recall, .. } = config;
        let shown = format!("{:?}", (tui, guard, models, sync, judge, recall));
        assert!(!shown.contains("None"), "a setting is missing: {shown}");
    }

    /// Pages of the book may link to pages of the book, and the README to files of the repository.
    #[test]
    fn links_lead_to_files() {
        let mut all = BTreeSet::new();
        files(&docs(), &mut all);
        let root = docs().parent().unwrap().to_owned();
        let pages = all.iter().map(|path| (docs().join(path), docs())).chain([(root.join("README.md"), root)]);
        let mut broken = Vec::new();
        for (page, top) in pages {
            for link in links(&fs::read_to_string(&page).unwrap()) {
                let target = page.parent().unwrap().join(&link);
                let inside =
                    fs::canonicalize(&target).is_ok_and(|real| real.starts_with(fs::canonicalize(&top).unwrap()));
                if !inside {
                    broken.push(format!("{}: {link}", page.display()));
                }
            }
        }
        assert!(broken.is_empty(), "{broken:#?}");
    }
}
