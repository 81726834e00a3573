//! Whether a refusal is the one that a rule means.

use kilter_wire::ApiError;
use kilter_wire::chat::ChatRequest;

use super::Match;

/// Everything that the match gives must hold.
pub(super) fn matches(m: &Match, error: &ApiError, request: &ChatRequest) -> bool {
    let any = |list: &[String], value: &str| list.is_empty() || list.iter().any(|v| v == value);
    if !m.status.is_empty() && !m.status.contains(&error.status) {
        return false;
    }
    if !any(&m.r#type, &error.kind) || !any(&m.code, error.code.as_deref().unwrap_or("")) {
        return false;
    }
    if !m.param.is_empty() {
        let Some(p) = &error.param else { return false };
        let under = |q: &String| {
            p == q
                || p.strip_prefix(q.as_str())
                    .is_some_and(|r| r.starts_with(['.', '[']))
        };
        if !m.param.iter().any(under) {
            return false;
        }
    }
    if !m
        .has
        .iter()
        .all(|f| request.body().get(f).is_some_and(|v| v != "null"))
    {
        return false;
    }
    if let Some(role) = &m.role
        && !request.messages().any(|msg| msg.role() == role.as_str())
    {
        return false;
    }
    if m.history_reasoning && !request.replays_reasoning() {
        return false;
    }
    if m.named && named_field(error, request).is_none() {
        return false;
    }
    let text = words_of(error);
    let met = |group: &String| group.split('|').any(|p| text.contains(&p.to_lowercase()));
    m.words.iter().all(met) && !m.not_words.iter().any(met)
}

/// Everything that the error says, in lower case.
fn words_of(error: &ApiError) -> String {
    [
        error.message.as_str(),
        error.code.as_deref().unwrap_or(""),
        error.kind.as_str(),
        error.param.as_deref().unwrap_or(""),
    ]
    .join("\n")
    .to_lowercase()
}

/// The field of the request that the error names, as a dotted path; `None` when the request does
/// not have it.
pub(super) fn named_field(error: &ApiError, request: &ChatRequest) -> Option<String> {
    let raw = error.param.as_deref()?;
    let plain = raw.replace('[', ".").replace(']', "");
    let path = plain
        .trim_start_matches("body.")
        .trim_matches(|c: char| c == '.' || c == '\'' || c == '`')
        .to_owned();
    let top = path.split('.').next()?;
    request.body().has(top).then_some(path)
}
