"""A journal for one: GET /ticket says what is written there, PUT /ticket writes it."""

import http.server
import os

FILE = "/data/ticket"


class Journal(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_GET(self):
        if not os.path.exists(FILE):
            self.answer(b"")
            return
        with open(FILE, "rb") as file:
            self.answer(file.read())

    def do_PUT(self):
        with open(FILE + ".new", "wb") as new:
            new.write(self.rfile.read(int(self.headers["Content-Length"])))
        os.replace(FILE + ".new", FILE)
        self.answer(b"")

    def answer(self, body):
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)


http.server.ThreadingHTTPServer(("", 8080), Journal).serve_forever()
