"""Everything compiled ahead, so that no later process waits: for images of containers and shared machines.

Each step asks about a handful of made-up people, just so much that every kernel is called; a test holds that none is
left out.
"""

from __future__ import annotations

import os
import tempfile
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from equieffort.errors import RunError
from equieffort.foundations.jit import Linked, compile_at_once, every
from equieffort.foundations.progress import Progress
from equieffort.results.auditing import audit
from equieffort.results.audits import Audit

PEOPLE = 80
ACTIONS = ["cause", "effect", "other"]


@dataclass(frozen=True)
class Warmed:
    """What was compiled, and where it lies."""

    compiled: tuple[str, ...]
    """Kernels that were compiled now."""
    kept: tuple[str, ...]
    """Kernels that had been compiled before."""
    folders: tuple[str, ...]

    @property
    def is_temporary(self) -> bool:
        """Whether some lie among temporary files, which may not last."""
        temporary = Path(tempfile.gettempdir()).resolve()
        return any(Path(folder).resolve().is_relative_to(temporary) for folder in self.folders)


def compile_everything(progress: Progress | None = None) -> Warmed:
    """Compile, or read, every kernel that an audit may need; raises `RunError` where none can be kept."""
    named = os.environ.get("NUMBA_CACHE_DIR")
    if named and not _can_write(Path(named)):
        raise _unkept(f"NUMBA_CACHE_DIR names {named}, in which this account cannot write")
    with compile_at_once():
        for k, (what, step) in enumerate(STEPS.items()):
            if progress is not None:
                progress("compiling", k, len(STEPS), what)
            step()
    if progress is not None:
        progress("compiling", len(STEPS), len(STEPS))
    ready = [kernel for kernel in every if _is_ours(kernel)]
    if any(kernel.folder is None for kernel in ready):
        raise _unkept(
            "Neither the package's folder nor this account's cache folder nor the temporary files can be written"
        )
    compiled = tuple(kernel.name for kernel in ready if not kernel.was_kept)
    kept = tuple(kernel.name for kernel in ready if kernel.was_kept)
    return Warmed(compiled, kept, tuple(sorted({_shortly(Path(str(kernel.folder))) for kernel in ready})))


def _shortly(folder: Path) -> str:
    """The folder that holds those of all kernels."""
    package = Path(__file__).parents[1]
    return str(package if folder.is_relative_to(package) else folder.parent)


def _is_ours(kernel: Linked) -> bool:
    return bool(str(kernel.interpreted.__module__).startswith("equieffort."))


def _can_write(folder: Path) -> bool:
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=folder):
            return True
    except OSError:
        return False


def _unkept(what: str) -> RunError:
    return RunError(
        "RUN_WRITE",
        f"{what}: what is compiled would be lost with this process.",
        fix="Name a folder that can be written with the environment variable NUMBA_CACHE_DIR.",
    )


def _audited(classifier: Any = None, rules: Sequence[str] = (), **settings: Any) -> Audit:
    """An audit of made-up people; what they are warned of is none of the user's business."""
    from equieffort.models.classifiers import LinearScore
    from equieffort.world.schema import UNLIMITED, Schema
    from equieffort.world.scm import StructuralCausalModel

    table = _people()
    if classifier is None:
        classifier = LinearScore(dict.fromkeys(ACTIONS, 1.0), threshold=0.5)
    features = dict.fromkeys(ACTIONS, UNLIMITED)
    schema = Schema(sensitive="side", protected="left", favourable=True, features=features, rules=rules)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        scm = StructuralCausalModel([("cause", "effect")], nodes=list(table.columns)).fit(table)
        return audit(classifier, table, schema=schema, scm=scm, progress=False, **settings)


def _people() -> pd.DataFrame:
    rng = np.random.default_rng(0)
    cause, effect, other = rng.normal(size=(3, PEOPLE))
    side = np.where(np.arange(PEOPLE) % 2, "left", "right")
    return pd.DataFrame({"side": side, "cause": cause, "effect": cause + effect, "other": other})


def _trees(**settings: Any) -> None:
    from sklearn.ensemble import RandomForestClassifier

    X = _people()[ACTIONS]
    _audited(RandomForestClassifier(3, max_depth=2, random_state=0).fit(X, X.sum(axis=1) > 0.5), **settings)


def _networks() -> None:
    from equieffort.models.classifiers import ReLUNetwork

    weights = [[[1.0, 1.0, 1.0], [1.0, -1.0, 0.5]], [[1.0, 0.2]]]
    biases, classes = [[0.0, 0.1], [-1.0]], [False, True]
    _audited(ReLUNetwork(weights, biases, classes=classes, feature_names=ACTIONS))


def _bent() -> None:
    from equieffort.recourse.solvers import LinearSearch
    from equieffort.world.cost import Percentile

    _audited(cost=Percentile())
    _audited(cost=Percentile(), solver=LinearSearch())
    _audited(cost=Percentile(), solver=LinearSearch(), rules=["cause <= 90 or other <= 90"])
    _trees(cost=Percentile())


def _chains() -> None:
    from equieffort.recourse.solvers import LinearSearch

    _audited(solver=LinearSearch())
    _audited(solver=LinearSearch(), rules=["cause <= 90 or other <= 90"])


def _curves() -> None:
    from equieffort.effort.metrics import Jackknife
    from equieffort.world.distances import Euclidean, Manhattan, OwnDistance

    made, bands = _audited(), Jackknife(mean_of_ratios=True)
    for distance in (Manhattan(), Euclidean(), OwnDistance(_apart)):
        made.curve((0.3, 0.8), distance=distance, bands=bands)


def _apart(centres: pd.DataFrame, everybody: pd.DataFrame) -> Any:
    return np.abs(centres["cause"].to_numpy()[:, None] - everybody["cause"].to_numpy())


STEPS: dict[str, Callable[[], Any]] = {
    "linear scores": _audited,
    "linear scores with long chains": _chains,
    "trees": _trees,
    "networks": _networks,
    "costs that bend": _bent,
    "neighbourhoods": _curves,
    "subgroups": lambda: _audited().search_subgroups(fewest=5, fewest_certified=5),
}
"""What is asked, in the order in which it is."""
