"""How many more restarts would settle a question, before any of them is made."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from msgspec import Struct

from hypotheses.model import Posterior, log_likelihoods, points

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]
    Bools = NDArray[np.bool_]
    Ints = NDArray[np.int_]

FUTURES = 500
"""Simulated futures, always the same ones: the chances are good to two points or so."""
MOST = 12
"""More restarts than this are not looked at."""


class Outlook(Struct, frozen=True):
    """What more restarts, `trials` each, would do: alternately with `toggles` and with none off.

    `chances[m - 1]` is the chance that after m of them the posterior that the set removes the
    failure is over `settings.supported` or under `settings.refuted`.
    """

    toggles: frozenset[str]
    trials: int
    chances: tuple[float, ...]

    def restarts(self, chance: float = 0.8) -> int | None:
        """The fewest restarts that settle it with this chance; None where `MOST` do not."""
        return next((m for m, one in enumerate(self.chances, 1) if one >= chance), None)


def outlook(belief: Posterior, toggles: Iterable[str], trials: int) -> Outlook:
    """Draws futures from what is believed, and judges each after every restart.

    The first is with `toggles` off unless the last restart was. Deterministic. Raises ValueError
    for fewer than 1 trial.
    """
    import numpy as np

    if trials < 1:
        raise ValueError(f"{trials} trials a restart: need 1 or more")
    chosen = frozenset(toggles)
    removed = belief.removed([chosen])[:, 0]
    sides = np.stack([belief.weights[~removed].sum(axis=0), belief.weights[removed].sum(axis=0)])
    just_off = bool(belief.restarts) and belief.restarts[-1].toggles == chosen
    off = (np.arange(MOST) + just_off) % 2 == 0
    fails = _futures(belief, sides, off, trials)
    return Outlook(chosen, trials, _settled(belief, sides, off, fails, trials))


def _futures(belief: Posterior, sides: Floats, off: Bools, trials: int) -> Ints:
    """Failures in each future's restarts: futures x restarts."""
    import numpy as np

    random = np.random.default_rng(0)
    cells = random.choice(sides.size, size=FUTURES, p=sides.ravel() / sides.sum())
    removing, at = np.divmod(cells[:, None], sides.shape[1])
    lies = random.random((FUTURES, MOST)) < belief.settings.slip
    grid = points(belief.grid)
    gone = (removing.astype(bool) & off) ^ lies
    rate = np.where(gone, grid.p1[at], grid.p0[at])
    rho = np.broadcast_to(grid.rho[at], rate.shape)
    clustered = (rho > 0) & (rate > 0)
    spread = (1 - rho) / np.where(clustered, rho, 1)
    a, b = np.where(clustered, rate * spread, 1), np.where(clustered, (1 - rate) * spread, 1)
    return random.binomial(trials, np.where(clustered, random.beta(a, b), rate))


def _settled(
    belief: Posterior, sides: Floats, off: Bools, fails: Ints, trials: int
) -> tuple[float, ...]:
    """The share of futures that are settled after 1, 2, ... restarts."""
    import numpy as np

    settings = belief.settings
    there, gone = _likelihoods(belief, fails, trials)
    joint = np.broadcast_to(sides[:, None, :], (2, *there[:, 0].shape))
    chances = []
    for at, switched in enumerate(off.tolist()):
        joint = joint * np.stack([there[:, at], (gone if switched else there)[:, at]])
        joint /= joint.sum(axis=(0, 2), keepdims=True)
        posterior = joint[1].sum(axis=1)
        settled = (posterior >= settings.supported) | (posterior <= settings.refuted)
        chances.append(float(settled.mean()))
    return tuple(chances)


def _likelihoods(belief: Posterior, fails: Ints, trials: int) -> tuple[Floats, Floats]:
    """There and gone, futures x restarts x points, as shares of the restart's likeliest.

    A future is drawn from one of the points, which therefore never gets too small for a float.
    """
    import numpy as np

    counts, which = np.unique(fails, return_inverse=True)
    sides = np.stack(
        log_likelihoods(belief.grid, belief.settings.slip, counts, np.full_like(counts, trials))
    )
    there, gone = np.exp(sides - sides.max(axis=(0, 2), keepdims=True))
    places = which.reshape(fails.shape)
    return there[places], gone[places]
