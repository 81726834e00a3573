//! Tags as models write them: names, attributes, values as text. Not an XML parser.

use super::{Lit, NAME_MAX, Param, Value, Wire, lit, skip_ws};

/// A tag's name.
pub(super) enum Tag {
    No,
    Part,
    Yes { name: (usize, usize) },
}

/// What a tag holds.
pub(super) enum Inside {
    More,
    Fail,
    Ok {
        direct: Option<String>,
        attrs: Vec<(String, String)>,
        single: bool,
        next: usize,
    },
}

/// The tool's name in an element of its own.
pub(super) enum Lookup {
    More,
    No,
    Found(String, usize),
}

/// Reads `<by>NAME</by>`, and the opening tag around the parameters behind it.
pub(super) fn named_by(
    t: &str,
    i: usize,
    g: &crate::dialect::TagSpec,
    by: &str,
    eof: bool,
) -> Lookup {
    let names = [by.to_owned()];
    let more = || if eof { Lookup::No } else { Lookup::More };
    let k = skip_ws(t, i);
    if k >= t.len() {
        return more();
    }
    let from = match tag(t, k, &g.open, &names, false, eof) {
        Tag::Part => return more(),
        Tag::No => return Lookup::No,
        Tag::Yes { name } => match end_of(t, name.1, &g.end, eof) {
            Lit::Part => return more(),
            Lit::No => return Lookup::No,
            Lit::Yes(e) => e,
        },
    };
    let Some(n) = memchr::memchr(b'<', &t.as_bytes()[from..]) else {
        return more();
    };
    let at = from + n;
    let called = t[from..at].trim().to_owned();
    let mut next = match tag(t, at, &g.shut, &names, false, eof) {
        Tag::Part => return more(),
        Tag::No => return Lookup::No,
        Tag::Yes { name } => match end_of(t, name.1, &g.end, eof) {
            Lit::Part => return more(),
            Lit::No => return Lookup::No,
            Lit::Yes(e) => e,
        },
    };
    if let Some(w) = &g.wrapped_in {
        let names = [w.clone()];
        let k = skip_ws(t, next);
        if k >= t.len() {
            return more();
        }
        match tag(t, k, &g.open, &names, false, eof) {
            Tag::Part => return more(),
            Tag::No => {}
            Tag::Yes { name } => match end_of(t, name.1, &g.end, eof) {
                Lit::Part => return more(),
                Lit::No => return Lookup::No,
                Lit::Yes(e) => next = e,
            },
        }
    }
    Lookup::Found(called, next)
}

pub(super) fn attr(attrs: &[(String, String)], names: &[String]) -> Option<String> {
    names
        .iter()
        .find_map(|n| attrs.iter().find(|(k, _)| k == n).map(|(_, v)| v.clone()))
}

/// An opening or closing literal and one of `names` (or any, with `any`) behind it.
pub(super) fn tag(
    t: &str,
    i: usize,
    lits: &[String],
    names: &[String],
    any: bool,
    eof: bool,
) -> Tag {
    let at = match lit(t, i, lits, false, eof) {
        Lit::No => return Tag::No,
        Lit::Part => return Tag::Part,
        Lit::Yes(e) => e,
    };
    let b = t.as_bytes();
    let mut s = at;
    while b.get(s) == Some(&b' ') {
        s += 1;
    }
    let mut e = s;
    while b
        .get(e)
        .is_some_and(|c| c.is_ascii_alphanumeric() || b"_-.:".contains(c) || *c >= 0x80)
    {
        e += 1;
    }
    if any {
        if e >= b.len() && !eof && e - s <= NAME_MAX {
            return Tag::Part;
        }
        if e == s || e - s > NAME_MAX || b[s].is_ascii_digit() {
            return Tag::No;
        }
        return Tag::Yes { name: (s, e) };
    }
    let word = &t[s..e];
    if e >= b.len() && !eof {
        return if names.iter().any(|n| n.starts_with(word)) {
            Tag::Part
        } else {
            Tag::No
        };
    }
    if names.iter().any(|n| n == word) {
        Tag::Yes { name: (s, e) }
    } else {
        Tag::No
    }
}

/// The end literal of a closing tag, white space before it allowed.
pub(super) fn end_of(t: &str, i: usize, end: &[String], eof: bool) -> Lit {
    let k = skip_ws(t, i);
    if k >= t.len() && !eof {
        return Lit::Part;
    }
    lit(t, k, end, false, eof)
}

/// Reads `=value` or attributes up to the end literal.
pub(super) fn inside(t: &str, i: usize, end: &[String], eof: bool) -> Inside {
    let b = t.as_bytes();
    let mut i = skip_ws(t, i);
    let mut direct = None;
    let mut attrs = Vec::new();
    let more = if eof { Inside::Fail } else { Inside::More };
    if b.get(i) == Some(&b'=') {
        i = skip_ws(t, i + 1);
        match plain(t, i, end, eof, false) {
            None => return more,
            Some((v, n)) => {
                direct = Some(v);
                i = n;
            }
        }
    }
    loop {
        i = skip_ws(t, i);
        if i >= b.len() {
            return more;
        }
        match lit(t, i, end, false, eof) {
            Lit::Part => return more,
            Lit::Yes(next) => {
                return Inside::Ok {
                    direct,
                    attrs,
                    single: false,
                    next,
                };
            }
            Lit::No => {}
        }
        if b[i] == b'/' {
            match lit(t, i + 1, end, false, eof) {
                Lit::Part => return more,
                Lit::Yes(next) => {
                    return Inside::Ok {
                        direct,
                        attrs,
                        single: true,
                        next,
                    };
                }
                Lit::No => {
                    if i + 1 >= b.len() {
                        return more;
                    }
                    return Inside::Fail;
                }
            }
        }
        let s = i;
        while b
            .get(i)
            .is_some_and(|c| c.is_ascii_alphanumeric() || b"_-:.".contains(c))
        {
            i += 1;
        }
        if i >= b.len() {
            return more;
        }
        if i == s {
            return Inside::Fail;
        }
        let key = t[s..i].to_owned();
        i = skip_ws(t, i);
        match b.get(i) {
            None => return more,
            Some(b'=') => {}
            Some(_) => return Inside::Fail,
        }
        i = skip_ws(t, i + 1);
        match plain(t, i, end, eof, true) {
            None => return more,
            Some((v, n)) => {
                attrs.push((key, v));
                i = n;
            }
        }
    }
}

/// A quoted or bare attribute value and where it ends.
pub(super) fn plain(
    t: &str,
    i: usize,
    end: &[String],
    eof: bool,
    spaced: bool,
) -> Option<(String, usize)> {
    let b = t.as_bytes();
    let q = *b.get(i)?;
    if q == b'"' || q == b'\'' {
        let n = memchr::memchr(q, &b[i + 1..])?;
        return Some((t[i + 1..i + 1 + n].to_owned(), i + n + 2));
    }
    let mut k = i;
    while k < b.len() {
        if !t.is_char_boundary(k) {
            k += 1;
            continue;
        }
        match lit(t, k, end, false, eof) {
            Lit::Part => return None,
            Lit::Yes(_) => return Some((t[i..k].to_owned(), k)),
            Lit::No => {}
        }
        if spaced && b[k].is_ascii_whitespace() {
            return Some((t[i..k].to_owned(), k));
        }
        k += 1;
    }
    None
}

/// The text of a value: one wrapping newline on either side is framing.
pub(super) fn text(raw: &str, trim: bool) -> String {
    if let Some(c) = raw
        .trim()
        .strip_prefix("<![CDATA[")
        .and_then(|r| r.strip_suffix("]]>"))
    {
        return c.to_owned();
    }
    if !trim {
        return raw.to_owned();
    }
    let r = raw
        .strip_prefix("\r\n")
        .or_else(|| raw.strip_prefix('\n'))
        .unwrap_or(raw);
    let r = r
        .strip_suffix("\r\n")
        .or_else(|| r.strip_suffix('\n'))
        .unwrap_or(r);
    r.to_owned()
}

/// Elements inside a value, or its text.
pub(super) fn nested(raw: &str, g: &crate::dialect::TagSpec, depth: usize) -> Value {
    let plain = || Value::Text(text(raw, g.trim));
    if depth > 32 {
        return plain();
    }
    let mut i = skip_ws(raw, 0);
    let mut out: Vec<Param> = Vec::new();
    while i < raw.len() {
        let Tag::Yes { name } = tag(raw, i, &g.open, &[], true, true) else {
            return plain();
        };
        let Inside::Ok { single, next, .. } = inside(raw, name.1, &g.end, true) else {
            return plain();
        };
        let key = raw[name.0..name.1].to_owned();
        if single {
            out.push(Param {
                key,
                value: Value::Text(String::new()),
                wire: Wire::Unsaid,
            });
            i = skip_ws(raw, next);
            continue;
        }
        // The matching closer, elements of the same name counted.
        let own = [key.clone()];
        let (mut level, mut k) = (1usize, next);
        let found = loop {
            if k >= raw.len() {
                return plain();
            }
            if raw.is_char_boundary(k) {
                if let Tag::Yes { name } = tag(raw, k, &g.shut, &own, false, true)
                    && let Lit::Yes(e) = end_of(raw, name.1, &g.end, true)
                {
                    level -= 1;
                    if level == 0 {
                        break (k, e);
                    }
                } else if let Tag::Yes { .. } = tag(raw, k, &g.open, &own, false, true) {
                    level += 1;
                }
            }
            k += 1;
        };
        out.push(Param {
            key,
            value: nested(&raw[next..found.0], g, depth + 1),
            wire: Wire::Unsaid,
        });
        i = skip_ws(raw, found.1);
    }
    if out.is_empty() {
        return plain();
    }
    if let Some(item) = &g.item
        && out.iter().all(|p| p.key == *item)
    {
        return Value::List(out.into_iter().map(|p| p.value).collect());
    }
    Value::Nested(out)
}

pub(super) fn decode(s: &str, entities: bool) -> String {
    if !entities || !s.contains('&') {
        return s.to_owned();
    }
    s.replace("&quot;", "\"")
        .replace("&apos;", "'")
        .replace("&#39;", "'")
        .replace("&lt;", "<")
        .replace("&gt;", ">")
        .replace("&amp;", "&")
}
