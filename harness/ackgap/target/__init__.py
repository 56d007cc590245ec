"""Instrumented fakes of outside services: what they do, how they treat repeats, and what they counted."""
