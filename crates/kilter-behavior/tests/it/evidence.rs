//! What a reading reports to the profile: only what opens a reply is evidence of a reasoning channel,
//! only what the guard alone refused is evidence of a tool channel, and one rule cuts the candidate.

use std::sync::Arc;

use kilter_behavior::ladder::reasoning_tail;
use kilter_behavior::{ReaderConfig, Split, ToolSet, WeakMarkers, read};
use kilter_core::{ReasoningPlace, RejectReason, ToolSpec};

use crate::catalogue::first_difference;

fn tools() -> Arc<ToolSet> {
    let spec = |name: &str, read_only| ToolSpec {
        name: name.into(),
        description: None,
        parameters: serde_json::json!({"type": "object", "properties": {"port": {"type": "string"}}}),
        read_only,
    };
    Arc::new(ToolSet::new(vec![
        spec("get_tide", None),
        spec("read_tide", Some(true)),
    ]))
}

fn config(split: Split) -> ReaderConfig {
    ReaderConfig {
        tools: tools(),
        split,
        ..ReaderConfig::new()
    }
}

const ARMED: Split = Split::Armed {
    inline: true,
    leading_closer: true,
};
const DISARMED: Split = Split::Armed {
    inline: false,
    leading_closer: false,
};
const SPLITS: [Split; 4] = [Split::Suppressed, Split::Unlearnt, ARMED, DISARMED];

#[test]
fn an_opener_behind_content_is_no_evidence() {
    let call = "<tool_call>\n{\"name\": \"get_tide\", \"arguments\": {}}\n</tool_call>";
    for raw in [
        // Special tokens may stand anywhere.
        "The tide is high.<|START_THINKING|>Was it?<|END_THINKING|>".to_owned(),
        "The tide is high.<|channel|>analysis<|message|>Was it?<|end|>".to_owned(),
        "The tide is high.\n<|inner_prefix|>Was it?<|inner_suffix|>".to_owned(),
        // Right behind a call the reply starts anew, but it is not its start.
        format!("On it.\n{call}\n<think>Was it?</think>"),
        format!("{call}\n<think>Was it?</think>"),
        format!("{call}<|channel|>analysis<|message|>Was it?<|end|>"),
        "It is written as <think>so</think>.".to_owned(),
        "```\n<think>so</think>\n```".to_owned(),
    ] {
        for split in SPLITS {
            let cfg = config(split);
            let got = read(cfg.clone(), &raw);
            assert_eq!(got.summary.reasoning_place, None, "{split:?} {raw:?}");
            assert_eq!(first_difference(&cfg, &raw), None);
        }
    }
}

#[test]
fn an_opener_at_the_start_is_evidence_however_the_splitter_stands() {
    for split in SPLITS {
        for (raw, opener) in [
            ("<think>Is it?</think>It is.", "<think>"),
            ("\n <think>Is it?</think>It is.", "<think>"),
            (
                "<|START_THINKING|>Is it?<|END_THINKING|>It is.",
                "<|START_THINKING|>",
            ),
        ] {
            let got = read(config(split), raw);
            assert!(
                matches!(&got.summary.reasoning_place,
                    Some(ReasoningPlace::InlineStart { opener: o, .. }) if o == opener),
                "{split:?} {raw:?}: {:?}",
                got.summary
            );
        }
        let raw = "<|channel|>analysis<|message|>Is it?<|end|><|start|>assistant<|channel|>final<|message|>It is.";
        let got = read(config(split), raw);
        // The shortest header is an opener as well; both are evidence of the same channel.
        assert!(
            matches!(
                got.summary.reasoning_place,
                Some(ReasoningPlace::ChannelHeader | ReasoningPlace::InlineStart { .. })
            ),
            "{split:?}"
        );
        let long =
            "<|start|>assistant <|channel|>analysis <|constrain|>text<|message|>Is it?<|end|>";
        assert_eq!(
            read(config(split), long).summary.reasoning_place,
            Some(ReasoningPlace::ChannelHeader),
            "{split:?}"
        );
        if split == Split::Suppressed {
            assert_eq!((got.content.as_str(), got.fired), (raw, false));
        }
    }
    // Words that open a line without brackets are markers too.
    let raw = "Here is my thought process:\nIs it?\nHere is my response:\nIt is.";
    for split in SPLITS {
        let got = read(config(split), raw);
        assert!(
            matches!(
                got.summary.reasoning_place,
                Some(ReasoningPlace::InlineStart { .. })
            ),
            "{split:?}"
        );
    }
}

fn reasons(cfg: &ReaderConfig, raw: &str) -> Vec<RejectReason> {
    let got = read(cfg.clone(), raw);
    assert!(got.calls.is_empty(), "{raw:?}: {:?}", got.calls);
    assert_eq!(first_difference(cfg, raw), None);
    got.rejected.iter().map(|r| r.reason).collect()
}

#[test]
fn the_operators_word_on_markerless_forms_is_not_the_guard() {
    let weak = "[get_tide(port=\"Brest\")]";
    let tagged =
        "<tool_call>\n{\"name\": \"get_tide\", \"arguments\": {\"port\": \"Brest\"}}\n</tool_call>";
    let guarded = ReaderConfig {
        guarded: true,
        ..config(DISARMED)
    };
    let barred = ReaderConfig {
        weak: WeakMarkers::ReadOnly,
        ..config(DISARMED)
    };
    let both = ReaderConfig {
        weak: WeakMarkers::ReadOnly,
        ..guarded.clone()
    };
    assert_eq!(reasons(&guarded, weak), [RejectReason::Guard]);
    assert_eq!(reasons(&barred, weak), [RejectReason::WeakMarkers]);
    // The guard lifted, it would still not go through.
    assert_eq!(reasons(&both, weak), [RejectReason::WeakMarkers]);
    assert_eq!(reasons(&both, tagged), [RejectReason::Guard]);
    assert_eq!(read(barred, tagged).calls.len(), 1);
    let read_only = "[read_tide(port=\"Brest\")]";
    assert_eq!(read(both, read_only).calls.len(), 1);
    assert_eq!(RejectReason::WeakMarkers.as_str(), "weak_markers");
}

#[test]
fn a_call_that_was_only_shown_does_not_count_for_the_guard() {
    use RejectReason::{Guard, Position};
    let guarded = |split| ReaderConfig {
        guarded: true,
        ..config(split)
    };
    let json = "{\"name\": \"get_tide\", \"arguments\": {\"port\": \"Brest\"}}";
    for (raw, want) in [
        // Markerless: the end of the reply decides.
        (json.to_owned(), vec![Guard]),
        (format!("On it:\n{json}\n"), vec![Guard]),
        (format!("{json}<|im_end|>\n"), vec![Guard]),
        (format!("{json}\nis how one asks."), vec![Position]),
        (format!("{json}\n{json}"), vec![Guard, Guard]),
        (format!("{json}\nor\n{json}"), vec![Position, Guard]),
        (format!("```json\n{json}\n```"), vec![Guard]),
        (format!("```json\n{json}\n```\nis how."), vec![Position]),
        // A text tag may be followed by prose.
        (format!("<tool_call>{json}</tool_call>\nWait."), vec![Guard]),
    ] {
        assert_eq!(reasons(&guarded(DISARMED), &raw), want, "{raw:?}");
    }
    // Inside reasoning that goes on, a call behind a text tag is a draft.
    let tag = format!("<tool_call>\n{json}\n</tool_call>");
    for (raw, want) in [
        (format!("<think>Now.\n{tag}"), vec![Guard]),
        (
            format!("<think>Perhaps\n{tag}\nor not.</think>No."),
            vec![Position],
        ),
    ] {
        assert_eq!(reasons(&guarded(ARMED), &raw), want, "{raw:?}");
    }
    assert_eq!(
        reasons(
            &guarded(ARMED),
            &format!("Perhaps\n{tag}\nor not.</think>No.")
        ),
        [Position]
    );
}

#[test]
fn reader_and_ladder_offer_the_same_tail() {
    let paragraph = "so the answer is 42. ".repeat(300);
    let blank = " ".repeat(9000);
    for thought in [
        "one line".to_owned(),
        "first\n\nsecond\nthird\n".to_owned(),
        format!("first\n\n{paragraph}"),
        format!("{paragraph}\n\nlast"),
        format!("{paragraph}\n\nlast{blank}"),
        format!("{paragraph}{blank}word\n\n"),
        "\u{e9}".repeat(5000),
    ] {
        let raw = format!("<think>{thought}");
        let want = Some(reasoning_tail(&thought).to_owned());
        let got = read(config(ARMED), &raw);
        assert_eq!(got.summary.content_candidate, want);
        let mut pieces = kilter_behavior::Reading::default();
        let mut reader = kilter_behavior::TurnReader::new(config(ARMED));
        for c in raw.chars() {
            reader.push(c.encode_utf8(&mut [0; 4]), &mut pieces);
        }
        assert_eq!(reader.finish(&mut pieces).content_candidate, want);
    }
}
