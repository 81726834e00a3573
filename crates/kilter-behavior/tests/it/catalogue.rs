//! The written fixtures as data: files, the catalogue of tools, and what is wrong with a reading.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use kilter_behavior::{ReaderConfig, Reading, Registry, Sink, Split, ToolSet, TurnReader, read};
use kilter_core::{Expect, Origin, Provenance, RejectReason, Strength, ToolCall, ToolSpec};
use serde::Deserialize;
use serde_json::Value;

use crate::laws::{Dice, cut};

/// Longest text that is tried at every single split, in bytes.
pub(crate) const EVERY_SPLIT: usize = 4096;
/// Seeded ways of cutting a longer text.
pub(crate) const RECHUNKINGS: usize = 1000;

/// One file under `fixtures/dialects`.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct DialectFile {
    /// The dialect's name, as in the registry.
    pub(crate) dialect: String,
    /// Other dialects that own the very same text.
    #[serde(default)]
    pub(crate) accept: Vec<String>,
    /// Strength that every call of the file has; unsaid where shapes of the file differ.
    pub(crate) strength: Option<Strength>,
    #[serde(default)]
    pub(crate) firing: Vec<Firing>,
    #[serde(default)]
    pub(crate) must_not_fire: Vec<Quiet>,
    #[serde(default)]
    pub(crate) adversarial: Vec<Adversarial>,
}

/// A text that is a call, or that only carries reasoning and content.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Firing {
    pub(crate) id: String,
    /// `written`, or `capture:<dir>/<case>` for the shape of a real one.
    pub(crate) source: String,
    pub(crate) raw: String,
    pub(crate) calls: Vec<Wanted>,
    /// Unsaid where the framing around the call is not what the fixture is about.
    pub(crate) content: Option<String>,
    pub(crate) reasoning: Option<String>,
    #[serde(default)]
    pub(crate) expect: Expect,
    #[serde(default)]
    pub(crate) reasoning_open: bool,
    #[serde(default)]
    pub(crate) tools: Vec<String>,
    #[serde(default)]
    pub(crate) accept: Vec<String>,
    pub(crate) strength: Option<Strength>,
    #[serde(rename = "note")]
    pub(crate) _note: Option<String>,
}

/// A call that a text must give.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Wanted {
    pub(crate) name: String,
    /// JSON text: number literals count.
    pub(crate) arguments: String,
    /// The native id, where the text has one.
    pub(crate) id: Option<String>,
    /// Paths whose change must be reported.
    #[serde(default)]
    pub(crate) coerced: Vec<String>,
}

/// A text that merely shows or discusses a call.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Quiet {
    pub(crate) id: String,
    #[serde(rename = "source")]
    pub(crate) _source: String,
    pub(crate) raw: String,
    #[serde(default)]
    pub(crate) tools: Vec<String>,
    /// Splitter modes it is read under; all of them when unsaid.
    #[serde(default)]
    pub(crate) split: Vec<Mode>,
    #[serde(default, rename = "lang")]
    pub(crate) _lang: Option<String>,
    #[serde(default, rename = "shows")]
    pub(crate) _shows: Vec<String>,
    #[serde(rename = "note")]
    pub(crate) _note: Option<String>,
}

/// A call that must fail closed.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Adversarial {
    pub(crate) kind: Kind,
    pub(crate) id: String,
    #[serde(rename = "source")]
    pub(crate) _source: String,
    pub(crate) raw: String,
    pub(crate) reason: RejectReason,
    #[serde(default)]
    pub(crate) untrusted: Vec<String>,
    /// Markerless bytes that cannot be a call to a declared tool need not become a candidate.
    #[serde(default)]
    pub(crate) report: Report,
    pub(crate) nearest: Option<String>,
    #[serde(default)]
    pub(crate) truncated: bool,
    #[serde(default)]
    pub(crate) tools: Vec<String>,
    #[serde(rename = "note")]
    pub(crate) _note: Option<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Kind {
    Echo,
    Undeclared,
    Schema,
    Namespaced,
    Truncated,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Report {
    #[default]
    Must,
    May,
}

/// The splitter modes by name.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Mode {
    Suppressed,
    Unlearnt,
    Inline,
    Armed,
}

impl Mode {
    pub(crate) const ALL: [Self; 4] = [Self::Suppressed, Self::Unlearnt, Self::Inline, Self::Armed];

    pub(crate) fn split(self) -> Split {
        match self {
            Self::Suppressed => Split::Suppressed,
            Self::Unlearnt => Split::Unlearnt,
            Self::Inline => Split::Armed {
                inline: true,
                leading_closer: false,
            },
            Self::Armed => Split::Armed {
                inline: true,
                leading_closer: true,
            },
        }
    }
}

/// The folder of the fixtures.
pub(crate) fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures")
}

fn parse<T: for<'a> Deserialize<'a>>(path: &Path) -> T {
    let text = std::fs::read_to_string(path).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
    toml::from_str(&text).unwrap_or_else(|e| panic!("{}: {e}", path.display()))
}

/// TOML files of a folder, sorted.
pub(crate) fn files<T: for<'a> Deserialize<'a>>(folder: &str) -> Vec<(String, T)> {
    let dir = root().join(folder);
    let mut paths: Vec<PathBuf> = std::fs::read_dir(&dir)
        .unwrap_or_else(|e| panic!("{}: {e}", dir.display()))
        .map(|e| e.unwrap().path())
        .filter(|p| p.extension().is_some_and(|x| x == "toml"))
        .collect();
    paths.sort();
    paths
        .iter()
        .map(|p| {
            (
                p.file_stem().unwrap().to_string_lossy().into_owned(),
                parse(p),
            )
        })
        .collect()
}

/// The tools that fixtures may declare.
pub(crate) struct Catalogue {
    tools: BTreeMap<String, ToolSpec>,
    all: Arc<ToolSet>,
    registry: Arc<Registry>,
}

impl Catalogue {
    pub(crate) fn load() -> Self {
        #[derive(Deserialize)]
        struct File {
            tool: Vec<Tool>,
        }
        #[derive(Deserialize)]
        struct Tool {
            name: String,
            description: String,
            #[serde(default)]
            read_only: bool,
            parameters: String,
        }
        let file: File = parse(&root().join("tools.toml"));
        let tools: BTreeMap<String, ToolSpec> = file
            .tool
            .into_iter()
            .map(|t| {
                let spec = ToolSpec {
                    name: t.name.clone(),
                    description: Some(t.description),
                    parameters: serde_json::from_str(&t.parameters)
                        .unwrap_or_else(|e| panic!("parameters of {}: {e}", t.name)),
                    read_only: t.read_only.then_some(true),
                };
                (t.name, spec)
            })
            .collect();
        let all = Arc::new(ToolSet::new(tools.values().cloned().collect()));
        Self {
            tools,
            all,
            registry: Registry::builtin(),
        }
    }

    pub(crate) fn set(&self, names: &[String]) -> Arc<ToolSet> {
        if names.is_empty() {
            return Arc::clone(&self.all);
        }
        let specs = names
            .iter()
            .map(|n| {
                self.tools
                    .get(n)
                    .unwrap_or_else(|| panic!("tools.toml has no `{n}`"))
                    .clone()
            })
            .collect();
        Arc::new(ToolSet::new(specs))
    }

    pub(crate) fn config(&self, tools: &[String], mode: Mode) -> ReaderConfig {
        ReaderConfig {
            registry: Arc::clone(&self.registry),
            tools: self.set(tools),
            split: mode.split(),
            turn_id: "turn".to_owned(),
            ..ReaderConfig::new()
        }
    }
}

/// Keeps the raw text in the order in which it was delivered.
#[derive(Default)]
struct Raw(String);

impl Sink for Raw {
    fn content(&mut self, text: &str) {
        self.0.push_str(text);
    }
    fn reasoning(&mut self, text: &str) {
        self.0.push_str(text);
    }
    fn call(&mut self, _call: ToolCall, raw: &str) {
        self.0.push_str(raw);
    }
    fn rejected(&mut self, _rejected: kilter_behavior::Rejected) {}
    fn removed(&mut self, raw: &str) {
        self.0.push_str(raw);
    }
}

/// Reads a text in the given pieces.
pub(crate) fn read_pieces(cfg: &ReaderConfig, pieces: &[&str]) -> Reading {
    let mut out = Reading::default();
    let mut reader = TurnReader::new(cfg.clone());
    for p in pieces {
        reader.push(p, &mut out);
    }
    let summary = reader.finish(&mut out);
    out.truncated = summary.truncated;
    out.fired = summary.fired;
    out.summary = summary;
    out
}

/// The first way of cutting `raw` that reads otherwise than the whole, as words.
pub(crate) fn first_difference(cfg: &ReaderConfig, raw: &str) -> Option<String> {
    let whole = read(cfg.clone(), raw);
    let mut back = Raw::default();
    let mut reader = TurnReader::new(cfg.clone());
    reader.push(raw, &mut back);
    let _ = reader.finish(&mut back);
    if back.0 != raw {
        return Some(format!("the parts are not the raw text: {:?}", back.0));
    }
    let one_by_one: Vec<&str> = raw
        .char_indices()
        .map(|(i, c)| &raw[i..i + c.len_utf8()])
        .collect();
    let got = read_pieces(cfg, &one_by_one);
    if got != whole {
        return Some(format!(
            "character by character: {got:?}\n    whole: {whole:?}"
        ));
    }
    if raw.len() > EVERY_SPLIT {
        let mut dice = Dice::new(raw.len() as u64);
        for _ in 0..RECHUNKINGS {
            let pieces = cut(raw, 1 + dice.below(6), &mut dice);
            let got = read_pieces(cfg, &pieces);
            if got != whole {
                return Some(format!("{pieces:?}: {got:?}\n    whole: {whole:?}"));
            }
        }
        return None;
    }
    for (at, _) in raw.char_indices().skip(1) {
        let got = read_pieces(cfg, &[&raw[..at], &raw[at..]]);
        if got != whole {
            return Some(format!(
                "split at byte {at}, before {:?}: {got:?}\n    whole: {whole:?}",
                raw[at..].chars().take(12).collect::<String>()
            ));
        }
    }
    None
}

/// JSON with every number as the text that was written.
pub(crate) fn literal(json: &str) -> Value {
    let (mut out, mut chars) = (String::new(), json.chars().peekable());
    let mut in_string = false;
    while let Some(c) = chars.next() {
        if in_string {
            out.push(c);
            match c {
                '\\' => out.extend(chars.next()),
                '"' => in_string = false,
                _ => {}
            }
        } else if c == '-' || c.is_ascii_digit() {
            out.push_str("\"#");
            out.push(c);
            while let Some(d) =
                chars.next_if(|d| d.is_ascii_digit() || matches!(d, '.' | 'e' | 'E' | '+' | '-'))
            {
                out.push(d);
            }
            out.push('"');
        } else {
            in_string = c == '"';
            out.push(c);
        }
    }
    serde_json::from_str(&out).unwrap_or_else(|e| panic!("{json:?} is not JSON: {e}"))
}

/// Names of the dialects by every name that they are known under: their own and what they also read.
pub(crate) fn aliases() -> BTreeMap<String, String> {
    #[derive(Deserialize)]
    struct File {
        #[serde(default)]
        dialect: Vec<Dialect>,
    }
    #[derive(Deserialize)]
    struct Dialect {
        name: String,
        #[serde(default)]
        also: Vec<String>,
    }
    let mut out = BTreeMap::new();
    for (_, file) in files::<File>("../dialects") {
        for d in file.dialect {
            for other in d.also {
                out.insert(other, d.name.clone());
            }
            out.insert(d.name.clone(), d.name);
        }
    }
    out
}

/// What is wrong with the reading of a firing text.
pub(crate) fn judge_firing(
    file: &DialectFile,
    f: &Firing,
    got: &Reading,
    aliases: &BTreeMap<String, String>,
) -> Vec<String> {
    let own = |name: &String| aliases.get(name).unwrap_or(name).clone();
    let accepted: Vec<String> = [&file.dialect]
        .into_iter()
        .chain(&file.accept)
        .chain(&f.accept)
        .map(own)
        .collect();
    let mut wrong = Vec::new();
    if got.calls.len() != f.calls.len() {
        wrong.push(format!(
            "{} calls instead of {}; rejected {:?}",
            got.calls.len(),
            f.calls.len(),
            got.rejected
        ));
    }
    for (i, (want, call)) in f.calls.iter().zip(&got.calls).enumerate() {
        if call.name != want.name {
            wrong.push(format!("call {i} is `{}`, not `{}`", call.name, want.name));
        }
        if !call.arguments.starts_with('{') || literal(&call.arguments) != literal(&want.arguments)
        {
            wrong.push(format!(
                "arguments {i}: {} instead of {}",
                call.arguments, want.arguments
            ));
        }
        if let Some(id) = &want.id
            && call.id.as_ref() != Some(id)
        {
            wrong.push(format!("id {i}: {:?} instead of {id:?}", call.id));
        }
        match &call.provenance {
            Provenance::Native => wrong.push(format!("call {i} says native")),
            Provenance::Recovered {
                dialect,
                strength,
                origin,
                coerced,
            } => {
                if !accepted.contains(dialect) {
                    wrong.push(format!("call {i} is said to be `{dialect}`"));
                }
                if let Some(s) = f.strength.or(if f.accept.is_empty() {
                    file.strength
                } else {
                    None
                }) && *strength != s
                {
                    wrong.push(format!("strength {i}: {strength:?} instead of {s:?}"));
                }
                if coerced.is_empty() != (*origin == Origin::Recovered) {
                    wrong.push(format!("origin {i} {origin:?} with {coerced:?}"));
                }
                for path in &want.coerced {
                    if !coerced.iter().any(|c| c.path == *path) {
                        wrong.push(format!("change of {path} is not reported: {coerced:?}"));
                    }
                }
            }
        }
    }
    if let Some(content) = &f.content
        && got.content != *content
    {
        wrong.push(format!("content {:?} instead of {content:?}", got.content));
    }
    if f.reasoning.is_some() && got.reasoning != f.reasoning {
        wrong.push(format!(
            "reasoning {:?} instead of {:?}",
            got.reasoning, f.reasoning
        ));
    }
    if f.reasoning.is_none()
        && f.content.is_some()
        && got.reasoning.as_deref().is_some_and(|r| !r.is_empty())
    {
        wrong.push(format!("reasoning {:?} out of nothing", got.reasoning));
    }
    wrong
}

/// What is wrong with the reading of a shown call.
pub(crate) fn judge_quiet(raw: &str, got: &Reading) -> Vec<String> {
    let mut wrong = Vec::new();
    if !got.calls.is_empty() {
        wrong.push(format!("fired {:?}", got.calls));
    }
    if got.content != raw || got.reasoning.as_deref().is_some_and(|r| !r.is_empty()) {
        wrong.push(format!(
            "text changed: content {:?}, reasoning {:?}",
            got.content, got.reasoning
        ));
    }
    wrong
}

/// Fails with every complaint, grouped.
pub(crate) fn fail(what: &str, checked: usize, complaints: &[String]) {
    assert!(checked > 0, "{what}: nothing was checked");
    if let Ok(path) = std::env::var("KILTER_FIXTURES_REPORT") {
        let text = format!(
            "{what}: {} of {checked}\n{}\n",
            complaints.len(),
            complaints.join("\n")
        );
        let name = what.replace(' ', "-");
        std::fs::write(Path::new(&path).join(name), text).unwrap();
    }
    assert!(
        complaints.is_empty(),
        "{what}: {} of {checked} fail\n{}",
        complaints.len(),
        complaints
            .iter()
            .take(60)
            .cloned()
            .collect::<Vec<_>>()
            .join("\n")
    );
    println!("{what}: {checked} texts");
}
