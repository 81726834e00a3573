//! Keys are taken out of everything that is kept.

use std::borrow::Cow;

use memchr::memmem;

/// What stands in a key's place.
pub const MASK: &str = "[redacted]";

/// Shorter words are not masked: they would hit ordinary text.
const MIN_LEN: usize = 6;

/// Replaces known secrets, as written and as JSON escapes them, and bearer tokens.
#[derive(Default)]
pub struct Redactor {
    words: Vec<Vec<u8>>,
}

impl Redactor {
    /// A redactor of these values.
    pub fn new(secrets: impl IntoIterator<Item = String>) -> Self {
        let mut words: Vec<Vec<u8>> = Vec::new();
        for s in secrets {
            if s.len() < MIN_LEN {
                continue;
            }
            let quoted = serde_json::to_string(&s).unwrap_or_default();
            let inner = quoted.trim_matches('"').as_bytes().to_vec();
            if inner != s.as_bytes() {
                words.push(inner);
            }
            words.push(s.into_bytes());
        }
        words.sort_by_key(|w| std::cmp::Reverse(w.len()));
        words.dedup();
        Self { words }
    }

    /// The bytes without secrets; borrowed when there were none.
    pub fn bytes<'a>(&self, input: &'a [u8]) -> Cow<'a, [u8]> {
        let mut out = Cow::Borrowed(input);
        for w in &self.words {
            if memmem::find(&out, w).is_some() {
                out = Cow::Owned(replace(&out, w));
            }
        }
        if let Some(masked) = bearer(&out) {
            out = Cow::Owned(masked);
        }
        out
    }

    /// The text without secrets.
    pub fn text(&self, input: &str) -> String {
        String::from_utf8_lossy(&self.bytes(input.as_bytes())).into_owned()
    }
}

fn replace(hay: &[u8], needle: &[u8]) -> Vec<u8> {
    let mut out = Vec::with_capacity(hay.len());
    let mut from = 0;
    for at in memmem::find_iter(hay, needle) {
        out.extend_from_slice(&hay[from..at]);
        out.extend_from_slice(MASK.as_bytes());
        from = at + needle.len();
    }
    out.extend_from_slice(&hay[from..]);
    out
}

/// Masks the token after each `Bearer `; `None` when there is none.
fn bearer(hay: &[u8]) -> Option<Vec<u8>> {
    let finder = memmem::Finder::new("Bearer ");
    finder.find(hay)?;
    let mut out = Vec::with_capacity(hay.len());
    let mut from = 0;
    for at in finder.find_iter(hay) {
        let start = at + "Bearer ".len();
        if start < from {
            continue;
        }
        let len = hay[start..]
            .iter()
            .take_while(|b| b.is_ascii_alphanumeric() || b"-._~+/=".contains(b))
            .count();
        out.extend_from_slice(&hay[from..start]);
        if len >= 16 {
            out.extend_from_slice(MASK.as_bytes());
            from = start + len;
        } else {
            from = start;
        }
    }
    out.extend_from_slice(&hay[from..]);
    Some(out)
}

impl std::fmt::Debug for Redactor {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Redactor({} words)", self.words.len())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_do_not_come_through() {
        let r = Redactor::new(["sk-a\"bcdef".to_owned(), "abc".to_owned()]);
        assert_eq!(r.text("key sk-a\"bcdef abc"), "key [redacted] abc");
        assert_eq!(r.text(r#"{"k":"sk-a\"bcdef"}"#), r#"{"k":"[redacted]"}"#);
        assert_eq!(
            r.text("Bearer 0123456789abcdefXY, x"),
            "Bearer [redacted], x"
        );
        assert_eq!(r.text("Bearer of news"), "Bearer of news");
        assert!(matches!(r.bytes(b"plain"), Cow::Borrowed(_)));
        assert_eq!(format!("{r:?}"), "Redactor(2 words)");
    }
}
