//! The reasoning splitter in every mode over any text: nothing is lost, nothing depends on chunking.

use std::sync::{Arc, OnceLock};

use kilter_behavior::{ReaderConfig, Registry, Split, ToolSet, TurnReader};

#[path = "scanner.rs"]
#[allow(dead_code, unreachable_pub, clippy::duplicate_mod)]
mod scanner;

const MODES: [Split; 6] = [
    Split::Suppressed,
    Split::Unlearnt,
    Split::Armed {
        inline: false,
        leading_closer: false,
    },
    Split::Armed {
        inline: true,
        leading_closer: false,
    },
    Split::Armed {
        inline: false,
        leading_closer: true,
    },
    Split::Armed {
        inline: true,
        leading_closer: true,
    },
];

/// One input.
pub(crate) fn run(data: &[u8]) {
    static SHARED: OnceLock<(Arc<Registry>, Arc<ToolSet>)> = OnceLock::new();
    let (registry, tools) =
        SHARED.get_or_init(|| (Registry::builtin(), Arc::new(ToolSet::new(Vec::new()))));
    let text = String::from_utf8_lossy(data);
    for split in MODES {
        for reasoning_open in [false, true] {
            let cfg = ReaderConfig {
                registry: Arc::clone(registry),
                tools: Arc::clone(tools),
                split,
                reasoning_open,
                ..ReaderConfig::new()
            };
            let whole = scanner::laws(&cfg, &text, data.len() as u64);
            assert!(whole.calls.is_empty(), "no tool is declared");
            if let Some(candidate) = &whole.summary.content_candidate {
                assert!(
                    whole.content.trim().is_empty(),
                    "a candidate {candidate:?} beside content"
                );
            }

            // The deadline of the first-turn window ends the hold-back for good.
            let at = scanner::cuts(&text, data.len() as u64, 3)
                .first()
                .copied()
                .unwrap_or(0);
            let mut parts = scanner::Parts::default();
            let mut reader = TurnReader::new(cfg);
            reader.push(&text[..at], &mut parts);
            reader.deadline_passed(&mut parts);
            reader.push(&text[at..], &mut parts);
            let _ = reader.finish(&mut parts);
            assert_eq!(parts.raw, text);
        }
    }
}
