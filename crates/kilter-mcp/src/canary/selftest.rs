//! The proof of the canary's rules, from the shipped binary: vectors, every verdict, limits, and that nothing leaks.

use std::net::{IpAddr, Ipv4Addr};
use std::sync::Arc;
use std::time::Duration;

use kilter_core::ManualClock;
use serde::Serialize;

use super::{Canary, Settings, Verdict, is_session_id, new_session_id, vectors};

/// One thing that was checked.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Check {
    /// What holds.
    pub what: String,
    /// Whether it does.
    pub ok: bool,
}

struct Bench {
    checks: Vec<Check>,
}

impl Bench {
    fn say(&mut self, what: impl Into<String>, ok: bool) {
        self.checks.push(Check {
            what: what.into(),
            ok,
        });
    }
}

const HERE: IpAddr = IpAddr::V4(Ipv4Addr::LOCALHOST);
/// The middle of a bucket, far from zero.
const START: u64 = 6_000_000 * 300_000 + 150_000;

fn canary(settings: Settings) -> (Canary, Arc<ManualClock>) {
    let clock = Arc::new(ManualClock::at(START));
    (
        Canary::with_root(settings, clock.clone(), &vectors::ROOT),
        clock,
    )
}

/// The sentinel that a page shows in its text.
fn read(page: &str) -> Option<&str> {
    page.split_once("<code>")?
        .1
        .split_once("</code>")
        .map(|p| p.0)
}

/// Checks everything. No network, no clock, under a second.
pub fn run() -> Vec<Check> {
    let mut b = Bench { checks: Vec::new() };
    for v in &vectors::ALL {
        b.say(
            format!(
                "vector `{}` in bucket {}, {} bytes",
                v.session, v.bucket, v.bytes
            ),
            vectors::made(v) == v.sentinel,
        );
    }
    verdicts(&mut b);
    claims(&mut b);
    leaks(&mut b);
    limits(&mut b);
    ids(&mut b);
    ranges(&mut b);
    b.checks
}

fn verdicts(b: &mut Bench) {
    let (canary, clock) = canary(Settings::default());
    let verdict = |session: &str, value: &str| canary.verify(session, value).map(|j| j.verdict);
    b.say(
        "a value that was never made is HALLUCINATED",
        verdict("s", "mENHHl1pbVogGlYUtGkyvSXzZosi-jQiJ6kpN5jmQhw") == Ok(Verdict::Hallucinated),
    );
    let Ok(page) = canary.serve("s", HERE, "selftest") else {
        return b.say("a page is served", false);
    };
    let Some(value) = read(&page).map(str::to_owned) else {
        return b.say("the page shows its value in its text", false);
    };
    b.say(
        "the page holds its value in a meta tag, in hidden and in visible text",
        page.matches(&value).count() == 3,
    );
    b.say(
        "served and reported at once is READ_VERIFIED",
        verdict("s", &value) == Ok(Verdict::ReadVerified),
    );
    b.say(
        "the value of another session is HALLUCINATED",
        verdict("t", &value) == Ok(Verdict::Hallucinated),
    );
    clock.advance(Duration::from_secs(300));
    b.say(
        "one bucket later it is still READ_VERIFIED",
        verdict("s", &value) == Ok(Verdict::ReadVerified),
    );
    clock.advance(Duration::from_secs(300));
    b.say(
        "two buckets later it is READ_STALE",
        verdict("s", &value) == Ok(Verdict::ReadStale),
    );
    clock.advance(Duration::from_secs(22 * 300));
    b.say(
        "at the horizon it is READ_STALE",
        verdict("s", &value) == Ok(Verdict::ReadStale),
    );
    clock.advance(Duration::from_secs(300));
    b.say(
        "beyond the horizon it is HALLUCINATED",
        verdict("s", &value) == Ok(Verdict::Hallucinated),
    );
    // Another process with the same root knows the value; this one never served it.
    let (elsewhere, _) = self::canary(Settings::default());
    let (here, _) = self::canary(Settings::default());
    let replayed = elsewhere.serve("s", HERE, "selftest").ok();
    b.say(
        "right, but never served here, is REPLAY_SUSPECT",
        replayed
            .as_deref()
            .and_then(read)
            .is_some_and(|v| here.verify("s", v).map(|j| j.verdict) == Ok(Verdict::ReplaySuspect)),
    );
}

fn claims(b: &mut Bench) {
    let (canary, _) = canary(Settings::default());
    let page = canary.serve("s", HERE, "selftest").unwrap_or_default();
    let value = read(&page).unwrap_or_default().to_owned();
    let is =
        |claim: &str, wanted: Verdict| canary.verify("s", claim).map(|j| j.verdict) == Ok(wanted);
    for (what, claim) in [
        (
            "white space around the value does not count",
            format!(" \n{value}\t"),
        ),
        (
            "quotes around the value do not count",
            format!("\"`{value}`\""),
        ),
    ] {
        b.say(what, is(&claim, Verdict::ReadVerified));
    }
    let mut folded = value.to_lowercase();
    if folded == value {
        folded = value.to_uppercase();
    }
    for (what, claim) in [
        ("letters are not folded", folded),
        ("a shorter value is none", value.chars().skip(1).collect()),
        ("a longer value is none", format!("{value}A")),
        ("an empty value is none", String::new()),
        ("quotes alone are none", "\"\"".to_owned()),
    ] {
        b.say(what, is(&claim, Verdict::Hallucinated));
    }
    b.say(
        "a malformed session is HALLUCINATED, whatever was reported",
        canary.verify("../s", &value).map(|j| j.verdict) == Ok(Verdict::Hallucinated),
    );
}

fn leaks(b: &mut Bench) {
    let (canary, _) = canary(Settings::default());
    let page = canary
        .serve("s", HERE, "agent\r\n\u{7}with control characters")
        .unwrap_or_default();
    let value = read(&page).unwrap_or_default().to_owned();
    let wrong = canary.verify("s", "wrong");
    let said = format!("{wrong:?} {canary:?}");
    b.say(
        "a judgement never holds the expected value",
        !value.is_empty() && !said.contains(&value),
    );
    let log = serde_json::to_string(&canary.entries()).unwrap_or_default();
    b.say("the log never holds a value", !log.contains(&value));
    b.say("the log never holds an address", !log.contains("127.0.0.1"));
    b.say(
        "the log keeps no control characters",
        canary
            .entries()
            .iter()
            .all(|e| !e.agent.chars().any(char::is_control)),
    );
}

fn limits(b: &mut Bench) {
    let (canary, clock) = canary(Settings::default());
    let mut allowed = 0;
    for _ in 0..31 {
        allowed += usize::from(canary.serve("s", HERE, "x").is_ok());
    }
    b.say(
        "thirty pages of a session in a minute, and no more",
        allowed == 30,
    );
    clock.advance(Duration::from_secs(60));
    b.say(
        "after the window there are pages again",
        canary.serve("s", HERE, "x").is_ok(),
    );
    for i in 0_u32..10_000 {
        let from = IpAddr::V4(Ipv4Addr::from(0x0a00_0000 + i));
        let _ = canary.serve(&format!("s{i}"), from, "x");
        let _ = canary.verify(&format!("s{i}"), "x");
    }
    b.say(
        "after 10,000 pages the log holds at most 8,192",
        canary.entries().len() == 8_192,
    );
    b.say(
        "after 10,000 pages the limits hold a bounded number of keys",
        canary.limited_keys() <= 4_097,
    );
    clock.advance(Duration::from_secs(24 * 3_600 + 1));
    b.say("after a day the log is empty", canary.entries().is_empty());
}

fn ids(b: &mut Bench) {
    let long = "a".repeat(129);
    for (id, good) in [
        ("a", true),
        ("A.z_0-9", true),
        (&long[..128], true),
        ("", false),
        (long.as_str(), false),
        ("a/b", false),
        ("a b", false),
        ("ä", false),
    ] {
        let shown: String = id.chars().take(12).collect();
        b.say(
            format!(
                "`{shown}` of {} characters is {} session id",
                id.chars().count(),
                if good { "a" } else { "no" }
            ),
            is_session_id(id) == good,
        );
    }
    let two = (new_session_id(), new_session_id());
    b.say(
        "made session ids are ids, and differ",
        matches!(&two, (Ok(a), Ok(c)) if is_session_id(a) && a.len() >= 22 && a != c),
    );
}

fn ranges(b: &mut Bench) {
    let good = Settings::default();
    for (what, settings) in [
        (
            "a horizon must exceed freshness",
            Settings {
                fresh: 4,
                horizon: 4,
                ..good
            },
        ),
        (
            "a bucket of 29 seconds is refused",
            Settings {
                bucket_seconds: 29,
                ..good
            },
        ),
        (
            "a sentinel of 15 bytes is refused",
            Settings { bytes: 15, ..good },
        ),
        (
            "a log of 255 entries is refused",
            Settings {
                log_capacity: 255,
                ..good
            },
        ),
    ] {
        b.say(what, settings.check().is_err());
    }
    b.say("the defaults are within their ranges", good.check().is_ok());
}
