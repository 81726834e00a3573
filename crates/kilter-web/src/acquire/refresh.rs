//! `<meta http-equiv=refresh>` and the `Refresh` header: the redirects that a page itself asks for.

use std::cell::{Cell, RefCell};
use std::time::Duration;

use html5ever::tendril::StrTendril;
use html5ever::tokenizer::states::RawKind;
use html5ever::tokenizer::{
    BufferQueue, Tag, TagKind, Token, TokenSink, TokenSinkResult, Tokenizer, TokenizerOpts,
};

use crate::dom::bound;

/// A refresh as written: when, and where to (relative to the page; empty for the page itself).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Refresh {
    /// After how long.
    pub delay: Duration,
    /// Where to.
    pub url: String,
}

/// Text in which a refresh is looked for: it stands in the head.
const LOOK_AT: usize = 1 << 20;

/// The first refresh of a page, by its tags and attributes: not what stands in a comment, a script, a template or in
/// `<noscript>` (which asks readers without scripts to go away from the page that they want to read).
pub fn in_page(text: &str) -> Option<Refresh> {
    let mut end = text.len().min(LOOK_AT);
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    let text = &text[..end];
    // The name of an attribute cannot be escaped; its value can.
    if !text
        .as_bytes()
        .windows(10)
        .any(|w| w.eq_ignore_ascii_case(b"http-equiv"))
    {
        return None;
    }
    let tokenizer = Tokenizer::new(Looker::default(), TokenizerOpts::default());
    let queue = BufferQueue::default();
    queue.push_back(StrTendril::from_slice(&bound(text)));
    let _ = tokenizer.feed(&queue);
    tokenizer.end();
    tokenizer.sink.found.take()
}

#[derive(Default)]
struct Looker {
    found: RefCell<Option<Refresh>>,
    inert: Cell<usize>,
}

impl Looker {
    fn tag(&self, tag: &Tag) -> TokenSinkResult<()> {
        let opens = tag.kind == TagKind::StartTag;
        match &*tag.name {
            "template" | "noscript" if opens => self.inert.set(self.inert.get() + 1),
            "template" | "noscript" => self.inert.set(self.inert.get().saturating_sub(1)),
            "meta" if opens && self.inert.get() == 0 && self.found.borrow().is_none() => {
                let get = |name: &str| {
                    tag.attrs
                        .iter()
                        .find(|a| &*a.name.local == name)
                        .map(|a| &*a.value)
                };
                let is_refresh =
                    get("http-equiv").is_some_and(|v| v.trim().eq_ignore_ascii_case("refresh"));
                if let (true, Some(content)) = (is_refresh, get("content")) {
                    *self.found.borrow_mut() = parse(content);
                }
            }
            "script" if opens => return TokenSinkResult::RawData(RawKind::ScriptData),
            "style" | "xmp" | "iframe" | "noembed" | "noframes" if opens => {
                return TokenSinkResult::RawData(RawKind::Rawtext);
            }
            "title" | "textarea" if opens => return TokenSinkResult::RawData(RawKind::Rcdata),
            "plaintext" if opens => return TokenSinkResult::Plaintext,
            _ => {}
        }
        TokenSinkResult::Continue
    }
}

impl TokenSink for Looker {
    type Handle = ();

    fn process_token(&self, token: Token, _line: u64) -> TokenSinkResult<()> {
        match token {
            Token::TagToken(tag) => self.tag(&tag),
            _ => TokenSinkResult::Continue,
        }
    }
}

/// The value of a refresh, by the HTML standard's "shared declarative refresh steps".
pub fn parse(content: &str) -> Option<Refresh> {
    let space = |c: char| matches!(c, ' ' | '\t' | '\n' | '\r' | '\x0c');
    let rest = content.trim_start_matches(space);
    let digits = rest.len() - rest.trim_start_matches(|c: char| c.is_ascii_digit()).len();
    if digits == 0 && !rest.starts_with('.') {
        return None;
    }
    let seconds = if digits == 0 {
        0
    } else {
        rest[..digits].parse().unwrap_or(u64::MAX)
    };
    let delay = Duration::from_secs(seconds);
    let rest = rest[digits..].trim_start_matches(|c: char| c.is_ascii_digit() || c == '.');
    let mut url = rest;
    if !rest.is_empty() {
        if !rest.starts_with(|c: char| c == ';' || c == ',' || space(c)) {
            return None;
        }
        url = rest.trim_start_matches(space);
        url = url.strip_prefix([';', ',']).unwrap_or(url);
        url = url.trim_start_matches(space);
        if let Some(named) = url
            .get(..3)
            .filter(|s| s.eq_ignore_ascii_case("url"))
            .map(|_| url[3..].trim_start_matches(space))
            && let Some(value) = named.strip_prefix('=')
        {
            url = value.trim_start_matches(space);
        }
        if let Some(quote) = url.chars().next().filter(|c| matches!(c, '"' | '\'')) {
            url = &url[1..];
            url = url.split(quote).next().unwrap_or(url);
        }
    }
    Some(Refresh {
        delay,
        url: url.trim_end_matches(space).to_owned(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_read_as_the_standard_says() {
        for (content, want) in [
            ("0;url=/a", Some((0, "/a"))),
            ("5; URL='/a b'", Some((5, "/a b"))),
            ("5; url = \"/a\" junk", Some((5, "/a"))),
            ("0, /a", Some((0, "/a"))),
            ("0 /a", Some((0, "/a"))),
            ("0.5;url=/a", Some((0, "/a"))),
            (".5;url=/a", Some((0, "/a"))),
            ("  3 ; url=/a ", Some((3, "/a"))),
            ("0;urls", Some((0, "urls"))),
            ("30", Some((30, ""))),
            ("0;url=\"/a", Some((0, "/a"))),
            ("0;URL=http://127.0.0.1/", Some((0, "http://127.0.0.1/"))),
            ("99999999999999999999999;url=/a", Some((u64::MAX, "/a"))),
            ("url=/a", None),
            ("", None),
            ("0x;url=/a", None),
            ("-1;url=/a", None),
            ("0é;url=/a", None),
            ("0;é", Some((0, "é"))),
        ] {
            let got = parse(content);
            let want = want.map(|(s, url)| Refresh {
                delay: Duration::from_secs(s),
                url: url.to_owned(),
            });
            assert_eq!(got, want, "{content:?}");
        }
    }

    #[test]
    fn pages_are_read_by_their_tags() {
        for (page, want) in [
            ("<meta http-equiv=refresh content='0;url=/a'>", Some("/a")),
            (
                "<META CONTENT=\"0;url=/a\" data-x='>' HTTP-EQUIV=Refresh>",
                Some("/a"),
            ),
            (
                "<head><title><meta http-equiv=refresh content='0;url=/no'></title>",
                None,
            ),
            (
                "<!-- <meta http-equiv=refresh content='0;url=/no'> -->",
                None,
            ),
            (
                "<script>'<meta http-equiv=refresh content=\"0;url=/no\">'</script>",
                None,
            ),
            (
                "<noscript><meta http-equiv=refresh content='0;url=/no'></noscript>",
                None,
            ),
            (
                "<template><meta http-equiv=refresh content='0;url=/no'></template>",
                None,
            ),
            (
                "<textarea><meta http-equiv=refresh content='0;url=/no'></textarea>",
                None,
            ),
            ("<meta name=refresh content='0;url=/no'>", None),
            (
                "<p>how to write <code>&lt;meta http-equiv=refresh&gt;</code></p>",
                None,
            ),
            (
                "<meta http-equiv=refresh content='0;url=/a?x=1&amp;y=2'>",
                Some("/a?x=1&y=2"),
            ),
            (
                "<meta http-equiv='&#114;efresh' content='0;url=/a'>",
                Some("/a"),
            ),
            (
                "<meta http-equiv=refresh content='0;url=/a'><meta http-equiv=refresh content='0;url=/b'>",
                Some("/a"),
            ),
        ] {
            assert_eq!(in_page(page).map(|r| r.url).as_deref(), want, "{page}");
        }
    }
}
