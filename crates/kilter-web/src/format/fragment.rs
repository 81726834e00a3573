//! A piece of HTML → its words: for summaries inside feeds, where no page is around.

use std::cell::{Cell, RefCell};

use html5ever::tendril::StrTendril;
use html5ever::tokenizer::states::RawKind;
use html5ever::tokenizer::{
    BufferQueue, Tag, TagKind, Token, TokenSink, TokenSinkResult, Tokenizer, TokenizerOpts,
};

/// The words of a fragment: white space folded, a blank where an element began or ended a block, nothing of scripts.
pub fn text(html: &str) -> String {
    if !html.contains(['<', '&']) {
        return html.split_whitespace().collect::<Vec<_>>().join(" ");
    }
    let tokenizer = Tokenizer::new(Words::default(), TokenizerOpts::default());
    let queue = BufferQueue::default();
    queue.push_back(StrTendril::from_slice(html));
    let _ = tokenizer.feed(&queue);
    tokenizer.end();
    let raw = tokenizer.sink.out.take();
    raw.split_whitespace().collect::<Vec<_>>().join(" ")
}

#[derive(Default)]
struct Words {
    out: RefCell<String>,
    skipping: Cell<bool>,
}

/// Elements that do not part words.
const INLINE: &[&str] = &[
    "a", "abbr", "b", "bdi", "bdo", "cite", "code", "data", "del", "dfn", "em", "font", "i", "ins",
    "kbd", "mark", "q", "s", "samp", "small", "span", "strong", "sub", "sup", "time", "tt", "u",
    "var", "wbr",
];

impl Words {
    fn tag(&self, tag: &Tag) -> TokenSinkResult<()> {
        let name = &*tag.name;
        if matches!(name, "script" | "style") {
            self.skipping.set(tag.kind == TagKind::StartTag);
            if tag.kind == TagKind::StartTag {
                return TokenSinkResult::RawData(match name {
                    "script" => RawKind::ScriptData,
                    _ => RawKind::Rawtext,
                });
            }
        }
        if !INLINE.contains(&name) {
            self.out.borrow_mut().push(' ');
        }
        if name == "img"
            && let Some(alt) = tag.attrs.iter().find(|a| &*a.name.local == "alt")
        {
            self.out.borrow_mut().push_str(&alt.value);
            self.out.borrow_mut().push(' ');
        }
        TokenSinkResult::Continue
    }
}

impl TokenSink for Words {
    type Handle = ();

    fn process_token(&self, token: Token, _line: u64) -> TokenSinkResult<()> {
        match token {
            Token::TagToken(tag) => return self.tag(&tag),
            Token::CharacterTokens(text) if !self.skipping.get() => {
                self.out.borrow_mut().push_str(&text)
            }
            _ => {}
        }
        TokenSinkResult::Continue
    }
}
