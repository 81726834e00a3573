//! Reading with a real browser: for pages that scripts build.
//!
//! One browser process, started on first use. Each read has a context of its own (no cookie, no cache, no storage of another
//! read) behind a [`proxy`] of its own, which is the address policy: request filters inside the browser let WebSockets and
//! popups past. The page's content security policy holds; nothing is clicked; the tree is read from an isolated world, so
//! that the page cannot see or change the reader's code.

mod cdp;
pub mod find;
mod launch;
pub mod proxy;
mod state;
mod visit;

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::{Mutex, Semaphore};
use url::Url;

use crate::acquire::{Client, ExtraHeaders};
use crate::failure::{Failure, FailureCode};
pub use proxy::{Proxy, Refused, Traffic};
pub use state::{BrowserState, Guest};

/// What a read through a browser may cost.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BrowserLimits {
    /// From the start to the tree in hand.
    pub total: Duration,
    /// After the page has loaded, for what its scripts still fetch.
    pub settle: Duration,
    /// Without a byte and without a change of the tree for so long, a page has settled.
    pub quiet: Duration,
    /// Screens that are scrolled for pages that load as one goes.
    pub scrolls: u32,
    /// Characters of the tree's HTML.
    pub html: usize,
    /// On the network.
    pub traffic: Traffic,
}

impl Default for BrowserLimits {
    fn default() -> Self {
        Self {
            total: Duration::from_secs(45),
            settle: Duration::from_secs(8),
            quiet: Duration::from_millis(500),
            scrolls: 8,
            html: 8 << 20,
            traffic: Traffic::default(),
        }
    }
}

/// A page as the browser holds it.
#[derive(Debug, Clone, PartialEq)]
pub struct Rendered {
    /// As asked.
    pub requested: Url,
    /// Where the browser ended up.
    pub url: Url,
    /// Status of the document.
    pub status: u16,
    /// Its type as the browser took it.
    pub content_type: String,
    /// The tree as HTML; shadow roots stand in it as `<template shadowrootmode>`.
    pub html: String,
    /// Whether the page came to rest within the limit.
    pub settled: bool,
    /// Screens scrolled.
    pub scrolls: u32,
    /// Whether there was more to scroll.
    pub scroll_capped: bool,
    /// Connections that the address policy refused.
    pub refused: Vec<Refused>,
    /// Bytes on the network.
    pub bytes: u64,
}

/// A browser for reading. Clones share it.
#[derive(Clone)]
pub struct Browser {
    client: Client,
    limits: BrowserLimits,
    program: Option<PathBuf>,
    flags: Vec<String>,
    running: Arc<Mutex<Option<Arc<launch::Running>>>>,
    slots: Arc<Semaphore>,
}

/// Pages that are open at the same time.
const SLOTS: usize = 2;

impl Browser {
    /// A browser that goes out as `client` would. Nothing is started yet.
    pub fn new(client: Client, limits: BrowserLimits) -> Self {
        Self::with_program(client, limits, find::browser())
    }

    /// The same with a given program; `None` is a machine without a browser.
    pub fn with_program(client: Client, limits: BrowserLimits, program: Option<PathBuf>) -> Self {
        Self {
            client,
            limits,
            program,
            flags: Vec::new(),
            running: Arc::default(),
            slots: Arc::new(Semaphore::new(SLOTS)),
        }
    }

    /// Adds flags for the browser. They come last and can weaken what this module relies on: the operator's, never a page's.
    #[must_use]
    pub fn with_flags(mut self, flags: impl IntoIterator<Item = String>) -> Self {
        self.flags.extend(flags);
        self
    }

    /// Whether there is one.
    pub fn available(&self) -> bool {
        self.program.is_some() && cfg!(unix)
    }

    /// Reads a URL as nobody.
    ///
    /// # Errors
    /// `browser_required` without a browser, and the codes of acquisition.
    pub async fn read(&self, url: &str) -> Result<Rendered, Failure> {
        let (headers, state) = (ExtraHeaders::default(), BrowserState::default());
        let nobody = Guest {
            headers: &headers,
            state: &state,
        };
        self.read_as(url, &nobody).await
    }

    /// Reads a URL with what a session brings; the next read brings nothing of it.
    ///
    /// # Errors
    /// As [`Browser::read`].
    pub async fn read_as(&self, url: &str, guest: &Guest<'_>) -> Result<Rendered, Failure> {
        let (url, target) = self.client.policy().parse(url)?;
        // Refused here with its own word, before anything is started.
        crate::acquire::dial::pin(self.client.policy(), self.client.resolver(), &target).await?;
        let Some(program) = self.program.as_deref().filter(|_| cfg!(unix)) else {
            return Err(find::required());
        };
        let Ok(_slot) = self.slots.acquire().await else {
            return Err(Failure::new(
                FailureCode::NetworkError,
                "the reader is shutting down",
            ));
        };
        let running = {
            let mut held = self.running.lock().await;
            match held.as_ref().filter(|r| !r.cdp.gone()) {
                Some(running) => running.clone(),
                None => {
                    let running = Arc::new(launch::launch(program, &self.flags).await?);
                    *held = Some(running.clone());
                    running
                }
            }
        };
        let read = visit::visit(&running.cdp, &self.client, &self.limits, &url, guest).await;
        if read.as_ref().is_err_and(|e| e.code == FailureCode::Timeout) {
            // A script that never ends can hold its process: the next read starts with a new browser.
            let mut held = self.running.lock().await;
            if held.as_ref().is_some_and(|r| Arc::ptr_eq(r, &running)) {
                *held = None;
            }
        }
        read
    }
}
