//! Scripts: one scripted model per TOML file.

use std::collections::BTreeMap;
use std::fmt;

use serde::Deserialize;
use toml::Table;

use crate::behaviour::{Behaviour, CallChannel, ReasoningChannel};
use crate::dialect;
use crate::overlay::with_sections;
use crate::request::Ask;
use crate::when::When;

with_sections! {
    /// `[[rules]]`: sections that hold only for requests that meet `when`. Later rules win.
    Rule {
        /// The condition.
        #[serde(default)]
        when: When,
    }
}

with_sections! {
    /// `[variants.NAME]`: another model that the same slot may turn into, laid over the base.
    Variant {
        /// What it is, in a line.
        about: Option<String>,
        /// Rules of this variant alone.
        #[serde(default)]
        rules: Vec<Rule>,
    }
}

/// One phase of a slot's life.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Phase {
    /// How many turns it lasts; unset: for good. When every phase has an end, they start over.
    pub turns: Option<u64>,
    /// A variant of this script, another loaded script, or `base`.
    pub r#use: String,
}

/// What the turn number counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CountBy {
    /// Answered turns of one session (`x-kilter-session`, else `prompt_cache_key`,
    /// `metadata.session_id`, `user`, else all unmarked requests together).
    #[default]
    Session,
    /// Answered turns of the slot.
    Global,
}

/// How a router picks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RouteBy {
    /// In turn.
    #[default]
    RoundRobin,
    /// By the last user message: the first of `routes` that matches, else the first of `among`.
    Message,
    /// By chance, drawn by the seed.
    Seeded,
}

/// One route of a router by message.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Route {
    /// The condition.
    #[serde(default)]
    pub when: When,
    /// A variant of this script, another loaded script, or `base`.
    pub r#use: String,
}

/// `[router]`: several models behind one slot.
#[derive(Debug, Clone, PartialEq, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RouterTable {
    /// How it picks.
    #[serde(default)]
    pub by: RouteBy,
    /// Variants of this script, other loaded scripts, or `base`.
    #[serde(default)]
    pub among: Vec<String>,
    /// Routes of a router by message.
    #[serde(default)]
    pub routes: Vec<Route>,
}

with_sections! {
    /// The file as written.
    ScriptFile {
        /// The slot that it answers to.
        name: Option<String>,
        /// What it is, in a line.
        about: Option<String>,
        /// The seed of everything that is made up. Default 1.
        seed: Option<u64>,
        /// Further slots that it answers to.
        #[serde(default)]
        slots: Vec<String>,
        /// What the turn number counts.
        #[serde(default)]
        counted: CountBy,
        /// Rules.
        #[serde(default)]
        rules: Vec<Rule>,
        /// Phases.
        #[serde(default)]
        phases: Vec<Phase>,
        /// Variants.
        #[serde(default)]
        variants: BTreeMap<String, Variant>,
        /// Several models behind the slot.
        router: Option<RouterTable>,
        /// What a probe should find, for tests; the server never reads it.
        expect: Option<Table>,
    }
}

/// A script that was read and checked.
#[derive(Debug, Clone, PartialEq)]
pub struct Script {
    file: ScriptFile,
    name: String,
}

/// A script that cannot be used.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct ScriptError(Box<ScriptFault>);

/// What is wrong with a script, and where.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ScriptFault {
    /// The file, where one is known.
    pub file: Option<String>,
    /// Line, from 1, where one is known.
    pub line: Option<usize>,
    /// Column, from 1, where one is known.
    pub column: Option<usize>,
    /// That line of the file.
    pub excerpt: Option<String>,
    /// What is wrong.
    pub message: String,
    /// What to do next.
    pub hint: String,
}

impl fmt::Display for ScriptFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "script")?;
        if let Some(file) = &self.file {
            write!(f, " `{file}`")?;
        }
        if let Some(line) = self.line {
            write!(f, ", line {line}")?;
            if let Some(column) = self.column {
                write!(f, ", column {column}")?;
            }
        }
        write!(f, ": {}", self.message)?;
        if let (Some(line), Some(excerpt)) = (self.line, &self.excerpt) {
            write!(f, "\n{line:>5} | {excerpt}")?;
            if let Some(column) = self.column {
                let pad = " ".repeat(column.saturating_sub(1));
                write!(f, "\n      | {pad}^")?;
            }
        }
        write!(f, "\nhint: {}", self.hint)
    }
}

impl ScriptError {
    fn plain(message: String, hint: &str) -> Self {
        Self(Box::new(ScriptFault {
            file: None,
            line: None,
            column: None,
            excerpt: None,
            message,
            hint: hint.to_owned(),
        }))
    }

    fn from_toml(text: &str, e: &toml::de::Error) -> Self {
        let mut out = Self::plain(
            e.message().trim().replace('\n', "; "),
            "`docs/mock.md` lists the sections and their keys",
        );
        if let Some(span) = e.span() {
            let before = text.get(..span.start.min(text.len())).unwrap_or(text);
            let start = before.rfind('\n').map_or(0, |i| i + 1);
            out.0.line = Some(before.matches('\n').count() + 1);
            out.0.column = Some(before[start..].chars().count() + 1);
            out.0.excerpt = text[start..].lines().next().map(str::to_owned);
        }
        out
    }

    /// Names the file.
    #[must_use]
    pub fn in_file(mut self, file: impl Into<String>) -> Self {
        self.0.file = Some(file.into());
        self
    }

    /// What is wrong, and where.
    pub fn fault(&self) -> &ScriptFault {
        &self.0
    }
}

impl Script {
    /// Reads a script.
    ///
    /// # Errors
    /// Says the line of a syntax error, of an unknown key or of a value that cannot be; names
    /// variants, dialects and markers that do not exist.
    pub fn from_toml(text: &str) -> Result<Self, ScriptError> {
        let file: ScriptFile =
            toml::from_str(text).map_err(|e| ScriptError::from_toml(text, &e))?;
        let name = file.name.clone().unwrap_or_else(|| "mock".to_owned());
        let script = Self { file, name };
        script.check()?;
        Ok(script)
    }

    /// A healthy model of this name: native calls, no reasoning, no faults.
    pub fn healthy(name: &str) -> Self {
        Self {
            file: ScriptFile::default(),
            name: name.to_owned(),
        }
    }

    /// The slot that it answers to.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Another name for the slot.
    #[must_use]
    pub fn named(mut self, name: &str) -> Self {
        self.name = name.to_owned();
        self
    }

    /// Another seed.
    #[must_use]
    pub fn seeded(mut self, seed: u64) -> Self {
        self.file.seed = Some(seed);
        self
    }

    /// What it is, in a line.
    pub fn about(&self) -> Option<&str> {
        self.file.about.as_deref()
    }

    /// What a probe should find, for tests.
    pub fn expect(&self) -> Option<&Table> {
        self.file.expect.as_ref()
    }

    /// The file as read.
    pub fn file(&self) -> &ScriptFile {
        &self.file
    }

    /// The seed of everything that is made up.
    pub fn seed(&self) -> u64 {
        self.file.seed.unwrap_or(1)
    }

    /// Whether it answers to the slot.
    pub fn answers_to(&self, slot: &str) -> bool {
        self.name == slot || self.file.slots.iter().any(|s| s == slot)
    }

    /// Names that `phases` and `router` refer to and that are neither `base` nor a variant: other
    /// scripts that must be loaded beside this one.
    pub fn outside_names(&self) -> impl Iterator<Item = &str> {
        let phases = self.file.phases.iter().map(|p| p.r#use.as_str());
        let router = self.file.router.iter().flat_map(|r| {
            r.among
                .iter()
                .map(String::as_str)
                .chain(r.routes.iter().map(|x| x.r#use.as_str()))
        });
        phases
            .chain(router)
            .filter(|n| *n != "base" && !self.file.variants.contains_key(*n))
    }

    /// Which model the slot is for this request: a name of [`Script::outside_names`], a variant, or `base`.
    pub fn select(&self, ask: &Ask) -> &str {
        if let Some(router) = &self.file.router {
            let among = &router.among;
            let nth = |n: usize| among.get(n % among.len().max(1)).map_or("base", |s| s);
            return match router.by {
                RouteBy::RoundRobin => nth(ask.turn.saturating_sub(1) as usize),
                RouteBy::Message => router
                    .routes
                    .iter()
                    .find(|r| r.when.holds(ask))
                    .map_or_else(|| nth(0), |r| r.r#use.as_str()),
                RouteBy::Seeded => nth((ask.draw("router") * among.len() as f64) as usize),
            };
        }
        let whole: Option<u64> = self.file.phases.iter().map(|p| p.turns).sum();
        let mut left = match whole {
            Some(n) if n > 0 => (ask.turn.saturating_sub(1)) % n,
            _ => ask.turn.saturating_sub(1),
        };
        for p in &self.file.phases {
            match p.turns {
                Some(n) if left >= n => left -= n,
                _ => return &p.r#use,
            }
        }
        "base"
    }

    /// What the model does for this request as `variant` (`base` or a variant's name).
    pub fn behaviour(&self, ask: &Ask, variant: &str) -> Behaviour {
        let mut b = self.file.sections();
        for r in self.file.rules.iter().filter(|r| r.when.holds(ask)) {
            b.overlay(&r.sections());
        }
        if let Some(v) = self.file.variants.get(variant) {
            b.overlay(&v.sections());
            for r in v.rules.iter().filter(|r| r.when.holds(ask)) {
                b.overlay(&r.sections());
            }
        }
        b
    }

    /// Every set of sections in the file, for checks.
    fn every_behaviour(&self) -> Vec<Behaviour> {
        let f = &self.file;
        let mut all = vec![f.sections()];
        all.extend(f.rules.iter().map(Rule::sections));
        for v in f.variants.values() {
            all.push(v.sections());
            all.extend(v.rules.iter().map(Rule::sections));
        }
        all
    }

    fn check(&self) -> Result<(), ScriptError> {
        if self.file.router.is_some() && !self.file.phases.is_empty() {
            return Err(ScriptError::plain(
                "`router` and `phases` are both given".to_owned(),
                "keep one: phases are for a swap after N turns, a router picks at each turn",
            ));
        }
        if let Some(r) = &self.file.router
            && r.among.is_empty()
            && r.routes.is_empty()
        {
            return Err(ScriptError::plain(
                "`router` names no model".to_owned(),
                "list variants under `among`",
            ));
        }
        for b in self.every_behaviour() {
            if let Some(d) = &b.calls.dialect
                && dialect::find(d).is_none()
            {
                return Err(ScriptError::plain(
                    format!("`calls.dialect` names no dialect: `{d}`"),
                    &format!("known: {}", dialect::names().join(", ")),
                ));
            }
            if let Some(m) = &b.reasoning.markers
                && dialect::markers(m).is_none()
            {
                return Err(ScriptError::plain(
                    format!("`reasoning.markers` names no pair: `{m}`"),
                    "give `open` and `close` as written instead",
                ));
            }
            if b.calls.channel == Some(CallChannel::Content)
                && b.calls.dialect.is_none()
                && self.file.calls.dialect.is_none()
            {
                return Err(ScriptError::plain(
                    "`calls.channel = \"content\"` without `calls.dialect`".to_owned(),
                    &format!("add one of: {}", dialect::names().join(", ")),
                ));
            }
            if b.reasoning.field.is_some()
                && self.file.reasoning.channel == Some(ReasoningChannel::Inline)
                && b.reasoning.channel.is_none()
            {
                return Err(ScriptError::plain(
                    "`reasoning.field` is given but `reasoning.channel` is `inline`".to_owned(),
                    "say `channel = \"field\"` beside it",
                ));
            }
        }
        Ok(())
    }
}
