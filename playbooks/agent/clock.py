"""Seconds since the epoch that do not jump when somebody sets the machine's clock.

The clock is read once, when the process begins; what has passed since the machine's boot, sleep
included, is added to that. Durations taken between two readings are then true whatever happens.
"""

import time


def boot_clock() -> float:
    """Seconds since boot, suspension included: the clock that start ticks are counted on."""
    return time.clock_gettime(time.CLOCK_BOOTTIME)


def _origin() -> float:
    """When the machine was booted, by its clock: of some readings that which took the least time.

    Whatever else runs may come between the two clocks of one reading, and processes that read them
    milliseconds apart would not agree in what order they did things.
    """
    readings = []
    for _ in range(5):
        before, told, after = boot_clock(), time.time(), boot_clock()
        readings.append((after - before, told - (before + after) / 2))
    return min(readings)[1]


_ORIGIN = _origin()


def now() -> float:
    """Now, in seconds since the epoch."""
    return at(boot_clock())


def at(since_boot: float) -> float:
    """A reading of `boot_clock`, in seconds since the epoch."""
    return _ORIGIN + since_boot
