//! Habits of the stream.

use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};

use crate::client::{Reply, chat, connect, plain, request, server, tide, tools, with};

async fn stream(toml: &str, body: Value) -> Reply {
    let r = chat(&server(toml).await, body).await;
    assert!(r.whole, "{toml}: {}", r.text());
    r
}

/// All call deltas.
fn deltas(r: &Reply) -> Vec<Value> {
    r.chunks()
        .iter()
        .filter_map(|c| c["choices"][0]["delta"]["tool_calls"].as_array().cloned())
        .flatten()
        .collect()
}

fn two() -> Value {
    with(
        plain(
            "What is the tide in Paris and in Tokyo? Look both up.",
            true,
        ),
        json!({"tools": tools()}),
    )
}

#[tokio::test]
async fn pieces_have_the_length_asked_for() {
    let r = stream(
        "[reply]\ntext = \"abcdefghij\"\n[stream]\npiece = 4",
        plain("?", true),
    )
    .await;
    let pieces: Vec<String> = r
        .chunks()
        .iter()
        .filter_map(|c| {
            c["choices"][0]["delta"]["content"]
                .as_str()
                .map(str::to_owned)
        })
        .filter(|s| !s.is_empty())
        .collect();
    assert_eq!(pieces, ["abcd", "efgh", "ij"]);
    let r = stream("stream.argument_piece = 5", tide(true)).await;
    let d = deltas(&r);
    assert_eq!(d[0]["function"]["name"], "get_tide");
    assert_eq!(d[0]["index"], 0);
    assert!(d[1].get("id").is_none());
    assert!(d[1..].iter().all(|x| {
        x["function"]["arguments"]
            .as_str()
            .is_some_and(|a| a.len() <= 5)
    }));
    let r = stream("stream.whole_calls = true", tide(true)).await;
    assert_eq!(deltas(&r).len(), 1);
}

#[tokio::test]
async fn indexes_ids_and_names() {
    let r = stream("stream.index = \"missing\"", two()).await;
    assert!(deltas(&r).iter().all(|d| d.get("index").is_none()));
    assert_eq!(
        deltas(&r).iter().filter(|d| d.get("id").is_some()).count(),
        2
    );
    let r = stream("stream.index = \"zero\"", two()).await;
    assert!(deltas(&r).iter().all(|d| d["index"] == 0));
    let r = stream("stream.index = \"duplicated\"", two()).await;
    let one = r
        .chunks()
        .iter()
        .find_map(|c| c["choices"][0]["delta"]["tool_calls"].as_array().cloned())
        .expect("calls");
    assert_eq!(
        (one.len(), &one[0]["index"], &one[1]["index"]),
        (2, &json!(0), &json!(0))
    );
    let r = stream("", two()).await;
    assert!(deltas(&r).iter().any(|d| d["index"] == 1));
    let r = stream("stream.interleaved = true", two()).await;
    let order: Vec<u64> = deltas(&r)
        .iter()
        .filter_map(|d| d["index"].as_u64())
        .collect();
    assert_eq!(order[..4], [0, 1, 0, 1]);

    let r = stream("stream.id = \"repeated\"", tide(true)).await;
    assert!(deltas(&r).iter().all(|d| d["id"].is_string()));
    let r = stream("stream.id = \"then_null\"", tide(true)).await;
    assert!(
        deltas(&r)[1..]
            .iter()
            .all(|d| d.get("id").is_some_and(Value::is_null))
    );
    let r = stream("stream.id = \"then_empty\"", tide(true)).await;
    assert!(deltas(&r)[1..].iter().all(|d| d["id"] == ""));
    let r = stream("stream.name = \"repeated\"", tide(true)).await;
    assert!(
        deltas(&r)
            .iter()
            .all(|d| d["function"]["name"] == "get_tide")
    );
    let r = stream("stream.name = \"pieces\"", tide(true)).await;
    let d = deltas(&r);
    assert_eq!(
        (&d[0]["function"]["name"], &d[1]["function"]["name"]),
        (&json!("get_"), &json!("tide"))
    );
    let r = stream("calls.as_object = true", tide(true)).await;
    assert_eq!(deltas(&r)[0]["function"]["arguments"]["port"], "Brest");
}

#[tokio::test]
async fn first_and_last_chunks() {
    let first = |r: &Reply| r.chunks()[0]["choices"][0]["delta"].clone();
    assert_eq!(
        first(&stream("", plain("?", true)).await),
        json!({"role": "assistant", "content": ""})
    );
    let r = stream("stream.first = \"null\"", plain("?", true)).await;
    assert_eq!(first(&r), json!({"role": "assistant", "content": null}));
    let r = stream("stream.first = \"role\"", plain("?", true)).await;
    assert_eq!(first(&r), json!({"role": "assistant"}));
    let r = stream("stream.first = \"merged\"", plain("?", true)).await;
    assert!(first(&r)["content"].as_str().is_some_and(|c| !c.is_empty()));
    let r = stream("stream.finish_on_last = true", plain("?", true)).await;
    let last = r.chunks().pop().expect("a chunk");
    assert_eq!(last["choices"][0]["finish_reason"], "stop");
    assert!(last["choices"][0]["delta"]["content"].is_string());
    let r = stream("stream.no_finish = true", plain("?", true)).await;
    assert_eq!(r.finish(), None);
    let r = stream("stream.bare_choices = true", plain("?", true)).await;
    assert!(r.chunks()[0]["choices"][0].get("finish_reason").is_none());
    let r = stream("stream.extra_keys = true", plain("?", true)).await;
    assert_eq!(r.chunks()[0]["x_private"]["kept"], true);
}

#[tokio::test]
async fn usage_in_each_place() {
    let asked = with(
        plain("?", true),
        json!({"stream_options": {"include_usage": true}}),
    );
    let r = stream("usage.null_before = true", asked.clone()).await;
    let c = r.chunks();
    assert!(c[0].get("usage").is_some_and(Value::is_null));
    assert_eq!(c.last().expect("a chunk")["choices"], json!([]));
    let r = stream(
        "usage.place = \"finish\"\nusage.report = \"always\"",
        plain("?", true),
    )
    .await;
    let last = r.chunks().pop().expect("a chunk");
    assert_eq!(last["choices"][0]["finish_reason"], "stop");
    assert!(last["usage"]["prompt_tokens"].is_u64());
    let r = stream(
        "usage.place = \"every\"\nusage.report = \"always\"",
        plain("?", true),
    )
    .await;
    assert!(
        r.chunks()
            .iter()
            .all(|c| c["usage"]["prompt_tokens"].is_u64())
    );
    let r = stream("usage.report = \"never\"", asked).await;
    assert!(!r.text().contains("usage"));
    let v = chat(&server("usage.report = \"never\"").await, plain("?", false))
        .await
        .json();
    assert!(v.get("usage").is_none());
}

#[tokio::test]
async fn bytes_of_events() {
    let say = "reply.text = \"héllo\"\n";
    let text = |toml: String| async move { stream(&toml, plain("?", true)).await.text() };
    let crlf = text(format!("{say}stream.line_end = \"crlf\"")).await;
    assert!(crlf.contains("\r\n\r\n") && !crlf.replace("\r\n", "").contains('\n'));
    let cr = text(format!("{say}stream.line_end = \"cr\"")).await;
    assert!(cr.contains("\r\r") && !cr.contains('\n'));
    let mixed = text(format!("{say}stream.line_end = \"mixed\"")).await;
    assert!(mixed.contains("\r\n") && mixed.contains('\r'));
    assert!(
        text(format!("{say}stream.bom = true"))
            .await
            .starts_with('\u{feff}')
    );
    assert!(
        text(format!("{say}stream.no_space = true"))
            .await
            .starts_with("data:{")
    );
    let ids = text(format!(
        "{say}stream.id_lines = true\nstream.retry_line = true"
    ))
    .await;
    assert!(ids.starts_with("retry: 3000\nid: 0\ndata: {"));
    assert!(ids.contains("\nid: 1\n"));
    let comments = text(format!("{say}stream.comment_every = 2")).await;
    assert!(
        comments.starts_with(": keepalive\n\n") && comments.matches(": keepalive").count() >= 2
    );
    assert!(
        text(format!("{say}stream.event_name = \"message\""))
            .await
            .contains("event: message\n")
    );
    let lines = text(format!("{say}stream.multi_line = true")).await;
    let first = lines.split("\n\n").next().expect("an event");
    assert!(first.lines().count() > 5);
    let joined: String = first
        .lines()
        .map(|l| l.strip_prefix("data: ").expect("a data line"))
        .collect::<Vec<_>>()
        .join("\n");
    assert!(serde_json::from_str::<Value>(&joined).is_ok());
}

#[tokio::test]
async fn ends_of_streams() {
    let end = |toml: &'static str| async move { stream(toml, plain("?", true)).await.text() };
    assert!(end("").await.ends_with("data: [DONE]\n\n"));
    assert!(!end("stream.done = \"missing\"").await.contains("[DONE]"));
    assert_eq!(
        end("stream.done = \"twice\"")
            .await
            .matches("[DONE]")
            .count(),
        2
    );
    assert!(
        end("stream.no_last_blank = true")
            .await
            .ends_with("[DONE]\n")
    );
    let r = chat(
        &server("stream.ignores_stream = true").await,
        plain("?", true),
    )
    .await;
    assert_eq!(
        r.header("content-type").as_deref(),
        Some("application/json")
    );
}

/// Chunk sizes of the transfer coding: one for each write of the script.
async fn writes(toml: &str, body: Value) -> Vec<Vec<u8>> {
    let s = server(toml).await;
    let mut c = connect(&s).await;
    c.write_all(&request(
        "POST",
        "/v1/chat/completions",
        &[],
        &body.to_string(),
    ))
    .await
    .expect("written");
    let mut raw = Vec::new();
    c.read_to_end(&mut raw).await.expect("read");
    let at = raw
        .windows(4)
        .position(|w| w == b"\r\n\r\n")
        .expect("a head")
        + 4;
    let mut rest = &raw[at..];
    let mut out = Vec::new();
    while let Some(nl) = rest.windows(2).position(|w| w == b"\r\n") {
        let n =
            usize::from_str_radix(std::str::from_utf8(&rest[..nl]).expect("hex"), 16).expect("hex");
        if n == 0 {
            break;
        }
        out.push(rest[nl + 2..nl + 2 + n].to_vec());
        rest = &rest[nl + 4 + n..];
    }
    out
}

#[tokio::test]
async fn writes_cut_through_events_and_characters() {
    let toml = "reply.text = \"aé€😀z\"\n";
    let whole = writes(&format!("{toml}stream.coalesce = true"), plain("?", true)).await;
    assert_eq!(whole.len(), 1);
    let bytewise = writes(&format!("{toml}stream.write_bytes = 1"), plain("?", true)).await;
    assert_eq!(bytewise.len(), whole[0].len());
    assert_eq!(bytewise.concat(), whole[0]);
    assert!(
        bytewise.iter().any(|w| std::str::from_utf8(w).is_err()),
        "a character is cut"
    );
    let events = writes(toml, plain("?", true)).await;
    assert!(events.len() >= 3 && events.iter().all(|e| e.ends_with(b"\n\n")));
    assert_eq!(events.concat(), whole[0]);
}

#[tokio::test]
async fn several_choices() {
    let r = stream(
        "reply.text = \"abc\"",
        with(plain("?", true), json!({"n": 2})),
    )
    .await;
    let indexes: Vec<u64> = r
        .chunks()
        .iter()
        .filter_map(|c| c["choices"][0]["index"].as_u64())
        .collect();
    assert!(indexes.contains(&1));
    let v = chat(&server("").await, with(plain("?", false), json!({"n": 3})))
        .await
        .json();
    assert_eq!(v["choices"].as_array().map(Vec::len), Some(3));
}

#[tokio::test]
async fn delays_are_kept() {
    let s = server("stream.first_token_ms = 60\nstream.delay_ms = 5\nreply.text = \"abcdefgh\"\nstream.piece = 1").await;
    assert!(chat(&s, plain("?", true)).await.whole);
    let r = &s.chats()[0];
    let took = r.ended.expect("an end") - r.at;
    // At least: 60 ms before the first event and 5 ms between the eleven that follow.
    assert!(took.as_millis() >= 60 + 9 * 5, "{took:?}");
}
