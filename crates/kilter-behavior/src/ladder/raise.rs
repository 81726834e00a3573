//! Rung 1: whether an overflow is continued, and with which cap.

use kilter_core::Observation;

use super::Continue;
use super::turn::{LadderPolicy, Rung, TurnState};
use crate::profile::{BehaviorProfile, Overflow, ServedWindow, filled};

/// One continue, where the policy, the turn and the room for it allow one. Takes the round.
pub(super) fn continue_with(
    obs: &Observation,
    o: Overflow,
    profile: &BehaviorProfile,
    turn: &mut TurnState,
    policy: &LadderPolicy,
) -> Option<Continue> {
    // What ended the turn was not the cap: a higher one changes nothing.
    if !policy.continue_overflow || !o.by_cap {
        return None;
    }
    let replay =
        profile.reasoning_history().may_replay() && obs.reasoning.as_deref().is_some_and(filled);
    let cap = raised_cap(obs, o, profile, policy, replay)?;
    turn.take(Rung::Continue).then_some(Continue {
        cap,
        former_cap: o.cap,
        replay_reasoning: replay,
    })
}

/// The raised cap: the former one times the factor, bounded by the backend's ceiling and by what a
/// known window leaves. `None` when that is no more than the former one.
fn raised_cap(
    obs: &Observation,
    o: Overflow,
    profile: &BehaviorProfile,
    policy: &LadderPolicy,
    replay: bool,
) -> Option<u64> {
    let spent = obs.usage.completion_tokens.or(o.reasoning_tokens);
    let former = o
        .cap
        .or(spent)
        .filter(|c| *c > 0)
        .unwrap_or(policy.assumed_cap);
    let mut cap = former.saturating_mul(u64::from(policy.raise_factor.max(1)));
    if let Some(ceiling) = policy.output_ceiling {
        cap = cap.min(ceiling);
    }
    if let ServedWindow::About(window) = profile.window() {
        let estimate = profile.token_estimate();
        let mut prompt = obs
            .usage
            .prompt_tokens
            .unwrap_or_else(|| estimate.tokens(obs.request.prompt_chars));
        if replay {
            let chars = obs.reasoning.as_deref().map_or(0, |r| r.chars().count());
            let reasoning = o.reasoning_tokens.or(spent);
            prompt =
                prompt.saturating_add(reasoning.unwrap_or_else(|| estimate.tokens(chars as u64)));
        }
        let room = window
            .saturating_sub(prompt)
            .saturating_sub(policy.window_margin);
        cap = cap.min(room);
    }
    (cap > former).then_some(cap)
}
