"""reproduce(): everything into one folder: pictures, tables, the comparison and one page."""

from __future__ import annotations

import base64
from collections import Counter
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path
from typing import Any

import pandas as pd

from equieffort.errors import ParameterError, closest, listed
from equieffort.foundations.version import __version__
from equieffort.paper.catalogue import BY_NAME, FIGURES, Figure
from equieffort.paper.compare import COLUMNS, JUDGEMENTS, REASONS, compare, published_points
from equieffort.paper.compute import Progress, Size, compute, large_sample
from equieffort.paper.draw import draw, draw_extra, save
from equieffort.paper.extras import extras
from equieffort.paper.presets import PRESETS


@dataclass(frozen=True)
class Reproduction:
    """What was written: the comparison and the page."""

    comparison: pd.DataFrame
    page: Path


def reproduce(
    out: str | Path, *, figure: str | None = None, preset: str = "both", size: Size | None = None,
    progress: Progress = lambda stage, done, total: None,
) -> Reproduction:  # fmt: skip
    """Compute the paper's figures and write pictures, tables, `comparison.csv` and `paper.html` into a folder.

    Parameters
    ----------
    figure
        Only this figure, by its label in the paper.
    preset
        "published", "corrected" or "both".
    """
    size = size or Size()
    wanted = _figures(figure)
    names = _presets(preset)
    folder = Path(out)
    folder.mkdir(parents=True, exist_ok=True)
    truth, points = large_sample(), published_points()
    compared: list[pd.DataFrame] = []
    pictures: dict[str, list[dict[str, str]]] = {item.name: [] for item in wanted}
    for name in names:
        ours = compute(PRESETS[name], size, progress, figure)
        comparison = compare(name, ours)
        here = folder / name
        here.mkdir(exist_ok=True)
        for k, item in enumerate(wanted):
            progress(f"{name}: pictures", k + 1, len(wanted))
            pictures[item.name].append(_write(item, name, here, ours, points, truth, comparison))
        compared.append(comparison[comparison["figure"].isin(BY_NAME if figure is None else [figure])])
    comparison = pd.concat(compared, ignore_index=True)
    comparison[COLUMNS].to_csv(folder / "comparison.csv", index=False)
    further = _write_extras(folder, progress) if figure is None else []
    page = folder / "paper.html"
    command = f"equieffort paper --out {folder.name} --seed {size.seed} --n {size.n} --preset {preset}"
    page.write_text(_page(comparison, wanted, pictures, further, size, command), encoding="utf-8")
    return Reproduction(comparison, page)


def _figures(figure: str | None) -> list[Figure]:
    if figure is None:
        return list(FIGURES)
    if figure not in BY_NAME:
        raise ParameterError(
            "PARAMETER",
            f"The paper has no figure {figure!r}. {closest(figure, BY_NAME)}".rstrip(),
            fix=f"Its figures are {listed(BY_NAME, 40)}.",
        )
    return [BY_NAME[figure]]


def _presets(preset: str) -> list[str]:
    if preset == "both":
        return list(PRESETS)
    if preset not in PRESETS:
        raise ParameterError("PARAMETER", f"{preset!r} is no preset.", fix='Use "published", "corrected" or "both".')
    return [preset]


def _write(
    item: Figure, preset: str, folder: Path, ours: pd.DataFrame, points: pd.DataFrame, truth: pd.DataFrame,
    comparison: pd.DataFrame,
) -> dict[str, str]:  # fmt: skip
    """Picture and table of one figure; returns what the page needs."""
    mine, theirs = (table[table["figure"] == item.name] for table in (ours, points))
    # Closed forms are in standard deviations, which are the published units.
    known = truth[
        (truth["figure"] == item.name) & ((preset == "published") | ~truth["figure"].str.startswith("fig-costs"))
    ]
    save(draw(item, preset, mine, theirs, known), folder, item.name)
    table = mine.merge(
        theirs[["figure", "series", "x", "published", "published_low", "published_high"]],
        on=["figure", "series", "x"], how="left",
    ).merge(known, on=["figure", "series", "x"], how="left")  # fmt: skip
    table.to_csv(folder / f"{item.name}.csv", index=False)
    judged = comparison[comparison["figure"] == item.name]
    return {
        "preset": preset,
        "data": _encoded(folder / f"{item.name}.svg"),
        "alt": f"{_plain(item.title)}, {preset} preset: our curves over the published ones; numbers in {item.name}.csv",
        "judgement": _judgement(judged),
    }


def _judgement(judged: pd.DataFrame) -> str:
    if judged.empty:
        return "no published points; ours stand against the closed form where there is one."
    counts = Counter(judged["judgement"])
    text = ", ".join(f"{counts[name]} {name}" for name in JUDGEMENTS if counts[name])
    reasons = [code for code in dict.fromkeys(judged["reason"]) if code]
    return f"{len(judged)} points: {text}" + (f" ({', '.join(reasons)})." if reasons else ".")


def _encoded(path: Path) -> str:
    return base64.b64encode(path.read_bytes()).decode("ascii")


def _write_extras(folder: Path, progress: Progress) -> list[dict[str, str]]:
    here = folder / "beyond"
    here.mkdir(exist_ok=True)
    progress("beyond the paper", 0, 1)
    items = []
    for item in extras():
        save(draw_extra(item), here, item.name)
        item.series.to_csv(here / f"{item.name}.csv", index=False)
        alt = f"{item.title}; the numbers are in {item.name}.csv"
        told = {"name": item.name, "title": item.title, "caption": item.caption, "alt": alt}
        items.append(told | {"data": _encoded(here / f"{item.name}.svg")})
    progress("beyond the paper", 1, 1)
    return items


def _page(
    comparison: pd.DataFrame, wanted: list[Figure], pictures: dict[str, list[dict[str, str]]],
    further: list[dict[str, str]], size: Size, command: str,
) -> str:  # fmt: skip
    from jinja2 import Environment

    rows: list[dict[str, Any]] = [
        {"figure": figure, "preset": preset, "counts": Counter(part["judgement"])}
        for (figure, preset), part in comparison.groupby(["figure", "preset"], sort=False)
    ]
    environment = Environment(autoescape=True, trim_blocks=True, lstrip_blocks=True)
    template = environment.from_string(files("equieffort.paper").joinpath("page.html").read_text(encoding="utf-8"))
    used = {code: text for code, text in REASONS.items() if (comparison["reason"] == code).any()}
    figures = [
        {"name": f.name, "title": _plain(f.title), "caption": _plain(f.caption), "pictures": pictures[f.name]}
        for f in wanted
    ]
    return template.render(
        version=__version__, points=len(published_points()), seeds=size.seeds, n=size.n, judgements=JUDGEMENTS,
        summary=rows, reasons=used, figures=figures, extras=further, command=command,
    )  # fmt: skip


def _plain(text: str) -> str:
    """Mathematics in a caption as plain characters."""
    for tex, plain in (
        ("$\\alpha=2$", "α = 2"), ("$\\alpha$", "α"), ("$I^+$", "I⁺"), ("$I^-$", "I⁻"), ("$X_2$", "X₂"),
        ("$S=s_0$", "S = s₀"), ("$S=s_1$", "S = s₁"),
    ):  # fmt: skip
        text = text.replace(tex, plain)
    return text
