"""RecourseProblem: a classifier, a structural causal model, a schema and a cost, checked and fixed before solving."""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, Generic, TypeVar, cast

import numpy as np
import numpy.typing as npt
import pandas as pd

from equieffort.data.cells import number_like, numbers_in
from equieffort.data.frames import (
    FILL_OR_CHOOSE,
    Bools,
    Column,
    Encoding,
    Floats,
    Kind,
    Missing,
    is_zero_one,
    join_sensitive,
    kind_of_type,
    number,
    read_frame,
    refuse_missing,
    refuse_wild,
    require_columns,
    screen,
)
from equieffort.errors import (
    CausalModelError,
    CostError,
    DataError,
    EquieffortWarning,
    ParameterError,
    SchemaError,
    Setting,
    listed,
    warn,
)
from equieffort.foundations.arguments import calling, check_instance, check_number, names_in
from equieffort.foundations.tolerances import LARGEST, power_of_two, tolerance
from equieffort.models.classifiers import (
    BlackBox,
    Decision,
    LinearView,
    NetworkView,
    TreeView,
    View,
    known_features,
    recognise,
)
from equieffort.recourse.level_prices import LevelPrices, in_places
from equieffort.recourse.levels import with_known_levels, with_orders
from equieffort.recourse.limits import Limit, level_at, limits
from equieffort.world.cost import BoundCost, Cost, LinearCost, WeightedL1, readable
from equieffort.world.giveaways import FEWEST, sentinels
from equieffort.world.group_cost import GroupCost, bind_by_group
from equieffort.world.rules import Clauses, clauses_of
from equieffort.world.schema import Feature, Role, Schema, check_kinds
from equieffort.world.scm import Additive, Linear, StructuralCausalModel

ABSURD = 10.0
"""A value that makes a range so many times wider than all others together do is not taken as a measure of effort."""
EXAMPLES = 400
"""How many people a problem keeps as examples, evenly spaced in the data."""

ReadableView = LinearView | TreeView | NetworkView
"""What of a classifier solvers that prove something can read."""
KnownView = TypeVar("KnownView", bound=View | BlackBox)
if TYPE_CHECKING:
    import typing_extensions

    # Type checkers know defaults of type variables, Python only from 3.13 on: a bare RecourseProblem may have any view.
    ViewT = typing_extensions.TypeVar("ViewT", bound=View | BlackBox, default=View | BlackBox, covariant=True)
else:
    ViewT = TypeVar("ViewT")


@dataclass(frozen=True, eq=False, repr=False)
class RecourseProblem(Generic[ViewT]):
    """Everything that decides a person's recourse; made by `RecourseProblem.of`."""

    decision: Decision
    view: ViewT
    """The classifier as far as it can be read; a solver that needs a kind of view takes a problem with that kind."""
    scm: StructuralCausalModel
    schema: Schema
    encoding: Encoding
    """All columns that matter: first the nodes of the graph in causal order, then the others."""
    cost: BoundCost
    margin: float = 0.0
    """How far past the decision boundary, in units of the score, an action must lead."""
    examples: pd.DataFrame = field(default_factory=pd.DataFrame, repr=False)
    """Some of the people it was made from: where a search looks first. No proof rests on them."""
    outliers: tuple[str, ...] = ()
    """Features of which one absurd value in the reference data decides the scale, or how far actions may go."""
    spreads: Floats = field(default_factory=lambda: np.empty(0), repr=False)
    """For each column a power of two near the spread of its values; 1 for whole numbers and categories."""
    cost_unit: float = 1.0
    """What costs are multiples of; 1 but in scaled units."""
    is_scaled: bool = False
    held: frozenset[int] = frozenset()
    """Positions of actionable features that may be left or kept at their own value, but not changed."""

    def __repr__(self) -> str:
        acts = ", ".join(self.schema.actionable) or "none"
        view, cost = type(self.view).__name__, type(self.cost).__name__
        return f"RecourseProblem({len(self.encoding.names)} columns, actionable: {acts}; {view}, {cost})"

    @classmethod
    def of(
        cls,
        classifier: Any,
        X: Any,
        *,
        schema: Schema,
        scm: StructuralCausalModel,
        sensitive_features: Any = None,
        model_features: Sequence[str] | None = None,
        cost: Cost | None = None,
        reference: Any = None,
        margin: float = 0.0,
        missing: Missing = "error",
    ) -> RecourseProblem:
        """Check all parts against each other and fix the numbers.

        `reference` is the data that scales and undeclared limits come from; by default what the causal model was
        fitted on. With `missing="drop"` people who lack a value are left aside here; with "model" they are audited, so
        that what they do not lack counts: levels, scales and limits come from them too.
        """
        check_parts(schema, scm)
        takes = "WeightedL1(...), Percentile(...) or Separable({...})"
        check_instance("cost", cost, Cost, takes, optional=True, error=CostError)
        _check_margin(margin)
        if model_features is not None:
            model_features = names_in("model_features", model_features)
        whole = read_frame(X, names=model_features)
        spread = schema.spread
        frame = join_sensitive(spread.join(whole, tell=True), sensitive_features, schema.sensitive_columns)
        seen = list(spread.names(known_features(classifier, model_features)))
        schema.check(frame, scm.graph, seen)
        schema.warn_of_fractions(frame)
        needed = dict.fromkeys(
            (*schema.protected_columns, *scm.graph.nodes, *schema.features, *seen, *schema.rule_columns)
        )
        # Whose group is not known is audited all the same, unless the model asks for it.
        lax = [name for name in schema.sensitive_columns if name not in seen]
        complete = screen(frame, [name for name in needed if name not in lax], missing, FILL_OR_CHOOSE)
        refuse_wild(frame, lax)
        complete &= frame[lax].notna().all(axis=1)
        if not complete.any():
            raise DataError("DATA_EMPTY", f"Of nobody a group is known in {listed(lax)}.", fix="Fill them in.")
        everybody = frame if missing == "model" else frame[complete]
        frame = frame if complete.all() else frame[complete]
        scm = scm.ready(everybody, learn=True, missing=missing)
        decision = Decision.of(
            classifier, schema.favourable, frame, model_features, schema.threshold, spread, dict(whole.dtypes)
        )
        given = None if reference is None else spread.join(read_frame(reference, what="reference"))
        encoding = _encoding(everybody, schema, scm, decision.features, given).typed(frame)
        tables = [table for table in (frame, everybody, scm.reference_, given) if table is not None]
        encoding = with_known_levels(encoding, schema, scm, decision, tables)
        schema = with_orders(schema, encoding, tables)
        check_kinds(schema, encoding)
        _warn_number_like(everybody, schema, encoding)
        clauses_of(schema.constraints, encoding)
        _check_abductible(schema, scm)
        encoding.check_whole(encoding.encode(frame.iloc[:1000]), frame.index)
        view = recognise(decision, encoding, frame)
        numeric = [name for name in schema.actionable if not encoding[name].is_category]
        chosen = cost if cost is not None else WeightedL1()
        drop = missing != "error"
        if given is not None and drop:
            _tell_left(given, numeric)
        bound, values, weights = _bound(
            chosen, numeric, everybody, given, scm=scm, schema=schema, encoding=encoding, drop=drop
        )
        schema = _with_observed(schema, encoding, numeric, values)
        outliers = _outliers(schema, chosen, bound, numeric, values, weights)
        spaced = np.unique(np.linspace(0, len(frame) - 1, EXAMPLES).round().astype(np.intp))
        examples = frame[list(encoding.names)].iloc[spaced].reset_index(drop=True)
        others = encoding.columns[len(scm.graph.nodes) :]
        spreads = np.array([*scm.units, *(column.unit_in(frame) for column in others)])
        # The schema may declare whole what the causal model takes for any amount.
        spreads[[k for k, column in enumerate(encoding.columns) if column.is_whole]] = 1.0
        problem = RecourseProblem(decision, view, scm, schema, encoding, bound, margin, examples, outliers, spreads)
        _check_prices(problem)
        return problem

    def relearned(
        self: RecourseProblem, scm: StructuralCausalModel, classifier: Any = None, people: pd.DataFrame | None = None
    ) -> RecourseProblem | None:
        """The same problem with equations learned again and, for these people, perhaps a model trained again.

        Limits, prices and what columns hold stay, and are not looked at again. None where they may not stay: equations
        that met other levels, or a model that may know others.
        """
        if scm.encoding_ != self.scm.encoding_ or scm.graph != self.scm.graph:
            return None
        if classifier is None or people is None:
            return replace(self, scm=scm)
        own = (*self.decision.features, *self.schema.actionable)
        features = known_features(classifier, self.decision.own if self.decision.bare else None)
        if features != self.decision.own or any(self.encoding[name].is_category for name in own):
            return None
        decision = self.decision.trained_again(classifier)
        return replace(
            self, scm=scm, decision=decision, view=recognise(decision, self.encoding, people, probe_points=False)
        )

    def with_cost(self, cost: Cost, people: pd.DataFrame, reference: Any = None) -> RecourseProblem[ViewT]:
        """The same problem with effort measured otherwise, in the same limits; people and reference as `of` takes them.

        Whoever lacks a value leaves the reference.
        """
        given = None if reference is None else read_frame(reference, what="reference")
        numeric = [self.names[k] for k in self.numeric]
        bound, _, _ = _bound(
            cost, numeric, people, given, scm=self.scm, schema=self.schema, encoding=self.encoding, drop=True
        )
        problem = replace(self, cost=bound)
        _check_prices(problem)
        return problem

    def with_known(self, view: KnownView) -> RecourseProblem[KnownView]:
        """The same problem for whoever has found out of what kind its view is."""
        assert view is self.view
        return cast("RecourseProblem[KnownView]", self)

    @cached_property
    def scaled(self: RecourseProblem) -> RecourseProblem:
        """The same problem in units in which the spread of every amount, and the least price of such a change, is
        about 1: what solvers get and what their answers are judged in, so that no tolerance depends on units.

        All units are powers of two, so nothing is rounded on the way. Whole numbers keep their unit.
        """
        if self.is_scaled:
            return self
        # The grid of single precision is the same in every such unit; that of floats of two bytes ends too soon.
        spreads = self.spreads.copy()
        spreads[[k for k, grid in self.grids.items() if grid.itemsize < 4]] = 1.0
        numeric = spreads[list(self.numeric)]
        prices = np.concatenate([self.cost.typical_prices(numeric), *(of.known for of in self.level_prices)])
        cost_unit = power_of_two(float(prices[prices > 0].min(initial=np.inf)))
        return replace(
            self,
            view=self.view if isinstance(self.view, BlackBox) else self.view.in_units(spreads),
            scm=self.scm.in_units(spreads[: len(self.scm.graph.nodes)]),
            encoding=self.encoding.in_units(spreads),
            cost=self.cost.in_units(numeric, cost_unit),
            spreads=self.spreads / spreads,
            cost_unit=cost_unit,
            is_scaled=True,
        )

    @property
    def max_actions(self) -> int | None:
        """How many features may be changed at once, if that is fewer than may be changed at all."""
        most = self.schema.max_actions
        return most if most is not None and most < len(self.acts) - len(self.held) else None

    def holding(self: RecourseProblem, positions: Iterable[int]) -> RecourseProblem:
        """The same problem in which further actionable features must not be changed.

        They may still be kept at their own value while their causes move: that is free, and no change.
        """
        held = self.held | frozenset(positions)
        return self if held == self.held else replace(self, held=held)

    @cached_property
    def with_any_number(self: RecourseProblem) -> RecourseProblem:
        """The same problem without a limit on how many features are changed."""
        if self.schema.max_actions is None:
            return self
        return replace(self, schema=replace(self.schema, max_actions=None))

    @cached_property
    def units(self) -> Floats:
        """What the encoded columns are multiples of, seen from the users' own numbers."""
        return self.encoding.units

    @cached_property
    def names(self) -> tuple[str, ...]:
        """The columns that matter."""
        return self.encoding.names

    @cached_property
    def rules(self) -> Clauses:
        """The rules between features, over the columns that matter."""
        return clauses_of(self.schema.constraints, self.encoding, self.spreads)

    @cached_property
    def idle(self) -> tuple[int, ...]:
        """Positions of the sensitive columns whose value plays no part in anybody's recourse.

        They are passive, and the model does not see them.
        """
        seen = self.decision.features
        return tuple(
            k for k in self.passive if self.names[k] in self.schema.sensitive_columns and self.names[k] not in seen
        )

    @cached_property
    def passive(self) -> tuple[int, ...]:
        """Positions of the columns that play no part in anybody's recourse but for what the model makes of them.

        No action may set or move them, no rule speaks of them, and whatever follows from them together with an action
        follows by a linear equation, in which what stays as it is cancels.
        """
        return tuple(k for k, name in enumerate(self.names) if self._is_passive(name))

    def _is_passive(self, name: str) -> bool:
        graph = self.scm.graph
        if name in (*self.schema.actionable, *self.schema.rule_columns):
            return False
        # What a group pays is part of the price.
        if name in self.schema.sensitive_columns and isinstance(self.cost, GroupCost):
            return False
        if name not in graph.nodes:
            return True
        acts = [act for act in self.schema.actionable if act in graph.nodes]
        moving = {*acts, *graph.descendants(*acts)}
        return name not in moving and all(
            isinstance(self.scm.mechanisms_[child], Linear) or not moving & set(graph.parents(child))
            for child in graph.nodes
            if name in graph.parents(child)
        )

    def filled(self, facts: Floats) -> Floats:
        """People with something in place of what is missing in columns that are passive."""
        passive = list(self.passive)
        if not passive or not np.isnan(facts[:, passive]).any():
            return facts
        found = facts.copy()
        found[:, passive] = np.nan_to_num(facts[:, passive], nan=0.0)
        return found

    def undefined(self, facts: Floats) -> dict[str, Bools]:
        """By node that follows an action: for whom its equation has no value, so that their noise is not known."""
        graph, actions = self.scm.graph, set(self.schema.actionable)
        found: dict[str, Bools] = {}
        for node in graph.nodes:
            equation = self.scm.equation(node)
            if isinstance(equation, Additive) and not actions.isdisjoint(graph.ancestors(node)):
                causes = [self.encoding.position(cause) for cause in graph.parents(node)]
                whom = ~equation.is_defined(facts[:, causes]) & ~np.isnan(facts[:, causes]).any(axis=1)
                if whom.any():
                    found[node] = whom
        return found

    def lacking(self, facts: Floats) -> Bools:
        """(person, column): what is missing and plays a part, if only in what the model makes of it."""
        found = np.isnan(facts)
        found[:, list(self.idle)] = False
        return np.asarray(found)

    def without(self: RecourseProblem, names: Sequence[str], people: pd.DataFrame) -> RecourseProblem:
        """The problem of people who lack a value in these passive columns; they are given as examples of them.

        What the model makes of a missing value is the same whatever they do.
        """
        gone = {name: people[name].iloc[0] for name in names if name in self.decision.features}
        if not gone:
            return self
        decision = replace(self.decision, missing=gone)
        return replace(self, decision=decision, view=recognise(decision, self.encoding, people))

    @cached_property
    def numeric(self) -> tuple[int, ...]:
        """Positions of the actionable features that are numbers; `delta` columns follow this order."""
        return tuple(self.encoding.position(n) for n in self.schema.actionable if not self.encoding[n].is_category)

    @cached_property
    def categorical(self) -> tuple[int, ...]:
        """Positions of the actionable features that are categories."""
        return tuple(self.encoding.position(n) for n in self.schema.actionable if self.encoding[n].is_category)

    @cached_property
    def acts(self) -> tuple[int, ...]:
        """Positions of all actionable features: numbers first; columns of an intervention mask follow this order."""
        return self.numeric + self.categorical

    @cached_property
    def ranged(self) -> tuple[int, ...]:
        """Positions of the columns that must stay in a plausible range, or must not move at all."""
        features = [(k, self.feature(k)) for k in range(len(self.names))]
        return tuple(k for k, feature in features if feature.role == "immutable" or feature.plausible is not None)

    @cached_property
    def _features(self) -> tuple[Feature, ...]:
        return tuple(self.schema.feature(name) for name in self.names)

    @cached_property
    def _limits(self) -> tuple[tuple[Limit, ...], ...]:
        return tuple(tuple(self.limits(k)) for k in self.numeric)

    def limits(self, position: int) -> list[Limit]:
        """The limits of a column, in its unit."""
        unit = float(self.units[position])
        return [replace(limit, value=limit.value / unit) for limit in limits(self.feature(position))]

    def tolerance(self, position: int, values: Any) -> Any:
        """How far rounding may carry values of a column past an end, where a replay still believes them."""
        spread = self.spreads[position]
        return spread * tolerance(values / spread)

    def own(self, position: int, value: float) -> float:
        """An encoded value of a column in the users' own unit."""
        return float(value) * float(self.units[position])

    def feature(self, position: int) -> Feature:
        """What the schema says of a column."""
        return self._features[position]

    @cached_property
    def is_integer(self) -> Bools:
        """Which numeric actionable features take whole numbers only."""
        return np.array([self.encoding.columns[k].is_whole for k in self.numeric], dtype=bool)

    @cached_property
    def level_prices(self) -> tuple[LevelPrices, ...]:
        """What changing each actionable category costs, from level to level, and which changes are allowed."""
        columns = [(self.feature(k), self.encoding.columns[k].levels) for k in self.categorical]
        return tuple(LevelPrices.of(feature, levels).in_units(self.cost_unit) for feature, levels in columns)

    def dearest_levels(self, matrix: Floats) -> Floats:
        """(person, actionable category): the most that an allowed change of its level can cost."""
        found = np.zeros((len(matrix), len(self.categorical)))
        for b, k in enumerate(self.categorical):
            found[:, b] = self.level_prices[b].most(matrix[:, k])
        return found

    def places(self, position: int, values: Floats) -> Floats:
        """Encoded values of a column as its limits count them: levels by their place in the order."""
        return in_places(self.feature(position), self.encoding.columns[position], values)

    def level_or_own(self, position: int, place: float) -> float | str:
        """A place of a column as people know it: a number in its own unit, or the level there."""
        return level_at(self.feature(position), place) or self.own(position, place)

    def cost_parts(self, matrix: Floats, values: Floats) -> Floats:
        """What it costs each person to set each numeric actionable feature to the value: a row a person."""
        facts = matrix[:, list(self.numeric)]
        if isinstance(self.cost, GroupCost):
            return self.cost.parts_of(self._sensitive(self.cost, matrix), facts, values)
        return self.cost.parts(facts, values)

    def cost_groups(self, matrix: Floats) -> npt.NDArray[np.intp] | None:
        """Under a cost by group the code of each person's group, which is that of a problem in `by_group`."""
        if not isinstance(self.cost, GroupCost):
            return None
        codes = self.cost.codes(self._sensitive(self.cost, matrix))
        if (codes < 0).any():
            raise self.cost.unknown()
        return codes

    @cached_property
    def by_group(self) -> tuple[RecourseProblem[ViewT], ...]:
        """Under a cost by group the same problem for the people of each, with a cost that solvers can read."""
        assert isinstance(self.cost, GroupCost)
        return tuple(replace(self, cost=cost) for cost in self.cost.costs)

    def _sensitive(self, cost: GroupCost, matrix: Floats) -> Floats:
        at = [self.encoding.position(name) for name in cost.columns]
        return np.asarray(matrix[:, at] * self.units[at])

    def action_box(self, matrix: Floats) -> tuple[Floats, Floats]:
        """Least and largest value that may be set, for each person and numeric actionable feature.

        A fact outside its limits widens the limit to the fact: it may stay or move towards the range.
        """
        low = np.empty((len(matrix), len(self.numeric)))
        high = np.empty_like(low)
        for j, k in enumerate(self.numeric):
            fact = matrix[:, k]
            least, most = np.full(len(fact), -np.inf), np.full(len(fact), np.inf)
            for limit in self._limits[j]:
                if limit.side < 0:
                    np.maximum(least, np.minimum(limit.at(fact), fact), out=least)
                else:
                    np.minimum(most, np.maximum(limit.at(fact), fact), out=most)
            if k in self.held:
                least, most = fact, fact
            whole = self.is_integer[j]
            low[:, j], high[:, j] = (np.ceil(least), np.floor(most)) if whole else (least, most)
        return low, high

    def may_take(self, position: int, facts: Floats, level: int) -> Bools:
        """Who may be set to a level of an actionable category, by its values in fact."""
        if position in self.held:
            return facts == level
        return self.rules.allows(position, facts, level)

    def ceiling(self, matrix: Floats) -> Floats:
        """The most that an allowed action can cost each person; infinite where no limit says how far it may go."""
        facts = matrix[:, list(self.numeric)]
        total = self.dearest_levels(matrix).sum(axis=1)
        ends = self.action_box(matrix)
        bounded = np.isfinite(ends[0]) & np.isfinite(ends[1])
        parts = [self.cost_parts(matrix, np.where(bounded, end, facts)) for end in ends]
        total += np.where(bounded, np.maximum(*parts), np.inf).sum(axis=1)
        return total

    def plausible(self, matrix: Floats, position: int) -> tuple[Floats, Floats]:
        """The range of a column in the counterfactual, widened to the fact; a point if it must not move."""
        fact, feature = matrix[:, position], self.feature(position)
        if feature.role == "immutable":
            return fact, fact
        (low, high), unit = feature.plausible or (None, None), self.units[position]
        least = np.full(len(fact), -np.inf) if low is None else np.minimum(fact, low / unit)
        most = np.full(len(fact), np.inf) if high is None else np.maximum(fact, high / unit)
        return least, most

    def outside(self, matrix: Floats) -> Bools:
        """Who starts outside the limits or plausible ranges, or breaks a rule between features."""
        found = self.rules.broken(self.filled(matrix))
        for k in range(len(self.names)):
            for limit in self.limits(k):
                if not limit.relative:
                    found |= limit.side * (self.places(k, matrix[:, k]) - limit.value) > 0
        return found

    @cached_property
    def grids(self) -> dict[int, np.dtype[Any]]:
        """By position: the numbers that the caller's table can hold, for columns that hold fewer than doubles."""
        grids = {k: column.grid for k, column in enumerate(self.encoding.columns)}
        return {k: grid for k, grid in grids.items() if grid is not None}

    def typed(self: RecourseProblem, frame: pd.DataFrame) -> RecourseProblem:
        """The same problem for a table that stores its columns in other types: what is returned must hold there."""
        if all(column.dtype == frame[column.name].dtype for column in self.encoding.columns):
            return self
        typed = replace(self, encoding=self.encoding.typed(frame))
        if typed.grids == self.grids:
            return typed
        return replace(typed, view=recognise(self.decision, typed.encoding, frame))

    def with_margin(self, margin: float) -> RecourseProblem:
        """The same problem asking for more distance from the boundary."""
        _check_margin(margin)
        return replace(self, margin=margin)


def check_parts(schema: Any, scm: Any) -> None:
    """Refuse what declares no world."""
    check_instance("schema", schema, Schema, "an ee.Schema(...)")
    fitted = "an ee.StructuralCausalModel(edges).fit(X)"
    check_instance("scm", scm, StructuralCausalModel, fitted, fix=f"Give {fitted}.")


def check_problem(problem: Any) -> None:
    """Refuse what is not a problem."""
    made = "RecourseProblem.of(classifier, X, schema=..., scm=...)"
    check_instance("problem", problem, RecourseProblem, made, fix=f"Give {made}.")


def _bound(
    cost: Cost, numeric: list[str], frame: pd.DataFrame, given: pd.DataFrame | None,
    *, scm: StructuralCausalModel, schema: Schema, encoding: Encoding, drop: bool,
) -> tuple[BoundCost, Floats, Floats]:  # fmt: skip
    """The cost with its numbers fixed, the reference values they come from, and the weights up and down.

    With `drop`, whoever lacks a number leaves the reference too.
    """
    ranked = schema.sensitive_columns if cost.by_group else ()
    needed = [*numeric, *(name for name in ranked if name not in numeric)]
    source = _reference(scm, frame, needed) if given is None else given
    require_columns(source, needed, why="The reference data")
    what = "what the causal model was fitted on" if given is None else "the reference data"
    source = _whole(source, numeric, what, drop=drop)
    refuse_wild(source, numeric)
    weights = np.array([schema.feature(name).weights for name in numeric]).reshape(-1, 2)
    values = _reference_values(encoding, source, numeric)

    def bind(reference: Floats) -> BoundCost:
        with calling(f"{type(cost).__name__}.bind", "Correct it.", error=CostError, code="COST_INVALID"):
            return readable(cost.bind(numeric, reference, weights))

    if not ranked:
        return bind(values), values, weights
    return bind_by_group(bind, numeric, values, source, frame, encoding, ranked), values, weights


def _whole(source: pd.DataFrame, numeric: list[str], what: str, *, drop: bool) -> pd.DataFrame:
    """The reference without rows that lack a number, or a refusal that says what the values are missing of."""
    if drop:
        is_whole = source[numeric].notna().all(axis=1)
        if not is_whole.any():
            raise DataError("DATA_EMPTY", f"Every row of {what} lacks a value.", fix="Fill them in.")
        return source[is_whole]
    for name in numeric:
        fix = ("Fill them in, or ", Setting("missing in the reference"), ".")
        refuse_missing(source[name], f"Column {name!r} of {what}", fix)
    return source


def _tell_left(given: pd.DataFrame, numeric: list[str]) -> None:
    """Say how many leave a reference that was given because they lack a number."""
    require_columns(given, numeric, why="The reference data")
    gone = given[numeric].isna()
    if left := int(gone.any(axis=1).sum()):
        warn(
            "DATA_MISSING_VALUES",
            f"{left:,} of {len(given):,} people leave the reference data, since they lack a value of "
            f"{listed([name for name in numeric if gone[name].any()])}: scales and undeclared limits come from the "
            "others.",
            fix="Compare their share between the groups: leaving them out may hide a difference.",
        )


def _check_prices(problem: RecourseProblem) -> None:
    """Refuse prices whose efforts no mean or spread can be computed of, before anything is solved."""
    positions = list(problem.numeric)
    prices = list(zip(positions, problem.cost.typical_prices(problem.spreads[positions]), strict=True))
    for k, levels in zip(problem.categorical, problem.level_prices, strict=True):
        prices += [(k, price) for price in (levels.known.min(initial=1.0), levels.known.max(initial=1.0))]
    for k, price in prices:
        # A price of 0 is what a cost of one's own may say.
        if price > LARGEST or 0 < price < 1 / LARGEST:
            raise CostError(
                "COST_SIZE",
                f"An ordinary change of {problem.names[k]!r} costs about {number(float(price))}.",
                fix=f"Choose weights and scales for which it costs from {1 / LARGEST:g} to {LARGEST:g}, best about 1.",
            )


def _check_margin(margin: Any) -> None:
    check_number("margin", margin, "a number, 0 or more", lambda size: size >= 0, fix="Leave it out.")


def _encoding(
    frame: pd.DataFrame,
    schema: Schema,
    scm: StructuralCausalModel,
    model_features: Sequence[str],
    reference: pd.DataFrame | None,
) -> Encoding:
    seen = [table for table in (frame, scm.reference_, reference) if table is not None]
    columns: list[Column] = []
    for column in scm.encoding_.columns:
        declared = schema.kinds.get(column.name)
        made = Column.of(frame[column.name], declared) if declared else column
        if made.is_category != column.is_category:
            raise SchemaError(
                "SCHEMA_KIND",
                (
                    f"{column.name!r} is {declared} in ",
                    Setting("the schema"),
                    f" but {column.kind} in the causal model.",
                ),
                fix=("Either ", Setting("categorical", of=column.name), ", or change ", Setting("the schema"), "."),
            )
        kind = declared or _kind_of_number(column, seen)
        columns.append(Column(column.name, kind, column.levels))
        _warn_numeric_codes(column, schema, scm, frame)
    known = set(scm.graph.nodes)
    rest = dict.fromkeys((*schema.protected_columns, *schema.features, *model_features, *schema.rule_columns))
    for name in rest:
        if name not in known:
            declared = schema.kinds.get(name)
            column = Column.of(frame[name], declared)
            columns.append(column if declared else replace(column, kind=_kind_of_number(column, seen)))
    return Encoding(tuple(columns))


def _kind_of_number(column: Column, tables: list[pd.DataFrame]) -> Kind:
    """The kind of a column that nobody declared; numbers are binary if no table holds any but 0 and 1."""
    if column.is_category:
        return column.kind
    held = [table[column.name] for table in tables if column.name in table.columns]
    if is_zero_one(*held):
        return "binary"
    kinds = {kind_of_type(series) for series in held} if column.kind == "binary" else {column.kind}
    return "integer" if kinds == {"integer"} else "continuous"


def _with_observed(schema: Schema, encoding: Encoding, numeric: list[str], reference: Floats) -> Schema:
    """The schema with the observed end wherever nothing declares how far a number may be set."""
    features: dict[str, Feature | Role] = {
        name: replace(schema.feature(name), observed=None) for name in schema.features
    }
    for name, values in zip(numeric, reference.T, strict=True):
        feature = schema.feature(name)
        if encoding[name].kind == "binary":
            features[name] = replace(feature, kind="binary", observed=(0.0, 1.0))
            continue
        low = None if feature.declares_lower else float(values.min())
        high = None if feature.declares_upper else float(values.max())
        features[name] = replace(feature, observed=None if low is None and high is None else (low, high))
    return replace(schema, features=features)


def _outliers(
    schema: Schema, cost: Cost, bound: BoundCost, numeric: list[str], reference: Floats, weights: Floats
) -> tuple[str, ...]:
    """The features of which an absurd value decides what a change costs, or an end that nobody declared."""
    clean, ends = reference.copy(), {(limit.feature, limit.value) for limit in schema.assumed}
    found, odd = [], np.zeros(len(numeric), dtype=bool)
    for k, name in enumerate(numeric):
        values = sentinels(reference[:, k]) if len(reference) >= FEWEST else []
        is_odd = np.isin(reference[:, k], values)
        odd[k] = len(values) > 0
        if odd[k]:
            rest = reference[~is_odd, k]
            clean[is_odd, k] = np.median(rest)
            beyond = max(max(values) - rest.max(), rest.min() - min(values))
            if beyond >= ABSURD * np.ptp(rest) and any((name, value) in ends for value in values):
                found.append(name)
    if odd.any() and isinstance(bound, LinearCost):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", EquieffortWarning)
            without = cost.bind(numeric, clean, weights)
        if isinstance(without, LinearCost):
            dearer = without.up >= ABSURD * bound.up
            found += [name for name, much in zip(numeric, dearer, strict=True) if much]
    return tuple(name for name in numeric if name in found)


def _warn_numeric_codes(column: Column, schema: Schema, scm: StructuralCausalModel, frame: pd.DataFrame) -> None:
    name = column.name
    has_children = any(cause == name for cause, _ in scm.graph.edges)
    if name in schema.protected_columns and has_children and not column.is_category:
        count = frame[name].nunique()
        if count > 2:
            warn(
                "SCM_NUMERIC_CODES",
                f"The protected column {name!r} holds {count} numbers and enters the equations as an amount.",
                fix=("If they are codes, ", Setting("categorical", of=name), "."),
            )


def _warn_number_like(frame: pd.DataFrame, schema: Schema, encoding: Encoding) -> None:
    """Say which numbers were taken for levels, because they are written as text."""
    for column in encoding.columns:
        name = column.name
        declared = name in schema.kinds or name in schema.protected_columns
        if declared or column.kind != "categorical" or isinstance(frame[name].dtype, pd.CategoricalDtype):
            continue
        # The levels are few beside the people.
        if numbers_in(pd.Series(column.levels, dtype=object))[0] and (said := number_like(frame[name])):
            warn(
                "DATA_NOT_NUMERIC",
                (Setting("column", of=name), f" {said}. It is taken as a category."),
                fix=(
                    "Write plain numbers, without marks for thousands or units, or ",
                    Setting("kind", "categorical"),
                    ".",
                ),
            )


def _check_abductible(schema: Schema, scm: StructuralCausalModel) -> None:
    """A category that would follow an action needs an equation, unless it must not move anyway."""
    followers = scm.graph.descendants(*(name for name in schema.actionable if name in scm.graph.nodes))
    for node in followers:
        if scm.mechanisms_[node] is None and schema.feature(node).role != "immutable":
            raise CausalModelError(
                "SCM_CANNOT_ABDUCT",
                f"Cannot abduct {node!r}: it is a category that would follow an action, and no equation says how.",
                fix=(
                    "Give it an equation for levels, ",
                    Setting("ordinal", of=node),
                    ", declare it immutable, remove the edges into it, or code it as a number.",
                ),
            )


def _reference(scm: StructuralCausalModel, frame: pd.DataFrame, names: list[str]) -> pd.DataFrame:
    """What the causal model was fitted on, if that holds the features whose scales are needed; otherwise X."""
    left = [name for name in names if name in scm.forgotten_]
    if left:
        raise ParameterError(
            "PARAMETER",
            f"The causal model was fitted on data that held {listed(left)}, but was saved or copied without these "
            "values, which are no nodes of its graph.",
            fix=Setting("reference data"),
        )
    return scm.reference_ if set(names) <= set(scm.reference_.columns) else frame


def _reference_values(encoding: Encoding, source: pd.DataFrame, names: list[str]) -> Floats:
    values = np.empty((len(source), len(names)))
    for k, name in enumerate(names):
        values[:, k] = encoding[name].encode(source[name])
    return values
