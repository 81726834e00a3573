//! Reader and profile together: what one turn shows decides how the next is read.

use std::sync::Arc;

use kilter_behavior::profile::{BudgetSignature, ReasoningChannel, ToolChannel};
use kilter_behavior::{
    Action, BehaviorProfile, LadderPolicy, ReaderConfig, Split, ToolSet, TurnState, decide, read,
};
use kilter_core::{FinishReason, Observation, ReasoningPlace, RequestFacts, ToolSpec};
use serde_json::json;

use super::{Session, armed, native_call};

fn tools() -> Arc<ToolSet> {
    let spec = |name: &str, read_only: bool| ToolSpec {
        name: name.into(),
        description: None,
        parameters: json!({"type": "object", "properties": {"path": {"type": "string"}}}),
        read_only: Some(read_only),
    };
    Arc::new(ToolSet::new(vec![
        spec("read_file", true),
        spec("write_file", false),
    ]))
}

/// A turn as an edge would observe it: read as the profile says, then learnt from.
fn turn(s: &mut Session, raw: &str, finish: FinishReason) -> Observation {
    let obs = seen(&s.profile, raw, finish);
    s.see(&obs);
    obs
}

fn seen(profile: &BehaviorProfile, raw: &str, finish: FinishReason) -> Observation {
    let reading = read(
        ReaderConfig {
            tools: tools(),
            split: profile.split(),
            guarded: profile.guarded(),
            turn_id: "t".into(),
            ..ReaderConfig::new()
        },
        raw,
    );
    Observation {
        content: reading.content,
        reasoning: reading.reasoning,
        reasoning_place: reading.summary.reasoning_place,
        recovered: reading.calls,
        rejected: reading
            .rejected
            .into_iter()
            .map(|r| (r.dialect, r.reason))
            .collect(),
        openers: reading.summary.openers,
        finish: Some(finish),
        request: RequestFacts {
            tools: 2,
            ..RequestFacts::default()
        },
        ..Observation::default()
    }
}

/// A turn of a server that splits: the field is there, and the content goes through the reader too.
fn split_turn(s: &mut Session, content: &str) -> Observation {
    let mut obs = seen(&s.profile, content, FinishReason::Stop);
    obs.reasoning = Some("Let me see.".into());
    obs.reasoning_place = Some(ReasoningPlace::Field("reasoning_content".into()));
    s.see(&obs);
    obs
}

const INLINE: &str = "<think>\nLet me see.\n</think>\nIt is four.";
const CLOSER: &str = "Let me see.\n</think>\nIt is four.";

fn written(path: &str) -> String {
    format!(
        "<tool_call>\n{{\"name\": \"write_file\", \"arguments\": {{\"path\": \"{path}\"}}}}\n</tool_call>"
    )
}

#[test]
fn an_inline_block_leaks_for_two_turns_and_is_split_from_the_third_on() {
    let mut s = Session::new();
    for _ in 0..2 {
        let obs = turn(&mut s, INLINE, FinishReason::Stop);
        assert_eq!((obs.content.as_str(), obs.reasoning), (INLINE, None));
    }
    let obs = turn(&mut s, INLINE, FinishReason::Stop);
    assert_eq!(obs.content, "It is four.");
    assert_eq!(obs.reasoning.as_deref().map(str::trim), Some("Let me see."));
}

#[test]
fn a_short_lone_closer_is_split_at_once_and_a_late_one_once_it_is_learnt() {
    let mut s = Session::new();
    for _ in 0..4 {
        let obs = turn(&mut s, CLOSER, FinishReason::Stop);
        assert_eq!(obs.content, "It is four.");
    }
    assert_eq!(s.profile.split(), armed(false, true));

    let late = format!("{}\n</think>\nIt is four.", "Let me see again. ".repeat(80));
    let mut s = Session::new();
    for _ in 0..2 {
        let obs = turn(&mut s, &late, FinishReason::Stop);
        assert_eq!(obs.content, late, "the accepted leak");
    }
    let obs = turn(&mut s, &late, FinishReason::Stop);
    assert_eq!(obs.content, "It is four.");
}

#[test]
fn a_server_that_splits_hands_over_to_inline_and_back() {
    for (raw, channel) in [
        (INLINE, ReasoningChannel::InlineThink),
        (CLOSER, ReasoningChannel::LeadingCloser),
    ] {
        let mut s = Session::new();
        for _ in 0..3 {
            split_turn(&mut s, "It is four.");
        }
        assert_eq!(s.profile.split(), Split::Suppressed);
        for _ in 0..2 {
            let obs = turn(&mut s, raw, FinishReason::Stop);
            assert_eq!(obs.content, raw, "suppressed: nothing is taken out");
        }
        assert_eq!(*s.profile.reasoning(), channel);
        assert_eq!(turn(&mut s, raw, FinishReason::Stop).content, "It is four.");
        for _ in 0..2 {
            split_turn(&mut s, "It is four.");
        }
        assert_eq!(s.profile.split(), Split::Suppressed);
    }
}

#[test]
fn text_that_talks_about_the_tags_arms_nothing() {
    for raw in [
        "The model writes `<think>` first and `</think>` last.",
        "Put your thoughts between <think> and </think> and answer after that.",
        "```\n<think>\nhm\n</think>\n```\nThat is the shape.",
        "It is four.\n\n<think>\nWas it?\n</think>",
    ] {
        let mut s = Session::new();
        for _ in 0..6 {
            let obs = turn(&mut s, raw, FinishReason::Stop);
            assert_eq!(obs.content, raw);
            assert!(!s.profile.reasoning().arms(), "{raw}");
        }
    }
}

#[test]
fn a_swap_to_a_text_dialect_gets_through_the_guard_after_two_turns() {
    let mut s = Session::new();
    s.times(5, &native_call("read_file", "{}"));
    assert!(s.profile.guarded());
    for _ in 0..2 {
        let obs = turn(&mut s, &written("a"), FinishReason::Stop);
        assert_eq!(obs.recovered, []);
        assert_eq!(obs.content, written("a"));
    }
    assert!(!s.profile.guarded());
    let obs = turn(&mut s, &written("a"), FinishReason::Stop);
    assert_eq!(obs.recovered.len(), 1);
    assert!(matches!(
        s.profile.tools(),
        ToolChannel::TaggedInContent { .. }
    ));
    s.times(2, &native_call("read_file", "{}"));
    assert!(s.profile.guarded());
}

#[test]
fn a_read_only_tool_passes_the_guard_and_counts() {
    let mut s = Session::new();
    s.times(5, &native_call("read_file", "{}"));
    let raw = written("a").replace("write_file", "read_file");
    for _ in 0..2 {
        let obs = turn(&mut s, &raw, FinishReason::Stop);
        assert_eq!(obs.recovered.len(), 1);
    }
    assert!(!s.profile.guarded());
}

#[test]
fn a_block_that_eats_the_budget_is_overflow_from_the_third_turn_on() {
    let raw = "<think>\nLet me see. ".to_owned() + &"And again. ".repeat(20);
    let mut s = Session::new();
    let act = |s: &Session, obs: &Observation| {
        decide(
            obs,
            &s.profile,
            &mut TurnState::new(2),
            &LadderPolicy::default(),
        )
        .action
    };
    for _ in 0..2 {
        let obs = turn(&mut s, &raw, FinishReason::Length);
        assert_eq!(
            act(&s, &obs),
            Action::Pass,
            "text was said, as far as anyone knows"
        );
    }
    for _ in 0..2 {
        let obs = turn(&mut s, &raw, FinishReason::Length);
        assert_eq!(obs.content, "");
        assert!(matches!(act(&s, &obs), Action::Continue(_)));
    }
    assert_eq!(s.profile.budget(), BudgetSignature::ExhaustsInReasoning);
}

#[test]
fn thinking_and_calls_in_one_text_are_both_learnt() {
    let raw = "<think>\nget_weather with the city.\n</think>\n".to_owned() + &written("a");
    let mut s = Session::new();
    for _ in 0..3 {
        let obs = turn(&mut s, &raw, FinishReason::Stop);
        assert_eq!(obs.recovered.len(), 1);
    }
    assert_eq!(*s.profile.reasoning(), ReasoningChannel::InlineThink);
    assert!(s.profile.dialect().is_some());
}
