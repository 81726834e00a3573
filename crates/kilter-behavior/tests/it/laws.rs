//! The four laws over made-up texts: any chunking reads as the whole; where nothing fired the text
//! comes back byte for byte; the parts in order are the raw text; no bytes make it panic.

use std::sync::Arc;

use kilter_behavior::{
    EchoIndex, ReaderConfig, Reading, Registry, Sink, Split, ToolSet, TurnReader,
};
use kilter_core::{Expect, ToolCall, ToolSpec};
use proptest::prelude::*;
use serde_json::json;

use crate::catalogue::read_pieces;

/// A small generator of its own, so that a failure can be replayed by its seed.
pub(crate) struct Dice(u64);

impl Dice {
    pub(crate) fn new(seed: u64) -> Self {
        Self(seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1)
    }

    pub(crate) fn below(&mut self, n: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        usize::try_from(self.0 % (n.max(1) as u64)).unwrap()
    }
}

/// Cuts a text at up to `n` random character boundaries.
pub(crate) fn cut<'a>(raw: &'a str, n: usize, dice: &mut Dice) -> Vec<&'a str> {
    let mut at: Vec<usize> = (0..n)
        .map(|_| {
            let mut i = dice.below(raw.len() + 1);
            while !raw.is_char_boundary(i) {
                i -= 1;
            }
            i
        })
        .collect();
    at.extend([0, raw.len()]);
    at.sort_unstable();
    at.windows(2).map(|w| &raw[w[0]..w[1]]).collect()
}

#[derive(Default)]
struct Parts {
    raw: String,
    fired: bool,
}

impl Sink for Parts {
    fn content(&mut self, text: &str) {
        self.raw.push_str(text);
    }
    fn reasoning(&mut self, text: &str) {
        self.raw.push_str(text);
        self.fired = true;
    }
    fn call(&mut self, _call: ToolCall, raw: &str) {
        self.raw.push_str(raw);
        self.fired = true;
    }
    fn rejected(&mut self, _rejected: kilter_behavior::Rejected) {}
    fn removed(&mut self, raw: &str) {
        self.raw.push_str(raw);
        self.fired = true;
    }
}

/// The laws for one text and `n` random chunkings of it.
pub(crate) fn hold(cfg: &ReaderConfig, raw: &str, n: usize, seed: u64) -> Result<Reading, String> {
    let whole = read_pieces(cfg, &[raw]);
    let mut parts = Parts::default();
    let mut reader = TurnReader::new(cfg.clone());
    reader.push(raw, &mut parts);
    let summary = reader.finish(&mut parts);
    if parts.raw != raw {
        return Err(format!("parts {:?}\n raw {raw:?}", parts.raw));
    }
    if summary.fired != parts.fired {
        return Err(format!("`fired` is {} for {raw:?}", summary.fired));
    }
    if !summary.fired && whole.content != raw {
        return Err(format!(
            "nothing fired, yet {:?}\n raw {raw:?}",
            whole.content
        ));
    }
    let mut dice = Dice::new(seed);
    for _ in 0..n {
        let k = 1 + dice.below(6);
        let pieces = cut(raw, k, &mut dice);
        let got = read_pieces(cfg, &pieces);
        if got != whole {
            return Err(format!("{pieces:?}\n  {got:?}\n  whole {whole:?}"));
        }
    }
    Ok(whole)
}

fn tools() -> Arc<ToolSet> {
    let list = json!([
        {"type": "function", "function": {"name": "get_tide", "parameters": {"type": "object",
            "properties": {"port": {"type": "string"}, "days": {"type": "integer"}}, "required": ["port"]}}},
        {"type": "function", "function": {"name": "ping", "parameters": {"type": "object", "properties": {}}}},
        {"type": "function", "function": {"name": "f", "parameters": {"type": "object"}}}
    ]);
    Arc::new(ToolSet::new(ToolSpec::list_from_wire(&list)))
}

fn configs() -> Vec<ReaderConfig> {
    let tools = tools();
    let base = ReaderConfig {
        tools: Arc::clone(&tools),
        ..ReaderConfig::new()
    };
    let split = |inline, leading_closer| Split::Armed {
        inline,
        leading_closer,
    };
    vec![
        base.clone(),
        ReaderConfig {
            expect: Expect::Required,
            ..base.clone()
        },
        ReaderConfig {
            split: Split::Unlearnt,
            ..base.clone()
        },
        ReaderConfig {
            split: Split::Suppressed,
            ..base.clone()
        },
        ReaderConfig {
            split: split(true, false),
            reasoning_open: true,
            ..base.clone()
        },
        ReaderConfig {
            expect: Expect::None,
            ..base.clone()
        },
        ReaderConfig {
            tools: Arc::new(ToolSet::undeclared()),
            untrusted: Arc::new(EchoIndex::new(["get_tide(port=\"x\")"], &tools)),
            ..base
        },
    ]
}

/// Every marker of the registry's examples and everything that stands near a call.
fn fragments() -> Vec<String> {
    let reg = Registry::builtin();
    let mut out: Vec<String> = Vec::new();
    for n in reg.names() {
        let Some(e) = reg.example(n) else { continue };
        out.push(e.to_owned());
        // Its tokens apart, and cut.
        let mut token = String::new();
        for c in e.chars() {
            if matches!(c, '<' | '[' | '{' | '\n') && !token.is_empty() {
                out.push(std::mem::take(&mut token));
            }
            token.push(c);
            if matches!(c, '>' | ']' | '}') {
                out.push(std::mem::take(&mut token));
            }
        }
        out.push(token);
    }
    for s in [
        "<think>",
        "</think>",
        "[THINK]",
        "[/THINK]",
        "◁think▷",
        "◁/think▷",
        "<answer>",
        "</answer>",
        "<|channel|>analysis<|message|>",
        "<|end|>",
        "<|start|>assistant",
        "Here is my thought process:",
        "`",
        "``",
        "```",
        "```json\n",
        "~~~\n",
        "\n",
        "\n\n",
        " ",
        "  ",
        "> ",
        "- ",
        "1. ",
        "\"",
        "'",
        "(",
        ")",
        "[",
        "]",
        "{",
        "}",
        ";",
        ",",
        "get_tide",
        "get_tide(port=\"a\")",
        "ping()",
        "[ping()]",
        "{\"name\": \"ping\"}",
        "{\"name\": \"get_tide\", \"arguments\": {\"port\": \"a\"}}",
        "é",
        "北京",
        "\u{FFFD}",
        "\\",
        "Plain words. ",
        "x",
        "<",
        "<|",
        "</",
        "]<]",
        "<|im_end|>",
        "</s>",
        "f(1)",
        "f({\"a\": 1})",
        "Action: ping\nAction Input: {}",
        "[]",
        "<tool_call>[]</tool_call>",
    ] {
        out.push(s.to_owned());
    }
    out.sort();
    out.dedup();
    out
}

#[test]
fn mixtures_of_markers() {
    let frags = fragments();
    let configs = configs();
    let mut fired = 0;
    let mut wrong = Vec::new();
    for seed in 0..1200u64 {
        let mut dice = Dice::new(seed + 1);
        let n = 1 + dice.below(9);
        let raw: String = (0..n)
            .map(|_| frags[dice.below(frags.len())].as_str())
            .collect();
        let cfg = &configs[dice.below(configs.len())];
        match hold(cfg, &raw, 6, seed) {
            Ok(r) => fired += usize::from(!r.calls.is_empty()),
            Err(e) => wrong.push(format!("seed {seed}: {e}")),
        }
    }
    let first: Vec<&str> = wrong.iter().take(12).map(String::as_str).collect();
    assert!(
        wrong.is_empty(),
        "{} fail:\n{}",
        wrong.len(),
        first.join("\n")
    );
    assert!(fired > 60, "{fired} mixtures held a call");
}

#[test]
fn short_mixtures_at_every_split() {
    let frags = fragments();
    let configs = configs();
    let mut wrong = Vec::new();
    for seed in 0..200u64 {
        let mut dice = Dice::new(seed + 77_777);
        let n = 1 + dice.below(4);
        let raw: String = (0..n)
            .map(|_| frags[dice.below(frags.len())].as_str())
            .collect();
        let cfg = &configs[dice.below(configs.len())];
        if let Some(d) = crate::catalogue::first_difference(cfg, &raw) {
            wrong.push(format!("seed {seed} {raw:?}: {d}"));
        }
    }
    let first: Vec<&str> = wrong.iter().take(12).map(String::as_str).collect();
    assert!(
        wrong.is_empty(),
        "{} fail:\n{}",
        wrong.len(),
        first.join("\n")
    );
}

/// A marker that is found from its second byte, or from what stands behind its word, is not begun again where it came
/// to nothing: the reader would never end.
#[test]
fn what_came_to_nothing_begins_once() {
    let reg = Registry::builtin();
    let cfg = &configs()[0];
    for name in reg.names() {
        let Some(e) = reg.example(name) else { continue };
        // Every opener of the family with something behind it that cannot go on.
        for cut in 1..=e.len().min(60) {
            if !e.is_char_boundary(cut) {
                continue;
            }
            for bad in ["<|content_thinking|>", "]<]", "\"}{", "\u{FFFD}\n\n"] {
                // Alone, and with the family's own rest behind a run that no name or value may have.
                let rest = format!("ide\">{}{}", "\u{FFFD}".repeat(45), &e[cut..]);
                for rest in [" x", rest.as_str()] {
                    let raw = format!("Checking: {}{bad}{rest}", &e[..cut]);
                    let r = hold(cfg, &raw, 4, cut as u64);
                    let r = r.unwrap_or_else(|e| panic!("{name}: {e}"));
                    assert!(r.calls.len() < 2, "{name}: {raw:?}");
                }
            }
        }
    }
}

/// Limits on keys and lines hold for the text, not for how much of it has come.
#[test]
fn limits_do_not_depend_on_the_cut() {
    for pad in [
        1usize, 400, 500, 511, 512, 513, 520, 600, 900, 4000, 4096, 4200,
    ] {
        let fill = "x".repeat(pad);
        for raw in [
            format!(
                "<tool_call>get_tide<tool_sep>\n<arg_key>port{fill}</arg_key>\n<arg_value>Brest</arg_value>\n</tool_call>"
            ),
            format!(
                "<tool_call>get_tide\n<arg_key>port</arg_key00{fill}<alls>\nx</arg_key>\n<arg_value>a</arg_value>\n</tool_call>"
            ),
            format!(
                "<tool_call>get_tide\n<arg_key>port</arg_key>\n<arg_value>a<arg_key>{fill}</arg_key>\n<arg_value>b</arg_value>\n</tool_call>"
            ),
            format!(
                "<|channel|>commentary to=functions.get_tide {fill}<|message|>{{\"port\": \"a\"}}<|call|>"
            ),
            format!("<function=get_tide{fill}>\n<parameter=port>\na\n</parameter>\n</function>"),
            format!("`<tool_call>{fill}` and more\n"),
            format!("`<tool_call>` {fill}\nand `more`"),
        ] {
            for cfg in configs().iter().take(3) {
                if let Some(d) = crate::catalogue::first_difference(cfg, &raw) {
                    panic!("{pad}: {d}");
                }
            }
        }
    }
}

/// A quote is text or the end of a string by the byte behind it: where that has not come, nothing is known.
#[test]
fn a_quote_that_may_close_nothing_is_waited_for() {
    for raw in [
        "```json\n{\"name\": \"nope\", \"arguments\"y\": 1}\n```",
        "{\"name\": \"nope\", \"arguments\"y\": 1}",
        "{\"name\": \"ping\"x\", \"arguments\": {}}",
        "{\"name\"y\": \"ping\", \"arguments\": {}}",
        "[\"ping\"x\", {}]",
        "(\"ping\"x\", {})",
    ] {
        for cfg in &configs() {
            if let Some(d) = crate::catalogue::first_difference(cfg, raw) {
                panic!("{raw:?}: {d}");
            }
        }
    }
}

#[test]
fn examples_read_back() {
    let reg = Registry::builtin();
    let cfg = &configs()[0];
    let mut wrong = Vec::new();
    let mut n = 0;
    for name in reg.names() {
        let Some(e) = reg.example(name) else {
            wrong.push(format!("{name} has no example"));
            continue;
        };
        n += 1;
        let r = read_pieces(cfg, &[e]);
        let ok = matches!(r.calls.as_slice(), [c] if c.name == "get_tide"
            && serde_json::from_str::<serde_json::Value>(&c.arguments).unwrap()
                == json!({"port": "Brest", "days": 2})
            && matches!(&c.provenance, kilter_core::Provenance::Recovered { dialect, .. } if dialect == name));
        if !ok {
            wrong.push(format!("{name}: {r:?}"));
        }
        if let Some(d) = crate::catalogue::first_difference(cfg, e) {
            wrong.push(format!("{name}: {d}"));
        }
    }
    assert!(n >= 60, "{n} dialects");
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn a_long_argument_and_long_prose() {
    let cfg = &configs()[0];
    let text = "line of text with \\\"quotes\\\" and <tags>\\n".repeat(1000);
    let call = format!(
        "<tool_call>\n{{\"name\": \"get_tide\", \"arguments\": {{\"port\": \"{text}\"}}}}\n</tool_call>"
    );
    let r = hold(cfg, &call, 1000, 5).unwrap();
    assert_eq!(r.calls.len(), 1);
    let prose = "Some words about [tides](https://example.org/a) and {braces} < 3.\n".repeat(200);
    let r = hold(cfg, &prose, 1000, 6).unwrap();
    assert!(!r.fired);
}

#[test]
fn a_span_over_the_limit_is_text() {
    let cfg = &configs()[0];
    let text = "x".repeat(1_100_000);
    let call = format!(
        "<tool_call>\n{{\"name\": \"get_tide\", \"arguments\": {{\"port\": \"{text}\"}}}}\n</tool_call>"
    );
    let r = hold(cfg, &call, 3, 5).unwrap();
    assert!(r.calls.is_empty());
    assert_eq!(r.content, call);
}

#[test]
fn nested_openers_stay_linear() {
    // Ten thousand openers that each could begin a call; a quadratic reader needs minutes.
    let cfg = &configs()[0];
    for open in [
        "<tool_call>{\"name\": ",
        "\n{\"name\":\n",
        "\n[f(",
        "<function=f>",
        "[TOOL_CALLS][{\"a\":",
    ] {
        let raw = open.repeat(10_000);
        let r = hold(cfg, &raw, 1, 1).unwrap();
        assert!(r.calls.is_empty(), "{open:?}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    #[test]
    fn any_text(raw in "\\PC{0,200}", seed in any::<u64>(), which in 0usize..7) {
        let cfg = &configs()[which];
        let held = hold(cfg, &raw, 4, seed);
        prop_assert!(held.is_ok(), "{:?}", held.err());
    }

    #[test]
    fn any_mixture(picks in prop::collection::vec(0usize..10_000, 1..12), seed in any::<u64>(), which in 0usize..7) {
        let frags = fragments();
        let raw: String = picks.iter().map(|p| frags[p % frags.len()].as_str()).collect();
        let cfg = &configs()[which];
        let held = hold(cfg, &raw, 4, seed);
        prop_assert!(held.is_ok(), "{:?}", held.err());
    }
}
