"""What to run: from a user's file, or a user's command line, to a Scenario."""
