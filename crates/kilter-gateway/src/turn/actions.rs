//! What was done to a turn, as the client reads it: `recovered=NAME;continued=1`.

/// Actions in order, each once.
#[derive(Debug, Clone, Default)]
pub(crate) struct Actions(Vec<String>);

impl Actions {
    /// Adds `name=value`.
    pub(crate) fn add(&mut self, name: &str, value: &str) {
        let word = format!("{name}={value}");
        if !self.0.contains(&word) {
            self.0.push(word);
        }
    }

    /// Whether nothing was done.
    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The words.
    pub(crate) fn words(&self) -> &[String] {
        &self.0
    }

    /// The header's value; characters that no header may carry are left out.
    pub(crate) fn header(&self) -> http::HeaderValue {
        let text: String = self
            .0
            .join(";")
            .chars()
            .filter(|c| c.is_ascii_graphic() || *c == ' ')
            .take(4096)
            .collect();
        http::HeaderValue::try_from(text).unwrap_or(http::HeaderValue::from_static(""))
    }
}
