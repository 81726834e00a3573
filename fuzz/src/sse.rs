//! The byte framer over any bytes: any chunking reads the same, no byte is lost, and where the
//! format is defined a second reader agrees.

use eventsource_stream::Eventsource;
use futures_util::{FutureExt, StreamExt, stream};
use kilter_wire::sse::{Event, Framer, SseError, encode_data};

/// The bound of the run: small, so that it is reached.
const LIMIT: usize = 4096;

fn frame(pieces: &[&[u8]]) -> Vec<Result<Event, SseError>> {
    let mut framer = Framer::with_limit(LIMIT);
    let mut out = Vec::new();
    for p in pieces {
        framer.push(p);
        out.extend(framer.events());
    }
    framer.finish();
    out.extend(framer.events());
    out
}

fn is_too_long(e: &Result<Event, SseError>) -> bool {
    matches!(e, Err(SseError::TooLong { .. }))
}

/// One input.
pub(crate) fn run(data: &[u8]) {
    let whole = frame(&[data]);

    // No byte is lost, until an event outgrows the bound.
    let mut raw = Vec::new();
    for e in &whole {
        match e {
            Ok(e) => raw.extend_from_slice(&e.raw),
            Err(e) => raw.extend_from_slice(e.raw()),
        }
    }
    let cut_off = whole.iter().any(is_too_long);
    if cut_off {
        assert!(data.starts_with(&raw));
    } else {
        assert_eq!(raw, data);
    }

    // Any chunking is the whole. Where the bound is hit, what was held then depends on the chunk.
    let byte_by_byte: Vec<&[u8]> = data.chunks(1).collect();
    let sevens: Vec<&[u8]> = data.chunks(7).collect();
    let half = data.len() / 2;
    for pieces in [byte_by_byte, sevens, vec![&data[..half], &data[half..]]] {
        let got = frame(&pieces);
        let n = whole.iter().position(is_too_long).unwrap_or(whole.len());
        assert_eq!(got.iter().position(is_too_long).unwrap_or(got.len()), n);
        assert_eq!(got[..n], whole[..n]);
    }

    // A second reader agrees on text without the line ends and marks on which the two may differ.
    if cut_off {
        return;
    }
    let Ok(text) = std::str::from_utf8(data) else {
        return;
    };
    if text.contains(['\r', '\0', '\u{feff}']) {
        return;
    }
    let closed = format!("{text}\n\n");
    let ours: Vec<(String, String)> = frame(&[closed.as_bytes()])
        .into_iter()
        .filter_map(Result::ok)
        .filter(|e| !e.comment_only)
        .map(|e| (e.event.unwrap_or_default(), e.data))
        .collect();
    let mut theirs = Vec::new();
    let mut events = stream::iter([Ok::<_, std::io::Error>(closed)]).eventsource();
    while let Some(Some(next)) = events.next().now_or_never() {
        match next {
            Ok(e) => theirs.push((e.event, e.data)),
            Err(_) => return,
        }
    }
    let named = |list: Vec<(String, String)>| -> Vec<(String, String)> {
        list.into_iter()
            .map(|(event, data)| match event.as_str() {
                "" => ("message".to_owned(), data),
                _ => (event, data),
            })
            .collect()
    };
    assert_eq!(named(ours.clone()), named(theirs));

    // What we write, we read.
    for (_, data) in ours {
        let again = frame(&[&encode_data(&data)]);
        assert!(
            matches!(&again[..], [Ok(e)] if e.data == data),
            "{data:?} came back as {again:?}"
        );
    }
}
