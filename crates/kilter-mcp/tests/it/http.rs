//! Raw transcripts over real sockets, in both eras.

use std::time::Duration;

use kilter_mcp::link::gate::Tokens;
use kilter_mcp::link::http::{Options, Served, serve};
use kilter_mcp::link::sessions::Keeping;
use kilter_mcp::{Config, Surface};
use serde_json::json;
use tokio::net::TcpStream;

use crate::bench::{Bench, bench};
use crate::raw::{OldSession, ask_new, initialize, names, read_until, send, write};

async fn served(config: Config, options: &Options) -> (Bench, Served) {
    let bench = bench(config).await;
    let at = "127.0.0.1:0".parse().expect("an address");
    let served = serve(&bench.server, at, options).await.expect("a port");
    (bench, served)
}

#[tokio::test]
async fn an_old_session_lists_calls_and_ends() {
    let (_bench, served) = served(Config::default(), &Options::default()).await;
    let mut session = OldSession::open(served.address(), "/mcp").await;
    assert_eq!(session.opened["protocolVersion"], "2025-11-25");
    assert_eq!(session.opened["serverInfo"]["name"], "kilter");
    assert_eq!(session.opened["capabilities"]["tools"]["listChanged"], true);
    assert_eq!(session.tools().await.len(), 11);
    let result = session
        .call("occam_client_capabilities", json!({"context_tokens": 8192}))
        .await;
    assert_eq!(result["structuredContent"]["outputBudgetTokens"], 1638);
    let text = result["content"][0]["text"].as_str().expect("text");
    let same: serde_json::Value = serde_json::from_str(text).expect("JSON");
    assert_eq!(same, result["structuredContent"]);
    // The older era knows no kind of result.
    assert!(result.get("resultType").is_none(), "{result}");
    let again = session.call("occam_client_capabilities", json!({})).await;
    assert_eq!(again["structuredContent"]["contextTokens"], 8192);
    let ended = send(served.address(), "DELETE", "/mcp", &session.headers(), "").await;
    assert!(ended.status < 300, "{ended:?}");
    let gone = session.ask("tools/list", json!({})).await;
    assert_eq!(gone.status, 404);
    served.shutdown().await;
}

#[tokio::test]
async fn a_new_request_stands_alone() {
    let (_bench, served) = served(Config::default(), &Options::default()).await;
    let to = served.address();
    let found = ask_new(to, "/mcp", "server/discover", json!({}))
        .await
        .result();
    let versions = found["supportedVersions"].as_array().expect("versions");
    assert!(versions.contains(&json!("2026-07-28")) && versions.contains(&json!("2025-11-25")));
    assert_eq!(found["capabilities"]["tools"]["listChanged"], false);
    let list = ask_new(to, "/mcp", "tools/list", json!({})).await;
    assert!(list.header("mcp-session-id").is_none());
    assert_eq!(names(&list.result()).len(), 11);
    assert!(list.result()["ttlMs"].as_u64().is_some_and(|t| t > 0));
    let call = json!({"name": "occam_client_capabilities", "arguments": {"context_tokens": 8192}});
    let result = ask_new(to, "/mcp", "tools/call", call).await.result();
    assert_eq!(result["structuredContent"]["configured"], false);
    assert!(
        result["structuredContent"]["note"]
            .as_str()
            .is_some_and(|n| n.contains("max_tokens")),
        "{result}"
    );
    served.shutdown().await;
}

#[tokio::test]
async fn each_surface_has_its_endpoint_and_its_list_never_changes() {
    let (_bench, served) = served(Config::default(), &Options::default()).await;
    let to = served.address();
    for (surface, n) in Surface::ALL.into_iter().zip([1, 3, 11, 12, 15, 18]) {
        let first = ask_new(to, &surface.path(), "tools/list", json!({})).await;
        assert_eq!(names(&first.result()).len(), n, "{surface}");
        // A call in between changes nothing of what others see.
        let call = json!({"name": "occam_client_capabilities", "arguments": {"profile": "full"}});
        ask_new(to, &surface.path(), "tools/call", call).await;
        let second = ask_new(to, &surface.path(), "tools/list", json!({})).await;
        assert_eq!(first.result_text(), second.result_text(), "{surface}");
        let mut old = OldSession::open(to, &surface.path()).await;
        assert_eq!(old.tools().await.len(), n, "{surface}");
    }
    served.shutdown().await;
}

#[tokio::test]
async fn an_old_session_changes_its_surface_and_is_told() {
    let (_bench, served) = served(Config::default(), &Options::default()).await;
    let to = served.address();
    let mut session = OldSession::open(to, "/mcp").await;
    let mut other = OldSession::open(to, "/mcp").await;
    assert_eq!(session.tools().await.len(), 11);
    let mut stream = TcpStream::connect(to).await.expect("connect");
    write(&mut stream, to, "GET", "/mcp", &session.headers(), "").await;
    read_until(&mut stream, "200 OK").await;
    let switched = session
        .call("occam_client_capabilities", json!({"profile": "basic"}))
        .await;
    assert_eq!(switched["structuredContent"]["applied"], true);
    read_until(&mut stream, "notifications/tools/list_changed").await;
    // The tool that leads back stays.
    assert_eq!(
        session.tools().await,
        [
            "occam_client_capabilities",
            "occam",
            "occam_digest",
            "occam_search"
        ]
    );
    let hidden = session
        .call("occam_map", json!({"url": "https://a.example/"}))
        .await;
    assert_eq!(hidden["isError"], true);
    assert_eq!(
        hidden["structuredContent"]["failure"]["code"],
        "tool_not_listed"
    );
    assert!(
        hidden["structuredContent"]["failure"]["message"]
            .as_str()
            .is_some_and(|m| m.contains("no longer shown")),
        "{hidden}"
    );
    session
        .call("occam_client_capabilities", json!({"profile": "full"}))
        .await;
    assert_eq!(session.tools().await.len(), 18);
    assert_eq!(other.tools().await.len(), 11);
    served.shutdown().await;
}

#[tokio::test]
async fn a_locked_server_keeps_its_surface() {
    let config = Config {
        locked: true,
        ..Config::default()
    };
    let (_bench, served) = served(config, &Options::default()).await;
    let mut session = OldSession::open(served.address(), "/mcp").await;
    assert_eq!(
        session.opened["capabilities"]["tools"]["listChanged"],
        false
    );
    let asked = session
        .call("occam_client_capabilities", json!({"profile": "full"}))
        .await;
    assert_eq!(asked["structuredContent"]["applied"], false);
    assert_eq!(session.tools().await.len(), 11);
    served.shutdown().await;
}

#[tokio::test]
async fn an_idle_session_is_kept_as_long_as_configured() {
    let options = Options {
        keeping: Keeping {
            idle: Duration::from_millis(1_500),
            most: 8,
        },
        ..Options::default()
    };
    let (_bench, served) = served(Config::default(), &options).await;
    let mut session = OldSession::open(served.address(), "/mcp").await;
    session
        .call("occam_client_capabilities", json!({"profile": "auditor"}))
        .await;
    tokio::time::sleep(Duration::from_millis(700)).await;
    assert_eq!(
        session.tools().await.len(),
        15,
        "kept while it is not idle for long"
    );
    tokio::time::sleep(Duration::from_millis(3_000)).await;
    assert_eq!(session.ask("tools/list", json!({})).await.status, 404);
    served.shutdown().await;
}

#[tokio::test]
async fn there_are_only_as_many_sessions_as_allowed() {
    let options = Options {
        keeping: Keeping {
            most: 2,
            ..Keeping::default()
        },
        ..Options::default()
    };
    let (_bench, served) = served(Config::default(), &options).await;
    let to = served.address();
    let first = OldSession::open(to, "/mcp").await;
    let _second = OldSession::open(to, "/mcp/full").await;
    let refused = send(to, "POST", "/mcp", &[], &initialize(0).to_string()).await;
    assert_eq!(refused.status, 503, "{refused:?}");
    // The newer era begins none, and is served.
    assert_eq!(
        ask_new(to, "/mcp", "tools/list", json!({})).await.status,
        200
    );
    send(to, "DELETE", "/mcp", &first.headers(), "").await;
    let third = send(to, "POST", "/mcp", &[], &initialize(0).to_string()).await;
    assert_eq!(third.status, 200, "{third:?}");
    served.shutdown().await;
}

#[tokio::test]
async fn hosts_origins_and_bearers_are_checked() {
    let options = Options {
        tokens: Tokens(vec!["s3cret-one".into(), "s3cret-two".into()]),
        hosts: vec!["reader.example".into()],
        ..Options::default()
    };
    let (_bench, served) = served(Config::default(), &options).await;
    let to = served.address();
    let body = initialize(0).to_string();
    let bearer = ("authorization", "Bearer s3cret-two");
    let post = |headers: Vec<(&'static str, &'static str)>| {
        let body = body.clone();
        async move { send(to, "POST", "/mcp", &headers, &body).await.status }
    };
    assert_eq!(post(vec![bearer]).await, 200);
    assert_eq!(post(vec![]).await, 401);
    assert_eq!(post(vec![("authorization", "Bearer s3cret")]).await, 401);
    assert_eq!(post(vec![("authorization", "Basic s3cret-two")]).await, 401);
    assert_eq!(post(vec![bearer, ("host", "reader.example:80")]).await, 200);
    assert_eq!(post(vec![bearer, ("host", "evil.example")]).await, 403);
    assert_eq!(
        post(vec![bearer, ("host", "127.0.0.1.evil.example")]).await,
        403
    );
    assert_eq!(
        post(vec![bearer, ("origin", "http://localhost:3000")]).await,
        200
    );
    assert_eq!(
        post(vec![bearer, ("origin", "https://evil.example")]).await,
        403
    );
    assert_eq!(post(vec![bearer, ("origin", "null")]).await, 403);
    served.shutdown().await;
}

#[tokio::test]
async fn off_loopback_a_token_is_needed() {
    let bench = bench(Config::default()).await;
    let at = "0.0.0.0:0".parse().expect("an address");
    let refused = serve(&bench.server, at, &Options::default()).await;
    let words = refused.expect_err("refused").to_string();
    assert!(words.contains("hint: set `KILTER_MCP_TOKEN`"), "{words}");
}

#[tokio::test]
async fn malformed_calls_are_tool_results_over_the_wire_too() {
    let (_bench, served) = served(Config::default(), &Options::default()).await;
    let mut session = OldSession::open(served.address(), "/mcp").await;
    for params in [
        json!({"name": "occam", "arguments": [1]}),
        json!({"name": "occam", "arguments": "https://a.example/"}),
        json!({"name": "occam", "arguments": null}),
        json!({"name": "occam"}),
        json!({"name": 7, "arguments": {}}),
        json!({"arguments": {}}),
        json!({"name": "no_such_tool", "arguments": {}}),
    ] {
        let result = session.ask("tools/call", params.clone()).await.result();
        assert_eq!(result["isError"], true, "{params} {result}");
        let failure = &result["structuredContent"]["failure"];
        assert!(failure["code"].is_string(), "{params} {result}");
        assert!(
            failure["message"]
                .as_str()
                .is_some_and(|m| m.contains("\nhint: ")),
            "{params} {result}"
        );
        let new = ask_new(served.address(), "/mcp", "tools/call", params.clone()).await;
        if let Some(name) = params["name"].as_str() {
            assert_eq!(new.result()["isError"], true, "{name} {new:?}");
        }
    }
    served.shutdown().await;
}
