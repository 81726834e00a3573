//! Laws of the normaliser: calls survive every habit of a server, and normal form is a fixed point.

use kilter_wire::chat::HABITS;
use proptest::prelude::*;
use serde_json::{Value, json};

use crate::tools::{call, client, pairs, run, s};

/// Calls with arguments, cut into fragments and sent with one habit of a server.
fn habits() -> impl Strategy<Value = (Vec<(String, String)>, Vec<Value>)> {
    let calls = prop::collection::vec(
        (
            prop_oneof![Just("f"), Just("get"), Just("get_weather"), Just("g")],
            prop_oneof![
                Just("{}".to_owned()),
                Just(r#"{"x":1}"#.to_owned()),
                Just(r#"{"a":"}{\"","b":[1,{"c":null}]}"#.to_owned()),
                "[a-z é{}]{0,20}".prop_map(|s| json!({ "t": s }).to_string()),
            ],
        ),
        1..5,
    );
    let habit = 0usize..7;
    (calls, habit, 1usize..6).prop_map(|(calls, habit, step)| {
        let calls: Vec<(String, String)> =
            calls.into_iter().map(|(n, a)| (n.to_owned(), a)).collect();
        let mut arrays = Vec::new();
        for (i, (name, args)) in calls.iter().enumerate() {
            let id = format!("c{i}");
            let index = match habit {
                0 | 3 | 5 => Some(i as u64),
                1 | 4 => Some(0),
                _ => None,
            };
            let given = (!matches!(habit, 4 | 5)).then_some(id.as_str());
            let chars: Vec<char> = args.chars().collect();
            let pieces: Vec<String> = chars.chunks(step).map(|c| c.iter().collect()).collect();
            match habit {
                // The whole call at once, arguments as an object.
                6 => arrays.push(json!([call(
                    index,
                    given,
                    Some(name),
                    Some(serde_json::from_str(args).unwrap())
                )])),
                _ => {
                    arrays.push(json!([call(index, given, Some(name), s(""))]));
                    for p in &pieces {
                        let (id, name) = if habit == 3 {
                            (given, Some(name.as_str()))
                        } else {
                            (None, None)
                        };
                        arrays.push(json!([call(index, id, name, s(p))]));
                    }
                }
            }
        }
        (calls, arrays)
    })
}

proptest! {
    #[test]
    fn calls_survive_every_habit((calls, arrays) in habits(), declared in any::<bool>()) {
        let names: &[&str] = if declared { &["f", "g", "get", "get_weather"] } else { &[] };
        let (out, t) = run(names, &arrays, "tool_calls");
        let got = pairs(&out);
        let same = |a: &str, b: &str| serde_json::from_str::<Value>(a).unwrap() == serde_json::from_str::<Value>(b).unwrap();
        prop_assert_eq!(got.len(), calls.len(), "{:?}", got);
        for ((n, a), (wn, wa)) in got.iter().zip(&calls) {
            prop_assert_eq!(n, wn);
            prop_assert!(same(a, wa), "{} {}", a, wa);
        }
        for (c, (n, a)) in t.calls().iter().zip(&got) {
            prop_assert_eq!((&c.name, &c.arguments), (n, a));
        }
    }

    #[test]
    fn normalising_twice_is_normalising_once((_, arrays) in habits()) {
        let names = ["f", "g", "get", "get_weather"];
        let (once, _) = run(&names, &arrays, "tool_calls");
        let again: Vec<Value> = once
            .iter()
            .map(|f| Value::Array(vec![serde_json::from_str(&f.json).unwrap()]))
            .collect();
        let (twice, _) = run(&names, &again, "tool_calls");
        prop_assert_eq!(client(&once), client(&twice));
    }

    #[test]
    fn fragments_of_any_shape_neither_panic_nor_make_bad_json(
        chunks in prop::collection::vec(prop::collection::vec(any_fragment(), 0..4), 0..6),
        finish in prop::sample::select(vec!["stop", "tool_calls", "length", "odd"]),
    ) {
        let arrays: Vec<Value> = chunks.into_iter().map(Value::Array).collect();
        let (out, t) = run(&["f", "get", "get_weather"], &arrays, finish);
        for f in &out {
            let v: Value = serde_json::from_str(&f.json).unwrap();
            prop_assert_eq!(v["index"].as_u64(), Some(f.index as u64));
        }
        t.calls();
        for h in t.habits() {
            prop_assert!(HABITS.iter().any(|(word, _)| word == h), "{}", h);
        }
    }
}

/// A fragment with any of its members missing, odd or of the wrong kind.
fn any_fragment() -> impl Strategy<Value = Value> {
    let odd = || {
        prop::sample::select(vec![
            json!(null),
            json!(""),
            json!("f"),
            json!("get"),
            json!("_weather"),
            json!("{"),
            json!("}"),
            json!("{}"),
            json!({}),
            json!([]),
            json!(0),
            json!(1),
            json!(-1),
            json!(true),
            json!("a<|b|>"),
        ])
    };
    let member = |name: &'static str| {
        prop::option::of(odd()).prop_map(move |v| v.map(|v| (name.to_owned(), v)))
    };
    let object = |names: [&'static str; 2]| {
        (member(names[0]), member(names[1]))
            .prop_map(|(a, b)| Value::Object([a, b].into_iter().flatten().collect()))
    };
    prop_oneof![
        1 => odd(),
        9 => (member("index"), member("id"), prop::option::of(object(["name", "arguments"])), object(["name", "arguments"]), any::<bool>())
            .prop_map(|(index, id, function, flat, also)| {
                let mut m: serde_json::Map<String, Value> = [index, id].into_iter().flatten().collect();
                if let Some(f) = function {
                    m.insert("function".into(), f);
                }
                if also && let Value::Object(flat) = flat {
                    m.extend(flat);
                }
                Value::Object(m)
            })
    ]
}
