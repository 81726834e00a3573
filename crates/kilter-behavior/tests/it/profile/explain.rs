//! `explain()`: each axis with the observations that hold it up.

use kilter_behavior::Prior;
use kilter_behavior::profile::{AxisName, ReasoningChannel};
use kilter_core::{EventKind, Timestamp};

use super::{Session, inline_think, native_call, overflowed, refused, said, split_by_server};

fn lived() -> Session {
    let mut s = Session::new();
    s.times(2, &inline_think());
    s.times(2, &native_call("read_file", r#"{"path":"a"}"#));
    let message = "request (6024 tokens) exceeds the available context size (4096 tokens)";
    s.see(&refused(400, "exceed_context_size_error", message));
    s.see(&split_by_server("reasoning_content"));
    let mut streamed = said("Fine.");
    streamed.stream_habits = vec!["index:missing".into(), "usage:finish_chunk".into()];
    s.times(2, &streamed);
    s.see(&overflowed());
    let now = Timestamp(s.now);
    s.profile
        .constraints_mut()
        .learn("drop-seed", "400 unsupported `seed`, then 200", now);
    s.profile.preset(&Prior {
        reasoning: Some(ReasoningChannel::LeadingCloser),
        ..Prior::default()
    });
    s
}

#[test]
fn it_reads_as_a_person_would_write_it() {
    insta::assert_snapshot!(lived().profile.explain().to_string());
}

#[test]
fn what_holds_an_axis_up_is_told_apart_from_what_speaks_against_it() {
    let explanation = lived().profile.explain();
    let budget = explanation.axis(AxisName::Budget).unwrap();
    assert_eq!(budget.value, "healthy");
    assert!(budget.evidence.iter().all(|e| e.value == "healthy"));
    assert_eq!(budget.against.len(), 1);
    assert_eq!(
        budget.pending.as_deref(),
        Some("`exhausts_in_reasoning` seen 1 in a row")
    );
}

#[test]
fn at_most_eight_observations_are_kept_and_all_are_counted() {
    let mut s = Session::new();
    s.times(50, &inline_think());
    let explanation = s.profile.explain();
    let axis = explanation.axis(AxisName::Reasoning).unwrap();
    assert_eq!(axis.evidence.len(), 8);
    assert_eq!(axis.evidence.last().map(|e| e.turn), Some(50));
    assert_eq!(axis.seen, [("inline_think".to_owned(), 50)]);
}

#[test]
fn a_move_is_an_event_with_its_evidence() {
    let mut s = Session::new();
    let change = s.times(2, &inline_think()).remove(0);
    assert_eq!(
        EventKind::from(change),
        EventKind::Behavior {
            axis: "reasoning".into(),
            from: "unknown".into(),
            to: "inline_think".into(),
            evidence: "2 in a row: content opened with `<think>`".into(),
        }
    );
}

#[test]
fn counters_of_two_replicas_add_up_to_those_of_one() {
    let turns = [
        inline_think(),
        said("Four."),
        native_call("a", "{}"),
        said("Five."),
    ];
    let (mut whole, mut left, mut right) = (Session::new(), Session::new(), Session::new());
    for (i, obs) in turns.iter().enumerate() {
        whole.see(obs);
        if i % 2 == 0 {
            left.see(obs)
        } else {
            right.see(obs)
        };
    }
    let tools = |s: &Session| {
        s.profile
            .counters()
            .into_iter()
            .filter(|c| c.axis == AxisName::Tools || c.axis == AxisName::Budget)
            .collect::<Vec<_>>()
    };
    let mut sum = std::collections::BTreeMap::new();
    for c in tools(&left).into_iter().chain(tools(&right)) {
        *sum.entry((c.axis, c.part, c.value)).or_insert(0) += c.count;
    }
    let of_one: std::collections::BTreeMap<_, _> = tools(&whole)
        .into_iter()
        .map(|c| ((c.axis, c.part, c.value), c.count))
        .collect();
    assert_eq!(sum, of_one);
}
