"""Cells as tests: what the pytest plugin does, which itself only knows when."""
