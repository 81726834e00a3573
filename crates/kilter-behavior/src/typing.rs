//! Types of values: the wire's, else the declared schema's, else JSON if it parses, else text.
//! Every change is reported.

use kilter_core::Coercion;
use serde_json::Value as Json;

use crate::grammar::{Args, Param, RawCall, Value, Wire};
use crate::lit::{self, Kind, Node};

/// Deepest schema that is followed.
const DEPTH: usize = 24;

/// Allowed types, as a set.
#[derive(Debug, Clone, Copy, Default)]
struct Types {
    any: bool,
    string: bool,
    number: bool,
    integer: bool,
    boolean: bool,
    object: bool,
    array: bool,
    null: bool,
}

/// Typed arguments: JSON text, a value for validation, and what was changed.
pub(crate) struct Typed {
    /// Names of arguments that are a named column of some data: `data['sales']`.
    pub(crate) columns: Vec<String>,
    pub(crate) json: String,
    pub(crate) value: Json,
    pub(crate) coerced: Vec<Coercion>,
}

/// Types a call's arguments by a schema (`null` for none).
pub(crate) fn typed(call: &RawCall, schema: &Json) -> Option<Typed> {
    let mut coerced = Vec::new();
    let columns = match &call.args {
        Args::Python(_, named) => named
            .iter()
            .filter(|(_, v)| matches!(&v.kind, Kind::Word(w) if column(w)))
            .map(|(k, _)| k.clone())
            .collect(),
        _ => Vec::new(),
    };
    let mut node = match &call.args {
        Args::Object(n) => n.clone(),
        Args::Params(ps) => object_of(ps, schema, schema, "", &mut coerced, 0),
        Args::Python(positional, named) => python(positional, named, schema, &mut coerced)?,
    };
    fit(&mut node, schema, schema, "", &mut coerced, 0);
    settle(&mut node);
    Some(Typed {
        columns,
        json: node.json(),
        value: lit::to_value(&node),
        coerced,
    })
}

/// `name['key']`, and nothing else.
fn column(w: &str) -> bool {
    let Some((name, rest)) = w.split_once('[') else {
        return false;
    };
    let quoted = |q: char| {
        rest.strip_suffix(']')
            .and_then(|r| r.strip_prefix(q)?.strip_suffix(q))
            .is_some_and(|k| !k.is_empty() && !k.contains(['\'', '"', '[', ']', '(', ')', '\\']))
    };
    !name.is_empty()
        && !name.starts_with(|c: char| c.is_ascii_digit())
        && name.chars().all(|c| c.is_alphanumeric() || c == '_')
        && (quoted('\'') || quoted('"'))
}

fn python(
    positional: &[Node],
    named: &[(String, Node)],
    schema: &Json,
    coerced: &mut Vec<Coercion>,
) -> Option<Node> {
    let props: Vec<&String> = schema
        .get("properties")
        .and_then(Json::as_object)
        .map(|p| p.keys().collect())
        .unwrap_or_default();
    let mut out: Vec<(String, Node)> = Vec::new();
    if let [one] = positional
        && named.is_empty()
        && let Kind::Obj(o) = &one.kind
        && !o.is_empty()
        && (props.is_empty() || o.iter().all(|(k, _)| props.contains(&k)))
    {
        return Some(one.clone());
    }
    for (i, v) in positional.iter().enumerate() {
        let key = props.get(i)?;
        let from = v.json();
        out.push(((*key).clone(), v.clone()));
        coerced.push(Coercion {
            path: pointer("", key),
            from: format!("positional argument {i}"),
            to: from,
        });
    }
    for (k, v) in named {
        if positional.is_empty() || !out.iter().any(|(o, _)| o == k) {
            out.push((k.clone(), v.clone()));
        } else {
            return None;
        }
    }
    Some(Node::made(Kind::Obj(out)))
}

fn pointer(base: &str, key: &str) -> String {
    format!("{base}/{}", key.replace('~', "~0").replace('/', "~1"))
}

/// Follows local references.
fn resolve<'a>(schema: &'a Json, root: &'a Json) -> &'a Json {
    let mut s = schema;
    for _ in 0..8 {
        let Some(r) = s.get("$ref").and_then(Json::as_str) else {
            return s;
        };
        let Some(next) = r.strip_prefix('#').and_then(|p| root.pointer(p)) else {
            return s;
        };
        s = next;
    }
    s
}

fn types(schema: &Json, root: &Json, depth: usize) -> Types {
    let mut t = Types::default();
    collect(schema, root, &mut t, depth);
    if !(t.string || t.number || t.integer || t.boolean || t.object || t.array || t.null) {
        t.any = true;
    }
    t
}

fn collect(schema: &Json, root: &Json, t: &mut Types, depth: usize) {
    if depth > DEPTH {
        return;
    }
    let s = resolve(schema, root);
    let word = |w: &str, t: &mut Types| match w {
        "string" => t.string = true,
        "number" => t.number = true,
        "integer" => t.integer = true,
        "boolean" => t.boolean = true,
        "object" => t.object = true,
        "array" => t.array = true,
        "null" => t.null = true,
        _ => {}
    };
    match s.get("type") {
        Some(Json::String(w)) => word(w, t),
        Some(Json::Array(a)) => a.iter().filter_map(Json::as_str).for_each(|w| word(w, t)),
        _ => {
            let values = s
                .get("enum")
                .and_then(Json::as_array)
                .map(Vec::as_slice)
                .unwrap_or_default();
            for v in values.iter().chain(s.get("const")) {
                match v {
                    Json::String(_) => t.string = true,
                    Json::Number(n) if n.is_f64() => t.number = true,
                    Json::Number(_) => t.integer = true,
                    Json::Bool(_) => t.boolean = true,
                    Json::Null => t.null = true,
                    Json::Array(_) => t.array = true,
                    Json::Object(_) => t.object = true,
                }
            }
            if s.get("properties").is_some() {
                t.object = true;
            }
            if s.get("items").is_some() {
                t.array = true;
            }
        }
    }
    if s.get("nullable") == Some(&Json::Bool(true)) {
        t.null = true;
    }
    for k in ["anyOf", "oneOf", "allOf"] {
        if let Some(a) = s.get(k).and_then(Json::as_array) {
            for b in a {
                collect(b, root, t, depth + 1);
            }
        }
    }
}

/// The schema of a property; `null` when none is declared.
fn property<'a>(schema: &'a Json, root: &'a Json, key: &str) -> &'a Json {
    let s = resolve(schema, root);
    if let Some(p) = s.get("properties").and_then(|p| p.get(key)) {
        return p;
    }
    for k in ["anyOf", "oneOf", "allOf"] {
        if let Some(a) = s.get(k).and_then(Json::as_array) {
            for b in a {
                if let Some(p) = resolve(b, root).get("properties").and_then(|p| p.get(key)) {
                    return p;
                }
            }
        }
    }
    match s.get("additionalProperties") {
        Some(p @ Json::Object(_)) => p,
        _ => &Json::Null,
    }
}

fn items<'a>(schema: &'a Json, root: &'a Json) -> &'a Json {
    let s = resolve(schema, root);
    if let Some(i) = s.get("items") {
        return i;
    }
    for k in ["anyOf", "oneOf"] {
        if let Some(a) = s.get(k).and_then(Json::as_array)
            && let Some(i) = a.iter().find_map(|b| resolve(b, root).get("items"))
        {
            return i;
        }
    }
    &Json::Null
}

/// Text parameters as an object.
fn object_of(
    ps: &[Param],
    schema: &Json,
    root: &Json,
    path: &str,
    out: &mut Vec<Coercion>,
    depth: usize,
) -> Node {
    let mut o: Vec<(String, Node)> = Vec::new();
    for p in ps {
        let sub = property(schema, root, &p.key);
        let n = of_value(
            &p.value,
            p.wire,
            sub,
            root,
            &pointer(path, &p.key),
            out,
            depth + 1,
        );
        // Of equal keys the last one wins.
        match o.iter_mut().find(|(k, _)| *k == p.key) {
            Some(old) => old.1 = n,
            None => o.push((p.key.clone(), n)),
        }
    }
    Node::made(Kind::Obj(o))
}

fn of_value(
    v: &Value,
    wire: Wire,
    schema: &Json,
    root: &Json,
    path: &str,
    out: &mut Vec<Coercion>,
    depth: usize,
) -> Node {
    match v {
        Value::Nested(ps) if depth < DEPTH => {
            let t = types(schema, root, 0);
            let list = ps.iter().all(|p| p.key == ps[0].key);
            if t.array && !t.object && list {
                let sub = items(schema, root);
                return Node::made(Kind::Arr(
                    ps.iter()
                        .map(|p| of_value(&p.value, p.wire, sub, root, path, out, depth + 1))
                        .collect(),
                ));
            }
            object_of(ps, schema, root, path, out, depth)
        }
        Value::Nested(_) => Node::made(Kind::Null),
        Value::List(vs) => {
            let sub = items(schema, root);
            Node::made(Kind::Arr(
                vs.iter()
                    .enumerate()
                    .map(|(i, v)| {
                        of_value(
                            v,
                            Wire::Unsaid,
                            sub,
                            root,
                            &format!("{path}/{i}"),
                            out,
                            depth + 1,
                        )
                    })
                    .collect(),
            ))
        }
        Value::Text(s) => of_text(s, wire, schema, root, path, out),
    }
}

/// Text of the wire as a value.
fn of_text(
    s: &str,
    wire: Wire,
    schema: &Json,
    root: &Json,
    path: &str,
    out: &mut Vec<Coercion>,
) -> Node {
    let text = || Node::made(Kind::Str(s.to_owned()));
    let strict = || {
        let t = s.trim();
        serde_json::from_str::<serde::de::IgnoredAny>(t).ok()?;
        lit::parse_all(t)
    };
    match wire {
        Wire::Text => return text(),
        Wire::Json => return strict().or_else(|| lit::parse_all(s)).unwrap_or_else(text),
        Wire::Unsaid => {}
    }
    let t = types(schema, root, 0);
    if t.any {
        return strict().unwrap_or_else(text);
    }
    let w = s.trim();
    let report = |n: Node, out: &mut Vec<Coercion>| {
        let to = n.json();
        if to != w {
            out.push(Coercion {
                path: path.to_owned(),
                from: w.to_owned(),
                to,
            });
        }
        n
    };
    if t.null && matches!(w, "null" | "None") {
        return report(Node::made(Kind::Null), out);
    }
    // A declared string wins over number-looking text; in a union the narrower type is tried first.
    let only_string = t.string && !(t.number || t.integer || t.boolean || t.object || t.array);
    if only_string {
        return text();
    }
    if (t.integer || t.number)
        && let Some((n, _)) = lit::number(w)
        && (t.number || integral(&n))
    {
        return report(Node::made(Kind::Num(n)), out);
    }
    if t.boolean {
        let b = match w.to_ascii_lowercase().as_str() {
            "true" | "1" => Some(true),
            "false" | "0" => Some(false),
            _ => None,
        };
        if let Some(b) = b {
            return report(Node::made(Kind::Bool(b)), out);
        }
    }
    if (t.object && w.starts_with('{') || t.array && w.starts_with(['[', '(']))
        && let Some(n) = strict().or_else(|| lit::parse_all(w))
    {
        return report(n, out);
    }
    text()
}

fn integral(n: &str) -> bool {
    !n.contains(['.', 'e', 'E'])
        || n.split_once('.')
            .is_some_and(|(_, f)| !f.contains(['e', 'E']) && f.bytes().all(|b| b == b'0'))
}

/// Bends typed values to the declared types where nothing is lost; reports each.
fn fit(
    n: &mut Node,
    schema: &Json,
    root: &Json,
    path: &str,
    out: &mut Vec<Coercion>,
    depth: usize,
) {
    if depth > DEPTH {
        return;
    }
    let t = types(schema, root, 0);
    let before = n.json();
    let new = match &n.kind {
        Kind::Word(w) => {
            let low = w.to_ascii_lowercase();
            if t.boolean && (low == "true" || low == "false") {
                Some(Kind::Bool(low == "true"))
            } else if t.null && matches!(low.as_str(), "null" | "none" | "nil") {
                Some(Kind::Null)
            } else {
                Some(Kind::Str(w.clone()))
            }
        }
        _ if t.any => None,
        Kind::Str(s) if !t.string => loosen(s, t),
        Kind::Num(l) if !(t.number || t.integer && integral(l)) => {
            if t.string {
                Some(Kind::Str(l.clone()))
            } else {
                None
            }
        }
        Kind::Bool(b) if !t.boolean && t.string => {
            Some(Kind::Str(if *b { "true" } else { "false" }.to_owned()))
        }
        _ => None,
    };
    let new = new.or_else(|| spelling(&n.kind, resolve(schema, root)));
    if let Some(k) = new {
        n.kind = k;
        n.exact = None;
        let to = n.json();
        if to != before || !matches!(n.kind, Kind::Str(_)) {
            out.push(Coercion {
                path: path.to_owned(),
                from: before,
                to,
            });
        }
    }
    let mut changed = false;
    match &mut n.kind {
        Kind::Obj(o) => {
            let required: Vec<&str> = resolve(schema, root)
                .get("required")
                .and_then(Json::as_array)
                .map(|r| r.iter().filter_map(Json::as_str).collect())
                .unwrap_or_default();
            o.retain(|(k, v)| {
                let sub = property(schema, root, k);
                let ty = types(sub, root, 0);
                let drop = matches!(v.kind, Kind::Null)
                    && !sub.is_null()
                    && !ty.any
                    && !ty.null
                    && !required.contains(&k.as_str());
                if drop {
                    changed = true;
                    out.push(Coercion {
                        path: pointer(path, k),
                        from: "null".to_owned(),
                        to: String::new(),
                    });
                }
                !drop
            });
            for (k, v) in o.iter_mut() {
                let sub = property(schema, root, k);
                fit(v, sub, root, &pointer(path, k), out, depth + 1);
                changed |= v.exact.is_none();
            }
        }
        Kind::Arr(a) => {
            let sub = items(schema, root);
            for (i, v) in a.iter_mut().enumerate() {
                fit(v, sub, root, &format!("{path}/{i}"), out, depth + 1);
                changed |= v.exact.is_none();
            }
        }
        _ => {}
    }
    if changed {
        n.exact = None;
    }
}

/// The one allowed value that differs from a string in case and separators alone.
fn spelling(k: &Kind, schema: &Json) -> Option<Kind> {
    let (Kind::Str(s), Some(allowed)) = (k, schema.get("enum").and_then(Json::as_array)) else {
        return None;
    };
    let flat = |t: &str| -> String {
        t.chars()
            .filter(|c| !matches!(c, ' ' | '_' | '-'))
            .flat_map(char::to_lowercase)
            .collect()
    };
    if allowed.iter().any(|a| a.as_str() == Some(s)) {
        return None;
    }
    let want = flat(s);
    let mut near = allowed
        .iter()
        .filter_map(Json::as_str)
        .filter(|a| flat(a) == want);
    match (near.next(), near.next()) {
        (Some(one), None) => Some(Kind::Str(one.to_owned())),
        _ => None,
    }
}

/// A string read as the declared type, where it says exactly that.
fn loosen(s: &str, t: Types) -> Option<Kind> {
    let w = s.trim();
    if t.null && matches!(w, "null" | "None" | "") {
        return Some(Kind::Null);
    }
    if (t.number || t.integer)
        && let Some((l, _)) = lit::number(w)
        && (t.number || integral(&l))
    {
        return Some(Kind::Num(l));
    }
    if t.boolean {
        match w.to_ascii_lowercase().as_str() {
            "true" => return Some(Kind::Bool(true)),
            "false" => return Some(Kind::Bool(false)),
            _ => {}
        }
    }
    if (t.object && w.starts_with('{') || t.array && w.starts_with('['))
        && let Some(n) = lit::parse_all(w)
    {
        return Some(n.kind);
    }
    None
}

/// Words that no schema decided become text.
fn settle(n: &mut Node) {
    match &mut n.kind {
        Kind::Word(w) => n.kind = Kind::Str(std::mem::take(w)),
        Kind::Arr(a) => a.iter_mut().for_each(settle),
        Kind::Obj(o) => o.iter_mut().for_each(|(_, v)| settle(v)),
        _ => {}
    }
}
