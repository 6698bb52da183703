"""Walks a plan: transitions, measures, and always the way back."""
