"""The only room that starts and kills processes: one cell in, its history out."""
