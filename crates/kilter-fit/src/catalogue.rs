//! The tools that every probe offers: ten ordinary ones, as a real agent would send.

use std::sync::LazyLock;

use kilter_core::ToolSpec;
use serde_json::Value;

/// The chat-API `tools` array.
static WIRE: LazyLock<Value> = LazyLock::new(|| {
    serde_json::from_str(include_str!("../data/tools.json")).unwrap_or(Value::Array(Vec::new()))
});

/// The `tools` array as it is sent.
pub(crate) fn wire() -> &'static Value {
    &WIRE
}

/// The tools that the call probes ask for and nothing else, for servers on which every token of the
/// prompt is dear.
static SHORT: LazyLock<Value> = LazyLock::new(|| {
    const WANTED: [&str; 4] = [
        "get_weather",
        "read_file",
        "convert_currency",
        "list_directory",
    ];
    let wanted = |t: &&Value| {
        t.pointer("/function/name")
            .and_then(Value::as_str)
            .is_some_and(|n| WANTED.contains(&n))
    };
    WIRE.as_array()
        .map(|all| all.iter().filter(wanted).cloned().collect())
        .unwrap_or(Value::Array(Vec::new()))
});

/// The short `tools` array.
pub(crate) fn short() -> &'static Value {
    &SHORT
}

/// The same as specifications.
pub(crate) fn specs() -> Vec<ToolSpec> {
    ToolSpec::list_from_wire(&WIRE)
}

#[cfg(test)]
mod tests {
    #[test]
    fn ten_tools_are_offered() {
        assert_eq!(super::specs().len(), 10);
        assert_eq!(super::short().as_array().map(Vec::len), Some(4));
    }
}
