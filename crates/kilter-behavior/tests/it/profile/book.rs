//! Profiles by (session, backend, slot): bounded, the least used let go into its prior.

use kilter_behavior::profile::{ProfileConfig, ReasoningChannel};
use kilter_behavior::{PriorKey, ProfileBook, ProfileKey, Split};
use kilter_core::Timestamp;

use super::{START, armed, inline_think, split_by_server};

fn key(session: &str, slot: &str) -> ProfileKey {
    ProfileKey {
        session: session.into(),
        backend: "local".into(),
        slot: slot.into(),
    }
}

fn origin() -> PriorKey {
    PriorKey {
        endpoint: "http://127.0.0.1:8080/v1".into(),
        digest: "sha256:aa".into(),
    }
}

#[test]
fn another_slot_is_another_profile_at_once() {
    let mut book = ProfileBook::new(ProfileConfig::default(), 8);
    for _ in 0..3 {
        book.open(&key("s", "a"), None, Timestamp(START))
            .observe(&inline_think(), Timestamp(START));
        book.open(&key("s", "b"), None, Timestamp(START))
            .observe(&split_by_server("reasoning"), Timestamp(START));
    }
    assert_eq!(
        book.open(&key("s", "a"), None, Timestamp(START)).split(),
        armed(true, false)
    );
    assert_eq!(
        book.open(&key("s", "b"), None, Timestamp(START)).split(),
        Split::Suppressed
    );
    assert_eq!(
        book.open(&key("s", "c"), None, Timestamp(START)).split(),
        Split::Unlearnt
    );
    assert_eq!(
        book.open(&key("t", "a"), None, Timestamp(START)).split(),
        Split::Unlearnt
    );
}

#[test]
fn the_least_used_goes_and_leaves_its_prior() {
    let mut book = ProfileBook::new(ProfileConfig::default(), 2);
    for _ in 0..2 {
        book.open(&key("one", "a"), Some(&origin()), Timestamp(START))
            .observe(&inline_think(), Timestamp(START));
    }
    book.open(&key("two", "a"), None, Timestamp(START));
    assert!(book.prior(&origin()).is_none(), "still in use");
    book.open(&key("three", "a"), None, Timestamp(START));
    assert_eq!(book.len(), 2);
    assert!(book.get(&key("one", "a")).is_none());
    let left = book.prior(&origin()).and_then(|p| p.reasoning.clone());
    assert_eq!(left, Some(ReasoningChannel::InlineThink));

    let primed = book.open(&key("four", "a"), Some(&origin()), Timestamp(START));
    assert_eq!(
        primed.expected().reasoning,
        Some(ReasoningChannel::InlineThink)
    );
    assert_eq!(primed.split(), Split::Unlearnt, "a prior arms nothing");
}

#[test]
fn without_a_digest_nothing_is_left() {
    let mut book = ProfileBook::new(ProfileConfig::default(), 4);
    for _ in 0..3 {
        book.open(&key("s", "a"), None, Timestamp(START))
            .observe(&inline_think(), Timestamp(START));
    }
    book.end_session("s");
    assert!(book.is_empty());
    assert_eq!(book.priors().count(), 0);
}

#[test]
fn sessions_that_disagree_leave_nothing_on_that_axis() {
    let mut book = ProfileBook::new(ProfileConfig::default(), 4);
    for (session, obs) in [("s", inline_think()), ("t", split_by_server("reasoning"))] {
        for _ in 0..2 {
            book.open(&key(session, "a"), Some(&origin()), Timestamp(START))
                .observe(&obs, Timestamp(START));
        }
        book.end_session(session);
    }
    assert_eq!(
        book.prior(&origin()).and_then(|p| p.reasoning.clone()),
        None
    );
}

#[test]
fn a_primed_profile_passes_on_only_what_it_learnt_itself() {
    let mut book = ProfileBook::new(ProfileConfig::default(), 4);
    for _ in 0..2 {
        book.open(&key("s", "a"), Some(&origin()), Timestamp(START))
            .observe(&inline_think(), Timestamp(START));
    }
    book.end_session("s");
    let p = book.open(&key("t", "a"), Some(&origin()), Timestamp(START));
    assert!(p.to_prior().is_empty());
}

#[test]
fn many_keys_stay_within_bounds() {
    let mut book = ProfileBook::new(ProfileConfig::default(), 16);
    for i in 0..500_u64 {
        let o = PriorKey {
            endpoint: format!("http://h{i}/v1"),
            digest: "d".into(),
        };
        for _ in 0..2 {
            book.open(&key(&format!("s{i}"), "a"), Some(&o), Timestamp(START + i))
                .observe(&inline_think(), Timestamp(START + i));
        }
    }
    assert_eq!((book.len(), book.iter().count()), (16, 16));
    assert!(book.priors().count() <= 16);
    let newest = book.iter().last().map(|(k, _)| k.session.clone());
    assert_eq!(newest.as_deref(), Some("s499"));
}
