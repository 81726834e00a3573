//! `kilter read URL`: pages over real sockets and with a real browser; what is refused, and with which words.

use std::time::Duration;

use serde_json::Value;

use crate::pages::{Pages, html, send};
use crate::run::{Place, Watch};

const PAGE: &str = "<!doctype html><html lang=en><title>Tide tables</title><nav><a href=/home>Home</a></nav><main>\
<h1>Tide tables</h1><p>High water stands at the north quay about forty minutes before the south quay.</p>\
<h2>Opening hours</h2><p>The harbour office opens at seven and closes at four, on every day of the week.</p>\
<p>See <a href='../map'>the map</a> of all quays, which the office keeps for pilots.</p>\
<h2>Depths</h2><table><tr><th>Quay<th>Depth</tr><tr><td>north<td>7 m</tr></table></main>";
const FEED: &str = "<rss version='2.0'><channel><title>Notices</title><item><title>Fog</title><link>/fog</link>\
<description>Fog until noon.</description></item></channel></rss>";
const PDF: &[u8] = include_bytes!("../../../kilter-web/tests/it/data/printed.pdf");
const APP: &str = "<!doctype html><title>t</title><div id=app></div><script>setTimeout(()=>{document.getElementById('app')\
.innerHTML='<main><h1>Harbour survey</h1><p>The survey found 37 wrecks between the two moles, and lists each of them.</p></main>'},200)</script>";

fn site() -> Pages {
    Pages::serve(|path, stream| match path {
        "/docs/tides" => html(stream, PAGE.as_bytes()),
        "/app" => html(stream, APP.as_bytes()),
        "/moved" => send(stream, "302 Found", "Location: /docs/tides\r\n", b""),
        "/feed" => send(
            stream,
            "200 OK",
            "Content-Type: application/rss+xml\r\n",
            FEED.as_bytes(),
        ),
        "/file.pdf" => send(stream, "200 OK", "Content-Type: application/pdf\r\n", PDF),
        "/broken.pdf" => send(
            stream,
            "200 OK",
            "Content-Type: application/pdf\r\n",
            &PDF[..200],
        ),
        "/image" => send(stream, "200 OK", "Content-Type: image/png\r\n", b"x"),
        "/in" => send(
            stream,
            "401 No",
            "WWW-Authenticate: Basic\r\nContent-Type: text/html\r\n",
            b"<p>in</p>",
        ),
        "/never" => std::thread::sleep(Duration::from_secs(60)),
        _ => send(
            stream,
            "404 Not Found",
            "Content-Type: text/html\r\n",
            b"<p>no</p>",
        ),
    })
}

/// A place where loopback may be read, without a browser.
fn read(place: &Place, arguments: &[&str]) -> (Option<i32>, String, String) {
    with(
        place,
        &[
            ("KILTER_ALLOW_PRIVATE_URLS", "1"),
            ("KILTER_BROWSER", "/nowhere"),
        ],
        arguments,
    )
}

fn with(place: &Place, vars: &[(&str, &str)], arguments: &[&str]) -> (Option<i32>, String, String) {
    let mut command = place.command(&["read"]);
    let output = command
        .envs(vars.iter().copied())
        .args(arguments)
        .output()
        .unwrap();
    let text = |bytes: &[u8]| String::from_utf8(bytes.to_vec()).unwrap();
    (
        output.status.code(),
        text(&output.stdout),
        text(&output.stderr),
    )
}

/// A URL at which nobody listens.
fn nobody() -> String {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    format!("http://{}/", listener.local_addr().unwrap())
}

fn interrupt(child: &std::process::Child) {
    let mut kill = std::process::Command::new("kill");
    let sent = kill.args(["-INT", &child.id().to_string()]).status();
    assert!(sent.unwrap().success());
}

fn json(text: &str) -> Value {
    serde_json::from_str(text).unwrap_or_else(|e| panic!("{e}: {text}"))
}

#[test]
fn pages_feeds_and_pdfs_are_read() {
    let (place, site) = (Place::new(), site());
    let (code, out, err) = read(&place, &[&site.url("/moved")]);
    assert_eq!((code, err.as_str()), (Some(0), ""));
    assert!(
        out.contains(&format!("[the map]({})", site.url("/map"))),
        "{out}"
    );
    assert!(!out.contains("Home"), "{out}");
    let (code, out, _) = read(&place, &[&site.url("/moved"), "--json"]);
    let value = json(&out);
    assert_eq!((code, &value["ok"]), (Some(0), &Value::Bool(true)));
    assert_eq!(value["url"]["finalUrl"], site.url("/docs/tides"));
    assert_eq!(
        (&value["backend"], &value["statusCode"]),
        (&"http".into(), &200.into())
    );
    assert!(
        value["contentHash"]
            .as_str()
            .unwrap()
            .starts_with("sha256:")
    );
    assert!(
        value["blocks"][1]["source_selector"]
            .as_str()
            .unwrap()
            .contains("main")
    );
    let (_, out, err) = read(&place, &[&site.url("/feed"), "--json"]);
    assert_eq!(json(&out)["format"], "feed", "{err}");
    assert_eq!(
        json(&out)["blocks"][0]["links"][0]["href"],
        site.url("/fog")
    );
    // PDFs are read by the binary itself, in a process of its own; from a file too.
    let (code, out, err) = read(&place, &[&site.url("/file.pdf")]);
    assert_eq!(code, Some(0), "{err}");
    assert!(
        out.contains("# Harbour survey 2026") && out.contains("37 wrecks"),
        "{out}"
    );
    std::fs::write(place.path().join("a.pdf"), PDF).unwrap();
    let (_, of_file, err) = read(&place, &["a.pdf"]);
    assert_eq!(of_file, out, "{err}");
    // No read leaves anything behind: no key, no state.
    assert_eq!(std::fs::read_dir(place.path()).unwrap().count(), 1);
}

#[test]
fn what_cannot_be_read_says_its_word() {
    let (place, site) = (Place::new(), site());
    type Vars = &'static [(&'static str, &'static str)];
    const SHUT: Vars = &[];
    const OPEN: Vars = &[
        ("KILTER_ALLOW_PRIVATE_URLS", "1"),
        ("KILTER_BROWSER", "/nowhere"),
    ];
    const ODD: Vars = &[("KILTER_ALLOW_PRIVATE_URLS", "perhaps")];
    for (vars, path, backend, code, exit) in [
        (SHUT, "/docs/tides", "http", "private_url_blocked", 1),
        (SHUT, "/docs/tides", "browser", "private_url_blocked", 1),
        (SHUT, "/docs/tides", "auto", "private_url_blocked", 1),
        (OPEN, "/gone", "http", "http_404", 1),
        (OPEN, "/in", "http", "requires_login", 1),
        (OPEN, "/image", "auto", "unsupported_content_type", 1),
        (OPEN, "/broken.pdf", "http", "extraction_failed", 1),
        (OPEN, "/app", "http", "thin_extract", 1),
        (OPEN, "/docs/tides", "browser", "browser_required", 3),
        (OPEN, "nobody", "http", "network_error", 3),
        (OPEN, "http://127.0.0.1:1/", "http", "invalid_url", 2),
        (OPEN, "ftp://example.com/x", "http", "invalid_url", 2),
        (OPEN, "/docs/tides", "curl", "invalid_arguments", 2),
        (ODD, "/docs/tides", "http", "invalid_arguments", 2),
    ] {
        let target = match path {
            "nobody" => nobody(),
            _ if path.starts_with('/') => site.url(path),
            _ => path.to_owned(),
        };
        let target = target.as_str();
        let (status, out, err) = with(&place, vars, &[target, "--backend", backend, "--json"]);
        let value = json(&out);
        assert_eq!(
            (&value["ok"], &value["failure"]["code"]),
            (&Value::Bool(false), &code.into()),
            "{target} {backend}"
        );
        assert_eq!(
            (status, err.as_str()),
            (Some(exit), ""),
            "{target} {backend}: {out}"
        );
        assert!(
            value["decisions"].is_array() && value["failure"]["retryable"].is_boolean(),
            "{out}"
        );
        assert!(value.get("markdown").is_none(), "{out}");
        // The same in words: what happened, then what to do.
        let (status, out, err) = with(&place, vars, &[target, "--backend", backend]);
        assert_eq!((status, out.as_str()), (Some(exit), ""));
        assert!(
            err.starts_with("error: ") && !err.contains("hint: hint"),
            "{err}"
        );
    }
    let (_, out, err) = read(&place, &[&site.url("/app")]);
    assert!(
        err.contains("hint:") && err.contains("chromium") && out.is_empty(),
        "{err}"
    );
    let (_, out, _) = read(&place, &[&site.url("/app"), "--json"]);
    assert!(
        json(&out)["failure"]["fix"]["command"]
            .as_str()
            .unwrap()
            .contains("chromium"),
        "{out}"
    );
}

#[test]
fn focus_and_budget_hold_for_what_is_printed() {
    let (place, site) = (Place::new(), site());
    let url = site.url("/docs/tides");
    let (code, out, err) = read(&place, &[&url, "--focus", "opening hours"]);
    assert_eq!(code, Some(0));
    assert!(
        out.contains("opens at seven") && !out.contains("7 m"),
        "{out}"
    );
    assert!(
        err.contains("characters of other sections were left out"),
        "{err}"
    );
    let (_, out, err) = read(&place, &[&url, "--focus", "zebra"]);
    assert!(
        out.contains("7 m") && err.contains("nothing on the page is about"),
        "{err}"
    );
    let (_, out, _) = read(&place, &[&url, "--section", "depths"]);
    assert!(out.starts_with("## Depths"), "{out}");
    let (_, out, _) = read(&place, &[&url, "--max-tokens", "200", "--json"]);
    assert_eq!(out.lines().count(), 1, "counted as it is sent");
    let value = json(&out);
    let tokens = value["compile"]["tokens"].as_u64().unwrap();
    assert!(
        tokens <= 200 && value["compile"]["truncated"] == true,
        "{out}"
    );
    let (code, out, _) = read(&place, &[&url, "--max-tokens", "12", "--json"]);
    assert_eq!(
        (code, &json(&out)["failure"]["code"]),
        (Some(2), &"invalid_arguments".into())
    );
    // The same page again; a file answers the same questions.
    let (_, out, _) = read(&place, &[&url, "--json"]);
    let hash = json(&out)["contentHash"].as_str().unwrap().to_owned();
    let (code, out, err) = read(&place, &[&url, "--if-none-match", &hash]);
    assert_eq!((code, out.as_str()), (Some(0), ""), "{err}");
    place.write("page.html", PAGE);
    let (_, out, _) = read(
        &place,
        &["page.html", "--base-url", &url, "--json", "--receipt"],
    );
    assert_eq!(json(&out)["contentHash"], hash.as_str());
    assert_eq!(
        json(&out)["receipt"]["signed"]["contentHash"],
        hash.as_str()
    );
    assert!(json(&out)["receipt"]["signed"]["leafCount"].as_u64() > Some(4));
}

#[cfg(unix)]
#[test]
fn an_interrupted_read_ends_at_once_and_whole() {
    let (place, site) = (Place::new(), site());
    let mut command = place.command(&["read", &site.url("/never"), "--json"]);
    let child = command
        .env("KILTER_ALLOW_PRIVATE_URLS", "1")
        .spawn()
        .unwrap();
    std::thread::sleep(Duration::from_millis(1_500));
    let start = Watch::start();
    interrupt(&child);
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(130));
    assert!(start.gone() < Duration::from_secs(5));
    // Nothing half of a JSON object, and one word about it.
    assert!(output.stdout.is_empty());
    assert!(
        String::from_utf8(output.stderr)
            .unwrap()
            .contains("interrupted")
    );
}

/// A real page that scripts build, through the binary; says by name where there is no browser.
#[test]
fn a_page_that_scripts_build_is_read_with_chromium() {
    let (place, site) = (Place::new(), site());
    let doctor = place.run(&["doctor", "--json", "--ports", "1"]);
    let report: Value = serde_json::from_slice(&doctor.stdout).unwrap();
    let checks = report["checks"].as_array().unwrap();
    let browser = checks.iter().find(|c| c["name"] == "browser").unwrap();
    if browser["state"] != "ok" {
        let said = browser["hint"].as_str().unwrap();
        assert!(said.contains("install"), "{said}");
        std::io::Write::write_all(
            &mut std::io::stderr(),
            format!("left out: needs Chromium: {said}\n").as_bytes(),
        )
        .unwrap();
        return;
    }
    let folder = place.path().join("folders").display().to_string();
    std::fs::create_dir(&folder).unwrap();
    let open = [
        ("KILTER_ALLOW_PRIVATE_URLS", "1"),
        ("TMPDIR", folder.as_str()),
    ];
    let (code, out, err) = with(&place, &open, &[&site.url("/app"), "--json"]);
    assert_eq!(code, Some(0), "{err}{out}");
    let value = json(&out);
    assert_eq!(value["backend"], "browser");
    assert!(
        value["markdown"].as_str().unwrap().contains("37 wrecks"),
        "{out}"
    );
    let ways: Vec<_> = value["recovery"]
        .as_array()
        .unwrap()
        .iter()
        .map(|a| (a["backend"].as_str(), a["ok"].as_bool()))
        .collect();
    assert_eq!(
        ways,
        [(Some("http"), Some(false)), (Some("browser"), Some(true))]
    );
    assert_eq!(value["recovery"][1]["escalationReason"], "thin_extract");
    let (_, out, _) = with(
        &place,
        &open,
        &[&site.url("/docs/tides"), "--backend", "browser"],
    );
    assert!(out.contains("High water stands"), "{out}");
    // A read that is interrupted ends its browser, too.
    let mut command = place.command(&["read", &site.url("/never"), "--backend", "browser"]);
    let child = command.envs(open.iter().copied()).spawn().unwrap();
    let start = Watch::start();
    while std::fs::read_dir(&folder).unwrap().count() == 0 {
        assert!(
            start.gone() < Duration::from_secs(30),
            "no browser was started"
        );
        std::thread::sleep(Duration::from_millis(100));
    }
    std::thread::sleep(Duration::from_secs(1));
    interrupt(&child);
    assert_eq!(child.wait_with_output().unwrap().status.code(), Some(130));
    // No browser and no folder of one is left.
    assert_eq!(std::fs::read_dir(&folder).unwrap().count(), 0);
    let running = |name: &str| {
        let found = std::process::Command::new("pgrep")
            .args(["-f", name])
            .output();
        found.is_ok_and(|o| !o.stdout.is_empty())
    };
    let start = Watch::start();
    while running(&folder) {
        assert!(start.gone() < Duration::from_secs(20), "a browser goes on");
        std::thread::sleep(Duration::from_millis(200));
    }
}

#[test]
fn doctor_says_how_to_get_a_browser() {
    let place = Place::new();
    let mut command = place.command(&["doctor", "--json", "--ports", "1"]);
    let output = command.env("PATH", "/nowhere").output().unwrap();
    let report: Value = serde_json::from_slice(&output.stdout).unwrap();
    let checks = report["checks"].as_array().unwrap();
    let browser = checks.iter().find(|c| c["name"] == "browser").unwrap();
    assert_eq!(
        (&browser["state"], &browser["needed"]),
        (&"missing".into(), &false.into())
    );
    assert!(
        browser["hint"]
            .as_str()
            .unwrap()
            .starts_with("run `apt-get install -y chromium` as root"),
        "{browser}"
    );
    let mut command = place.command(&["doctor", "--ports", "1"]);
    let output = command
        .env("KILTER_BROWSER", "/nowhere/chromium")
        .output()
        .unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(
        text.contains("`KILTER_BROWSER` names `/nowhere/chromium`"),
        "{text}"
    );
}
