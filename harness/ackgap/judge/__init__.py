"""Pure functions from a history to findings; nothing else decides right or wrong."""
