//! Kinds of pages: built by scripts, in shadow trees, behind overlays, endless, hostile.

use std::time::Duration;

use kilter_web::FailureCode;
use kilter_web::address::AddressPolicy;
use kilter_web::browser::{Browser, BrowserLimits};

use super::{browser, quick};
use crate::acquire::{client, own_client};
use crate::site::{Names, Say, Site, answer, page, to};

fn open() -> kilter_web::acquire::Client {
    client(AddressPolicy::public().allow_private())
}

#[tokio::test(flavor = "multi_thread")]
async fn what_scripts_build_is_read() {
    let site = Site::start(|r| match r.path.as_str() {
        "/spa" => page(
            "<!doctype html><html lang=en><title>t</title><div id=app></div><script>
             setTimeout(async()=>{const d=await (await fetch('/data')).json();
             document.getElementById('app').innerHTML='<main><h1>'+d.title+'</h1><p>'+d.text+'</p></main>'},300)</script>",
        ),
        "/data" => answer("200 OK", "Content-Type: application/json\r\n", r#"{"title":"Harbour survey","text":"37 wrecks were found."}"#),
        "/shadow" => page(
            "<x-card></x-card><script>customElements.define('x-card',class extends HTMLElement{connectedCallback(){
             const s=this.attachShadow({mode:'open'});s.innerHTML='<p>inside the shadow</p><x-inner></x-inner>'}});
             customElements.define('x-inner',class extends HTMLElement{connectedCallback(){
             this.attachShadow({mode:'open'}).innerHTML='<p>deeper shadow</p>'}})</script>",
        ),
        "/consent" => page(
            "<article><h1>Tide tables</h1><p>High water is at 04:12 and 16:40 today.</p></article>
             <div role=dialog aria-modal=true style='position:fixed;inset:0;background:#fff'><p>We value your privacy</p><button>Accept</button></div>",
        ),
        "/csp" => answer(
            "200 OK",
            "Content-Type: text/html\r\nContent-Security-Policy: default-src 'none'; script-src 'none'\r\n",
            "<p id=a>static</p><script>document.getElementById('a').textContent='script ran'</script><img src=/pixel>",
        ),
        "/dialogs" => page("<p>before</p><script>alert(1);confirm(2);prompt(3);document.body.append('after the dialogs')</script>"),
        "/hop" => page("<script>location.replace('/spa')</script>"),
        "/404" => answer("404 Not Found", "Content-Type: text/html\r\n", "<p>gone</p>"),
        "/redirect" => to("/consent"),
        _ => answer("404 Not Found", "", ""),
    })
    .await;
    let Some(browser) = browser("what_scripts_build_is_read", open(), quick()) else {
        return;
    };
    for (path, end, words) in [
        ("/spa", "/spa", "37 wrecks were found."),
        (
            "/shadow",
            "/shadow",
            "<template shadowrootmode=\"open\"><p>inside the shadow</p>",
        ),
        (
            "/shadow",
            "/shadow",
            "<template shadowrootmode=\"open\"><p>deeper shadow</p>",
        ),
        ("/consent", "/consent", "High water is at 04:12"),
        ("/csp", "/csp", "<p id=\"a\">static</p>"),
        ("/dialogs", "/dialogs", "after the dialogs"),
        ("/hop", "/spa", "37 wrecks were found."),
        ("/redirect", "/consent", "Tide tables"),
    ] {
        let got = browser
            .read(&site.url(path))
            .await
            .unwrap_or_else(|e| panic!("{path}: {e}"));
        assert!(got.html.contains(words), "{path}: {}", got.html);
        assert_eq!(got.url.path(), end);
        assert_eq!((got.status, got.settled), (200, true), "{path}");
    }
    let got = browser.read(&site.url("/404")).await.expect("an answer");
    assert_eq!(got.status, 404);
    assert!(
        !site.paths().iter().any(|p| p == "/pixel"),
        "the policy of the page was not kept"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn a_page_without_end_is_scrolled_to_the_cap() {
    let script = |most: u32| {
        format!(
            "<div id=a></div><script>let n=0;const more=()=>{{if(n<{most}&&innerHeight+scrollY>=document.documentElement.scrollHeight-5){{
             const p=document.createElement('p');p.style.height='1500px';p.textContent='entry '+(++n);document.getElementById('a').append(p)}}}};
             more();addEventListener('scroll',more)</script>"
        )
    };
    let site =
        Site::start(move |r| page(&script(if r.path == "/three" { 3 } else { 1_000_000 }))).await;
    let limits = BrowserLimits {
        scrolls: 5,
        ..quick()
    };
    let Some(browser) = browser("a_page_without_end_is_scrolled_to_the_cap", open(), limits) else {
        return;
    };
    let got = browser.read(&site.url("/endless")).await.expect("a page");
    assert_eq!((got.scrolls, got.scroll_capped), (5, true));
    assert!(
        got.html.contains("entry 5") && !got.html.contains("entry 50"),
        "{}",
        got.html
    );
    let got = browser.read(&site.url("/three")).await.expect("a page");
    assert!(
        got.html.contains("entry 3") && !got.scroll_capped,
        "{}",
        got.html
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn two_reads_share_nothing() {
    let site = Site::start(|r| {
        let cookie = r.header("cookie").unwrap_or("none").to_owned();
        answer(
            "200 OK",
            "Content-Type: text/html\r\nSet-Cookie: id=1; Max-Age=9999\r\nCache-Control: max-age=9999\r\n",
            format!(
                "<p>cookie: {cookie}</p><script>document.body.append('stored: '+localStorage.getItem('k')+' set: '+document.cookie);
                 localStorage.setItem('k','v');document.cookie='js=2'</script>"
            ),
        )
    })
    .await;
    let Some(browser) = browser("two_reads_share_nothing", open(), quick()) else {
        return;
    };
    for _ in 0..2 {
        let got = browser.read(&site.url("/")).await.expect("a page");
        assert!(
            got.html.contains("cookie: none") && got.html.contains("stored: null set: id=1"),
            "{}",
            got.html
        );
    }
    let pages = site.paths().iter().filter(|p| *p == "/").count();
    assert_eq!(pages, 2, "the second read came from a cache");
}

#[tokio::test(flavor = "multi_thread")]
async fn scripts_cannot_take_the_reader_to_a_private_address() {
    let forbidden = Site::start(|_| page("secret")).await;
    let port = forbidden.addr.port();
    let site = Site::start(move |r| {
        let host = match r.path.trim_start_matches("/own/").split('?').next() {
            Some("name") => "inside.example",
            Some("hex") => "0x7f.1",
            Some("v6") => "[::ffff:127.0.0.1]",
            Some("localhost") => "localhost",
            Some("status") => return to(&format!("http://127.0.0.1:{port}/")),
            Some("meta") => return page(&format!("<meta http-equiv=refresh content='0;url=http://127.0.0.1:{port}/'>")),
            Some("form") => return page(&format!("<form action='http://127.0.0.1:{port}/' method=post></form><script>document.forms[0].submit()</script>")),
            _ => "127.0.0.1",
        };
        page(&format!("<p>wait</p><script>setTimeout(()=>location='http://{host}:{port}/',200)</script>"))
    })
    .await;
    let names = Names::of(&[("inside.example", &[&["127.0.0.1"]])]);
    let client = own_client(&site, names);
    let Some(browser) = browser(
        "scripts_cannot_take_the_reader_to_a_private_address",
        client,
        quick(),
    ) else {
        return;
    };
    for path in [
        "plain",
        "name",
        "hex",
        "v6",
        "localhost",
        "status",
        "meta",
        "form",
    ] {
        let failure = browser
            .read(&site.url(&format!("/own/{path}")))
            .await
            .expect_err(path);
        assert_eq!(
            failure.code,
            FailureCode::PrivateUrlBlocked,
            "{path}: {failure}"
        );
    }
    let failure = browser
        .read(&format!("http://127.0.0.1:{port}/"))
        .await
        .expect_err("asked for outright");
    assert_eq!(failure.code, FailureCode::PrivateUrlBlocked);
    assert_eq!(forbidden.touched(), 0, "a forbidden server was reached");
}

#[tokio::test(flavor = "multi_thread")]
async fn pages_that_never_end_fail_in_time_and_the_next_read_works() {
    let site = Site::start(|r| match r.path.as_str() {
        "/loop" => page("<p>x</p><script>while(true){}</script>"),
        "/late-loop" => page("<p>x</p><script>setTimeout(()=>{while(true){}},50)</script>"),
        "/busy" => page(
            "<p>words before</p><script>setInterval(()=>{document.body.append('x')},20)</script>",
        ),
        "/poll" => page("<p>words before</p><script>setInterval(()=>fetch('/tick'),50)</script>"),
        "/silent" => Say::Nothing,
        "/drip" => Say::Drip(
            b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n\r\n<p>words before</p>".to_vec(),
            b"<p>x</p>".to_vec(),
            Duration::from_millis(50),
        ),
        "/reload" => page("<script>setTimeout(()=>location.reload(),10)</script>"),
        "/endless" => to(&format!("{}x", r.path)),
        p if p.starts_with("/endless") => to(&format!("{p}x")),
        "/download" => answer(
            "200 OK",
            "Content-Type: application/zip\r\nContent-Disposition: attachment\r\n",
            "PK",
        ),
        "/tick" => answer("200 OK", "", "x"),
        _ => page("<p>fine</p>"),
    })
    .await;
    let limits = BrowserLimits {
        total: Duration::from_secs(8),
        settle: Duration::from_secs(2),
        ..quick()
    };
    let Some(browser) = browser(
        "pages_that_never_end_fail_in_time_and_the_next_read_works",
        open(),
        limits,
    ) else {
        return;
    };
    for (path, want) in [
        ("/loop", Err(FailureCode::Timeout)),
        ("/late-loop", Err(FailureCode::Timeout)),
        ("/busy", Ok(())),
        ("/poll", Ok(())),
        ("/drip", Ok(())),
        ("/silent", Err(FailureCode::Timeout)),
        ("/endless", Err(FailureCode::RedirectLoop)),
        ("/download", Err(FailureCode::UnsupportedContentType)),
    ] {
        let got = browser.read(&site.url(path)).await;
        match (&got, want) {
            (Ok(read), Ok(())) => assert!(
                read.html.contains("words before") && !read.settled,
                "{path}: {}",
                read.html
            ),
            (Err(e), Err(code)) => assert_eq!(e.code, code, "{path}: {e}"),
            _ => panic!("{path}: {got:?}"),
        }
        let next = browser
            .read(&site.url("/fine"))
            .await
            .unwrap_or_else(|e| panic!("after {path}: {e}"));
        assert!(next.html.contains("fine"), "after {path}");
    }
}

#[tokio::test]
async fn without_a_browser_the_failure_says_how_to_get_one() {
    let browser = Browser::with_program(open(), quick(), None);
    let failure = browser
        .read("http://127.0.0.1:8099/")
        .await
        .expect_err("no browser");
    assert_eq!(failure.code, FailureCode::BrowserRequired);
    let fix = failure.fix.as_ref().expect("a fix");
    assert_eq!(fix.kind, "install_browser");
    assert!(
        failure.message.contains(&fix.command) && fix.command.contains("chromium"),
        "{failure}"
    );
    let wire = serde_json::to_value(&failure).expect("JSON");
    assert_eq!(wire["code"], "browser_required");
    assert!(wire["fix"]["rootRequired"].is_boolean());
    let broken = Browser::with_program(open(), quick(), Some("/bin/false".into()));
    let failure = broken
        .read("http://127.0.0.1:8099/")
        .await
        .expect_err("no browser");
    assert_eq!(failure.code, FailureCode::BrowserRequired, "{failure}");
}
