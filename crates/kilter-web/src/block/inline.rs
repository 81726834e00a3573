//! Running text: pieces in, Markdown, plain text and links out.

use super::escape;
use crate::page::Link;

/// A piece of running text, in source order.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Piece {
    /// Words and white space as they stand in the source.
    Text(String),
    /// A line break.
    Break,
    /// Code within a line.
    Code(String),
    /// An image.
    Image {
        alt: String,
        src: String,
        title: String,
    },
    /// A formula as TeX.
    Math { tex: String, display: bool },
    /// Markdown that is already written, and the text that it shows.
    Written { markdown: String, text: String },
    /// What follows is marked.
    Open(Mark),
    /// The last mark ends.
    Close,
}

/// A mark over running text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Mark {
    Em,
    Strong,
    Del,
    Sup,
    Sub,
    Link { href: String, title: String },
}

impl Mark {
    fn delimiter(&self) -> Option<&'static str> {
        match self {
            Self::Em => Some("*"),
            Self::Strong => Some("**"),
            Self::Del => Some("~~"),
            _ => None,
        }
    }

    fn element(&self) -> &'static str {
        match self {
            Self::Em => "em",
            Self::Strong => "strong",
            Self::Del => "del",
            Self::Sup => "sup",
            Self::Sub => "sub",
            Self::Link { .. } => "a",
        }
    }
}

/// What pieces came to.
#[derive(Debug, Default, Clone, PartialEq)]
pub(super) struct Line {
    pub(super) markdown: String,
    pub(super) text: String,
    pub(super) links: Vec<Link>,
    /// Whether there is nothing but images.
    pub(super) only_images: bool,
}

/// How pieces are written.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Style {
    /// In a table's cell: no line breaks, pipes escaped.
    pub(super) cell: bool,
    /// Keep what carries no meaning of its own: marks within the same mark, images without words.
    pub(super) faithful: bool,
}

/// A unit of the output with what the rules about delimiters need to see.
enum Atom {
    Text(String),
    Space,
    Break,
    Fixed { markdown: String, text: String },
    Open(usize),
    Close(usize),
}

struct Pair {
    mark: Mark,
    /// Written as an element, since the delimiters would not be read as such here.
    element: bool,
    /// Dropped: it says nothing more.
    mute: bool,
}

/// Writes pieces as one line (or several, where there are breaks).
pub(super) fn write(pieces: &[Piece], style: Style) -> Line {
    let (mut atoms, mut pairs) = arrange(pieces, style);
    while matches!(atoms.last(), Some(Atom::Break | Atom::Space)) {
        atoms.pop();
    }
    settle(&atoms, &mut pairs);
    let only_images = !atoms.iter().any(|a| match a {
        Atom::Text(t) => !t.is_empty(),
        Atom::Fixed { markdown, .. } => !markdown.starts_with("!["),
        _ => false,
    }) && atoms.iter().any(|a| matches!(a, Atom::Fixed { .. }));
    let mut line = assemble(&atoms, &pairs, style);
    line.only_images = only_images;
    line
}

/// Folds white space, drops empty marks, and moves white space out of marks.
fn arrange(pieces: &[Piece], style: Style) -> (Vec<Atom>, Vec<Pair>) {
    let mut atoms: Vec<Atom> = Vec::new();
    let mut pairs: Vec<Pair> = Vec::new();
    let mut open: Vec<(usize, bool)> = Vec::new();
    let mut space = false;
    for piece in pieces {
        match piece {
            Piece::Text(text) => {
                let mut rest = text.as_str();
                while !rest.is_empty() {
                    let word = rest.find(is_space).unwrap_or(rest.len());
                    if word > 0 {
                        let words = clean(&rest[..word]);
                        if !words.is_empty() {
                            begin(&mut atoms, &mut open, &mut space);
                            match atoms.last_mut() {
                                Some(Atom::Text(t)) => t.push_str(&words),
                                _ => atoms.push(Atom::Text(words)),
                            }
                        }
                    }
                    rest = &rest[word..];
                    let after = rest.find(|c| !is_space(c)).unwrap_or(rest.len());
                    space |= after > 0;
                    rest = &rest[after..];
                }
            }
            Piece::Break => {
                space = false;
                if !atoms.is_empty() {
                    atoms.push(Atom::Break);
                }
            }
            Piece::Open(mark) => {
                let mute = !style.faithful
                    && open.iter().any(|(p, _)| {
                        std::mem::discriminant(&pairs[*p].mark) == std::mem::discriminant(mark)
                    });
                let nested = open.iter().any(|(p, _)| {
                    std::mem::discriminant(&pairs[*p].mark) == std::mem::discriminant(mark)
                });
                pairs.push(Pair {
                    mark: mark.clone(),
                    element: nested || matches!(mark, Mark::Sup | Mark::Sub),
                    mute,
                });
                open.push((pairs.len() - 1, false));
            }
            Piece::Close => {
                if let Some((pair, true)) = open.pop() {
                    atoms.push(Atom::Close(pair));
                }
            }
            other => {
                let Some(fixed) = fixed(other, style) else {
                    continue;
                };
                begin(&mut atoms, &mut open, &mut space);
                atoms.push(fixed);
            }
        }
    }
    while let Some((pair, written)) = open.pop() {
        if written {
            atoms.push(Atom::Close(pair));
        }
    }
    (atoms, pairs)
}

/// Before content: the space that is owed, then the marks that have waited for content.
fn begin(atoms: &mut Vec<Atom>, open: &mut [(usize, bool)], space: &mut bool) {
    if std::mem::take(space) && !matches!(atoms.last(), None | Some(Atom::Break)) {
        atoms.push(Atom::Space);
    }
    for (pair, written) in open.iter_mut().filter(|o| !o.1) {
        atoms.push(Atom::Open(*pair));
        *written = true;
    }
}

fn fixed(piece: &Piece, style: Style) -> Option<Atom> {
    Some(match piece {
        Piece::Code(code) => {
            let shown = code.trim_matches(['\n', '\r']).replace(['\n', '\r'], " ");
            if shown.is_empty() {
                return None;
            }
            let shown_text = if style.faithful {
                shown.clone()
            } else {
                shown.trim().to_owned()
            };
            if shown_text.is_empty() {
                return None;
            }
            Atom::Fixed {
                markdown: escape::code_span(&shown_text),
                text: shown_text,
            }
        }
        Piece::Image { alt, src, title } => {
            if src.is_empty() || (alt.trim().is_empty() && !style.faithful) {
                return None;
            }
            Atom::Fixed {
                markdown: format!(
                    "![{}]({}{})",
                    escape::label(&crate::dom::fold(alt)),
                    escape::destination(src),
                    escape::title(title)
                ),
                text: String::new(),
            }
        }
        Piece::Math { tex, display } => {
            let tex = crate::dom::fold(tex);
            let fence = if *display { "$$" } else { "$" };
            Atom::Fixed {
                markdown: format!("{fence}{tex}{fence}"),
                text: tex,
            }
        }
        Piece::Written { markdown, text } => Atom::Fixed {
            markdown: markdown.clone(),
            text: text.clone(),
        },
        _ => return None,
    })
}

/// HTML white space, and the no-break space, which models read as a space.
fn is_space(c: char) -> bool {
    c.is_ascii_whitespace() || c == '\u{a0}'
}

/// Takes out what has no width and no meaning. Joiners stay, where a single one joins letters.
fn clean(word: &str) -> String {
    let invisible = |c: char| matches!(c, '\u{200B}' | '\u{FEFF}' | '\u{2060}' | '\u{00AD}');
    let joiner = |c: char| matches!(c, '\u{200C}' | '\u{200D}');
    let tag = |c: char| matches!(c, '\u{E0000}'..='\u{E007F}');
    if word.is_ascii() || !word.contains(|c| invisible(c) || joiner(c) || tag(c)) {
        return word.to_owned();
    }
    let mut out = String::with_capacity(word.len());
    let mut chars = word.chars().peekable();
    while let Some(c) = chars.next() {
        if joiner(c) && chars.peek().is_some_and(|n| joiner(*n) || invisible(*n)) {
            while chars.next_if(|n| joiner(*n) || invisible(*n)).is_some() {}
            continue;
        }
        if !invisible(c) && !tag(c) {
            out.push(c);
        }
    }
    out
}

/// Decides for each pair whether delimiters would be read as such where they stand.
fn settle(atoms: &[Atom], pairs: &mut [Pair]) {
    let edge = |c: Option<char>| c.is_none_or(|c| c.is_whitespace());
    let punct = |c: Option<char>| c.is_some_and(escape::is_punctuation);
    let is_delimiter = |pairs: &[Pair], p: usize| {
        pairs[p].mark.delimiter().is_some() && !pairs[p].element && !pairs[p].mute
    };
    for (i, atom) in atoms.iter().enumerate() {
        match *atom {
            Atom::Open(pair) if is_delimiter(pairs, pair) => {
                // Delimiters that touch are one run; what matters is what stands around the run.
                let prev = atoms[..i].iter().rev().find_map(|a| match a {
                    Atom::Open(p) if is_delimiter(pairs, *p) || pairs[*p].mute => None,
                    Atom::Close(p) if is_delimiter(pairs, *p) => Some(Some('\u{0}')),
                    other => Some(last_char(other, pairs)),
                });
                let next = atoms[i + 1..].iter().find_map(|a| match a {
                    Atom::Open(p) if is_delimiter(pairs, *p) || pairs[*p].mute => None,
                    other => Some(first_char(other, pairs)),
                });
                let (prev, next) = (prev.flatten(), next.flatten());
                let collides = prev == Some('\u{0}');
                let opens = !edge(next) && (!punct(next) || edge(prev) || punct(prev));
                if collides || !opens {
                    pairs[pair].element = true;
                }
            }
            Atom::Close(pair) if is_delimiter(pairs, pair) => {
                let prev = atoms[..i].iter().rev().find_map(|a| match a {
                    Atom::Close(p) if is_delimiter(pairs, *p) || pairs[*p].mute => None,
                    other => Some(last_char(other, pairs)),
                });
                let next = atoms[i + 1..].iter().find_map(|a| match a {
                    Atom::Close(p) if is_delimiter(pairs, *p) || pairs[*p].mute => None,
                    Atom::Open(p) if is_delimiter(pairs, *p) => Some(Some(' ')),
                    other => Some(first_char(other, pairs)),
                });
                let (prev, next) = (prev.flatten(), next.flatten());
                let closes = !edge(prev) && (!punct(prev) || edge(next) || punct(next));
                if !closes {
                    pairs[pair].element = true;
                }
            }
            _ => {}
        }
    }
}

fn first_char(atom: &Atom, pairs: &[Pair]) -> Option<char> {
    match atom {
        Atom::Text(t) => t.chars().next(),
        Atom::Space | Atom::Break => Some(' '),
        Atom::Fixed { markdown, .. } => markdown.chars().next(),
        Atom::Open(p) | Atom::Close(p) => Some(match &pairs[*p].mark {
            Mark::Link { .. } if matches!(atom, Atom::Open(_)) => '[',
            Mark::Link { .. } => ']',
            m if pairs[*p].element => {
                let _ = m;
                '<'
            }
            _ => '*',
        }),
    }
}

fn last_char(atom: &Atom, pairs: &[Pair]) -> Option<char> {
    match atom {
        Atom::Text(t) => t.chars().next_back(),
        Atom::Fixed { markdown, .. } => markdown.chars().next_back(),
        Atom::Close(p) if matches!(pairs[*p].mark, Mark::Link { .. }) => Some(')'),
        Atom::Open(p) | Atom::Close(p) if pairs[*p].element => Some('>'),
        other => first_char(other, pairs),
    }
}

fn assemble(atoms: &[Atom], pairs: &[Pair], style: Style) -> Line {
    let mut md = String::new();
    let mut text = String::new();
    let mut links = Vec::new();
    // Open links: where their Markdown and their text begin.
    let mut open_links: Vec<(usize, usize)> = Vec::new();
    for (i, atom) in atoms.iter().enumerate() {
        match atom {
            Atom::Text(t) => {
                let after = atoms.get(i + 1).and_then(|a| first_char(a, pairs));
                escape::text(&mut md, t, after, !open_links.is_empty());
                text.push_str(t);
            }
            Atom::Space => {
                md.push(' ');
                text.push(' ');
            }
            Atom::Break => {
                md.push_str(if style.cell { "<br>" } else { "\\\n" });
                text.push('\n');
            }
            Atom::Fixed { markdown, text: t } => {
                md.push_str(markdown);
                text.push_str(t);
            }
            Atom::Open(p) => match &pairs[*p] {
                Pair { mute: true, .. } => {}
                Pair {
                    mark: Mark::Link { .. },
                    ..
                } => {
                    open_links.push((md.len(), text.len()));
                    md.push('[');
                }
                Pair {
                    mark,
                    element: true,
                    ..
                } => md.push_str(&format!("<{}>", mark.element())),
                Pair { mark, .. } => md.push_str(mark.delimiter().unwrap_or_default()),
            },
            Atom::Close(p) => match &pairs[*p] {
                Pair { mute: true, .. } => {}
                Pair {
                    mark: Mark::Link { href, title },
                    ..
                } => {
                    let (from_md, from_text) = open_links.pop().unwrap_or_default();
                    let shown = text.get(from_text..).unwrap_or_default().trim();
                    if shown == href && title.is_empty() && escape::is_autolink(href) {
                        md.truncate(from_md);
                        md.push_str(&format!("<{href}>"));
                    } else {
                        md.push_str(&format!(
                            "]({}{})",
                            escape::destination(href),
                            escape::title(title)
                        ));
                    }
                    links.push(Link {
                        text: crate::dom::fold(shown),
                        href: href.clone(),
                    });
                }
                Pair {
                    mark,
                    element: true,
                    ..
                } => md.push_str(&format!("</{}>", mark.element())),
                Pair { mark, .. } => md.push_str(mark.delimiter().unwrap_or_default()),
            },
        }
    }
    let md = if style.cell {
        escape::pipes(&md)
    } else {
        escape::line_starts(&md)
    };
    Line {
        markdown: md,
        text: text.trim().to_owned(),
        links,
        only_images: false,
    }
}
