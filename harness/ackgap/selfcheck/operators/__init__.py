"""Operators: each breaks an agent in one way that was published. Pure: from a source to its changes."""
