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
    "hermes-json",
    "qwen-xml",
    "minicpm5",
    "functionary",
    "glm",
    "granite",
    "longcat",
    "seed-oss",
    "hunyuan",
    "tool-calls-json",
    "mistral",
    "llama",
    "lfm2",
    "anthropic-xml",
    "olmo3",
    "tagged-json",
    "tagged-python",
    "sarashina",
    "functools",
    "internlm",
    "deepseek",
    "dsml",
    "gigachat",
    "kimi-k2",
    "kimi-k3",
    "minimax",
    "step3",
    "dots",
    "muse",
    "plamo3",
    "inkling",
    "k2-horizon",
    "cohere",
    "apertus",
    "gemma",
    "harmony",
    "react",
    "calling-tool",
    "markerless",
];
