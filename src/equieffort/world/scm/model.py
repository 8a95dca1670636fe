"""StructuralCausalModel: fit, abduct, predict, counterfactual."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from copy import copy
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from equieffort.data.frames import Bools, Encoding, Floats, Missing, aligned, read_frame, screen
from equieffort.errors import (
    CausalModelError,
    EquieffortWarning,
    ParameterError,
    Setting,
    Text,
    closest,
    collecting,
    label,
    listed,
    warn,
)
from equieffort.foundations.arguments import check_mapping, is_number, names_in, of_factual, refused, shown
from equieffort.foundations.tolerances import tolerance
from equieffort.world.graph import CausalGraph
from equieffort.world.scm.binding import Parsed, additive, bound_equations, naming, readable, subset
from equieffort.world.scm.design import check_rows, indicators
from equieffort.world.scm.diagnostics import Fit, examine
from equieffort.world.scm.discrete import ordered_column
from equieffort.world.scm.equations import (
    Additive,
    Discrete,
    DiscreteLearner,
    DiscreteMechanism,
    Equation,
    Learner,
    Mechanism,
    bad_equation,
)
from equieffort.world.scm.mechanisms import LeastSquares, Linear, Regressor
from equieffort.world.scm.records import EquationRecord, record_of

LEARN_OR_CHOOSE: Text = ("Fill them in, or ", Setting("learn without"), ".")
_not_fitted = partial(CausalModelError, "SCM_NOT_FITTED")


class StructuralCausalModel:
    """A causal graph and, for each node with causes, an equation whose noise can be abducted.

    Parameters
    ----------
    edges
        The graph: pairs (cause, effect), or anything `CausalGraph.of` reads. ``[]`` means nothing follows anything.
    nodes
        Features that no edge mentions.
    mechanisms
        Node -> an equation (`Linear`, `Terms`, `Function`; for levels in an order `CumulativeLogit`,
        `Probabilities`), a learner (`LeastSquares`, `Polynomial`, `Spline`, for levels `Ordinal`) or a scikit-learn
        regressor. Numeric nodes left out get `default`; categories left out have no equation.
    default
        How the other equations are learned; `LeastSquares(intercept=False)` leaves the intercepts out.
    categorical
        Columns to be read as categories although they hold numbers.

    Examples
    --------
    >>> import pandas as pd
    >>> from equieffort.world.scm import Linear
    >>> scm = StructuralCausalModel([("X1", "X2")], mechanisms={"X2": Linear({"X1": 0.3})})
    >>> X = pd.DataFrame({"X1": [75000.0], "X2": [25000.0]})
    >>> scm.fit(X).counterfactual(X, do={"X1": 85000.0})
            X1       X2
    0  85000.0  28000.0
    """

    def __init__(
        self,
        edges: Any,
        *,
        nodes: Iterable[str] | None = None,
        mechanisms: Mapping[str, Any] | None = None,
        default: Learner | None = None,
        categorical: Iterable[str] = (),
    ) -> None:
        self.graph = CausalGraph.of(edges, nodes)
        if mechanisms is not None:
            check_mapping("mechanisms", mechanisms, "a mapping from node to equation", error=CausalModelError)
        self.mechanisms = dict(mechanisms) if mechanisms is not None else {}
        self.default = default if default is not None else LeastSquares()
        if not isinstance(self.default, Learner):
            raise bad_equation(
                f"default is {type(default).__name__}, which does not learn equations of numbers.",
                fix="Give LeastSquares(), Polynomial(), Spline() or Regressor(...); name other nodes in mechanisms=.",
            )
        self.categorical = names_in("categorical", categorical, error=CausalModelError)
        if stray := [name for name in self.categorical if name not in self.graph.nodes]:
            raise CausalModelError(
                "GRAPH_UNKNOWN_NODE",
                f"categorical names {stray[0]!r}, which is not in the graph. "
                f"{closest(stray[0], self.graph.nodes)}".rstrip(),
                fix=f"Name nodes, or add it with nodes=[...]; the nodes are {listed(self.graph.nodes, 20)}. Other "
                'columns are declared in the schema: Feature(..., kind="categorical").',
            )
        for node, mechanism in self.mechanisms.items():
            self._check_mechanism(node, mechanism)

    def _check_mechanism(self, node: str, mechanism: Any) -> None:
        if node not in self.graph.nodes or not self.graph.parents(node):
            raise bad_equation(
                f"An equation is given for {node!r}, which has no causes in the graph. "
                f"{closest(node, self.graph.nodes)}".rstrip(),
                fix="Add its edges or remove the equation.",
            )
        if isinstance(mechanism, Parsed | Learner | DiscreteLearner):
            return
        if isinstance(mechanism, type):
            raise refused(f"The equation of {node!r}", mechanism, "one that was made", error=CausalModelError)
        if callable(getattr(mechanism, "fit", None)) and callable(getattr(mechanism, "predict", None)):
            return
        raise CausalModelError(
            "SCM_CANNOT_ABDUCT",
            f"Cannot abduct {node!r}: {type(mechanism).__name__} is not an additive-noise mechanism.",
            fix="Give Linear({...}), Function(f), LeastSquares(), Polynomial(), Spline() or a scikit-learn regressor; "
            "for levels in an order Ordinal().",
        )

    def __repr__(self) -> str:
        state = "fitted" if self.is_fitted else "not fitted"
        return f"StructuralCausalModel({len(self.graph.nodes)} nodes, {len(self.graph.edges)} edges, {state})"

    @property
    def is_fitted(self) -> bool:
        """Whether the equations are known."""
        return hasattr(self, "mechanisms_")

    def fit(self, X: Any, *, missing: Missing = "error") -> StructuralCausalModel:
        """Learn the equations that were not given; returns itself.

        With `missing` other than "error" they are learned from the people who lack no value of a node; with "model" the
        others stay among the people that scales, limits and levels are read from (`reference_`), with "drop" not.

        Sets `mechanisms_` (None for a category with causes and no equation), `encoding_`, `diagnostics_` (a frame, one
        row a learned node) and `warnings_`.
        """
        frame = read_frame(X)
        self.graph.require(frame.columns)
        complete = screen(frame, self.graph.nodes, missing, LEARN_OR_CHOOSE)
        gone = frame[list(self.graph.nodes)].isna().any()
        left = int((~complete).sum())
        people, frame = frame, frame[complete] if left else frame
        encoding = self._encoding(frame)
        matrix = encoding.encode(frame)
        mechanisms: dict[str, Parsed | None] = {}
        rows: list[Fit] = []
        with collecting() as kept:
            if left:
                warn(
                    "DATA_MISSING_VALUES",
                    f"The equations are learned without {left:,} of {left + len(frame):,} people, who lack a value of "
                    f"{listed([n for n in self.graph.nodes if gone[n]])}.",
                    fix="Compare their share between the groups: leaving them out may hide a difference.",
                )
            for node in self.graph.nodes:
                if self.graph.parents(node):
                    with naming(node):
                        mechanisms[node] = readable(self._learn(node, encoding, matrix, rows))
        # Bound before anything is kept, so that an equation that does not fit leaves no model that looks fitted.
        self._bound = bound_equations(self.graph, encoding, mechanisms)
        self.mechanisms_, self.encoding_, self.warnings_ = mechanisms, encoding, tuple(kept)
        self.diagnostics_ = pd.DataFrame(rows)
        self.reference_, self.forgotten_, self._units = people if missing == "model" else frame, (), None
        return self

    def fitted_before(self, encoding: Encoding, people: pd.DataFrame) -> StructuralCausalModel:
        """Itself with equations that are all given, over columns that are known: people may lack some of the levels."""
        mechanisms = {
            node: readable(self.mechanisms.get(node)) for node in self.graph.nodes if self.graph.parents(node)
        }
        columns = subset(encoding, self.graph.nodes)
        self._bound = bound_equations(self.graph, columns, mechanisms)
        self.mechanisms_, self.encoding_, self.warnings_ = mechanisms, columns, ()
        self.diagnostics_, self.reference_, self.forgotten_, self._units = pd.DataFrame(), people, (), None
        return self

    def _encoding(self, frame: pd.DataFrame) -> Encoding:
        """The nodes' columns; levels with an equation are coded in their order."""
        encoding = Encoding.of(frame, self.graph.nodes, dict.fromkeys(self.categorical, "categorical"))
        columns = {column.name: column for column in encoding.columns}
        for node, given in self.mechanisms.items():
            if isinstance(given, DiscreteMechanism | DiscreteLearner):
                with naming(node):
                    columns[node] = ordered_column(node, columns[node], frame[node], given)
        return Encoding(tuple(columns.values()))

    def _learn(self, node: str, encoding: Encoding, matrix: Floats, rows: list[Fit]) -> Parsed | None:
        causes = subset(encoding, self.graph.parents(node))
        given = self.mechanisms.get(node, self.default)
        if isinstance(given, DiscreteMechanism):
            return given
        parents = matrix[:, [encoding.position(name) for name in causes.names]]
        values = matrix[:, encoding.position(node)]
        if isinstance(given, DiscreteLearner):
            levels = given.learn(node, causes, parents, encoding[node], values)
            equation = levels.bind(node, causes, encoding[node])
            ranks = np.searchsorted(equation.ladder, values).astype(np.float64)
            rows.append(examine(node, causes, parents, ranks, equation.expected(parents)))
            return levels
        if encoding[node].is_category:
            if node in self.mechanisms:
                raise CausalModelError(
                    "SCM_CANNOT_ABDUCT",
                    f"Cannot abduct {node!r}: a category is not a sum of its causes' effects and noise.",
                    fix=(
                        "If its levels have an order, give ",
                        Setting("ordinal", of=node),
                        "; else declare it immutable in ",
                        Setting("the schema"),
                        ", or code it as a number.",
                    ),
                )
            return None
        if isinstance(given, Mechanism):
            return given
        learner = given if isinstance(given, Learner) else Regressor(given)
        check_rows(node, len(indicators(causes, parents[:1])[1]), len(values))
        mechanism = learner.learn(node, causes, parents, values)
        rows.append(examine(node, causes, parents, values, additive(mechanism, node, causes)(parents)))
        return mechanism

    def ready(self, X: Any, *, learn: bool = False, missing: Missing = "error") -> StructuralCausalModel:
        """Itself if fitted; a model whose equations are all given needs only to look at the columns.

        With `learn` the others are learned from X, by a model of its own; `missing` is as in `fit`.
        """
        if self.is_fitted:
            return self
        caused = [node for node in self.graph.nodes if self.graph.parents(node)]
        learned = [node for node in caused if not isinstance(self.mechanisms.get(node), Parsed)]
        if learned and not learn:
            raise _not_fitted(f"The equations of {listed(learned)} are not known yet.", fix="Call scm.fit(X) first.")
        twin = StructuralCausalModel(
            self.graph, mechanisms=self.mechanisms, default=self.default, categorical=self.categorical
        )
        return twin.fit(X, missing=missing)

    def causes(self, node: str) -> Encoding:
        """The encoding of a node's direct causes."""
        self._known(node)
        return subset(self.encoding_, self.graph.parents(node))

    def equation(self, node: str) -> Equation | None:
        """The equation of a node over its encoded causes, with its bounds; None if it has none."""
        self._known(node)
        return self._bound.get(node)

    def _known(self, node: Any) -> None:
        if not isinstance(node, str) or node not in self.graph.nodes:
            raise CausalModelError(
                "GRAPH_UNKNOWN_NODE",
                f"{shown(node)} is not in the graph. {closest(node, self.graph.nodes)}".rstrip(),
                fix=f"The nodes are {listed(self.graph.nodes, 20)}.",
            )
        if not self.is_fitted:
            raise _not_fitted("The equations are not known yet.", fix="Call scm.fit(X) first.")

    def equations(self) -> list[str]:
        """The structural equations in words."""
        return [m.equation(node) if m else f"{node}: no equation" for node, m in self.mechanisms_.items()]

    def equation_records(self) -> tuple[EquationRecord, ...]:
        """The structural equations as data: node, causes, kind of mechanism, its numbers, and the text."""
        return tuple(record_of(node, self.causes(node), m) for node, m in self.mechanisms_.items())

    def learned_by(self) -> dict[str, str]:
        """What learned each equation, with its settings; equations that were given are left out."""
        used = {node: self.mechanisms.get(node, self.default) for node, m in self.mechanisms_.items() if m is not None}
        learners = {
            node: one.estimator if isinstance(one, Regressor) else one
            for node, one in used.items()
            if not isinstance(one, Parsed)
        }
        return {node: " ".join(repr(one).split()) for node, one in learners.items()}

    def abduct(self, X: Any) -> pd.DataFrame:
        """Each person's noise: x - f(causes); for levels see their mechanism; for a root, its value."""
        model, frame, matrix = self._enter(X)
        noise = model.encoding_.decode(matrix, frame.index)
        for node, mechanism in model.mechanisms_.items():
            if mechanism is None:
                raise _cannot_abduct(node)
            k = model.encoding_.position(node)
            noise[node] = model._bound[node].abduct(matrix[:, k], model._parents(node, matrix))
        return noise

    def predict(self, noise: Any, do: Mapping[str, Any] | None = None) -> pd.DataFrame:
        """The values that follow from noises, under interventions `do`.

        Each sets one value, one a person, or a function of what follows from the noises alone.
        """
        frame = read_frame(noise, what="noise")
        levels = [node for node, given in self.mechanisms.items() if isinstance(given, DiscreteMechanism)]
        if levels and not self.is_fitted:
            raise _not_fitted(
                f"Noise does not say what the levels of {listed(levels)} are.", fix="Call scm.fit(X) first."
            )
        model = self.ready(frame)
        model.graph.require(frame.columns)
        matrix = np.empty((len(frame), len(model.graph.nodes)))
        # What is no mapping is refused by `_settings`.
        asks = isinstance(do, Mapping) and any(map(callable, do.values()))
        factual = self.predict(noise) if asks else frame
        settings = model._settings({} if do is None else do, factual)
        for k, node in enumerate(model.graph.nodes):
            if node in settings:
                matrix[:, k] = settings[node]
            elif node not in model.mechanisms_:
                matrix[:, k] = model.encoding_.columns[k].encode(frame[node])
            elif model.mechanisms_[node] is None:
                raise _cannot_abduct(node)
            else:
                own = frame[node].to_numpy(dtype=np.float64)
                matrix[:, k] = model._bound[node].predict(own, model._parents(node, matrix))
        return model.encoding_.decode(matrix, frame.index)

    def counterfactual(self, X: Any, do: Mapping[str, Any]) -> pd.DataFrame:
        """What each person would look like under the interventions `do`: abduct, act, predict.

        Parameters
        ----------
        X
            Factual people.
        do
            Node -> a value for everybody, one a person (a Series is matched by its index), or a function of their
            factual values, such as ``lambda v: 1.1 * v``. Setting a node to its factual value holds it.

        Returns
        -------
        The table X with the nodes of the graph replaced; other columns and the index are X's own.
        """
        model, frame, matrix = self._enter(X)
        settings = model._settings(do, frame)
        values, intervention_mask = matrix.copy(), np.zeros(matrix.shape, dtype=bool)
        for node, setting in settings.items():
            k = model.encoding_.position(node)
            values[:, k], intervention_mask[:, k] = setting, True
        moved, unknown = model.propagate(matrix, intervention_mask, values)
        for node, whom in unknown.items():
            raise _no_value(node, frame.index[whom][0]) if model.mechanisms_[node] else _cannot_abduct(node)
        changed = frame.copy(deep=False)
        for name, column in model.encoding_.decode(moved, frame.index).items():
            changed[name] = column
        return changed

    def propagate(self, matrix: Floats, intervention_mask: Bools, values: Floats) -> tuple[Floats, dict[str, Bools]]:
        """Counterfactuals of encoded people: x'_j = value where the mask is set, else what causes and noise lead to.

        For an additive equation that is x_j + f_j(causes') - f_j(causes). Nodes without an equation, and those whose
        equation has no value there, keep theirs; the second result says, for each of them, for whom a cause moved, so
        that this is not known.
        """
        moved = matrix.copy()
        touched: set[str] = set()
        unknown: dict[str, npt.NDArray[np.bool_]] = {}
        for k, node in enumerate(self.graph.nodes):
            follows = any(parent in touched for parent in self.graph.parents(node))
            picked = intervention_mask[:, k]
            if follows and self.mechanisms_[node] is None:
                positions = [self.encoding_.position(parent) for parent in self.graph.parents(node)]
                before = matrix[:, positions]
                unit = self.units[positions]
                shifted = (np.abs(moved[:, positions] - before) > unit * tolerance(before / unit)).any(axis=1) & ~picked
                if shifted.any():
                    unknown[node] = shifted
            elif follows:
                before, after = self._parents(node, matrix), self._parents(node, moved)
                moved[:, k] = self._bound[node].counterfactual(matrix[:, k], before, after)
                lost = np.isnan(moved[:, k]) & ~np.isnan(matrix[:, k]) & ~picked
                if lost.any():
                    unknown[node], moved[lost, k] = lost, matrix[lost, k]
            if picked.any():
                moved[:, k] = np.where(picked, values[:, k], moved[:, k])
            if follows or picked.any():
                touched.add(node)
        return moved, unknown

    @property
    def units(self) -> Floats:
        """For each node a power of two near the spread of its values; 1 where only some values are possible."""
        if self._units is None:
            self._units = np.array([column.unit_in(self.reference_) for column in self.encoding_.columns])
        return self._units

    def in_units(self, units: Floats) -> StructuralCausalModel:
        """The same fitted model of people whose nodes are multiples of units, which are powers of two."""
        # A plain copy would leave out, and make again, what is not saved.
        twin = object.__new__(type(self))
        twin.__dict__.update(self.__dict__)
        twin.encoding_, twin._units = self.encoding_.in_units(units), self.units / units
        own = dict(zip(self.graph.nodes, units.tolist(), strict=True))
        twin._bound, twin.mechanisms_ = {}, dict(self.mechanisms_)
        for node, equation in self._bound.items():
            causes = np.array([own[parent] for parent in self.graph.parents(node)])
            twin._bound[node] = equation.in_units(causes, own[node])
            mechanism = self.mechanisms_[node]
            if isinstance(mechanism, Linear):
                twin.mechanisms_[node] = mechanism.in_units(own, own[node])
        return twin

    def _parents(self, node: str, matrix: Floats) -> Floats:
        return matrix[:, [self.encoding_.position(parent) for parent in self.graph.parents(node)]]

    def _enter(self, X: Any) -> tuple[StructuralCausalModel, pd.DataFrame, Floats]:
        frame = read_frame(X)
        model = self.ready(frame)
        model.graph.require(frame.columns)
        screen(frame, model.graph.nodes, "error")
        matrix = model.encoding_.encode(frame)
        return model, frame, matrix

    def _settings(self, do: Mapping[str, Any], frame: pd.DataFrame) -> dict[str, Floats]:
        takes = 'a mapping from node to value, such as {"age": 40}'
        check_mapping("do", do, takes, error=CausalModelError, code="SCM_DO")
        settings, index, n = {}, frame.index, len(frame)
        for node, value in do.items():
            if node not in self.graph.nodes:
                raise CausalModelError(
                    "SCM_DO",
                    f"do names {node!r}, which is not in the graph. {closest(node, self.graph.nodes)}".rstrip(),
                    fix=f"The nodes are {listed(self.graph.nodes, 20)}.",
                )
            if callable(value):
                value = of_factual(value, frame[node], f"do[{node!r}]")
            if np.shape(value) == (n,):
                value = aligned(value, index, f"do[{node!r}]", "values.loc[X.index]", derived=True)
            if np.ndim(value) != 0 and np.shape(value) != (n,):
                raise ParameterError(
                    "SCM_DO",
                    f"do sets {node!r} with values of shape {np.shape(value)} for {n} people.",
                    fix="Give one value for everybody, or one a person.",
                )
            if isinstance(value, int) and not is_number(value) and not isinstance(value, bool):
                raise refused(f"do[{node!r}]", value, "a value that a float can hold", code="SCM_DO")
            series = pd.Series(np.full(n, value) if np.ndim(value) == 0 else np.asarray(value), name=node)
            settings[node] = self.encoding_[node].encode(series)
            if not np.isfinite(settings[node]).all():
                raise ParameterError(
                    "SCM_DO", f"do sets {node!r} to a value that is not finite.", fix="Give finite values."
                )
        return settings

    def without_people(self) -> StructuralCausalModel:
        """The same fitted model without those whom it was fitted on: for whoever only follows its equations."""
        twin = copy(self)
        nodes = list(self.graph.nodes)
        twin.reference_ = self.reference_.iloc[:0][nodes]
        twin.forgotten_ = (*self.forgotten_, *self.reference_.columns.difference(nodes, sort=False))
        return twin

    def __getstate__(self) -> dict[str, Any]:
        # The bound equations are made again on loading. Of the people it was fitted on only the values of the nodes
        # travel, since scales come from them: neither who these people are nor what else was known of them.
        state = {key: value for key, value in self.__dict__.items() if key != "_bound"}
        if self.is_fitted:
            nodes = list(self.graph.nodes)
            state["reference_"] = self.reference_[nodes].reset_index(drop=True)
            state["forgotten_"] = (*self.forgotten_, *self.reference_.columns.difference(nodes, sort=False))
        return state

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        if self.is_fitted:
            self._bound = bound_equations(self.graph, self.encoding_, self.mechanisms_)

    # Fitted attributes, declared for readers and type checkers.
    mechanisms_: dict[str, Parsed | None]
    encoding_: Encoding
    diagnostics_: pd.DataFrame
    warnings_: tuple[EquieffortWarning, ...]
    reference_: pd.DataFrame
    forgotten_: tuple[str, ...] = ()
    """Columns of the reference data that were left behind when the model was saved."""
    _bound: dict[str, Additive | Discrete]
    _units: Floats | None = None


def _no_value(node: str, person: Any) -> CausalModelError:
    return CausalModelError(
        "SCM_NO_VALUE",
        f"The equation of {node!r} has no value for the person {label(person)}: it divides by 0, before or after.",
        fix="Leave these people out, or set its causes otherwise.",
    )


def _cannot_abduct(node: str) -> CausalModelError:
    return CausalModelError(
        "SCM_CANNOT_ABDUCT",
        f"Cannot abduct {node!r}: it is a category with causes, and no equation moves it.",
        fix=(
            Setting("do"),
            " it immutable in ",
            Setting("the schema"),
            ", remove the edges into it, or code it as a number; if its levels have an order, give ",
            Setting("ordinal", of=node),
            ".",
        ),
    )
