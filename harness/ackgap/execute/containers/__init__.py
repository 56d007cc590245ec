"""Workers in containers: the engine, a private network for each slot, a life, and what a dead run has left."""
