//! What can go wrong before there is a card.

use std::time::Duration;

/// A failure of `kilter fit` that leaves nothing to print.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum FitError {
    /// The URL cannot be used.
    #[error("`{url}` is not a base URL: {reason}")]
    Url {
        /// As given.
        url: String,
        /// Why.
        reason: String,
    },
    /// The key reference leads nowhere.
    #[error("the key reference `{reference}` leads nowhere: {reason}")]
    Key {
        /// As given; never the key.
        reference: String,
        /// Why.
        reason: String,
    },
    /// Nothing answered.
    #[error("nothing answers at `{url}`: {reason}")]
    Unreachable {
        /// The address.
        url: String,
        /// Why.
        reason: String,
    },
    /// The server refused every request.
    #[error("`{url}` refuses: HTTP {status}: {message}")]
    Refused {
        /// The address.
        url: String,
        /// Status.
        status: u16,
        /// Its words, cut.
        message: String,
    },
    /// What answers is no chat-completions server.
    #[error("`{url}` answers, but not as a chat-completions server: {reason}")]
    NotAnApi {
        /// The address.
        url: String,
        /// What came instead.
        reason: String,
    },
    /// The model asked for is not there.
    #[error("the server at `{url}` has no model `{model}`")]
    NoSuchModel {
        /// The address.
        url: String,
        /// As asked.
        model: String,
        /// What it lists.
        listed: Vec<String>,
    },
    /// The first answer did not end in time.
    #[error("no answer from `{url}` within {} s", after.as_secs())]
    TooSlow {
        /// The address.
        url: String,
        /// The limit.
        after: Duration,
    },
    /// The demonstration models could not be served.
    #[error("the demonstration models could not be served: {0}")]
    Demo(String),
}

impl FitError {
    /// What to do next.
    pub fn hint(&self) -> String {
        match self {
            Self::Url { .. } => {
                "give the base URL that a client would use, such as `http://127.0.0.1:8080/v1`"
                    .to_owned()
            }
            Self::Key { .. } => {
                "use `--api-key env:NAME` with NAME set, or `--api-key file:PATH`".to_owned()
            }
            Self::Unreachable { reason, .. } if reason.contains("lookup") => {
                "check the host's name in the URL; nothing on the network knows it".to_owned()
            }
            Self::Unreachable { .. } => {
                "start the server, or run `kilter doctor` to see what answers on this machine"
                    .to_owned()
            }
            Self::Refused {
                status: 401 | 403, ..
            } => "give a key with `--api-key env:NAME`".to_owned(),
            Self::Refused { status: 404, .. } => {
                "the base URL usually ends in `/v1`; `kilter doctor` shows what answers".to_owned()
            }
            Self::Refused { status: 429, .. } => {
                "the provider limits requests; wait, or lower `--max-requests`".to_owned()
            }
            Self::Refused { .. } => "see the words of the server above".to_owned(),
            Self::NotAnApi { .. } => {
                "check host, port and path: the base URL usually ends in `/v1`".to_owned()
            }
            Self::NoSuchModel { listed, .. } if listed.is_empty() => {
                "leave `--model` out to take what the server serves".to_owned()
            }
            Self::NoSuchModel { listed, .. } => format!(
                "it lists {}",
                listed
                    .iter()
                    .take(8)
                    .map(|m| format!("`{m}`"))
                    .collect::<Vec<_>>()
                    .join(", ")
            ),
            Self::TooSlow { .. } => {
                "give it more time with `--timeout SECONDS`; a first load can take minutes"
                    .to_owned()
            }
            Self::Demo(_) => "this is a bug of kilter; please report it".to_owned(),
        }
    }
}
