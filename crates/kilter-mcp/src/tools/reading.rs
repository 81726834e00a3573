//! The tools that read: the cascade, the full reader, the look before reading, a receipt against the page of now.

use kilter_web::budget::{Frame, O200k, Sidecar, fit};
use kilter_web::cascade::live::Live;
use kilter_web::cascade::{self, Limits};
use kilter_web::open::Backend;
use kilter_web::playbook::Playbook;
use kilter_web::reading::{Beside, Done, Reading, Request};
use kilter_web::receipt::verify::{self, Given};
use kilter_web::receipt::{Asked, PublicKey, capsule};
use kilter_web::{Block, BlockKind, Failure, again};
use serde_json::{Map, Value, json};

use super::{Call, Engines};
use crate::failure::ToolFailure;
use crate::session::budget;

/// The bound of a reply: what the call says, else a fifth of the window that was stated.
pub(super) fn bound(call: &Call<'_>, name: &str) -> Option<u32> {
    call.arguments.tokens(name).or_else(|| {
        let stated = call.view.session.as_ref().and_then(|s| s.window().tokens);
        let window = stated.or(call.config.context_tokens)?;
        u32::try_from(budget(window)).ok()
    })
}

/// Text that says something.
pub(super) fn words(text: Option<&str>) -> Option<String> {
    text.map(str::trim)
        .filter(|t| !t.is_empty())
        .map(str::to_owned)
}

pub(super) fn backend(call: &Call<'_>) -> Result<Option<Backend>, ToolFailure> {
    // Left out, the playbook may prefer one.
    match call.arguments.value("backend_policy") {
        None => Ok(None),
        Some(_) => Ok(Some(call.arguments.needed("backend_policy").parse()?)),
    }
}

impl Engines {
    /// The playbook that holds for a URL.
    pub(super) fn playbook(&self, url: &str) -> Option<Playbook> {
        let url = url::Url::parse(url).ok()?;
        self.shelf().find(url.host_str()?).map(|h| h.book.clone())
    }

    /// Reads a page and takes down how that ended.
    pub(super) async fn read(&self, request: &Request) -> Done {
        let done = self.reader.read(request).await;
        let failure = done.outcome.as_ref().err().map(|f| f.code);
        self.note_host(&request.url, failure);
        done
    }

    /// A request for a page with what all tools have in common.
    pub(super) fn request(&self, call: &Call<'_>, url: &str) -> Result<Request, ToolFailure> {
        Ok(Request {
            backend: backend(call)?,
            session_profile: call.arguments.text("session_profile").map(str::to_owned),
            get: self.session(call)?.options(),
            playbook: self.playbook(url),
            receipt: true,
            ..Request::new(url.trim())
        })
    }
}

/// A failed read: the tries on the way and the receipt that proves it, beside the failure.
pub(super) fn unread(done: &Done, failure: &Failure) -> Value {
    let mut reply = ToolFailure::from(failure.clone()).reply();
    if done.attempts.len() > 1 {
        reply["recovery"] = json!(done.attempts);
    }
    if let Some(receipt) = &done.receipt {
        reply["receipt"] = receipt.clone();
    }
    reply
}

pub(super) async fn occam(engines: &Engines, call: &Call<'_>) -> Result<Value, ToolFailure> {
    let args = &call.arguments;
    let request = cascade::Request {
        url: args.needed("url").trim().to_owned(),
        task: words(args.text("task")),
        budget: bound(call, "budget").map(i64::from),
        mode: args.text("mode").map(str::to_owned),
        if_none_match: words(args.text("if_none_match")),
    };
    call.progress.say(0, Some(1), "reading");
    let live = Live::new(
        engines.reader.clone(),
        std::sync::Arc::new(engines.shelf()),
        true,
    );
    let outcome = cascade::run(request.clone(), Limits::default(), &live, &*engines.clock).await?;
    engines.note_host(&request.url, outcome.failure.as_ref().map(|f| f.code));
    let mut reply = cascade::reply::reply(&outcome, &O200k)?;
    if let Some(failure) = &outcome.failure {
        let typed = ToolFailure::from(failure.clone()).reply();
        reply["failure"] = typed["failure"].clone();
        reply["decisions"] = typed["decisions"].clone();
    }
    Ok(reply)
}

pub(super) async fn transcode(engines: &Engines, call: &Call<'_>) -> Result<Value, ToolFailure> {
    let args = &call.arguments;
    let url = args.needed("url");
    let mut request = engines.request(call, url)?;
    if args.text("playbook_policy") == Some("off") {
        request.playbook = None;
    }
    request.focus = words(args.text("focus_query"));
    request.prune = args.flag("fit_markdown");
    request.sections = args.texts("content_selectors");
    request.max_tokens = bound(call, "max_tokens");
    request.if_none_match = words(args.text("if_none_match"));
    call.progress.say(0, Some(1), "reading");
    let done = engines.read(&request).await;
    let reading = match &done.outcome {
        Ok(reading) => reading,
        Err(failure) => return Ok(unread(&done, failure)),
    };
    let beside = Beside {
        blocks: args.flag("json_blocks"),
        tables: args.flag("json_tables"),
        salience: args.flag("rank_blocks"),
        bounded: true,
    };
    let mut frame = reading.frame(&beside);
    if request.session_profile.is_some() {
        let report = engines.session(call)?.report;
        frame.optional.push(("session".to_owned(), json!(report)));
    }
    let mut hide_body = reading.unchanged;
    if !reading.unchanged {
        hide_body |= diff(call, reading, &mut frame)?;
        if args.flag("tag_trust") {
            tag_trust(reading, &mut frame);
        }
        if args.flag("semantic_chunking") {
            frame.sidecars.push(chunks(&reading.page.blocks));
        }
        if args.flag("emit_capsule")
            && let Some(receipt) = &reading.receipt
        {
            let packed = capsule::pack(receipt, &reading.page.markdown);
            if let Some((_, held)) = frame.optional.iter_mut().find(|(n, _)| n == "receipt") {
                held["capsule"] = json!(packed);
            }
        }
    }
    let complete = match reading.complete {
        true => "complete",
        false => "partial",
    };
    frame
        .optional
        .push(("completeness".to_owned(), json!({"status": complete})));
    let blocks: &[Block] = if hide_body { &[] } else { &reading.page.blocks };
    if hide_body {
        frame.whole = None;
    }
    let mut reply = fit(blocks, &reading.focus, &frame, request.max_tokens, &O200k)?.reply;
    if hide_body && let Some(map) = reply.as_object_mut() {
        map.remove("markdown");
    }
    if reply["compile"]["truncated"] == true && reply["completeness"].is_object() {
        reply["completeness"]["status"] = json!("partial");
    }
    Ok(reply)
}

/// Adds the diff against an earlier read; whether the body is left out for it.
fn diff(call: &Call<'_>, reading: &Reading, frame: &mut Frame) -> Result<bool, ToolFailure> {
    let before = call.arguments.texts("diff_against");
    let delta_only = call.arguments.flag("delta_only");
    if before.is_empty() {
        if delta_only {
            return Err(ToolFailure::arguments(
                "`delta_only` needs `diff_against`",
                "send the `blockHashes` of the earlier read's diff, or leave `delta_only` out",
            ));
        }
        return Ok(false);
    }
    let diff = again::diff(&before, &reading.page.blocks);
    frame.fixed.insert("diff".to_owned(), json!(diff));
    if delta_only {
        frame.fixed.insert("deltaOnly".to_owned(), json!(true));
    }
    Ok(delta_only)
}

/// Cuts a page at its headings.
fn chunks(blocks: &[Block]) -> Sidecar {
    let mut chunks: Vec<(Option<usize>, Value)> = Vec::new();
    let mut trail: Vec<(u8, String)> = Vec::new();
    let mut text = String::new();
    let mut flush = |text: &mut String, trail: &[(u8, String)], at: usize| {
        if !text.trim().is_empty() {
            let headers: Vec<&str> = trail.iter().map(|(_, t)| t.as_str()).collect();
            chunks.push((
                at.checked_sub(1),
                json!({"text": text.trim(), "headers": headers}),
            ));
        }
        text.clear();
    };
    for (i, block) in blocks.iter().enumerate() {
        if block.kind == BlockKind::Heading {
            flush(&mut text, &trail, i);
            let level = block.level.unwrap_or(1);
            trail.retain(|(l, _)| *l < level);
            trail.push((level, block.text.clone()));
        }
        text.push_str(&block.markdown);
        text.push_str("\n\n");
    }
    flush(&mut text, &trail, blocks.len());
    Sidecar {
        name: "chunks".to_owned(),
        items: chunks,
    }
}

/// Marks blocks that speak to the reader as a machine. A heuristic beside the signature, not part of it.
fn tag_trust(reading: &Reading, frame: &mut Frame) {
    let Some(sidecar) = frame.sidecars.iter_mut().find(|s| s.name == "blocks") else {
        return;
    };
    for (at, item) in &mut sidecar.items {
        let block = at.and_then(|i| reading.page.blocks.get(i));
        if block.is_some_and(|b| is_instruction(&b.text)) {
            item["trust"] = json!("suspicious");
        }
    }
}

/// Whether a text is shaped like an instruction to a model: role marks, tool calls, or a word of command about what was
/// said before. Shape, not topic: a page *about* prompts quotes such text in code and is not marked for it.
fn is_instruction(text: &str) -> bool {
    const MARKS: [&str; 10] = [
        "<|im_start|>",
        "<|im_end|>",
        "[inst]",
        "<tool_call>",
        "</tool_call>",
        "<system>",
        "### instruction",
        "assistant:",
        "system:",
        "<|system|>",
    ];
    let lower = text.to_lowercase();
    let overrides = ["ignore", "disregard", "forget"]
        .iter()
        .any(|verb| lower.contains(verb))
        && [
            "previous instructions",
            "prior instructions",
            "above instructions",
            "all instructions",
            "your instructions",
        ]
        .iter()
        .any(|what| lower.contains(what));
    overrides || MARKS.iter().any(|m| lower.contains(m))
}

/// Compares a receipt with the page as it is now, read the way the receipt says.
pub(super) async fn live(
    engines: &Engines,
    call: &Call<'_>,
    given: &Given,
    keys: &[PublicKey],
) -> Result<Value, ToolFailure> {
    let report = verify::offline(given, None, keys);
    let mut reply = super::receipts::said(&report)?;
    if !report.verdict.is_good() {
        return Ok(reply);
    }
    let Some(url) = report.url.clone() else {
        return Err(super::receipts::invalid("the receipt names no address"));
    };
    let asked = Asked::from_envelope(&given.signed);
    let request = Request {
        backend: asked.backend_policy.as_deref().and_then(|b| b.parse().ok()),
        focus: asked.focus.clone(),
        sections: asked.sections.clone(),
        playbook: engines.playbook(&url),
        ..Request::new(url)
    };
    let done = engines.read(&request).await;
    match &done.outcome {
        Err(failure) => {
            let mut reply = unread(&done, failure);
            reply["verdict"] = json!("refetch_failed");
            reply["reason"] =
                json!("the page cannot be read now; nothing is said about the receipt's content");
            Ok(reply)
        }
        Ok(reading) => {
            let chunks = call.arguments.texts("chunks");
            let live =
                verify::compare(given, &reading.page.markdown, &reading.page.blocks, &chunks);
            if live.drift {
                reply["ok"] = json!(false);
                reply["verdict"] = json!("drifted");
                reply["reason"] = json!("the page has changed since the receipt was made");
            }
            reply["live"] = json!(live);
            Ok(reply)
        }
    }
}

/// The parts of a reply that say which page was read.
pub(super) fn about(reading: &Reading) -> Map<String, Value> {
    let mut map = Map::new();
    map.insert(
        "url".to_owned(),
        json!({"url": reading.url, "finalUrl": reading.final_url}),
    );
    if let Some(receipt) = &reading.receipt {
        map.insert("receipt".to_owned(), receipt.clone());
    }
    map
}
