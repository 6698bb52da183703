"""services: what runs is listed and can be stopped, whatever campaign.yaml says by now."""

import json

from toy import Toy


def test_one_that_campaign_yaml_names_no_more(toy: Toy) -> None:
    """It runs on when it is renamed there, or taken out; it still holds the port."""
    assert toy.run("services", "start").stdout == "started app\n"
    config = toy.root / "campaign.yaml"
    config.write_text(config.read_text("utf-8").replace("  app:\n", "  web:\n"), "utf-8")
    listed = json.loads(toy.run("services", "list", "--json").stdout)
    said = [(one["name"], one["running"], one["declared"]) for one in listed]
    assert said == [("web", False, True), ("app", True, False)]
    assert "running, not in campaign.yaml" in toy.run("services", "list").stdout
    wrong = toy.run("services", "stop", "app", "nobody")
    assert (wrong.returncode, "no service 'nobody'" in wrong.stderr) == (2, True)
    assert toy.run("services", "stop", "app").stdout == "stopped app\n"
    assert len(json.loads(toy.run("services", "list", "--json").stdout)) == 1
    assert toy.run("services", "stop").stdout == "nothing to do\n"
