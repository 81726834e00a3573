//! From a URL to something that can be read, by HTTP, by a browser, or by one after the other.
//!
//! The ladder of `http_then_browser`: HTTP first; where that gives no usable page and a browser might, the browser; where
//! both fail, the failure that says more.

use std::time::Duration;

use kilter_core::Clock;
use serde::Serialize;
use url::Url;

use crate::acquire::{self, Client, Fetched, GetOptions};
use crate::browser::{Browser, Guest, Rendered};
use crate::decode;
use crate::dom::Document;
use crate::failure::{Failure, FailureCode};
use crate::format::pdf::PdfChild;
use crate::format::{Format, sniff, to_page};
use crate::judge::{Response, Tree, gather, informative, judge};
use crate::page::{Page, ReadOptions};
use crate::read::{self, By, Judged};
use crate::robots::gate::RobotsGate;

/// Who fetches.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Backend {
    /// Plain HTTP.
    Http,
    /// A real browser.
    Browser,
    /// HTTP, and a browser where that does not do.
    #[default]
    HttpThenBrowser,
}

impl std::str::FromStr for Backend {
    type Err = Failure;

    fn from_str(word: &str) -> Result<Self, Failure> {
        match word.replace('-', "_").as_str() {
            "http" => Ok(Self::Http),
            "browser" => Ok(Self::Browser),
            "http_then_browser" | "auto" => Ok(Self::HttpThenBrowser),
            _ => Err(Failure::new(
                FailureCode::InvalidArguments,
                format!(
                    "`{}` is no backend\nhint: `http`, `browser`, `http_then_browser` or `auto`, which is the same",
                    word.chars().take(40).collect::<String>()
                ),
            )),
        }
    }
}

impl Backend {
    /// The word on the wire.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Http => "http",
            Self::Browser => "browser",
            Self::HttpThenBrowser => "http_then_browser",
        }
    }
}

/// What a body is.
#[derive(Debug, Clone, PartialEq)]
pub enum Body {
    /// A page of HTML as text: its content is still to be chosen.
    Html(String),
    /// Anything else, read already.
    Page(Box<Page>),
}

/// A body with where it came from.
#[derive(Debug, Clone, PartialEq)]
pub struct Opened {
    /// As asked.
    pub requested: Url,
    /// After all redirects.
    pub url: Url,
    /// Status of the last answer.
    pub status: u16,
    /// What it is.
    pub format: Format,
    /// Who fetched it: `http` or `browser`.
    pub backend: &'static str,
    /// `ETag` and `Last-Modified`, for the next read.
    pub validators: (Option<String>, Option<String>),
    /// The last answer as a judgement needs it; a browser tells no headers.
    pub response: Response,
    /// What kept the page from being all there: `page_not_settled`, `scroll_capped`, `requests_refused`.
    pub warnings: Vec<&'static str>,
    /// The body.
    pub body: Body,
}

impl Opened {
    /// The same answer, or the failure that its status means: the door that its page is, where it is one.
    ///
    /// # Errors
    /// `captcha_or_challenge`, `requires_login`, `paywall`, else `http_NNN`.
    pub fn accept(self) -> Result<Self, Failure> {
        let asks = self.response.header("www-authenticate").is_some();
        match acquire::refused(self.status, asks, &self.url) {
            Some(failure) => Err(self.door().unwrap_or(failure)),
            None => Ok(self),
        }
    }

    fn door(&self) -> Option<Failure> {
        use FailureCode as C;
        let Body::Html(html) = &self.body else {
            return None;
        };
        let tree = gather(&Document::parse(html));
        let browser = self.backend == "browser";
        let failure = judge(&self.response, &tree, &[], browser).failure?;
        let shut = matches!(
            failure.code,
            C::CaptchaOrChallenge | C::RequiresLogin | C::Paywall
        );
        shut.then_some(failure)
    }

    /// Reads it and judges it.
    ///
    /// # Errors
    /// Those of [`read::judged`].
    pub fn judged(&self, options: &ReadOptions) -> Result<Judged, Failure> {
        let by = match self.backend {
            "browser" => By::Browser,
            _ => By::Http,
        };
        match &self.body {
            Body::Html(html) => read::judged(&Document::parse(html), &self.response, options, by),
            Body::Page(page) => {
                let judgement = judge(&self.response, &Tree::default(), &page.blocks, false);
                match judgement.failure.clone() {
                    Some(failure) => Err(failure),
                    None => Ok(Judged {
                        page: Page::clone(page),
                        judgement,
                    }),
                }
            }
        }
    }
}

/// One try of a ladder.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Attempt {
    /// `http` or `browser`.
    pub backend: &'static str,
    /// Whether it gave a usable page.
    pub ok: bool,
    /// How long it took.
    pub latency_ms: u64,
    /// Why it did not.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub failure_code: Option<String>,
    /// Why this one was tried after another.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub escalation_reason: Option<String>,
}

/// A page and the tries that led to it.
#[derive(Debug)]
pub struct Reached<T> {
    /// The page, or why there is none.
    pub outcome: Result<T, Failure>,
    /// Every try in order.
    pub attempts: Vec<Attempt>,
}

/// Opens URLs.
#[derive(Clone)]
pub struct Opener {
    /// HTTP.
    pub client: Client,
    /// The browser.
    pub browser: Browser,
    /// How PDFs are read; without it they are `unsupported_content_type`.
    pub pdf: Option<PdfChild>,
    /// `robots.txt`, where it is asked.
    pub robots: Option<RobotsGate>,
}

impl Opener {
    /// Opens a URL and makes what the caller wants of an answer that is one. `convert` refuses what is of no use (a page
    /// without text), and a browser is tried then.
    pub async fn read<T>(
        &self,
        url: &str,
        backend: Backend,
        options: &GetOptions,
        clock: &dyn Clock,
        convert: impl Fn(Opened) -> Result<T, Failure>,
    ) -> Reached<T> {
        let convert = |opened: Opened| std::future::ready(opened.accept().and_then(&convert));
        self.reach(url, backend, options, clock, convert).await
    }

    /// The same for a `convert` that takes its time and looks at answers of any status.
    pub async fn reach<T, F>(
        &self,
        url: &str,
        backend: Backend,
        options: &GetOptions,
        clock: &dyn Clock,
        convert: impl Fn(Opened) -> F,
    ) -> Reached<T>
    where
        F: Future<Output = Result<T, Failure>>,
    {
        let mut attempts = Vec::new();
        if let Some(robots) = &self.robots
            && let Err(refused) = robots.check(&self.client, url).await
        {
            return Reached {
                outcome: Err(refused),
                attempts,
            };
        }
        let mut first = None;
        if backend != Backend::Browser {
            let start = clock.elapsed();
            let got = match self.http(url, options).await {
                Ok(opened) => convert(opened).await,
                Err(failure) => Err(failure),
            };
            attempts.push(attempt(
                "http",
                &got,
                clock.elapsed().saturating_sub(start),
                None,
            ));
            match got {
                Err(failure)
                    if backend == Backend::HttpThenBrowser && worth_a_browser(&failure) =>
                {
                    first = Some(failure)
                }
                outcome => return Reached { outcome, attempts },
            }
        }
        let start = clock.elapsed();
        let got = match self.rendered(url, options).await {
            Ok(opened) => convert(opened).await,
            Err(failure) => Err(failure),
        };
        let reason = first.as_ref().map(|f| f.code.as_str().into_owned());
        // Nothing was tried where there is no browser.
        let missing = got
            .as_ref()
            .is_err_and(|e| e.code == FailureCode::BrowserRequired);
        if !(missing && first.is_some()) {
            attempts.push(attempt(
                "browser",
                &got,
                clock.elapsed().saturating_sub(start),
                reason,
            ));
        }
        let outcome = match (first, got) {
            (Some(http), Err(browser)) => Err(more_telling(http, browser)),
            (_, got) => got,
        };
        Reached { outcome, attempts }
    }

    /// Opens a URL by HTTP. An answer of any status is one; see [`Opened::accept`].
    ///
    /// # Errors
    /// The codes of acquisition, `unsupported_content_type`, and those of the formats.
    pub async fn http(&self, url: &str, options: &GetOptions) -> Result<Opened, Failure> {
        let fetched = self.client.get(url, options).await?;
        let (format, body) = if fetched.status < 400 {
            let format = sniff::sniff(fetched.content_type(), &fetched.url, &fetched.body)?;
            (format, self.fetched(format, &fetched).await?)
        } else if sniff::looks_like_html(fetched.content_type(), &fetched.body) {
            (Format::Html, Body::Html(fetched.decode().text))
        } else {
            // What an error says in another format is no page and tells nothing about one.
            (Format::Html, Body::Html(String::new()))
        };
        Ok(Opened {
            requested: fetched.requested.clone(),
            validators: fetched.validators(),
            status: fetched.status,
            response: Response::of(&fetched),
            url: fetched.url,
            format,
            backend: "http",
            warnings: Vec::new(),
            body,
        })
    }

    async fn fetched(&self, format: Format, fetched: &Fetched) -> Result<Body, Failure> {
        let charset = fetched.content_type().and_then(decode::charset);
        self.body(
            format,
            &fetched.body,
            charset.as_deref(),
            Some(&fetched.url),
        )
        .await
    }

    /// Reads bytes that are here already: a file, or what somebody else fetched. `at` is where they came from.
    ///
    /// # Errors
    /// The codes of the formats.
    pub async fn body(
        &self,
        format: Format,
        bytes: &[u8],
        charset: Option<&str>,
        at: Option<&Url>,
    ) -> Result<Body, Failure> {
        let plain = || decode::plain(bytes, charset).text;
        let page = match format {
            Format::Html => return Ok(Body::Html(decode::html(bytes, charset).text)),
            Format::Markdown => to_page::markdown(&plain()),
            Format::Text => to_page::text(&plain()),
            Format::Json => to_page::json(&plain()),
            // Feeds state their encoding as XML does.
            Format::Feed => {
                let text = decode::html(bytes, charset).text;
                // Nothing is relative to a page without an address.
                match at.cloned().map_or_else(|| Url::parse("about:blank"), Ok) {
                    Ok(at) => to_page::feed(&text, &at),
                    Err(e) => Err(Failure::new(FailureCode::InvalidUrl, e.to_string())),
                }
            }
            Format::Pdf => match &self.pdf {
                Some(child) => to_page::pdf(&child.read(bytes).await?),
                None => Err(Failure::new(
                    FailureCode::UnsupportedContentType,
                    "PDFs are not read in this configuration",
                )),
            },
        };
        page.map(|p| Body::Page(Box::new(p)))
    }

    async fn rendered(&self, url: &str, options: &GetOptions) -> Result<Opened, Failure> {
        let guest = Guest {
            headers: &options.headers,
            state: &options.browser,
        };
        let read = self.browser.read_as(url, &guest).await?;
        if read.status < 400 {
            sniff::refuse_by_type(Some(&read.content_type), &read.url)?;
        }
        let mut warnings = Vec::new();
        for (so, word) in [
            (!read.settled, "page_not_settled"),
            (read.scroll_capped, "scroll_capped"),
            (!read.refused.is_empty(), "requests_refused"),
        ] {
            if so {
                warnings.push(word);
            }
        }
        let Rendered {
            requested,
            url,
            status,
            html,
            ..
        } = read;
        let (asked, ended) = (requested.to_string(), url.to_string());
        Ok(Opened {
            requested,
            url,
            status,
            format: Format::Html,
            backend: "browser",
            validators: (None, None),
            response: Response {
                status,
                requested: asked,
                final_url: ended,
                headers: Vec::new(),
            },
            warnings,
            body: Body::Html(html),
        })
    }
}

fn attempt<T>(
    backend: &'static str,
    got: &Result<T, Failure>,
    took: Duration,
    reason: Option<String>,
) -> Attempt {
    Attempt {
        backend,
        ok: got.is_ok(),
        latency_ms: u64::try_from(took.as_millis()).unwrap_or(u64::MAX),
        failure_code: got.as_ref().err().map(|e| e.code.as_str().into_owned()),
        escalation_reason: reason,
    }
}

/// Whether a browser could do better. It cannot revive a missing page, nor may it go where HTTP may not.
fn worth_a_browser(failure: &Failure) -> bool {
    use FailureCode as C;
    !matches!(
        failure.code,
        C::Http(404 | 410)
            | C::PrivateUrlBlocked
            | C::InvalidUrl
            | C::InvalidArguments
            | C::RobotsDisallowed
            | C::UnsupportedContentType
            | C::DnsError
            | C::ResponseTooLarge
            | C::ContentSelectorsMiss
            | C::InvalidSessionProfile
    )
}

/// Of two failures the one that says more; of two as good the browser's, which saw more.
fn more_telling(http: Failure, browser: Failure) -> Failure {
    // What mends the read is said with whatever failed first.
    if browser.code == FailureCode::BrowserRequired {
        let mut http = http;
        http.fix = browser.fix;
        if let Some(hint) = browser.message.split_once("hint: ").map(|(_, hint)| hint) {
            http.message = format!(
                "{}\nhint: a browser may do better: {hint}",
                http.message.split("\nhint: ").next().unwrap_or_default()
            );
        }
        return http;
    }
    if informative(http.code) > informative(browser.code) {
        http
    } else {
        browser
    }
}
