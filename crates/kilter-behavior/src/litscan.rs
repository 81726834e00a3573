//! Finds the end of a bracketed literal, byte by byte, resumable, each byte read once.

use crate::lit::MAX_DEPTH;

/// What is known after the bytes so far.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Scan {
    /// The literal is not over.
    More,
    /// It ends before this offset.
    Done(usize),
    /// It cannot be a literal: at this offset.
    Fail(usize),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Want {
    Value,
    ValueOrClose,
    KeyOrClose,
    Colon,
    CommaOrClose,
    Str {
        key: bool,
        esc: bool,
    },
    /// A closing quote was seen: the next byte says whether it was one.
    AfterQuote {
        key: bool,
    },
    Word {
        key: bool,
    },
}

/// The scanner. Offsets are relative to the text that each `advance` is given, which must always
/// start at the same place.
#[derive(Debug, Clone)]
pub(crate) struct LitScan {
    at: usize,
    stack: Vec<u8>,
    want: Want,
    quote: u8,
    /// Bare words may be keys and may hold spaces.
    loose: bool,
    /// Every brace is written twice.
    twin: bool,
}

impl LitScan {
    /// Starts at the opening bracket at `at`.
    pub(crate) fn new(at: usize, loose: bool) -> Self {
        Self {
            at,
            stack: Vec::new(),
            want: Want::Value,
            quote: b'"',
            loose,
            twin: false,
        }
    }

    /// Reads a literal in which every brace is written twice.
    pub(crate) fn twins(at: usize) -> Self {
        Self {
            twin: true,
            ..Self::new(at, false)
        }
    }

    /// The next byte to read.
    pub(crate) fn at(&self) -> usize {
        self.at
    }

    /// Reads on.
    pub(crate) fn advance(&mut self, text: &str, eof: bool) -> Scan {
        let b = text.as_bytes();
        while self.at < b.len() {
            if let Want::Str { key, esc: false } = self.want {
                let q = self.quote;
                match memchr::memchr2(q, b'\\', &b[self.at..]) {
                    None => {
                        self.at = b.len();
                        break;
                    }
                    Some(n) => {
                        self.at += n;
                        if b[self.at] == q {
                            self.want = Want::AfterQuote { key };
                        } else {
                            self.want = Want::Str { key, esc: true };
                        }
                        self.at += 1;
                        continue;
                    }
                }
            }
            let c = b[self.at];
            let text = matches!(
                self.want,
                Want::Str { .. } | Want::AfterQuote { .. } | Want::Word { .. }
            );
            if self.twin && !text && (c == b'{' || c == b'}') {
                match b.get(self.at + 1) {
                    None if !eof => return Scan::More,
                    Some(d) if *d == c => self.at += 1,
                    _ => {}
                }
            }
            match self.step(c) {
                Step::Next => self.at += 1,
                Step::Again => {}
                Step::Done => return Scan::Done(self.at + 1),
                Step::Fail => return Scan::Fail(self.at),
            }
        }
        if eof { Scan::Fail(b.len()) } else { Scan::More }
    }

    fn open(&mut self, c: u8) -> Step {
        if self.stack.len() >= MAX_DEPTH {
            return Step::Fail;
        }
        self.stack.push(c);
        self.want = if c == b'{' {
            Want::KeyOrClose
        } else {
            Want::ValueOrClose
        };
        Step::Next
    }

    fn close(&mut self, c: u8) -> Step {
        let want = match self.stack.pop() {
            Some(b'{') => b'}',
            Some(b'[') => b']',
            Some(b'(') => b')',
            _ => return Step::Fail,
        };
        if want != c {
            return Step::Fail;
        }
        if self.stack.is_empty() {
            return Step::Done;
        }
        self.want = Want::CommaOrClose;
        Step::Next
    }

    fn step(&mut self, c: u8) -> Step {
        match self.want {
            Want::Str { key, .. } => {
                self.want = Want::Str { key, esc: false };
                Step::Next
            }
            Want::AfterQuote { key } => {
                if !key && c.is_ascii_alphanumeric() {
                    self.want = Want::Str { key, esc: false };
                    return Step::Next;
                }
                self.want = if key { Want::Colon } else { Want::CommaOrClose };
                Step::Again
            }
            Want::Word { key } => {
                let inside = c.is_ascii_alphanumeric()
                    || b"_.+-*/%$<>=!~|&@#?;".contains(&c)
                    || c >= 0x80
                    || (c == b' ' && (self.loose || !key));
                if inside {
                    return Step::Next;
                }
                if (c == b'"' || c == b'\'') && !key {
                    // A prefixed string.
                    self.quote = c;
                    self.want = Want::Str { key, esc: false };
                    return Step::Next;
                }
                self.want = if key { Want::Colon } else { Want::CommaOrClose };
                Step::Again
            }
            _ if c.is_ascii_whitespace() => Step::Next,
            Want::Value | Want::ValueOrClose => match c {
                b'{' | b'[' | b'(' => self.open(c),
                b'"' | b'\'' => {
                    self.quote = c;
                    self.want = Want::Str {
                        key: false,
                        esc: false,
                    };
                    Step::Next
                }
                b']' | b')' if self.want == Want::ValueOrClose => self.close(c),
                c if c.is_ascii_alphanumeric() || b"_+-.".contains(&c) || c >= 0x80 => {
                    self.want = Want::Word { key: false };
                    Step::Next
                }
                _ => Step::Fail,
            },
            Want::KeyOrClose => match c {
                b'"' | b'\'' => {
                    self.quote = c;
                    self.want = Want::Str {
                        key: true,
                        esc: false,
                    };
                    Step::Next
                }
                b'}' => self.close(c),
                c if self.loose && (c.is_ascii_alphanumeric() || c == b'_' || c >= 0x80) => {
                    self.want = Want::Word { key: true };
                    Step::Next
                }
                _ => Step::Fail,
            },
            Want::Colon => {
                if c != b':' {
                    return Step::Fail;
                }
                self.want = Want::Value;
                Step::Next
            }
            Want::CommaOrClose => match c {
                b',' => {
                    self.want = if self.stack.last() == Some(&b'{') {
                        Want::KeyOrClose
                    } else {
                        Want::ValueOrClose
                    };
                    Step::Next
                }
                b'}' | b']' | b')' => self.close(c),
                _ => Step::Fail,
            },
        }
    }
}

enum Step {
    Next,
    Again,
    Done,
    Fail,
}
