//! Behaviour profile and ladder over any sequence of observations.
//!
//! Each observation takes eight bytes; every byte has a meaning, so that mutation stays useful.

use kilter_behavior::{BehaviorProfile, LadderPolicy, ProfileConfig, Split, TurnState, decide};
use kilter_core::{
    Expect, FinishReason, NativeCall, Observation, ReasoningPlace, ReasoningRequest, RequestFacts,
    Timestamp, TransportError, Usage,
};

const CONTENTS: [&str; 8] = [
    "",
    "Done.",
    "Four.\n",
    "<think>x",
    "I will look that up and come back to you.",
    "{\"name\": \"ping\", \"arguments\": {}}",
    "   ",
    "</think>late",
];

fn place(b: u8) -> Option<ReasoningPlace> {
    match b & 7 {
        0 | 1 => None,
        2 => Some(ReasoningPlace::Field("reasoning_content".to_owned())),
        3 => Some(ReasoningPlace::Field("reasoning".to_owned())),
        4 => Some(ReasoningPlace::InlineStart {
            opener: "<think>".to_owned(),
            closed: b & 8 == 8,
        }),
        5 => Some(ReasoningPlace::LoneCloser {
            closer: "</think>".to_owned(),
            at: usize::from(b) * 7,
        }),
        6 => Some(ReasoningPlace::ChannelHeader),
        _ => Some(ReasoningPlace::InlineStart {
            opener: "[THINK]".to_owned(),
            closed: true,
        }),
    }
}

fn finish(b: u8) -> Option<FinishReason> {
    match b % 6 {
        0 => None,
        1 | 2 => Some(FinishReason::Stop),
        3 => Some(FinishReason::Length),
        4 => Some(FinishReason::ToolCalls),
        _ => Some(FinishReason::Other("eos".to_owned())),
    }
}

fn observation(b: [u8; 8]) -> Observation {
    let reasoning_place = place(b[1]);
    Observation {
        content: CONTENTS[usize::from(b[0] & 7)].to_owned(),
        reasoning: reasoning_place
            .as_ref()
            .map(|_| "because ".repeat(usize::from(b[1] >> 4))),
        reasoning_place,
        native_calls: (0..b[2] & 1)
            .map(|_| NativeCall {
                id: None,
                name: "ping".to_owned(),
                arguments: if b[2] & 2 == 2 { "{}" } else { "{\"a\":" }.to_owned(),
            })
            .collect(),
        rejected: (0..b[2] >> 2 & 1)
            .map(|_| ("bare-json".to_owned(), kilter_core::RejectReason::Guard))
            .collect(),
        finish: finish(b[3]),
        usage: Usage {
            prompt_tokens: (b[4] & 1 == 1).then(|| u64::from(b[4]) * 64),
            completion_tokens: (b[4] & 2 == 2).then(|| u64::from(b[5]) * 2),
            reasoning_tokens: (b[4] & 4 == 4).then(|| u64::from(b[5])),
        },
        error: (b[2] >> 4 == 15).then(|| TransportError {
            status: 400 + u16::from(b[6] & 31),
            kind: "invalid_request_error".to_owned(),
            param: (b[6] & 32 == 32).then(|| "messages.1.reasoning_content".to_owned()),
            message: "reasoning_content is not allowed".to_owned(),
        }),
        request: RequestFacts {
            tools: usize::from(b[6] & 3),
            expect: [Expect::Auto, Expect::Required, Expect::None, Expect::Auto]
                [usize::from(b[6] >> 2 & 3)],
            output_cap: (b[6] & 16 == 16).then(|| u64::from(b[7])),
            reasoning: [
                ReasoningRequest::Unsaid,
                ReasoningRequest::On,
                ReasoningRequest::Off,
                ReasoningRequest::Unsaid,
            ][usize::from(b[6] >> 6)],
            streaming: b[7] & 1 == 1,
            prompt_chars: u64::from(b[7]) * 300,
            tools_chars: u64::from(b[6] & 3) * 200,
            replayed_reasoning: b[7] & 2 == 2,
        },
        ..Observation::default()
    }
}

/// One input.
pub(crate) fn run(data: &[u8]) {
    let [needed, rest @ ..] = data else { return };
    let cfg = ProfileConfig {
        needed: u32::from(needed & 3),
        ..ProfileConfig::default()
    };
    let mut profile = BehaviorProfile::new(cfg.clone());
    let mut twin = BehaviorProfile::new(cfg.clone());
    let mut now = Timestamp(1_700_000_000_000);
    for chunk in rest.chunks_exact(8).take(256) {
        let Ok(bytes) = <[u8; 8]>::try_from(chunk) else {
            return;
        };
        now = Timestamp(now.0 + u64::from(bytes[5]) * u64::from(bytes[7]) * 20_000);
        let obs = observation(bytes);
        let before = profile.split();
        let changes = profile.observe(&obs, now);
        assert_eq!(
            changes,
            twin.observe(&obs, now),
            "the same turns teach the same"
        );
        for c in &changes {
            let _ = format!("{c:?}");
        }

        // An error is no turn: it arms nothing.
        if obs.error.is_some() && arms(&profile.split()) {
            assert_eq!(before, profile.split(), "an error armed the splitter");
        }
        // One turn is not N turns.
        if profile.turns() < u64::from(cfg.needed.max(1)) {
            assert!(
                !arms(&profile.split()),
                "armed after {} turns",
                profile.turns()
            );
        }

        // A prior sets what is watched, never what is done.
        let prior = profile.to_prior();
        let mut fresh = BehaviorProfile::new(cfg.clone());
        let plain = BehaviorProfile::new(cfg.clone());
        fresh.preset(&prior);
        assert_eq!(fresh.guarded(), plain.guarded(), "a prior guards nothing");
        assert_eq!(fresh.split(), plain.split(), "a prior arms nothing");
        assert_eq!(fresh.budget(), plain.budget());

        let mut turn = TurnState::new(u32::from(bytes[0] >> 6));
        let d = decide(&obs, &profile, &mut turn, &LadderPolicy::default());
        let again = decide(&obs, &profile, &mut turn, &LadderPolicy::default());
        let _ = (profile.explain(), d, again);
        let text = serde_json::to_string(&profile);
        assert!(text.is_ok(), "a profile is always storable");
        if let Ok(text) = text {
            let back: Result<BehaviorProfile, _> = serde_json::from_str(&text);
            assert!(
                back.is_ok_and(|b| b == profile),
                "stored and read again: {text}"
            );
        }
    }
}

fn arms(split: &Split) -> bool {
    matches!(
        split,
        Split::Armed { inline: true, .. }
            | Split::Armed {
                leading_closer: true,
                ..
            }
    )
}
