//! Reads lines `{"id","html_b64","url"}` and writes `{"id","text","ms"}` with the extractor named as first argument:
//! `kilter`, `kilter-md`, `trafilatura`, `dom_smoothie` or `dom_smoothie-md`. `ms` is the wall time of the extraction
//! alone, on one thread, decoding of the bytes not counted.

use std::io::{BufRead, Write};
use std::time::Instant;

use base64::Engine;

fn decode(bytes: &[u8]) -> String {
    kilter_web::decode::html(bytes, None).text
}

fn extract(engine: &str, html: &str, url: &str) -> Option<String> {
    match engine {
        "kilter" | "kilter-md" => {
            let page = kilter_web::read::html(html, Some(url), &kilter_web::ReadOptions::default()).ok()?;
            Some(if engine == "kilter" { page.text } else { page.markdown })
        }
        "trafilatura" => {
            let options = trafilatura::Options::default()
                .with_fallback(true)
                .with_exclude_comments(true);
            trafilatura::extract(html, &options).ok().map(|r| r.content_text)
        }
        "dom_smoothie" | "dom_smoothie-md" => {
            let config = dom_smoothie::Config {
                text_mode: if engine == "dom_smoothie" {
                    dom_smoothie::TextMode::Formatted
                } else {
                    dom_smoothie::TextMode::Markdown
                },
                ..Default::default()
            };
            let mut reader = dom_smoothie::Readability::new(html, None, Some(config)).ok()?;
            reader.parse().ok().map(|a| a.text_content.to_string())
        }
        other => {
            eprintln!("unknown extractor `{other}`");
            std::process::exit(2);
        }
    }
}

fn main() {
    let engine = std::env::args().nth(1).unwrap_or_default();
    let out = std::io::stdout();
    let mut out = std::io::BufWriter::new(out.lock());
    for line in std::io::stdin().lock().lines() {
        let row: serde_json::Value = serde_json::from_str(&line.unwrap()).unwrap();
        let bytes = base64::engine::general_purpose::STANDARD
            .decode(row["html_b64"].as_str().unwrap())
            .unwrap();
        let html = decode(&bytes);
        let url = row["url"].as_str().unwrap_or("https://example.test/");
        let from = Instant::now();
        let text = extract(&engine, &html, url);
        let ms = from.elapsed().as_secs_f64() * 1000.0;
        let line = serde_json::json!({"id": row["id"], "ok": text.is_some(), "text": text.unwrap_or_default(), "ms": ms});
        writeln!(out, "{line}").unwrap();
    }
}
