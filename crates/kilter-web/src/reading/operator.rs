//! What the operator of this installation allows, from variables of the environment: never from a parameter of a tool.
//!
//! Every name begins with `KILTER_`; the older `OCCAM_` is read where that is not set.

use std::time::Duration;

use crate::acquire::{Client, Limits, Pace, Settings};
use crate::address::{AddressPolicy, OwnOrigin};
use crate::browser::{Browser, BrowserLimits};
use crate::failure::{Failure, FailureCode};
use crate::format::pdf::PdfChild;
use crate::open::Opener;
use crate::robots::gate::RobotsGate;

/// What is allowed, and what one read may cost.
#[derive(Debug, Clone, Default)]
pub struct Operator {
    /// `ALLOW_PRIVATE_URLS`: addresses that are not on the public internet may be read.
    pub allow_private: bool,
    /// `RESPECT_ROBOTS`: `robots.txt` is asked for pages that somebody asked for by name, too.
    pub robots: bool,
    /// `RECEIPTS`: whether reads are signed where a command does not say; absent: what the command does.
    pub receipts: Option<bool>,
    /// `HOST_THROTTLE_MS`: pause between two requests to one host.
    pub throttle: Duration,
    /// `FETCH_TIMEOUT_MS`, `MAX_RESPONSE_BYTES`, `MAX_PDF_BYTES`.
    pub limits: Limits,
    /// `BROWSER_TIMEOUT_MS`.
    pub browser: BrowserLimits,
}

impl Operator {
    /// Reads the variables through `get`.
    ///
    /// # Errors
    /// `invalid_arguments` for a value that is none, with the variable's name.
    pub fn from_env(get: impl Fn(&str) -> Option<String>) -> Result<Self, Failure> {
        let vars = Vars(&get);
        let mut operator = Self {
            allow_private: vars.switch("ALLOW_PRIVATE_URLS")?.unwrap_or_default(),
            robots: vars.switch("RESPECT_ROBOTS")?.unwrap_or_default(),
            receipts: vars.switch("RECEIPTS")?,
            ..Self::default()
        };
        if let Some(ms) = vars.number("HOST_THROTTLE_MS", 0, 600_000)? {
            operator.throttle = Duration::from_millis(ms);
        }
        if let Some(ms) = vars.number("FETCH_TIMEOUT_MS", 100, 120_000)? {
            operator.limits.total = Duration::from_millis(ms);
            operator.limits.connect = operator.limits.connect.min(operator.limits.total);
        }
        if let Some(ms) = vars.number("BROWSER_TIMEOUT_MS", 1_000, 180_000)? {
            operator.browser.total = Duration::from_millis(ms);
        }
        let bytes = |n: u64| usize::try_from(n).unwrap_or(usize::MAX);
        if let Some(n) = vars.number("MAX_RESPONSE_BYTES", 64 << 10, 16 << 20)? {
            operator.limits.body = bytes(n);
        }
        if let Some(n) = vars.number("MAX_PDF_BYTES", 64 << 10, 128 << 20)? {
            operator.limits.pdf = bytes(n);
        }
        Ok(operator)
    }

    /// The address policy, with the pages that this program serves itself.
    pub fn policy(&self, own: impl IntoIterator<Item = OwnOrigin>) -> AddressPolicy {
        let policy = if self.allow_private {
            AddressPolicy::public().allow_private()
        } else {
            AddressPolicy::public()
        };
        own.into_iter().fold(policy, AddressPolicy::with_own_origin)
    }

    /// What opens URLs. `pdf`: the process that reads PDFs; without it they are refused.
    ///
    /// # Errors
    /// `tls_error` when the crypto library cannot be set up.
    pub fn opener(
        &self,
        pdf: Option<PdfChild>,
        own: impl IntoIterator<Item = OwnOrigin>,
    ) -> Result<Opener, Failure> {
        let client = Client::new(Settings {
            policy: self.policy(own),
            limits: self.limits,
            pace: Pace::every(self.throttle),
            ..Settings::default()
        })?;
        Ok(Opener {
            browser: Browser::new(client.clone(), self.browser),
            client,
            pdf,
            robots: self.robots.then(RobotsGate::default),
        })
    }
}

struct Vars<'a>(&'a dyn Fn(&str) -> Option<String>);

impl Vars<'_> {
    /// The variable with its full name, where it is set and not empty.
    fn get(&self, name: &str) -> Option<(String, String)> {
        ["KILTER_", "OCCAM_"].iter().find_map(|prefix| {
            let name = format!("{prefix}{name}");
            let value = self.0(&name)?.trim().to_owned();
            (!value.is_empty()).then_some((name, value))
        })
    }

    fn switch(&self, name: &str) -> Result<Option<bool>, Failure> {
        let Some((name, value)) = self.get(name) else {
            return Ok(None);
        };
        match value.to_ascii_lowercase().as_str() {
            "1" | "true" | "yes" | "on" => Ok(Some(true)),
            "0" | "false" | "no" | "off" => Ok(Some(false)),
            _ => Err(wrong(&name, &value, "`1` or `0`")),
        }
    }

    fn number(&self, name: &str, from: u64, to: u64) -> Result<Option<u64>, Failure> {
        let Some((name, value)) = self.get(name) else {
            return Ok(None);
        };
        match value.parse() {
            Ok(n) if (from..=to).contains(&n) => Ok(Some(n)),
            _ => Err(wrong(
                &name,
                &value,
                &format!("a number from {from} to {to}"),
            )),
        }
    }
}

fn wrong(name: &str, value: &str, is: &str) -> Failure {
    let value: String = value.chars().take(40).collect();
    Failure::new(
        FailureCode::InvalidArguments,
        format!("`{name}` is `{value}`\nhint: it is {is}"),
    )
    .then("stop", "the operator's settings are wrong")
}
