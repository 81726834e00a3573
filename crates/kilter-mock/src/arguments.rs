//! Arguments that satisfy a schema, taken from the user's words where they can be.

use serde_json::{Map, Value, json};

/// Depth at which a schema is no longer followed.
const MAX_DEPTH: usize = 12;

/// Values that a text offers; each is taken once.
#[derive(Debug, Default)]
pub struct Pool {
    text: String,
    quoted: Vec<String>,
    numbers: Vec<String>,
    paths: Vec<String>,
    links: Vec<String>,
    proper: Vec<String>,
    pairs: Vec<(String, String)>,
    taken: Vec<String>,
}

impl Pool {
    /// The values of a text.
    pub fn new(text: &str) -> Self {
        let mut p = Self {
            text: text.to_owned(),
            pairs: pairs(text),
            quoted: quoted(text),
            ..Self::default()
        };
        let mut start_of_sentence = true;
        let mut run: Vec<&str> = Vec::new();
        for raw in text.split_whitespace() {
            let word = raw.trim_matches(|c: char| "\"'`,;:!?()[]{}".contains(c));
            let word = word.strip_suffix('.').unwrap_or(word);
            let ends = raw.ends_with(['.', '!', '?', ':']);
            if word.starts_with("http://") || word.starts_with("https://") {
                p.links.push(word.to_owned());
            } else if is_number(word) {
                p.numbers.push(word.to_owned());
            } else if is_path(word) {
                p.paths.push(word.to_owned());
            }
            let proper = word.chars().next().is_some_and(char::is_uppercase)
                && word
                    .chars()
                    .all(|c| c.is_alphabetic() || c == '-' || c == '\'');
            if proper && !start_of_sentence {
                run.push(word);
            }
            if (!proper || ends || raw.ends_with(',')) && !run.is_empty() {
                p.proper.push(run.join(" "));
                run.clear();
            }
            start_of_sentence = ends;
        }
        if !run.is_empty() {
            p.proper.push(run.join(" "));
        }
        p
    }

    /// Arguments for a schema, an object always.
    pub fn arguments(&mut self, schema: &Value) -> Map<String, Value> {
        match self.build("", schema, schema, 0) {
            Value::Object(o) => o,
            _ => Map::new(),
        }
    }

    /// A value for a schema.
    pub fn value(&mut self, key: &str, schema: &Value) -> Value {
        self.build(key, schema, schema, 0)
    }

    fn build(&mut self, key: &str, schema: &Value, root: &Value, depth: usize) -> Value {
        if depth > MAX_DEPTH {
            return Value::Null;
        }
        if let Some(target) = schema.get("$ref").and_then(Value::as_str) {
            return match target.strip_prefix('#').and_then(|p| root.pointer(p)) {
                Some(s) => self.build(key, &s.clone(), root, depth + 1),
                None => Value::Null,
            };
        }
        if let Some(c) = schema.get("const") {
            return c.clone();
        }
        let said = self.pair(key);
        if let Some(all) = schema.get("enum").and_then(Value::as_array) {
            return self.one_of(all, said.as_deref());
        }
        for k in ["anyOf", "oneOf", "allOf"] {
            if let Some(s) = schema.get(k).and_then(Value::as_array) {
                let first = s
                    .iter()
                    .find(|x| x.get("type").and_then(Value::as_str) != Some("null"));
                if let Some(first) = first {
                    return self.build(key, &first.clone(), root, depth + 1);
                }
            }
        }
        match type_of(schema) {
            "object" => self.object(schema, root, depth),
            "array" => self.array(key, schema, root, depth),
            "integer" => self.number(schema, said, true),
            "number" => self.number(schema, said, false),
            "boolean" => match said.as_deref() {
                Some("false" | "no" | "0") => json!(false),
                _ => schema.get("default").cloned().unwrap_or(json!(true)),
            },
            "null" => Value::Null,
            _ => self.string(key, schema, said),
        }
    }

    fn object(&mut self, schema: &Value, root: &Value, depth: usize) -> Value {
        let required: Vec<&str> = schema
            .get("required")
            .and_then(Value::as_array)
            .map(|a| a.iter().filter_map(Value::as_str).collect())
            .unwrap_or_default();
        let mut out = Map::new();
        let Some(props) = schema.get("properties").and_then(Value::as_object) else {
            return Value::Object(out);
        };
        for (k, s) in props {
            if required.contains(&k.as_str()) || self.mentions(k, s) {
                let v = self.build(k, s, root, depth + 1);
                out.insert(k.clone(), v);
            }
        }
        Value::Object(out)
    }

    /// Whether the text says something for an optional key.
    fn mentions(&self, key: &str, schema: &Value) -> bool {
        if self.pairs.iter().any(|(k, _)| k.eq_ignore_ascii_case(key)) {
            return true;
        }
        let lower = self.text.to_lowercase();
        schema
            .get("enum")
            .and_then(Value::as_array)
            .is_some_and(|all| {
                all.iter()
                    .filter_map(Value::as_str)
                    .any(|v| v.len() > 2 && has_word(&lower, &v.to_lowercase()))
            })
            || (matches!(type_of(schema), "integer" | "number")
                && !self.numbers.is_empty()
                && has_word(&lower, &key.to_lowercase().replace('_', " ")))
    }

    fn array(&mut self, key: &str, schema: &Value, root: &Value, depth: usize) -> Value {
        let n = schema
            .get("minItems")
            .and_then(Value::as_u64)
            .unwrap_or(1)
            .clamp(1, 16);
        let item = schema
            .get("items")
            .cloned()
            .unwrap_or_else(|| json!({"type": "string"}));
        Value::Array(
            (0..n)
                .map(|_| self.build(key, &item, root, depth + 1))
                .collect(),
        )
    }

    fn number(&mut self, schema: &Value, said: Option<String>, whole: bool) -> Value {
        let fits = |s: &str| {
            let v: f64 = s.parse().ok()?;
            let ge = |k: &str| schema.get(k).and_then(Value::as_f64);
            let ok = ge("minimum").is_none_or(|m| v >= m)
                && ge("maximum").is_none_or(|m| v <= m)
                && ge("exclusiveMinimum").is_none_or(|m| v > m)
                && ge("exclusiveMaximum").is_none_or(|m| v < m)
                && (!whole || v.fract() == 0.0);
            ok.then_some(())
        };
        let literal = |s: &str| {
            serde_json::from_str::<Value>(s)
                .unwrap_or_else(|_| s.parse::<i64>().map_or(Value::Null, |n| json!(n)))
        };
        if let Some(s) = said.filter(|s| is_number(s) && fits(s).is_some()) {
            if let Some(at) = self.numbers.iter().position(|n| *n == s) {
                self.numbers.remove(at);
            }
            return literal(&s);
        }
        if let Some(at) = self.numbers.iter().position(|n| fits(n).is_some()) {
            return literal(&self.numbers.remove(at));
        }
        if let Some(d) = schema.get("default").filter(|d| d.is_number()) {
            return d.clone();
        }
        ["1", "2", "10", "0", "100", "-1"]
            .iter()
            .find(|s| fits(s).is_some())
            .map(|s| literal(s))
            .or_else(|| schema.get("minimum").cloned())
            .unwrap_or(json!(1))
    }

    fn one_of(&self, all: &[Value], said: Option<&str>) -> Value {
        let lower = self.text.to_lowercase();
        let text = |v: &Value| match v {
            Value::String(s) => s.to_lowercase(),
            other => other.to_string(),
        };
        all.iter()
            .find(|v| said.is_some_and(|s| s.to_lowercase() == text(v)))
            .or_else(|| {
                all.iter()
                    .filter(|v| has_word(&lower, &text(v)))
                    .max_by_key(|v| text(v).len())
            })
            .or_else(|| all.first())
            .cloned()
            .unwrap_or(Value::Null)
    }

    fn string(&mut self, key: &str, schema: &Value, said: Option<String>) -> Value {
        let found = said.unwrap_or_else(|| self.find_string(key, schema));
        let max = schema
            .get("maxLength")
            .and_then(Value::as_u64)
            .unwrap_or(400) as usize;
        let min = schema.get("minLength").and_then(Value::as_u64).unwrap_or(0) as usize;
        let mut s: String = found.chars().take(max).collect();
        while s.chars().count() < min {
            s.push('x');
        }
        Value::String(s)
    }

    fn find_string(&mut self, key: &str, schema: &Value) -> String {
        let k = key.to_lowercase();
        let has = |parts: &[&str]| parts.iter().any(|p| k.contains(p));
        let format = schema.get("format").and_then(Value::as_str).unwrap_or("");
        match format {
            "date" => return "2026-01-15".to_owned(),
            "date-time" => return "2026-01-15T09:30:00Z".to_owned(),
            "email" => return "a@example.org".to_owned(),
            _ => {}
        }
        if (has(&["url", "uri", "link", "href"]) || format == "uri")
            && let Some(v) = take(&mut self.links, &self.taken)
        {
            return self.keep(v);
        }
        if has(&["path", "file", "dir", "folder"]) {
            if let Some(v) = take(&mut self.paths, &self.taken) {
                return self.keep(v);
            }
            for noun in ["folder", "directory", "file"] {
                if let Some(v) = self.word_after(noun) {
                    return self.keep(v);
                }
            }
        }
        if let Some(v) = take(&mut self.quoted, &self.taken) {
            return self.keep(v);
        }
        if let Some(v) = self.word_after(&k.replace('_', " ")) {
            return self.keep(v);
        }
        if !has(&[
            "query", "text", "message", "prompt", "question", "content", "body",
        ]) && let Some(v) = take(&mut self.proper, &self.taken)
        {
            return self.keep(v);
        }
        for list in [&mut self.links, &mut self.paths] {
            if let Some(v) = take(list, &self.taken) {
                self.taken.push(v.clone());
                return v;
            }
        }
        if let Some(v) = schema
            .get("default")
            .or_else(|| schema.get("examples").and_then(|e| e.get(0)))
            .and_then(Value::as_str)
        {
            return v.to_owned();
        }
        if has(&[
            "query", "text", "message", "prompt", "question", "content", "body",
        ]) {
            let t: String = self.text.split_whitespace().collect::<Vec<_>>().join(" ");
            if !t.is_empty() {
                return t.chars().take(80).collect();
            }
        }
        if has(&["url", "uri", "link"]) {
            return "https://example.org/".to_owned();
        }
        if has(&["path", "file"]) {
            return "notes.txt".to_owned();
        }
        "example".to_owned()
    }

    /// The word behind a noun: `docs` of "the folder docs".
    fn word_after(&self, noun: &str) -> Option<String> {
        const EMPTY: [&str; 14] = [
            "is", "of", "in", "on", "at", "and", "or", "the", "a", "an", "for", "with", "to",
            "that",
        ];
        let lower = self.text.to_lowercase();
        if lower.len() != self.text.len() {
            return None;
        }
        let at = lower.match_indices(noun).map(|(i, _)| i).find(|&i| {
            let before = lower[..i].chars().next_back();
            !before.is_some_and(char::is_alphanumeric) && lower[i + noun.len()..].starts_with(' ')
        })?;
        let word = self.text[at + noun.len()..]
            .split_whitespace()
            .next()?
            .trim_matches(|c: char| "\"'`,;:!?().".contains(c));
        let empty = word.is_empty() || EMPTY.contains(&word.to_lowercase().as_str());
        (!empty && !self.taken.iter().any(|t| t == word)).then(|| word.to_owned())
    }

    fn keep(&mut self, v: String) -> String {
        self.taken.push(v.clone());
        v
    }

    /// The value of `key=value` or `key: value`, taken once.
    fn pair(&mut self, key: &str) -> Option<String> {
        let at = self
            .pairs
            .iter()
            .position(|(k, _)| k.eq_ignore_ascii_case(key))?;
        let (_, v) = self.pairs.remove(at);
        self.taken.push(v.clone());
        Some(v)
    }
}

fn take(list: &mut Vec<String>, taken: &[String]) -> Option<String> {
    let at = list.iter().position(|v| !taken.contains(v))?;
    Some(list.remove(at))
}

fn type_of(schema: &Value) -> &str {
    let one = match schema.get("type") {
        Some(Value::String(s)) => Some(s.as_str()),
        Some(Value::Array(a)) => a.iter().filter_map(Value::as_str).find(|t| *t != "null"),
        _ => None,
    };
    one.unwrap_or(if schema.get("properties").is_some() {
        "object"
    } else if schema.get("items").is_some() {
        "array"
    } else {
        "string"
    })
}

fn is_number(word: &str) -> bool {
    let digits = word.strip_prefix('-').unwrap_or(word);
    digits.starts_with(|c: char| c.is_ascii_digit())
        && digits.chars().all(|c| c.is_ascii_digit() || c == '.')
        && word.parse::<f64>().is_ok()
        && serde_json::from_str::<Value>(word).is_ok()
}

fn is_path(word: &str) -> bool {
    if word.contains("://") || word.contains('=') {
        return false;
    }
    let extension = word.rsplit_once('.').is_some_and(|(a, b)| {
        !a.is_empty()
            && (1..=5).contains(&b.len())
            && b.chars().all(|c| c.is_ascii_alphanumeric())
            && b.chars().any(|c| c.is_ascii_alphabetic())
    });
    extension || (word.len() > 1 && (word.starts_with('/') || word.starts_with("./")))
}

fn has_word(text: &str, word: &str) -> bool {
    !word.is_empty()
        && text.match_indices(word).any(|(i, _)| {
            let joins = |c: char| c.is_alphanumeric() || c == '_';
            !text[..i].chars().next_back().is_some_and(joins)
                && !text[i + word.len()..].chars().next().is_some_and(joins)
        })
}

/// Texts between quotes.
fn quoted(text: &str) -> Vec<String> {
    let mut out = Vec::new();
    let mut rest = text;
    while let Some(i) = rest.find(['"', '`', '“', '\'']) {
        let open = rest[i..].chars().next().unwrap_or('"');
        let close = if open == '“' { '”' } else { open };
        let after = &rest[i + open.len_utf8()..];
        // An apostrophe inside a word opens nothing.
        let inside = open == '\''
            && rest[..i]
                .chars()
                .next_back()
                .is_some_and(char::is_alphanumeric);
        match after.find(close) {
            Some(end) if !inside && end > 0 && !after[..end].contains('\n') => {
                out.push(after[..end].to_owned());
                rest = &after[end + close.len_utf8()..];
            }
            _ => rest = after,
        }
    }
    out
}

/// `key=value` and `key: value`, the value quoted or one word.
fn pairs(text: &str) -> Vec<(String, String)> {
    let mut out = Vec::new();
    for (i, c) in text.char_indices() {
        if c != '=' && c != ':' {
            continue;
        }
        let head = text[..i].trim_end_matches(['"', '\'', '`', ' ']);
        let start = head
            .char_indices()
            .rev()
            .take_while(|(_, c)| c.is_alphanumeric() || *c == '_' || *c == '-')
            .last()
            .map_or(head.len(), |(i, _)| i);
        let key = &head[start..];
        let after = text[i + 1..].trim_start_matches(' ');
        if key.is_empty() || after.starts_with('/') && c == ':' {
            continue;
        }
        let value = match after.chars().next() {
            Some(q @ ('"' | '\'' | '`')) => after[1..].find(q).map(|e| &after[1..=e]),
            Some(_) => {
                let end = after
                    .find(|c: char| c.is_whitespace() || ",;)}]".contains(c))
                    .unwrap_or(after.len());
                Some(after[..end].trim_end_matches(['.', '?', '!']))
            }
            None => None,
        };
        if let Some(v) = value.filter(|v| !v.is_empty()) {
            out.push((key.to_owned(), v.to_owned()));
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    fn make(text: &str, schema: Value) -> Value {
        Value::Object(Pool::new(text).arguments(&schema))
    }

    #[test]
    fn words_fill_the_schema() {
        let schema = json!({"type":"object","required":["port","days"],"properties":{
            "port":{"type":"string"},"days":{"type":"integer","minimum":1,"maximum":7},
            "unit":{"type":"string","enum":["metres","feet"]},"deep":{"type":"boolean"}}});
        assert_eq!(
            make(
                "What is the tide in Brest for 3 days, in feet?",
                schema.clone()
            ),
            json!({"port":"Brest","days":3,"unit":"feet"})
        );
        assert_eq!(
            make("get_tide port=\"Le Havre\", days: 2", schema.clone()),
            json!({"port":"Le Havre","days":2})
        );
        assert_eq!(
            make("call it with 400 things", schema),
            json!({"port":"example","days":1})
        );
    }

    #[test]
    fn paths_links_and_nesting() {
        let schema = json!({"type":"object","required":["path","where"],"properties":{
            "path":{"type":"string"},
            "where":{"$ref":"#/$defs/p"}},"$defs":{"p":{"type":"object","required":["url","tags"],
            "properties":{"url":{"type":"string"},"tags":{"type":"array","items":{"type":"string"},"minItems":2}}}}});
        assert_eq!(
            make("Read src/main.rs and https://example.com/a 'x' 'y'", schema),
            json!({"path":"src/main.rs","where":{"url":"https://example.com/a","tags":["x","y"]}})
        );
    }

    #[test]
    fn nouns_point_to_values() {
        let schema =
            json!({"type":"object","required":["path"],"properties":{"path":{"type":"string"}}});
        assert_eq!(
            make("List the files in the folder docs.", schema),
            json!({"path":"docs"})
        );
        let schema = json!({"type":"object","required":["amount","from","to"],"properties":{
            "amount":{"type":"number"},"from":{"type":"string"},"to":{"type":"string"}}});
        assert_eq!(
            make("Convert 250 from euros to yen", schema),
            json!({"amount":250,"from":"euros","to":"yen"})
        );
    }

    #[test]
    fn two_calls_take_two_values() {
        let schema =
            json!({"type":"object","required":["port"],"properties":{"port":{"type":"string"}}});
        let mut p = Pool::new("Tides in Brest and Lisbon, please");
        assert_eq!(p.arguments(&schema)["port"], "Brest");
        assert_eq!(p.arguments(&schema)["port"], "Lisbon");
    }
}
