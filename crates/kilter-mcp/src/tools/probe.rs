//! A look at a page before it is read: what it is, and how to read it.

use std::time::Duration;

use kilter_web::dom::Document;
use kilter_web::format::Format;
use kilter_web::judge::{gather, judge};
use kilter_web::open::{Body, Opened};
use kilter_web::{Failure, FailureCode, ReadOptions, read};
use serde_json::{Value, json};

use super::{Call, Engines};
use crate::failure::ToolFailure;

/// What a browser takes by the measure of the contract, in milliseconds.
const BROWSER_MS: u64 = 5_000;

pub(super) async fn probe(engines: &Engines, call: &Call<'_>) -> Result<Value, ToolFailure> {
    let url = call.arguments.needed("url").trim();
    let options = engines.session(call)?.options();
    let within =
        Duration::from_millis(u64::try_from(call.arguments.size("timeout_ms")).unwrap_or(10_000));
    let start = engines.clock.elapsed();
    let opened = tokio::time::timeout(within, engines.reader.opener().http(url, &options))
        .await
        .unwrap_or_else(|_| {
            Err(Failure::new(
                FailureCode::Timeout,
                format!("{url} did not answer within {within:?}"),
            ))
        });
    let took = engines.clock.elapsed().saturating_sub(start);
    let opened = opened.inspect_err(|f| engines.note_host(url, Some(f.code)))?;
    let millis = u64::try_from(took.as_millis()).unwrap_or(u64::MAX);
    let at = engines.clock.now();
    let looked = tokio::task::spawn_blocking(move || look(&opened, millis)).await;
    let mut reply = looked.map_err(|_| {
        ToolFailure::new(
            "extraction_failed",
            "the page could not be looked at",
            "this is a bug of the server; report the page",
        )
    })?;
    reply["timestamp"] = json!(at.rfc3339());
    Ok(reply)
}

fn look(opened: &Opened, millis: u64) -> Value {
    let mut warnings: Vec<&str> = Vec::new();
    let (mut class, mut shell, mut worth) = (kind(opened.format), false, 0.9);
    let mut shut = None;
    if let Body::Html(html) = &opened.body {
        let doc = Document::parse(html);
        let tree = gather(&doc);
        let page = read::document(&doc, Some(opened.url.as_str()), &ReadOptions::default());
        let blocks = page
            .as_ref()
            .map(|p| p.blocks.as_slice())
            .unwrap_or_default();
        let judged = judge(&opened.response, &tree, blocks, false);
        worth = judged.quality.score;
        shut = judged.failure.map(|f| f.code);
        shell = matches!(shut, Some(FailureCode::ThinExtract)) || page.is_err();
        class = match shut {
            Some(FailureCode::CaptchaOrChallenge) => "challenge",
            Some(FailureCode::RequiresLogin) => "login",
            Some(FailureCode::Paywall) => "paywall",
            Some(FailureCode::SoftNotFound) => "not_found",
            _ if shell && tree.machinery() => "app_shell",
            _ if shell => "thin",
            _ => "page",
        };
    }
    let is = |code: FailureCode| shut == Some(code);
    let door = is(FailureCode::CaptchaOrChallenge)
        || is(FailureCode::RequiresLogin)
        || is(FailureCode::Paywall);
    let (backend, latency, extractability) = if opened.status >= 400 && !door {
        if class == "page" {
            class = "error";
        }
        ("none", 0, 0.0)
    } else if door {
        warnings.push("the page stands behind a door; its content is unknown");
        ("none", 0, 0.1)
    } else if shell {
        ("http_then_browser", BROWSER_MS, 0.45)
    } else {
        ("http", millis, (worth * 100.0).round() / 100.0)
    };
    json!({
        "ok": true,
        "url": {"requested": opened.requested.as_str(), "final": opened.url.as_str()},
        "statusCode": opened.status,
        "probeLatencyMs": millis,
        "classification": {
            "pageClass": class,
            "requiresJavascript": shell,
            "likelyChallenge": is(FailureCode::CaptchaOrChallenge),
            "likelyLoginRequired": is(FailureCode::RequiresLogin),
            "likelyPaywall": is(FailureCode::Paywall),
        },
        "recommendation": {
            "backend": backend,
            "estimatedLatencyMs": latency,
            "extractability": extractability,
        },
        "warnings": warnings,
    })
}

fn kind(format: Format) -> &'static str {
    match format {
        Format::Html => "page",
        Format::Pdf => "document",
        Format::Feed => "feed",
        Format::Json => "data",
        Format::Markdown | Format::Text => "text",
    }
}
