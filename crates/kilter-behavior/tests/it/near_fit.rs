//! Arguments that narrowly miss their schema: what passes where a call was required, what never does.

use std::sync::Arc;

use kilter_behavior::{ReaderConfig, Reading, ToolSet, read};
use kilter_core::{Expect, Provenance, RejectReason, ToolSpec};

fn reading(expect: Expect, raw: &str) -> Reading {
    let tool = ToolSpec {
        name: "fit".into(),
        description: None,
        parameters: serde_json::json!({"type": "object", "required": ["count"], "additionalProperties": false,
        "properties": {
            "count": {"type": "integer", "minimum": 1},
            "rate": {"type": "number"}, "label": {"type": "string"},
            "unit": {"type": "string", "enum": ["m", "ft"]},
            "table": {"type": "array", "items": {"type": "integer"}},
            "names": {"type": "array", "items": {"type": "string"}},
            "tags": {"type": "array", "items": {"type": "string", "enum": ["a", "b"]}},
            "deep": {"type": "object", "required": ["n"], "properties": {"n": {"type": "integer"}}}
        }}),
        read_only: None,
    };
    read(
        ReaderConfig {
            tools: Arc::new(ToolSet::new(vec![tool])),
            expect,
            ..ReaderConfig::new()
        },
        raw,
    )
}

#[test]
fn three_narrow_misses_pass_where_a_call_was_required_and_are_reported() {
    for raw in [
        "[fit(count=2.5)]",
        "[fit(count=1, deep={'n': 0.5})]",
        "[fit(count=1, table=[[10, 20], [30, 40]])]",
        "[fit(count=1, table=data['sales'])]",
        "[fit(count=1, names=data[\"names\"])]",
        "<tool_call>\n{\"name\": \"fit\", \"arguments\": {\"count\": 2.5}}\n</tool_call>",
    ] {
        let auto = reading(Expect::Auto, raw);
        assert!(auto.calls.is_empty(), "{raw}: {:?}", auto.calls);
        assert_eq!(auto.rejected[0].reason, RejectReason::Schema, "{raw}");
        let got = reading(Expect::Required, raw);
        assert_eq!(got.calls.len(), 1, "{raw}: {:?}", got.rejected);
        let Provenance::Recovered { coerced, .. } = &got.calls[0].provenance else {
            panic!("{got:?}");
        };
        assert!(coerced.iter().any(|c| c.path == "schema"), "{raw}");
    }
}

#[test]
fn every_other_miss_fails_closed() {
    for raw in [
        // What is required is missing; what was not declared is there.
        "[fit(rate=1.5)]",
        "[fit(count=1, extra=2)]",
        "[fit(count=1, deep={})]",
        // Types.
        "[fit(count='many')]",
        "[fit(count=True)]",
        "[fit(count=[1])]",
        "[fit(count=None)]",
        "[fit(count=1, rate='fast')]",
        "[fit(count=1, table=3)]",
        "[fit(count=1, table='10, 20')]",
        // Bounds and enumerations, of elements too.
        "[fit(count=0)]",
        "[fit(count=0.5)]",
        "[fit(count=1, unit='mile')]",
        "[fit(count=1, tags=['c'])]",
        // Elements.
        "[fit(count=1, table=['a', 'b'])]",
        "[fit(count=1, table=[None, 12])]",
        "[fit(count=1, table=[1, 2.5])]",
        "[fit(count=1, table=[[[1]]])]",
        "[fit(count=1, names=[['a'], ['b']])]",
        // Expressions that nobody evaluated.
        "[fit(count=data['n'])]",
        "[fit(count=other(x=1))]",
        "[fit(count=1, rate=momentum.x)]",
        "[fit(count=1, table=load(path='a.csv'))]",
        "[fit(count=1, table=load(path='a.csv')['sales'])]",
        "[fit(count=1, table=data['sales'].values)]",
        "[fit(count=1, table=[x for x in y])]",
        "[fit(count=1, deep=data['deep'])]",
        // A call that nobody made, where any text would do.
        "[fit(count=1, label=fit(count=2))]",
        "[fit(count=1, names=[fit(count=2)])]",
        "[fit(count=1, label=fit(count=2)['x'])]",
    ] {
        for expect in [Expect::Auto, Expect::Required] {
            let got = reading(expect, raw);
            assert!(got.calls.is_empty(), "{raw} ({expect:?}): {:?}", got.calls);
            assert_eq!(got.content, raw, "{expect:?}");
        }
    }
}
