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

/// The same as specifications.
pub(crate) fn specs() -> Vec<ToolSpec> {
    ToolSpec::list_from_wire(&WIRE)
}

#[cfg(test)]
mod tests {
    #[test]
    fn ten_tools_are_offered() {
        assert_eq!(super::specs().len(), 10);
    }
}
