//! Keys by reference: a key on the command line would stay in the shell's history.

use crate::error::FitError;

/// The key that `env:NAME` or `file:PATH` refers to.
///
/// # Errors
/// It is no reference, or nothing is there.
pub fn resolve(reference: &str) -> Result<String, FitError> {
    let fail = |reason: &str, shown: &str| FitError::Key {
        reference: shown.to_owned(),
        reason: reason.to_owned(),
    };
    let key = if let Some(name) = reference.strip_prefix("env:") {
        std::env::var(name).map_err(|_| fail("the variable is not set", reference))?
    } else if let Some(path) = reference.strip_prefix("file:") {
        std::fs::read_to_string(path).map_err(|e| fail(&e.to_string(), reference))?
    } else {
        // What was given may be the key itself: it is not repeated.
        return Err(fail("it is neither `env:NAME` nor `file:PATH`", "…"));
    };
    let key = key.trim().to_owned();
    if key.is_empty() || !key.bytes().all(|b| (0x21..=0x7e).contains(&b)) {
        return Err(fail("what is there cannot stand in a header", reference));
    }
    Ok(key)
}

#[cfg(test)]
mod tests {
    #[test]
    fn a_key_itself_is_refused_and_not_repeated() {
        let error = super::resolve("sk-secret").unwrap_err();
        assert!(!error.to_string().contains("secret"), "{error}");
    }
}
