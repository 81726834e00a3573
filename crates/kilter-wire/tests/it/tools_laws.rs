//! Laws of the normaliser: calls survive every habit of a server, and normal form is a fixed point.

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
}
