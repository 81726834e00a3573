//! The end of a stream: what was decided goes out, the terminal reason tells the truth, the last
//! chunk says what was done.

use bytes::Bytes;
use kilter_behavior::{Action, Decision};
use kilter_core::{FinishReason, Observation};
use kilter_wire::chat::{Rewrite, kilter_members, sum_usage, true_finish};
use kilter_wire::sse;
use serde_json::{Map, Value};

use super::Turn;
use super::watch::Watch;

/// The true terminal reason: the ladder's, else what whole and cut calls say.
pub(crate) fn truth(decision: &Decision, obs: &Observation) -> Option<FinishReason> {
    decision.finish.clone().or_else(|| {
        true_finish(
            obs.finish.as_ref(),
            &obs.native_calls,
            obs.usage.completion_tokens,
            obs.request.output_cap,
        )
    })
}

impl Watch {
    /// Sends what was decided, and the end mark. Returns the terminal reason as sent.
    pub(crate) fn conclude(
        &mut self,
        turn: &mut Turn,
        decision: &Decision,
        obs: &Observation,
    ) -> Option<FinishReason> {
        if self.failure.is_some() {
            return None;
        }
        let mut sent = self.finish.clone();
        if let Some(truth) = truth(decision, obs)
            && Some(&truth) != sent.as_ref()
        {
            turn.actions.add("finish", truth.as_str());
            sent = Some(truth);
        }
        let mut members = Map::new();
        if let Action::OfferCandidate { text } = &decision.action {
            members.insert("content_candidate".into(), Value::String(text.clone()));
            turn.actions.add("candidate", "1");
        }
        if self.done.is_none() {
            turn.actions.add("done", "added");
        }
        let parts: Vec<&str> = self.usage.iter().map(String::as_str).collect();
        members.extend(kilter_members(turn.actions.words(), &parts));
        if let Some(w) = &self.writer {
            for (i, call) in self.calls.iter().enumerate() {
                let id = call.id.as_deref().unwrap_or_default();
                for chunk in w.call(0, i, id, call) {
                    self.out.push(sse::encode_data(&chunk));
                }
            }
        }
        let mut tail = std::mem::take(&mut self.tail);
        self.hold_tail = false;
        let has_finish = tail.iter().any(|h| {
            let c = h.chunk.as_ref();
            c.is_some_and(|c| c.choices.iter().any(|c| c.finish.is_some()))
        });
        let last = tail.iter().rposition(|h| h.chunk.is_some());
        if let (false, Some(w), false) = (has_finish, &self.writer, self.calls.is_empty()) {
            // No finish chunk came, and calls want one.
            let reason = sent.get_or_insert(FinishReason::ToolCalls);
            let kilter = if last.is_none() {
                members.clone()
            } else {
                Map::new()
            };
            let chunk = w.finish(0, reason, &kilter);
            self.out.push(sse::encode_data(&chunk));
        }
        for (i, mut held) in tail.drain(..).enumerate() {
            if let Some(chunk) = &held.chunk {
                let finishes = chunk.choices.first().is_some_and(|c| c.finish.is_some());
                let retells = finishes
                    && sent.as_ref() != chunk.choices.first().and_then(|c| c.finish.as_ref());
                let sums = parts.len() > 1 && chunk.usage.is_some();
                let signs = Some(i) == last && !members.is_empty();
                if retells || sums || signs {
                    let mut edit = held.edit.take().unwrap_or_else(|| Rewrite::chunk(chunk));
                    if let (true, Some(reason)) = (retells, &sent) {
                        edit.set_finish(0, reason);
                    }
                    if sums {
                        edit.set_usage(&sum_usage(&parts));
                    }
                    if signs {
                        edit.set_kilter(&members);
                    }
                    held.edit = Some(edit);
                }
            }
            let bytes = self.encode(held);
            self.out.push(bytes);
        }
        match self.done.take() {
            Some(done) => self.out.push(done),
            None => {
                // The last event may have ended with the connection instead of a blank line.
                let ended = |b: &Bytes| {
                    b.ends_with(b"\n\n") || b.ends_with(b"\r\n\r\n") || b.ends_with(b"\r\r")
                };
                if self.out.last().is_some_and(|b| !ended(b)) {
                    self.out.push(Bytes::from_static(b"\n\n"));
                }
                self.out.push(Bytes::from_static(sse::DONE));
            }
        }
        sent
    }
}
