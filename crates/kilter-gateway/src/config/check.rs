//! What can be said about a configuration before it is used.

use std::net::{IpAddr, SocketAddr};

use http::Uri;
use serde::Serialize;

use super::Config;

/// How bad it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Severity {
    /// It will not start.
    Error,
    /// It starts, and is probably not meant.
    Warning,
}

/// One thing to say.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Finding {
    /// How bad.
    pub severity: Severity,
    /// The dotted key.
    pub key: String,
    /// What is so.
    pub message: String,
    /// What to do next.
    pub hint: String,
}

/// Whether a URL's host is this machine, by its text.
pub fn is_loopback_url(url: &str) -> bool {
    let Ok(uri) = url.parse::<Uri>() else {
        return false;
    };
    let Some(host) = uri.host() else { return false };
    let host = host.trim_start_matches('[').trim_end_matches(']');
    host == "localhost" || host.parse::<IpAddr>().is_ok_and(|ip| ip.is_loopback())
}

/// Reads the bind address; a bare port or `:port` binds loopback.
pub fn bind_addr(text: &str) -> Option<SocketAddr> {
    let text = text.trim();
    if let Ok(port) = text.trim_start_matches(':').parse::<u16>() {
        return Some(SocketAddr::from(([127, 0, 0, 1], port)));
    }
    if let Some(port) = text.strip_prefix("localhost:") {
        return Some(SocketAddr::from(([127, 0, 0, 1], port.parse().ok()?)));
    }
    text.parse().ok()
}

pub(super) fn check(c: &Config) -> Vec<Finding> {
    let mut out = Vec::new();
    let mut say = |severity, key: String, message: String, hint: &str| {
        out.push(Finding {
            severity,
            key,
            message,
            hint: hint.to_owned(),
        });
    };
    use Severity::{Error, Warning};
    if c.backends.is_empty() {
        say(
            Error,
            "backends".into(),
            "no backend is configured".into(),
            "add `[[backends]]` with `name` and `endpoint`; `kilter doctor` finds local servers",
        );
    }
    match bind_addr(&c.gateway.bind) {
        None => say(
            Error,
            "gateway.bind".into(),
            format!("`{}` is no address", c.gateway.bind),
            "write `127.0.0.1:8787`",
        ),
        Some(addr) if !addr.ip().is_loopback() && c.gateway.client_keys.is_empty() => say(
            Error,
            "gateway.bind".into(),
            format!("`{addr}` can be reached from other machines, and no client key is set"),
            "bind `127.0.0.1`, or add `[[gateway.client_keys]]` with `name` and `sha256` of a key",
        ),
        Some(_) => {}
    }
    for (i, k) in c.gateway.client_keys.iter().enumerate() {
        if k.sha256.len() != 64 || !k.sha256.bytes().all(|b| b.is_ascii_hexdigit()) {
            say(
                Error,
                format!("gateway.client_keys[{i}].sha256"),
                format!("the hash of `{}` is not 64 hex digits", k.name),
                "make it with `printf %s KEY | sha256sum`",
            );
        }
    }
    for b in &c.backends {
        let key = format!("backends.{}", b.name);
        if b.name.is_empty() || b.name.contains('/') || b.name.contains(char::is_whitespace) {
            say(
                Error,
                key.clone(),
                "a backend's name may not be empty nor hold `/` or spaces".into(),
                "choose a short word: requests select `name/slot`",
            );
        }
        if c.backends.iter().filter(|o| o.name == b.name).count() > 1 {
            say(
                Error,
                key.clone(),
                "the name is used twice".into(),
                "rename one of them",
            );
        }
        match b.endpoint.parse::<Uri>() {
            Ok(u) if matches!(u.scheme_str(), Some("http" | "https")) && u.host().is_some() => {
                if u.scheme_str() == Some("http")
                    && b.api_key.is_some()
                    && !is_loopback_url(&b.endpoint)
                {
                    say(
                        Warning,
                        format!("{key}.endpoint"),
                        "the key goes over plain http to another machine".into(),
                        "use https",
                    );
                }
                if u.path().trim_end_matches('/').is_empty() {
                    say(
                        Warning,
                        format!("{key}.endpoint"),
                        "the endpoint has no path".into(),
                        "most servers want `/v1` at the end",
                    );
                }
                if u.path()
                    .trim_end_matches('/')
                    .ends_with("/chat/completions")
                {
                    say(
                        Warning,
                        format!("{key}.endpoint"),
                        "`/chat/completions` is appended by the gateway".into(),
                        "end the endpoint at its version segment, `/v1`",
                    );
                }
            }
            _ => say(
                Error,
                format!("{key}.endpoint"),
                format!("`{}` is no http or https URL", b.endpoint),
                "write `http://127.0.0.1:8080/v1`",
            ),
        }
        for f in &b.fallbacks {
            let to = f.split('/').next().unwrap_or(f);
            if !c.backends.iter().any(|o| o.name == to) {
                say(
                    Error,
                    format!("{key}.fallbacks"),
                    format!("there is no backend `{to}`"),
                    "name a configured backend",
                );
            } else if to == b.name && !f.contains('/') {
                say(
                    Warning,
                    format!("{key}.fallbacks"),
                    "it falls back to itself".into(),
                    "remove it",
                );
            }
        }
        if b.concurrency == 0 {
            say(
                Error,
                format!("{key}.concurrency"),
                "0 lets nothing through".into(),
                "use at least 1",
            );
        }
    }
    for (alias, target) in &c.aliases {
        let ok = target
            .split_once('/')
            .is_some_and(|(b, slot)| !slot.is_empty() && c.backends.iter().any(|o| o.name == b));
        if !ok {
            say(
                Error,
                format!("aliases.{alias}"),
                format!("`{target}` is no `backend/slot` of a configured backend"),
                "write `local/some-model`",
            );
        }
    }
    if c.behavior.contradictions == 0 {
        say(
            Warning,
            "behavior.contradictions".into(),
            "0 is read as 1: a single odd turn moves the profile".into(),
            "keep the default, 2",
        );
    }
    for p in &c.tools.read_only {
        if p == "*" {
            say(
                Warning,
                "tools.read_only".into(),
                "`*` calls every tool harmless".into(),
                "name the tools that only read",
            );
        }
    }
    for f in c
        .behavior
        .dialect_files
        .iter()
        .chain(&c.compensations.files)
    {
        if !f.is_file() {
            say(
                Error,
                "dialect_files".into(),
                format!("`{}` is not there", f.display()),
                "check the path",
            );
        }
    }
    out.sort_by_key(|f| f.severity);
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_open_port_needs_a_key() {
        let mut c = Config::with_backend("a", "http://127.0.0.1:1/v1");
        assert_eq!(c.check(), []);
        c.gateway.bind = "0.0.0.0:8787".into();
        assert!(c.check()[0].message.contains("other machines"));
    }

    #[test]
    fn addresses() {
        assert_eq!(bind_addr("8080").unwrap().to_string(), "127.0.0.1:8080");
        assert_eq!(bind_addr(":0").unwrap().to_string(), "127.0.0.1:0");
        assert!(bind_addr("nonsense").is_none());
        assert!(is_loopback_url("http://[::1]:8080/v1"));
        assert!(!is_loopback_url("http://127.0.0.1.example.org/v1"));
        assert!(!is_loopback_url("http://localhost@example.org/v1"));
    }

    #[test]
    fn faults_are_found() {
        let mut c = Config::with_backend("a/b", "ftp://x");
        c.aliases.insert("x".into(), "nowhere/y".into());
        c.backends[0].fallbacks.push("gone".into());
        let errors = c
            .check()
            .iter()
            .filter(|f| f.severity == Severity::Error)
            .count();
        assert_eq!(errors, 4);
    }
}
