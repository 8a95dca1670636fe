"""Neighbouring notions, as an audit reads them: each method asks a family of `notions` about the audited people."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import replace
from typing import Any, Literal

from equieffort.data.frames import Bools
from equieffort.effort.criteria import Criteria
from equieffort.effort.judging import SHOWN_LEVEL
from equieffort.foundations.arguments import check_instance
from equieffort.foundations.progress import Watched, watcher
from equieffort.notions.awareness import Awareness
from equieffort.notions.base import Audited, require_model
from equieffort.notions.boundary import EACH, Boundary
from equieffort.notions.collection import Notions, collect
from equieffort.notions.comparing import Found
from equieffort.notions.counterfactual import CounterfactualFairness
from equieffort.notions.discrimination import DRAWS, CausalDiscrimination
from equieffort.notions.facts import FactsTable, Viewpoint, facts_table
from equieffort.notions.facts.family import MAX_FEATURES, MIN_SUPPORT, PHI
from equieffort.notions.facts.subgroups import MAX_CONDITIONS
from equieffort.notions.fair_causal_recourse import FairCausalRecourse
from equieffort.notions.group_routes import GroupRoutes, find_group_routes
from equieffort.notions.huang import EqualityOfEffort, Estimator, Treatment, checked_treatments, equality_of_effort
from equieffort.notions.improvement import Improvement, named_causes
from equieffort.notions.reachable import CELLS
from equieffort.notions.responsiveness import Responsiveness
from equieffort.notions.rewards import DELTAS, EffortRewards, Rewards
from equieffort.notions.situation_testing import TAU, K, SituationTesting, SituationTestingFamily
from equieffort.notions.social_burden import SocialBurden
from equieffort.recourse.table import RecourseTable
from equieffort.results.inputs import AuditInputs, require_inputs
from equieffort.results.members import members_of
from equieffort.results.notion_details import FEWEST, NotionDetails
from equieffort.results.observed import favourable_labels
from equieffort.results.provenance import Provenance
from equieffort.results.resampling import Relearned, resample_twins
from equieffort.world.cost import Cost
from equieffort.world.distances import Distance


class NotionReadings:
    """What an audit says beside equality of effort: the part of `Audit` that asks other notions."""

    recourse: RecourseTable
    criteria: Criteria
    provenance: Provenance
    inputs: AuditInputs | None

    @property
    @abstractmethod
    def budget(self) -> float | None:
        """The effort at which people without recourse are counted."""

    @property
    @abstractmethod
    def declared(self) -> dict[str, str]:
        """Names and rules of declared subgroups."""

    @abstractmethod
    def members(self, rule: str) -> Bools:
        """Who is in a subgroup."""

    def notions(
        self, *, labels: Any = None, causes: Sequence[str] | None = None,
        treatments: Sequence[Treatment] | None = None, only: Sequence[str] | None = None,
    ) -> Notions:  # fmt: skip
        """Every neighbouring notion: what it reads of each comparison, with its interval and its denominator.

        `labels` is what truly became of people (labels of the classifier, or True where it was favourable) and `causes`
        names features that are causes of it, for notions that ask for them; `treatments` are what Huang's equality of
        effort sets (`ee.Treatment`), by default every actionable number; `only` names families. Of an audit that was
        read from a file, notions that ask the model are as `with_notions` read them before it was saved.
        """
        asked = self._audited(labels)
        if treatments is not None:
            problem = require_model(asked, "notions(treatments=...)")
            asked = replace(asked, treatments=checked_treatments(problem, self.recourse.data, treatments))
        if causes is not None:
            named_causes(require_model(asked, "notions(causes=...)"), causes, None)
            asked = replace(asked, causes=tuple(causes))
        return collect(asked, self.provenance.notions, only)

    def _details(self, labels: Any, treatments: Sequence[Treatment] | None) -> NotionDetails:
        """What asking the model gives beside readings."""
        asked = self._audited(labels)
        if treatments is not None:
            problem = require_model(asked, "with_notions(treatments=...)")
            asked = replace(asked, treatments=checked_treatments(problem, self.recourse.data, treatments))
        return NotionDetails.read(asked, {name: self.members(rule) for name, rule in self.declared.items()})

    @property
    def _kept(self) -> NotionDetails:
        """What a file keeps of asking the model; nothing where the model itself is at hand."""
        kept = self.provenance.details
        return NotionDetails() if kept is None or self.inputs is not None else kept

    def facts(
        self,
        notion: str = "effectiveness",
        *,
        viewpoint: Viewpoint = "macro",
        phi: float = 0.5,
        budget: float | None = None,
        min_support: float = 0.1,
        min_people: int = 10,
        max_conditions: int = 2,
        max_features: int = 2,
    ) -> FactsTable:
        """FACTS' table (Kavouras et al. 2023): the subgroups in which recourse is most unequal, worst first.

        Parameters
        ----------
        notion
            "effectiveness", "choice", "effectiveness_within_budget", "cost_of_effectiveness", "mean_recourse" or
            "trade_off".
        viewpoint
            "macro": one action for everybody of a side, of those mined among the approved; "micro": each person's own.
        phi
            The share that an action, or an effort, must turn ("choice", "cost_of_effectiveness").
        budget
            The effort that counts ("effectiveness_within_budget"); by default the audit's.
        min_support
            The share of each side's refused that a subgroup holds at least, and of the approved who have what an action
            asks for.
        min_people
            The least number of refused people a side of a subgroup.
        max_conditions, max_features
            The most conditions of a subgroup, and the most features of an action.

        A file holds macro tables as `with_notions` read them: with defaults, and from 5 people a side on.
        """
        given = (phi, budget, min_support, max_conditions, max_features)
        kept = self._kept.facts_of(notion) if viewpoint == "macro" else None
        if (
            kept is not None
            and min_people >= FEWEST
            and given == (PHI, None, MIN_SUPPORT, MAX_CONDITIONS, MAX_FEATURES)
        ):
            return kept.table(self.recourse, min_people)
        return facts_table(
            self._audited(), notion, viewpoint=viewpoint, phi=phi, budget=budget, min_support=min_support,
            min_people=min_people, max_conditions=max_conditions, max_features=max_features,
        )  # fmt: skip

    def counterfactual_fairness(
        self, *, resample: Relearned | None = None, progress: Watched = None
    ) -> CounterfactualFairness:
        """Whose decision stays whatever their sensitive columns say, all that follows from them following.

        `frame()` has the ratio (CFR) of the refused and of everybody by group and level, `people` who is treated
        unfairly, `efforts` the efforts of the refused split by it, `twins(level)` everybody as they would be there.

        Parameters
        ----------
        resample
            `Procedure(X_train, y_train)` or `Equations()`: intervals of the ratios that allow for what was learned too,
            from people drawn again. By default model and equations are taken as they are.
        progress
            Called as replicates are read, as by `resample`.
        """
        if resample is None and self._kept.twins is not None:
            return self._kept.twins.fairness(self._audited())
        made = require_inputs(self.inputs, "counterfactual_fairness()")
        found = CounterfactualFairness.of(self._audited(), made.problem)
        if resample is None:
            return found
        check_instance("resample", resample, Relearned, "ee.Procedure(X_train, y_train) or ee.Equations()")
        resample.check(made.classifier)
        return resample_twins(found, made, resample, watcher(progress))

    def fair_causal_recourse(self, *, most_people: int | None = None, progress: Watched = None) -> FairCausalRecourse:
        """How far efforts of groups, and of refused people and their twins in other groups, are apart.

        Twins are solved as the people were, which takes as long as the audit for every other level. `frame()` has mean
        and maximum of the individual gaps, `group_gaps` those of groups, `people` each person and twin.

        Parameters
        ----------
        most_people
            Of more refused people so many are drawn at random; by default everybody is asked.
        progress
            Called while twins are solved, as by `audit`.
        """
        made = require_inputs(self.inputs, "fair_causal_recourse()")
        return FairCausalRecourse.of(self._audited(), made.problem, most_people, watcher(progress))

    def causal_discrimination(self, draws: int = DRAWS, random_state: int = 0) -> CausalDiscrimination:
        """How often the label changes when the sensitive columns alone change, nothing following.

        Of the audited people, and of `draws` inputs drawn from the schema's domain. `frame()` has the shares, `people`
        whom it concerns, `inputs` the drawn inputs whose label changes.
        """
        made = require_inputs(self.inputs, "causal_discrimination()")
        return CausalDiscrimination.of(self._audited(), made.problem, draws, random_state)

    def group_routes(
        self,
        max_routes: int = 3,
        *,
        holdout: float = 0.5,
        min_support: float = 0.1,
        max_features: int = 2,
        min_leaf: int = 5,
        random_state: int = 0,
    ) -> GroupRoutes:
        """The fewest actions that turn most refused people of each group, and of everybody: what can be told as policy.

        Parameters
        ----------
        max_routes
            From 1 to as many routes, at most 4: as a menu of which each person takes the cheapest that works, and as
            a tree that tells each person one.
        holdout
            The share of each group's refused whom routes are measured on and not chosen on. With 0, and for groups of
            fewer than 20 refused people, they are measured on the people they were chosen on, which flatters them.
        min_support, max_features
            Of mined candidates, as `facts` takes them; the other candidates are people's own cheapest actions, rounded.
        min_leaf
            The fewest people that a leaf of a tree may be for, where it is chosen.
        random_state
            Who is held out.

        A file holds the routes that `with_notions` found, with defaults.
        """
        given = (max_routes, holdout, min_support, max_features, min_leaf, random_state)
        if self._kept.routes is not None and given == (3, 0.5, 0.1, 2, 5, 0):
            return self._kept.routes.routes(self.recourse)
        return find_group_routes(
            self._audited(), max_routes=max_routes, holdout=holdout, min_support=min_support,
            max_features=max_features, min_leaf=min_leaf, random_state=random_state,
        )  # fmt: skip

    def equality_of_effort(
        self,
        treatment: str,
        *,
        gammas: Any = None,
        grid: Any = None,
        direction: Literal["up", "down"] | None = None,
        by: Estimator | None = None,
        labels: Any = None,
        outcome: Literal["label", "probability"] = "label",
        subgroup: Any = None,
        interpolate: bool = False,
    ) -> EqualityOfEffort:
        """Huang's equality of effort: how much of one treatment each group needs for the same chance of a yes.

        Parameters
        ----------
        treatment
            The column that is set: any number that is not protected. Limits of single people (`max_increase`) play no
            part, since one treatment is set for everybody.
        gammas
            A share, several, or `ee.GammaRange(low, high)`; by default all that both groups of a comparison reach and
            that neither reaches without effort.
        grid
            The treatments that are tried: by default 51 from the least to the largest observed inside declared limits,
            or all whole numbers if there are at most 200.
        direction
            "up" if more is more effort, "down" if less is; by default as declared in the schema, else the way in which
            the outcome rises.
        by
            How E[Y(t)] is found: `ee.BySCM()`, `ee.ByRegression()` or `ee.ByWeighting()`; by default the equations
            where they can answer for everybody, else regression, and the result says why.
        labels
            What truly became of people, to be the outcome in place of the decision; by regression or weighting.
        outcome
            "label": the model's own decision. "probability": its probability of a favourable one.
        subgroup
            A rule or a boolean mask, as `subgroup` takes it.
        interpolate
            Take curves to be straight between points of the grid. Without, efforts are points of the grid.

        Returns
        -------
        Frames `curve`, `delta` and `aed`, `individual(label)`, `repair(gamma)`; `plot.equality_of_effort` draws it.
        """
        require_inputs(self.inputs, "equality_of_effort(...)")
        members = None if subgroup is None else members_of(self.recourse, subgroup)[1]
        return equality_of_effort(
            self._audited(labels), treatment, gammas=gammas, grid=grid, direction=direction, by=by, outcome=outcome,
            members=members, interpolate=interpolate,
        )  # fmt: skip

    def _audited(self, labels: Any = None) -> Audited:
        """What notions are read from."""
        made = self.inputs
        return Audited(
            self.recourse,
            self.criteria.level or SHOWN_LEVEL,
            self.budget,
            None if made is None else made.problem,
            None if made is None else made.choice,
            None if labels is None else favourable_labels(self.recourse, labels),
            min_people=self.criteria.min_people,
            reference=None if made is None else made.declared.get("reference"),
        )

    def social_burden(self, labels: Any) -> Found:
        """The effort asked of people who deserve a yes, the worst group first, then the gap (Milli et al. 2019).

        `labels` is what truly became of people: labels of the classifier, or True where it was favourable.
        """
        return SocialBurden().read(self._audited(labels))

    def responsiveness(self, *, cells: int = CELLS) -> Found:
        """How often changing one feature alone helps the refused, and for whom nothing does (Cheon et al. 2024).

        `people` has a row a refused person, a column a feature. `cells` is how finely an interval is looked at before
        the boundaries of what is approved are found by halving.
        """
        return Responsiveness().read(self._audited(), cells=cells)

    def improvement_only(self, causes: Sequence[str] | None = None, *, outcome: str | None = None) -> Found:
        """What effort would be if only causes of the true outcome could be acted on (König et al. 2025).

        `causes` names features, direct and indirect causes alike; or `outcome` names a node of the graph, whose
        ancestors they are. Everything else follows its causes and cannot be set. `people` has a row a refused person.
        """
        return Improvement().read(self._audited(), causes, outcome)

    def fairness_through_awareness(self, lipschitz: float = 1.0, distance: Distance | None = None) -> Found:
        """Pairs of people who are scored further apart than `lipschitz` times their distance (Dwork et al. 2012).

        `distance` is `Manhattan()` by default. `people` has for each person the number of such pairs.
        """
        return Awareness().read(self._audited(), lipschitz, distance)

    def boundary_distance(self, *, each: int | None = EACH) -> Found:
        """How far the refused are from the decision boundary, causes and limits ignored (Gupta et al. 2019).

        For trees and networks `each` is how many refused people a group are drawn and solved; None is all of them.
        """
        return Boundary().read(self._audited(), each)

    def situation_testing(
        self, k: int = K, tau: float = TAU, *, distance: Distance | None = None, most_people: int | None = None
    ) -> SituationTesting:
        """Whom people just like them in the other group fare better than (Zhang, Wu and Wu 2016).

        `people` has a row a person and comparison, `individual(label)` one person with their neighbours, `distance` the
        causal distance, which neighbourhoods take too, and `effects` what it is made of.

        Parameters
        ----------
        k
            So many nearest people of each group are looked at.
        tau
            Discriminated is whose k neighbours of the other group are approved more often by more than this share.
        distance
            Another distance, in place of the causal one.
        most_people
            Of more people so many are drawn and looked at; neighbours are always of all. By default everybody.
        """
        return SituationTestingFamily().read(self._audited(), k, tau, distance, most_people)

    def effort_rewards(
        self,
        deltas: Sequence[float] = DELTAS,
        *,
        benefit: Literal["decision", "probability", "score"] = "decision",
        gain: float | None = None,
        budget: float | None = None,
        cost: Cost | None = None,
        most_people: int | None = None,
        progress: Watched = None,
    ) -> Rewards:
        """What the same effort brings each group, by rank among one's own people (Heidari, Nanda and Gummadi 2019).

        Everybody is solved again with that effort, which takes as long as the audit; an audit whose own cost is
        `Percentile(within="group")` is read as it is. `people` has a row a refused person.

        Parameters
        ----------
        deltas
            Efforts: whom at most so much turns. 0.25 overtakes a quarter of one's own group.
        benefit
            "decision": the gain is the approval. "probability", "score": of a model with a linear score, the largest
            gain within each effort, and the least effort for `gain` of it (0.1), for everybody, approved or not.
        budget
            The effort at which people without a route count; by default the 95 % point of all known efforts by rank.
        cost
            Another measure of effort, in place of `Percentile(within="group")`.
        most_people
            Of more people so many are drawn at random; by default everybody is solved.
        progress
            Called while people are solved, as by `audit`.
        """
        watching = watcher(progress)
        return EffortRewards().read(self._audited(), deltas, benefit, gain, budget, cost, most_people, watching)
