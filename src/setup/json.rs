//! Entries and hooks in a JSON file, which may hold comments and trailing commas; everything else is left as it is.

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
            // What a person added to the entry stays: an environment, a timeout, options of `ergo mcp`.
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

/// Returns the value with the options that a person added to its arguments: those after the last one of ours.
fn with_options(now: &Value, value: &Value) -> Value {
    let (Value::Array(now), Value::Array(ours)) = (now, value) else { return value.clone() };
    let last = ours.len().saturating_sub(1);
    let options = now.get(ours.len()..).filter(|_| now.get(last) == ours.last()).unwrap_or_default();
    Value::Array(ours.iter().chain(options).cloned().collect())
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

/// Returns the command of an entry that runs ours, with the program's present path; `None` if it runs another command. What a
/// person added stays: an environment before the program, options at the end.
fn updated(entry: &CstNode, hook: &Hook) -> Option<String> {
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

/// Returns our entries in a list.
fn ours(list: &CstArray, hook: &Hook) -> Vec<CstNode> {
    let entries = |element: CstNode| group(&element).map_or_else(|| vec![element], |group| group.elements());
    list.elements().into_iter().flat_map(entries).filter(|entry| updated(entry, hook).is_some()).collect()
}

/// Removes our entries but the first `keep`. A group goes with them only if it has no other entry.
fn remove_ours(list: &CstArray, hook: &Hook, keep: usize) {
    let mut kept = 0;
    for element in list.elements() {
        let group = group(&element);
        let entries = group.as_ref().map_or_else(|| vec![element.clone()], CstArray::elements);
        let all = entries.len();
        let mut ours: Vec<CstNode> = entries.into_iter().filter(|entry| updated(entry, hook).is_some()).collect();
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

/// The text with the command at its event: what a person added to it stays.
pub(super) fn set_hook(text: &str, hook: &Hook) -> Result<String, String> {
    let root = parse(text)?;
    let hooks = child(&top(&root)?, "hooks")?;
    let list = hooks
        .array_value_or_create(hook.event)
        .ok_or_else(|| format!("has a `hooks.{}` that is not a list", hook.event))?;
    let ours = ours(&list, hook);
    let Some(first) = ours.first() else {
        list.append(input(&element(hook)));
        return Ok(root.to_string());
    };
    let command = first.as_object().and_then(|entry| entry.get("command"));
    let wanted = updated(first, hook).map(Value::String);
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

/// The text without it. Lists and objects that hold nothing any more go with it.
pub(super) fn unset_hook(text: &str, hook: &Hook) -> Result<String, String> {
    let root = parse(text)?;
    let top = top(&root)?;
    let Some(hooks) = top.object_value("hooks") else { return Ok(text.to_owned()) };
    let Some(list) = hooks.array_value(hook.event) else { return Ok(text.to_owned()) };
    if ours(&list, hook).is_empty() {
        return Ok(text.to_owned());
    }
    remove_ours(&list, hook, 0);
    if list.elements().is_empty()
        && let Some(property) = hooks.get(hook.event)
    {
        property.remove();
    }
    prune(hooks, vec![(top, "hooks")]);
    Ok(root.to_string())
}
