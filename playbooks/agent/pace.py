"""How often to look while waiting: often at first, and the longer it takes, the less often."""

_SHARE = 1 / 50


def pause(waited_s: float, least_s: float, most_s: float) -> float:
    """Seconds until the next look, after `waited_s`: what is awaited is seen a fiftieth late.

    Never less than `least_s`, which keeps the looks themselves cheap, nor more than `most_s`.
    """
    return min(max(waited_s * _SHARE, least_s), most_s)
