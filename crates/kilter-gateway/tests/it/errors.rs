//! Everything that goes wrong is a typed error that says what to do next.

use http::StatusCode;
use kilter_gateway::config::{ClientKey, Config};
use kilter_gateway::{Deps, Gateway, StartError};
use serde_json::json;

use crate::client::{ask, config, gateway, post, send, start};
use crate::raw::{Raw, Script, Step, whole};

fn shaped(got: &crate::client::Got, status: u16, code: &str) {
    assert_eq!(got.status, status, "{}", got.text());
    let e = &got.json()["error"];
    assert_eq!(e["code"], code, "{e}");
    for key in ["message", "type"] {
        assert!(e[key].is_string(), "{e}");
    }
    assert!(e["message"].as_str().unwrap().contains("hint: "), "{e}");
    assert!(e.get("param").is_some());
}

#[tokio::test]
async fn wrong_paths_methods_and_bodies() {
    let g = gateway("http://127.0.0.1:9/v1").await;
    let base = format!("http://{}", g.addr());
    shaped(
        &send("POST", &format!("{base}/v1/nothing"), "{}".into(), &[]).await,
        404,
        "not_found",
    );
    shaped(
        &send(
            "GET",
            &format!("{base}/v1/chat/completions"),
            "".into(),
            &[],
        )
        .await,
        405,
        "method_not_allowed",
    );
    shaped(
        &send("POST", &format!("{base}/healthz"), "".into(), &[]).await,
        405,
        "method_not_allowed",
    );
    let chat = format!("{base}/v1/chat/completions");
    shaped(
        &send("POST", &chat, "not json".into(), &[]).await,
        400,
        "bad_json",
    );
    shaped(
        &send("POST", &chat, "[1]".into(), &[]).await,
        400,
        "bad_json",
    );
    shaped(
        &send("POST", &chat, "{\"messages\":[]}".into(), &[]).await,
        400,
        "bad_field",
    );
    shaped(
        &send("POST", &chat, "{\"model\":\"m\"}".into(), &[]).await,
        400,
        "bad_field",
    );
    shaped(
        &post(&g, &ask("x", false), &[("x-kilter-adapt", "maybe")]).await,
        400,
        "bad_header",
    );
    shaped(
        &post(&g, &ask("x", false), &[("x-kilter-session", "")]).await,
        400,
        "bad_header",
    );
}

#[tokio::test]
async fn unknown_models_name_the_backends() {
    let mut c = config("http://127.0.0.1:9/v1");
    c.backends.push(kilter_gateway::config::Backend::new(
        "other",
        "http://127.0.0.1:9/v1",
    ));
    let g = start(c).await;
    let got = post(&g, &ask("x", false), &[]).await;
    shaped(&got, 404, "model_not_found");
    assert!(got.text().contains("`other/"), "{}", got.text());
}

#[tokio::test]
async fn an_unreachable_backend() {
    let free = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}/v1", free.local_addr().unwrap());
    drop(free);
    let g = gateway(&url).await;
    for stream in [false, true] {
        for adapt in ["off", "on"] {
            let got = post(&g, &ask("x", stream), &[("x-kilter-adapt", adapt)]).await;
            shaped(&got, 502, "upstream_unreachable");
            assert!(got.text().contains(&url));
        }
    }
}

#[tokio::test]
async fn an_answer_that_is_no_json() {
    let html = Script {
        status: 200,
        content_type: "text/html",
        before_head: 0,
        steps: vec![Step::Bytes(b"<html>It works!</html>".to_vec())],
    };
    let up = Raw::serve(vec![html]).await;
    let got = post(&gateway(&up.url()).await, &ask("x", false), &[]).await;
    shaped(&got, 502, "upstream_bad_body");
    let up = Raw::serve(vec![whole(200, &json!({ "object": "list" }))]).await;
    let got = post(&gateway(&up.url()).await, &ask("x", false), &[]).await;
    shaped(&got, 502, "upstream_bad_body");
}

#[tokio::test]
async fn an_error_with_status_200_gets_a_status() {
    let up = Raw::serve(vec![whole(
        200,
        &json!({ "error": { "message": "no capacity", "code": 503 } }),
    )])
    .await;
    let got = post(&gateway(&up.url()).await, &ask("x", false), &[]).await;
    assert_eq!(got.status, 503, "{}", got.text());
    assert_eq!(got.json()["error"]["message"], "no capacity");
}

#[tokio::test]
async fn refusals_in_any_shape_leave_in_the_apis_own() {
    for (status, body, words) in [
        (
            422,
            json!({ "detail": [{ "type": "missing", "loc": ["body", "messages", 0, "content"], "msg": "Field required" }] }),
            "Field required",
        ),
        (
            400,
            json!({ "object": "error", "message": "out of tokens", "type": "BadRequestError", "code": 400 }),
            "out of tokens",
        ),
        (400, json!({ "error": "just words" }), "just words"),
        (
            400,
            json!({ "type": "error", "error": { "type": "invalid_request_error", "message": "typed" }, "request_id": "r" }),
            "typed",
        ),
    ] {
        let up = Raw::serve(vec![whole(status, &body)]).await;
        let g = gateway(&up.url()).await;
        let got = post(&g, &ask("x", false), &[]).await;
        assert_eq!(got.status, status);
        assert!(
            got.json()["error"]["message"]
                .as_str()
                .unwrap()
                .contains(words),
            "{}",
            got.text()
        );
        // Untouched where nothing may be touched.
        let off = post(&g, &ask("x", false), &[("x-kilter-adapt", "off")]).await;
        assert_eq!(off.json(), body);
    }
    let empty = Script {
        status: 400,
        content_type: "text/plain",
        before_head: 0,
        steps: vec![],
    };
    let up = Raw::serve(vec![empty]).await;
    let got = post(&gateway(&up.url()).await, &ask("x", false), &[]).await;
    assert_eq!(got.status, 400);
    assert!(got.json()["error"]["message"].is_string());
}

#[tokio::test]
async fn a_stream_that_is_cut_is_an_error_and_no_end() {
    use crate::raw::{chunk, event, stream};
    for end in [Step::Cut, Step::Pause(0)] {
        let mut script = stream(&[event(&chunk(
            &json!({ "role": "assistant", "content": "half an ans" }),
            None,
        ))]);
        script.steps.push(end);
        let up = Raw::serve(vec![script]).await;
        let got = post(&gateway(&up.url()).await, &ask("x", true), &[]).await;
        let t = got.turn();
        assert_eq!(t.content, "half an ans");
        assert_eq!(t.errors.len(), 1, "{}", got.text());
        assert_eq!(t.errors[0]["code"], "upstream_cut");
        assert_eq!((t.done, t.finish), (0, None));
    }
}

#[tokio::test]
async fn a_missing_end_mark_is_added_after_a_clean_end() {
    use crate::raw::{chunk, event, stream};
    let up = Raw::serve(vec![stream(&[event(&chunk(
        &json!({ "content": "all" }),
        Some("stop"),
    ))])])
    .await;
    let t = post(&gateway(&up.url()).await, &ask("x", true), &[])
        .await
        .turn();
    assert_eq!((t.content.as_str(), t.done, t.errors.len()), ("all", 1, 0));
}

#[tokio::test]
async fn a_whole_answer_where_a_stream_was_asked_for() {
    let script = "name = \"m\"\n[calls]\npolicy = \"eager\"\n[stream]\nignores_stream = true";
    let r = crate::client::rig(script).await;
    let got = r
        .ask(&ask("what is the weather in Paris?", true), &[])
        .await;
    assert_eq!(got.header("content-type"), "text/event-stream");
    let t = got.turn();
    assert_eq!(
        (t.calls.len(), t.done, t.roles),
        (1, 1, 1),
        "{}",
        got.text()
    );
    assert_eq!(t.finish.as_deref(), Some("tool_calls"));
    assert!(t.usage.is_some());
    assert_eq!(got.actions(), ["stream=made"]);
    // `off` touches nothing.
    let off = r.ask(&ask("x", true), &[("x-kilter-adapt", "off")]).await;
    assert_eq!(off.header("content-type"), "application/json");
}

#[tokio::test]
async fn a_stream_where_none_was_asked_for() {
    let up = Raw::serve(vec![crate::raw::content("hello", 3)]).await;
    let got = post(&gateway(&up.url()).await, &ask("x", false), &[]).await;
    shaped(&got, 502, "upstream_bad_body");
}

#[tokio::test]
async fn retries_happen_before_the_first_byte_only() {
    let ok = crate::raw::completion(&json!({ "role": "assistant", "content": "fine" }), "stop");
    let busy = json!({ "error": { "message": "busy", "type": "server_error" } });
    let up = Raw::serve(vec![whole(503, &busy), whole(429, &busy), whole(200, &ok)]).await;
    let got = post(&gateway(&up.url()).await, &ask("x", false), &[]).await;
    assert_eq!((got.status, up.bodies().len()), (200, 3));
    let up = Raw::serve(vec![whole(500, &busy)]).await;
    let got = post(&gateway(&up.url()).await, &ask("x", false), &[]).await;
    assert_eq!(
        (got.status, up.bodies().len(), got.json()),
        (500, 3, busy.clone())
    );
    let up = Raw::serve(vec![whole(400, &busy)]).await;
    let got = post(&gateway(&up.url()).await, &ask("x", false), &[]).await;
    assert_eq!((got.status, up.bodies().len()), (400, 1));
}

#[tokio::test]
async fn fallbacks_in_their_order() {
    let ok = crate::raw::completion(&json!({ "role": "assistant", "content": "from b" }), "stop");
    let busy = json!({ "error": { "message": "busy" } });
    let a = Raw::serve(vec![whole(503, &busy)]).await;
    let b = Raw::serve(vec![whole(200, &ok)]).await;
    let mut c = config(&a.url());
    c.backends[0].retries.max = 0;
    c.backends[0].fallbacks = vec!["b/slot-b".into()];
    c.backends
        .push(kilter_gateway::config::Backend::new("b", &b.url()));
    c.aliases.insert("fast".into(), "up/slot-a".into());
    let g = start(c).await;
    let mut body = ask("x", false);
    body["model"] = json!("fast");
    let got = post(&g, &body, &[]).await;
    assert_eq!(got.turn().content, "from b");
    assert_eq!(got.header("x-kilter-actions"), "fallback=b");
    assert_eq!(a.bodies()[0]["model"], "slot-a");
    assert_eq!(b.bodies()[0]["model"], "slot-b");
}

#[tokio::test]
async fn credentials_of_the_client_stay_here() {
    let ok = crate::raw::completion(&json!({ "role": "assistant", "content": "x" }), "stop");
    let up = Raw::serve(vec![whole(200, &ok)]).await;
    let mut c = config(&up.url());
    c.backends[0].api_key = Some(kilter_gateway::config::Secret::parse("sk-upstream-key"));
    let g = start(c).await;
    post(
        &g,
        &ask("x", false),
        &[
            ("authorization", "Bearer client-key"),
            ("x-custom", "kept"),
            ("accept-encoding", "gzip"),
        ],
    )
    .await;
    let head = up.seen.lock().unwrap().heads[0].to_ascii_lowercase();
    assert!(
        head.contains("authorization: bearer sk-upstream-key"),
        "{head}"
    );
    assert!(!head.contains("client-key"), "{head}");
    assert!(
        head.contains("x-custom: kept") && head.contains("accept-encoding: identity"),
        "{head}"
    );
}

#[tokio::test]
async fn an_open_port_needs_a_key_and_asks_for_it() {
    let mut c = config("http://127.0.0.1:9/v1");
    c.gateway.bind = "0.0.0.0:0".into();
    let e = Gateway::start(c.clone(), Deps::default())
        .await
        .unwrap_err();
    let StartError::Config { key, hint, .. } = &e else {
        panic!("{e}")
    };
    assert_eq!(key, "gateway.bind");
    assert!(hint.contains("client_keys"), "{hint}");
    // sha256 of "open sesame"
    let sha256 = "41ef4bb0b23661e66301aac36066912dac037827b4ae63a7b1165a5aa93ed4eb";
    c.gateway.client_keys.push(ClientKey {
        name: "me".into(),
        sha256: sha256.into(),
    });
    let g = start(c).await;
    let url = format!("http://127.0.0.1:{}/metrics", g.addr().port());
    shaped(
        &send("GET", &url, "".into(), &[]).await,
        401,
        "invalid_api_key",
    );
    shaped(
        &send("GET", &url, "".into(), &[("authorization", "Bearer no")]).await,
        401,
        "invalid_api_key",
    );
    assert_eq!(
        send(
            "GET",
            &url,
            "".into(),
            &[("authorization", "Bearer open sesame")]
        )
        .await
        .status,
        200
    );
}

#[tokio::test]
async fn a_page_in_a_browser_does_not_get_in() {
    let g = gateway("http://127.0.0.1:9/v1").await;
    let url = format!("http://{}/metrics", g.addr());
    assert_eq!(send("GET", &url, "".into(), &[]).await.status, 200);
    shaped(
        &send("GET", &url, "".into(), &[("host", "evil.example:80")]).await,
        421,
        "misdirected",
    );
    shaped(
        &send(
            "GET",
            &url,
            "".into(),
            &[("origin", "https://evil.example")],
        )
        .await,
        421,
        "misdirected",
    );
}

#[tokio::test]
async fn bad_configurations_do_not_start() {
    let mut no_backend = Config::default();
    no_backend.gateway.bind = "127.0.0.1:0".into();
    let mut no_key = config("http://127.0.0.1:9/v1");
    no_key.backends[0].api_key = Some(kilter_gateway::config::Secret::parse(
        "env:KILTER_TEST_NOT_SET",
    ));
    let mut no_dialect = config("http://127.0.0.1:9/v1");
    no_dialect.behavior.dialects = Some(vec!["no-such-dialect".into()]);
    let taken = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let mut no_port = config("http://127.0.0.1:9/v1");
    no_port.gateway.bind = taken.local_addr().unwrap().to_string();
    for c in [no_backend, no_key, no_dialect, no_port] {
        let e = Gateway::start(c, Deps::default()).await.unwrap_err();
        assert!(e.to_string().contains("hint: "), "{e}");
    }
}

#[tokio::test]
async fn reload_keeps_the_old_on_an_error() {
    let ok = crate::raw::completion(&json!({ "role": "assistant", "content": "a" }), "stop");
    let up = Raw::serve(vec![whole(200, &ok)]).await;
    let g = gateway(&up.url()).await;
    assert!(g.reload(Config::default()).is_err());
    assert_eq!(post(&g, &ask("x", false), &[]).await.status, 200);
    let mut c = config(&up.url());
    c.backends[0].name = "renamed".into();
    g.reload(c).unwrap();
    let mut body = ask("x", false);
    body["model"] = json!("renamed/m");
    assert_eq!(post(&g, &body, &[]).await.status, 200);
    assert_eq!(up.bodies()[1]["model"], "m");
}

#[tokio::test]
async fn small_routes() {
    let script = kilter_mock::Script::from_toml("name = \"tiny\"").unwrap();
    let mock = kilter_mock::MockServer::local(script).await.unwrap();
    let mut c = config(&mock.url());
    c.backends.push(kilter_gateway::config::Backend::new(
        "down",
        "http://127.0.0.1:9/v1",
    ));
    c.aliases.insert("fast".into(), "up/tiny".into());
    let g = start(c).await;
    let base = format!("http://{}", g.addr());
    let get = |p: &str| {
        let url = format!("{base}{p}");
        async move { send("GET", &url, "".into(), &[]).await }
    };
    assert_eq!(get("/healthz").await.status, StatusCode::OK);
    let models = get("/v1/models").await.json();
    let ids: Vec<&str> = models["data"]
        .as_array()
        .unwrap()
        .iter()
        .filter_map(|m| m["id"].as_str())
        .collect();
    assert!(
        ids.contains(&"up/tiny") && ids.contains(&"fast"),
        "{models}"
    );
    assert_eq!(models["kilter"]["unreachable"], json!(["down"]));
    let ready = get("/readyz").await;
    assert_eq!(
        (ready.status, &ready.json()["backends"]["down"]),
        (200, &json!("down"))
    );
    let mut body = ask("x", false);
    body["model"] = json!("fast");
    post(&g, &body, &[]).await;
    let m = get("/metrics").await.text();
    assert!(m.contains("kilter_requests_total{backend=\"up\",adapt=\"on\",status=\"200\",streaming=\"false\"} 1"), "{m}");
    assert!(
        m.contains("kilter_first_byte_seconds_count{backend=\"up\"} 1"),
        "{m}"
    );
}

fn page(status: u16, content_type: &'static str, body: &str) -> Script {
    Script {
        status,
        content_type,
        before_head: 0,
        steps: vec![Step::Bytes(body.as_bytes().to_vec())],
    }
}

/// A proxy's page, nothing at all, a login page with 200: the words say who answered what.
#[tokio::test]
async fn what_is_no_error_of_the_api_is_named() {
    let html = "<html>\n<body><h1>502  Bad Gateway</h1></body></html>";
    for (script, status, code, words) in [
        (
            page(502, "text/html", html),
            502,
            "upstream_no_error",
            "backend `up` answered 502 with what is no error of the API: `<html> <body><h1>502 Bad Gateway",
        ),
        (
            Script {
                steps: vec![],
                ..page(404, "text/plain", "")
            },
            404,
            "upstream_no_error",
            "backend `up` answered 404 with an empty body. hint: check that `endpoint` ends at",
        ),
        (
            page(200, "text/html", "<html>Please log in</html>"),
            502,
            "upstream_bad_body",
            "it begins with `<html>Please log in</html>`. hint: check that `endpoint`",
        ),
        (
            page(302, "text/html", "moved"),
            502,
            "upstream_redirects",
            "backend `up` answered 302: it points to",
        ),
    ] {
        for stream in [false, true] {
            let up = Raw::serve(vec![script.clone()]).await;
            let mut c = config(&up.url());
            c.backends[0].retries.max = 0;
            let got = post(&start(c).await, &ask("x", stream), &[]).await;
            shaped(&got, status, code);
            let message = got.json()["error"]["message"].as_str().unwrap().to_owned();
            assert!(message.contains(words), "{message}");
            assert_eq!(message.matches("hint: ").count(), 1, "{message}");
        }
    }
}

#[tokio::test]
async fn a_host_that_nobody_knows_and_a_server_without_tls() {
    use tokio::io::{AsyncReadExt, AsyncWriteExt};
    let plain = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let addr = plain.local_addr().unwrap();
    tokio::spawn(async move {
        while let Ok((mut s, _)) = plain.accept().await {
            let mut hello = [0; 4096];
            if s.read(&mut hello).await.unwrap_or(0) == 0 {
                continue;
            }
            s.write_all(b"HTTP/1.1 400 Bad Request\r\nconnection: close\r\n\r\n")
                .await
                .ok();
        }
    });
    for (url, words) in [
        (
            "http://nobody.invalid/v1".to_owned(),
            "hint: check the host's name in `http://nobody.invalid/v1`",
        ),
        (
            format!("https://{addr}/v1"),
            "speaks no TLS; write `http://`",
        ),
    ] {
        let mut c = config(&url);
        c.backends[0].retries.max = 0;
        let got = post(&start(c).await, &ask("x", false), &[]).await;
        shaped(&got, 502, "upstream_unreachable");
        assert!(got.text().contains(words), "{}", got.text());
    }
}
