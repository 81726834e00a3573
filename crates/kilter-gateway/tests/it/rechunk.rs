//! However a stream is cut into reads, the client gets the same turn.

use serde_json::json;

use crate::client::{Turn, ask, gateway, post};
use crate::raw::{Raw, Step, chunk, deltas, event, stream};

/// Streams that make the engine hold, move, cut and count.
fn streams() -> Vec<(&'static str, Vec<u8>)> {
    let text = |s: &crate::raw::Script| -> Vec<u8> {
        let mut out = Vec::new();
        for step in &s.steps {
            if let Step::Bytes(b) = step {
                out.extend_from_slice(b);
            }
        }
        out
    };
    let say = |t: &str| json!({ "content": t });
    vec![
        (
            "prose",
            text(&deltas(
                &[
                    say("Plain “prose” – "),
                    say("with <b>tags</b> "),
                    say("and 北京."),
                ],
                "stop",
            )),
        ),
        (
            "call in content",
            text(&deltas(
                &[
                    say("On it. "),
                    say("<tool"),
                    say("_call>{\"name\": \"read_file\", "),
                    say("\"arguments\": {\"path\": \"ü\"}}</tool_call>"),
                ],
                "stop",
            )),
        ),
        (
            "other reasoning field",
            text(&deltas(
                &[
                    json!({ "reasoning": "hm " }),
                    json!({ "reasoning": "so" }),
                    say("Yes."),
                ],
                "stop",
            )),
        ),
        (
            "calls without index",
            text(&deltas(
                &[
                    json!({ "tool_calls": [{ "id": "a", "type": "function", "function": { "name": "read_file", "arguments": "{\"path\":" } }] }),
                    json!({ "tool_calls": [{ "function": { "arguments": "\"a\"}" } }] }),
                    json!({ "tool_calls": [{ "id": "b", "type": "function", "function": { "name": "web_search", "arguments": "{\"query\":\"q\"}" } }] }),
                ],
                "stop",
            )),
        ),
        (
            "every line end",
            text(&stream(&[
                format!(
                    ": hi\r\n\r\n{}",
                    event(&chunk(&say("a"), None)).replace("\n\n", "\r\n\r\n")
                ),
                event(&chunk(&say("b"), Some("stop"))).replace("\n\n", "\r\r"),
                "data: [DONE]\n\n".to_owned(),
            ])),
        ),
    ]
}

async fn through(pieces: Vec<Vec<u8>>) -> Turn {
    let mut script = stream(&[]);
    script.steps = pieces.into_iter().map(Step::Bytes).collect();
    let up = Raw::serve(vec![script]).await;
    let g = gateway(&up.url()).await;
    post(&g, &ask("go", true), &[]).await.turn()
}

#[tokio::test]
async fn any_chunking_is_the_whole() {
    for (name, bytes) in streams() {
        let want = through(vec![bytes.clone()]).await;
        assert_eq!((want.done, want.errors.len()), (1, 0), "{name}");
        assert_eq!(
            through(bytes.iter().map(|b| vec![*b]).collect()).await,
            want,
            "{name}, byte by byte"
        );
        // A generator of our own: the cuts are the same in every run.
        let mut seed = 7u64;
        for round in 0..12 {
            let mut pieces = Vec::new();
            let mut rest = &bytes[..];
            while !rest.is_empty() {
                seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
                let n = (1 + (seed >> 33) as usize % 90).min(rest.len());
                pieces.push(rest[..n].to_vec());
                rest = &rest[n..];
            }
            assert_eq!(through(pieces).await, want, "{name}, round {round}");
        }
    }
}
