//! Runs the HTML parser within limits of depth, nodes and attributes.

use std::cell::{Cell, RefCell};

use html5ever::buffer_queue::BufferQueue;
use html5ever::interface::create_element;
use html5ever::tendril::StrTendril;
use html5ever::tokenizer::{
    EndTag, StartTag, Tag, TagToken, Token, TokenSink, TokenSinkResult, Tokenizer, TokenizerOpts,
};
use html5ever::tree_builder::{TreeBuilder, TreeBuilderOpts};
use html5ever::{LocalName, QualName, TokenizerResult, local_name, ns};

use super::sink::Sink;
use super::{Document, bound, flat};

/// Bounds of one parse. A page over them loses what is beyond, never the whole.
#[derive(Debug, Clone)]
pub struct Limits {
    /// Elements inside one another; tags beyond it are dropped and their text stays. Browsers stop at 512.
    pub depth: u32,
    /// Nodes of the tree; what comes after them is dropped.
    pub nodes: usize,
    /// `srcdoc` frames inside one another that are read.
    pub frames: u32,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            depth: 512,
            nodes: 1_000_000,
            frames: 2,
        }
    }
}

/// Bytes handed to the tokenizer at once.
const PIECE: usize = 1 << 16;

/// Stands between tokenizer and tree builder and keeps the tree within its limits.
struct Guard<'a> {
    inner: TreeBuilder<u32, Sink>,
    limits: &'a Limits,
    /// Start tags that were dropped for depth and wait for their end tags.
    dropped: RefCell<Vec<LocalName>>,
    cut: Cell<bool>,
}

impl TokenSink for Guard<'_> {
    type Handle = u32;

    fn process_token(&self, token: Token, line: u64) -> TokenSinkResult<u32> {
        match &token {
            Token::CommentToken(_) | Token::ParseError(_) => return TokenSinkResult::Continue,
            Token::EOFToken => {}
            _ if self.inner.sink.count() >= self.limits.nodes => {
                self.cut.set(true);
                return TokenSinkResult::Continue;
            }
            TagToken(Tag {
                kind: StartTag,
                name,
                self_closing,
                ..
            }) if self.inner.sink.depth() >= self.limits.depth && !opens_text(name) => {
                self.cut.set(true);
                if !*self_closing && !is_void(name) {
                    self.dropped.borrow_mut().push(name.clone());
                }
                return TokenSinkResult::Continue;
            }
            TagToken(Tag {
                kind: EndTag, name, ..
            }) => {
                let mut dropped = self.dropped.borrow_mut();
                if dropped.last() == Some(name) {
                    dropped.pop();
                    return TokenSinkResult::Continue;
                }
            }
            _ => {}
        }
        self.inner.process_token(token, line)
    }

    fn end(&self) {
        self.inner.end();
    }

    fn adjusted_current_node_present_but_not_in_html_namespace(&self) -> bool {
        self.inner
            .adjusted_current_node_present_but_not_in_html_namespace()
    }
}

/// Elements after whose start tag the tokenizer must change its state; they hold text alone, so they add one level.
fn opens_text(name: &LocalName) -> bool {
    matches!(
        *name,
        local_name!("script")
            | local_name!("style")
            | local_name!("textarea")
            | local_name!("title")
            | local_name!("xmp")
            | local_name!("noscript")
            | local_name!("noframes")
            | local_name!("iframe")
            | local_name!("noembed")
            | local_name!("plaintext")
    )
}

pub(crate) fn is_void(name: &LocalName) -> bool {
    matches!(
        *name,
        local_name!("area")
            | local_name!("base")
            | local_name!("br")
            | local_name!("col")
            | local_name!("embed")
            | local_name!("hr")
            | local_name!("img")
            | local_name!("input")
            | local_name!("link")
            | local_name!("meta")
            | local_name!("param")
            | local_name!("source")
            | local_name!("track")
            | local_name!("wbr")
    )
}

fn options(frame: bool) -> TreeBuilderOpts {
    TreeBuilderOpts {
        iframe_srcdoc: frame,
        drop_doctype: true,
        ..TreeBuilderOpts::default()
    }
}

pub(super) fn document(html: &str, limits: &Limits, frame: u32) -> Document {
    let inner = TreeBuilder::new(Sink::new(), options(frame > 0));
    run(html, inner, TokenizerOpts::default(), limits, frame)
}

pub(super) fn fragment(html: &str, limits: &Limits) -> Document {
    let sink = Sink::new();
    let name = QualName::new(None, ns!(html), local_name!("body"));
    let context = create_element(&sink, name, Vec::new());
    let inner = TreeBuilder::new_for_fragment(sink, context, None, options(false));
    let tokens = TokenizerOpts {
        initial_state: Some(inner.tokenizer_state_for_context_elem(true)),
        ..TokenizerOpts::default()
    };
    run(html, inner, tokens, limits, 0)
}

fn run(
    html: &str,
    inner: TreeBuilder<u32, Sink>,
    tokens: TokenizerOpts,
    limits: &Limits,
    frame: u32,
) -> Document {
    let html = bound::bound(html);
    let guard = Guard {
        inner,
        limits,
        dropped: RefCell::new(Vec::new()),
        cut: Cell::new(false),
    };
    let tokenizer = Tokenizer::new(guard, tokens);
    let queue = BufferQueue::default();
    let mut rest = &*html;
    while !rest.is_empty() {
        let mut end = rest.len().min(PIECE);
        while !rest.is_char_boundary(end) {
            end += 1;
        }
        let (piece, after) = rest.split_at(end);
        rest = after;
        queue.push_back(StrTendril::from_slice(piece));
        while !matches!(tokenizer.feed(&queue), TokenizerResult::Done) {}
        if tokenizer.sink.inner.sink.count() >= limits.nodes {
            tokenizer.sink.cut.set(true);
            break;
        }
    }
    tokenizer.end();
    let cut = tokenizer.sink.cut.get();
    let nodes = {
        use html5ever::interface::TreeSink;
        tokenizer.sink.inner.sink.finish()
    };
    flat::flatten(nodes, cut, limits, frame)
}
