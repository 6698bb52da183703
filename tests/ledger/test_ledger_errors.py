"""The exception that a person gets to read."""

import pickle

from campaign.errors import CampaignError, Exit


def test_an_error_is_one_line_with_what_to_do() -> None:
    error = CampaignError(Exit.REFUSED, "the budget is spent", "raise it in campaign.yaml")
    assert str(error) == "the budget is spent; raise it in campaign.yaml"
    assert str(CampaignError(Exit.USAGE, "no run matches 'x'")) == "no run matches 'x'"


def test_an_error_survives_the_way_between_processes() -> None:
    error = pickle.loads(pickle.dumps(CampaignError(Exit.DIRTY, "a", "b")))
    assert (error.exit, error.what, error.fix) == (Exit.DIRTY, "a", "b")
