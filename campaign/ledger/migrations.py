"""The ledger's way from one version to the next, each step a file of SQL that never changes."""

from importlib.resources import files
from sqlite3 import complete_statement

from sqlite_utils import Database, Migrations

from campaign.ledger.version import APPLICATION_ID, VERSION

MIGRATIONS = Migrations("campaign")


@MIGRATIONS()
def tables(db: Database) -> None:
    """All tables and their indexes."""
    _execute(db, "001_tables.sql")


@MIGRATIONS()
def views(db: Database) -> None:
    """The views for people."""
    _execute(db, "002_views.sql")


@MIGRATIONS()
def removals(db: Database) -> None:
    """Which suspected causes a boot removes."""
    _execute(db, "003_removals.sql")


@MIGRATIONS()
def terms(db: Database) -> None:
    """What is fixed about a run before it begins."""
    _execute(db, "004_terms.sql")


@MIGRATIONS()
def exposure(db: Database) -> None:
    """How observations ended early, and what their trials ran."""
    _execute(db, "005_exposure.sql")


@MIGRATIONS()
def requests(db: Database) -> None:
    """What is asked of runs while they go on, and how many trials an observation plans."""
    _execute(db, "006_requests.sql")


@MIGRATIONS()
def boots(db: Database) -> None:
    """Each boot with its trials and costs."""
    _execute(db, "007_boots.sql")


@MIGRATIONS()
def counts(db: Database) -> None:
    """The trials of each observation, counted."""
    _execute(db, "008_counts.sql")


@MIGRATIONS()
def confirmations(db: Database) -> None:
    """Plans that an operator has confirmed for a time."""
    _execute(db, "009_confirmations.sql")


@MIGRATIONS()
def attributes(db: Database) -> None:
    """What is known of trials besides their outcome."""
    _execute(db, "010_attributes.sql")


@MIGRATIONS()
def contexts(db: Database) -> None:
    """What stands around the lines of keys that did not simply match."""
    _execute(db, "011_contexts.sql")


@MIGRATIONS()
def latency(db: Database) -> None:
    """How long the rounds of sessions took."""
    _execute(db, "012_latency.sql")


@MIGRATIONS()
def capacity(db: Database) -> None:
    """What restarts took of services that have replicas."""
    _execute(db, "013_capacity.sql")


@MIGRATIONS()
def kept(db: Database) -> None:
    """Runs whose changes stay on the hosts."""
    _execute(db, "014_kept.sql")


@MIGRATIONS()
def spent(db: Database) -> None:
    """Hypotheses that cost something are all told of."""
    _execute(db, "015_spent.sql")


def bring_up_to_date(database: Database) -> None:
    """Applies what is pending, all or nothing, and marks the file as a ledger of this version."""
    bring_up_to(database, VERSION)


def bring_up_to(database: Database, version: int) -> None:
    """As `bring_up_to_date`, but to a `version` up to this program's own."""
    database.execute("BEGIN IMMEDIATE")
    try:
        pending = MIGRATIONS.pending(database)
        later = pending[version - (VERSION - len(pending)) :]
        MIGRATIONS.apply(database, stop_before=[one.name for one in later])
        database.execute(f"PRAGMA application_id = {APPLICATION_ID}")
        database.execute(f"PRAGMA user_version = {version}")
        database.commit()
    finally:
        database.rollback()


def _execute(database: Database, name: str) -> None:
    """Runs a file of statements; the library's own way to split one looks at every character."""
    statement = ""
    for line in files("campaign.ledger").joinpath(name).read_text(encoding="utf-8").splitlines():
        statement += line + "\n"
        if complete_statement(statement):
            database.execute(statement)
            statement = ""
