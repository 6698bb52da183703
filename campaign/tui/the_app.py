"""How screens and widgets reach the app without importing it."""

from typing import TYPE_CHECKING, cast

from textual.dom import DOMNode

if TYPE_CHECKING:
    from campaign.tui.app import CampaignApp


def app_of(node: DOMNode) -> "CampaignApp":
    """The app that `node` is part of."""
    return cast("CampaignApp", node.app)
