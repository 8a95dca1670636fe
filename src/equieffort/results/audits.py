"""Audit: the versioned, saved result of an audit, and everything that is read from it."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from os import PathLike
from typing import TYPE_CHECKING, Any, Literal, cast, overload

import numpy as np
import pandas as pd

from equieffort.data.frames import Bools
from equieffort.data.output import Noted, Other, Output, Pandas, as_output
from equieffort.effort.criteria import Criteria
from equieffort.effort.individuals import individuals
from equieffort.effort.judging import SHOWN_LEVEL, with_readings
from equieffort.effort.matching import Matching
from equieffort.effort.matching.readings import NAMES as MATCHED
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
from equieffort.effort.neighbours import (
    Everyone,
    Nearest,
    NearestK,
    Neighbourhood,
    Unsaved,
    check_neighbourhood,
    check_quantile,
)
from equieffort.effort.verdict import Assessment, Level, Verdict, decide
from equieffort.errors import DataError, EquieffortWarning, ParameterError, Setting, Warned, many
from equieffort.errors import label as written
from equieffort.foundations.arguments import check_flag, check_instance, is_number, items_in, refused
from equieffort.foundations.log import stage
from equieffort.foundations.progress import Watched, watcher
from equieffort.foundations.shown import Shown, Told, as_html
from equieffort.notions.huang import Treatment
from equieffort.recourse.alternatives import check_alternatives, find_alternatives
from equieffort.recourse.part_source import PartsSource
from equieffort.recourse.solvers import Solver
from equieffort.recourse.solving import solve_further
from equieffort.recourse.table import RecourseTable
from equieffort.results.explanation import Explanation, Recorded, explain
from equieffort.results.faces import Report, What, audit_page, audit_text, audit_told, frame_of, written_to
from equieffort.results.inputs import AuditInputs
from equieffort.results.matched import Matched, check_matching, match_people
from equieffort.results.members import members_of
from equieffort.results.notion_readings import NotionReadings
from equieffort.results.provenance import Provenance
from equieffort.results.regrouping import regrouped
from equieffort.results.resampling import Resampled, Resampling, resample
from equieffort.results.streaming import PASSING_CENTRES, PassingDistance, bind, tell_drawn
from equieffort.results.subgroup_search import SubgroupSearch, search_subgroups
from equieffort.words import told
from equieffort.words.shown import with_saved
from equieffort.world.distances import BoundDistance, Distance, Manhattan, check_distance
from equieffort.world.rules import parse_rule

if TYPE_CHECKING:
    from equieffort.plots import AuditPlots
    from equieffort.results.second_opinion import Oracle
    from equieffort.results.verifying import Verification


@dataclass(frozen=True, eq=False, repr=False)
class Audit(NotionReadings, Shown):
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
        parsed = parse_rule(rule)
        return parsed.evaluate(self.recourse.source.columns(parsed.names))

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
        about, members = members_of(self.recourse, which)
        return self._assess("subgroup", about, members, rule=which if isinstance(which, str) else "")

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
        check_neighbourhood(neighbourhood, optional=True)
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
            tau, epsilon, adjust, fewest, fewest_certified, self.system.comparisons,
        )  # fmt: skip

    def matched(self, matching: Matching | None = None, *, group: str | None = None) -> Matched:
        """Effort among refused people of both groups who are alike: matched, then compared.

        `measures` has ACR, RD and restricted effort of the matched people, `balance` how alike they are, `plot()` the
        picture of it.

        Parameters
        ----------
        matching
            By default as the spec or `with_matching` says, else `Matching()`: each refused person of the group with the
            nearest of those compared with, within a caliper.
        group
            One of the groups compared; by default each is.
        """
        check_instance("matching", matching, Matching, "ee.Matching(...)", optional=True)
        system = self.system
        read = {(c.group, c.against): tuple(c.reading(name).estimate for name in MATCHED) for c in system.comparisons}
        pairs = self.recourse.groups.versus(group)
        chosen, level = matching or self.provenance.matching or Matching(), self.criteria.level or SHOWN_LEVEL
        return match_people(self.recourse, chosen, self.budget, level, read, pairs)

    def with_matching(self, matching: Matching) -> Audit:
        """The same audit, whose report and file say how effort compares among people matched in this way."""
        check_matching(matching)
        return self.with_provenance(matching=matching)

    def neighbours(self, row: int, neighbourhood: Neighbourhood) -> Bools:
        """Who is in the neighbourhood of the person at a position."""
        check_neighbourhood(neighbourhood)
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
            By default everybody up to 2e8 pairs of people, and a sample above (of streamed people whose columns do not
            fit into the memory a small one, which is said). The people around them are always all.
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
        check_distance(distance)
        # By its text, since anything may be among the quantiles; what is wrong with it is said below.
        key = (repr(quantiles), distance, include_favourable, centres, bands)
        if (kept := self._curves.get(key)) is None:
            bound = self.distance(distance)
            n, codes = len(self.recourse), self.recourse.groups.codes
            people = np.arange(n) if include_favourable else np.flatnonzero(self.recourse.is_unfavourable)
            passing = isinstance(bound, PassingDistance)
            least = PASSING_CENTRES if passing else None
            drawn = centres if centres is not None else default_centres(people, codes[people], n, least)
            if passing and centres is None and drawn.each is not None:
                tell_drawn(drawn, n)
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

    def with_notions(
        self, *, labels: Any = None, causes: Sequence[str] | None = None, treatments: Sequence[Treatment] | None = None
    ) -> Audit:
        """The same audit, which keeps every notion as it is read now: in its file, its report and its summary.

        Its file and its report also keep what asking the model gives beside that: FACTS' macro tables, who is treated
        counterfactually unfairly, group routes, and Huang's notion treatment by treatment with its repair.
        """
        kept = self.with_provenance(notions=self.notions(labels=labels, causes=causes, treatments=treatments))
        if self.inputs is None:
            return kept
        return kept.with_provenance(details=self._details(labels, treatments))

    @property
    def unsettled(self) -> pd.DataFrame:
        """Who is not solved to the end: group, status, cost, bound, gap and why, the widest gap first."""
        return Noted.of(unsettled(self.recourse), told.UNSETTLED)

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
        found = explain(self.recourse, row, kind, self.recorded, self._further(row, alternatives))
        return replace(found, guessed=self.provenance.guessed, labels=self.recourse.source.schema.names)

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
                "AUDIT_LOADED",
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
            The other solver: "milp", "branch_and_bound", "linear_exact", "linear_search", "spatial_branch_and_bound",
            or "grid" (at most two numbers changed at once) or "search", which prove nothing but may find something
            cheaper. By default the first that fits and did not make the audit.
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

    def distance(self, distance: Distance, *, anew: bool = False) -> BoundDistance:
        """The distance over the audited people; bound once, or `anew`, so that what it warns of is heard again."""
        check_distance(distance)
        if anew or distance not in self._distances:
            source = self.recourse.source
            self._distances[distance] = (
                bind(distance, source)
                if isinstance(source, PartsSource)
                else distance.bind(source.data, source.encoding, source.schema)
            )
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
        open_ones = unsettled_rows(self.recourse, members)
        endings = self.recourse.source.reasons(self.recourse, open_ones.tolist())
        left = [
            (groups.labels[code], person, ending)
            for code, person, ending in zip(
                groups.codes[open_ones].tolist(), self.recourse.index[open_ones], endings, strict=True
            )
        ]
        verdict = decide(
            found, self.criteria, individual=individual, surrogate=surrogate, unsettled=left,
            provable=made.solver.certifies, audience=self.recourse.audience, outliers=made.outliers,
            chance=again.chance if again is not None and any(c.spreads for c in compared) else "people",
        )  # fmt: skip
        return Assessment(
            level, about, group_frame(groups, samples, self.criteria.level or SHOWN_LEVEL), found, verdict
        )

    @cached_property
    def samples(self) -> dict[str, Sample]:
        """The people of each group with what measures read of them: verdict, curve of efforts and report share them."""
        return self._samples_of(None)

    def _samples(self, members: Bools | None) -> dict[str, Sample]:
        return self.samples if members is None else self._samples_of(members)

    def _samples_of(self, members: Bools | None) -> dict[str, Sample]:
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
            self.refuse_left(label, error)
            first = ", ".join(map(repr, self.recourse.index[:5].tolist()))
            raise DataError(
                "DATA_UNKNOWN_ROW",
                f"No person has the index label {_plain(label)}.",
                fix=(f"The first labels are {first}", Setting("position"), "."),
            ) from error

    def refuse_left(self, label: Any, error: Exception | None = None) -> None:
        """Where this person was given and left the audit, say so, and why."""
        if why := self.provenance.left.why(str(label)):
            raise DataError(
                "DATA_LEFT_OUT", why, fix="Fill in what is missing and audit again: nothing is known of them here."
            ) from error


def _plain(given: Any) -> str:
    # Anything may be given as a label; only numpy's scalars are written otherwise than Python does.
    return written(given) if isinstance(given, np.generic) else repr(given)
