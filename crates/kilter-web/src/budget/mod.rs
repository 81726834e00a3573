//! The budget: a reply that never has more tokens than asked, counted as it is sent.
//!
//! Blocks get a place in the order that [`crate::focus::order`] gives them; what has no place is listed. Optional parts
//! of the frame give way before content does, and the smallest answer gives way last: it is cut, and marked.

pub mod tokens;

use std::cell::OnceCell;

use serde_json::{Map, Value, json};

pub use tokens::{O200k, Tokenizer};

use crate::failure::{Failure, FailureCode};
use crate::focus::{Focus, FocusStatus, order};
use crate::page::Block;

/// A list beside the content that was asked for; what was not asked for is not in the reply at all.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Sidecar {
    /// Its key.
    pub name: String,
    /// Its items; when the list speaks of blocks, each with its block.
    pub items: Vec<(Option<usize>, Value)>,
}

/// The reply without its content.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Frame {
    /// Always there: `ok` and what a caller cannot do without.
    pub fixed: Map<String, Value>,
    /// There while they have room; the last is let go first.
    pub optional: Vec<(String, Value)>,
    /// Lists that were asked for.
    pub sidecars: Vec<Sidecar>,
    /// The Markdown of the whole page, where that is not its blocks in a row: a document that passes through as it is.
    pub whole: Option<String>,
}

/// A reply within its budget.
#[derive(Debug, Clone, PartialEq)]
pub struct Fitted {
    /// The reply.
    pub reply: Value,
    /// Its tokens, serialised.
    pub tokens: usize,
    /// The blocks that are in it, in page order.
    pub kept: Vec<usize>,
    /// Whether anything was cut.
    pub truncated: bool,
}

/// What goes into one attempt.
#[derive(Debug, Clone)]
struct Attempt {
    /// How many blocks of the order.
    blocks: usize,
    /// Bytes of the last of them; none: all of it.
    cut: Option<usize>,
    /// How many optional parts.
    optional: usize,
    /// Items of each sidecar.
    items: Vec<usize>,
    /// Whether what was left out is listed in full.
    listed: bool,
}

struct Fitting<'a> {
    blocks: &'a [Block],
    order: Vec<usize>,
    focus: &'a Focus,
    frame: &'a Frame,
    max: usize,
    tokenizer: &'a dyn Tokenizer,
    /// What each block costs by itself, once known.
    costs: Vec<OnceCell<usize>>,
}

/// Headings that `omitted` names; more are counted.
const NAMED: usize = 12;

/// Makes a reply of at most `max` tokens; `None`: as long as it is.
///
/// # Errors
/// `invalid_arguments` when `max` does not even hold the frame, with the number that would.
pub fn fit(
    blocks: &[Block],
    focus: &Focus,
    frame: &Frame,
    max: Option<u32>,
    tokenizer: &dyn Tokenizer,
) -> Result<Fitted, Failure> {
    let (order, smallest) = order(blocks, focus);
    let full = Attempt {
        blocks: blocks.len(),
        cut: None,
        optional: frame.optional.len(),
        items: frame.sidecars.iter().map(|s| s.items.len()).collect(),
        listed: true,
    };
    let fitting = Fitting {
        order,
        blocks,
        focus,
        frame,
        max: max.map_or(usize::MAX, |m| m as usize),
        tokenizer,
        costs: vec![OnceCell::new(); blocks.len()],
    };
    let Some(max) = max else {
        return Ok(fitting.done(&full));
    };
    let max = max as usize;
    let bare = Attempt {
        blocks: 0,
        cut: None,
        optional: 0,
        items: vec![0; frame.sidecars.len()],
        listed: false,
    };
    let floor = fitting.count(&bare);
    if floor > max {
        return Err(Failure::new(
            FailureCode::InvalidArguments,
            format!("`max_tokens` is {max}; this reply needs at least {floor} for its frame alone"),
        )
        .then("stop", "give a larger `max_tokens`"));
    }
    if fitting.estimate_whole() <= max * 2 && fitting.count(&full) <= max {
        return Ok(fitting.done(&full));
    }
    let mut at = Attempt {
        listed: true,
        optional: frame.optional.len(),
        ..bare.clone()
    };
    // The frame gives way before the smallest answer does: first the list of what is missing, then optional parts.
    let wanted = |at: &Attempt| Attempt {
        blocks: smallest,
        ..at.clone()
    };
    while fitting.count(&wanted(&at)) > max {
        if at.optional > 0 {
            at.optional -= 1;
        } else if at.listed {
            at.listed = false;
        } else {
            break;
        }
    }
    if fitting.count(&wanted(&at)) > max {
        return Ok(fitting.done(&fitting.squeeze(at, smallest)));
    }
    at.blocks = smallest;
    let at = fitting.fill_sidecars(fitting.fill_blocks(at));
    Ok(fitting.done(&at))
}

impl Fitting<'_> {
    /// A lower bound of the whole content's tokens that costs nothing: bytes over the longest common token.
    fn estimate_whole(&self) -> usize {
        self.blocks.iter().map(|b| b.markdown.len()).sum::<usize>() / 16
    }

    fn count(&self, at: &Attempt) -> usize {
        self.tokenizer.count(&self.render(at, self.max).to_string())
    }

    /// As many blocks of the order as there is room for. With sidecars, blocks leave them up to half of the room.
    fn fill_blocks(&self, at: Attempt) -> Attempt {
        let room = self.max.saturating_sub(self.count(&at));
        let mut asked = 0;
        for (_, item) in self.frame.sidecars.iter().flat_map(|s| &s.items) {
            asked += self.tokenizer.count(&item.to_string()) + 1;
            if asked > room {
                break;
            }
        }
        let limit = self.max.saturating_sub(asked.min(room / 2));
        let try_at = |blocks| Attempt {
            blocks,
            ..at.clone()
        };
        // The sum of costs is near the truth, not the truth: the reply itself decides, in a few steps.
        let mut n = at.blocks;
        loop {
            let mut slack = limit.saturating_sub(self.count(&try_at(n)));
            let before = n;
            while let Some(cost) = self.order.get(n).map(|i| self.cost(*i)) {
                if cost > slack {
                    break;
                }
                slack -= cost;
                n += 1;
            }
            while n > before && self.count(&try_at(n)) > limit {
                let over = self.count(&try_at(n)) - limit;
                let mut back = 0;
                while n > before && back <= over {
                    n -= 1;
                    back += self.cost(self.order[n]);
                }
            }
            if n == before {
                break;
            }
        }
        if n < self.order.len() && self.count(&try_at(n + 1)) <= limit {
            n += 1;
        }
        try_at(n)
    }

    fn cost(&self, block: usize) -> usize {
        *self.costs[block].get_or_init(|| {
            let text = Value::from(self.blocks[block].markdown.as_str()).to_string();
            self.tokenizer.count(&text) + 1
        })
    }

    /// Items of the sidecars in order, while they have room.
    fn fill_sidecars(&self, mut at: Attempt) -> Attempt {
        let kept = self.kept(&at);
        let mut slack = self.max.saturating_sub(self.count(&at));
        for (s, sidecar) in self.frame.sidecars.iter().enumerate() {
            let mut costs = Vec::new();
            for (block, item) in &sidecar.items {
                if block.is_some_and(|b| kept.binary_search(&b).is_err()) {
                    continue;
                }
                let cost = self.tokenizer.count(&item.to_string()) + 1;
                if cost > slack {
                    break;
                }
                slack -= cost;
                costs.push(cost);
            }
            let whole = costs.len() == self.fitting_items(sidecar, &kept);
            at.items[s] = if whole {
                sidecar.items.len()
            } else {
                costs.len()
            };
            while at.items[s] > 0 {
                let count = self.count(&at);
                if count <= self.max {
                    break;
                }
                at.items[s] = costs.len();
                let mut back = 0;
                while at.items[s] > 0 && back <= count - self.max {
                    at.items[s] -= 1;
                    back += costs.pop().unwrap_or(1);
                }
            }
        }
        at
    }

    /// How many items of a sidecar speak of blocks that are kept.
    fn fitting_items(&self, sidecar: &Sidecar, kept: &[usize]) -> usize {
        sidecar
            .items
            .iter()
            .filter(|(block, _)| block.is_none_or(|b| kept.binary_search(&b).is_ok()))
            .count()
    }

    /// The smallest answer is too long: its blocks one by one, the last one cut.
    fn squeeze(&self, at: Attempt, smallest: usize) -> Attempt {
        for blocks in (0..smallest).rev() {
            let before = Attempt {
                blocks,
                ..at.clone()
            };
            if self.count(&before) > self.max {
                continue;
            }
            let text = &self.blocks[self.order[blocks]].markdown;
            let cut_at = |bytes: usize| Attempt {
                blocks: blocks + 1,
                cut: Some(text.floor_char_boundary(bytes)),
                ..at.clone()
            };
            let (mut low, mut high) = (0, text.len().min(self.max * 32));
            while low < high {
                let middle = usize::midpoint(low, high + 1);
                if self.count(&cut_at(middle)) <= self.max {
                    low = middle;
                } else {
                    high = middle - 1;
                }
            }
            while low > 0 && self.count(&cut_at(low)) > self.max {
                low -= 1;
            }
            return if low == 0 { before } else { cut_at(low) };
        }
        Attempt { blocks: 0, ..at }
    }

    fn done(&self, at: &Attempt) -> Fitted {
        let mut said = self.max;
        let mut reply = self.render(at, said);
        let mut tokens = self.tokenizer.count(&reply.to_string());
        // The number is part of what it counts; two rounds settle it, since it has no more digits than the limit.
        for _ in 0..3 {
            if said == tokens {
                break;
            }
            said = tokens;
            reply = self.render(at, said);
            tokens = self.tokenizer.count(&reply.to_string());
        }
        let truncated = self.is_cut(at);
        Fitted {
            reply,
            tokens,
            kept: self.kept(at),
            truncated,
        }
    }

    fn is_cut(&self, at: &Attempt) -> bool {
        at.blocks < self.blocks.len()
            || at.cut.is_some()
            || self
                .frame
                .sidecars
                .iter()
                .zip(&at.items)
                .any(|(s, n)| *n < s.items.len())
    }

    fn kept(&self, at: &Attempt) -> Vec<usize> {
        let mut kept = self.order[..at.blocks].to_vec();
        kept.sort_unstable();
        kept
    }

    fn render(&self, at: &Attempt, said: usize) -> Value {
        let kept = self.kept(at);
        let mut map = self.frame.fixed.clone();
        for (name, value) in &self.frame.optional[..at.optional] {
            map.insert(name.clone(), value.clone());
        }
        map.insert("markdown".to_owned(), self.markdown(at, &kept).into());
        for (sidecar, n) in self.frame.sidecars.iter().zip(&at.items) {
            let items: Vec<&Value> = sidecar
                .items
                .iter()
                .filter(|(block, _)| block.is_none_or(|b| kept.binary_search(&b).is_ok()))
                .take(*n)
                .map(|(_, v)| v)
                .collect();
            map.insert(sidecar.name.clone(), json!(items));
        }
        if self.max != usize::MAX {
            map.insert("compile".to_owned(), self.compile(at, &kept, said));
        }
        Value::Object(map)
    }

    /// The kept blocks in page order, with a mark where some are missing.
    fn markdown(&self, at: &Attempt, kept: &[usize]) -> String {
        if at.cut.is_none() && kept.len() == self.blocks.len() {
            // Whole, it is the very text that the content hash is of.
            return match &self.frame.whole {
                Some(whole) => whole.clone(),
                None => crate::block::markdown(self.blocks),
            };
        }
        let last = at.cut.and(self.order.get(at.blocks.wrapping_sub(1)));
        let mut out = String::new();
        let mut next = 0;
        for i in kept {
            let block = &self.blocks[*i];
            if *i > next {
                add(&mut out, "", &snip(*i - next));
            }
            let beside = *i == next;
            let glue = if beside { &*block.glue } else { "" };
            next = i + 1;
            match at.cut {
                Some(bytes) if last == Some(i) => {
                    let cut = &block.markdown[..block.markdown.floor_char_boundary(bytes)];
                    add(&mut out, glue, &format!("{cut}…"));
                    add(&mut out, "", "<!-- SNIP rest of block -->");
                }
                _ => add(&mut out, glue, &block.markdown),
            }
        }
        if next < self.blocks.len() {
            add(&mut out, "", &snip(self.blocks.len() - next));
        }
        out
    }

    fn compile(&self, at: &Attempt, kept: &[usize], said: usize) -> Value {
        let truncated = self.is_cut(at);
        let mut map = Map::new();
        map.insert("tokens".to_owned(), said.into());
        map.insert("tokenizer".to_owned(), self.tokenizer.name().into());
        map.insert("truncated".to_owned(), truncated.into());
        if truncated {
            map.insert("strategy".to_owned(), self.strategy(at).into());
            map.insert("omitted".to_owned(), self.omitted(at, kept));
        }
        Value::Object(map)
    }

    fn strategy(&self, at: &Attempt) -> &'static str {
        if at.blocks == self.blocks.len() && at.cut.is_none() {
            "response_budget"
        } else if matches!(
            self.focus.status,
            FocusStatus::Miss | FocusStatus::NotRequested
        ) {
            "head_safe"
        } else {
            "focus_window"
        }
    }

    /// What is on the page and not in the reply. In full: which sections are missing; else only how much.
    fn omitted(&self, at: &Attempt, kept: &[usize]) -> Value {
        let mut list = Vec::new();
        let missing = self.blocks.len() - kept.len();
        if missing > 0 {
            let mut entry = json!({"reason": "budget", "what": format!("{missing} blocks")});
            if at.listed {
                let gone: Vec<&str> = self
                    .focus
                    .sections
                    .iter()
                    .filter(|s| !(s.first..s.end).any(|i| kept.binary_search(&i).is_ok()))
                    .filter_map(|s| s.heading.as_deref())
                    .collect();
                let named: Vec<&str> = gone
                    .iter()
                    .take(NAMED)
                    .map(|h| &h[..h.floor_char_boundary(60)])
                    .collect();
                if !named.is_empty() {
                    entry["sections"] = json!(named);
                    entry["moreSections"] = (gone.len() - named.len()).into();
                }
            }
            list.push(entry);
        }
        if at.cut.is_some() {
            list.push(json!({"reason": "budget", "what": "the end of a block"}));
        }
        for (sidecar, n) in self.frame.sidecars.iter().zip(&at.items) {
            let all = sidecar.items.len();
            if *n < all {
                list.push(
                    json!({"reason": "budget", "what": format!("{}: {} of {all}", sidecar.name, all - n)}),
                );
            }
        }
        let gone = &self.frame.optional[at.optional..];
        if !gone.is_empty() {
            let names: Vec<&str> = gone.iter().map(|(name, _)| name.as_str()).collect();
            let what = if at.listed {
                names.join(", ")
            } else {
                format!("{} fields", names.len())
            };
            list.push(json!({"reason": "budget", "what": what}));
        }
        Value::Array(list)
    }
}

/// Adds a block with what stands before it; a block that says nothing of that stands after a blank line.
fn add(out: &mut String, glue: &str, text: &str) {
    if !out.is_empty() {
        out.push_str(if glue.is_empty() { "\n\n" } else { glue });
    }
    out.push_str(text);
}

fn snip(blocks: usize) -> String {
    format!("<!-- SNIP {blocks} blocks -->")
}
