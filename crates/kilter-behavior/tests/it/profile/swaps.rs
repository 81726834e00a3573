//! Swap in mid-session, in both directions, for each axis: N = 2 turns, no more and no fewer.

use kilter_behavior::Split;
use kilter_behavior::profile::{
    AxisName, BehaviorProfile, BudgetSignature, ProfileConfig, ReasoningChannel, ToolChannel,
};
use kilter_core::{Observation, ReasoningPlace, RejectReason, Strength};

use super::{
    Session, armed, hidden, inline_think, leading_closer, native_call, overflowed, recovered,
    rejected, said, split_by_server,
};

/// Learns `a`, then swaps to `b` and back; `read` tells the axis. Holds that each move happens on
/// exactly the second turn after the swap.
fn swap<T: PartialEq + std::fmt::Debug>(
    a: (&Observation, T),
    b: (&Observation, T),
    read: impl Fn(&BehaviorProfile) -> T,
) {
    let mut s = Session::new();
    s.see(a.0);
    assert_ne!(read(&s.profile), a.1, "one turn proves nothing");
    s.see(a.0);
    assert_eq!(read(&s.profile), a.1, "two turns do");
    for round in 0..2 {
        s.times(5, a.0);
        s.see(b.0);
        assert_eq!(
            read(&s.profile),
            a.1,
            "one contradiction moves nothing, round {round}"
        );
        s.see(b.0);
        assert_eq!(read(&s.profile), b.1, "the second does, round {round}");
        s.times(5, b.0);
        s.see(a.0);
        assert_eq!(read(&s.profile), b.1, "nor on the way back, round {round}");
        s.see(a.0);
        assert_eq!(read(&s.profile), a.1, "and here too, round {round}");
    }
}

#[test]
fn reasoning_moves_between_every_two_channels() {
    let shapes: [(Observation, Split); 5] = [
        (split_by_server("reasoning_content"), Split::Suppressed),
        (inline_think(), armed(true, false)),
        (leading_closer(), armed(false, true)),
        (hidden(), armed(false, false)),
        (
            said("It is four, since two and two are."),
            armed(false, false),
        ),
    ];
    for (i, a) in shapes.iter().enumerate() {
        for (j, b) in shapes.iter().enumerate() {
            // Content without reasoning contradicts nothing: `quiet` has that case.
            if i == j || i == 4 || j == 4 {
                continue;
            }
            let channel = |obs: &Observation| {
                let mut s = Session::new();
                s.times(2, obs);
                s.profile.reasoning().clone()
            };
            swap(
                (&a.0, (channel(&a.0), a.1)),
                (&b.0, (channel(&b.0), b.1)),
                |p| (p.reasoning().clone(), p.split()),
            );
        }
    }
}

#[test]
fn a_model_without_reasoning_that_begins_to_think_is_learnt_in_two_turns() {
    for (obs, split) in [
        (split_by_server("reasoning"), Split::Suppressed),
        (inline_think(), armed(true, false)),
        (leading_closer(), armed(false, true)),
    ] {
        let mut s = Session::new();
        s.times(6, &said("It is four."));
        assert_eq!(*s.profile.reasoning(), ReasoningChannel::None);
        s.see(&obs);
        assert_eq!(s.profile.split(), armed(false, false));
        s.see(&obs);
        assert_eq!(s.profile.split(), split);
    }
}

#[test]
fn the_name_of_the_reasoning_field_is_part_of_the_channel() {
    let field = |name: &str| ReasoningChannel::ServerSplit { field: name.into() };
    swap(
        (&split_by_server("reasoning"), field("reasoning")),
        (&split_by_server("thinking"), field("thinking")),
        |p| p.reasoning().clone(),
    );
}

#[test]
fn calls_move_between_structured_and_text_and_between_dialects() {
    let tagged = |d: &str| ToolChannel::TaggedInContent { dialect: d.into() };
    let native = native_call("read_file", "{}");
    let one = recovered("tag-one", Strength::Medium);
    let two = recovered("tag-two", Strength::Strong);
    let bare = recovered("bare-json", Strength::Weak);
    let shapes = [
        (&native, ToolChannel::Structured),
        (&one, tagged("tag-one")),
        (&two, tagged("tag-two")),
        (&bare, ToolChannel::BareJson),
    ];
    for (i, a) in shapes.iter().enumerate() {
        for (j, b) in shapes.iter().enumerate() {
            if i != j {
                swap((a.0, a.1.clone()), (b.0, b.1.clone()), |p| {
                    p.tools().clone()
                });
            }
        }
    }
}

#[test]
fn the_budget_moves_between_healthy_and_exhausted() {
    swap(
        (&said("Four."), BudgetSignature::Healthy),
        (&overflowed(), BudgetSignature::ExhaustsInReasoning),
        BehaviorProfile::budget,
    );
}

#[test]
fn n_is_what_the_configuration_says() {
    for needed in 1..=5 {
        let cfg = ProfileConfig {
            needed,
            ..ProfileConfig::default()
        };
        let mut s = Session::with(BehaviorProfile::new(cfg));
        for (obs, split) in [
            (inline_think(), armed(true, false)),
            (split_by_server("reasoning"), Split::Suppressed),
            (leading_closer(), armed(false, true)),
            (inline_think(), armed(true, false)),
        ] {
            s.times(needed as usize - 1, &obs);
            assert_ne!(s.profile.split(), split, "too early with N = {needed}");
            s.see(&obs);
            assert_eq!(s.profile.split(), split, "too late with N = {needed}");
        }
    }
}

#[test]
fn other_numbers_hold_for_a_stored_profile_and_keep_what_was_learnt() {
    let mut s = Session::new();
    s.times(2, &inline_think());
    s.profile.set_config(ProfileConfig {
        needed: 3,
        ..ProfileConfig::default()
    });
    assert_eq!(s.profile.split(), armed(true, false));
    s.times(2, &split_by_server("reasoning"));
    assert_eq!(s.profile.split(), armed(true, false));
    s.see(&split_by_server("reasoning"));
    assert_eq!(s.profile.split(), Split::Suppressed);
}

#[test]
fn a_text_dialect_cannot_be_locked_out_by_the_guard() {
    let mut s = Session::new();
    s.times(9, &native_call("read_file", "{}"));
    assert!(s.profile.guarded());
    let held_back = rejected("tag-one", RejectReason::Guard);
    s.see(&held_back);
    assert!(s.profile.guarded(), "one candidate lifts nothing");
    let changes = s.see(&held_back);
    assert!(!s.profile.guarded());
    let moved = changes.iter().find(|c| c.axis == AxisName::Tools).unwrap();
    assert_eq!(moved.to, "tagged_in_content:tag-one");
    assert!(moved.evidence.contains("only the guard held back"));
}

#[test]
fn a_model_that_mixes_dialects_is_not_locked_out_either() {
    let mut s = Session::new();
    s.times(4, &native_call("read_file", "{}"));
    s.see(&rejected("tag-one", RejectReason::Guard));
    s.see(&rejected("tag-two", RejectReason::Guard));
    assert!(!s.profile.guarded());
    assert_eq!(
        *s.profile.tools(),
        ToolChannel::Unknown,
        "which one is not known yet"
    );
}

#[test]
fn only_the_guard_makes_evidence_of_a_rejection() {
    for reason in [
        RejectReason::Echo,
        RejectReason::Undeclared,
        RejectReason::Schema,
        RejectReason::Position,
        RejectReason::Truncated,
    ] {
        let mut s = Session::new();
        s.times(4, &native_call("read_file", "{}"));
        s.times(8, &rejected("tag-one", reason));
        assert!(
            s.profile.guarded(),
            "{reason:?} is no evidence of a channel"
        );
    }
}

#[test]
fn an_alternation_does_not_lift_the_guard() {
    let mut s = Session::new();
    s.times(3, &native_call("read_file", "{}"));
    for _ in 0..20 {
        s.see(&rejected("tag-one", RejectReason::Guard));
        assert!(s.profile.guarded());
        s.see(&native_call("read_file", "{}"));
        assert!(s.profile.guarded());
    }
}

#[test]
fn the_operator_is_asked_once() {
    let mut s = Session::new();
    s.times(3, &native_call("read_file", "{}"));
    s.profile.operator_confirmed();
    assert!(!s.profile.guarded());
    s.see(&native_call("read_file", "{}"));
    assert!(!s.profile.guarded(), "still the same proof");
    s.times(2, &recovered("tag-one", Strength::Medium));
    s.times(2, &native_call("read_file", "{}"));
    assert!(s.profile.guarded(), "proven anew, asked anew");
}

#[test]
fn a_broken_native_call_is_no_proof_of_the_structured_channel() {
    let mut s = Session::new();
    s.times(5, &native_call("read_file", r#"{"path":"#));
    s.times(5, &native_call(" ", "{}"));
    assert_eq!(*s.profile.tools(), ToolChannel::Unknown);
    s.times(2, &native_call("read_file", ""));
    assert_eq!(
        *s.profile.tools(),
        ToolChannel::Structured,
        "no arguments are {{}}"
    );
}

#[test]
fn two_models_behind_one_slot_end_at_the_default() {
    let mut s = Session::new();
    s.times(3, &leading_closer());
    assert_eq!(s.profile.split(), armed(false, true));
    for _ in 0..4 {
        s.see(&split_by_server("reasoning"));
        s.see(&leading_closer());
    }
    assert_eq!(*s.profile.reasoning(), ReasoningChannel::Unknown);
    for _ in 0..10 {
        s.see(&split_by_server("reasoning"));
        s.see(&leading_closer());
        assert!(!matches!(
            s.profile.split(),
            Split::Armed {
                leading_closer: true,
                ..
            }
        ));
    }
}

#[test]
fn contradictions_that_disagree_lead_to_the_default() {
    let mut s = Session::new();
    s.times(3, &inline_think());
    s.see(&split_by_server("reasoning"));
    assert_eq!(s.profile.split(), armed(true, false));
    let changes = s.see(&hidden());
    assert_eq!(*s.profile.reasoning(), ReasoningChannel::Unknown);
    assert!(changes[0].evidence.contains("do not agree"));
    s.see(&hidden());
    assert_eq!(
        *s.profile.reasoning(),
        ReasoningChannel::Hidden,
        "the last one counted as the first"
    );
}

#[test]
fn a_closer_far_into_the_content_is_no_leading_closer() {
    let mut s = Session::new();
    let mut far = leading_closer();
    far.reasoning_place = Some(ReasoningPlace::LoneCloser {
        closer: "</think>".into(),
        at: 40_000,
    });
    s.times(6, &far);
    assert_eq!(*s.profile.reasoning(), ReasoningChannel::Unknown);
}
