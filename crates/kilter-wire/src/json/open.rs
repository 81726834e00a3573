//! Whether a text is complete JSON, cut JSON or no JSON: one byte at a time, linear in the whole.

/// How far a text is from being one JSON value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Progress {
    /// Nothing but white space.
    Blank,
    /// A proper prefix: more text could make it one value, and it is none yet.
    Open,
    /// One value. (A bare number could still grow, and counts as complete.)
    Complete,
    /// No continuation makes it JSON.
    Broken,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    /// A value must come; `true` when `]` may come instead.
    Value(bool),
    /// A key must come; `true` when `}` may come instead.
    Key(bool),
    Colon,
    /// Inside a string; is it a key.
    Str {
        key: bool,
    },
    Escape {
        key: bool,
    },
    Hex {
        key: bool,
        left: u8,
    },
    Number(Num),
    /// Inside `true`, `false` or `null`: what is still to come.
    Word(&'static [u8]),
    /// Behind a value.
    After,
    Broken,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Num {
    Minus,
    Zero,
    Int,
    Dot,
    Frac,
    Exp,
    ExpSign,
    ExpInt,
}

impl Num {
    fn complete(self) -> bool {
        matches!(self, Self::Zero | Self::Int | Self::Frac | Self::ExpInt)
    }

    /// The next state inside the number; `None` when `b` is not part of it.
    fn step(self, b: u8) -> Option<Self> {
        Some(match (self, b) {
            (Self::Minus, b'0') => Self::Zero,
            (Self::Minus, b'1'..=b'9') | (Self::Int, b'0'..=b'9') => Self::Int,
            (Self::Zero | Self::Int, b'.') => Self::Dot,
            (Self::Dot | Self::Frac, b'0'..=b'9') => Self::Frac,
            (Self::Zero | Self::Int | Self::Frac, b'e' | b'E') => Self::Exp,
            (Self::Exp, b'+' | b'-') => Self::ExpSign,
            (Self::Exp | Self::ExpSign | Self::ExpInt, b'0'..=b'9') => Self::ExpInt,
            _ => return None,
        })
    }
}

/// Follows one JSON value through deltas of any size. Unlike the scanner it is strict (RFC 8259
/// grammar): it decides whether arguments are whole.
#[derive(Debug, Clone)]
pub struct Tracker {
    state: State,
    /// Open containers: `true` for an object.
    stack: Vec<bool>,
    blank: bool,
}

impl Default for Tracker {
    fn default() -> Self {
        Self {
            state: State::Value(false),
            stack: Vec::new(),
            blank: true,
        }
    }
}

impl Tracker {
    /// A tracker at the start of a text.
    pub fn new() -> Self {
        Self::default()
    }

    /// Takes in the next piece.
    pub fn push(&mut self, piece: &str) {
        let b = piece.as_bytes();
        let mut i = 0;
        while let Some(&c) = b.get(i) {
            // The inside of strings is nearly all of any argument: jump to what can end it.
            if let State::Str { .. } = self.state {
                let n = b[i..]
                    .iter()
                    .position(|&c| c == b'"' || c == b'\\' || c < 0x20);
                match n {
                    None => return,
                    Some(n) => i += n,
                }
                self.step(b[i]);
            } else {
                self.step(c);
            }
            if self.state == State::Broken {
                return;
            }
            i += 1;
        }
    }

    fn step(&mut self, b: u8) {
        let white = matches!(b, b' ' | b'\n' | b'\r' | b'\t');
        self.blank &= white;
        self.state = match self.state {
            State::Number(n) => match n.step(b) {
                Some(next) => State::Number(next),
                None if n.complete() => {
                    self.state = State::After;
                    return self.step(b);
                }
                None => State::Broken,
            },
            State::Value(_) | State::Key(_) | State::Colon | State::After if white => self.state,
            State::Value(may_close) => self.value(b, may_close),
            State::Key(may_close) => match b {
                b'"' => State::Str { key: true },
                b'}' if may_close => self.close(true),
                _ => State::Broken,
            },
            State::Colon if b == b':' => State::Value(false),
            State::Str { key } => match b {
                b'"' if key => State::Colon,
                b'"' => State::After,
                b'\\' => State::Escape { key },
                0..=0x1f => State::Broken,
                _ => State::Str { key },
            },
            State::Escape { key } => match b {
                b'u' => State::Hex { key, left: 4 },
                b'"' | b'\\' | b'/' | b'b' | b'f' | b'n' | b'r' | b't' => State::Str { key },
                _ => State::Broken,
            },
            State::Hex { key, left } if b.is_ascii_hexdigit() => match left {
                1 => State::Str { key },
                _ => State::Hex {
                    key,
                    left: left - 1,
                },
            },
            State::Word(rest) => match rest.split_first() {
                Some((&first, rest)) if first == b && rest.is_empty() => State::After,
                Some((&first, rest)) if first == b => State::Word(rest),
                _ => State::Broken,
            },
            State::After => match (b, self.stack.last()) {
                (b',', Some(true)) => State::Key(false),
                (b',', Some(false)) => State::Value(false),
                (b'}', Some(true)) => self.close(true),
                (b']', Some(false)) => self.close(false),
                _ => State::Broken,
            },
            State::Colon | State::Hex { .. } | State::Broken => State::Broken,
        };
    }

    fn value(&mut self, b: u8, may_close: bool) -> State {
        match b {
            b'{' => {
                self.stack.push(true);
                State::Key(true)
            }
            b'[' => {
                self.stack.push(false);
                State::Value(true)
            }
            b']' if may_close => self.close(false),
            b'"' => State::Str { key: false },
            b'-' => State::Number(Num::Minus),
            b'0' => State::Number(Num::Zero),
            b'1'..=b'9' => State::Number(Num::Int),
            b't' => State::Word(b"rue"),
            b'f' => State::Word(b"alse"),
            b'n' => State::Word(b"ull"),
            _ => State::Broken,
        }
    }

    fn close(&mut self, object: bool) -> State {
        if self.stack.pop() == Some(object) {
            State::After
        } else {
            State::Broken
        }
    }

    /// Where the text taken in so far stands.
    pub fn progress(&self) -> Progress {
        match self.state {
            State::Broken => Progress::Broken,
            _ if self.blank => Progress::Blank,
            State::After if self.stack.is_empty() => Progress::Complete,
            State::Number(n) if self.stack.is_empty() && n.complete() => Progress::Complete,
            _ => Progress::Open,
        }
    }

    /// Whether the text so far is one whole value.
    pub fn is_complete(&self) -> bool {
        self.progress() == Progress::Complete
    }

    /// Whether the text so far is cut JSON.
    pub fn is_open(&self) -> bool {
        self.progress() == Progress::Open
    }
}

/// Whether a text is cut JSON: a proper prefix of a value and not itself one. Blank text is not: on
/// the wire it means no arguments.
pub fn json_is_open(text: &str) -> bool {
    let mut t = Tracker::new();
    t.push(text);
    t.is_open()
}
