//! A site on loopback: articles, a page that is slow, one that is gone, one that changes.

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use axum::Router;
use axum::extract::{Path, State};
use axum::response::Html;
use axum::routing::get;
use http::StatusCode;

/// What the site counted.
#[derive(Default)]
pub(crate) struct Site {
    pub(crate) edition: AtomicU64,
    pub(crate) slow_ended: AtomicU64,
    pub(crate) slow_began: AtomicU64,
}

pub(crate) struct Open {
    pub(crate) address: SocketAddr,
    pub(crate) site: Arc<Site>,
}

impl Open {
    pub(crate) fn url(&self, path: &str) -> String {
        format!("http://{}{path}", self.address)
    }
}

fn article(number: u64, extra: &str) -> String {
    format!(
        "<!doctype html><html lang=en><head><title>Article {number}</title></head><body>\
         <nav><a href=/>home</a> <a href=/about>about</a></nav><main><article><h1>Article {number}</h1>\
         <p>The harbour of town number {number} was built of granite blocks that were carried over the hills by oxen, \
         and it took the builders fourteen years to finish the outer wall.</p>\
         <h2>Opening hours</h2><p>The lighthouse of the harbour is open from nine to five on working days, and from ten \
         to four on Sundays, except when the wind is stronger than force eight.</p>\
         <h2>Tides</h2><table><tr><th>Day</th><th>High</th></tr><tr><td>Monday</td><td>06:12</td></tr>\
         <tr><td>Tuesday</td><td>07:03</td></tr></table>\
         <p>Further reading: <a href=/article/{next}>the next article</a>. {extra}</p></article></main>\
         <footer>imprint and terms</footer></body></html>",
        next = number + 1
    )
}

pub(crate) async fn open() -> Open {
    let site = Arc::new(Site::default());
    let router = Router::new()
        .route(
            "/article/{number}",
            get(|Path(number): Path<u64>| async move { Html(article(number, "")) }),
        )
        .route(
            "/changing",
            get(|State(s): State<Arc<Site>>| async move {
                let edition = s.edition.load(Ordering::Relaxed);
                Html(article(
                    1,
                    &format!("This is edition {edition} of the page."),
                ))
            }),
        )
        .route(
            "/slow",
            get(|State(s): State<Arc<Site>>| async move {
                s.slow_began.fetch_add(1, Ordering::Relaxed);
                tokio::time::sleep(Duration::from_secs(20)).await;
                s.slow_ended.fetch_add(1, Ordering::Relaxed);
                Html(article(9, ""))
            }),
        )
        .route("/gone", get(|| async { StatusCode::GONE }))
        .route(
            "/",
            get(|| async {
                let links: String = (1..=12)
                    .map(|i| format!("<li><a href=/article/{i}>Article {i} on harbours</a></li>"))
                    .collect();
                Html(format!(
                    "<title>Harbours</title><main><ul>{links}</ul></main>"
                ))
            }),
        )
        .with_state(site.clone());
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0")
        .await
        .expect("a port");
    let address = listener.local_addr().expect("an address");
    tokio::spawn(async move { axum::serve(listener, router).await });
    Open { address, site }
}
