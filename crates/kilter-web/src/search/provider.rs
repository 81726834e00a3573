//! The providers: how each is asked and what it answers.

use std::process::Stdio;

use serde_json::{Value, json};
use tokio::io::AsyncReadExt;
use tokio::process::Command;
use url::Url;

use super::{Hit, LocalIndex};
use crate::acquire::{Client, ExtraHeaders, GetOptions};
use crate::failure::{Failure, FailureCode};
use crate::format::fragment;

/// A source of hits. The operator names it; addresses of providers are the operator's and may be private, which is why the
/// client to ask them with is not the one that reads pages.
#[derive(Clone)]
pub enum Provider {
    /// A SearXNG instance with its JSON format on: `http://localhost:8888`.
    Searxng {
        /// Its address.
        url: String,
    },
    /// Brave's web search.
    Brave {
        /// Its address: `https://api.search.brave.com/res/v1/web/search`.
        url: String,
        /// The subscription's key.
        key: String,
    },
    /// Tavily.
    Tavily {
        /// Its address: `https://api.tavily.com/search`.
        url: String,
        /// The key.
        key: String,
    },
    /// A program that gets the question and the number as its last two arguments and prints a JSON array of
    /// `{"title", "url", "snippet"}`.
    Command {
        /// The program and its first arguments.
        argv: Vec<String>,
    },
    /// Documents of this machine.
    Local(LocalIndex),
}

impl std::fmt::Debug for Provider {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        // Never a key.
        f.write_str(self.name())
    }
}

/// What a program may print.
const LONGEST: u64 = 4 << 20;

impl Provider {
    /// Its name in replies.
    pub fn name(&self) -> &'static str {
        match self {
            Self::Searxng { .. } => "searxng",
            Self::Brave { .. } => "brave",
            Self::Tavily { .. } => "tavily",
            Self::Command { .. } => "command",
            Self::Local(_) => "local",
        }
    }

    /// Asks. `client` reaches the provider.
    ///
    /// # Errors
    /// The codes of acquisition, `http_NNN`, `search_error` for an answer that makes no sense.
    pub async fn ask(
        &self,
        client: &Client,
        query: &str,
        most: usize,
    ) -> Result<Vec<Hit>, Failure> {
        let hits = match self {
            Self::Searxng { url } => {
                let url = with(
                    &format!("{}/search", url.trim_end_matches('/')),
                    &[("q", query), ("format", "json")],
                )?;
                self.pick(
                    &get(client, &url, ExtraHeaders::default()).await?,
                    "/results",
                    "content",
                )?
            }
            Self::Brave { url, key } => {
                let count = most.to_string();
                let url = with(url, &[("q", query), ("count", &count)])?;
                let headers = ExtraHeaders::new([
                    ("X-Subscription-Token", key.as_str()),
                    ("Accept", "application/json"),
                ])?;
                self.pick(
                    &get(client, &url, headers).await?,
                    "/web/results",
                    "description",
                )?
            }
            Self::Tavily { url, key } => {
                let bearer = format!("Bearer {key}");
                let headers = ExtraHeaders::new([("Authorization", bearer.as_str())])?;
                let ask = json!({ "query": query, "max_results": most })
                    .to_string()
                    .into_bytes();
                let got = client.post_json(url, &headers, ask).await?.accept()?;
                self.pick(&got.body, "/results", "content")?
            }
            Self::Command { argv } => {
                self.pick(&self.run(argv, query, most).await?, "", "snippet")?
            }
            Self::Local(index) => index.ask(query, most),
        };
        Ok(hits.into_iter().take(most).collect())
    }

    fn nonsense(&self, why: &str) -> Failure {
        Failure::new(
            FailureCode::SearchError,
            format!(
                "`{}` answered badly: {why}\nhint: check the provider's address and key",
                self.name()
            ),
        )
    }

    /// Hits from the array at `place`. Titles and snippets come with markup; URLs that are none are left out.
    fn pick(&self, body: &[u8], place: &str, snippet: &str) -> Result<Vec<Hit>, Failure> {
        let doc: Value = serde_json::from_slice(body).map_err(|e| self.nonsense(&e.to_string()))?;
        let list = match doc.pointer(place) {
            Some(list) => list
                .as_array()
                .ok_or_else(|| self.nonsense("no list of results"))?,
            // Brave leaves the member out when nothing was found.
            None if doc.is_object() => return Ok(Vec::new()),
            None => return Err(self.nonsense("no list of results")),
        };
        let text = |v: &Value| {
            fragment::text(v.as_str().unwrap_or_default())
                .chars()
                .take(500)
                .collect()
        };
        Ok(list
            .iter()
            .filter_map(|hit| {
                let url = Url::parse(hit["url"].as_str()?)
                    .ok()
                    .filter(|u| matches!(u.scheme(), "http" | "https"))?;
                Some(Hit {
                    title: text(&hit["title"]),
                    url: url.into(),
                    snippet: text(&hit[snippet]),
                })
            })
            .collect())
    }

    async fn run(&self, argv: &[String], query: &str, most: usize) -> Result<Vec<u8>, Failure> {
        let Some((program, arguments)) = argv.split_first() else {
            return Err(self.nonsense("no program is named"));
        };
        let mut child = Command::new(program)
            .args(arguments)
            // A question that begins with a dash is no option.
            .arg(query.trim_start_matches('-'))
            .arg(most.to_string())
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .kill_on_drop(true)
            .spawn()
            .map_err(|e| self.nonsense(&format!("`{program}` does not start: {e}")))?;
        let mut out = Vec::new();
        if let Some(stdout) = child.stdout.take() {
            stdout
                .take(LONGEST)
                .read_to_end(&mut out)
                .await
                .map_err(|e| self.nonsense(&e.to_string()))?;
        }
        let status = child
            .wait()
            .await
            .map_err(|e| self.nonsense(&e.to_string()))?;
        if !status.success() {
            return Err(self.nonsense(&format!("`{program}` ended with {status}")));
        }
        Ok(out)
    }
}

async fn get(client: &Client, url: &str, headers: ExtraHeaders) -> Result<bytes::Bytes, Failure> {
    let options = GetOptions {
        headers,
        ..GetOptions::default()
    };
    Ok(client.get(url, &options).await?.accept()?.body)
}

fn with(url: &str, pairs: &[(&str, &str)]) -> Result<String, Failure> {
    let mut url = crate::address::read_url(url, None)?;
    url.query_pairs_mut().extend_pairs(pairs);
    Ok(url.into())
}
