"""Requests and answers: connections, bodies, headers, paths, and what may be written down of them."""
