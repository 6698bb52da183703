"""The dialogs: each asks for one thing and returns it."""
