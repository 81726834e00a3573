//! What inspection costs: a bare hyper relay and the gateway in front of the same mock, in one run.
//!
//! Three child processes of this binary (mock, relay, gateway) on loopback; the parent asks one
//! after the other in alternating blocks and reads the scheduler's count for CPU time. Absolute figures
//! depend on the machine; the ratios and the differences are the result.
//!
//! `cargo bench --workspace --bench relay` (Linux only).
#![allow(
    missing_docs,
    clippy::print_stdout,
    clippy::unwrap_used,
    clippy::expect_used
)]

use std::convert::Infallible;
use std::io::{BufRead, BufReader};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use bytes::Bytes;
use http::{Request, Response, header};
use http_body::Frame;
use http_body_util::{BodyExt, Full, StreamBody, combinators::UnsyncBoxBody};
use hyper::body::Incoming;
use hyper::service::service_fn;
use hyper_util::client::legacy::Client;
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::rt::{TokioExecutor, TokioIo};
use kilter_core::{Clock, SystemClock};
use kilter_gateway::{Config, Deps, Gateway};
use tokio::net::TcpListener;

const BLOCKS: usize = 25;
const JSON_BLOCK: usize = 250;
const STREAM_BLOCK: usize = 60;
const EVENTS: usize = 54;

type Pool = Client<HttpConnector, Full<Bytes>>;

fn main() {
    let role = std::env::args().nth(1).unwrap_or_default();
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(if role.starts_with("--") || role.is_empty() {
            1
        } else {
            2
        })
        .enable_all()
        .build()
        .unwrap();
    match role.as_str() {
        "mock" => runtime.block_on(mock()),
        "relay" => runtime.block_on(relay(std::env::args().nth(2).unwrap())),
        "gateway" => runtime.block_on(gateway(std::env::args().nth(2).unwrap())),
        _ => runtime.block_on(measure()),
    }
}

fn pool() -> Pool {
    let mut tcp = HttpConnector::new();
    tcp.set_nodelay(true);
    Client::builder(TokioExecutor::new()).build(tcp)
}

async fn serve<F, R, B>(answer: F)
where
    F: Fn(Request<Incoming>) -> R + Clone + Send + Sync + 'static,
    R: Future<Output = Result<Response<B>, Infallible>> + Send + 'static,
    B: http_body::Body<Data = Bytes> + Send + 'static,
    B::Error: std::error::Error + Send + Sync,
{
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    println!("{}", listener.local_addr().unwrap());
    loop {
        let (s, _) = listener.accept().await.unwrap();
        s.set_nodelay(true).unwrap();
        let answer = answer.clone();
        tokio::spawn(async move {
            hyper::server::conn::http1::Builder::new()
                .serve_connection(TokioIo::new(s), service_fn(answer))
                .await
                .ok();
        });
    }
}

/// Fifty words and the usage that a real server adds.
fn whole() -> Bytes {
    let text = "word ".repeat(50);
    format!(r#"{{"id":"chatcmpl-1","object":"chat.completion","created":1,"model":"m","choices":[{{"index":0,"message":{{"role":"assistant","content":"{text}"}},"finish_reason":"stop"}}],"usage":{{"prompt_tokens":80,"completion_tokens":50,"total_tokens":130}}}}"#).into()
}

fn events() -> Vec<Bytes> {
    let chunk = |delta: &str, finish: &str| {
        Bytes::from(format!(
            "data: {{\"id\":\"chatcmpl-1\",\"object\":\"chat.completion.chunk\",\"created\":1,\"model\":\"m\",\"choices\":[{{\"index\":0,\"delta\":{delta},\"finish_reason\":{finish}}}]}}\n\n"
        ))
    };
    let mut out = vec![chunk(r#"{"role":"assistant","content":""}"#, "null")];
    out.extend((0..EVENTS - 4).map(|i| chunk(&format!(r#"{{"content":"word{i} "}}"#), "null")));
    out.push(chunk("{}", "\"stop\""));
    out.push(Bytes::from_static(b"data: {\"id\":\"chatcmpl-1\",\"object\":\"chat.completion.chunk\",\"created\":1,\"model\":\"m\",\"choices\":[],\"usage\":{\"prompt_tokens\":80,\"completion_tokens\":50,\"total_tokens\":130}}\n\n"));
    out.push(Bytes::from_static(b"data: [DONE]\n\n"));
    assert_eq!(out.len(), EVENTS);
    out
}

async fn mock() {
    let (whole, events) = (whole(), events());
    serve(move |req: Request<Incoming>| {
        let (whole, events) = (whole.clone(), events.clone());
        async move {
            let body = req.into_body().collect().await.unwrap().to_bytes();
            let streams = memchr::memmem::find(&body, b"\"stream\":true").is_some();
            let (kind, body): (_, UnsyncBoxBody<Bytes, Infallible>) = if streams {
                let frames =
                    futures_util::stream::unfold(events.into_iter(), |mut it| async move {
                        let e = it.next()?;
                        // Every event is a write of its own, as a model's tokens are.
                        tokio::task::yield_now().await;
                        Some((Ok(Frame::data(e)), it))
                    });
                (
                    "text/event-stream",
                    StreamBody::new(Box::pin(frames)).boxed_unsync(),
                )
            } else {
                ("application/json", Full::new(whole).boxed_unsync())
            };
            let mut r = Response::new(body);
            r.headers_mut()
                .insert(header::CONTENT_TYPE, kind.parse().unwrap());
            Ok(r)
        }
    })
    .await;
}

async fn relay(upstream: String) {
    let pool = pool();
    serve(move |req: Request<Incoming>| {
        let (pool, upstream) = (pool.clone(), upstream.clone());
        async move {
            let body = req.into_body().collect().await.unwrap().to_bytes();
            let value: serde_json::Value = serde_json::from_slice(&body).unwrap();
            assert!(value["model"].is_string());
            let next = Request::post(format!("http://{upstream}/v1/chat/completions"))
                .header(header::CONTENT_TYPE, "application/json")
                .body(Full::new(body))
                .unwrap();
            let answer = pool.request(next).await.unwrap();
            let kind = answer.headers()[header::CONTENT_TYPE].clone();
            let mut r = Response::new(answer.into_body());
            r.headers_mut().insert(header::CONTENT_TYPE, kind);
            Ok::<_, Infallible>(r)
        }
    })
    .await;
}

async fn gateway(upstream: String) {
    let mut config = Config::with_backend("up", &format!("http://{upstream}/v1"));
    config.gateway.bind = "127.0.0.1:0".into();
    config.state.dir = std::env::args().nth(3).map(Into::into);
    let mut g = Gateway::start(config, Deps::default()).await.unwrap();
    println!("{}", g.addr());
    g.closed().await;
}

struct Role {
    name: &'static str,
    child: Child,
    addr: String,
}

impl Role {
    fn start(name: &'static str, args: &[&str]) -> Self {
        let mut child = Command::new(std::env::current_exe().unwrap())
            .arg(name)
            .args(args)
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut line = String::new();
        BufReader::new(child.stdout.take().unwrap())
            .read_line(&mut line)
            .unwrap();
        Self {
            name,
            child,
            addr: line.trim().to_owned(),
        }
    }

    /// CPU time of all its threads so far, in microseconds. The scheduler's own count: `stat` has ticks of 10 ms only.
    fn cpu(&self) -> f64 {
        std::fs::read_dir(format!("/proc/{}/task", self.child.id()))
            .unwrap()
            .map(|t| {
                let text = std::fs::read_to_string(t.unwrap().path().join("schedstat")).unwrap();
                let ns: u64 = text.split_whitespace().next().unwrap().parse().unwrap();
                ns as f64 / 1000.0
            })
            .sum()
    }

    fn rss_mb(&self) -> f64 {
        let status = std::fs::read_to_string(format!("/proc/{}/status", self.child.id())).unwrap();
        let line = status.lines().find(|l| l.starts_with("VmRSS")).unwrap();
        line.split_whitespace()
            .nth(1)
            .unwrap()
            .parse::<f64>()
            .unwrap()
            / 1024.0
    }
}

impl Drop for Role {
    fn drop(&mut self) {
        self.child.kill().ok();
        self.child.wait().ok();
    }
}

#[derive(Default)]
struct Figures {
    total: Vec<Duration>,
    first: Vec<Duration>,
    /// Per request, one for each block.
    cpu: Vec<f64>,
}

fn p50(v: &mut [Duration]) -> f64 {
    v.sort();
    v[v.len() / 2].as_secs_f64() * 1000.0
}

fn median(v: &[f64]) -> f64 {
    let mut v = v.to_vec();
    v.sort_by(f64::total_cmp);
    v[v.len() / 2]
}

async fn block(
    clock: &SystemClock,
    pool: &Pool,
    role: &Role,
    stream: bool,
    n: usize,
    f: &mut Figures,
) {
    let body = format!(
        r#"{{"model":"m","messages":[{{"role":"system","content":"You are a careful assistant."}},{{"role":"user","content":"Say fifty words about rivers."}}],"tools":[{{"type":"function","function":{{"name":"read_file","description":"Reads a file.","parameters":{{"type":"object","properties":{{"path":{{"type":"string"}}}},"required":["path"]}}}}}}],"stream":{stream}}}"#
    );
    let body = Bytes::from(body);
    let before = role.cpu();
    for _ in 0..n {
        let start = clock.elapsed();
        let req = Request::post(format!("http://{}/v1/chat/completions", role.addr))
            .header(header::CONTENT_TYPE, "application/json")
            .body(Full::new(body.clone()))
            .unwrap();
        let answer = pool.request(req).await.unwrap();
        assert!(answer.status().is_success());
        let mut body = answer.into_body();
        let mut first = None;
        let mut bytes = 0;
        while let Some(frame) = body.frame().await {
            first.get_or_insert_with(|| clock.elapsed() - start);
            bytes += frame.unwrap().into_data().map_or(0, |d| d.len());
        }
        assert!(bytes > 300);
        f.total.push(clock.elapsed() - start);
        f.first.push(first.unwrap());
    }
    f.cpu.push((role.cpu() - before) / n as f64);
}

async fn measure() {
    let clock = SystemClock::default();
    let state = tempfile::tempdir().unwrap();
    let mock = Role::start("mock", &[]);
    let relay = Role::start("relay", &[&mock.addr]);
    let gateway = Role::start("gateway", &[&mock.addr, state.path().to_str().unwrap()]);
    let idle = gateway.rss_mb();
    let pool = pool();
    let roles = [&mock, &relay, &gateway];
    for (stream, n) in [(false, JSON_BLOCK), (true, STREAM_BLOCK)] {
        let mut figures: [Figures; 3] = Default::default();
        for round in 0..=BLOCKS {
            for (role, f) in roles.iter().zip(&mut figures) {
                let mut warm = Figures::default();
                let into = if round == 0 { &mut warm } else { &mut *f };
                block(&clock, &pool, role, stream, n, into).await;
            }
        }
        println!(
            "\n{}",
            if stream {
                "stream of 54 events, one client"
            } else {
                "whole body, one client"
            }
        );
        println!(
            "{:<10}{:>14}{:>14}{:>14}",
            "", "p50 total ms", "p50 first ms", "CPU us each"
        );
        let mut rows = Vec::new();
        for (role, f) in roles.iter().zip(&mut figures) {
            let row = (p50(&mut f.total), p50(&mut f.first), median(&f.cpu));
            println!(
                "{:<10}{:>14.3}{:>14.3}{:>14.1}",
                role.name, row.0, row.1, row.2
            );
            rows.push(row);
        }
        let (r, g) = (rows[1], rows[2]);
        println!(
            "gateway against relay: total {:+.3} ms ({:.2}x), first {:.2}x, CPU {:.2}x",
            g.0 - r.0,
            g.0 / r.0,
            g.1 / r.1,
            g.2 / r.2
        );
        // Blocks stand next to each other in time: what disturbs one disturbs its neighbour, too.
        let [_, relay, gateway] = &figures;
        let mut added: Vec<f64> = gateway
            .cpu
            .iter()
            .zip(&relay.cpu)
            .map(|(g, r)| g - r)
            .collect();
        added.sort_by(f64::total_cmp);
        println!(
            "CPU added, over {} pairs of blocks: median {:.0} us, from {:.0} to {:.0}",
            added.len(),
            median(&added),
            added[0],
            added[added.len() - 1]
        );
    }
    println!(
        "\nRSS of the gateway: {idle:.1} MB idle, {:.1} MB after (relay {:.1} MB)",
        gateway.rss_mb(),
        relay.rss_mb()
    );
}
