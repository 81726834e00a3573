//! What the operator sets by variables of the environment. Every name begins with `KILTER_`; the older `OCCAM_` is read
//! where that is not set.

use kilter_web::search::Provider;

use crate::canary;
use crate::surface::{NoSurface, Surface};

/// The settings.
#[derive(Debug, Default)]
pub struct Operator {
    /// `PROFILE`: the surface.
    pub surface: Option<Surface>,
    /// `PROFILE_LOCK`: sessions may not change it.
    pub locked: bool,
    /// `CLIENT_CONTEXT_TOKENS`: size of the model's window.
    pub context_tokens: Option<u64>,
    /// `MCP_TOKEN`: bearer tokens, apart by commas.
    pub tokens: Vec<String>,
    /// `SEARCH_PROVIDER` (several apart by commas), `SEARCH_URL`, `SEARCH_API_KEY`, `SEARCH_COMMAND`.
    pub providers: Vec<Provider>,
    /// `SESSIONS_ROOT`: folder of session profiles.
    pub sessions: Option<std::path::PathBuf>,
    /// `CANARY_*`.
    pub canary: canary::Settings,
}

/// A variable with a value that is none.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{name}` is `{value}`\nhint: it is {is}")]
pub struct Wrong {
    name: String,
    value: String,
    is: String,
}

struct Vars<F>(F);

impl<F: Fn(&str) -> Option<String>> Vars<F> {
    fn get(&self, name: &str) -> Option<(String, String)> {
        ["KILTER_", "OCCAM_"].iter().find_map(|prefix| {
            let name = format!("{prefix}{name}");
            let value = (self.0)(&name)?.trim().to_owned();
            (!value.is_empty()).then_some((name, value))
        })
    }

    fn number(&self, name: &str, from: u64, to: u64) -> Result<Option<u64>, Wrong> {
        let Some((name, value)) = self.get(name) else {
            return Ok(None);
        };
        match value.parse() {
            Ok(n) if (from..=to).contains(&n) => Ok(Some(n)),
            _ => Err(Wrong {
                name,
                value: value.chars().take(40).collect(),
                is: format!("a whole number from {from} to {to}"),
            }),
        }
    }

    fn text(&self, name: &str) -> Option<String> {
        self.get(name).map(|(_, v)| v)
    }
}

impl Operator {
    /// Reads the variables through `get`.
    ///
    /// # Errors
    /// [`Wrong`] for a value that is none, with the variable's name.
    pub fn from_env(get: impl Fn(&str) -> Option<String>) -> Result<Self, Wrong> {
        let vars = Vars(get);
        let mut settings = Self {
            context_tokens: vars.number("CLIENT_CONTEXT_TOKENS", 1_024, 2_000_000)?,
            locked: vars.number("PROFILE_LOCK", 0, 1)? == Some(1),
            ..Self::default()
        };
        if let Some((name, value)) = vars.get("PROFILE") {
            let surface = value.parse().map_err(|NoSurface(value)| Wrong {
                name,
                value,
                is: "`minimal`, `basic`, `reader`, `researcher`, `auditor` or `full`".to_owned(),
            })?;
            settings.surface = Some(surface);
        }
        settings.sessions = vars.text("SESSIONS_ROOT").map(Into::into);
        if let Some(tokens) = vars.text("MCP_TOKEN") {
            settings.tokens = tokens
                .split(',')
                .map(str::trim)
                .filter(|t| !t.is_empty())
                .map(str::to_owned)
                .collect();
        }
        let words = vars
            .get("SEARCH_PROVIDERS")
            .or_else(|| vars.get("SEARCH_PROVIDER"));
        if let Some((name, words)) = words {
            for word in words.split(',').map(str::trim).filter(|w| !w.is_empty()) {
                settings.providers.push(provider(&vars, &name, word)?);
            }
        }
        let c = &mut settings.canary;
        let size = |n: u64| usize::try_from(n).unwrap_or(usize::MAX);
        let small = |n: u64| u32::try_from(n).unwrap_or(u32::MAX);
        if let Some(n) = vars.number("CANARY_BUCKET_SECONDS", 30, 3_600)? {
            c.bucket_seconds = n;
        }
        if let Some(n) = vars.number("CANARY_FRESH_TOLERANCE", 0, 8)? {
            c.fresh = small(n);
        }
        if let Some(n) = vars.number("CANARY_STALE_HORIZON", 1, 512)? {
            c.horizon = small(n);
        }
        if let Some(n) = vars.number("CANARY_SENTINEL_BYTES", 16, 32)? {
            c.bytes = size(n);
        }
        if let Some(n) = vars.number("CANARY_ISSUE_LOG_HOURS", 1, 168)? {
            c.log_hours = n;
        }
        if let Some(n) = vars.number("CANARY_ISSUE_LOG_CAPACITY", 256, 1_048_576)? {
            c.log_capacity = size(n);
        }
        if let Some(n) = vars.number("CANARY_RATE_LIMIT", 1, 100_000)? {
            c.rate = small(n);
        }
        if let Some(n) = vars.number("CANARY_RATE_WINDOW_SECONDS", 1, 86_400)? {
            c.rate_window = std::time::Duration::from_secs(n);
        }
        Ok(settings)
    }
}

fn provider<F: Fn(&str) -> Option<String>>(
    vars: &Vars<F>,
    name: &str,
    word: &str,
) -> Result<Provider, Wrong> {
    let needs = |variable: &str, what: &str| {
        vars.text(variable).ok_or_else(|| Wrong {
            name: format!("KILTER_{variable}"),
            value: String::new(),
            is: format!("needed for `{word}`: {what}"),
        })
    };
    let url = |known: &str| vars.text("SEARCH_URL").unwrap_or_else(|| known.to_owned());
    Ok(match word {
        "searxng" => Provider::Searxng {
            url: needs("SEARCH_URL", "the instance's address")?,
        },
        "brave" => Provider::Brave {
            url: url("https://api.search.brave.com/res/v1/web/search"),
            key: needs("SEARCH_API_KEY", "the subscription's key")?,
        },
        "tavily" => Provider::Tavily {
            url: url("https://api.tavily.com/search"),
            key: needs("SEARCH_API_KEY", "the key")?,
        },
        "command" => Provider::Command {
            argv: needs("SEARCH_COMMAND", "the program with its first arguments")?
                .split_whitespace()
                .map(str::to_owned)
                .collect(),
        },
        other => {
            return Err(Wrong {
                name: name.to_owned(),
                value: other.chars().take(40).collect(),
                is: "`searxng`, `brave`, `tavily` or `command`".to_owned(),
            });
        }
    })
}
