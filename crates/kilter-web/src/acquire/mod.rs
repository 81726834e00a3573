//! From a URL to bytes over HTTP: every hop judged before a byte is sent, every cost bounded.
//!
//! Redirects, refreshes and the headers that go with them are followed by hand, one connection a hop, so that no library
//! can ask an address that nobody judged. A read starts with nothing and leaves nothing behind: no cookie, no cached
//! address, no pooled connection.

mod cookies;
pub mod dial;
pub mod headers;
mod hop;
pub mod limits;
pub mod pace;
pub mod refresh;
pub mod unpack;

use std::collections::HashSet;
use std::net::IpAddr;
use std::sync::Arc;

use bytes::Bytes;
use http::header::{
    CONTENT_TYPE, ETAG, HeaderName, IF_MODIFIED_SINCE, IF_NONE_MATCH, LAST_MODIFIED, LOCATION,
};
use http::{HeaderMap, HeaderValue};
use serde::Serialize;
use url::Url;

use crate::address::{self, AddressPolicy};
use crate::browser::BrowserState;
use crate::decode::{self, Decoded};
use crate::failure::{Failure, FailureCode};
use crate::format;
use cookies::ChainCookies;
pub use dial::{Resolve, SystemResolver, Upstream};
pub use headers::ExtraHeaders;
pub use limits::Limits;
pub use pace::Pace;

/// Who asks, for the log of the server that is read and for the groups of its `robots.txt`.
pub const USER_AGENT: &str = concat!(
    "kilter/",
    env!("CARGO_PKG_VERSION"),
    " (+https://github.com/kilter-dev/kilter)"
);

/// Everything that a read needs besides its URL. Cheap to clone.
#[derive(Clone)]
pub struct Client {
    shared: Arc<Shared>,
}

struct Shared {
    policy: AddressPolicy,
    resolver: Arc<dyn Resolve>,
    limits: Limits,
    upstream: Option<Upstream>,
    user_agent: HeaderValue,
    tls: Arc<rustls::ClientConfig>,
    pace: Pace,
}

/// What makes a [`Client`].
#[derive(Clone)]
pub struct Settings {
    /// Which addresses may be asked.
    pub policy: AddressPolicy,
    /// Where addresses come from.
    pub resolver: Arc<dyn Resolve>,
    /// What one read may cost.
    pub limits: Limits,
    /// The operator's proxy. The environment is not looked at: whoever sets it would choose where reads go.
    pub upstream: Option<Upstream>,
    /// Certificates to trust besides the usual ones.
    pub extra_roots: Vec<rustls::pki_types::CertificateDer<'static>>,
    /// How often one host is asked.
    pub pace: Pace,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            policy: AddressPolicy::public(),
            resolver: Arc::new(SystemResolver),
            limits: Limits::default(),
            upstream: None,
            extra_roots: Vec::new(),
            pace: Pace::default(),
        }
    }
}

/// What one read asks besides its URL.
#[derive(Debug, Clone, Default)]
pub struct GetOptions {
    /// Headers of a session profile: for the origin of the URL, dropped for good where a redirect leaves it.
    pub headers: ExtraHeaders,
    /// Cookies and storage of a session profile, for a browser alone.
    pub browser: BrowserState,
    /// The `ETag` of an earlier read: an unchanged page answers without a body.
    pub etag: Option<String>,
    /// The `Last-Modified` of an earlier read.
    pub last_modified: Option<String>,
}

/// How one hop led to the next.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Via {
    /// A status of the 300s.
    Redirect,
    /// The page or its header asked for it.
    Refresh,
}

/// One step on the way to the page.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Hop {
    /// What was asked.
    pub url: String,
    /// What it answered.
    pub status: u16,
    /// How it led on.
    pub via: Via,
}

/// An answer, read to its end. Any status: [`Fetched::accept`] makes errors of the 400s and 500s.
#[derive(Debug, Clone)]
pub struct Fetched {
    /// As asked, without user and password.
    pub requested: Url,
    /// After all redirects, with the fragment that applies.
    pub url: Url,
    /// Status of the last answer.
    pub status: u16,
    /// Its headers.
    pub headers: HeaderMap,
    /// Its body, unpacked.
    pub body: Bytes,
    /// The address that answered; with an operator's proxy, the proxy's.
    pub peer: IpAddr,
    /// The steps before it.
    pub hops: Vec<Hop>,
    /// Whether the server says that nothing changed since the earlier read.
    pub not_modified: bool,
}

impl Fetched {
    /// One header as text.
    pub fn header(&self, name: &HeaderName) -> Option<&str> {
        self.headers.get(name).and_then(|v| v.to_str().ok())
    }

    /// `Content-Type` as sent.
    pub fn content_type(&self) -> Option<&str> {
        self.header(&CONTENT_TYPE)
    }

    /// What makes the next read of this page conditional: `ETag` and `Last-Modified`.
    pub fn validators(&self) -> (Option<String>, Option<String>) {
        let text = |name| self.header(name).map(str::to_owned);
        (text(&ETAG), text(&LAST_MODIFIED))
    }

    /// The body as text of a page: BOM, header, the page's own statement, detector.
    pub fn decode(&self) -> Decoded {
        let label = self.content_type().and_then(decode::charset);
        decode::html(&self.body, label.as_deref())
    }

    /// The same answer, or the failure that its status means.
    ///
    /// # Errors
    /// `requires_login` for 401 with a challenge, else `http_NNN`.
    pub fn accept(self) -> Result<Self, Failure> {
        let asks = self.headers.contains_key(http::header::WWW_AUTHENTICATE);
        match refused(self.status, asks, &self.url) {
            Some(failure) => Err(failure),
            None => Ok(self),
        }
    }
}

/// The failure that a status means. `asks`: the answer asks for credentials.
pub(crate) fn refused(status: u16, asks: bool, url: &Url) -> Option<Failure> {
    if status < 400 {
        return None;
    }
    if status == 401 && asks {
        let mut failure = Failure::new(
            FailureCode::RequiresLogin,
            format!("{url} asks for a sign-in\nhint: give a session profile that may read it"),
        )
        .then(
            "configure_session_profile",
            "the server asks for credentials",
        );
        failure.status_code = Some(401);
        return Some(failure);
    }
    Some(Failure::new(
        FailureCode::Http(status),
        format!("{url} answers with status {status}"),
    ))
}

impl Client {
    /// Makes a client.
    ///
    /// # Errors
    /// `tls_error` when the crypto library cannot be set up.
    pub fn new(settings: Settings) -> Result<Self, Failure> {
        let tls = dial::tls_config(&settings.extra_roots).map_err(|e| {
            Failure::new(FailureCode::TlsError, format!("TLS cannot be set up: {e}"))
        })?;
        Ok(Self {
            shared: Arc::new(Shared {
                policy: settings.policy,
                resolver: settings.resolver,
                limits: settings.limits,
                upstream: settings.upstream,
                user_agent: HeaderValue::from_static(USER_AGENT),
                tls,
                pace: settings.pace,
            }),
        })
    }

    /// The address policy.
    pub fn policy(&self) -> &AddressPolicy {
        &self.shared.policy
    }

    /// Where addresses come from.
    pub fn resolver(&self) -> &dyn Resolve {
        &*self.shared.resolver
    }

    /// What one read may cost.
    pub fn limits(&self) -> &Limits {
        &self.shared.limits
    }

    pub(crate) fn upstream(&self) -> Option<&Upstream> {
        self.shared.upstream.as_ref()
    }

    pub(crate) fn user_agent(&self) -> &HeaderValue {
        &self.shared.user_agent
    }

    pub(crate) fn tls(&self) -> Arc<rustls::ClientConfig> {
        Arc::clone(&self.shared.tls)
    }

    /// Reads a URL, following redirects and refreshes.
    ///
    /// # Errors
    /// Every code of acquisition: `invalid_url`, `private_url_blocked`, `dns_error`, `network_error`, `tls_error`,
    /// `timeout`, `redirect_loop`, `response_too_large`, `response_truncated`, `unsupported_content_type`. A status is none:
    /// see [`Fetched::accept`].
    pub async fn get(&self, url: &str, options: &GetOptions) -> Result<Fetched, Failure> {
        let limit = self.shared.limits.total;
        match tokio::time::timeout(limit, self.follow(url, options)).await {
            Ok(done) => done,
            Err(_) => Err(hop::timed_out(url, limit)),
        }
    }

    /// Sends JSON to a service that the operator configured, and reads its answer. Nothing is followed.
    ///
    /// # Errors
    /// The codes of acquisition.
    pub async fn post_json(
        &self,
        url: &str,
        headers: &ExtraHeaders,
        json: Vec<u8>,
    ) -> Result<Fetched, Failure> {
        self.post(url, headers, "application/json", json).await
    }

    /// Sends a body of the given type to a service, and reads its answer, whatever its type. Nothing is followed.
    ///
    /// # Errors
    /// The codes of acquisition.
    pub async fn post(
        &self,
        url: &str,
        headers: &ExtraHeaders,
        content_type: &'static str,
        body: Vec<u8>,
    ) -> Result<Fetched, Failure> {
        let limit = self.shared.limits.total;
        let exchange = async {
            let (url, target) = self.shared.policy.parse(url)?;
            let sent = (HeaderValue::from_static(content_type), body.into());
            let extra = headers.map().clone();
            let answer = hop::ask(self, &url, &target, extra, None, Some(sent)).await?;
            self.read(&url, &url, answer, Vec::new()).await
        };
        tokio::time::timeout(limit, exchange)
            .await
            .unwrap_or_else(|_| Err(hop::timed_out(url, limit)))
    }

    async fn follow(&self, url: &str, options: &GetOptions) -> Result<Fetched, Failure> {
        let limits = &self.shared.limits;
        let (mut url, mut target) = self.shared.policy.parse(url)?;
        strip_credentials(&mut url);
        let requested = url.clone();
        let mut cookies = ChainCookies::default();
        let mut seen = HashSet::new();
        let (mut redirects, mut refreshes) = (0, 0);
        let mut hops = Vec::new();
        let mut at_home = true;
        loop {
            let cookie = cookies.header(&url);
            let mut bare = url.clone();
            bare.set_fragment(None);
            // The same page with the same cookies answers the same.
            if !seen.insert((bare.to_string(), cookie.clone())) {
                return Err(looping(&url, &format!("came back to {bare}")));
            }
            let extra = if at_home {
                own_headers(options)
            } else {
                HeaderMap::new()
            };
            self.shared.pace.wait(target.host()).await;
            let answer = hop::ask(self, &url, &target, extra, cookie, None).await?;
            cookies.take(&url, &answer.headers);
            let status = answer.status.as_u16();
            let mut lead = None;
            if matches!(status, 301 | 302 | 303 | 307 | 308)
                && let Some(location) = answer.headers.get(LOCATION)
            {
                redirects += 1;
                if redirects > limits.redirects {
                    return Err(looping(
                        &url,
                        &format!("more than {} redirects", limits.redirects),
                    ));
                }
                lead = Some((text_of(location), Via::Redirect));
            }
            let mut done = None;
            if lead.is_none() {
                let fetched = self.finish(&requested, &url, answer, hops.clone()).await?;
                match refresh_of(&fetched, limits) {
                    Some(refresh) => {
                        refreshes += 1;
                        if refreshes > limits.refreshes {
                            return Err(looping(
                                &url,
                                &format!("more than {} refreshes", limits.refreshes),
                            ));
                        }
                        lead = Some((refresh, Via::Refresh));
                    }
                    None => done = Some(fetched),
                }
            }
            let Some((location, via)) = lead else {
                return done.ok_or_else(|| looping(&url, "led nowhere"));
            };
            let next = self.next(&url, &location)?;
            hops.push(Hop {
                url: url.to_string(),
                status,
                via,
            });
            // Judged before anything is looked up or sent, like the first one.
            target = self.shared.policy.judge_url(&next)?;
            at_home &= next.origin() == requested.origin();
            url = next;
        }
    }

    /// Where a hop leads: relative to the page, the fragment inherited (RFC 9110, 10.2.2), no user and password.
    fn next(&self, from: &Url, location: &str) -> Result<Url, Failure> {
        let mut next = address::read_url(location, Some(from))?;
        if next.fragment().is_none() {
            next.set_fragment(from.fragment());
        }
        strip_credentials(&mut next);
        Ok(next)
    }

    async fn finish(
        &self,
        requested: &Url,
        url: &Url,
        answer: hop::Answer,
        hops: Vec<Hop>,
    ) -> Result<Fetched, Failure> {
        if answer.status.as_u16() < 300 {
            format::sniff::refuse_by_type(answer.header(&CONTENT_TYPE), url)?;
        }
        self.read(requested, url, answer, hops).await
    }

    async fn read(
        &self,
        requested: &Url,
        url: &Url,
        answer: hop::Answer,
        hops: Vec<Hop>,
    ) -> Result<Fetched, Failure> {
        let status = answer.status.as_u16();
        let (headers, peer) = (answer.headers.clone(), answer.peer.ip());
        let body = answer.read(url, &self.shared.limits).await?;
        Ok(Fetched {
            requested: requested.clone(),
            url: url.clone(),
            status,
            headers,
            body,
            peer,
            hops,
            not_modified: status == 304,
        })
    }
}

/// Bytes of a header as text: UTF-8 where it is, else Latin-1, as browsers read a `Location`.
fn text_of(value: &HeaderValue) -> String {
    match std::str::from_utf8(value.as_bytes()) {
        Ok(text) => text.to_owned(),
        Err(_) => value.as_bytes().iter().map(|&b| char::from(b)).collect(),
    }
}

fn own_headers(options: &GetOptions) -> HeaderMap {
    let mut map = options.headers.map().clone();
    let conditions = [
        (IF_NONE_MATCH, &options.etag),
        (IF_MODIFIED_SINCE, &options.last_modified),
    ];
    for (name, value) in conditions {
        if let Some(value) = value.as_deref().and_then(|v| HeaderValue::from_str(v).ok()) {
            map.insert(name, value);
        }
    }
    map
}

/// The refresh that takes a reader away from this page at once. A page that only renews itself stays.
fn refresh_of(fetched: &Fetched, limits: &Limits) -> Option<String> {
    if fetched.status >= 400 || fetched.not_modified {
        return None;
    }
    let of_header = fetched
        .headers
        .get("refresh")
        .map(text_of)
        .and_then(|v| refresh::parse(&v));
    let found = of_header.or_else(|| {
        let html = format::sniff::looks_like_html(fetched.content_type(), &fetched.body);
        html.then(|| refresh::in_page(&fetched.decode().text))
            .flatten()
    })?;
    // What a browser would not go to either (`javascript:`, no URL at all) leaves the page where it is.
    let leaves = fetched.url.join(&found.url).is_ok_and(|next| {
        let bare = |u: &Url| {
            let mut u = u.clone();
            u.set_fragment(None);
            u
        };
        matches!(next.scheme(), "http" | "https") && bare(&next) != bare(&fetched.url)
    });
    (found.delay <= limits.refresh_delay && !found.url.is_empty() && leaves).then_some(found.url)
}

fn strip_credentials(url: &mut Url) {
    let _ = url.set_username("");
    let _ = url.set_password(None);
}

fn looping(url: &Url, how: &str) -> Failure {
    Failure::new(
        FailureCode::RedirectLoop,
        format!(
            "{url} leads in a circle: {how}\nhint: the site may want cookies or a sign-in; try `--backend browser`"
        ),
    )
}
