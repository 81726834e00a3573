//! A whole answer that may be touched.

use axum::body::Body;
use axum::response::Response;
use bytes::Bytes;
use http::{HeaderMap, HeaderValue, StatusCode, header};
use kilter_behavior::{Action, Decision, Rejected, Sink, TurnReader};
use kilter_core::{FinishReason, Observation, ToolCall, id};
use kilter_wire::ApiError;
use kilter_wire::chat::{Completion, Rewrite, call_json, kilter_members, sum_usage, whole_calls};
use serde_json::{Map, Value};

use super::close::Ending;
use super::conclude::truth;
use super::exchange::{Failure, Refusal};
use super::stream::stream_headers;
use super::{Turn, as_stream};
use crate::error::TurnError;
use crate::ladder_exec;
use crate::upstream::{Answer, answered};

/// What the reader made of a content.
#[derive(Debug, Default)]
struct Read {
    content: String,
    reasoning: String,
    calls: Vec<ToolCall>,
    rejected: Vec<Rejected>,
    cut: bool,
}

impl Sink for Read {
    fn content(&mut self, text: &str) {
        self.content.push_str(text);
    }
    fn reasoning(&mut self, text: &str) {
        self.reasoning.push_str(text);
        self.cut = true;
    }
    fn call(&mut self, call: ToolCall, _raw: &str) {
        self.calls.push(call);
        self.cut = true;
    }
    fn rejected(&mut self, rejected: Rejected) {
        self.rejected.push(rejected);
    }
    fn removed(&mut self, _raw: &str) {
        self.cut = true;
    }
}

/// A whole answer, read.
struct Whole {
    completion: Completion,
    read: Read,
    obs: Observation,
}

/// Answers with the body.
pub(crate) async fn respond(mut turn: Turn, answer: Answer) -> Response {
    let mut headers = answered(&answer.headers);
    let mut status = answer.status;
    let mut body = match collect(&mut turn, answer).await {
        Ok(b) => b,
        Err(e) => return turn.refused(Failure::Lost(e)),
    };
    let mut whole = match parse(&mut turn, status, &body) {
        Ok(w) => w,
        Err(f) => return turn.refused(f),
    };
    let mut usage: Vec<String> = Vec::new();
    let mut first: Option<(Option<String>, String)> = None;
    let decision = loop {
        usage.extend(whole.completion.usage.as_ref().map(|u| u.raw.clone()));
        let decision = turn.decide(&whole.obs);
        let Action::Continue(c) = &decision.action else {
            break decision;
        };
        let request = ladder_exec::continued(&turn.request, c, &whole.obs);
        let Some(next) = continued(&mut turn, &request, c.cap).await else {
            break turn.not_continued(decision);
        };
        let (next_status, next_headers, next_body, next_whole) = next;
        turn.request = request;
        turn.actions.add("continued", "1");
        let thought = whole.obs.reasoning.clone().unwrap_or_default();
        first = Some((whole.completion.id().map(|i| i.into_owned()), thought));
        (status, headers, body, whole) = (next_status, next_headers, next_body, next_whole);
    };
    if turn.streaming {
        turn.actions.add("stream", "made");
    }
    let (mut bytes, sent) = edit(&mut turn, &whole, &decision, body, &usage, first.as_ref());
    if turn.streaming
        && let Some(events) = as_stream::events(&bytes, turn.request.include_usage())
    {
        bytes = events;
        headers.insert(
            header::CONTENT_TYPE,
            HeaderValue::from_static("text/event-stream"),
        );
        stream_headers(&mut headers);
    }
    turn.close(Some(Ending {
        sent,
        obs: whole.obs,
    }));
    finish(&turn, status, headers, bytes)
}

async fn continued(
    turn: &mut Turn,
    request: &kilter_wire::chat::ChatRequest,
    cap: u64,
) -> Option<(StatusCode, HeaderMap, Bytes, Whole)> {
    let answer = turn.again(request, |_| true).await?;
    let (status, headers) = (answer.status, answered(&answer.headers));
    let body = collect(turn, answer).await.ok()?;
    turn.facts.output_cap = Some(cap);
    let whole = parse(turn, status, &body).ok()?;
    Some((status, headers, body, whole))
}

async fn collect(turn: &mut Turn, mut answer: Answer) -> Result<Bytes, TurnError> {
    let longest = turn.live.config.gateway.limits.answer.into();
    let all = answer.body.whole(|piece| turn.seen(piece));
    let got = match tokio::time::timeout(longest, all).await {
        Ok(got) => got,
        Err(_) => Err(TurnError::Endless {
            backend: turn.backend().to_owned(),
            limit: longest.as_secs(),
            unit: "seconds",
            what: "answer",
            key: "answer",
        }),
    };
    if let Err(e) = &got {
        turn.lost(e);
    }
    got
}

fn finish(turn: &Turn, status: StatusCode, mut headers: HeaderMap, body: Bytes) -> Response {
    turn.sign(&mut headers);
    headers.insert(header::CONTENT_LENGTH, HeaderValue::from(body.len()));
    let mut r = Response::new(Body::from(body));
    *r.status_mut() = status;
    *r.headers_mut() = headers;
    r
}

/// Reads a body as a completion; errors and nonsense inside a 200 are failures.
fn parse(turn: &mut Turn, status: StatusCode, body: &[u8]) -> Result<Whole, Failure> {
    let bad = |why: String| {
        Failure::Lost(TurnError::BadBody {
            backend: turn.backend().to_owned(),
            status: status.as_u16(),
            why,
        })
    };
    let completion = Completion::parse(body).map_err(|e| bad(begins(&e.to_string(), body)))?;
    if let Some(error) = completion.error.clone() {
        return Err(inner_error(error, body));
    }
    if completion.choices.is_empty() {
        return Err(bad("it has no `choices`".into()));
    }
    Ok(read(turn, completion))
}

/// Why a body is none, without the parser's own hint, and how it begins.
fn begins(why: &str, body: &[u8]) -> String {
    let why = why.split("; hint:").next().unwrap_or(why);
    let text = String::from_utf8_lossy(&body[..body.len().min(200)]);
    let start: String = text.trim().chars().take(60).collect();
    if start.is_empty() {
        "the body is empty".to_owned()
    } else {
        format!("{why}; it begins with `{start}`")
    }
}

/// An error in a body that came with 200 gets a status that says so.
fn inner_error(error: ApiError, body: &[u8]) -> Failure {
    let status = error
        .code
        .as_deref()
        .and_then(|c| c.parse::<u16>().ok())
        .filter(|c| (400..600).contains(c))
        .and_then(|c| StatusCode::from_u16(c).ok())
        .unwrap_or(StatusCode::BAD_GATEWAY);
    Failure::Refused(Box::new(Refusal {
        status,
        headers: HeaderMap::new(),
        body: Bytes::copy_from_slice(body),
        error,
    }))
}

fn read(turn: &mut Turn, completion: Completion) -> Whole {
    let whole = completion.turns().into_iter().next().unwrap_or_default();
    let native = !whole.calls.is_empty();
    let mut read = Read::default();
    let mut obs = whole.observation(turn.facts.clone());
    if !whole.content.is_empty() {
        let answer_id = completion.id().map(|i| i.into_owned());
        let mut reader = TurnReader::new(turn.reader(answer_id.as_deref()));
        if native {
            reader.native_seen(&mut read);
        }
        reader.push(&whole.content, &mut read);
        let summary = reader.finish(&mut read);
        let mark = answer_id.unwrap_or_else(|| turn.id.clone());
        for (i, call) in read.calls.iter_mut().enumerate() {
            if call.id.is_none() {
                call.id = Some(id::call_id(&mark, i, &call.name, &call.arguments));
            }
            turn.recovered(call);
        }
        for r in &read.rejected {
            turn.rejected(r);
        }
        obs.content.clone_from(&read.content);
        if !read.reasoning.is_empty() {
            obs.reasoning
                .get_or_insert_default()
                .push_str(&read.reasoning);
        }
        obs.reasoning_place = obs.reasoning_place.or(summary.reasoning_place);
        obs.openers = summary.openers;
        obs.recovered.clone_from(&read.calls);
        obs.rejected = read
            .rejected
            .iter()
            .map(|r| (r.dialect.clone(), r.reason))
            .collect();
    }
    Whole {
        completion,
        read,
        obs,
    }
}

/// The body after all edits, and the terminal reason as sent. Untouched bodies come back as they are.
fn edit(
    turn: &mut Turn,
    whole: &Whole,
    decision: &Decision,
    body: Bytes,
    usage: &[String],
    first: Option<&(Option<String>, String)>,
) -> (Bytes, Option<FinishReason>) {
    let Some(choice) = whole.completion.choices.first() else {
        return (body, None);
    };
    let mut edit = Rewrite::completion(&whole.completion);
    let mut touched = false;
    if let Some(r) = &choice.reasoning
        && r.field != "reasoning_content"
        && let Some(from) = edit.name_reasoning(0, &r.field, &r.text)
    {
        turn.actions.add("reasoning_field", &from);
        touched = true;
    }
    let read = &whole.read;
    if read.cut || (choice.content_is_parts && choice.content.is_some()) {
        let text =
            (!read.content.is_empty() || read.calls.is_empty()).then_some(read.content.as_str());
        edit.set_content(0, text);
        touched = true;
    }
    let earlier = first.map_or("", |(_, t)| t.as_str());
    if !read.reasoning.is_empty() || !earlier.is_empty() {
        let own = whole.obs.reasoning.as_deref().unwrap_or_default();
        edit.set_reasoning(0, Some(&format!("{earlier}{own}")));
        if !read.reasoning.is_empty() {
            turn.actions.add("reasoning_split", "content");
        }
        touched = true;
    }
    if let Some(calls) = native_calls(turn, whole) {
        edit.set_tool_calls(0, &calls);
        touched = true;
    } else if !read.calls.is_empty() {
        let calls: Vec<String> = read.calls.iter().map(|c| call_json("", c)).collect();
        edit.set_tool_calls(0, &calls);
        touched = true;
    }
    let mut sent = choice.finish.clone();
    let truth = truth(decision, &whole.obs);
    if let Some(truth) = truth
        && Some(&truth) != sent.as_ref()
    {
        edit.set_finish(0, &truth);
        turn.actions.add("finish", truth.as_str());
        sent = Some(truth);
        touched = true;
    }
    let mut members = Map::new();
    if let Action::OfferCandidate { text } = &decision.action {
        members.insert("content_candidate".into(), Value::String(text.clone()));
        turn.actions.add("candidate", "1");
        touched = true;
    }
    if let Some((id, _)) = first {
        if let Some(id) = id {
            edit.body().set_str("id", id);
        }
        let parts: Vec<&str> = usage.iter().map(String::as_str).collect();
        edit.set_usage(&sum_usage(&parts));
        touched = true;
    }
    for n in edit.notes() {
        if let Some((k, v)) = n.split_once(':') {
            turn.actions.add(k, v);
        }
    }
    if !touched && turn.actions.is_empty() {
        return (body, sent);
    }
    let parts: Vec<&str> = usage.iter().map(String::as_str).collect();
    members.extend(kilter_members(turn.actions.words(), &parts));
    edit.set_kilter(&members);
    (edit.into_bytes(), sent)
}

/// Native calls in normal form, where they are not in it already.
fn native_calls(turn: &mut Turn, whole: &Whole) -> Option<Vec<String>> {
    let choice = whole.completion.choices.first()?;
    if choice.tool_calls.is_empty() {
        return None;
    }
    let (calls, actions) = whole_calls(choice, &turn.id, &turn.offer.names)?;
    for a in actions {
        turn.actions.add("tool_calls", a);
    }
    Some(calls)
}

/// Reads a copy of a whole answer for the record alone.
pub(crate) fn observe(turn: &mut Turn, body: &[u8]) -> Option<Ending> {
    let whole = parse(turn, StatusCode::OK, body).ok()?;
    let decision = turn.decide(&whole.obs);
    let sent = whole.obs.finish.clone();
    edit(turn, &whole, &decision, Bytes::new(), &[], None);
    Some(Ending {
        sent,
        obs: whole.obs,
    })
}
