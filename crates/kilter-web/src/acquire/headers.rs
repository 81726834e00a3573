//! Headers that a caller adds to a read: checked by name, sent to the first origin only.

use http::{HeaderMap, HeaderName, HeaderValue};

use crate::failure::{Failure, FailureCode};

/// Names that decide how a message is framed or routed: never a caller's.
const FORBIDDEN: &[&str] = &[
    "host",
    "content-length",
    "content-type",
    "transfer-encoding",
    "connection",
    "expect",
    "upgrade",
    "te",
    "trailer",
    "keep-alive",
    "proxy-authorization",
    "proxy-connection",
    "accept-encoding",
];

/// A caller's headers. Debug output and errors never hold a value.
#[derive(Clone, Default)]
pub struct ExtraHeaders {
    map: HeaderMap,
}

impl ExtraHeaders {
    /// Checks names and values.
    ///
    /// # Errors
    /// `invalid_session_profile` with the name of the header that is refused.
    pub fn new<'a>(pairs: impl IntoIterator<Item = (&'a str, &'a str)>) -> Result<Self, Failure> {
        let refused = |name: &str, why: &str| {
            let shown: String = name.chars().take(60).collect();
            Failure::new(
                FailureCode::InvalidSessionProfile,
                format!("header `{shown}` {why}\nhint: take it out of the session profile"),
            )
        };
        let mut map = HeaderMap::new();
        for (name, value) in pairs {
            let parsed = HeaderName::from_bytes(name.as_bytes())
                .map_err(|_| refused(name, "has no valid name"))?;
            if FORBIDDEN.contains(&parsed.as_str()) {
                return Err(refused(name, "may not be set"));
            }
            let mut value =
                HeaderValue::from_str(value).map_err(|_| refused(name, "has no valid value"))?;
            value.set_sensitive(true);
            map.append(parsed, value);
        }
        Ok(Self { map })
    }

    /// The names, for reports.
    pub fn names(&self) -> Vec<String> {
        self.map.keys().map(|n| n.as_str().to_owned()).collect()
    }

    pub(crate) fn map(&self) -> &HeaderMap {
        &self.map
    }
}

impl std::fmt::Debug for ExtraHeaders {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_list().entries(self.map.keys()).finish()
    }
}
