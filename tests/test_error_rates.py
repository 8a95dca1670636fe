"""A small seeded version of `benchmarks/error_rates.py`: intervals hold, and verdicts are seldom wrong."""

from __future__ import annotations

from collections import Counter
from importlib import import_module
from pathlib import Path

import numpy as np
import pytest
from scipy.stats import t

import equieffort as ee
from equieffort.effort.criteria import Criteria
from equieffort.effort.metrics import Jackknife, PaperBands

PATH = Path(__file__).parents[1] / "benchmarks"


@pytest.fixture(scope="module")
def rates():
    """The modules of the benchmark, by name."""
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(PATH)
        yield lambda name: import_module(f"rates.{name}")


def held(found: Counter[str], name: str) -> float:
    return found[f"{name} held"] / found[f"{name} asked"]


def often(few: int, many: int) -> pytest.MarkDecorator:
    """So many draws every day, and so many in `make verify`."""
    return pytest.mark.parametrize("draws", [few, pytest.param(many, marks=pytest.mark.verify)])


def least(draws: int, share: float = 0.95) -> float:
    """A share that so many draws stay above, but for one time in some ten thousand: four standard errors below."""
    return share - 4 * np.sqrt(share * (1 - share) / draws)


@often(120, 1000)
@pytest.mark.parametrize(("alpha", "limit", "n"), [(0, np.inf, 100), (2, 2.0, 200), (1, 2.0, 500)])
def test_intervals_hold(rates, alpha, limit, n, draws):
    found = rates("closed").simulate(rates("worlds").paper(alpha, limit), n, draws, 0, Criteria())
    for name in rates("worlds").COVERED:
        # Small groups may lack a point.
        assert held(found, name) > least(draws) - 0.01, name
        if draws > 500 and name not in ("rd", "acr_always_min", "acr_always_max"):
            assert held(found, name) < 0.995, name


@often(200, 2000)
@pytest.mark.parametrize("world", range(10))
def test_changes_of_the_gap_are_held_and_not_made_up(rates, world, draws):
    """Of few people, of shares near 1, of the same people and of others; five to a thousand refused a group."""
    changes = rates("changes")
    name = list(changes.WORLDS)[world]
    before, after = np.subtract(*(changes.shares(joint) for joint in changes.WORLDS[name][::-1]))
    for size in changes.SIZES:
        (cell,) = [one for one in changes.PARTS[0].cells if one == (name, *size)]
        found = changes.PARTS[0].count(cell, 0, draws)
        # Newcombe's interval of a handful of other people lacks four points.
        assert held(found, "rd") > least(draws) - (0.04 if min(size) < 10 else 0.01), size
        if abs(before) == pytest.approx(abs(after)):
            assert found["farther"] + found["closer"] <= (1 - least(draws)) * draws, size


@often(150, 1000)
@pytest.mark.parametrize(("n", "limit"), [(60, np.inf), (200, 2.0)])
def test_equal_effort_is_seldom_called_unequal(rates, n, limit, draws):
    simulate, world = rates("closed").simulate, rates("worlds").paper(0, limit)
    assert simulate(world, n, draws, 1, Criteria())["unequal"] <= 0.05 * draws
    # What a point estimate would have said of the same draws.
    assert simulate(world, n, 60, 1, Criteria(level=None))["unequal"] > 0.1 * 60


def test_large_audits_decide(rates):
    simulate, paper = rates("closed").simulate, rates("worlds").paper
    assert simulate(paper(0, np.inf), 2000, 12, 2, Criteria())["equal"] == 12
    assert simulate(paper(2, np.inf), 2000, 12, 2, Criteria())["unequal"] == 12


def test_an_audit_gives_the_intervals_of_the_plain_formula(rates):
    """Effort is the deficit in this world: Welch's interval of the log ratio needs nothing but numpy."""
    for seed in range(5):
        people, _ = ee.datasets.paper_synthetic(2, 200, seed)
        row = rates("audits").audited(people, 2, np.inf).measures.set_index("measure").loc["acr"]
        deficit = 4 - people["X2"] - people["X3"]
        groups = [deficit[(people["S"] == g) & (deficit > 0)] for g in (0, 1)]
        parts = [group.var(ddof=1) / len(group) / group.mean() ** 2 for group in groups]
        df = sum(parts) ** 2 / sum(part**2 / (len(group) - 1) for part, group in zip(parts, groups, strict=True))
        half = t.ppf(0.975, df) * np.sqrt(sum(parts))
        ratio = groups[0].mean() / groups[1].mean()
        assert (row["low"], row["high"]) == pytest.approx((ratio * np.exp(-half), ratio * np.exp(half)), rel=1e-6)


@often(10, 60)
@pytest.mark.filterwarnings("ignore::equieffort.errors.EquieffortWarning")
def test_bands_of_the_curve_hold(rates, draws):
    curves, world = rates("curves"), rates("worlds").paper(2, 2.0)
    truth = curves.truth_of(2, 2.0, power=12, sets=1)[0]
    # With everybody around each centre the curve is the measure, whose truth is known.
    expected = world.truth(world.budget())
    assert truth["acr"].iloc[-1] == pytest.approx(expected["acr"], rel=0.01)
    assert truth["rd"].iloc[-1] == pytest.approx(expected["rd"], abs=0.01)
    ours, papers = Counter[str](), Counter[str]()
    for seed in range(draws):
        people, _ = ee.datasets.paper_synthetic(2, 500, 1000 + seed)
        curves.count_curve(curves.curve_of(people, 2, 2.0, Jackknife(mean_of_ratios=True)), truth, ours)
        curves.count_curve(curves.curve_of(people, 2, 2.0, PaperBands()), truth, papers)
    for line in curves.LINES:
        for q in curves.QUANTILES:
            assert ours[f"{line} {q} held"] >= least(draws) * draws, (line, q)
    assert ours["acr all held"] >= least(draws) * draws
    assert ours["rd all held"] >= least(draws) * draws
    # The bands of the paper's figures, of the same draws.
    assert papers["acr_mean_of_ratios 0.5 held"] < 0.5 * draws


@pytest.mark.filterwarnings("ignore::equieffort.errors.EquieffortWarning")
@often(4, 20)
@pytest.mark.parametrize("world", [("equations",), ("procedure", 2, np.inf)])
def test_what_is_learned_again_holds_the_limit(rates, world, draws, monkeypatch):
    monkeypatch.setattr(rates("again"), "REPLICATES", 10)
    found = rates("again")._count((*world, 300), 0, draws)
    for name in ("acr", "restricted_effort", "needs_more", "burden"):
        assert found[f"{world[0]} {name} asked"] == draws
        assert found[f"{world[0]} {name} held"] >= least(draws) * draws, name


def test_who_is_refused_varies_with_the_model(rates):
    """That the model is trained again shows where it should: in who is refused."""
    made, how = rates("again").procedure(np.random.default_rng(3), 500, 2, np.inf)
    rows = made.resample(how).measures.set_index(["chance", "measure"])
    width = {kind: np.log(row["high"] / row["low"]) for kind, row in rows.xs("burden", level="measure").iterrows()}
    assert width["procedure"] > 1.5 * width["people"]


@pytest.mark.filterwarnings("ignore::equieffort.errors.EquieffortWarning")
def test_pieces_and_what_was_kept_do_not_show(rates, tmp_path):
    cells, audits = rates("cells"), rates("audits")
    cell = (0, 2.0, 60)

    def without_seconds(found):
        return {name: count for name, count in found.items() if name != cells.CPU}

    whole = without_seconds(audits._count(cell, 0, 4))
    assert sum(whole[name] for name in ("equal", "unequal", "inconclusive") if name in whole) == 4
    calls = []

    def count(cell, begin, end):
        calls.append((begin, end))
        return audits._count(cell, begin, end)

    part = cells.Part("audit", [cell], count, print, 4, piece=3)
    assert without_seconds(part.run(4, folder=tmp_path)[cell]) == whole
    assert without_seconds(part.run(4, folder=tmp_path)[cell]) == whole
    assert calls == [(0, 3), (3, 4)]
