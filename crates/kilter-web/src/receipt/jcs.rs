//! Canonical JSON as RFC 8785 has it: one sequence of bytes for one value.

use serde_json::Value;

/// Why a value has no canonical form.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum JcsError {
    /// RFC 8785 takes numbers for IEEE 754 doubles; this integer is none.
    #[error("the number {0} is no double\nhint: write it as a string")]
    NotADouble(String),
}

/// The canonical bytes.
///
/// # Errors
/// [`JcsError::NotADouble`] for an integer that a double cannot hold.
pub fn canonical(value: &Value) -> Result<Vec<u8>, JcsError> {
    let mut out = String::new();
    write(value, &mut out)?;
    Ok(out.into_bytes())
}

fn write(value: &Value, out: &mut String) -> Result<(), JcsError> {
    match value {
        Value::Null => out.push_str("null"),
        Value::Bool(b) => out.push_str(if *b { "true" } else { "false" }),
        Value::Number(n) => {
            let double = match (n.as_i64(), n.as_u64()) {
                (Some(i), _) => exact(i128::from(i)),
                (None, Some(u)) => exact(i128::from(u)),
                (None, None) => n.as_f64().filter(|f| f.is_finite()),
            };
            let double = double.ok_or_else(|| JcsError::NotADouble(n.to_string()))?;
            out.push_str(&number(double));
        }
        Value::String(s) => string(s, out),
        Value::Array(items) => {
            out.push('[');
            for (i, item) in items.iter().enumerate() {
                if i > 0 {
                    out.push(',');
                }
                write(item, out)?;
            }
            out.push(']');
        }
        Value::Object(map) => {
            let mut keys: Vec<&String> = map.keys().collect();
            // By UTF-16 code units, not by code points: the two differ above U+FFFF.
            keys.sort_by(|a, b| a.encode_utf16().cmp(b.encode_utf16()));
            out.push('{');
            for (i, key) in keys.into_iter().enumerate() {
                if i > 0 {
                    out.push(',');
                }
                string(key, out);
                out.push(':');
                write(&map[key], out)?;
            }
            out.push('}');
        }
    }
    Ok(())
}

/// The double that an integer stands for: one that writes the integer's own digits.
#[expect(clippy::cast_precision_loss, reason = "the loss is what is looked for")]
fn exact(i: i128) -> Option<f64> {
    let double = i as f64;
    (number(double) == i.to_string()).then_some(double)
}

/// A finite double as ECMAScript's `Number::toString` writes it (ECMA-262, 6.1.6.1.20).
pub fn number(double: f64) -> String {
    if double == 0.0 {
        return "0".to_owned();
    }
    // The standard library gives the shortest digits that read back, which is what ECMAScript asks for.
    let scientific = format!("{:e}", double.abs());
    let (mantissa, exponent) = scientific.split_once('e').unwrap_or((&scientific, "0"));
    let digits: String = mantissa.chars().filter(char::is_ascii_digit).collect();
    let digits = even_on_a_tie(double.abs(), digits);
    let exponent: i32 = exponent.parse().unwrap_or(0);
    let (k, n) = (i32::try_from(digits.len()).unwrap_or(1), exponent + 1);
    let zeros = |count: i32| "0".repeat(usize::try_from(count).unwrap_or(0));
    let at = usize::try_from(n).unwrap_or(0).min(digits.len());
    let text = if k <= n && n <= 21 {
        format!("{digits}{}", zeros(n - k))
    } else if 0 < n && n <= 21 {
        format!("{}.{}", &digits[..at], &digits[at..])
    } else if -6 < n && n <= 0 {
        format!("0.{}{digits}", zeros(-n))
    } else {
        let (head, tail) = digits.split_at(1);
        let point = if tail.is_empty() { "" } else { "." };
        let sign = if n > 0 { '+' } else { '-' };
        format!("{head}{point}{tail}e{sign}{}", (n - 1).abs())
    };
    if double < 0.0 {
        format!("-{text}")
    } else {
        text
    }
}

/// Where two texts of the shortest length are equally near, ECMAScript takes the even one (its note 2, which RFC 8785
/// makes a rule); the standard library takes the upper one.
fn even_on_a_tie(double: f64, digits: String) -> String {
    let k = digits.len();
    let exact = |places: usize| -> String {
        let text = format!("{double:.places$e}");
        let mantissa = text.split('e').next().unwrap_or_default();
        mantissa.chars().filter(char::is_ascii_digit).collect()
    };
    // 770 digits hold any double.
    let tie = exact(k + 2).as_bytes().get(k) == Some(&b'5')
        && exact(770)[k..].trim_end_matches('0') == "5";
    if !tie {
        return digits;
    }
    let lower = exact(770)[..k].to_owned();
    let even = lower.as_bytes().last().is_some_and(|d| d % 2 == 0);
    let exponent = format!("{double:e}");
    let exponent = exponent.split('e').nth(1).unwrap_or("0");
    let (head, tail) = lower.split_at(1);
    let reads_back = format!("{head}.{tail}e{exponent}").parse() == Ok(double);
    if even && reads_back { lower } else { digits }
}

fn string(s: &str, out: &mut String) {
    out.push('"');
    for c in s.chars() {
        match c {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\u{8}' => out.push_str("\\b"),
            '\t' => out.push_str("\\t"),
            '\n' => out.push_str("\\n"),
            '\u{c}' => out.push_str("\\f"),
            '\r' => out.push_str("\\r"),
            c if c < '\u{20}' => out.push_str(&format!("\\u{:04x}", u32::from(c))),
            c => out.push(c),
        }
    }
    out.push('"');
}
