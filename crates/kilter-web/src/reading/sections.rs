//! Sections by the words of their headings: what a caller names, as it stands on the page or as an anchor.

use crate::failure::{Failure, FailureCode};
use crate::focus::words::{slug, words};
use crate::focus::{Section, sections};
use crate::page::Block;

/// Blocks of the sections that are named, subsections included, in page order.
///
/// # Errors
/// `content_selectors_miss` when none of the names is a heading.
pub(super) fn named(blocks: &[Block], names: &[String]) -> Result<Vec<usize>, Failure> {
    let all = sections(blocks);
    let mut keep = vec![false; blocks.len()];
    for name in names {
        let best = all.iter().filter_map(|s| Some((fit(s, name)?, s)));
        // All headings that fit as well as the best one does.
        let top = best.clone().map(|(fit, _)| fit).max();
        for (_, section) in best.filter(|(fit, _)| Some(*fit) == top) {
            let below = all.iter().filter(|s| s.first > section.first);
            let end = below
                .clone()
                .find(|s| s.level <= section.level)
                .map_or(blocks.len(), |s| s.first);
            keep[section.first..end].fill(true);
        }
    }
    let kept: Vec<usize> = (0..blocks.len()).filter(|i| keep[*i]).collect();
    if kept.is_empty() {
        return Err(Failure::new(
            FailureCode::ContentSelectorsMiss,
            format!(
                "no heading of the page is `{}`\nhint: read the page without naming sections; its headings are in the answer",
                names.join("`, `")
            ),
        )
        .then("retry_transcode", "without naming sections"));
    }
    Ok(kept)
}

/// How well a heading is what was named: the same words, its anchor, or a heading with those words among others.
fn fit(section: &Section, name: &str) -> Option<u8> {
    let heading = section.heading.as_deref()?;
    let (has, asked) = (words(heading), words(name));
    if asked.is_empty() {
        return None;
    }
    if has == asked {
        Some(3)
    } else if slug(heading) == slug(name) {
        Some(2)
    } else {
        asked.iter().all(|w| has.contains(w)).then_some(1)
    }
}
