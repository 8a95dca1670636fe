"""An oracle for networks: every choice of active ReLUs makes the network linear, so each gets a linear program.

The random worlds are those of `tests.oracles`; a random network takes the place of the linear score. Whole numbers and
levels are tried all, and so are the pieces of a cost that bends and the ways to keep rules between features. Nothing
here comes from the package but the objects that are handed to it.
"""

from __future__ import annotations

import itertools
import warnings
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pandas as pd
from scipy.optimize import linprog
from sklearn.compose import ColumnTransformer
from sklearn.neural_network import MLPClassifier
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import OneHotEncoder
from tests.oracles import (
    INF,
    Case,
    Tally,
    _way,
    answers,
    cost_of,
    curve_of,
    is_text,
    moves,
    persons,
    random_case,
    replay_fault,
    schema_of,
    scm_of,
    settable,
    spread_of,
)

from equieffort.errors import EquieffortWarning
from equieffort.models.classifiers import ReLUNetwork
from equieffort.recourse.problem import RecourseProblem
from equieffort.recourse.solving import solve
from equieffort.world.rules import Constraint, Forbidden, Implies, Monotone, Sum

FAMILIES = ("continuous", "integer", "categorical", "mixed", "piecewise", "classes", "linear classes", "rules")
WORLDS = {"classes": ("continuous",), "linear classes": ("mixed",), "rules": ("continuous", "integer", "mixed")}
NEAR = 1e-7
"""How far, besides the gap, a cost may lie from the oracle's."""


@dataclass(frozen=True, eq=False)
class NetCase:
    """A world and a network over its columns."""

    case: Case
    inputs: tuple[tuple[str, Any], ...]
    """What the first layer sees: (column, None) for a number, (column, level) for an indicator."""
    layers: tuple[tuple[np.ndarray, np.ndarray], ...]
    """Weights (outputs x inputs) and biases."""
    classifier: Any
    labels: tuple[Any, ...]
    wanted: tuple[int, ...]
    """Positions of the wanted labels."""
    rules: tuple[tuple[Any, ...], ...] = ()
    """("sum", weights, low, high); ("implies", a, range, b, range): if a is outside the first, b is inside the second;
    ("level", category, levels, a, range): for these levels a is inside the range; ("monotone", cause, effect, per
    unit); ("forbidden", category, from, to). One end of the ranges of implications is open."""

    def rows_of(self, people: list[dict[str, Any]]) -> np.ndarray:
        return np.array(
            [[float(p[name] if level is None else p[name] == level) for name, level in self.inputs] for p in people]
        )

    def scores(self, rows: np.ndarray) -> np.ndarray:
        for t, (weights, bias) in enumerate(self.layers):
            rows = (np.maximum(rows, 0.0) if t else rows) @ weights.T + bias
        return rows if rows.shape[1] > 1 else np.hstack([np.zeros_like(rows), rows])


def random_network(rng: np.random.Generator, family: str) -> NetCase:
    """A random world whose people are decided by a random network."""
    worlds = WORLDS.get(family, (family,))
    world = worlds[int(rng.integers(len(worlds)))] if len(worlds) > 1 else worlds[0]
    case = random_case(rng, world)
    case = replace(case, score={}, threshold=0.0, margin=0.0)
    if family == "rules":
        case = _with_room(rng, case)
    case = _with_fewer(case, 2 if world in ("piecewise", "mixed", "integer") else 3)
    columns = [name for name in case.causes if name != "s"]
    inputs: list[tuple[str, Any]] = [(name, None) for name in columns if not is_text(case.people[name])]
    texts = [name for name in columns if is_text(case.people[name])]
    inputs += [(name, level) for name in texts for level in sorted(set(case.people[name]))]
    several = family in ("classes", "linear classes")
    widths = [] if family == "linear classes" else _widths(rng, world)
    outputs = int(rng.integers(3, 5)) if several else 1
    spread = np.array([case.spreads.get(name, 1.0) if level is None else 1.0 for name, level in inputs])
    layers, before = [], len(inputs)
    for t, width in enumerate([*widths, outputs]):
        weights = rng.normal(size=(width, before)) * rng.choice([0.5, 1.0, 2.0])
        layers.append((weights / spread if t == 0 else weights, rng.normal(size=width)))
        before = width
    # Numbers far from zero are moved there, as a scaler would.
    middle = np.array([case.people[n].mean() if level is None else 0.0 for n, level in inputs], dtype=float)
    layers[0] = (layers[0][0], layers[0][1] - layers[0][0] @ middle)
    wanted = tuple(sorted(rng.permutation(outputs)[: rng.integers(1, outputs)].tolist())) if several else (1,)
    made = NetCase(case, tuple(inputs), tuple(layers), None, (), wanted)
    scores = made.scores(made.rows_of(persons(case)))
    others = [c for c in range(scores.shape[1]) if c not in wanted]
    lead = scores[:, list(wanted)].max(axis=1) - scores[:, others].max(axis=1)
    shift = np.quantile(lead, rng.uniform(0.3, 0.95)) + rng.uniform(0.001, 0.3) * (np.std(lead) + 1e-3)
    last = layers[-1][1] - (shift * np.isin(np.arange(outputs), wanted) if several else shift)
    made = replace(made, layers=(*layers[:-1], (layers[-1][0], last)))
    if family == "rules":
        made = replace(made, rules=_random_rules(rng, case))
    return _with_model(rng, made, texts)


def _with_fewer(case: Case, most: int) -> Case:
    """At most so many numbers to act on: the oracle's work grows by a power of them."""
    keep, drop = case.numbers[:most], case.numbers[most:]
    plausible = {name: {k: v for k, v in case.limits.get(name, {}).items() if k == "plausible"} for name in drop}
    return replace(
        case,
        roles=case.roles | dict.fromkeys(drop, "mutable"),
        limits=case.limits | plausible,
        scales={name: case.scales[name] for name in keep},
        factors={name: factor for name, factor in case.factors.items() if name in keep},
        functions={name: case.functions[name] for name in keep},
    )


def _with_room(rng: np.random.Generator, case: Case) -> Case:
    """Fewer limits, so that it is the rules that stop people; whole numbers keep theirs, since all are tried."""
    loose = {name for name in case.limits if name not in case.wholes and rng.random() < 0.6}
    roles = {n: "mutable" if role == "immutable" and rng.random() < 0.7 else role for n, role in case.roles.items()}
    return replace(case, limits={k: v for k, v in case.limits.items() if k not in loose}, roles=roles)


def _random_rules(rng: np.random.Generator, case: Case) -> tuple[tuple[Any, ...], ...]:
    """Rules that bind: their ends lie near some person's own values, so that others break them already."""
    numbers = [name for name in case.causes if name not in case.levels and name != "s"]
    # Rules about what an action moves say more than others.
    acting = [name for name in numbers if name in case.numbers] or numbers
    size, rules = case.spreads, []

    def around(values: np.ndarray, person: int) -> Any:
        room = rng.choice([0.03, 0.3, 1.0]) * rng.random(2) * np.std(values)
        return float(values[person] - room[0]), float(values[person] + room[1])

    def ahead(name: str, person: int) -> Any:
        low, high = around(case.people[name].to_numpy(dtype=float), person)
        return (-INF, high) if rng.random() < 0.5 else (low, INF)

    for _ in range(int(rng.integers(1, 4))):
        who, a = int(rng.integers(len(case.people))), str(rng.choice(acting))
        b = str(rng.choice([name for name in numbers if name != a]))
        kind = str(rng.choice(["sum", "implies", "monotone", *(["level"] if case.levels else [])]))
        if kind == "sum":
            weights = {a: 1.0, b: float(rng.choice([-2.0, -1.0, 0.5, 1.0])) * size[a] / size[b]}
            low, high = around(sum(w * case.people[name].to_numpy(dtype=float) for name, w in weights.items()), who)
            side = int(rng.integers(3))
            rules.append(("sum", weights, -INF if side == 0 else low, INF if side == 1 else high))
        elif kind == "implies":
            rules.append(("implies", a, ahead(a, who), b, ahead(b, who)))
        elif kind == "level":
            name = str(rng.choice([name for name in case.levels if name != "s"] or ["s"]))
            some = tuple(case.levels[name][: int(rng.integers(1, len(case.levels[name])))])
            rules.append(("level", name, some, a, ahead(a, who)))
        else:
            rules.append(("monotone", a, b, float(rng.choice([0.0, 0.5])) * size[b] / size[a]))
    for name in case.categories:
        if rng.random() < 0.6:
            rules.append(("forbidden", name, case.levels[name][0], case.levels[name][1]))
    return tuple(rules)


def _widths(rng: np.random.Generator, family: str) -> list[int]:
    if family in ("mixed", "piecewise"):
        return [int(rng.integers(2, 4))]
    if rng.random() < 0.5:
        return [int(rng.integers(2, 7))]
    return [int(rng.integers(2, 4)), int(rng.integers(2, 4))]


def _with_model(rng: np.random.Generator, made: NetCase, texts: list[str]) -> NetCase:
    """The network as our own class or as scikit-learn's, behind an encoder where there is text."""
    count = max(len(made.layers[-1][1]), 2)
    labels = tuple(f"l{c}" for c in range(count)) if rng.random() < 0.5 else tuple(range(count))
    plain = [name for name, level in made.inputs if level is None]
    if not texts and (rng.random() < 0.5 or len(made.layers) == 1):
        weights, biases = [w for w, _ in made.layers], [b for _, b in made.layers]
        return replace(
            made, labels=labels, classifier=ReLUNetwork(weights, biases, classes=labels, feature_names=plain)
        )
    people = made.case.people
    model = MLPClassifier([len(b) for _, b in made.layers[:-1]], max_iter=1)
    if len(made.layers) == 1:
        model = MLPClassifier([1], activation="identity", max_iter=1)
    target = np.arange(len(people)) % count
    rows = made.rows_of(persons(made.case))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        fitted = model.fit(rows if texts else people[plain].astype(float), np.array(labels)[target])
    layers = made.layers
    if len(layers) == 1:
        # The identity stands between two layers: the first does all, the second passes it on.
        (weights, bias), width = layers[0], len(layers[0][1])
        layers = ((weights, bias), (np.eye(width), np.zeros(width)))
    fitted.coefs_, fitted.intercepts_ = [w.T.copy() for w, _ in layers], [b.copy() for _, b in layers]
    if not texts:
        return replace(made, labels=labels, classifier=fitted)
    encode = ColumnTransformer([("plain", "passthrough", plain), ("levels", OneHotEncoder(), texts)])
    columns = [*plain, *texts]
    pipe = Pipeline([("encode", encode.fit(people[columns])), ("model", fitted)])
    return replace(made, labels=labels, classifier=pipe)


# The oracle


def network_oracle(made: NetCase, person: dict[str, Any]) -> float:
    """The least cost over all sets of features, levels, whole numbers, pieces of cost and active ReLUs."""
    case, best = made.case, INF
    curves = {name: curve_of(case, name, person[name]) for name in case.numbers}
    for picked in itertools.product(*(case.levels[name] for name in case.categories)):
        levels = dict(zip(case.categories, picked, strict=True))
        price = sum(case.weights[name][0] for name, level in levels.items() if level != person[name])
        if any(r[0] == "forbidden" and (person[r[1]], levels[r[1]]) == (r[2], r[3]) for r in made.rules):
            continue
        for size in range(len(case.numbers) + 1):
            for chosen in itertools.combinations(case.numbers, size):
                if price < best:
                    least = _least(made, person, chosen, levels, [curves[n] for n in chosen], best - price)
                    best = min(best, price + least)
    return best


def _least(
    made: NetCase,
    person: dict[str, Any],
    chosen: tuple[str, ...],
    levels: dict[str, Any],
    curves: list[Any],
    cap: float,
) -> float:
    case = made.case
    way = _way(case, person, chosen, levels)
    if way is None:
        return INF
    found, best = moves(case, person, chosen, levels), cap
    start, slopes = made.rows_of([{**person, **levels}])[0], np.zeros((len(made.inputs), len(chosen)))
    for i, (name, level) in enumerate(made.inputs):
        if level is None and name in found:
            slopes[i], start[i] = found[name][0], start[i] + found[name][1]
    choices = [list(_pieces(case, name, person[name], c)) for name, c in zip(chosen, curves, strict=True)]
    kept = list(_ways_to_keep(made, person, levels, found, len(chosen)))
    for kept_by, pieces in itertools.product(kept, itertools.product(*choices)):
        low, high = np.array([p[0] for p in pieces]), np.array([p[1] for p in pieces])
        heights = np.array([p[2] for p in pieces])
        if heights.sum() >= best:
            continue
        slope = np.array([p[3] for p in pieces]).reshape(len(pieces), 2)
        for answer in _regions(made, start, slopes, [way, kept_by], low, high, heights, slope):
            best = min(best, answer)
    return best if best < cap else INF


def _nearer(ends: tuple[float, float], own: float) -> tuple[float, float]:
    """A range that whoever is beyond it may stay beyond, or come nearer to."""
    return min(ends[0], own), max(ends[1], own)


def asked_of(
    made: NetCase, person: dict[str, Any]
) -> list[list[tuple[dict[str, float], float, float] | tuple[Any, Any]]]:
    """What the rules ask of a person: of each list one must hold, a weighted sum in a range or a category's levels."""
    found: list[list[tuple[Any, ...]]] = []
    for kind, *parts in made.rules:
        if kind == "sum":
            weights, low, high = parts
            own = sum(w * person[name] for name, w in weights.items())
            # Who is beyond an end already may stay there, or come nearer.
            found.append([(weights, min(low, own), max(high, own))])
        elif kind == "implies":
            a, given, b, then = parts
            if given[0] <= person[a] <= given[1] or then[0] <= person[b] <= then[1]:
                found.append([({a: 1.0}, *given), ({b: 1.0}, *then)])
            else:
                # Kept, or missed by no more than now on either side: (A or B) or (A' and B').
                found.append([({a: 1.0}, *_nearer(given, person[a])), ({b: 1.0}, *then)])
                found.append([({a: 1.0}, *given), ({b: 1.0}, *_nearer(then, person[b]))])
        elif kind == "level":
            name, some, a, then = parts
            for level in some:
                keeps = person[name] != level or then[0] <= person[a] <= then[1]
                others = [x for x in made.case.levels[name] if x != level]
                found.append([(name, others), ({a: 1.0}, *(then if keeps else _nearer(then, person[a])))])
        elif kind == "monotone":
            cause, effect, rate = parts
            gap = person[effect] - rate * person[cause]
            found.append([({cause: 1.0}, -INF, person[cause]), ({effect: 1.0, cause: -rate}, gap, INF)])
    return found


def _ways_to_keep(
    made: NetCase, person: dict[str, Any], levels: dict[str, Any], found: dict[str, Any], count: int
) -> Iterator[tuple[np.ndarray, np.ndarray, np.ndarray]]:
    """Each choice of what keeps every rule, as rows over the changes."""
    for choice in itertools.product(*asked_of(made, person)):
        rows, possible = [], True
        for part in choice:
            if len(part) == 2:
                possible &= levels.get(part[0], person[part[0]]) in part[1]
                continue
            weights, low, high = part
            slope, value, size = np.zeros(count), 0.0, 0.0
            for name, w in weights.items():
                own, shift = found.get(name, (np.zeros(count), 0.0))
                slope, value = slope + w * own, value + w * (person[name] + shift)
                size += np.abs(w * own).sum()
            tolerance = 1e-9 * (1 + abs(value))
            if np.abs(slope).sum() <= 1e-12 * size or size == 0:
                possible &= low - tolerance <= value <= high + tolerance
            else:
                rows.append((slope, low - value, high - value))
        if possible:
            matrix = np.array([row[0] for row in rows]).reshape(len(rows), count)
            yield matrix, np.array([row[1] for row in rows]), np.array([row[2] for row in rows])


def rule_fault(made: NetCase, person: dict[str, Any], told: pd.Series) -> str:
    """Empty if the told action keeps every rule that is asked of the person."""
    case = made.case
    if told.status not in ("optimal", "feasible"):
        return ""
    done = {name: told[f"do_{name}"] for name in case.actionable if not pd.isna(told[f"do_{name}"])}
    chosen = tuple(name for name in case.numbers if name in done)
    found = moves(case, person, chosen, {name: done[name] for name in case.categories if name in done})
    change = np.array([done[name] - person[name] for name in chosen])
    after = person | {name: person[name] + slope @ change + shift for name, (slope, shift) in found.items()} | done
    for kind, *parts in made.rules:
        if kind == "forbidden" and (person[parts[0]], after[parts[0]]) == (parts[1], parts[2]):
            return f"{parts[0]} must not change from {parts[1]!r} to {parts[2]!r}"
    for clause in asked_of(made, person):
        holds = False
        for part in clause:
            if len(part) == 2:
                holds |= after[part[0]] in part[1]
            else:
                value = sum(w * after[name] for name, w in part[0].items())
                spread = sum(abs(w) * spread_of(case, name) for name, w in part[0].items())
                tolerance = 2e-9 * (1 + abs(value) + spread)
                holds |= part[1] - tolerance <= value <= part[2] + tolerance
        if not holds:
            return f"none of {clause} holds"
    return ""


Slopes = tuple[float, float]


def _pieces(case: Case, name: str, fact: float, curve: Any) -> Iterator[tuple[float, float, float, Slopes]]:
    """(low, high, the least cost there, what a unit down and up costs): single whole numbers, or ranges without a bend
    but at zero."""
    low, high = (end - fact for end in settable(case, name, fact))
    if name in case.wholes:
        for value in range(int(np.ceil(low - 1e-9)), int(np.floor(high + 1e-9)) + 1):
            yield value, value, float(curve(value)), (0.0, 0.0)
        return
    if curve.points.tolist() == [0.0]:
        yield low, high, 0.0, (curve.down, curve.up)
        return
    for a, b in itertools.pairwise([-INF, *sorted({0.0, *curve.points.tolist()}), INF]):
        a, b = max(a, low), min(b, high)
        if a > b or (a == b and a != 0.0):
            continue
        near, far = (a, b) if a >= 0 else (b, a)
        rate = (curve.up if a >= 0 else curve.down) if np.isinf(far) else 0.0
        if np.isfinite(far) and far != near:
            rate = float(curve(far) - curve(near)) / abs(far - near)
        yield a, b, float(curve(near)), (rate, rate)


def _regions(
    made: NetCase, start: np.ndarray, slopes: np.ndarray, everything: Any, low: Any, high: Any, heights: Any, slope: Any
) -> Iterator[float]:
    """The least cost for each choice of active ReLUs and each wanted class."""
    stack = [(0, *_through(made.layers[0], slopes, start), everything)]
    while stack:
        t, forms, consts, rows = stack.pop()
        if t == len(made.layers) - 1:
            if len(consts) == 1:
                forms, consts = np.vstack([0 * forms, forms]), np.append(0.0, consts)
            others = [c for c in range(len(consts)) if c not in made.wanted]
            for w in made.wanted:
                beats = (forms[w] - forms[others], consts[others] - consts[w], np.full(len(others), INF))
                answer = _program([*rows, beats], low, high, heights, slope)
                if answer < INF:
                    yield answer
            continue
        least, most = _ranges(forms, consts, low, high)
        options = [
            (False,) if m <= 0 else (True,) if a >= 0 else (False, True) for a, m in zip(least, most, strict=True)
        ]
        for active in itertools.product(*options):
            on = np.array(active)
            signs = (forms, np.where(on, -consts, -INF), np.where(on, INF, -consts))
            stack.append((t + 1, *_through(made.layers[t + 1], forms * on[:, None], consts * on), [*rows, signs]))


def _through(layer: tuple[np.ndarray, np.ndarray], forms: np.ndarray, consts: np.ndarray) -> Any:
    weights, bias = layer
    return weights @ forms, weights @ consts + bias


def _ranges(forms: np.ndarray, consts: np.ndarray, low: np.ndarray, high: np.ndarray) -> Any:
    with np.errstate(invalid="ignore"):
        ends = np.where(forms == 0, 0.0, forms * low), np.where(forms == 0, 0.0, forms * high)
    return consts + np.minimum(*ends).sum(axis=1), consts + np.maximum(*ends).sum(axis=1)


def _program(rows: list[Any], low: Any, high: Any, heights: Any, slope: Any) -> float:
    """Least cost in one region: fixed numbers are put in, and if any is left free a linear program follows."""
    matrix = np.vstack([m for m, _, _ in rows])
    least, most = np.concatenate([a for _, a, _ in rows]), np.concatenate([b for _, _, b in rows])
    fixed = low == high
    done = matrix[:, fixed] @ low[fixed]
    least, most, matrix = least - done, most - done, matrix[:, ~fixed]
    scale = np.abs(matrix).max(axis=1, initial=0.0)
    still = scale == 0
    tolerance = 1e-9 * (1 + np.abs(done))
    if (least[still] > tolerance[still]).any() or (most[still] < -tolerance[still]).any():
        return INF
    if fixed.all():
        return float(heights.sum())
    matrix, least, most = matrix[~still], least[~still], most[~still]
    # Up and down are columns of their own, in units in which they matter alike, counted from the end next to zero.
    low, high, slope = low[~fixed], high[~fixed], slope[~fixed]
    near = np.where(low > 0, low, np.where(high < 0, high, 0.0))
    units = 1.0 / np.maximum(slope, 1e-12)
    columns = np.hstack([-matrix * units[:, 0], matrix * units[:, 1]])
    least, most = least - matrix @ near, most - matrix @ near
    scale = np.abs(columns).max(axis=1)
    columns, least, most = columns / scale[:, None], least / scale, most / scale
    under, over = np.isfinite(most), np.isfinite(least)
    room = np.concatenate([(near - low) / units[:, 0], (high - near) / units[:, 1]])
    result = linprog(
        np.concatenate([slope[:, 0] * units[:, 0], slope[:, 1] * units[:, 1]]),
        A_ub=np.vstack([columns[under], -columns[over]]),
        b_ub=np.concatenate([most[under], -least[over]]),
        bounds=np.column_stack([np.zeros(len(room)), room]),
        method="highs",
        options={"primal_feasibility_tolerance": 1e-10, "dual_feasibility_tolerance": 1e-10},
    )
    assert result.status in (0, 2), result.message
    return float(heights.sum() + result.fun) if result.status == 0 else INF


# The comparison


class Wanted:
    """A model's labels as yes or no."""

    def __init__(self, made: NetCase) -> None:
        self.model, self.wanted = made.classifier, [made.labels[c] for c in made.wanted]
        self.feature_names_in_ = made.classifier.feature_names_in_

    def predict(self, X: Any) -> np.ndarray:
        return np.isin(self.model.predict(X), self.wanted)


def favourable_of(made: NetCase) -> Any:
    wanted = [made.labels[c] for c in made.wanted]
    return wanted if len(made.labels) > 2 else wanted[0]


def problem_of(made: NetCase) -> RecourseProblem:
    case = replace(made.case, classifier=made.classifier, favourable=favourable_of(made))
    schema = replace(schema_of(case), rules=[_link(made, rule) for rule in made.rules])
    return RecourseProblem.of(
        made.classifier, case.people, schema=schema, scm=scm_of(case), cost=cost_of(case), reference=case.reference,
    )  # fmt: skip


def _link(made: NetCase, rule: tuple[Any, ...]) -> Constraint:
    kind, *parts = rule
    if kind == "sum":
        return Sum(parts[0], lower=parts[1] if parts[1] > -INF else None, upper=parts[2] if parts[2] < INF else None)
    if kind in ("implies", "level"):
        name, some, a, (low, high) = parts
        if kind == "level":
            words = (str(x).lower() if isinstance(x, bool | np.bool_) else repr(x) for x in some)
            given = " or ".join(f"{name} = {word}" for word in words)
        else:
            given = f"{name} > {some[1]}" if some[1] < INF else f"{name} < {some[0]}"
        return Implies(given, f"{a} <= {high}" if high < INF else f"{a} >= {low}")
    if kind == "monotone":
        return Monotone(*parts)
    return Forbidden(parts[0], [(parts[1], parts[2])])


def judge(told: pd.Series, truth: float, gap: float) -> str:
    """Empty if a row of the table agrees with the least cost, otherwise how it differs."""
    said = f"{told.status} with cost {told.cost!r} and bound {told.bound!r}, the oracle says {truth!r}"
    near = NEAR * (1 + (truth if truth < INF else 0.0))
    if told.status == "infeasible":
        return "" if truth == INF else said
    if told.status == "unknown":
        # Where actions have no end, nothing found is no proof; what is said of the cost must hold.
        fine = told.bound <= truth + near and ("have no limits" in told.reason or "boxes were looked at" in told.reason)
        return "" if fine else f"{said} ({told.reason})"
    # An action that replays may undercut an optimum that is only computed; being dearer is what must not pass.
    if truth == INF or told.bound > truth + near or told.cost < truth - 10 * near:
        return said
    if told.status == "feasible":
        return ""
    share = gap * told.cost + near
    return "" if told.cost - told.bound <= share and told.cost <= truth + share else said


def compare(made: NetCase, solver: Any, label: str, most: int = 4) -> Tally:
    """Solve a case both ways, for some of its people who are refused."""
    labels = Wanted(made).predict(made.case.people[list(made.classifier.feature_names_in_)])
    tally = Tally(cases=1)
    rows = np.flatnonzero(~labels)[:most]
    if len(rows) == 0:
        return tally
    # Groups are compared, so somebody of another one comes along.
    groups = made.case.people[made.case.sensitive]
    others = np.flatnonzero(groups != groups.iloc[rows[0]])[:1]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", EquieffortWarning)
        problem = problem_of(made)
        table = answers(solve(problem, made.case.people.iloc[[*rows, *others]], solver=solver))
    checked = replace(made.case, classifier=Wanted(made), favourable=True)
    scm, everyone = scm_of(made.case), persons(made.case)
    for told, row in zip((table.iloc[i] for i in range(len(rows))), rows, strict=True):
        tally.people += 1
        fault = judge(told, network_oracle(made, everyone[row]), solver.gap)
        fault = fault or replay_fault(checked, scm, everyone[row], told) or rule_fault(made, everyone[row], told)
        if told.status in ("optimal", "feasible", "infeasible"):
            setattr(tally, told.status, getattr(tally, told.status) + 1)
        if fault:
            tally.disagreements.append(f"{label} person {row}: {fault}")
    return tally


def run(family: str, seeds: range, solver: Any, most: int = 4) -> Tally:
    """Compare many cases of a family."""
    tally = Tally()
    for seed in seeds:
        label = f"{family} seed {seed}"
        try:
            made = random_network(np.random.default_rng([17, FAMILIES.index(family), seed]), family)
            tally += compare(made, solver, label, most)
        except Exception as error:
            # A crash is a disagreement too, and must not hide the cases after it.
            tally += Tally(cases=1, disagreements=[f"{label}: {type(error).__name__}: {error}"])
    return tally
