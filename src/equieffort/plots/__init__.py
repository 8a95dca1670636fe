"""Pictures of results. Each is a `Display`: `svg` and `frame()` always, a matplotlib figure after `plot()`."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any

import pandas as pd

from equieffort.effort.metrics import PAPER_QUANTILES, individual_ratios
from equieffort.errors import EquieffortError, ParameterError
from equieffort.notions.comparing import Found
from equieffort.notions.huang import EqualityOfEffort
from equieffort.plots.charts import bars_frame, chart_in, display, nothing, without
from equieffort.plots.curves import draw_acr, draw_effort_curve, show_effort_differences
from equieffort.plots.display import Display
from equieffort.plots.equality_of_effort import show_equality_of_effort
from equieffort.plots.facts import show_facts
from equieffort.plots.families import (
    show_awareness,
    show_boundary_distance,
    show_improvement,
    show_responsiveness,
    show_social_burden,
)
from equieffort.plots.forest import draw_measures, measures_frame
from equieffort.plots.group_routes import show_group_routes
from equieffort.plots.notions import show_notions
from equieffort.plots.rewards import show_effort_rewards, show_situation_testing
from equieffort.plots.twins import show_causal_discrimination, show_counterfactual_fairness, show_fair_causal_recourse
from equieffort.recourse.status import Status
from equieffort.report import alike, assumptions, blocked, burdens, overview, people
from equieffort.report.blocks import Chart
from equieffort.report.material import Material
from equieffort.words.shown import level_text

if TYPE_CHECKING:
    from equieffort.notions.collection import Notions
    from equieffort.notions.discrimination import CausalDiscrimination
    from equieffort.notions.fair_causal_recourse import FairCausalRecourse
    from equieffort.notions.group_routes import GroupRoutes
    from equieffort.notions.rewards import Rewards
    from equieffort.notions.situation_testing import SituationTesting
    from equieffort.results.audits import Audit

__all__ = ["AuditPlots", "Display"]


class AuditPlots:
    """Pictures of one audit: those of its report, and those of notions beside equality of effort.

    Like exports they keep nothing back: `suppress_below` is about the report.
    """

    def __init__(self, audit: Audit) -> None:
        self.audit = audit

    def __dir__(self) -> list[str]:
        # What completion shows is pictures.
        return [name for name in super().__dir__() if name != "audit"]

    def __repr__(self) -> str:
        names = [name for name in dir(self) if not name.startswith("_")]
        first = [f"{name}()" for name in REPORT.values()]
        others = [f"{name}()" for name in names if name not in REPORT.values()]
        return "\n".join(["Pictures of the report: " + ", ".join(first), "Of other notions: " + ", ".join(others)])

    @cached_property
    def _material(self) -> Material:
        return Material.of(self.audit, 0)

    # -- the report's pictures ----------------------------------------------------------------------------------------

    def measures(self) -> Display:
        """The judged measures over the zone that counts as equal, then two more: rows of `audit.measures`."""
        return display(
            "measures", overview.forest(self._material), lambda: measures_frame(self.audit),
            lambda canvas: draw_measures(self.audit, canvas),
        )  # fmt: skip

    def rates(self) -> Display:
        """The share of each group that is approved; the numbers are of `audit.to_frame("groups")`."""
        columns = ["role", "n", "n_unfavourable", "favourable_rate"]
        return display(
            "rates", chart_in(people.people(self._material), "rates"), lambda: self.audit.system.groups[columns]
        )

    def acr(self, quantiles: Sequence[float] = PAPER_QUANTILES) -> Display:
        """ACR against the quantile with its 95 % confidence limits; the numbers are `audit.curve(quantiles)`."""
        if self._no_distance:
            return nothing("acr", self._no_distance, AROUND[1:])
        curve = self.audit.curve(quantiles)
        found = alike.ratio_chart(self._material, curve)
        if not isinstance(found, Chart):
            return nothing("acr", self._nobody or f"{UNDEFINED} in any neighbourhood.", lambda: curve)
        return display("acr", found, lambda: curve, lambda canvas: draw_acr(self.audit, curve, canvas))

    def individual_acr(self) -> Display:
        """The ratio around each refused person among the people like them; a row a refused person."""
        near = self._material.near
        if isinstance(near, EquieffortError):
            return nothing("individual_acr", near.what, AROUND)
        found = alike.individual_chart(self._material, near)
        if not isinstance(found, Chart):
            return nothing("individual_acr", self._nobody or f"{UNDEFINED} around anybody.", self._around)
        return display("individual_acr", found, self._around)

    def _around(self) -> pd.DataFrame:
        near, rows = self._material.near, []
        assert not isinstance(near, EquieffortError)
        for one in self._material.pairs:
            mine = one.mine.members[near.sweep.centres]
            ratios = individual_ratios(near.sweep, *one.slots)[mine, 0]
            for row, ratio in zip(near.sweep.centres[mine].tolist(), ratios.tolist(), strict=True):
                rows.append([self.audit.recourse.index[row], one.mine.label, one.theirs.label, ratio])
        return pd.DataFrame(rows, columns=AROUND)

    def effort_curve(self, *, difference: bool = False) -> Display:
        """The share of each group's refused whom an effort turns; the numbers are `audit.effort_curve(...)`."""
        if difference:
            shown = show_effort_differences(self.audit)
            return nothing(shown.name, self._nobody, shown.frame) if self._nobody else shown
        chart = chart_in(burdens.costs(self._material), "effort-curve")
        if chart is None:
            return nothing("effort_curve", self._nobody, self.audit.effort_curve)
        return display(
            "effort_curve", chart, self.audit.effort_curve, lambda canvas: draw_effort_curve(self.audit, canvas)
        )

    def limits(self) -> Display:
        """Which limits stop people without a route, by group: how many people."""
        chart = chart_in(blocked.no_recourse(self._material), "limits")
        frame = pd.DataFrame(columns=["limit", "group", "people"])
        if chart is not None:
            frame = bars_frame(chart.given["blocks"], "limit", "people")
        open_ones = bool((self.audit.recourse.status == Status.UNKNOWN).any())
        why = (
            "Of nobody is it proven that there is no route." if open_ones else "Nobody is without a route to approval."
        )
        return display("limits", chart, lambda: frame, missing=why)

    def actions(self) -> Display:
        """How often cheapest actions change each feature: shares of those with a route, by group."""
        return self._of_actions("actions", "mix", "share")

    def feature_effort(self) -> Display:
        """What each feature adds to the mean effort of those with a route, by group."""
        return self._of_actions("feature_effort", "effort", "mean_effort")

    def _of_actions(self, name: str, chart_name: str, value: str) -> Display:
        chart = chart_in(burdens.actions(self._material), chart_name)
        frame = pd.DataFrame(columns=["feature", "group", value])
        if chart is not None:
            frame = bars_frame(chart.given["blocks"], "feature", value)
        return display(name, chart, lambda: frame, missing=self._nobody)

    def graph(self) -> Display:
        """The causal graph with each feature's role; a row an edge."""
        edges = pd.DataFrame(list(self.audit.provenance.graph.edges), columns=["cause", "effect"])
        return display("graph", assumptions.graph(self._material), lambda: edges)

    @cached_property
    def _nobody(self) -> str:
        """Why there are no efforts to draw; empty where there are."""
        if not self.audit.recourse.is_unfavourable.any():
            return "Nobody was refused."
        return "" if self.audit.recourse.has_action.any() else "No route to approval is known of anybody refused."

    @cached_property
    def _no_distance(self) -> str:
        """Why nobody can be said to be like others; empty where they can."""
        near = self._material.near
        return near.what if isinstance(near, EquieffortError) else ""

    # -- notions beside equality of effort ----------------------------------------------------------------------------

    def notions(self, found: Notions | None = None) -> Display:
        """Measures and notions of the first comparison, a line each: which side the interval lies on. Each line has a
        scale of its own; the numbers are of `audit.measures` and `audit.notions().frame()`. Give what that returned, so
        that the model is not asked again."""
        kept = self.audit.provenance.notions if found is None else found
        if kept is None and self._no_distance:
            return nothing("notions", self._no_distance, ["notion"])
        return show_notions(self.audit, self.audit.notions() if kept is None else kept, self._level)

    def boundary_distance(self, found: Found | None = None) -> Display:
        """How far each refused person is from the boundary, and each group's mean; the numbers are
        `audit.boundary_distance().frame()` and `.people`."""
        given = self.audit.boundary_distance() if found is None else found
        return without(given, lambda: show_boundary_distance(given, self.audit.recourse.groups, self._level))

    def fairness_through_awareness(self, found: Found | None = None) -> Display:
        """In how many of their pairs each person is scored too differently, against their own score; the numbers are
        `audit.fairness_through_awareness().people`."""
        if found is None and self._no_distance:
            return nothing("fairness_through_awareness", self._no_distance, ["group", "p", "pairs", "violations"])
        given = self.audit.fairness_through_awareness() if found is None else found
        return without(given, lambda: show_awareness(given, self.audit.recourse.groups))

    def responsiveness(self, found: Found | None = None) -> Display:
        """How often each feature alone helps, and how often nothing does; the numbers are
        `audit.responsiveness().frame()`."""
        given = self.audit.responsiveness() if found is None else found
        return without(given, lambda: show_responsiveness(given, self.audit.recourse.groups, self._level))

    def improvement_only(self, causes: Sequence[str] | Found) -> Display:
        """Each refused person's effort with all actions beside that with actions on causes alone; the numbers are
        `audit.improvement_only(causes).people`. Give causes, or what that returned."""
        found = causes if isinstance(causes, Found) else self.audit.improvement_only(causes)
        return without(found, lambda: show_improvement(found, self.audit.recourse.groups))

    def social_burden(self, labels: Any) -> Display:
        """The share of deserving people who are asked for more than each effort, by group; the numbers are
        `audit.social_burden(labels).people`. Give labels, or what that returned."""
        found = labels if isinstance(labels, Found) else self.audit.social_burden(labels)
        return without(found, lambda: show_social_burden(found, self.audit.recourse.groups))

    @property
    def _level(self) -> str:
        return level_text(self.audit.criteria)

    def facts(self) -> Display:
        """Effectiveness against effort, micro and macro; the notions are in `audit.notions()`."""
        shown = show_facts(self.audit)
        return nothing("facts", self._nobody, shown.frame) if self._nobody else shown

    def counterfactual_fairness(self) -> Display:
        """Efforts of the refused, split by whether another group's attributes would turn the decision: the paper's box
        plot; the numbers are `audit.counterfactual_fairness().efforts`."""
        shown = show_counterfactual_fairness(self.audit.counterfactual_fairness())
        return nothing(shown.name, self._nobody, shown.frame) if self._nobody else shown

    def fair_causal_recourse(self, found: FairCausalRecourse | None = None) -> Display:
        """Each refused person's effort beside that of their twin in another group; the numbers are
        `audit.fair_causal_recourse().people`. Give what that returned, so that twins are not solved again."""
        given = self.audit.fair_causal_recourse() if found is None else found
        if not (given.people["outcome"] == "compared").any():
            why = self._nobody or "Nobody and their twin both have a known route to approval."
            return nothing("fair_causal_recourse", why, lambda: given.people)
        return show_fair_causal_recourse(given)

    def causal_discrimination(self, found: CausalDiscrimination | None = None) -> Display:
        """Shares whose label the sensitive columns alone change, by group and over the domain; the numbers are
        `audit.causal_discrimination().frame()`."""
        return show_causal_discrimination(self.audit.causal_discrimination() if found is None else found)

    def situation_testing(self, found: SituationTesting | None = None) -> Display:
        """Approvals among the people most like each person, in the own group and in the other; the numbers are
        `audit.situation_testing().people`."""
        given = self.audit.situation_testing() if found is None else found
        if len(given.people) and given.people["difference"].isna().all():
            return nothing("situation_testing", "Too few people to be compared.", lambda: given.people)
        return without(given, lambda: show_situation_testing(given))

    def effort_rewards(self, found: Rewards | None = None) -> Display:
        """The share of each group's refused whom an effort turns, by rank within the own group and by the audit's own
        cost; the numbers are `audit.effort_rewards().people`. Give what that returned, to solve nothing again."""
        made = self.audit.effort_rewards() if found is None else found
        if made.recourse is None:
            raise ParameterError(
                "PARAMETER", "There are no efforts by rank to draw.", fix='Give effort_rewards() of benefit="decision".'
            )
        if self._nobody and not made.recourse.has_action.any():
            return nothing("effort_rewards", self._nobody, lambda: made.people)
        return show_effort_rewards(made, self.audit.recourse)

    def group_routes(self, found: GroupRoutes | None = None) -> Display:
        """The Pareto front of menus of routes, a panel a group; the numbers are `audit.group_routes().front`.

        Open marks are the people routes were chosen on, filled ones with intervals those they are measured on.
        """
        given = self.audit.group_routes() if found is None else found
        if not len(given.front):
            return nothing("group_routes", self._nobody or "No route turns anybody.", lambda: given.front)
        return show_group_routes(given)

    def equality_of_effort(self, treatment: str | EqualityOfEffort, **asked: Any) -> Display:
        """The groups' curves E[Y(t)] and what each needs for gamma; the numbers are `audit.equality_of_effort(...)`."""
        found = treatment if isinstance(treatment, EqualityOfEffort) else None
        return show_equality_of_effort(found or self.audit.equality_of_effort(str(treatment), **asked))


UNDEFINED = "The ratio of efforts is not defined"
AROUND = ["person", "group", "against", "ratio"]
REPORT = {
    "measures": "measures", "rates": "rates", "acr": "acr", "individual-acr": "individual_acr",
    "effort-curve": "effort_curve", "limits": "limits", "mix": "actions", "effort": "feature_effort", "graph": "graph",
}  # fmt: skip
"""Each picture of the report -> the method that gives it."""
