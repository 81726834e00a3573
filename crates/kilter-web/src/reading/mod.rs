//! One page from its URL to a typed result: the one entry of every command and every tool that reads.
//!
//! A [`Reader`] holds what the operator allows; a [`Request`] what a caller asks of one page. [`Reader::read`] goes
//! through the pipeline (acquire, decode, tree, content, blocks, sections, focus, judgement, receipt) and gives a
//! [`Done`]: a [`Reading`], or a [`Failure`] with every try on the way. [`Reading::reply`] is what is sent: JSON that
//! never has more tokens than asked.

mod make;
pub mod operator;
mod reply;
mod sections;

use std::sync::Arc;
use std::time::Duration;

use kilter_core::Clock;
use serde_json::Value;
use url::Url;

use crate::acquire::GetOptions;
use crate::again::{Materials, matches, materialization_key};
use crate::failure::{Failure, FailureCode};
use crate::focus::{Focus, FocusStatus, Wanted};
use crate::format::{Format, sniff};
use crate::judge::Judgement;
use crate::open::{Attempt, Backend, Opened, Opener, Reached};
use crate::page::{Link, Page};
use crate::playbook::Playbook;
use crate::receipt::{self, Asked, KeyStore, anchor};
pub use operator::Operator;
pub use reply::{Beside, LONGEST_BLOCK, MOST_BLOCKS, MOST_LINKS, failed};

/// Smallest bound of a reply, in tokens (contract of the tools).
pub const MAX_TOKENS_MIN: u32 = 128;

/// Name and version of the program, as receipts give it.
pub const TOOLCHAIN: &str = concat!("kilter/", env!("CARGO_PKG_VERSION"));

/// Bytes of a file that is read: what is here already may be longer than what is fetched.
pub const FILE_MAX: usize = 32 << 20;

/// What is asked of one page. The default asks for the whole page and nothing else.
#[derive(Debug, Clone, Default)]
pub struct Request {
    /// Absolute http or https URL. Its fragment is never sent: it is a hint for the focus.
    pub url: String,
    /// Who fetches; absent: what the playbook prefers, else HTTP and then a browser.
    pub backend: Option<Backend>,
    /// What the caller wants to know.
    pub focus: Option<String>,
    /// Keep only the sections that answer `focus`; a page that answers nowhere is kept whole.
    pub prune: bool,
    /// Keep only the sections under headings with these words; none found: `content_selectors_miss`.
    pub sections: Vec<String>,
    /// Bound of the reply in tokens, [`MAX_TOKENS_MIN`] or more. [`Reading::reply`] keeps to it.
    pub max_tokens: Option<u32>,
    /// Content hash of an earlier read, with or without `sha256:`.
    pub if_none_match: Option<String>,
    /// The playbook that holds for the URL. Where its selectors find nothing, the page is read without them.
    pub playbook: Option<Playbook>,
    /// CSS selectors of the content, instead of the choice.
    pub selectors: Vec<String>,
    /// Keep text that a reader of the page cannot see.
    pub keep_hidden: bool,
    /// Name of the session profile whose headers are in `get`; never its values.
    pub session_profile: Option<String>,
    /// Headers of a session profile, and the validators of an earlier read.
    pub get: GetOptions,
    /// Sign a receipt; needs a reader with keys.
    pub receipt: bool,
}

impl Request {
    /// A request for a URL and nothing else.
    pub fn new(url: impl Into<String>) -> Self {
        Self {
            url: url.into(),
            ..Self::default()
        }
    }

    /// Checks the arguments; the URL is judged where it is asked.
    ///
    /// # Errors
    /// `invalid_arguments` for a bound under [`MAX_TOKENS_MIN`].
    pub fn check(&self) -> Result<(), Failure> {
        match self.max_tokens {
            Some(max) if max < MAX_TOKENS_MIN => Err(Failure::new(
                FailureCode::InvalidArguments,
                format!("`max_tokens` is {max}; the smallest is {MAX_TOKENS_MIN}"),
            )
            .then("stop", "the same arguments will fail again")),
            _ => Ok(()),
        }
    }

    /// Who fetches in the end.
    pub fn policy(&self) -> Backend {
        let preferred = || {
            let routing = &self.playbook.as_ref()?.routing;
            routing.preferred_backend.as_deref()?.parse().ok()
        };
        self.backend.or_else(preferred).unwrap_or_default()
    }

    fn wanted(&self, url: Option<&Url>) -> Wanted {
        Wanted {
            question: self.focus.clone(),
            fragment: url.and_then(|u| u.fragment().map(str::to_owned)),
        }
    }

    /// The key under which this request's content hashes mean something. `playbook`: the one that was applied.
    fn key(&self, playbook: Option<(String, String)>, fragment: Option<&str>) -> String {
        let focus = [self.focus.as_deref(), fragment];
        let focus: Vec<&str> = focus.into_iter().flatten().collect();
        let mut switches = Vec::new();
        if self.prune {
            switches.push("fit_markdown".to_owned());
        }
        if self.keep_hidden {
            switches.push("keep_hidden".to_owned());
        }
        switches.extend(self.selectors.iter().map(|s| format!("select:{s}")));
        materialization_key(&Materials {
            url: self.url.clone(),
            backend_policy: self.policy().as_str().to_owned(),
            playbook,
            session_profile: self.session_profile.clone(),
            max_tokens: self.max_tokens,
            focus: (!focus.is_empty()).then(|| focus.join("\n#")),
            sections: self.sections.clone(),
            translate_to: None,
            switches,
        })
    }
}

/// A page whose bytes are here already.
#[derive(Debug, Clone, Default)]
pub struct Bytes {
    /// The bytes as they were served or stored.
    pub bytes: Vec<u8>,
    /// What they are, where that is known; absent: found out from `name` and the bytes.
    pub format: Option<Format>,
    /// Name of the file, for its ending.
    pub name: String,
    /// Where they came from: what relative links are relative to.
    pub base: Option<Url>,
}

/// A page that was read.
#[derive(Debug, Clone)]
pub struct Reading {
    /// As asked, without user and password. Of a file without an address: its name.
    pub url: String,
    /// After all redirects.
    pub final_url: String,
    /// Status of the last answer; 0 for a file.
    pub status: u16,
    /// What it is.
    pub format: Format,
    /// What read it: `http`, `browser`, `file`.
    pub backend: &'static str,
    /// The page, after `sections` and `prune`: its Markdown, blocks, leaves and hash agree.
    pub page: Page,
    /// `sha256:` and the hex digest of `page.markdown`. A reply that a budget has cut is a part of what it stands for.
    pub content_hash: String,
    /// The key under which the hash means something.
    pub materialization_key: String,
    /// Whether the hash is the one of `if_none_match`.
    pub unchanged: bool,
    /// What was looked for.
    pub wanted: Wanted,
    /// The page's blocks in the light of that.
    pub focus: Focus,
    /// How well the whole page answered, before it was pruned.
    pub answered: FocusStatus,
    /// Whether the blocks are all that the page has: no limit cut the tree, nothing was pruned.
    pub complete: bool,
    /// Whether the page is open, and how good the extraction is; absent for what is no HTML.
    pub judgement: Option<Judgement>,
    /// Identifier and version of the playbook, only where it was applied.
    pub playbook: Option<(String, String)>,
    /// `ETag` and `Last-Modified`, for the next read.
    pub validators: (Option<String>, Option<String>),
    /// What the caller may want to know: `page_not_settled`, `playbook_selectors_miss`, `focus_not_found`, …
    pub warnings: Vec<String>,
    /// The signed receipt, where one was asked for.
    pub receipt: Option<Value>,
    /// Every try in order; one where nothing went wrong.
    pub attempts: Vec<Attempt>,
    /// How long it took.
    pub took: Duration,
}

impl Reading {
    /// Leaves of the blocks, in order, as the receipt commits to them.
    pub fn leaves(&self) -> Vec<crate::hash::Digest32> {
        receipt::leaves(&self.page.blocks)
    }

    /// Links of the content to other pages, each target once, in the order of the page.
    pub fn links(&self) -> Vec<&Link> {
        let bare = |u: &str| u.split('#').next().unwrap_or_default().to_owned();
        let mut seen = std::collections::HashSet::from([bare(&self.final_url), bare(&self.url)]);
        let links = self.page.blocks.iter().flat_map(|b| &b.links);
        links
            .filter(|l| l.href.starts_with("http://") || l.href.starts_with("https://"))
            .filter(|l| seen.insert(bare(&l.href)))
            .collect()
    }
}

/// How a read ended.
#[derive(Debug, Clone)]
pub struct Done {
    /// The page, or why its content is unknown.
    pub outcome: Result<Reading, Failure>,
    /// Every try in order.
    pub attempts: Vec<Attempt>,
    /// The signed receipt of a failure that proves that the page cannot be had.
    pub receipt: Option<Value>,
    /// How long it took.
    pub took: Duration,
}

/// Reads pages. Cheap to clone; clones share one browser.
#[derive(Clone)]
pub struct Reader {
    opener: Opener,
    keys: Option<KeyStore>,
    clock: Arc<dyn Clock>,
    authority: Option<(String, Duration)>,
}

impl Reader {
    /// A reader; `keys`: what receipts are signed with, absent where they are off.
    pub fn new(opener: Opener, keys: Option<KeyStore>, clock: Arc<dyn Clock>) -> Self {
        Self {
            opener,
            keys,
            clock,
            authority: None,
        }
    }

    /// Shows every receipt to a time-stamping authority, and waits for it so long. A receipt without its word is a receipt
    /// all the same: a warning says so.
    #[must_use]
    pub fn anchored_by(mut self, url: &str, limit: Duration) -> Self {
        self.authority = Some((url.to_owned(), limit));
        self
    }

    /// What it opens URLs with.
    pub fn opener(&self) -> &Opener {
        &self.opener
    }

    /// The time it reads by.
    pub fn clock(&self) -> &dyn Clock {
        &*self.clock
    }

    /// What receipts are signed with; absent where they are off.
    pub fn keys(&self) -> Option<&KeyStore> {
        self.keys.as_ref()
    }

    /// Reads a URL. Dropping the future ends the read: nothing of it goes on.
    pub async fn read(&self, request: &Request) -> Done {
        let start = self.clock.elapsed();
        if let Err(refused) = request.check() {
            return self.failed(request, refused, Vec::new(), start);
        }
        let plan = Arc::new(request.clone());
        let convert = |opened: Opened| {
            let plan = plan.clone();
            apart(move || make::page(opened, &plan))
        };
        let Reached { outcome, attempts } = self
            .opener
            .reach(
                &request.url,
                request.policy(),
                &request.get,
                self.clock(),
                convert,
            )
            .await;
        let done = match outcome {
            Ok(made) => self.read_as(request, made, attempts, start),
            Err(failure) => self.failed(request, failure, attempts, start),
        };
        self.anchored(done).await
    }

    /// Reads bytes that are here already; `request.url` is not asked.
    pub async fn read_bytes(&self, source: Bytes, request: &Request) -> Done {
        let start = self.clock.elapsed();
        let made = match request.check() {
            Ok(()) => self.made_of_bytes(source, request).await,
            Err(refused) => Err(refused),
        };
        let done = match made {
            Ok(made) => self.read_as(request, made, Vec::new(), start),
            Err(failure) => self.failed(request, failure, Vec::new(), start),
        };
        self.anchored(done).await
    }

    /// Shows the receipt to the authority, where there is one.
    async fn anchored(&self, mut done: Done) -> Done {
        let Some((url, limit)) = &self.authority else {
            return done;
        };
        let client = &self.opener.client;
        match &mut done.outcome {
            Ok(reading) => {
                if let Some(receipt) = &mut reading.receipt
                    && let Err(e) = anchor::attach(receipt, client, url, *limit).await
                {
                    let warning = format!("time_anchor_missing: {}", e.code.as_str());
                    reading.warnings.push(warning);
                }
            }
            // What proves a closed door is as good without a time.
            Err(_) => {
                if let Some(receipt) = &mut done.receipt {
                    let _ = anchor::attach(receipt, client, url, *limit).await;
                }
            }
        }
        done
    }

    async fn made_of_bytes(&self, source: Bytes, request: &Request) -> Result<make::Made, Failure> {
        let Bytes {
            bytes,
            format,
            name,
            base,
        } = source;
        if bytes.len() > FILE_MAX {
            return Err(Failure::new(
                FailureCode::ResponseTooLarge,
                format!(
                    "`{name}` has {} bytes; files of up to {FILE_MAX} are read\nhint: cut it at a heading",
                    bytes.len()
                ),
            )
            .then("stop", "the file is too large"));
        }
        let format = match format {
            Some(format) => format,
            None => sniff::of_file(&name, &bytes)?,
        };
        let body = self
            .opener
            .body(format, &bytes, None, base.as_ref())
            .await?;
        drop(bytes);
        let plan = request.clone();
        apart(move || make::of_body(make::Found::file(name, format, base), body, &plan)).await
    }

    fn read_as(
        &self,
        request: &Request,
        made: make::Made,
        attempts: Vec<Attempt>,
        start: Duration,
    ) -> Done {
        let took = self.clock.elapsed().saturating_sub(start);
        let hash = crate::hash::content_hash(&made.page.markdown);
        let before = request.if_none_match.as_deref();
        let mut reading = Reading {
            url: made.found.url,
            final_url: made.found.final_url,
            status: made.found.status,
            format: made.found.format,
            backend: made.found.backend,
            unchanged: before.is_some_and(|b| matches(b, &made.page.markdown)),
            content_hash: hash,
            materialization_key: request
                .key(made.playbook.clone(), made.wanted.fragment.as_deref()),
            page: made.page,
            wanted: made.wanted,
            focus: made.focus,
            answered: made.answered,
            complete: made.complete,
            judgement: made.judgement,
            playbook: made.playbook,
            validators: made.found.validators,
            warnings: made.warnings,
            receipt: None,
            attempts: attempts.clone(),
            took,
        };
        if request.receipt && self.keys.is_some() {
            match self.sign(request, &reading) {
                Ok(receipt) => reading.receipt = Some(receipt),
                Err(failure) => {
                    reading
                        .warnings
                        .push(format!("receipt_not_signed: {}", failure.message));
                }
            }
        }
        Done {
            outcome: Ok(reading),
            attempts,
            receipt: None,
            took,
        }
    }

    /// Signs what was read.
    ///
    /// # Errors
    /// `invalid_receipt` when receipts are off or the key cannot be used.
    pub fn sign(&self, request: &Request, reading: &Reading) -> Result<Value, Failure> {
        let seen = receipt::Read {
            url: reading.url.clone(),
            final_url: reading.final_url.clone(),
            backend: reading.backend.to_owned(),
            playbook: reading.playbook.clone(),
            ..self.seen(request)
        };
        let content = receipt::Content {
            content_hash: reading.content_hash.clone(),
            leaves: Some(reading.leaves()),
            leaf_set_complete: reading.complete,
            tokens: None,
            confidence: reading.judgement.as_ref().map(|j| j.quality.score),
        };
        let key = self.key()?;
        receipt::extraction(&seen, &content, &key).map_err(not_signed)
    }

    fn key(&self) -> Result<receipt::Signer, Failure> {
        let Some(keys) = &self.keys else {
            return Err(not_signed(receipt::StoreError::Off));
        };
        keys.signer().map_err(not_signed)
    }

    /// What a receipt says of every read.
    fn seen(&self, request: &Request) -> receipt::Read {
        receipt::Read {
            url: request.url.clone(),
            final_url: request.url.clone(),
            backend: request.policy().as_str().to_owned(),
            at: self.clock.now(),
            toolchain: TOOLCHAIN.to_owned(),
            playbook: None,
            asked: Asked {
                backend_policy: Some(request.policy().as_str().to_owned()),
                max_tokens: request.max_tokens,
                focus: request.focus.clone(),
                sections: request.sections.clone(),
                session_profile: request.session_profile.clone(),
            },
        }
    }

    fn failed(
        &self,
        request: &Request,
        failure: Failure,
        attempts: Vec<Attempt>,
        start: Duration,
    ) -> Done {
        let mut receipt = None;
        if request.receipt && receipt::provable(failure.code) {
            let seen = self.seen(request);
            receipt = self
                .key()
                .ok()
                .and_then(|key| receipt::negative(&seen, &failure, &key).ok().flatten());
        }
        Done {
            outcome: Err(failure),
            attempts,
            receipt,
            took: self.clock.elapsed().saturating_sub(start),
        }
    }
}

fn not_signed(why: impl std::fmt::Display) -> Failure {
    Failure::new(FailureCode::InvalidReceipt, format!("not signed: {why}"))
}

/// Work that holds a processor, away from the threads that serve everybody; a panic in it is a failure of the page.
async fn apart<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, Failure> + Send + 'static,
) -> Result<T, Failure> {
    match tokio::task::spawn_blocking(work).await {
        Ok(done) => done,
        Err(_) => Err(Failure::new(
            FailureCode::ExtractionFailed,
            "the reader gave up on the page\nhint: this is a bug of ours; report the page",
        )),
    }
}
