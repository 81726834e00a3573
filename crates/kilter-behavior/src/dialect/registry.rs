//! The compiled set of dialects.

use std::collections::BTreeMap;
use std::sync::{Arc, OnceLock};

use kilter_core::Strength;

use super::DialectError;
use super::builtin::BUILTIN;
use super::spec::{Closer, DialectSpec, File, Grammar, ReasoningSpec};
use super::trie::{Mark, Trie};

/// One dialect with its spellings written out.
#[derive(Debug, Clone)]
pub(crate) struct Dialect {
    pub(crate) spec: DialectSpec,
}

impl Dialect {
    pub(crate) fn strength(&self) -> Strength {
        self.spec.strength
    }

    /// Looked for at line starts, with no marker at all.
    pub(crate) fn markerless(&self) -> bool {
        self.spec.strength == Strength::Weak
    }
}

/// Compiled dialects and reasoning markers; built once and shared.
#[derive(Debug)]
pub struct Registry {
    pub(crate) dialects: Vec<Dialect>,
    pub(crate) reasoning: Vec<ReasoningSpec>,
    pub(crate) trie: Trie,
    /// Indexes of markerless dialects, in order of precedence.
    pub(crate) weak: Vec<u16>,
    /// First bytes of markers that are looked for only at line starts.
    pub(crate) line_bytes: Vec<bool>,
    /// First bytes of the words that may stand before a markerless call.
    pub(crate) lead_bytes: Vec<bool>,
    /// Markers that begin with a letter and hold a stop byte: the text before that byte, and the
    /// marker.
    pub(crate) back: Vec<(String, String)>,
    stop: Vec<String>,
    frame: Vec<[String; 2]>,
}

/// Bytes at which every other marker begins; the scanner stops at these and at line starts.
pub(crate) const STOPS: [u8; 4] = [b'<', b'[', b'>', b']'];

impl Registry {
    /// The dialects that ship with the crate.
    pub fn builtin() -> Arc<Self> {
        static ONCE: OnceLock<Arc<Registry>> = OnceLock::new();
        Arc::clone(ONCE.get_or_init(|| {
            let files: Vec<(String, String)> = BUILTIN
                .iter()
                .map(|(n, t)| ((*n).to_owned(), (*t).to_owned()))
                .collect();
            // The shipped files are read by a test; a defect there leaves an empty registry, which
            // recovers nothing, and never a panic.
            Arc::new(Self::compile(&files).unwrap_or_else(|_| Self::empty()))
        }))
    }

    fn empty() -> Self {
        Self {
            dialects: Vec::new(),
            reasoning: Vec::new(),
            trie: Trie::new(&[]),
            weak: Vec::new(),
            line_bytes: vec![false; 256],
            lead_bytes: vec![false; 256],
            back: Vec::new(),
            stop: Vec::new(),
            frame: Vec::new(),
        }
    }

    /// The shipped dialects and the operator's files (name, TOML text). A dialect of an already
    /// known name replaces it.
    ///
    /// # Errors
    /// A file that does not parse or contradicts itself.
    pub fn with_files(extra: &[(String, String)]) -> Result<Arc<Self>, DialectError> {
        let mut files: Vec<(String, String)> = BUILTIN
            .iter()
            .map(|(n, t)| ((*n).to_owned(), (*t).to_owned()))
            .collect();
        files.extend_from_slice(extra);
        Ok(Arc::new(Self::compile(&files)?))
    }

    /// Only the named dialects; reasoning markers stay.
    ///
    /// # Errors
    /// A name that is not known.
    pub fn narrow(&self, keep: &[String]) -> Result<Arc<Self>, DialectError> {
        for k in keep {
            if !self.dialects.iter().any(|d| d.spec.name == *k) {
                let names = self.names();
                return Err(DialectError::Unknown {
                    name: k.clone(),
                    nearest: crate::tools::nearest(k, names.iter().copied())
                        .unwrap_or_default()
                        .to_owned(),
                });
            }
        }
        let dialects = self
            .dialects
            .iter()
            .filter(|d| keep.contains(&d.spec.name))
            .cloned()
            .collect();
        Ok(Arc::new(Self::assemble(
            dialects,
            self.reasoning.clone(),
            self.stop.clone(),
            self.frame.clone(),
        )))
    }

    /// Names of the dialects, in order of precedence.
    pub fn names(&self) -> Vec<&str> {
        self.dialects.iter().map(|d| d.spec.name.as_str()).collect()
    }

    /// The firing text that a dialect's file gives.
    pub fn example(&self, name: &str) -> Option<&str> {
        self.dialects
            .iter()
            .find(|d| d.spec.name == name)?
            .spec
            .example
            .as_deref()
    }

    /// The strength of a dialect's markers.
    pub fn strength(&self, name: &str) -> Option<Strength> {
        Some(
            self.dialects
                .iter()
                .find(|d| d.spec.name == name)?
                .spec
                .strength,
        )
    }

    fn compile(files: &[(String, String)]) -> Result<Self, DialectError> {
        let mut dialects: Vec<Dialect> = Vec::new();
        let mut reasoning: Vec<ReasoningSpec> = Vec::new();
        let mut stop = Vec::new();
        let mut frame = Vec::new();
        for (file, text) in files {
            let parsed: File = toml::from_str(text).map_err(|e| DialectError::Syntax {
                file: file.clone(),
                message: e.to_string(),
            })?;
            stop.extend(parsed.stop);
            frame.extend(parsed.frame);
            for mut d in parsed.dialect {
                check(file, &d)?;
                expand(&mut d);
                match dialects.iter_mut().find(|o| o.spec.name == d.name) {
                    Some(old) => old.spec = d,
                    None => dialects.push(Dialect { spec: d }),
                }
            }
            for mut r in parsed.reasoning {
                r.openers = spellings(&r.openers, &r.vary);
                r.closers = spellings(&r.closers, &r.vary);
                match reasoning.iter_mut().find(|o| o.name == r.name) {
                    Some(old) => *old = r,
                    None => reasoning.push(r),
                }
            }
        }
        for d in &dialects {
            if let Some(c) = &d.spec.channel
                && !reasoning.iter().any(|r| r.name == c.marker)
            {
                return Err(DialectError::Invalid {
                    file: String::new(),
                    name: d.spec.name.clone(),
                    message: format!("`channel.marker` names no reasoning marker `{}`", c.marker),
                });
            }
        }
        Ok(Self::assemble(dialects, reasoning, stop, frame))
    }

    fn assemble(
        dialects: Vec<Dialect>,
        reasoning: Vec<ReasoningSpec>,
        stop: Vec<String>,
        frame: Vec<[String; 2]>,
    ) -> Self {
        let mut marks: Vec<(String, bool, Mark)> = Vec::new();
        let mut weak = Vec::new();
        for (i, d) in dialects.iter().enumerate() {
            let i = u16::try_from(i).unwrap_or(u16::MAX);
            let s = &d.spec;
            if d.markerless() {
                weak.push(i);
                continue;
            }
            for m in s.prefix.iter().chain(&s.openers).chain(&s.triggers) {
                marks.push((m.clone(), s.nonce, Mark::Start(i)));
            }
            for m in s.closers.iter().chain(&s.suffix) {
                // A fence is no marker of its own.
                if m.starts_with(['<', '[', ']']) {
                    marks.push((m.clone(), s.nonce, Mark::Tail));
                }
            }
        }
        for (i, r) in reasoning.iter().enumerate() {
            let i = u16::try_from(i).unwrap_or(u16::MAX);
            for m in &r.openers {
                marks.push((m.clone(), r.nonce, Mark::Think(i)));
            }
            for m in &r.closers {
                marks.push((m.clone(), r.nonce, Mark::Unthink(i)));
            }
            for m in &r.before {
                marks.push((m.clone(), false, Mark::Before(i)));
            }
            for [o, c] in &r.answer {
                marks.push((o.clone(), false, Mark::Answer));
                marks.push((c.clone(), false, Mark::Unanswer));
            }
        }
        for [o, c] in &frame {
            marks.push((o.clone(), false, Mark::Frame));
            marks.push((c.clone(), false, Mark::Unanswer));
        }
        for s in &stop {
            marks.push((s.clone(), false, Mark::Stop));
        }
        let mut lead_bytes = vec![false; 256];
        for d in &weak {
            let s: &DialectSpec = &dialects[*d as usize].spec;
            let notation = s.notation.iter().map(|n| &n.lead);
            for b in s
                .header
                .lead
                .iter()
                .chain(&s.header.strip)
                .chain(notation)
                .filter_map(|l| l.bytes().next())
            {
                lead_bytes[b as usize] = true;
            }
        }
        let mut back = Vec::new();
        let mut line_bytes = vec![false; 256];
        for (m, _, k) in &marks {
            if let (Some(&b), Mark::Start(_)) = (m.as_bytes().first(), k)
                && !STOPS.contains(&b)
            {
                line_bytes[b as usize] = true;
                if let Some(n) = m.find(['<', '['])
                    && b.is_ascii_alphabetic()
                {
                    back.push((m[..n].to_owned(), m.clone()));
                }
            }
        }
        Self {
            trie: Trie::new(&marks),
            dialects,
            reasoning,
            weak,
            line_bytes,
            lead_bytes,
            back,
            stop,
            frame,
        }
    }

    pub(crate) fn reasoning_index(&self, name: &str) -> Option<u16> {
        self.reasoning
            .iter()
            .position(|r| r.name == name)
            .and_then(|i| u16::try_from(i).ok())
    }
}

fn check(file: &str, d: &DialectSpec) -> Result<(), DialectError> {
    let bad = |message: &str| {
        Err(DialectError::Invalid {
            file: file.to_owned(),
            name: d.name.clone(),
            message: message.to_owned(),
        })
    };
    let marked = !(d.prefix.is_empty() && d.openers.is_empty() && d.triggers.is_empty());
    if d.strength != Strength::Weak && !marked {
        return bad("it has no prefix, opener or trigger; give one, or make it `weak`");
    }
    if d.closer == Closer::Required && d.closers.is_empty() && d.strength != Strength::Weak {
        return bad("it has no closers; give some, or say `closer = \"optional\"`");
    }
    match d.grammar {
        Grammar::Tags if d.tags.is_none() => {
            bad("the grammar `tags` needs a `[dialect.tags]` table")
        }
        Grammar::Pairs if d.pairs.is_none() => {
            bad("the grammar `pairs` needs a `[dialect.pairs]` table")
        }
        Grammar::Notation if d.notation.is_none() => {
            bad("the grammar `notation` needs a `[dialect.notation]` table")
        }
        Grammar::Channel if d.channel.is_none() => {
            bad("the grammar `channel` needs a `[dialect.channel]` table")
        }
        Grammar::Json if d.shapes.is_empty() => {
            bad("the grammar `json` needs `shapes`, some of `object`, `array`, `keyed`")
        }
        _ => Ok(()),
    }
}

fn expand(d: &mut DialectSpec) {
    let v = d.vary.clone();
    for list in [
        &mut d.prefix,
        &mut d.openers,
        &mut d.closers,
        &mut d.suffix,
        &mut d.triggers,
        &mut d.header.end,
        &mut d.header.lead,
    ] {
        *list = spellings(list, &v);
    }
    if let Some(t) = &mut d.tags {
        for list in [&mut t.open, &mut t.shut, &mut t.end] {
            *list = spellings(list, &v);
        }
    }
}

/// Every spelling of every marker, longest first.
fn spellings(list: &[String], vary: &BTreeMap<String, Vec<String>>) -> Vec<String> {
    let mut out: Vec<String> = list.to_vec();
    for (word, with) in vary {
        let hole = format!("{{{word}}}");
        out = out
            .into_iter()
            .flat_map(|s| {
                if s.contains(&hole) {
                    with.iter().map(|w| s.replace(&hole, w)).collect()
                } else {
                    vec![s]
                }
            })
            .collect();
    }
    out.sort_by(|a, b| b.len().cmp(&a.len()).then_with(|| a.cmp(b)));
    out.dedup();
    out
}
