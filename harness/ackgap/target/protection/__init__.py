"""The rules that decide whether a request is a repeat: pure functions, one for each axis."""
