//! Edits `[mcp_servers.ergo]` in a TOML file. Everything else stays as it is.

use toml_edit::{Array, DocumentMut, Item, Table, TableLike, value};

use crate::domain::marked_section::line_end;

const SERVERS: &str = "mcp_servers";
const NAME: &str = "ergo";

fn parse(text: &str) -> Result<DocumentMut, String> {
    text.parse::<DocumentMut>().map_err(|error| format!("is not valid TOML ({})", error.message()))
}

/// Returns whether the arguments begin with `mcp`; a person may have added options.
fn runs_mcp(table: &dyn TableLike) -> bool {
    let args = table.get("args").and_then(Item::as_array);
    args.is_some_and(|args| args.get(0).and_then(|arg| arg.as_str()) == Some("mcp"))
}

/// Returns the text of a changed document with the line ends of the file: the parser drops carriage returns.
fn text_of(document: &DocumentMut, before: &str) -> String {
    let text = document.to_string();
    if line_end(before, None) == "\r\n" { text.replace("\r\n", "\n").replace('\n', "\r\n") } else { text }
}

/// Returns the text with the server.
pub(super) fn set(text: &str, program: &str) -> Result<String, String> {
    let mut document = parse(text)?;
    let mut servers = Table::new();
    servers.set_implicit(true);
    let servers = document.entry(SERVERS).or_insert(Item::Table(servers)).as_table_like_mut();
    let servers = servers.ok_or_else(|| format!("has a `{SERVERS}` that is not a table"))?;
    let ours = servers.entry(NAME).or_insert(Item::Table(Table::new())).as_table_like_mut();
    let ours = ours.ok_or_else(|| format!("has a `{SERVERS}.{NAME}` that is not a table"))?;
    let has_args = runs_mcp(ours);
    if has_args && ours.get("command").and_then(Item::as_str) == Some(program) {
        return Ok(text.to_owned());
    }
    ours.insert("command", value(program));
    if !has_args {
        ours.insert("args", value(Array::from_iter(["mcp"])));
    }
    Ok(text_of(&document, text))
}

/// Returns the text without the server.
pub(super) fn unset(text: &str) -> Result<String, String> {
    let mut document = parse(text)?;
    let Some(servers) = document.get_mut(SERVERS).and_then(Item::as_table_like_mut) else { return Ok(text.to_owned()) };
    if servers.remove(NAME).is_none() {
        return Ok(text.to_owned());
    }
    if servers.is_empty() {
        document.remove(SERVERS);
    }
    Ok(text_of(&document, text))
}
