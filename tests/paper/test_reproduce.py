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


@pytest.fixture(scope="module")
def written(tmp_path_factory):
    folder = tmp_path_factory.mktemp("paper")
    seen = []
    made = reproduce(folder, size=Size(n=200, seeds=3, sweep_seeds=2, jobs=1), progress=lambda *step: seen.append(step))
    return folder, made, seen


def test_a_row_for_every_published_point(written):
    folder, _, _ = written
    table = pd.read_csv(folder / "comparison.csv")
    assert list(table.columns) == COLUMNS
    points = pd.read_csv(Path(equieffort.paper.__file__).parent / "data" / "points.csv")
    for _, part in table.groupby("preset"):
        pd.testing.assert_frame_equal(
            part[["figure", "series", "x", "published"]].reset_index(drop=True),
            points[["figure", "series", "x", "y"]].rename(columns={"y": "published"}),
        )
        assert part["ours"].notna().mean() > 0.95
    assert set(table["preset"]) == {"published", "corrected"}
    assert set(table["judgement"]) <= set(JUDGEMENTS)


@pytest.mark.parametrize("preset", ["published", "corrected"])
def test_pictures_and_tables(written, preset):
    folder, _, _ = written
    for figure in FIGURES:
        assert (folder / preset / f"{figure.name}.png").read_bytes().startswith(b"\x89PNG")
        assert "<svg" in (folder / preset / f"{figure.name}.svg").read_text(encoding="utf-8")
        assert len(pd.read_csv(folder / preset / f"{figure.name}.csv"))


def test_the_page_holds_everything_and_asks_for_nothing(written):
    _, made, _ = written
    page = made.page.read_text(encoding="utf-8")
    for figure in FIGURES:
        assert f'id="{figure.name}"' in page
    assert page.count("<img ") == 2 * len(FIGURES) + 4
    assert page.count('alt="') == page.count("<img ")
    assert not re.search(r"(src|href)=[\"'](?!data:)", page)
    assert "$" not in re.sub(r"base64,[^\"]*", "", page)


def test_progress_is_told(written):
    _, _, seen = written
    assert {stage for stage, _, _ in seen} >= {"published: synthetic worlds", "corrected: pictures", "beyond the paper"}
    assert all(0 <= done <= total for _, done, total in seen)


def test_one_figure_from_the_command_line(tmp_path):
    figure = ["--figure", "fig-ratio-size-german-credit", "--preset", "published"]
    done = CliRunner().invoke(app, ["paper", "--out", str(tmp_path / "made"), *figure])
    assert done.exit_code == 0, done.output
    assert "26 exact" in done.stdout
    assert (tmp_path / "made" / "published" / "fig-ratio-size-german-credit.png").is_file()


def test_bad_arguments_are_told(tmp_path):
    with pytest.raises(ParameterError, match="Did you mean 'fig-CF-score'"):
        reproduce(tmp_path, figure="fig-CF-scor")
    with pytest.raises(ParameterError, match="'best' is no preset"):
        reproduce(tmp_path, preset="best")
    done = CliRunner().invoke(app, ["paper", "--figure", "nothing", "--out", str(tmp_path)])
    assert done.exit_code == 2
    assert "Traceback" not in done.stderr
    assert "Code: PARAMETER" in done.stderr
