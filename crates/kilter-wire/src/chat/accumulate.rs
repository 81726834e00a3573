//! A stream put together into whole turns, one per choice, with the habits of the stream.

use std::collections::BTreeMap;

use kilter_core::{FinishReason, NativeCall, Observation, ReasoningPlace, RequestFacts, Usage};

use super::slots::Slots;
use super::{Choice, Chunk, Completion, Reasoning, UsageView};
use crate::error::ApiError;

/// One whole assistant turn as emitted.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Turn {
    /// The choice's index.
    pub index: u64,
    /// The role; `None` when none was sent.
    pub role: Option<String>,
    /// Visible text.
    pub content: String,
    /// Reasoning and the field that it came in.
    pub reasoning: Option<Reasoning>,
    /// A refusal in words.
    pub refusal: Option<String>,
    /// Calls of the structured channel.
    pub calls: Vec<NativeCall>,
    /// Why it ended.
    pub finish: Option<FinishReason>,
    /// Token counts of the answer.
    pub usage: Option<UsageView>,
    /// The failure that ended it.
    pub error: Option<ApiError>,
    /// Habits seen, as short stable words.
    pub habits: Vec<String>,
    /// Whether log probabilities were sent.
    pub has_logprobs: bool,
}

impl Turn {
    /// The reason that fits what was emitted; see [`true_finish`].
    pub fn true_finish(&self, cap: Option<u64>) -> Option<FinishReason> {
        let used = self.usage.as_ref().and_then(|u| u.counts.completion_tokens);
        true_finish(self.finish.as_ref(), &self.calls, used, cap)
    }

    /// The turn as an observation. Content is as emitted: calls and reasoning in it are for the
    /// reader to find.
    pub fn observation(&self, request: RequestFacts) -> Observation {
        Observation {
            content: self.content.clone(),
            reasoning: self.reasoning.as_ref().map(|r| r.text.clone()),
            reasoning_place: self
                .reasoning
                .as_ref()
                .map(|r| ReasoningPlace::Field(r.field.clone())),
            native_calls: self.calls.clone(),
            finish: self.finish.clone(),
            usage: self.usage.as_ref().map_or(Usage::default(), |u| u.counts),
            error: self.error.as_ref().map(ApiError::to_transport),
            request,
            stream_habits: self.habits.clone(),
            ..Observation::default()
        }
    }
}

/// The terminal reason that tells the truth (gateways reference, wire fact 9).
///
/// `stop` with whole calls is `tool_calls`. `stop` or `tool_calls` with arguments that are cut JSON
/// is `length`, unless the counts prove that the cap was not hit. Everything else stays.
pub fn true_finish(
    finish: Option<&FinishReason>,
    calls: &[NativeCall],
    completion_tokens: Option<u64>,
    cap: Option<u64>,
) -> Option<FinishReason> {
    let said = finish?;
    if calls.is_empty() || !matches!(said, FinishReason::Stop | FinishReason::ToolCalls) {
        return Some(said.clone());
    }
    let below_cap = matches!((completion_tokens, cap), (Some(used), Some(cap)) if used < cap);
    let open = calls
        .last()
        .is_some_and(|c| crate::json::json_is_open(&c.arguments));
    Some(if open && !below_cap {
        FinishReason::Length
    } else {
        FinishReason::ToolCalls
    })
}

#[derive(Debug, Clone, Default)]
struct State {
    turn: Turn,
    slots: Slots,
}

impl State {
    fn take(&mut self, c: &Choice) {
        let t = &mut self.turn;
        t.index = c.index;
        if t.role.is_none() {
            t.role.clone_from(&c.role);
        }
        if let Some(text) = &c.content {
            t.content.push_str(text);
        }
        if let Some(r) = &c.reasoning {
            match &mut t.reasoning {
                Some(have) => have.text.push_str(&r.text),
                None => t.reasoning = Some(r.clone()),
            }
        }
        if let Some(text) = &c.refusal {
            t.refusal.get_or_insert_default().push_str(text);
        }
        if let Some(call) = &c.function_call {
            self.slots.habit("function_call:legacy");
            let mut call = call.clone();
            call.index = Some(u64::MAX);
            self.slots.take(&[call]);
        }
        if !c.tool_calls.is_empty() {
            self.slots.take(&c.tool_calls);
        }
        if c.finish.is_some() {
            t.finish.clone_from(&c.finish);
        }
        t.has_logprobs |= c.has_logprobs;
    }

    fn close(
        mut self,
        usage: Option<&UsageView>,
        error: Option<&ApiError>,
        stream: &[&str],
    ) -> Turn {
        let finish = self.turn.finish.clone();
        let cut = error.is_some()
            || matches!(
                finish,
                None | Some(FinishReason::Length | FinishReason::ContentFilter)
            );
        self.slots.close(cut);
        let calls = self.slots.calls();
        if calls.iter().any(|c| c.id.is_none()) {
            self.slots.habit("id:none");
        }
        match &finish {
            None => self.slots.habit("finish:missing"),
            Some(FinishReason::Stop) if !calls.is_empty() => {
                self.slots.habit("finish:stop_with_calls")
            }
            Some(FinishReason::ToolCalls) if calls.is_empty() => {
                self.slots.habit("finish:calls_without");
            }
            Some(FinishReason::ToolCalls)
                if calls
                    .iter()
                    .any(|c| crate::json::json_is_open(&c.arguments)) =>
            {
                self.slots.habit("finish:calls_cut");
            }
            _ => {}
        }
        let mut turn = self.turn;
        turn.calls = calls;
        turn.usage = usage.cloned();
        turn.error = error.cloned();
        turn.habits = self
            .slots
            .habits()
            .iter()
            .chain(stream)
            .map(|h| (*h).to_owned())
            .collect();
        turn
    }
}

/// Puts the chunks of a stream together.
#[derive(Debug, Clone, Default)]
pub struct Accumulator {
    declared: Vec<String>,
    states: BTreeMap<u64, State>,
    id: Option<String>,
    model: Option<String>,
    usage: Option<UsageView>,
    error: Option<ApiError>,
    habits: Vec<&'static str>,
    done: bool,
}

impl Accumulator {
    /// An accumulator that knows no tool names.
    pub fn new() -> Self {
        Self::default()
    }

    /// An accumulator that tells names in pieces from whole ones by the offered names.
    pub fn with_tools(declared: Vec<String>) -> Self {
        Self {
            declared,
            ..Self::default()
        }
    }

    /// Takes in one chunk.
    pub fn push(&mut self, chunk: &Chunk) {
        if self.id.is_none() {
            self.id = chunk.id().map(|i| i.into_owned());
        }
        if self.model.is_none() {
            self.model = chunk.model().map(|m| m.into_owned());
        }
        if let Some(u) = &chunk.usage {
            let word = if chunk.choices.is_empty() {
                "usage:own_chunk"
            } else if chunk.choices.iter().any(|c| c.finish.is_some()) {
                "usage:finish_chunk"
            } else {
                "usage:every_chunk"
            };
            if !self.habits.contains(&word) {
                self.habits.push(word);
            }
            self.usage = Some(u.clone());
        }
        if chunk.error.is_some() {
            self.error.clone_from(&chunk.error);
        }
        for c in &chunk.choices {
            self.states
                .entry(c.index)
                .or_insert_with(|| State {
                    slots: Slots::new(self.declared.clone()),
                    ..State::default()
                })
                .take(c);
        }
    }

    /// Says that `[DONE]` came.
    pub fn done(&mut self) {
        self.done = true;
    }

    /// Whether `[DONE]` came.
    pub fn is_done(&self) -> bool {
        self.done
    }

    /// The id of the answer.
    pub fn id(&self) -> Option<&str> {
        self.id.as_deref()
    }

    /// The model as the server names it.
    pub fn model(&self) -> Option<&str> {
        self.model.as_deref()
    }

    /// Token counts so far.
    pub fn usage(&self) -> Option<&UsageView> {
        self.usage.as_ref()
    }

    /// The failure that came inside the stream.
    pub fn error(&self) -> Option<&ApiError> {
        self.error.as_ref()
    }

    /// The whole turns, by choice index. A stream without any choice gives one empty turn, so that a
    /// failure is never a silence.
    pub fn finish(mut self) -> Vec<Turn> {
        if self.states.is_empty() {
            self.states.insert(0, State::default());
        }
        let mut stream = self.habits;
        if !self.done {
            stream.push("done:missing");
        }
        self.states
            .into_values()
            .map(|s| s.close(self.usage.as_ref(), self.error.as_ref(), &stream))
            .collect()
    }
}

impl Completion {
    /// The turns of a whole answer, by position in `choices`; one empty turn when there are none.
    pub fn turns(&self) -> Vec<Turn> {
        let mut out: Vec<Turn> = self
            .choices
            .iter()
            .map(|c| {
                let mut s = State::default();
                let mut c = c.clone();
                // A whole answer needs no index: elements are apart already.
                for (i, call) in c.tool_calls.iter_mut().enumerate() {
                    call.index = Some(i as u64);
                }
                s.take(&c);
                s.close(self.usage.as_ref(), self.error.as_ref(), &[])
            })
            .collect();
        if out.is_empty() {
            out.push(State::default().close(self.usage.as_ref(), self.error.as_ref(), &[]));
        }
        out
    }
}
