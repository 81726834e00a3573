//! What was offered: declared tools, their names and their schemas.

use std::collections::HashMap;
use std::sync::{Arc, OnceLock};

use kilter_core::ToolSpec;
use serde_json::Value;

/// Largest schema that is compiled, in bytes of JSON; a larger one is checked for its required
/// properties alone.
const SCHEMA_MAX: usize = 256 * 1024;

/// The tools of a session; cheap to clone.
#[derive(Debug, Clone, Default)]
pub struct ToolSet {
    inner: Option<Arc<Declared>>,
}

#[derive(Debug)]
struct Declared {
    tools: Vec<Tool>,
    by_name: HashMap<String, usize>,
    /// Last segments and flattened names: unique restorations of a namespace.
    aliases: HashMap<String, Option<usize>>,
    first: [bool; 256],
}

/// One declared tool.
#[derive(Debug)]
pub(crate) struct Tool {
    pub(crate) spec: ToolSpec,
    /// The schema with the type words of the wild put right.
    pub(crate) schema: Value,
    validator: OnceLock<Option<jsonschema::Validator>>,
}

/// A name found among the declared ones.
pub(crate) struct Resolved<'a> {
    pub(crate) tool: &'a Tool,
    /// The name was restored, not exact.
    pub(crate) restored: bool,
}

impl Tool {
    pub(crate) fn has_property(&self, name: &str) -> bool {
        self.schema
            .get("properties")
            .and_then(|p| p.get(name))
            .is_some()
    }

    pub(crate) fn requires_nothing(&self) -> bool {
        self.schema
            .get("required")
            .and_then(Value::as_array)
            .is_none_or(Vec::is_empty)
    }

    /// Whether arguments fit the declared schema.
    pub(crate) fn fits(&self, arguments: &Value) -> bool {
        if !arguments.is_object() {
            return false;
        }
        let v = self.validator.get_or_init(|| {
            if self.schema.is_null() || self.schema.to_string().len() > SCHEMA_MAX {
                return None;
            }
            jsonschema::options()
                .should_ignore_unknown_formats(true)
                .should_validate_formats(false)
                .build(&self.schema)
                .ok()
        });
        match v {
            Some(v) => v.is_valid(arguments),
            // A schema that cannot be compiled still names what it requires.
            None => self
                .schema
                .get("required")
                .and_then(Value::as_array)
                .is_none_or(|r| {
                    r.iter()
                        .filter_map(Value::as_str)
                        .all(|k| arguments.get(k).is_some())
                }),
        }
    }
}

impl Tool {
    /// Whether arguments fit the schema but for what [`slack`](crate::schema::slack) lets pass, and
    /// for a named column of data (`data['sales']`) where a list is declared.
    pub(crate) fn nearly_fits(&self, arguments: &Value, columns: &[String]) -> bool {
        let mut schema = crate::schema::slack(&self.schema);
        if let Some(p) = schema.get_mut("properties").and_then(Value::as_object_mut) {
            for c in columns {
                if let Some(s) = p.get_mut(c)
                    && s.get("type").and_then(Value::as_str) == Some("array")
                {
                    *s = serde_json::json!({ "type": "string" });
                }
            }
        }
        arguments.is_object()
            && jsonschema::options()
                .should_ignore_unknown_formats(true)
                .should_validate_formats(false)
                .build(&schema)
                .is_ok_and(|v| v.is_valid(arguments))
    }
}

impl ToolSet {
    /// The declared set: exactly these names may be called.
    pub fn new(tools: Vec<ToolSpec>) -> Self {
        let tools: Vec<Tool> = tools
            .into_iter()
            .map(|spec| Tool {
                schema: crate::schema::normalised(&spec.parameters),
                spec,
                validator: OnceLock::new(),
            })
            .collect();
        let mut by_name = HashMap::new();
        let mut aliases: HashMap<String, Option<usize>> = HashMap::new();
        let mut first = [false; 256];
        for (i, t) in tools.iter().enumerate() {
            by_name.entry(t.spec.name.clone()).or_insert(i);
            if let Some(b) = t.spec.name.bytes().next() {
                first[b as usize] = true;
            }
        }
        for (i, t) in tools.iter().enumerate() {
            let n = &t.spec.name;
            let mut forms = vec![
                n.replace('.', "_"),
                n.replace("__", "."),
                n.replace('_', "."),
            ];
            if let Some((_, last)) = n.rsplit_once('.') {
                forms.push(last.to_owned());
            }
            if let Some((_, last)) = n.rsplit_once("__") {
                forms.push(last.to_owned());
            }
            forms.sort();
            forms.dedup();
            for f in forms {
                if f == *n || by_name.contains_key(&f) {
                    continue;
                }
                aliases
                    .entry(f)
                    .and_modify(|e| {
                        if *e != Some(i) {
                            *e = None;
                        }
                    })
                    .or_insert(Some(i));
            }
        }
        Self {
            inner: Some(Arc::new(Declared {
                tools,
                by_name,
                aliases,
                first,
            })),
        }
    }

    /// No set was given: the declared-set and schema rules are off.
    pub fn undeclared() -> Self {
        Self::default()
    }

    /// Whether a set was given.
    pub fn is_declared_rule_on(&self) -> bool {
        self.inner.is_some()
    }

    /// The declared tool of that exact name.
    pub fn get(&self, name: &str) -> Option<&ToolSpec> {
        let d = self.inner.as_ref()?;
        d.by_name.get(name).map(|i| &d.tools[*i].spec)
    }

    /// The declared tools.
    pub fn specs(&self) -> impl Iterator<Item = &ToolSpec> {
        self.inner
            .iter()
            .flat_map(|d| d.tools.iter().map(|t| &t.spec))
    }

    /// Whether a declared name can begin with this byte.
    pub(crate) fn begins(&self, b: u8) -> bool {
        self.inner.as_ref().is_some_and(|d| d.first[b as usize])
    }

    /// The declared tool of a name: exact, or by one unambiguous restoration of its namespace, or
    /// freed of a control token that was glued to it.
    pub(crate) fn resolve(&self, name: &str) -> Option<Resolved<'_>> {
        let d = self.inner.as_ref()?;
        let exact = |n: &str| d.by_name.get(n).map(|i| &d.tools[*i]);
        if let Some(tool) = exact(name) {
            return Some(Resolved {
                tool,
                restored: false,
            });
        }
        let restored = |tool| {
            Some(Resolved {
                tool,
                restored: true,
            })
        };
        if let Some(i) = ["<|", "<｜", "[ARGS]", "[CALL_ID]"]
            .iter()
            .filter_map(|m| name.find(m))
            .min()
        {
            return exact(&name[..i]).and_then(restored);
        }
        if let Some(Some(i)) = d.aliases.get(name) {
            return restored(&d.tools[*i]);
        }
        // A namespace that was not declared stands before a declared name.
        let mut found: Option<&Tool> = None;
        let mut rest = name;
        while let Some(i) = rest.find(['.', ':', '/']) {
            rest = &rest[i + 1..];
            if let Some(t) = exact(rest) {
                if found.is_some_and(|f| !std::ptr::eq(f, t)) {
                    return None;
                }
                found = Some(t);
            }
        }
        found.and_then(restored)
    }

    /// The nearest declared name: a hint.
    pub(crate) fn nearest(&self, name: &str) -> Option<String> {
        let d = self.inner.as_ref()?;
        nearest(name, d.tools.iter().map(|t| t.spec.name.as_str())).map(str::to_owned)
    }
}

/// The nearest of some names by edit distance, if it is near at all.
pub(crate) fn nearest<'a>(name: &str, names: impl Iterator<Item = &'a str>) -> Option<&'a str> {
    if name.len() > 256 {
        return None;
    }
    names
        .map(|n| (distance(name, n), n))
        .min()
        .filter(|(d, n)| *d <= (name.chars().count().max(n.chars().count()) / 2).max(1))
        .map(|(_, n)| n)
}

fn distance(a: &str, b: &str) -> usize {
    let b: Vec<char> = b.chars().collect();
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, x) in a.chars().enumerate() {
        let mut left = i;
        row[0] = i + 1;
        for (j, y) in b.iter().enumerate() {
            let cost = left + usize::from(x != *y);
            left = row[j + 1];
            row[j + 1] = cost.min(row[j] + 1).min(left + 1);
        }
    }
    row[b.len()]
}
