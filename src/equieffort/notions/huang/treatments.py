"""Treatment: a column that is set for everybody, with its gammas, grid, direction, outcome and estimator, as a value.

>>> Treatment("amount", gammas=[0.8, 0.5], direction="down").told
''
>>> Treatment("amount", by=ByRegression(), outcome="observed").told
'observed outcome, by regression'
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

import pandas as pd

from equieffort.errors import ParameterError
from equieffort.foundations.arguments import check_choice, check_flag, check_instance, items_in
from equieffort.notions.huang.estimators import ByRegression, BySCM, ByWeighting, Estimator
from equieffort.notions.huang.minimum_effort import Gammas, read_gammas
from equieffort.notions.huang.study import Direction, check_treatment, read_points
from equieffort.recourse.problem import RecourseProblem

WAYS = {BySCM: "by the equations", ByRegression: "by regression", ByWeighting: "by weighting"}
OUTCOMES = {"label": "", "probability": "probability", "observed": "observed outcome"}


@dataclass(frozen=True)
class Treatment:
    """One treatment of Huang's equality of effort, as `Audit.notions(treatments=[...])` takes it.

    `gammas`, `grid`, `direction`, `by` and `interpolate` are as in `Audit.equality_of_effort`; `outcome` is "label"
    (the model's own decision), "probability", or "observed" for what truly became of people.
    """

    column: str
    gammas: Gammas | Any = None
    grid: tuple[float, ...] | Any = None
    direction: Direction | None = None
    by: Estimator | None = None
    outcome: Literal["label", "probability", "observed"] = "label"
    interpolate: bool = False

    def __post_init__(self) -> None:
        if self.gammas is not None:
            object.__setattr__(self, "gammas", read_gammas(self.gammas))
        if self.grid is not None:
            object.__setattr__(self, "grid", tuple(items_in("grid", self.grid, "two or more finite numbers")))
        if self.direction is not None:
            check_choice("direction", self.direction, ("up", "down"))
        check_choice("outcome", self.outcome, tuple(OUTCOMES))
        check_instance("by", self.by, Estimator, "ee.BySCM(), ee.ByRegression() or ee.ByWeighting()", optional=True)
        check_flag("interpolate", self.interpolate)
        if self.outcome == "observed" and isinstance(self.by, BySCM):
            raise ParameterError(
                "PARAMETER",
                "Observed outcomes and ee.BySCM() are both asked for.",
                fix="Leave one out: no equation says which outcome would have been observed.",
            )

    @property
    def told(self) -> str:
        """What is not as it would be by default, beside direction and gammas."""
        parts = [OUTCOMES[self.outcome], "" if self.by is None else WAYS[type(self.by)]]
        return ", ".join(part for part in parts if part)


def checked_treatments(problem: RecourseProblem, people: pd.DataFrame, treatments: Any) -> tuple[Treatment, ...]:
    """Treatments that these people can be set to, each asked for once."""
    found: Sequence[Any] = items_in("treatments", treatments, "a list of ee.Treatment(...)")
    for k, one in enumerate(found):
        check_instance("treatments", one, Treatment, "a list of ee.Treatment(...)")
        check_treatment(problem, one.column, one.by)
        read_points(problem, people, one.column, one.grid, one.by)
        if any(_named(one) == _named(other) for other in found[:k]):
            raise ParameterError(
                "PARAMETER",
                f"The treatment {one.column!r} is asked for twice in the same way.",
                fix="Let them differ in gammas, outcome or estimator, or leave one out.",
            )
    return tuple(found)


def _named(one: Treatment) -> tuple[Any, ...]:
    """By what readings can be told apart."""
    return one.column, one.gammas, one.outcome, one.by
