"""What `diff` says of a change of RD: does its 95 % interval hold it, and how often is it said to lead away or back?

A group's people are drawn by what they are in the first and in the second audit: approved, refused without a route, or
refused with one. Shares with a route lie at 0.5 and near 1, few or many answers change, nobody, some or everybody is
refused in both audits. Sizes are those of the group and of who it is compared with, in each audit.
"""

from __future__ import annotations

from collections import Counter

import numpy as np

from equieffort.effort.inference.twice import Twice
from equieffort.results.comparison.gaps import Gaps
from rates.cells import Cell, Found, Part, add, share, show_error, table


def same(share_before: float, won: float, lost: float) -> np.ndarray:
    """The same people, all refused twice: who gains a route and who loses it."""
    return np.array([[0, 0, 0], [0, 1 - share_before - won, won], [0, lost, share_before - lost]])


def moving(share_before: float, won: float, lost: float, let_go: float) -> np.ndarray:
    """So many of those with a route are approved the second time, as many others, all but 5 % with one, refused."""
    joint = same(share_before, won, lost)
    joint[2, 2] -= let_go
    joint[2, 0], joint[0, 2], joint[0, 1] = let_go, 0.95 * let_go, 0.05 * let_go
    return np.asarray(joint / joint.sum())


def others(share_before: float, share_after: float) -> np.ndarray:
    """Other people each time, as many on average."""
    joint = np.zeros((3, 3))
    joint[2, 0], joint[1, 0] = share_before, 1 - share_before
    joint[0, 2], joint[0, 1] = share_after, 1 - share_after
    return joint / 2


WORLDS = {
    "all have a route but 1 %, nearly no change": (same(0.99, 0.0, 0.0), same(0.98, 0.01, 0.01)),
    "95 %, 2 to 4 % change": (same(0.95, 0.01, 0.03), same(0.95, 0.0, 0.02)),
    "half, 2 % change": (same(0.5, 0.01, 0.01), same(0.5, 0.0, 0.02)),
    "half, 3 % lose it in the group alone": (same(0.5, 0.0, 0.03), same(0.5, 0.0, 0.0)),
    "half and 60 %, a third change": (same(0.5, 0.25, 0.05), same(0.6, 0.1, 0.2)),
    "98 % to 70 %, other side as it was": (same(0.98, 0.0, 0.28), same(0.98, 0.0, 0.0)),
    "90 %, a tenth of the refused change": (moving(0.9, 0.0, 0.02, 0.1), moving(0.9, 0.0, 0.05, 0.05)),
    "other people, 98 % and 95 %": (others(0.98, 0.95), others(0.98, 0.98)),
    "other people, about half": (others(0.5, 0.4), others(0.5, 0.6)),
    "other people, 90 against 80 % turned over": (others(0.9, 0.8), others(0.8, 0.9)),
}
SIZES = ((5, 5), (8, 8), (8, 690), (30, 30), (100, 100), (1000, 1000))


def counted(joint: np.ndarray) -> Twice:
    """Counts of (first, second): approved, without, with a route."""
    refused, routes = joint[1:, 1:], joint[2, 2]
    return Twice(
        (int(joint[1:].sum()), int(joint[:, 1:].sum())),
        (int(joint[2].sum()), int(joint[:, 2].sum())),
        int(refused.sum()),
        (int(refused[1].sum()), int(refused[:, 1].sum())),
        int(routes),
    )


def shares(joint: np.ndarray) -> np.ndarray:
    """With a route, of the refused, the first and the second time."""
    return np.array([joint[2].sum() / joint[1:].sum(), joint[:, 2].sum() / joint[:, 1:].sum()])


def _count(cell: Cell, begin: int, end: int) -> Counter[str]:
    world, *sizes = cell
    joints, found = WORLDS[world], Counter[str]()
    before, after = shares(joints[1]) - shares(joints[0])
    rng = np.random.default_rng([17, list(WORLDS).index(world), *sizes])
    # Other people: so many each time.
    twice = [2 - int(joint[1:, 1:].sum() > 0) for joint in joints]
    drawn = [
        rng.multinomial(size * times, joint.ravel(), end - begin).reshape(-1, 3, 3)
        for size, times, joint in zip(sizes, twice, joints, strict=True)
    ]
    for mine, theirs in zip(*drawn, strict=True):
        gaps = Gaps(counted(mine), counted(theirs))
        if gaps.fewest < 2:
            continue
        low, high = gaps.change().limits(0.95)
        add(found, "rd", low - 1e-9 <= after - before <= high + 1e-9)
        found[gaps.distance()["distance"]] += 1
    return found


def _show(found: Found, repetitions: int) -> None:
    sizes = [f"{n:,}/{m:,}" for n, m in SIZES]
    held, moved = [], []
    for world, joints in WORLDS.items():
        counts = [found[world, *size] for size in SIZES]
        before, after = shares(joints[1]) - shares(joints[0])
        truth = [f"{before + 0.0:.2f}", f"{after + 0.0:.2f}"]
        held.append([world, *truth, *(share(one, "rd", repetitions) for one in counts)])
        told = [one["farther"] + one["closer"] for one in counts]
        asked = [max(one["rd asked"], 1) for one in counts]
        moved.append([world, *truth, *(f"{100 * k / n:.1f}" for k, n in zip(told, asked, strict=True))])
    print(f"\nThe change of RD between two audits: how often its interval holds it, in % ({repetitions:,} repetitions)")
    table(["world; refused in the group / against", "RD before", "after", *sizes], held)
    print("How often it is said to lie farther from, or closer to equality, in %")
    table(["world; refused in the group / against", "RD before", "after", *sizes], moved)
    show_error(0.95, repetitions)


PARTS = (Part("changes", [(world, *sizes) for world in WORLDS for sizes in SIZES], _count, _show, 4000),)
