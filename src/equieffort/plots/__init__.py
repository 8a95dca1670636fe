"""Pictures of an audit. Each returns a matplotlib figure; the numbers behind it come from the method it names."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from equieffort.effort.metrics import PAPER_QUANTILES
from equieffort.errors import ParameterError
from equieffort.notions.huang import EqualityOfEffort
from equieffort.plots.equality_of_effort import draw_equality_of_effort
from equieffort.plots.facts import draw_facts
from equieffort.plots.figures import COLOURS, NO_WIDTH, STYLES, new_figure, plain_legend
from equieffort.plots.forest import draw_measures
from equieffort.plots.group_routes import draw_group_routes
from equieffort.plots.rewards import draw_effort_rewards, draw_situation_testing, draw_steps
from equieffort.plots.twins import draw_causal_discrimination, draw_counterfactual_fairness, draw_fair_causal_recourse
from equieffort.words.shown import level_text

if TYPE_CHECKING:
    from equieffort.notions.discrimination import CausalDiscrimination
    from equieffort.notions.fair_causal_recourse import FairCausalRecourse
    from equieffort.notions.group_routes import GroupRoutes
    from equieffort.notions.rewards import Rewards
    from equieffort.notions.situation_testing import SituationTesting
    from equieffort.results.audits import Audit


class AuditPlots:
    """Draws one audit."""

    def __init__(self, audit: Audit) -> None:
        self.audit = audit

    def acr(self, quantiles: Sequence[float] = PAPER_QUANTILES) -> Any:
        """ACR against the quantile with its 95 % confidence limits; the numbers are `audit.curve(quantiles)`."""
        figure, axes = new_figure()
        curve, names = self.audit.curve(quantiles), self.audit.recourse.groups.name
        for k, ((group, against), part) in enumerate(curve.groupby(["group", "against"], sort=False)):
            colour, style = COLOURS[k % len(COLOURS)], STYLES[k % len(STYLES)]
            name = f"{names(str(group))} against {names(str(against))}"
            name = f"{NO_WIDTH}{name}" if name.startswith("_") else name
            axes.plot(part["quantile"], part["acr"], style, color=colour, marker="o", markersize=3, label=name)
            axes.fill_between(part["quantile"], part["acr_low"], part["acr_high"], color=colour, alpha=0.15, lw=0)
        tau = self.audit.criteria.tau
        axes.axhspan(
            *self.audit.criteria.rule.ends(tau), color="0.5", alpha=0.12, lw=0, label=f"equal within tau = {tau:g}"
        )
        axes.axhline(1, color="0.4", lw=0.8)
        axes.set(xlabel="share of all people counted as neighbours", ylabel="effort of own group / other group (ACR)")
        plain_legend(axes.legend(frameon=False))
        return figure

    def measures(self) -> Any:
        """The judged measures over the zone that counts as equal, then two more; the numbers are `audit.measures`."""
        return draw_measures(self.audit)

    def facts(self) -> Any:
        """Effectiveness against effort, micro and macro; the notions are in `audit.notions()`."""
        return draw_facts(self.audit)

    def counterfactual_fairness(self) -> Any:
        """Efforts of the refused, split by whether another group's attributes would turn the decision: the paper's box
        plot; the numbers are `audit.counterfactual_fairness().efforts`."""
        return draw_counterfactual_fairness(self.audit.counterfactual_fairness())

    def fair_causal_recourse(self, found: FairCausalRecourse | None = None) -> Any:
        """Each refused person's effort beside that of their twin in another group; the numbers are
        `audit.fair_causal_recourse().people`. Give what that returned, so that twins are not solved again."""
        return draw_fair_causal_recourse(self.audit.fair_causal_recourse() if found is None else found)

    def causal_discrimination(self, found: CausalDiscrimination | None = None) -> Any:
        """Shares whose label the sensitive columns alone change, by group and over the domain; the numbers are
        `audit.causal_discrimination().frame()`."""
        return draw_causal_discrimination(self.audit.causal_discrimination() if found is None else found)

    def situation_testing(self, found: SituationTesting | None = None) -> Any:
        """Approvals among the people most like each person, in the own group and in the other; the numbers are
        `audit.situation_testing().people`."""
        return draw_situation_testing(self.audit.situation_testing() if found is None else found)

    def effort_rewards(self, found: Rewards | None = None) -> Any:
        """The share of each group's refused whom an effort turns, by rank within the own group and by the audit's own
        cost; the numbers are `audit.effort_rewards().people`. Give what that returned, to solve nothing again."""
        made = self.audit.effort_rewards() if found is None else found
        if made.recourse is None:
            raise ParameterError(
                "PARAMETER", "There are no efforts by rank to draw.", fix='Give effort_rewards() of benefit="decision".'
            )
        return draw_effort_rewards(made, self.audit.recourse)

    def group_routes(self, found: GroupRoutes | None = None) -> Any:
        """The Pareto front of menus of routes, a panel a group; the numbers are `audit.group_routes().front`.

        Open marks are the people routes were chosen on, filled ones with intervals those they are measured on.
        """
        return draw_group_routes(found if found is not None else self.audit.group_routes())

    def effort_curve(self, *, difference: bool = False) -> Any:
        """The share of each group's refused whom an effort turns; the numbers are `audit.effort_curve(...)`."""
        figure, axes = new_figure()
        found = self.audit.effort_curve(difference=difference)
        value = "difference" if difference else "share"
        last = float(np.nanmax(found["effort"], initial=0.0)) or 1.0
        keys = ["group", "against"] if difference else ["group"]
        draw_steps(axes, found, value, keys, self.audit.recourse.groups.name, last)
        if difference:
            axes.axhline(0, color="0.4", lw=0.8)
            axes.set_ylabel("difference of the shares")
        else:
            axes.set_ylim(0, 1)
            axes.set_ylabel("share of refused people whom it turns")
        axes.set_xlabel(f"effort ({level_text(self.audit.criteria)} band for the whole curve)")
        return figure

    def equality_of_effort(self, treatment: str | EqualityOfEffort, **asked: Any) -> Any:
        """The groups' curves E[Y(t)] and what each needs for gamma; the numbers are `audit.equality_of_effort(...)`."""
        found = treatment if isinstance(treatment, EqualityOfEffort) else None
        return draw_equality_of_effort(found or self.audit.equality_of_effort(str(treatment), **asked))
