//! Hostile servers: each ends in a typed failure within the limits, and the next read works.

use std::io::Write;
use std::time::Duration;

use kilter_web::FailureCode;
use kilter_web::acquire::{Client, GetOptions, Limits, Pace, Settings};
use kilter_web::address::AddressPolicy;
use ruzstd::encoding::{CompressionLevel, compress_to_vec};

use super::{open_client, settings};
use crate::site::{Say, Site, answer, page};

/// 64 MiB of one letter in 106 bytes of brotli.
const BROTLI_BOMB: &str = "cbffff3ff825c2e2b14020f7fe8fffff7ff04b00c4611180eefd1fffffffe0970088c30200ddfb3ffeffffc12f0110870500baf77ffcffff835f02200e0b0074effff8ffff07bf04401c1600e8defff1ffff0f7e0980382c00d0bdffcbffff3ffc1200715800a07bff07";
/// `<p>hello brotli</p>` eight times.
const BROTLI_HELLO: &str =
    "1b9700f81d87e93678b6c9ea5efa9a074e8e4efabc88651adb5b6d126089200ef4c9bf0f09";

fn hex(text: &str) -> Vec<u8> {
    (0..text.len())
        .step_by(2)
        .map(|i| u8::from_str_radix(&text[i..i + 2], 16).expect("hex"))
        .collect()
}

fn gzip(body: &[u8]) -> Vec<u8> {
    let mut packer = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::best());
    packer.write_all(body).expect("memory");
    packer.finish().expect("memory")
}

fn zlib(body: &[u8]) -> Vec<u8> {
    let mut packer = flate2::write::ZlibEncoder::new(Vec::new(), flate2::Compression::best());
    packer.write_all(body).expect("memory");
    packer.finish().expect("memory")
}

fn deflate(body: &[u8]) -> Vec<u8> {
    let mut packer = flate2::write::DeflateEncoder::new(Vec::new(), flate2::Compression::best());
    packer.write_all(body).expect("memory");
    packer.finish().expect("memory")
}

fn packed(coding: &str, body: &[u8]) -> Say {
    answer(
        "200 OK",
        &format!("Content-Type: text/html\r\nContent-Encoding: {coding}\r\n"),
        body,
    )
}

#[tokio::test]
async fn every_coding_is_undone() {
    let site = Site::start(|r| {
        let body = b"<p>hello packed</p>".repeat(100);
        match r.path.as_str() {
            "/gzip" => packed("gzip", &gzip(&body)),
            "/x-gzip" => packed("X-GZIP", &gzip(&body)),
            "/members" => packed("gzip", &[gzip(&body[..19]), gzip(&body[19..])].concat()),
            "/zlib" => packed("deflate", &zlib(&body)),
            "/deflate" => packed("deflate", &deflate(&body)),
            "/zstd" => packed("zstd", &compress_to_vec(&body[..], CompressionLevel::Fastest)),
            "/frames" => packed(
                "zstd",
                &[
                    compress_to_vec(&body[..19], CompressionLevel::Fastest),
                    vec![0x50, 0x2a, 0x4d, 0x18, 3, 0, 0, 0, 1, 2, 3],
                    compress_to_vec(&body[19..], CompressionLevel::Fastest),
                ]
                .concat(),
            ),
            "/two" => packed("deflate, gzip", &gzip(&zlib(&body))),
            "/identity" => packed("identity", &body),
            "/chunked" => Say::Bytes(
                [
                    b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nTransfer-Encoding: chunked\r\n\r\n".to_vec(),
                    b"13\r\n<p>hello packed</p>\r\n".repeat(100),
                    b"0\r\n\r\n".to_vec(),
                ]
                .concat(),
            ),
            "/old" => Say::Bytes([b"HTTP/1.0 200 OK\r\nContent-Type: text/html\r\n\r\n".to_vec(), body].concat()),
            _ => packed("br", &hex(BROTLI_HELLO)),
        }
    })
    .await;
    let client = open_client();
    for path in [
        "/gzip",
        "/x-gzip",
        "/members",
        "/zlib",
        "/deflate",
        "/zstd",
        "/frames",
        "/two",
        "/identity",
        "/chunked",
        "/old",
    ] {
        let got = client
            .get(&site.url(path), &GetOptions::default())
            .await
            .expect(path);
        assert_eq!(
            &got.body[..],
            &b"<p>hello packed</p>".repeat(100)[..],
            "{path}"
        );
    }
    let got = client
        .get(&site.url("/br"), &GetOptions::default())
        .await
        .expect("brotli");
    assert_eq!(&got.body[..], &b"<p>hello brotli</p>".repeat(8)[..]);
    assert_eq!(
        site.last().header("accept-encoding"),
        Some("gzip, br, zstd")
    );
}

#[tokio::test]
async fn hostile_answers_fail_by_type_and_the_next_read_works() {
    let big = vec![b'a'; 64 << 20];
    let bomb_gzip = gzip(&big);
    let bomb_zstd = compress_to_vec(&big[..], CompressionLevel::Fastest);
    let site = Site::start(move |r| {
        let chunked = "HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nTransfer-Encoding: chunked\r\n\r\n";
        let chunk = [b"10000\r\n".to_vec(), vec![b'x'; 0x10000], b"\r\n".to_vec()].concat();
        match r.path.as_str() {
            "/bomb-gzip" => packed("gzip", &bomb_gzip),
            "/bomb-br" => packed("br", &hex(BROTLI_BOMB)),
            "/bomb-zstd" => packed("zstd", &bomb_zstd),
            "/bomb-twice" => packed("gzip, gzip", &gzip(&bomb_gzip)),
            "/layers" => packed("gzip, gzip, gzip, gzip", b"x"),
            // A window of 2 GiB (RFC 8878, 3.1.1.1.2: exponent 21).
            "/window" => packed("zstd", &[0x28, 0xb5, 0x2f, 0xfd, 0x00, 21 << 3, 0x01, 0, 0]),
            "/stated" => Say::Bytes(b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Length: 99999999999\r\n\r\n<p>".to_vec()),
            "/endless" => Say::Drip(chunked.into(), chunk, Duration::ZERO),
            "/header" => Say::Bytes(format!("HTTP/1.1 200 OK\r\nX-Big: {}\r\n\r\n", "y".repeat(200_000)).into_bytes()),
            "/endless-header" => Say::Drip(b"HTTP/1.1 200 OK\r\n".to_vec(), b"X: yyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyy\r\n".repeat(50), Duration::ZERO),
            "/lines" => Say::Bytes(format!("HTTP/1.1 200 OK\r\n{}\r\n", "X: y\r\n".repeat(1000)).into_bytes()),
            "/cut" => Say::Bytes(b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Length: 100\r\n\r\n<p>half".to_vec()),
            "/cut-chunk" => Say::Bytes(format!("{chunked}ff\r\n<p>half").into_bytes()),
            "/cut-gzip" => packed("gzip", &gzip(&b"0123456789abcdef".repeat(100))[..30]),
            "/cut-br" => packed("br", &hex(BROTLI_HELLO)[..20]),
            "/cut-zstd" => packed("zstd", &compress_to_vec(&b"<p>hello</p>".repeat(500)[..], CompressionLevel::Fastest)[..20]),
            "/cut-head" => Say::Bytes(b"HTTP/1.1 200 OK\r\nContent-Ty".to_vec()),
            "/bad-gzip" => packed("gzip", b"\x1f\x8b\x08\x00not gzip at all"),
            "/bad-coding" => packed("lzma2000", b"x"),
            "/no-http" => Say::Bytes(b"220 mail.example ESMTP\r\n".to_vec()),
            "/image" => answer("200 OK", "Content-Type: image/png\r\n", "x"),
            "/video" => Say::Drip(b"HTTP/1.1 200 OK\r\nContent-Type: video/mp4\r\n\r\n".to_vec(), vec![0; 4096], Duration::from_millis(1)),
            "/slow-body" => Say::Drip(b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n\r\n".to_vec(), b"x".to_vec(), Duration::from_millis(20)),
            "/slow-head" => Say::Drip(b"HTTP/1.1 200 OK\r\n".to_vec(), b"X: y\r\n".to_vec(), Duration::from_millis(50)),
            "/silent" => Say::Nothing,
            "/continue" => Say::Drip(b"HTTP/1.1 100 Continue\r\n\r\n".to_vec(), b"HTTP/1.1 100 Continue\r\n\r\n".to_vec(), Duration::from_millis(5)),
            "/close" => Say::Bytes(Vec::new()),
            _ => page("<p>fine</p>"),
        }
    })
    .await;
    let client = Client::new(Settings {
        limits: Limits {
            total: Duration::from_millis(2500),
            ..Limits::default()
        },
        ..settings(AddressPolicy::public().allow_private())
    })
    .expect("a client");
    use FailureCode as C;
    for (path, want) in [
        ("/bomb-gzip", C::ResponseTooLarge),
        ("/bomb-br", C::ResponseTooLarge),
        ("/bomb-zstd", C::ResponseTooLarge),
        ("/bomb-twice", C::ResponseTooLarge),
        ("/layers", C::ResponseTooLarge),
        ("/window", C::NetworkError),
        ("/stated", C::ResponseTooLarge),
        ("/endless", C::ResponseTooLarge),
        ("/header", C::ResponseTooLarge),
        ("/endless-header", C::ResponseTooLarge),
        ("/lines", C::ResponseTooLarge),
        ("/cut", C::ResponseTruncated),
        ("/cut-chunk", C::ResponseTruncated),
        ("/cut-gzip", C::ResponseTruncated),
        ("/cut-br", C::ResponseTruncated),
        ("/cut-zstd", C::ResponseTruncated),
        ("/cut-head", C::ResponseTruncated),
        ("/bad-gzip", C::NetworkError),
        ("/bad-coding", C::UnsupportedContentType),
        ("/no-http", C::NetworkError),
        ("/image", C::UnsupportedContentType),
        ("/video", C::UnsupportedContentType),
        ("/slow-body", C::Timeout),
        ("/slow-head", C::Timeout),
        ("/silent", C::Timeout),
        ("/continue", C::Timeout),
        ("/close", C::ResponseTruncated),
    ] {
        let failure = client
            .get(&site.url(path), &GetOptions::default())
            .await
            .expect_err(path);
        assert_eq!(failure.code, want, "{path}: {failure}");
        let next = client
            .get(&site.url("/fine"), &GetOptions::default())
            .await
            .expect("the next read");
        assert_eq!(&next.body[..], b"<p>fine</p>");
    }
}

#[tokio::test]
async fn a_pdf_may_be_larger_than_a_page() {
    let site = Site::start(|r| {
        let body = [b"%PDF-1.4\n".to_vec(), vec![b' '; 9 << 20]].concat();
        match r.path.as_str() {
            "/typed" => answer("200 OK", "Content-Type: application/pdf\r\n", &body),
            "/untyped" => answer(
                "200 OK",
                "Content-Type: application/octet-stream\r\n",
                &body,
            ),
            "/large" => answer(
                "200 OK",
                "Content-Type: application/pdf\r\n",
                [&body[..], &body[..]].concat(),
            ),
            _ => answer("200 OK", "Content-Type: text/html\r\n", vec![b' '; 9 << 20]),
        }
    })
    .await;
    let client = open_client();
    for path in ["/typed", "/untyped"] {
        assert_eq!(
            client
                .get(&site.url(path), &GetOptions::default())
                .await
                .expect(path)
                .body
                .len(),
            (9 << 20) + 9
        );
    }
    for path in ["/large", "/page"] {
        let failure = client
            .get(&site.url(path), &GetOptions::default())
            .await
            .expect_err(path);
        assert_eq!(failure.code, FailureCode::ResponseTooLarge);
    }
}

#[tokio::test]
async fn a_host_is_asked_in_its_own_time_and_others_do_not_wait() {
    let pace = Pace::every(Duration::from_millis(60));
    let clock = tokio::time::Instant::now;
    let start = clock();
    pace.wait("a.example").await;
    pace.wait("b.example").await;
    let other = pace.clone();
    tokio::join!(pace.wait("a.example"), other.wait("a.example"));
    assert!(
        start.elapsed() >= Duration::from_millis(120),
        "three turns of one host take two pauses"
    );
}
