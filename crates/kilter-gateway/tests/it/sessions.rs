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

/// Where a swap begins in [`swap`].
const SWAP: usize = 4;

/// Four turns with the reasoning at one place, then at another.
async fn swap(
    from: &str,
    to: &str,
    stream: bool,
) -> (Vec<crate::client::Turn>, Vec<(usize, String)>) {
    let script = format!(
        "name = \"m\"\n[reasoning]\nchannel = \"{from}\"\ntext = \"Hm.\"\n[reply]\ntext = \"Yes.\"\n[[phases]]\nturns = {SWAP}\nuse = \"base\"\n[[phases]]\nuse = \"other\"\n[variants.other]\nreasoning.channel = \"{to}\""
    );
    let r = rig(&script).await;
    let mut events = r.gateway.events();
    let mut turns = Vec::new();
    let mut moves = Vec::new();
    for n in 0..SWAP + 5 {
        turns.push(r.ask(&ask("hello there", stream), &[]).await.turn());
        while let Ok(e) = events.try_recv() {
            if let kilter_core::EventKind::Behavior { axis, to, .. } = e.kind
                && axis.contains("reasoning")
                && !axis.contains("history")
            {
                moves.push((n, to));
            }
        }
    }
    (turns, moves)
}

#[tokio::test]
async fn a_swap_of_the_reasoning_channel_is_followed_within_two_turns() {
    for (from, to) in [
        ("inline", "field"),
        ("field", "inline"),
        ("field", "lone_closer"),
        ("lone_closer", "field"),
        ("inline", "lone_closer"),
        ("none", "inline"),
        ("inline", "none"),
    ] {
        for stream in [false, true] {
            let (turns, moves) = swap(from, to, stream).await;
            let what = format!("{from} to {to}, stream {stream}: {moves:?} {turns:#?}");
            let right = |t: &crate::client::Turn, channel: &str| {
                let thought = if channel == "none" { "" } else { "Hm." };
                (t.content.trim(), t.reasoning.trim()) == ("Yes.", thought)
            };
            // Learnt before the swap, and two turns after it. In between nothing may be lost: what
            // is not yet split stands in the content.
            for (n, t) in turns.iter().enumerate() {
                let channel = if n < SWAP { from } else { to };
                let since = if n < SWAP { n } else { n - SWAP };
                if since >= 2 {
                    assert!(right(t, channel), "turn {n} of {what}");
                } else if !right(t, channel) {
                    assert!(
                        t.content.contains("Hm.") && t.content.trim().ends_with("Yes."),
                        "turn {n} of {what}"
                    );
                }
            }
            // Absence is no evidence: with nothing to see the profile stays.
            assert!(
                to == "none" || moves.iter().any(|(n, _)| (SWAP..SWAP + 2).contains(n)),
                "the profile moves within two turns: {what}"
            );
        }
    }
}
