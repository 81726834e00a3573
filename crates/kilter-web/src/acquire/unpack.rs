//! Bodies as sent → bodies as meant: gzip, deflate, br and zstd with a cap on what comes out.

use std::io::{self, Read};

use crate::failure::{Failure, FailureCode};

/// Codings one upon the other that are still undone.
const MOST_LAYERS: usize = 3;

/// The largest zstd window that HTTP may use (RFC 9659, section 3).
const ZSTD_WINDOW: u64 = 8 << 20;

/// Undoes the codings in `Content-Encoding`, the last one first. Each layer's output is capped at `limit` bytes.
///
/// # Errors
/// `response_too_large` past the cap, `response_truncated` where the data end early, `network_error` where they are no such
/// data, `unsupported_content_type` for a coding that is not known.
pub fn unpack(body: Vec<u8>, encodings: &str, limit: usize) -> Result<Vec<u8>, Failure> {
    let layers: Vec<String> = encodings
        .split(',')
        .map(|e| e.trim().to_ascii_lowercase())
        .filter(|e| !e.is_empty() && e != "identity")
        .collect();
    if layers.len() > MOST_LAYERS {
        return Err(Failure::new(
            FailureCode::ResponseTooLarge,
            format!(
                "the body is packed {} times; {MOST_LAYERS} is the limit",
                layers.len()
            ),
        ));
    }
    layers
        .iter()
        .rev()
        .try_fold(body, |body, coding| layer(&body, coding, limit))
}

fn layer(body: &[u8], coding: &str, limit: usize) -> Result<Vec<u8>, Failure> {
    if body.is_empty() {
        return Ok(Vec::new());
    }
    let read = match coding {
        "gzip" | "x-gzip" => capped(flate2::read::MultiGzDecoder::new(body), limit),
        // Servers send both forms under this name; the zlib header tells them apart (RFC 9110, 8.4.1.2).
        "deflate" if zlib(body) => capped(flate2::read::ZlibDecoder::new(body), limit),
        "deflate" => capped(flate2::read::DeflateDecoder::new(body), limit),
        "br" => brotli(body, limit),
        "zstd" => zstd(body, limit),
        other => {
            return Err(Failure::new(
                FailureCode::UnsupportedContentType,
                format!(
                    "the body is packed with `{}`, which was not asked for",
                    other.chars().take(40).collect::<String>()
                ),
            ));
        }
    };
    match read {
        Ok(Some(out)) => Ok(out),
        Ok(None) => Err(Failure::new(
            FailureCode::ResponseTooLarge,
            format!(
                "the body unpacks to more than {limit} bytes\nhint: ask for a smaller page of the same site"
            ),
        )),
        Err(e) if e.kind() == io::ErrorKind::UnexpectedEof => Err(Failure::new(
            FailureCode::ResponseTruncated,
            format!("the packed body (`{coding}`) ends early\nhint: try again"),
        )),
        Err(e) => Err(Failure::new(
            FailureCode::NetworkError,
            format!(
                "the body is not valid `{coding}`: {e}\nhint: try again; the server may be broken"
            ),
        )),
    }
}

fn zlib(body: &[u8]) -> bool {
    matches!(body, [a, b, ..] if a & 0x0f == 8 && (u16::from(*a) << 8 | u16::from(*b)) % 31 == 0)
}

/// Everything that a reader gives, or nothing when it is more than `limit`.
fn capped(reader: impl Read, limit: usize) -> io::Result<Option<Vec<u8>>> {
    let mut out = Vec::new();
    reader.take(limit as u64 + 1).read_to_end(&mut out)?;
    Ok((out.len() <= limit).then_some(out))
}

/// By hand, because the library's reader says "invalid" of data that merely end early.
fn brotli(body: &[u8], limit: usize) -> io::Result<Option<Vec<u8>>> {
    use brotli_decompressor::{BrotliDecompressStream, BrotliResult, BrotliState, StandardAlloc};
    let mut state = BrotliState::new(
        StandardAlloc::default(),
        StandardAlloc::default(),
        StandardAlloc::default(),
    );
    let (mut left, mut read, mut total) = (body.len(), 0, 0);
    let mut out = Vec::new();
    let mut part = vec![0; 64 << 10];
    loop {
        let (mut room, mut written) = (part.len(), 0);
        let result = BrotliDecompressStream(
            &mut left,
            &mut read,
            body,
            &mut room,
            &mut written,
            &mut part,
            &mut total,
            &mut state,
        );
        if out.len() + written > limit {
            return Ok(None);
        }
        out.extend_from_slice(&part[..written]);
        match result {
            BrotliResult::ResultSuccess => return Ok(Some(out)),
            BrotliResult::NeedsMoreOutput => {}
            BrotliResult::NeedsMoreInput => return Err(io::ErrorKind::UnexpectedEof.into()),
            BrotliResult::ResultFailure => return Err(io::ErrorKind::InvalidData.into()),
        }
    }
}

fn zstd(body: &[u8], limit: usize) -> io::Result<Option<Vec<u8>>> {
    let mut rest = body;
    let mut out = Vec::new();
    while !rest.is_empty() {
        if let [0x50..=0x5f, 0x2a, 0x4d, 0x18, a, b, c, d, tail @ ..] = rest {
            // A frame to be skipped (RFC 8878, 3.1.2).
            let length = u32::from_le_bytes([*a, *b, *c, *d]) as usize;
            rest = tail.get(length..).ok_or(io::ErrorKind::UnexpectedEof)?;
            continue;
        }
        let frame =
            ruzstd::decoding::StreamingDecoder::new_with_max_window_size(&mut rest, ZSTD_WINDOW)
                .map_err(|e| ended_early(io::Error::other(e)))?;
        match capped(frame, limit.saturating_sub(out.len())).map_err(ended_early)? {
            Some(more) => out.extend_from_slice(&more),
            None => return Ok(None),
        }
    }
    Ok(Some(out))
}

/// The library wraps the end of its input in errors of its own: looks for it in what caused them.
fn ended_early(error: io::Error) -> io::Error {
    let text = format!("{error:?}");
    match text.contains("UnexpectedEof") {
        true => io::Error::new(io::ErrorKind::UnexpectedEof, text),
        false => error,
    }
}
