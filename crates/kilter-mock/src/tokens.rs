//! The token rule of the mock: a token is four characters, begun ones counted.

/// Characters of one token. A fixed rule makes every usage figure a function of the texts.
pub const CHARS_PER_TOKEN: u64 = 4;

/// Tokens that the frame of one message costs.
pub const PER_MESSAGE: u64 = 4;

/// Tokens of a number of characters.
pub const fn of_chars(chars: u64) -> u64 {
    chars.div_ceil(CHARS_PER_TOKEN)
}

/// Tokens of a text.
pub fn of(text: &str) -> u64 {
    of_chars(text.chars().count() as u64)
}

/// The first `tokens` tokens of a text.
pub fn take(text: &str, tokens: u64) -> &str {
    let chars = tokens.saturating_mul(CHARS_PER_TOKEN) as usize;
    match text.char_indices().nth(chars) {
        Some((i, _)) => &text[..i],
        None => text,
    }
}
