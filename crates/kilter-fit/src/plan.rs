//! The probes: ordinary requests in the shape that an agent sends.

use serde_json::{Value, json};

use crate::catalogue;

/// What a probe hopes to see.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Wants {
    /// An answer in prose; no tools are offered.
    Prose,
    /// An answer in prose although tools are offered.
    NoCall,
    /// A call.
    Call,
    /// Two calls in one turn.
    TwoCalls,
    /// Nothing but its token counts.
    Counts,
}

/// One request of the plan.
#[derive(Debug, Clone)]
pub(crate) struct Probe {
    /// Its name in the card.
    pub(crate) name: &'static str,
    /// What it hopes to see.
    pub(crate) wants: Wants,
    /// Output cap in tokens.
    pub(crate) cap: u64,
    /// The request body without `model`.
    pub(crate) body: Value,
}

/// The system prompt of every probe.
const SYSTEM: &str = "You are a helpful assistant in a terminal. Use the tools when they help. \
                      Be brief.";

/// How a probe is sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Mode {
    /// One JSON body.
    Whole,
    /// Server-sent events.
    Stream,
}

/// Whether tools are offered.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Offer {
    /// No.
    Nothing,
    /// Yes; a call is optional.
    Auto,
    /// Yes; a call is required.
    Required,
}

/// Builds a probe over a list of messages that follow the system prompt.
pub(crate) fn probe(
    name: &'static str,
    wants: Wants,
    offer: Offer,
    mode: Mode,
    cap: u64,
    turns: Vec<Value>,
) -> Probe {
    let mut messages = vec![json!({"role": "system", "content": SYSTEM})];
    messages.extend(turns);
    let mut body = json!({"messages": messages, "temperature": 0, "max_tokens": cap});
    if let Value::Object(map) = &mut body {
        if offer != Offer::Nothing {
            map.insert("tools".into(), catalogue::wire().clone());
            let choice = if offer == Offer::Required {
                "required"
            } else {
                "auto"
            };
            map.insert("tool_choice".into(), choice.into());
        }
        if mode == Mode::Stream {
            map.insert("stream".into(), true.into());
            map.insert("stream_options".into(), json!({"include_usage": true}));
        }
    }
    Probe {
        name,
        wants,
        cap,
        body,
    }
}

/// A user message.
pub(crate) fn user(text: &str) -> Value {
    json!({"role": "user", "content": text})
}

/// A prompt that every model can answer in a line.
pub(crate) const PLAIN: &str = "Say hello to a new colleague in one short sentence.";

/// Prompts that want one call each: the tool, and the text.
pub(crate) const CALLS: [&str; 5] = [
    "What is the weather in Lagos right now?",
    "Show me what is in the file src/main.rs.",
    "Convert 250 euros to Japanese yen.",
    "What is the weather in Reykjavik, in celsius?",
    "List the files in the folder docs.",
];

/// A prompt that wants two calls in one turn.
pub(crate) const PARALLEL: &str =
    "What is the weather in Paris and in Tokyo? Look both up at the same time.";

/// A prompt that makes a model think, with a short answer.
pub(crate) const PUZZLE: &str = "A farmer has 17 sheep. All but 9 run away, then 4 come back and \
    he buys twice as many as he has now. How many sheep has he? Think it through, then give only \
    the number.";

/// Id of the call in [`after_a_call`].
pub(crate) const CALL_ID: &str = "call_probe01";

/// A conversation after a call: the question, the call as a client keeps it, and its result.
/// `reasoning` is sent back in the assistant message where there is some.
pub(crate) fn after_a_call(reasoning: Option<(&str, &str)>) -> Vec<Value> {
    let mut assistant = json!({
        "role": "assistant",
        "content": null,
        "tool_calls": [{
            "id": CALL_ID,
            "type": "function",
            "function": {"name": "get_weather", "arguments": "{\"city\":\"Lagos\"}"}
        }]
    });
    if let (Some((field, text)), Value::Object(map)) = (reasoning, &mut assistant) {
        map.insert(field.to_owned(), text.into());
    }
    vec![
        user(CALLS[0]),
        assistant,
        json!({
            "role": "tool",
            "tool_call_id": CALL_ID,
            "content": "{\"city\":\"Lagos\",\"celsius\":31,\"sky\":\"partly cloudy\"}"
        }),
    ]
}

/// A prompt of about `chars` characters: distinct log lines from number `first` on, so that nothing can be folded away,
/// and the question at the end, where a server that cuts the front still sees it.
pub(crate) fn long_prompt(chars: usize, first: usize) -> String {
    const WORDS: [&str; 8] = [
        "index", "harbour", "ledger", "window", "garden", "signal", "market", "bridge",
    ];
    let mut text = String::with_capacity(chars + 128);
    if first > 0 {
        text.push_str("Another log of the same place.\n");
    } else {
        text.push_str("Here is a log.\n");
    }
    let mut n = first;
    while text.len() < chars {
        let a = WORDS[n % WORDS.len()];
        let b = WORDS[(n / WORDS.len() + 3) % WORDS.len()];
        text.push_str(&format!("entry {n}: the {a} was checked after the {b}\n"));
        n += 1;
    }
    text.push_str("Reply with the single word ok.");
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_probe_has_the_shape_of_a_real_request() {
        let p = probe(
            "x",
            Wants::Call,
            Offer::Required,
            Mode::Stream,
            64,
            vec![user("hi")],
        );
        assert_eq!(p.body["tools"].as_array().map(Vec::len), Some(10));
        assert_eq!(p.body["tool_choice"], "required");
        assert_eq!(p.body["stream"], true);
        assert_eq!(p.body["messages"][0]["role"], "system");
    }

    #[test]
    fn a_long_prompt_is_as_long_as_asked() {
        let t = long_prompt(6000, 0);
        assert!((6000..6200).contains(&t.len()), "{}", t.len());
    }
}
