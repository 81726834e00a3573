//! Backends at run time: where a model field leads, with which key, over which pool.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use http::{HeaderMap, HeaderName, HeaderValue, Uri, header};
use http_body_util::Full;
use hyper_rustls::{ConfigBuilderExt, HttpsConnector, HttpsConnectorBuilder};
use hyper_util::client::legacy::Client;
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::rt::{TokioExecutor, TokioTimer};
use rustls::ClientConfig;
use tokio::sync::Semaphore;

use crate::config::{self, Config};
use crate::error::{StartError, TurnError};
use crate::lane;

/// A pooled HTTP client.
pub type HttpClient = Client<HttpsConnector<HttpConnector>, Full<Bytes>>;

/// Idle connections kept to one backend.
const IDLE: usize = 64;

/// One upstream, ready to use.
#[derive(Debug)]
pub struct Backend {
    /// Its configuration.
    pub config: config::Backend,
    /// Its own pools, one for each lane.
    lanes: Box<[HttpClient]>,
    /// The pool of everybody else.
    outside: HttpClient,
    /// Headers added to every request, the key among them.
    pub headers: HeaderMap,
    /// `{endpoint}/chat/completions`.
    pub chat: Uri,
    /// `{endpoint}/models`.
    pub models: Uri,
    /// Requests in flight.
    pub permits: Arc<Semaphore>,
}

/// All backends and the names that lead to them.
#[derive(Debug)]
pub struct Backends {
    list: Vec<Arc<Backend>>,
    aliases: Vec<(String, String)>,
}

/// Where a model field leads.
#[derive(Debug, Clone)]
pub struct Route {
    /// The backend.
    pub backend: Arc<Backend>,
    /// The model field as the backend is to see it.
    pub slot: String,
}

impl Backends {
    /// Builds pools and headers. `env` is how `env:` keys are read; `secrets` collects their values
    /// for redaction.
    ///
    /// # Errors
    /// When an endpoint is no URL, a key has no value, or TLS cannot be had.
    pub fn new(
        config: &Config,
        env: &dyn Fn(&str) -> Option<String>,
        secrets: &mut Vec<String>,
    ) -> Result<Self, StartError> {
        let mut list = Vec::with_capacity(config.backends.len());
        let tls = tls()?;
        for b in &config.backends {
            list.push(Arc::new(Backend::new(b, &tls, env, secrets)?));
        }
        Ok(Self {
            list,
            aliases: config
                .aliases
                .iter()
                .map(|(a, t)| (a.clone(), t.clone()))
                .collect(),
        })
    }

    /// All of them.
    pub fn iter(&self) -> impl Iterator<Item = &Arc<Backend>> {
        self.list.iter()
    }

    /// Aliases and what they stand for.
    pub fn aliases(&self) -> &[(String, String)] {
        &self.aliases
    }

    /// By name.
    pub fn get(&self, name: &str) -> Option<&Arc<Backend>> {
        self.list.iter().find(|b| b.config.name == name)
    }

    /// Finds the backend of a model field: an alias, `backend/slot`, or the only backend.
    ///
    /// # Errors
    /// [`TurnError::UnknownModel`] with what would have been known.
    pub fn route(&self, model: &str) -> Result<Route, TurnError> {
        let target = self
            .aliases
            .iter()
            .find(|(a, _)| a == model)
            .map_or(model, |(_, t)| t.as_str());
        if let Some((name, slot)) = target.split_once('/')
            && let Some(b) = self.get(name)
            && !slot.is_empty()
        {
            return Ok(Route {
                backend: Arc::clone(b),
                slot: slot.to_owned(),
            });
        }
        if let [only] = &self.list[..] {
            return Ok(Route {
                backend: Arc::clone(only),
                slot: target.to_owned(),
            });
        }
        let names: Vec<String> = self
            .list
            .iter()
            .map(|b| format!("`{}/…`", b.config.name))
            .collect();
        Err(TurnError::UnknownModel {
            model: model.to_owned(),
            hint: format!(
                "write `backend/model`; the backends are {}",
                names.join(", ")
            ),
        })
    }

    /// Where to go when `route` cannot answer, in order.
    pub fn fallbacks(&self, route: &Route) -> Vec<Route> {
        route
            .backend
            .config
            .fallbacks
            .iter()
            .filter_map(|f| {
                let (name, slot) = match f.split_once('/') {
                    Some((n, s)) => (n, s),
                    None => (f.as_str(), route.slot.as_str()),
                };
                Some(Route {
                    backend: Arc::clone(self.get(name)?),
                    slot: slot.to_owned(),
                })
            })
            .collect()
    }
}

impl Backend {
    fn new(
        b: &config::Backend,
        tls: &ClientConfig,
        env: &dyn Fn(&str) -> Option<String>,
        secrets: &mut Vec<String>,
    ) -> Result<Self, StartError> {
        let bad = |key: &str, message: String, hint: &str| StartError::Config {
            key: format!("backends.{}.{key}", b.name),
            message,
            hint: hint.to_owned(),
        };
        let base = b.endpoint.trim_end_matches('/');
        let uri = |path: &str| -> Result<Uri, StartError> {
            format!("{base}{path}").parse().map_err(|e| {
                bad(
                    "endpoint",
                    format!("`{base}` is no URL: {e}"),
                    "write `http://127.0.0.1:8080/v1`",
                )
            })
        };
        // A key's error brings its own hint.
        let unread = |key: &str, e: &config::secret::SecretError| {
            let words = e.to_string();
            let (message, hint) = words
                .split_once("\nhint: ")
                .unwrap_or((&words, "give `env:NAME` or `file:PATH`"));
            bad(key, message.to_owned(), hint)
        };
        let mut headers = HeaderMap::new();
        let mut add = |key: &str, name: HeaderName, value: String| -> Result<(), StartError> {
            let mut v = HeaderValue::try_from(value)
                .map_err(|e| bad(key, e.to_string(), "a header value is printable text"))?;
            v.set_sensitive(true);
            headers.insert(name, v);
            Ok(())
        };
        if let Some(key) = &b.api_key {
            let value = key.reveal(env).map_err(|e| unread("api_key", &e))?;
            secrets.push(value.clone());
            add("api_key", header::AUTHORIZATION, format!("Bearer {value}"))?;
        }
        for (name, secret) in &b.headers {
            let value = secret.reveal(env).map_err(|e| unread("headers", &e))?;
            secrets.push(value.clone());
            let name = HeaderName::try_from(name.as_str())
                .map_err(|e| bad("headers", e.to_string(), "a header name has no spaces"))?;
            add("headers", name, value)?;
        }
        let pool = || pool(tls.clone(), b.timeouts.connect.into());
        Ok(Self {
            lanes: (0..lane::count()).map(|_| pool()).collect(),
            outside: pool(),
            headers,
            chat: uri("/chat/completions")?,
            models: uri("/models")?,
            permits: Arc::new(Semaphore::new(
                b.concurrency.clamp(1, Semaphore::MAX_PERMITS),
            )),
            config: b.clone(),
        })
    }

    /// The pool for the thread that asks.
    pub fn client(&self) -> &HttpClient {
        let mine = lane::here().checked_sub(1).and_then(|i| self.lanes.get(i));
        mine.unwrap_or(&self.outside)
    }

    /// Its name.
    pub fn name(&self) -> &str {
        &self.config.name
    }
}

/// What a secure connection trusts: the system's roots, else the bundled ones.
fn tls() -> Result<ClientConfig, StartError> {
    let provider = rustls::crypto::aws_lc_rs::default_provider();
    let builder = ClientConfig::builder_with_provider(provider.into())
        .with_safe_default_protocol_versions()
        .map_err(|e| StartError::Tls(e.to_string()))?;
    let roots = match builder.clone().with_native_roots() {
        Ok(b) => b,
        Err(e) => {
            tracing::debug!("no system roots ({e}): the bundled ones are used");
            builder.with_webpki_roots()
        }
    };
    Ok(roots.with_no_client_auth())
}

fn pool(tls: ClientConfig, connect: Duration) -> HttpClient {
    let mut tcp = HttpConnector::new();
    // Without it, small writes wait for the peer's delayed acknowledgement: 40 ms at stream's end.
    tcp.set_nodelay(true);
    tcp.enforce_http(false);
    tcp.set_connect_timeout(Some(connect));
    tcp.set_keepalive(Some(Duration::from_secs(60)));
    let https = HttpsConnectorBuilder::new()
        .with_tls_config(tls)
        .https_or_http()
        .enable_http1()
        .wrap_connector(tcp);
    Client::builder(TokioExecutor::new())
        .pool_timer(TokioTimer::new())
        .pool_idle_timeout(Duration::from_secs(60))
        .pool_max_idle_per_host(IDLE)
        .http1_max_buf_size(1 << 20)
        .build(https)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn backends(names: &[&str]) -> Backends {
        let mut c = Config::default();
        for n in names {
            c.backends
                .push(config::Backend::new(n, "http://127.0.0.1:9/v1/"));
        }
        c.aliases
            .insert("fast".into(), format!("{}/tiny", names[0]));
        Backends::new(&c, &|_| None, &mut Vec::new()).unwrap()
    }

    #[test]
    fn a_model_field_leads_to_a_backend() {
        let two = backends(&["a", "b"]);
        let r = two.route("b/org/model").unwrap();
        assert_eq!((r.backend.name(), r.slot.as_str()), ("b", "org/model"));
        assert_eq!(r.backend.chat.path(), "/v1/chat/completions");
        let r = two.route("fast").unwrap();
        assert_eq!((r.backend.name(), r.slot.as_str()), ("a", "tiny"));
        assert!(two.route("org/model").is_err());
        let one = backends(&["a"]);
        assert_eq!(one.route("org/model").unwrap().slot, "org/model");
        assert_eq!(one.route("a/org/model").unwrap().slot, "org/model");
    }
}
