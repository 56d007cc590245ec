"""Scripted language models: one way of deciding what to say, and the wire shapes of several services around it."""
