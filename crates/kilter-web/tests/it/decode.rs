//! Charset and URL parsing against the web platform's own tests, and the order of what decides an encoding.

use std::path::PathBuf;

use encoding_rs::Encoding;
use kilter_web::address::read_url;
use kilter_web::decode::{Decoded, Source, charset, encoding_of, html, plain};
use serde_json::Value;

/// Decodes a page with its `Content-Type`.
fn decode(bytes: &[u8], content_type: Option<&str>) -> Decoded {
    html(bytes, content_type.and_then(charset).as_deref())
}

/// The folder of test data that is not in the repository.
fn corpus(part: &str) -> Option<PathBuf> {
    let root = std::env::var_os("KILTER_CORPUS").map_or_else(
        || PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../../shared/corpus"),
        PathBuf::from,
    );
    let path = root.join(part);
    if !path.exists() {
        eprintln!("left out: no {} (set KILTER_CORPUS)", path.display());
        return None;
    }
    Some(path)
}

/// Cases of the encoding files that do not hold here: number of the case in its file, and why. Every other one must.
const ENCODING_EXCEPTIONS: &[(&str, usize, &str)] = &[(
    "test-yahoo-jp.dat",
    0,
    "the page states EUC-JP and its bytes are valid UTF-8 beyond ASCII: read as stated its Japanese is garbage, read as UTF-8 it is \
     Japanese; a reader takes the text",
)];

#[test]
fn the_encoding_tests_of_html5lib_pass() {
    let Some(folder) = corpus("html5lib/encoding") else {
        return;
    };
    let (mut cases, mut wrong) = (0, Vec::new());
    for file in ["tests1.dat", "tests2.dat", "test-yahoo-jp.dat"] {
        let bytes = std::fs::read(folder.join(file)).expect(file);
        for (n, (data, label)) in parse(&bytes).into_iter().enumerate() {
            cases += 1;
            let want = Encoding::for_label(label.as_bytes()).expect("a known label");
            let (got, source) = encoding_of(&data, None);
            let excused = ENCODING_EXCEPTIONS
                .iter()
                .any(|(f, i, _)| *f == file && *i == n);
            if (got == want) == excused {
                let shown: String = String::from_utf8_lossy(&data).chars().take(300).collect();
                wrong.push(format!(
                    "{file} {n}: {} by {source:?}, not {}\n{shown}",
                    got.name(),
                    want.name()
                ));
            }
        }
    }
    let big5 = std::fs::read(folder.join("chardet/test_big5.txt")).expect("the Big5 text");
    let decoded = decode(&big5, None);
    assert_eq!(
        (decoded.encoding, decoded.source),
        ("Big5", Source::Detector)
    );
    eprintln!(
        "{} cases of html5lib/encoding, {} exceptions",
        cases + 1,
        ENCODING_EXCEPTIONS.len()
    );
    assert!(
        wrong.is_empty(),
        "{} of {cases} wrong:\n{}",
        wrong.len(),
        wrong.join("\n---\n")
    );
    assert!(cases > 60, "{cases} cases");
}

/// `#data` … `#encoding` … blocks.
fn parse(bytes: &[u8]) -> Vec<(Vec<u8>, String)> {
    let mut out = Vec::new();
    let mut rest = bytes;
    while let Some(start) = find(rest, b"#data\n") {
        rest = &rest[start + 6..];
        let Some(end) = find(rest, b"\n#encoding\n") else {
            break;
        };
        let data = rest[..end].to_vec();
        rest = &rest[end + 11..];
        let line = rest.split(|b| *b == b'\n').next().unwrap_or_default();
        out.push((data, String::from_utf8_lossy(line).trim().to_owned()));
    }
    out
}

fn find(haystack: &[u8], needle: &[u8]) -> Option<usize> {
    haystack.windows(needle.len()).position(|w| w == needle)
}

/// Cases of `urltestdata.json` that do not hold here: input, base, and why. Every other one must.
const URL_EXCEPTIONS: &[(&str, Option<&str>, &str)] = &[
    ("/", Some("file://h/C:/a/b"), DRIVE),
    ("file:\\\\//", None, EMPTY),
    ("file:\\\\\\\\", None, EMPTY),
    ("file:\\\\\\\\?fox", None, EMPTY),
    ("file:\\\\\\\\#guppy", None, EMPTY),
    ("file://spider///", None, EMPTY),
    ("file:\\\\localhost//", None, EMPTY),
    ("file://\\/localhost//cat", None, EMPTY),
    ("file://localhost//a//../..//", None, EMPTY),
    ("/////mouse", Some("file:///elephant"), EMPTY),
    ("\\/localhost//pig", Some("file://lion/"), EMPTY),
    ("//localhost//pig", Some("file://lion/"), EMPTY),
    ("/..//localhost//pig", Some("file://lion/"), EMPTY),
    ("C|", Some("file://host/dir/file"), DRIVE),
    ("C|", Some("file://host/D:/dir1/dir2/file"), DRIVE),
    ("C|#", Some("file://host/dir/file"), DRIVE),
    ("C|?", Some("file://host/dir/file"), DRIVE),
    ("C|/", Some("file://host/dir/file"), DRIVE),
    ("C|\n/", Some("file://host/dir/file"), DRIVE),
    ("C|\\", Some("file://host/dir/file"), DRIVE),
    ("/c:/foo/bar", Some("file://host/path"), DRIVE),
    ("file://example.net/C:/", None, DRIVE),
    ("file://1.2.3.4/C:/", None, DRIVE),
    ("file://[1::8]/C:/", None, DRIVE),
    ("C|/", Some("file://host/"), DRIVE),
    ("/C:/", Some("file://host/"), DRIVE),
    ("file:C:/", Some("file://host/"), DRIVE),
    ("file:/C:/", Some("file://host/"), DRIVE),
    ("file://localhost//a//../..//foo", None, EMPTY),
    ("file://localhost////foo", None, EMPTY),
    ("file:////foo", None, EMPTY),
    ("file:////one/two", Some("file:///"), EMPTY),
    ("////one/two", Some("file:///"), EMPTY),
    ("file:///.//", Some("file:////"), EMPTY),
    ("file:.//p", None, EMPTY),
    ("file:/.//p", None, EMPTY),
];

/// `file:` URLs are never asked for; the parser drops the host before a drive letter.
const DRIVE: &str = "a file URL with a drive letter loses its host";
/// `file:` URLs are never asked for; the parser folds empty segments at the start of their path.
const EMPTY: &str = "a file URL with empty path segments loses them";

#[test]
fn the_url_tests_of_the_web_platform_pass() {
    let Some(file) = corpus("whatwg-url/urltestdata.json") else {
        return;
    };
    let data: Vec<Value> =
        serde_json::from_slice(&std::fs::read(file).expect("the file")).expect("JSON");
    let (mut cases, mut wrong) = (0, Vec::new());
    for case in data.iter().filter(|c| c.is_object()) {
        cases += 1;
        let input = case["input"].as_str().expect("an input");
        let base_text = case["base"].as_str();
        let base = base_text.map(|b| read_url(b, None));
        let got = match base {
            Some(Err(e)) => Err(e.to_string()),
            Some(Ok(base)) => read_url(input, Some(&base)).map_err(|e| e.to_string()),
            None => read_url(input, None).map_err(|e| e.to_string()),
        };
        let fails = case["failure"].as_bool() == Some(true);
        let right = match &got {
            Err(_) => fails,
            Ok(url) => {
                !fails
                    && url.as_str() == case["href"].as_str().unwrap_or_default()
                    && parts_agree(url, case)
            }
        };
        let excused = URL_EXCEPTIONS
            .iter()
            .any(|(i, b, _)| *i == input && *b == base_text);
        assert!(
            !excused
                || case["href"]
                    .as_str()
                    .is_some_and(|h| h.starts_with("file:")),
            "{input:?}"
        );
        if right == excused {
            wrong.push(format!(
                "{input:?} on {base_text:?}: {got:?}, not {}",
                case["href"]
            ));
        }
    }
    eprintln!(
        "{cases} cases of urltestdata.json, {} exceptions",
        URL_EXCEPTIONS.len()
    );
    assert!(
        wrong.is_empty(),
        "{} of {cases} wrong:\n{}",
        wrong.len(),
        wrong.join("\n")
    );
    assert!(cases > 800, "{cases} cases");
}

/// Host, path and so on, not only the whole.
fn parts_agree(url: &url::Url, case: &Value) -> bool {
    use url::quirks;
    let is = |key: &str, got: &str| case[key].as_str().is_none_or(|want| want == got);
    is("protocol", quirks::protocol(url))
        && is("username", quirks::username(url))
        && is("password", quirks::password(url))
        && is("host", quirks::host(url))
        && is("hostname", quirks::hostname(url))
        && is("port", quirks::port(url))
        && is("pathname", quirks::pathname(url))
        && is("search", quirks::search(url))
        && is("hash", quirks::hash(url))
}

#[test]
fn mark_beats_header_beats_page_beats_bytes() {
    let text = "<meta charset=iso-8859-2><p>žluťoučký";
    let utf8 = text.as_bytes();
    let (latin2, _, _) = encoding_rs::ISO_8859_2.encode(text);
    let marked = [b"\xef\xbb\xbf".as_slice(), utf8].concat();
    for (bytes, header, want, source) in [
        (
            &marked[..],
            Some("text/html; charset=iso-8859-2"),
            "UTF-8",
            Source::Mark,
        ),
        (
            utf8,
            Some("text/html; charset=UTF-8"),
            "UTF-8",
            Source::Header,
        ),
        (
            utf8,
            Some("text/html;Charset = \"utf8\" ; x=y"),
            "UTF-8",
            Source::Header,
        ),
        (&latin2[..], Some("text/html"), "ISO-8859-2", Source::Page),
        (
            &latin2[..],
            Some("text/html; charset=nonsense"),
            "ISO-8859-2",
            Source::Page,
        ),
        (&latin2[..], None, "ISO-8859-2", Source::Page),
    ] {
        let got = decode(bytes, header);
        assert_eq!((got.encoding, got.source), (want, source), "{header:?}");
        assert!(got.text.ends_with("žluťoučký"), "{}", got.text);
        assert!(!got.text.starts_with('\u{feff}') && !got.had_errors);
    }
}

#[test]
fn bytes_without_a_word_about_themselves_are_detected() {
    let japanese =
        "<html><body><p>これは日本語の文章です。港の測量について説明します。</p></body></html>";
    let russian = "<p>Это обычный текст на русском языке о съёмке гавани и её результатах.</p>";
    let german =
        "<p>Über die Vermessung des Hafens: größere Schiffe müssen künftig außerhalb ankern.</p>";
    for (text, encoding) in [
        (japanese, encoding_rs::UTF_8),
        (japanese, encoding_rs::SHIFT_JIS),
        (japanese, encoding_rs::EUC_JP),
        (japanese, encoding_rs::ISO_2022_JP),
        (russian, encoding_rs::UTF_8),
        (russian, encoding_rs::WINDOWS_1251),
        (german, encoding_rs::UTF_8),
        (german, encoding_rs::WINDOWS_1252),
    ] {
        let (bytes, _, _) = encoding.encode(text);
        let got = decode(&bytes, Some("text/html"));
        assert_eq!(
            got.text,
            text,
            "{} read as {}",
            encoding.name(),
            got.encoding
        );
        assert_eq!(got.source, Source::Detector);
    }
    for wide in [
        japanese
            .encode_utf16()
            .flat_map(u16::to_le_bytes)
            .collect::<Vec<_>>(),
        japanese.encode_utf16().flat_map(u16::to_be_bytes).collect(),
    ] {
        let marked = [
            if wide[0] == 0 {
                b"\xfe\xff"
            } else {
                b"\xff\xfe"
            }
            .as_slice(),
            &wide,
        ]
        .concat();
        assert_eq!(decode(&marked, None).text, japanese);
    }
    let english = "<html><head><title>plain</title></head><body>words</body></html>";
    for wide in [
        english
            .encode_utf16()
            .flat_map(u16::to_le_bytes)
            .collect::<Vec<_>>(),
        english.encode_utf16().flat_map(u16::to_be_bytes).collect(),
    ] {
        assert_eq!(
            decode(&wide, Some("text/html")).text,
            english,
            "UTF-16 without a mark"
        );
    }
}

#[test]
fn broken_bytes_are_replaced_and_said() {
    for bytes in [
        &b"<p>ok \xff\xfe\xfd bad</p>"[..],
        &b"\xed\xa0\x80\xed\xb0\x80"[..],
        &b"\xf8\x88\x80\x80\x80"[..],
    ] {
        let got = decode(bytes, Some("text/html; charset=utf-8"));
        assert!(got.had_errors && got.text.contains('\u{fffd}'));
    }
    let every: Vec<u8> = (0..=255u8).cycle().take(70_000).collect();
    for header in [
        None,
        Some("text/html; charset=utf-8"),
        Some("text/html; charset=shift_jis"),
        Some("text/html; charset=utf-16le"),
    ] {
        let got = decode(&every, header);
        assert!(!got.text.is_empty());
    }
}

#[test]
fn a_statement_inside_plain_text_is_text() {
    let text = "<meta charset=shift_jis> größer";
    assert_eq!(plain(text.as_bytes(), None).text, text);
}
