//! Just enough DER: values in a row, read strictly, and written.

/// Tags that are used here.
pub(super) mod tag {
    pub(crate) const INTEGER: u8 = 0x02;
    pub(crate) const OCTETS: u8 = 0x04;
    pub(crate) const OID: u8 = 0x06;
    pub(crate) const TIME: u8 = 0x18;
    pub(crate) const SEQUENCE: u8 = 0x30;
    pub(crate) const SET: u8 = 0x31;
    pub(crate) const CONTEXT_0: u8 = 0xa0;
}

/// Values in a row that are still to be read.
#[derive(Debug, Clone, Copy)]
pub(super) struct Der<'a>(pub(super) &'a [u8]);

/// One value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Value<'a> {
    pub(super) tag: u8,
    /// What is in it.
    pub(super) body: &'a [u8],
    /// All of it, tag and length included.
    pub(super) whole: &'a [u8],
}

impl<'a> Der<'a> {
    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The next value, whatever it is. Lengths must be definite and as short as they can be.
    pub(super) fn any(&mut self) -> Option<Value<'a>> {
        let all = self.0;
        let (&tag, rest) = all.split_first()?;
        if tag & 0x1f == 0x1f {
            return None;
        }
        let (&first, mut rest) = rest.split_first()?;
        let length = match first {
            0..=0x7f => usize::from(first),
            0x81..=0x83 => {
                let (bytes, after) = rest.split_at_checked(usize::from(first & 0x7f))?;
                rest = after;
                let n = bytes.iter().fold(0, |n, b| n << 8 | usize::from(*b));
                let shortest = n > 0x7f && bytes[0] != 0;
                shortest.then_some(n)?
            }
            _ => return None,
        };
        let (body, after) = rest.split_at_checked(length)?;
        self.0 = after;
        Some(Value {
            tag,
            body,
            whole: &all[..all.len() - after.len()],
        })
    }

    /// The next value, which must have the tag.
    pub(super) fn take(&mut self, tag: u8) -> Option<&'a [u8]> {
        self.any().filter(|v| v.tag == tag).map(|v| v.body)
    }

    /// The next value if it has the tag.
    pub(super) fn optional(&mut self, tag: u8) -> Option<Value<'a>> {
        if self.0.first() == Some(&tag) {
            self.any()
        } else {
            None
        }
    }

    /// The values in the next value, which must have the tag.
    pub(super) fn inside(&mut self, tag: u8) -> Option<Self> {
        self.take(tag).map(Self)
    }
}

/// A value with its tag and length.
pub(super) fn value(tag: u8, body: &[u8]) -> Vec<u8> {
    let mut out = vec![tag];
    let n = body.len();
    match n {
        0..=0x7f => out.push(n as u8),
        _ => {
            let bytes = n.to_be_bytes();
            let skip = bytes.iter().take_while(|b| **b == 0).count();
            out.push(0x80 | (bytes.len() - skip) as u8);
            out.extend(&bytes[skip..]);
        }
    }
    out.extend(body);
    out
}

/// A value of values.
pub(super) fn values(tag: u8, parts: &[&[u8]]) -> Vec<u8> {
    value(tag, &parts.concat())
}

/// A number that is not negative, from its bytes.
pub(super) fn integer(bytes: &[u8]) -> Vec<u8> {
    let skip = bytes.iter().take_while(|b| **b == 0).count();
    let mut body = bytes[skip..].to_vec();
    if body.first().is_none_or(|b| *b >= 0x80) {
        body.insert(0, 0);
    }
    value(tag::INTEGER, &body)
}

/// An object identifier's dotted form.
pub(super) fn dotted(oid: &[u8]) -> Option<String> {
    let mut parts: Vec<u64> = Vec::new();
    let mut part: u64 = 0;
    for (i, b) in oid.iter().enumerate() {
        part = part.checked_mul(128)? | u64::from(b & 0x7f);
        if b & 0x80 != 0 {
            // An unfinished part.
            if i + 1 == oid.len() {
                return None;
            }
            continue;
        }
        if parts.is_empty() {
            let first = (part / 40).min(2);
            parts.extend([first, part - first * 40]);
        } else {
            parts.push(part);
        }
        part = 0;
    }
    let parts: Vec<String> = parts.iter().map(u64::to_string).collect();
    (!parts.is_empty()).then(|| parts.join("."))
}
