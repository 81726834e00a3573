//! A reading as it is sent: one JSON object, within the budget that was asked, counted as serialised.

use serde_json::{Map, Value, json};

use super::{Done, Reading};
use crate::budget::{Frame, Sidecar, Tokenizer, fit};
use crate::failure::Failure;
use crate::focus::{FocusStatus, salience};
use crate::page::{Block, Omission};

/// Lists beside the content. What is not asked for is not in the reply.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Beside {
    /// `blocks[]`.
    pub blocks: bool,
    /// `tables[]`: the blocks that are tables, as data.
    pub tables: bool,
    /// `salience` of each block, 0 to 1; needs a focus.
    pub salience: bool,
    /// Bounds every list as the tools' contract does: see [`MOST_BLOCKS`].
    pub bounded: bool,
}

/// Blocks of a bounded list.
pub const MOST_BLOCKS: usize = 400;
/// Characters of one of its blocks.
pub const LONGEST_BLOCK: usize = 8_000;
/// Links of one of its blocks.
pub const MOST_LINKS: usize = 32;
/// Omissions that are listed one by one.
const MOST_OMITTED: usize = 24;

impl Reading {
    /// The reply: with `max_tokens` of the request never more tokens than that, counted by `tokenizer`.
    ///
    /// # Errors
    /// `invalid_arguments` when the bound does not hold the frame.
    pub fn reply(
        &self,
        beside: &Beside,
        max_tokens: Option<u32>,
        tokenizer: &dyn Tokenizer,
    ) -> Result<Value, Failure> {
        let frame = self.frame(beside);
        if self.unchanged {
            let mut reply = match max_tokens {
                Some(_) => fit(&[], &self.focus, &frame, max_tokens, tokenizer)?.reply,
                None => whole(frame, None),
            };
            if let Some(map) = reply.as_object_mut() {
                map.remove("markdown");
            }
            return Ok(reply);
        }
        match max_tokens {
            Some(_) => Ok(fit(
                &self.page.blocks,
                &self.focus,
                &frame,
                max_tokens,
                tokenizer,
            )?
            .reply),
            None => Ok(whole(frame, Some(&self.page.markdown))),
        }
    }

    /// Everything of the reply but its content: what a caller needs first comes first, the last is let go first. A tool
    /// that says more adds to it before it calls [`fit`].
    pub fn frame(&self, beside: &Beside) -> Frame {
        let mut fixed = Map::new();
        fixed.insert("ok".to_owned(), true.into());
        if self.unchanged {
            fixed.insert("unchanged".to_owned(), true.into());
        }
        let mut optional: Vec<(String, Value)> = Vec::new();
        let mut put = |name: &str, value: Value| {
            if !value.is_null() {
                optional.push((name.to_owned(), value));
            }
        };
        put("contentHash", self.content_hash.clone().into());
        put("url", json!({"url": self.url, "finalUrl": self.final_url}));
        put("title", json!(self.page.title));
        if self.answered != FocusStatus::NotRequested {
            let mut focus = json!({"status": self.answered});
            if let Some(anchor) = &self.focus.anchor {
                focus["matchedAnchor"] = anchor.as_str().into();
            }
            put("focus", focus);
        }
        put("backend", self.backend.into());
        put("meta", self.meta());
        if let Some(judged) = &self.judgement {
            put("confidence", json!(judged.quality.score));
            put("access", json!(judged.access));
            put("quality", json!(judged.quality));
        }
        if let Some((id, version)) = &self.playbook {
            put("playbook", json!({"id": id, "version": version}));
        }
        if !self.warnings.is_empty() {
            put("warnings", json!(self.warnings));
        }
        put("omitted", self.left_out());
        put("receipt", json!(self.receipt));
        put("format", json!(self.format));
        if self.status != 0 {
            put("statusCode", self.status.into());
        }
        if self.attempts.len() > 1 {
            put("recovery", json!(self.attempts));
        }
        put(
            "materializationKey",
            self.materialization_key.clone().into(),
        );
        put("elapsedMs", millis(self.took));
        Frame {
            fixed,
            optional,
            sidecars: if self.unchanged {
                Vec::new()
            } else {
                self.sidecars(beside)
            },
            whole: Some(self.page.markdown.clone()),
        }
    }

    fn meta(&self) -> Value {
        match serde_json::to_value(&self.page.meta) {
            Ok(Value::Object(map)) if !map.is_empty() => Value::Object(map),
            _ => Value::Null,
        }
    }

    /// What is on the page and not in the reading; where there is much of it, the rest as a sum.
    fn left_out(&self) -> Value {
        let all = &self.page.omitted;
        if all.is_empty() {
            return Value::Null;
        }
        let (named, rest) = all.split_at(all.len().min(MOST_OMITTED));
        let mut list: Vec<Value> = named.iter().map(|o| json!(o)).collect();
        if !rest.is_empty() {
            list.push(json!(Omission {
                reason: rest[0].reason.clone(),
                what: format!("{} more", rest.len()),
                chars: rest.iter().map(|o| o.chars).sum(),
            }));
        }
        Value::Array(list)
    }

    fn sidecars(&self, beside: &Beside) -> Vec<Sidecar> {
        let mut sidecars = Vec::new();
        let most = if beside.bounded {
            MOST_BLOCKS
        } else {
            usize::MAX
        };
        let blocks = || self.page.blocks.iter().enumerate();
        if beside.blocks {
            let worth = salience(&self.focus);
            let worth =
                (beside.salience && self.answered != FocusStatus::NotRequested).then_some(worth);
            let item = |(i, block): (usize, &Block)| {
                let mut item = block_json(block, beside);
                if let Some(worth) = &worth {
                    item["salience"] = json!(worth[i]);
                }
                (Some(i), item)
            };
            sidecars.push(Sidecar {
                name: "blocks".to_owned(),
                items: blocks().take(most).map(item).collect(),
            });
        }
        if beside.tables {
            let tables = blocks().filter_map(|(i, b)| Some((Some(i), table_json(b)?)));
            sidecars.push(Sidecar {
                name: "tables".to_owned(),
                items: tables.take(most).collect(),
            });
        }
        sidecars
    }
}

fn block_json(block: &Block, beside: &Beside) -> Value {
    let mut item = serde_json::to_value(block).unwrap_or_default();
    if beside.tables
        && let Some(map) = item.as_object_mut()
    {
        map.remove("table");
    }
    if beside.bounded {
        if let Some((cut, _)) = block.text.char_indices().nth(LONGEST_BLOCK) {
            item["text"] = block.text[..cut].into();
        }
        if block.links.len() > MOST_LINKS {
            item["links"] = json!(block.links[..MOST_LINKS]);
        }
    }
    item
}

fn table_json(block: &Block) -> Option<Value> {
    let table = block.table.as_ref()?;
    let mut item = serde_json::to_value(table).unwrap_or_default();
    item["source_selector"] = block.source_selector.as_str().into();
    Some(item)
}

fn whole(frame: Frame, markdown: Option<&str>) -> Value {
    let mut map = frame.fixed;
    map.extend(frame.optional);
    if let Some(markdown) = markdown {
        map.insert("markdown".to_owned(), markdown.into());
    }
    for sidecar in frame.sidecars {
        let items = sidecar.items.into_iter().map(|(_, v)| v).collect();
        map.insert(sidecar.name, Value::Array(items));
    }
    Value::Object(map)
}

fn millis(took: std::time::Duration) -> Value {
    u64::try_from(took.as_millis()).unwrap_or(u64::MAX).into()
}

/// A read that gave no page, as every command and every tool sends it: one shape, never with a body.
pub fn failed(url: &str, done: &Done, failure: &Failure) -> Value {
    let mut reply = crate::cascade::reply::failed(failure);
    if reply.get("decisions").is_none() {
        reply["decisions"] = json!([]);
    }
    reply["url"] = url.into();
    if done.attempts.len() > 1 {
        reply["recovery"] = json!(done.attempts);
    }
    if let Some(receipt) = &done.receipt {
        reply["receipt"] = receipt.clone();
    }
    reply
}
