//! What the operator of this installation allows, from variables of the environment: never from a parameter of a tool.
//!
//! Every name begins with `KILTER_`; the older `OCCAM_` is read where that is not set.

use std::sync::Arc;
use std::time::Duration;

use kilter_core::Clock;

use super::Reader;
use crate::acquire::{Client, Limits, Pace, Settings};
use crate::address::{AddressPolicy, OwnOrigin};
use crate::browser::{Browser, BrowserLimits};
use crate::claim::ChatJudge;
use crate::failure::{Failure, FailureCode};
use crate::format::pdf::PdfChild;
use crate::open::Opener;
use crate::receipt::{KeyStore, anchor};
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
    /// `TSA_URL` where `TIME_ANCHOR` is on: the time-stamping authority that signed receipts are shown to.
    pub time_authority: Option<String>,
    /// `JUDGE_URL`, `JUDGE_MODEL`, `JUDGE_API_KEY`: the model that claims may be shown to.
    pub judge: Option<JudgeSettings>,
    /// `TSA_TIMEOUT_MS`: how long it is waited for; absent: [`anchor::TIMEOUT`].
    pub time_limit: Option<Duration>,
}

/// Where a judge of claims is asked. Debug output never holds the key.
#[derive(Clone, PartialEq, Eq)]
pub struct JudgeSettings {
    /// Base URL of its API, `http://127.0.0.1:8080/v1`.
    pub url: String,
    /// The model field of its requests.
    pub model: String,
    /// Its bearer, if it wants one.
    pub key: Option<String>,
}

impl std::fmt::Debug for JudgeSettings {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "JudgeSettings({} at {})", self.model, self.url)
    }
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
        operator.time_authority = vars.authority()?;
        operator.time_limit = vars
            .number("TSA_TIMEOUT_MS", 100, 30_000)?
            .map(Duration::from_millis);
        operator.judge = vars.get("JUDGE_URL").map(|(_, url)| JudgeSettings {
            url,
            model: vars
                .value("JUDGE_MODEL")
                .unwrap_or_else(|| "default".to_owned()),
            key: vars.value("JUDGE_API_KEY"),
        });
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

    /// The judge of claims, where there is one. `client` reaches services of the operator, which may be private.
    ///
    /// # Errors
    /// `invalid_arguments` for an address that is none.
    pub fn claim_judge(&self, client: &Client) -> Result<Option<ChatJudge>, Failure> {
        let made =
            |j: &JudgeSettings| ChatJudge::new(client.clone(), &j.url, &j.model, j.key.as_deref());
        self.judge.as_ref().map(made).transpose()
    }

    /// What reads pages, and shows its receipts to the authority that the operator names.
    pub fn reader(&self, opener: Opener, keys: Option<KeyStore>, clock: Arc<dyn Clock>) -> Reader {
        let reader = Reader::new(opener, keys, clock);
        match &self.time_authority {
            Some(url) => reader.anchored_by(url, self.time_limit.unwrap_or(anchor::TIMEOUT)),
            None => reader,
        }
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

    fn value(&self, name: &str) -> Option<String> {
        self.get(name).map(|(_, value)| value)
    }

    /// The authority for times: asked for by a switch and named by an address, so that none is asked by chance.
    fn authority(&self) -> Result<Option<String>, Failure> {
        if self.switch("TIME_ANCHOR")? != Some(true) {
            return Ok(None);
        }
        match self.get("TSA_URL") {
            None => Err(wrong(
                "KILTER_TSA_URL",
                "",
                "the address of a time-stamping authority, where `KILTER_TIME_ANCHOR` is on",
            )),
            Some((name, url)) => match url::Url::parse(&url) {
                Ok(u) if matches!(u.scheme(), "http" | "https") => Ok(Some(url)),
                _ => Err(wrong(&name, &url, "an http or https address")),
            },
        }
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
