//! JSON → indented text, literals as written, bounded.

/// Indents a document without changing a literal: numbers keep their digits and strings their escapes. `None` when it is not
/// JSON. Stops after the line in which `limit` characters are reached; the second value says how many characters of the
/// source were left out.
pub fn pretty(source: &str, limit: usize) -> Option<(String, usize)> {
    let source = source.trim_start_matches('\u{feff}').trim();
    serde_json::from_str::<serde::de::IgnoredAny>(source).ok()?;
    let mut out = String::with_capacity(source.len().min(limit) * 5 / 4);
    let mut depth = 0usize;
    let mut chars = source.char_indices().peekable();
    let line = |out: &mut String, depth: usize| {
        out.push('\n');
        out.extend(std::iter::repeat_n("  ", depth));
    };
    while let Some((at, c)) = chars.next() {
        match c {
            '"' => {
                out.push('"');
                let mut escaped = false;
                for (_, c) in chars.by_ref() {
                    out.push(c);
                    match c {
                        '\\' if !escaped => escaped = true,
                        '"' if !escaped => break,
                        _ => escaped = false,
                    }
                }
            }
            '{' | '[' => {
                out.push(c);
                while chars.peek().is_some_and(|(_, c)| c.is_whitespace()) {
                    chars.next();
                }
                if let Some((_, close)) = chars.next_if(|(_, c)| matches!(c, '}' | ']')) {
                    out.push(close);
                } else {
                    depth += 1;
                    line(&mut out, depth);
                }
            }
            '}' | ']' => {
                depth = depth.saturating_sub(1);
                line(&mut out, depth);
                out.push(c);
            }
            ',' => {
                out.push(',');
                if out.len() >= limit {
                    return Some((out, source[at + 1..].chars().count()));
                }
                line(&mut out, depth);
            }
            ':' => out.push_str(": "),
            c if c.is_whitespace() => {}
            c => out.push(c),
        }
    }
    Some((out, 0))
}

#[cfg(test)]
mod tests {
    use super::pretty;

    #[test]
    fn literals_stay_as_written_and_the_text_is_bounded() {
        let source =
            r#" {"a":1.0e10,"b":[1,2.500,{}, [] ],"c":"x\"{,\u00e9","d":{"e":null,"f":-0}} "#;
        let want = "{\n  \"a\": 1.0e10,\n  \"b\": [\n    1,\n    2.500,\n    {},\n    []\n  ],\n  \"c\": \"x\\\"{,\\u00e9\",\n  \"d\": {\n    \"e\": null,\n    \"f\": -0\n  }\n}";
        assert_eq!(pretty(source, 10_000), Some((want.to_owned(), 0)));
        let long = format!("[{}1]", "1234567890,".repeat(10_000));
        let (text, left) = pretty(&long, 1000).expect("JSON");
        assert!(text.len() < 1100 && left > 100_000);
        for bad in ["", "{", "{a:1}", "[1,]", "nul", &"[".repeat(100_000)] {
            assert_eq!(pretty(bad, 1000), None);
        }
    }
}
