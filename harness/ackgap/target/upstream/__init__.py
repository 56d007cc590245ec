"""In front of a real service: requests go on to it, and its answers can be recorded and replayed."""
