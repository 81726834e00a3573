//! The terminal reason that tells the truth.

use kilter_core::{FinishReason, Observation};

use crate::profile::open_json;

/// The terminal reason to send, where the upstream's is not the truth; `None` where it is.
///
/// - A native call whose JSON is still open when the cap was hit is a cut turn: `length`. Braces are
///   never closed for the model.
/// - Whole calls of either kind make the turn `tool_calls`, unless the upstream said `length` or
///   `content_filter`, which stand.
/// - `function_call`, the older word for the same, stands too.
///
/// Without both figures (completion tokens and cap) nothing is known of the cap and an open call is
/// left as it is.
pub fn truth(obs: &Observation) -> Option<FinishReason> {
    use FinishReason::{ContentFilter, Length, Other, ToolCalls};
    if obs.native_calls.is_empty() && obs.recovered.is_empty() {
        return None;
    }
    let open = obs.native_calls.iter().any(|c| open_json(&c.arguments));
    let at_cap = matches!(
        (obs.usage.completion_tokens, obs.request.output_cap),
        (Some(spent), Some(cap)) if cap > 0 && spent >= cap
    );
    let truth = match &obs.finish {
        Some(Length | ContentFilter) => return None,
        _ if open && at_cap => Length,
        _ if open => return None,
        Some(Other(word)) if word == "function_call" => return None,
        _ => ToolCalls,
    };
    (obs.finish.as_ref() != Some(&truth)).then_some(truth)
}
