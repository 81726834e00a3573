//! The address policy on the way: what a hop leads to is judged before a byte is sent there.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use kilter_web::acquire::{
    Client, Fetched, GetOptions, Resolve, Settings, SystemResolver, Upstream,
};
use kilter_web::address::AddressPolicy;
use kilter_web::{Failure, FailureCode};
use tokio::io::{AsyncReadExt, AsyncWriteExt};

use super::{own_client, settings};
use crate::site::{Names, Site, answer, page, to};
use crate::space;

/// Ways to write this machine.
fn notations(port: u16) -> Vec<String> {
    [
        "127.0.0.1",
        "127.1",
        "2130706433",
        "0x7f.1",
        "0177.0.0.1",
        "[::1]",
        "[::ffff:127.0.0.1]",
        "[::127.0.0.1]",
        "0",
        "0.0.0.0",
        "localhost",
        "localhost.",
        "x.localhost",
        "[64:ff9b::127.0.0.1]",
        "①②⑦.1",
        "%31%32%37.0.0.1",
        "inside.example",
        "mixed.example",
    ]
    .iter()
    .map(|host| format!("http://{host}:{port}/secret"))
    .collect()
}

async fn get(client: &Client, url: &str) -> Result<Fetched, Failure> {
    client.get(url, &GetOptions::default()).await
}

/// Asks for a URL that the policy must refuse.
async fn refused(client: &Client, url: &str) {
    let failure = get(client, url).await.expect_err(url);
    assert_eq!(
        failure.code,
        FailureCode::PrivateUrlBlocked,
        "{url}: {failure}"
    );
    assert!(!failure.retryable);
}

/// A client of the public policy on these answers, as on the open internet.
fn public_client(resolver: Arc<dyn Resolve>) -> Client {
    Client::new(Settings {
        resolver,
        ..settings(AddressPolicy::public())
    })
    .expect("a client")
}

fn names() -> Arc<Names> {
    Names::of(&[
        ("inside.example", &[&["127.0.0.1"]]),
        ("mixed.example", &[&["93.184.216.34", "127.0.0.1"]]),
    ])
}

#[tokio::test]
async fn no_redirect_and_no_refresh_reaches_a_forbidden_server() {
    let forbidden = Site::start(|_| page("secret")).await;
    let urls = notations(forbidden.addr.port());
    let leads = urls.clone();
    let site = Site::start(move |r| {
        let (way, n) = r
            .path
            .trim_start_matches("/own/")
            .split_once('/')
            .unwrap_or(("end", "0"));
        let url = &leads[n.parse::<usize>().unwrap_or(0)];
        match way {
            "redirect" => to(url),
            "permanent" => answer("308 Permanent", &format!("Location: {url}\r\n"), ""),
            "chain" => to(&format!("/own/redirect/{n}")),
            "meta" => page(&format!("<meta http-equiv=refresh content='0;url={url}'>")),
            "header" => answer(
                "200 OK",
                &format!("Content-Type: text/html\r\nRefresh: 0;url={url}\r\n"),
                "",
            ),
            "relative" => to(&url.replace("http:", "")),
            _ => page("end"),
        }
    })
    .await;
    let client = own_client(&site, names());
    let mut cases = 0;
    for (n, url) in urls.iter().enumerate() {
        for way in [
            "redirect",
            "permanent",
            "chain",
            "meta",
            "header",
            "relative",
        ] {
            refused(&client, &site.url(&format!("/own/{way}/{n}"))).await;
            cases += 1;
        }
        refused(&client, url).await;
        cases += 1;
    }
    assert_eq!(forbidden.touched(), 0, "a forbidden server was reached");
    assert!(
        get(&client, &site.url("/own/end/0")).await.is_ok(),
        "the own page can be read"
    );
    assert!(cases >= 120, "{cases} cases");
}

#[tokio::test]
async fn a_redirect_leaves_the_own_origins_exception() {
    let site = Site::start(|r| match r.path.as_str() {
        "/own/out" => to("/admin"),
        "/own/dots" => to("/own/..%2fadmin"),
        _ => page("x"),
    })
    .await;
    let client = own_client(&site, names());
    for path in ["/own/out", "/own/dots"] {
        refused(&client, &site.url(path)).await;
    }
    assert_eq!(site.paths(), ["/own/out", "/own/dots"]);
}

#[tokio::test]
async fn other_schemes_are_not_followed() {
    let site = Site::start(|r| {
        to(match r.path.as_str() {
            "/own/file" => "file:///etc/passwd",
            "/own/ftp" => "ftp://example.com/",
            "/own/data" => "data:text/html,x",
            _ => "http://[::1",
        })
    })
    .await;
    let client = own_client(&site, names());
    for path in ["/own/file", "/own/ftp", "/own/data", "/own/bad"] {
        let failure = get(&client, &site.url(path)).await.expect_err(path);
        assert_eq!(failure.code, FailureCode::InvalidUrl, "{path}: {failure}");
    }
}

#[tokio::test]
async fn a_name_is_looked_up_once_a_hop_and_only_the_judged_answer_is_used() {
    let site = Site::start(|_| page("x")).await;
    // The second answer would lead elsewhere; nothing may ask for it.
    let names = Names::of(&[("site.example", &[&["127.0.0.1"], &["127.0.0.9"]])]);
    let client = Client::new(Settings {
        resolver: names.clone(),
        ..settings(AddressPolicy::public().allow_private())
    })
    .expect("a client");
    let url = format!("http://site.example:{}/", site.addr.port());
    let got = get(&client, &url).await.expect("a page");
    assert_eq!(got.peer.to_string(), "127.0.0.1");
    assert_eq!(names.questions.lock().expect("the log").len(), 1);
    assert_eq!(
        site.last().header("host"),
        Some(format!("site.example:{}", site.addr.port()).as_str())
    );
}

#[tokio::test]
async fn an_operators_proxy_is_asked_for_judged_addresses_and_never_for_names() {
    let site = Site::start(|_| page("through")).await;
    let port = site.addr.port();
    let proxy = tokio::net::TcpListener::bind("127.0.0.1:0")
        .await
        .expect("a socket");
    let address = proxy.local_addr().expect("an address");
    let asked = Arc::new(std::sync::Mutex::new(Vec::new()));
    let log = asked.clone();
    tokio::spawn(async move {
        while let Ok((mut stream, _)) = proxy.accept().await {
            let mut head = Vec::new();
            while !head.ends_with(b"\r\n\r\n") {
                head.push(stream.read_u8().await.expect("a header"));
            }
            log.lock()
                .expect("the log")
                .push(String::from_utf8_lossy(&head).into_owned());
            let mut up = tokio::net::TcpStream::connect(("127.0.0.1", port))
                .await
                .expect("the site");
            stream
                .write_all(b"HTTP/1.1 200 OK\r\n\r\n")
                .await
                .expect("an answer");
            tokio::spawn(async move { tokio::io::copy_bidirectional(&mut stream, &mut up).await });
        }
    });
    let client = Client::new(Settings {
        resolver: Names::of(&[
            ("site.example", &[&["93.184.216.34"]]),
            ("inside.example", &[&["10.0.0.5"]]),
        ]),
        upstream: Some(Upstream {
            address,
            authorization: Some("Basic eDp5".into()),
        }),
        ..settings(AddressPolicy::public())
    })
    .expect("a client");
    let got = get(&client, "http://site.example/").await.expect("a page");
    assert_eq!(&got.body[..], b"through");
    for url in [
        "http://inside.example/",
        "http://127.0.0.1/",
        "http://0x7f.1/",
        "http://localhost/",
    ] {
        refused(&client, url).await;
    }
    let asked = asked.lock().expect("the log");
    assert_eq!(
        *asked,
        [
            "CONNECT 93.184.216.34:80 HTTP/1.1\r\nHost: 93.184.216.34:80\r\nProxy-Authorization: Basic eDp5\r\n\r\n"
        ]
    );
}

/// Forbidden servers on every private address of the space, on the port that public pages use too.
async fn forbidden() -> Vec<Site> {
    let mut all = Vec::new();
    for address in [
        "127.0.0.1:80",
        "10.0.0.5:80",
        "169.254.169.254:80",
        "100.64.0.9:80",
        "192.168.7.7:80",
        "[::1]:80",
        "[fd00::5]:80",
    ] {
        all.push(Site::at(address, None, |_| page("secret")).await);
    }
    all
}

#[test]
fn rebinding_between_two_hops_is_refused() {
    space::within(
        "acquire::judged::rebinding_between_two_hops_is_refused",
        async {
            let secret = forbidden().await;
            let site = Site::at("93.184.216.34:80", None, |r| match r.path.as_str() {
                "/again" => to("/page"),
                _ => page("public"),
            })
            .await;
            let names = Names::of(&[
                ("good.example", &[&["93.184.216.34"]]),
                ("rebind.example", &[&["93.184.216.34"], &["127.0.0.1"]]),
                (
                    "slow-rebind.example",
                    &[&["93.184.216.34"], &["93.184.216.34", "10.0.0.5"]],
                ),
                ("six.example", &[&["2606:2800:220:1::34"]]),
                ("nat.example", &[&["64:ff9b::a00:5"]]),
            ]);
            let client = public_client(names);
            for _ in 0..2 {
                let got = get(&client, "http://good.example/again")
                    .await
                    .expect("public");
                assert_eq!(&got.body[..], b"public");
            }
            let got = get(&client, "http://93.184.216.34/")
                .await
                .expect("a public literal");
            assert_eq!(got.peer.to_string(), "93.184.216.34");
            let _six = Site::at("[2606:2800:220:1::34]:80", None, |_| page("six")).await;
            assert_eq!(
                &get(&client, "http://six.example/")
                    .await
                    .expect("public")
                    .body[..],
                b"six"
            );
            for host in ["rebind.example", "slow-rebind.example", "nat.example"] {
                refused(&client, &format!("http://{host}/again")).await;
            }
            let touched: usize = secret.iter().map(Site::touched).sum();
            assert_eq!(touched, 0, "a forbidden server was reached");
            assert!(site.connections.load(Ordering::SeqCst) >= 6);
        },
    );
}

#[test]
fn the_machines_own_resolver_is_judged_too() {
    space::within(
        "acquire::judged::the_machines_own_resolver_is_judged_too",
        async {
            let secret = forbidden().await;
            let _site = Site::at("93.184.216.34:80", None, |r| match r.path.as_str() {
                "/literal" => to("http://169.254.169.254/latest/meta-data/"),
                "/name" => to("http://inside.example/"),
                "/cgnat" => to("http://100.64.0.9/"),
                "/ula" => to("http://[fd00::5]/"),
                _ => page("public"),
            })
            .await;
            let client = public_client(Arc::new(SystemResolver));
            let got = get(&client, "http://site.example/").await.expect("public");
            assert_eq!(&got.body[..], b"public");
            for url in [
                "http://mixed.example/",
                "http://inside.example/",
                "http://site.example/literal",
                "http://site.example/name",
                "http://site.example/cgnat",
                "http://site.example/ula",
                "http://192.168.7.7/",
                "http://10.0.0.5/",
            ] {
                refused(&client, url).await;
            }
            let failure = get(&client, "http://nowhere.example/")
                .await
                .expect_err("no such name");
            assert_eq!(failure.code, FailureCode::DnsError);
            let touched: usize = secret.iter().map(Site::touched).sum();
            assert_eq!(touched, 0, "a forbidden server was reached");
        },
    );
}
