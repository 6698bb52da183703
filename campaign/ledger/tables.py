"""Which record is a row of which table, and which of its columns are this program's own words."""

from collections.abc import Mapping

from msgspec import Struct

from campaign.ledger import records
from campaign.ledger.capacity import CycleCapacity

Record = (
    records.HypothesisEvent
    | records.Run
    | records.RunTerms
    | records.KeptRun
    | records.Boot
    | records.Removal
    | records.Cycle
    | CycleCapacity
    | records.Step
    | records.Request
    | records.Confirmation
    | records.Edit
    | records.ServiceState
    | records.Observation
    | records.ObservationTerms
    | records.ObservationPlan
    | records.Trial
    | records.TrialExposure
    | records.TrialAttribute
    | records.RoundLatency
    | records.Comparison
    | records.ComparisonKey
    | records.ComparisonContext
    | records.Verdict
    | records.Artifact
)


class Table(Struct, frozen=True):
    """A table: its name, the columns that are stored as they are, whatever the secrets; its key.

    `verbatim` columns hold ids, references and words of a fixed set: they are never a user's
    text, and a replaced part would break what refers to them.
    """

    name: str
    verbatim: frozenset[str]
    key: str = "id"


def _table(name: str, verbatim: str, key: str = "id") -> Table:
    return Table(name, frozenset(verbatim.split()), key)


CAMPAIGN = _table("campaign", "name hash_key")
HYPOTHESIS = _table("hypothesis", "slug standing")
RUN_HYPOTHESIS = _table("run_hypothesis", "run hypothesis")
OBSERVATION_COUNT = _table("observation_count", "observation")

TABLES: Mapping[type[Record], Table] = {
    records.HypothesisEvent: _table("hypothesis_event", "id hypothesis kind standing by runs"),
    records.Run: _table("run", "id batch playbook kind playbook_sha256 status state owner_boot"),
    records.RunTerms: _table("run_terms", "run schedule"),
    records.KeptRun: _table("kept_run", "run", key="run"),
    records.Boot: _table("boot", "id batch run effect"),
    records.Removal: _table("removal", "boot hypothesis"),
    records.Cycle: _table("cycle", "id boot run outcome"),
    CycleCapacity: _table("cycle_capacity", "cycle", key="cycle"),
    records.Step: _table("step", "id run boot kind status"),
    records.Request: _table("request", "id batch kind boot"),
    records.Confirmation: _table("confirmation", "id playbook plan"),
    records.Edit: _table("edit", "id boot run before_sha256 after_sha256"),
    records.ServiceState: _table("service_state", "id boot moment effect"),
    records.Observation: _table("observation", "id run boot cycle step"),
    records.ObservationTerms: _table(
        "observation_terms", "observation stands unit", key="observation"
    ),
    records.ObservationPlan: _table("observation_plan", "observation", key="observation"),
    records.Trial: _table("trial", "observation result"),
    records.TrialExposure: _table("trial_exposure", "observation position"),
    records.TrialAttribute: _table("trial_attribute", "observation position name"),
    records.RoundLatency: _table("round_latency", "observation round what"),
    records.Comparison: _table("comparison", "id run boot step detector"),
    records.ComparisonKey: _table("comparison_key", "comparison state"),
    records.ComparisonContext: _table("comparison_context", "comparison"),
    records.Verdict: _table("verdict", "id run hypothesis word"),
    records.Artifact: _table("artifact", "id run step sha256"),
}
