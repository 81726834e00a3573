//! The reader over any text and any options: what must hold whatever a model writes.
//!
//! Input: two bytes of options, then the text. In a seed the options are readable characters.

use std::sync::{Arc, OnceLock};

use kilter_behavior::{
    EchoIndex, ReaderConfig, Reading, Registry, Rejected, Sink, Split, ToolSet, TurnReader,
    WeakMarkers, read,
};
use kilter_core::{Expect, ToolCall, ToolSpec};

/// The declared tools: name, parameters, read-only.
const TOOLS: [(&str, &str, bool); 8] = [
    (
        "get_tide",
        r#"{"type":"object","properties":{"port":{"type":"string"},"days":{"type":"integer"}},"required":["port"]}"#,
        true,
    ),
    ("ping", r#"{"type":"object","properties":{}}"#, true),
    (
        "write_file",
        r#"{"type":"object","properties":{"path":{"type":"string"},"content":{"type":"string"}},"required":["path","content"]}"#,
        false,
    ),
    (
        "find_page",
        r#"{"type":"object","properties":{"query":{"type":"string"},"limit":{"type":"number"},"exact":{"type":"boolean"},"skip":{"type":"array","items":{"type":"string"}}},"required":["query"]}"#,
        true,
    ),
    (
        "move_marker",
        r##"{"type":"object","$defs":{"P":{"type":"object","properties":{"x":{"type":"number"},"y":{"type":"number"}}}},"properties":{"from":{"$ref":"#/$defs/P"},"to":{"$ref":"#/$defs/P"}},"required":["from","to"]}"##,
        false,
    ),
    (
        "harbor.open_gate",
        r#"{"type":"object","properties":{"gate":{"type":"integer"},"force":{"type":"boolean"}},"required":["gate"]}"#,
        false,
    ),
    (
        "tag_item",
        r#"{"type":"object","properties":{"id":{"anyOf":[{"type":"integer"},{"type":"string"}]},"note":{"type":["string","null"]}},"required":["id"]}"#,
        false,
    ),
    (
        "list-berths",
        r#"{"type":"object","properties":{"quay":{"enum":["N","S",3]}}}"#,
        true,
    ),
];

struct Shared {
    registry: Arc<Registry>,
    tools: Arc<ToolSet>,
}

fn shared() -> &'static Shared {
    static SHARED: OnceLock<Shared> = OnceLock::new();
    SHARED.get_or_init(|| Shared {
        registry: Registry::builtin(),
        tools: Arc::new(ToolSet::new(
            TOOLS
                .iter()
                .map(|(name, parameters, read_only)| ToolSpec {
                    name: (*name).to_owned(),
                    description: None,
                    parameters: serde_json::from_str(parameters).unwrap_or_default(),
                    read_only: read_only.then_some(true),
                })
                .collect(),
        )),
    })
}

/// Keeps what was delivered, in order, and what it was delivered as.
#[derive(Default)]
pub(crate) struct Parts {
    pub(crate) raw: String,
    pub(crate) reading: Reading,
}

impl Sink for Parts {
    fn content(&mut self, text: &str) {
        self.raw.push_str(text);
        self.reading.content(text);
    }
    fn reasoning(&mut self, text: &str) {
        self.raw.push_str(text);
        self.reading.reasoning(text);
    }
    fn call(&mut self, call: ToolCall, raw: &str) {
        self.raw.push_str(raw);
        self.reading.call(call, raw);
    }
    fn rejected(&mut self, rejected: Rejected) {
        self.reading.rejected(rejected);
    }
    fn removed(&mut self, raw: &str) {
        self.raw.push_str(raw);
    }
}

/// Reads the text cut at `cuts` (byte offsets in rising order, at character boundaries).
pub(crate) fn read_cut(cfg: &ReaderConfig, text: &str, cuts: &[usize]) -> Parts {
    let mut parts = Parts::default();
    let mut reader = TurnReader::new(cfg.clone());
    let mut from = 0;
    for &to in cuts.iter().chain([&text.len()]) {
        reader.push(&text[from..to], &mut parts);
        from = to;
    }
    let summary = reader.finish(&mut parts);
    parts.reading.truncated = summary.truncated;
    parts.reading.fired = summary.fired;
    parts.reading.summary = summary;
    parts
}

/// Character boundaries chosen by a seeded generator, about one in `every`.
pub(crate) fn cuts(text: &str, seed: u64, every: u64) -> Vec<usize> {
    let mut x = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
    text.char_indices()
        .skip(1)
        .filter(|_| {
            x ^= x << 13;
            x ^= x >> 7;
            x ^= x << 17;
            x.is_multiple_of(every)
        })
        .map(|(i, _)| i)
        .collect()
}

/// The laws that need nothing but the configuration and the text; gives back the whole reading.
pub(crate) fn laws(cfg: &ReaderConfig, text: &str, seed: u64) -> Reading {
    let whole = read(cfg.clone(), text);
    let parts = read_cut(cfg, text, &[]);
    assert_eq!(parts.raw, text, "the parts are the raw text");
    assert_eq!(parts.reading, whole, "one reading, two ways of asking");
    for every in [1, 3, 17] {
        let cut = cuts(text, seed.wrapping_add(every), every);
        let got = read_cut(cfg, text, &cut);
        assert_eq!(got.raw, text, "the parts are the raw text, cut at {cut:?}");
        assert_eq!(
            got.reading, whole,
            "any chunking reads the same, cut at {cut:?}"
        );
    }
    if !whole.fired {
        assert_eq!(whole.content, text, "nothing fired, so nothing changed");
        assert!(whole.calls.is_empty() && whole.reasoning.is_none());
    }
    whole
}

/// Reads the options.
fn config(a: u8, b: u8) -> ReaderConfig {
    let s = shared();
    ReaderConfig {
        registry: Arc::clone(&s.registry),
        tools: Arc::clone(&s.tools),
        expect: [Expect::Auto, Expect::Required, Expect::None, Expect::Auto][usize::from(a & 3)],
        split: match a >> 2 & 3 {
            0 => Split::Armed {
                inline: true,
                leading_closer: true,
            },
            1 => Split::Unlearnt,
            2 => Split::Suppressed,
            _ => Split::Armed {
                inline: true,
                leading_closer: false,
            },
        },
        reasoning_open: b & 1 == 1,
        guarded: b & 2 == 2,
        weak: match b >> 2 & 3 {
            0 | 1 => WeakMarkers::Allow,
            2 => WeakMarkers::ReadOnly,
            _ => WeakMarkers::Off,
        },
        turn_id: "turn".to_owned(),
        ..ReaderConfig::new()
    }
}

/// One input.
pub(crate) fn run(data: &[u8]) {
    let [a, b, rest @ ..] = data else { return };
    let text = String::from_utf8_lossy(rest);
    let cfg = config(*a, *b);
    let seed = rest.len() as u64 ^ u64::from(*b) << 32;
    let whole = laws(&cfg, &text, seed);

    if cfg.expect == Expect::None {
        assert!(whole.calls.is_empty(), "calls are off");
    }
    for call in &whole.calls {
        let tool = TOOLS.iter().find(|t| t.0 == call.name);
        assert!(tool.is_some(), "`{}` is not declared", call.name);
        let arguments: Result<serde_json::Value, _> = serde_json::from_str(&call.arguments);
        assert!(
            arguments.as_ref().is_ok_and(serde_json::Value::is_object),
            "arguments {:?}",
            call.arguments
        );
        if cfg.guarded {
            assert!(tool.is_some_and(|t| t.2), "`{}` under the guard", call.name);
        }
    }

    // What stands in a region that nobody may call from is never a call.
    if !whole.calls.is_empty() {
        let echoed = ReaderConfig {
            untrusted: Arc::new(EchoIndex::new([text.as_ref()], &cfg.tools)),
            ..cfg.clone()
        };
        let got = read(echoed, &text);
        assert!(got.calls.is_empty(), "an echo was called: {:?}", got.calls);
    }

    // A deadline or native calls in the middle lose no byte, and native calls end recovery.
    let at = cuts(&text, seed, 2).first().copied().unwrap_or(0);
    for native in [false, true] {
        let mut parts = Parts::default();
        let mut reader = TurnReader::new(cfg.clone());
        reader.push(&text[..at], &mut parts);
        if native {
            reader.native_seen(&mut parts);
        } else {
            reader.deadline_passed(&mut parts);
        }
        let before = parts.reading.calls.len();
        reader.push(&text[at..], &mut parts);
        let _ = reader.finish(&mut parts);
        assert_eq!(parts.raw, text);
        assert!(
            !native || parts.reading.calls.len() == before,
            "recovered beside native calls"
        );
    }
}
