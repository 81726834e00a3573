//! Laws over random lives: no panic, no arming without evidence, exact storage, bounded memory.

use kilter_behavior::profile::{BehaviorProfile, ProfileConfig};
use kilter_behavior::{LadderPolicy, Split, TurnState, decide};
use kilter_core::{
    Expect, FinishReason, NativeCall, Observation, Origin, Provenance, ReasoningPlace,
    ReasoningRequest, RejectReason, RequestFacts, Strength, Timestamp, ToolCall, TransportError,
    Usage,
};
use proptest::prelude::*;

use super::START;

/// Texts of the wire, some of them longer than anything that is kept, cut inside a character.
fn word() -> impl Strategy<Value = String> {
    let many = (0..120_usize, 0..99_u8).prop_map(|(n, c)| "é".repeat(n) + &c.to_string());
    prop_oneof![
        3 => proptest::sample::select(vec!["", "reasoning_content", "tag-one", "bare-json", "<think>"])
            .prop_map(str::to_owned),
        1 => many,
    ]
}

fn text() -> impl Strategy<Value = String> {
    proptest::sample::select(vec![
        "",
        "",
        "",
        "Done.",
        "Done.",
        " \n",
        "Héllo, wörld 😀",
        "{\"a\":",
    ])
    .prop_map(str::to_owned)
}

fn place() -> impl Strategy<Value = Option<ReasoningPlace>> {
    proptest::option::of(prop_oneof![
        word().prop_map(ReasoningPlace::Field),
        (word(), any::<bool>())
            .prop_map(|(opener, closed)| ReasoningPlace::InlineStart { opener, closed }),
        (word(), 0..70_000_usize)
            .prop_map(|(closer, at)| ReasoningPlace::LoneCloser { closer, at }),
        Just(ReasoningPlace::ChannelHeader),
    ])
}

fn reason() -> impl Strategy<Value = RejectReason> {
    prop_oneof![
        1 => Just(RejectReason::Echo),
        1 => Just(RejectReason::Undeclared),
        1 => Just(RejectReason::Schema),
        1 => Just(RejectReason::Position),
        1 => Just(RejectReason::Truncated),
        2 => Just(RejectReason::Guard),
    ]
}

fn finish() -> impl Strategy<Value = Option<FinishReason>> {
    prop_oneof![
        1 => Just(None),
        3 => Just(Some(FinishReason::Stop)),
        2 => Just(Some(FinishReason::Length)),
        1 => Just(Some(FinishReason::ToolCalls)),
        1 => Just(Some(FinishReason::ContentFilter)),
        1 => word().prop_map(|w| Some(FinishReason::Other(w))),
    ]
}

fn count() -> impl Strategy<Value = Option<u64>> {
    prop_oneof![
        2 => Just(None),
        3 => (0..5_000_u64).prop_map(Some),
        1 => any::<u64>().prop_map(Some),
    ]
}

fn error() -> impl Strategy<Value = Option<TransportError>> {
    prop_oneof![
        6 => Just(None),
        1 => (any::<u16>(), word(), word(), text()).prop_map(|(status, kind, param, message)| {
            Some(TransportError { status, kind, param: Some(param), message })
        }),
        1 => (0..u64::MAX).prop_map(|n| Some(TransportError {
            status: 400,
            kind: "exceed_context_size_error".into(),
            param: None,
            message: format!("exceeds the available context size ({n} tokens)"),
        })),
        1 => any::<bool>().prop_map(|must| Some(TransportError {
            status: 400,
            kind: "invalid_request_error".into(),
            param: None,
            message: if must {
                "reasoning_content must be passed back".into()
            } else {
                "'reasoning_content' is unsupported".into()
            },
        })),
    ]
}

fn request() -> impl Strategy<Value = RequestFacts> {
    (
        0..4_usize,
        prop_oneof![
            Just(Expect::Auto),
            Just(Expect::Required),
            Just(Expect::None)
        ],
        count(),
        prop_oneof![
            3 => Just(ReasoningRequest::Unsaid),
            1 => Just(ReasoningRequest::On),
            1 => Just(ReasoningRequest::Off)
        ],
        count(),
        count(),
        any::<bool>(),
    )
        .prop_map(
            |(tools, expect, output_cap, reasoning, chars, tools_chars, replayed)| RequestFacts {
                tools,
                expect,
                output_cap,
                reasoning,
                streaming: replayed,
                prompt_chars: chars.unwrap_or(0),
                tools_chars: tools_chars.unwrap_or(0),
                replayed_reasoning: replayed,
            },
        )
}

fn calls() -> impl Strategy<Value = (Vec<NativeCall>, Vec<ToolCall>, Vec<(String, RejectReason)>)> {
    let native = (
        word(),
        prop_oneof![Just("{}".to_owned()), text(), Just("{\"a\":".to_owned())],
    )
        .prop_map(|(name, arguments)| NativeCall {
            id: None,
            name,
            arguments,
        });
    let strength = prop_oneof![
        Just(Strength::Weak),
        Just(Strength::Medium),
        Just(Strength::Strong)
    ];
    let recovered = (word(), strength).prop_map(|(dialect, strength)| ToolCall {
        id: None,
        name: "read_file".into(),
        arguments: "{}".into(),
        provenance: Provenance::Recovered {
            dialect,
            strength,
            origin: Origin::Recovered,
            coerced: vec![],
        },
    });
    (
        proptest::collection::vec(native, 0..2),
        proptest::collection::vec(recovered, 0..2),
        proptest::collection::vec((word(), reason()), 0..2),
    )
}

pub(super) fn any_observation() -> impl Strategy<Value = Observation> {
    let habit = (word(), 0..30_u8, word()).prop_map(|(a, n, b)| match n {
        0 => a,
        _ => format!("{a}{n}:{b}"),
    });
    let habits = proptest::collection::vec(habit, 0..4);
    (
        (text(), proptest::option::of(text()), place(), finish()),
        calls(),
        (count(), count(), count()),
        error(),
        request(),
        habits,
    )
        .prop_map(
            |((content, reasoning, place, finish), calls, tokens, error, request, habits)| {
                Observation {
                    content,
                    reasoning,
                    reasoning_place: place,
                    native_calls: calls.0,
                    recovered: calls.1,
                    rejected: calls.2,
                    openers: vec![],
                    finish,
                    usage: Usage {
                        prompt_tokens: tokens.0,
                        completion_tokens: tokens.1,
                        reasoning_tokens: tokens.2,
                    },
                    error,
                    request,
                    stream_habits: habits,
                }
            },
        )
}

/// A life of at most `turns` turns: mostly minutes apart, sometimes days, sometimes back in time.
pub(super) fn lived(turns: usize) -> impl Strategy<Value = Vec<(Observation, Timestamp)>> {
    let pause = prop_oneof![
        8 => 0..600_000_i64,
        1 => 0..400_000_000_i64,
        1 => -90_000_000..0_i64,
    ];
    // Runs of the same observation, so that streaks happen.
    let run = (any_observation(), 1..4_usize, pause);
    proptest::collection::vec(run, 1..turns).prop_map(|runs| {
        let mut now = START;
        let mut life = Vec::new();
        for (obs, n, pause) in runs {
            for _ in 0..n {
                now = now.saturating_add_signed(pause);
                life.push((obs.clone(), Timestamp(now)));
            }
        }
        life
    })
}

/// Turns in a row that opened with a block, or with a lone closer near the start.
#[derive(Default)]
struct Streaks {
    inline: u32,
    closer: u32,
}

impl Streaks {
    fn see(&mut self, obs: &Observation, within: usize) {
        if obs.error.is_some() {
            return;
        }
        let (inline, closer) = match &obs.reasoning_place {
            Some(ReasoningPlace::InlineStart { .. } | ReasoningPlace::ChannelHeader) => {
                (true, false)
            }
            Some(ReasoningPlace::LoneCloser { at, .. }) => (false, *at <= within),
            _ => (false, false),
        };
        self.inline = if inline { self.inline + 1 } else { 0 };
        self.closer = if closer { self.closer + 1 } else { 0 };
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(128))]

    #[test]
    fn nothing_is_armed_without_n_consecutive_turns_of_evidence(life in lived(60), needed in 1..4_u32) {
        let cfg = ProfileConfig { needed, ..ProfileConfig::default() };
        let mut p = BehaviorProfile::new(cfg.clone());
        let mut streaks = Streaks::default();
        let mut before = (false, false);
        for (obs, at) in &life {
            streaks.see(obs, cfg.closer_within);
            p.observe(obs, *at);
            let after = match p.split() {
                Split::Armed { inline, leading_closer } => (inline, leading_closer),
                _ => (false, false),
            };
            prop_assert!(before.0 || !after.0 || streaks.inline >= needed);
            prop_assert!(before.1 || !after.1 || streaks.closer >= needed);
            before = after;
        }
    }

    #[test]
    fn the_guard_goes_up_only_on_native_calls_in_a_row(life in lived(60)) {
        let mut p = BehaviorProfile::default();
        let mut before = false;
        for (obs, at) in &life {
            p.observe(obs, *at);
            if p.guarded() && !before {
                prop_assert!(!obs.native_calls.is_empty());
            }
            before = p.guarded();
        }
    }

    #[test]
    fn a_profile_is_stored_as_what_it_is(life in lived(40)) {
        let mut p = BehaviorProfile::default();
        for (obs, at) in &life {
            p.observe(obs, *at);
        }
        let stored = serde_json::to_string(&p).unwrap();
        let back: BehaviorProfile = serde_json::from_str(&stored).unwrap();
        prop_assert_eq!(&back, &p);
        prop_assert_eq!(serde_json::to_string(&back).unwrap(), stored);
    }

    #[test]
    fn stored_and_taken_up_again_it_learns_on_as_before(life in lived(30)) {
        let mut whole = BehaviorProfile::default();
        let mut broken = BehaviorProfile::default();
        for (obs, at) in &life {
            prop_assert_eq!(whole.observe(obs, *at), broken.observe(obs, *at));
            broken = serde_json::from_str(&serde_json::to_string(&broken).unwrap()).unwrap();
        }
        prop_assert_eq!(whole.explain(), broken.explain());
    }

    #[test]
    fn memory_is_bounded(life in lived(120)) {
        let mut p = BehaviorProfile::default();
        for (obs, at) in &life {
            p.observe(obs, *at);
        }
        prop_assert!(serde_json::to_string(&p).unwrap().len() < 48 * 1024);
    }

    #[test]
    fn a_turn_takes_no_more_rounds_than_it_has(life in lived(20), rounds in 0..4_u32) {
        let p = BehaviorProfile::default();
        let policy = LadderPolicy {
            re_ask_lost_calls: true,
            constrained_re_ask: true,
            schema_honoured: true,
            ..LadderPolicy::default()
        };
        let mut turn = TurnState::new(rounds);
        let mut asked = 0;
        for (obs, _) in &life {
            use kilter_behavior::Action::{Continue, ConstrainedReAsk, ReAsk};
            let d = decide(obs, &p, &mut turn, &policy);
            asked += u32::from(matches!(d.action, Continue(_) | ReAsk | ConstrainedReAsk));
        }
        prop_assert!(asked <= rounds);
        prop_assert_eq!(asked, rounds - turn.rounds_left());
    }
}
