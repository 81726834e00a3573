//! Strings with places → lines → paragraphs and headings.

use super::Paragraph;
use super::walk::Piece;

/// One line of a page.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Line {
    pub(super) text: String,
    pub(super) y: f32,
    pub(super) x: f32,
    pub(super) size: f32,
}

/// A gap as wide as this part of the size is a blank; glyphs of one word are nearer.
const BLANK: f32 = 0.18;
/// Strings whose baselines differ by less than this part of the size stand on one line (super- and subscripts).
const BASELINE: f32 = 0.5;
/// Lines further apart than this many sizes begin a paragraph.
const PARAGRAPH: f32 = 1.7;
/// Larger than the body by this much is a heading.
const HEADING: f32 = 1.15;
/// The longest heading.
const LONGEST_HEADING: usize = 200;

/// Joins strings to lines, in the order of the page's program: it follows the columns where positions alone do not.
pub(super) fn lines(pieces: Vec<Piece>) -> Vec<Line> {
    let mut out: Vec<Line> = Vec::new();
    let mut end = 0.0f32;
    for piece in pieces {
        let joins = out.last().is_some_and(|line| {
            let size = line.size.max(piece.size).max(1.0);
            (line.y - piece.y).abs() < size * BASELINE
                && piece.x > end - size * 2.0
                && piece.x < end + size * 20.0
        });
        match out.last_mut().filter(|_| joins) {
            Some(line) => {
                let gap = piece.x - end;
                if gap > piece.size * BLANK
                    && !line.text.ends_with(' ')
                    && !piece.text.starts_with(' ')
                {
                    line.text.push(' ');
                }
                line.text.push_str(&piece.text);
                line.size = line.size.max(piece.size);
            }
            None => out.push(Line {
                text: piece.text,
                y: piece.y,
                x: piece.x,
                size: piece.size,
            }),
        }
        end = piece.end;
    }
    for line in &mut out {
        line.text = line.text.split_whitespace().collect::<Vec<_>>().join(" ");
    }
    out.retain(|l| !l.text.is_empty());
    out
}

/// The size in which most characters are set.
fn body_size(pages: &[(u32, Vec<Line>)]) -> f32 {
    let mut by_size: Vec<(i32, usize)> = Vec::new();
    for line in pages.iter().flat_map(|(_, lines)| lines) {
        let size = (line.size * 2.0).round() as i32;
        match by_size.iter_mut().find(|(s, _)| *s == size) {
            Some((_, n)) => *n += line.text.chars().count(),
            None => by_size.push((size, line.text.chars().count())),
        }
    }
    by_size
        .iter()
        .max_by_key(|(_, n)| *n)
        .map_or(10.0, |(s, _)| *s as f32 / 2.0)
}

/// Joins lines to paragraphs.
pub(super) fn paragraphs(pages: &[(u32, Vec<Line>)]) -> Vec<Paragraph> {
    let body = body_size(pages);
    let mut out: Vec<Paragraph> = Vec::new();
    let (mut last, mut last_page): (Option<&Line>, u32) = (None, 0);
    for (page, lines) in pages {
        for line in lines {
            let level = (line.size > body * HEADING
                && line.text.chars().count() <= LONGEST_HEADING)
                .then(|| level(line.size / body));
            let joins = last.is_some_and(|last| {
                let down = last.y - line.y;
                let same = (last.size - line.size).abs() < body * 0.1;
                let next =
                    last_page == *page && down > 0.0 && down < line.size.max(1.0) * PARAGRAPH;
                // The top of the next column or page goes on with the sentence that the last line broke off.
                let goes_on = (down < 0.0 || last_page != *page)
                    && !last.text.ends_with(['.', '!', '?', ':', '。', '？', '！'])
                    && line.text.starts_with(char::is_lowercase);
                same && (next || goes_on)
            }) && !bullet(&line.text);
            match out.last_mut().filter(|p| joins && p.level == level) {
                Some(paragraph) => join(&mut paragraph.text, &line.text),
                None => out.push(Paragraph {
                    page: *page,
                    level,
                    text: line.text.clone(),
                }),
            }
            (last, last_page) = (Some(line), *page);
        }
    }
    out
}

fn level(ratio: f32) -> u8 {
    match ratio {
        r if r > 1.7 => 1,
        r if r > 1.35 => 2,
        _ => 3,
    }
}

fn bullet(text: &str) -> bool {
    text.starts_with(['•', '◦', '▪', '‣', '–', '—', '∙', '●', '■'])
}

/// Appends a line; a word that was parted by a hyphen at the line's end is one again.
fn join(text: &mut String, line: &str) {
    let parted = text.ends_with(['-', '\u{ad}'])
        && text.chars().rev().nth(1).is_some_and(char::is_alphabetic)
        && line.chars().next().is_some_and(char::is_lowercase);
    let wide = |c: Option<char>| {
        c.is_some_and(
            |c| matches!(u32::from(c), 0x2e80..=0x9fff | 0xf900..=0xfaff | 0xff00..=0xffef),
        )
    };
    if parted {
        text.pop();
    } else if !(wide(text.chars().last()) && wide(line.chars().next())) {
        text.push(' ');
    }
    text.push_str(line);
}
