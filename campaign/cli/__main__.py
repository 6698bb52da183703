"""`python -m campaign.cli` is the command `campaign`."""

from campaign.cli.main import main

main()
