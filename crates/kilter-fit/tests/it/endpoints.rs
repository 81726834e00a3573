//! Endpoints that are no model: gone, silent, talking something else, talking for ever.

use std::sync::Arc;
use std::time::Duration;

use kilter_core::SystemClock;
use kilter_fit::FitError;
use kilter_fit::card::BehaviorCard;
use kilter_fit::run::{Goal, Limits, Unwatched, fit};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpListener;

async fn fitted(url: String) -> Result<BehaviorCard, FitError> {
    let goal = Goal {
        url,
        model: None,
        key: None,
        backend: "x".into(),
        script: false,
    };
    let limits = Limits {
        requests: 24,
        total: Duration::from_secs(20),
        request: Duration::from_secs(5),
        ..Limits::default()
    };
    let (_keep, stop) = tokio::sync::watch::channel(false);
    fit(
        goal,
        limits,
        Arc::new(SystemClock::default()),
        &Unwatched,
        stop,
    )
    .await
}

/// A server that answers everything with the same bytes, again and again where `endless`.
async fn saying(answer: &'static [u8], endless: bool) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let addr = listener.local_addr().unwrap();
    tokio::spawn(async move {
        while let Ok((mut socket, _)) = listener.accept().await {
            tokio::spawn(async move {
                let mut request = [0; 65536];
                let _ = socket.read(&mut request).await;
                let _ = socket.write_all(answer).await;
                while endless && socket.write_all(&[b'x'; 65536]).await.is_ok() {}
                let _ = socket.shutdown().await;
            });
        }
    });
    format!("http://{addr}/v1")
}

#[tokio::test]
async fn nothing_listens() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}/v1", listener.local_addr().unwrap());
    drop(listener);
    let error = fitted(url.clone()).await.unwrap_err();
    assert_eq!(
        error.to_string(),
        format!("nothing answers at `{url}`: connection refused")
    );
    assert!(error.hint().contains("kilter doctor"));
}

#[tokio::test]
async fn a_web_page_is_no_api() {
    let url = saying(
        b"HTTP/1.1 200 OK\r\ncontent-type: text/html\r\ncontent-length: 15\r\nconnection: close\r\n\r\n<html>hi</html>",
        false,
    )
    .await;
    let error = fitted(url).await.unwrap_err();
    assert!(matches!(error, FitError::NotAnApi { .. }), "{error}");
    assert!(error.to_string().contains("`<html>hi</html>`"), "{error}");
}

#[tokio::test]
async fn an_endless_answer_ends() {
    let url = saying(
        b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\nconnection: close\r\n\r\ndata: ",
        true,
    )
    .await;
    let error = fitted(url).await.unwrap_err();
    assert!(matches!(error, FitError::NotAnApi { .. }), "{error}");
}

#[tokio::test]
async fn a_key_that_is_wanted_is_asked_for() {
    let url = saying(
        b"HTTP/1.1 401 Unauthorized\r\ncontent-length: 0\r\nconnection: close\r\n\r\n",
        false,
    )
    .await;
    let error = fitted(url).await.unwrap_err();
    assert!(
        matches!(error, FitError::Refused { status: 401, .. }),
        "{error}"
    );
    assert!(error.hint().contains("--api-key env:NAME"));
}
