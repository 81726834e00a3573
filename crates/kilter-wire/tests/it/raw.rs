//! Splice editors: identity, minimal edits, duplicate keys, typed failures.

use kilter_wire::{RawArray, RawError, RawObject};
use proptest::prelude::*;
use serde_json::{Map, Value};

use crate::json::any_json;

/// An object as text with arbitrary white space, and what it holds.
fn spaced() -> impl Strategy<Value = (String, Vec<(String, Value)>)> {
    let ws = prop_oneof![Just(""), Just(" "), Just("\n\t"), Just("\r\n  ")];
    let member = (
        "[a-f]{1,2}",
        any_json(),
        ws.clone(),
        ws.clone(),
        ws.clone(),
        ws.clone(),
    );
    (
        prop::collection::vec(member, 0..6),
        ws.clone(),
        ws.clone(),
        ws,
    )
        .prop_map(|(ms, a, b, c)| {
            let mut text = format!("{a}{{");
            let mut seen: Vec<(String, Value)> = Vec::new();
            for (i, (k, v, w1, w2, w3, w4)) in ms.iter().enumerate() {
                if i > 0 {
                    text.push(',');
                }
                text.push_str(&format!("{w1}\"{k}\"{w2}:{w3}{v}{w4}"));
                seen.push((k.clone(), v.clone()));
            }
            text.push_str(&format!("{b}}}{c}"));
            (text, seen)
        })
}

fn as_map(o: &RawObject) -> Map<String, Value> {
    serde_json::from_str(&o.to_text()).unwrap()
}

proptest! {
    #[test]
    fn untouched_is_byte_identical((text, members) in spaced()) {
        let o = RawObject::parse(text.as_bytes()).unwrap();
        prop_assert_eq!(o.to_bytes(), text.as_bytes());
        prop_assert_eq!(o.clone().into_bytes(), text.as_bytes());
        prop_assert_eq!(o.len(), members.len());
        for (k, _) in &members {
            let last = &members.iter().rfind(|(n, _)| n == k).unwrap().1;
            let got: Value = serde_json::from_str(o.get(k).unwrap()).unwrap();
            prop_assert_eq!(&got, last);
        }
    }

    #[test]
    fn set_changes_one_member((text, _) in spaced(), key in "[a-h]{1,2}", v in any_json()) {
        let mut o = RawObject::parse(text.as_bytes()).unwrap();
        let mut want = as_map(&o);
        o.set(&key, v.to_string()).unwrap();
        want.insert(key, v);
        prop_assert_eq!(as_map(&o), want);
    }

    #[test]
    fn remove_takes_all_of_a_name((text, _) in spaced(), key in "[a-h]{1,2}") {
        let mut o = RawObject::parse(text.as_bytes()).unwrap();
        let mut want = as_map(&o);
        prop_assert_eq!(o.remove(&key), want.shift_remove(&key).is_some());
        prop_assert_eq!(as_map(&o), want);
        prop_assert!(!o.has(&key));
    }

    #[test]
    fn edits_keep_all_other_bytes((text, members) in spaced(), key in "[a-f]{1,2}") {
        // What an edit did not name is still there, byte for byte, in order.
        let mut o = RawObject::parse(text.as_bytes()).unwrap();
        let others: Vec<(String, String)> = o
            .members()
            .filter(|(k, _)| *k != format!("\"{key}\""))
            .map(|(k, v)| (k.to_owned(), v.to_owned()))
            .collect();
        o.set(&key, "[ 1 ]").unwrap();
        let again = RawObject::from_text(o.to_text().into_owned()).unwrap();
        let now: Vec<(String, String)> = again
            .members()
            .filter(|(k, _)| *k != format!("\"{key}\""))
            .map(|(k, v)| (k.to_owned(), v.to_owned()))
            .collect();
        prop_assert_eq!(now, others);
        // A name that is there once is replaced in place: prefix and suffix stay.
        if members.iter().filter(|(k, _)| *k == key).count() == 1 {
            let old = RawObject::parse(text.as_bytes()).unwrap();
            let was = old.get(&key).unwrap();
            let at = was.as_ptr() as usize - old.to_text().as_ptr() as usize;
            let want = format!("{}[ 1 ]{}", &text[..at], &text[at + was.len()..]);
            prop_assert_eq!(o.to_text(), want);
        }
    }

    #[test]
    fn rename_keeps_place_and_value((text, _) in spaced(), from in "[a-f]{1,2}") {
        let mut o = RawObject::parse(text.as_bytes()).unwrap();
        let value = o.get(&from).map(str::to_owned);
        let had = o.rename(&from, "renamed");
        prop_assert_eq!(had, value.is_some());
        prop_assert_eq!(o.get("renamed").map(str::to_owned), value);
        prop_assert!(!o.has(&from));
        prop_assert!(RawObject::from_text(o.to_text().into_owned()).is_ok());
        if !had {
            prop_assert_eq!(o.to_text(), text);
        }
    }

    #[test]
    fn arrays_edit_like_lists(items in prop::collection::vec(any_json(), 0..6), at in 0usize..7, v in any_json(), pretty in any::<bool>()) {
        let whole = Value::Array(items.clone());
        let text = if pretty { serde_json::to_string_pretty(&whole).unwrap() } else { whole.to_string() };
        let a = RawArray::from_text(text.as_str()).unwrap();
        prop_assert_eq!(a.to_text(), text.as_str());
        prop_assert_eq!(a.iter().count(), items.len());
        let mut b = a.clone();
        let mut want = items.clone();
        prop_assert_eq!(b.set(at, v.to_string()).unwrap(), at < want.len());
        if let Some(slot) = want.get_mut(at) {
            *slot = v.clone();
        }
        b.insert(at, "0").unwrap();
        want.insert(at.min(want.len()), Value::from(0));
        prop_assert_eq!(serde_json::from_str::<Value>(&b.to_text()).unwrap(), Value::Array(want));
        let mut c = a;
        let mut want = items;
        prop_assert_eq!(c.remove(at), at < want.len());
        if at < want.len() {
            want.remove(at);
        }
        prop_assert_eq!(serde_json::from_str::<Value>(&c.to_text()).unwrap(), Value::Array(want));
    }
}

#[test]
fn duplicate_keys_last_wins_and_all_go() {
    let text = br#"{"model":"a","x":1,"model":"b"}"#;
    let mut o = RawObject::parse(text).unwrap();
    assert_eq!(o.get_str("model").unwrap(), "b");
    let mut set = o.clone();
    set.set_str("model", "c");
    assert_eq!(set.to_text(), r#"{"x":1,"model":"c"}"#);
    assert!(o.remove("model"));
    assert_eq!(o.to_text(), r#"{"x":1}"#);
}

#[test]
fn escaped_keys_are_the_same_keys() {
    let mut o = RawObject::parse(br#"{"mod\u0065l":"a"}"#).unwrap();
    assert_eq!(o.get_str("model").unwrap(), "a");
    o.set_str("model", "b");
    assert_eq!(o.to_text(), r#"{"mod\u0065l":"b"}"#);
}

#[test]
fn setting_the_same_value_touches_nothing() {
    let text = r#"{ "a" : 1 }"#;
    let mut o = RawObject::from_text(text).unwrap();
    o.set("a", "1").unwrap();
    assert!(!o.is_edited());
    assert_eq!(o.to_text(), text);
}

#[test]
fn removal_at_each_place_leaves_json() {
    for (key, want) in [
        ("a", "{\n  \"b\": 2,\n  \"c\": 3\n}"),
        ("b", "{\n  \"a\": 1,\n  \"c\": 3\n}"),
        ("c", "{\n  \"a\": 1,\n  \"b\": 2\n}"),
    ] {
        let mut o = RawObject::from_text("{\n  \"a\": 1,\n  \"b\": 2,\n  \"c\": 3\n}").unwrap();
        assert!(o.remove(key));
        assert_eq!(o.to_text(), want);
    }
}

#[test]
fn bad_bodies_say_where() {
    assert_eq!(RawObject::parse(b"").unwrap_err(), RawError::Cut);
    assert_eq!(RawObject::parse(b"{\"a\":1").unwrap_err(), RawError::Cut);
    assert_eq!(RawObject::parse(b"{\"a\":tru").unwrap_err(), RawError::Cut);
    assert!(matches!(
        RawObject::parse(b"{\"a\":1,}"),
        Err(RawError::Syntax { at: 7, .. })
    ));
    assert!(matches!(
        RawObject::parse(b"{'a':1}"),
        Err(RawError::Syntax { at: 1, .. })
    ));
    assert!(matches!(
        RawObject::parse(b"{} x"),
        Err(RawError::Syntax { at: 3, .. })
    ));
    assert!(matches!(
        RawObject::parse(b"<html>"),
        Err(RawError::Syntax { at: 0, .. })
    ));
    assert!(matches!(
        RawObject::parse(b"[1]"),
        Err(RawError::Kind { .. })
    ));
    assert_eq!(
        RawObject::parse(b"{\"a\":\"\xff\"}").unwrap_err(),
        RawError::NotUtf8 { at: 6 }
    );
    let mut o = RawObject::new();
    assert!(o.set("a", "{").is_err());
    assert!(
        o.set("a", "1,\"b\":2").is_err(),
        "a value cannot smuggle in a member"
    );
    assert_eq!(o.to_text(), "{}");
}

#[test]
fn a_nested_edit_is_take_edit_set_back() {
    let text = r#"{"stream":true, "stream_options" : { "x":1.00,"include_usage":true } ,"z":0}"#;
    let mut o = RawObject::from_text(text).unwrap();
    let mut inner = o.object("stream_options").unwrap();
    inner.remove("include_usage");
    o.set_object("stream_options", &inner);
    assert_eq!(
        o.to_text(),
        r#"{"stream":true, "stream_options" : { "x":1.00 } ,"z":0}"#
    );
}

#[test]
fn keys_are_compared_by_what_they_say() {
    let o = RawObject::from_text(r#"{"a\\b":1,"\u0061":2,"ab":3,"a":4,"":5,"\"":6}"#).unwrap();
    assert_eq!(o.get("a\\b"), Some("1"));
    assert_eq!(o.get("a"), Some("4"));
    assert_eq!(o.get("ab"), Some("3"));
    assert_eq!(o.get(""), Some("5"));
    assert_eq!(o.get("\""), Some("6"));
    assert_eq!(o.get("\\u0061"), None);
    assert_eq!(
        RawObject::from_text(r#"{"\u0061":2}"#).unwrap().get("a"),
        Some("2")
    );
    assert_eq!(
        RawObject::from_text(r#"{"a\n":2}"#).unwrap().get("a\\n"),
        None
    );
}
