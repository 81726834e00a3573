//! `read --jsonl` alone, without the rest of kilter, and optionally without some of its rules:
//! `cargo run -p kilter-web --example read_lines -- --without Tail,Head < pages.jsonl`.

use std::io::{BufRead, Write};

use kilter_web::content::{Rule, Rules};
use kilter_web::dom::Document;
use kilter_web::lines::Request;
use kilter_web::{ReadOptions, decode, read};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut rules = Rules::default();
    let args: Vec<String> = std::env::args().collect();
    for pair in args.windows(2).filter(|p| p[0] == "--without") {
        for name in pair[1].split(',') {
            match Rule::ALL.iter().find(|r| format!("{r:?}") == name) {
                Some(rule) => rules = rules.without(*rule),
                None => return Err(format!("no rule `{name}`; there are {:?}", Rule::ALL).into()),
            }
        }
    }
    let mut out = std::io::BufWriter::new(std::io::stdout().lock());
    for line in std::io::stdin().lock().lines() {
        let request: Request = serde_json::from_str(&line?)?;
        let bytes = request.bytes()?;
        let doc = Document::parse(&decode::html(&bytes, None).text);
        let page = read::document_by(
            &doc,
            request.url.as_deref(),
            &ReadOptions::default(),
            &rules,
        );
        let ok = page.is_ok();
        let page = page.unwrap_or_default();
        let answer = serde_json::json!({"id": request.id, "ok": ok, "text": page.text, "markdown": page.markdown, "title": page.title});
        writeln!(out, "{answer}")?;
    }
    out.flush()?;
    Ok(())
}
