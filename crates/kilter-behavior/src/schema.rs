//! Declared schemas: type words of the wild put right, and a reading less strict.

use serde_json::{Map, Value as Json};

/// A schema less strict in the two places where schemas written in a hurry are most often wrong:
/// `integer` takes any number, and where the elements of a list are numbers, rows of numbers are
/// elements too (`[[10, 20], [30, 40]]` for a list of integers). Everything else stands: names, what
/// is required, the other types, enumerations and bounds. docs/adr/0007-near-fit.md says why.
pub(crate) fn slack(schema: &Json) -> Json {
    near(schema, 0)
}

fn near(s: &Json, depth: usize) -> Json {
    let Json::Object(o) = s else {
        return s.clone();
    };
    if depth > 64 {
        return s.clone();
    }
    Json::Object(
        o.iter()
            .map(|(k, v)| {
                let v = match (k.as_str(), v) {
                    ("type", Json::String(w)) if w == "integer" => "number".into(),
                    ("properties", Json::Object(p)) => Json::Object(
                        p.iter()
                            .map(|(k, v)| (k.clone(), near(v, depth + 1)))
                            .collect(),
                    ),
                    ("items", item)
                        if matches!(
                            item.get("type").and_then(Json::as_str),
                            Some("integer" | "number")
                        ) =>
                    {
                        serde_json::json!({"anyOf": [item, {"type": "array", "items": item}]})
                    }
                    _ => v.clone(),
                };
                (k.clone(), v)
            })
            .collect(),
    )
}

/// A schema with the type words of the wild put right, at every level.
pub(crate) fn normalised(schema: &Json) -> Json {
    walk(schema, 0)
}

fn walk(s: &Json, depth: usize) -> Json {
    if depth > 64 {
        return s.clone();
    }
    match s {
        Json::Object(o) => {
            let mut out = Map::new();
            for (k, v) in o {
                match (k.as_str(), v) {
                    // A word for "anything goes" says nothing.
                    ("type", Json::String(w)) => {
                        if let Some((w, item)) = word(w) {
                            out.insert(k.clone(), w.into());
                            if let Some(i) = item
                                && !o.contains_key("items")
                            {
                                out.insert("items".into(), serde_json::json!({ "type": i }));
                            }
                        }
                    }
                    ("type", Json::Array(a)) => {
                        let words: Vec<Json> = a
                            .iter()
                            .filter_map(|w| word(w.as_str()?).map(|(w, _)| w.into()))
                            .collect();
                        out.insert(k.clone(), words.into());
                    }
                    ("required", Json::Bool(_)) => {}
                    ("enum" | "const" | "default" | "examples" | "example", v) => {
                        out.insert(k.clone(), v.clone());
                    }
                    (
                        "properties" | "$defs" | "definitions" | "patternProperties",
                        Json::Object(p),
                    ) => {
                        let p: Map<String, Json> = p
                            .iter()
                            .map(|(k, v)| (k.clone(), walk(v, depth + 1)))
                            .collect();
                        out.insert(k.clone(), Json::Object(p));
                    }
                    (_, v) => {
                        out.insert(k.clone(), walk(v, depth + 1));
                    }
                }
            }
            if out.get("nullable") == Some(&Json::Bool(true))
                && let Some(Json::String(t)) = out.get("type").cloned()
            {
                out.insert("type".into(), serde_json::json!([t, "null"]));
            }
            Json::Object(out)
        }
        Json::Array(a) => Json::Array(a.iter().map(|v| walk(v, depth + 1)).collect()),
        other => other.clone(),
    }
}

/// A type word as JSON Schema has it, and the items' for `list[str]`.
fn word(w: &str) -> Option<(String, Option<String>)> {
    let low = w.trim().to_ascii_lowercase();
    let base = low.split(['(', '[', '<']).next().unwrap_or("").trim();
    let to = match base {
        "string" | "str" | "text" | "varchar" | "char" | "uuid" | "date" | "datetime" | "time"
        | "enum" | "bytes" | "url" | "email" => "string",
        "integer" | "int" | "int32" | "int64" | "long" | "short" | "bigint" | "uint" | "uint32"
        | "uint64" => "integer",
        "number" | "float" | "float32" | "float64" | "double" | "decimal" | "real" => "number",
        "boolean" | "bool" => "boolean",
        "object" | "dict" | "map" | "hashmap" | "struct" | "record" => "object",
        "array" | "list" | "tuple" | "set" | "sequence" | "arraylist" => "array",
        "null" | "none" | "nonetype" => "null",
        _ => return None,
    };
    let item = (to == "array")
        .then(|| {
            let inner = low.split_once(['[', '<'])?.1.trim_end_matches([']', '>']);
            word(inner).map(|(w, _)| w)
        })
        .flatten();
    Some((to.to_owned(), item))
}
