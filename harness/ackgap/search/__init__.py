"""Search beyond the bounds: schedules drawn by Hypothesis, the first red one shrunk, and what of it does not matter."""
