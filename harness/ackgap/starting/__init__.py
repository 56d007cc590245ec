"""Getting started: what a project shows without being run, a first scenario made from it, and what a machine has."""
