//! The tail of reasoning that is offered as a content candidate, and never promoted.

/// Longest tail that is offered, in bytes.
pub(crate) const TAIL_BYTES: usize = 4096;

/// The tail of a reasoning text: its last paragraph, at most 4 KiB, without white space around it.
///
/// The reader (an unclosed block in content) and the ladder (a turn of reasoning alone) offer the
/// same tail of the same text.
pub fn reasoning_tail(reasoning: &str) -> &str {
    let text = reasoning.trim();
    let tail = text
        .rmatch_indices('\n')
        .find(|(at, _)| text[..*at].ends_with('\n') || text[..*at].ends_with("\n\r"))
        .map_or(text, |(at, _)| text[at..].trim());
    if tail.len() <= TAIL_BYTES {
        return tail;
    }
    let mut from = tail.len() - TAIL_BYTES;
    while !tail.is_char_boundary(from) {
        from += 1;
    }
    tail[from..].trim_start()
}
