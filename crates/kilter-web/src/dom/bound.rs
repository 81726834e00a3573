//! Cuts tags that carry more attributes than any page needs, before the tokenizer compares each with all others.

use std::borrow::Cow;

/// Attributes of one tag that are kept. Real pages stay below 60; the tokenizer's time is quadratic in this number.
const MAX_ATTRS: usize = 128;

/// The text with every over-long tag cut after [`MAX_ATTRS`] attributes; borrowed where none is.
pub(crate) fn bound(html: &str) -> Cow<'_, str> {
    let bytes = html.as_bytes();
    let mut out: Option<String> = None;
    let mut copied = 0;
    let mut at = 0;
    while let Some(open) = find(bytes, at, b'<') {
        at = open + 1;
        if !bytes.get(at).is_some_and(u8::is_ascii_alphabetic) {
            continue;
        }
        let tag = scan(bytes, at);
        if let Some(cut) = tag.cut {
            let text = out.get_or_insert_with(|| String::with_capacity(html.len()));
            text.push_str(&html[copied..cut]);
            copied = tag.end;
        }
        at = tag.end.max(at);
    }
    match out {
        None => Cow::Borrowed(html),
        Some(mut text) => {
            text.push_str(&html[copied..]);
            Cow::Owned(text)
        }
    }
}

fn find(bytes: &[u8], from: usize, what: u8) -> Option<usize> {
    bytes[from..]
        .iter()
        .position(|b| *b == what)
        .map(|i| i + from)
}

struct Tag {
    /// Where the attribute after the last allowed one begins.
    cut: Option<usize>,
    /// Where the closing `>` stands, or the end of the text.
    end: usize,
}

/// Walks one tag from its name on, in the tokenizer's own states: between attributes, in a name, in a value.
fn scan(bytes: &[u8], name: usize) -> Tag {
    let mut i = name;
    let mut count = 0;
    let mut cut = None;
    let space = |b: u8| b.is_ascii_whitespace() || b == b'/';
    while i < bytes.len() && !space(bytes[i]) && bytes[i] != b'>' {
        i += 1;
    }
    loop {
        while i < bytes.len() && space(bytes[i]) {
            i += 1;
        }
        if i >= bytes.len() || bytes[i] == b'>' {
            return Tag { cut, end: i };
        }
        count += 1;
        if count > MAX_ATTRS && cut.is_none() {
            cut = Some(i);
        }
        i += 1;
        while i < bytes.len() && !space(bytes[i]) && bytes[i] != b'>' && bytes[i] != b'=' {
            i += 1;
        }
        let mut j = i;
        while j < bytes.len() && bytes[j].is_ascii_whitespace() {
            j += 1;
        }
        if bytes.get(j) != Some(&b'=') {
            continue;
        }
        i = j + 1;
        while i < bytes.len() && bytes[i].is_ascii_whitespace() {
            i += 1;
        }
        match bytes.get(i) {
            Some(&quote @ (b'"' | b'\'')) => {
                i = find(bytes, i + 1, quote).map_or(bytes.len(), |e| e + 1);
            }
            _ => {
                while i < bytes.len() && !bytes[i].is_ascii_whitespace() && bytes[i] != b'>' {
                    i += 1;
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{MAX_ATTRS, bound};
    use std::borrow::Cow;

    #[test]
    fn ordinary_tags_are_borrowed() {
        let html = "<p class=\"a > b\" title='x'>a < b</p><br/>";
        assert!(matches!(bound(html), Cow::Borrowed(_)));
    }

    #[test]
    fn a_tag_is_cut_after_the_last_allowed_attribute() {
        let many: String = (0..MAX_ATTRS + 50)
            .map(|i| format!(" a{i}=\"é>\""))
            .collect();
        let html = format!("x<p{many}>text</p>");
        let cut = bound(&html);
        assert!(cut.ends_with(">text</p>"));
        assert_eq!(cut.matches("=\"").count(), MAX_ATTRS);
    }

    #[test]
    fn an_unclosed_tag_ends_with_the_text() {
        let html = "<p a='".to_owned() + &" b".repeat(1000);
        assert!(matches!(bound(&html), Cow::Borrowed(_)));
        let html = "<p ".to_owned() + &" b".repeat(1000);
        assert!(bound(&html).len() < 300);
    }
}
