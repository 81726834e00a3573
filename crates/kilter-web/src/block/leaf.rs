//! Elements that are read as one: links, images, code, tables.

use super::inline::{self, Line, Mark, Piece};
use super::walk::{Leave, Walk};
use super::{code, table};
use crate::dom::{Element, NodeId};
use crate::page::{BlockKind, Table};

impl Walk<'_> {
    pub(super) fn refers(&self, sup: NodeId) -> bool {
        self.doc
            .descendants(sup)
            .any(|i| self.notes.reference(self.doc, i).is_some())
    }

    pub(super) fn link(&mut self, id: NodeId, element: &Element) -> Option<Leave> {
        if let Some(label) = self.notes.reference(self.doc, id) {
            let markdown = format!("[^{label}]");
            self.piece(
                id,
                Piece::Written {
                    markdown,
                    text: String::new(),
                },
            );
            return None;
        }
        if self.notes.is_way_back(self.doc, id) {
            return None;
        }
        let Some(href) = element.attr("href").map(str::trim) else {
            return Some(Leave::Nothing);
        };
        if self.heading.is_some() && href.starts_with('#') {
            // The sign that links a heading to itself is no word of it.
            let sign = self
                .doc
                .text_of(id)
                .trim()
                .chars()
                .filter(|c| c.is_alphanumeric())
                .count()
                == 0;
            return if sign { None } else { Some(Leave::Nothing) };
        }
        let scheme = href.get(..11).unwrap_or(href).to_ascii_lowercase();
        let runs = ["javascript:", "data:", "vbscript:"]
            .iter()
            .any(|s| scheme.starts_with(s));
        if (runs || href.is_empty()) && !self.source.faithful {
            return Some(Leave::Nothing);
        }
        let href = self.absolute(href);
        let title = if self.source.faithful {
            element.attr("title").unwrap_or_default()
        } else {
            ""
        };
        self.mark(Mark::Link {
            href,
            title: title.to_owned(),
        })
    }

    pub(super) fn absolute(&self, href: &str) -> String {
        match self.source.base {
            Some(base) => base
                .join(href)
                .map_or_else(|_| href.to_owned(), String::from),
            None => href.to_owned(),
        }
    }

    pub(super) fn image(&self, element: &Element) -> Option<Piece> {
        let real = |v: &&str| {
            !v.trim().is_empty() && (self.source.faithful || !v.trim_start().starts_with("data:"))
        };
        let src = ["src", "data-src", "data-original", "data-lazy-src"]
            .iter()
            .filter_map(|n| element.attr(n))
            .find(real)
            .or_else(|| {
                let set = element
                    .attr("srcset")
                    .or_else(|| element.attr("data-srcset"))?;
                set.split([' ', ',']).find(|s| !s.is_empty())
            })
            .or_else(|| self.source.faithful.then_some(""))?;
        Some(Piece::Image {
            alt: element.attr("alt").unwrap_or_default().to_owned(),
            src: self.absolute(src.trim()),
            title: element
                .attr("title")
                .filter(|_| self.source.faithful)
                .unwrap_or_default()
                .to_owned(),
        })
    }

    pub(super) fn code(&mut self, id: NodeId) -> Option<Leave> {
        let has = |tag: &str| self.doc.descendants(id).any(|d| self.doc.tag(d) == tag);
        if has("pre") || has("p") || has("table") {
            return Some(Leave::Nothing);
        }
        if has("br") && self.heading.is_none() && !self.cell {
            self.preformatted(id);
            return None;
        }
        let mut code = String::new();
        for d in self.doc.descendants(id) {
            if let Some(t) = self.doc.text(d) {
                code.push_str(t);
            }
        }
        let code = code.replace('\u{a0}', " ");
        self.piece(id, Piece::Code(code));
        None
    }

    pub(super) fn preformatted(&mut self, id: NodeId) {
        let text = code::text(self.doc, id, self.source.skip);
        if self.cell {
            self.piece(id, Piece::Code(text));
            return;
        }
        self.flush();
        if text.is_empty() && !self.source.faithful {
            return;
        }
        let markdown = code::fenced(&text, &code::language(self.doc, id));
        let line = Line {
            text,
            ..Line::default()
        };
        self.emit(BlockKind::Code, markdown, line, id, None);
    }

    pub(super) fn table(&mut self, id: NodeId) -> Option<Leave> {
        if self.cell || !table::is_data(self.doc, id, self.source.skip) {
            return self.block(id);
        }
        self.flush();
        if let Some(table) = table::read(self, self.doc, id, self.source.skip) {
            if let Some(caption) = &table.data.caption {
                let line = inline::write(&[Piece::Text(caption.clone())], self.style());
                self.emit(BlockKind::Paragraph, line.markdown.clone(), line, id, None);
            }
            let line = Line {
                text: table.text,
                links: table.links,
                ..Line::default()
            };
            self.emit(BlockKind::Table, table.markdown, line, id, None);
            self.attach(table.data);
        }
        None
    }

    pub(super) fn attach(&mut self, table: Table) {
        if let Some(block) = self.out.last_mut() {
            block.table = Some(table);
        }
    }
}
