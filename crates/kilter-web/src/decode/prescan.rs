//! The encoding that a page states about itself: the HTML standard's "prescan a byte stream to determine its encoding".

use encoding_rs::{Encoding, UTF_8, UTF_16BE, UTF_16LE, WINDOWS_1252, X_USER_DEFINED};

/// Bytes that the standard looks at first. A `<meta>` further on changes the encoding while parsing, which comes to the same
/// for a reader that has all bytes: it is looked for up to [`LATE`].
const FIRST: usize = 1024;
const LATE: usize = 64 << 10;

/// The stated encoding, if any.
pub fn prescan(bytes: &[u8]) -> Option<&'static Encoding> {
    if let Some(encoding) = xml_declaration(&bytes[..bytes.len().min(FIRST)]) {
        return Some(encoding);
    }
    let mut at = Scanner {
        bytes: &bytes[..bytes.len().min(LATE)],
        i: 0,
    };
    at.run()
}

/// `<?xml … encoding="…"?>` at the very start ("get an XML encoding").
fn xml_declaration(bytes: &[u8]) -> Option<&'static Encoding> {
    match bytes {
        [b'<', 0, b'?', 0, b'x', 0, ..] => return Some(UTF_16LE),
        [0, b'<', 0, b'?', 0, b'x', ..] => return Some(UTF_16BE),
        _ => {}
    }
    let rest = bytes.strip_prefix(b"<?xml")?;
    let declaration = &rest[..rest.iter().position(|&b| b == b'>')?];
    let at = declaration.windows(8).position(|w| w == b"encoding")?;
    let mut value = declaration[at + 8..]
        .iter()
        .copied()
        .skip_while(|b| *b <= b' ');
    (value.next()? == b'=').then_some(())?;
    let mut value = value.skip_while(|b| *b <= b' ');
    let quote = value.next().filter(|q| matches!(q, b'"' | b'\''))?;
    let label: Vec<u8> = value.take_while(|b| *b != quote).collect();
    if label.iter().any(|b| *b <= b' ') {
        return None;
    }
    adjust(Encoding::for_label(&label)?)
}

/// What the standard puts in the place of encodings that cannot be meant.
fn adjust(encoding: &'static Encoding) -> Option<&'static Encoding> {
    Some(match encoding {
        e if e == UTF_16LE || e == UTF_16BE => UTF_8,
        e if e == X_USER_DEFINED => WINDOWS_1252,
        e => e,
    })
}

struct Scanner<'a> {
    bytes: &'a [u8],
    i: usize,
}

impl Scanner<'_> {
    fn run(&mut self) -> Option<&'static Encoding> {
        while self.i < self.bytes.len() {
            let rest = &self.bytes[self.i..];
            if rest.starts_with(b"<!--") {
                // The two dashes of the opening may be those of the end: `<!-->` is a comment.
                let end = rest[2..].windows(3).position(|w| w == b"-->")?;
                self.i += 2 + end + 3;
            } else if is_meta(rest) {
                self.i += 5;
                if let Some(encoding) = self.meta() {
                    return Some(encoding);
                }
            } else if is_tag(rest) {
                self.i += rest.iter().position(|b| is_space(*b) || *b == b'>')?;
                while self.attribute().is_some() {}
                self.i += 1;
            } else if rest.len() > 1 && rest[0] == b'<' && matches!(rest[1], b'!' | b'/' | b'?') {
                self.i += rest.iter().position(|b| *b == b'>')? + 1;
            } else {
                self.i += 1;
            }
        }
        None
    }

    fn meta(&mut self) -> Option<&'static Encoding> {
        let (mut pragma, mut need, mut charset) = (false, None, None);
        let mut seen: Vec<Vec<u8>> = Vec::new();
        while let Some((name, value)) = self.attribute() {
            if seen.contains(&name) {
                continue;
            }
            match name.as_slice() {
                b"http-equiv" if value == b"content-type" => pragma = true,
                b"content" if charset.is_none() => {
                    if let Some(found) = in_content(&value) {
                        charset = Some(Encoding::for_label(&found));
                        need = Some(true);
                    }
                }
                b"charset" => {
                    charset = Some(Encoding::for_label(&value));
                    need = Some(false);
                }
                _ => {}
            }
            seen.push(name);
        }
        if need? && !pragma {
            return None;
        }
        adjust(charset??)
    }

    /// "Get an attribute": name and value in lower case; `None` at the end of the tag, which is not stepped over.
    fn attribute(&mut self) -> Option<(Vec<u8>, Vec<u8>)> {
        while is_space(self.peek()?) || self.peek()? == b'/' {
            self.i += 1;
        }
        if self.peek()? == b'>' {
            return None;
        }
        let mut name = Vec::new();
        loop {
            match self.peek()? {
                b'=' if !name.is_empty() => break,
                b if is_space(b) => {
                    while is_space(self.peek()?) {
                        self.i += 1;
                    }
                    if self.peek()? != b'=' {
                        return Some((name, Vec::new()));
                    }
                    break;
                }
                b'/' | b'>' => return Some((name, Vec::new())),
                b => name.push(b.to_ascii_lowercase()),
            }
            self.i += 1;
        }
        self.i += 1;
        while is_space(self.peek()?) {
            self.i += 1;
        }
        let mut value = Vec::new();
        match self.peek()? {
            quote @ (b'"' | b'\'') => {
                self.i += 1;
                while self.peek()? != quote {
                    value.push(self.peek()?.to_ascii_lowercase());
                    self.i += 1;
                }
                self.i += 1;
            }
            _ => {
                while !is_space(self.peek()?) && self.peek()? != b'>' {
                    value.push(self.peek()?.to_ascii_lowercase());
                    self.i += 1;
                }
            }
        }
        Some((name, value))
    }

    fn peek(&self) -> Option<u8> {
        self.bytes.get(self.i).copied()
    }
}

fn is_space(b: u8) -> bool {
    matches!(b, b'\t' | b'\n' | 0x0c | b'\r' | b' ')
}

fn is_meta(rest: &[u8]) -> bool {
    rest.len() > 5
        && rest[..5].eq_ignore_ascii_case(b"<meta")
        && (is_space(rest[5]) || rest[5] == b'/')
}

fn is_tag(rest: &[u8]) -> bool {
    let rest = match rest {
        [b'<', b'/', tail @ ..] | [b'<', tail @ ..] => tail,
        _ => return false,
    };
    rest.first().is_some_and(u8::is_ascii_alphabetic)
}

/// "Extracting a character encoding from a meta element": the label in a `content`, in lower case already.
fn in_content(value: &[u8]) -> Option<Vec<u8>> {
    let mut rest = value;
    loop {
        let at = rest
            .windows(7)
            .position(|w| w.eq_ignore_ascii_case(b"charset"))?;
        rest = &rest[at + 7..];
        let spaces = rest.iter().take_while(|b| is_space(**b)).count();
        if rest.get(spaces) == Some(&b'=') {
            rest = &rest[spaces + 1..];
            break;
        }
    }
    let spaces = rest.iter().take_while(|b| is_space(**b)).count();
    rest = &rest[spaces..];
    match rest.first()? {
        quote @ (b'"' | b'\'') => {
            let rest = &rest[1..];
            let end = rest.iter().position(|b| b == quote)?;
            Some(rest[..end].to_vec())
        }
        _ => {
            let end = rest
                .iter()
                .position(|b| is_space(*b) || *b == b';')
                .unwrap_or(rest.len());
            Some(rest[..end].to_vec())
        }
    }
}
