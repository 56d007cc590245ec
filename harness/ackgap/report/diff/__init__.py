"""Two runs compared: what became red, what became green, and what only one of them has."""
