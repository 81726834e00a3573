//! Reading the error shapes of providers (gateways reference, wire fact 11).

use super::{ApiError, param};
use crate::json;

/// Longest piece of a foreign body that is quoted in a message, in characters.
const QUOTE: usize = 400;

fn text(raw: Option<&str>) -> Option<String> {
    let raw = raw?;
    match json::kind(raw)? {
        json::Kind::String => json::decode(raw)
            .map(|t| t.into_owned())
            .filter(|t| !t.is_empty()),
        json::Kind::Number | json::Kind::Bool => Some(raw.to_owned()),
        _ => None,
    }
}

fn default_kind(status: u16) -> &'static str {
    match status {
        401 => "authentication_error",
        403 => "permission_error",
        404 => "not_found_error",
        408 | 504 => "timeout_error",
        413 => "request_too_large",
        429 => "rate_limit_error",
        500..=599 => "server_error",
        0 => "api_error",
        _ => "invalid_request_error",
    }
}

pub(super) fn from_body(status: u16, body: &[u8]) -> ApiError {
    let Ok(body) = std::str::from_utf8(body) else {
        return ApiError::new(
            status,
            "bad_body",
            "upstream answered with bytes that are not UTF-8",
        );
    };
    let body = body.trim_start_matches('\u{feff}').trim();
    if body.is_empty() {
        return ApiError::new(
            status,
            "empty_body",
            format!("upstream answered {status} with an empty body"),
        );
    }
    if let Some(e) = in_json(status, body) {
        return e;
    }
    let mut quote: String = body.chars().take(QUOTE).collect();
    if quote.len() < body.len() {
        quote.push('…');
    }
    let mut e = ApiError::new(status, "bad_body", quote);
    e.param = param::from_prose(body);
    e
}

/// Reads any of the shapes; `None` when the text is not JSON or holds no error.
pub(super) fn in_json(status: u16, body: &str) -> Option<ApiError> {
    let body = body.trim();
    // A list with one error object in it, as some streams end.
    if json::kind(body) == Some(json::Kind::Array) {
        return json::elements(body).find_map(|e| in_json(status, e));
    }
    if json::kind(body) != Some(json::Kind::Object) {
        return None;
    }
    let top = |key: &str| json::member(body, key);
    let mut e = if let Some(err) = top("error").filter(|e| *e != "null") {
        from_error(status, body, err)?
    } else if let Some(detail) = top("detail").filter(|d| *d != "null") {
        from_detail(status, detail)?
    } else if text(top("object")).as_deref() == Some("error")
        || text(top("type")).as_deref() == Some("error")
        || (status >= 400 && top("message").is_some())
    {
        from_flat(status, body)?
    } else {
        return None;
    };
    if e.kind.is_empty() {
        e.kind = default_kind(e.status).to_owned();
    }
    if e.param.is_none() {
        e.param = param::from_prose(&e.message);
    }
    Some(e)
}

/// `{"error": {…}}` or `{"error": "words"}`, whatever stands beside it.
fn from_error(status: u16, body: &str, err: &str) -> Option<ApiError> {
    let mut e = ApiError {
        status,
        ..ApiError::default()
    };
    if json::kind(err) == Some(json::Kind::Object) {
        let get = |key: &str| text(json::member(err, key));
        let code = get("code");
        // Where `status` is a word, `code` repeats the HTTP status.
        let word = get("status").filter(|w| !w.bytes().all(|b| b.is_ascii_digit()));
        e.kind = get("type").unwrap_or_default();
        e.code = match (&word, code) {
            (Some(w), _) => Some(w.clone()),
            (None, c) => c,
        };
        if e.kind.is_empty()
            && let Some(w) = word
        {
            e.kind = w.to_lowercase();
        }
        e.param = get("param");
        e.message = get("message")
            .or_else(|| json::member(err, "message").map(str::to_owned))
            .or_else(|| get("detail"))
            .unwrap_or_else(|| err.to_owned());
        // A refused prompt: the figures stand beside the words, and they are what can be learnt.
        let figure = |key: &str| json::member(err, key).and_then(json::as_u64);
        if let Some(window) = figure("n_ctx")
            && !e.message.contains("n_ctx")
        {
            let prompt = figure("n_prompt_tokens");
            let prompt = prompt.map_or(String::new(), |n| format!("n_prompt_tokens {n}, "));
            e.message.push_str(&format!(" ({prompt}n_ctx {window})"));
        }
        if e.status == 0
            && let Some(n) = json::member(err, "code").and_then(json::as_u64)
            && (400..600).contains(&n)
        {
            e.status = n as u16;
        }
    } else {
        e.message = text(Some(err))?;
        if e.message == "false" {
            return None;
        }
        // `{"error":"words","message":…}` and `{"error":"code","error_description":…}`.
        if let Some(more) = text(json::member(body, "message")) {
            e.code = Some(e.message);
            e.message = more;
        }
    }
    Some(e)
}

/// Validation errors: `{"detail":[{type,loc,msg}]}`, `{"detail":"words"}`, `{"detail":{…}}`.
fn from_detail(status: u16, detail: &str) -> Option<ApiError> {
    let mut e = ApiError {
        status,
        ..ApiError::default()
    };
    match json::kind(detail)? {
        json::Kind::Array => {
            let mut words = Vec::new();
            for item in json::elements(detail) {
                let loc = json::member(item, "loc").and_then(param::from_loc);
                let msg = text(json::member(item, "msg"))
                    .or_else(|| text(json::member(item, "message")))
                    .or_else(|| text(Some(item)))
                    .unwrap_or_default();
                if e.code.is_none() {
                    e.code = text(json::member(item, "type"));
                }
                words.push(match &loc {
                    Some(p) => format!("{p}: {msg}"),
                    None => msg,
                });
                if e.param.is_none() {
                    e.param = loc;
                }
            }
            e.message = words.join("; ");
        }
        json::Kind::Object => {
            if let Some(err) = json::member(detail, "error") {
                return from_error(status, detail, err);
            }
            return from_flat(status, detail);
        }
        _ => e.message = text(Some(detail))?,
    }
    Some(e)
}

/// `{"object":"error","message":…}`: the message may be words or another detail.
fn from_flat(status: u16, body: &str) -> Option<ApiError> {
    let get = |key: &str| text(json::member(body, key));
    let mut e = ApiError {
        status,
        ..ApiError::default()
    };
    match json::member(body, "message") {
        Some(m) if json::kind(m) == Some(json::Kind::Object) => {
            e = match json::member(m, "detail") {
                Some(d) => from_detail(status, d)?,
                None => from_flat(status, m)?,
            };
        }
        Some(m) => e.message = text(Some(m)).unwrap_or_else(|| m.to_owned()),
        None => e.message = get("msg").unwrap_or_else(|| body.to_owned()),
    }
    if let Some(kind) = get("type").filter(|k| k != "error") {
        e.kind = kind;
    }
    e.param = e.param.or_else(|| get("param"));
    e.code = e.code.or_else(|| get("code"));
    if e.status == 0
        && let Some(n) = json::member(body, "code").and_then(json::as_u64)
        && (400..600).contains(&n)
    {
        e.status = n as u16;
    }
    Some(e)
}
