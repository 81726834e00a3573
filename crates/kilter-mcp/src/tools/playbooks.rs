//! Playbooks: which one holds, what is wrong with one, what one could be made of, and keeping it.

use kilter_web::playbook::Tier;
use kilter_web::playbook::heal::{HealRequest, heal as survey};
use kilter_web::playbook::save::{SaveRequest, save as keep};
use serde_json::{Value, json};

use super::{Call, Engines};
use crate::failure::ToolFailure;

/// A playbook as text, however it was sent.
pub(super) fn text(call: &Call<'_>) -> String {
    match call.arguments.value("playbook_json") {
        Some(Value::String(text)) => text.clone(),
        Some(other) => other.to_string(),
        None => String::new(),
    }
}

pub(super) fn resolve(engines: &Engines, call: &Call<'_>) -> Result<Value, ToolFailure> {
    let keys = engines.keys.public_keys().unwrap_or_default();
    let resolved = kilter_web::playbook::resolve(
        &engines.shelf(),
        call.arguments.needed("url"),
        call.arguments.flag("include_lessons"),
        &keys,
    )?;
    super::answer(&resolved)
}

pub(super) fn lint(call: &Call<'_>) -> Result<Value, ToolFailure> {
    let said = kilter_web::playbook::lint(&text(call));
    let mut reply = super::answer(&said)?;
    reply["ok"] = json!(true);
    Ok(reply)
}

pub(super) async fn heal(engines: &Engines, call: &Call<'_>) -> Result<Value, ToolFailure> {
    let args = &call.arguments;
    let request = HealRequest {
        url: args.needed("url").trim().to_owned(),
        failure_reason: args.needed("failure_reason").to_owned(),
        session_profile: args.text("session_profile").map(str::to_owned),
        max_skeleton_nodes: args.size("max_skeleton_nodes"),
    };
    let options = engines.session(call)?.options();
    call.progress.say(0, Some(1), "reading");
    let healed = survey(
        &request,
        engines.reader.opener(),
        &options,
        &engines.shelf(),
        &*engines.clock,
    )
    .await?;
    super::answer(&healed)
}

pub(super) async fn save(engines: &Engines, call: &Call<'_>) -> Result<Value, ToolFailure> {
    let args = &call.arguments;
    let text_of = |name: &str| args.text(name).map(str::to_owned);
    let request = SaveRequest {
        url: args.needed("url").trim().to_owned(),
        playbook_json: text(call),
        verify: args.flag("verify"),
        verify_url: text_of("verify_url"),
        lesson_note: text_of("lesson_note"),
        failure_reason: text_of("failure_reason"),
        host_id: text_of("host_id"),
    };
    let local = engines.playbooks.iter().find(|s| s.tier == Tier::Local);
    let Some(local) = local else {
        return Err(ToolFailure::new(
            "playbook_save_rejected",
            "this server has no folder for playbooks",
            "the operator has to name one",
        ));
    };
    let key = engines.keys.signer().ok();
    call.progress
        .say(0, Some(1), "trying the playbook on the page");
    let saved = keep(
        &request,
        engines.reader.opener(),
        &kilter_web::acquire::GetOptions::default(),
        &local.dir,
        key.as_ref(),
        &*engines.clock,
    )
    .await?;
    super::answer(&saved)
}
