"""ackgap: crash-testing for AI agents, judged by what the outside world saw."""

__version__ = "0.1.0"
