//! Links by what the caller looks for: words of the path count most, then those of the title.

use unicode_segmentation::UnicodeSegmentation;

use super::SiteLink;

/// Puts the best first; of two as good the one that the site names first.
pub fn by_focus(links: &mut [SiteLink], focus: &str) {
    let wanted = words(focus);
    links.sort_by_cached_key(|link| std::cmp::Reverse(score(link, &wanted)));
}

/// From here on a link has to do with what is looked for (contract of the map, 3.6).
const STRONG: u32 = 4;

/// Whether any link has to do with what is looked for.
pub(super) fn has_strong(links: &[SiteLink], focus: &str) -> bool {
    let wanted = words(focus);
    wanted.is_empty() || links.iter().any(|l| score(l, &wanted) >= STRONG)
}

/// How much a link has to do with what is looked for.
pub(super) fn score_of(link: &SiteLink, focus: &str) -> u32 {
    score(link, &words(focus))
}

fn words(text: &str) -> Vec<String> {
    text.unicode_words().map(str::to_lowercase).collect()
}

/// A whole word of the path 12, a word in the path 9, a word of the title 8, a beginning in common 2; one more of the same
/// for every further wanted word, so that a link with all of them wins.
fn score(link: &SiteLink, wanted: &[String]) -> u32 {
    let path = link.path.to_lowercase();
    let segments: Vec<&str> = path
        .split(['/', '-', '_', '.', '?', '&', '='])
        .filter(|s| !s.is_empty())
        .collect();
    let title = words(&link.title);
    wanted
        .iter()
        .map(|word| {
            let near = |other: &str| {
                word.chars().count() >= 4
                    && other.chars().count() >= 4
                    && (other.starts_with(word.as_str()) || word.starts_with(other))
            };
            let in_path = match () {
                () if segments.contains(&word.as_str()) => 12,
                () if word.chars().count() >= 3 && path.contains(word.as_str()) => 9,
                () if segments.iter().any(|s| near(s)) => 2,
                () => 0,
            };
            let in_title = match () {
                () if title.contains(word) => 8,
                () if title.iter().any(|t| near(t)) => 2,
                () => 0,
            };
            in_path + in_title
        })
        .sum()
}
