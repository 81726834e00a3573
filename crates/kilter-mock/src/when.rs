//! Conditions on a request: every key that is present must hold.

use std::collections::BTreeMap;

use serde::Deserialize;

use crate::overlay::{OneOrMany, section};
use crate::request::Ask;

/// What a request says about reasoning.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ReasoningAsk {
    /// Nothing.
    #[default]
    Unsaid,
    /// It asks for some.
    On,
    /// It switches it off.
    Off,
    /// Condition only: anything but off.
    NotOff,
}

/// What `tool_choice` says.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Choice {
    /// A call is optional, said or unsaid.
    #[default]
    Auto,
    /// Some call is required.
    Required,
    /// One function is named.
    Named,
    /// No call is wanted.
    None,
}

section! {
    /// A condition.
    When {
        /// Whether functions are declared.
        tools: bool,
        /// What the request says about reasoning (`on`, `off`, `unsaid`, `not_off`).
        reasoning: ReasoningAsk,
        /// Whether the answer is to be streamed.
        stream: bool,
        /// The last user message holds one of these, whatever the case.
        message_contains: OneOrMany,
        /// A system or developer message holds one of these.
        system_contains: OneOrMany,
        /// Any message holds one of these.
        anywhere_contains: OneOrMany,
        /// The number of the turn, from 1, within the session.
        turn: u64,
        /// This turn and later ones.
        from_turn: u64,
        /// This turn and earlier ones.
        to_turn: u64,
        /// Whether the last message is a tool result.
        after_tool_result: bool,
        /// What `tool_choice` says.
        tool_choice: Choice,
        /// The output cap is set and below this number of tokens.
        cap_below: u64,
        /// The output cap is unset or at least this number of tokens.
        cap_at_least: u64,
        /// The prompt as sent is longer than this number of tokens.
        prompt_tokens_over: u64,
        /// The body has this top-level key (other than null).
        has_field: OneOrMany,
        /// The body lacks this top-level key.
        lacks_field: String,
        /// Headers that must be present with these values.
        header: BTreeMap<String, String>,
        /// The request's `model` field.
        model: String,
        /// A share of requests, 0 to 1, drawn by the seed.
        chance: f64,
    }
}

impl When {
    /// Whether the request meets every condition.
    pub fn holds(&self, ask: &Ask) -> bool {
        let bound = |cond: Option<bool>| cond.unwrap_or(true);
        bound(self.tools.map(|t| t != ask.tools.is_empty()))
            && bound(self.reasoning.map(|r| match r {
                ReasoningAsk::NotOff => ask.reasoning != ReasoningAsk::Off,
                other => other == ask.reasoning,
            }))
            && bound(self.stream.map(|s| s == ask.stream))
            && bound(
                self.message_contains
                    .as_ref()
                    .map(|m| m.any_in(ask.user_text())),
            )
            && bound(self.system_contains.as_ref().map(|m| {
                ask.messages
                    .iter()
                    .any(|x| matches!(x.role.as_str(), "system" | "developer") && m.any_in(&x.text))
            }))
            && bound(
                self.anywhere_contains
                    .as_ref()
                    .map(|m| ask.messages.iter().any(|x| m.any_in(&x.text))),
            )
            && bound(self.turn.map(|n| n == ask.turn))
            && bound(self.from_turn.map(|n| ask.turn >= n))
            && bound(self.to_turn.map(|n| ask.turn <= n))
            && bound(self.after_tool_result.map(|a| a == ask.after_tool_result()))
            && bound(self.tool_choice.map(|c| c == ask.choice))
            && bound(self.cap_below.map(|n| ask.cap.is_some_and(|c| c < n)))
            && bound(self.cap_at_least.map(|n| ask.cap.is_none_or(|c| c >= n)))
            && bound(
                self.prompt_tokens_over
                    .map(|n| ask.uncut.unwrap_or_else(|| ask.prompt_tokens(true)) > n),
            )
            && bound(
                self.has_field
                    .as_ref()
                    .map(|f| f.iter().any(|k| ask.has_field(k))),
            )
            && bound(self.lacks_field.as_ref().map(|f| !ask.has_field(f)))
            && bound(self.header.as_ref().map(|h| {
                h.iter()
                    .all(|(k, v)| ask.header(k).is_some_and(|have| have == v))
            }))
            && bound(self.model.as_ref().map(|m| *m == ask.model))
            && bound(self.chance.map(|p| ask.draw("when") < p))
    }
}
