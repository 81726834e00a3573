//! One turn, decided: what is said, thought and called, how it ends and what it costs.

use kilter_core::id;

use crate::arguments::Pool;
use crate::behaviour::{
    Behaviour, CallChannel, IdStyle, Policy, ReasoningChannel, ReasoningField, Template,
};
use crate::choose;
use crate::dialect::{self, Dialect, WrittenCall};
use crate::request::Ask;
use crate::seed::{self, Rng};
use crate::tokens;
use crate::when::ReasoningAsk;

/// Seconds since the epoch that every answer carries: a fixed value keeps answers a function of
/// the seed.
pub const CREATED: u64 = 1_767_225_600;

/// A call's id on the wire.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PlannedId {
    /// This text.
    Text(String),
    /// JSON null.
    Null,
    /// No key.
    Missing,
}

/// A native call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PlannedCall {
    /// Its id.
    pub id: PlannedId,
    /// Its name.
    pub name: String,
    /// Its arguments as JSON text, possibly cut.
    pub arguments: String,
}

/// A turn.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Plan {
    /// The response's id.
    pub id: String,
    /// The `model` field of the response.
    pub model: String,
    /// Reasoning that stands in a field.
    pub reasoning: Option<String>,
    /// The fields that carry it.
    pub fields: Vec<ReasoningField>,
    /// The content: inline reasoning, text and written calls.
    pub content: Option<String>,
    /// Native calls.
    pub calls: Vec<PlannedCall>,
    /// The calls go to the old `function_call` field.
    pub function_call: bool,
    /// The terminal reason.
    pub finish: String,
    /// `usage.prompt_tokens`.
    pub prompt_tokens: u64,
    /// `usage.completion_tokens`.
    pub completion_tokens: u64,
    /// `usage.completion_tokens_details.reasoning_tokens`, where reported.
    pub reasoning_tokens: Option<u64>,
}

/// Whether the model reasons in this turn.
pub fn reasons(b: &Behaviour, ask: &Ask) -> bool {
    let r = &b.reasoning;
    let off = ask.reasoning == ReasoningAsk::Off && r.obeys_off.unwrap_or(true);
    let asked = ask.reasoning == ReasoningAsk::On || !r.only_when_asked.unwrap_or(false);
    r.channel.unwrap_or_default() != ReasoningChannel::None && !off && asked
}

/// Tokens of the prompt as the model gets it, the window aside.
pub fn prompt_tokens(b: &Behaviour, ask: &Ask) -> u64 {
    prompt_tokens_of(&b.template, ask)
}

/// The same, by the template alone.
pub fn prompt_tokens_of(template: &Template, ask: &Ask) -> u64 {
    let all = ask.prompt_tokens(!template.drops_tools.unwrap_or(false));
    if template.drops_system.unwrap_or(false) {
        let system: u64 = ask
            .messages
            .iter()
            .filter(|m| m.role == "system")
            .map(|m| tokens::PER_MESSAGE + tokens::of(&m.text))
            .sum();
        all.saturating_sub(system)
    } else {
        all
    }
}

/// What is left of the output cap while a turn is laid out.
struct Left {
    cap: u64,
    spent: u64,
    cut: bool,
}

impl Left {
    /// As much of `text` as the cap allows.
    fn take(&mut self, text: &str) -> String {
        let want = tokens::of(text);
        let have = self.cap.saturating_sub(self.spent);
        if want <= have {
            self.spent += want;
            text.to_owned()
        } else {
            self.cut = true;
            self.spent = self.cap;
            tokens::take(text, have).to_owned()
        }
    }
}

/// Decides a turn over what the model got of the request; `prompt` is what the server counts for it.
pub fn plan(b: &Behaviour, ask: &Ask, prompt: u64) -> Plan {
    let mut left = Left {
        cap: ask.cap.or(b.reply.default_cap).unwrap_or(u64::MAX),
        spent: 0,
        cut: false,
    };
    let r = &b.reasoning;
    let channel = if reasons(b, ask) {
        r.channel.unwrap_or_default()
    } else {
        ReasoningChannel::None
    };
    let dialect = b.calls.dialect.as_deref().and_then(dialect::find);
    let overflow =
        channel != ReasoningChannel::None && r.overflow_below.is_some_and(|n| left.cap < n);
    let thought = match (&r.text, channel) {
        (_, ReasoningChannel::None) => String::new(),
        _ if overflow => seed::prose(&mut ask.rng("reasoning"), left.cap, true),
        (Some(t), _) => t.clone(),
        (None, _) => seed::prose(&mut ask.rng("reasoning"), r.tokens.unwrap_or(24), true),
    };
    let kept = left.take(&thought);
    let reasoning_spent = left.spent;
    let over = left.cut || (overflow && left.spent >= left.cap);
    left.cut |= over;

    let stops = over || r.only.unwrap_or(false);
    let (visible, native) = if stops {
        (String::new(), Vec::new())
    } else {
        say(b, ask, dialect)
    };

    let (open, close) = markers(b);
    let mut reasoning = None;
    let mut content = String::new();
    match channel {
        ReasoningChannel::Field => reasoning = Some(kept),
        ReasoningChannel::Inline | ReasoningChannel::LoneCloser => {
            if channel == ReasoningChannel::Inline {
                content.push_str(&open);
            }
            content.push_str(&kept);
            let closes = !over && !r.unclosed.unwrap_or(false);
            if closes && r.calls_inside.unwrap_or(false) {
                let rest = left.take(&visible);
                content.push_str(&rest);
                content.push_str(&close);
            } else {
                if closes {
                    content.push_str(&close);
                }
                let rest = left.take(&visible);
                content.push_str(&rest);
            }
        }
        ReasoningChannel::Hidden | ReasoningChannel::None => {}
    }
    if !matches!(
        channel,
        ReasoningChannel::Inline | ReasoningChannel::LoneCloser
    ) {
        content = left.take(&visible);
    }

    let mut calls = Vec::new();
    for c in native {
        if left.spent >= left.cap {
            left.cut = true;
            break;
        }
        left.spent += tokens::of(&c.name);
        let arguments = left.take(&c.arguments);
        calls.push(PlannedCall { arguments, ..c });
    }
    if let Some(n) = b.calls.cut
        && let Some(last) = calls.last_mut()
    {
        last.arguments = cut(&last.arguments, n as usize).to_owned();
    }

    let finish = b.reply.finish.clone().unwrap_or_else(|| {
        if left.cut {
            "length"
        } else if calls.is_empty() {
            "stop"
        } else if b.calls.channel == Some(CallChannel::FunctionCall) {
            "function_call"
        } else {
            "tool_calls"
        }
        .to_owned()
    });
    let counted = r.counted.unwrap_or(matches!(
        channel,
        ReasoningChannel::Field | ReasoningChannel::Hidden
    ));
    let mut fields = Vec::new();
    if channel == ReasoningChannel::Field {
        fields.push(r.field.clone().unwrap_or(ReasoningField::ReasoningContent));
        fields.extend(r.also_field.clone());
    }
    Plan {
        id: response_id(ask),
        model: ask.model.clone(),
        reasoning,
        fields,
        content: (!content.is_empty()).then_some(content),
        calls,
        function_call: b.calls.channel == Some(CallChannel::FunctionCall),
        finish,
        prompt_tokens: prompt,
        completion_tokens: left.spent.max(1),
        reasoning_tokens: (counted && channel != ReasoningChannel::None).then_some(reasoning_spent),
    }
}

fn response_id(ask: &Ask) -> String {
    let d = id::digest(
        &[
            &ask.seed.to_le_bytes(),
            ask.model.as_bytes(),
            ask.session.as_bytes(),
            &ask.turn.to_le_bytes(),
            ask.user_text().as_bytes(),
        ],
        12,
    );
    format!("chatcmpl-{d}")
}

fn markers(b: &Behaviour) -> (String, String) {
    let r = &b.reasoning;
    let (open, close) = dialect::markers(r.markers.as_deref().unwrap_or("think"))
        .unwrap_or(("<think>\n", "\n</think>\n\n"));
    (
        r.open.clone().unwrap_or_else(|| open.to_owned()),
        r.close.clone().unwrap_or_else(|| close.to_owned()),
    )
}

/// The largest prefix of at most `n` bytes that ends between characters.
pub fn cut(text: &str, n: usize) -> &str {
    let mut at = n.min(text.len());
    while !text.is_char_boundary(at) {
        at -= 1;
    }
    &text[..at]
}

/// The visible text (written calls included) and the native calls.
fn say(b: &Behaviour, ask: &Ask, dialect: Option<&Dialect>) -> (String, Vec<PlannedCall>) {
    let calls = wanted_calls(b, ask);
    let channel = b.calls.channel.unwrap_or_default();
    if calls.is_empty() || channel == CallChannel::None {
        let text = crate::reply::text(b, ask);
        let text = match dialect {
            Some(d) if channel == CallChannel::Content => d.answer(&text),
            _ => text,
        };
        return (text, Vec::new());
    }
    let before = b.calls.before.clone().unwrap_or_default();
    let after = b.calls.after.clone().unwrap_or_default();
    let written = |d: &Dialect| {
        let whole = d.write(&calls, &mut ask.rng("ids"));
        match (channel, b.calls.cut) {
            (CallChannel::Content, Some(n)) => cut(&whole, n as usize).to_owned(),
            _ => whole,
        }
    };
    match (channel, dialect) {
        (CallChannel::Content, Some(d)) => {
            let before = if before.is_empty() {
                before
            } else {
                d.prose(&before)
            };
            (format!("{before}{}{after}", written(d)), Vec::new())
        }
        _ => {
            let mut text = before;
            if b.calls.also_in_content.unwrap_or(false)
                && let Some(d) = dialect
            {
                text.push_str(&written(d));
            }
            text.push_str(&after);
            let mut rng = ask.rng("ids");
            let native = calls
                .iter()
                .enumerate()
                .map(|(n, c)| PlannedCall {
                    id: call_id(b.calls.ids.unwrap_or_default(), &c.name, n, &mut rng),
                    name: c.name.clone(),
                    arguments: if b.calls.empty_arguments.unwrap_or(false) && c.is_empty() {
                        String::new()
                    } else {
                        c.compact()
                    },
                })
                .collect();
            (text, native)
        }
    }
}

/// The calls of this turn, or none.
fn wanted_calls(b: &Behaviour, ask: &Ask) -> Vec<WrittenCall> {
    let c = &b.calls;
    let policy = c.policy.unwrap_or_default();
    if policy == Policy::Never {
        return Vec::new();
    }
    if let Some(literal) = &c.literal {
        let wanted = match policy {
            Policy::Always => true,
            _ => choose::allowed(ask) && !ask.after_tool_result(),
        };
        return if wanted {
            literal.iter().map(WrittenCall::from_literal).collect()
        } else {
            Vec::new()
        };
    }
    if b.template.drops_tools.unwrap_or(false) || ask.tools.is_empty() {
        return Vec::new();
    }
    let picked = choose::tools(c, policy, ask);
    let mut pool = Pool::new(ask.user_text());
    picked
        .into_iter()
        .map(|t| WrittenCall {
            name: t.name.clone(),
            arguments: pool.arguments(&t.parameters),
            raw: None,
            schema: t.parameters.clone(),
        })
        .collect()
}

fn call_id(style: IdStyle, name: &str, n: usize, rng: &mut Rng) -> PlannedId {
    const HEX: &[u8] = b"0123456789abcdef";
    PlannedId::Text(match style {
        IdStyle::Call => format!("call_{}", rng.letters(HEX, 24)),
        IdStyle::Nine => nine(rng),
        IdStyle::Functions => format!("functions.{name}:{n}"),
        IdStyle::Uuid => format!(
            "{}-{}-4{}-a{}-{}",
            rng.letters(HEX, 8),
            rng.letters(HEX, 4),
            rng.letters(HEX, 3),
            rng.letters(HEX, 3),
            rng.letters(HEX, 12)
        ),
        IdStyle::Same => "call_0".to_owned(),
        IdStyle::Empty => String::new(),
        IdStyle::Null => return PlannedId::Null,
        IdStyle::Missing => return PlannedId::Missing,
    })
}

/// An id of nine letters and digits.
pub fn nine(rng: &mut Rng) -> String {
    rng.letters(
        b"0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz",
        9,
    )
}
