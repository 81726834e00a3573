//! Events on their way out: untouched ones as the bytes that came, others written anew.

use bytes::Bytes;
use kilter_wire::chat::{Chunk, Rewrite};
use kilter_wire::sse;

use super::Turn;
use super::queue::Item;
use super::watch::{Held, Watch};

impl Watch {
    pub(super) fn emit_part(&mut self, turn: &mut Turn, item: &mut Item) {
        let content = std::mem::take(&mut item.content);
        let reasoning = std::mem::take(&mut item.reasoning);
        self.content.push_str(&content);
        self.reasoning.push_str(&reasoning);
        if !reasoning.is_empty() {
            turn.split(&self.summary);
        }
        if let (false, Some(chunk)) = (item.split, &item.chunk) {
            let mut edit = Rewrite::chunk(chunk);
            self.rewrite_texts(turn, chunk, &mut edit, &content, &reasoning);
            self.send(Held {
                raw: Bytes::new(),
                edit: Some(edit),
                chunk: None,
            });
        } else {
            self.send_texts(&content, &reasoning);
        }
        item.split = true;
    }

    fn send_texts(&mut self, content: &str, reasoning: &str) {
        let Some(w) = &self.writer else { return };
        let mut chunks = Vec::new();
        if !reasoning.is_empty() {
            chunks.push(w.reasoning(0, reasoning));
        }
        if !content.is_empty() {
            chunks.push(w.content(0, content));
        }
        for c in chunks {
            self.out.push(sse::encode_data(&c));
        }
    }

    fn rewrite_texts(
        &self,
        turn: &mut Turn,
        chunk: &Chunk,
        edit: &mut Rewrite,
        content: &str,
        reasoning: &str,
    ) {
        let had = chunk.choices.first().and_then(|c| c.reasoning.as_ref());
        if let Some(r) = had
            && r.field != "reasoning_content"
            && let Some(from) = edit.name_reasoning(0, &r.field, &r.text)
        {
            turn.actions.add("reasoning_field", &from);
        }
        if content.is_empty() {
            edit.remove_content(0);
        } else {
            edit.set_content(0, Some(content));
        }
        if !reasoning.is_empty() {
            let all = had.map_or(String::new(), |r| r.text.clone()) + reasoning;
            edit.set_reasoning(0, Some(&all));
        }
        for n in edit.notes() {
            if let Some((k, v)) = n.split_once(':') {
                turn.actions.add(k, v);
            }
        }
    }

    /// Sends one event whose text is decided.
    pub(super) fn emit(&mut self, turn: &mut Turn, item: Item) {
        self.content.push_str(&item.content);
        self.reasoning.push_str(&item.reasoning);
        if !item.reasoning.is_empty() {
            turn.split(&self.summary);
        }
        if item.split {
            return self.send_texts(&item.content, &item.reasoning);
        }
        let Some(chunk) = item.chunk else {
            return self.send(Held {
                raw: item.raw,
                edit: None,
                chunk: None,
            });
        };
        let Some(c) = chunk.choices.first() else {
            return self.send(Held {
                raw: item.raw,
                edit: None,
                chunk: Some(chunk),
            });
        };
        let renames = c
            .reasoning
            .as_ref()
            .is_some_and(|r| r.field != "reasoning_content");
        let again = self.part > 0 && c.role.is_some();
        let other = self.part > 0;
        let parts = c.content_is_parts && c.content.is_some();
        self.role_sent |= c.role.is_some();
        if !(item.cut || renames || parts || item.tools.is_some() || other) {
            return self.send(Held {
                raw: item.raw,
                edit: None,
                chunk: Some(chunk),
            });
        }
        let mut edit = Rewrite::chunk(&chunk);
        if item.cut || parts {
            self.rewrite_texts(turn, &chunk, &mut edit, &item.content, &item.reasoning);
        } else if let Some(r) = c.reasoning.as_ref().filter(|_| renames)
            && let Some(from) = edit.name_reasoning(0, &r.field, &r.text)
        {
            turn.actions.add("reasoning_field", &from);
        }
        let mut calls = c.tool_calls.len();
        if let Some(p) = &item.tools {
            let list: Vec<String> = p.fragments.iter().map(|f| f.json.clone()).collect();
            calls = list.len();
            edit.set_tool_calls(0, &list);
        }
        if again {
            edit.said(0, |d| {
                d.remove("role");
            });
        }
        let silent = item.content.is_empty()
            && (item.reasoning.is_empty() && c.reasoning.is_none())
            && calls == 0
            && (c.role.is_none() || again)
            && c.finish.is_none()
            && c.refusal.is_none()
            && c.function_call.is_none()
            && chunk.usage.is_none();
        if silent {
            return;
        }
        self.send(Held {
            raw: item.raw,
            edit: Some(edit),
            chunk: Some(chunk),
        });
    }

    /// Sends or holds an event.
    fn send(&mut self, held: Held) {
        if self.hold_tail {
            self.tail.push(held);
        } else {
            let bytes = self.encode(held);
            self.out.push(bytes);
        }
    }

    pub(super) fn encode(&self, held: Held) -> Bytes {
        let rename = self.part > 0;
        match (held.edit, held.chunk) {
            (None, Some(chunk)) if rename => self.encode_edit(Rewrite::chunk(&chunk)),
            (None, Some(chunk)) if self.tidy => sse::encode_data(&chunk.body().to_text()),
            (None, _) => held.raw,
            (Some(edit), _) => self.encode_edit(edit),
        }
    }

    fn encode_edit(&self, mut edit: Rewrite) -> Bytes {
        if self.part > 0
            && let Some(id) = &self.answer_id
        {
            // One turn has one id, over however many answers.
            edit.body().set_str("id", id);
        }
        sse::encode_data(&edit.to_text())
    }

    pub(super) fn release_tail(&mut self) {
        self.hold_tail = false;
        for held in std::mem::take(&mut self.tail) {
            let bytes = self.encode(held);
            self.out.push(bytes);
        }
    }
}
