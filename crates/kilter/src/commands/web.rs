//! What the commands that read pages share: the reader as the operator allows it, and how its failures end a command.

use std::path::Path;
use std::sync::Arc;

use kilter_core::{Exit, SystemClock};
use kilter_web::format::pdf::PdfChild;
use kilter_web::format::sniff;
use kilter_web::reading::{Bytes, Operator, Reader};
use kilter_web::receipt::KeyStore;
use kilter_web::{Failure as Unread, FailureCode};
use url::Url;

use crate::failure::Failure;

/// A reader with the operator's settings.
pub(crate) fn reader(operator: &Operator, keys: Option<KeyStore>) -> Result<Reader, Unread> {
    let pdf = std::env::current_exe()
        .ok()
        .map(|me| PdfChild::new(me, vec!["__pdf".into()]));
    let opener = operator.opener(pdf, [])?;
    Ok(Reader::new(opener, keys, Arc::new(SystemClock::default())))
}

/// The operator's settings.
pub(crate) fn operator() -> Result<Operator, Unread> {
    Operator::from_env(|name| std::env::var(name).ok())
}

/// Whether an argument is a URL and no file.
pub(crate) fn is_url(target: &str) -> bool {
    target.contains("://")
}

/// A file as a page. Standard input (`-`) and `as_html` are HTML as it was served.
pub(crate) fn file(
    path: Option<&Path>,
    bytes: Vec<u8>,
    as_html: bool,
    base_url: Option<&str>,
) -> Result<Bytes, Unread> {
    let name = match path {
        Some(path) => path.file_name().unwrap_or_default().to_string_lossy(),
        None => "standard input".into(),
    };
    let base = match base_url {
        Some(url) => Some(Url::parse(url).map_err(|e| {
            Unread::new(
                FailureCode::InvalidUrl,
                format!(
                    "`{url}` is no absolute URL: {e}\nhint: give the whole address of the page"
                ),
            )
        })?),
        None => None,
    };
    let format = if as_html || path.is_none() {
        Some(sniff::of_file("page.html", &bytes)?)
    } else {
        None
    };
    Ok(Bytes {
        name: name.into_owned(),
        bytes,
        format,
        base,
    })
}

/// How a command ends on a page that could not be read.
pub(crate) fn exit(code: FailureCode) -> Exit {
    use FailureCode as C;
    match code {
        C::InvalidArguments | C::InvalidUrl | C::InvalidSessionProfile => Exit::Usage,
        C::Timeout
        | C::NetworkError
        | C::DnsError
        | C::TlsError
        | C::ResponseTruncated
        | C::BrowserRequired => Exit::Unavailable,
        _ => Exit::Negative,
    }
}

/// A failure in the words of the command line.
pub(crate) fn said(failure: &Unread) -> Failure {
    Failure::worded(exit(failure.code), &failure.message)
}
