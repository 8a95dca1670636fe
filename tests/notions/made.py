"""Recourse tables made by hand: what notions read of an audit, without a model."""

from __future__ import annotations

import numpy as np
import pandas as pd
from sklearn.linear_model import LogisticRegression

import equieffort as ee
from equieffort.notions import Audited
from equieffort.recourse.solvers import Status
from equieffort.recourse.table import RecourseTable
from equieffort.world.groups import Groups


class ByHand:
    """A source that knows the people's names alone."""

    def __init__(self, n: int) -> None:
        self.data = pd.DataFrame(index=pd.RangeIndex(n))


def table_of(groups, statuses, costs, bounds=None, reference="b"):
    """One letter a person and status: o(ptimal), f(easible), i(nfeasible), u(nknown), n(ot needed)."""
    codes = {"o": Status.OPTIMAL, "f": Status.FEASIBLE, "i": Status.INFEASIBLE, "u": Status.UNKNOWN}
    status = np.array([codes.get(letter, Status.NOT_NEEDED) for letter in statuses], dtype=np.int8)
    labels = tuple(sorted({*groups, reference}))
    cost = np.array(costs, dtype=float)
    default = np.where(status == Status.INFEASIBLE, np.inf, np.where(status == Status.UNKNOWN, 0.0, cost))
    bound = default if bounds is None else np.array(bounds, dtype=float)
    place = {label: k for k, label in enumerate(labels)}
    others = tuple(k for k, label in enumerate(labels) if label != reference)
    made = Groups(
        labels, np.array([place[g] for g in groups], dtype=np.int16), others, place[reference], columns=("group",)
    )
    n = len(status)
    return RecourseTable(
        ByHand(n), made, status, cost, bound, np.zeros((n, 0), dtype=bool), np.zeros((n, 0)),
        np.zeros((n, 0), dtype=np.int16),
    )  # fmt: skip


def audited_of(groups, statuses, costs, *, bounds=None, labels=None, budget=1.0, level=0.95):
    """What notions read of such a table."""
    truth = None if labels is None else np.array(labels, dtype=bool)
    return Audited(table_of(groups, statuses, costs, bounds), level, budget, labels=truth)


def world(n=400, model=None, random_state=1, **features):
    """An audit in the world of fair recourse (A moves X1 and X3, X1 and X2 move X3), its true equations known, and
    the labels that its people have in truth."""
    made = ee.datasets.fair_recourse("CAU linear")
    people, labels = made.sample(n, random_state=random_state)
    fitted = (LogisticRegression() if model is None else model).fit(people[["X1", "X2", "X3"]], labels)
    roles = dict.fromkeys(("X1", "X2", "X3"), "actionable") | features
    schema = ee.Schema(sensitive="A", protected=-1, favourable=1, features=roles)
    return ee.audit(fitted, people, schema=schema, scm=made.scm), labels
