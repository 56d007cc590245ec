"""Engines that can be asked about the work, one module a kind; thin, and never needed."""
