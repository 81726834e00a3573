//! Redirects and refreshes: where they lead, what goes along, when they end.

use kilter_web::FailureCode;
use kilter_web::acquire::{ExtraHeaders, GetOptions, Via};
use kilter_web::address::AddressPolicy;

use super::{client, open_client};
use crate::site::{Site, answer, page, to};

#[tokio::test]
async fn redirects_are_followed_to_the_page() {
    let site = Site::start(|r| match r.path.as_str() {
        "/a" => answer("301 Moved", "Location: b?x=1#there\r\n", ""),
        "/b?x=1" => answer(
            "303 See Other",
            "Location: //{host}/c\r\n"
                .replace("{host}", r.header("host").unwrap_or_default())
                .as_str(),
            "",
        ),
        "/c" => answer("307 Temporary", "Location: ./d/../e\r\n", ""),
        "/e" => answer("308 Permanent", "Location: /f%20g\r\n", ""),
        "/f%20g" => page("<p>here</p>"),
        _ => answer("404 Not Found", "", ""),
    })
    .await;
    let got = open_client()
        .get(&site.url("/a#frag"), &GetOptions::default())
        .await
        .expect("a page");
    assert_eq!(got.status, 200);
    assert_eq!(&got.body[..], b"<p>here</p>");
    assert_eq!(
        got.url.as_str(),
        format!("http://{}/f%20g#there", site.addr)
    );
    assert_eq!(
        got.requested.as_str(),
        format!("http://{}/a#frag", site.addr)
    );
    assert_eq!(
        got.hops.iter().map(|h| h.status).collect::<Vec<_>>(),
        [301, 303, 307, 308]
    );
    assert!(got.hops.iter().all(|h| h.via == Via::Redirect));
    assert_eq!(site.paths(), ["/a", "/b?x=1", "/c", "/e", "/f%20g"]);
}

#[tokio::test]
async fn circles_and_long_chains_end() {
    let site = Site::start(|r| match r.path.as_str() {
        "/self" => to("/self"),
        "/ping" => to("/pong"),
        "/pong" => to("/ping#x"),
        p => match p.strip_prefix("/n").and_then(|n| n.parse::<u32>().ok()) {
            Some(0) => page("end"),
            Some(n) => to(&format!("/n{}", n - 1)),
            None => to(&format!("/endless?{}", p.len().max(1) * 7 % 1000 + p.len())),
        },
    })
    .await;
    let client = open_client();
    for (path, most) in [("/self", 1), ("/ping", 2), ("/endless?1", 11), ("/n11", 11)] {
        let before = site.touched();
        let failure = client
            .get(&site.url(path), &GetOptions::default())
            .await
            .expect_err(path);
        assert_eq!(failure.code, FailureCode::RedirectLoop, "{path}: {failure}");
        assert!(
            site.touched() - before <= most,
            "{path}: {} requests",
            site.touched() - before
        );
    }
    assert_eq!(
        client
            .get(&site.url("/n10"), &GetOptions::default())
            .await
            .expect("ten are allowed")
            .hops
            .len(),
        10
    );
}

#[tokio::test]
async fn a_cookie_that_a_redirect_sets_goes_back_to_its_host_and_dies_with_the_read() {
    let site = Site::start(|r| match r.header("cookie") {
        Some(c) if c.contains("seen=1") => page("<p>welcome</p>"),
        _ => answer(
            "302 Found",
            "Location: /\r\nSet-Cookie: seen=1; Path=/\r\nSet-Cookie: safe=2; Secure\r\n",
            "",
        ),
    })
    .await;
    let client = open_client();
    for _ in 0..2 {
        let before = site.touched();
        let got = client
            .get(&site.url("/"), &GetOptions::default())
            .await
            .expect("a page behind a cookie");
        assert_eq!(&got.body[..], b"<p>welcome</p>");
        assert_eq!(
            site.touched() - before,
            2,
            "the second read starts without a cookie"
        );
        assert_eq!(
            site.last().header("cookie"),
            Some("seen=1"),
            "a secure cookie stays off plain HTTP"
        );
    }
}

#[tokio::test]
async fn secrets_stay_with_the_first_origin() {
    let other = Site::start(|r| match r.path.as_str() {
        "/back" => answer(
            "302 Found",
            &format!("Location: {}\r\n", r.header("x-home").unwrap_or("/end")),
            "",
        ),
        _ => page("other"),
    })
    .await;
    let away = other.url("/end");
    let site = Site::start(move |r| match r.path.as_str() {
        "/in" => answer("302 Found", "Location: /here\r\nSet-Cookie: c=1\r\n", ""),
        "/here" => page("home"),
        _ => to(&away),
    })
    .await;
    let headers = ExtraHeaders::new([
        ("Authorization", "Bearer secret"),
        ("Cookie", "sid=9"),
        ("X-Key", "k"),
        ("User-Agent", "mine/1"),
    ])
    .expect("headers");
    let options = GetOptions {
        headers,
        etag: Some("\"e\"".into()),
        ..GetOptions::default()
    };
    let client = open_client();
    client
        .get(&site.url("/in"), &options)
        .await
        .expect("a page");
    let home = site.last();
    assert_eq!(home.header("authorization"), Some("Bearer secret"));
    assert_eq!(home.header("cookie"), Some("sid=9; c=1"));
    assert_eq!(home.header("x-key"), Some("k"));
    assert_eq!(home.header("user-agent"), Some("mine/1"));
    client
        .get(&site.url("/out"), &options)
        .await
        .expect("a page");
    let away = other.last();
    for name in ["authorization", "cookie", "x-key", "if-none-match"] {
        assert_eq!(away.header(name), None, "{name} went to another origin");
    }
    assert!(
        away.header("user-agent")
            .is_some_and(|u| u.starts_with("kilter/"))
    );
    assert!(
        !format!("{options:?}").contains("secret"),
        "a value was printed"
    );
}

#[tokio::test]
async fn secrets_do_not_come_back_after_a_detour() {
    let home = Site::start(|r| match r.path.as_str() {
        "/start" => to(r.header("x-away").unwrap_or("/no")),
        _ => page("end"),
    })
    .await;
    let back = home.url("/end");
    let away = Site::start(move |_| to(&back)).await;
    let options = GetOptions {
        headers: ExtraHeaders::new([
            ("Authorization", "Bearer secret"),
            ("X-Away", away.url("/").as_str()),
        ])
        .expect("headers"),
        ..GetOptions::default()
    };
    open_client()
        .get(&home.url("/start"), &options)
        .await
        .expect("a page");
    assert_eq!(home.last().path, "/end");
    assert_eq!(
        home.last().header("authorization"),
        None,
        "the other origin chose this URL"
    );
}

#[test]
fn framing_headers_are_refused_by_name_without_their_value() {
    for name in [
        "Host",
        "content-length",
        "Transfer-Encoding",
        "Connection",
        "Expect",
        "Upgrade",
        "bad name",
        "Proxy-Authorization",
    ] {
        let failure = ExtraHeaders::new([(name, "s3cret")]).expect_err(name);
        assert_eq!(failure.code, FailureCode::InvalidSessionProfile);
        assert!(failure.message.contains(name) && !failure.message.contains("s3cret"));
    }
    assert!(ExtraHeaders::new([("X", "a\r\nHost: b")]).is_err());
}

#[tokio::test]
async fn a_user_and_password_in_the_url_are_not_sent() {
    let site = Site::start(|r| match r.path.as_str() {
        "/a" => to("http://u:p@{host}/b"
            .replace("{host}", r.header("host").unwrap_or_default())
            .as_str()),
        _ => page("x"),
    })
    .await;
    let got = open_client()
        .get(
            &site.url("/a").replace("http://", "http://user:secret@"),
            &GetOptions::default(),
        )
        .await
        .expect("a page");
    assert_eq!(got.url.as_str(), site.url("/b"));
    assert_eq!(site.last().header("authorization"), None);
    assert_eq!(
        site.last().header("host"),
        Some(site.addr.to_string().as_str())
    );
}

#[tokio::test]
async fn refreshes_are_followed_by_the_tree() {
    let site = Site::start(|r| match r.path.as_str() {
        "/plain" => page("<meta http-equiv=refresh content='0;url=/end'>"),
        "/order" => page("<html><head><META  data-a='x > y' content=\"1; URL='/end'\"\n HTTP-EQUIV='ReFresh'/>"),
        "/header" => answer("200 OK", "Content-Type: text/html\r\nRefresh: 0; url=/end\r\n", ""),
        "/chain" => page("<meta http-equiv=refresh content='0;url=/order'>"),
        "/utf16" => {
            let text = "\u{feff}<meta http-equiv=refresh content='0;url=/end'>refresh";
            answer("200 OK", "Content-Type: text/html\r\n", text.encode_utf16().flat_map(u16::to_le_bytes).collect::<Vec<_>>())
        }
        "/comment" => page("<!-- <meta http-equiv=refresh content='0;url=/no'> --><p>stay</p>"),
        "/script" => page("<script>var x = \"<meta http-equiv='refresh' content='0;url=/no'>\"</script><p>stay</p>"),
        "/noscript" => page("<noscript><meta http-equiv=refresh content='0;url=/no'></noscript><p>stay</p>"),
        "/late" => page("<meta http-equiv=refresh content='300;url=/no'><p>stay</p>"),
        "/again" => page("<meta http-equiv=refresh content='5'><p>stay</p>"),
        "/again2" => page("<meta http-equiv=refresh content='5;url=/again2#x'><p>stay</p>"),
        "/js" => page("<meta http-equiv=refresh content='0;url=javascript:alert(1)'><p>stay</p>"),
        "/text" => answer("200 OK", "Content-Type: text/plain\r\n", "<meta http-equiv=refresh content='0;url=/no'>"),
        "/error" => answer("500 Broken", "Content-Type: text/html\r\n", "<meta http-equiv=refresh content='0;url=/no'>"),
        "/end" => page("<p>end</p>"),
        _ => answer("404 No", "", ""),
    })
    .await;
    let client = open_client();
    for path in ["/plain", "/order", "/header", "/chain"] {
        let got = client
            .get(&site.url(path), &GetOptions::default())
            .await
            .expect(path);
        assert_eq!(got.url.path(), "/end", "{path}");
        assert!(got.hops.iter().all(|h| h.via == Via::Refresh));
    }
    for path in [
        "/comment",
        "/script",
        "/noscript",
        "/late",
        "/again",
        "/again2",
        "/js",
        "/text",
        "/error",
    ] {
        let got = client
            .get(&site.url(path), &GetOptions::default())
            .await
            .expect(path);
        assert_eq!(got.url.path(), path);
    }
}

#[tokio::test]
async fn refreshes_end_too() {
    let site = Site::start(|r| {
        let n: u32 = r.path.trim_start_matches("/n").parse().unwrap_or(0);
        match n {
            0 => page("end"),
            n => page(&format!(
                "<meta http-equiv=refresh content='0;url=/n{}'>",
                n - 1
            )),
        }
    })
    .await;
    let client = open_client();
    let got = client
        .get(&site.url("/n10"), &GetOptions::default())
        .await
        .expect("ten are allowed");
    assert_eq!(got.hops.len(), 10);
    let failure = client
        .get(&site.url("/n11"), &GetOptions::default())
        .await
        .expect_err("eleven are not");
    assert_eq!(failure.code, FailureCode::RedirectLoop);
}

#[tokio::test]
async fn an_unchanged_page_answers_without_a_body() {
    let site = Site::start(|r| {
        let known = r.header("if-none-match") == Some("\"v1\"") || r.header("if-modified-since") == Some("Mon, 30 Nov 2026 10:00:00 GMT");
        match known {
            true => answer("304 Not Modified", "ETag: \"v1\"\r\n", ""),
            false => answer("200 OK", "Content-Type: text/html\r\nETag: \"v1\"\r\nLast-Modified: Mon, 30 Nov 2026 10:00:00 GMT\r\n", "<p>x"),
        }
    })
    .await;
    let client = open_client();
    let first = client
        .get(&site.url("/"), &GetOptions::default())
        .await
        .expect("a page");
    assert!(!first.not_modified);
    let (etag, last_modified) = first.validators();
    for options in [
        GetOptions {
            etag: etag.clone(),
            ..GetOptions::default()
        },
        GetOptions {
            last_modified: last_modified.clone(),
            ..GetOptions::default()
        },
    ] {
        let second = client
            .get(&site.url("/"), &options)
            .await
            .expect("an answer");
        assert!(second.not_modified && second.body.is_empty());
    }
}

#[tokio::test]
async fn statuses_are_answers_until_they_are_accepted() {
    let site = Site::start(|r| match r.path.as_str() {
        "/401" => answer("401 No", "WWW-Authenticate: Basic realm=x\r\n", "sign in"),
        "/401b" => answer("401 No", "", ""),
        "/300" => answer(
            "302 Found",
            "Content-Type: text/html\r\n",
            "<p>no location</p>",
        ),
        p => answer(
            &format!("{} X", &p[1..]),
            "Content-Type: text/html\r\n",
            "<p>why</p>",
        ),
    })
    .await;
    let client = client(AddressPolicy::public().allow_private());
    for (path, code, retryable) in [
        ("/404", FailureCode::Http(404), false),
        ("/410", FailureCode::Http(410), false),
        ("/429", FailureCode::Http(429), true),
        ("/500", FailureCode::Http(500), true),
        ("/503", FailureCode::Http(503), true),
        ("/401", FailureCode::RequiresLogin, false),
        ("/401b", FailureCode::Http(401), false),
    ] {
        let got = client
            .get(&site.url(path), &GetOptions::default())
            .await
            .expect("an answer");
        let failure = got.accept().expect_err(path);
        assert_eq!(
            (failure.code, failure.retryable),
            (code, retryable),
            "{path}"
        );
    }
    let got = client
        .get(&site.url("/300"), &GetOptions::default())
        .await
        .expect("an answer");
    assert_eq!(got.accept().expect("not an error").status, 302);
}
