//! A server of documents for the commands that read pages: raw sockets on loopback that say exactly what a test wants.

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::Arc;

/// A running server; it ends with the test.
pub(crate) struct Pages {
    port: u16,
}

impl Pages {
    /// Serves what `answer` writes for a path.
    pub(crate) fn serve(answer: impl Fn(&str, &mut TcpStream) + Send + Sync + 'static) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        let answer = Arc::new(answer);
        std::thread::spawn(move || {
            for stream in listener.incoming() {
                let Ok(mut stream) = stream else { return };
                let answer = answer.clone();
                std::thread::spawn(move || {
                    let mut request = Vec::new();
                    let mut part = [0; 4096];
                    while !request.windows(4).any(|w| w == b"\r\n\r\n") {
                        match stream.read(&mut part) {
                            Ok(n) if n > 0 => request.extend_from_slice(&part[..n]),
                            _ => return,
                        }
                    }
                    let text = String::from_utf8_lossy(&request).into_owned();
                    let path = text.split(' ').nth(1).unwrap_or("/").to_owned();
                    answer(&path, &mut stream);
                });
            }
        });
        Self { port }
    }

    pub(crate) fn url(&self, path: &str) -> String {
        format!("http://127.0.0.1:{}{path}", self.port)
    }
}

/// Writes a whole answer; `headers` end in a line break each.
pub(crate) fn send(stream: &mut TcpStream, status: &str, headers: &str, body: &[u8]) {
    let head = format!(
        "HTTP/1.1 {status}\r\n{headers}Content-Length: {}\r\nConnection: close\r\n\r\n",
        body.len()
    );
    let _ = stream.write_all(head.as_bytes());
    let _ = stream.write_all(body);
}

/// Writes a page.
pub(crate) fn html(stream: &mut TcpStream, body: &[u8]) {
    send(stream, "200 OK", "Content-Type: text/html\r\n", body);
}
