//! What blocks stand in: quotations, items, definitions and notes, and the prefixes that these give to lines.

use std::borrow::Cow;

use super::APART;
use super::inline::Line;
use super::walk::Walk;
use crate::dom::{Element, NodeId};
use crate::page::{Block, BlockKind};

/// Containers inside one another that are written; what is deeper is written at this depth.
const MAX_CONTAINERS: usize = 24;

pub(super) struct Container {
    pub(super) id: usize,
    pub(super) kind: ContainerKind,
}

pub(super) enum ContainerKind {
    Quote,
    Item {
        marker: String,
        used: bool,
        tight: bool,
        list: usize,
    },
    Definition {
        used: bool,
    },
    Note {
        marker: String,
        used: bool,
    },
}

pub(super) struct List {
    pub(super) id: usize,
    pub(super) next: Option<u64>,
    pub(super) sign: char,
    pub(super) loose: bool,
}

impl Walk<'_> {
    /// The depth of lists, as a block states it.
    pub(super) fn level(&self) -> Option<u8> {
        Some(u8::try_from(self.lists.len().max(1)).unwrap_or(u8::MAX))
    }

    pub(super) fn fresh_item(&self) -> bool {
        matches!(
            self.containers.last().map(|c| &c.kind),
            Some(ContainerKind::Item { used: false, .. })
        )
    }

    pub(super) fn container(&mut self, kind: ContainerKind) {
        self.made += 1;
        let id = self.made;
        self.containers.push(Container { id, kind });
    }

    pub(super) fn list(&mut self, id: NodeId, ordered: bool, element: &Element) {
        let loose = self.doc.children(id).any(|li| {
            self.doc.tag(li) == "li" && self.doc.children(li).any(|c| self.doc.tag(c) == "p")
        });
        let start = element.attr("start").and_then(|s| s.trim().parse().ok());
        let (plain, other) = if ordered { ('.', ')') } else { ('-', '*') };
        // Two lists one after the other must not read as one.
        let clash = self.ended.is_some_and(|(depth, sign, made)| {
            depth == self.containers.len() && sign == plain && made == self.out.len()
        });
        self.made += 1;
        self.lists.push(List {
            id: self.made,
            next: ordered.then(|| start.unwrap_or(1).min(999_999_999)),
            sign: if clash { other } else { plain },
            loose,
        });
    }

    pub(super) fn item(&mut self, element: &Element) {
        let value = element
            .attr("value")
            .and_then(|v| v.trim().parse::<u64>().ok());
        let (marker, tight, list) = match self.lists.last_mut() {
            Some(list) => {
                let marker = match &mut list.next {
                    Some(next) => {
                        let n = value.unwrap_or(*next).min(999_999_999);
                        *next = n + 1;
                        format!("{n}{} ", list.sign)
                    }
                    None => format!("{} ", list.sign),
                };
                (marker, !list.loose, list.id)
            }
            None => ("- ".to_owned(), true, 0),
        };
        self.container(ContainerKind::Item {
            marker,
            used: false,
            tight,
            list,
        });
    }

    /// Writes a block with the prefixes of its containers, and what joins it to the one before.
    pub(super) fn emit(
        &mut self,
        kind: BlockKind,
        body: String,
        line: Line,
        id: NodeId,
        level: Option<u8>,
    ) {
        let shown = self.containers.len().min(MAX_CONTAINERS);
        let glue = self.glue(shown);
        let mut first = String::new();
        let mut rest = String::new();
        for container in &mut self.containers[..shown] {
            match &mut container.kind {
                ContainerKind::Quote => {
                    first.push_str("> ");
                    rest.push_str("> ");
                }
                ContainerKind::Item { marker, used, .. } | ContainerKind::Note { marker, used } => {
                    let width = if marker.starts_with('[') {
                        4
                    } else {
                        marker.len()
                    };
                    indent(
                        &mut first,
                        if *used { None } else { Some(marker.as_str()) },
                        width,
                    );
                    indent(&mut rest, None, width);
                    *used = true;
                }
                ContainerKind::Definition { used } => {
                    indent(&mut first, if *used { None } else { Some(":   ") }, 4);
                    indent(&mut rest, None, 4);
                    *used = true;
                }
            }
        }
        for container in &mut self.containers[shown..] {
            if let ContainerKind::Item { used, .. }
            | ContainerKind::Note { used, .. }
            | ContainerKind::Definition { used } = &mut container.kind
            {
                *used = true;
            }
        }
        let mut markdown = String::with_capacity(body.len() + first.len());
        for (i, l) in body.split('\n').enumerate() {
            if i > 0 {
                markdown.push('\n');
            }
            let prefix = if i == 0 { &first } else { &rest };
            markdown.push_str(if l.is_empty() {
                prefix.trim_end()
            } else {
                prefix
            });
            markdown.push_str(l);
        }
        self.last = self.containers[..shown]
            .iter()
            .map(|c| match c.kind {
                ContainerKind::Item { list, .. } => (c.id, list),
                _ => (c.id, 0),
            })
            .collect();
        self.out.push(Block {
            kind,
            text: line.text,
            markdown,
            links: line.links,
            source_selector: if self.cell {
                String::new()
            } else {
                self.places.selector(id)
            },
            level,
            glue,
            table: None,
        });
    }

    /// What stands between the last block and the one to come.
    pub(super) fn glue(&self, shown: usize) -> Cow<'static, str> {
        let here = &self.containers[..shown];
        let common = here
            .iter()
            .zip(&self.last)
            .take_while(|(a, b)| a.id == b.0)
            .count();
        match here.get(common).map(|c| &c.kind) {
            Some(ContainerKind::Item {
                tight: true, list, ..
            }) => {
                // The item before it in the same list, or the words of the item that this list belongs to.
                let sibling = self.last.get(common).is_some_and(|l| l.1 == *list);
                let nested = self.last.len() == common
                    && matches!(
                        here[..common].last().map(|c| &c.kind),
                        Some(ContainerKind::Item { tight: true, .. })
                    );
                if sibling || nested {
                    return Cow::Borrowed("\n");
                }
            }
            Some(ContainerKind::Definition { .. }) => return Cow::Borrowed("\n"),
            _ => {}
        }
        self.blank(common)
    }

    pub(super) fn blank(&self, common: usize) -> Cow<'static, str> {
        let quoted = self.containers[..common]
            .iter()
            .any(|c| matches!(c.kind, ContainerKind::Quote));
        if !quoted {
            return APART;
        }
        let mut prefix = String::new();
        for container in &self.containers[..common] {
            match &container.kind {
                ContainerKind::Quote => prefix.push_str("> "),
                ContainerKind::Item { marker, .. } => indent(&mut prefix, None, marker.len()),
                _ => indent(&mut prefix, None, 4),
            }
        }
        Cow::Owned(format!("\n{}\n", prefix.trim_end()))
    }
}

fn indent(prefix: &mut String, marker: Option<&str>, width: usize) {
    match marker {
        Some(marker) => prefix.push_str(marker),
        None => prefix.extend(std::iter::repeat_n(' ', width)),
    }
}
