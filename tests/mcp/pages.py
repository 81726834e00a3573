"""A site on loopback for clients to read: numbered articles, a page that is gone, links to them."""

import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

ARTICLE = """<!doctype html><html lang=en><head><title>Article {n}</title></head><body><nav><a href=/>home</a></nav>
<main><article><h1>Article {n}</h1><p>The harbour of town number {n} was built of granite blocks that were carried over
the hills by oxen, and it took the builders fourteen years to finish the outer wall.</p><h2>Opening hours</h2><p>The
lighthouse of the harbour is open from nine to five on working days, and from ten to four on Sundays, except when the
wind is stronger than force eight.</p><p>Further: <a href=/article/{m}>the next article</a>.</p></article></main></body>
</html>"""


class Page(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_GET(self):
        status, body = 200, ""
        if self.path.startswith("/article/"):
            n = int(self.path.rsplit("/", 1)[1])
            body = ARTICLE.format(n=n, m=n + 1)
        elif self.path == "/":
            body = "<title>Harbours</title><main>" + "".join(
                f"<p><a href=/article/{n}>Article {n} on harbours</a></p>" for n in range(1, 9)
            )
        else:
            status, body = 410, "<title>Gone</title><p>This page is gone.</p>"
        data = body.encode()
        self.send_response(status)
        self.send_header("Content-Type", "text/html; charset=utf-8")
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, *_):
        pass


class Site:
    """An open site: `url("/article/1")`."""

    def __init__(self):
        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Page)
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def url(self, path):
        return f"http://127.0.0.1:{self.server.server_port}{path}"

    def end(self):
        self.server.shutdown()
