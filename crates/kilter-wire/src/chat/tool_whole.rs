//! The calls of a whole message to normal form: the rules of [`super::ToolStream`] without fragments.

use kilter_core::FinishReason;

use super::Choice;
use super::slots::clean_name;
use crate::raw::RawObject;

/// The `tool_calls` elements to send for a whole message, and what was changed in them; `None` when
/// they are in normal form already. `turn` and `declared` are those of [`super::ToolStream::new`]:
/// the same call gets the same id, streamed or not.
pub fn whole_calls(
    choice: &Choice,
    turn: &str,
    declared: &[String],
) -> Option<(Vec<String>, Vec<&'static str>)> {
    let cut = matches!(
        choice.finish,
        None | Some(FinishReason::Length | FinishReason::ContentFilter)
    );
    let mut actions: Vec<&'static str> = Vec::new();
    let mut ids: Vec<String> = Vec::new();
    let mut out = Vec::with_capacity(choice.tool_calls.len());
    for d in &choice.tool_calls {
        if d.name.is_none() && d.arguments.as_deref().unwrap_or("").is_empty() {
            actions.push("call:empty");
            continue;
        }
        let mut call = RawObject::from_text(d.raw.as_str()).unwrap_or_default();
        let written = d.name.as_deref().unwrap_or("");
        let name = clean_name(declared, written);
        let id = match &d.id {
            Some(id) if !ids.contains(id) => id.clone(),
            _ => {
                let id = kilter_core::id::call_id(turn, out.len(), &name, "");
                call.set_str("id", &id);
                actions.push("id");
                id
            }
        };
        ids.push(id);
        if d.kind.is_none() {
            call.set_str("type", "function");
            actions.push("type");
        }
        let mut function = call.object("function").unwrap_or_default();
        if d.flat {
            for key in ["name", "arguments"] {
                if let Some(v) = call.get(key).map(str::to_owned) {
                    call.remove(key);
                    // The value was scanned with the body.
                    let _ = function.set(key, v);
                }
            }
            actions.push("function:flat");
        }
        if name != written {
            function.set_str("name", &name);
            actions.push("name");
        }
        let arguments = d.arguments.as_deref().unwrap_or("");
        if arguments.trim().is_empty() && !cut {
            function.set_str("arguments", "{}");
            actions.push("arguments:empty");
        } else if d.arguments_is_value {
            function.set_str("arguments", arguments);
            actions.push("arguments:object");
        } else if d.arguments.is_none() {
            function.set_str("arguments", "");
            actions.push("arguments:null");
        }
        if function.is_edited() {
            call.set_object("function", &function);
        }
        out.push(call.to_text().into_owned());
    }
    actions.sort_unstable();
    actions.dedup();
    (!actions.is_empty()).then_some((out, actions))
}
