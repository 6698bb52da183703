"""Planning a run off the screen's thread, so that it can be given up."""

import threading
from collections.abc import Callable

from textual.dom import DOMNode

from campaign.engine.hosts import Hosts
from campaign.errors import CampaignError
from campaign.operations.plan import Planned, Request, plan
from campaign.workspace import Workspace


class Attempt:
    """One attempt to plan: `planned` or `failed` is called on the screen's thread, once.

    Hosts are dialled, which may take as long as their timeouts; after `give_up` nothing is called,
    and agents that have not answered yet are ended.
    """

    def __init__(
        self, owner: DOMNode, planned: Callable[[Planned], None], failed: Callable[[str], None]
    ) -> None:
        self._owner = owner
        self._planned = planned
        self._failed = failed
        self._given_up = False
        self._hosts: Hosts | None = None

    def start(self, workspace: Workspace, request: Request) -> None:
        """Begins; returns at once."""
        threading.Thread(target=self._plan, args=(workspace, request), daemon=True).start()

    def give_up(self) -> None:
        """Forgets it, and leaves no agent behind that would answer to nobody."""
        self._given_up = True
        if self._hosts is not None:
            self._hosts.give_up()

    def _opening(self, hosts: Hosts) -> None:
        self._hosts = hosts
        if self._given_up:
            hosts.give_up()

    def _plan(self, workspace: Workspace, request: Request) -> None:
        from playbooks.language.problems import LoadError

        try:
            planned = plan(workspace, request, self._opening)
        except (LoadError, CampaignError) as error:
            self._tell(self._failed, str(error))
        except Exception as error:  # noqa: BLE001 - in a thread of its own nobody else would tell
            self._tell(self._failed, f"a fault of campaign itself: {type(error).__name__}: {error}")
        else:
            self._tell(self._planned, planned)

    def _tell(self, tell: Callable[..., None], what: object) -> None:
        if not self._given_up:
            self._owner.call_later(self._unless_given_up, tell, what)

    def _unless_given_up(self, tell: Callable[..., None], what: object) -> None:
        if not self._given_up:
            tell(what)
