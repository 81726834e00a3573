//! Cookies of one chain of redirects: kept for the host that set them, forgotten with the read.

use http::HeaderMap;
use http::header::SET_COOKIE;
use url::Url;

/// What one site may set within one read.
const MOST: usize = 64;
const LONGEST: usize = 4096;

/// Cookies between the first request and the last answer of one read. Two reads never share one.
#[derive(Debug, Default)]
pub(crate) struct ChainCookies {
    held: Vec<Held>,
}

#[derive(Debug)]
struct Held {
    host: String,
    secure: bool,
    name: String,
    value: String,
}

impl ChainCookies {
    /// Takes what an answer of `url` sets. `Domain` is not honoured: a cookie goes back to the host that set it only.
    pub(crate) fn take(&mut self, url: &Url, headers: &HeaderMap) {
        let Some(host) = url.host_str() else { return };
        for line in headers.get_all(SET_COOKIE) {
            let Ok(line) = line.to_str() else { continue };
            let mut parts = line.split(';').map(str::trim);
            let Some((name, value)) = parts.next().and_then(|pair| pair.split_once('=')) else {
                continue;
            };
            let (name, value) = (name.trim(), value.trim());
            if name.is_empty() || name.len() + value.len() > LONGEST {
                continue;
            }
            let attributes: Vec<&str> = parts.collect();
            let secure = attributes.iter().any(|a| a.eq_ignore_ascii_case("secure"));
            let gone = attributes.iter().any(|a| {
                a.split_once('=').is_some_and(|(k, v)| {
                    k.trim().eq_ignore_ascii_case("max-age")
                        && matches!(v.trim().parse::<i64>(), Ok(n) if n <= 0)
                })
            });
            self.held.retain(|h| h.host != host || h.name != name);
            if !gone && self.held.len() < MOST {
                self.held.push(Held {
                    host: host.to_owned(),
                    secure,
                    name: name.to_owned(),
                    value: value.to_owned(),
                });
            }
        }
    }

    /// The `Cookie` header for a request to `url`.
    pub(crate) fn header(&self, url: &Url) -> Option<String> {
        let pairs: Vec<String> = self
            .held
            .iter()
            .filter(|h| {
                url.host_str() == Some(h.host.as_str()) && (!h.secure || url.scheme() == "https")
            })
            .map(|h| format!("{}={}", h.name, h.value))
            .collect();
        (!pairs.is_empty()).then(|| pairs.join("; "))
    }
}
