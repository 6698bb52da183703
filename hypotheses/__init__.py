"""Belief: what the counts allow one to say. Pure functions, frozen dataclasses, no I/O."""
