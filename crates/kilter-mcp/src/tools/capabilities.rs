//! The caller's window, and the tools that it is shown.

use serde_json::{Value, json};

use super::Call;
use crate::failure::ToolFailure;
use crate::session::{Window, budget};
use crate::surface::Surface;

pub(super) fn run(call: &Call<'_>) -> Result<Value, ToolFailure> {
    let args = &call.arguments;
    let session = call.view.session.as_deref();
    let given = args
        .int("context_tokens")
        .and_then(|n| u64::try_from(n).ok());
    let model = args.text("model_id").map(str::to_owned);
    let mut note = Vec::new();
    let mut window = session.map(|s| s.window()).unwrap_or_default();
    if args.flag("clear") {
        window = Window::default();
    }
    if let Some(tokens) = given {
        window.tokens = Some(tokens);
    }
    if model.is_some() {
        window.model = model;
    }
    match session {
        Some(s) => s.set_window(window.clone()),
        None if given.is_some() => note.push(
            "this revision of the protocol has no sessions, so nothing is kept: bound each call with `max_tokens` or \
             `budget`"
                .to_owned(),
        ),
        None => {}
    }
    let (tokens, source) = match (window.tokens, call.config.context_tokens) {
        (Some(t), _) => (Some(t), "tool"),
        (None, Some(t)) => (Some(t), "env"),
        (None, None) => (None, "none"),
    };
    let mut reply = json!({
        "ok": true,
        "configured": tokens.is_some() && (session.is_some() || source == "env"),
        "source": source,
    });
    if let Some(t) = tokens {
        reply["contextTokens"] = json!(t);
        reply["outputBudgetTokens"] = json!(budget(t));
        reply["suggestedProfile"] = json!(Surface::for_window(t));
    }
    if let Some(model) = window.model {
        reply["modelId"] = json!(model);
    }
    if let Some(word) = args.text("profile") {
        switch(call, word, &mut reply, &mut note)?;
    }
    reply["activeProfile"] = json!(call.view.surface());
    if !note.is_empty() {
        reply["note"] = json!(note.join("; "));
    }
    Ok(reply)
}

/// Changes the session's surface, or says where the wanted one is.
fn switch(
    call: &Call<'_>,
    word: &str,
    reply: &mut Value,
    note: &mut Vec<String>,
) -> Result<(), ToolFailure> {
    let wanted: Surface = word
        .parse()
        .map_err(|e: crate::surface::NoSurface| ToolFailure::arguments(e, "choose one of them"))?;
    reply["endpoint"] = json!(wanted.path());
    match call.view.session.as_deref() {
        Some(_) if call.config.locked => {
            reply["applied"] = json!(false);
            note.push("the operator locked the set of tools".to_owned());
        }
        Some(session) => {
            session.switch(wanted);
            reply["applied"] = json!(true);
        }
        None => {
            reply["applied"] = json!(false);
            note.push(format!(
                "in this revision of the protocol each set of tools has its own endpoint: connect to `{}`, or start \
                 `kilter mcp --surface {wanted}`",
                wanted.path()
            ));
        }
    }
    Ok(())
}
