//! Entries and hooks in a JSON file, which may hold comments and trailing commas; everything else is left as it is.

use jsonc_parser::{
    ParseOptions,
    cst::{CstArray, CstInputValue, CstNode, CstObject, CstRootNode},
};
use serde_json::{Map, Value, json};

use super::agents::Hook;

const NAME: &str = "ergo";

fn parse(text: &str) -> Result<CstRootNode, String> {
    let text = if text.trim().is_empty() { "{}\n" } else { text };
    CstRootNode::parse(text, &ParseOptions::default()).map_err(|error| format!("is not valid JSON ({error})"))
}

fn top(root: &CstRootNode) -> Result<CstObject, String> {
    root.object_value().ok_or_else(|| "does not contain a JSON object".to_owned())
}

/// The object of this name in another, made where there is none.
fn child(object: &CstObject, name: &str) -> Result<CstObject, String> {
    object.object_value_or_create(name).ok_or_else(|| format!("has a `{name}` that is not an object"))
}

fn input(value: &Value) -> CstInputValue {
    match value {
        Value::Null => CstInputValue::Null,
        Value::Bool(value) => CstInputValue::Bool(*value),
        Value::Number(number) => CstInputValue::Number(number.to_string()),
        Value::String(text) => CstInputValue::String(text.clone()),
        Value::Array(items) => CstInputValue::Array(items.iter().map(input).collect()),
        Value::Object(fields) => {
            CstInputValue::Object(fields.iter().map(|(name, value)| (name.clone(), input(value))).collect())
        }
    }
}

/// The text with `ergo` under these names.
pub(super) fn set_entry(text: &str, path: &[&str], value: &Value) -> Result<String, String> {
    let root = parse(text)?;
    let mut object = top(&root)?;
    for name in path {
        object = child(&object, name)?;
    }
    match object.get(NAME) {
        Some(ours) => {
            let now = ours.to_serde_value();
            // What a person added to the entry stays: an environment, a timeout.
            let mut wanted = now.as_ref().and_then(Value::as_object).cloned().unwrap_or_default();
            wanted.extend(value.as_object().cloned().unwrap_or_default());
            if now.as_ref() == Some(&Value::Object(wanted.clone())) {
                return Ok(text.to_owned());
            }
            ours.set_value(input(&Value::Object(wanted)));
        }
        None => drop(object.append(NAME, input(value))),
    }
    Ok(root.to_string())
}

/// The text without it. An object that holds nothing any more goes with it.
pub(super) fn unset_entry(text: &str, path: &[&str]) -> Result<String, String> {
    let root = parse(text)?;
    let mut object = top(&root)?;
    let mut above = Vec::new();
    for name in path {
        let Some(next) = object.object_value(name) else { return Ok(text.to_owned()) };
        above.push((object, *name));
        object = next;
    }
    let Some(ours) = object.get(NAME) else { return Ok(text.to_owned()) };
    ours.remove();
    prune(object, above);
    Ok(root.to_string())
}

/// Removes objects that are empty now, from the inmost outwards.
fn prune(mut object: CstObject, above: Vec<(CstObject, &str)>) {
    for (parent, name) in above.into_iter().rev() {
        if object.properties().is_empty()
            && let Some(property) = parent.get(name)
        {
            property.remove();
        }
        object = parent;
    }
}

/// The text with this name in it, unless it has it.
pub(super) fn set_default(text: &str, name: &str, value: &Value) -> Result<String, String> {
    let root = parse(text)?;
    let object = top(&root)?;
    if object.get(name).is_some() {
        return Ok(text.to_owned());
    }
    object.append(name, input(value));
    Ok(root.to_string())
}

/// The part of a command that says that it is ours: the program's path may have changed since.
fn tail(hook: &Hook) -> Option<&str> {
    hook.command.rfind(" hook ").and_then(|at| hook.command.get(at..))
}

/// Whether an entry runs our command, and then whether it does so by the same path; `None` if it runs another command.
fn runs(entry: &CstNode, hook: &Hook) -> Option<bool> {
    let entry = entry.to_serde_value()?;
    let command = entry.get("command")?.as_str()?;
    let program = command.strip_suffix(tail(hook)?)?;
    program.trim_end_matches(['\'', '"']).ends_with(NAME).then(|| command == hook.command)
}

/// The entries of a group; `None` if the element is an entry itself, in a flat list.
fn group(element: &CstNode) -> Option<CstArray> {
    element.as_object()?.array_value("hooks")
}

fn element(hook: &Hook) -> Value {
    let mut command = Map::from_iter([("command".to_owned(), json!(hook.command))]);
    if hook.flat {
        return Value::Object(command);
    }
    command.insert("type".to_owned(), json!("command"));
    command.extend(hook.timeout.map(|timeout| ("timeout".to_owned(), json!(timeout))));
    let mut group = Map::new();
    group.extend(hook.matcher.map(|matcher| ("matcher".to_owned(), json!(matcher))));
    group.insert("hooks".to_owned(), json!([command]));
    Value::Object(group)
}

/// Whether each of our entries runs the command by the same path.
fn ours(list: &CstArray, hook: &Hook) -> Vec<bool> {
    let entries = |element: CstNode| group(&element).map_or_else(|| vec![element], |group| group.elements());
    list.elements().into_iter().flat_map(entries).filter_map(|entry| runs(&entry, hook)).collect()
}

/// Removes our entries. A group goes with them only if it has no other entry.
fn remove_ours(list: &CstArray, hook: &Hook) {
    for element in list.elements() {
        let Some(group) = group(&element) else {
            if runs(&element, hook).is_some() {
                element.remove();
            }
            continue;
        };
        let ours: Vec<CstNode> = group.elements().into_iter().filter(|entry| runs(entry, hook).is_some()).collect();
        let alone = !ours.is_empty() && ours.len() == group.elements().len();
        if alone {
            element.remove();
        } else {
            ours.into_iter().for_each(CstNode::remove);
        }
    }
}

/// The text with the command at its event.
pub(super) fn set_hook(text: &str, hook: &Hook) -> Result<String, String> {
    let root = parse(text)?;
    let hooks = child(&top(&root)?, "hooks")?;
    let list = hooks
        .array_value_or_create(hook.event)
        .ok_or_else(|| format!("has a `hooks.{}` that is not a list", hook.event))?;
    if ours(&list, hook) == [true] {
        return Ok(text.to_owned());
    }
    remove_ours(&list, hook);
    list.append(input(&element(hook)));
    Ok(root.to_string())
}

/// The text without it. Lists and objects that hold nothing any more go with it.
pub(super) fn unset_hook(text: &str, hook: &Hook) -> Result<String, String> {
    let root = parse(text)?;
    let top = top(&root)?;
    let Some(hooks) = top.object_value("hooks") else { return Ok(text.to_owned()) };
    let Some(list) = hooks.array_value(hook.event) else { return Ok(text.to_owned()) };
    if ours(&list, hook).is_empty() {
        return Ok(text.to_owned());
    }
    remove_ours(&list, hook);
    if list.elements().is_empty()
        && let Some(property) = hooks.get(hook.event)
    {
        property.remove();
    }
    prune(hooks, vec![(top, "hooks")]);
    Ok(root.to_string())
}
