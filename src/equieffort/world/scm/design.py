"""Encoded causes as the columns that equations are learned on."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
import numpy.typing as npt

from equieffort.data.frames import Column, Encoding, Floats
from equieffort.errors import CausalModelError, Setting, closest, listed, many
from equieffort.world.scm.equations import bad_equation

Owner = tuple[str, Any]
"""Which cause, and for a categorical one which level, a design column stands for."""


def design_columns(causes: Encoding) -> list[tuple[int, int | None, Owner]]:
    """The design's columns: which cause each stands for, of a category which code, and its owner."""
    found: list[tuple[int, int | None, Owner]] = []
    for k, column in enumerate(causes.columns):
        if column.is_category:
            found += [(k, code, (column.name, level)) for code, level in enumerate(column.levels) if code]
        else:
            found.append((k, None, (column.name, None)))
    return found


def indicators(causes: Encoding, parents: Floats) -> tuple[Floats, list[Owner]]:
    """The design matrix: numbers as they are, a category as indicators against its first level."""
    columns = design_columns(causes)
    blocks = [parents[:, k] if code is None else parents[:, k] == code for k, code, _ in columns]
    return stacked(len(parents), blocks), [owner for _, _, owner in columns]


def indicator_box(causes: Encoding, low: Floats, high: Floats) -> tuple[Floats, Floats]:
    """The box of the design's columns over a box of the encoded causes."""
    columns = [(low[:, k], high[:, k], code) for k, code, _ in design_columns(causes)]
    lows = [a if code is None else (a == code) & (b == code) for a, b, code in columns]
    highs = [b if code is None else (a <= code) & (b >= code) for a, b, code in columns]
    return stacked(len(low), lows), stacked(len(low), highs)


def stacked(rows: int, blocks: Iterable[npt.NDArray[Any]]) -> Floats:
    """Columns side by side; also where there are none."""
    return np.column_stack([np.empty((rows, 0)), *blocks])


def level_code(node: str, column: Column, level: Any) -> int:
    """The code of a level; refuses one that does not occur."""
    if level not in column.levels:
        raise bad_equation(
            f"The equation of {node!r} names the level {level!r} of {column.name!r}, which does not occur. "
            f"{closest(level, column.levels)}".rstrip(),
            fix=f"The levels are {listed(column.levels)}.",
        )
    return column.levels.index(level)


def check_causes(node: str, used: Any, causes: Encoding) -> None:
    """Refuse an equation that uses what the graph does not name as a cause."""
    stray = [name for name in used if name not in causes.names]
    if stray:
        raise bad_equation(
            f"The equation of {node!r} uses {listed(stray)}, which the graph does not name among its causes "
            f"({listed(causes.names) or 'none'}).",
            fix="Add the edge to the graph or remove the term.",
        )


def check_rows(node: str, columns: int, rows: int) -> None:
    """Refuse to learn an equation that would fit anything."""
    if columns + 1 >= rows:
        raise CausalModelError(
            "SCM_TOO_FEW_ROWS",
            f"The equation of {node!r} has {many(columns, 'coefficient', 'coefficients')} for its causes, but there "
            f"are only {many(rows, 'row', 'rows')}.",
            fix=("Fit on more people, merge rare levels, or give the equation: ", Setting("linear", of=node), "."),
        )


def least_norm(design: Floats, values: Floats) -> Floats:
    """Least squares; among equally good solutions the shortest."""
    return np.asarray(np.linalg.lstsq(design, values, rcond=None)[0], dtype=np.float64)


def scaled_fit(design: Floats, values: Floats) -> tuple[Floats, float]:
    """Slopes and intercept by least squares on columns brought to one scale, so that units do not decide."""
    if design.shape[1] == 0:
        return np.empty(0), float(values.mean())
    middle, mean = design.mean(axis=0), float(values.mean())
    spread = design.std(axis=0)
    still = (np.ptp(design, axis=0) == 0) | (spread == 0)
    scale = np.where(still, 1.0, spread)
    slopes = least_norm(np.where(still, 0.0, (design - middle) / scale), values - mean) / scale
    return slopes, mean - float(middle @ slopes)
