//! Maps of sites and search: what is found, how it is merged and ranked, what is refused.

use std::io::Write;
use std::time::Duration;

use kilter_web::FailureCode;
use kilter_web::acquire::{Client, Limits, Settings};
use kilter_web::address::AddressPolicy;
use kilter_web::robots::gate::RobotsGate;
use kilter_web::search::{LocalIndex, Provider, search};
use kilter_web::site::{MapOptions, MapSource, map, sitemap};

use crate::acquire::{open_client, settings};
use crate::site::{Site, answer, page};

fn gzip(text: &str) -> Vec<u8> {
    let mut packer = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::best());
    packer.write_all(text.as_bytes()).expect("memory");
    packer.finish().expect("memory")
}

#[tokio::test]
async fn a_site_is_mapped_from_its_page_its_sitemaps_and_its_robots() {
    let site = Site::start(|r| {
        let host = r.header("host").unwrap_or_default();
        let xml = |s: String| answer("200 OK", "Content-Type: application/xml\r\n", s);
        match r.path.as_str() {
            "/" => page(
                "<base href='/docs/'><a href=intro>Intro <b>page</b></a><a href='#x'>here</a><a href='/docs/intro'>again</a>
                 <a href='mailto:a@b'>mail</a><a href='https://other.example/x'>other</a><a href='/reference/tides'><img alt='Tide tables'></a>
                 <!-- <a href=/no>no</a> --><script>'<a href=/no2>'</script>",
            ),
            "/robots.txt" => answer(
                "200 OK",
                "Content-Type: text/plain\r\n",
                format!("User-agent: *\nDisallow:\nSitemap: http://{host}/index.xml\nSitemap: /list.txt\n"),
            ),
            "/index.xml" => xml(format!(
                "<sitemapindex><sitemap><loc>http://{host}/one.xml.gz</loc></sitemap><sitemap><loc>http://{host}/missing.xml</loc></sitemap>
                 <sitemap><loc>http://{host}/index.xml</loc></sitemap></sitemapindex>"
            )),
            "/one.xml.gz" => answer(
                "200 OK",
                "Content-Type: application/x-gzip\r\n",
                gzip(&format!(
                    "<urlset xmlns:image='i'><url><loc>http://{host}/a?x=1&amp;y=2</loc><image:loc>http://{host}/pic</image:loc></url>
                     <url><loc> http://{host}/b </loc></url></urlset>"
                )),
            ),
            "/list.txt" => answer("200 OK", "Content-Type: text/plain\r\n", format!("http://{host}/c\nhttp://elsewhere.example/d\n")),
            _ => answer("404 No", "", ""),
        }
    })
    .await;
    let (client, robots) = (open_client(), RobotsGate::default());
    let ask = async |source, focus: Option<&str>| {
        let options = MapOptions {
            source,
            focus: focus.map(str::to_owned),
            ..MapOptions::default()
        };
        map(&client, &robots, &site.url("/"), &options).await
    };
    let paths =
        |m: &kilter_web::site::SiteMap| m.links.iter().map(|l| l.path.clone()).collect::<Vec<_>>();
    let home = ask(MapSource::Homepage, None).await.expect("links");
    assert_eq!(paths(&home), ["/docs/intro", "/docs/", "/reference/tides"]);
    assert_eq!(home.links[0].title, "Intro page");
    assert_eq!(home.links[2].title, "Tide tables");
    let focused = ask(MapSource::Homepage, Some("tide tables"))
        .await
        .expect("links");
    assert_eq!(focused.links[0].path, "/reference/tides");
    for source in [MapSource::Sitemap, MapSource::Robots] {
        assert_eq!(
            paths(&ask(source, None).await.expect("links")),
            ["/c", "/a?x=1&y=2", "/b"],
            "{source:?}"
        );
    }
    let none = Site::start(|_| answer("404 No", "", "")).await;
    let options = MapOptions {
        source: MapSource::Sitemap,
        ..MapOptions::default()
    };
    let failure = map(&client, &robots, &none.url("/"), &options)
        .await
        .expect_err("no sitemap");
    assert_eq!(failure.code, FailureCode::Http(404));
    let bad = MapOptions {
        max_links: 0,
        ..MapOptions::default()
    };
    assert_eq!(
        map(&client, &robots, &site.url("/"), &bad)
            .await
            .expect_err("zero")
            .code,
        FailureCode::InvalidArguments
    );
}

#[tokio::test]
async fn hubs_are_read_where_the_front_page_has_nothing_of_it() {
    let site = Site::start(|r| match r.path.as_str() {
        "/robots.txt" => answer("200 OK", "Content-Type: text/plain\r\n", "User-agent: *\nDisallow: /closed"),
        "/" => page(
            "<a href=/about>About</a><a href=/closed/>Closed</a><a href=/closed/a>a</a><a href=/closed/b>b</a>
             <a href=/closed/c>c</a><a href=/manual/>Manual</a><a href=/manual/one>One</a><a href=/manual/two>Two</a>
             <a href=/logo.PNG>Logo</a><a href=/all.tar.gz>All</a><a href=/v1.2>Version</a>",
        ),
        "/manual/" => page("<a href=/manual/soundings>Soundings of the harbour</a><a href=/logo.PNG>Logo</a>"),
        "/closed/" => page("<a href=/closed/soundings>Soundings</a>"),
        _ => page("<p>leads nowhere</p>"),
    })
    .await;
    let (client, robots) = (open_client(), RobotsGate::default());
    let ask = async |focus: &str| {
        let options = MapOptions {
            focus: Some(focus.to_owned()),
            ..MapOptions::default()
        };
        map(&client, &robots, &site.url("/"), &options)
            .await
            .expect("links")
    };
    let got = ask("soundings").await;
    assert_eq!(got.links[0].path, "/manual/soundings");
    assert!(
        got.expanded.contains(&site.url("/manual/")) && got.expanded.len() <= 3,
        "{:?}",
        got.expanded
    );
    assert!(
        !site.paths().iter().any(|p| p.starts_with("/closed")),
        "robots hold for hubs: {:?}",
        site.paths()
    );
    assert_eq!(got.filtered, 2);
    assert!(got.links.iter().any(|l| l.path == "/v1.2"));
    // What the front page has needs no second level.
    let before = site.paths().len();
    assert!(ask("manual").await.expanded.is_empty());
    assert_eq!(site.paths().len(), before + 1);
}

/// The tokenizer compares each attribute of a tag with all before it: a million of them would take hours.
#[test]
fn a_million_attributes_hold_up_neither_links_nor_refreshes() {
    let many: String = (0..1_000_000).map(|i| format!(" a{i}=1")).collect();
    let html = format!("<meta http-equiv=x><p{many}><a href=/b>b</a>");
    let found = kilter_web::site::links::of_page(&html, &"http://site.example/".parse().unwrap());
    assert_eq!(found.len(), 1);
    assert!(kilter_web::acquire::refresh::in_page(&html).is_none());
}

#[test]
fn sitemaps_cannot_be_bombs() {
    let bomb = gzip(&" ".repeat(20 << 20));
    assert_eq!(
        sitemap::read(&bomb, None, 8 << 20)
            .expect_err("a bomb")
            .code,
        FailureCode::ResponseTooLarge
    );
    let many = format!(
        "<urlset>{}</urlset>",
        "<url><loc>http://a/</loc></url>".repeat(60_000)
    );
    assert_eq!(
        sitemap::read(many.as_bytes(), None, 8 << 20)
            .expect("a sitemap")
            .pages
            .len(),
        50_000
    );
    for none in ["", "<html><a href=x>", "<urlset/>", "words"] {
        assert_eq!(
            sitemap::read(none.as_bytes(), None, 1 << 20)
                .expect_err(none)
                .code,
            FailureCode::ExtractionFailed
        );
    }
}

#[tokio::test]
async fn providers_are_asked_at_once_and_merged_by_what_they_agree_on() {
    let site = Site::start(|r| {
        let json = |s: &str| answer("200 OK", "Content-Type: application/json\r\n", s);
        match r.path.split('?').next().unwrap_or_default() {
            "/search" => json(
                r#"{"results":[{"title":"Only here","url":"https://one.example/","content":"a"},
                {"title":"Both &amp; more","url":"https://both.example/page/?utm_source=x","content":"short"},
                {"title":"bad","url":"javascript:alert(1)"}]}"#,
            ),
            "/brave" if r.header("x-subscription-token") == Some("k1") => {
                json(r#"{"web":{"results":[{"title":"Both","url":"http://www.both.example/page","description":"a <strong>longer</strong> snippet"}]}}"#)
            }
            "/tavily" if r.header("authorization") == Some("Bearer k2") => {
                json(r#"{"results":[{"title":"T","url":"https://tavily.example/","content":"c"}]}"#)
            }
            "/empty" => json("{}"),
            "/nonsense" => json("[]]"),
            _ => answer("403 No", "", ""),
        }
    })
    .await;
    let client = Client::new(Settings {
        limits: Limits {
            total: Duration::from_secs(5),
            redirects: 0,
            ..Limits::default()
        },
        ..settings(AddressPolicy::public().allow_private())
    })
    .expect("a client");
    let searxng = Provider::Searxng { url: site.url("/") };
    let brave = |path: &str, key: &str| Provider::Brave {
        url: site.url(path),
        key: key.into(),
    };
    let tavily = Provider::Tavily {
        url: site.url("/tavily"),
        key: "k2".into(),
    };
    let command = Provider::Command {
        argv: vec![
            "/bin/sh".into(),
            "-c".into(),
            "echo \"[{\\\"title\\\":\\\"$0\\\",\\\"url\\\":\\\"https://command.example/\\\"}]\""
                .into(),
        ],
    };
    let mut index = LocalIndex::default();
    index.add(
        "https://local.example/tides",
        "Tide tables",
        "High water at Hamburg and Cuxhaven.",
    );
    index.add(
        "https://local.example/wrecks",
        "Wrecks",
        "The survey found wrecks.",
    );
    let all = [
        searxng.clone(),
        brave("/brave", "k1"),
        tavily,
        command,
        Provider::Local(index),
        brave("/brave", "wrong"),
    ];
    let got = search(&client, &all, "tide high water", 8)
        .await
        .expect("hits");
    assert_eq!(
        got.results[0].hit.url,
        "https://both.example/page/?utm_source=x"
    );
    assert_eq!(got.results[0].providers, ["searxng", "brave"]);
    assert_eq!(got.results[0].hit.snippet, "a longer snippet");
    assert_eq!(got.results[0].id, "S1");
    let urls: Vec<&str> = got.results.iter().map(|r| r.hit.url.as_str()).collect();
    for url in [
        "https://one.example/",
        "https://tavily.example/",
        "https://command.example/",
        "https://local.example/tides",
    ] {
        assert!(urls.contains(&url), "{urls:?}");
    }
    assert!(!urls.contains(&"https://local.example/wrecks"));
    assert_eq!(
        got.providers_used,
        ["searxng", "brave", "tavily", "command", "local"]
    );
    assert_eq!(got.providers_failed[0].failure_code, "http_403");
    assert!(
        search(&client, &[brave("/empty", "k")], "x", 3)
            .await
            .expect("none")
            .results
            .is_empty()
    );
    for (providers, query, most, want) in [
        (&[][..], "x", 3, FailureCode::SearchUnconfigured),
        (
            &[searxng.clone()][..],
            "  ",
            3,
            FailureCode::InvalidArguments,
        ),
        (&[searxng][..], "x", 21, FailureCode::InvalidArguments),
        (
            &[brave("/nonsense", "k")][..],
            "x",
            3,
            FailureCode::SearchError,
        ),
        (
            &[brave("/brave", "wrong")][..],
            "x",
            3,
            FailureCode::SearchError,
        ),
    ] {
        let failure = search(&client, providers, query, most)
            .await
            .expect_err(query);
        assert_eq!(failure.code, want, "{failure}");
        assert!(
            !format!("{providers:?} {failure:?}").contains("wrong"),
            "a key was printed"
        );
    }
}
