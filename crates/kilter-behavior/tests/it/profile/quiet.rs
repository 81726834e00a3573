//! What must change nothing: absence, thin turns, failures.

use kilter_behavior::Split;
use kilter_behavior::profile::{BehaviorProfile, BudgetSignature, ReasoningChannel};
use kilter_core::{FinishReason, Observation, ReasoningPlace, ReasoningRequest, Timestamp};

use super::{
    START, Session, armed, hidden, inline_think, leading_closer, native_call, refused, said,
    split_by_server,
};

/// A healthy body that holds reasoning and nothing else, and ended by itself.
fn reasoning_only() -> Observation {
    Observation {
        content: String::new(),
        ..split_by_server("reasoning_content")
    }
}

#[test]
fn a_reasoning_only_body_and_a_short_done_move_nothing() {
    let mut s = Session::new();
    s.times(3, &split_by_server("reasoning_content"));
    let before = (
        s.profile.reasoning().clone(),
        s.profile.tools().clone(),
        s.profile.budget(),
        s.profile.split(),
        s.profile.guarded(),
    );
    for _ in 0..9 {
        assert_eq!(s.see(&reasoning_only()), []);
        assert_eq!(s.see(&said("Done.")), []);
    }
    let after = (
        s.profile.reasoning().clone(),
        s.profile.tools().clone(),
        s.profile.budget(),
        s.profile.split(),
        s.profile.guarded(),
    );
    assert_eq!(before, after);
}

#[test]
fn a_reasoning_only_body_is_never_the_budget_signature() {
    let mut s = Session::new();
    s.times(9, &reasoning_only());
    assert_eq!(s.profile.budget(), BudgetSignature::Unknown);
}

#[test]
fn a_model_that_sometimes_does_not_think_keeps_its_channel() {
    for (obs, split) in [
        (inline_think(), armed(true, false)),
        (leading_closer(), armed(false, true)),
        (split_by_server("reasoning"), Split::Suppressed),
        (hidden(), armed(false, false)),
    ] {
        let mut s = Session::new();
        s.times(2, &obs);
        let learnt = s.profile.reasoning().clone();
        for _ in 0..6 {
            assert_eq!(s.times(15, &said("Four, as before.")), []);
            assert_eq!((s.profile.reasoning(), s.profile.split()), (&learnt, split));
            s.see(&obs);
        }
    }
}

#[test]
fn a_server_that_splits_now_and_then_is_learnt_all_the_same() {
    let mut s = Session::new();
    for _ in 0..3 {
        s.see(&split_by_server("reasoning"));
        s.times(2, &said("Four."));
    }
    assert_eq!(s.profile.split(), Split::Suppressed);
}

#[test]
fn a_filter_needs_consecutive_turns() {
    for obs in [inline_think(), leading_closer()] {
        let mut s = Session::new();
        for between in [said("Four."), native_call("read_file", "{}"), said("")] {
            for _ in 0..4 {
                s.see(&obs);
                s.see(&between);
                let split = s.profile.split();
                assert!(
                    matches!(split, Split::Unlearnt) || split == armed(false, false),
                    "{split:?} without two turns in a row"
                );
            }
        }
    }
}

#[test]
fn a_failed_request_is_no_turn() {
    let mut s = Session::new();
    s.see(&inline_think());
    s.times(3, &refused(503, "overloaded", "try again"));
    s.see(&inline_think());
    assert_eq!(
        s.profile.split(),
        armed(true, false),
        "the two turns were consecutive"
    );
    assert_eq!(s.profile.turns(), 2);
}

#[test]
fn ordinary_content_is_none_only_where_nothing_else_is_held() {
    let mut s = Session::new();
    s.times(2, &said("Four."));
    assert_eq!(*s.profile.reasoning(), ReasoningChannel::None);
}

#[test]
fn silence_that_was_asked_for_is_no_evidence_of_none() {
    let mut s = Session::new();
    let mut off = said("Four.");
    off.request.reasoning = ReasoningRequest::Off;
    s.times(9, &off);
    assert_eq!(*s.profile.reasoning(), ReasoningChannel::Unknown);
}

#[test]
fn an_empty_reasoning_field_is_no_reasoning_field() {
    let mut s = Session::new();
    let mut obs = said("Four.");
    obs.reasoning = Some("  \n".into());
    obs.reasoning_place = Some(ReasoningPlace::Field("reasoning_content".into()));
    s.times(3, &obs);
    assert_eq!(*s.profile.reasoning(), ReasoningChannel::None);
}

#[test]
fn reasoning_that_cannot_be_placed_is_no_evidence() {
    let mut s = Session::new();
    let mut obs = said("Four.");
    obs.reasoning = Some("Hm.".into());
    assert_eq!(
        s.times(6, &obs)
            .iter()
            .filter(|c| c.axis.as_str() == "reasoning")
            .count(),
        0
    );
}

#[test]
fn an_ordinary_cut_is_neither_healthy_nor_exhausted() {
    let mut s = Session::new();
    let mut obs = split_by_server("reasoning");
    obs.finish = Some(FinishReason::Length);
    s.times(4, &obs);
    assert_eq!(s.profile.budget(), BudgetSignature::Unknown);
}

#[test]
fn the_first_turn_is_held_back_and_no_other() {
    let mut s = Session::new();
    assert_eq!(s.profile.split(), Split::Unlearnt);
    s.see(&native_call("read_file", "{}"));
    assert_eq!(
        s.profile.split(),
        Split::Unlearnt,
        "no content was seen yet"
    );
    s.see(&said("Four."));
    assert_eq!(
        s.profile.split(),
        armed(false, false),
        "the first turn is over"
    );
}

#[test]
fn a_lone_closer_half_learnt_is_looked_for_again() {
    let mut s = Session::new();
    s.see(&leading_closer());
    assert_eq!(s.profile.split(), Split::Unlearnt);
    s.see(&leading_closer());
    assert_eq!(s.profile.split(), armed(false, true));
}

#[test]
fn an_observation_of_nothing_teaches_nothing() {
    let mut p = BehaviorProfile::default();
    for _ in 0..30 {
        assert_eq!(p.observe(&Observation::default(), Timestamp(START)), []);
    }
    assert_eq!(p.split(), Split::Unlearnt);
    assert!(p.to_prior().is_empty());
}
