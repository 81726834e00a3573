//! Why a page could not be read: one typed shape for every tool and command.

use serde::{Deserialize, Serialize};

/// What went wrong, as a stable word. The wire form is [`FailureCode::as_str`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum FailureCode {
    /// No answer within the limit.
    Timeout,
    /// The connection broke or was refused.
    NetworkError,
    /// The name has no address.
    DnsError,
    /// The certificate or the handshake was refused.
    TlsError,
    /// The server answered with this status.
    Http(u16),
    /// More redirects than the limit, or a circle.
    RedirectLoop,
    /// The address policy forbids the host, in whatever notation.
    PrivateUrlBlocked,
    /// `robots.txt` forbids the path.
    RobotsDisallowed,
    /// The body is over the size limit, packed or unpacked.
    ResponseTooLarge,
    /// The body ended before its stated length.
    ResponseTruncated,
    /// Nothing here can read that format.
    UnsupportedContentType,
    /// The page holds no body worth the name.
    ThinExtract,
    /// The reader gave up on the page.
    ExtractionFailed,
    /// None of the wanted sections exists.
    ContentSelectorsMiss,
    /// A check for humans stands before the page.
    CaptchaOrChallenge,
    /// A sign-in stands before the page.
    RequiresLogin,
    /// A payment stands before the page.
    Paywall,
    /// A page that says "not found" with status 200.
    SoftNotFound,
    /// The read needs a browser and there is none.
    BrowserRequired,
    /// An argument is not what the tool takes.
    InvalidArguments,
    /// Not an absolute http or https URL.
    InvalidUrl,
    /// The session profile does not exist.
    SessionProfileNotFound,
    /// The session profile is malformed.
    InvalidSessionProfile,
    /// No playbook fits the host.
    PlaybookNotFound,
    /// The playbook is malformed.
    PlaybookSchemaInvalid,
    /// The playbook was refused at the save gate.
    PlaybookSaveRejected,
    /// The playbook's dry run failed.
    PlaybookVerifyFailed,
    /// The playbook's dry run kept too little of the page.
    PlaybookVerifyLowScore,
    /// The playbook's dry run kept too much that is not the page.
    PlaybookVerifyHighNoise,
    /// A playbook does not mend this failure.
    HealNotApplicable,
    /// The failure's word is none.
    InvalidFailureReason,
    /// The playbook has no fields to extract.
    KnowledgeSchemaMissing,
    /// The playbook has fields, but none for this page.
    PageClassUnmatched,
    /// None of the fields is on the page.
    KnowledgeSchemaEmpty,
    /// Not one page of the digest could be read.
    DigestFailed,
    /// There are no URLs to read.
    InvalidUrls,
    /// No search provider is configured.
    SearchUnconfigured,
    /// The search provider failed.
    SearchError,
    /// The text is no receipt.
    InvalidReceipt,
}

impl FailureCode {
    /// The word on the wire: `timeout`, `http_404`, …
    pub fn as_str(self) -> std::borrow::Cow<'static, str> {
        use FailureCode as C;
        match self {
            C::Http(status) => return format!("http_{status}").into(),
            C::Timeout => "timeout",
            C::NetworkError => "network_error",
            C::DnsError => "dns_error",
            C::TlsError => "tls_error",
            C::RedirectLoop => "redirect_loop",
            C::PrivateUrlBlocked => "private_url_blocked",
            C::RobotsDisallowed => "robots_disallowed",
            C::ResponseTooLarge => "response_too_large",
            C::ResponseTruncated => "response_truncated",
            C::UnsupportedContentType => "unsupported_content_type",
            C::ThinExtract => "thin_extract",
            C::ExtractionFailed => "extraction_failed",
            C::ContentSelectorsMiss => "content_selectors_miss",
            C::CaptchaOrChallenge => "captcha_or_challenge",
            C::RequiresLogin => "requires_login",
            C::Paywall => "paywall",
            C::SoftNotFound => "soft_404",
            C::BrowserRequired => "browser_required",
            C::InvalidArguments => "invalid_arguments",
            C::InvalidUrl => "invalid_url",
            C::SessionProfileNotFound => "session_profile_not_found",
            C::InvalidSessionProfile => "invalid_session_profile",
            C::PlaybookNotFound => "playbook_not_found",
            C::PlaybookSchemaInvalid => "playbook_schema_invalid",
            C::PlaybookSaveRejected => "playbook_save_rejected",
            C::PlaybookVerifyFailed => "playbook_verify_failed",
            C::PlaybookVerifyLowScore => "playbook_verify_low_score",
            C::PlaybookVerifyHighNoise => "playbook_verify_high_noise",
            C::HealNotApplicable => "heal_not_applicable",
            C::InvalidFailureReason => "invalid_failure_reason",
            C::KnowledgeSchemaMissing => "knowledge_schema_missing",
            C::PageClassUnmatched => "page_class_unmatched",
            C::KnowledgeSchemaEmpty => "knowledge_schema_empty",
            C::DigestFailed => "digest_failed",
            C::InvalidUrls => "invalid_urls",
            C::SearchUnconfigured => "search_unconfigured",
            C::SearchError => "search_error",
            C::InvalidReceipt => "invalid_receipt",
        }
        .into()
    }

    /// Whether the same call may do better later.
    pub fn retryable(self) -> bool {
        match self {
            Self::Timeout | Self::NetworkError | Self::DnsError | Self::ResponseTruncated => true,
            Self::Http(status) => status == 429 || status >= 500,
            _ => false,
        }
    }
}

impl Serialize for FailureCode {
    fn serialize<S: serde::Serializer>(&self, s: S) -> Result<S::Ok, S::Error> {
        s.serialize_str(&self.as_str())
    }
}

/// A command that would mend the failure.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Fix {
    /// What kind of remedy: `install_browser`, `configure`, …
    pub kind: String,
    /// The command to run.
    pub command: String,
    /// Whether it needs root.
    pub root_required: bool,
}

/// What the caller may do next.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Decision {
    /// `stop`, `try_browser`, `retry_transcode`, `configure_session_profile`, `inform_user`, …
    pub action: String,
    /// Why, in a sentence.
    pub reason: String,
}

/// A page that could not be read. Its content is unknown.
#[derive(Debug, Clone, PartialEq, thiserror::Error, Serialize)]
#[serde(rename_all = "camelCase")]
#[error("{message}")]
pub struct Failure {
    /// The stable word.
    pub code: FailureCode,
    /// What happened and what to do next, for a person.
    pub message: String,
    /// Status of the last answer, where there was one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub status_code: Option<u16>,
    /// Whether the same call may do better later.
    pub retryable: bool,
    /// A command that would mend it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub fix: Option<Fix>,
    /// What the caller may do next.
    #[serde(skip)]
    pub decisions: Vec<Decision>,
}

impl Failure {
    /// A failure of the given kind; `retryable` follows from the code.
    pub fn new(code: FailureCode, message: impl Into<String>) -> Self {
        Self {
            code,
            message: message.into(),
            status_code: match code {
                FailureCode::Http(status) => Some(status),
                _ => None,
            },
            retryable: code.retryable(),
            fix: None,
            decisions: Vec::new(),
        }
    }

    /// Adds what the caller may do next.
    #[must_use]
    pub fn then(mut self, action: &str, reason: impl Into<String>) -> Self {
        self.decisions.push(Decision {
            action: action.to_owned(),
            reason: reason.into(),
        });
        self
    }
}
