//! Counters for `/metrics`, in Prometheus' text form.
//!
//! Labels are bounded sets: backends, modes, statuses, rules, dialects, axes. No session, no slot.

use std::sync::atomic::AtomicU64;
use std::time::Duration;

use prometheus_client::encoding::EncodeLabelSet;
use prometheus_client::encoding::text::encode;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::metrics::histogram::Histogram;
use prometheus_client::registry::Registry;

/// Labels of a finished request.
#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
pub struct RequestLabels {
    /// Backend, or empty when none was found.
    pub backend: String,
    /// `off`, `observe`, `on`.
    pub adapt: &'static str,
    /// Status sent to the client.
    pub status: u16,
    /// Whether it was streamed.
    pub streaming: &'static str,
}

/// One label.
#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
pub struct Named {
    /// The backend.
    pub backend: String,
    /// The action, dialect, axis or kind of error.
    pub name: String,
}

type Histograms = Family<BackendLabel, Histogram, fn() -> Histogram>;

/// A backend alone.
#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
pub struct BackendLabel {
    /// The backend.
    pub backend: String,
}

/// Everything that is counted.
#[derive(Debug)]
pub struct Metrics {
    registry: Registry,
    /// Finished requests.
    pub requests: Family<RequestLabels, Counter>,
    /// What was done to turns, by action.
    pub interventions: Family<Named, Counter>,
    /// Calls read from text, by dialect.
    pub recovered: Family<Named, Counter>,
    /// Candidates that did not pass, by reason.
    pub rejected: Family<Named, Counter>,
    /// Requests that no backend was asked for, by code.
    pub refused: Family<Named, Counter>,
    /// Failures of upstreams, by kind.
    pub upstream_errors: Family<Named, Counter>,
    /// Moves of profile axes.
    pub profile_moves: Family<Named, Counter>,
    /// Retries before the first byte.
    pub retries: Family<BackendLabel, Counter>,
    /// Requests whose client went away first.
    pub cancelled: Family<BackendLabel, Counter>,
    /// Seconds from request to the first byte of the answer.
    pub ttft: Histograms,
    /// Seconds that text was held back in a turn, where any was.
    pub hold_back: Histograms,
    /// Requests in flight.
    pub in_flight: Gauge,
    /// Sessions in memory.
    pub sessions: Gauge<i64>,
    /// Trace events that the disk refused.
    pub trace_lost: Counter<u64, AtomicU64>,
}

fn latency() -> Histogram {
    Histogram::new([
        0.001, 0.005, 0.02, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0, 180.0, 600.0,
    ])
}

impl Default for Metrics {
    fn default() -> Self {
        let mut m = Self {
            registry: Registry::with_prefix("kilter"),
            requests: Family::default(),
            interventions: Family::default(),
            recovered: Family::default(),
            rejected: Family::default(),
            refused: Family::default(),
            upstream_errors: Family::default(),
            profile_moves: Family::default(),
            retries: Family::default(),
            cancelled: Family::default(),
            ttft: Histograms::new_with_constructor(latency as fn() -> Histogram),
            hold_back: Histograms::new_with_constructor(latency as fn() -> Histogram),
            in_flight: Gauge::default(),
            sessions: Gauge::default(),
            trace_lost: Counter::default(),
        };
        let r = &mut m.registry;
        r.register("requests", "Finished requests", m.requests.clone());
        r.register(
            "interventions",
            "Touches by action",
            m.interventions.clone(),
        );
        r.register(
            "recovered_calls",
            "Calls read from text by dialect",
            m.recovered.clone(),
        );
        r.register(
            "rejected_calls",
            "Candidates refused by reason",
            m.rejected.clone(),
        );
        r.register(
            "refused_requests",
            "Requests that no backend was asked for, by code",
            m.refused.clone(),
        );
        r.register(
            "upstream_errors",
            "Upstream failures by kind",
            m.upstream_errors.clone(),
        );
        r.register(
            "profile_moves",
            "Moves of profile axes",
            m.profile_moves.clone(),
        );
        r.register(
            "retries",
            "Retries before the first byte",
            m.retries.clone(),
        );
        r.register(
            "cancelled",
            "Requests whose client went away",
            m.cancelled.clone(),
        );
        r.register(
            "first_byte_seconds",
            "Request to first byte",
            m.ttft.clone(),
        );
        r.register(
            "hold_back_seconds",
            "Text held back in a turn",
            m.hold_back.clone(),
        );
        r.register("in_flight", "Requests in flight", m.in_flight.clone());
        r.register("sessions", "Sessions in memory", m.sessions.clone());
        r.register(
            "trace_lost",
            "Trace events that the disk refused",
            m.trace_lost.clone(),
        );
        m
    }
}

impl Metrics {
    /// The text form.
    pub fn render(&self) -> String {
        let mut out = String::new();
        if encode(&mut out, &self.registry).is_err() {
            out.clear();
        }
        out
    }

    /// Counts one thing with a name.
    pub fn count(&self, family: &Family<Named, Counter>, backend: &str, name: &str) {
        family
            .get_or_create(&Named {
                backend: backend.to_owned(),
                name: name.to_owned(),
            })
            .inc();
    }

    /// Takes a duration into a histogram.
    pub fn time(&self, family: &Histograms, backend: &str, took: Duration) {
        family
            .get_or_create(&BackendLabel {
                backend: backend.to_owned(),
            })
            .observe(took.as_secs_f64());
    }
}
