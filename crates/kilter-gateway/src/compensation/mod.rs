//! Compensations as data: a typed refusal is matched, the request changed within bounds, and what
//! helped is learnt.
//!
//! The shipped rules are `compensations/*.toml`; an operator's files are read behind them.

mod apply;
mod matching;

use std::collections::BTreeMap;
use std::path::Path;

use kilter_wire::ApiError;
use kilter_wire::chat::ChatRequest;
use serde::Deserialize;
use serde_json::Value;

pub use apply::{Change, IdMap, Thoughts, change_request, short_id};

use crate::error::StartError;

const SHIPPED: &[(&str, &str)] = &[("chat.toml", include_str!("../../compensations/chat.toml"))];

/// One file.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    #[serde(default)]
    rule: Vec<Rule>,
    #[serde(default)]
    r#final: Vec<Final>,
}

/// One rule.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Rule {
    /// Its name: stable, it is stored in profiles.
    pub name: String,
    /// What the backend is like, in words.
    pub about: String,
    /// When it fires.
    pub r#match: Match,
    /// What it does.
    pub change: ChangeSpec,
}

/// A refusal that is final.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Final {
    /// Its name.
    pub name: String,
    /// What happened, in words.
    pub about: String,
    /// When it fires.
    pub r#match: Match,
}

/// When a rule fires: everything that is given must hold.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Match {
    /// Any of these statuses.
    pub status: Vec<u16>,
    /// Any of these types.
    pub r#type: Vec<String>,
    /// Any of these codes.
    pub code: Vec<String>,
    /// The named parameter is any of these, or lies under it.
    pub param: Vec<String>,
    /// Groups of phrases; each group must be met.
    pub words: Vec<String>,
    /// Groups of phrases of which none may be met.
    pub not_words: Vec<String>,
    /// The request has all of these fields.
    pub has: Vec<String>,
    /// The request has a message of this role.
    pub role: Option<String>,
    /// The request sends reasoning of earlier turns.
    pub history_reasoning: bool,
    /// The error names a field that the request has.
    pub named: bool,
}

/// What a rule does to a request.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct ChangeSpec {
    /// Fields set to values.
    pub set: BTreeMap<String, Value>,
    /// Fields taken out.
    pub remove: Vec<String>,
    /// Fields renamed.
    pub rename: BTreeMap<String, String>,
    /// Roles renamed.
    pub role: BTreeMap<String, String>,
    /// Reasoning of earlier turns.
    pub reasoning: Option<ReasoningChange>,
    /// Shape of tool-call ids.
    pub tool_ids: Option<IdShape>,
    /// The field that the error names is taken out.
    pub remove_named: bool,
    /// Fields that `remove_named` never takes out.
    pub keep: Vec<String>,
}

/// What happens to reasoning in the history.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ReasoningChange {
    /// Taken out.
    Strip,
    /// Put back where the client dropped it.
    Attach,
}

/// Shape of the ids that a backend takes.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct IdShape {
    /// Letters and digits behind the prefix.
    pub length: usize,
    /// What it begins with.
    pub prefix: String,
}

/// A rule as it holds for one backend: the general rule has a field with it.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct RuleKey(pub String);

impl RuleKey {
    fn new(rule: &Rule, named: Option<&str>) -> Self {
        Self(match named.filter(|_| rule.change.remove_named) {
            Some(field) => format!("{}:{field}", rule.name),
            None => rule.name.clone(),
        })
    }
}

/// All rules.
#[derive(Debug, Clone, Default)]
pub struct Rules {
    rules: Vec<Rule>,
    finals: Vec<Final>,
}

impl Rules {
    /// The shipped rules, then those of the files, without those named in `off`.
    ///
    /// # Errors
    /// When a file cannot be read or does not hold.
    pub fn load(files: &[impl AsRef<Path>], off: &[String]) -> Result<Self, StartError> {
        let mut out = Self::default();
        for (name, text) in SHIPPED {
            out.add(name, text)?;
        }
        for path in files {
            let path = path.as_ref();
            let text = std::fs::read_to_string(path).map_err(|e| StartError::Data {
                file: path.display().to_string(),
                why: e.to_string(),
            })?;
            out.add(&path.display().to_string(), &text)?;
        }
        out.rules.retain(|r| !off.contains(&r.name));
        Ok(out)
    }

    fn add(&mut self, name: &str, text: &str) -> Result<(), StartError> {
        let bad = |why: String| StartError::Data {
            file: name.to_owned(),
            why,
        };
        let file: File = toml::from_str(text).map_err(|e| bad(e.to_string()))?;
        for r in &file.rule {
            if r.name.contains(':') || r.name.len() > 40 {
                return Err(bad(format!(
                    "`{}`: a rule's name is short and has no `:`",
                    r.name
                )));
            }
            if r.r#match.status.is_empty() && r.r#match.words.is_empty() {
                return Err(bad(format!("`{}` would match every refusal", r.name)));
            }
        }
        // The general rule stays last, whatever files are added.
        let at = self
            .rules
            .iter()
            .position(|r| r.change.remove_named)
            .unwrap_or(self.rules.len());
        self.rules.splice(at..at, file.rule);
        self.finals.extend(file.r#final);
        Ok(())
    }

    /// Names and descriptions, in order.
    pub fn iter(&self) -> impl Iterator<Item = &Rule> {
        self.rules.iter()
    }

    /// The first rule for a refusal that was not tried yet, with its key.
    pub fn find(
        &self,
        error: &ApiError,
        request: &ChatRequest,
        tried: &[RuleKey],
    ) -> Option<(&Rule, RuleKey)> {
        self.rules.iter().find_map(|r| {
            if !matching::matches(&r.r#match, error, request) {
                return None;
            }
            let named = matching::named_field(error, request);
            if r.change.remove_named {
                let top = named.as_deref()?.split('.').next()?;
                if r.change.keep.iter().any(|k| k == top) && named.as_deref() == Some(top) {
                    return None;
                }
            }
            let key = RuleKey::new(r, named.as_deref());
            (!tried.contains(&key)).then_some((r, key))
        })
    }

    /// Whether another try of the same request is pointless.
    pub fn is_final(&self, error: &ApiError, request: &ChatRequest) -> Option<&Final> {
        self.finals
            .iter()
            .find(|f| matching::matches(&f.r#match, error, request))
    }

    /// The rule of a key and the field with it.
    pub fn by_key<'a>(&self, key: &'a str) -> Option<(&Rule, Option<&'a str>)> {
        let (name, field) = match key.split_once(':') {
            Some((n, f)) => (n, Some(f)),
            None => (key, None),
        };
        let rule = self.rules.iter().find(|r| r.name == name)?;
        Some((rule, field))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rules() -> Rules {
        Rules::load(&[] as &[&Path], &[]).unwrap()
    }

    fn found(status: u16, body: &str, request: &str) -> Option<String> {
        let error = ApiError::from_response(status, body.as_bytes());
        let request = ChatRequest::parse(request.as_bytes()).unwrap();
        rules().find(&error, &request, &[]).map(|(_, k)| k.0)
    }

    #[test]
    fn refusals_find_their_rule() {
        let tools =
            r#"{"model":"m","messages":[],"tools":[{"type":"function","function":{"name":"f"}}]}"#;
        for (body, request, want) in [
            (
                r#"{"error":{"message":"Function tools with reasoning_effort are not supported for this model in /v1/chat/completions. Please use /v1/responses or set reasoning_effort to 'none'.","type":"invalid_request_error","param":"reasoning_effort","code":null}}"#,
                tools,
                Some("tools-with-reasoning"),
            ),
            (
                r#"{"error":{"message":"Unsupported parameter: 'max_tokens' is not supported with this model. Use 'max_completion_tokens' instead.","type":"invalid_request_error","param":"max_tokens","code":"unsupported_parameter"}}"#,
                r#"{"model":"m","messages":[],"max_tokens":5}"#,
                Some("max-completion-tokens"),
            ),
            (
                r#"{"detail":[{"type":"extra_forbidden","loc":["body","store"],"msg":"Extra inputs are not permitted"}]}"#,
                r#"{"model":"m","messages":[],"store":true}"#,
                Some("refused-field:store"),
            ),
            (
                r#"{"error":{"message":"'messages.0' : property 'reasoning_content' is unsupported"}}"#,
                r#"{"model":"m","messages":[{"role":"assistant","content":"2","reasoning_content":"r"}]}"#,
                Some("reasoning-refused"),
            ),
            (
                r#"{"error":{"message":"The reasoning_content in the thinking mode must be passed back to the API."}}"#,
                r#"{"model":"m","messages":[{"role":"assistant","content":"a","reasoning_content":"r"},{"role":"assistant","content":"b"}]}"#,
                Some("reasoning-required"),
            ),
            (
                r#"{"error":{"message":"Unsupported value: 'temperature' does not support 0.2 with this model. Only the default (1) value is supported.","type":"invalid_request_error","param":"temperature","code":"unsupported_value"}}"#,
                r#"{"model":"m","messages":[],"temperature":0.2}"#,
                Some("fixed-temperature"),
            ),
            (
                r#"{"error":{"message":"Invalid value: 'max' is not supported","type":"invalid_request_error","param":"reasoning_effort","code":"invalid_value"}}"#,
                r#"{"model":"m","messages":[],"reasoning_effort":"max"}"#,
                None,
            ),
            (
                r#"{"error":{"message":"this model does not support tools","type":"invalid_request_error","param":"tools"}}"#,
                tools,
                None,
            ),
            (
                r#"{"object":"error","message":"Tool call id was call_abc but must be a-z, A-Z, 0-9, with a length of 9.","type":"invalid_function_call","code":"3280"}"#,
                r#"{"model":"m","messages":[{"role":"tool","tool_call_id":"call_abc","content":"x"}]}"#,
                Some("tool-ids-short"),
            ),
            (
                r#"{"error":{"message":"This model's maximum context length is 4096 tokens. However, you requested 5000 tokens","type":"invalid_request_error","code":"context_length_exceeded"}}"#,
                r#"{"model":"m","messages":[],"max_tokens":5}"#,
                None,
            ),
        ] {
            assert_eq!(found(400, body, request).as_deref(), want, "{body}");
        }
    }

    #[test]
    fn one_try_for_each_rule() {
        let body = br#"{"error":{"message":"Unknown parameter: 'store'","param":"store"}}"#;
        let error = ApiError::from_response(400, body);
        let request = ChatRequest::parse(br#"{"store":true,"messages":[]}"#).unwrap();
        let r = rules();
        let (_, key) = r.find(&error, &request, &[]).unwrap();
        assert!(r.find(&error, &request, &[key]).is_none());
    }

    #[test]
    fn a_parser_failure_is_final() {
        let body = br#"{"error":{"code":500,"message":"Failed to parse input at pos 12: <tool_call>","type":"server_error"}}"#;
        let error = ApiError::from_response(500, body);
        let request = ChatRequest::parse(br#"{"messages":[]}"#).unwrap();
        assert!(rules().is_final(&error, &request).is_some());
        let other = ApiError::from_response(500, br#"{"error":{"message":"overloaded"}}"#);
        assert!(rules().is_final(&other, &request).is_none());
    }
}
