//! One read: a fresh context behind its own proxy, navigation, rest, scrolling, the tree.

use std::time::Duration;

use serde_json::{Value, json};
use tokio::time::{Instant, sleep};
use url::Url;

use super::cdp::{Cdp, CdpError};
use super::proxy::Proxy;
use super::{BrowserLimits, Guest, Rendered};
use crate::acquire::Client;
use crate::failure::{Failure, FailureCode};

/// How often the page is looked at.
const LOOK: Duration = Duration::from_millis(100);

/// What is seen of a page at one moment.
const GLANCE: &str = "({ready:document.readyState, url:location.href, \
     size:document.getElementsByTagName('*').length, text:document.documentElement?document.documentElement.textContent.length:0, \
     height:document.documentElement?document.documentElement.scrollHeight:0, \
     at:scrollY+innerHeight, type:document.contentType, \
     status:(performance.getEntriesByType('navigation')[0]||{}).responseStatus||0})";

/// Goes one step down: to the end of what is there.
const SCROLL: &str = "scrollTo(0, document.documentElement.scrollHeight)";

/// The tree with its shadow roots, cut at `LIMIT` characters.
const TREE: &str = "(()=>{const roots=[];const walk=n=>{const w=document.createTreeWalker(n,1);let e=n.nodeType===1?n:w.nextNode();\
     while(e){if(e.shadowRoot){roots.push(e.shadowRoot);walk(e.shadowRoot)}e=w.nextNode()}};\
     if(!document.documentElement)return '';walk(document.documentElement);\
     const d=document.doctype?'<!DOCTYPE '+document.doctype.name+'>':'';const r=document.documentElement;\
     const open=r.cloneNode(false).outerHTML;const end=open.lastIndexOf('</');\
     return (d+open.slice(0,end)+r.getHTML({shadowRoots:roots})+open.slice(end)).slice(0,LIMIT)})()";

struct Glance {
    ready: bool,
    url: String,
    shape: (u64, u64),
    height: u64,
    at: u64,
    content_type: String,
    status: u16,
}

struct Visit<'a> {
    cdp: &'a Cdp,
    session: String,
    frame: String,
    deadline: Instant,
}

/// Reads `url`, which was judged.
pub(super) async fn visit(
    cdp: &Cdp,
    client: &Client,
    limits: &BrowserLimits,
    url: &Url,
    guest: &Guest<'_>,
) -> Result<Rendered, Failure> {
    let proxy = Proxy::start(client.clone(), limits.traffic).await?;
    let deadline = Instant::now() + limits.total;
    let context = cdp
        .call(
            None,
            "Target.createBrowserContext",
            json!({
                "disposeOnDetach": true,
                "proxyServer": format!("http://{}", proxy.address()),
                "proxyBypassList": "<-loopback>",
            }),
            left(deadline),
        )
        .await
        .map_err(|e| failed(url, limits, &e))?;
    let context = context["browserContextId"]
        .as_str()
        .unwrap_or_default()
        .to_owned();
    let read = in_context(cdp, &context, &proxy, limits, deadline, (url, guest)).await;
    let closing = json!({ "browserContextId": context });
    let closed = cdp
        .call(
            None,
            "Target.disposeBrowserContext",
            closing,
            Duration::from_secs(5),
        )
        .await;
    match (read, closed) {
        // A page that cannot even be closed holds the browser.
        (Ok(_), Err(e @ CdpError::Slow(_))) => Err(failed(url, limits, &e)),
        (read, _) => read,
    }
}

async fn in_context(
    cdp: &Cdp,
    context: &str,
    proxy: &Proxy,
    limits: &BrowserLimits,
    deadline: Instant,
    (url, guest): (&Url, &Guest<'_>),
) -> Result<Rendered, Failure> {
    let fail = |e: CdpError| failed(url, limits, &e);
    let call = |method, params| cdp.call(None, method, params, left(deadline));
    call(
        "Browser.setDownloadBehavior",
        json!({ "behavior": "deny", "browserContextId": context }),
    )
    .await
    .map_err(fail)?;
    let cookies = guest.state.cookies(guest.headers, url);
    if !cookies.is_empty() {
        call(
            "Storage.setCookies",
            json!({ "cookies": cookies, "browserContextId": context }),
        )
        .await
        .map_err(fail)?;
    }
    let target = call(
        "Target.createTarget",
        json!({ "url": "about:blank", "browserContextId": context, "width": 1280, "height": 900 }),
    )
    .await
    .map_err(fail)?;
    let attached = call(
        "Target.attachToTarget",
        json!({ "targetId": target["targetId"], "flatten": true }),
    )
    .await
    .map_err(fail)?;
    let session = attached["sessionId"]
        .as_str()
        .unwrap_or_default()
        .to_owned();
    let mut visit = Visit {
        cdp,
        session: session.clone(),
        frame: String::new(),
        deadline,
    };
    let mut events = cdp.events(&session);
    // What the page waits for is answered as it comes, while the page is read.
    let answering = async {
        while let Some((method, event)) = events.recv().await {
            let (answer, params) = match method.as_str() {
                // A dialog stops the page until somebody answers: no.
                "Page.javascriptDialogOpening" => {
                    ("Page.handleJavaScriptDialog", json!({ "accept": false }))
                }
                "Fetch.requestPaused" => ("Fetch.continueRequest", guest.answer(url, &event)),
                _ => continue,
            };
            let limit = Duration::from_secs(5);
            let _ = cdp.call(Some(&session), answer, params, limit).await;
        }
        // The browser is gone, and the reading says so.
        std::future::pending().await
    };
    let read = tokio::select! {
        read = visit.read(proxy, limits, url, guest) => read,
        never = answering => never,
    };
    cdp.forget(&session);
    read
}

impl Visit<'_> {
    async fn call(&self, method: &'static str, params: Value) -> Result<Value, CdpError> {
        self.cdp
            .call(Some(&self.session), method, params, left(self.deadline))
            .await
    }

    async fn read(
        &mut self,
        proxy: &Proxy,
        limits: &BrowserLimits,
        url: &Url,
        guest: &Guest<'_>,
    ) -> Result<Rendered, Failure> {
        let fail = |e: CdpError| failed(url, limits, &e);
        self.call("Page.enable", json!({})).await.map_err(fail)?;
        self.admit(url, guest).await.map_err(fail)?;
        let tree = self
            .call("Page.getFrameTree", json!({}))
            .await
            .map_err(fail)?;
        self.frame = tree["frameTree"]["frame"]["id"]
            .as_str()
            .unwrap_or_default()
            .to_owned();
        let gone = self
            .call("Page.navigate", json!({ "url": url.as_str() }))
            .await
            .map_err(fail)?;
        if let Some(why) = gone["errorText"].as_str() {
            return Err(not_reached(url, why, proxy));
        }
        let (glance, mut settled) = self
            .rest(proxy, limits, limits.settle)
            .await
            .map_err(fail)?;
        let mut glance = self.arrived(glance, url, proxy)?;
        let (mut scrolls, mut scroll_capped) = (0, false);
        while glance.at < glance.height {
            if scrolls >= limits.scrolls || left(self.deadline) < limits.settle {
                scroll_capped = true;
                break;
            }
            self.evaluate(SCROLL).await.map_err(fail)?;
            scrolls += 1;
            let before = glance.height;
            let (now, rested) = self
                .rest(proxy, limits, limits.settle / 4)
                .await
                .map_err(fail)?;
            glance = self.arrived(now, url, proxy)?;
            settled &= rested;
            if glance.height <= before {
                break;
            }
        }
        let tree = TREE.replace("LIMIT", &limits.html.to_string());
        let html = self.evaluate(&tree).await.map_err(fail)?;
        let html = html.as_str().unwrap_or_default().to_owned();
        let end = Url::parse(&glance.url).unwrap_or_else(|_| url.clone());
        Ok(Rendered {
            requested: url.clone(),
            url: end,
            status: if glance.status == 0 {
                200
            } else {
                glance.status
            },
            content_type: glance.content_type,
            html,
            settled,
            scrolls,
            scroll_capped,
            refused: proxy.refused(),
            bytes: proxy.bytes(),
        })
    }

    /// Prepares the page for what the session brings.
    async fn admit(&self, url: &Url, guest: &Guest<'_>) -> Result<(), CdpError> {
        if let Some(script) = guest.state.script() {
            let fill = json!({ "source": script });
            self.call("Page.addScriptToEvaluateOnNewDocument", fill)
                .await?;
        }
        if guest.adds_headers() {
            let pattern = format!("{}/*", url.origin().ascii_serialization());
            let hold =
                json!({ "patterns": [{ "urlPattern": pattern, "requestStage": "Request" }] });
            self.call("Fetch.enable", hold).await?;
        }
        Ok(())
    }

    /// Waits until no byte moves and the tree stands still, or for `most` after the page has loaded.
    async fn rest(
        &self,
        proxy: &Proxy,
        limits: &BrowserLimits,
        most: Duration,
    ) -> Result<(Glance, bool), CdpError> {
        let start = Instant::now();
        let (mut loaded, mut shape, mut since): (Option<Instant>, _, _) = (None, (0, 0), start);
        loop {
            let glance = self.glance().await?;
            let now = Instant::now();
            if glance.shape != shape {
                (shape, since) = (glance.shape, now);
            }
            if glance.ready && loaded.is_none() {
                loaded = Some(now);
            }
            let still = now.duration_since(since) >= limits.quiet && proxy.quiet() >= limits.quiet;
            if glance.ready && still {
                return Ok((glance, true));
            }
            // A page that never finishes loading is read as it stands, a little before the deadline.
            let over = loaded.is_some_and(|at| now.duration_since(at) >= most)
                || left(self.deadline) < limits.total / 5;
            if over {
                return Ok((glance, false));
            }
            sleep(LOOK).await;
        }
    }

    async fn glance(&self) -> Result<Glance, CdpError> {
        let seen = self.evaluate(GLANCE).await?;
        let number = |key: &str| seen[key].as_f64().unwrap_or(0.0) as u64;
        Ok(Glance {
            ready: seen["ready"] == "complete",
            url: seen["url"].as_str().unwrap_or_default().to_owned(),
            shape: (number("size"), number("text")),
            height: number("height"),
            at: number("at") + 1,
            content_type: seen["type"].as_str().unwrap_or_default().to_owned(),
            status: u16::try_from(number("status")).unwrap_or(0),
        })
    }

    /// Evaluates in a world of our own. A page that is just leaving has none: tries again on the next one.
    async fn evaluate(&self, expression: &str) -> Result<Value, CdpError> {
        loop {
            let world = json!({ "frameId": self.frame, "worldName": "reader" });
            let done = match self.call("Page.createIsolatedWorld", world).await {
                Ok(world) => {
                    let ask = json!({
                        "expression": expression,
                        "contextId": world["executionContextId"],
                        "returnByValue": true,
                    });
                    self.call("Runtime.evaluate", ask).await
                }
                Err(e) => Err(e),
            };
            match done {
                Ok(mut result) if result.get("exceptionDetails").is_none() => {
                    return Ok(result["result"]["value"].take());
                }
                Ok(_) => return Ok(Value::Null),
                Err(CdpError::Refused(..)) if !left(self.deadline).is_zero() => sleep(LOOK).await,
                Err(e) => return Err(e),
            }
        }
    }

    /// Where the page ended up, if that is a page.
    fn arrived(&self, glance: Glance, url: &Url, proxy: &Proxy) -> Result<Glance, Failure> {
        let here = Url::parse(&glance.url).ok();
        let refused = proxy.refused();
        // A script took the page to an address that the proxy refused.
        let blocked = here.as_ref().is_some_and(|here| {
            glance.status == 403
                && refused.iter().any(|r| {
                    let asked = Url::parse(&r.target).ok();
                    asked.is_some_and(|a| {
                        a.host() == here.host()
                            && a.port_or_known_default() == here.port_or_known_default()
                    })
                })
        });
        if blocked || glance.url.starts_with("chrome-error:") {
            return Err(not_reached(
                here.as_ref().unwrap_or(url),
                "the page left for an address that cannot be reached",
                proxy,
            ));
        }
        Ok(glance)
    }
}

fn left(deadline: Instant) -> Duration {
    deadline.saturating_duration_since(Instant::now())
}

fn failed(url: &Url, limits: &BrowserLimits, error: &CdpError) -> Failure {
    match error {
        CdpError::Slow(_) => Failure::new(
            FailureCode::Timeout,
            format!(
                "the browser did not read {url} within {:?}\nhint: a script of the page may never end; try `--backend http`",
                limits.total
            ),
        ),
        CdpError::Gone | CdpError::Refused(..) => Failure::new(
            FailureCode::NetworkError,
            format!("the browser broke off while reading {url}: {error}\nhint: try again"),
        ),
    }
}

/// Why a navigation ended nowhere, by the proxy's own words where it refused.
fn not_reached(url: &Url, why: &str, proxy: &Proxy) -> Failure {
    let refused = proxy.refused();
    let is = |code: FailureCode| refused.iter().any(|r| r.code == code.as_str());
    let code = if is(FailureCode::PrivateUrlBlocked) {
        FailureCode::PrivateUrlBlocked
    } else if is(FailureCode::DnsError) {
        FailureCode::DnsError
    } else if why.contains("CERT") || why.contains("SSL") {
        FailureCode::TlsError
    } else if why.contains("TOO_MANY_REDIRECTS") {
        FailureCode::RedirectLoop
    } else if why.contains("TIMED_OUT") {
        FailureCode::Timeout
    } else if why.contains("ABORTED") {
        // What the browser would store as a file.
        FailureCode::UnsupportedContentType
    } else {
        FailureCode::NetworkError
    };
    Failure::new(
        code,
        format!("the browser could not open {url}: {why}\nhint: try `--backend http`"),
    )
}
