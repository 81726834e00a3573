//! Sections of a script: structs whose every field is optional, so that one can be laid over another.

use serde::Deserialize;

/// Declares a section. A missing key is `None` and means "as below"; an unknown key is an error.
macro_rules! section {
    ($(#[$m:meta])* $name:ident { $($(#[$fm:meta])* $f:ident : $t:ty),* $(,)? }) => {
        $(#[$m])*
        #[derive(Debug, Clone, Default, PartialEq, serde::Deserialize)]
        #[serde(deny_unknown_fields)]
        pub struct $name {
            $($(#[$fm])* pub $f: Option<$t>,)*
        }
        impl $name {
            /// Lays `over` on top: a key that it sets wins.
            pub fn overlay(&mut self, over: &Self) {
                $(if over.$f.is_some() { self.$f.clone_from(&over.$f); })*
            }
        }
    };
}

/// Declares a table that carries every section beside fields of its own.
macro_rules! with_sections {
    ($(#[$m:meta])* $name:ident { $($(#[$fm:meta])* $f:ident : $t:ty),* $(,)? }) => {
        $(#[$m])*
        #[derive(Debug, Clone, Default, PartialEq, serde::Deserialize)]
        #[serde(deny_unknown_fields)]
        pub struct $name {
            $($(#[$fm])* pub $f: $t,)*
            /// What is said.
            #[serde(default)]
            pub reply: $crate::behaviour::Reply,
            /// What is thought, and where it stands.
            #[serde(default)]
            pub reasoning: $crate::behaviour::Reasoning,
            /// What is called, and how it is written.
            #[serde(default)]
            pub calls: $crate::behaviour::Calls,
            /// Habits of the stream.
            #[serde(default)]
            pub stream: $crate::habits::Habits,
            /// How usage is reported.
            #[serde(default)]
            pub usage: $crate::habits::UsageHabits,
            /// The served window.
            #[serde(default)]
            pub window: $crate::behaviour::Window,
            /// What the prompt template does with the request.
            #[serde(default)]
            pub template: $crate::behaviour::Template,
            /// Requests that are refused.
            pub refuse: Option<Vec<$crate::refuse::Refusal>>,
            /// Failures.
            pub faults: Option<Vec<$crate::fault::Fault>>,
        }
        impl $name {
            /// The sections alone.
            pub fn sections(&self) -> $crate::behaviour::Behaviour {
                $crate::behaviour::Behaviour {
                    reply: self.reply.clone(),
                    reasoning: self.reasoning.clone(),
                    calls: self.calls.clone(),
                    stream: self.stream.clone(),
                    usage: self.usage.clone(),
                    window: self.window.clone(),
                    template: self.template.clone(),
                    refuse: self.refuse.clone(),
                    faults: self.faults.clone(),
                }
            }
        }
    };
}

pub(crate) use {section, with_sections};

/// One string or several.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(untagged)]
pub enum OneOrMany {
    /// One.
    One(String),
    /// Several.
    Many(Vec<String>),
}

impl OneOrMany {
    /// All of them.
    pub fn iter(&self) -> impl Iterator<Item = &str> {
        match self {
            Self::One(s) => std::slice::from_ref(s),
            Self::Many(v) => v.as_slice(),
        }
        .iter()
        .map(String::as_str)
    }

    /// Whether any of them stands in `text`, whatever the case.
    pub fn any_in(&self, text: &str) -> bool {
        let text = text.to_lowercase();
        self.iter().any(|s| text.contains(&s.to_lowercase()))
    }
}
