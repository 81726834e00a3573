//! Envelopes of version 1: P-256 over a fixed order of keys, and a tree that doubles its last node. Read, never written.

use serde_json::Value;

use super::key::{PublicKey, unb64};
use super::seal::Seal;
use crate::hash::{Digest32, digest_from, sha256};

/// Version of the old envelope.
pub const VERSION: u64 = 1;

/// The signed keys in their order; `sig` alone stands outside.
const ORDER: [&str; 16] = [
    "v",
    "kind",
    "url",
    "finalUrl",
    "backend",
    "ts",
    "toolchain",
    "playbook",
    "contentHash",
    "blockMerkleRoot",
    "tokens",
    "failureCode",
    "statusCode",
    "confidence",
    "keyId",
    "alg",
];
const PLAYBOOK: [&str; 2] = ["id", "version"];
const MANIFEST: [&str; 6] = ["v", "createdAt", "rowCount", "manifestRoot", "keyId", "alg"];

/// How strings are escaped: plainly, or with everything outside a safe ASCII set as `\uXXXX`. Writers of version 1 did
/// either; both name the same value, so both are tried.
#[derive(Clone, Copy)]
enum Escapes {
    Plain,
    Ascii,
}

fn string(s: &str, escapes: Escapes, out: &mut String) {
    let mut units = [0; 2];
    out.push('"');
    for c in s.chars() {
        let unicode = |out: &mut String, unit: u16| out.push_str(&format!("\\u{unit:04X}"));
        match c {
            '\\' => out.push_str("\\\\"),
            '"' if matches!(escapes, Escapes::Plain) => out.push_str("\\\""),
            '\u{8}' => out.push_str("\\b"),
            '\t' => out.push_str("\\t"),
            '\n' => out.push_str("\\n"),
            '\u{c}' => out.push_str("\\f"),
            '\r' => out.push_str("\\r"),
            c if c < '\u{20}' => unicode(out, u16::try_from(u32::from(c)).unwrap_or(0)),
            c if matches!(escapes, Escapes::Ascii)
                && (!c.is_ascii()
                    || matches!(c, '"' | '&' | '\'' | '+' | '<' | '>' | '`' | '\u{7f}')) =>
            {
                for unit in c.encode_utf16(&mut units) {
                    unicode(out, *unit);
                }
            }
            c => out.push(c),
        }
    }
    out.push('"');
}

/// The canonical bytes of an object whose keys may be `order` and nothing else; `None` when something is unsigned or
/// of the wrong shape.
fn bytes(value: &Value, order: &[&str], escapes: Escapes) -> Option<String> {
    let map = value.as_object()?;
    if map
        .keys()
        .any(|k| k != "sig" && !order.contains(&k.as_str()))
    {
        return None;
    }
    let mut out = String::from("{");
    for name in order {
        let Some(field) = map.get(*name).filter(|f| !f.is_null()) else {
            continue;
        };
        if out.len() > 1 {
            out.push(',');
        }
        string(name, escapes, &mut out);
        out.push(':');
        match field {
            Value::String(s) => string(s, escapes, &mut out),
            Value::Number(n) => out.push_str(&n.to_string()),
            Value::Object(o) if *name == "playbook" && !o.contains_key("sig") => {
                out.push_str(&bytes(field, &PLAYBOOK, escapes)?);
            }
            _ => return None,
        }
    }
    out.push('}');
    Some(out)
}

fn check_order(signed: &Value, order: &[&str], keys: &[PublicKey]) -> Seal {
    let Some(sig) = signed.get("sig") else {
        return Seal::Missing;
    };
    let Some(key) = keys
        .iter()
        .find(|k| signed["keyId"].as_str() == Some(k.id().as_str()))
    else {
        return Seal::WrongKey;
    };
    let Some(sig) = sig.as_str().and_then(unb64) else {
        return Seal::Broken;
    };
    let good = matches!(key, PublicKey::P256(_))
        && [Escapes::Plain, Escapes::Ascii]
            .into_iter()
            .any(|e| bytes(signed, order, e).is_some_and(|m| key.verifies(m.as_bytes(), &sig)));
    if good { Seal::Good } else { Seal::Broken }
}

/// The canonical bytes that version 1 signs, strings escaped plainly; `None` for a field outside the signature.
pub fn canonical(signed: &Value) -> Option<String> {
    bytes(signed, &ORDER, Escapes::Plain)
}

/// Checks the seal of an old envelope.
pub fn check(signed: &Value, keys: &[PublicKey]) -> Seal {
    check_order(signed, &ORDER, keys)
}

/// Checks the seal of an old manifest.
pub fn check_manifest(manifest: &Value, keys: &[PublicKey]) -> Seal {
    check_order(manifest, &MANIFEST, keys)
}

/// The old leaf: SHA-256 of text, NUL, selector.
pub fn block_leaf(text: &str, selector: &str) -> Digest32 {
    sha256(&[text.as_bytes(), &[0], selector.as_bytes()])
}

/// The old root: an odd level doubles its last node; of nothing, nothing.
pub fn root(leaves: &[Digest32]) -> Option<Digest32> {
    let mut level = leaves.to_vec();
    while level.len() > 1 {
        level = level
            .chunks(2)
            .map(|pair| sha256(&[&pair[0], pair.last().unwrap_or(&pair[0])]))
            .collect();
    }
    level.first().copied()
}

/// Whether an old proof (`[{hash, siblingIsRight}]`) leads from a leaf to the root.
pub fn holds(proof: &Value, leaf: &Digest32, root: &Digest32) -> bool {
    let Some(path) = proof.as_array() else {
        return false;
    };
    let mut hash = *leaf;
    for step in path {
        let (Some(beside), Some(right)) = (
            step["hash"].as_str().and_then(digest_from),
            step["siblingIsRight"].as_bool(),
        ) else {
            return false;
        };
        hash = if right {
            sha256(&[&hash, &beside])
        } else {
            sha256(&[&beside, &hash])
        };
    }
    hash == *root
}
