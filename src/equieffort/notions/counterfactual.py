"""Counterfactual fairness: would the decision stay if the person belonged to another group?

A person is treated counterfactually fairly when no level of the sensitive columns changes their decision,

    h(x) = h(x(s')) for every level s',

where x(s') is their twin: s is set and all its descendants follow. The counterfactual fairness ratio (CFR) is the share
of people for whom that holds: of the refused (the paper's), and of everybody (Kusner's). CFR = 1 says that the
sensitive columns alone turn nobody's decision. It says nothing about effort, so efforts are split by it (the paper's
box plot).

References: M. Kusner, J. Loftus, C. Russell, R. Silva (2017), Counterfactual Fairness, NeurIPS; H. Chockler, J. Halpern
(2022), On Testing for Discrimination Using Causal Models, AAAI; F. Raimondi, A. Lawrence, H. Chockler (2022).

>>> from sklearn.linear_model import LogisticRegression
>>> import equieffort as ee
>>> X, y = ee.datasets.paper_synthetic(alpha=2, n=400, random_state=0)
>>> model = LogisticRegression().fit(X[["X2", "X3"]], y)
>>> schema = ee.Schema(sensitive="S", protected=0, favourable=1, features={"X2": "actionable", "X3": "actionable"})
>>> scm = ee.StructuralCausalModel([("S", "X2")], nodes=["X3"]).fit(X)
>>> found = ee.audit(model, X, schema=schema, scm=scm).counterfactual_fairness()
>>> rows = found.frame().query("level == ''").set_index(["decided", "group"])
>>> bool(rows.loc[("refused", "0"), "estimate"] < rows.loc[("refused", "1"), "estimate"] == 1)
True
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from math import isnan, nan
from typing import Any, overload

import numpy as np
import pandas as pd

from equieffort.data.frames import Bools
from equieffort.data.output import Other, Output, Pandas, as_output
from equieffort.effort.inference.means import mean_limits
from equieffort.effort.inference.shares import difference
from equieffort.effort.measures import CHANCE, Chance, Spread, sample
from equieffort.errors import ParameterError, closest
from equieffort.foundations.shown import Shown, Told
from equieffort.notions.assigned import bounded
from equieffort.notions.base import Audited, Family, NotApplicable, Notion, NotionReading, require_model
from equieffort.notions.collection import NEEDS_MODEL
from equieffort.notions.shares import Share
from equieffort.notions.twins import EQUATIONS, Levels, TwinDecisions, twins_at
from equieffort.recourse.people import People
from equieffort.recourse.problem import RecourseProblem
from equieffort.recourse.status import Status
from equieffort.world.groups import Groups
from equieffort.world.labels import labels_of

DECIDED = ("refused", "everybody")
TREATED = ("stays", "turns", "undefined")
COUNTED = {Status.INFEASIBLE: "n_infeasible", Status.UNKNOWN: "n_unknown", Status.FEASIBLE: "n_unproven"}
Key = tuple[str, str, str]
"""Population, group, level."""
QUARTILES = ("least", "q1", "median", "q3", "most")


@dataclass(frozen=True, eq=False, repr=False)
class CounterfactualFairness(Shown):
    """Each person's decision at every level of the sensitive columns, and what is read from that."""

    audited: Audited
    problem: RecourseProblem | None
    """None where the decisions were read from a file."""
    decisions: TwinDecisions
    chance: Chance = "people"
    """What the intervals of the ratios allow for."""
    spreads: Mapping[Key, Spread] = field(default_factory=dict)
    """Of each ratio, where people were drawn again."""

    @classmethod
    def of(cls, audited: Audited, problem: RecourseProblem) -> CounterfactualFairness:
        """Ask the model about everybody's twins."""
        table = audited.table
        levels = Levels.of(problem, table.data)
        own, approved = levels.groups.codes, ~table.is_unfavourable
        return cls(audited, problem, TwinDecisions.of(problem, table.data, table.groups, levels, own, approved))

    @property
    def groups(self) -> Groups:
        """Who is in which group."""
        return self.audited.table.groups

    @property
    def stays(self) -> Bools:
        """Whose decision no level changes: those treated counterfactually fairly."""
        return self.decisions.stays

    @overload
    def frame(self, *, output: Pandas = ...) -> pd.DataFrame: ...
    @overload
    def frame(self, *, output: Other) -> Any: ...
    def frame(self, *, output: Output = "pandas") -> Any:
        """CFR: one row a population (refused, everybody), group and level.

        group is empty for all groups together; level is empty for "no level changes it", else the share of those who
        are not of that level and whose decision stays there. `low` and `high` are Wilson's limits, or those of people
        drawn again (`chance` says what they allow for), `n` is the denominator; the `n_undefined` lack a twin at some
        level and are in none, whatever other levels say of them, while `least` and `most` count them by all that is
        known.
        """
        return as_output(
            pd.DataFrame(
                [
                    {"decided": decided, "group": group, "level": level, "n_stays": one.k}
                    | one.row(self.audited.level)
                    | {"chance": self.chance}
                    for (decided, group, level), one in self.shares.items()
                ]
            ),
            output,
        )

    @cached_property
    def shares(self) -> dict[Key, Share]:
        """By population, group and level; see `frame`."""
        found = _ratios(self.decisions)
        if self.chance == "people":
            return found
        never = Spread.of(())
        return {key: replace(one, spread=self.spreads.get(key, never)) for key, one in found.items()}

    def ratio(self, group: str, decided: str = "refused") -> Share:
        """CFR of a group, or of all ("")."""
        return self.shares[decided, group, ""]

    @property
    def people(self) -> pd.DataFrame:
        """Who is treated unfairly: those whose decision some level changes.

        group, decision, `turned_by` (the levels that change it), the decision at each level (`at_*`; "unknown" where
        the equations do not say who the person would be), effort and status of their recourse.
        """
        table, rows = self.audited.table, np.flatnonzero(self.decisions.turns)
        status = [Status(code).text for code in table.status[rows].tolist()]
        return self.decisions.people(table.index).assign(effort=table.effort[rows], status=status)

    def treated(self, which: str) -> Bools:
        """The refused whose decision "stays" at every level, "turns" at some, or of whom that is "undefined"."""
        found = {
            "stays": self.decisions.stays,
            "turns": self.decisions.turns,
            "undefined": self.decisions.is_undefined,
        }[which]
        return found & self.audited.table.is_unfavourable

    @property
    def efforts(self) -> pd.DataFrame:
        """Efforts of the refused, split by whether a level turns their decision: the paper's box plot in numbers.

        One row a group and `treated`: people `n`; those with recourse `n_recourse`, over whom quartiles and mean are
        (`n_unproven` of them with an action that may not be the cheapest); those without recourse and those of whom it
        is unknown are counted apart and are in no quartile.
        """
        table = self.audited.table
        rows = []
        for code, group in enumerate(self.groups.labels):
            for treated in TREATED:
                members = self.treated(treated) & (self.groups.codes == code)
                if treated == "undefined" and not members.any():
                    continue
                status, efforts = table.status[members], table.effort[members & table.has_action]
                quartiles = np.percentile(efforts, [0, 25, 50, 75, 100]) if len(efforts) else np.full(5, nan)
                row = {"group": group, "treated": treated, "n": len(status), "n_recourse": len(efforts)}
                for name in (Status.INFEASIBLE, Status.UNKNOWN, Status.FEASIBLE):
                    row[COUNTED[name]] = int((status == name).sum())
                row |= dict(zip(QUARTILES, quartiles.tolist(), strict=True))
                rows.append(row | {"mean": float(efforts.mean()) if len(efforts) else nan})
        return pd.DataFrame(rows)

    def twins(self, level: str) -> pd.DataFrame:
        """Everybody as they would be at a level, given by its group's label; whoever has no known twin is not in it."""
        levels = self.decisions.levels
        if str(level) not in levels.names:
            raise ParameterError(
                "PARAMETER",
                f"level is {level!r}, which is none. {closest(level, levels.names)}".rstrip(),
                fix=f"Choose from {', '.join(map(repr, levels.names))}.",
            )
        problem = require_model(replace(self.audited, problem=self.problem), "counterfactual_fairness()")
        data, code = self.audited.table.data, levels.groups.labels.index(str(level))
        found = twins_at(problem, data, levels, np.full(len(data), code))
        return found.frame if found.exists.all() else found.frame[found.exists]

    @property
    def sentences(self) -> list[str]:
        """What it says, a sentence a group."""
        found = []
        columns = " or ".join(map(labels_of(self.groups.columns).feature, self.groups.columns))
        for group in self.groups.labels:
            one = self.ratio(group)
            known = f", though a level is known to turn {one.sure_not:,} of them" if one.sure_not else ""
            unknown = f"; of {one.n_undefined:,} more it is not known{known}" if one.n_undefined else ""
            said = f"refused whatever their {columns}: {one.text(self.audited.level)}{unknown}."
            found.append(f"Of the refused {self.groups.people(group)}, {said}")
        whole = self.ratio("", "everybody")
        found.append(f"Of everybody, decided the same whatever their {columns}: {whole.text(self.audited.level)}.")
        return found

    def __str__(self) -> str:
        named = self.efforts.assign(group=[self.groups.name(group) for group in self.efforts["group"]])
        efforts = named.to_string(index=False, float_format=lambda value: f"{value:.4g}", na_rep="-")
        lines = ["Counterfactual fairness", *self.sentences, self.allowed]
        return "\n".join([*lines, "", "Effort of the refused", efforts])

    @property
    def allowed(self) -> str:
        """What the intervals of the ratios allow for, and what would allow for more."""
        words = f"Intervals allow for chance in {CHANCE[self.chance]}."
        if self.chance == "people":
            words += " The model and the equations are taken as they are."
        return words

    def _told(self) -> Told:
        tables = {"Ratios": self.frame(), "Effort of the refused": self.efforts}
        care = [self.allowed, EQUATIONS]
        return Told("Counterfactual fairness", self.sentences, tables, care, ".frame(), .people, .efforts")


def ratios_of(people: People) -> dict[Key, Share]:
    """The ratios of people whom nobody has solved."""
    problem, frame = people.problem, people.frame
    levels, approved = Levels.of(problem, frame), problem.decision.is_favourable(frame)
    return _ratios(TwinDecisions.of(problem, frame, people.groups, levels, levels.groups.codes, approved))


def _ratios(decisions: TwinDecisions) -> dict[Key, Share]:
    """By population, group and level."""
    refused = ~decisions.approved
    return {
        (decided, *key): Share(stays, stays + turns, undefined, sure_not=surely_turns)
        for decided, among in (("refused", refused), ("everybody", np.ones_like(refused)))
        for key, (stays, turns, undefined, surely_turns) in decisions.counts(among).items()
    }


RATIO = Notion(
    "counterfactual_fairness_ratio",
    "Counterfactual fairness ratio",
    "share with h(x) = h(x(s')) for every level s', all descendants of s following",
    "Kusner et al. 2017; Chockler, Halpern 2022",
    "Whose decision the sensitive columns alone would turn, through everything that follows from them.",
    neutral=1.0,
    orientation=-1,
    form="share",
)
GAP = Notion(
    "counterfactual_fairness_gap",
    "Gap of the counterfactual fairness ratio",
    "CFR of the refused of the reference - CFR of the refused of the group",
    "after Kusner et al. 2017",
    "Whether refusals that the sensitive columns alone explain fall on one group.",
    form="points",
)
EFFORT = Notion(
    "effort_by_counterfactual_fairness",
    "Average effort by counterfactual fairness",
    "mean(C | refused, recourse, group, decision stays or turns)",
    "Raimondi, Lawrence, Chockler 2022 (their box plot)",
    "Whether those whom another group's attributes would have spared a refusal also need more or less effort.",
    neutral=nan,
    orientation=0,
    unassigned="whether another group would turn their decision hangs on which group is theirs",
)


class CounterfactualFamily(Family):
    """CFR of each group, its gap in each comparison, and the average effort split by it."""

    name = "counterfactual"
    title = "Counterfactual fairness"
    notions = (RATIO, GAP, EFFORT)
    needs_model = True

    def readings(self, audited: Audited) -> Sequence[NotionReading | NotApplicable]:
        """One row a group and population, one a comparison, then one a group and treatment."""
        if audited.problem is None:
            return [NotApplicable(notion.name, NEEDS_MODEL) for notion in self.notions]
        found = CounterfactualFairness.of(audited, audited.problem)
        labels = ["", *audited.table.groups.labels]
        refused = audited.table.is_unfavourable
        rows: list[NotionReading] = []
        for decided in DECIDED:
            among = refused if decided == "refused" else np.ones_like(refused)
            ends = found.decisions.same(among, audited.unplaced)
            read = [_ratio_reading(found, group, decided) for group in labels]
            rows += [bounded(one, audited, *ends) if one.group else one for one in read]
        ends = found.decisions.same(refused, audited.unplaced)
        gaps = [_gap_reading(found, *(labels[code + 1] for code in pair)) for pair in audited.pairs]
        rows += [bounded(one, audited, *ends, sign=-1) for one in gaps]
        return [*rows, *(_effort_reading(found, row) for row in found.efforts.to_dict("records"))]


def _ratio_reading(found: CounterfactualFairness, group: str, decided: str) -> NotionReading:
    one = found.ratio(group, decided)
    nobody = "NO_REFUSED" if decided == "refused" else "NO_PEOPLE"
    notes = [] if one.n or one.n_undefined else [nobody]
    notes += ["NO_TWIN"] if one.n_undefined else []
    return NotionReading(RATIO.name, group, parts=(decided,), note=" ".join(notes), **one.row(found.audited.level))


def _gap_reading(found: CounterfactualFairness, group: str, against: str) -> NotionReading:
    mine, theirs = found.ratio(group), found.ratio(against)
    notes = [] if all(one.n or one.n_undefined for one in (mine, theirs)) else ["NO_REFUSED"]
    notes += ["NO_TWIN"] if mine.n_undefined or theirs.n_undefined else []
    about: dict[str, Any] = {"n": mine.n, "n_against": theirs.n, "n_undefined": mine.n_undefined + theirs.n_undefined}
    if mine.n and theirs.n:
        law = difference((mine.k, mine.n), (theirs.k, theirs.n))
        low, high = law.limits(found.audited.level)
        least, most = theirs.certain[0] - mine.certain[1], theirs.certain[1] - mine.certain[0]
        about |= {"estimate": law.estimate, "low": low, "high": high, "least": least, "most": most}
    return NotionReading(GAP.name, group, against, ("refused",), note=" ".join(notes), **about)


def _effort_reading(found: CounterfactualFairness, row: dict[Any, Any]) -> NotionReading:
    table = found.audited.table
    members = found.treated(row["treated"]) & (found.groups.codes == found.groups.labels.index(row["group"]))
    stats = sample(table, members).stats
    low, high = mean_limits(stats.costs, found.audited.level)
    least, most = stats.phi_certified
    refused = found.ratio(row["group"])
    # Refused people who are all treated the other way leave nobody to average over.
    without = "NO_RECOURSE" if row["n"] else "NOTHING_DEFINED" if refused.n + refused.n_undefined else "NO_REFUSED"
    few = "TOO_FEW" if row["n_recourse"] == 1 else "NO_SPREAD" if isnan(low) else ""
    notes = [few if row["n_recourse"] else without]
    notes += ["UNCERTIFIED"] if row["n_unproven"] or row["n_unknown"] else []
    return NotionReading(
        EFFORT.name, row["group"], parts=(row["treated"],), estimate=stats.phi, low=low, high=high, least=least,
        most=most, n=row["n_recourse"], n_undefined=row["n"] - row["n_recourse"], note=" ".join(filter(None, notes)),
    )  # fmt: skip
