"""Belief: what the counts allow one to say. Pure functions, frozen records, no I/O."""
