"""audit() wires the line from data to verdict; Audit is its versioned, saved result."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from os import PathLike
from typing import TYPE_CHECKING, Any, Literal, cast, overload

import numpy as np
import pandas as pd

from equieffort.data.frames import Bools, Missing, aligned, row_dicts
from equieffort.data.output import Noted, Other, Output, Pandas, as_output
from equieffort.effort.budget import default_budget
from equieffort.effort.criteria import Criteria
from equieffort.effort.individuals import individuals
from equieffort.effort.judging import SHOWN_LEVEL, with_readings
from equieffort.effort.measures import MEASURES, Measure, Sample
from equieffort.effort.metrics import (
    PAPER_QUANTILES,
    Bands,
    Centres,
    Curve,
    Jackknife,
    comparisons,
    curve,
    default_centres,
    effort_curve,
    effort_differences,
    group_frame,
    group_samples,
    is_bands,
    unsettled,
    unsettled_rows,
)
from equieffort.effort.neighbours import Everyone, Nearest, NearestK, Neighbourhood, Unsaved, check_quantile
from equieffort.effort.verdict import Assessment, Level, Verdict, decide
from equieffort.errors import (
    DataError,
    EquieffortWarning,
    ParameterError,
    RuleError,
    Setting,
    Warned,
    collecting,
    many,
    warn,
)
from equieffort.errors import label as written
from equieffort.foundations.arguments import (
    check_flag,
    check_instance,
    is_number,
    items_in,
    refused,
)
from equieffort.foundations.log import stage
from equieffort.foundations.progress import Watched, watcher
from equieffort.foundations.shown import Shown, Told, as_html
from equieffort.notions.awareness import Awareness
from equieffort.notions.base import Audited, require_model
from equieffort.notions.boundary import EACH, Boundary
from equieffort.notions.collection import Notions, collect
from equieffort.notions.comparing import Found
from equieffort.notions.counterfactual import CounterfactualFairness
from equieffort.notions.discrimination import DRAWS, CausalDiscrimination
from equieffort.notions.facts import FactsTable, Viewpoint, facts_table
from equieffort.notions.fair_causal_recourse import FairCausalRecourse
from equieffort.notions.group_routes import GroupRoutes, find_group_routes
from equieffort.notions.huang import EqualityOfEffort, Estimator, equality_of_effort
from equieffort.notions.improvement import Improvement, named_causes
from equieffort.notions.reachable import CELLS
from equieffort.notions.responsiveness import Responsiveness
from equieffort.notions.rewards import DELTAS, EffortRewards, Rewards
from equieffort.notions.situation_testing import TAU, K, SituationTesting, SituationTestingFamily
from equieffort.notions.social_burden import SocialBurden
from equieffort.recourse.alternatives import check_alternatives, find_alternatives
from equieffort.recourse.solvers import Auto, Solver
from equieffort.recourse.solving import solve, solve_further
from equieffort.recourse.table import RecourseTable
from equieffort.results.explanation import Explanation, Recorded, explain
from equieffort.results.faces import Report, What, audit_page, audit_text, audit_told, frame_of, written_to
from equieffort.results.inputs import AuditInputs, columns_of, is_edges
from equieffort.results.observed import favourable_labels
from equieffort.results.provenance import CostRecord, Provenance, SolverUsed, kind_of, versions
from equieffort.results.regrouping import regrouped
from equieffort.results.resampling import Resampled, Resampling, inputs_of, resample
from equieffort.results.subgroup_search import SubgroupSearch, search_subgroups
from equieffort.words import told
from equieffort.words.shown import with_saved
from equieffort.world.cost import Cost
from equieffort.world.distances import BoundDistance, Distance, Manhattan, check_distance
from equieffort.world.giveaways import FIRST, copies
from equieffort.world.graph import CausalGraph
from equieffort.world.labels import told_rule
from equieffort.world.rules import parse_rule
from equieffort.world.schema import Schema
from equieffort.world.scm import StructuralCausalModel
from equieffort.world.scm.diagnostics import Fit

if TYPE_CHECKING:
    from equieffort.plots import AuditPlots
    from equieffort.results.second_opinion import Oracle
    from equieffort.results.verifying import Verification


@dataclass(frozen=True, eq=False, repr=False)
class Audit(Shown):
    """The result of an audit: one recourse table and its readings at three levels."""

    recourse: RecourseTable
    criteria: Criteria
    neighbourhood: Neighbourhood
    warnings: tuple[EquieffortWarning, ...] = ()
    provenance: Provenance = field(default_factory=Provenance)
    """How it was made, from what, and by what."""
    own: tuple[Measure, ...] = ()
    """Measures of the caller's own."""
    inputs: AuditInputs | None = field(default=None, repr=False)
    """What it was made from; None in an audit that was read from a file."""
    own_rows: tuple[dict[str, Any], ...] = field(default=(), repr=False)
    """What such measures read when the audit was saved."""
    alternatives: tuple[RecourseTable, ...] = field(default=(), repr=False)
    """Everybody's second cheapest way, the third, ..., a table each, as far as `with_alternatives` found them."""
    _distances: dict[Distance, BoundDistance] = field(default_factory=dict, repr=False)
    # Not handed on by dataclasses.replace: another table has other curves.
    _curves: dict[Any, Curve] = field(default_factory=dict, repr=False, init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "warnings", Warned(self.warnings))

    # -- three levels -----------------------------------------------------------------------------------------------

    @cached_property
    def system(self) -> Assessment:
        """Algorithm 1 for everybody."""
        return self._assess("system", "Everybody", None)

    @property
    def verdict(self) -> Verdict:
        """The verdict at system level."""
        return self.system.verdict

    @property
    def by_group(self) -> pd.DataFrame:
        """One row a group at system level, indexed by it: role, counts, share with recourse (rho), mean effort (Phi).

        Comparisons, ACR and RD among them, are in `measures`; `to_frame("groups")` has every column.
        """
        return self.system.by_group

    @property
    def budget(self) -> float | None:
        """The effort at which people without recourse are counted; None where nobody has any."""
        return self.criteria.budget if self.criteria.budget is not None else self.provenance.budget

    @cached_property
    def measures(self) -> pd.DataFrame:
        """One row a comparison and measure, at system level and in every declared subgroup.

        `low` and `high` are confidence limits, `least` and `most` what is certain given people not solved to the end;
        `p` is for no difference at all, `p_beyond` and `p_within` for the tolerance; `note` holds codes of
        `equieffort.effort.measures.NOTES`.
        """
        parts = [self.system.measures]
        parts += [self.subgroup(rule).measures.assign(about=name) for name, rule in self.declared.items()]
        return Noted.of(with_saved(pd.concat(parts, ignore_index=True), self.own_rows), told.MEASURES)

    @property
    def declared(self) -> dict[str, str]:
        """Names and rules of the subgroups that were declared."""
        return dict(self.provenance.subgroups)

    @property
    def shown_measures(self) -> tuple[Measure, ...]:
        """The measures that are read: all there are, and the caller's own."""
        known = self.provenance.recorded is not None
        return (*(m for m in MEASURES.values() if m.name != "impact_ratio_recorded" or known), *self.own)

    @cached_property
    def recorded(self) -> Recorded | None:
        """What was decided of each person according to the data, where a surrogate is audited."""
        kept = self.provenance.recorded
        return None if kept is None else Recorded.of(self.recourse, kept)

    def members(self, rule: str) -> Bools:
        """Who is in a subgroup."""
        return parse_rule(rule).evaluate(columns_of(self.recourse.data))

    @cached_property
    def resampled(self) -> Resampled | None:
        """What replicates say, if `resample` made any."""
        found = self.provenance.resampled
        # Under another budget the replicates would have spread otherwise.
        return found if found is not None and found.budget == self.budget else None

    def resample(self, how: Resampling, *, progress: Watched = None) -> Audit:
        """The same audit, judged under another source of chance.

        `Equations()` learns the structural equations again from people drawn again; `Procedure(X_train, y_train)` also
        trains the model again; `Bootstrap()` draws people again by brute force, where the closed forms are in doubt.
        `measures` then has their rows beside those of people.
        """
        check_instance("how", how, Resampling, "ee.Equations(), ee.Procedure(X_train, y_train) or ee.Bootstrap()")
        return self.with_provenance(resampled=resample(self, how, watcher(progress)))

    def subgroup(self, which: str | Any) -> Assessment:
        """Algorithm 1 for a subgroup: a rule such as ``"age < 25 and purpose = 'car'"``, or a boolean mask.

        A mask that is a pandas Series is matched by its index, any other by position.
        """
        about, members = self._members(which)
        return self._assess("subgroup", about, members, rule=which if isinstance(which, str) else "")

    def _members(self, which: str | Any) -> tuple[str, Bools]:
        """What a subgroup is called, and who is in it."""
        if isinstance(which, str):
            rule = parse_rule(which)
            columns = columns_of(self.recourse.data)
            for sentence in rule.unmatched(columns):
                warn("RULE_UNMATCHED", sentence, fix="Check the spelling; quotes and case count.")
            return f"People with {told_rule(str(rule), self.recourse.source.schema.names)}", rule.evaluate(columns)
        data = self.recourse.data
        mask = np.asarray(aligned(which, data.index, "the mask", "mask.loc[audit.recourse.index]", derived=True))
        if mask.dtype != bool or mask.shape != (len(self.recourse),):
            raise RuleError(
                "SUBGROUP_MASK",
                f"The mask has type {mask.dtype} and shape {mask.shape} for {len(self.recourse)} people.",
                fix="Give one True or False a person, or a rule as text.",
            )
        return f"A subgroup of {many(int(mask.sum()), 'person', 'people')}", mask

    def compare(
        self, sensitive: str | Sequence[str] | None = None, *, protected: Any = None, reference: Any = None
    ) -> Assessment:
        """Everybody again, in other groups or against others; nothing is solved again, and files do for it.

        In an audit of `sensitive=["sex", "race"]`, ``audit.compare("sex", reference="male")`` compares by sex alone.

        Parameters
        ----------
        sensitive
            One or several columns of the audited table; by default those of the audit.
        protected
            Who is judged; by default the values that the declared protected groups have in these columns.
        reference
            A value, `Rest()` or `AllPairs()`; by default as in the audit, or the one other value.
        """
        found = regrouped(self, sensitive, protected, reference).system
        names = " and ".join(map(repr, found.comparisons[0].columns))
        return replace(found, about=f"Everybody, by {names}")

    def individual(
        self,
        label: Any = None,
        *,
        quantile: float | None = None,
        neighbourhood: Neighbourhood | None = None,
        position: int | None = None,
    ) -> Assessment:
        """Algorithm 1 for one person: their own group against the other among the people like them.

        The person is named by index label, or by `position`. `quantile` is short for `Nearest(quantile)` with the
        audit's distance.
        """
        row = self._row(label, position)
        _check_neighbourhood(neighbourhood, optional=True)
        chosen = neighbourhood if neighbourhood is not None else self.neighbourhood
        if quantile is not None:
            chosen = Nearest(quantile, self._distance_of(chosen))
        members = self.neighbours(row, chosen)
        about = f"{many(int(members.sum()), 'person', 'people')} nearest to {written(self.recourse.index[row])}"
        return self._assess("individual", about, members, row)

    @overload
    def individuals(
        self, quantile: float = ..., *, group: str | None = ..., distance: Distance | None = ..., output: Pandas = ...
    ) -> pd.DataFrame: ...
    @overload
    def individuals(
        self, quantile: float = ..., *, group: str | None = ..., distance: Distance | None = ..., output: Other
    ) -> Any: ...
    def individuals(
        self, quantile: float = 0.2, *, group: str | None = None, distance: Distance | None = None,
        output: Output = "pandas",
    ) -> Any:  # fmt: skip
        """Every refused person of the groups compared, or of one group, against those like them: one row each.

        Whoever is called unequal has an interval wholly beyond the thresholds, and `p_adjusted` (Benjamini-Hochberg)
        allows for all `n_looked_at` who were looked at. At least five people a side, else `note` says TOO_FEW.
        `output` is "pandas", "polars" or "pyarrow".
        """
        check_quantile(quantile)
        labels = self.recourse.groups.labels
        if group is not None and group not in labels:
            raise ParameterError(
                "PARAMETER", f"group is {group!r}, which is none.", fix=f"Choose from {', '.join(map(repr, labels))}."
            )
        bound = self.distance(distance if distance is not None else self._distance_of(self.neighbourhood))
        found = individuals(self.recourse, bound, quantile, self.criteria, group)
        surrogate = self.verdict.surrogate
        if self.provenance.outliers or (surrogate is not None and not surrogate.suffices):
            # As for the groups: nothing is concluded of anybody.
            found["outcome"] = "inconclusive"
        return as_output(Noted.of(found, told.INDIVIDUALS), output)

    def search_subgroups(
        self, measure: str = "acr", *, conditions: int = 3, levels: int = 5, features: Sequence[str] | None = None,
        group: str | None = None, cuts: bool = False, tau: float = 1.0, epsilon: float = 0.0, adjust: str = "holm",
        fewest: int = 50, fewest_certified: int = 200,
    ) -> SubgroupSearch:  # fmt: skip
        """Every subgroup that up to three conditions describe, worst first: which are unequal, and how bad any can be.

        Parameters
        ----------
        measure
            "acr", "rd", "restricted_effort", "burden" or "impact_ratio".
        levels
            Numbers are cut at quantiles into so many levels; a text keeps its most frequent values.
        features
            The columns that conditions speak of; by default all but those that form the groups.
        group
            One of the groups compared with the reference; by default each is, and all of them are allowed for.
        cuts
            Also conditions "at most" and "above" each cut of a number.
        tau, epsilon
            Ratios up to tau (gaps of `rd` up to epsilon) are no inequality; by default any is. The criteria's own are
            `audit.criteria.tau` and `audit.criteria.epsilon`.
        adjust
            "holm" keeps the chance of any wrong flag, "bh" (Benjamini-Hochberg) the expected share of wrong ones.
        fewest, fewest_certified
            People a side that a flag and a certified bound take: with a route for "acr", all for "impact_ratio",
            refused for the others.
        """
        surrogate = self.verdict.surrogate
        withheld = "OUTLIERS" if self.provenance.outliers else ""
        if not withheld and surrogate is not None and not surrogate.suffices:
            withheld = "SURROGATE"
        return search_subgroups(
            self.recourse, self.criteria, self.budget, withheld, measure, conditions, levels, features, group, cuts,
            tau, epsilon, adjust, fewest, fewest_certified,
        )  # fmt: skip

    def neighbours(self, row: int, neighbourhood: Neighbourhood) -> Bools:
        """Who is in the neighbourhood of the person at a position."""
        _check_neighbourhood(neighbourhood)
        row = self._row(None, row)
        if isinstance(neighbourhood, Everyone):
            return np.ones(len(self.recourse), dtype=bool)
        distance = self.distance(self._distance_of(neighbourhood))
        return neighbourhood.members(distance.to_all(slice(row, row + 1))[0])

    @overload
    def curve(
        self, quantiles: Sequence[float] = ..., *, distance: Distance | None = ..., include_favourable: bool = ...,
        centres: Centres | None = ..., bands: Bands = ..., output: Pandas = ...,
    ) -> pd.DataFrame: ...  # fmt: skip
    @overload
    def curve(
        self, quantiles: Sequence[float] = ..., *, distance: Distance | None = ..., include_favourable: bool = ...,
        centres: Centres | None = ..., bands: Bands = ..., output: Other,
    ) -> Any: ...  # fmt: skip
    def curve(
        self,
        quantiles: Sequence[float] = PAPER_QUANTILES,
        *,
        distance: Distance | None = None,
        include_favourable: bool = False,
        centres: Centres | None = None,
        bands: Bands = Jackknife(),  # noqa: B008 (frozen)
        output: Output = "pandas",
    ) -> Any:
        """ACR, efforts, RD, sizes and own-group share against the quantile, averaged over unfavourable centres.

        One row a group, opponent and quantile. `acr` is the ratio of mean efforts over centres (of its own group over
        the other), `acr_mean_of_ratios` the paper's mean of each centre's ratio; centres without a ratio are counted in
        `n_undefined`. `*_low` and `*_high` are 95 % confidence limits at that quantile, `*_low_all` and `*_high_all`
        those that hold at all quantiles at once. Chance is over people, approved ones included, with the model and the
        equations as they are; `nu` says on about how many people `acr` rests, `note` why there is no band, and
        UNCERTIFIED where somebody of the two groups is not solved to the end.

        Parameters
        ----------
        centres
            `Centres()` is everybody, `Centres(each=1000)` a random sample by group; the bands hold what drawing adds.
            By default everybody up to 2e8 pairs of people, and a sample above. The people around them are always all.
        bands
            `Jackknife(...)`; `PaperBands()` for those of the paper's figures; None for none, which is faster.
        output
            "pandas", "polars" or "pyarrow".
        """
        chosen = distance if distance is not None else self._distance_of(self.neighbourhood)
        found = self.curve_of(quantiles, chosen, include_favourable, centres, bands).frame()
        return as_output(Noted.of(found, told.CURVE), output)

    def curve_of(
        self,
        quantiles: Sequence[float],
        distance: Distance,
        include_favourable: bool = False,
        centres: Centres | None = None,
        bands: Bands = Jackknife(),  # noqa: B008 (frozen)
    ) -> Curve:
        """What `curve` is read from, with the sums around each centre. Kept, so that it is computed once."""
        quantiles = items_in("quantiles", quantiles, "a list of shares")
        if not quantiles:
            raise ParameterError("NEIGHBOURS_QUANTILE", "quantiles is empty.", fix="Give at least one share.")
        check_flag("include_favourable", include_favourable)
        check_instance("centres", centres, Centres, "Centres() or Centres(each=1000)", optional=True)
        if not is_bands(bands):
            raise refused("bands", bands, "Jackknife(), PaperBands() or None")
        bound = self.distance(distance)
        # By its text, since anything may be among the quantiles; what is wrong with it is said below.
        key = (repr(quantiles), distance, include_favourable, centres, bands)
        if (kept := self._curves.get(key)) is None:
            n, codes = len(self.recourse), self.recourse.groups.codes
            people = np.arange(n) if include_favourable else np.flatnonzero(self.recourse.is_unfavourable)
            drawn = centres if centres is not None else default_centres(people, codes[people], n)
            with stage(f"Comparing people with those like them, at {len(quantiles)} sizes"):
                kept = curve(self.recourse, bound, quantiles, drawn.draw(people, codes[people]), bands)
            self._curves[key] = kept
        return kept

    @overload
    def effort_curve(self, *, difference: bool = ..., output: Pandas = ...) -> pd.DataFrame: ...
    @overload
    def effort_curve(self, *, difference: bool = ..., output: Other) -> Any: ...
    def effort_curve(self, *, difference: bool = False, output: Output = "pandas") -> Any:
        """The share of each group's refused people whom an effort of at most e turns, with its band.

        One row a group and effort: group, effort, share, low, high. The band holds for all efforts at once; whoever
        has no route to approval stays in the denominator. With `difference` each compared group's share minus that of
        the reference group: group, against, effort, difference, low, high.
        """
        check_flag("difference", difference)
        samples, level = self._samples(None), self.criteria.level or SHOWN_LEVEL
        if not self.criteria.certified:
            samples = {label: sample.as_found for label, sample in samples.items()}
        groups = self.recourse.groups
        found = effort_differences(groups, samples, level) if difference else effort_curve(samples, level)
        return as_output(Noted.of(found, told.EFFORT_CURVE), output)

    # -- beside equality of effort ------------------------------------------------------------------------------------

    def notions(
        self, *, labels: Any = None, causes: Sequence[str] | None = None, only: Sequence[str] | None = None
    ) -> Notions:
        """Every neighbouring notion: what it reads of each comparison, with its interval and its denominator.

        `labels` is what truly became of people (labels of the classifier, or True where it was favourable) and `causes`
        names features that are causes of it, for notions that ask for them; `only` names families. Of an audit that was
        read from a file, notions that ask the model are as `with_notions` read them before it was saved.
        """
        asked = self._audited(labels)
        if causes is not None:
            named_causes(require_model(asked, "notions(causes=...)"), causes, None)
            asked = replace(asked, causes=tuple(causes))
        return collect(asked, self.provenance.notions, only)

    def with_notions(self, *, labels: Any = None, causes: Sequence[str] | None = None) -> Audit:
        """The same audit, which keeps every notion as it is read now: in its file, its report and its summary."""
        return self.with_provenance(notions=self.notions(labels=labels, causes=causes))

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
        """
        return facts_table(
            self._audited(), notion, viewpoint=viewpoint, phi=phi, budget=budget, min_support=min_support,
            min_people=min_people, max_conditions=max_conditions, max_features=max_features,
        )  # fmt: skip

    def counterfactual_fairness(self) -> CounterfactualFairness:
        """Whose decision stays whatever their sensitive columns say, all that follows from them following.

        `frame()` has the ratio (CFR) of the refused and of everybody by group and level, `people` who is treated
        unfairly, `efforts` the efforts of the refused split by it, `twins(level)` everybody as they would be there.
        """
        made = inputs_of(self, "counterfactual_fairness()")
        return CounterfactualFairness.of(self._audited(), made.problem)

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
        made = inputs_of(self, "fair_causal_recourse()")
        return FairCausalRecourse.of(self._audited(), made.problem, most_people, watcher(progress))

    def causal_discrimination(self, draws: int = DRAWS, random_state: int = 0) -> CausalDiscrimination:
        """How often the label changes when the sensitive columns alone change, nothing following.

        Of the audited people, and of `draws` inputs drawn from the schema's domain. `frame()` has the shares, `people`
        whom it concerns, `inputs` the drawn inputs whose label changes.
        """
        made = inputs_of(self, "causal_discrimination()")
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
        """
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
        inputs_of(self, "equality_of_effort(...)")
        members = None if subgroup is None else self._members(subgroup)[1]
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

    @property
    def unsettled(self) -> pd.DataFrame:
        """Who is not solved to the end: group, status, cost, bound, gap and why, the widest gap first."""
        return unsettled(self.recourse)

    def solve_further(self, people: Sequence[Any] | None = None, *, solver: Solver | None = None) -> Audit:
        """The same audit with people solved again: those given by index label, by default all who are unsettled.

        Without `solver` the same one works with larger limits, each time larger. What was proven stays proven.
        """
        if people is None:
            rows = np.flatnonzero(self.recourse.is_unsettled)
        else:
            named = items_in("people", people, "a list of index labels")
            rows = np.array([self._row(label, None) for label in named], dtype=np.intp)
        found = solve_further(self.recourse, rows, solver=solver)
        # Whoever has another first way now has other ways beside it.
        return replace(self.with_provenance(resampled=None), recourse=found, alternatives=())

    def with_provenance(self, **changes: Any) -> Audit:
        """The same audit with other parts of its provenance, such as ``notes={"date": "2026-03-31"}``."""
        return replace(self, provenance=replace(self.provenance, **changes))

    # -- readers ----------------------------------------------------------------------------------------------------

    def explain(
        self, label: Any = None, *, position: int | None = None, alternatives: int | None = None
    ) -> Explanation:
        """What one person can do, in words and numbers.

        With `alternatives` the so many cheapest ways, each of which leaves a feature of every way before it unchanged;
        by default as many as `with_alternatives` keeps. An audit that was read from a file has no more than it keeps.
        """
        surrogate = self.provenance.surrogate
        kind, row = "" if surrogate is None else surrogate.kind, self._row(label, position)
        return explain(self.recourse, row, kind, self.recorded, self._further(row, alternatives))

    def with_alternatives(self, count: int) -> Audit:
        """The same audit, which keeps so many of the cheapest ways of everybody who was refused, in its file too."""
        found = find_alternatives(self.recourse, np.arange(len(self.recourse)), count)
        return replace(self, alternatives=tuple(found))

    def _further(self, row: int, count: int | None) -> list[tuple[RecourseTable, int]]:
        """A person's ways beyond the first, as they are kept or as they are found now."""
        if count is None:
            return [(one, row) for one in self.alternatives]
        check_alternatives(count)
        if count - 1 <= len(self.alternatives):
            return [(one, row) for one in self.alternatives[: count - 1]]
        if self.inputs is None:
            kept = many(len(self.alternatives) + 1, "way", "ways")
            raise ParameterError(
                "AUDIT_FILE",
                f"This audit was read from a file that keeps {kept} of each person, not {count}.",
                fix=Setting("alternatives", count),
            )
        return [(one, 0) for one in find_alternatives(self.recourse, np.array([row]), count)]

    @property
    def plot(self) -> AuditPlots:
        """Pictures: every one of the report, and those of other notions; each is a `Display`."""
        from equieffort.plots import AuditPlots

        return AuditPlots(self)

    def save(self, path: str | PathLike[str]) -> None:
        """Write the audit into one file that `load` reads without the model or the data."""
        from equieffort.results.audit_file import save

        save(self, path)

    @staticmethod
    def load(path: str | PathLike[str]) -> Audit:
        """Read an audit that `save` wrote."""
        from equieffort.results.audit_file import load

        return load(path)

    def verify(
        self,
        classifier: Any,
        X: Any,
        *,
        sensitive_features: Any = None,
        model_features: Sequence[str] | None = None,
        sample: int = 0,
        oracle: Oracle | None = None,
        random_state: int = 0,
    ) -> Verification:
        """Check every decision and every action of this audit again, apart from the solvers that found them.

        Facts come from X, labels from the classifier, equations, limits and prices from the audit's own numbers, which
        plain numpy follows. With `sample` so many refused people are solved again by another solver, in turn from each
        status.

        Parameters
        ----------
        classifier
            The audited model.
        X, sensitive_features, model_features
            The audited people, as they were given to `audit`.
        sample
            How many people to solve again; 0 for none.
        oracle
            The other solver: "milp", "branch_and_bound", "spatial" or "search", which proves nothing but may find
            something cheaper. By default the first that fits and did not make the audit.
        random_state
            Decides who is in the sample.

        Returns
        -------
        A `Verification`: `holds`, `failures`, `counts`, `frame()`.
        """
        from equieffort.results.verifying import verify

        return verify(
            self, classifier, X, sensitive_features=sensitive_features, model_features=model_features, sample=sample,
            oracle=oracle, random_state=random_state,
        )  # fmt: skip

    @overload
    def to_frame(self, what: What = ..., *, output: Pandas = ...) -> pd.DataFrame: ...
    @overload
    def to_frame(self, what: What = ..., *, output: Other) -> Any: ...
    def to_frame(self, what: What = "measures", *, output: Output = "pandas") -> Any:
        """A table of the audit: its "measures", "groups", "people", "unsettled" people or "warnings".

        `output` is "pandas", "polars" or "pyarrow"; the last two have the index as a column.
        """
        return as_output(frame_of(self, what), output)

    def to_dict(self) -> dict[str, Any]:
        """The summary in a form that JSON can hold: verdict, measures, groups, criteria, warnings, how it was made."""
        from equieffort.exports import summary

        return summary(self)

    def to_json(self, path: str | PathLike[str] | None = None) -> str:
        """The summary as JSON, also written to a file where a path is given."""
        return written_to(path, json.dumps(self.to_dict(), indent=2, ensure_ascii=False, allow_nan=False))

    def to_html(
        self, path: str | PathLike[str] | None = None, *, title: str = "", suppress_below: int | None = None
    ) -> str:
        """The report as one HTML page, also written to a file where a path is given."""
        return written_to(path, self.report(title=title, suppress_below=suppress_below).html)

    def report(self, *, title: str = "", suppress_below: int | None = None) -> Report:
        """The report for a committee, which a notebook shows; `save` writes it.

        Counts of people from 1 to `suppress_below` less one, and what they could be worked out from, are not shown; by
        default as the spec asked.
        """
        from equieffort.report import model_card, render

        with stage("Writing the report"):
            page = render(self, title=title, suppress_below=suppress_below)
            return Report(page, model_card(self, suppress_below=suppress_below))

    def letters(
        self,
        folder: str | PathLike[str],
        people: Sequence[Any] | None = None,
        *,
        format: Literal["html", "md"] | None = None,
        template: str | PathLike[str] | None = None,
        alternatives: int | None = None,
        sender: str | None = None,
        review: str | None = None,
        overwrite: bool = False,
        progress: Watched = None,
    ) -> pd.DataFrame:
        """Write a page a refused person: what would lead to approval, what blocks it, or what is not known.

        Parameters
        ----------
        folder
            Where; it is made if need be, and must be empty unless `overwrite`.
        people
            Labels of the people to write to; by default everybody who was refused.
        format
            "html" or "md"; by default by the ending of `template`, or "html".
        template
            A jinja2 template of your own, which sees `letter` (docs/letters.md) and can extend ours.
        alternatives
            How many ways, as in `explain`.
        sender, review
            Who writes, and how to ask for a review; by default what the spec says, or neutral words.

        Returns
        -------
        A row a letter: `person`, `answer` ("route", "none" or "unknown"), `routes` (how many it tells of) and `file`.
        """
        from equieffort.letters import write_letters

        own = {"sender": sender, "review": review}
        for name, text in own.items():
            check_instance(name, "" if text is None else text, str, "a text")
        texts = replace(self.provenance.letters, **{name: text for name, text in own.items() if text is not None})
        rows = None if people is None else self._refused(people)
        return write_letters(
            self, folder, lambda row: self._further(row, alternatives), form=format, template=template, rows=rows,
            texts=texts, overwrite=overwrite, progress=progress,
        )  # fmt: skip

    def _refused(self, people: Sequence[Any]) -> list[int]:
        """The rows of people who were refused, each once; somebody else has no use for a letter."""
        rows = list(dict.fromkeys(self._row(one, None) for one in items_in("people", people, "a list of index labels")))
        if well := [self.recourse.index[row] for row in rows if not self.recourse.is_unfavourable[row]]:
            raise ParameterError(
                "DATA_UNKNOWN_ROW",
                f"{written(well[0])} was not refused: the decision is favourable already.",
                fix="Write to people who were refused.",
            )
        return rows

    def raise_if_unequal(self, *, inconclusive: bool = False) -> Audit:
        """Raise `ee.errors.UnequalError` where effort is unequal, for pipelines; otherwise the audit itself.

        With `inconclusive` also where nothing is decided: only shown equality passes.
        """
        self.verdict.raise_if_unequal(inconclusive=inconclusive)
        return self

    def __str__(self) -> str:
        return audit_text(self)

    def _told(self) -> Told:
        return audit_told(self)

    def _repr_html_(self) -> str:
        return as_html(audit_page(self))

    # -- parts ------------------------------------------------------------------------------------------------------

    def distance(self, distance: Distance) -> BoundDistance:
        """The distance over the audited people; bound once."""
        check_distance(distance)
        if distance not in self._distances:
            source = self.recourse.source
            self._distances[distance] = distance.bind(source.data, source.encoding, source.schema)
        return self._distances[distance]

    @staticmethod
    def _distance_of(neighbourhood: Neighbourhood) -> Distance:
        if isinstance(neighbourhood, Unsaved):
            raise neighbourhood.refusal()
        return neighbourhood.distance if isinstance(neighbourhood, Nearest | NearestK) else Manhattan()

    def _assess(
        self, level: Level, about: str, members: Bools | None, row: int | None = None, rule: str = ""
    ) -> Assessment:
        groups, individual = self.recourse.groups, row is not None
        samples = self._samples(members)
        compared = comparisons(groups, samples, int(groups.codes[row]) if row is not None else None, guarded=individual)
        again = self.resampled
        if again is not None and not individual:
            compared = tuple(
                replace(c, spreads=spreads, chance=again.chance) if spreads else c
                for c in compared
                for spreads in (again.of(rule, c.group, c.against) if members is None or rule else {},)
            )
        found = tuple(with_readings(c, self.criteria, self.shown_measures) for c in compared)
        made = self.provenance
        surrogate = made.surrogate and replace(made.surrogate, columns=self.recourse.source.schema.sensitive_columns)
        rows = unsettled_rows(self.recourse, members).tolist()
        endings = self.recourse.source.reasons(self.recourse, rows)
        left = [
            (groups.labels[groups.codes[row]], self.recourse.index[row], ending)
            for row, ending in zip(rows, endings, strict=True)
        ]
        verdict = decide(
            found, self.criteria, individual=individual, surrogate=surrogate, unsettled=left,
            provable=made.solver.certifies, audience=self.recourse.audience, outliers=made.outliers,
            chance=again.chance if again is not None and any(c.spreads for c in compared) else "people",
        )  # fmt: skip
        return Assessment(
            level, about, group_frame(groups, samples, self.criteria.level or SHOWN_LEVEL), found, verdict
        )

    def _samples(self, members: Bools | None) -> dict[str, Sample]:
        record = self.recorded
        known = None if record is None else (record.is_known, record.is_favourable)
        return group_samples(self.recourse, members, self.budget, known)

    def _row(self, label: Any, position: int | None) -> int:
        if (label is None) == (position is None):
            raise ParameterError("DATA_UNKNOWN_ROW", "Name one person.", fix="Give an index label, or position=.")
        if position is not None:
            if not (is_number(position, whole=True) and -len(self.recourse) <= position < len(self.recourse)):
                raise DataError(
                    "DATA_UNKNOWN_ROW",
                    f"There is no person at position {_plain(position)}; there are {len(self.recourse)}.",
                    fix=f"Give a position from 0 to {len(self.recourse) - 1}.",
                )
            return int(position) % len(self.recourse)
        try:
            return cast("int", self.recourse.index.get_loc(label))
        except (KeyError, TypeError, pd.errors.InvalidIndexError) as error:
            first = ", ".join(map(repr, self.recourse.index[:5].tolist()))
            raise DataError(
                "DATA_UNKNOWN_ROW",
                f"No person has the index label {_plain(label)}.",
                fix=(f"The first labels are {first}", Setting("position"), "."),
            ) from error


def _check_neighbourhood(neighbourhood: Any, *, optional: bool = False) -> None:
    takes = "Everyone(), Nearest(quantile) or NearestK(k)"
    check_instance("neighbourhood", neighbourhood, Neighbourhood, takes, optional=optional)


def _own_measures(measures: Any) -> tuple[Measure, ...]:
    """Measures of the caller's own, whose names are free."""
    given = items_in("measures", measures, "a list of measures")
    names = list(MEASURES)
    for one in given:
        check_instance("measures", one, Measure, "measures: objects of subclasses of ee.measures.Measure")
        name = getattr(one, "name", None)
        if not isinstance(name, str) or not name.isidentifier() or name in names:
            raise ParameterError(
                "PARAMETER",
                f"The measure {type(one).__name__} is called {name!r}, which is taken or no name.",
                fix="Give its class a name of its own in letters, digits and underscores.",
            )
        names.append(name)
    return tuple(given)


def _plain(given: Any) -> str:
    # Anything may be given as a label; only numpy's scalars are written otherwise than Python does.
    return written(given) if isinstance(given, np.generic) else repr(given)


def audit(
    classifier: Any,
    X: Any,
    *,
    schema: Schema,
    scm: StructuralCausalModel | Sequence[tuple[str, str]] | CausalGraph,
    sensitive_features: Any = None,
    model_features: Sequence[str] | None = None,
    cost: Cost | None = None,
    solver: Solver | Auto | None = None,
    neighbourhood: Neighbourhood | None = None,
    criteria: Criteria | None = None,
    measures: Sequence[Measure] = (),
    subgroups: Mapping[str, str] | None = None,
    reference: Any = None,
    missing: Missing = "error",
    margin: float = 0.0,
    progress: Watched = None,
) -> Audit:
    """Must some groups work harder than others to turn a "no" into a "yes"?

    Parameters
    ----------
    classifier
        A fitted classifier; it gets exactly its `feature_names_in_`, in that order.
    X
        The people: a pandas, polars or pyarrow table. Columns the classifier does not see are allowed.
    schema
        Roles, limits, the protected groups and the favourable label.
    scm
        The structural causal model; one that is not fitted learns its equations from the audited people. Edges alone,
        as pairs (cause, effect) or a `CausalGraph`, get linear equations fitted to X, which is said wherever the result
        is told; ``[]`` means that nothing follows anything.
    sensitive_features
        The sensitive column(s), if they are not in X.
    model_features
        The classifier's columns in its order, when it was fitted without names.
    cost
        `WeightedL1()` by default.
    solver
        Chosen by `Auto()` by default.
    neighbourhood
        What `individual` uses by default: `Everyone()`, `Nearest(quantile)`, `NearestK(k)`.
    criteria
        The thresholds of the verdict, which measures it rests on, and how sure it must be.
    measures
        Measures of your own, shown wherever the others are; see `equieffort.effort.measures.Measure`.
    subgroups
        Names and rules of subgroups, as `Audit.subgroup` takes them: checked before anything is solved, and kept for
        reports. The columns they name count as used.
    reference
        The data that cost scales and undeclared limits come from; by default what the causal model was fitted on.
    missing
        "error", "drop" or "model".
    margin
        Extra distance from the boundary that an action must reach, in units of the score.
    progress
        True for a bar, False for none, or a function, called as progress("solving", done, total, note) while people
        are solved. By default a bar in notebooks.

    Returns
    -------
    An `Audit`: `verdict`, `by_group`, `individual`, `subgroup`, `curve`, `recourse`, `explain`, `save`.
    """
    watching = watcher(progress)
    _check_neighbourhood(neighbourhood, optional=True)
    check_instance("criteria", criteria, Criteria, "an ee.Criteria(...)", optional=True)
    own = _own_measures(measures)
    with collecting() as kept:
        with stage("Reading the inputs"):
            inputs = AuditInputs.of(
                classifier, X, schema=schema, scm=cast("Any", scm), reference=reference,
                sensitive_features=sensitive_features,
                model_features=model_features, cost=cost, solver=solver, subgroups=subgroups, missing=missing,
                margin=margin,
            )  # fmt: skip
        problem = inputs.problem
        near = neighbourhood if neighbourhood is not None else Everyone()
        distances: dict[Distance, BoundDistance] = {}
        if isinstance(near, Nearest | NearestK):
            # Bound before anybody is solved: what it refuses is told at once, what it warns about is in the audit.
            distances[near.distance] = near.distance.bind(inputs.people.frame, problem.encoding, schema)
        table = solve(problem, inputs.people, solver=inputs.choice, missing=missing, progress=watching or False)
        seen = [name for name in problem.decision.features if name not in schema.protected_columns]
        for one in copies(table.data, seen, table.is_unfavourable):
            warn(one.code, one.what, fix=one.fix)
    fitted = problem.scm
    provenance = Provenance(
        versions=dict(versions()),
        classifier=kind_of(classifier),
        solver=SolverUsed.of(inputs.choice.solver, inputs.choice.reason),
        graph=fitted.graph,
        equations=fitted.equation_records(),
        learned_by=fitted.learned_by(),
        fit=tuple(Fit(**row) for row in row_dicts(fitted.diagnostics_)),
        cost=CostRecord.of("WeightedL1" if cost is None else type(cost).__name__, problem.cost.to_dict()),
        outliers=tuple(problem.outliers),
        margin=float(margin),
        budget=default_budget(table.effort),
        subgroups=dict(subgroups or {}),
        edges_only=is_edges(scm),
    )
    return Audit(
        table,
        criteria if criteria is not None else Criteria(),
        near,
        tuple(sorted((*fitted.warnings_, *kept), key=lambda w: w.code not in FIRST)),
        provenance,
        own,
        inputs,
        _distances=distances,
    )  # fmt: skip
