//! The served window and the tools in it, from what servers count.

use kilter_behavior::profile::{ServedWindow, ToolsInPrompt};
use kilter_core::Observation;

use super::{Session, native_call, refused, said};

/// An answered turn with these counts; `tools` characters of declared tools.
fn turn(text: u64, tools: u64, prompt_tokens: u64) -> Observation {
    let mut obs = said("Fine.");
    obs.request.tools = usize::from(tools > 0) * 3;
    obs.request.prompt_chars = text + tools;
    obs.request.tools_chars = tools;
    obs.usage.prompt_tokens = Some(prompt_tokens);
    obs.usage.completion_tokens = Some(20);
    obs
}

#[test]
fn a_typed_overflow_states_the_window() {
    let mut s = Session::new();
    let message =
        "request (6024 tokens) exceeds the available context size (4096 tokens), try increasing it";
    let changes = s.see(&refused(400, "exceed_context_size_error", message));
    assert_eq!(s.profile.window(), ServedWindow::About(4096));
    assert_eq!(changes[0].to, "about:4096");
}

#[test]
fn a_stated_window_needs_n_against_another_stated_window() {
    let mut s = Session::new();
    let stated = |n: u64| {
        refused(
            400,
            "context_length_exceeded",
            &format!("maximum context length is {n} tokens"),
        )
    };
    s.see(&stated(4096));
    s.see(&stated(32_768));
    assert_eq!(s.profile.window(), ServedWindow::About(4096));
    s.see(&stated(32_768));
    assert_eq!(s.profile.window(), ServedWindow::About(32_768));
    s.times(2, &stated(4096));
    assert_eq!(s.profile.window(), ServedWindow::About(4096));
}

#[test]
fn what_was_served_is_a_lower_bound_that_grows() {
    let mut s = Session::new();
    s.see(&turn(8_000, 0, 2_000));
    assert_eq!(s.profile.window(), ServedWindow::Unknown);
    s.see(&turn(12_000, 0, 3_000));
    assert_eq!(s.profile.window(), ServedWindow::AtLeast(3_020));
    s.see(&turn(40_000, 0, 10_000));
    assert_eq!(s.profile.window(), ServedWindow::AtLeast(10_020));
    s.see(&turn(4_000, 0, 1_000));
    assert_eq!(s.profile.window(), ServedWindow::AtLeast(10_020));
}

#[test]
fn a_prompt_that_stops_growing_shows_a_silent_cut_and_a_larger_one_lifts_it() {
    let mut s = Session::new();
    for chars in [4_000, 8_000, 12_000, 16_000] {
        s.see(&turn(chars, 0, chars / 4));
    }
    s.see(&turn(24_000, 0, 4_071));
    s.see(&turn(34_000, 0, 4_066));
    s.see(&turn(48_000, 0, 4_070));
    assert_eq!(s.profile.window(), ServedWindow::About(4_071));
    // A backend with more room behind the same slot.
    s.see(&turn(48_000, 0, 12_000));
    assert_eq!(s.profile.window(), ServedWindow::About(4_071));
    s.see(&turn(52_000, 0, 13_000));
    assert_eq!(s.profile.window(), ServedWindow::AtLeast(13_020));
    // And back.
    s.see(&turn(66_000, 0, 4_071));
    s.see(&turn(90_000, 0, 4_068));
    assert_eq!(s.profile.window(), ServedWindow::About(4_071));
}

#[test]
fn a_first_prompt_that_was_already_cut_does_not_calibrate() {
    let mut s = Session::new();
    s.see(&turn(400_000, 0, 4_070));
    assert!(!s.profile.token_estimate().is_calibrated());
    s.see(&turn(600_000, 0, 4_071));
    s.see(&turn(800_000, 0, 4_071));
    assert_eq!(s.profile.window(), ServedWindow::About(4_071));
}

#[test]
fn another_script_is_no_cut() {
    let mut s = Session::new();
    // Text at about one character per token, then text at five.
    s.times(6, &turn(9_000, 0, 8_000));
    s.times(6, &turn(9_000, 0, 1_800));
    assert_eq!(s.profile.window(), ServedWindow::AtLeast(8_020));
}

#[test]
fn what_fits_says_nothing_against_a_window() {
    let mut s = Session::new();
    s.see(&refused(
        400,
        "context_length_exceeded",
        "maximum context length is 4096 tokens",
    ));
    s.times(30, &turn(4_000, 0, 1_000));
    assert_eq!(s.profile.window(), ServedWindow::About(4096));
}

#[test]
fn a_template_that_drops_the_tools_counts_as_if_there_were_none() {
    // The figures of a real server: 40 prompt tokens with 430 characters of tools, 37 for a
    // message of nearly the same length without.
    let mut s = Session::new();
    s.see(&turn(65, 0, 37));
    s.see(&turn(72, 430, 40));
    assert_eq!(s.profile.tools_in_prompt(), ToolsInPrompt::Unknown);
    s.see(&turn(72, 430, 40));
    assert_eq!(s.profile.tools_in_prompt(), ToolsInPrompt::Dropped);
    // Another model, whose template renders them.
    s.times(2, &turn(72, 430, 180));
    assert_eq!(s.profile.tools_in_prompt(), ToolsInPrompt::Kept);
    s.times(2, &turn(72, 430, 40));
    assert_eq!(s.profile.tools_in_prompt(), ToolsInPrompt::Dropped);
}

#[test]
fn without_a_turn_without_tools_the_messages_alone_must_explain_the_count() {
    let mut s = Session::new();
    for chars in [8_000, 10_000, 12_500, 16_000] {
        s.see(&turn(chars, 24_000, chars / 4));
    }
    assert_eq!(s.profile.tools_in_prompt(), ToolsInPrompt::Dropped);
    assert!(!matches!(s.profile.window(), ServedWindow::About(_)));
}

#[test]
fn a_cut_window_is_not_mistaken_for_dropped_tools() {
    let mut s = Session::new();
    for chars in [8_000, 10_000, 12_500, 16_000, 20_000] {
        s.see(&turn(chars, 24_000, 2_040));
    }
    assert_eq!(s.profile.tools_in_prompt(), ToolsInPrompt::Unknown);
    assert_eq!(s.profile.window(), ServedWindow::About(2_040));
}

#[test]
fn a_declared_tool_that_was_called_reached_the_prompt() {
    let mut s = Session::new();
    s.times(2, &native_call("read_file", "{}"));
    assert_eq!(s.profile.tools_in_prompt(), ToolsInPrompt::Kept);
}

#[test]
fn tools_are_judged_only_where_the_messages_cannot_explain_it() {
    let mut s = Session::new();
    s.see(&turn(8_000, 0, 2_000));
    s.times(9, &turn(8_000, 250, 2_000));
    assert_eq!(
        s.profile.tools_in_prompt(),
        ToolsInPrompt::Dropped,
        "the same messages: the comparison is exact"
    );
    let mut s = Session::new();
    s.see(&turn(8_000, 0, 2_000));
    s.times(9, &turn(8_400, 250, 2_100));
    assert_eq!(
        s.profile.tools_in_prompt(),
        ToolsInPrompt::Unknown,
        "lost in the text"
    );
    // A short first prompt is mostly template: 37 tokens for 32 characters. Text that follows is
    // far cheaper, and the tools are there.
    let mut s = Session::new();
    s.see(&turn(32, 0, 37));
    s.times(9, &turn(2_000, 4_000, 1_525));
    assert_ne!(s.profile.tools_in_prompt(), ToolsInPrompt::Dropped);
}

#[test]
fn a_short_first_prompt_does_not_spoil_the_estimate() {
    let mut s = Session::new();
    s.times(3, &turn(32, 0, 37));
    assert!(!s.profile.token_estimate().is_calibrated());
    s.times(3, &turn(8_000, 0, 2_000));
    assert_eq!(s.profile.token_estimate().tokens(4_000), 1_000);
}

#[test]
fn what_a_real_server_counted_tells_its_templates_apart() {
    let root = std::env::var("KILTER_CORPUS").map_or_else(
        |_| {
            std::path::PathBuf::from(concat!(
                env!("CARGO_MANIFEST_DIR"),
                "/../../../shared/corpus"
            ))
        },
        std::path::PathBuf::from,
    );
    let captures = root.join("captures");
    if !captures.is_dir() {
        println!(
            "no corpus at {}: set KILTER_CORPUS; this test checked nothing",
            captures.display()
        );
        return;
    }
    for (dir, tools) in [
        ("smollm2-135m-xllamacpp", ToolsInPrompt::Dropped),
        ("smollm2-135m-tooltmpl-xllamacpp", ToolsInPrompt::Kept),
        ("gemma3-270m-base-xllamacpp", ToolsInPrompt::Dropped),
        ("gemma3-270m-base-tooltmpl-xllamacpp", ToolsInPrompt::Kept),
    ] {
        let mut s = Session::new();
        // Twice, as a client that asks again: N is two.
        for obs in [observed(&captures.join(dir)), observed(&captures.join(dir))].concat() {
            s.see(&obs);
        }
        assert_eq!(s.profile.tools_in_prompt(), tools, "{dir}");
        let refuses = captures.join(dir).join("18_context_overflow").is_dir();
        let about = matches!(s.profile.window(), ServedWindow::About(4096));
        assert_eq!(about, refuses, "{dir}: {:?}", s.profile.window());
    }
}

/// The chat turns of a capture directory in the order of their names, as far as counts go.
fn observed(dir: &std::path::Path) -> Vec<Observation> {
    use kilter_core::TransportError;
    use serde_json::Value;
    let read = |p: std::path::PathBuf| -> Option<Value> {
        serde_json::from_slice(&std::fs::read(p).ok()?).ok()
    };
    let mut cases: Vec<_> = std::fs::read_dir(dir)
        .unwrap()
        .map(|e| e.unwrap().path())
        .collect();
    cases.sort();
    let mut out = Vec::new();
    for case in cases {
        let (Some(q), Some(r)) = (
            read(case.join("request.json")),
            read(case.join("response.json")),
        ) else {
            continue;
        };
        let Some(messages) = q["messages"].as_array() else {
            continue;
        };
        let text: usize = messages
            .iter()
            .filter_map(|m| m["content"].as_str())
            .map(|t| t.chars().count())
            .sum();
        let list = q["tools"].as_array().filter(|t| !t.is_empty());
        let tools = list.map_or(0, |t| serde_json::to_string(t).unwrap().chars().count());
        let mut obs = turn(text as u64, tools as u64, 1);
        obs.request.tools = list.map_or(0, Vec::len);
        obs.usage.prompt_tokens = r["usage"]["prompt_tokens"].as_u64();
        obs.usage.completion_tokens = r["usage"]["completion_tokens"].as_u64();
        if let Some(e) = r["error"].as_object() {
            obs.error = Some(TransportError {
                status: e["code"].as_u64().unwrap_or(500) as u16,
                kind: e["type"].as_str().unwrap_or("").into(),
                param: None,
                message: e["message"].as_str().unwrap_or("").into(),
            });
        } else if obs.usage.prompt_tokens.is_none() {
            continue;
        }
        out.push(obs);
    }
    assert!(!out.is_empty(), "nothing to read in {}", dir.display());
    out
}
