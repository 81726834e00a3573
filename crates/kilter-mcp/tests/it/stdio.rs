//! One client over a pair of streams, in both eras.

use kilter_mcp::link::handler::Handler;
use kilter_mcp::link::stdio::serve_over;
use kilter_mcp::{Config, Surface};
use serde_json::{Value, json};
use tokio::io::{
    AsyncBufReadExt as _, AsyncWriteExt as _, BufReader, DuplexStream, ReadHalf, WriteHalf,
};

use crate::bench::{Bench, bench};
use crate::raw::{initialize, names, new_era};

struct Client {
    input: WriteHalf<DuplexStream>,
    output: BufReader<ReadHalf<DuplexStream>>,
    _bench: Bench,
}

impl Client {
    async fn open(config: Config) -> Self {
        let bench = bench(config).await;
        let (ours, theirs) = tokio::io::duplex(1 << 20);
        let (read, write) = tokio::io::split(theirs);
        let handler = Handler::new(bench.server.clone(), bench.server.config().surface);
        tokio::spawn(async move { serve_over(handler, read, write).await });
        let (output, input) = tokio::io::split(ours);
        Self {
            input,
            output: BufReader::new(output),
            _bench: bench,
        }
    }

    async fn say(&mut self, message: &Value) {
        let line = format!("{message}\n");
        self.input.write_all(line.as_bytes()).await.expect("write");
    }

    async fn hear(&mut self) -> Value {
        let mut line = String::new();
        let read = self.output.read_line(&mut line);
        tokio::time::timeout(std::time::Duration::from_secs(10), read)
            .await
            .expect("an answer")
            .expect("read");
        serde_json::from_str(&line).expect("JSON")
    }

    async fn ask(&mut self, message: Value) -> Value {
        self.say(&message).await;
        self.hear().await
    }
}

#[tokio::test]
async fn the_older_era_over_streams() {
    let mut client = Client::open(Config::default()).await;
    let opened = client.ask(initialize(0)).await;
    assert_eq!(opened["result"]["protocolVersion"], "2025-11-25");
    client
        .say(&json!({"jsonrpc": "2.0", "method": "notifications/initialized"}))
        .await;
    let list = client
        .ask(json!({"jsonrpc": "2.0", "id": 1, "method": "tools/list"}))
        .await;
    assert_eq!(names(&list["result"]).len(), 11);
    let call = json!({"name": "occam_client_capabilities", "arguments": {"profile": "minimal"}});
    client
        .say(&json!({"jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": call}))
        .await;
    let (a, b) = (client.hear().await, client.hear().await);
    let told = [&a, &b]
        .iter()
        .any(|m| m["method"] == "notifications/tools/list_changed");
    assert!(told, "{a} {b}");
    let wrong = json!({"jsonrpc": "2.0", "id": 3, "method": "tools/call", "params": {"name": "occam", "arguments": 5}});
    let wrong = client.ask(wrong).await;
    assert_eq!(wrong["result"]["isError"], true, "{wrong}");
}

#[tokio::test]
async fn the_newer_era_over_streams() {
    let config = Config {
        surface: Surface::Basic,
        ..Config::default()
    };
    let mut client = Client::open(config).await;
    let found = client.ask(new_era(1, "server/discover", json!({}))).await;
    assert!(found["result"]["instructions"].is_string(), "{found}");
    let list = client.ask(new_era(2, "tools/list", json!({}))).await;
    assert_eq!(
        names(&list["result"]),
        ["occam", "occam_digest", "occam_search"]
    );
    let call = json!({"name": "occam_search", "arguments": {"query": "x"}});
    let result = client.ask(new_era(3, "tools/call", call)).await;
    assert_eq!(
        result["result"]["structuredContent"]["failure"]["code"],
        "search_unconfigured"
    );
}
