//! The request as the mock reads it.

use kilter_core::ToolSpec;
use serde_json::Value;

use crate::seed::Rng;
use crate::tokens;
use crate::when::{Choice, ReasoningAsk};

/// One message of the request.
#[derive(Debug, Clone, Default)]
pub struct Message {
    /// Its role.
    pub role: String,
    /// Its text: content, or the text parts of it.
    pub text: String,
    /// Whether it carries reasoning under any name.
    pub reasoning: Option<&'static str>,
    /// Ids of its calls.
    pub call_ids: Vec<String>,
    /// Whether its content is null or absent.
    pub null_content: bool,
    /// The call that it answers.
    pub answers: Option<String>,
    /// Characters that the prompt gets for it beside the text (calls, reasoning).
    pub extra_chars: u64,
}

/// Fields that carry reasoning in history.
const REASONING_FIELDS: [&str; 4] = [
    "reasoning_content",
    "reasoning",
    "reasoning_details",
    "thinking",
];

/// A chat request, read.
#[derive(Debug, Clone, Default)]
pub struct Ask {
    /// The `model` field.
    pub model: String,
    /// Whether a stream is wanted.
    pub stream: bool,
    /// Whether the stream shall report usage.
    pub include_usage: bool,
    /// Declared functions.
    pub tools: Vec<ToolSpec>,
    /// Characters of the `tools` array as compact JSON.
    pub tools_chars: u64,
    /// Messages.
    pub messages: Vec<Message>,
    /// The output cap.
    pub cap: Option<u64>,
    /// What is said about reasoning.
    pub reasoning: ReasoningAsk,
    /// What `tool_choice` says.
    pub choice: Choice,
    /// The function that `tool_choice` names.
    pub named: Option<String>,
    /// Choices wanted.
    pub n: u64,
    /// The whole body.
    pub body: Value,
    /// Headers, names in lower case.
    pub headers: Vec<(String, String)>,
    /// The session mark; empty when there is none.
    pub session: String,
    /// The number of this turn within the session, from 1.
    pub turn: u64,
    /// The script's seed.
    pub seed: u64,
    /// Tokens of the prompt as sent, where the window has cut it since.
    pub uncut: Option<u64>,
}

impl Ask {
    /// Reads a body. `None` when it is no JSON object.
    pub fn read(body: &[u8], headers: Vec<(String, String)>) -> Option<Self> {
        let body: Value = serde_json::from_slice(body).ok()?;
        body.as_object()?;
        let text = |k: &str| body.get(k).and_then(Value::as_str).unwrap_or_default();
        let tools_value = body.get("tools").cloned().unwrap_or(Value::Null);
        let (choice, named) = choice(body.get("tool_choice"));
        let mut ask = Self {
            model: text("model").to_owned(),
            stream: body.get("stream").and_then(Value::as_bool) == Some(true),
            include_usage: body
                .pointer("/stream_options/include_usage")
                .and_then(Value::as_bool)
                == Some(true),
            tools: ToolSpec::list_from_wire(&tools_value),
            tools_chars: if tools_value.is_null() {
                0
            } else {
                tools_value.to_string().chars().count() as u64
            },
            messages: body
                .get("messages")
                .and_then(Value::as_array)
                .map(|a| a.iter().map(message).collect())
                .unwrap_or_default(),
            cap: ["max_completion_tokens", "max_tokens"]
                .iter()
                .find_map(|k| body.get(*k).and_then(Value::as_u64)),
            reasoning: reasoning(&body),
            choice,
            named,
            n: body.get("n").and_then(Value::as_u64).unwrap_or(1),
            session: String::new(),
            turn: 1,
            seed: 1,
            uncut: None,
            headers,
            body: Value::Null,
        };
        ask.session = ask
            .header("x-kilter-session")
            .map(str::to_owned)
            .or_else(|| {
                ["/prompt_cache_key", "/metadata/session_id", "/user"]
                    .iter()
                    .find_map(|p| body.pointer(p).and_then(Value::as_str))
                    .map(str::to_owned)
            })
            .unwrap_or_default();
        ask.body = body;
        Some(ask)
    }

    /// The text of the last user message.
    pub fn user_text(&self) -> &str {
        self.messages
            .iter()
            .rev()
            .find(|m| m.role == "user")
            .map_or("", |m| m.text.as_str())
    }

    /// The text of the last tool result, if one came after the last user message.
    pub fn tool_result(&self) -> Option<&str> {
        self.messages
            .iter()
            .rev()
            .take_while(|m| m.role != "user")
            .find(|m| m.role == "tool" || m.role == "function")
            .map(|m| m.text.as_str())
    }

    /// Whether the last message is a tool result.
    pub fn after_tool_result(&self) -> bool {
        self.messages
            .last()
            .is_some_and(|m| m.role == "tool" || m.role == "function")
    }

    /// A header's value, the name in lower case.
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers
            .iter()
            .find(|(k, _)| k == name)
            .map(|(_, v)| v.as_str())
    }

    /// Whether the body has this top-level key with a value other than null.
    pub fn has_field(&self, key: &str) -> bool {
        self.body.get(key).is_some_and(|v| !v.is_null())
    }

    /// Tokens of the prompt by the rule of [`crate::tokens`].
    pub fn prompt_tokens(&self, with_tools: bool) -> u64 {
        let messages: u64 = self
            .messages
            .iter()
            .map(|m| {
                tokens::PER_MESSAGE
                    + tokens::of_chars(m.text.chars().count() as u64 + m.extra_chars)
            })
            .sum();
        let tools = if with_tools && !self.tools.is_empty() {
            tokens::of_chars(self.tools_chars)
        } else {
            0
        };
        messages + tools
    }

    /// The request as a model gets it whose prompt is cut to its last `window` tokens. The front
    /// goes: first the tools, of which a catalogue with its head off leaves nothing usable, then
    /// system text and the oldest messages, the last of them in mid-text.
    pub fn cut_to(&self, window: u64, template: &crate::behaviour::Template) -> Self {
        let mut cut = self.clone();
        cut.uncut = Some(self.prompt_tokens(true));
        let mut over = crate::plan::prompt_tokens_of(template, self).saturating_sub(window);
        if over == 0 {
            return cut;
        }
        if !template.drops_tools.unwrap_or(false) && !self.tools.is_empty() {
            over = over.saturating_sub(tokens::of_chars(self.tools_chars));
            cut.tools.clear();
            cut.tools_chars = 0;
        }
        let dropped = template.drops_system.unwrap_or(false);
        cut.messages.retain_mut(|m| {
            if over == 0 || (dropped && m.role == "system") {
                return true;
            }
            let whole = tokens::PER_MESSAGE
                + tokens::of_chars(m.text.chars().count() as u64 + m.extra_chars);
            if over >= whole {
                over -= whole;
                return false;
            }
            let chars = (over * tokens::CHARS_PER_TOKEN) as usize;
            let at = m
                .text
                .char_indices()
                .nth(chars)
                .map_or(m.text.len(), |(i, _)| i);
            m.text.drain(..at);
            over = 0;
            true
        });
        cut
    }

    /// Numbers for one purpose of this turn.
    pub fn rng(&self, purpose: &str) -> Rng {
        Rng::new(
            self.seed,
            &[
                purpose.as_bytes(),
                self.model.as_bytes(),
                self.user_text().as_bytes(),
                &self.turn.to_le_bytes(),
            ],
        )
    }

    /// One number in 0..1 for a purpose.
    pub fn draw(&self, purpose: &str) -> f64 {
        self.rng(purpose).unit()
    }
}

fn message(v: &Value) -> Message {
    let role = v.get("role").and_then(Value::as_str).unwrap_or_default();
    let content = v.get("content");
    let text = match content {
        Some(Value::String(s)) => s.clone(),
        Some(Value::Array(parts)) => parts
            .iter()
            .filter_map(|p| p.get("text").and_then(Value::as_str))
            .collect::<Vec<_>>()
            .join("\n"),
        _ => String::new(),
    };
    let reasoning = REASONING_FIELDS
        .into_iter()
        .find(|k| v.get(*k).is_some_and(|x| !x.is_null()));
    let calls = v.get("tool_calls").and_then(Value::as_array);
    let chars = |x: Option<&Value>| x.map_or(0, |x| x.to_string().chars().count() as u64);
    Message {
        role: role.to_owned(),
        text,
        reasoning,
        call_ids: calls
            .map(|c| {
                c.iter()
                    .map(|x| {
                        x.get("id")
                            .and_then(Value::as_str)
                            .unwrap_or_default()
                            .to_owned()
                    })
                    .collect()
            })
            .unwrap_or_default(),
        null_content: content.is_none_or(Value::is_null),
        answers: v
            .get("tool_call_id")
            .and_then(Value::as_str)
            .map(str::to_owned),
        extra_chars: chars(v.get("tool_calls")) + chars(reasoning.and_then(|k| v.get(k))),
    }
}

fn choice(v: Option<&Value>) -> (Choice, Option<String>) {
    match v {
        Some(Value::String(s)) if s == "required" || s == "any" => (Choice::Required, None),
        Some(Value::String(s)) if s == "none" => (Choice::None, None),
        Some(Value::Object(o)) => {
            let name = o
                .get("function")
                .and_then(|f| f.get("name"))
                .or_else(|| o.get("name"))
                .and_then(Value::as_str)
                .map(str::to_owned);
            match (name, o.get("type").and_then(Value::as_str)) {
                (Some(n), _) => (Choice::Named, Some(n)),
                (None, Some("allowed_tools")) => {
                    let required = v.and_then(|v| {
                        v.pointer("/allowed_tools/mode")
                            .or_else(|| v.get("mode"))
                            .and_then(Value::as_str)
                    }) == Some("required");
                    let c = if required {
                        Choice::Required
                    } else {
                        Choice::Auto
                    };
                    (c, None)
                }
                (None, Some("any")) => (Choice::Required, None),
                (None, _) => (Choice::Auto, None),
            }
        }
        _ => (Choice::Auto, None),
    }
}

fn reasoning(body: &Value) -> ReasoningAsk {
    let effort = body
        .get("reasoning_effort")
        .or_else(|| body.pointer("/reasoning/effort"))
        .and_then(Value::as_str);
    match effort {
        Some("none" | "off") => return ReasoningAsk::Off,
        Some(_) => return ReasoningAsk::On,
        None => {}
    }
    for p in [
        "/reasoning/enabled",
        "/chat_template_kwargs/enable_thinking",
        "/chat_template_kwargs/thinking",
        "/enable_thinking",
        "/think",
    ] {
        match body.pointer(p).and_then(Value::as_bool) {
            Some(true) => return ReasoningAsk::On,
            Some(false) => return ReasoningAsk::Off,
            None => {}
        }
    }
    match body.pointer("/thinking/type").and_then(Value::as_str) {
        Some("enabled") => ReasoningAsk::On,
        Some("disabled") => ReasoningAsk::Off,
        _ => ReasoningAsk::Unsaid,
    }
}
