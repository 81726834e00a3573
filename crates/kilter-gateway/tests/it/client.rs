//! A client that sees bytes, and the gateways under test.

use std::time::Duration;

use bytes::Bytes;
use http::{HeaderMap, Request};
use http_body_util::{BodyExt, Full};
use hyper_util::client::legacy::Client;
use hyper_util::rt::TokioExecutor;
use kilter_gateway::config::{Config, Span};
use kilter_gateway::{Deps, Gateway, GatewayHandle};
use kilter_mock::{MockServer, Script};
use serde_json::{Value, json};

pub(crate) fn config(upstream: &str) -> Config {
    let mut c = Config::with_backend("up", upstream);
    c.gateway.bind = "127.0.0.1:0".into();
    c.backends[0].retries.base = Span::millis(1);
    c
}

pub(crate) async fn start(config: Config) -> GatewayHandle {
    Gateway::start(config, Deps::default())
        .await
        .unwrap_or_else(|e| panic!("{e}"))
}

pub(crate) async fn gateway(upstream: &str) -> GatewayHandle {
    start(config(upstream)).await
}

/// A scripted model behind a gateway.
pub(crate) struct Rig {
    pub(crate) mock: MockServer,
    pub(crate) gateway: GatewayHandle,
}

pub(crate) async fn rig(script: &str) -> Rig {
    let script = Script::from_toml(script).unwrap_or_else(|e| panic!("{e}"));
    let mock = MockServer::local(script).await.unwrap();
    let gateway = gateway(&mock.url()).await;
    Rig { mock, gateway }
}

impl Rig {
    pub(crate) async fn ask(&self, body: &Value, headers: &[(&str, &str)]) -> Got {
        post(&self.gateway, body, headers).await
    }
}

/// One answer.
#[derive(Debug)]
pub(crate) struct Got {
    pub(crate) status: u16,
    pub(crate) headers: HeaderMap,
    pub(crate) body: Bytes,
    pub(crate) trailers: Option<HeaderMap>,
}

pub(crate) fn http() -> Client<hyper_util::client::legacy::connect::HttpConnector, Full<Bytes>> {
    Client::builder(TokioExecutor::new()).build_http()
}

pub(crate) async fn post(gateway: &GatewayHandle, body: &Value, headers: &[(&str, &str)]) -> Got {
    let url = format!("{}/chat/completions", gateway.url());
    send("POST", &url, body.to_string().into(), headers).await
}

pub(crate) async fn send(method: &str, url: &str, body: Bytes, headers: &[(&str, &str)]) -> Got {
    let mut req = Request::builder()
        .method(method)
        .uri(url)
        .header("content-type", "application/json");
    for (k, v) in headers {
        req = req.header(*k, *v);
    }
    let req = req.body(Full::new(body)).unwrap();
    let all = async {
        let answer = http().request(req).await.unwrap();
        let (head, mut body) = answer.into_parts();
        let mut bytes = Vec::new();
        let mut trailers = None;
        while let Some(frame) = body.frame().await {
            match frame {
                Ok(f) => match f.into_data() {
                    Ok(d) => bytes.extend_from_slice(&d),
                    Err(f) => trailers = f.into_trailers().ok(),
                },
                Err(e) => {
                    bytes.extend_from_slice(format!("<broken: {e}>").as_bytes());
                    break;
                }
            }
        }
        Got {
            status: head.status.as_u16(),
            headers: head.headers,
            body: bytes.into(),
            trailers,
        }
    };
    tokio::time::timeout(Duration::from_secs(20), all)
        .await
        .expect("an answer within 20 s")
}

/// A turn put together from a stream or a whole body, as a client would.
#[derive(Debug, Default, Clone, PartialEq)]
pub(crate) struct Turn {
    pub(crate) ids: Vec<String>,
    pub(crate) roles: usize,
    pub(crate) content: String,
    pub(crate) reasoning: String,
    pub(crate) calls: Vec<Call>,
    pub(crate) finish: Option<String>,
    pub(crate) usage: Option<Value>,
    pub(crate) kilter: Option<Value>,
    pub(crate) done: usize,
    pub(crate) errors: Vec<Value>,
}

#[derive(Debug, Default, Clone, PartialEq)]
pub(crate) struct Call {
    pub(crate) index: Option<u64>,
    pub(crate) id: String,
    pub(crate) name: String,
    pub(crate) arguments: String,
}

impl Call {
    pub(crate) fn args(&self) -> Value {
        serde_json::from_str(&self.arguments)
            .unwrap_or_else(|e| panic!("{e}: {:?}", self.arguments))
    }
}

impl Got {
    pub(crate) fn text(&self) -> String {
        String::from_utf8_lossy(&self.body).into_owned()
    }

    pub(crate) fn json(&self) -> Value {
        serde_json::from_slice(&self.body).unwrap_or_else(|e| panic!("{e}: {}", self.text()))
    }

    pub(crate) fn header(&self, name: &str) -> &str {
        self.headers.get(name).map_or("", |v| v.to_str().unwrap())
    }

    pub(crate) fn actions(&self) -> Vec<String> {
        let turn = self.turn();
        turn.kilter
            .and_then(|k| serde_json::from_value(k["actions"].clone()).ok())
            .unwrap_or_default()
    }

    pub(crate) fn error_code(&self) -> String {
        self.json()["error"]["code"]
            .as_str()
            .unwrap_or("")
            .to_owned()
    }

    /// What a client makes of it.
    pub(crate) fn turn(&self) -> Turn {
        if self.header("content-type").starts_with("text/event-stream") {
            self.stream()
        } else {
            self.whole()
        }
    }

    fn whole(&self) -> Turn {
        let v = self.json();
        let m = &v["choices"][0]["message"];
        let text = |v: &Value| v.as_str().unwrap_or("").to_owned();
        Turn {
            ids: vec![text(&v["id"])],
            roles: usize::from(m["role"] == "assistant"),
            content: text(&m["content"]),
            reasoning: text(&m["reasoning_content"]),
            calls: m["tool_calls"]
                .as_array()
                .into_iter()
                .flatten()
                .map(|c| Call {
                    index: None,
                    id: text(&c["id"]),
                    name: text(&c["function"]["name"]),
                    arguments: text(&c["function"]["arguments"]),
                })
                .collect(),
            finish: v["choices"][0]["finish_reason"].as_str().map(str::to_owned),
            usage: v.get("usage").cloned(),
            kilter: v.get("kilter").cloned(),
            done: 1,
            errors: v.get("error").cloned().into_iter().collect(),
        }
    }

    fn stream(&self) -> Turn {
        let mut t = Turn::default();
        let mut framer = kilter_wire::sse::Framer::new();
        framer.push(&self.body);
        framer.finish();
        while let Some(e) = framer.next_event() {
            let e = e.expect("an event");
            if e.comment_only {
                continue;
            }
            if e.is_done() {
                t.done += 1;
                continue;
            }
            assert_eq!(t.done, 0, "an event after [DONE]: {}", e.data);
            let v: Value =
                serde_json::from_str(&e.data).unwrap_or_else(|x| panic!("{x}: {}", e.data));
            if let Some(err) = v.get("error") {
                t.errors.push(err.clone());
                continue;
            }
            t.chunk(&v);
        }
        t
    }
}

impl Turn {
    fn chunk(&mut self, v: &Value) {
        if let Some(id) = v["id"].as_str()
            && !self.ids.iter().any(|i| i == id)
        {
            self.ids.push(id.to_owned());
        }
        if v.get("usage").is_some_and(|u| !u.is_null()) {
            self.usage = v.get("usage").cloned();
        }
        if let Some(k) = v.get("kilter") {
            self.kilter = Some(k.clone());
        }
        let Some(c) = v["choices"].get(0) else { return };
        let d = &c["delta"];
        self.roles += usize::from(d.get("role").is_some_and(|r| !r.is_null()));
        self.content.push_str(d["content"].as_str().unwrap_or(""));
        self.reasoning
            .push_str(d["reasoning_content"].as_str().unwrap_or(""));
        for f in d["tool_calls"].as_array().into_iter().flatten() {
            // As the official clients do: by index, which must be there.
            let index = f["index"].as_u64().expect("an index");
            let at = self.calls.iter().position(|c| c.index == Some(index));
            let at = at.unwrap_or_else(|| {
                self.calls.push(Call {
                    index: Some(index),
                    ..Call::default()
                });
                self.calls.len() - 1
            });
            let call = &mut self.calls[at];
            call.id.push_str(f["id"].as_str().unwrap_or(""));
            call.name
                .push_str(f["function"]["name"].as_str().unwrap_or(""));
            let a = &f["function"]["arguments"];
            assert!(a.is_string() || a.is_null(), "arguments are text: {a}");
            call.arguments.push_str(a.as_str().unwrap_or(""));
        }
        if let Some(f) = c["finish_reason"].as_str() {
            assert!(self.finish.is_none(), "two terminal reasons");
            self.finish = Some(f.to_owned());
        }
    }
}

/// A request with three tools.
pub(crate) fn ask(text: &str, stream: bool) -> Value {
    let mut body = json!({
        "model": "m",
        "messages": [
            { "role": "system", "content": "You are a careful assistant." },
            { "role": "user", "content": text }
        ],
        "tools": tools(),
    });
    if stream {
        body["stream"] = json!(true);
        body["stream_options"] = json!({ "include_usage": true });
    }
    body
}

pub(crate) fn tools() -> Value {
    let tool = |name: &str, key: &str| {
        json!({ "type": "function", "function": {
            "name": name,
            "description": format!("The tool {name}."),
            "parameters": {
                "type": "object",
                "properties": { key: { "type": "string" } },
                "required": [key],
                "additionalProperties": false
            }
        }})
    };
    json!([
        tool("read_file", "path"),
        tool("get_weather", "city"),
        tool("web_search", "query")
    ])
}
