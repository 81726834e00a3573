//! Reading with a real Chromium: what scripts build, what may not be reached, what never ends.

mod channels;
mod pages;

use std::time::Duration;

use kilter_web::acquire::Client;
use kilter_web::browser::{Browser, BrowserLimits};

/// A browser for a test, or nothing where none is installed: the test says by name that it was left out.
pub(crate) fn browser(test: &str, client: Client, limits: BrowserLimits) -> Option<Browser> {
    let browser = Browser::new(client, limits);
    if !browser.available() {
        eprintln!("left out: {test} needs Chromium (`apt-get install -y chromium`)");
        return None;
    }
    Some(browser)
}

/// Limits for pages that come to rest at once.
pub(crate) fn quick() -> BrowserLimits {
    BrowserLimits {
        total: Duration::from_secs(60),
        settle: Duration::from_secs(6),
        ..BrowserLimits::default()
    }
}
