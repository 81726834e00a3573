//! What must be escaped so that text stays text, and no more than that.

/// Whether CommonMark sees the character as punctuation (or a symbol), for the rules about delimiters.
pub(super) fn is_punctuation(c: char) -> bool {
    if c.is_ascii() {
        return c.is_ascii_punctuation();
    }
    // Beyond ASCII: the blocks that hold punctuation and symbols, near enough that a wrong answer costs an element
    // where delimiters would have done.
    matches!(c,
        '\u{a1}'..='\u{a9}' | '\u{ab}'..='\u{b1}' | '\u{b4}' | '\u{b6}'..='\u{b8}' | '\u{bb}' | '\u{bf}' | '\u{d7}' | '\u{f7}'
        | '\u{2010}'..='\u{2027}' | '\u{2030}'..='\u{205e}' | '\u{20a0}'..='\u{20cf}' | '\u{2100}'..='\u{2bff}'
        | '\u{3001}'..='\u{3003}' | '\u{3008}'..='\u{3020}' | '\u{30fb}' | '\u{fe10}'..='\u{fe6b}'
        | '\u{ff01}'..='\u{ff0f}' | '\u{ff1a}'..='\u{ff20}' | '\u{ff3b}'..='\u{ff40}' | '\u{ff5b}'..='\u{ff65}'
        | '\u{1f000}'..='\u{1faff}')
}

/// Appends text with what would be read as markup escaped. `after` is the character that will follow.
pub(super) fn text(out: &mut String, text: &str, after: Option<char>, in_link: bool) {
    let mut prev = out.chars().next_back();
    let mut chars = text.char_indices().peekable();
    while let Some((at, c)) = chars.next() {
        let next = chars.peek().map(|(_, n)| *n).or(after);
        let space = |c: Option<char>| c.is_none_or(char::is_whitespace);
        let escaped = match c {
            '\\' => next.is_some_and(|n| n.is_ascii_punctuation()) || next.is_none(),
            '`' => true,
            '*' => !(space(prev) && space(next)),
            '_' => {
                let word = |c: Option<char>| c.is_some_and(char::is_alphanumeric);
                let inside = word(prev) && word(next);
                let alone = space(prev) && space(next);
                !inside && !alone
            }
            '~' => prev == Some('~') || next == Some('~'),
            '[' => in_link || next == Some('^') || prev == Some('!') || closes_a_link(&text[at..]),
            ']' => in_link || matches!(next, Some('(' | ':' | '[')),
            '<' => next.is_some_and(|n| n.is_ascii_alphabetic() || "/!?".contains(n)),
            '&' => is_reference(&text[at..]),
            '!' => next == Some('[') && after == Some('[') && chars.peek().is_none(),
            _ => false,
        };
        if escaped {
            out.push('\\');
        }
        out.push(c);
        prev = Some(c);
    }
}

/// Whether a bracket closes in this text and a destination follows it.
fn closes_a_link(text: &str) -> bool {
    text.find(']')
        .is_some_and(|i| text[i + 1..].starts_with(['(', '[', ':']))
}

/// Whether the text begins with what HTML reads as a character reference.
fn is_reference(text: &str) -> bool {
    let body = &text[1..];
    let Some(end) = body.find(';').filter(|e| (1..=32).contains(e)) else {
        return false;
    };
    let name = &body[..end];
    match name.strip_prefix('#') {
        Some(n) => !n.is_empty() && n.chars().all(|c| c.is_ascii_alphanumeric()),
        None => name.chars().all(|c| c.is_ascii_alphanumeric()),
    }
}

/// Escapes what would begin a block at the start of a line.
pub(super) fn line_starts(md: &str) -> String {
    let mut out = String::with_capacity(md.len() + 2);
    for (i, line) in md.split('\n').enumerate() {
        if i > 0 {
            out.push('\n');
        }
        match block_start(line) {
            Some(at) => {
                out.push_str(&line[..at]);
                out.push('\\');
                out.push_str(&line[at..]);
            }
            None => out.push_str(line),
        }
    }
    out
}

/// Where a backslash keeps the line from being a heading, a quotation, a list, a rule or a fence.
fn block_start(line: &str) -> Option<usize> {
    let first = line.chars().next()?;
    let run = line.len() - line.trim_start_matches(first).len();
    let after = line[run..].chars().next();
    let spaced = after.is_none_or(char::is_whitespace);
    let only = |c: char| line.chars().all(|x| x == c || x == ' ' || x == '\t');
    match first {
        '#' => (run <= 6 && spaced).then_some(0),
        '>' => Some(0),
        '-' | '+' => ((run == 1 && spaced) || only(first)).then_some(0),
        '*' => ((run == 1 && spaced) || only(first)).then_some(0),
        '_' => (run >= 3 && only(first)).then_some(0),
        '=' => only(first).then_some(0),
        '~' => (run >= 3).then_some(0),
        '0'..='9' => {
            let digits = line.len() - line.trim_start_matches(|c: char| c.is_ascii_digit()).len();
            let rest = &line[digits..];
            let marks = rest.starts_with(['.', ')'])
                && rest[1..].chars().next().is_none_or(char::is_whitespace);
            (digits <= 9 && marks).then_some(digits)
        }
        '[' => line.find("]:").map(|_| 0),
        _ => None,
    }
}

/// A code span with as many backticks as it takes.
pub(super) fn code_span(code: &str) -> String {
    let longest = longest_run(code, '`');
    let mut ticks = 1;
    if longest > 0 {
        let runs: Vec<usize> = runs(code, '`');
        while runs.contains(&ticks) {
            ticks += 1;
        }
    }
    let fence = "`".repeat(ticks);
    let pad = code.starts_with('`')
        || code.ends_with('`')
        || (code.starts_with(' ') && code.ends_with(' ') && !code.trim().is_empty());
    let pad = if pad { " " } else { "" };
    format!("{fence}{pad}{code}{pad}{fence}")
}

fn runs(text: &str, of: char) -> Vec<usize> {
    let mut all = Vec::new();
    let mut run = 0;
    for c in text.chars().chain(['\0']) {
        if c == of {
            run += 1;
        } else if run > 0 {
            all.push(run);
            run = 0;
        }
    }
    all
}

/// Length of the longest run of a character.
pub(super) fn longest_run(text: &str, of: char) -> usize {
    runs(text, of).into_iter().max().unwrap_or(0)
}

/// The text between the brackets of an image.
pub(super) fn label(alt: &str) -> String {
    let mut out = String::with_capacity(alt.len());
    text(&mut out, alt, Some(']'), true);
    out
}

/// A link's destination, in angle brackets where it could not stand without.
pub(super) fn destination(href: &str) -> String {
    let mut depth = 0_i32;
    let mut bare = !href.is_empty() && !href.starts_with('<');
    let mut out = String::with_capacity(href.len());
    for c in href.chars() {
        match c {
            '(' => depth += 1,
            ')' => depth -= 1,
            _ => {}
        }
        bare &= depth >= 0 && !c.is_ascii_control() && c != ' ';
        match c {
            '\n' | '\r' => out.push_str("%0A"),
            '<' => out.push_str("%3C"),
            '>' => out.push_str("%3E"),
            '\\' => out.push_str("%5C"),
            '*' | '_' | '`' | '[' | ']' => out.push(c),
            _ => out.push(c),
        }
    }
    if bare && depth == 0 {
        out
    } else {
        format!("<{out}>")
    }
}

/// A link's title with the space before it, or nothing.
pub(super) fn title(title: &str) -> String {
    let title = crate::dom::fold(title);
    if title.is_empty() {
        return String::new();
    }
    let mut out = String::from(" \"");
    for (i, c) in title.char_indices() {
        let follows = title[i + c.len_utf8()..].chars().next();
        if c == '"'
            || (c == '\\' && follows.is_none_or(|n| n.is_ascii_punctuation()))
            || (c == '&' && is_reference(&title[i..]))
        {
            out.push('\\');
        }
        out.push(c);
    }
    out.push('"');
    out
}

/// Whether the address can stand in angle brackets as a link of its own.
pub(super) fn is_autolink(href: &str) -> bool {
    let Some((scheme, rest)) = href.split_once(':') else {
        return false;
    };
    (2..=32).contains(&scheme.len())
        && scheme.starts_with(|c: char| c.is_ascii_alphabetic())
        && scheme
            .chars()
            .all(|c| c.is_ascii_alphanumeric() || "+.-".contains(c))
        && !rest.is_empty()
        && !href.contains(|c: char| c.is_ascii_control() || " <>\\".contains(c))
}

/// Pipes of a cell.
pub(super) fn pipes(md: &str) -> String {
    if !md.contains('|') {
        return md.to_owned();
    }
    md.replace('|', "\\|")
}
