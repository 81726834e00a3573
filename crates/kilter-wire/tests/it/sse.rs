//! Event streams: one test for each fact.

use kilter_wire::sse::{self, Event, Framer, SseError};

pub(crate) fn frame(bytes: &[u8]) -> Vec<Result<Event, SseError>> {
    let mut f = Framer::new();
    f.push(bytes);
    f.finish();
    f.events().collect()
}

pub(crate) fn data(bytes: &[u8]) -> Vec<String> {
    frame(bytes)
        .into_iter()
        .map(Result::unwrap)
        .filter(|e| !e.comment_only)
        .map(|e| e.data)
        .collect()
}

#[test]
fn fact_01_line_ends_of_every_kind() {
    for end in ["\n", "\r\n", "\r"] {
        let text = format!("data: a{end}{end}data: b{end}data: c{end}{end}");
        assert_eq!(data(text.as_bytes()), ["a", "b\nc"], "{end:?}");
    }
    assert_eq!(data(b"data: a\r\ndata: b\n\r\ndata: c\r\r"), ["a\nb", "c"]);
}

#[test]
fn fact_01_cr_at_the_end_of_a_read() {
    let mut f = Framer::new();
    f.push(b"data: a\r");
    assert!(f.next_event().is_none());
    f.push(b"\n\r");
    assert!(
        f.next_event().is_none(),
        "the LF of a CRLF stream is waited for"
    );
    f.push(b"\ndata: b\r\n\r\n");
    let events: Vec<Event> = f.events().map(Result::unwrap).collect();
    assert_eq!(events[0].raw, "data: a\r\n\r\n");
    assert_eq!(events[1].raw, "data: b\r\n\r\n");
}

#[test]
fn fact_01_a_cr_only_stream_is_not_delayed() {
    let mut f = Framer::new();
    f.push(b"data: a\r\r");
    assert_eq!(f.next_event().unwrap().unwrap().data, "a");
}

#[test]
fn fact_01_bom_spaces_and_bare_fields() {
    assert_eq!(data("\u{feff}data: a\n\n".as_bytes()), ["a"]);
    assert_eq!(
        data(b"data:a\n\ndata: a\n\ndata:  a\n\ndata\n\ndata:\n\n"),
        ["a", "a", " a", "", ""]
    );
    assert_eq!(data("data: x\u{feff}y\n\n".as_bytes()), ["x\u{feff}y"]);
}

#[test]
fn fact_01_comments_and_other_fields() {
    let all = frame(
        b": hi\n\nevent: ping\nid: 7\nretry: 250\nfoo: bar\ndata: {}\n\nretry: 1x\nid: a\0b\n\n",
    );
    let e: Vec<Event> = all.into_iter().map(Result::unwrap).collect();
    assert!(e[0].comment_only);
    assert_eq!(e[0].raw, ": hi\n\n");
    assert_eq!(
        (e[1].event.as_deref(), e[1].id.as_deref(), e[1].retry),
        (Some("ping"), Some("7"), Some(250))
    );
    assert_eq!(e[1].data, "{}");
    assert!(e[2].comment_only);
    assert_eq!((e[2].retry, e[2].id.as_deref()), (None, None));
}

#[test]
fn fact_01_last_event_without_blank_line() {
    assert_eq!(data(b"data: a\n\ndata: [DONE]"), ["a", "[DONE]"]);
    assert_eq!(data(b"data: a\n\ndata: [DONE]\n"), ["a", "[DONE]"]);
    assert!(frame(b"data: [DONE]")[0].as_ref().unwrap().is_done());
}

#[test]
fn fact_01_a_character_cut_by_a_packet_is_whole_again() {
    // Field report gw21.
    let text = "data: {\"content\":\"\u{5317}\u{4eac}\"}\n\n".as_bytes();
    for cut in 0..text.len() {
        let mut f = Framer::new();
        let mut out = Vec::new();
        f.push(&text[..cut]);
        out.extend(f.events());
        f.push(&text[cut..]);
        out.extend(f.events());
        assert_eq!(out.len(), 1, "cut at {cut}");
        assert_eq!(
            out[0].as_ref().unwrap().data,
            "{\"content\":\"\u{5317}\u{4eac}\"}"
        );
    }
}

#[test]
fn fact_01_bad_utf8_is_typed_and_its_bytes_are_kept() {
    let all = frame(b"data: a\n\ndata: \xff\xfe\n\ndata: b\n\n");
    assert_eq!(all[0].as_ref().unwrap().data, "a");
    match &all[1] {
        Err(SseError::NotUtf8 { at, raw }) => {
            assert_eq!((*at, &raw[..]), (6, &b"data: \xff\xfe\n\n"[..]))
        }
        other => panic!("{other:?}"),
    }
    assert_eq!(all[2].as_ref().unwrap().data, "b", "the next event is read");
}

#[test]
fn fact_02_we_write_neither_id_nor_retry() {
    let mut all = sse::encode_data("{}").to_vec();
    all.extend_from_slice(&sse::encode_event("ping", "{}"));
    all.extend_from_slice(&sse::encode_comment("x\nid: 1\r\nretry: 2"));
    all.extend_from_slice(&sse::encode_data("a\nid: 3\rretry: 4"));
    all.extend_from_slice(sse::KEEPALIVE);
    for e in frame(&all) {
        let e = e.unwrap();
        assert_eq!((e.id, e.retry), (None, None));
    }
    assert_eq!(sse::KEEPALIVE, b": ka\n\n");
}

#[test]
fn fact_03_done_is_one_plain_event() {
    let e = frame(sse::DONE);
    assert_eq!(e.len(), 1);
    assert!(e[0].as_ref().unwrap().is_done());
    assert!(frame(b"data:[DONE]\r\n\r\n")[0].as_ref().unwrap().is_done());
    assert!(!frame(b": [DONE]\n\n")[0].as_ref().unwrap().is_done());
}

#[test]
fn fact_06_an_event_is_bounded() {
    let mut f = Framer::with_limit(1000);
    f.push(b"data: ok\n\n");
    let mut out: Vec<_> = f.events().collect();
    let mut pushed = 0;
    while f.held() <= 1000 {
        f.push(&[b'x'; 100]);
        pushed += 100;
        out.extend(f.events());
        if out.last().is_some_and(Result::is_err) {
            break;
        }
    }
    assert!(pushed <= 1100, "it stops at the bound");
    match out.last() {
        Some(Err(SseError::TooLong { limit: 1000, raw })) => assert_eq!(raw.len(), pushed),
        other => panic!("{other:?}"),
    }
    f.push(b"\n\ndata: later\n\n");
    assert!(f.next_event().is_none(), "nothing is read past it");
}

#[test]
fn fact_06_the_bound_is_one_mebibyte() {
    let text = format!("data: {}\n\n", "x".repeat((1 << 20) - 8));
    assert_eq!(text.len(), 1 << 20);
    assert!(frame(text.as_bytes())[0].is_ok());
    let text = format!("data: {}\n\n", "x".repeat(1 << 20));
    assert!(matches!(
        frame(text.as_bytes())[0],
        Err(SseError::TooLong { .. })
    ));
}

#[test]
fn encoded_text_comes_back() {
    for text in ["", "a", "a\nb", "a\n\nb", " lead", "{\"a\":1}"] {
        assert_eq!(data(&sse::encode_data(text)), [text], "{text:?}");
    }
    assert_eq!(data(&sse::encode_data("a\r\nb\rc")), ["a\nb\nc"]);
    let e = frame(&sse::encode_event("message_start", "{}"));
    assert_eq!(
        e[0].as_ref().unwrap().event.as_deref(),
        Some("message_start")
    );
    assert!(
        frame(&sse::encode_comment("loading"))[0]
            .as_ref()
            .unwrap()
            .comment_only
    );
}

#[test]
fn many_events_in_one_read_keep_their_bytes_apart() {
    let text = b"data: a\n\n: c\n\nevent: x\ndata: b\n\n";
    let raws: Vec<_> = frame(text).into_iter().map(|e| e.unwrap().raw).collect();
    assert_eq!(
        raws,
        [&b"data: a\n\n"[..], b": c\n\n", b"event: x\ndata: b\n\n"]
    );
}
