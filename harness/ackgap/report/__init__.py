"""Results in, text out: the files of a run, the terminal, the page, JUnit. No judging, no running."""
