"""Causal discrimination: does the label change when the sensitive columns alone change, nothing following?

    CD = share of inputs x with h(x, s) != h(x, s') for some level s'

Of the audited people, and of inputs drawn from the schema's domain (levels and numbers uniformly, over declared ranges
or those that people have), which meet the model where nobody happens to be. It finds only what the model reads of the
sensitive columns themselves: through a proxy it finds nothing, which counterfactual fairness does.

Reference: S. Galhotra, Y. Brun, A. Meliou (2017), Fairness Testing: Testing Software for Discrimination, ESEC/FSE.

A classifier that does not read the sensitive column has none, one that reads nothing else has it everywhere:

>>> import equieffort as ee
>>> world = ee.datasets.fair_recourse()
>>> X, _ = world.sample(50, random_state=0)
>>> features = dict.fromkeys(world.actionable, "actionable")
>>> schema = ee.Schema(sensitive="A", protected=-1, favourable=True, features=features)
>>> audits = [ee.audit(ee.LinearScore(c), X, schema=schema, scm=world.scm) for c in ({"X2": 1.0}, {"A": 1.0})]
>>> [audit.causal_discrimination(draws=100).domain.estimate for audit in audits]
[0.0, 1.0]
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, overload

import numpy as np
import pandas as pd

from equieffort.data.output import Other, Output, Pandas, as_output
from equieffort.foundations.arguments import check_whole
from equieffort.foundations.shown import Shown, Told
from equieffort.notions.assigned import bounded
from equieffort.notions.base import Audited, Family, NotApplicable, Notion, NotionReading
from equieffort.notions.collection import NEEDS_MODEL
from equieffort.notions.domain import Drawn, draw_inputs
from equieffort.notions.shares import Share
from equieffort.notions.twins import Levels, TwinDecisions
from equieffort.recourse.problem import RecourseProblem
from equieffort.world.groups import Groups
from equieffort.world.labels import labels_of

DRAWS = 10_000


@dataclass(frozen=True, eq=False, repr=False)
class CausalDiscrimination(Shown):
    """Labels of people, and of inputs drawn, at every level of the sensitive columns with all else as it is."""

    audited: Audited
    asked: TwinDecisions
    """About the audited people."""
    drawn: Drawn
    tested: TwinDecisions
    """About the inputs drawn."""
    draws: int
    """How many inputs were asked for."""

    @classmethod
    def of(
        cls, audited: Audited, problem: RecourseProblem, draws: int = DRAWS, random_state: int = 0
    ) -> CausalDiscrimination:
        """Ask the model about everybody and about inputs drawn."""
        check_whole("draws", draws, 1)
        check_whole("random_state", random_state)
        table = audited.table
        levels = Levels.of(problem, table.data)
        asked = TwinDecisions.of(
            problem, table.data, table.groups, levels, levels.groups.codes, ~table.is_unfavourable, follow=False
        )
        drawn = draw_inputs(problem, table.data, levels, draws, np.random.default_rng(random_state))
        groups = replace(levels.groups, codes=drawn.level.astype(np.int16))
        approved = problem.decision.is_favourable(drawn.frame) if len(drawn.frame) else np.zeros(0, dtype=bool)
        tested = TwinDecisions.of(problem, drawn.frame, groups, levels, drawn.level, approved, follow=False)
        return cls(audited, asked, drawn, tested, draws)

    @property
    def groups(self) -> Groups:
        """Who is in which group."""
        return self.audited.table.groups

    @cached_property
    def shares(self) -> dict[tuple[str, str, str], Share]:
        """By what was asked about ("people", "domain"), group and level."""
        return {
            (over, *key): Share(turns, stays + turns, undefined, sure=surely_turns)
            for over, found in (("people", self.asked), ("domain", self.tested))
            for key, (stays, turns, undefined, surely_turns) in found.counts(
                np.ones(len(found.approved), dtype=bool)
            ).items()
        }

    @property
    def overall(self) -> Share:
        """Of all audited people."""
        return self.shares["people", "", ""]

    @property
    def domain(self) -> Share:
        """Of all inputs drawn."""
        return self.shares["domain", "", ""]

    @overload
    def frame(self, *, output: Pandas = ...) -> pd.DataFrame: ...
    @overload
    def frame(self, *, output: Other) -> Any: ...
    def frame(self, *, output: Output = "pandas") -> Any:
        """A row a group and level, over people and over the domain.

        group is empty for all together; level is empty for "some level changes the label", else the share whose label
        is another one at that level. `low` and `high` are Wilson's limits, `n` is the denominator. In the domain a
        group is the level that an input was drawn with.
        """
        return as_output(
            pd.DataFrame(
                [
                    {"over": over, "group": group, "level": level, "n_changes": one.k} | one.row(self.audited.level)
                    for (over, group, level), one in self.shares.items()
                ]
            ),
            output,
        )

    @property
    def people(self) -> pd.DataFrame:
        """Whose label changes: group, decision, the levels that change it, and the decision at each (`at_*`)."""
        return self.asked.people(self.audited.table.index)

    @property
    def inputs(self) -> pd.DataFrame:
        """Inputs drawn whose label changes, with the levels that change it: cases to look at, or to test again."""
        found = self.tested.people(self.drawn.frame.index)
        return self.drawn.frame.loc[found.index].join(found[["decision", "turned_by"]])

    @property
    def sentences(self) -> list[str]:
        """What it says."""
        level, columns = (
            self.audited.level,
            " and ".join(map(labels_of(self.groups.columns).feature, self.groups.columns)),
        )
        found = [f"People whose label changes with {columns} alone: {self.overall.text(level)}."]
        for group in self.groups.labels:
            found.append(f"Of {self.groups.people(group)}: {self.shares['people', group, ''].text(level)}.")
        found.append(f"Of inputs drawn from the schema's domain: {self.domain.text(level)}.")
        if len(self.drawn.frame) < self.draws:
            found.append(f"Rules between features left {len(self.drawn.frame):,} of {self.draws:,} draws asked for.")
        return found

    def __str__(self) -> str:
        return "\n".join(["Causal discrimination", *self.sentences])

    def _told(self) -> Told:
        care = [
            "Nothing follows the sensitive columns here: what reaches the decision through other columns stays unseen."
        ]
        tables = {"Shares whose label changes": self.frame()}
        return Told("Causal discrimination", self.sentences, tables, care, ".frame(), .people, .inputs")


DISCRIMINATION = Notion(
    "causal_discrimination",
    "Causal discrimination",
    "share of inputs with h(x, s) != h(x, s') for some level s', nothing following",
    "Galhotra et al. 2017",
    "Whether the model itself reads the sensitive columns, and for how many people and inputs that decides.",
    form="share",
)


class DiscriminationFamily(Family):
    """Causal discrimination over people, by group, and over the domain."""

    name = "discrimination"
    title = "Causal discrimination"
    notions = (DISCRIMINATION,)
    needs_model = True

    def readings(self, audited: Audited) -> Sequence[NotionReading | NotApplicable]:
        """One row over people, one a group, one over the domain."""
        if audited.problem is None:
            return [NotApplicable(DISCRIMINATION.name, NEEDS_MODEL)]
        found = CausalDiscrimination.of(audited, audited.problem, random_state=audited.random_state)
        rows = [("people", group) for group in ("", *audited.table.groups.labels)]
        least, most = found.asked.same(np.ones(len(audited.table), dtype=bool), audited.unplaced)
        read = [
            NotionReading(
                DISCRIMINATION.name, group, parts=(over,), note="" if one.n else "NO_PEOPLE", **one.row(audited.level)
            )
            for over, group in (*rows, ("domain", ""))
            if (one := found.shares[over, group, ""])
        ]
        # Whom no level leaves as they are is whom some level changes.
        return [bounded(one, audited, 1 - most, 1 - least) if one.group else one for one in read]
