"""What a change costs, and the scales it is measured in; see `docs/solvers.md` and `docs/extending.md`.

>>> import equieffort as ee
>>> ee.costs.WeightedL1(scale=ee.costs.MAD()) == ee.WeightedL1(scale=ee.MAD())
True
"""

from equieffort.world.cost import BoundCost, Cost, LinearCost, Percentile, Separable, WeightedL1
from equieffort.world.scales import MAD, Own, Range, Scale, Std

__all__ = [
    "BoundCost", "Cost", "LinearCost", "MAD", "Own", "Percentile", "Range", "Scale", "Separable", "Std", "WeightedL1",
]  # fmt: skip


def __dir__() -> list[str]:
    return __all__
