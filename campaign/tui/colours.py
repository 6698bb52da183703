"""Colours by what they mean; none where NO_COLOR asks for none."""

from textual.app import App
from textual.theme import Theme

from campaign.tui.themes import PLAIN

STANDINGS = {
    "confirmed": "success",
    "supported": "success",
    "leading": "warning",
    "refuted": "quiet",
    "abandoned": "quiet",
}
"""The colour of a standing; an open one has none."""

VERDICTS = {"supported": "success", "refuted": "quiet", "invalid": "error"}
"""The colour of a verdict's word; an inconclusive one has none."""


def colour(app: App[int], meaning: str) -> str:
    """A style of rich for "success", "warning", "error", "primary", "quiet"; empty for none."""
    theme: Theme = app.current_theme
    if not meaning:
        return ""
    if theme.name == PLAIN.name:
        return {"primary": "bold", "error": "bold", "quiet": "dim"}.get(meaning, "")
    if meaning == "quiet":
        return theme.variables.get("quiet", "dim")
    return str(getattr(theme, meaning) or "")
