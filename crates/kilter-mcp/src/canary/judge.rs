//! The verdict on a reported sentinel: four, in a fixed order, total.

use serde::Serialize;
use subtle::ConstantTimeEq;

use super::secret::Secret;
use super::{Settings, is_session_id};

/// What came of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
pub enum Verdict {
    /// No page of this session ever held it.
    Hallucinated,
    /// It is right, and no page with it was served here.
    ReplaySuspect,
    /// Served, and reported in time.
    ReadVerified,
    /// Served, and reported late.
    ReadStale,
}

impl Verdict {
    /// The word on the wire.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Hallucinated => "HALLUCINATED",
            Self::ReplaySuspect => "REPLAY_SUSPECT",
            Self::ReadVerified => "READ_VERIFIED",
            Self::ReadStale => "READ_STALE",
        }
    }
}

/// A verdict with what it stands on. It never holds an expected value.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Judgement {
    /// The verdict.
    pub verdict: Verdict,
    /// Why, in words.
    pub reason: &'static str,
    /// The bucket of now.
    pub current_bucket: i64,
    /// The bucket that the value belongs to.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub matched_bucket: Option<i64>,
    /// How many buckets ago that was; negative: ahead.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub bucket_distance: Option<i64>,
}

impl Judgement {
    /// Whether a page was read, now or earlier.
    pub fn is_read(&self) -> bool {
        matches!(self.verdict, Verdict::ReadVerified | Verdict::ReadStale)
    }
}

/// White space and quotes around a value; letters are never folded.
fn bare(reported: &str) -> &str {
    reported.trim_matches(|c: char| {
        c.is_whitespace() || matches!(c, '"' | '\'' | '`' | '“' | '”' | '‘' | '’' | '«' | '»')
    })
}

pub(crate) fn judge(
    secret: &Secret,
    settings: &Settings,
    session: &str,
    reported: &str,
    current: i64,
    served: &[i64],
) -> Judgement {
    let (fresh, horizon) = (i64::from(settings.fresh), i64::from(settings.horizon));
    let made_up = |reason| Judgement {
        verdict: Verdict::Hallucinated,
        reason,
        current_bucket: current,
        matched_bucket: None,
        bucket_distance: None,
    };
    if !is_session_id(session) {
        return made_up("the session id is malformed");
    }
    let claim = bare(reported);
    if claim.is_empty() {
        return made_up("no value was reported");
    }
    // Every bucket is compared, and each in constant time: how long this takes says nothing about the value.
    let mut found: Option<i64> = None;
    for bucket in (current - horizon)..=(current + fresh) {
        let expected = secret.sentinel(session, bucket, settings.bytes);
        let same: bool = expected.as_bytes().ct_eq(claim.as_bytes()).into();
        if same {
            found = Some(bucket);
        }
    }
    let Some(bucket) = found else {
        return made_up("no page of this session held this value within the horizon");
    };
    let distance = current - bucket;
    let (verdict, reason) = if !served.contains(&bucket) {
        (
            Verdict::ReplaySuspect,
            "the value is right, but no page with it was served here",
        )
    } else if distance.abs() <= fresh {
        (
            Verdict::ReadVerified,
            "a page with this value was served, just now",
        )
    } else {
        (
            Verdict::ReadStale,
            "a page with this value was served, but not just now",
        )
    };
    Judgement {
        verdict,
        reason,
        current_bucket: current,
        matched_bucket: Some(bucket),
        bucket_distance: Some(distance),
    }
}
