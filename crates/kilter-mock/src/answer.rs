//! From a decided turn (or a failure) to status, headers and steps.

use std::time::Duration;

use bytes::Bytes;
use serde_json::{Value, json};

use crate::behaviour::Behaviour;
use crate::chunks;
use crate::error::WireError;
use crate::fault::{Fault, FaultKind};
use crate::plan::Plan;
use crate::request::Ask;
use crate::sse::Writer;
use crate::steps::{self, Step};
use crate::whole;

/// What goes to the client.
#[derive(Debug)]
pub(crate) struct Answer {
    pub(crate) status: u16,
    pub(crate) headers: Vec<(&'static str, String)>,
    /// The length to announce; `None`: chunked.
    pub(crate) length: Option<usize>,
    pub(crate) steps: Vec<Step>,
    /// Time before the headers.
    pub(crate) wait: Duration,
    /// The headers never come.
    pub(crate) hang: bool,
    /// The connection is broken before the headers: closed, or reset.
    pub(crate) broken: bool,
}

impl Answer {
    fn bytes(status: u16, content_type: &str, body: Vec<u8>) -> Self {
        let steps = if body.is_empty() {
            Vec::new()
        } else {
            vec![Step::Write(Bytes::from(body.clone()))]
        };
        Self {
            status,
            headers: vec![("content-type", content_type.to_owned())],
            length: Some(body.len()),
            steps,
            wait: Duration::ZERO,
            hang: false,
            broken: false,
        }
    }

    pub(crate) fn json(status: u16, body: &Value) -> Self {
        Self::bytes(status, "application/json", body.to_string().into_bytes())
    }

    pub(crate) fn error(e: &WireError) -> Self {
        Self::bytes(e.status, "application/json", e.body())
    }
}

/// The answer of a fault that needs no turn; `None` when the fault needs one.
pub(crate) fn fault_alone(f: &Fault) -> Option<Answer> {
    let status = f.status.unwrap_or(500);
    Some(match f.kind {
        FaultKind::Status => {
            let mut e = WireError::new(
                status,
                f.r#type.as_deref().unwrap_or(match status {
                    429 => "rate_limit_error",
                    401 | 403 => "authentication_error",
                    400..=499 => "invalid_request_error",
                    _ => "server_error",
                }),
                f.message.clone().unwrap_or_else(|| {
                    match status {
                        429 => "Rate limit reached. Try again later.",
                        503 => "The server is overloaded.",
                        400..=499 => "The request was refused.",
                        _ => "The server had an error.",
                    }
                    .to_owned()
                }),
            );
            e.shape = f.shape;
            let mut a = Answer::error(&e);
            if let Some(v) = &f.retry_after {
                a.headers.push(("retry-after", v.clone()));
            }
            if let Some(v) = f.retry_after_ms {
                a.headers.push(("retry-after-ms", v.to_string()));
            }
            a
        }
        FaultKind::StallHeaders => {
            let mut a = Answer::bytes(200, "application/json", Vec::new());
            a.hang = true;
            a
        }
        FaultKind::Refuse => {
            let mut a = Answer::bytes(200, "application/json", Vec::new());
            a.broken = true;
            a
        }
        FaultKind::NotJson => Answer::bytes(
            f.status.unwrap_or(200),
            "text/plain",
            b"upstream is warming up\n".to_vec(),
        ),
        FaultKind::Html => Answer::bytes(
            f.status.unwrap_or(502),
            "text/html",
            b"<!DOCTYPE html>\n<html><head><title>502 Bad Gateway</title></head>\n<body><center><h1>502 Bad Gateway</h1></center></body></html>\n".to_vec(),
        ),
        FaultKind::EmptyBody => Answer::bytes(f.status.unwrap_or(200), "application/json", Vec::new()),
        _ => return None,
    })
}

/// The answer that carries a turn, with the fault that strikes it.
pub(crate) fn turn(plan: &Plan, b: &Behaviour, ask: &Ask, fault: Option<&Fault>) -> Answer {
    let stream = ask.stream && !b.stream.ignores_stream.unwrap_or(false);
    let mut a = if stream {
        streamed(plan, b, ask, fault)
    } else {
        whole_body(plan, b, ask, fault)
    };
    if let Some(ms) = b.stream.headers_ms {
        a.wait = Duration::from_millis(ms);
    }
    if let Some(f) = fault
        && f.kind == FaultKind::SlowHeaders
    {
        a.wait = Duration::from_millis(f.ms.unwrap_or(500));
    }
    a.headers.push(("x-request-id", plan.id.clone()));
    a
}

fn error_event(f: &Fault) -> Value {
    let mut e = WireError::new(
        500,
        f.r#type.as_deref().unwrap_or("server_error"),
        f.message
            .as_deref()
            .unwrap_or("The server had an error while processing the request."),
    );
    e.shape = f.shape;
    e.json().unwrap_or_else(|| json!({"error": {}}))
}

fn text_chunk(plan: &Plan, text: &str) -> Value {
    json!({
        "id": plan.id, "object": "chat.completion.chunk", "created": crate::plan::CREATED,
        "model": plan.model,
        "choices": [{"index": 0, "delta": {"content": text}, "finish_reason": null}]
    })
}

fn streamed(plan: &Plan, b: &Behaviour, ask: &Ask, fault: Option<&Fault>) -> Answer {
    let h = &b.stream;
    let mut w = Writer::new(h);
    let all = chunks::chunks(plan, b, ask);
    let mut events: Vec<Vec<u8>> = Vec::with_capacity(all.len() + 1);
    let mut tail: Vec<Step> = Vec::new();
    let mut clean = true;
    let strike = fault.map_or(usize::MAX, |f| (f.after as usize).min(all.len()));
    for (i, c) in all.iter().enumerate() {
        if i == strike
            && let Some(f) = fault
        {
            match f.kind {
                FaultKind::BadChunk => {
                    events.push(w.data("{\"id\": \"chatcmpl-x\", \"choices\": [{"))
                }
                FaultKind::Oversized => {
                    let text = "x".repeat(f.bytes.unwrap_or(2 << 20));
                    events.push(w.chunk(&text_chunk(plan, &text)));
                }
                FaultKind::BadUtf8 => {
                    let text = w.chunk(&text_chunk(plan, "caf@@"));
                    events.push(bad_utf8(text));
                }
                FaultKind::ErrorEvent
                | FaultKind::Cut
                | FaultKind::Reset
                | FaultKind::Stall
                | FaultKind::Endless => break,
                _ => {}
            }
        }
        events.push(w.chunk(c));
    }
    if let Some(f) = fault {
        match f.kind {
            FaultKind::ErrorEvent => {
                events.push(w.data(&error_event(f).to_string()));
                clean = f.then_done;
            }
            FaultKind::Cut => tail.extend(steps::break_off(Step::Close)),
            FaultKind::Reset => tail.extend(steps::break_off(Step::Reset)),
            FaultKind::Stall => tail.push(Step::Hang),
            FaultKind::Endless => {
                let more = w.chunk(&text_chunk(plan, "and so on, "));
                tail.push(Step::Repeat(
                    Bytes::from(more),
                    Duration::from_millis(f.gap_ms.unwrap_or(1)),
                ));
            }
            _ => {}
        }
    }
    if tail.is_empty() {
        if clean {
            events.extend(w.done());
        }
        if h.no_last_blank.unwrap_or(false) {
            w.without_last_blank(&mut events);
        }
    }
    let mut steps = steps::events(events, h);
    steps.extend(tail);
    Answer {
        status: 200,
        headers: vec![
            ("content-type", "text/event-stream".to_owned()),
            ("cache-control", "no-cache".to_owned()),
        ],
        length: None,
        steps,
        wait: Duration::ZERO,
        hang: false,
        broken: false,
    }
}

fn whole_body(plan: &Plan, b: &Behaviour, ask: &Ask, fault: Option<&Fault>) -> Answer {
    let body = whole::body(plan, b, ask);
    let Some(f) = fault else {
        return first_token(Answer::json(200, &body), b);
    };
    let bytes = body.to_string().into_bytes();
    let head = bytes[..(f.after as usize).min(bytes.len())].to_vec();
    let mut a = Answer::bytes(200, "application/json", bytes);
    let broken = |a: &mut Answer, tail: Vec<Step>| {
        a.steps = if head.is_empty() {
            Vec::new()
        } else {
            vec![Step::Write(Bytes::from(head.clone()))]
        };
        a.steps.extend(tail);
    };
    match f.kind {
        FaultKind::Cut => broken(&mut a, steps::break_off(Step::Close).into()),
        FaultKind::Reset => broken(&mut a, steps::break_off(Step::Reset).into()),
        FaultKind::Stall => broken(&mut a, vec![Step::Hang]),
        FaultKind::Endless => {
            broken(
                &mut a,
                vec![Step::Repeat(
                    Bytes::from_static(b"          \n"),
                    Duration::from_millis(f.gap_ms.unwrap_or(1)),
                )],
            );
            a.length = None;
        }
        FaultKind::ErrorEvent => return Answer::json(200, &error_event(f)),
        FaultKind::BadChunk => {
            return Answer::bytes(
                200,
                "application/json",
                b"{\"id\": \"chatcmpl-x\", \"choices\": [{".to_vec(),
            );
        }
        FaultKind::BadUtf8 => {
            let mut with = body;
            if let Some(m) = with.pointer_mut("/choices/0/message") {
                m["content"] = json!("caf@@ au lait");
            }
            return Answer::bytes(
                200,
                "application/json",
                bad_utf8(with.to_string().into_bytes()),
            );
        }
        FaultKind::Oversized => {
            let mut with = body;
            if let Some(m) = with.pointer_mut("/choices/0/message") {
                m["content"] = json!("x".repeat(f.bytes.unwrap_or(2 << 20)));
            }
            return Answer::json(200, &with);
        }
        _ => {}
    }
    first_token(a, b)
}

fn first_token(mut a: Answer, b: &Behaviour) -> Answer {
    if let Some(ms) = b.stream.first_token_ms.filter(|ms| *ms > 0) {
        a.wait = Duration::from_millis(ms);
    }
    a
}

/// Puts a byte that no UTF-8 text holds, and half a character, where the mark stands.
fn bad_utf8(mut bytes: Vec<u8>) -> Vec<u8> {
    if let Some(at) = bytes.windows(2).position(|w| w == b"@@") {
        bytes[at] = 0xC3;
        bytes[at + 1] = 0xFF;
    }
    bytes
}
