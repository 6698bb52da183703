"""Sessions over HTTP: many conversations with an OpenAI-compatible endpoint at once, classified.

A child program drives them (`python -m playbooks.sessions`), one JSON line a session on its
output; see docs/sessions.md.
"""
