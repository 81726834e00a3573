//! A prior decides nothing: whatever it says, a primed profile decides as an unprimed one.

use kilter_behavior::profile::{
    BehaviorProfile, BudgetSignature, ReasoningChannel, ReasoningHistory, ServedWindow,
    ToolChannel, ToolsInPrompt,
};
use kilter_behavior::{LadderPolicy, Prior, Split, TurnState, decide};
use kilter_core::Timestamp;
use proptest::prelude::*;

use super::properties::lived;
use super::{START, Session, inline_think, overflowed};

/// A prior that expects the strongest of everything.
fn loud() -> Prior {
    Prior {
        reasoning: Some(ReasoningChannel::InlineThink),
        tools: Some(ToolChannel::Structured),
        budget: Some(BudgetSignature::ExhaustsInReasoning),
        window: Some(ServedWindow::About(512)),
        tools_in_prompt: Some(ToolsInPrompt::Dropped),
        reasoning_history: Some(ReasoningHistory::Requires),
        habits: [("index".to_owned(), "missing".to_owned())].into(),
        constraints: vec!["drop-seed".into()],
        turns: 900,
        at: Timestamp(START),
    }
}

#[test]
fn the_loudest_prior_arms_nothing() {
    let mut p = BehaviorProfile::default();
    p.preset(&loud());
    assert_eq!(p.split(), Split::Unlearnt);
    assert!(!p.guarded());
    assert!(!p.constraints().applies("drop-seed"));
    assert_eq!(p.window(), ServedWindow::Unknown);
    assert_eq!(p.habits().count(), 0);
    let expected = p
        .explain()
        .axes
        .iter()
        .filter(|a| a.expected.is_some())
        .count();
    assert_eq!(expected, 7, "it is told all the same");
}

#[test]
fn a_prior_does_not_shorten_the_way() {
    let mut s = Session::new();
    s.profile.preset(&loud());
    s.see(&inline_think());
    assert!(!matches!(
        s.profile.split(),
        Split::Armed { inline: true, .. }
    ));
}

#[test]
fn a_prior_neither_replays_nor_bounds_a_continue() {
    let act = |p: &BehaviorProfile| {
        decide(
            &overflowed(),
            p,
            &mut TurnState::new(3),
            &LadderPolicy::default(),
        )
    };
    let mut primed = BehaviorProfile::default();
    primed.preset(&loud());
    assert_eq!(act(&primed), act(&BehaviorProfile::default()));
}

fn any_prior() -> impl Strategy<Value = Prior> {
    let reasoning = prop_oneof![
        Just(ReasoningChannel::InlineThink),
        Just(ReasoningChannel::LeadingCloser),
        Just(ReasoningChannel::Hidden),
        Just(ReasoningChannel::None),
        "[a-z]{1,8}".prop_map(|field| ReasoningChannel::ServerSplit { field }),
    ];
    let tools = prop_oneof![
        Just(ToolChannel::Structured),
        Just(ToolChannel::BareJson),
        "[a-z]{1,8}".prop_map(|dialect| ToolChannel::TaggedInContent { dialect }),
    ];
    let window = prop_oneof![
        (1..100_000_u64).prop_map(ServedWindow::About),
        (1..100_000_u64).prop_map(ServedWindow::AtLeast),
    ];
    let history = prop_oneof![
        Just(ReasoningHistory::Requires),
        Just(ReasoningHistory::Accepts),
        Just(ReasoningHistory::Rejects),
    ];
    (
        proptest::option::of(reasoning),
        proptest::option::of(tools),
        proptest::option::of(window),
        proptest::option::of(history),
        any::<bool>(),
        0..2_000_u64,
    )
        .prop_map(
            |(reasoning, tools, window, reasoning_history, more, turns)| Prior {
                reasoning,
                tools,
                window,
                reasoning_history,
                turns,
                ..if more { loud() } else { Prior::default() }
            },
        )
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(128))]

    #[test]
    fn no_prior_changes_a_decision(priors in proptest::collection::vec(any_prior(), 1..4), life in lived(40)) {
        let mut plain = BehaviorProfile::default();
        let mut primed = BehaviorProfile::default();
        let policy = LadderPolicy::default();
        for (i, (obs, at)) in life.iter().enumerate() {
            // Primed at the start and again in the middle of its life.
            if let Some(p) = priors.get(i / 7).filter(|_| i % 7 == 0) {
                primed.preset(p);
            }
            let a = decide(obs, &plain, &mut TurnState::new(2), &policy);
            let b = decide(obs, &primed, &mut TurnState::new(2), &policy);
            prop_assert_eq!(a, b);
            prop_assert_eq!(plain.observe(obs, *at), primed.observe(obs, *at));
            prop_assert_eq!(plain.split(), primed.split());
            prop_assert_eq!(plain.guarded(), primed.guarded());
            prop_assert_eq!(plain.constraints(), primed.constraints());
            prop_assert_eq!(plain.to_prior(), primed.to_prior());
        }
    }
}
