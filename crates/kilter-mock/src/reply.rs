//! What is said when no call is made.

use crate::arguments::Pool;
use crate::behaviour::Behaviour;
use crate::overlay::OneOrMany;
use crate::request::Ask;
use crate::seed;

/// Tokens of a made-up answer.
const DEFAULT_TOKENS: u64 = 16;

/// The text of an answer.
pub(crate) fn text(b: &Behaviour, ask: &Ask) -> String {
    let body = match &b.reply.text {
        Some(OneOrMany::One(t)) => fill(t, ask),
        Some(OneOrMany::Many(all)) if !all.is_empty() => {
            fill(&all[(ask.turn.saturating_sub(1) as usize) % all.len()], ask)
        }
        _ => made_up(b, ask),
    };
    format!(
        "{}{body}{}",
        b.reply.before.as_deref().unwrap_or_default(),
        b.reply.after.as_deref().unwrap_or_default()
    )
}

fn fill(template: &str, ask: &Ask) -> String {
    template
        .replace("«user»", ask.user_text())
        .replace("«tool_result»", ask.tool_result().unwrap_or_default())
        .replace("«turn»", &ask.turn.to_string())
}

fn made_up(b: &Behaviour, ask: &Ask) -> String {
    if b.calls.honours_schema.unwrap_or(false)
        && let Some(schema) = ask
            .body
            .pointer("/response_format/json_schema/schema")
            .or_else(|| ask.body.pointer("/response_format/schema"))
    {
        return Pool::new(ask.user_text()).value("", schema).to_string();
    }
    if let Some(result) = ask.tool_result() {
        let line: String = result
            .split_whitespace()
            .collect::<Vec<_>>()
            .join(" ")
            .chars()
            .take(200)
            .collect();
        return format!("The tool answered: {line}");
    }
    if let Some(wanted) = exact(ask.user_text()) {
        return wanted.to_owned();
    }
    let tokens = b.reply.tokens.unwrap_or(DEFAULT_TOKENS);
    seed::prose(&mut ask.rng("reply"), tokens, false)
}

/// What a request of the kind "reply with exactly X" wants to hear.
fn exact(user: &str) -> Option<&str> {
    let lower = user.to_lowercase();
    if lower.len() != user.len() {
        return None;
    }
    [
        "exactly",
        "only with",
        "reply with",
        "respond with",
        "answer with",
        "say ",
    ]
    .iter()
    .find_map(|w| {
        let at = lower.find(w)? + w.len();
        named_text(user.get(at..)?)
    })
}

/// The quoted text or the first word after an introduction.
fn named_text(rest: &str) -> Option<&str> {
    let mut rest = rest.trim_start_matches([':', ' ', '\n']);
    for filler in [
        "exactly ",
        "only ",
        "just ",
        "the single word",
        "the word",
        "one word",
    ] {
        rest = rest.strip_prefix(filler).unwrap_or(rest);
        rest = rest.trim_start_matches([':', ' ', '\n']);
    }
    for q in ['"', '`', '\''] {
        if let Some(inner) = rest.strip_prefix(q)
            && let Some(end) = inner.find(q)
        {
            return Some(&inner[..end]);
        }
    }
    let word = rest
        .split(|c: char| c.is_whitespace() || ".,;!?".contains(c))
        .next()?
        .trim_matches(['"', '`', '\'', ':']);
    // "Reply with a short poem" names no text: articles introduce a description.
    let described = [
        "a", "an", "the", "one", "your", "some", "in", "two", "three",
    ];
    let plain = !word.is_empty() && word.len() <= 40 && !described.contains(&word);
    plain.then_some(word)
}

#[cfg(test)]
mod tests {
    use super::exact;

    #[test]
    fn exact_answers_are_given_exactly() {
        assert_eq!(exact("Reply with exactly: PONG"), Some("PONG"));
        assert_eq!(exact("Reply with the word `ready`."), Some("ready"));
        assert_eq!(exact("Say \"a b\" now"), Some("a b"));
        assert_eq!(exact("What is the tide?"), None);
        assert_eq!(exact("Reply with a short poem"), None);
        assert_eq!(exact("Reply with OK."), Some("OK"));
    }
}
