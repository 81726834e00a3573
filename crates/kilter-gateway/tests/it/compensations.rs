//! Refusals are compensated once, what helped is learnt, checked again, and forgotten.

use std::sync::Arc;
use std::time::Duration;

use kilter_core::{EventKind, ManualClock};
use kilter_gateway::{Deps, Gateway};
use kilter_mock::{MockServer, Script};
use serde_json::json;

use crate::client::{ask, config, post, rig, start};

#[tokio::test]
async fn refused_fields_are_left_out_and_remembered() {
    for (refuse, change, field) in [
        (
            "kind = \"field\"\nfield = \"store\"",
            json!({ "store": true }),
            "refused-field:store",
        ),
        (
            "kind = \"field\"\nfield = \"store\"\nshape = \"fastapi\"",
            json!({ "store": true }),
            "refused-field:store",
        ),
        (
            "kind = \"field\"\nfield = \"store\"\nshape = \"prose\"",
            json!({ "store": true }),
            "refused-field:store",
        ),
        (
            "kind = \"max_tokens\"",
            json!({ "max_tokens": 900 }),
            "max-completion-tokens",
        ),
        (
            "kind = \"max_completion_tokens\"",
            json!({ "max_completion_tokens": 900 }),
            "max-tokens",
        ),
        (
            "kind = \"temperature\"",
            json!({ "temperature": 0.3 }),
            "fixed-temperature",
        ),
        (
            "kind = \"stream_options\"",
            json!({ "stream": true, "stream_options": { "include_usage": true } }),
            "stream-options",
        ),
        (
            "kind = \"role\"",
            json!({ "messages": [{ "role": "developer", "content": "d" }, { "role": "user", "content": "u" }] }),
            "developer-as-system",
        ),
    ] {
        let r = rig(&format!("name = \"m\"\n[[refuse]]\n{refuse}")).await;
        let mut body = ask("hello there", false);
        for (k, v) in change.as_object().unwrap() {
            body[k] = v.clone();
        }
        for n in 0..3 {
            let got = r.ask(&body, &[]).await;
            assert_eq!(got.status, 200, "{refuse}: {}", got.text());
            assert_eq!(
                got.header("x-kilter-actions"),
                format!("compensation={field}"),
                "{refuse}"
            );
            assert_eq!(
                r.mock.chats().len(),
                2 + n,
                "{refuse}: refused once, then known"
            );
        }
        // Nothing else was changed.
        let sent = r.mock.chats().pop().unwrap().json();
        assert_eq!(sent["tools"], body["tools"]);
        // Another session starts from nothing.
        r.ask(&body, &[("x-kilter-session", "another")]).await;
        assert_eq!(r.mock.chats().len(), 6);
    }
}

#[tokio::test]
async fn tool_call_ids_are_mapped_where_a_shape_is_wanted() {
    let r = rig("name = \"m\"\n[[refuse]]\nkind = \"tool_call_id\"\nlength = 9\nalphanumeric = true\nmessage = \"Tool call id was call_0123456789abcdef but must be a-z, A-Z, 0-9, with a length of 9.\"").await;
    let mut body = ask("go on", false);
    body["messages"].as_array_mut().unwrap().extend([
        json!({ "role": "assistant", "content": null, "tool_calls": [{ "id": "call_0123456789abcdef", "type": "function", "function": { "name": "read_file", "arguments": "{\"path\":\"a\"}" } }] }),
        json!({ "role": "tool", "tool_call_id": "call_0123456789abcdef", "content": "x" }),
    ]);
    let got = r.ask(&body, &[]).await;
    assert_eq!(got.status, 200, "{}", got.text());
    let sent = r.mock.chats().pop().unwrap().json();
    let id = sent["messages"][2]["tool_calls"][0]["id"].as_str().unwrap();
    assert_eq!(id.len(), 9);
    assert_eq!(sent["messages"][3]["tool_call_id"], id, "both ends agree");
}

#[tokio::test]
async fn two_refusals_in_a_row() {
    let r =
        rig("name = \"m\"\n[[refuse]]\nkind = \"max_tokens\"\n[[refuse]]\nkind = \"temperature\"")
            .await;
    let mut body = ask("hello there", false);
    body["max_tokens"] = json!(900);
    body["temperature"] = json!(0.1);
    let got = r.ask(&body, &[]).await;
    assert_eq!(got.status, 200, "{}", got.text());
    assert_eq!(r.mock.chats().len(), 3);
}

#[tokio::test]
async fn a_refusal_that_nothing_helps_is_passed_on() {
    let r = rig("name = \"m\"\n[[refuse]]\nkind = \"request\"\nmessage = \"Unknown parameter: 'store'.\"\nparam = \"store\"").await;
    let mut body = ask("hello there", false);
    body["store"] = json!(true);
    let got = r.ask(&body, &[]).await;
    assert_eq!(got.status, 400);
    assert_eq!(r.mock.chats().len(), 2, "one try for one error");
    // It did not help, so it was not learnt.
    r.ask(&body, &[]).await;
    assert_eq!(r.mock.chats()[2].json()["store"], true);
}

#[tokio::test]
async fn off_and_observe_compensate_nothing() {
    for adapt in ["off", "observe"] {
        let r = rig("name = \"m\"\n[[refuse]]\nkind = \"max_tokens\"").await;
        let mut body = ask("hello there", false);
        body["max_tokens"] = json!(900);
        assert_eq!(r.ask(&body, &[("x-kilter-adapt", adapt)]).await.status, 400);
        assert_eq!(r.mock.chats().len(), 1);
    }
}

#[tokio::test]
async fn what_was_learnt_is_checked_again_and_expires() {
    // Refuses for two turns, then takes the field.
    let script = Script::from_toml("name = \"m\"\n[[rules]]\nwhen = { to_turn = 2 }\nrefuse = [{ kind = \"field\", field = \"store\" }]").unwrap();
    let mock = MockServer::local(script).await.unwrap();
    let clock = Arc::new(ManualClock::at(1_000_000));
    let deps = Deps {
        clock: Arc::clone(&clock) as _,
        ..Deps::default()
    };
    let g = Gateway::start(config(&mock.url()), deps).await.unwrap();
    let mut events = g.events();
    let mut body = ask("hello there", false);
    body["store"] = json!(true);
    for _ in 0..3 {
        assert_eq!(post(&g, &body, &[]).await.status, 200);
    }
    assert!(
        mock.chats().last().unwrap().json().get("store").is_none(),
        "still applied"
    );
    clock.advance(Duration::from_secs(25 * 3600));
    assert_eq!(post(&g, &body, &[]).await.status, 200);
    assert_eq!(
        mock.chats().last().unwrap().json()["store"],
        true,
        "tried without"
    );
    assert_eq!(post(&g, &body, &[]).await.status, 200);
    assert_eq!(
        mock.chats().last().unwrap().json()["store"],
        true,
        "and forgotten"
    );
    let mut outcomes = Vec::new();
    while let Ok(e) = events.try_recv() {
        if let EventKind::Compensation { rule, outcome } = e.kind {
            assert_eq!(rule, "refused-field:store");
            outcomes.push(outcome);
        }
    }
    assert_eq!(
        outcomes,
        ["tried", "learnt", "applied", "applied", "expired"]
    );
}

#[tokio::test]
async fn the_operators_knowledge_needs_no_refusal() {
    let script =
        Script::from_toml("name = \"m\"\n[[refuse]]\nkind = \"history_reasoning\"").unwrap();
    let mock = MockServer::local(script).await.unwrap();
    let mut c = config(&mock.url());
    c.backends[0].capability.reasoning_replay =
        Some(kilter_gateway::config::ReasoningReplay::Never);
    let g = start(c).await;
    let body = json!({ "model": "m", "messages": [{ "role": "assistant", "content": "2", "reasoning_content": "r" }, { "role": "user", "content": "x" }] });
    assert_eq!(post(&g, &body, &[]).await.status, 200);
    assert_eq!(mock.chats().len(), 1);
}

#[tokio::test]
async fn an_operators_rule_and_an_operators_no() {
    let script = Script::from_toml("name = \"m\"\n[[refuse]]\nkind = \"request\"\nwhen = { has_field = \"seed\" }\nmessage = \"sorry, cannot do that here\"").unwrap();
    let mock = MockServer::local(script).await.unwrap();
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("mine.toml");
    std::fs::write(&file, "[[rule]]\nname = \"no-seed\"\nabout = \"knows no seed\"\nmatch = { status = [400], words = [\"cannot do that here\"], has = [\"seed\"] }\nchange = { remove = [\"seed\"] }\n").unwrap();
    let mut c = config(&mock.url());
    c.compensations.files.push(file);
    let mut body = ask("hello there", false);
    body["seed"] = json!(1);
    let got = post(&start(c.clone()).await, &body, &[]).await;
    assert_eq!(
        (got.status, got.header("x-kilter-actions")),
        (200, "compensation=no-seed")
    );
    c.compensations.off.push("no-seed".into());
    assert_eq!(post(&start(c).await, &body, &[]).await.status, 400);
}
