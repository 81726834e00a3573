//! Laws of the framer: any re-chunking gives the same events, no byte is lost, an oracle agrees.

use eventsource_stream::Eventsource;
use futures_util::{FutureExt, StreamExt, stream};
use kilter_wire::sse::{Event, Framer, SseError};
use proptest::prelude::*;

/// Streams made of pieces that framers get wrong.
fn any_stream() -> impl Strategy<Value = Vec<u8>> {
    let pieces: [&[u8]; 17] = [
        b"\n",
        b"\r",
        b"\r\n",
        b"\n\n",
        b"data",
        b"data:",
        b"data: ",
        b"event: e",
        b"id: 1",
        b"retry: 9",
        b": c",
        b"x",
        "\u{5317}".as_bytes(),
        "\u{feff}".as_bytes(),
        b"\xe5",
        b"\xef\xbb",
        b"[DONE]",
    ];
    prop::collection::vec(prop::sample::select(pieces.to_vec()), 0..40).prop_map(|p| p.concat())
}

fn run(chunks: &[&[u8]]) -> Vec<Result<Event, SseError>> {
    let mut f = Framer::new();
    let mut out = Vec::new();
    for c in chunks {
        f.push(c);
        out.extend(f.events());
    }
    f.finish();
    out.extend(f.events());
    out
}

fn raw(e: &Result<Event, SseError>) -> &[u8] {
    match e {
        Ok(e) => &e.raw,
        Err(e) => e.raw(),
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]

    #[test]
    fn any_two_chunks_give_the_same_events(bytes in any_stream()) {
        let whole = run(&[&bytes]);
        for cut in 0..=bytes.len() {
            let (a, b) = bytes.split_at(cut);
            prop_assert_eq!(&run(&[a, b]), &whole, "cut at {}", cut);
        }
        let single: Vec<&[u8]> = bytes.chunks(1).collect();
        prop_assert_eq!(&run(&single), &whole);
    }

    #[test]
    fn any_chunks_give_the_same_events(bytes in any_stream(), sizes in prop::collection::vec(1usize..9, 1..60)) {
        let mut chunks: Vec<&[u8]> = Vec::new();
        let mut rest = &bytes[..];
        let mut sizes = sizes.iter().cycle();
        while !rest.is_empty() {
            let (a, b) = rest.split_at((*sizes.next().unwrap()).min(rest.len()));
            chunks.push(a);
            rest = b;
        }
        prop_assert_eq!(run(&chunks), run(&[&bytes]));
    }

    #[test]
    fn no_byte_is_lost(bytes in any_stream()) {
        let joined: Vec<u8> = run(&[&bytes]).iter().flat_map(|e| raw(e).to_vec()).collect();
        prop_assert_eq!(joined, bytes);
    }

    #[test]
    fn arbitrary_bytes_neither_panic_nor_vanish(bytes in prop::collection::vec(any::<u8>(), 0..300)) {
        let joined: Vec<u8> = run(&[&bytes]).iter().flat_map(|e| raw(e).to_vec()).collect();
        prop_assert_eq!(joined, bytes);
    }

    /// The oracle reads well-formed streams that end with a blank line. It waits for more behind a lone
    /// CR, keeps `id` and `retry` from event to event and has no comment blocks, so LF and CRLF
    /// streams are compared by event and data.
    #[test]
    fn the_oracle_reads_the_same_data(events in prop::collection::vec(("[ -~é北]{0,20}", prop::option::of("[a-z]{1,5}"), any::<bool>()), 0..12)) {
        let mut text = String::new();
        for (data, event, end) in &events {
            let end = if *end { "\r\n" } else { "\n" };
            if let Some(e) = event {
                text.push_str(&format!("event: {e}{end}"));
            }
            text.push_str(&format!(": c{end}data: {data}{end}data:{data}{end}{end}"));
        }
        let ours: Vec<(String, String)> = run(&[text.as_bytes()])
            .into_iter()
            .map(Result::unwrap)
            .filter(|e| !e.comment_only)
            .map(|e| (e.event.unwrap_or_else(|| "message".into()), e.data))
            .collect();
        let theirs: Vec<(String, String)> = stream::iter([Ok::<_, std::convert::Infallible>(text.as_bytes().to_vec())])
            .eventsource()
            .collect::<Vec<_>>()
            .now_or_never()
            .expect("the source is always ready")
            .into_iter()
            .map(|e| e.unwrap())
            .map(|e| (if e.event.is_empty() { "message".into() } else { e.event }, e.data))
            .collect();
        prop_assert_eq!(ours, theirs);
    }
}
