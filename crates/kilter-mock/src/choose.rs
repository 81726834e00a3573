//! Which tool a scripted model calls: by the user's words, never by chance.

use std::collections::HashSet;

use kilter_core::ToolSpec;

use crate::behaviour::{Calls, Policy};
use crate::request::Ask;
use crate::when::Choice;

/// Words that say nothing about a tool.
const PLAIN: &[&str] = &[
    "the", "and", "for", "with", "that", "this", "from", "you", "your", "are", "can", "use",
    "using", "tool", "tools", "call", "please", "what", "which", "get", "give", "given", "has",
    "have", "one", "all", "any", "its", "will", "not", "into", "about", "then", "name", "value",
    "returns", "return", "function", "how", "who", "reply", "answer", "only", "just", "exactly",
    "word", "say", "tell", "text", "string", "number", "two", "some", "there", "out", "when",
    "where", "was", "were",
];

/// Whether the request allows a call at all.
pub(crate) fn allowed(ask: &Ask) -> bool {
    !ask.tools.is_empty() && ask.choice != Choice::None
}

/// The tools to call, in order; none when no call is due.
pub(crate) fn tools<'a>(calls: &Calls, policy: Policy, ask: &'a Ask) -> Vec<&'a ToolSpec> {
    if policy != Policy::Always && !allowed(ask) {
        return Vec::new();
    }
    let forced = matches!(ask.choice, Choice::Required | Choice::Named) || policy == Policy::Always;
    let answered = ask.after_tool_result() && policy != Policy::Always;
    if answered && !forced {
        return Vec::new();
    }
    let want = calls.pick.as_deref().unwrap_or("request");
    let by_name = |n: &str| ask.tools.iter().find(|t| t.name == n);
    if let Some(named) = ask.named.as_deref().and_then(by_name) {
        return repeat(vec![named], calls.count);
    }
    let picked = match want {
        "request" => {
            let picked = by_request(ask, forced || policy == Policy::Eager);
            if calls.count.is_none() && picked.len() == 1 && wants_two(ask.user_text()) {
                return repeat(picked, Some(2));
            }
            picked
        }
        "first" => ask.tools.first().into_iter().collect(),
        "last" => ask.tools.last().into_iter().collect(),
        name => by_name(name).into_iter().collect(),
    };
    repeat(picked, calls.count)
}

/// Whether the user wants one tool called for two things.
fn wants_two(text: &str) -> bool {
    let lower = text.to_lowercase();
    [
        "both",
        "at the same time",
        "in parallel",
        "two calls",
        "each of the two",
    ]
    .iter()
    .any(|w| lower.contains(w))
}

fn repeat(picked: Vec<&ToolSpec>, count: Option<u64>) -> Vec<&ToolSpec> {
    match count {
        Some(n) if !picked.is_empty() => picked.iter().copied().cycle().take(n as usize).collect(),
        _ => picked,
    }
}

fn by_request(ask: &Ask, must: bool) -> Vec<&ToolSpec> {
    let text = ask.user_text();
    let mut named: Vec<(usize, &ToolSpec)> = ask
        .tools
        .iter()
        .filter_map(|t| find_word(text, &t.name).map(|at| (at, t)))
        .collect();
    // A name inside a longer name that also stands there is no mention of its own.
    named.sort_by_key(|(at, t)| (*at, std::cmp::Reverse(t.name.len())));
    named.dedup_by_key(|(at, _)| *at);
    if !named.is_empty() {
        return named.into_iter().map(|(_, t)| t).collect();
    }
    let said = words(text);
    let best = ask
        .tools
        .iter()
        .enumerate()
        .map(|(i, t)| (score(&said, t), std::cmp::Reverse(i), t))
        .max_by_key(|(s, i, _)| (*s, *i));
    match best {
        Some((s, _, t)) if s >= 3 || must => vec![t],
        _ if must => ask.tools.first().into_iter().collect(),
        _ => Vec::new(),
    }
}

/// Where `name` stands as a whole word.
fn find_word(text: &str, name: &str) -> Option<usize> {
    if name.is_empty() {
        return None;
    }
    let joins = |c: char| c.is_alphanumeric() || c == '_';
    text.match_indices(name).map(|(i, _)| i).find(|&i| {
        let before = text[..i].chars().next_back();
        let after = text[i + name.len()..].chars().next();
        !before.is_some_and(joins) && !after.is_some_and(joins)
    })
}

/// Words of a text, in lower case and without a plural's s.
fn words(text: &str) -> HashSet<String> {
    text.split(|c: char| !c.is_alphanumeric())
        .flat_map(split_camel)
        .map(|w| {
            let w = w.to_lowercase();
            match w.strip_suffix('s') {
                Some(stem) if stem.len() >= 3 && !stem.ends_with('s') => stem.to_owned(),
                _ => w,
            }
        })
        .filter(|w| w.chars().count() >= 3 && !PLAIN.contains(&w.as_str()))
        .collect()
}

fn split_camel(word: &str) -> Vec<&str> {
    let mut out = Vec::new();
    let mut start = 0;
    let mut lower = false;
    for (i, c) in word.char_indices() {
        if lower && c.is_uppercase() {
            out.push(&word[start..i]);
            start = i;
        }
        lower = c.is_lowercase();
    }
    out.push(&word[start..]);
    out
}

fn score(said: &HashSet<String>, tool: &ToolSpec) -> usize {
    let in_name = words(&tool.name).intersection(said).count();
    let about = words(tool.description.as_deref().unwrap_or_default());
    let keys: String = tool
        .parameters
        .get("properties")
        .and_then(|p| p.as_object())
        .map(|o| o.keys().cloned().collect::<Vec<_>>().join(" "))
        .unwrap_or_default();
    3 * in_name + about.intersection(said).count() + 2 * words(&keys).intersection(said).count()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn ask(user: &str) -> Ask {
        let body = json!({
            "messages": [{"role": "user", "content": user}],
            "tools": [
                {"type":"function","function":{"name":"get_tide","description":"Height of the tide at a port","parameters":{"type":"object","properties":{"port":{"type":"string"}}}}},
                {"type":"function","function":{"name":"read_file","description":"Read a file from disk","parameters":{"type":"object","properties":{"path":{"type":"string"}}}}},
                {"type":"function","function":{"name":"ping"}},
            ]
        });
        Ask::read(body.to_string().as_bytes(), Vec::new()).expect("a request")
    }

    fn names(user: &str) -> Vec<String> {
        let a = ask(user);
        tools(&Calls::default(), Policy::Apt, &a)
            .iter()
            .map(|t| t.name.clone())
            .collect()
    }

    #[test]
    fn two_things_are_two_calls() {
        assert_eq!(
            names("How is the tide in Brest and in Lisbon? Look both up."),
            ["get_tide", "get_tide"]
        );
    }

    #[test]
    fn words_point_to_tools() {
        assert_eq!(names("How high are the tides in Brest?"), ["get_tide"]);
        assert_eq!(names("Please read the file notes.txt"), ["read_file"]);
        assert_eq!(names("use ping and then get_tide"), ["ping", "get_tide"]);
        assert!(names("Say hello.").is_empty());
        assert!(names("Write a haiku about autumn").is_empty());
    }
}
