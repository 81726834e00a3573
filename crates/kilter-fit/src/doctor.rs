//! Which model servers answer on this machine: told apart by their answers, not by their ports.

use std::collections::BTreeMap;
use std::sync::LazyLock;
use std::time::Duration;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::http::{Http, HttpFailure};

/// Time for one question to one port. A server on this machine answers in milliseconds; one that
/// is loading a model may not, and is then reported as silent.
const LIMIT: Duration = Duration::from_millis(900);

/// A server that kilter can tell apart.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct KnownServer {
    /// Its name.
    pub name: String,
    /// Its usual ports.
    pub ports: Vec<u16>,
    /// Path of its OpenAI-compatible API.
    pub base: String,
    /// How to get it.
    pub get: String,
    signs: Vec<Sign>,
}

#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
struct Sign {
    path: String,
    #[serde(default)]
    json: Option<String>,
    #[serde(default)]
    header: Option<String>,
    #[serde(default)]
    body: Option<String>,
    #[serde(default)]
    equals: Option<String>,
}

#[derive(Debug, Deserialize)]
struct Servers {
    server: Vec<KnownServer>,
}

static SERVERS: LazyLock<Vec<KnownServer>> = LazyLock::new(|| {
    toml::from_str::<Servers>(include_str!("../data/servers.toml"))
        .map(|s| s.server)
        .unwrap_or_default()
});

/// The servers that kilter can tell apart.
pub fn known() -> &'static [KnownServer] {
    &SERVERS
}

/// The ports that are looked at by default.
pub fn usual_ports() -> Vec<u16> {
    let mut ports: Vec<u16> = known().iter().flat_map(|s| s.ports.clone()).collect();
    ports.sort_unstable();
    ports.dedup();
    ports
}

/// What one port answers.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Found {
    /// The port, on 127.0.0.1.
    pub port: u16,
    /// The server by its answers; `null` when it is none that we know.
    pub server: Option<String>,
    /// Base URL for `kilter fit`; `null` when it serves no chat API.
    pub url: Option<String>,
    /// Models that it lists.
    pub models: Vec<String>,
    /// What a person should know: a key is needed, no models are loaded, it is silent.
    pub note: Option<String>,
}

/// Looks at every port at once; those where nothing listens are left out.
pub async fn look(ports: &[u16]) -> Vec<Found> {
    let http = Http::new(Duration::from_millis(400), None);
    let mut found: Vec<Found> =
        futures_util::future::join_all(ports.iter().map(|port| look_at(&http, *port)))
            .await
            .into_iter()
            .flatten()
            .collect();
    found.sort_by_key(|f| f.port);
    found
}

/// An answer, reduced to what signs look at.
struct Heard {
    status: u16,
    headers: http::HeaderMap,
    text: String,
    json: Option<Value>,
}

async fn hear(http: &Http, port: u16, path: &str) -> Result<Heard, HttpFailure> {
    let answer = http
        .get(&format!("http://127.0.0.1:{port}{path}"), LIMIT)
        .await?;
    let text = String::from_utf8_lossy(&answer.body).into_owned();
    Ok(Heard {
        status: answer.status.as_u16(),
        json: serde_json::from_str(&text).ok(),
        headers: answer.headers,
        text,
    })
}

async fn look_at(http: &Http, port: u16) -> Option<Found> {
    let models = match hear(http, port, "/v1/models").await {
        Err(HttpFailure::Connect(_)) => return None,
        Err(failure) => {
            return Some(Found {
                port,
                server: None,
                url: None,
                models: Vec::new(),
                note: Some(match failure {
                    HttpFailure::Timeout(_) => {
                        "something listens and says nothing; it may still be loading".to_owned()
                    }
                    _ => "something listens that does not speak HTTP".to_owned(),
                }),
            });
        }
        Ok(heard) => heard,
    };
    let mut heard = BTreeMap::from([("/v1/models".to_owned(), models)]);
    let mut best: Option<(&KnownServer, usize)> = None;
    for server in known() {
        let mut score = 0;
        for sign in &server.signs {
            if !heard.contains_key(&sign.path)
                && let Ok(answer) = hear(http, port, &sign.path).await
            {
                heard.insert(sign.path.clone(), answer);
            }
            score += usize::from(heard.get(&sign.path).is_some_and(|h| matches(sign, h)));
        }
        // Of two with the same signs the one whose port this is; the port alone is no sign.
        let better = score > 0
            && best.is_none_or(|(b, s)| {
                score > s
                    || (score == s && server.ports.contains(&port) && !b.ports.contains(&port))
            });
        if better {
            best = Some((server, score));
        }
    }
    let list = heard.get("/v1/models")?;
    let names = model_names(list.json.as_ref());
    let speaks = list.status == 200 && names.is_some();
    let models = names.unwrap_or_default();
    let note = match (list.status, speaks, models.is_empty()) {
        (401 | 403, _, _) => Some("it wants a key: `--api-key env:NAME`".to_owned()),
        (_, true, true) => Some("no model is loaded".to_owned()),
        (_, true, false) => None,
        (status, false, _) => Some(format!("no model list at /v1/models (HTTP {status})")),
    };
    let base = best.map_or("/v1", |(s, _)| s.base.as_str());
    Some(Found {
        port,
        server: best.map(|(s, _)| s.name.clone()),
        url: (speaks || matches!(list.status, 401 | 403))
            .then(|| format!("http://127.0.0.1:{port}{base}")),
        models,
        note,
    })
}

fn matches(sign: &Sign, heard: &Heard) -> bool {
    if heard.status != 200 {
        return false;
    }
    let wanted = |value: &str| sign.equals.as_deref().is_none_or(|e| e == value);
    if let Some(pointer) = &sign.json {
        return heard
            .json
            .as_ref()
            .and_then(|j| j.pointer(pointer))
            .is_some_and(|v| sign.equals.is_none() || v.as_str().is_some_and(wanted));
    }
    if let Some(name) = &sign.header {
        return heard
            .headers
            .get(name)
            .and_then(|v| v.to_str().ok())
            .is_some_and(wanted);
    }
    sign.body
        .as_ref()
        .is_some_and(|words| heard.text.contains(words.as_str()))
}

/// Names in a model list, under `data` (the OpenAI shape) or `models`; `None` when it is no list.
pub(crate) fn model_names(list: Option<&Value>) -> Option<Vec<String>> {
    let list = list?;
    let items = list
        .get("data")
        .or_else(|| list.get("models"))
        .unwrap_or(list)
        .as_array()?;
    Some(
        items
            .iter()
            .filter_map(|m| {
                m.get("id")
                    .or_else(|| m.get("name"))
                    .or(Some(m))
                    .and_then(Value::as_str)
                    .map(str::to_owned)
            })
            .collect(),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_list_of_servers_is_read() {
        assert!(known().len() >= 7);
        assert!(usual_ports().contains(&11434));
        for server in known() {
            for sign in &server.signs {
                assert!(
                    sign.json.is_some() || sign.header.is_some() || sign.body.is_some(),
                    "{} has a sign that says nothing",
                    server.name
                );
            }
        }
    }

    #[test]
    fn names_come_from_either_shape() {
        let list = serde_json::json!({"data":[{"id":"a"},{"id":"b"}]});
        assert_eq!(
            model_names(Some(&list)),
            Some(vec!["a".to_owned(), "b".to_owned()])
        );
        assert_eq!(model_names(Some(&serde_json::json!({"x":1}))), None);
    }
}
