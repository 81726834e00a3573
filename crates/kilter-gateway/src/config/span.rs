//! Durations in configuration: `"250ms"`, `"10s"`, `"5m"`, `"24h"`, or seconds as a number.

use std::borrow::Cow;
use std::fmt;
use std::time::Duration;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// A duration as a person writes it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Span(pub Duration);

impl Span {
    /// Whole seconds.
    pub const fn secs(s: u64) -> Self {
        Self(Duration::from_secs(s))
    }

    /// Milliseconds.
    pub const fn millis(ms: u64) -> Self {
        Self(Duration::from_millis(ms))
    }

    /// Reads `"10s"` and the like.
    pub fn parse(text: &str) -> Option<Self> {
        let text = text.trim();
        let at = text.find(|c: char| !c.is_ascii_digit() && c != '.')?;
        let number: f64 = text[..at].parse().ok()?;
        let unit = match text[at..].trim() {
            "ms" => 0.001,
            "s" => 1.0,
            "m" | "min" => 60.0,
            "h" => 3600.0,
            _ => return None,
        };
        Duration::try_from_secs_f64(number * unit).ok().map(Self)
    }
}

impl From<Span> for Duration {
    fn from(s: Span) -> Self {
        s.0
    }
}

impl fmt::Display for Span {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let ms = self.0.as_millis();
        match ms {
            0 => f.write_str("0s"),
            _ if ms.is_multiple_of(3_600_000) => write!(f, "{}h", ms / 3_600_000),
            _ if ms.is_multiple_of(60_000) => write!(f, "{}m", ms / 60_000),
            _ if ms.is_multiple_of(1000) => write!(f, "{}s", ms / 1000),
            _ => write!(f, "{ms}ms"),
        }
    }
}

impl Serialize for Span {
    fn serialize<S: Serializer>(&self, s: S) -> Result<S::Ok, S::Error> {
        s.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Span {
    fn deserialize<D: Deserializer<'de>>(d: D) -> Result<Self, D::Error> {
        struct V;
        impl serde::de::Visitor<'_> for V {
            type Value = Span;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a duration such as `\"250ms\"`, `\"10s\"`, `\"5m\"`, or seconds")
            }
            fn visit_str<E: serde::de::Error>(self, v: &str) -> Result<Span, E> {
                Span::parse(v).ok_or_else(|| E::invalid_value(serde::de::Unexpected::Str(v), &self))
            }
            fn visit_i64<E: serde::de::Error>(self, v: i64) -> Result<Span, E> {
                u64::try_from(v)
                    .map(Span::secs)
                    .map_err(|_| E::invalid_value(serde::de::Unexpected::Signed(v), &self))
            }
            fn visit_u64<E: serde::de::Error>(self, v: u64) -> Result<Span, E> {
                Ok(Span::secs(v))
            }
            fn visit_f64<E: serde::de::Error>(self, v: f64) -> Result<Span, E> {
                Duration::try_from_secs_f64(v)
                    .map(Span)
                    .map_err(|_| E::invalid_value(serde::de::Unexpected::Float(v), &self))
            }
        }
        d.deserialize_any(V)
    }
}

impl JsonSchema for Span {
    fn schema_name() -> Cow<'static, str> {
        "Span".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "description": "A duration: `250ms`, `10s`, `5m`, `24h`, or seconds as a number.",
            "anyOf": [
                { "type": "string", "pattern": "^[0-9.]+ *(ms|s|m|min|h)$" },
                { "type": "number", "minimum": 0 }
            ]
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spans_read_as_written() {
        for (text, ms) in [
            ("250ms", 250),
            ("10s", 10_000),
            ("1.5 m", 90_000),
            ("24h", 86_400_000),
        ] {
            assert_eq!(Span::parse(text), Some(Span::millis(ms)), "{text}");
        }
        assert_eq!(Span::parse("10"), None);
        assert_eq!(Span::parse("-1s"), None);
        assert_eq!(Span::millis(90_000).to_string(), "90s");
    }
}
