"""Targets alone, without a run: for whoever writes an agent and wants to see what the outside world counts."""
