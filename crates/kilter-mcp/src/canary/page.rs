//! The page that holds a sentinel: in a meta tag, in a hidden element and in visible text, since readers drop the first
//! two.

/// Headers of the page: nothing may keep it, index it or pass it on.
pub const HEADERS: [(&str, &str); 6] = [
    ("content-type", "text/html; charset=utf-8"),
    ("cache-control", "no-store, no-cache, max-age=0"),
    ("pragma", "no-cache"),
    ("x-content-type-options", "nosniff"),
    ("referrer-policy", "no-referrer"),
    ("x-robots-tag", "noindex, nofollow"),
];

/// The page.
pub(crate) fn html(sentinel: &str) -> String {
    format!(
        "<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"><title>Proof of reading</title>\
         <meta name=\"robots\" content=\"noindex\"><meta name=\"kilter-canary\" content=\"{sentinel}\"></head>\n\
         <body><main><article><h1>Proof of reading</h1>\n\
         <p>This page was made for one request. It holds a value that did not exist before, so that whoever reports it \
         has read the page and has not guessed.</p>\n\
         <p>The value is <code>{sentinel}</code></p>\n\
         <p>Report it word for word, with every letter as it stands here.</p>\n\
         <span hidden>{sentinel}</span></article></main></body></html>\n"
    )
}
