//! The cascade's answer as it is sent: within the budget that was asked, counted as serialised.

use serde_json::{Map, Value, json};

use super::Outcome;
use crate::budget::{Frame, Tokenizer, fit};
use crate::failure::Failure;
use crate::focus::{Wanted, focus};
use crate::page::{Block, BlockKind};

/// The reply of an outcome. Without a budget it is the outcome; with one it never has more tokens than that.
///
/// # Errors
/// `invalid_arguments` when the budget does not hold the frame.
pub fn reply(outcome: &Outcome, tokenizer: &dyn Tokenizer) -> Result<Value, Failure> {
    let whole = serde_json::to_value(outcome).unwrap_or_default();
    let Some(max) = outcome.max_tokens else {
        return Ok(whole);
    };
    let Value::Object(mut map) = whole else {
        return Ok(whole);
    };
    let markdown = map.remove("markdown");
    let mut fixed = Map::new();
    for name in ["ok", "partial", "unchanged"] {
        if let Some(v) = map.remove(name) {
            fixed.insert(name.to_owned(), v);
        }
    }
    // What a caller needs first comes first; the log goes before the address does.
    let names = [
        "failure",
        "contentHash",
        "url",
        "finalUrl",
        "title",
        "omitted",
        "next",
        "hints",
        "left_out",
        "leftOut",
        "playbookId",
        "backend",
        "maxTokens",
        "focusQuery",
        "mode",
        "steps",
        "receipt",
    ];
    let mut optional = Vec::new();
    for name in names {
        if let Some(v) = map.remove(name) {
            optional.push((name.to_owned(), v));
        }
    }
    let blocks = blocks(outcome, markdown.as_ref());
    let wanted = Wanted {
        question: outcome.focus_query.clone(),
        fragment: url::Url::parse(&outcome.url)
            .ok()
            .and_then(|u| u.fragment().map(str::to_owned)),
    };
    let frame = Frame {
        fixed,
        optional,
        ..Frame::default()
    };
    let mut reply = fit(
        &blocks,
        &focus(&blocks, &wanted),
        &frame,
        Some(max),
        tokenizer,
    )?
    .reply;
    if markdown.is_none()
        && let Some(map) = reply.as_object_mut()
    {
        map.remove("markdown");
    }
    Ok(reply)
}

/// The blocks of an outcome; Markdown that came without blocks is cut at blank lines.
fn blocks(outcome: &Outcome, markdown: Option<&Value>) -> Vec<Block> {
    let Some(text) = markdown.and_then(Value::as_str) else {
        return Vec::new();
    };
    if !outcome.blocks.is_empty() {
        return outcome.blocks.clone();
    }
    plain_blocks(text)
}

/// Markdown without a tree behind it as blocks: cut at blank lines outside code fences.
pub fn plain_blocks(markdown: &str) -> Vec<Block> {
    let mut parts: Vec<String> = Vec::new();
    let (mut open, mut fence) = (false, false);
    for line in markdown.lines() {
        let is_fence = line.trim_start().starts_with("```");
        if line.trim().is_empty() && !fence {
            open = false;
            continue;
        }
        match parts.last_mut().filter(|_| open) {
            Some(part) => {
                part.push('\n');
                part.push_str(line);
            }
            None => parts.push(line.to_owned()),
        }
        fence ^= is_fence;
        open = true;
    }
    parts
        .into_iter()
        .enumerate()
        .map(|(i, markdown)| {
            let hashes = markdown.bytes().take_while(|b| *b == b'#').count();
            let heading = (1..=6).contains(&hashes)
                && markdown.as_bytes().get(hashes) == Some(&b' ')
                && !markdown.contains('\n');
            Block {
                kind: match markdown.as_bytes().first() {
                    _ if heading => BlockKind::Heading,
                    Some(b'`') if markdown.starts_with("```") => BlockKind::Code,
                    Some(b'|') => BlockKind::Table,
                    Some(b'>') => BlockKind::Quote,
                    Some(b'-' | b'*' | b'+') if markdown.as_bytes().get(1) == Some(&b' ') => {
                        BlockKind::ListItem
                    }
                    _ => BlockKind::Paragraph,
                },
                text: if heading {
                    markdown[hashes..].trim().to_owned()
                } else {
                    markdown.clone()
                },
                links: Vec::new(),
                source_selector: format!("line-block:nth({})", i + 1),
                level: heading.then(|| u8::try_from(hashes).unwrap_or(6)),
                markdown,
                glue: "\n\n".into(),
                table: None,
            }
        })
        .collect()
}

/// A failure as every tool sends it: one shape.
pub fn failed(failure: &Failure) -> Value {
    let mut value = json!({"ok": false, "failure": failure});
    if !failure.decisions.is_empty() {
        value["decisions"] = json!(failure.decisions);
    }
    value
}
