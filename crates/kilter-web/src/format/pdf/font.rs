//! What a font says: the characters of a string and how far it reaches.

use std::collections::HashMap;

use lopdf::{Dictionary, Document, Encoding, Object};

/// A font of a page.
pub(super) struct Font<'a> {
    encoding: Option<Encoding<'a>>,
    wide: bool,
    widths: HashMap<u32, f32>,
    default: f32,
}

/// Bytes of a font's character map.
const LONGEST_MAP: usize = 8 << 20;
/// Widths of one font.
const MOST_WIDTHS: usize = 1 << 17;

impl<'a> Font<'a> {
    pub(super) fn new(doc: &'a Document, dict: &'a Dictionary) -> Self {
        let wide = name(doc, dict, b"Subtype") == Some(b"Type0".as_slice());
        let mut font = Self {
            encoding: dict.get_font_encoding_with_limit(doc, LONGEST_MAP).ok(),
            wide,
            widths: HashMap::new(),
            default: if wide { 1000.0 } else { 500.0 },
        };
        match wide {
            true => font.wide_widths(doc, dict),
            false => font.simple_widths(doc, dict),
        }
        font
    }

    fn simple_widths(&mut self, doc: &Document, dict: &Dictionary) {
        let first = get(doc, dict, b"FirstChar").and_then(number).unwrap_or(0.0) as u32;
        if let Some(descriptor) = get(doc, dict, b"FontDescriptor").and_then(|o| o.as_dict().ok())
            && let Some(missing) = get(doc, descriptor, b"MissingWidth")
                .and_then(number)
                .filter(|w| *w > 0.0)
        {
            self.default = missing;
        }
        let Some(widths) = get(doc, dict, b"Widths").and_then(|o| o.as_array().ok()) else {
            return;
        };
        for (i, width) in widths.iter().take(MOST_WIDTHS).enumerate() {
            if let Some(width) = doc.dereference(width).ok().and_then(|(_, o)| number(o)) {
                self.widths.insert(first.saturating_add(i as u32), width);
            }
        }
    }

    /// `W` of a composite font: `c [w w …]` and `first last w` (ISO 32000, 9.7.4.3).
    fn wide_widths(&mut self, doc: &Document, dict: &Dictionary) {
        let below = get(doc, dict, b"DescendantFonts")
            .and_then(|o| o.as_array().ok())
            .and_then(|a| a.first());
        let Some(below) = below
            .and_then(|o| doc.dereference(o).ok())
            .and_then(|(_, o)| o.as_dict().ok())
        else {
            return;
        };
        if let Some(default) = get(doc, below, b"DW").and_then(number) {
            self.default = default;
        }
        let Some(list) = get(doc, below, b"W").and_then(|o| o.as_array().ok()) else {
            return;
        };
        let mut items = list
            .iter()
            .filter_map(|o| doc.dereference(o).ok().map(|(_, o)| o));
        while let (Some(first), Some(second)) = (items.next().and_then(number), items.next()) {
            let first = first as u32;
            if let Ok(widths) = second.as_array() {
                for (i, width) in widths.iter().filter_map(number).enumerate() {
                    self.widths.insert(first.saturating_add(i as u32), width);
                }
            } else if let (Some(last), Some(width)) =
                (number(second), items.next().and_then(number))
            {
                for code in first..=(last as u32).min(first.saturating_add(0xffff)) {
                    self.widths.insert(code, width);
                }
            }
            if self.widths.len() > MOST_WIDTHS {
                return;
            }
        }
    }

    /// The characters of a string. What the font does not explain is left out.
    pub(super) fn text(&self, bytes: &[u8]) -> String {
        let Some(encoding) = &self.encoding else {
            return String::new();
        };
        let text = Document::decode_text(encoding, bytes).unwrap_or_default();
        text.chars()
            .filter(|c| {
                !c.is_control() && *c != '\u{fffd}' && !('\u{e000}'..='\u{f8ff}').contains(c)
            })
            .collect()
    }

    /// How far a string reaches in text space, for a font of size 1, and how many codes and blanks it has.
    pub(super) fn advance(&self, bytes: &[u8]) -> (f32, usize, usize) {
        let step = if self.wide { 2 } else { 1 };
        let (mut sum, mut codes, mut blanks) = (0.0, 0, 0);
        for code in bytes.chunks(step) {
            let code = code.iter().fold(0u32, |n, b| n << 8 | u32::from(*b));
            sum += self.widths.get(&code).copied().unwrap_or(self.default);
            codes += 1;
            blanks += usize::from(!self.wide && code == 32);
        }
        (sum / 1000.0, codes, blanks)
    }
}

/// An entry of a dictionary, followed to what it names.
pub(super) fn get<'a>(doc: &'a Document, dict: &'a Dictionary, key: &[u8]) -> Option<&'a Object> {
    dict.get(key)
        .and_then(|o| doc.dereference(o))
        .ok()
        .map(|(_, o)| o)
}

fn name<'a>(doc: &'a Document, dict: &'a Dictionary, key: &[u8]) -> Option<&'a [u8]> {
    get(doc, dict, key).and_then(|o| o.as_name().ok())
}

/// A number of either kind.
pub(super) fn number(object: &Object) -> Option<f32> {
    match object {
        Object::Integer(n) => Some(*n as f32),
        Object::Real(n) => Some(*n),
        _ => None,
    }
    .filter(|n| n.is_finite())
}
