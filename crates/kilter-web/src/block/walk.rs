//! The walk: enters and leaves elements, gathers running text, and closes a block where one ends.

use std::rc::Rc;

use super::contain::{Container, ContainerKind, List};
use super::inline::{self, Line, Mark, Piece, Style};
use super::kind::is_block;
use super::note::Notes;
use super::place::Places;
use super::{Source, code, math};
use crate::dom::{Document, Element, Kind, NodeId};
use crate::page::{Block, BlockKind};

pub(super) struct Walk<'a> {
    pub(super) source: &'a Source<'a>,
    pub(super) doc: &'a Document,
    pub(super) places: Rc<Places<'a>>,
    pub(super) notes: Rc<Notes>,
    pub(super) out: Vec<Block>,
    pub(super) pieces: Vec<Piece>,
    /// Marks that are open where the walk stands.
    pub(super) marks: Vec<Mark>,
    pub(super) containers: Vec<Container>,
    /// Containers of the block that was written last, each with the list that it is an item of.
    pub(super) last: Vec<(usize, usize)>,
    pub(super) lists: Vec<List>,
    /// The list that ended last: its depth of containers, its sign, and the number of blocks then.
    pub(super) ended: Option<(usize, char, usize)>,
    pub(super) heading: Option<u8>,
    pub(super) caption: bool,
    /// Elements that hold blocks, inside one another.
    pub(super) owners: Vec<NodeId>,
    /// Element of the running text that is being gathered.
    pub(super) owner: Option<NodeId>,
    pub(super) made: usize,
    /// In a table's cell.
    pub(super) cell: bool,
}

/// What has to be undone when an element is left.
pub(super) enum Leave {
    Block,
    Heading,
    Caption,
    Mark,
    List,
    Container,
    Term,
    Text(&'static str),
    Nothing,
}

impl<'a> Walk<'a> {
    pub(super) fn new(source: &'a Source<'a>) -> Self {
        Self::with(
            source,
            Rc::new(Places::new(source.doc)),
            Rc::new(Notes::find(source.doc)),
            false,
        )
    }

    fn with(source: &'a Source<'a>, places: Rc<Places<'a>>, notes: Rc<Notes>, cell: bool) -> Self {
        Self {
            source,
            doc: source.doc,
            places,
            notes,
            out: Vec::new(),
            pieces: Vec::new(),
            marks: Vec::new(),
            containers: Vec::new(),
            last: Vec::new(),
            lists: Vec::new(),
            ended: None,
            heading: None,
            caption: false,
            owners: Vec::new(),
            owner: None,
            made: 0,
            cell,
        }
    }

    pub(super) fn run(mut self) -> Vec<Block> {
        let roots = self.source.roots;
        for root in roots {
            self.under(*root, true);
        }
        self.out
    }

    /// The blocks of one cell.
    pub(super) fn cell(&self, cell: NodeId) -> Vec<Block> {
        let mut walk = Walk::with(
            self.source,
            Rc::clone(&self.places),
            Rc::clone(&self.notes),
            true,
        );
        walk.under(cell, false);
        walk.out
    }

    fn under(&mut self, root: NodeId, with_root: bool) {
        let end = self.doc.end(root).index();
        let mut at = root.index();
        if !with_root {
            self.owners.push(root);
            at += 1;
        }
        let mut entered: Vec<(usize, Leave)> = Vec::new();
        while at < end {
            while entered.last().is_some_and(|(e, _)| *e <= at) {
                if let Some((_, leave)) = entered.pop() {
                    self.leave(leave);
                }
            }
            if self.out.len() >= super::BLOCKS_MAX {
                break;
            }
            let id = NodeId::from_index(at);
            let after = self.doc.end(id).index();
            if self.source.skip[at] {
                at = after;
                continue;
            }
            match self.doc.kind(id) {
                Kind::Text(text) => self.text(id, text),
                Kind::Document => entered.push((after, Leave::Nothing)),
                Kind::Element(element) => match self.enter(id, element) {
                    Some(leave) => entered.push((after, leave)),
                    None => {
                        at = after;
                        continue;
                    }
                },
            }
            at += 1;
        }
        while let Some((_, leave)) = entered.pop() {
            self.leave(leave);
        }
        self.flush();
        if !with_root {
            self.owners.pop();
        }
    }

    pub(super) fn text(&mut self, id: NodeId, text: &str) {
        if self.owner.is_none() && !text.trim().is_empty() {
            self.owner = self.owners.last().copied().or_else(|| self.doc.parent(id));
        }
        match self.pieces.last_mut() {
            Some(Piece::Text(t)) => t.push_str(text),
            _ => self.pieces.push(Piece::Text(text.to_owned())),
        }
    }

    pub(super) fn piece(&mut self, id: NodeId, piece: Piece) {
        if self.owner.is_none() {
            self.owner = self.owners.last().copied().or(Some(id));
        }
        self.pieces.push(piece);
    }

    pub(super) fn mark(&mut self, mark: Mark) -> Option<Leave> {
        // A mark within the same mark says nothing more.
        let kind = std::mem::discriminant(&mark);
        if !self.source.faithful && self.marks.iter().any(|m| std::mem::discriminant(m) == kind) {
            return Some(Leave::Nothing);
        }
        self.pieces.push(Piece::Open(mark.clone()));
        self.marks.push(mark);
        Some(Leave::Mark)
    }

    pub(super) fn block(&mut self, id: NodeId) -> Option<Leave> {
        self.flush();
        self.owners.push(id);
        Some(Leave::Block)
    }

    /// Enters an element. `None`: it is done with, or is to be left out.
    fn enter(&mut self, id: NodeId, element: &'a Element) -> Option<Leave> {
        if math::is_drawing(self.doc, id) {
            return None;
        }
        if let Some(formula) = math::formula(self.doc, id) {
            let (tex, display) = (formula.tex, formula.display && !self.cell);
            self.piece(id, Piece::Math { tex, display });
            return None;
        }
        match element.tag() {
            "br" => {
                self.pieces.push(Piece::Break);
                None
            }
            "img" => {
                if let Some(piece) = self.image(element) {
                    self.piece(id, piece);
                }
                None
            }
            "em" | "i" => self.mark(Mark::Em),
            "strong" | "b" => self.mark(Mark::Strong),
            "del" | "s" | "strike" => self.mark(Mark::Del),
            "sup" if self.refers(id) => Some(Leave::Nothing),
            "sup" => self.mark(Mark::Sup),
            "sub" => self.mark(Mark::Sub),
            "a" => self.link(id, element),
            "code" | "samp" | "tt" | "kbd" => self.code(id),
            "q" => {
                self.text(id, "\u{201c}");
                Some(Leave::Text("\u{201d}"))
            }
            "rt" => {
                self.text(id, "(");
                Some(Leave::Text(")"))
            }
            "input" => {
                if element.attr("type") == Some("checkbox") && self.fresh_item() {
                    let sign = if element.attr("checked").is_some() {
                        "[x]"
                    } else {
                        "[ ]"
                    };
                    let markdown = sign.to_owned();
                    let text = sign.to_owned();
                    self.piece(id, Piece::Written { markdown, text });
                }
                None
            }
            "script" | "style" | "noscript" | "head" | "title" | "template" | "svg" | "canvas"
            | "video" | "audio" | "object" | "embed" | "map" | "select" | "textarea"
            | "datalist" | "rp" | "noframes" | "col" | "colgroup" | "meta" | "link" | "base" => {
                None
            }
            "iframe" if element.attr("srcdoc").is_none() => None,
            "td" | "th" if code::is_line_number(self.doc, id, element) => None,
            "pre" | "listing" | "xmp" => {
                self.preformatted(id);
                None
            }
            "hr" => {
                self.flush();
                if self.source.faithful {
                    self.emit(
                        BlockKind::Paragraph,
                        "---".to_owned(),
                        Line::default(),
                        id,
                        None,
                    );
                }
                None
            }
            "table" => self.table(id),
            tag => self.enter_block(id, tag, element),
        }
    }

    fn enter_block(&mut self, id: NodeId, tag: &str, element: &Element) -> Option<Leave> {
        if let Some(label) = self.notes.note(id) {
            let marker = format!("[^{label}]: ");
            self.flush();
            self.owners.push(id);
            self.container(ContainerKind::Note {
                marker,
                used: false,
            });
            return Some(Leave::Container);
        }
        match tag {
            "h1" | "h2" | "h3" | "h4" | "h5" | "h6" => {
                self.flush();
                self.owners.push(id);
                self.heading = tag[1..].parse().ok();
                Some(Leave::Heading)
            }
            "ul" | "ol" | "menu" | "dir" => {
                self.flush();
                self.owners.push(id);
                self.list(id, tag == "ol", element);
                Some(Leave::List)
            }
            "li" => {
                self.flush();
                self.owners.push(id);
                self.item(element);
                Some(Leave::Container)
            }
            "blockquote" => {
                self.flush();
                self.owners.push(id);
                self.container(ContainerKind::Quote);
                Some(Leave::Container)
            }
            "dt" => {
                self.flush();
                self.owners.push(id);
                self.pieces.push(Piece::Open(Mark::Strong));
                self.marks.push(Mark::Strong);
                Some(Leave::Term)
            }
            "dd" => {
                self.flush();
                self.owners.push(id);
                self.container(ContainerKind::Definition { used: false });
                Some(Leave::Container)
            }
            "figcaption" | "caption" => {
                self.flush();
                self.owners.push(id);
                self.caption = true;
                Some(Leave::Caption)
            }
            _ if is_block(tag) => self.block(id),
            _ => Some(Leave::Nothing),
        }
    }

    fn leave(&mut self, leave: Leave) {
        match leave {
            Leave::Nothing => {}
            Leave::Text(text) => self.pieces.push(Piece::Text(text.to_owned())),
            Leave::Mark => {
                self.pieces.push(Piece::Close);
                self.marks.pop();
            }
            Leave::Block => {
                self.flush();
                self.owners.pop();
            }
            Leave::Term => {
                self.flush();
                self.marks.pop();
                self.pieces.clear();
                self.reopen();
                self.owners.pop();
            }
            Leave::Caption => {
                self.flush();
                self.caption = false;
                self.owners.pop();
            }
            Leave::Heading => {
                self.flush();
                self.heading = None;
                self.owners.pop();
            }
            Leave::List => {
                self.flush();
                if let Some(list) = self.lists.pop() {
                    self.ended = Some((self.containers.len(), list.sign, self.out.len()));
                }
                self.owners.pop();
            }
            Leave::Container => {
                self.flush();
                let empty = matches!(
                    self.containers.last().map(|c| &c.kind),
                    Some(ContainerKind::Item { used: false, .. })
                );
                if empty && self.source.faithful {
                    let id = self.owners.last().copied().unwrap_or(NodeId::ROOT);
                    let level = self.level();
                    self.emit(
                        BlockKind::ListItem,
                        String::new(),
                        Line::default(),
                        id,
                        level,
                    );
                }
                self.containers.pop();
                self.owners.pop();
            }
        }
    }

    pub(super) fn style(&self) -> Style {
        Style {
            cell: self.cell,
            faithful: self.source.faithful,
        }
    }

    /// Ends the running text: what was gathered becomes a block.
    pub(super) fn flush(&mut self) {
        if self.pieces.is_empty() {
            return;
        }
        let mut pieces = std::mem::take(&mut self.pieces);
        let owner = self.owner.take();
        let says = pieces.iter().any(|p| match p {
            Piece::Text(t) => t.contains(|c: char| !c.is_ascii_whitespace()),
            Piece::Open(_) | Piece::Close | Piece::Break => false,
            _ => true,
        });
        if says {
            pieces.extend(self.marks.iter().map(|_| Piece::Close));
            let id = owner
                .or_else(|| self.owners.last().copied())
                .unwrap_or(NodeId::ROOT);
            if self.source.faithful || self.heading.is_some() {
                self.paragraph(&pieces, id);
            } else {
                for part in split(pieces) {
                    self.paragraph(&part, id);
                }
            }
        }
        self.reopen();
    }

    pub(super) fn reopen(&mut self) {
        self.pieces = self.marks.iter().cloned().map(Piece::Open).collect();
    }

    fn paragraph(&mut self, pieces: &[Piece], id: NodeId) {
        let mut line = inline::write(pieces, self.style());
        if line.markdown.is_empty() {
            return;
        }
        if let Some(level) = self.heading {
            let mut words = line.markdown.replace("\\\n", " ").replace('\n', " ");
            if words.ends_with('#') {
                words.insert(words.len() - 1, '\\');
            }
            line.text = line.text.replace('\n', " ");
            let markdown = format!("{} {words}", "#".repeat(usize::from(level)));
            self.emit(BlockKind::Heading, markdown, line, id, Some(level));
            return;
        }
        let kind = if self.fresh_item() {
            BlockKind::ListItem
        } else if self.caption || (line.only_images && !self.source.faithful) {
            BlockKind::Figure
        } else if self
            .containers
            .iter()
            .any(|c| matches!(c.kind, ContainerKind::Quote))
        {
            BlockKind::Quote
        } else {
            BlockKind::Paragraph
        };
        let level = if kind == BlockKind::ListItem {
            self.level()
        } else {
            None
        };
        let markdown = std::mem::take(&mut line.markdown);
        self.emit(kind, markdown, line, id, level);
    }
}

/// Parts a text where two breaks follow each other: pages that have no paragraphs do it so.
fn split(pieces: Vec<Piece>) -> Vec<Vec<Piece>> {
    let mut parts = vec![Vec::new()];
    let mut open: Vec<Mark> = Vec::new();
    let mut breaks = 0;
    for piece in pieces {
        match &piece {
            Piece::Break => breaks += 1,
            Piece::Text(t) if t.trim().is_empty() => {}
            Piece::Open(_) | Piece::Close => {}
            _ => {
                if breaks > 1
                    && let Some(part) = parts.last_mut()
                {
                    part.extend(open.iter().map(|_| Piece::Close));
                    parts.push(open.iter().cloned().map(Piece::Open).collect());
                }
                breaks = 0;
            }
        }
        match &piece {
            Piece::Open(mark) => open.push(mark.clone()),
            Piece::Close => {
                open.pop();
            }
            _ => {}
        }
        if let Some(part) = parts.last_mut() {
            part.push(piece);
        }
    }
    parts
}
