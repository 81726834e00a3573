//! Everything that is not HTML → a page with the same blocks that HTML gives.

use url::Url;

use super::feed::Feed;
use super::pdf::PdfText;
use super::{feed, json};
use crate::failure::{Failure, FailureCode};
use crate::page::{Block, BlockKind, Link, Omission, Page};

/// Characters of JSON that are shown.
const LONGEST_JSON: usize = 2 << 20;

fn block(kind: BlockKind, text: impl Into<String>, markdown: impl Into<String>) -> Block {
    Block {
        kind,
        text: text.into(),
        markdown: markdown.into(),
        ..Block::default()
    }
}

fn page(
    title: Option<String>,
    blocks: Vec<Block>,
    source: Option<String>,
    omitted: Vec<Omission>,
) -> Result<Page, Failure> {
    if blocks.is_empty() {
        return Err(
            Failure::new(FailureCode::ThinExtract, "the document holds no text")
                .then("stop", "the document is empty"),
        );
    }
    let join = |f: fn(&Block) -> &str| blocks.iter().map(f).collect::<Vec<_>>().join("\n\n");
    Ok(Page {
        title,
        // What is Markdown or text already passes through as it is.
        markdown: source.unwrap_or_else(|| join(|b| &b.markdown)),
        text: join(|b| &b.text),
        blocks,
        omitted,
        ..Page::default()
    })
}

/// Plain text passes through; its paragraphs are its blocks.
///
/// # Errors
/// `thin_extract` for an empty document.
pub fn text(source: &str) -> Result<Page, Failure> {
    let source = source.replace("\r\n", "\n");
    let blocks = chunks(&source)
        .map(|(line, chunk)| {
            let mut b = block(BlockKind::Paragraph, chunk, chunk);
            b.source_selector = format!("line {line}");
            b
        })
        .collect();
    page(None, blocks, Some(source.trim_end().to_owned()), Vec::new())
}

/// Markdown passes through; its headings, fences, tables, lists and paragraphs are its blocks.
///
/// # Errors
/// `thin_extract` for an empty document.
pub fn markdown(source: &str) -> Result<Page, Failure> {
    let source = source.replace("\r\n", "\n");
    let body = without_front_matter(&source);
    let mut blocks: Vec<Block> = Vec::new();
    let mut fence: Option<(&str, Vec<&str>)> = None;
    let mut open: Vec<&str> = Vec::new();
    let mut title = None;
    for line in body.lines() {
        let trimmed = line.trim_start();
        if let Some((mark, mut held)) = fence.take() {
            held.push(line);
            if trimmed.starts_with(mark) && trimmed.trim_start_matches(&mark[..1]).trim().is_empty()
            {
                let text = held[1..held.len() - 1].join("\n");
                blocks.push(block(BlockKind::Code, text, held.join("\n")));
            } else {
                fence = Some((mark, held));
            }
            continue;
        }
        let marks = ["```", "~~~"].into_iter().find(|m| trimmed.starts_with(m));
        let heading = heading(trimmed);
        if line.trim().is_empty() || marks.is_some() || heading.is_some() {
            flush(&mut open, &mut blocks);
        }
        if let Some(mark) = marks {
            fence = Some((mark, vec![line]));
        } else if let Some((level, words)) = heading {
            if title.is_none() && level == 1 {
                title = Some(words.to_owned());
            }
            let mut b = block(BlockKind::Heading, words, line.trim());
            b.level = Some(level);
            blocks.push(b);
        } else if !line.trim().is_empty() {
            open.push(line);
        }
    }
    if let Some((_, held)) = fence {
        blocks.push(block(
            BlockKind::Code,
            held[1..].join("\n"),
            held.join("\n"),
        ));
    }
    flush(&mut open, &mut blocks);
    page(
        title,
        blocks,
        Some(source.trim_end().to_owned()),
        Vec::new(),
    )
}

fn without_front_matter(source: &str) -> &str {
    source
        .strip_prefix("---\n")
        .and_then(|rest| rest.split_once("\n---\n"))
        .map_or(source, |(_, body)| body)
}

fn heading(line: &str) -> Option<(u8, &str)> {
    let level = line.len() - line.trim_start_matches('#').len();
    let rest = &line[level..];
    let is = (1..=6).contains(&level) && (rest.is_empty() || rest.starts_with([' ', '\t']));
    is.then(|| (level as u8, rest.trim().trim_end_matches('#').trim_end()))
}

fn flush(open: &mut Vec<&str>, blocks: &mut Vec<Block>) {
    if open.is_empty() {
        return;
    }
    let source = open.join("\n");
    let first = open[0].trim_start();
    let numbered = first.split_once(['.', ')']).is_some_and(|(n, _)| {
        !n.is_empty() && n.len() < 10 && n.bytes().all(|b| b.is_ascii_digit())
    });
    let kind = if first.starts_with('>') {
        BlockKind::Quote
    } else if first.starts_with('|') {
        BlockKind::Table
    } else if first.starts_with("- ")
        || first.starts_with("* ")
        || first.starts_with("+ ")
        || numbered
    {
        BlockKind::ListItem
    } else {
        BlockKind::Paragraph
    };
    blocks.push(block(kind, source.clone(), source));
    open.clear();
}

/// Chunks between blank lines with the number of their first line.
fn chunks(source: &str) -> impl Iterator<Item = (usize, &str)> {
    let mut at = 0;
    source.split("\n\n").filter_map(move |chunk| {
        let lead = chunk.len() - chunk.trim_start_matches('\n').len();
        let line = source[..at + lead].matches('\n').count() + 1;
        at += chunk.len() + 2;
        let chunk = chunk.trim_matches('\n').trim_end();
        (!chunk.trim().is_empty()).then_some((line, chunk))
    })
}

/// JSON, indented and bounded, as one block of code. What is no JSON after all is text.
///
/// # Errors
/// `thin_extract` for an empty document.
pub fn json(source: &str) -> Result<Page, Failure> {
    let Some((shown, left)) = json::pretty(source, LONGEST_JSON) else {
        return text(source);
    };
    let omitted = match left {
        0 => Vec::new(),
        chars => vec![Omission {
            reason: "limit".to_owned(),
            what: "the rest of the JSON document".to_owned(),
            chars,
        }],
    };
    let fenced = format!("```json\n{shown}\n```");
    page(
        None,
        vec![block(BlockKind::Code, shown, fenced)],
        None,
        omitted,
    )
}

/// A feed as a list of entries, each a heading with its link, its date and its words.
///
/// # Errors
/// `extraction_failed` where there is no feed, `thin_extract` for one without entries.
pub fn feed(source: &str, url: &Url) -> Result<Page, Failure> {
    of_feed(&feed::read(source, url)?)
}

fn of_feed(feed: &Feed) -> Result<Page, Failure> {
    let mut blocks = Vec::new();
    if let Some(description) = &feed.description {
        blocks.push(block(
            BlockKind::Paragraph,
            description,
            escape(description),
        ));
    }
    for (n, item) in feed.items.iter().enumerate() {
        let title = match (item.title.as_str(), &item.link) {
            ("", Some(link)) => link.clone(),
            ("", None) => format!("{}", n + 1),
            (title, _) => title.to_owned(),
        };
        let markdown = match &item.link {
            Some(link) => format!(
                "## [{}]({})",
                escape(&title),
                link.replace(')', "%29").replace('(', "%28")
            ),
            None => format!("## {}", escape(&title)),
        };
        let mut heading = block(BlockKind::Heading, &title, markdown);
        heading.level = Some(2);
        heading.source_selector = format!("item:nth-of-type({})", n + 1);
        heading.links.extend(item.link.iter().map(|href| Link {
            text: title.clone(),
            href: href.clone(),
        }));
        blocks.push(heading);
        let line: Vec<&str> = [&item.published_at, &item.author]
            .into_iter()
            .flatten()
            .map(String::as_str)
            .collect();
        for words in [
            (!line.is_empty()).then(|| line.join(" · ")),
            item.summary_text.clone(),
        ]
        .into_iter()
        .flatten()
        {
            let mut b = block(BlockKind::Paragraph, &words, escape(&words));
            b.source_selector = format!("item:nth-of-type({})", n + 1);
            blocks.push(b);
        }
    }
    let omitted = match feed.left_out {
        0 => Vec::new(),
        n => vec![Omission {
            reason: "limit".to_owned(),
            what: format!("{n} more entries"),
            chars: 0,
        }],
    };
    let mut page = page(feed.title.clone(), blocks, None, omitted)?;
    page.meta.lang = feed.language.clone();
    page.meta.canonical = feed.link.clone();
    Ok(page)
}

/// The text of a PDF.
///
/// # Errors
/// `thin_extract` for a document without text.
pub fn pdf(document: &PdfText) -> Result<Page, Failure> {
    let blocks = document
        .paragraphs
        .iter()
        .map(|p| {
            let mut b = match p.level {
                Some(level) => block(
                    BlockKind::Heading,
                    &p.text,
                    format!("{} {}", "#".repeat(level.into()), escape(&p.text)),
                ),
                None => block(BlockKind::Paragraph, &p.text, escape(&p.text)),
            };
            b.level = p.level;
            b.source_selector = format!("page {}", p.page);
            b
        })
        .collect();
    let omitted = match document.cut {
        false => Vec::new(),
        true => vec![Omission {
            reason: "limit".to_owned(),
            what: "pages over the limit".to_owned(),
            chars: 0,
        }],
    };
    let title = document.title.clone().or_else(|| {
        let first = document.paragraphs.iter().find(|p| p.level == Some(1));
        first.map(|p| p.text.clone())
    });
    page(title, blocks, None, omitted)
}

/// Text that Markdown must not read as markup.
fn escape(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for (i, c) in text.chars().enumerate() {
        let marks = matches!(c, '*' | '_' | '`' | '[' | ']' | '<' | '\\')
            || (i == 0 && matches!(c, '#' | '>' | '-' | '+' | '|'));
        if marks {
            out.push('\\');
        }
        out.push(c);
    }
    out
}
