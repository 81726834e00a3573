//! Bytes → text: byte order mark, header, the page's own statement, detector, in this order.
//!
//! The order and the prescan are those of the HTML standard ("determining the character encoding"). Where nothing is
//! stated a detector looks at the bytes, and valid UTF-8 wins: unlike a browser, a reader has no scripts to keep from
//! depending on it.

pub mod prescan;

use chardetng::{EncodingDetector, Iso2022JpDetection, Utf8Detection};
use encoding_rs::{Encoding, UTF_8, UTF_16BE, UTF_16LE, WINDOWS_1252};
use serde::Serialize;

/// What decided the encoding.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Source {
    /// A byte order mark.
    Mark,
    /// `charset` in `Content-Type`.
    Header,
    /// The page's own `<meta>`, or its XML declaration.
    Page,
    /// The bytes themselves.
    Detector,
}

/// Text with how it was found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Decoded {
    /// The text; what was not valid is U+FFFD.
    pub text: String,
    /// Name of the encoding by the Encoding standard: `windows-1252`.
    pub encoding: &'static str,
    /// What decided it.
    pub source: Source,
    /// Whether some bytes were not valid.
    pub had_errors: bool,
}

/// Bytes that the detector looks at. More does not change its mind.
const DETECT_FROM: usize = 128 << 10;

/// Decodes a page (HTML or XML). `label` is the `charset` of the `Content-Type`: see [`charset`].
pub fn html(bytes: &[u8], label: Option<&str>) -> Decoded {
    let (encoding, source) = encoding_of(bytes, label);
    with(bytes, encoding, source)
}

/// Decodes what is no markup: a statement inside the text is text.
pub fn plain(bytes: &[u8], label: Option<&str>) -> Decoded {
    let (encoding, source) = by_mark(bytes)
        .or_else(|| by_label(label))
        .unwrap_or_else(|| (detect(bytes), Source::Detector));
    with(bytes, encoding, source)
}

/// The encoding of a page and what decided it.
pub fn encoding_of(bytes: &[u8], label: Option<&str>) -> (&'static Encoding, Source) {
    by_mark(bytes)
        .or_else(|| by_label(label))
        .or_else(|| by_page(bytes))
        .unwrap_or_else(|| (detect(bytes), Source::Detector))
}

/// What the page says, unless its bytes say that this cannot be: a template's `<meta>` outlives the server's change of
/// encoding, and a reader has to read the text where a browser shows garbage.
fn by_page(bytes: &[u8]) -> Option<(&'static Encoding, Source)> {
    let stated = prescan::prescan(bytes)?;
    let seven_bit = stated == encoding_rs::ISO_2022_JP;
    if stated != UTF_8 && !seven_bit && !bytes.is_ascii() && std::str::from_utf8(bytes).is_ok() {
        // No other encoding gives valid UTF-8 beyond ASCII by chance.
        return Some((UTF_8, Source::Detector));
    }
    if stated == UTF_8 && mostly_invalid(bytes) {
        return None;
    }
    Some((stated, Source::Page))
}

/// Whether so many of the bytes beyond ASCII are no UTF-8 that the statement must be wrong, not the text damaged.
fn mostly_invalid(bytes: &[u8]) -> bool {
    let beyond = bytes.iter().filter(|b| !b.is_ascii()).count();
    let bad: usize = bytes
        .utf8_chunks()
        .filter(|chunk| !chunk.invalid().is_empty())
        .count();
    bad > 4 && bad * 4 > beyond
}

fn with(bytes: &[u8], encoding: &'static Encoding, source: Source) -> Decoded {
    let (text, had_errors) = encoding.decode_with_bom_removal(bytes);
    Decoded {
        text: text.into_owned(),
        encoding: encoding.name(),
        source,
        had_errors,
    }
}

fn by_mark(bytes: &[u8]) -> Option<(&'static Encoding, Source)> {
    Encoding::for_bom(bytes).map(|(encoding, _)| (encoding, Source::Mark))
}

fn by_label(label: Option<&str>) -> Option<(&'static Encoding, Source)> {
    Encoding::for_label(label?.as_bytes()).map(|encoding| (encoding, Source::Header))
}

/// The value of `charset` in a `Content-Type`.
pub fn charset(content_type: &str) -> Option<String> {
    content_type.split(';').skip(1).find_map(|parameter| {
        let (name, value) = parameter.split_once('=')?;
        let value = value.trim().trim_matches(['"', '\'']).trim();
        (name.trim().eq_ignore_ascii_case("charset") && !value.is_empty()).then(|| value.to_owned())
    })
}

fn detect(bytes: &[u8]) -> &'static Encoding {
    if let Some(wide) = unmarked_utf16(bytes) {
        return wide;
    }
    match (bytes.is_ascii(), bytes.contains(&0x1b)) {
        // Nothing to tell apart: the standard's default.
        (true, false) => return WINDOWS_1252,
        (false, false) if std::str::from_utf8(bytes).is_ok() => return UTF_8,
        _ => {}
    }
    let mut detector = EncodingDetector::new(Iso2022JpDetection::Allow);
    detector.feed(
        &bytes[..bytes.len().min(DETECT_FROM)],
        bytes.len() <= DETECT_FROM,
    );
    // A page cut in the middle of a character, or with one broken byte, is still UTF-8: the detector counts.
    detector.guess(None, Utf8Detection::Allow)
}

/// UTF-16 without a mark: markup has its ASCII letters at every second byte.
fn unmarked_utf16(bytes: &[u8]) -> Option<&'static Encoding> {
    let head = &bytes[..bytes.len().min(256)];
    if head.len() < 8 {
        return None;
    }
    let zeros = |offset: usize| {
        head.iter()
            .skip(offset)
            .step_by(2)
            .filter(|&&b| b == 0)
            .count()
    };
    let (even, odd, half) = (zeros(0), zeros(1), head.len() / 2);
    if odd * 10 >= half * 9 && even * 10 < half {
        Some(UTF_16LE)
    } else if even * 10 >= half * 9 && odd * 10 < half {
        Some(UTF_16BE)
    } else {
        None
    }
}
