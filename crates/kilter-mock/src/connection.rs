//! Connections: accept, serve, and break them when a script says so.

use std::convert::Infallible;
use std::io;
use std::net::SocketAddr;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use bytes::Bytes;
use http_body_util::{BodyExt, Limited};
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper::{Request, Response};
use hyper_util::rt::TokioIo;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinSet;

use crate::answer::Answer;
use crate::log::Outcome;
use crate::route;
use crate::server::Shared;
use crate::steps::{self, Broken, ConnectionSwitch, MockBody};

/// Largest body that is read.
const MAX_BODY: usize = 256 << 20;

/// Takes connections until it is aborted.
pub(crate) async fn accept(listener: TcpListener, shared: Arc<Shared>) {
    let mut open = JoinSet::new();
    loop {
        while open.try_join_next().is_some() {}
        match listener.accept().await {
            Ok((stream, peer)) => {
                shared.log.count(|c| c.connections += 1);
                open.spawn(serve(stream, peer, Arc::clone(&shared)));
            }
            // Out of descriptors, most likely: those in use come back.
            Err(e) => {
                tracing::warn!(error = %e, "the mock could not accept a connection");
                tokio::time::sleep(std::time::Duration::from_millis(20)).await;
            }
        }
    }
}

async fn serve(stream: TcpStream, peer: SocketAddr, shared: Arc<Shared>) {
    if let Err(e) = stream.set_nodelay(true) {
        tracing::debug!(error = %e, "no TCP_NODELAY");
    }
    let switch = Arc::new(ConnectionSwitch::default());
    let wire = Wire {
        stream,
        switch: Arc::clone(&switch),
    };
    let service = service_fn(move |request| {
        exchange(request, peer, Arc::clone(&shared), Arc::clone(&switch))
    });
    let served = http1::Builder::new()
        .serve_connection(TokioIo::new(wire), service)
        .await;
    if let Err(e) = served {
        tracing::debug!(error = %e, "a connection of the mock ended early");
    }
}

async fn exchange(
    request: Request<Incoming>,
    peer: SocketAddr,
    shared: Arc<Shared>,
    switch: Arc<ConnectionSwitch>,
) -> Result<Response<MockBody>, Broken> {
    let (head, body) = request.into_parts();
    let headers: Vec<(String, String)> = head
        .headers
        .iter()
        .map(|(k, v)| {
            (
                k.as_str().to_owned(),
                String::from_utf8_lossy(v.as_bytes()).into_owned(),
            )
        })
        .collect();
    let path = head
        .uri
        .path_and_query()
        .map_or_else(|| head.uri.path().to_owned(), ToString::to_string);
    let mut trace = shared.log.open(
        head.method.as_str().to_owned(),
        path,
        headers.clone(),
        peer.port(),
    );
    let body: Bytes = match Limited::new(body, MAX_BODY).collect().await {
        Ok(b) => b.to_bytes(),
        // The client went away while it sent, or sent too much: nobody is there to be told.
        Err(_) => return Err(Broken),
    };
    trace.body(body.clone());
    let answer = route::route(
        &shared,
        &trace,
        &head.method,
        head.uri.path(),
        headers,
        &body,
    );
    if answer.hang {
        std::future::pending::<Infallible>().await;
    }
    if answer.broken {
        trace.end(Outcome::Cut);
        return Err(Broken);
    }
    if !answer.wait.is_zero() {
        tokio::time::sleep(answer.wait).await;
    }
    trace.update(|r| r.status = answer.status);
    respond(answer, trace, switch)
}

fn respond(
    answer: Answer,
    trace: crate::log::Trace,
    switch: Arc<ConnectionSwitch>,
) -> Result<Response<MockBody>, Broken> {
    let mut response = Response::builder().status(answer.status);
    for (k, v) in &answer.headers {
        response = response.header(*k, v);
    }
    if let Some(n) = answer.length {
        response = response.header("content-length", n);
    }
    response
        .body(steps::body(answer.steps, trace, switch))
        .map_err(|_| Broken)
}

/// A socket that can be reset.
struct Wire {
    stream: TcpStream,
    switch: Arc<ConnectionSwitch>,
}

impl Drop for Wire {
    fn drop(&mut self) {
        if self.switch.wants_reset()
            && let Err(e) = self.stream.set_zero_linger()
        {
            tracing::debug!(error = %e, "the connection closes instead of being reset");
        }
    }
}

impl AsyncRead for Wire {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_read(cx, buf)
    }
}

impl AsyncWrite for Wire {
    fn poll_write(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &[u8],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.stream).poll_write(cx, buf)
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        if self.switch.wants_reset() {
            // A shutdown would send the end of the stream; a reset must come instead.
            return Poll::Ready(Ok(()));
        }
        Pin::new(&mut self.stream).poll_shutdown(cx)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bufs: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.stream).poll_write_vectored(cx, bufs)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }
}
