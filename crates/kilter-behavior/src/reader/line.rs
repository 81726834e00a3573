//! What is known of the line that a position stands in: enough to tell a quotation.

/// The current line up to some position.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Line {
    /// Nothing but white space so far.
    pub(crate) blank: bool,
    /// Indentation in columns while blank, then of the first character.
    pub(crate) indent: u32,
    /// The first characters behind the indentation.
    pub(crate) head: [u8; 4],
    head_len: u8,
    /// The character just before the position; `None` at the start of a line.
    pub(crate) prev: Option<char>,
    /// Length of the backtick run that opened inline code; 0 outside.
    ticks: u32,
    /// Length of a backtick run that ends at the position.
    run: u32,
}

impl Line {
    pub(crate) const START: Self = Self {
        blank: true,
        indent: 0,
        head: [0; 4],
        head_len: 0,
        prev: None,
        ticks: 0,
        run: 0,
    };

    /// Moves over text.
    pub(crate) fn advance(&mut self, text: &str) {
        let mut t = text;
        if let Some(n) = memchr::memrchr(b'\n', t.as_bytes()) {
            *self = Self::START;
            t = &t[n + 1..];
        }
        if t.is_empty() {
            return;
        }
        let b = t.as_bytes();
        let mut i = 0;
        if self.blank {
            while i < b.len() && (b[i] == b' ' || b[i] == b'\t') {
                self.indent += if b[i] == b'\t' { 4 } else { 1 };
                i += 1;
            }
            if i < b.len() {
                self.blank = false;
            }
        }
        if !self.blank {
            let mut j = i;
            while (self.head_len as usize) < 4 && j < b.len() {
                self.head[self.head_len as usize] = b[j];
                self.head_len += 1;
                j += 1;
            }
        }
        let mut at = i;
        // A run may continue across calls.
        if self.run > 0 && b.get(at) != Some(&b'`') {
            self.end_run();
        }
        while let Some(n) = memchr::memchr(b'`', &b[at..]) {
            if n > 0 {
                self.end_run();
            }
            at += n + 1;
            self.run += 1;
            if b.get(at).is_some_and(|c| *c != b'`') {
                self.end_run();
            }
        }
        if at < b.len() {
            self.end_run();
        }
        self.prev = t.chars().next_back();
    }

    fn end_run(&mut self) {
        if self.run == 0 {
            return;
        }
        if self.ticks == 0 {
            self.ticks = self.run;
        } else if self.ticks == self.run {
            self.ticks = 0;
        }
        self.run = 0;
    }

    /// Whether a position right here stands in inline code.
    pub(crate) fn in_code(&self) -> bool {
        match (self.ticks, self.run) {
            (0, r) => r > 0,
            (t, r) => t != r,
        }
    }

    /// The line shows rather than says: block quote, diff, comment, table row, list, shell, log.
    pub(crate) fn shows(&self) -> bool {
        if self.blank {
            return false;
        }
        let h = &self.head[..self.head_len as usize];
        match h.first() {
            Some(b'>' | b'|' | b'#' | b'$' | b'+' | b'%') => true,
            Some(b'/') => h.starts_with(b"//") || h.starts_with(b"/*"),
            Some(b'-' | b'*') => h
                .get(1)
                .is_some_and(|c| *c == b' ' || *c == b'<' || *c == b'-'),
            Some(b'0'..=b'9') => {
                // A date, a time or a numbered item.
                h.iter().all(|c| c.is_ascii_digit()) || h.iter().any(|c| b".):-/".contains(c))
            }
            Some(b'[') => h.get(1).is_some_and(u8::is_ascii_digit),
            _ => false,
        }
    }

    /// A quotation mark stands right before the position.
    pub(crate) fn after_quote_mark(&self) -> bool {
        self.prev.is_some_and(|c| {
            matches!(
                c,
                '"' | '\'' | '“' | '‘' | '«' | '‹' | '„' | '「' | '『' | '（' | '(' | '｢'
            )
        })
    }
}

/// Closing quotation marks.
pub(crate) fn closing_mark(c: char) -> bool {
    matches!(
        c,
        '"' | '\'' | '”' | '’' | '»' | '›' | '“' | '」' | '』' | '）' | ')' | '｣'
    )
}

/// An open code fence.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Fence {
    pub(crate) byte: u8,
    pub(crate) len: usize,
}

impl Fence {
    /// The run of fence characters at the start of `t`, if it is long enough for a fence.
    pub(crate) fn at(t: &[u8]) -> Option<Self> {
        let byte = *t.first()?;
        if byte != b'`' && byte != b'~' {
            return None;
        }
        let len = t.iter().take_while(|b| **b == byte).count();
        (len >= 3).then_some(Self { byte, len })
    }

    /// Whether a run closes this fence.
    pub(crate) fn closed_by(&self, other: Self) -> bool {
        self.byte == other.byte && other.len >= self.len
    }
}
