"""The schema, its document and the records say the same."""

import re
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest
from ledger_builders import make_run, observe

from campaign.ledger import records
from campaign.ledger.recorder import Recorder
from campaign.ledger.records import CampaignRecord
from campaign.ledger.schema_doc import VIEWS, View, document
from campaign.ledger.tables import CAMPAIGN, HYPOTHESIS, RUN_HYPOTHESIS, TABLES, Table
from hypotheses.hypothesis import Hypothesis

_DOCUMENT = Path(__file__).parents[2] / "docs" / "ledger.md"
_RECORDS = {CAMPAIGN: CampaignRecord, HYPOTHESIS: Hypothesis} | {
    table: record for record, table in TABLES.items()
}
_ALL = [*_RECORDS, RUN_HYPOTHESIS]


@pytest.fixture
def connection(recorder: Recorder) -> Iterator[sqlite3.Connection]:
    with closing(sqlite3.connect(recorder.path)) as opened:
        yield opened


def _columns(connection: sqlite3.Connection, table: str) -> list[str]:
    return [row[1] for row in connection.execute(f"PRAGMA table_info({table})")]


def test_the_document_is_up_to_date() -> None:
    command = "python -m campaign.ledger.schema_doc > docs/ledger.md"
    assert _DOCUMENT.read_text(encoding="utf-8") == document(), f"out of date: run `{command}`"


@pytest.mark.parametrize("view", VIEWS, ids=lambda view: view.name)
def test_every_example_query_runs(view: View, recorder: Recorder) -> None:
    soak = observe(recorder, make_run(), ["fail", "pass"])
    recorder.add(records.ObservationTerms(soak.id, unit="seconds"))
    recorder.add(records.TrialExposure(soak.id, 0, 120.0))
    recorder.add_hypothesis(Hypothesis("mtp", ""))
    with closing(sqlite3.connect(f"{recorder.path.as_uri()}?mode=ro", uri=True)) as connection:
        assert view.name in view.example
        assert connection.execute(view.example).fetchall()


def test_every_table_view_and_column_is_documented(connection: sqlite3.Connection) -> None:
    sections = re.split(r"^### ", document(), flags=re.MULTILINE)[1:]
    documented = {
        section.split("\n")[0]: re.findall(r"^\| `(\w+)` \|", section, flags=re.MULTILINE)
        for section in sections
    }
    names = connection.execute(
        "SELECT name FROM sqlite_master WHERE type IN ('table', 'view') AND name NOT LIKE '\\_%'"
        " ESCAPE '\\'"
    )
    assert documented == {name: _columns(connection, name) for (name,) in names}


@pytest.mark.parametrize("table", _RECORDS, ids=lambda table: table.name)
def test_each_field_of_a_record_is_a_column(table: Table, connection: sqlite3.Connection) -> None:
    fields = [*_RECORDS[table].__struct_fields__]
    assert fields == _columns(connection, table.name)


@pytest.mark.parametrize("table", _ALL, ids=lambda table: table.name)
def test_keys_references_and_fixed_words_are_never_redacted(
    table: Table, connection: sqlite3.Connection
) -> None:
    info = connection.execute(f"PRAGMA table_info({table.name})").fetchall()
    keys = {row[1] for row in info if row[5] and row[2] == "TEXT"}
    references = {row[3] for row in connection.execute(f"PRAGMA foreign_key_list({table.name})")}
    (sql,) = connection.execute(
        "SELECT sql FROM sqlite_master WHERE name = ?", [table.name]
    ).fetchone()
    fixed = set(re.findall(r"CHECK \((\w+) IN\b", sql))
    assert keys | references | fixed <= table.verbatim <= {row[1] for row in info}
    assert sql.rstrip().endswith(("STRICT", "STRICT, WITHOUT ROWID"))


def test_every_reference_can_be_followed_by_an_index(connection: sqlite3.Connection) -> None:
    for table in ("boot", "cycle", "edit", "observation", "comparison", "verdict", "artifact"):
        plan = connection.execute(
            f"EXPLAIN QUERY PLAN SELECT * FROM {table} WHERE run = 'x'"
        ).fetchall()
        assert "USING INDEX" in plan[0][3], table
