"""What runs inside the user's process: standard library only, nothing else of ackgap."""
