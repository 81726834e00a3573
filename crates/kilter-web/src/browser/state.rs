//! What a browser brings to one read: cookies and storage of a session that an operator keeps, and headers for the site
//! that is read. Without them a read brings nothing.

use serde::Deserialize;
use serde_json::{Value, json};
use url::Url;

use crate::acquire::ExtraHeaders;
use crate::failure::{Failure, FailureCode};

/// Cookies and stored items at most.
const MOST: usize = 2_048;

/// Cookies and storage, in the shape that browser drivers export (`storageState`). Debug output never holds a value.
#[derive(Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(default)]
pub struct BrowserState {
    cookies: Vec<Cookie>,
    origins: Vec<Origin>,
}

#[derive(Clone, Default, PartialEq, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct Cookie {
    name: String,
    value: String,
    domain: String,
    path: String,
    expires: f64,
    http_only: bool,
    secure: bool,
    same_site: String,
}

impl Eq for Cookie {}

#[derive(Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct Origin {
    origin: String,
    local_storage: Vec<Item>,
}

#[derive(Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(default)]
struct Item {
    name: String,
    value: String,
}

impl std::fmt::Debug for BrowserState {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("BrowserState")
            .field("cookies", &self.cookies.len())
            .field("origins", &self.origins.len())
            .finish()
    }
}

impl BrowserState {
    /// Reads an exported state.
    ///
    /// # Errors
    /// `invalid_session_profile`, without a value in its message.
    pub fn parse(text: &str) -> Result<Self, Failure> {
        let wrong = |why: &str| {
            Failure::new(
                FailureCode::InvalidSessionProfile,
                format!(
                    "the browser state {why}\nhint: it is `{{\"cookies\": […], \"origins\": […]}}`, as browser drivers export it"
                ),
            )
        };
        // The parser's own words would repeat what stands in the file.
        let state: Self = serde_json::from_str(text).map_err(|_| wrong("cannot be read"))?;
        let items: usize = state.origins.iter().map(|o| o.local_storage.len()).sum();
        if state.cookies.len() + items > MOST {
            return Err(wrong("has too many items"));
        }
        let placed = |c: &Cookie| !c.name.is_empty() && !c.domain.is_empty();
        if !state.cookies.iter().all(placed) {
            return Err(wrong("has a cookie without a name or a domain"));
        }
        Ok(state)
    }

    /// Whether it brings nothing.
    pub fn is_empty(&self) -> bool {
        self.cookies.is_empty() && self.origins.is_empty()
    }

    /// Cookies for `Storage.setCookies`, with those that a `Cookie` header has for the site that is read.
    pub(super) fn cookies(&self, headers: &ExtraHeaders, url: &Url) -> Vec<Value> {
        let kept = self.cookies.iter().map(|c| {
            let mut cookie = json!({
                "name": c.name,
                "value": c.value,
                "domain": c.domain,
                "path": if c.path.is_empty() { "/" } else { &c.path },
                "httpOnly": c.http_only,
                "secure": c.secure,
            });
            if c.expires > 0.0 {
                cookie["expires"] = json!(c.expires);
            }
            if matches!(c.same_site.as_str(), "Strict" | "Lax" | "None") {
                cookie["sameSite"] = json!(c.same_site);
            }
            cookie
        });
        let own = headers
            .map()
            .get_all(http::header::COOKIE)
            .iter()
            .filter_map(|v| v.to_str().ok())
            .flat_map(|line| line.split(';'))
            .filter_map(|pair| pair.trim().split_once('='))
            .map(|(name, value)| json!({ "name": name, "value": value, "url": url.as_str() }));
        kept.chain(own).collect()
    }

    /// A script that fills the storage of its own origin before the page's scripts run.
    pub(super) fn script(&self) -> Option<String> {
        if self.origins.is_empty() {
            return None;
        }
        let all: serde_json::Map<String, Value> = self
            .origins
            .iter()
            .map(|o| {
                let items = o.local_storage.iter().map(|i| json!([i.name, i.value]));
                (o.origin.clone(), items.collect())
            })
            .collect();
        Some(format!(
            "(()=>{{try{{for(const [k,v] of ({}[location.origin]||[]))if(localStorage.getItem(k)===null)localStorage.setItem(k,v)}}catch{{}}}})()",
            Value::Object(all)
        ))
    }
}

/// What one read brings.
#[derive(Debug, Clone, Copy)]
pub struct Guest<'a> {
    /// For the origin of the URL alone.
    pub headers: &'a ExtraHeaders,
    /// Cookies and storage.
    pub state: &'a BrowserState,
}

impl Guest<'_> {
    /// The answer to a request that the browser holds back: the same request, with the headers where it goes to the
    /// origin that they are for.
    pub(super) fn answer(&self, home: &Url, paused: &Value) -> Value {
        let id = &paused["requestId"];
        let asked = &paused["request"];
        let goes_home = asked["url"]
            .as_str()
            .and_then(|u| Url::parse(u).ok())
            .is_some_and(|u| u.origin() == home.origin());
        if !goes_home {
            return json!({ "requestId": id });
        }
        let ours = self.headers.map();
        let mut headers: Vec<Value> = asked["headers"]
            .as_object()
            .into_iter()
            .flatten()
            .filter(|(name, _)| !ours.contains_key(name.as_str()))
            .map(|(name, value)| json!({ "name": name, "value": value }))
            .collect();
        for (name, value) in ours {
            // Cookies went into the jar, so that the page's own are sent with them.
            if name != http::header::COOKIE
                && let Ok(value) = value.to_str()
            {
                headers.push(json!({ "name": name.as_str(), "value": value }));
            }
        }
        json!({ "requestId": id, "headers": headers })
    }

    /// Whether requests have to be held back at all.
    pub(super) fn adds_headers(&self) -> bool {
        self.headers
            .map()
            .keys()
            .any(|name| name != http::header::COOKIE)
    }
}
