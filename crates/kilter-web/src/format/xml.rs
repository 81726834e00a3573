//! Reads XML as it is found: a pull scanner that never refuses a document.
//!
//! Feeds and sitemaps in the wild hold bare ampersands, HTML entities and elements that are never closed. A conforming
//! parser stops there; this one goes on, in one pass and without recursion.

/// What comes next in a document.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Event<'a> {
    /// An element begins; `empty` when it also ends (`<a/>`).
    Start {
        /// Name as written, prefix included.
        name: &'a str,
        /// Attributes as written, not yet unescaped.
        attributes: &'a str,
        /// Whether it also ends here.
        empty: bool,
    },
    /// An element ends.
    End(&'a str),
    /// Text, still escaped.
    Text(&'a str),
    /// A CDATA section: text as it is.
    Raw(&'a str),
}

/// The scanner.
#[derive(Debug, Clone)]
pub struct Xml<'a> {
    rest: &'a str,
}

impl<'a> Xml<'a> {
    /// Scans a document.
    pub fn new(text: &'a str) -> Self {
        Self { rest: text }
    }

    /// Takes everything up to `end` and steps over it; to the end of the document when it is missing.
    fn until(&mut self, from: usize, end: &str) -> &'a str {
        let body = self.rest.get(from..).unwrap_or_default();
        match body.find(end) {
            Some(at) => {
                self.rest = &body[at + end.len()..];
                &body[..at]
            }
            None => {
                self.rest = "";
                body
            }
        }
    }

    /// The inside of a tag: up to the `>` that stands in no quotes.
    fn tag(&mut self) -> &'a str {
        let body = &self.rest[1..];
        let mut quote = None;
        for (i, b) in body.bytes().enumerate() {
            match (quote, b) {
                (Some(q), b) if q == b => quote = None,
                (None, b'"' | b'\'') => quote = Some(b),
                // A new tag inside quotes: the quote was never closed.
                (_, b'<') | (None, b'>') => {
                    self.rest = &body[i + usize::from(b == b'>')..];
                    return &body[..i];
                }
                _ => {}
            }
        }
        self.rest = "";
        body
    }
}

impl<'a> Iterator for Xml<'a> {
    type Item = Event<'a>;

    fn next(&mut self) -> Option<Event<'a>> {
        loop {
            if self.rest.is_empty() {
                return None;
            }
            if !self.rest.starts_with('<') {
                let end = self.rest.find('<').unwrap_or(self.rest.len());
                let (text, rest) = self.rest.split_at(end);
                self.rest = rest;
                return Some(Event::Text(text));
            }
            if self.rest.starts_with("<!--") {
                self.until(4, "-->");
            } else if self.rest.starts_with("<![CDATA[") {
                return Some(Event::Raw(self.until(9, "]]>")));
            } else if self.rest.starts_with("<?") {
                self.until(2, "?>");
            } else if self.rest.starts_with("<!") {
                self.doctype();
            } else if self.rest.starts_with("</") {
                let name = self.tag()[1..].trim();
                return Some(Event::End(name));
            } else if self.rest[1..].starts_with(|c: char| c.is_alphabetic() || c == '_') {
                let inside = self.tag();
                let empty = inside.ends_with('/');
                let inside = inside.strip_suffix('/').unwrap_or(inside);
                let end = inside.find(char::is_whitespace).unwrap_or(inside.len());
                let (name, attributes) = inside.split_at(end);
                return Some(Event::Start {
                    name,
                    attributes: attributes.trim(),
                    empty,
                });
            } else {
                // A bare `<` is text.
                let end = self.rest[1..]
                    .find('<')
                    .map_or(self.rest.len(), |at| at + 1);
                let (text, rest) = self.rest.split_at(end);
                self.rest = rest;
                return Some(Event::Text(text));
            }
        }
    }
}

impl Xml<'_> {
    /// A document type, with or without an internal subset. What it declares is not used.
    fn doctype(&mut self) {
        let mut depth = 0usize;
        for (i, b) in self.rest.bytes().enumerate() {
            match b {
                b'[' => depth += 1,
                b']' => depth = depth.saturating_sub(1),
                b'>' if depth == 0 => {
                    self.rest = &self.rest[i + 1..];
                    return;
                }
                _ => {}
            }
        }
        self.rest = "";
    }
}

/// The part of a name after its prefix.
pub fn local(name: &str) -> &str {
    name.rsplit(':').next().unwrap_or(name)
}

/// One attribute's value, unescaped.
pub fn attribute(attributes: &str, wanted: &str) -> Option<String> {
    let mut rest = attributes;
    while let Some((name, tail)) = rest.split_once('=') {
        let tail = tail.trim_start();
        let (value, after) = match tail.chars().next() {
            Some(q @ ('"' | '\'')) => tail[1..].split_once(q).unwrap_or((&tail[1..], "")),
            _ => tail.split_once(char::is_whitespace).unwrap_or((tail, "")),
        };
        let name = name.trim();
        let name = name.rsplit(char::is_whitespace).next().unwrap_or(name);
        if name == wanted {
            return Some(unescape(value));
        }
        rest = after;
    }
    None
}

/// Undoes references: the five of XML, numbers, and what feeds borrow from HTML. Anything else stays as it is.
pub fn unescape(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find('&') {
        out.push_str(&rest[..at]);
        rest = &rest[at..];
        let end = rest.bytes().take(34).position(|b| b == b';');
        match end.and_then(|end| Some((end, reference(&rest[1..end])?))) {
            Some((end, found)) => {
                out.push(found);
                rest = &rest[end + 1..];
            }
            None => {
                out.push('&');
                rest = &rest[1..];
            }
        }
    }
    out.push_str(rest);
    out
}

fn reference(name: &str) -> Option<char> {
    if let Some(number) = name.strip_prefix('#') {
        let code = match number.strip_prefix(['x', 'X']) {
            Some(hex) => u32::from_str_radix(hex, 16).ok()?,
            None => number.parse().ok()?,
        };
        return char::from_u32(code).filter(|c| *c != '\0');
    }
    Some(match name {
        "amp" => '&',
        "lt" => '<',
        "gt" => '>',
        "quot" => '"',
        "apos" => '\'',
        "nbsp" => '\u{a0}',
        "ndash" => '–',
        "mdash" => '—',
        "hellip" => '…',
        "lsquo" => '‘',
        "rsquo" => '’',
        "ldquo" => '“',
        "rdquo" => '”',
        "laquo" => '«',
        "raquo" => '»',
        "bull" => '•',
        "middot" => '·',
        "copy" => '©',
        "reg" => '®',
        "trade" => '™',
        "euro" => '€',
        "pound" => '£',
        "auml" => 'ä',
        "ouml" => 'ö',
        "uuml" => 'ü',
        "Auml" => 'Ä',
        "Ouml" => 'Ö',
        "Uuml" => 'Ü',
        "szlig" => 'ß',
        "eacute" => 'é',
        "egrave" => 'è',
        "agrave" => 'à',
        "ccedil" => 'ç',
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_broken_is_read_on() {
        let events: Vec<_> = Xml::new("<?xml?><!DOCTYPE a [<!ENTITY x \"y>\">]><a b='1>2' c>x & y<b/><![CDATA[<raw>]]></a><c d=\"un<e>t").collect();
        assert_eq!(
            events,
            [
                Event::Start {
                    name: "a",
                    attributes: "b='1>2' c",
                    empty: false
                },
                Event::Text("x & y"),
                Event::Start {
                    name: "b",
                    attributes: "",
                    empty: true
                },
                Event::Raw("<raw>"),
                Event::End("a"),
                Event::Start {
                    name: "c",
                    attributes: "d=\"un",
                    empty: false
                },
                Event::Start {
                    name: "e",
                    attributes: "",
                    empty: false
                },
                Event::Text("t"),
            ]
        );
        assert_eq!(
            unescape("a &amp; b &#38; &#x26; & &bogus; &lt;p&gt; &;"),
            "a & b & & & &bogus; <p> &;"
        );
        assert_eq!(
            attribute("x:href='no' href = \"a&amp;b\" rel=z", "href").as_deref(),
            Some("a&b")
        );
        assert_eq!(attribute("x:href='no' rel=z", "rel").as_deref(), Some("z"));
        for broken in [
            "<",
            "<a",
            "</",
            "</a",
            "<!",
            "<!--",
            "<![CDATA[",
            "<?",
            "<a b",
            "<a b=",
            "<a b='",
            "& < >",
            "<é>",
            "<1>",
        ] {
            assert!(Xml::new(broken).count() <= 3, "{broken}");
        }
    }
}
