//! Bytes per second of the reader, as ratios in one run: prose against one `memmem` search, text full
//! of calls, adversarial openers, and one long argument in small pieces.
#![allow(
    clippy::unwrap_used,
    clippy::print_stdout,
    clippy::disallowed_methods,
    reason = "a benchmark measures time and prints it"
)]

use std::hint::black_box;
use std::sync::Arc;
use std::time::{Duration, Instant};

use kilter_behavior::{ReaderConfig, Rejected, Sink, Split, ToolSet, TurnReader};
use kilter_core::{ToolCall, ToolSpec};
use serde_json::json;

#[derive(Default)]
struct Count {
    bytes: usize,
    calls: usize,
}

impl Sink for Count {
    fn content(&mut self, text: &str) {
        self.bytes += text.len();
    }
    fn reasoning(&mut self, text: &str) {
        self.bytes += text.len();
    }
    fn call(&mut self, _call: ToolCall, raw: &str) {
        self.calls += 1;
        self.bytes += raw.len();
    }
    fn rejected(&mut self, _rejected: Rejected) {}
    fn removed(&mut self, raw: &str) {
        self.bytes += raw.len();
    }
}

fn config() -> ReaderConfig {
    let tools = json!([
        {"name": "get_tide", "parameters": {"type": "object", "properties": {"port": {"type": "string"}, "days": {"type": "integer"}}, "required": ["port"]}},
        {"name": "write_file", "parameters": {"type": "object", "properties": {"path": {"type": "string"}, "content": {"type": "string"}}}},
        {"name": "search", "parameters": {"type": "object", "properties": {"query": {"type": "string"}}}}
    ]);
    ReaderConfig {
        tools: Arc::new(ToolSet::new(ToolSpec::list_from_wire(&tools))),
        split: Split::Armed {
            inline: true,
            leading_closer: false,
        },
        ..ReaderConfig::new()
    }
}

fn run(cfg: &ReaderConfig, text: &str, piece: usize) -> Count {
    let mut out = Count::default();
    let mut reader = TurnReader::new(cfg.clone());
    for p in kilter_behavior::filter::pieces(text, piece) {
        reader.push(p, &mut out);
    }
    reader.finish(&mut out);
    assert_eq!(out.bytes, text.len());
    out
}

/// The best of several runs.
fn best(n: usize, mut f: impl FnMut()) -> Duration {
    (0..n)
        .map(|_| {
            let t = Instant::now();
            f();
            t.elapsed()
        })
        .min()
        .unwrap()
}

fn rate(bytes: usize, t: Duration) -> f64 {
    bytes as f64 / t.as_secs_f64() / 1e6
}

fn main() {
    let cfg = config();
    let paragraph = "The harbour master writes the tide table by hand, as his father did, and pins it to \
        the door before the first boats leave. Nobody reads it; everybody knows the hours by heart. \
        Still he writes it, with the date and the height in metres, and signs it with a small anchor.\n\n";
    let prose = paragraph.repeat(8 * 1024 * 1024 / paragraph.len());
    let find = memchr::memmem::Finder::new("<tool_call>");
    let base = best(9, || {
        black_box(find.find(black_box(prose.as_bytes())));
    });
    let whole = best(9, || {
        black_box(run(&cfg, black_box(&prose), usize::MAX));
    });
    let pieces = best(5, || {
        black_box(run(&cfg, black_box(&prose), 64));
    });
    println!(
        "prose, memmem for one opener   {:>8.0} MB/s",
        rate(prose.len(), base)
    );
    println!(
        "prose, all dialects            {:>8.0} MB/s   {:.2} x memmem's time",
        rate(prose.len(), whole),
        whole.as_secs_f64() / base.as_secs_f64()
    );
    println!(
        "prose, in 64-byte deltas       {:>8.0} MB/s",
        rate(prose.len(), pieces)
    );

    let block = "Checking.\n<tool_call>\n{\"name\": \"get_tide\", \"arguments\": {\"port\": \"Brest\", \"days\": 2}}\n</tool_call>\n";
    let calls = block.repeat(2000);
    let t = best(5, || {
        assert_eq!(
            black_box(run(&cfg, black_box(&calls), usize::MAX)).calls,
            2000
        );
    });
    println!(
        "calls, one in 100 bytes        {:>8.0} MB/s",
        rate(calls.len(), t)
    );

    for (what, open) in [
        ("openers that come to nothing", "<tool_call> is a tag. "),
        ("unclosed JSON at line starts", "{\"name\": [\n"),
        ("brackets", "[[[[<<<<{{{{"),
    ] {
        let text = open.repeat(400_000 / open.len());
        let t = best(3, || {
            black_box(run(&cfg, black_box(&text), 16));
        });
        println!("{what:<30} {:>8.0} MB/s", rate(text.len(), t));
    }

    let mut last = 0.0;
    for kb in [80usize, 160, 320] {
        let arg = "some text of a file, line after line\\n".repeat(kb * 1024 / 38);
        let call = format!(
            "<tool_call>\n{{\"name\": \"write_file\", \"arguments\": {{\"path\": \"a\", \"content\": \"{arg}\"}}}}\n</tool_call>"
        );
        let xml = format!(
            "<tool_call>\n<function=write_file>\n<parameter=path>\na\n</parameter>\n<parameter=content>\n{}\n</parameter>\n</function>\n</tool_call>",
            arg.replace("\\n", "\n")
        );
        let t = best(5, || {
            assert_eq!(black_box(run(&cfg, black_box(&call), 8)).calls, 1);
        });
        let x = best(5, || {
            assert_eq!(black_box(run(&cfg, black_box(&xml), 8)).calls, 1);
        });
        let ms = t.as_secs_f64() * 1e3;
        println!(
            "{kb:>3} KB argument, 8-byte deltas  {ms:>8.1} ms JSON {:>7.1} ms elements{}",
            x.as_secs_f64() * 1e3,
            if last > 0.0 {
                format!("   {:.2} x the half", ms / last)
            } else {
                String::new()
            }
        );
        last = ms;
    }
}
