//! The members of an answer's body that rules look at, found in one walk.

use super::UsageView;
use crate::json;
use crate::raw::RawObject;

/// Raw values; the last member of a name counts, as in every common parser.
#[derive(Debug, Default)]
pub(super) struct Top<'a> {
    pub(super) choices: Option<&'a str>,
    pub(super) error: Option<&'a str>,
    usage: Option<&'a str>,
    /// Members named `x_…`: some servers put their counts into one of them.
    extensions: Vec<&'a str>,
}

#[derive(Clone, Copy)]
enum Field {
    Choices,
    Error,
    Usage,
    Extension,
}

fn field(key: &str) -> Option<Field> {
    Some(match key {
        "choices" => Field::Choices,
        "error" => Field::Error,
        "usage" => Field::Usage,
        k if k.starts_with("x_") => Field::Extension,
        _ => return None,
    })
}

impl<'a> Top<'a> {
    pub(super) fn of(body: &'a RawObject) -> Self {
        let mut top = Self::default();
        for (key, value) in body.members() {
            match json::key_as(key, field) {
                Some(Field::Choices) => top.choices = Some(value),
                Some(Field::Error) => top.error = Some(value),
                Some(Field::Usage) => top.usage = Some(value),
                Some(Field::Extension) => top.extensions.push(value),
                None => {}
            }
        }
        top
    }

    /// Token counts: the `usage` member, else one inside an extension.
    pub(super) fn usage(&self) -> Option<UsageView> {
        self.usage.and_then(UsageView::read).or_else(|| {
            self.extensions
                .iter()
                .find_map(|v| UsageView::read(json::member(v, "usage")?))
        })
    }
}
