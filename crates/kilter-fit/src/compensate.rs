//! Compensations of typed refusals, by the gateway's own rules.

use kilter_behavior::profile::BehaviorProfile;
use kilter_gateway::compensation::{Change, IdMap, RuleKey, Rules, Thoughts, change_request};
use kilter_wire::ApiError;
use kilter_wire::chat::ChatRequest;

/// The rules, and what they need to know of this conversation.
#[derive(Debug)]
pub(crate) struct Compensator {
    rules: Rules,
    thoughts: Thoughts,
    ids: IdMap,
}

impl Compensator {
    /// The shipped rules.
    pub(crate) fn new() -> Self {
        let none: [&std::path::Path; 0] = [];
        Self {
            // The shipped files are part of the program; a broken one fails the gateway's tests.
            rules: Rules::load(&none, &[]).unwrap_or_default(),
            thoughts: Thoughts::default(),
            ids: IdMap::default(),
        }
    }

    /// Keeps what was thought before a call, for endpoints that want it back.
    pub(crate) fn remember(&mut self, call_id: &str, reasoning: &str) {
        self.thoughts.keep([call_id], "", reasoning);
    }

    /// Applies what was learnt before the request is sent; the keys of the rules that changed it.
    pub(crate) fn apply_learnt(
        &mut self,
        profile: &BehaviorProfile,
        request: &mut ChatRequest,
    ) -> Vec<String> {
        let learnt: Vec<String> = profile
            .constraints()
            .iter()
            .map(|(rule, _)| rule.to_owned())
            .collect();
        learnt
            .into_iter()
            .filter(|key| self.apply(key, request))
            .collect()
    }

    /// Changes a refused request by the first rule that matches and was not tried; its key.
    pub(crate) fn change(
        &mut self,
        refusal: &ApiError,
        request: &mut ChatRequest,
        tried: &[String],
    ) -> Option<String> {
        let mut tried: Vec<RuleKey> = tried.iter().cloned().map(RuleKey).collect();
        loop {
            let (_, key) = self.rules.find(refusal, request, &tried)?;
            if self.apply(&key.0, request) {
                return Some(key.0);
            }
            tried.push(key);
        }
    }

    fn apply(&mut self, key: &str, request: &mut ChatRequest) -> bool {
        let Some((rule, field)) = self.rules.by_key(key) else {
            return false;
        };
        let change = change_request(rule, field, request, &self.thoughts, &mut self.ids);
        change == Change::Changed
    }
}
