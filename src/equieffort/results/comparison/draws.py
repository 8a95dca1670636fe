"""The paired bootstrap: people of both audits drawn together, people of one apart, each group by itself."""

from __future__ import annotations

import numpy as np

from equieffort.data.frames import Floats
from equieffort.recourse.table import RecourseTable
from equieffort.results.comparison.people import Pairs


def strata(a: RecourseTable, b: RecourseTable, pairs: Pairs, label: str) -> list[Floats]:
    """Rows of a group that are drawn together: (before, after) sums of pairs, of the first only, of the second only."""
    sums, other_sums = _sums(a), _sums(b)
    mine = a.groups.codes == a.groups.labels.index(label)
    theirs = b.groups.codes == b.groups.labels.index(label)
    together = pairs[mine[pairs[:, 0]]]
    alone, other_alone = mine.copy(), theirs.copy()
    alone[together[:, 0]] = False
    other_alone[together[:, 1]] = False
    nothing = np.zeros_like
    return [
        np.hstack([sums[together[:, 0]], other_sums[together[:, 1]]]),
        np.hstack([sums[alone], nothing(sums[alone])]),
        np.hstack([nothing(other_sums[other_alone]), other_sums[other_alone]]),
    ]


def bootstrap(rng: np.random.Generator, draws: int, *strata: Floats) -> Floats:
    """Sums of each draw: (draw, before or after, refused / acting / effort)."""
    total = np.zeros((draws, 6))
    for rows in strata:
        # People who add nothing are drawn by their number alone: the same distribution, much less to draw.
        adding = rows[rows.any(axis=1)]
        if len(adding) == 0:
            continue
        sizes = rng.binomial(len(rows), len(adding) / len(rows), draws)
        for k, size in enumerate(sizes.tolist()):
            times = np.bincount(rng.integers(0, len(adding), size), minlength=len(adding))
            total[k] += times @ adding
    return total.reshape(draws, 2, 3)


def _sums(table: RecourseTable) -> Floats:
    """What a person adds: refused, acting, effort."""
    return np.column_stack([table.is_unfavourable, table.has_action, np.nan_to_num(table.effort)]).astype(np.float64)
