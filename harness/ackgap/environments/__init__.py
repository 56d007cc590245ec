"""The virtual environments of a scenario: made from its requirements before a cell needs them, and kept for later."""
