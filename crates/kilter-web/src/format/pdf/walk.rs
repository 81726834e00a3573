//! Runs a page's program as far as text goes: which string stands where, and how large.

use std::collections::HashMap;
use std::rc::Rc;

use lopdf::content::Content;
use lopdf::{Dictionary, Document, Object, ObjectId};

use super::font::{Font, get, number};

/// A string on the page, in the page's own units from the bottom left.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Piece {
    pub(super) x: f32,
    pub(super) end: f32,
    pub(super) y: f32,
    pub(super) size: f32,
    pub(super) text: String,
}

/// Forms inside forms, and pieces of one page.
const DEEPEST: usize = 8;
const MOST: usize = 200_000;

/// A matrix as a PDF writes it: a b c d e f.
type Matrix = [f32; 6];
const UNIT: Matrix = [1.0, 0.0, 0.0, 1.0, 0.0, 0.0];

fn times(m: Matrix, n: Matrix) -> Matrix {
    [
        m[0] * n[0] + m[1] * n[2],
        m[0] * n[1] + m[1] * n[3],
        m[2] * n[0] + m[3] * n[2],
        m[2] * n[1] + m[3] * n[3],
        m[4] * n[0] + m[5] * n[2] + n[4],
        m[4] * n[1] + m[5] * n[3] + n[5],
    ]
}

#[derive(Clone)]
struct State<'a> {
    ctm: Matrix,
    font: Option<Rc<Font<'a>>>,
    size: f32,
    leading: f32,
    character: f32,
    word: f32,
    scale: f32,
    rise: f32,
}

struct Walk<'a> {
    doc: &'a Document,
    limit: usize,
    fonts: HashMap<usize, Rc<Font<'a>>>,
    out: Vec<Piece>,
}

/// The strings of a page in the order of its program.
pub(super) fn pieces(doc: &Document, page: ObjectId, limit: usize) -> Vec<Piece> {
    let mut walk = Walk {
        doc,
        limit,
        fonts: HashMap::new(),
        out: Vec::new(),
    };
    let Ok(program) = doc.get_page_content_with_limit(page, limit) else {
        return Vec::new();
    };
    // Resources may be inherited from the nodes above a page.
    let mut resources = Vec::new();
    if let Ok((own, above)) = doc.get_page_resources(page) {
        resources.extend(own);
        resources.extend(
            above
                .into_iter()
                .filter_map(|id| doc.get_dictionary(id).ok()),
        );
    }
    let start = State {
        ctm: UNIT,
        font: None,
        size: 0.0,
        leading: 0.0,
        character: 0.0,
        word: 0.0,
        scale: 1.0,
        rise: 0.0,
    };
    walk.run(&program, &resources, start, 0);
    walk.out
}

impl<'a> Walk<'a> {
    fn run(
        &mut self,
        program: &[u8],
        resources: &[&'a Dictionary],
        start: State<'a>,
        depth: usize,
    ) {
        let Ok(content) = Content::decode(program) else {
            return;
        };
        let mut state = start;
        let mut stack: Vec<State<'a>> = Vec::new();
        let (mut text, mut line) = (UNIT, UNIT);
        for operation in &content.operations {
            if self.out.len() >= MOST {
                return;
            }
            let operands = &operation.operands;
            let n = |i: usize| operands.get(i).and_then(number).unwrap_or(0.0);
            let down = |line: Matrix, x: f32, y: f32| times([1.0, 0.0, 0.0, 1.0, x, y], line);
            match operation.operator.as_str() {
                "q" if stack.len() < 256 => stack.push(state.clone()),
                "Q" => {
                    if let Some(held) = stack.pop() {
                        state = held;
                    }
                }
                "cm" => state.ctm = times([n(0), n(1), n(2), n(3), n(4), n(5)], state.ctm),
                "BT" => (text, line) = (UNIT, UNIT),
                "Tf" => {
                    state.size = n(1);
                    let name = operands
                        .first()
                        .and_then(|o| o.as_name().ok())
                        .unwrap_or_default();
                    state.font = self.font(resources, name);
                }
                "TL" => state.leading = n(0),
                "Tc" => state.character = n(0),
                "Tw" => state.word = n(0),
                "Tz" => state.scale = n(0) / 100.0,
                "Ts" => state.rise = n(0),
                "Tm" => {
                    line = [n(0), n(1), n(2), n(3), n(4), n(5)];
                    text = line;
                }
                "Td" | "TD" => {
                    if operation.operator == "TD" {
                        state.leading = -n(1);
                    }
                    line = down(line, n(0), n(1));
                    text = line;
                }
                "T*" => {
                    line = down(line, 0.0, -state.leading);
                    text = line;
                }
                "Tj" => self.show(&state, &mut text, operands.first()),
                "'" | "\"" => {
                    if operation.operator == "\"" {
                        (state.word, state.character) = (n(0), n(1));
                    }
                    line = down(line, 0.0, -state.leading);
                    text = line;
                    self.show(&state, &mut text, operands.last());
                }
                "TJ" => {
                    for part in operands
                        .first()
                        .and_then(|o| o.as_array().ok())
                        .into_iter()
                        .flatten()
                    {
                        match number(part) {
                            Some(back) => {
                                let x = -back / 1000.0 * state.size * state.scale;
                                text = down(text, x, 0.0);
                            }
                            None => self.show(&state, &mut text, Some(part)),
                        }
                    }
                }
                "Do" if depth < DEEPEST => {
                    let name = operands
                        .first()
                        .and_then(|o| o.as_name().ok())
                        .unwrap_or_default();
                    self.form(resources, name, &state, depth);
                }
                _ => {}
            }
        }
    }

    fn show(&mut self, state: &State<'a>, text: &mut Matrix, string: Option<&Object>) {
        let (Some(font), Some(Object::String(bytes, _))) = (&state.font, string) else {
            return;
        };
        let (reach, codes, blanks) = font.advance(bytes);
        let width =
            (reach * state.size + codes as f32 * state.character + blanks as f32 * state.word)
                * state.scale;
        let here = times(
            [1.0, 0.0, 0.0, 1.0, 0.0, state.rise],
            times(*text, state.ctm),
        );
        let end = times([1.0, 0.0, 0.0, 1.0, width, 0.0], times(*text, state.ctm));
        let words = font.text(bytes);
        let size = state.size.abs() * (here[2].powi(2) + here[3].powi(2)).sqrt();
        if !words.is_empty() && size.is_finite() && here[4].is_finite() && here[5].is_finite() {
            self.out.push(Piece {
                x: here[4],
                end: end[4],
                y: here[5],
                size,
                text: words,
            });
        }
        *text = times([1.0, 0.0, 0.0, 1.0, width, 0.0], *text);
    }

    fn font(&mut self, resources: &[&'a Dictionary], name: &[u8]) -> Option<Rc<Font<'a>>> {
        let dict = self.resource(resources, b"Font", name)?.as_dict().ok()?;
        let doc = self.doc;
        // One font object is read once, under whatever names pages give it.
        let key = std::ptr::from_ref(dict) as usize;
        Some(
            self.fonts
                .entry(key)
                .or_insert_with(|| Rc::new(Font::new(doc, dict)))
                .clone(),
        )
    }

    fn form(&mut self, resources: &[&'a Dictionary], name: &[u8], state: &State<'a>, depth: usize) {
        let Some(Ok(stream)) = self
            .resource(resources, b"XObject", name)
            .map(Object::as_stream)
        else {
            return;
        };
        if get(self.doc, &stream.dict, b"Subtype").and_then(|o| o.as_name().ok())
            != Some(b"Form".as_slice())
        {
            return;
        }
        let Ok(program) = stream.get_plain_content_with_limit(self.limit) else {
            return;
        };
        let mut inner = state.clone();
        if let Some(m) = get(self.doc, &stream.dict, b"Matrix").and_then(|o| o.as_array().ok()) {
            let m: Vec<f32> = m.iter().filter_map(number).collect();
            if let Ok(matrix) = <Matrix>::try_from(m) {
                inner.ctm = times(matrix, inner.ctm);
            }
        }
        let own = get(self.doc, &stream.dict, b"Resources").and_then(|o| o.as_dict().ok());
        match own {
            Some(own) => self.run(&program, &[own], inner, depth + 1),
            None => self.run(&program, resources, inner, depth + 1),
        }
    }

    fn resource(
        &self,
        resources: &[&'a Dictionary],
        kind: &[u8],
        name: &[u8],
    ) -> Option<&'a Object> {
        resources.iter().find_map(|&r| {
            let of_kind = get(self.doc, r, kind)?.as_dict().ok()?;
            get(self.doc, of_kind, name)
        })
    }
}
