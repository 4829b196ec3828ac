//! Edits entries and hooks in a JSON file, which may contain comments and trailing commas. Everything else stays as it
//! is.

use jsonc_parser::{
    ParseOptions,
    cst::{CstArray, CstInputValue, CstNode, CstObject, CstObjectProp, CstRootNode},
};
use serde_json::{Map, Value, json};

use super::agents::Hook;

const NAME: &str = "ergo";

fn parse(text: &str) -> Result<CstRootNode, String> {
    let text = if text.trim().is_empty() { "{}\n" } else { text };
    CstRootNode::parse(text, &ParseOptions::default()).map_err(|error| format!("is not valid JSON ({error})"))
}

fn top_object(root: &CstRootNode) -> Result<CstObject, String> {
    root.object_value().ok_or_else(|| "does not contain a JSON object".to_owned())
}

/// Returns the object with this name in another one, which is created if it is missing.
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

/// Returns the text with the entry `ergo` in the object at this path.
pub(super) fn set_entry(text: &str, path: &[&str], value: &Value) -> Result<String, String> {
    let root = parse(text)?;
    let mut object = top_object(&root)?;
    for name in path {
        object = child(&object, name)?;
    }
    match object.get(NAME) {
        Some(ours) => {
            let now = ours.to_serde_value();
            // Keep what a person added to the entry: an environment, a timeout, options of `ergo mcp`.
            let mut wanted = now.as_ref().and_then(Value::as_object).cloned().unwrap_or_default();
            for (name, value) in value.as_object().into_iter().flatten() {
                let kept = wanted.get(name).map_or_else(|| value.clone(), |now| with_options(now, value));
                wanted.insert(name.clone(), kept);
            }
            if now.as_ref() == Some(&Value::Object(wanted.clone())) {
                return Ok(text.to_owned());
            }
            ours.set_value(input(&Value::Object(wanted)));
        }
        None => drop(object.append(NAME, input(value))),
    }
    Ok(root.to_string())
}

/// Returns the value with the options that a person added to its arguments: those after ergo's last argument.
fn with_options(now: &Value, value: &Value) -> Value {
    let (Value::Array(now), Value::Array(ours)) = (now, value) else { return value.clone() };
    let last = ours.len().saturating_sub(1);
    let options = now.get(ours.len()..).filter(|_| now.get(last) == ours.last()).unwrap_or_default();
    Value::Array(ours.iter().chain(options).cloned().collect())
}

/// Returns the text without the entry `ergo`, and without objects that become empty.
pub(super) fn unset_entry(text: &str, path: &[&str]) -> Result<String, String> {
    let root = parse(text)?;
    let mut object = top_object(&root)?;
    let mut above = Vec::new();
    for name in path {
        let Some(next) = object.object_value(name) else { return Ok(text.to_owned()) };
        above.push((object, *name));
        object = next;
    }
    let Some(ours) = object.get(NAME) else { return Ok(text.to_owned()) };
    ours.remove();
    remove_empty_objects(object, above);
    Ok(root.to_string())
}

/// Removes empty objects, from the innermost outwards.
fn remove_empty_objects(mut object: CstObject, above: Vec<(CstObject, &str)>) {
    for (parent, name) in above.into_iter().rev() {
        if object.properties().is_empty()
            && let Some(property) = parent.get(name)
        {
            property.remove();
        }
        object = parent;
    }
}

/// Returns the text with this name in the top object; unchanged if it has the name.
pub(super) fn set_default(text: &str, name: &str, value: &Value) -> Result<String, String> {
    let root = parse(text)?;
    let object = top_object(&root)?;
    if object.get(name).is_some() {
        return Ok(text.to_owned());
    }
    object.append(name, input(value));
    Ok(root.to_string())
}

/// Returns the command of an entry that runs the hook, with the program's present path; `None` if it runs another
/// command. What a person added stays: environment variables before the program, options at the end.
fn updated_command(entry: &CstNode, hook: &Hook) -> Option<String> {
    let entry = entry.to_serde_value()?;
    let command = entry.get("command")?.as_str()?;
    let (program, ours) = hook.command.split_at_checked(hook.command.rfind(" hook ")?)?;
    command.match_indices(ours).find_map(|(at, _)| {
        let (before, after) = (command.get(..at)?, command.get(at + ours.len()..)?);
        let quote = before.chars().last().filter(|last| matches!(last, '\'' | '"'));
        let start = match quote {
            Some(quote) => before.rfind(&format!(" {quote}")).map_or(0, |at| at + 1),
            None => before.rfind(' ').map_or(0, |at| at + 1),
        };
        let is_ours =
            before.trim_end_matches(['\'', '"']).ends_with(NAME) && (after.is_empty() || after.starts_with(' '));
        is_ours.then(|| [before.get(..start).unwrap_or_default(), program, ours, after].concat())
    })
}

/// Returns the entries of a group; `None` if the element is itself an entry, in a flat list.
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

/// Returns the entries of a list that run the hook.
fn own_entries(list: &CstArray, hook: &Hook) -> Vec<CstNode> {
    let entries = |element: CstNode| group(&element).map_or_else(|| vec![element], |group| group.elements());
    list.elements().into_iter().flat_map(entries).filter(|entry| updated_command(entry, hook).is_some()).collect()
}

/// Removes the entries that run the hook, except the first `keep`. A group is removed only if it has no other entries.
fn remove_ours(list: &CstArray, hook: &Hook, keep: usize) {
    let mut kept = 0;
    for element in list.elements() {
        let group = group(&element);
        let entries = group.as_ref().map_or_else(|| vec![element.clone()], CstArray::elements);
        let all = entries.len();
        let mut ours: Vec<CstNode> =
            entries.into_iter().filter(|entry| updated_command(entry, hook).is_some()).collect();
        let stay = ours.len().min(keep - kept);
        kept += stay;
        ours.drain(..stay);
        if group.is_some() && !ours.is_empty() && ours.len() == all {
            element.remove();
        } else {
            ours.into_iter().for_each(CstNode::remove);
        }
    }
}

/// Returns the text with the hook at its event, once. What a person added to its command stays.
pub(super) fn set_hook(text: &str, hook: &Hook) -> Result<String, String> {
    let root = parse(text)?;
    let hooks = child(&top_object(&root)?, "hooks")?;
    let list = hooks
        .array_value_or_create(hook.event)
        .ok_or_else(|| format!("has a `hooks.{}` that is not a list", hook.event))?;
    let ours = own_entries(&list, hook);
    let Some(first) = ours.first() else {
        list.append(input(&element(hook)));
        return Ok(root.to_string());
    };
    let command = first.as_object().and_then(|entry| entry.get("command"));
    let wanted = updated_command(first, hook).map(Value::String);
    let is_current = command.as_ref().and_then(CstObjectProp::to_serde_value) == wanted;
    if is_current && ours.len() == 1 {
        return Ok(text.to_owned());
    }
    remove_ours(&list, hook, 1);
    if let (Some(command), Some(wanted), false) = (command, wanted, is_current) {
        command.set_value(input(&wanted));
    }
    Ok(root.to_string())
}

/// Returns the text without the hook, and without lists and objects that become empty.
pub(super) fn unset_hook(text: &str, hook: &Hook) -> Result<String, String> {
    let root = parse(text)?;
    let top = top_object(&root)?;
    let Some(hooks) = top.object_value("hooks") else { return Ok(text.to_owned()) };
    let Some(list) = hooks.array_value(hook.event) else { return Ok(text.to_owned()) };
    if own_entries(&list, hook).is_empty() {
        return Ok(text.to_owned());
    }
    remove_ours(&list, hook, 0);
    if list.elements().is_empty()
        && let Some(property) = hooks.get(hook.event)
    {
        property.remove();
    }
    remove_empty_objects(hooks, vec![(top, "hooks")]);
    Ok(root.to_string())
}
