//! `GET /v1/models`: what all backends serve, as `backend/slot`; and whether any of them answers.

use std::sync::Arc;
use std::time::Duration;

use axum::extract::State as Ext;
use axum::response::Response;
use bytes::Bytes;
use futures_util::future::join_all;
use http::{HeaderMap, Method, StatusCode};
use kilter_wire::RawObject;
use kilter_wire::json::{elements, encode, member};

use crate::backend::Backend;
use crate::server::json;
use crate::state::State;
use crate::upstream;

/// Longest wait for one backend's list.
const WAIT: Duration = Duration::from_secs(5);
/// Largest list that is read.
const LIST_BYTES: u64 = 8 << 20;

/// All models. A backend that does not answer is named under `kilter.unreachable`.
pub async fn list(Ext(state): Ext<Arc<State>>) -> Response {
    let live = state.live.load_full();
    let lists = join_all(live.backends.iter().map(|b| async {
        let found = ask(b).await;
        (b.name().to_owned(), found)
    }))
    .await;
    let mut data = Vec::new();
    let mut unreachable = Vec::new();
    for (alias, target) in live.backends.aliases() {
        data.push(format!(
            r#"{{"id":{},"object":"model","created":0,"owned_by":{}}}"#,
            encode(alias),
            encode(target)
        ));
    }
    for (name, found) in lists {
        let Some(body) = found else {
            unreachable.push(encode(&name));
            continue;
        };
        let text = String::from_utf8_lossy(&body);
        let Some(list) = member(text.trim(), "data") else {
            unreachable.push(encode(&name));
            continue;
        };
        for raw in elements(list) {
            if let Ok(mut m) = RawObject::from_text(raw)
                && let Some(id) = m.get_str("id").map(|i| i.into_owned())
            {
                m.set_str("id", &format!("{name}/{id}"));
                data.push(m.to_text().into_owned());
            }
        }
    }
    let mut body = format!(r#"{{"object":"list","data":[{}]"#, data.join(","));
    if !unreachable.is_empty() {
        body.push_str(&format!(
            r#","kilter":{{"unreachable":[{}]}}"#,
            unreachable.join(",")
        ));
    }
    body.push('}');
    json(StatusCode::OK, body)
}

/// Ready when at least one backend answers at all.
pub async fn ready(Ext(state): Ext<Arc<State>>) -> Response {
    let live = state.live.load_full();
    let answers = join_all(live.backends.iter().map(|b| async {
        let up = tokio::time::timeout(Duration::from_secs(2), head(b)).await;
        (b.name().to_owned(), up.unwrap_or(false))
    }))
    .await;
    let any = answers.iter().any(|(_, up)| *up);
    let list: Vec<String> = answers
        .iter()
        .map(|(n, up)| format!("{}:{}", encode(n), if *up { "\"up\"" } else { "\"down\"" }))
        .collect();
    let status = if any {
        StatusCode::OK
    } else {
        StatusCode::SERVICE_UNAVAILABLE
    };
    json(
        status,
        format!(r#"{{"ready":{any},"backends":{{{}}}}}"#, list.join(",")),
    )
}

async fn head(b: &Backend) -> bool {
    let (m, u) = (Method::GET, b.models.clone());
    upstream::ask(b, m, u, &HeaderMap::new(), Bytes::new(), LIST_BYTES)
        .await
        .is_ok_and(|a| a.status.as_u16() < 500)
}

async fn ask(b: &Backend) -> Option<Bytes> {
    let all = async {
        let (m, u) = (Method::GET, b.models.clone());
        let mut a = upstream::ask(b, m, u, &HeaderMap::new(), Bytes::new(), LIST_BYTES)
            .await
            .ok()?;
        if !a.status.is_success() {
            return None;
        }
        a.body.whole(|_| {}).await.ok()
    };
    tokio::time::timeout(WAIT, all).await.ok()?
}
