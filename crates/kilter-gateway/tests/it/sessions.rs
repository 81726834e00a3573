//! Profiles are per session, backend and slot; a swap behind the slot is followed in both directions.

use serde_json::json;

use crate::client::{ask, config, post, rig, start};

const TEXT: &str =
    "<tool_call>{\"name\":\"read_file\",\"arguments\":{\"path\":\"a.txt\"}}</tool_call>";

#[tokio::test]
async fn a_swap_from_native_to_text_lifts_the_guard_after_two_turns() {
    let script = "name = \"m\"\n[calls]\npolicy = \"eager\"\nliteral = [{ name = \"read_file\", arguments = { path = \"a.txt\" } }]\n[[phases]]\nturns = 3\nuse = \"base\"\n[[phases]]\nuse = \"text\"\n[variants.text]\ncalls.channel = \"content\"\ncalls.dialect = \"hermes-json\"";
    let r = rig(script).await;
    let mut native = Vec::new();
    for _ in 0..7 {
        native.push(r.ask(&ask("read it", false), &[]).await.turn().calls.len());
    }
    // Three native turns prove the channel; the guard holds for two turns of evidence, then lifts.
    assert_eq!(native[..3], [1, 1, 1]);
    assert_eq!(native[5..], [1, 1], "{native:?}");
}

#[tokio::test]
async fn a_swap_from_text_to_native_is_followed_at_once() {
    let script = "name = \"m\"\n[calls]\npolicy = \"eager\"\nliteral = [{ name = \"read_file\", arguments = { path = \"a.txt\" } }]\n[[phases]]\nturns = 3\nuse = \"text\"\n[[phases]]\nuse = \"base\"\n[variants.text]\ncalls.channel = \"content\"\ncalls.dialect = \"hermes-json\"";
    let r = rig(script).await;
    for n in 0..6 {
        let got = r.ask(&ask("read it", true), &[]).await;
        assert_eq!(got.turn().calls.len(), 1, "turn {n}: {}", got.text());
        assert_eq!(
            got.actions().is_empty(),
            n >= 3,
            "turn {n}: {:?}",
            got.actions()
        );
    }
}

#[tokio::test]
async fn inline_thinking_that_stops_is_unlearnt() {
    let script = "name = \"m\"\n[reasoning]\nchannel = \"inline\"\ntext = \"Hm.\"\n[reply]\ntext = \"Yes.\"\n[[phases]]\nturns = 4\nuse = \"base\"\n[[phases]]\nuse = \"field\"\n[variants.field]\nreasoning.channel = \"field\"";
    let r = rig(script).await;
    for n in 0..9 {
        let t = r.ask(&ask("hello there", true), &[]).await.turn();
        if n == 3 || n >= 6 {
            assert_eq!(
                (t.content.trim(), t.reasoning.trim()),
                ("Yes.", "Hm."),
                "turn {n}"
            );
        }
    }
    let s = r.gateway.state().sessions.all().pop().unwrap();
    let word = format!("{:?}", s.lock().profile.reasoning());
    assert!(word.starts_with("ServerSplit"), "{word}");
}

#[tokio::test]
async fn sessions_backends_and_slots_are_apart() {
    let script = "name = \"m\"\n[reasoning]\nchannel = \"inline\"";
    let r = rig(script).await;
    for (session, slot) in [("a", "m"), ("a", "m"), ("a", "other"), ("b", "m")] {
        let mut body = ask("hello there", false);
        body["model"] = json!(slot);
        r.ask(&body, &[("x-kilter-session", session)]).await;
    }
    let mut keys: Vec<(String, String, u64)> = r
        .gateway
        .state()
        .sessions
        .all()
        .iter()
        .map(|s| {
            (
                s.key.session.clone(),
                s.key.slot.clone(),
                s.lock().profile.turns(),
            )
        })
        .collect();
    keys.sort();
    assert_eq!(
        keys,
        [
            ("a".into(), "m".into(), 2),
            ("a".into(), "other".into(), 1),
            ("b".into(), "m".into(), 1)
        ]
    );
}

#[tokio::test]
async fn a_stream_and_its_client_share_one_answer_id() {
    use crate::raw::{Raw, content};
    let up = Raw::serve(vec![content(TEXT, 4)]).await;
    let g = start(config(&up.url())).await;
    let a = post(&g, &ask("go", true), &[]).await.turn();
    let b = post(&g, &ask("go", true), &[]).await.turn();
    assert_eq!(a.ids, ["chatcmpl-1"]);
    assert_eq!(
        a.calls[0].id, b.calls[0].id,
        "the same call of the same answer has the same id"
    );
}
