"""How long something takes, as roughly as it is known."""

from __future__ import annotations


def roughly(seconds: float) -> str:
    """A guess in words, never finer than it deserves.

    >>> roughly(0.4), roughly(7.3), roughly(48), roughly(400), roughly(10_000), roughly(500_000)
    ('a few seconds', 'a few seconds', 'about 50 seconds', 'about 7 minutes', 'about 3 hours', 'about 6 days')
    """
    if seconds < 10:
        return "a few seconds"
    if seconds < 90:
        return f"about {round(seconds, -1):.0f} seconds"
    for unit, size, most in (("minutes", 60.0, 90.0), ("hours", 3600.0, 48.0)):
        if seconds / size < most:
            return f"about {_coarse(seconds / size)} {unit}"
    return f"about {_coarse(seconds / 86_400)} days"


def _coarse(amount: float) -> str:
    return f"{amount:.0f}" if amount < 20 else f"{round(amount, -1):,.0f}"
