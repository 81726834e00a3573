//! The ladder: each rung fires on its signature, on nothing less, and at most once.

use kilter_behavior::ladder::{Continue, NonAttempt, Rung, reasoning_tail};
use kilter_behavior::profile::{BehaviorProfile, ReasoningHistory, ServedWindow};
use kilter_behavior::{Action, Decision, LadderPolicy, Signal, TurnState, decide};
use kilter_core::{
    EventKind, Expect, FinishReason, Observation, ReasoningPlace, RejectReason, Strength,
};

use crate::profile::{
    Session, native_call, overflowed, recovered, refused, rejected, said, split_by_server,
};

fn on(obs: &Observation) -> Decision {
    decide(
        obs,
        &BehaviorProfile::default(),
        &mut TurnState::new(3),
        &LadderPolicy::default(),
    )
}

fn overflow_event(continued: bool) -> EventKind {
    EventKind::ReasoningOverflow {
        reasoning_tokens: Some(350),
        cap: Some(350),
        continued,
    }
}

fn non_attempt(cause: &str) -> EventKind {
    EventKind::NonAttempt {
        cause: cause.into(),
    }
}

#[test]
fn an_overflow_is_continued_once_with_a_raised_cap() {
    let profile = BehaviorProfile::default();
    let policy = LadderPolicy::default();
    let mut turn = TurnState::new(8);
    let d = decide(&overflowed(), &profile, &mut turn, &policy);
    let action = Action::Continue(Continue {
        cap: 1400,
        former_cap: Some(350),
        replay_reasoning: false,
    });
    assert_eq!(d.action, action);
    assert_eq!(d.events, [overflow_event(true)]);
    assert_eq!(d.signals, [Signal::Overflow]);
    assert_eq!(d.finish, None);
    assert_eq!(turn.rounds_left(), 7, "it counts against the round limit");

    let d = decide(&overflowed(), &profile, &mut turn, &policy);
    assert_eq!(d.action, Action::NonAttempt(NonAttempt::Overflow));
    assert_eq!(d.events, [overflow_event(false), non_attempt("overflow")]);
    assert_eq!(turn.rounds_left(), 7);
}

#[test]
fn a_continue_that_is_refused_has_failed() {
    let profile = BehaviorProfile::default();
    let policy = LadderPolicy::default();
    let mut turn = TurnState::new(8);
    let no = refused(400, "exceed_context_size_error", "too long");
    assert_eq!(
        decide(&no, &profile, &mut turn, &policy).action,
        Action::Pass
    );
    decide(&overflowed(), &profile, &mut turn, &policy);
    let d = decide(&no, &profile, &mut turn, &policy);
    assert_eq!(d.events, [non_attempt("overflow")]);
}

#[test]
fn anything_less_than_the_full_signature_is_not_overflow() {
    let stop = Observation {
        finish: Some(FinishReason::Stop),
        ..overflowed()
    };
    let with_text = Observation {
        content: "It is".into(),
        ..overflowed()
    };
    let with_call = Observation {
        native_calls: native_call("read_file", "{}").native_calls,
        ..overflowed()
    };
    let recovered_call = Observation {
        recovered: recovered("tag-one", Strength::Medium).recovered,
        ..overflowed()
    };
    let mut no_reasoning = overflowed();
    no_reasoning.reasoning = None;
    no_reasoning.usage.reasoning_tokens = None;
    let mut little_hidden = overflowed();
    little_hidden.reasoning = None;
    little_hidden.usage.reasoning_tokens = Some(314);
    for (what, obs) in [
        ("stop", stop),
        ("text", with_text),
        ("a call", with_call),
        ("a recovered call", recovered_call),
        ("no reasoning", no_reasoning),
        ("hidden reasoning of 314 of 350", little_hidden),
    ] {
        let d = on(&obs);
        assert!(!matches!(d.action, Action::Continue(_)), "{what}");
        assert!(!d.signals.contains(&Signal::Overflow), "{what}");
    }
}

#[test]
fn hidden_reasoning_counts_from_nine_tenths_of_the_cap() {
    let mut obs = overflowed();
    obs.reasoning = None;
    obs.reasoning_place = None;
    obs.usage.reasoning_tokens = Some(315);
    assert!(matches!(on(&obs).action, Action::Continue(_)));
}

#[test]
fn where_the_cap_did_not_end_it_a_higher_one_is_not_asked_for() {
    let mut obs = overflowed();
    obs.request.output_cap = Some(4000);
    let d = on(&obs);
    assert_eq!(d.action, Action::NonAttempt(NonAttempt::Overflow));
    assert!(matches!(
        d.events[0],
        EventKind::ReasoningOverflow {
            continued: false,
            ..
        }
    ));
}

#[test]
fn without_any_figure_the_assumed_cap_is_raised() {
    let mut obs = overflowed();
    obs.request.output_cap = None;
    obs.usage = Default::default();
    assert!(matches!(
        on(&obs).action,
        Action::Continue(Continue {
            cap: 8192,
            former_cap: None,
            ..
        })
    ));
}

#[test]
fn the_raise_is_bounded_by_ceiling_window_and_factor() {
    let mut s = Session::new();
    let over = "maximum context length is 4096 tokens";
    s.see(&refused(400, "context_length_exceeded", over));
    assert_eq!(s.profile.window(), ServedWindow::About(4096));
    let mut obs = overflowed();
    obs.usage.prompt_tokens = Some(3000);
    let cap = |profile: &BehaviorProfile, obs: &Observation, policy: &LadderPolicy| match decide(
        obs,
        profile,
        &mut TurnState::new(2),
        policy,
    )
    .action
    {
        Action::Continue(c) => Some(c.cap),
        _ => None,
    };
    let default = LadderPolicy::default();
    let none = BehaviorProfile::default();
    assert_eq!(cap(&none, &obs, &default), Some(1400));
    assert_eq!(
        cap(&s.profile, &obs, &default),
        Some(1032),
        "4096 - 3000 - 64"
    );
    let ceiling = |n| LadderPolicy {
        output_ceiling: Some(n),
        ..LadderPolicy::default()
    };
    assert_eq!(cap(&none, &obs, &ceiling(800)), Some(800));
    assert_eq!(
        cap(&none, &obs, &ceiling(350)),
        None,
        "no higher than before"
    );
    obs.usage.prompt_tokens = Some(3690);
    assert_eq!(cap(&s.profile, &obs, &default), None, "no room left");
    let off = LadderPolicy {
        continue_overflow: false,
        ..LadderPolicy::default()
    };
    assert_eq!(cap(&none, &obs, &off), None);
}

#[test]
fn no_round_no_continue() {
    let d = decide(
        &overflowed(),
        &BehaviorProfile::default(),
        &mut TurnState::new(0),
        &LadderPolicy::default(),
    );
    assert_eq!(d.action, Action::NonAttempt(NonAttempt::Overflow));
}

#[test]
fn reasoning_is_replayed_only_where_it_may_be() {
    let replayed = |profile: &BehaviorProfile, obs: &Observation| match decide(
        obs,
        profile,
        &mut TurnState::new(2),
        &LadderPolicy::default(),
    )
    .action
    {
        Action::Continue(c) => Some(c.replay_reasoning),
        _ => None,
    };
    let demand = "reasoning_content must be passed back";
    let mut s = Session::new();
    assert_eq!(replayed(&s.profile, &overflowed()), Some(false), "unknown");
    s.see(&refused(400, "invalid_request_error", demand));
    assert_eq!(s.profile.reasoning_history(), ReasoningHistory::Requires);
    assert_eq!(replayed(&s.profile, &overflowed()), Some(true));
    let mut hidden = overflowed();
    hidden.reasoning = None;
    assert_eq!(
        replayed(&s.profile, &hidden),
        Some(false),
        "nothing to replay"
    );

    let mut s = Session::new();
    let mut no = refused(
        400,
        "invalid_request_error",
        "'reasoning_content' is unsupported",
    );
    no.request.replayed_reasoning = true;
    s.see(&no);
    assert_eq!(replayed(&s.profile, &overflowed()), Some(false));

    let mut s = Session::new();
    let mut yes = said("Fine.");
    yes.request.replayed_reasoning = true;
    s.times(2, &yes);
    assert_eq!(replayed(&s.profile, &overflowed()), Some(true));
}

#[test]
fn a_reasoning_only_body_mutates_nothing_and_offers_its_tail() {
    let obs = Observation {
        content: String::new(),
        reasoning: Some("Two and two.\n\nSo the answer is four.\n".into()),
        ..split_by_server("reasoning_content")
    };
    let mut turn = TurnState::new(3);
    let d = decide(
        &obs,
        &BehaviorProfile::default(),
        &mut turn,
        &LadderPolicy::default(),
    );
    assert_eq!(
        d.action,
        Action::OfferCandidate {
            text: "So the answer is four.".into()
        }
    );
    assert_eq!((d.finish, d.events), (None, vec![]));
    assert_eq!(turn, TurnState::new(3));
}

#[test]
fn a_candidate_is_offered_at_any_end_but_a_cut_or_the_filter() {
    let with = |finish: Option<&str>| Observation {
        content: String::new(),
        finish: finish.map(FinishReason::from_wire),
        ..split_by_server("reasoning_content")
    };
    for (word, offers) in [
        (Some("stop"), true),
        (None, true),
        (Some("eos"), true),
        (Some("length"), false),
        (Some("content_filter"), false),
    ] {
        let action = on(&with(word)).action;
        assert_eq!(
            matches!(action, Action::OfferCandidate { .. }),
            offers,
            "{word:?}"
        );
    }
}

#[test]
fn healthy_turns_pass_without_a_trace() {
    for obs in [
        said("Done."),
        said("4"),
        split_by_server("reasoning"),
        native_call("read_file", "{}"),
        native_call("read_file", ""),
    ] {
        let d = on(&obs);
        assert_eq!((&d.action, &d.finish), (&Action::Pass, &None));
        assert_eq!((d.events, d.signals), (vec![], vec![]));
    }
}

#[test]
fn recovered_calls_make_the_turn_a_turn_of_calls() {
    let obs = recovered("tag-one", Strength::Medium);
    assert_eq!(on(&obs).finish, Some(FinishReason::ToolCalls));
    for stands in [FinishReason::Length, FinishReason::ContentFilter] {
        let obs = Observation {
            finish: Some(stands),
            ..obs.clone()
        };
        assert_eq!(on(&obs).finish, None);
    }
}

#[test]
fn native_calls_under_stop_are_tool_calls() {
    for word in ["stop", "eos", "tool_use"] {
        let obs = Observation {
            finish: Some(FinishReason::from_wire(word)),
            ..native_call("read_file", "{}")
        };
        assert_eq!(on(&obs).finish, Some(FinishReason::ToolCalls), "{word}");
    }
    let older = Observation {
        finish: Some(FinishReason::from_wire("function_call")),
        ..native_call("read_file", "{}")
    };
    assert_eq!(on(&older).finish, None);
}

#[test]
fn arguments_cut_at_the_cap_make_the_truth_length() {
    let mut obs = native_call("read_file", r#"{"path":"a"#);
    obs.usage.completion_tokens = Some(64);
    assert_eq!(on(&obs).finish, None, "no cap is known");
    obs.request.output_cap = Some(65);
    assert_eq!(on(&obs).finish, None, "the cap was not hit");
    obs.request.output_cap = Some(64);
    let d = on(&obs);
    assert_eq!(d.finish, Some(FinishReason::Length));
    assert_eq!(d.signals, [Signal::TruncatedCall]);
    let mut broken = native_call("read_file", "not json");
    broken.usage.completion_tokens = Some(64);
    broken.request.output_cap = Some(64);
    assert_eq!(on(&broken).finish, None, "broken is not cut");
}

#[test]
fn calls_announced_and_not_there_are_a_signal() {
    let obs = Observation {
        finish: Some(FinishReason::ToolCalls),
        ..said("")
    };
    let d = on(&obs);
    assert_eq!(d.action, Action::NonAttempt(NonAttempt::FinishWithoutCalls));
    assert_eq!(d.events, [non_attempt("finish_without_calls")]);
    assert_eq!(d.finish, None, "never an empty success");

    let policy = LadderPolicy {
        re_ask_lost_calls: true,
        ..LadderPolicy::default()
    };
    let mut turn = TurnState::new(3);
    let profile = BehaviorProfile::default();
    assert_eq!(
        decide(&obs, &profile, &mut turn, &policy).action,
        Action::ReAsk
    );
    let d = decide(&obs, &profile, &mut turn, &policy);
    assert_eq!(d.action, Action::NonAttempt(NonAttempt::FinishWithoutCalls));
    assert_eq!(turn.taken(), [Rung::ReAsk]);
}

#[test]
fn an_empty_turn_is_recorded_and_left_alone() {
    let d = on(&said(""));
    assert_eq!(d.action, Action::NonAttempt(NonAttempt::Empty));
    assert_eq!(d.events, [non_attempt("empty")]);
    let filtered = Observation {
        finish: Some(FinishReason::ContentFilter),
        ..said("")
    };
    assert_eq!(
        on(&filtered).action,
        Action::Pass,
        "the filter is not the model"
    );
}

#[test]
fn call_syntax_that_nothing_could_read_is_an_event_where_calls_were_wanted() {
    let mut obs = said("<tool_call>{\"name\":");
    obs.openers = vec!["tag-one".into()];
    let d = on(&obs);
    assert_eq!(d.action, Action::Pass);
    assert_eq!(
        d.events,
        [EventKind::NoParseableToolCall {
            openers: vec!["tag-one".into()]
        }]
    );
    let mut off = obs.clone();
    off.request.expect = Expect::None;
    assert_eq!(on(&off).events, []);
    let mut none = obs;
    none.request.tools = 0;
    assert_eq!(on(&none).events, []);
    let d = on(&rejected("tag-one", RejectReason::Echo));
    assert_eq!(d.events, [], "it was read, and refused");
    assert_eq!(d.signals, [Signal::Rejected]);
}

#[test]
fn a_required_call_is_asked_for_under_a_schema_only_where_all_of_it_is_allowed() {
    let mut obs = said("I would read it.");
    obs.request.expect = Expect::Required;
    let profile = BehaviorProfile::default();
    let policy = |constrained_re_ask, schema_honoured| LadderPolicy {
        constrained_re_ask,
        schema_honoured,
        ..LadderPolicy::default()
    };
    for (p, asks) in [
        (LadderPolicy::default(), false),
        (policy(true, false), false),
        (policy(false, true), false),
        (policy(true, true), true),
    ] {
        let mut turn = TurnState::new(3);
        let d = decide(&obs, &profile, &mut turn, &p);
        assert_eq!(d.action == Action::ConstrainedReAsk, asks);
        assert_eq!(d.signals, [Signal::RequiredCallMissing]);
        let d = decide(&obs, &profile, &mut turn, &p);
        assert_eq!(d.action, Action::Pass, "once");
    }
    let mut optional = obs;
    optional.request.expect = Expect::Auto;
    let d = decide(
        &optional,
        &profile,
        &mut TurnState::new(3),
        &policy(true, true),
    );
    assert_eq!((d.action, d.signals), (Action::Pass, vec![]));
}

#[test]
fn all_rungs_share_the_rounds_of_the_turn() {
    let mut turn = TurnState::new(1);
    assert!(turn.take(Rung::Nudge));
    let d = decide(
        &overflowed(),
        &BehaviorProfile::default(),
        &mut turn,
        &LadderPolicy::default(),
    );
    assert_eq!(d.action, Action::NonAttempt(NonAttempt::Overflow));
}

#[test]
fn the_tail_is_the_last_paragraph_and_bounded() {
    assert_eq!(reasoning_tail("one line"), "one line");
    assert_eq!(reasoning_tail("a\n\nb\nc\n\n"), "b\nc");
    assert_eq!(reasoning_tail("a\r\n\r\nb"), "b");
    assert_eq!(reasoning_tail(" \n\n "), "");
    let long = "é".repeat(5000);
    let tail = reasoning_tail(&long);
    assert!(tail.len() <= 4096 && tail.len() > 4090);
}

#[test]
fn an_unclosed_block_that_was_cut_is_overflow_once_it_is_split() {
    let mut obs = overflowed();
    obs.reasoning_place = Some(ReasoningPlace::InlineStart {
        opener: "<think>".into(),
        closed: false,
    });
    assert!(matches!(on(&obs).action, Action::Continue(_)));
}
