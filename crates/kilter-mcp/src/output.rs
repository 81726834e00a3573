//! What a tool answers: the schema that is published, and the check of every answer before it is sent.

use std::sync::OnceLock;

use jsonschema::Validator;
use serde_json::{Map, Value, json};

use crate::table::{self, ToolId};

/// What a field of an answer holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Sort {
    /// A text.
    Text,
    /// A whole number.
    Whole,
    /// A number.
    Number,
    /// A truth value.
    Flag,
    /// An object.
    Object,
    /// A list of objects.
    Rows,
    /// A list of texts.
    Texts,
}

/// A field of an answer.
pub type Field = (&'static str, Sort);

/// The schema of a tool's answer. A failed call is an answer too, so only `ok` is there always.
pub fn schema(fields: &[Field]) -> Map<String, Value> {
    let mut properties = Map::new();
    properties.insert("ok".to_owned(), json!({"type": "boolean"}));
    for (name, sort) in fields {
        let schema = match sort {
            Sort::Text => json!({"type": "string"}),
            Sort::Whole => json!({"type": "integer"}),
            Sort::Number => json!({"type": "number"}),
            Sort::Flag => json!({"type": "boolean"}),
            Sort::Object => json!({"type": "object"}),
            Sort::Rows => json!({"type": "array", "items": {"type": "object"}}),
            Sort::Texts => json!({"type": "array", "items": {"type": "string"}}),
        };
        properties.insert((*name).to_owned(), schema);
    }
    properties.insert(
        "failure".to_owned(),
        json!({
            "type": "object",
            "properties": {
                "code": {"type": "string"},
                "message": {"type": "string"},
                "statusCode": {"type": "integer"},
                "retryable": {"type": "boolean"},
                "fix": {"type": "object"},
            },
            "required": ["code", "message", "retryable"],
        }),
    );
    properties.insert(
        "decisions".to_owned(),
        json!({"type": "array", "items": {"type": "object"}}),
    );
    let mut map = Map::new();
    map.insert("type".to_owned(), json!("object"));
    map.insert("properties".to_owned(), Value::Object(properties));
    map.insert("required".to_owned(), json!(["ok"]));
    map
}

/// Checks an answer against its tool's schema, closed: what is not declared is not sent.
///
/// # Errors
/// Which field is wrong, and how.
pub fn check(tool: ToolId, answer: &Value) -> Result<(), String> {
    static VALIDATORS: OnceLock<Vec<Option<Validator>>> = OnceLock::new();
    let validators = VALIDATORS.get_or_init(|| {
        ToolId::ALL
            .into_iter()
            .map(|id| {
                let mut closed = schema(table::tool(id).answers);
                closed.insert("additionalProperties".to_owned(), json!(false));
                jsonschema::validator_for(&Value::Object(closed)).ok()
            })
            .collect()
    });
    let Some(Some(validator)) = validators.get(tool as usize) else {
        return Err("the schema of the answer does not compile".to_owned());
    };
    validator
        .validate(answer)
        .map_err(|e| format!("{}: {e}", e.instance_path()))
}
