"""The command writes what it promises."""

from __future__ import annotations

import re
from pathlib import Path

import pandas as pd
import pytest
from typer.testing import CliRunner

import equieffort.paper
from equieffort.cli import app
from equieffort.errors import ParameterError
from equieffort.paper import Size, reproduce
from equieffort.paper.catalogue import FIGURES
from equieffort.paper.compare import JUDGEMENTS

COLUMNS = [
    "preset", "figure", "series", "x", "published", "published_low", "published_high",
    "ours", "ours_low", "ours_high", "difference", "judgement",
]  # fmt: skip


@pytest.fixture(scope="module", params=["published", pytest.param("both", marks=pytest.mark.verify)])
def written(request, tmp_path_factory):
    """Everything under one preset, since drawing takes its time; under both of them in `make verify`."""
    folder = tmp_path_factory.mktemp("paper")
    seen = []
    size = Size(n=200, seeds=2, sweep_seeds=2, jobs=1)
    made = reproduce(folder, preset=request.param, size=size, progress=lambda *step: seen.append(step))
    return folder, made, seen, ["published", "corrected"] if request.param == "both" else [request.param]


def test_a_row_for_every_published_point(written):
    folder, _, _, presets = written
    table = pd.read_csv(folder / "comparison.csv")
    assert list(table.columns) == COLUMNS
    points = pd.read_csv(Path(equieffort.paper.__file__).parent / "data" / "points.csv")
    for _, part in table.groupby("preset"):
        pd.testing.assert_frame_equal(
            part[["figure", "series", "x", "published"]].reset_index(drop=True),
            points[["figure", "series", "x", "y"]].rename(columns={"y": "published"}),
        )
        assert part["ours"].notna().mean() > 0.95
    assert set(table["preset"]) == set(presets)
    assert set(table["judgement"]) <= set(JUDGEMENTS)


def test_pictures_and_tables(written):
    folder, _, _, presets = written
    for here in (folder / preset for preset in presets):
        for figure in FIGURES:
            assert (here / f"{figure.name}.png").read_bytes().startswith(b"\x89PNG")
            assert "<svg" in (here / f"{figure.name}.svg").read_text(encoding="utf-8")
            assert len(pd.read_csv(here / f"{figure.name}.csv"))


def test_the_page_holds_everything_and_asks_for_nothing(written):
    _, made, _, presets = written
    page = made.page.read_text(encoding="utf-8")
    for figure in FIGURES:
        assert f'id="{figure.name}"' in page
    assert page.count("<img ") == len(presets) * len(FIGURES) + 4
    assert page.count('alt="') == page.count("<img ")
    assert not re.search(r"(src|href)=[\"'](?!data:)", page)
    assert "$" not in re.sub(r"base64,[^\"]*", "", page)


def test_progress_is_told(written):
    _, _, seen, presets = written
    expected = {f"{preset}: {what}" for preset in presets for what in ("synthetic worlds", "pictures")}
    assert {stage for stage, _, _ in seen} >= {*expected, "beyond the paper"}
    assert all(0 <= done <= total for _, done, total in seen)


def test_one_figure_from_the_command_line(tmp_path):
    figure = "fig-ratio-size-german-credit"
    done = CliRunner().invoke(app, ["paper", "--out", str(tmp_path / "made"), "--figure", figure])
    assert done.exit_code == 0, done.output
    assert "26 exact" in done.stdout
    table = pd.read_csv(tmp_path / "made" / "comparison.csv")
    for preset in ("published", "corrected"):
        assert [path.name for path in (tmp_path / "made" / preset).glob("*.png")] == [f"{figure}.png"]
        assert (table["preset"] == preset).sum() == 26


def test_bad_arguments_are_told(tmp_path):
    with pytest.raises(ParameterError, match="Did you mean 'fig-CF-score'"):
        reproduce(tmp_path, figure="fig-CF-scor")
    with pytest.raises(ParameterError, match="'best' is no preset"):
        reproduce(tmp_path, preset="best")
    done = CliRunner().invoke(app, ["paper", "--figure", "nothing", "--out", str(tmp_path)])
    assert done.exit_code == 2
    assert "Traceback" not in done.stderr
    assert "Code: PARAMETER" in done.stderr
