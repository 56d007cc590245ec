"""System calls of a worker that stand in the kernel until they are answered, for programs of any kind."""
