//! Reads the window out of a server's typed overflow.

use kilter_core::TransportError;

/// Words after which a server states its window, as the common servers write them; the first
/// number behind one of them is the figure.
const BEFORE: [&str; 8] = [
    "n_ctx",
    "context size",
    "context length",
    "context window",
    "context limit",
    "tokens allowed",
    "tokens >",
    "must be <=",
];
/// Words one of which must stand in the message as well: a message that merely mentions a window is
/// not an overflow.
const OVER: [&str; 7] = [
    "exceed",
    "longer than",
    "too long",
    "too large",
    "maximum context",
    "tokens >",
    "must be <=",
];
/// How far behind its words a figure may stand, in bytes.
const REACH: usize = 48;

/// The served window in tokens, where a typed overflow states it. Between 64 and 2^30: other numbers
/// are not windows.
pub(crate) fn window_told(error: &TransportError) -> Option<u64> {
    if !(400..=599).contains(&error.status) {
        return None;
    }
    let kind = error.kind.to_lowercase();
    let said = error.message.to_lowercase();
    let typed = kind.contains("context") && (kind.contains("exceed") || kind.contains("length"));
    if !typed && !OVER.iter().any(|w| said.contains(w)) {
        return None;
    }
    BEFORE.iter().find_map(|words| {
        said.match_indices(words)
            .find_map(|(at, w)| number_after(&said[at + w.len()..]))
            .filter(|n| (64..=1 << 30).contains(n))
    })
}

/// The first whole number within reach; digits may be grouped by commas.
fn number_after(text: &str) -> Option<u64> {
    let start = text.find(|c: char| c.is_ascii_digit())?;
    if start > REACH {
        return None;
    }
    let mut n: u64 = 0;
    let bytes = &text.as_bytes()[start..];
    for (i, b) in bytes.iter().enumerate() {
        match b {
            b'0'..=b'9' => n = n.checked_mul(10)?.checked_add(u64::from(b - b'0'))?,
            b',' if bytes.get(i + 1).is_some_and(u8::is_ascii_digit) => {}
            _ => break,
        }
    }
    Some(n)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn told(status: u16, kind: &str, message: &str) -> Option<u64> {
        window_told(&TransportError {
            status,
            kind: kind.into(),
            message: message.into(),
            param: None,
        })
    }

    #[test]
    fn the_window_is_read_and_not_the_length_of_the_request() {
        let e = "exceed_context_size_error";
        let m = "request (6024 tokens) exceeds the available context size (4096 tokens), try increasing it";
        assert_eq!(told(400, e, m), Some(4096));
        let m = "This model's maximum context length is 8192 tokens. However, you requested 9000 tokens (8000 in the messages, 1000 in the completion).";
        assert_eq!(told(400, "BadRequestError", m), Some(8192));
        let m = "The input (6000 tokens) is longer than the model's context length (4,096 tokens).";
        assert_eq!(told(400, "invalid_request_error", m), Some(4096));
        let m = "prompt is too long: 210000 tokens > 200000 maximum";
        assert_eq!(told(400, "invalid_request_error", m), Some(200_000));
        let m =
            "The input token count (40000) exceeds the maximum number of tokens allowed (32768).";
        assert_eq!(told(400, "INVALID_ARGUMENT", m), Some(32_768));
        assert_eq!(
            told(400, e, r#"too large {"n_prompt_tokens":6024,"n_ctx":4096}"#),
            Some(4096)
        );
    }

    #[test]
    fn other_refusals_state_no_window() {
        assert_eq!(
            told(400, "x", "the context length of tool 7 is a mystery"),
            None
        );
        assert_eq!(
            told(429, "rate_limit", "limit 4096 tokens per minute exceeded"),
            None
        );
        assert_eq!(told(0, "stall", "exceeds the context size (4096)"), None);
        assert_eq!(told(400, "context_length_exceeded", "too long"), None);
        let m = "exceeds context size 99999999999999999999999999";
        assert_eq!(told(400, "x", m), None);
    }
}
