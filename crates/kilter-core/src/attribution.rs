//! Whose fault a failure is: one answer for gateway, exam and evaluation.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Who has to act for a failure not to come again.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Attribution {
    /// The model: it was asked properly and did not do it.
    Model,
    /// The server's template, parser or window: the model may never have been asked.
    Server,
    /// The provider refused the request as sent.
    Provider,
    /// The client's request was wrong.
    Client,
    /// The network or this host.
    Host,
    /// A page or a tool outside.
    World,
    /// kilter itself.
    Kilter,
}

impl Attribution {
    /// Attribution of an HTTP status that an upstream answered with.
    ///
    /// 401, 403 and 404 are the client's or the operator's configuration; 408, 425 and every 5xx
    /// the server's; 429 the provider's limit; other 4xx a refusal of the request.
    pub fn of_status(status: u16) -> Self {
        match status {
            0 => Self::Host,
            401 | 403 | 404 => Self::Client,
            408 | 425 | 500..=599 => Self::Server,
            _ => Self::Provider,
        }
    }
}
