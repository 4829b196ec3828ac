//! `[mcp_servers.ergo]` in a TOML file, with everything else left as it is.

use toml_edit::{Array, DocumentMut, Item, Table, TableLike, value};

const SERVERS: &str = "mcp_servers";
const NAME: &str = "ergo";

fn parse(text: &str) -> Result<DocumentMut, String> {
    text.parse::<DocumentMut>().map_err(|error| format!("is not valid TOML ({})", error.message()))
}

fn says(table: &dyn TableLike, program: &str) -> bool {
    let command = table.get("command").and_then(Item::as_str) == Some(program);
    let args = table.get("args").and_then(Item::as_array);
    command && args.is_some_and(|args| args.iter().map(|arg| arg.as_str()).eq([Some("mcp")]))
}

/// The text with the server in it.
pub(super) fn set(text: &str, program: &str) -> Result<String, String> {
    let mut document = parse(text)?;
    let mut servers = Table::new();
    servers.set_implicit(true);
    let servers = document.entry(SERVERS).or_insert(Item::Table(servers)).as_table_like_mut();
    let servers = servers.ok_or_else(|| format!("has a `{SERVERS}` that is not a table"))?;
    let ours = servers.entry(NAME).or_insert(Item::Table(Table::new())).as_table_like_mut();
    let ours = ours.ok_or_else(|| format!("has a `{SERVERS}.{NAME}` that is not a table"))?;
    if says(ours, program) {
        return Ok(text.to_owned());
    }
    ours.insert("command", value(program));
    ours.insert("args", value(Array::from_iter(["mcp"])));
    Ok(document.to_string())
}

/// The text without it.
pub(super) fn unset(text: &str) -> Result<String, String> {
    let mut document = parse(text)?;
    let Some(servers) = document.get_mut(SERVERS).and_then(Item::as_table_like_mut) else { return Ok(text.to_owned()) };
    if servers.remove(NAME).is_none() {
        return Ok(text.to_owned());
    }
    if servers.is_empty() {
        document.remove(SERVERS);
    }
    Ok(document.to_string())
}
