//! Evidence halves every 20 turns or 24 hours without support, and at zero the axis rests.

use kilter_behavior::Split;
use kilter_behavior::profile::{AxisName, ReasoningChannel, ToolChannel};
use kilter_core::Timestamp;

use super::{HOUR, START, Session, armed, inline_think, native_call, said, split_by_server};

fn weight(s: &Session, axis: AxisName) -> u32 {
    s.profile.explain().axis(axis).map_or(0, |a| a.weight)
}

#[test]
fn twenty_turns_without_support_halve_and_forty_let_go() {
    let mut s = Session::new();
    s.times(2, &inline_think());
    assert_eq!(weight(&s, AxisName::Reasoning), 2);
    assert_eq!(
        s.times(19, &said("Four."))
            .iter()
            .filter(|c| c.axis == AxisName::Reasoning)
            .count(),
        0
    );
    assert_eq!(weight(&s, AxisName::Reasoning), 2);
    s.see(&said("Four."));
    assert_eq!(weight(&s, AxisName::Reasoning), 1);
    s.times(19, &said("Four."));
    assert_eq!(s.profile.split(), armed(true, false), "not yet");
    let changes = s.see(&said("Four."));
    let moved = changes.iter().find(|c| c.axis == AxisName::Reasoning);
    assert_eq!(moved.map(|c| c.to.as_str()), Some("unknown"));
    assert_eq!(*s.profile.reasoning(), ReasoningChannel::Unknown);
}

#[test]
fn one_support_in_time_keeps_it() {
    let mut s = Session::new();
    s.times(2, &inline_think());
    for _ in 0..10 {
        s.times(19, &said("Four."));
        s.see(&inline_think());
    }
    assert_eq!(s.profile.split(), armed(true, false));
}

#[test]
fn a_day_halves_too_and_more_evidence_lasts_longer() {
    let mut s = Session::new();
    s.times(8, &native_call("read_file", "{}"));
    assert_eq!(weight(&s, AxisName::Tools), 8);
    let learnt = s.now;
    for (days, left) in [(1, 4), (2, 2), (3, 1)] {
        s.profile.tick(Timestamp(learnt + days * 24 * HOUR));
        assert_eq!(weight(&s, AxisName::Tools), left, "after {days} days");
        assert!(s.profile.guarded());
    }
    let changes = s.profile.tick(Timestamp(learnt + 4 * 24 * HOUR));
    assert_eq!(*s.profile.tools(), ToolChannel::Unknown);
    assert!(!s.profile.guarded());
    assert!(
        changes
            .iter()
            .any(|c| c.axis == AxisName::Tools && c.to == "unknown")
    );
}

#[test]
fn a_pause_of_many_days_is_applied_at_once() {
    let mut s = Session::new();
    s.times(2, &split_by_server("reasoning"));
    s.profile.tick(Timestamp(s.now + 9 * 24 * HOUR));
    assert_eq!(
        s.profile.split(),
        Split::Unlearnt,
        "unknown again, so a first turn again"
    );
}

#[test]
fn a_half_seen_contradiction_is_forgotten_after_the_same_time() {
    let mut s = Session::new();
    s.times(4, &split_by_server("reasoning"));
    s.see(&inline_think());
    s.now += 24 * HOUR;
    s.see(&inline_think());
    assert_eq!(
        s.profile.split(),
        Split::Suppressed,
        "a day lies between them"
    );
    s.see(&inline_think());
    assert_eq!(s.profile.split(), armed(true, false));
}

#[test]
fn a_clock_set_back_stops_nothing_for_good() {
    let mut s = Session::new();
    s.now = START + 900 * 24 * HOUR;
    s.times(2, &inline_think());
    s.profile.tick(Timestamp(START));
    s.profile.tick(Timestamp(START + 2 * 24 * HOUR));
    assert_eq!(*s.profile.reasoning(), ReasoningChannel::Unknown);
}
