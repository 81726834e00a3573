//! The shape of a dialect file.

use std::collections::BTreeMap;

use kilter_core::Strength;
use serde::Deserialize;

/// One file: any number of dialects, reasoning markers and stop tokens.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct File {
    #[serde(default)]
    pub(crate) dialect: Vec<DialectSpec>,
    #[serde(default)]
    pub(crate) reasoning: Vec<ReasoningSpec>,
    /// Tokens that may trail a reply and carry no meaning.
    #[serde(default)]
    pub(crate) stop: Vec<String>,
    /// Pairs around content that carry no meaning.
    #[serde(default)]
    pub(crate) frame: Vec<[String; 2]>,
}

/// The payload grammars.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Grammar {
    /// JSON objects or arrays of calls (J1, J2, J3).
    Json,
    /// A name, then JSON arguments (NJ).
    NameJson,
    /// One element per parameter, the name in an attribute or the tag (XE, XN).
    Tags,
    /// Alternating key and value elements (KV).
    Pairs,
    /// Python call expressions (PY).
    Python,
    /// Bare keys and own string delimiters (GM).
    Notation,
    /// A message header that names channel and recipient, then JSON (NJ with a header).
    Channel,
}

/// JSON shapes that count as calls.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Shape {
    /// `{"name": …, "arguments": …}`.
    Object,
    /// A list of calls.
    Array,
    /// `{"NAME": {…}}`.
    Keyed,
}

/// Whether the closing marker must be there.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Closer {
    /// It must, except at the end of the text or before another marker.
    #[default]
    Required,
    /// The end of the payload is the end of the call.
    Optional,
}

fn yes() -> bool {
    true
}

/// One dialect.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct DialectSpec {
    pub(crate) name: String,
    /// Other names under which people know the same text.
    #[serde(default)]
    #[expect(dead_code, reason = "read by people and by the tests")]
    pub(crate) also: Vec<String>,
    pub(crate) strength: Strength,
    pub(crate) grammar: Grammar,
    /// Framing that may stand before the opener: section tags.
    #[serde(default)]
    pub(crate) prefix: Vec<String>,
    /// What opens one call; empty when the payload opens itself.
    #[serde(default)]
    pub(crate) openers: Vec<String>,
    /// What closes one call.
    #[serde(default)]
    pub(crate) closers: Vec<String>,
    /// Framing that may follow: section closers, result markers.
    #[serde(default)]
    pub(crate) suffix: Vec<String>,
    /// Texts at which the payload may begin with neither prefix nor opener.
    #[serde(default)]
    pub(crate) triggers: Vec<String>,
    /// After a prefix the opener may be missing.
    #[serde(default)]
    pub(crate) opener_optional: bool,
    #[serde(default)]
    pub(crate) closer: Closer,
    /// `{word}` in a marker stands for each of these spellings.
    #[serde(default)]
    pub(crate) vary: BTreeMap<String, Vec<String>>,
    /// The tool's name may stand between prefix and opener.
    #[serde(default)]
    pub(crate) name_in_frame: bool,
    /// It must end the reply, as markerless forms must.
    #[serde(default)]
    pub(crate) ends_reply: bool,
    /// Every tag may carry a `:suffix` before its `>`.
    #[serde(default)]
    pub(crate) nonce: bool,
    /// Markerless and inside a code fence.
    #[serde(default)]
    pub(crate) fenced: bool,
    /// A call may stand inside reasoning and ends it.
    #[serde(default = "yes")]
    pub(crate) in_reasoning: bool,
    /// A turn may hold several.
    #[serde(default = "yes")]
    #[expect(dead_code, reason = "read by people: a reader takes what is written")]
    pub(crate) parallel: bool,
    #[serde(default)]
    pub(crate) shapes: Vec<Shape>,
    #[serde(default)]
    pub(crate) header: Header,
    #[serde(default)]
    pub(crate) tags: Option<Tags>,
    #[serde(default)]
    pub(crate) pairs: Option<Pairs>,
    #[serde(default)]
    pub(crate) notation: Option<Notation>,
    #[serde(default)]
    pub(crate) channel: Option<Channel>,
    /// A firing text; the crate's tests read it with the tools `get_tide` and `ping`.
    #[serde(default)]
    pub(crate) example: Option<String>,
    /// Notes for people.
    #[serde(default)]
    #[expect(dead_code, reason = "read by people")]
    pub(crate) quirks: Vec<String>,
}

/// How a name stands before its arguments.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Header {
    /// Words that may stand before the name.
    #[serde(default)]
    pub(crate) lead: Vec<String>,
    /// One of them must.
    #[serde(default)]
    pub(crate) lead_required: bool,
    /// Prefixes that are no part of the name.
    #[serde(default)]
    pub(crate) strip: Vec<String>,
    /// The name may end in `:` and a counter, and the whole header is the call's id.
    #[serde(default)]
    pub(crate) counter_id: bool,
    /// What stands between name and arguments; each may be absent.
    #[serde(default)]
    pub(crate) end: Vec<String>,
    /// What opens an id between name and arguments.
    #[serde(default)]
    pub(crate) id: Vec<String>,
    /// The arguments may stand in a fence.
    #[serde(default)]
    pub(crate) fence: bool,
    /// What may stand behind the arguments.
    #[serde(default)]
    pub(crate) after: Vec<String>,
    /// What stands for arguments where there are none.
    #[serde(default)]
    pub(crate) empty: Vec<String>,
    /// Endings that are no part of the name.
    #[serde(default)]
    pub(crate) drop: Vec<String>,
}

/// Element syntax.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Tags {
    pub(crate) open: Vec<String>,
    pub(crate) shut: Vec<String>,
    pub(crate) end: Vec<String>,
    /// Element names of a call.
    #[serde(default)]
    pub(crate) call: Vec<String>,
    /// Attributes that hold the tool's name, besides `=NAME`.
    #[serde(default)]
    pub(crate) name: Vec<String>,
    /// Element names of a parameter; empty when the element is named after the parameter.
    #[serde(default)]
    pub(crate) param: Vec<String>,
    /// Attributes that hold the key, besides `=KEY`.
    #[serde(default)]
    pub(crate) key: Vec<String>,
    /// The element that holds all arguments as one JSON object.
    #[serde(default)]
    pub(crate) whole: Option<String>,
    /// The attribute that gives the type of the wire.
    #[serde(default)]
    pub(crate) wire: Option<String>,
    /// Its values that mean literal text; every other value means JSON.
    #[serde(default)]
    pub(crate) wire_text: Vec<String>,
    /// Entities in attributes are decoded.
    #[serde(default)]
    pub(crate) entities: bool,
    /// One newline on either side of a value is framing.
    #[serde(default = "yes")]
    pub(crate) trim: bool,
    /// Elements nest: objects by name, lists by this element name.
    #[serde(default)]
    pub(crate) item: Option<String>,
    /// The call element is named after the tool.
    #[serde(default)]
    pub(crate) root: bool,
    /// The first element inside a call that holds the tool's name.
    #[serde(default)]
    pub(crate) named_by: Option<String>,
    /// The element that holds the parameters.
    #[serde(default)]
    pub(crate) wrapped_in: Option<String>,
}

/// Key and value elements.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Pairs {
    pub(crate) key: [String; 2],
    pub(crate) value: [String; 2],
    /// Element with the type of the wire.
    #[serde(default)]
    pub(crate) wire: Option<[String; 2]>,
    /// What may end the name.
    #[serde(default)]
    pub(crate) name_end: Vec<String>,
}

/// Bare keys with own string delimiters.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Notation {
    /// The word before the name.
    pub(crate) lead: String,
    /// String delimiters.
    pub(crate) quote: Vec<String>,
}

/// Message headers.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Channel {
    /// Ends the header.
    pub(crate) message: Vec<String>,
    /// Stands before the channel's word.
    pub(crate) mark: Vec<String>,
    /// Stands before the recipient.
    pub(crate) to: Vec<String>,
    /// Recipients' prefixes that are no part of a tool's name.
    #[serde(default)]
    pub(crate) strip: Vec<String>,
    /// Channel words whose undirected messages are reasoning.
    #[serde(default)]
    pub(crate) reasoning: Vec<String>,
    /// Channel words whose undirected messages are content.
    #[serde(default)]
    pub(crate) content: Vec<String>,
    /// The reasoning marker whose closers end a reasoning message.
    pub(crate) marker: String,
    /// What ends a content message.
    #[serde(default)]
    pub(crate) ends: Vec<String>,
}

/// One pair of reasoning markers.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct ReasoningSpec {
    pub(crate) name: String,
    #[serde(default)]
    pub(crate) openers: Vec<String>,
    pub(crate) closers: Vec<String>,
    /// Markers that end the block and are no part of it: the next header.
    #[serde(default)]
    pub(crate) before: Vec<String>,
    /// A closer with no opener before it says that the text before was reasoning.
    #[serde(default)]
    pub(crate) lone: bool,
    /// The opener may stand behind content: it is a special token.
    #[serde(default)]
    pub(crate) anywhere: bool,
    /// A `:suffix` may stand before the `>`.
    #[serde(default)]
    pub(crate) nonce: bool,
    /// Wrappers around the answer that follows.
    #[serde(default)]
    pub(crate) answer: Vec<[String; 2]>,
    #[serde(default)]
    pub(crate) vary: BTreeMap<String, Vec<String>>,
}
