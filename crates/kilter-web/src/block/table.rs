//! Tables: which are data, their grid with spans filled, and the Markdown of it.

use super::walk::Walk;
use crate::dom::{Document, NodeId, fold};
use crate::page::{Link, Table};

/// Columns that one cell may span, and rows.
const MAX_SPAN: usize = 100;
/// Cells of one table; rows beyond are left out.
const MAX_CELLS: usize = 50_000;
/// Mean characters of a cell from which a table without headers is taken for a layout.
const LAYOUT_CELL: usize = 160;

/// A table that was read.
pub(super) struct Read {
    pub(super) data: Table,
    pub(super) markdown: String,
    pub(super) text: String,
    pub(super) links: Vec<Link>,
}

#[derive(Clone, Default)]
struct Cell {
    markdown: String,
    text: String,
    header: bool,
}

/// The rows of the table itself, not of tables in it.
fn rows(doc: &Document, table: NodeId, skip: &[bool]) -> Vec<NodeId> {
    let mut rows = Vec::new();
    for child in doc.children(table).filter(|c| !skip[c.index()]) {
        match doc.tag(child) {
            "tr" => rows.push(child),
            "thead" | "tbody" | "tfoot" => {
                rows.extend(
                    doc.children(child)
                        .filter(|c| doc.tag(*c) == "tr" && !skip[c.index()]),
                );
            }
            _ => {}
        }
    }
    rows
}

fn cells<'a>(
    doc: &'a Document,
    row: NodeId,
    skip: &'a [bool],
) -> impl Iterator<Item = NodeId> + 'a {
    doc.children(row)
        .filter(|c| matches!(doc.tag(*c), "td" | "th") && !skip[c.index()])
}

/// Whether the table is data rather than a layout.
pub(super) fn is_data(doc: &Document, table: NodeId, skip: &[bool]) -> bool {
    if matches!(doc.attr(table, "role"), Some("presentation" | "none")) {
        return false;
    }
    let rows = rows(doc, table, skip);
    let mut width = 0;
    let mut count = 0_usize;
    let mut headers = 0_usize;
    for row in &rows {
        let mut in_row = 0;
        for cell in cells(doc, *row, skip) {
            in_row += 1;
            headers += usize::from(doc.tag(cell) == "th");
        }
        width = width.max(in_row);
        count += in_row;
    }
    let mut blocks = 0_usize;
    let mut chars = 0_usize;
    for id in doc.descendants(table) {
        match doc.tag(id) {
            "table" | "pre" | "h1" | "h2" | "article" | "form" => return false,
            "p" | "div" | "h3" | "h4" | "img" => blocks += 1,
            _ => {}
        }
        chars += doc.text(id).map_or(0, |t| t.trim().len());
    }
    if width < 2 {
        // One column is a list of boxes, unless it says what it is.
        return headers > 0 && rows.len() > 1 && chars / count.max(1) < LAYOUT_CELL && blocks == 0;
    }
    if headers > 0
        || doc
            .children(table)
            .any(|c| matches!(doc.tag(c), "caption" | "thead"))
    {
        return chars / count.max(1) < LAYOUT_CELL * 4;
    }
    rows.len() >= 2 && chars / count.max(1) < LAYOUT_CELL && blocks <= count * 2
}

/// Reads a data table. `None` where it holds nothing.
pub(super) fn read(walk: &Walk<'_>, doc: &Document, table: NodeId, skip: &[bool]) -> Option<Read> {
    let mut links = Vec::new();
    let mut grid: Vec<Vec<Cell>> = Vec::new();
    let mut head_rows = 0;
    // Cells that reach down into rows to come: per column the rows left and what they hold.
    let mut reaching: Vec<(usize, Cell)> = Vec::new();
    let mut total = 0;
    for row in rows(doc, table, skip) {
        let in_head = doc.parent(row).is_some_and(|p| doc.tag(p) == "thead");
        let mut line: Vec<Cell> = Vec::new();
        let fill = |line: &mut Vec<Cell>, reaching: &mut Vec<(usize, Cell)>| {
            while let Some((left, cell)) = reaching.get_mut(line.len()).filter(|r| r.0 > 0) {
                *left -= 1;
                let cell = cell.clone();
                line.push(cell);
            }
        };
        for cell in cells(doc, row, skip) {
            fill(&mut line, &mut reaching);
            let span = |name: &str| {
                doc.attr(cell, name)
                    .and_then(|v| v.trim().parse::<usize>().ok())
                    .unwrap_or(1)
                    .clamp(1, MAX_SPAN)
            };
            let (across, down) = (span("colspan"), span("rowspan"));
            let filled = read_cell(walk, cell, doc.tag(cell) == "th", &mut links);
            for i in 0..across {
                let part = if i == 0 {
                    filled.clone()
                } else {
                    Cell {
                        header: filled.header,
                        ..Cell::default()
                    }
                };
                if down > 1 {
                    if reaching.len() <= line.len() {
                        reaching.resize(line.len() + 1, (0, Cell::default()));
                    }
                    reaching[line.len()] = (down - 1, part.clone());
                }
                line.push(part);
            }
            if line.len() > MAX_SPAN * 10 {
                break;
            }
        }
        fill(&mut line, &mut reaching);
        if line.iter().all(|c| c.markdown.is_empty()) {
            continue;
        }
        if grid.len() == head_rows && (in_head || line.iter().all(|c| c.header)) && head_rows == 0 {
            head_rows = 1;
        }
        total += line.len();
        grid.push(line);
        if total > MAX_CELLS {
            break;
        }
    }
    let width = grid.iter().map(Vec::len).max()?;
    for line in &mut grid {
        line.resize(width, Cell::default());
    }
    let caption = doc
        .children(table)
        .find(|c| doc.tag(*c) == "caption")
        .map(|c| fold(&doc.text_of(c)))
        .filter(|c| !c.is_empty());
    Some(finish(grid, head_rows, width, caption, links))
}

fn read_cell(walk: &Walk<'_>, cell: NodeId, header: bool, links: &mut Vec<Link>) -> Cell {
    let mut out = Cell {
        header,
        ..Cell::default()
    };
    for mut block in walk.cell(cell) {
        if !out.markdown.is_empty() {
            out.markdown.push_str("<br>");
            out.text.push('\n');
        }
        out.markdown.push_str(&block.markdown.replace('\n', "<br>"));
        out.text.push_str(&block.text);
        links.append(&mut block.links);
    }
    out
}

fn finish(
    grid: Vec<Vec<Cell>>,
    head_rows: usize,
    width: usize,
    caption: Option<String>,
    links: Vec<Link>,
) -> Read {
    let mut markdown = String::new();
    let mut text = String::new();
    let line = |out: &mut String, cells: &mut dyn Iterator<Item = &str>| {
        out.push('|');
        for cell in cells {
            out.push(' ');
            out.push_str(cell);
            if !cell.is_empty() {
                out.push(' ');
            }
            out.push('|');
        }
    };
    let empty = Cell::default();
    let head: Vec<&Cell> = match grid.first().filter(|_| head_rows > 0) {
        Some(row) => row.iter().collect(),
        None => vec![&empty; width],
    };
    line(&mut markdown, &mut head.iter().map(|c| c.markdown.as_str()));
    markdown.push('\n');
    line(&mut markdown, &mut (0..width).map(|_| "---"));
    for row in grid.iter().skip(head_rows) {
        markdown.push('\n');
        line(&mut markdown, &mut row.iter().map(|c| c.markdown.as_str()));
    }
    for row in &grid {
        if !text.is_empty() {
            text.push('\n');
        }
        let cells: Vec<String> = row.iter().map(|c| fold(&c.text)).collect();
        text.push_str(cells.join("\t").trim_end());
    }
    let words = |row: &Vec<Cell>| row.iter().map(|c| c.text.clone()).collect::<Vec<_>>();
    Read {
        data: Table {
            caption,
            headers: grid
                .first()
                .filter(|_| head_rows > 0)
                .map(words)
                .unwrap_or_default(),
            rows: grid.iter().skip(head_rows).map(words).collect(),
        },
        markdown,
        text,
        links,
    }
}
