"""Seconds since the epoch that do not jump when somebody sets the machine's clock.

The clock is read once, when the process begins; what has passed since the machine's boot, sleep
included, is added to that. Durations taken between two readings are then true whatever happens.
"""

import time


def boot_clock() -> float:
    """Seconds since boot, suspension included: the clock that start ticks are counted on."""
    return time.clock_gettime(time.CLOCK_BOOTTIME)


_ORIGIN = time.time() - boot_clock()


def now() -> float:
    """Now, in seconds since the epoch."""
    return at(boot_clock())


def at(since_boot: float) -> float:
    """A reading of `boot_clock`, in seconds since the epoch."""
    return _ORIGIN + since_boot
