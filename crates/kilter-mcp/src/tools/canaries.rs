//! Issuing canaries and judging them.

use serde_json::{Value, json};

use super::{Call, Engines};
use crate::canary::{TooOften, is_session_id, new_session_id};
use crate::failure::ToolFailure;

fn too_often(t: TooOften) -> ToolFailure {
    let mut failure = ToolFailure::new(
        "rate_limited",
        t,
        format!("wait {} seconds", t.retry_after.as_secs().max(1)),
    );
    failure.retryable = true;
    failure
}

fn no_id() -> ToolFailure {
    ToolFailure::arguments(
        "`session_id` is malformed",
        "letters, digits, `.`, `_` and `-`, at most 128; or leave it out for a random one",
    )
}

pub(super) fn issue(engines: &Engines, call: &Call<'_>) -> Result<Value, ToolFailure> {
    let session = match call.arguments.text("session_id") {
        Some(id) if is_session_id(id) => id.to_owned(),
        Some(_) => return Err(no_id()),
        None => new_session_id().map_err(|e| {
            ToolFailure::new(
                "canary_unavailable",
                format!("the system gives no random bytes: {e}"),
                "the operator has to mend it",
            )
        })?,
    };
    let Some(origin) = &engines.origin else {
        return Err(ToolFailure::new(
            "canary_unavailable",
            "no port of 127.0.0.1 could be opened for canary pages",
            "the operator has to allow it; its log says more",
        ));
    };
    let canary = &engines.canary;
    let bucket = canary.bucket();
    // The page decides when its value was made; a wish for longer cannot stretch a bucket, a shorter one is kept.
    let mut until = canary.fresh_until(bucket);
    if let Some(ttl) = call.arguments.int("ttl_seconds") {
        let wish = engines.clock.now().0 + u64::try_from(ttl).unwrap_or_default() * 1_000;
        until.0 = until.0.min(wish);
    }
    Ok(json!({
        "ok": true,
        "url": origin.url(&session),
        "sessionId": session,
        "expiresAt": until.rfc3339(),
        "bucket": bucket,
    }))
}

pub(super) fn verify(engines: &Engines, call: &Call<'_>) -> Result<Value, ToolFailure> {
    let session = call.arguments.needed("session_id");
    let judgement = engines
        .canary
        .verify(session, call.arguments.needed("sentinel"))
        .map_err(too_often)?;
    let mut reply = super::answer(&judgement)?;
    reply["ok"] = json!(judgement.is_read());
    reply["sessionId"] = json!(session);
    reply["bucket"] = json!(judgement.matched_bucket.unwrap_or(judgement.current_bucket));
    Ok(reply)
}
