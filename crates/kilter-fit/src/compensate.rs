//! Compensations of typed refusals, by the gateway's rules.

use kilter_behavior::profile::BehaviorProfile;
use kilter_wire::ApiError;
use kilter_wire::chat::ChatRequest;

/// The rules.
#[derive(Debug)]
pub(crate) struct Compensator {}

impl Compensator {
    /// The shipped rules.
    pub(crate) fn new() -> Self {
        Self {}
    }

    /// Applies what was learnt before the request is sent; the names of the rules that changed it.
    pub(crate) fn apply_learnt(
        &self,
        _profile: &BehaviorProfile,
        _request: &mut ChatRequest,
    ) -> Vec<String> {
        Vec::new()
    }

    /// Changes a refused request by the first rule that matches and was not tried; its name.
    pub(crate) fn change(
        &self,
        _error: &ApiError,
        _request: &mut ChatRequest,
        _tried: &[String],
    ) -> Option<String> {
        None
    }
}
