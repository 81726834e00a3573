//! What the fixture says: texts, forms, states, and the list of the suite's tools.

use std::collections::BTreeMap;

use kilter_mcp::link::rmcp;
use rmcp::ErrorData;
use rmcp::model::*;
use serde_json::{Value, json};

pub(crate) const PNG: &str = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8BQDwAEhQGAhKmMIQAAAABJRU5ErkJggg==";
pub(crate) const WAV: &str = "UklGRiQAAABXQVZFZm10IBAAAAABAAEARKwAAIhYAQACABAAZGF0YQAAAAA=";
/// A JSON value as one of the protocol's types.
pub(crate) fn typed<T: serde::de::DeserializeOwned>(value: Value) -> Result<T, ErrorData> {
    serde_json::from_value(value).map_err(|e| ErrorData::internal_error(e.to_string(), None))
}

/// A JSON value as a result that is whole: the newer era says so in every result, and the transport takes it out for the
/// older one.
pub(crate) fn whole<T: serde::de::DeserializeOwned>(mut value: Value) -> Result<T, ErrorData> {
    value["resultType"] = json!("complete");
    typed(value)
}

pub(crate) fn text(text: impl Into<String>) -> Result<CallToolResponse, ErrorData> {
    let content = json!({"content": [{"type": "text", "text": text.into()}]});
    Ok(whole::<CallToolResult>(content)?.into())
}

pub(crate) fn elicit(message: &str, properties: Value) -> Value {
    let names: Vec<&String> = properties
        .as_object()
        .map(|m| m.keys().collect())
        .unwrap_or_default();
    json!({"method": "elicitation/create", "params": {"mode": "form", "message": message,
        "requestedSchema": {"type": "object", "properties": properties, "required": names}}})
}

pub(crate) fn sample(prompt: &str, tokens: u32) -> Value {
    json!({"method": "sampling/createMessage", "params": {"messages": [
        {"role": "user", "content": {"type": "text", "text": prompt}}], "maxTokens": tokens}})
}

pub(crate) fn roots() -> Value {
    json!({"method": "roots/list", "params": {}})
}

pub(crate) fn ask(requests: Value, state: Option<&str>) -> Result<InputRequiredResult, ErrorData> {
    let mut value = json!({"resultType": "input_required", "inputRequests": requests});
    if let Some(state) = state {
        value["requestState"] = json!(sealed(state));
    }
    typed(value)
}

/// A state that cannot be changed on the way.
pub(crate) fn sealed(state: &str) -> String {
    format!(
        "{state}.{}",
        kilter_core::id::digest(&[b"conformance", state.as_bytes()], 32)
    )
}

pub(crate) fn opened(request: &CallToolRequestParams) -> Result<Option<String>, ErrorData> {
    let Some(given) = &request.request_state else {
        return Ok(None);
    };
    let state = given.split('.').next().unwrap_or_default();
    match sealed(state) == *given {
        true => Ok(Some(state.to_owned())),
        false => Err(ErrorData::invalid_params(
            "the state was tampered with",
            None,
        )),
    }
}

/// The content of an accepted form.
pub(crate) fn accepted<'a>(
    responses: Option<&'a BTreeMap<String, Value>>,
    key: &str,
    field: &str,
) -> Option<&'a Value> {
    let given = responses?.get(key)?;
    (given["action"] == "accept")
        .then(|| &given["content"][field])
        .filter(|v| !v.is_null())
}

pub(crate) fn tools() -> Vec<Value> {
    let plain = |name: &str| json!({"name": name, "description": "a tool of the suite", "inputSchema": {"type": "object", "properties": {}}});
    let with = |name: &str, param: &str| {
        json!({"name": name, "description": "a tool of the suite",
        "inputSchema": {"type": "object", "properties": {param: {"type": "string"}}, "required": [param]}})
    };
    let mut all: Vec<Value> = [
        "test_simple_text",
        "test_image_content",
        "test_audio_content",
        "test_embedded_resource",
        "test_multiple_content_types",
        "test_tool_with_logging",
        "test_tool_with_progress",
        "test_error_handling",
        "test_elicitation_sep1034_defaults",
        "test_elicitation_sep1330_enums",
        "test_reconnection",
        "test_input_required_result_elicitation",
        "test_input_required_result_sampling",
        "test_input_required_result_list_roots",
        "test_input_required_result_request_state",
        "test_input_required_result_multiple_inputs",
        "test_input_required_result_multi_round",
        "test_input_required_result_tampered_state",
        "test_input_required_result_capabilities",
        "test_missing_capability",
        "test_streaming_elicitation",
        "test_logging_tool",
        "test_trigger_tool_change",
        "test_trigger_prompt_change",
    ]
    .map(plain)
    .into();
    all.push(with("test_sampling", "prompt"));
    all.push(with("test_elicitation", "message"));
    all.push(json!({"name": "test_x_mcp_header", "description": "a parameter that is mirrored in a header",
        "inputSchema": {"type": "object", "properties": {"region": {"type": "string", "x-mcp-header": "Region"}}}}));
    all.push(json!({"name": "json_schema_2020_12_tool", "description": "keywords of JSON Schema 2020-12", "inputSchema": {
        "$schema": "https://json-schema.org/draft/2020-12/schema", "type": "object",
        "$defs": {"address": {"$anchor": "addressDef", "type": "object",
            "properties": {"street": {"type": "string"}, "city": {"type": "string"}}}},
        "properties": {"name": {"type": "string"}, "address": {"$ref": "#/$defs/address"},
            "contactMethod": {"type": "string", "enum": ["phone", "email"]},
            "phone": {"type": "string"}, "email": {"type": "string"}},
        "allOf": [{"anyOf": [{"required": ["phone"]}, {"required": ["email"]}]}],
        "if": {"properties": {"contactMethod": {"const": "phone"}}, "required": ["contactMethod"]},
        "then": {"required": ["phone"]}, "else": {"required": ["email"]},
        "additionalProperties": false}}));
    all
}
