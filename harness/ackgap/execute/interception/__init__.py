"""Calls to hosts that a worker was not told the address of: led to the targets that stand for them."""
