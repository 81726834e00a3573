//! The links of a page in document order.

use std::cell::RefCell;

use html5ever::tendril::StrTendril;
use html5ever::tokenizer::states::RawKind;
use html5ever::tokenizer::{
    BufferQueue, Tag, TagKind, Token, TokenSink, TokenSinkResult, Tokenizer, TokenizerOpts,
};
use url::Url;

use crate::dom::bound;

/// A link as found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Found {
    /// Where it goes, absolute.
    pub href: String,
    /// Its words.
    pub text: String,
}

/// All links of a page, `<base>` considered.
pub fn of_page(html: &str, page: &Url) -> Vec<Found> {
    let tokenizer = Tokenizer::new(Looker::default(), TokenizerOpts::default());
    let queue = BufferQueue::default();
    queue.push_back(StrTendril::from_slice(&bound(html)));
    let _ = tokenizer.feed(&queue);
    tokenizer.end();
    let State { base, links, .. } = tokenizer.sink.state.take();
    let base = base
        .and_then(|b| page.join(&b).ok())
        .unwrap_or_else(|| page.clone());
    links
        .into_iter()
        .filter_map(|(href, text)| {
            Some(Found {
                href: base.join(&href).ok()?.to_string(),
                text: text.split_whitespace().collect::<Vec<_>>().join(" "),
            })
        })
        .collect()
}

#[derive(Default)]
struct State {
    base: Option<String>,
    links: Vec<(String, String)>,
    inside: bool,
}

#[derive(Default)]
struct Looker {
    state: RefCell<State>,
}

/// Links of one page.
const MOST: usize = 20_000;

impl Looker {
    fn tag(&self, tag: &Tag) -> TokenSinkResult<()> {
        let mut state = self.state.borrow_mut();
        let opens = tag.kind == TagKind::StartTag;
        let get = |name: &str| {
            tag.attrs
                .iter()
                .find(|a| &*a.name.local == name)
                .map(|a| a.value.to_string())
        };
        match &*tag.name {
            "a" | "area" if opens => {
                state.inside = false;
                if let Some(href) = get("href").filter(|_| state.links.len() < MOST) {
                    let text = get("aria-label").or_else(|| get("alt")).unwrap_or_default();
                    state.inside = text.is_empty();
                    state.links.push((href.trim().to_owned(), text));
                }
            }
            "a" => state.inside = false,
            "base" if opens && state.base.is_none() => state.base = get("href"),
            "img" if opens && state.inside => {
                let alt = get("alt").unwrap_or_default();
                if let Some((_, text)) = state.links.last_mut() {
                    text.push(' ');
                    text.push_str(&alt);
                }
            }
            "script" if opens => return TokenSinkResult::RawData(RawKind::ScriptData),
            "style" | "noframes" | "iframe" | "xmp" if opens => {
                return TokenSinkResult::RawData(RawKind::Rawtext);
            }
            "title" | "textarea" if opens => return TokenSinkResult::RawData(RawKind::Rcdata),
            _ if state.inside => {
                if let Some((_, text)) = state.links.last_mut() {
                    text.push(' ');
                }
            }
            _ => {}
        }
        TokenSinkResult::Continue
    }
}

impl TokenSink for Looker {
    type Handle = ();

    fn process_token(&self, token: Token, _line: u64) -> TokenSinkResult<()> {
        match token {
            Token::TagToken(tag) => return self.tag(&tag),
            Token::CharacterTokens(words) => {
                let mut state = self.state.borrow_mut();
                if state.inside
                    && let Some((_, text)) = state.links.last_mut().filter(|(_, t)| t.len() < 500)
                {
                    text.push_str(&words);
                }
            }
            _ => {}
        }
        TokenSinkResult::Continue
    }
}
