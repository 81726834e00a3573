//! Session profiles: headers and browser state that an operator keeps under a name, for sites that let somebody in.
//!
//! A read has none unless it asks for one by name, and two reads share nothing but what the file holds. A profile never
//! widens where a read may go. Values are never shown: replies, errors and debug output hold names alone.

use std::path::{Path, PathBuf};

use serde::Serialize;
use serde_json::Value;

use crate::acquire::{ExtraHeaders, GetOptions};
use crate::browser::BrowserState;
use crate::failure::{Failure, FailureCode};

/// Longest file of headers, in bytes.
const HEADERS_MAX: u64 = 256 << 10;
/// Longest file of browser state, in bytes.
const STATE_MAX: u64 = 4 << 20;
/// Longest name.
const NAME_MAX: usize = 64;
/// The key that names a file of browser state instead of a header.
const STATE_KEY: &str = "storageState";

/// Where profiles are kept. Without a folder there are none.
#[derive(Debug, Clone, Default)]
pub struct Sessions {
    root: Option<PathBuf>,
    operator: Vec<(String, String)>,
}

/// What a reply says of a session.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct SessionReport {
    /// The profile that was asked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub profile_id: Option<String>,
    /// Whether it is there.
    pub profile_found: bool,
    /// Names of the headers that were sent; never a value.
    pub headers_applied: Vec<String>,
    /// Whether a browser brings cookies or storage.
    pub browser_state: bool,
}

/// What one read brings.
#[derive(Debug, Clone, Default)]
pub struct Session {
    /// For replies.
    pub report: SessionReport,
    /// Headers for the origin of the URL.
    pub headers: ExtraHeaders,
    /// Cookies and storage; for browsers alone.
    pub browser: BrowserState,
}

impl Session {
    /// What a read with this session asks besides its URL.
    pub fn options(&self) -> GetOptions {
        GetOptions {
            headers: self.headers.clone(),
            browser: self.browser.clone(),
            ..GetOptions::default()
        }
    }
}

fn invalid(why: impl std::fmt::Display, hint: &str) -> Failure {
    Failure::new(
        FailureCode::InvalidSessionProfile,
        format!("{why}\nhint: {hint}"),
    )
    .then("configure_session_profile", "the operator can mend it")
}

impl Sessions {
    /// Profiles are the files `NAME.json` of this folder.
    pub fn at(root: &Path) -> Self {
        Self {
            root: Some(root.to_owned()),
            operator: Vec::new(),
        }
    }

    /// Adds the operator's own headers, which every read sends and a profile may replace.
    ///
    /// # Errors
    /// `invalid_session_profile` for a file that is none.
    pub fn with_headers(mut self, file: &Path) -> Result<Self, Failure> {
        let what = format!("the file of headers `{}`", file.display());
        self.operator = flat(&what, &read(&what, file, HEADERS_MAX)?)?;
        // Checked once, here, where the operator is told.
        merged(&self.operator, &[])?;
        Ok(self)
    }

    /// The session of a name; the operator's headers alone for none.
    ///
    /// # Errors
    /// `session_profile_not_found`, `invalid_session_profile`.
    pub fn session(&self, name: Option<&str>) -> Result<Session, Failure> {
        let Some(name) = name else {
            return self.made(None, &[], BrowserState::default());
        };
        if !is_name(name) {
            return Err(invalid(
                "this is no name of a session profile",
                "letters, digits, `.`, `-` and `_`, at most 64, without `..`",
            ));
        }
        let found = self
            .root
            .as_deref()
            .map(|root| (root, root.join(format!("{name}.json"))))
            .filter(|(_, file)| file.is_file());
        let Some((root, file)) = found else {
            return Err(Failure::new(
                FailureCode::SessionProfileNotFound,
                format!(
                    "there is no session profile `{name}`\nhint: profiles are files `NAME.json` in the operator's folder of sessions"
                ),
            )
            .then("configure_session_profile", "the operator can make one"));
        };
        let what = format!("the session profile `{name}`");
        let mut own = flat(&what, &read(&what, &file, HEADERS_MAX)?)?;
        let mut state = BrowserState::default();
        if let Some(at) = own.iter().position(|(key, _)| key == STATE_KEY) {
            let (_, path) = own.remove(at);
            let inside = inside(root, &path).ok_or_else(|| {
                invalid(
                    format!("`{STATE_KEY}` of {what} names no file in the folder of sessions"),
                    "name a file there, relative to the folder",
                )
            })?;
            let what = format!("the browser state of {what}");
            state = BrowserState::parse(&read(&what, &inside, STATE_MAX)?)?;
        }
        self.made(Some(name), &own, state)
    }

    fn made(
        &self,
        name: Option<&str>,
        own: &[(String, String)],
        browser: BrowserState,
    ) -> Result<Session, Failure> {
        let headers = merged(&self.operator, own)?;
        Ok(Session {
            report: SessionReport {
                profile_id: name.map(str::to_owned),
                profile_found: name.is_some(),
                headers_applied: headers.names(),
                browser_state: !browser.is_empty(),
            },
            headers,
            browser,
        })
    }
}

/// The operator's headers with the profile's in their place.
fn merged(
    operator: &[(String, String)],
    own: &[(String, String)],
) -> Result<ExtraHeaders, Failure> {
    let replaced = |name: &str| own.iter().any(|(o, _)| o.eq_ignore_ascii_case(name));
    let all = operator.iter().filter(|(n, _)| !replaced(n)).chain(own);
    ExtraHeaders::new(all.map(|(n, v)| (n.as_str(), v.as_str())))
}

fn is_name(name: &str) -> bool {
    let fits = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '-' | '_');
    (1..=NAME_MAX).contains(&name.len())
        && name.chars().all(fits)
        && !name.contains("..")
        && !name.starts_with('.')
}

fn read(what: &str, file: &Path, most: u64) -> Result<String, Failure> {
    let size = std::fs::metadata(file).map(|m| m.len());
    let hint = "see that the file is there, and readable";
    match size {
        Ok(n) if n > most => Err(invalid(
            format!("{what} has {n} bytes"),
            &format!("at most {most} are read"),
        )),
        Ok(_) => std::fs::read_to_string(file)
            .map_err(|e| invalid(format!("{what}: {}", e.kind()), hint)),
        Err(e) => Err(invalid(format!("{what}: {}", e.kind()), hint)),
    }
}

/// A flat map of strings. Errors never repeat what stands in it.
fn flat(what: &str, text: &str) -> Result<Vec<(String, String)>, Failure> {
    let hint = "it is a JSON object of header names and values, both strings";
    let value: Value =
        serde_json::from_str(text).map_err(|_| invalid(format!("{what} is no JSON"), hint))?;
    let map = value
        .as_object()
        .ok_or_else(|| invalid(format!("{what} is no object"), hint))?;
    map.iter()
        .map(|(name, value)| match value.as_str() {
            Some(value) => Ok((name.clone(), value.to_owned())),
            None => {
                let shown: String = name.chars().take(60).collect();
                Err(invalid(format!("`{shown}` of {what} is no string"), hint))
            }
        })
        .collect()
}

/// A file below the folder, wherever its links lead.
fn inside(root: &Path, path: &str) -> Option<PathBuf> {
    let relative = Path::new(path);
    let plain = relative
        .components()
        .all(|c| matches!(c, std::path::Component::Normal(_)));
    if !plain {
        return None;
    }
    let root = root.canonicalize().ok()?;
    let file = root.join(relative).canonicalize().ok()?;
    (file.starts_with(&root) && file.is_file()).then_some(file)
}
