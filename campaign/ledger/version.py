"""What marks a file as a ledger, and as one that this program knows."""

VERSION = 15
"""How many migrations a ledger has been through when it is up to date: its `user_version`."""

APPLICATION_ID = 0x43414D50
"""What marks an SQLite file as a ledger (the letters CAMP): its `application_id`."""
