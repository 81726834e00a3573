//! Writing events. `id:` and `retry:` are never written: together with comment keepalives they make
//! a widely used client parse an empty event (gateways reference, wire fact 2).

use bytes::Bytes;

/// The end mark of a chat stream.
pub const DONE: &[u8] = b"data: [DONE]\n\n";

/// A keepalive: a comment and nothing else.
pub const KEEPALIVE: &[u8] = b": ka\n\n";

fn lines(out: &mut String, field: &str, text: &str) {
    let mut rest = text;
    loop {
        let end = rest.find(['\n', '\r']);
        out.push_str(field);
        out.push_str(&rest[..end.unwrap_or(rest.len())]);
        out.push('\n');
        match end {
            None => return,
            Some(n) => {
                let skip = if rest[n..].starts_with("\r\n") { 2 } else { 1 };
                rest = &rest[n + skip..];
            }
        }
    }
}

/// A data event; line breaks in the text become further `data:` lines.
pub fn encode_data(data: &str) -> Bytes {
    let mut out = String::with_capacity(data.len() + 8);
    lines(&mut out, "data: ", data);
    out.push('\n');
    Bytes::from(out)
}

/// A data event with an `event:` field. Line breaks in the name end it.
pub fn encode_event(event: &str, data: &str) -> Bytes {
    let mut out = String::with_capacity(event.len() + data.len() + 18);
    out.push_str("event: ");
    out.push_str(event.lines().next().unwrap_or(""));
    out.push('\n');
    lines(&mut out, "data: ", data);
    out.push('\n');
    Bytes::from(out)
}

/// A comment block, which every client skips.
pub fn encode_comment(text: &str) -> Bytes {
    let mut out = String::with_capacity(text.len() + 4);
    lines(&mut out, ": ", text);
    out.push('\n');
    Bytes::from(out)
}
