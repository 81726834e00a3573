//! The scanner and the completeness tracker against serde_json.

use kilter_wire::json::{self, Progress, Tracker};
use kilter_wire::{RawError, RawObject, json_is_open};
use proptest::prelude::*;
use serde_json::Value;

/// Any JSON value, as serde_json writes it, with strange strings.
pub(crate) fn any_json() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        // Eighths are exact: the law is about text, not about float parsing.
        any::<i32>().prop_map(|i| Value::from(f64::from(i) / 8.0)),
        ".{0,12}".prop_map(Value::from),
        prop::sample::select(vec!["\"}]", "\\\"", "{\"a\":[", "\u{1}\n", "é\u{1f30a}"])
            .prop_map(Value::from),
    ];
    leaf.prop_recursive(4, 40, 5, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..5).prop_map(Value::Array),
            prop::collection::vec((".{0,6}", inner), 0..5)
                .prop_map(|m| Value::Object(m.into_iter().collect())),
        ]
    })
}

proptest! {
    #[test]
    fn every_value_is_complete_and_every_cut_of_it_open(v in any_json()) {
        let text = v.to_string();
        prop_assert!(!json_is_open(&text), "{text}");
        let mut t = Tracker::new();
        for (i, c) in text.char_indices() {
            if i > 0 && !matches!(t.progress(), Progress::Complete) {
                prop_assert!(t.is_open(), "cut at {i} of {text}");
                prop_assert!(json_is_open(&text[..i]));
            }
            t.push(&text[i..i + c.len_utf8()]);
        }
        prop_assert!(t.is_complete());
    }

    #[test]
    fn the_tracker_agrees_with_serde_on_mutated_json(v in any_json(), at in any::<prop::sample::Index>(), with in "[\\[\\]{},:\"0-9tn. -]{0,2}") {
        let mut text = v.to_string();
        let i = at.index(text.len() + 1);
        prop_assume!(text.is_char_boundary(i));
        text.insert_str(i, &with);
        let valid = serde_json::from_str::<serde::de::IgnoredAny>(&text).is_ok();
        let mut t = Tracker::new();
        t.push(&text);
        prop_assert_eq!(t.is_complete(), valid, "{}", text);
    }

    #[test]
    fn the_scanner_takes_every_object_that_serde_takes(v in any_json(), pretty in any::<bool>()) {
        let v = serde_json::json!({ "v": v });
        let text = if pretty { serde_json::to_string_pretty(&v).unwrap() } else { v.to_string() };
        let o = RawObject::from_text(text.as_str()).unwrap();
        let inner: Value = serde_json::from_str(o.get("v").unwrap()).unwrap();
        prop_assert_eq!(&inner, &v["v"]);
    }

    #[test]
    fn no_text_makes_the_scanner_panic(text in any::<String>()) {
        let _ = RawObject::from_text(text.as_str());
        let _ = json::members(&text).count();
        let _ = json::elements(&text).count();
        let _ = json_is_open(&text);
        let _ = json::decode(&text);
    }

    #[test]
    fn no_json_like_text_makes_anything_panic(text in "[\\[\\]{}\",:\\\\u0-9a-fdDtrn .-]{0,60}") {
        let _ = RawObject::from_text(text.as_str());
        let _ = json::member(&text, "a");
        let _ = json::decode(&format!("\"{text}\""));
        let _ = json_is_open(&text);
    }

    #[test]
    fn strings_survive_encode_and_decode(s in any::<String>()) {
        let raw = json::encode(&s);
        prop_assert_eq!(json::decode(&raw).unwrap(), s.as_str());
        prop_assert_eq!(serde_json::from_str::<String>(&raw).unwrap(), s.as_str());
    }

    #[test]
    fn what_serde_encodes_we_decode(s in any::<String>()) {
        let raw = serde_json::to_string(&s).unwrap();
        prop_assert_eq!(json::decode(&raw).unwrap(), s.as_str());
    }
}

#[test]
fn open_complete_broken() {
    for open in [
        "{",
        "{\"a",
        "{\"a\":",
        "{\"a\":1",
        "{\"a\":\"x",
        "[1,",
        "[",
        "tru",
        "\"a\\",
        "\"\\u00",
        "-",
        "1.",
        "1e",
    ] {
        assert!(json_is_open(open), "{open}");
    }
    for not in [
        "",
        "  \n",
        "{}",
        "{\"a\":1}",
        "12",
        "null",
        " [ ] ",
        "{]",
        "{\"a\":1}}",
        "{a:1}",
        "01",
        "\"\n",
    ] {
        assert!(!json_is_open(not), "{not:?}");
    }
}

#[test]
fn a_long_argument_in_small_deltas_is_followed_once() {
    // Linear by construction: each byte is looked at once. 320 KB in 8-byte deltas.
    let mut t = Tracker::new();
    t.push("{\"text\":\"");
    for _ in 0..40_000 {
        t.push("abcdefgh");
        assert!(t.is_open());
    }
    t.push("\"}");
    assert!(t.is_complete());
}

#[test]
fn lone_surrogates_do_not_fail_a_body() {
    assert_eq!(json::decode(r#""a\ud83d b""#).unwrap(), "a\u{fffd} b");
    assert_eq!(json::decode(r#""\ud83c\udf0a""#).unwrap(), "\u{1f30a}");
    assert_eq!(json::decode(r#""\ud83dA""#).unwrap(), "\u{fffd}A");
    assert_eq!(json::decode(r#""\u12""#).unwrap(), "\u{fffd}12");
}

#[test]
fn nesting_is_bounded() {
    let ok = format!("{{\"a\":{}{}}}", "[".repeat(500), "]".repeat(500));
    assert!(RawObject::from_text(ok).is_ok());
    let deep = format!("{{\"a\":{}{}}}", "[".repeat(5000), "]".repeat(5000));
    assert!(matches!(
        RawObject::from_text(deep),
        Err(RawError::TooDeep { .. })
    ));
    let mixed = format!("{{\"a\":{}1{}}}", "[{\"b\":".repeat(200), "}]".repeat(200));
    assert!(RawObject::from_text(mixed).is_ok());
}

#[test]
fn python_numbers_pass() {
    let o = RawObject::parse(br#"{"logprob":-Infinity,"b":NaN,"c":Infinity}"#).unwrap();
    assert_eq!(o.get("logprob"), Some("-Infinity"));
    assert_eq!(o.get("c"), Some("Infinity"));
}

#[test]
fn integers_in_other_clothes() {
    assert_eq!(json::as_u64("8192"), Some(8192));
    assert_eq!(json::as_u64("8192.0"), Some(8192));
    assert_eq!(json::as_u64("8e3"), Some(8000));
    for no in [
        "-1", "1.5", "\"7\"", "null", "NaN", "Infinity", "inf", "1e300",
    ] {
        assert_eq!(json::as_u64(no), None, "{no}");
    }
}
