"""Sums of trees in a person's program: a switch a threshold, shared by all trees, and a leaf of each tree."""

from __future__ import annotations

import numpy as np

from equieffort.data.frames import Floats
from equieffort.foundations.tolerances import ASIDE, BESIDE, TIED
from equieffort.models.classifiers import TreeView
from equieffort.recourse.problem import RecourseProblem
from equieffort.recourse.solvers.milp.model import Model, Reach
from equieffort.recourse.solvers.milp.networks import add_goals
from equieffort.recourse.solvers.milp.program import NOTHING, Form
from equieffort.recourse.solvers.rule_table import RuleTable


def add_trees(model: Model, view: TreeView) -> None:
    """Leaves whose path agrees with the switches; the margins they add up to reach what is asked."""
    _Trees(model, view).add()


def useful_reach(problem: RecourseProblem, rules: RuleTable, view: TreeView, facts: Floats) -> Reach:
    """How far an action that moves only its own column can make a difference: just past the outermost thresholds."""
    graph = problem.scm.graph
    found: Reach = {}
    for j, k in enumerate(problem.numeric):
        name = problem.names[k]
        if k in rules.columns or (name in graph.nodes and graph.descendants(name)):
            continue
        at = view.threshold[(view.feature == k) & (view.subset < 0)]
        aside = BESIDE * (1.0 + np.abs(at)) + float(problem.is_integer[j])
        fact = float(facts[0, k])
        found[j] = (float((fact - at + aside).max(initial=0.0)), float((at + aside - fact).max(initial=0.0)))
    return found


class _Trees:
    def __init__(self, model: Model, view: TreeView) -> None:
        self.model, self.view = model, view
        self.gates: dict[tuple[int, float], Form] = {}
        self.ends: dict[int, tuple[float, float]] = {}

    def add(self) -> None:
        view, program = self.view, self.model.program
        usable = self._usable()
        margins = [Form({}, float(value)) for value in view.base]
        size = np.abs(view.base)
        for root in view.roots.tolist():
            found = self._walk(root, {}, usable)
            if not found:
                program.row(NOTHING, low=1.0)
                return
            values = view.values[list(found)]
            size = size + np.abs(values).max(axis=0)
            if usable is None and len(found) == 1:
                self.model.only.update(found)
                margins = [form.plus(Form({}, float(value))) for form, value in zip(margins, values[0], strict=True)]
                continue
            program.row(Form(dict.fromkeys(found.values(), 1.0)), 1.0, 1.0)
            self.model.leaves.update(found)
            for m, form in enumerate(margins):
                added = {variable: float(view.values[leaf, m]) for leaf, variable in found.items()}
                margins[m] = form.plus(Form(added))
        if usable is None:
            loose = view.error + TIED * size
            add_goals(self.model, view.goals.sets, margins, loose, np.zeros(len(margins)))

    def _usable(self) -> set[int] | None:
        """Of a single tree the leaves that can be favourable: then no margin is left to be reached."""
        view = self.view
        if not view.is_tree:
            return None
        leaves = np.flatnonzero(view.feature < 0)
        margins = view.base + view.values[leaves] if view.own is None else view.own.margins(leaves[:, None])
        least = self.model.problem.margin
        good = view.goals.met(margins, least) | view.goals.met(margins + view.error, least)
        return set(leaves[good].tolist())

    def _walk(self, node: int, known: dict[int, tuple[float, float]], usable: set[int] | None) -> dict[int, int]:
        """Leaf -> variable for the leaves below a node that can be reached, with the rows that tie them to switches."""
        view, program = self.view, self.model.program
        k = int(view.feature[node])
        if k < 0:
            if usable is not None and node not in usable:
                return {}
            return {node: program.variable(0.0, 1.0, implied=True)}
        gate, below, above = self._gate(node, k, known), known, known
        if not gate.weights:
            return self._walk(int((view.left if gate.constant else view.right)[node]), known, usable)
        if view.subset[node] < 0:
            threshold, (low, high) = float(view.threshold[node]), known.get(k, (-np.inf, np.inf))
            below, above = known | {k: (low, threshold)}, known | {k: (threshold, high)}
        left = self._walk(int(view.left[node]), below, usable)
        right = self._walk(int(view.right[node]), above, usable)
        program.row(Form(dict.fromkeys(left.values(), 1.0)).plus(gate, -1.0), high=0.0)
        program.row(Form(dict.fromkeys(right.values(), 1.0)).plus(gate), high=1.0)
        return left | right

    def _gate(self, node: int, k: int, known: dict[int, tuple[float, float]]) -> Form:
        """What is 1 where a node sends the person left; a constant where that is certain."""
        view, model = self.view, self.model
        if view.subset[node] >= 0:
            goes_left = view.subsets[view.subset[node]]
            if k not in model.levels:
                return Form({}, float(goes_left[int(model.fact(k))]))
            codes = [code for code, switch in enumerate(model.levels[k]) if model.program.upper[switch] > 0]
            sides = {bool(goes_left[code]) for code in codes}
            if len(sides) == 1:
                return Form({}, float(sides.pop()))
            return Form({model.levels[k][code]: 1.0 for code in codes if goes_left[code]})
        threshold, (low, high) = float(view.threshold[node]), known.get(k, (-np.inf, np.inf))
        if threshold >= high or threshold <= low:
            return Form({}, float(threshold >= high))
        return self._threshold(k, threshold)

    def _threshold(self, k: int, threshold: float) -> Form:
        """What is 1 where a column is at most a threshold; a constant where that is certain."""
        if (k, threshold) not in self.gates:
            self.gates[k, threshold] = self._new_threshold(k, threshold)
        return self.gates[k, threshold]

    def _new_threshold(self, k: int, threshold: float) -> Form:
        model, program = self.model, self.model.program
        change, fact = model.changes[k], model.fact(k)
        if not change.weights:
            return Form({}, float(fact <= threshold))
        if k not in self.ends:
            self.ends[k] = model.ends(k)
        low, high = self.ends[k]
        aside = ASIDE * (1.0 + abs(threshold))
        least, most = threshold - fact, threshold - fact
        if model.is_whole(k):
            least, most, aside = np.floor(threshold) - fact, np.floor(threshold) + 1.0 - fact, 0.0
        else:
            box = self._box(k)
            if box is not None and (box[1] <= threshold or box[0] > threshold):
                return Form({}, float(box[1] <= threshold))
        if (high <= 0 and fact <= threshold) or (low >= 0 and fact > threshold):
            # What can only fall, or only rise, does so in floating point too: sums of terms are monotone in each.
            return Form({}, float(fact <= threshold))
        if high < least - aside or (aside == 0.0 and high <= least):
            return Form({}, 1.0)
        if low > most + aside or (aside == 0.0 and low >= most):
            return Form({}, 0.0)
        name = model.problem.names[k]
        switch = program.switch()
        below = Form({switch: 1.0})
        # At most the threshold with the switch, at least it without; what is set can be put on the threshold itself.
        drop = 0.0 if self._box(k) is not None else aside
        if program.need(high, what=name):
            program.row(change.plus(below, high - least), high=high, drop=drop)
        if program.need(low, what=name):
            program.row(change.plus(below, most - low), low=most, rise=aside)
        model.branching_bounds.append((k, threshold, switch))
        self._order(k, threshold, switch)
        return below

    def _box(self, k: int) -> tuple[float, float] | None:
        """The values that may be set of a column that only an action can move."""
        problem = self.model.problem
        if k not in problem.numeric or problem.numeric.index(k) in self.model.set_:
            return None
        j = problem.numeric.index(k)
        low, high = problem.action_box(self.model.facts)
        return float(low[0, j]), float(high[0, j])

    def _order(self, k: int, threshold: float, switch: int) -> None:
        """Whoever is at most a lower threshold is at most a higher one."""
        others = [(t, s) for c, t, s in self.model.branching_bounds if c == k and s != switch]
        lower = max((pair for pair in others if pair[0] < threshold), default=None)
        higher = min((pair for pair in others if pair[0] > threshold), default=None)
        if lower is not None:
            self.model.program.row(Form({lower[1]: 1.0, switch: -1.0}), high=0.0)
        if higher is not None:
            self.model.program.row(Form({switch: 1.0, higher[1]: -1.0}), high=0.0)


def leaf_switches(model: Model, view: TreeView, moved: Floats) -> list[int]:
    """The variables of the leaves that a person falls into, of trees in which there is a choice.

    None at all if the program does not have one of these leaves: then its own point lies elsewhere.
    """
    own = view.leaves(moved)[0].tolist()
    if any(leaf not in model.leaves and leaf not in model.only for leaf in own):
        return []
    return [model.leaves[leaf] for leaf in own if leaf in model.leaves]
