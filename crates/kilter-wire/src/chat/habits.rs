//! The words for what servers do with a stream. They are a contract: profiles keep them.

/// Every habit that [`super::Accumulator`], [`super::Completion::turns`] and [`super::ToolStream`]
/// report, with its meaning.
pub const HABITS: [(&str, &str); 23] = [
    (
        "arguments:empty",
        "a call without arguments had none instead of `{}`",
    ),
    (
        "arguments:object",
        "arguments came as a JSON value instead of a string",
    ),
    ("arguments:repeated", "whole arguments came more than once"),
    ("done:missing", "the stream ended without `[DONE]`"),
    (
        "finish:calls_cut",
        "`tool_calls` although the arguments are cut JSON",
    ),
    (
        "finish:calls_without",
        "`tool_calls` although there are none",
    ),
    ("finish:missing", "no finish reason came"),
    ("finish:stop_with_calls", "`stop` although there are calls"),
    (
        "function_call:legacy",
        "calls came in the old `function_call` member",
    ),
    ("id:changing", "fragments of one call had different ids"),
    ("id:empty", "an id was there and `null` or empty"),
    ("id:none", "a call had no id at all"),
    ("id:repeated", "the id came with later fragments too"),
    ("id:same", "several calls had one id"),
    ("index:duplicate", "two calls of one chunk had one index"),
    ("index:gap", "the index rose without a new call"),
    ("index:missing", "fragments had no index"),
    ("index:same", "a new call came at the index of another"),
    ("name:pieces", "a name came in pieces"),
    ("name:repeated", "the name came with later fragments too"),
    (
        "usage:every_chunk",
        "token counts came with chunks of content",
    ),
    (
        "usage:finish_chunk",
        "token counts came with the finish reason",
    ),
    (
        "usage:own_chunk",
        "token counts came in a chunk of their own",
    ),
];
