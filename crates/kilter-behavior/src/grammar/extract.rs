//! Which JSON values are calls, and which only look like some.

use super::{Args, Cx, RawCall, Why};
use crate::dialect::Shape;
use crate::lit::{self, Kind, Node};

const NAME: [&str; 7] = [
    "name",
    "tool_name",
    "function_name",
    "tool",
    "function",
    "action",
    "api_name",
];
const ARGS: [&str; 9] = [
    "arguments",
    "parameters",
    "params",
    "args",
    "input",
    "tool_input",
    "action_input",
    "kwargs",
    "tool_arguments",
];
const ID: [&str; 4] = ["id", "tool_call_id", "call_id", "tool_use_id"];
const LISTS: [&str; 8] = [
    "tool_calls",
    "function_calls",
    "calls",
    "tools",
    "functions",
    "tool_call",
    "function_call",
    "call",
];
/// Other keys that a call object may hold.
const BESIDE: [&str; 6] = [
    "type",
    "index",
    "thought",
    "reasoning",
    "status",
    "description",
];

/// The calls of a value; `None` when any part of it is no call. An empty list is "no call".
pub(crate) fn calls(n: &Node, off: usize, cx: Cx<'_>) -> Option<Vec<RawCall>> {
    let mut out = Vec::new();
    value(n, off, cx, 0, &mut out)?;
    Some(out)
}

fn shape(cx: Cx<'_>, s: Shape) -> bool {
    cx.d.spec.shapes.contains(&s)
}

fn value(n: &Node, off: usize, cx: Cx<'_>, depth: usize, out: &mut Vec<RawCall>) -> Option<()> {
    if depth > 3 {
        return None;
    }
    match &n.kind {
        Kind::Arr(items) => {
            if depth == 0 && !shape(cx, Shape::Array) {
                return None;
            }
            if let [name, args] = items.as_slice()
                && let (Some(s), Kind::Obj(_)) = (name.str(), &args.kind)
                && cx.tools.is_declared_rule_on()
                && cx.known(s)
            {
                out.push(made(s, Some(args.clone()), None, n, off));
                return Some(());
            }
            for i in items {
                if let Some(s) = i.str() {
                    // A call written as a Python expression inside a string.
                    let cs = super::python::whole(s, cx)?;
                    for mut c in cs {
                        c.span = off + i.start..off + i.end;
                        out.push(c);
                    }
                } else {
                    value(i, off, cx, depth + 1, out)?;
                }
            }
            Some(())
        }
        Kind::Obj(o) => {
            if o.is_empty() {
                return None;
            }
            if let Some(inner) = wrapper(o) {
                return value(inner, off, cx, depth.max(1), out);
            }
            if let Some(c) = object(n, o, off, cx) {
                out.push(c);
                return Some(());
            }
            keyed(o, n, off, cx, out)
        }
        _ => None,
    }
}

/// `{"tool_calls": […]}` and its kin, a lone key beside known ones.
fn wrapper(o: &[(String, Node)]) -> Option<&Node> {
    let (_, inner) = o.iter().find(|(k, v)| {
        LISTS.contains(&k.as_str()) && matches!(v.kind, Kind::Arr(_) | Kind::Obj(_))
    })?;
    o.iter()
        .all(|(k, v)| {
            std::ptr::eq(v, inner)
                || BESIDE.contains(&k.as_str())
                || ID.contains(&k.as_str())
                || matches!(k.as_str(), "content" | "role")
        })
        .then_some(inner)
}

fn object(n: &Node, o: &[(String, Node)], off: usize, cx: Cx<'_>) -> Option<RawCall> {
    if !shape(cx, Shape::Object) && !shape(cx, Shape::Array) {
        return None;
    }
    // {"type": "function", "function": {"name": …, "arguments": …}}
    if let Some(f) = n.get("function")
        && let Kind::Obj(inner) = &f.kind
    {
        let mut c = object(f, inner, off, cx)?;
        c.span = off + n.start..off + n.end;
        c.id = c.id.or_else(|| id(n));
        return Some(c);
    }
    let (name_key, name) = NAME
        .iter()
        .find_map(|k| n.get(k).and_then(Node::str).map(|s| (*k, s)))?;
    if name.is_empty() || name.len() > super::NAME_MAX || name.contains(['\n', '"']) {
        return None;
    }
    let args = ARGS
        .iter()
        .filter(|k| **k != name_key)
        .find_map(|k| n.get(k).map(|v| (*k, v)));
    let unknown = o.iter().any(|(k, _)| {
        k != name_key
            && args.is_none_or(|(a, _)| a != k)
            && !BESIDE.contains(&k.as_str())
            && !ID.contains(&k.as_str())
            && !NAME.contains(&k.as_str())
    });
    let arguments = match args {
        None => {
            if unknown || (cx.weak && !zero_ok(name, cx)) {
                return None;
            }
            None
        }
        Some((_, v)) => {
            if unknown && cx.weak {
                return None;
            }
            match &v.kind {
                Kind::Obj(_) => {
                    if definition(v, name, cx) {
                        return None;
                    }
                    Some(v.clone())
                }
                Kind::Null => None,
                Kind::Arr(a) if a.is_empty() => None,
                Kind::Str(s) if s.trim().is_empty() => None,
                Kind::Str(s) => {
                    let inner = lit::parse_all(s)?;
                    if !matches!(inner.kind, Kind::Obj(_)) || definition(&inner, name, cx) {
                        return None;
                    }
                    Some(inner)
                }
                _ => return None,
            }
        }
    };
    Some(made(name, arguments, id(n), n, off))
}

/// An object whose every key is a declared name and whose values are objects.
fn keyed(
    o: &[(String, Node)],
    n: &Node,
    off: usize,
    cx: Cx<'_>,
    out: &mut Vec<RawCall>,
) -> Option<()> {
    if !shape(cx, Shape::Keyed) {
        return None;
    }
    for (k, v) in o {
        let ok = if cx.weak {
            cx.tools.is_declared_rule_on() && cx.known(k)
        } else {
            !k.is_empty() && k.len() <= super::NAME_MAX && k.bytes().all(super::name_byte)
        };
        if !ok || !matches!(v.kind, Kind::Obj(_)) || definition(v, k, cx) {
            return None;
        }
    }
    for (k, v) in o {
        let mut c = made(k, Some(v.clone()), None, n, off);
        if o.len() > 1 {
            c.span = off + v.start..off + v.end;
        }
        out.push(c);
    }
    Some(())
}

fn made(name: &str, args: Option<Node>, id: Option<String>, n: &Node, off: usize) -> RawCall {
    RawCall {
        name: name.to_owned(),
        args: Args::Object(args.unwrap_or_else(|| Node::made(Kind::Obj(Vec::new())))),
        id,
        span: off + n.start..off + n.end,
        bare: false,
    }
}

fn id(n: &Node) -> Option<String> {
    ID.iter().find_map(|k| {
        n.get(k).and_then(|v| match &v.kind {
            Kind::Str(s) if !s.is_empty() => Some(s.clone()),
            Kind::Num(s) => Some(s.clone()),
            _ => None,
        })
    })
}

/// A tool definition, quoted: its "arguments" are a schema.
fn definition(args: &Node, name: &str, cx: Cx<'_>) -> bool {
    let Some(Kind::Obj(_)) = args.get("properties").map(|p| &p.kind) else {
        return false;
    };
    let typed = args
        .get("type")
        .and_then(Node::str)
        .is_some_and(|s| matches!(s, "object" | "dict" | "OBJECT"));
    typed
        && !cx
            .tools
            .resolve(name)
            .is_some_and(|r| r.tool.has_property("properties"))
}

fn zero_ok(name: &str, cx: Cx<'_>) -> bool {
    cx.tools
        .resolve(name)
        .is_some_and(|r| r.tool.requires_nothing())
}

/// What the head of a markerless value says.
#[derive(Debug)]
pub(crate) enum Head {
    More,
    Ok,
    No(Why),
}

/// Bytes after which a head that says nothing is no call.
const HEAD_MAX: usize = 4096;

/// The part of a value that may decide, and whether more of it will come.
pub(crate) fn head_of(t: &str, eof: bool) -> (&str, bool) {
    if t.len() < HEAD_MAX {
        return (t, eof);
    }
    let mut n = HEAD_MAX;
    while !t.is_char_boundary(n) {
        n -= 1;
    }
    (&t[..n], true)
}

/// Judges a markerless value by its first key and value, so that text that cannot be a call is let
/// go at once.
pub(crate) fn head(t: &str, cx: Cx<'_>, whole: bool) -> Head {
    let undecided = || {
        if whole {
            Head::No(Why::Other)
        } else {
            Head::More
        }
    };
    // What follows a closing quote may say that it closes nothing: at the end of the text that is
    // not known yet.
    let text = |t: &str| string(t).filter(|(_, end)| whole || *end < t.len());
    let mut rest = t;
    loop {
        rest = rest.trim_start();
        match rest.as_bytes().first() {
            None => return undecided(),
            Some(b'[') => rest = &rest[1..],
            Some(b'{') => {
                rest = &rest[1..];
                break;
            }
            Some(b'(') => {
                rest = rest[1..].trim_start();
                return match text(rest) {
                    None if rest.is_empty() || !whole => undecided(),
                    Some((s, _)) if cx.tools.is_declared_rule_on() && cx.known(&s) => Head::Ok,
                    _ => Head::No(Why::Other),
                };
            }
            Some(b'"' | b'\'') => {
                // A list of strings: calls in quotes, or ["name", {…}].
                return match text(rest) {
                    None => undecided(),
                    Some((s, _)) => {
                        let name = &s[..super::name_end(&s, 0)];
                        if cx.tools.is_declared_rule_on() && cx.known(name) {
                            Head::Ok
                        } else {
                            Head::No(Why::Other)
                        }
                    }
                };
            }
            Some(_) => return Head::No(Why::Other),
        }
    }
    let rest = rest.trim_start();
    if rest.is_empty() {
        return undecided();
    }
    let Some((key, after)) = text(rest) else {
        return if matches!(rest.as_bytes().first(), Some(b'"' | b'\'')) {
            undecided()
        } else {
            Head::No(Why::Other)
        };
    };
    let k = key.as_str();
    if NAME.contains(&k) && !LISTS.contains(&k) {
        let v = rest[after..].trim_start();
        let Some(v) = v.strip_prefix(':') else {
            return undecided();
        };
        let v = v.trim_start();
        if v.is_empty() {
            return undecided();
        }
        if v.starts_with('{') {
            return Head::Ok;
        }
        return match text(v) {
            None if matches!(v.as_bytes().first(), Some(b'"' | b'\'')) => undecided(),
            None => Head::No(Why::Other),
            Some((s, end)) => {
                if cx.known(&s) {
                    return Head::Ok;
                }
                // Worth a report only when arguments follow.
                let next = v[end..].trim_start();
                let Some(next) = next.strip_prefix(',') else {
                    return if next.is_empty() {
                        undecided()
                    } else {
                        Head::No(Why::Other)
                    };
                };
                match text(next.trim_start()) {
                    None => undecided(),
                    Some((k2, _)) if ARGS.contains(&k2.as_str()) => Head::No(Why::Undeclared(s)),
                    Some(_) => Head::No(Why::Other),
                }
            }
        };
    }
    let may = ARGS.contains(&k)
        || ID.contains(&k)
        || LISTS.contains(&k)
        || BESIDE.contains(&k)
        || matches!(k, "content" | "role")
        || (cx.tools.is_declared_rule_on() && cx.known(k));
    if may { Head::Ok } else { Head::No(Why::Other) }
}

/// A quoted string at the start of `t`: its text and where it ends.
fn string(t: &str) -> Option<(String, usize)> {
    if !matches!(t.as_bytes().first(), Some(b'"' | b'\'')) {
        return None;
    }
    let (n, end) = lit::parse(t)?;
    match n.kind {
        Kind::Str(s) => Some((s, end)),
        _ => None,
    }
}

/// The name that the head of a cut value gives.
pub(crate) fn name_in_head(t: &str) -> Option<String> {
    for k in NAME {
        for q in ['"', '\''] {
            let key = format!("{q}{k}{q}");
            if let Some(i) = t.find(&key) {
                let v = t[i + key.len()..].trim_start().strip_prefix(':')?;
                if let Some((s, _)) = string(v.trim_start()) {
                    return Some(s);
                }
            }
        }
    }
    None
}
