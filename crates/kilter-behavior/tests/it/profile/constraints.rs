//! Learnt compensations: learnt, counted, re-checked, dropped.

use kilter_behavior::profile::{AxisName, BehaviorProfile, ProfileConfig};
use kilter_core::{EventKind, Timestamp};

use super::{HOUR, START};

const RULE: &str = "no-parallel-tool-calls";

fn learnt() -> BehaviorProfile {
    let mut p = BehaviorProfile::default();
    let change = p
        .constraints_mut()
        .learn(
            RULE,
            "400 unsupported parameter, then 200",
            Timestamp(START),
        )
        .unwrap();
    assert_eq!(
        EventKind::from(change),
        EventKind::Behavior {
            axis: "constraint".into(),
            from: format!("{RULE}:none"),
            to: format!("{RULE}:learnt"),
            evidence: "400 unsupported parameter, then 200".into(),
        }
    );
    p
}

#[test]
fn two_hundred_uses_or_a_day_make_a_recheck_due() {
    let mut p = learnt();
    for _ in 0..199 {
        p.constraints_mut().used(RULE, Timestamp(START));
    }
    assert!(!p.recheck_due(RULE, Timestamp(START + HOUR)));
    p.constraints_mut().used(RULE, Timestamp(START));
    assert!(p.recheck_due(RULE, Timestamp(START + HOUR)));
    assert!(p.constraints_mut().confirmed(RULE, Timestamp(START + HOUR)));
    assert!(!p.recheck_due(RULE, Timestamp(START + 24 * HOUR)));
    assert!(p.recheck_due(RULE, Timestamp(START + 25 * HOUR)));
    let uses = p.constraints().iter().next().map(|(_, c)| c.uses);
    assert_eq!(uses, Some(200), "a confirmation does not forget them");
}

#[test]
fn what_is_no_longer_needed_or_does_not_help_is_dropped() {
    let mut p = learnt();
    let change = p.constraints_mut().expire(RULE).unwrap();
    assert_eq!(
        (change.axis, change.to.as_str()),
        (AxisName::Constraint, "no-parallel-tool-calls:expired")
    );
    assert!(!p.constraints().applies(RULE));
    assert_eq!(p.constraints_mut().expire(RULE), None);

    let mut p = learnt();
    assert!(p.constraints_mut().failed(RULE).is_some());
    assert!(!p.constraints().applies(RULE));
    assert!(!p.recheck_due(RULE, Timestamp(START + 99 * HOUR)));
}

#[test]
fn learning_again_confirms() {
    let mut p = learnt();
    let later = Timestamp(START + 23 * HOUR);
    assert_eq!(p.constraints_mut().learn(RULE, "again", later), None);
    assert!(!p.recheck_due(RULE, Timestamp(START + 30 * HOUR)));
}

#[test]
fn the_set_is_bounded_and_the_longest_unused_goes() {
    let mut p = BehaviorProfile::new(ProfileConfig::default());
    for i in 0..100_u64 {
        p.constraints_mut()
            .learn(&format!("rule-{i}"), "x", Timestamp(START + i));
        p.constraints_mut().used("rule-0", Timestamp(START + i));
    }
    assert_eq!(p.constraints().iter().count(), 32);
    assert!(p.constraints().applies("rule-0"), "used all the time");
    assert!(p.constraints().applies("rule-99"));
    assert!(!p.constraints().applies("rule-1"));
}
