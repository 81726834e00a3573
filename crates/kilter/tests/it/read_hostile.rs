//! Pages made to harm, through the real command: a typed end within the limits, and little memory.

use std::collections::HashMap;
use std::io::{Read, Write};
use std::net::TcpStream;
use std::process::{Command, Stdio};
use std::time::Duration;

use serde_json::Value;

use crate::pages::{Pages, html, send};
use crate::run::{Place, Watch};

/// What a read may hold at its peak (the issue's bound).
const MOST_KIB: u64 = 512 << 10;
/// A read with an unoptimised program on a busy machine.
const MOST_TIME: Duration = Duration::from_secs(90);

/// Starts the command, waits for it and says what the kernel counted for it: the peak of its resident memory.
const MEASURE: &str = "import json, os, sys
pid = os.spawnve(os.P_NOWAIT, sys.argv[1], sys.argv[1:], os.environ)
_, status, used = os.wait4(pid, 0)
json.dump({'exit': os.waitstatus_to_exitcode(status), 'kib': used.ru_maxrss}, sys.stderr)";

/// 64 MiB of one letter in 106 bytes of brotli.
const BROTLI_BOMB: &str = "cbffff3ff825c2e2b14020f7fe8fffff7ff04b00c4611180eefd1fffffffe0970088c30200ddfb3ffeffffc12f0110870500baf77ffcffff835f02200e0b0074effff8ffff07bf04401c1600e8defff1ffff0f7e0980382c00d0bdffcbffff3ffc1200715800a07bff07";

const WORDS: &str = "The last sentence of the page is still there, after everything that stood before it, and it is long enough.";

struct Measured {
    exit: i64,
    kib: u64,
    took: Duration,
    reply: Value,
}

/// Runs `kilter read … --json` and measures it.
fn read(place: &Place, vars: &[(&str, &str)], arguments: &[&str]) -> Measured {
    let kilter = place.command(&[]);
    let start = Watch::start();
    let mut command = Command::new("python3");
    command
        .args(["-c", MEASURE])
        .arg(kilter.get_program())
        .arg("read")
        .args(arguments)
        .arg("--json");
    command
        .env_clear()
        .env("HOME", place.path())
        .env("PATH", std::env::var_os("PATH").unwrap_or_default());
    command.current_dir(place.path()).envs(vars.iter().copied());
    let output = command.stdin(Stdio::null()).output().unwrap();
    let said = String::from_utf8(output.stderr).unwrap();
    let used: Value = serde_json::from_str(said.lines().last().unwrap_or_default())
        .unwrap_or_else(|e| panic!("{arguments:?}: {e}: {said}"));
    Measured {
        exit: used["exit"].as_i64().unwrap(),
        kib: used["kib"].as_u64().unwrap(),
        took: start.gone(),
        reply: serde_json::from_slice(&output.stdout)
            .unwrap_or_else(|e| panic!("{arguments:?}: {e}: {said}")),
    }
}

/// One line of figures for whoever looks (`--no-capture`).
fn tell(name: &str, got: &Measured) {
    let end = got.reply["failure"]["code"].as_str().unwrap_or("read");
    let line = format!(
        "{name:<26} {end:<24} {:>4} MiB {:>6} ms\n",
        got.kib >> 10,
        got.took.as_millis()
    );
    let _ = std::io::stderr().write_all(line.as_bytes());
}

fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut out = Vec::new();
    flate2::read::GzEncoder::new(bytes, flate2::Compression::fast())
        .read_to_end(&mut out)
        .unwrap();
    out
}

/// A gibibyte: the same member again and again, as the format allows.
fn gzip_bomb() -> Vec<u8> {
    gzip(&vec![b'a'; 16 << 20]).repeat(64)
}

/// Four gibibytes: blocks of one byte repeated (RFC 8878, 3.1.1.2.2), 128 KiB each.
fn zstd_bomb() -> Vec<u8> {
    let mut out = vec![0x28, 0xb5, 0x2f, 0xfd, 0x00, 7 << 3];
    let block = ((128_u32 << 10) << 3) | (1 << 1);
    for _ in 0..32 << 10 {
        out.extend_from_slice(&block.to_le_bytes()[..3]);
        out.push(b'a');
    }
    out.extend_from_slice(&[0x01, 0, 0]);
    out
}

fn hex(text: &str) -> Vec<u8> {
    (0..text.len())
        .step_by(2)
        .map(|i| u8::from_str_radix(&text[i..i + 2], 16).unwrap())
        .collect()
}

fn nested(open: &str, bytes: usize) -> Vec<u8> {
    format!("{}<p>{WORDS}</p>", open.repeat(bytes / open.len())).into_bytes()
}

fn attributes() -> Vec<u8> {
    let mut page = String::from("<p");
    for i in 0..1_000_000 {
        page.push_str(&format!(" a{i}=1"));
    }
    page.push_str(&format!(">{WORDS}</p>"));
    page.into_bytes()
}

/// Every byte value in an order that follows no encoding.
fn noise(bytes: usize) -> Vec<u8> {
    let mut state = 0x9e37_79b9_7f4a_7c15_u64;
    let mut out = format!("<meta charset=utf-8><p>{WORDS}</p><p>").into_bytes();
    while out.len() < bytes {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        out.extend_from_slice(&state.to_le_bytes());
    }
    out
}

fn drip(stream: &mut TcpStream) {
    let _ = stream.write_all(
        b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Length: 1000000\r\n\r\n<p>",
    );
    while stream.write_all(b"a").is_ok() {
        std::thread::sleep(Duration::from_millis(50));
    }
}

fn site() -> Pages {
    let bodies: HashMap<&str, (&str, Vec<u8>)> = HashMap::from([
        ("/nested", ("", nested("<div>", 10 << 20))),
        ("/nested-8", ("", nested("<div>", (8 << 20) - 200))),
        ("/marks-8", ("", nested("<b><i>", (8 << 20) - 200))),
        (
            "/tables-8",
            ("", nested("<table><tr><td>", (8 << 20) - 200)),
        ),
        (
            "/cells-8",
            (
                "",
                format!("<table>{}</table>", "<tr><td>a<td>b".repeat(580_000)).into_bytes(),
            ),
        ),
        (
            "/items-8",
            ("", "<li><a href=/x>b</a>".repeat(400_000).into_bytes()),
        ),
        ("/lines-8", ("", "<p>aa".repeat(1_600_000).into_bytes())),
        ("/attributes", ("", attributes())),
        (
            "/meta",
            ("", [&b"<meta http-equiv=x>"[..], &attributes()].concat()),
        ),
        ("/noise-1", ("", noise(1 << 20))),
        ("/noise-8", ("", noise((8 << 20) - 64))),
        ("/gzip", ("Content-Encoding: gzip\r\n", gzip_bomb())),
        ("/br", ("Content-Encoding: br\r\n", hex(BROTLI_BOMB))),
        ("/zstd", ("Content-Encoding: zstd\r\n", zstd_bomb())),
        (
            "/gzip-nested",
            (
                "Content-Encoding: gzip\r\n",
                gzip(&nested("<span>", (8 << 20) - 200)),
            ),
        ),
    ]);
    Pages::serve(move |path, stream| {
        match path {
        "/good" => html(stream, format!("<main><h1>Tides</h1><p>{WORDS}</p></main>").as_bytes()),
        "/drip" => drip(stream),
        "/silent" => std::thread::sleep(Duration::from_secs(60)),
        "/spin" => html(stream, format!("<main><p>{WORDS}</p></main><script>for(;;){{}}</script>").as_bytes()),
        "/restless" => html(
            stream,
            format!("<main><p>{WORDS}</p></main><script>setInterval(()=>document.body.append(document.createElement('i')),20)</script>").as_bytes(),
        ),
        "/header" => {
            let _ = stream.write_all(b"HTTP/1.1 200 OK\r\n");
            while stream.write_all(format!("X-A: {}\r\n", "a".repeat(4000)).as_bytes()).is_ok() {}
        }
        _ => match (bodies.get(path), path.strip_prefix("/on/")) {
            (Some((headers, body)), _) => send(stream, "200 OK", &format!("Content-Type: text/html\r\n{headers}"), body),
            (None, Some(n)) => {
                let next = n.parse::<u32>().unwrap_or_default() + 1;
                send(stream, "302 Found", &format!("Location: /on/{next}\r\n"), b"");
            }
            _ => send(stream, "404 Not Found", "", b""),
        },
    }
    })
}

type Vars = &'static [(&'static str, &'static str)];

/// Loopback is allowed, there is no browser, and an answer has four seconds.
const PLAIN: Vars = &[
    ("KILTER_ALLOW_PRIVATE_URLS", "1"),
    ("KILTER_BROWSER", "/nowhere"),
    ("KILTER_FETCH_TIMEOUT_MS", "4000"),
];
/// The most that an operator can allow.
const WIDE: Vars = &[
    PLAIN[0],
    PLAIN[1],
    ("KILTER_FETCH_TIMEOUT_MS", "20000"),
    ("KILTER_MAX_RESPONSE_BYTES", "16777216"),
];

/// Reads every path and holds it to the ways it may end, and to memory and time.
fn all_end_well(cases: &[(&str, Vars, &str)]) {
    let (place, site) = (Place::new(), site());
    let mut wrong = Vec::new();
    for (path, vars, ends) in cases {
        let got = read(&place, vars, &[&site.url(path)]);
        tell(path, &got);
        let end = got.reply["failure"]["code"].as_str().unwrap_or("read");
        let exit = match end {
            "read" => 0,
            "timeout" | "network_error" => 3,
            _ => 1,
        };
        if !ends.split('|').any(|e| e == end)
            || got.exit != exit
            || got.kib > MOST_KIB
            || got.took > MOST_TIME
        {
            wrong.push(format!(
                "{path}: {end}, exit {}, {} KiB, {:?}",
                got.exit, got.kib, got.took
            ));
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}

#[test]
fn hostile_answers_end_typed_and_small() {
    all_end_well(&[
        ("/nested", PLAIN, "response_too_large"),
        ("/nested", WIDE, "read|thin_extract"),
        ("/attributes", PLAIN, "response_too_large"),
        ("/attributes", WIDE, "read"),
        ("/meta", WIDE, "read"),
        ("/noise-1", PLAIN, "read"),
        ("/gzip", PLAIN, "response_too_large"),
        ("/br", PLAIN, "response_too_large"),
        ("/zstd", PLAIN, "response_too_large"),
        ("/gzip-nested", PLAIN, "read|thin_extract"),
        ("/drip", PLAIN, "timeout"),
        ("/silent", PLAIN, "timeout"),
        ("/on/0", PLAIN, "redirect_loop"),
        ("/header", PLAIN, "response_too_large"),
        // And the server that was read from is still there.
        ("/good", PLAIN, "read"),
    ]);
}

#[test]
fn heavy_the_longest_answers_end_typed_and_small() {
    all_end_well(&[
        ("/nested-8", PLAIN, "read|thin_extract"),
        ("/marks-8", PLAIN, "read|thin_extract"),
        ("/tables-8", PLAIN, "read|thin_extract"),
        ("/cells-8", PLAIN, "read"),
        ("/items-8", PLAIN, "read|thin_extract"),
        ("/lines-8", PLAIN, "read"),
        ("/noise-8", PLAIN, "read"),
    ]);
}

#[test]
fn heavy_hostile_files_end_typed_and_small() {
    let place = Place::new();
    let mut files = vec![("attributes", attributes()), ("noise", noise(10 << 20))];
    for (name, open) in [
        ("div", "<div>"),
        ("b", "<b>"),
        ("li", "<ul><li>"),
        ("quote", "<blockquote>"),
        ("td", "<table><tr><td>"),
        ("a", "<a href=x>"),
    ] {
        files.push((name, nested(open, 10 << 20)));
    }
    // No more than is read is taken in, of a file that never ends neither.
    let got = read(&place, &[], &["/dev/zero"]);
    tell("/dev/zero", &got);
    assert_eq!(got.reply["failure"]["code"], "response_too_large");
    assert!(got.kib < MOST_KIB, "{} KiB", got.kib);
    let mut wrong = Vec::new();
    for (name, bytes) in files {
        let file = format!("{name}.html");
        std::fs::write(place.path().join(&file), bytes).unwrap();
        let got = read(&place, &[], &[&file]);
        tell(name, &got);
        let end = got.reply["failure"]["code"].as_str().unwrap_or("read");
        if !matches!(end, "read" | "thin_extract") || got.kib > MOST_KIB || got.took > MOST_TIME {
            wrong.push(format!("{name}: {end}, {} KiB, {:?}", got.kib, got.took));
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}

/// Scripts that never come to rest, with a real Chromium; says by name where there is none.
#[test]
fn scripts_that_never_settle_end_typed_and_small() {
    let (place, site) = (Place::new(), site());
    for (path, limit, wanted) in [
        ("/spin", "10000", "timeout"),
        ("/restless", "50000", "read"),
    ] {
        let vars = [
            ("KILTER_ALLOW_PRIVATE_URLS", "1"),
            ("KILTER_BROWSER_TIMEOUT_MS", limit),
        ];
        let got = read(&place, &vars, &[&site.url(path), "--backend", "browser"]);
        let end = got.reply["failure"]["code"].as_str().unwrap_or("read");
        if end == "browser_required" {
            let _ = std::io::stderr()
                .write_all(b"left out: scripts_that_never_settle needs Chromium\n");
            return;
        }
        tell(path, &got);
        assert_eq!(end, wanted, "{path}: {}", got.reply);
        assert!(got.kib < MOST_KIB, "{path}: {} KiB", got.kib);
        assert!(got.took < MOST_TIME, "{path}: {:?}", got.took);
        if end == "read" {
            assert!(
                got.reply["warnings"]
                    .to_string()
                    .contains("page_not_settled"),
                "{}",
                got.reply
            );
        }
    }
}
