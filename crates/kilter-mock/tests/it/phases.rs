//! Several models behind one slot, at a time or one after another.

use kilter_mock::{MockServer, Script};
use serde_json::json;

use crate::client::{chat, chat_as, plain, server, with};

const SWAP: &str = r#"
name = "m"
reply.text = "one"
[[phases]]
turns = 3
use = "base"
[[phases]]
use = "two"
[variants.two]
reply.text = "two"
"#;

async fn said(s: &MockServer, session: &str) -> String {
    let v = chat_as(s, session, plain("?", false)).await.json();
    v["choices"][0]["message"]["content"]
        .as_str()
        .expect("text")
        .to_owned()
}

#[tokio::test]
async fn a_swap_after_three_turns_of_each_session() {
    let s = server(SWAP).await;
    let mut a = Vec::new();
    for _ in 0..5 {
        a.push(said(&s, "a").await);
    }
    assert_eq!(a, ["one", "one", "one", "two", "two"]);
    assert_eq!(said(&s, "b").await, "one", "another session starts anew");
    assert_eq!(s.chats()[3].model, "m/two");
    assert_eq!(s.chats()[3].turn, 4);
    let s = server(&format!("counted = \"global\"{SWAP}")).await;
    let mut all = Vec::new();
    for session in ["a", "b", "c", "d"] {
        all.push(said(&s, session).await);
    }
    assert_eq!(all, ["one", "one", "one", "two"]);
}

#[tokio::test]
async fn there_and_back_again() {
    let toml = r#"
reply.text = "one"
phases = [{ turns = 2, use = "base" }, { turns = 1, use = "two" }]
variants.two.reply.text = "two"
"#;
    let s = server(toml).await;
    let mut a = Vec::new();
    for _ in 0..6 {
        a.push(said(&s, "").await);
    }
    assert_eq!(a, ["one", "one", "two", "one", "one", "two"]);
}

#[tokio::test]
async fn refusals_and_faults_are_no_turns() {
    let s = server(&format!("{SWAP}\n[[faults]]\nkind = \"status\"\ntimes = 2")).await;
    // The faults table above belongs to the file, not to the variant.
    let _ = s;
    let toml = SWAP.replace(
        "[[phases]]\nturns = 3",
        "[[faults]]\nkind = \"status\"\ntimes = 2\n[[phases]]\nturns = 1",
    );
    let s = server(&toml).await;
    assert_eq!(chat(&s, plain("?", false)).await.status, 500);
    assert_eq!(chat(&s, plain("?", false)).await.status, 500);
    assert_eq!(said(&s, "").await, "one");
    assert_eq!(said(&s, "").await, "two");
}

#[tokio::test]
async fn routers() {
    let toml = r#"
reply.text = "base"
router = { by = "round_robin", among = ["a", "b"] }
variants.a.reply.text = "A"
variants.b.reply.text = "B"
"#;
    let s = server(toml).await;
    assert_eq!(
        [said(&s, "").await, said(&s, "").await, said(&s, "").await],
        ["A", "B", "A"]
    );
    let toml = r#"
[router]
by = "message"
among = ["base"]
routes = [{ when = { message_contains = "code" }, use = "coder" }]
[reply]
text = "base"
[variants.coder.reply]
text = "coder"
"#;
    let s = server(toml).await;
    assert_eq!(said(&s, "").await, "base");
    let v = chat(&s, plain("write code", false)).await.json();
    assert_eq!(v["choices"][0]["message"]["content"], "coder");
}

#[tokio::test]
async fn other_scripts_behind_a_slot_and_several_slots() {
    let front = Script::from_toml(
        "name = \"front\"\nphases = [{ turns = 1, use = \"x\" }, { use = \"y\" }]",
    )
    .expect("a script");
    let x = Script::from_toml("name = \"x\"\nreply.text = \"X\"").expect("a script");
    let y =
        Script::from_toml("name = \"y\"\nslots = [\"y2\"]\nreply.text = \"Y\"").expect("a script");
    let s = MockServer::local(vec![front.clone(), x.clone(), y])
        .await
        .expect("a server");
    let ask = |slot: &str| with(plain("?", false), json!({"model": slot}));
    let text = |v: serde_json::Value| {
        v["choices"][0]["message"]["content"]
            .as_str()
            .expect("text")
            .to_owned()
    };
    assert_eq!(text(chat(&s, ask("front")).await.json()), "X");
    assert_eq!(text(chat(&s, ask("front")).await.json()), "Y");
    assert_eq!(text(chat(&s, ask("y2")).await.json()), "Y");
    assert_eq!(text(chat(&s, ask("x")).await.json()), "X");
    let err = MockServer::local(vec![front, x])
        .await
        .err()
        .expect("an error")
        .to_string();
    assert!(
        err.contains("script `front` uses `y`") && err.contains("hint:"),
        "{err}"
    );
}

#[tokio::test]
async fn rules_by_turn() {
    let toml = r#"
reply.text = ["first", "second"]
[[rules]]
when = { turn = 3 }
reply.text = "third, after «user»"
[[rules]]
when = { from_turn = 4, header = { "x-mode" = "loud" } }
reply.text = "LOUD"
"#;
    let s = server(toml).await;
    let mut a = Vec::new();
    for _ in 0..4 {
        a.push(said(&s, "").await);
    }
    assert_eq!(a, ["first", "second", "third, after ?", "second"]);
    let r = crate::client::send(
        &s,
        "POST",
        "/v1/chat/completions",
        &[("x-mode", "loud")],
        &plain("?", false).to_string(),
    )
    .await;
    assert!(r.text().contains("LOUD"));
}
