"""All cells of a run: which there are, on how many slots they run, and what each of them proved."""
