//! What a request says about the session that it belongs to.

use super::ChatRequest;
use crate::json;

/// The marks by which requests of one session know one another, in their order of precedence.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct SessionMarks {
    /// `prompt_cache_key`.
    pub prompt_cache_key: Option<String>,
    /// `metadata.session_id`.
    pub session_id: Option<String>,
    /// `user`.
    pub user: Option<String>,
    /// Text of the first system or developer message.
    pub instructions: Option<String>,
}

impl SessionMarks {
    /// Reads the marks of a request.
    pub fn of(request: &ChatRequest) -> Self {
        let body = request.body();
        let some = |key: &str| {
            body.get_str(key)
                .filter(|t| !t.is_empty())
                .map(|t| t.into_owned())
        };
        Self {
            prompt_cache_key: some("prompt_cache_key"),
            session_id: body
                .get("metadata")
                .and_then(|m| json::member(m, "session_id"))
                .and_then(json::decode)
                .filter(|t| !t.is_empty())
                .map(|t| t.into_owned()),
            user: some("user"),
            instructions: request.instructions(),
        }
    }

    /// The first mark that the client set on purpose, with the field's name.
    pub fn explicit(&self) -> Option<(&'static str, &str)> {
        [
            ("prompt_cache_key", &self.prompt_cache_key),
            ("metadata.session_id", &self.session_id),
            ("user", &self.user),
        ]
        .into_iter()
        .find_map(|(name, v)| v.as_deref().map(|v| (name, v)))
    }
}
