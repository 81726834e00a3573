//! The shipped dialect files.

macro_rules! files {
    ($($name:literal),* $(,)?) => {
        &[$(($name, include_str!(concat!("../../dialects/", $name, ".toml")))),*]
    };
}

/// Name and text of each file, in order of precedence: where several dialects share an opener and
/// read the same text, the earlier one names it.
pub(crate) const BUILTIN: &[(&str, &str)] = files![
    "reasoning",
    "stop",
    "tool-call-json",
    "function-elements",
    "function-attributes",
    "function-name-json",
    "tool-call-pairs",
    "array-behind-marker",
    "own-tag-json",
    "seed-elements",
    "nonce-pairs",
    "tool-calls-json",
    "bracket-marker",
    "python-tag",
    "call-start-tokens",
    "invoke-elements",
    "function-calls-python",
    "tagged-json",
    "tagged-python",
    "tool-calls-token",
    "functools-word",
    "action-tokens",
    "call-sections",
    "typed-elements",
    "role-separator",
    "section-ids",
    "open-close-tokens",
    "wrapped-invoke",
    "step-sections",
    "dots-elements",
    "framed-invoke",
    "nested-tokens",
    "typed-messages",
    "ifm-pairs",
    "start-action",
    "keyed-list",
    "bare-key-notation",
    "message-headers",
    "react",
    "calling-tool",
    "markerless",
];
