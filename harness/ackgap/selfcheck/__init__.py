"""Checks ackgap itself: shipped agents that are right must come out green, and what breaks them must come out red."""
