"""Servers that a scenario needs beside the worker: one module a kind, started once a slot, as new for every cell."""
