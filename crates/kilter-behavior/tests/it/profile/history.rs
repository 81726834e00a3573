//! Reasoning in the history: demanded, taken, refused.

use kilter_behavior::profile::ReasoningHistory;
use kilter_core::Observation;

use super::{Session, refused, said};

const DEMANDED: &str = "The reasoning_content in the thinking mode must be passed back to the API.";
const REFUSED: &str = "'messages.0' : property 'reasoning_content' is unsupported";

fn refusal(message: &str, replayed: bool) -> Observation {
    let mut obs = refused(400, "invalid_request_error", message);
    obs.request.replayed_reasoning = replayed;
    obs
}

fn taken() -> Observation {
    let mut obs = said("Fine.");
    obs.request.replayed_reasoning = true;
    obs
}

#[test]
fn a_statement_is_taken_at_once_where_nothing_is_known() {
    let mut s = Session::new();
    s.see(&refusal(DEMANDED, false));
    assert_eq!(s.profile.reasoning_history(), ReasoningHistory::Requires);
    let mut s = Session::new();
    s.see(&refusal(REFUSED, true));
    assert_eq!(s.profile.reasoning_history(), ReasoningHistory::Rejects);
}

#[test]
fn against_what_was_learnt_it_needs_two_in_both_directions() {
    let mut s = Session::new();
    s.see(&refusal(DEMANDED, false));
    s.see(&refusal(REFUSED, true));
    assert_eq!(s.profile.reasoning_history(), ReasoningHistory::Requires);
    s.see(&refusal(REFUSED, true));
    assert_eq!(s.profile.reasoning_history(), ReasoningHistory::Rejects);
    s.see(&refusal(DEMANDED, false));
    assert_eq!(s.profile.reasoning_history(), ReasoningHistory::Rejects);
    s.see(&refusal(DEMANDED, false));
    assert_eq!(s.profile.reasoning_history(), ReasoningHistory::Requires);
}

#[test]
fn success_is_acceptance_and_agrees_with_a_demand() {
    let mut s = Session::new();
    s.see(&taken());
    assert_eq!(s.profile.reasoning_history(), ReasoningHistory::Unknown);
    s.see(&taken());
    assert_eq!(s.profile.reasoning_history(), ReasoningHistory::Accepts);
    s.times(2, &refusal(DEMANDED, false));
    assert_eq!(s.profile.reasoning_history(), ReasoningHistory::Requires);
    s.times(9, &taken());
    assert_eq!(s.profile.reasoning_history(), ReasoningHistory::Requires);
    let mut s = Session::new();
    s.see(&refusal(REFUSED, true));
    s.times(2, &taken());
    assert_eq!(s.profile.reasoning_history(), ReasoningHistory::Accepts);
}

#[test]
fn other_refusals_say_nothing_about_it() {
    for (message, replayed) in [
        // Tools together with reasoning: another constraint altogether.
        (
            "Function tools with reasoning_effort are not supported for this model in /v1/chat/completions. To use function tools, use /v1/responses or set reasoning_effort to 'none'.",
            true,
        ),
        ("property 'seed' is unsupported", true),
        // Refused, but nothing was replayed: not about the history.
        (REFUSED, false),
        ("the reasoning_content is nice", true),
    ] {
        let mut s = Session::new();
        s.times(4, &refusal(message, replayed));
        assert_eq!(
            s.profile.reasoning_history(),
            ReasoningHistory::Unknown,
            "{message}"
        );
    }
    let mut s = Session::new();
    s.times(4, &refused(500, "server_error", DEMANDED));
    assert_eq!(s.profile.reasoning_history(), ReasoningHistory::Unknown);
}

#[test]
fn the_parameter_that_is_named_counts_as_said() {
    let mut obs = refusal("Extra inputs are not permitted", true);
    if let Some(e) = &mut obs.error {
        e.param = Some("body.messages.2.assistant.reasoning_content".into());
    }
    let mut s = Session::new();
    s.see(&obs);
    assert_eq!(s.profile.reasoning_history(), ReasoningHistory::Rejects);
}
