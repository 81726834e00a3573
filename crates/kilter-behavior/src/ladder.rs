//! What to do about a turn: a pure state machine over (observation, profile, turn state, policy).
//!
//! [`decide`] looks at one answered turn and returns a [`Decision`]: an action for the edge to carry
//! out, the terminal reason that tells the truth, events, and signals. It never does anything itself.
//!
//! | rung | fires on | does |
//! |---|---|---|
//! | 1 reasoning overflow | the full budget signature ([`overflow`](crate::profile::overflow)) | at most one [`Action::Continue`] per turn with a raised cap; where that cannot be, or failed, [`Action::NonAttempt`] |
//! | – reasoning without an answer | `stop` (or any end but a cut or the filter), empty content, readable reasoning | [`Action::OfferCandidate`]: nothing is changed, the tail is offered beside the content |
//! | – calls announced, none there | `tool_calls` without any call | [`Action::NonAttempt`], or one re-ask without streaming where the policy allows |
//! | 2 dialect recovery | calls that the reader recovered | the calls are the turn; the terminal reason becomes `tool_calls` |
//! | 2c constrained re-ask | a *required* call that did not come | off by default; one [`Action::ConstrainedReAsk`] where the policy allows and the backend honours schemas |
//! | 3 non-action | anything else that did not act | [`Signal`]s only |
//!
//! What every rung has in common: it fires on what the turn *shows*, never on a profile alone (the
//! profile only bounds the raise and says whether reasoning may be replayed) and never on a prior;
//! each further request takes one round of the turn's [`TurnState`], which is the one counter and the
//! one nudge authority of all rungs; each is an event.
//!
//! Calls recovered and candidates rejected are events of the reader's sink, where their names and
//! hints are known; they are not repeated here.

mod finish;
mod raise;
mod turn;

pub use crate::tail::reasoning_tail;
pub use finish::truth as finish_truth;
pub use turn::{LadderPolicy, Rung, TurnState};

use kilter_core::{EventKind, Expect, FinishReason, Observation};

use crate::profile::{BehaviorProfile, filled, overflow};

/// What is to be done.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Action {
    /// Nothing: the turn goes out as it is.
    Pass,
    /// Rung 1: send the request once more with a raised cap.
    Continue(Continue),
    /// The reasoning's tail is offered as a content candidate, in a field of its own. The turn
    /// itself goes out unchanged.
    OfferCandidate {
        /// The tail.
        text: String,
    },
    /// Ask the same once more without streaming: calls were announced and lost.
    ReAsk,
    /// Rung 2c: ask once more under the schema of the declared tools. Shape is not substance: what
    /// comes of it is reported apart.
    ConstrainedReAsk,
    /// The turn holds no attempt; it goes out as it is, with its cause recorded.
    NonAttempt(NonAttempt),
}

/// One continue.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Continue {
    /// The raised output cap in tokens.
    pub cap: u64,
    /// The cap of the turn that overflowed, where the request set one.
    pub former_cap: Option<u64>,
    /// Whether the partial reasoning is sent along, in the field in which it came; else the request
    /// is simply repeated.
    pub replay_reasoning: bool,
}

/// Why a turn holds no attempt.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum NonAttempt {
    /// Neither content, nor calls, nor readable reasoning.
    Empty,
    /// The output was spent in reasoning and could not be continued, or not again.
    Overflow,
    /// The terminal reason announced calls and there were none.
    FinishWithoutCalls,
}

impl NonAttempt {
    /// The word of events.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Empty => "empty",
            Self::Overflow => "overflow",
            Self::FinishWithoutCalls => "finish_without_calls",
        }
    }
}

/// What whoever watches for spirals may count. The gateway only reports them; an agent's tenacity
/// consumes them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Signal {
    /// The turn said and called nothing.
    EmptyTurn,
    /// It reasoned and then ended.
    ReasoningOnly,
    /// The budget went into reasoning.
    Overflow,
    /// Calls were announced and none came.
    FinishWithoutCalls,
    /// A call was required and prose came.
    RequiredCallMissing,
    /// Call syntax was there and nothing could be read.
    Unparseable,
    /// A candidate was read and did not pass the boundary.
    Rejected,
    /// A native call was cut by the cap.
    TruncatedCall,
}

/// What was decided of a turn.
#[derive(Debug, Clone, PartialEq)]
pub struct Decision {
    /// What is to be done.
    pub action: Action,
    /// The terminal reason to send where the upstream's is not the truth.
    pub finish: Option<FinishReason>,
    /// What is to be recorded.
    pub events: Vec<EventKind>,
    /// What may be counted.
    pub signals: Vec<Signal>,
}

impl Decision {
    fn pass() -> Self {
        Self {
            action: Action::Pass,
            finish: None,
            events: Vec::new(),
            signals: Vec::new(),
        }
    }

    fn non_attempt(&mut self, cause: NonAttempt) {
        self.action = Action::NonAttempt(cause);
        self.events.push(EventKind::NonAttempt {
            cause: cause.as_str().to_owned(),
        });
    }
}

/// Decides what to do about a turn. `turn` is the state of the *client's* turn: it lives until the
/// client gets its answer, over every further request that is made for it.
pub fn decide(
    obs: &Observation,
    profile: &BehaviorProfile,
    turn: &mut TurnState,
    policy: &LadderPolicy,
) -> Decision {
    let mut d = Decision::pass();
    if obs.error.is_some() {
        // Typed refusals belong to the compensations. A continue that was refused has failed.
        if turn.continued() {
            d.signals.push(Signal::Overflow);
            d.non_attempt(NonAttempt::Overflow);
        }
        return d;
    }
    d.finish = finish::truth(obs);
    if !obs.rejected.is_empty() {
        d.signals.push(Signal::Rejected);
    }
    if !obs.native_calls.is_empty() || !obs.recovered.is_empty() {
        if d.finish == Some(FinishReason::Length) {
            d.signals.push(Signal::TruncatedCall);
        }
        return d;
    }
    if let Some(o) = overflow(obs, profile.config().hidden_overflow) {
        d.signals.push(Signal::Overflow);
        let next = raise::continue_with(obs, o, profile, turn, policy);
        d.events.push(EventKind::ReasoningOverflow {
            reasoning_tokens: o.reasoning_tokens,
            cap: o.cap,
            continued: next.is_some(),
        });
        match next {
            Some(c) => d.action = Action::Continue(c),
            None => d.non_attempt(NonAttempt::Overflow),
        }
        return d;
    }
    if unparseable(obs) {
        d.signals.push(Signal::Unparseable);
        d.events.push(EventKind::NoParseableToolCall {
            openers: obs.openers.clone(),
        });
    }
    if obs.finish == Some(FinishReason::ToolCalls) {
        d.signals.push(Signal::FinishWithoutCalls);
        if policy.re_ask_lost_calls && turn.take(Rung::ReAsk) {
            d.action = Action::ReAsk;
        } else {
            d.non_attempt(NonAttempt::FinishWithoutCalls);
        }
        return d;
    }
    if obs.request.tools > 0 && obs.request.expect == Expect::Required {
        d.signals.push(Signal::RequiredCallMissing);
        let may = policy.constrained_re_ask && policy.schema_honoured;
        if may && turn.take(Rung::ConstrainedReAsk) {
            d.action = Action::ConstrainedReAsk;
            return d;
        }
    }
    if filled(&obs.content) {
        return d;
    }
    match (&obs.finish, obs.reasoning.as_deref().filter(|r| filled(r))) {
        (Some(FinishReason::ContentFilter), _) => {}
        (_, Some(reasoning)) => {
            d.signals.push(Signal::ReasoningOnly);
            d.action = Action::OfferCandidate {
                text: reasoning_tail(reasoning).to_owned(),
            };
        }
        // A word that we do not know: not ours to judge.
        (Some(FinishReason::Other(_)), None) => {}
        _ => {
            d.signals.push(Signal::EmptyTurn);
            d.non_attempt(NonAttempt::Empty);
        }
    }
    d
}

/// Tools were offered and wanted, call syntax was there, and nothing could be read of it.
fn unparseable(obs: &Observation) -> bool {
    obs.request.tools > 0
        && obs.request.expect != Expect::None
        && !obs.openers.is_empty()
        && obs.rejected.is_empty()
}
