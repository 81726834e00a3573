//! Carrying out what the ladder decided: the request of a continue.

use kilter_behavior::ladder::Continue;
use kilter_core::{Observation, ReasoningPlace};
use kilter_wire::chat::ChatRequest;
use serde_json::json;

/// The request of a continue: the same with a raised cap; where the backend takes reasoning in
/// history, with the partial reasoning as an assistant turn at its end.
pub fn continued(request: &ChatRequest, c: &Continue, obs: &Observation) -> ChatRequest {
    let mut next = request.clone();
    next.set_cap(c.cap);
    if c.replay_reasoning
        && let Some(reasoning) = obs.reasoning.as_deref().filter(|r| !r.is_empty())
        && let Some(mut messages) = next.body().array("messages")
    {
        let field = match &obs.reasoning_place {
            Some(ReasoningPlace::Field(f)) if f != "content_parts" && f != "thinking_blocks" => f,
            _ => "reasoning_content",
        };
        let turn = json!({ "role": "assistant", "content": "", field: reasoning });
        if messages.push(turn.to_string()).is_ok() {
            next.body_mut().set_array("messages", &messages);
        }
    }
    next
}
