"""What the durable store says at a boundary, without what is another one in each run."""
