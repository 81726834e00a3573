//! The behaviour profile: what moves it, what does not, and what it says about itself.

mod book;
mod constraints;
mod decay;
mod explain;
mod history;
mod priors;
mod properties;
mod quiet;
mod swaps;
mod through;
mod window;

use kilter_behavior::profile::BehaviorProfile;
use kilter_behavior::{Change, Split};
use kilter_core::{
    FinishReason, NativeCall, Observation, Origin, Provenance, ReasoningPlace, RejectReason,
    RequestFacts, Strength, Timestamp, ToolCall, TransportError, Usage,
};

pub(crate) const MINUTE: u64 = 60_000;
pub(crate) const HOUR: u64 = 60 * MINUTE;
/// 2026-12-01T00:00:00Z.
pub(crate) const START: u64 = 1_796_083_200_000;

/// A profile with a clock that goes on a minute at each turn.
pub(crate) struct Session {
    pub(crate) profile: BehaviorProfile,
    pub(crate) now: u64,
}

impl Session {
    pub(crate) fn new() -> Self {
        Self::with(BehaviorProfile::default())
    }

    pub(crate) fn with(profile: BehaviorProfile) -> Self {
        Self {
            profile,
            now: START,
        }
    }

    pub(crate) fn see(&mut self, obs: &Observation) -> Vec<Change> {
        self.now += MINUTE;
        self.profile.observe(obs, Timestamp(self.now))
    }

    /// The same observation `n` times.
    pub(crate) fn times(&mut self, n: usize, obs: &Observation) -> Vec<Change> {
        (0..n).flat_map(|_| self.see(obs)).collect()
    }
}

pub(crate) fn armed(inline: bool, leading_closer: bool) -> Split {
    Split::Armed {
        inline,
        leading_closer,
    }
}

/// A turn that ended by itself with this content.
pub(crate) fn said(content: &str) -> Observation {
    Observation {
        content: content.into(),
        finish: Some(FinishReason::Stop),
        request: RequestFacts {
            tools: 2,
            ..RequestFacts::default()
        },
        ..Observation::default()
    }
}

/// An answer with reasoning in a field.
pub(crate) fn split_by_server(field: &str) -> Observation {
    Observation {
        reasoning: Some("Let me see.".into()),
        reasoning_place: Some(ReasoningPlace::Field(field.into())),
        ..said("It is four.")
    }
}

/// An answer that opened with a think block.
pub(crate) fn inline_think() -> Observation {
    Observation {
        reasoning: Some("Let me see.".into()),
        reasoning_place: Some(ReasoningPlace::InlineStart {
            opener: "<think>".into(),
            closed: true,
        }),
        ..said("It is four.")
    }
}

/// An answer with a bare closer in front.
pub(crate) fn leading_closer() -> Observation {
    Observation {
        reasoning: Some("Let me see.".into()),
        reasoning_place: Some(ReasoningPlace::LoneCloser {
            closer: "</think>".into(),
            at: 11,
        }),
        ..said("It is four.")
    }
}

/// An answer whose reasoning is only counted.
pub(crate) fn hidden() -> Observation {
    let mut obs = said("It is four.");
    obs.usage.reasoning_tokens = Some(33);
    obs
}

pub(crate) fn native_call(name: &str, arguments: &str) -> Observation {
    Observation {
        native_calls: vec![NativeCall {
            id: Some("c1".into()),
            name: name.into(),
            arguments: arguments.into(),
        }],
        finish: Some(FinishReason::ToolCalls),
        ..said("")
    }
}

pub(crate) fn recovered(dialect: &str, strength: Strength) -> Observation {
    Observation {
        recovered: vec![ToolCall {
            id: None,
            name: "read_file".into(),
            arguments: r#"{"path":"a"}"#.into(),
            provenance: Provenance::Recovered {
                dialect: dialect.into(),
                strength,
                origin: Origin::Recovered,
                coerced: vec![],
            },
        }],
        openers: vec![dialect.into()],
        ..said("")
    }
}

pub(crate) fn rejected(dialect: &str, reason: RejectReason) -> Observation {
    Observation {
        rejected: vec![(dialect.into(), reason)],
        openers: vec![dialect.into()],
        ..said("<tool_call>{}</tool_call>")
    }
}

/// The full budget signature.
pub(crate) fn overflowed() -> Observation {
    Observation {
        reasoning: Some("First I should consider".into()),
        reasoning_place: Some(ReasoningPlace::Field("reasoning_content".into())),
        finish: Some(FinishReason::Length),
        usage: Usage {
            prompt_tokens: None,
            completion_tokens: Some(350),
            reasoning_tokens: Some(350),
        },
        request: RequestFacts {
            output_cap: Some(350),
            ..RequestFacts::default()
        },
        ..said("")
    }
}

pub(crate) fn refused(status: u16, kind: &str, message: &str) -> Observation {
    Observation {
        error: Some(TransportError {
            status,
            kind: kind.into(),
            param: None,
            message: message.into(),
        }),
        ..Observation::default()
    }
}
