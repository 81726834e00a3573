//! A whole answer for a client that asked for a stream: some servers ignore `stream`, and a client
//! that reads events would read nothing.

use bytes::Bytes;
use kilter_wire::sse;
use kilter_wire::{RawArray, RawObject};

/// The body as the events of a stream; `None` when it is no completion.
pub(crate) fn events(body: &[u8], include_usage: bool) -> Option<Bytes> {
    let body = RawObject::parse(body).ok()?;
    let choices = body.array("choices")?;
    let mut envelope = body.clone();
    for key in ["choices", "usage", "kilter"] {
        envelope.remove(key);
    }
    envelope.set_str("object", "chat.completion.chunk");
    let mut said = RawArray::new();
    let mut ends = RawArray::new();
    for i in 0..choices.len() {
        let choice = choices.object(i)?;
        let index = choice.get_u64("index").unwrap_or(i as u64);
        let finish = choice.get("finish_reason").unwrap_or("null").to_owned();
        let mut delta = choice.object("message")?;
        if let Some(mut calls) = delta.array("tool_calls") {
            for at in 0..calls.len() {
                let mut call = calls.object(at)?;
                call.set_u64("index", at as u64);
                calls.set_object(at, &call);
            }
            delta.set_array("tool_calls", &calls);
        }
        let mut say = choice.clone();
        say.remove("message");
        say.set_object("delta", &delta);
        say.set_null("finish_reason");
        said.push(say.to_text()).ok()?;
        ends.push(format!(
            r#"{{"index":{index},"delta":{{}},"finish_reason":{finish}}}"#
        ))
        .ok()?;
    }
    let chunk = |list: &RawArray| {
        let mut c = envelope.clone();
        c.set_array("choices", list);
        c
    };
    let mut last = vec![chunk(&ends)];
    if include_usage && let Some(usage) = body.get("usage") {
        let mut c = chunk(&RawArray::new());
        c.set("usage", usage).ok()?;
        last.push(c);
    }
    if let (Some(kilter), Some(c)) = (body.get("kilter"), last.last_mut()) {
        c.set("kilter", kilter).ok()?;
    }
    let mut out = sse::encode_data(&chunk(&said).to_text()).to_vec();
    for c in last {
        out.extend_from_slice(&sse::encode_data(&c.to_text()));
    }
    out.extend_from_slice(sse::DONE);
    Some(out.into())
}
