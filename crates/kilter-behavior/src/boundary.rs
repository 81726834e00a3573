//! The rules between a candidate and a call: echo, declared set, schema, guard.

use kilter_core::{Coercion, Expect, Origin, Provenance, RejectReason, Strength, ToolCall};

use crate::grammar::{Args, RawCall, name_end};
use crate::lit::{Kind, Node};
use crate::reader::ReaderConfig;
use crate::tools::ToolSet;
use crate::typing;

/// Untrusted text and the tool catalogue with white space removed: a candidate found here is an
/// echo.
///
/// The index is made when the first candidate asks for it: most turns have none, and a long
/// transcript costs more than the turn.
#[derive(Debug, Clone, Default)]
pub struct EchoIndex {
    texts: Vec<String>,
    catalogue: ToolSet,
    regions: std::sync::OnceLock<Vec<String>>,
}

fn squeeze(t: &str) -> String {
    t.chars().filter(|c| !c.is_whitespace()).collect()
}

/// Undoes one level of JSON string escapes; `None` when there is none.
fn unescape(t: &str) -> Option<String> {
    if !t.contains('\\') {
        return None;
    }
    let mut out = String::with_capacity(t.len());
    let mut it = t.chars();
    while let Some(c) = it.next() {
        if c != '\\' {
            out.push(c);
            continue;
        }
        match it.next() {
            Some('n') => out.push('\n'),
            Some('t') => out.push('\t'),
            Some('r') => out.push('\r'),
            Some('u') => {
                let hex: String = it.clone().take(4).collect();
                match u32::from_str_radix(&hex, 16).ok().and_then(char::from_u32) {
                    Some(c) if hex.len() == 4 => {
                        out.push(c);
                        it.nth(3);
                    }
                    _ => out.push_str("\\u"),
                }
            }
            Some(c) => out.push(c),
            None => out.push('\\'),
        }
    }
    Some(out)
}

impl EchoIndex {
    /// Indexes the untrusted regions of a transcript and the catalogue of tools.
    pub fn new<'a>(untrusted: impl IntoIterator<Item = &'a str>, catalogue: &ToolSet) -> Self {
        Self {
            texts: untrusted.into_iter().map(str::to_owned).collect(),
            catalogue: catalogue.clone(),
            regions: std::sync::OnceLock::new(),
        }
    }

    fn regions(&self) -> &[String] {
        self.regions.get_or_init(|| {
            let mut regions = Vec::new();
            let mut add = |t: &str| {
                regions.push(squeeze(t));
                if let Some(u) = unescape(t) {
                    regions.push(squeeze(&u));
                }
            };
            for t in &self.texts {
                add(t);
            }
            for tool in self.catalogue.specs() {
                if let Some(d) = &tool.description {
                    add(d);
                }
                if !tool.parameters.is_null() {
                    add(&tool.parameters.to_string());
                }
            }
            regions
        })
    }

    /// Nothing is untrusted.
    pub fn empty() -> Self {
        Self::default()
    }

    /// Whether a text, white space aside, stands in an indexed region.
    pub fn contains(&self, payload: &str) -> bool {
        if self.regions().is_empty() {
            return false;
        }
        let p = squeeze(payload);
        if p.is_empty() {
            return false;
        }
        let find = memchr::memmem::Finder::new(p.as_bytes());
        self.regions()
            .iter()
            .any(|r| find.find(r.as_bytes()).is_some())
    }
}

/// What markerless forms may do.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, Hash, Default, serde::Serialize, serde::Deserialize,
)]
#[serde(rename_all = "snake_case")]
pub enum WeakMarkers {
    /// Recover them; every other gate still stands.
    #[default]
    Allow,
    /// Recover them for read-only tools alone.
    ReadOnly,
    /// Never recover them.
    Off,
}

/// A candidate that did not become a call. Its text is delivered as content or reasoning.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Rejected {
    /// The dialect's name.
    pub dialect: String,
    /// The name as written, where one was read.
    pub name: Option<String>,
    /// Why.
    pub reason: RejectReason,
    /// The nearest declared name: a hint, never a rename.
    pub nearest: Option<String>,
    /// Strength of its markers.
    pub strength: Strength,
}

/// Whether an argument is itself a call of a declared tool: nobody made that call, and its text is not
/// what was meant, whatever type is declared.
fn holds_call(args: &Args, tools: &ToolSet) -> bool {
    fn call(n: &Node, tools: &ToolSet) -> bool {
        match &n.kind {
            Kind::Word(w) => {
                let end = name_end(w, 0);
                w[end..].starts_with('(') && tools.resolve(&w[..end]).is_some()
            }
            Kind::Arr(items) => items.iter().any(|i| call(i, tools)),
            Kind::Obj(o) => o.iter().any(|(_, v)| call(v, tools)),
            _ => false,
        }
    }
    match args {
        Args::Python(positional, named) => positional
            .iter()
            .chain(named.iter().map(|(_, v)| v))
            .any(|n| call(n, tools)),
        _ => false,
    }
}

/// Judges one candidate. `span` is the candidate's text with its markers.
pub(crate) fn judge(
    cfg: &ReaderConfig,
    raw: &RawCall,
    span: &str,
    dialect: &str,
    strength: Strength,
) -> Result<ToolCall, Rejected> {
    let reject = |reason, nearest| {
        Err(Rejected {
            dialect: dialect.to_owned(),
            name: Some(raw.name.clone()),
            reason,
            nearest,
            strength,
        })
    };
    let resolved = cfg.tools.resolve(&raw.name);
    if cfg.boundary && cfg.tools.is_declared_rule_on() && resolved.is_none() {
        return reject(RejectReason::Undeclared, cfg.tools.nearest(&raw.name));
    }
    if cfg.boundary {
        let payload = if raw.bare {
            span
        } else {
            span.get(raw.span.clone()).unwrap_or(span)
        };
        if cfg.untrusted.contains(payload) {
            return reject(RejectReason::Echo, None);
        }
    }
    if cfg.boundary && holds_call(&raw.args, &cfg.tools) {
        return reject(RejectReason::Schema, None);
    }
    let null = serde_json::Value::Null;
    let schema = resolved.as_ref().map_or(&null, |r| &r.tool.schema);
    let Some(typed) = typing::typed(raw, schema) else {
        return reject(RejectReason::Schema, None);
    };
    let mut coerced = typed.coerced;
    if cfg.boundary
        && let Some(r) = &resolved
        && !r.tool.fits(&typed.value)
    {
        // Where the client demanded a call, a number's precision, rows in a list of numbers and a
        // named column do not fail it; that they were let through is reported.
        if cfg.expect != Expect::Required || !r.tool.nearly_fits(&typed.value, &typed.columns) {
            return reject(RejectReason::Schema, None);
        }
        coerced.push(Coercion {
            path: "schema".to_owned(),
            from: typed.json.clone(),
            to: typed.json.clone(),
        });
    }
    let mut name = raw.name.clone();
    let mut read_only = false;
    if let Some(r) = &resolved {
        if r.restored {
            coerced.insert(
                0,
                Coercion {
                    path: "name".to_owned(),
                    from: raw.name.clone(),
                    to: r.tool.spec.name.clone(),
                },
            );
        }
        name.clone_from(&r.tool.spec.name);
        read_only = r.tool.spec.read_only == Some(true);
    }
    // The operator's word on markerless forms stands whatever was learnt, so a refusal by it is no
    // evidence for the profile: only what the guard alone refuses is.
    let barred = strength == Strength::Weak
        && match cfg.weak {
            WeakMarkers::Allow => false,
            WeakMarkers::ReadOnly => !read_only,
            WeakMarkers::Off => true,
        };
    if barred {
        return reject(RejectReason::WeakMarkers, None);
    }
    if cfg.guarded && !read_only {
        return reject(RejectReason::Guard, None);
    }
    Ok(ToolCall {
        id: raw.id.clone(),
        name,
        arguments: typed.json,
        provenance: Provenance::Recovered {
            dialect: dialect.to_owned(),
            strength,
            origin: if coerced.is_empty() {
                Origin::Recovered
            } else {
                Origin::Coerced
            },
            coerced,
        },
    })
}
