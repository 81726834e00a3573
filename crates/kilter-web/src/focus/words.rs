//! Words of any script, folded for comparing. No language's word list is used anywhere: what is common on the page
//! counts little because it is common there.

use unicode_segmentation::UnicodeSegmentation;

/// Words of a text as Unicode (UAX 29) has them, in lower case. A name of several parts (`read_page`, `readPage`,
/// `example.com`) gives itself and its parts; a script without spaces gives its characters and their pairs.
pub fn words(text: &str) -> Vec<String> {
    let mut out = Vec::new();
    let mut before: Option<(usize, &str)> = None;
    for (at, word) in text.unicode_word_indices() {
        let lower = word.to_lowercase();
        if is_unspaced(word) {
            if let Some((end, last)) = before
                && end == at
            {
                out.push(format!("{last}{word}"));
            }
            before = Some((at + word.len(), word));
        } else {
            before = None;
            parts(word, &lower, &mut out);
        }
        out.push(lower);
    }
    out
}

/// The parts of a composed name, unless it has none.
fn parts(word: &str, lower: &str, out: &mut Vec<String>) {
    let mut part = String::new();
    let mut flush = |part: &mut String| {
        if part.chars().count() > 1 && part != lower {
            out.push(std::mem::take(part));
        } else {
            part.clear();
        }
    };
    let mut small = false;
    for c in word.chars() {
        if !c.is_alphanumeric() && !is_mark(c) {
            flush(&mut part);
            small = false;
            continue;
        }
        if small && c.is_uppercase() {
            flush(&mut part);
        }
        small = c.is_lowercase();
        part.extend(c.to_lowercase());
    }
    flush(&mut part);
}

/// Combining marks belong to the letter before.
fn is_mark(c: char) -> bool {
    matches!(c, '\u{300}'..='\u{36f}' | '\u{483}'..='\u{489}' | '\u{591}'..='\u{5c7}' | '\u{610}'..='\u{61a}'
        | '\u{64b}'..='\u{65f}' | '\u{900}'..='\u{903}' | '\u{93a}'..='\u{94f}' | '\u{e31}' | '\u{e34}'..='\u{e3a}'
        | '\u{e47}'..='\u{e4e}' | '\u{200c}' | '\u{200d}')
}

/// Whether a word is a single character of a script that writes no spaces between words.
fn is_unspaced(word: &str) -> bool {
    let mut chars = word.chars();
    let first = chars.next();
    first.is_some_and(|c| {
        matches!(c, '\u{2e80}'..='\u{312f}' | '\u{3400}'..='\u{4dbf}' | '\u{4e00}'..='\u{9fff}'
            | '\u{f900}'..='\u{faff}' | '\u{20000}'..='\u{3ffff}' | '\u{e00}'..='\u{eff}'
            | '\u{1000}'..='\u{109f}' | '\u{1780}'..='\u{17ff}')
    }) && chars.all(is_mark)
}

/// How well a word of the page answers a word of the question: 1 for the same, less for the same beginning.
pub fn likeness(asked: &str, found: &str) -> f64 {
    if asked == found {
        return 1.0;
    }
    let (a, f) = (asked.chars().count(), found.chars().count());
    // Endings differ by grammar; numbers and short words have no grammar.
    let stems = a.min(f) >= 4
        && a.abs_diff(f) <= 3
        && !asked.chars().any(char::is_numeric)
        && (found.starts_with(asked) || asked.starts_with(found));
    if stems { 0.6 } else { 0.0 }
}

/// A heading as an anchor: letters and digits in lower case, everything else one hyphen.
pub fn slug(text: &str) -> String {
    let mut out = String::new();
    for c in text.chars().flat_map(char::to_lowercase) {
        if c.is_alphanumeric() || is_mark(c) || c == '_' {
            out.push(c);
        } else if !out.is_empty() && !out.ends_with('-') {
            out.push('-');
        }
    }
    out.trim_end_matches('-').to_owned()
}
