//! Each demonstration model is recognised by what it does: the card says what the script says of
//! itself in `[expect]`, which the fit never sees.

use std::sync::Arc;
use std::time::Duration;

use kilter_core::{Clock, SystemClock};
use kilter_fit::card::BehaviorCard;
use kilter_fit::demo::fit_all;
use toml::{Table, Value};

fn word(value: impl serde::Serialize) -> String {
    serde_json::to_value(value)
        .unwrap()
        .as_str()
        .unwrap()
        .to_owned()
}

fn names(list: &Value) -> Vec<String> {
    let mut names: Vec<String> = list
        .as_array()
        .unwrap()
        .iter()
        .map(|v| v.as_str().unwrap().to_owned())
        .collect();
    names.sort();
    names
}

/// What the card says under a key of `[expect]`.
fn said(card: &BehaviorCard, key: &str) -> Option<Value> {
    let list = |mut names: Vec<String>| {
        names.sort();
        Value::from(names)
    };
    Some(match key {
        "reasoning" => word(card.reasoning.channel).into(),
        "marker" => card.reasoning.marker.clone()?.into(),
        "tools" => word(card.tool_calls.channel).into(),
        "dialect" => card.tool_calls.dialect.clone()?.into(),
        "budget" => word(card.budget.signature).into(),
        "window" => word(card.window.kind).into(),
        "window_tokens" => i64::try_from(card.window.tokens?).unwrap().into(),
        "history" => word(card.history.reasoning).into(),
        "constraints" => list(
            card.constraints
                .iter()
                .filter(|c| c.learnt)
                .filter_map(|c| c.rule.clone())
                .collect(),
        ),
        "habits" => list(card.wire.habits.iter().map(|c| c.name.clone()).collect()),
        other => panic!("`{other}` of `[expect]` is not known to this test"),
    })
}

fn differences(card: &BehaviorCard, expect: &Table) -> Vec<String> {
    expect
        .iter()
        .filter_map(|(key, wanted)| {
            let got = said(card, key);
            let same = match (key.as_str(), &got) {
                // The figure is measured in the server's tokens, within one prompt's header.
                ("window_tokens", Some(Value::Integer(n))) => {
                    (n - wanted.as_integer().unwrap()).abs() <= 64
                }
                ("constraints" | "habits", Some(got)) => names(got) == names(wanted),
                (_, got) => got.as_ref() == Some(wanted),
            };
            (!same).then(|| format!("{key}: wanted {wanted}, the card says {got:?}"))
        })
        .collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn every_card_says_what_the_script_does() {
    let clock: Arc<dyn Clock> = Arc::new(SystemClock::default());
    let (_keep, stop) = tokio::sync::watch::channel(false);
    let started = clock.elapsed();
    let cards = fit_all(Arc::clone(&clock), stop, |_, _| {}).await.unwrap();
    let took = clock.elapsed() - started;
    assert!(
        cards.len() >= 12,
        "only {} demonstration models",
        cards.len()
    );
    assert!(took < Duration::from_secs(15), "{took:?}");
    let scripts = kilter_mock::demo::all().unwrap();
    let mut wrong = Vec::new();
    for (demo, script) in cards.iter().zip(&scripts) {
        assert_eq!(demo.name, script.name());
        let expect = script
            .expect()
            .unwrap_or_else(|| panic!("`{}` has no `[expect]`", demo.name));
        match &demo.card {
            Err(e) => wrong.push(format!("{}: no card: {e}", demo.name)),
            Ok(card) => {
                assert!(card.target.script);
                assert!(
                    card.effort.partial.is_none(),
                    "{}: {:?}",
                    demo.name,
                    card.effort
                );
                for d in differences(card, expect) {
                    wrong.push(format!(
                        "{}: {d}\n    {} | {} | {}",
                        demo.name,
                        card.reasoning.evidence,
                        card.tool_calls.evidence,
                        card.budget.evidence
                    ));
                }
            }
        }
    }
    assert!(wrong.is_empty(), "\n{}", wrong.join("\n"));
}

#[test]
fn the_schema_describes_a_real_card() {
    let schema = kilter_fit::card::schema();
    for key in [
        "reasoning",
        "tool_calls",
        "budget",
        "window",
        "constraints",
        "exam",
        "fits",
    ] {
        assert!(schema["properties"].get(key).is_some(), "{key}");
    }
    assert_eq!(schema["type"], "object");
}
