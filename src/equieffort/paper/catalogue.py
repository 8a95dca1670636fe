"""The figures of the paper, in its order: labels of axes, and captions in our own words."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Figure:
    """One figure: its label in the paper, the axes, and what it shows."""

    name: str
    title: str
    xlabel: str
    ylabel: str
    caption: str


QUANTILE = "quantile on distance"
SHARE = "ratio of own-group elements"


def _pair(data: str, title: str) -> list[Figure]:
    return [
        Figure(
            f"fig-ratio-cost-{data}",
            f"{title}: average cost ratio",
            QUANTILE,
            "ACR",
            "How much more effort the refused people of a person's own group need than those of the other group, among "
            "the people most like them; averaged over the refused people of each group. At 1 everybody is a neighbour.",
        ),
        Figure(
            f"fig-ratio-size-{data}",
            f"{title}: own-group share",
            QUANTILE,
            SHARE,
            "The share of the refused neighbours who belong to the person's own group.",
        ),
    ]


def _details(data: str, title: str) -> list[Figure]:
    kinds = (
        (
            "costs", "cost of recourse", "cost of recourse",
            "Average least effort in the neighbourhoods of refused people of the {} group: their own group ($I^+$) and "
            "the other ($I^-$).",
        ),
        (
            "size-subset", "size of subsets", "subset size",
            "How many refused people of the own group ($I^+$) and of the other ($I^-$) the neighbourhoods of the {} "
            "group hold on average.",
        ),
    )  # fmt: skip
    return [
        Figure(
            f"fig-{kind}-{data}-{group}", f"{title}: {words}, {name} group ($S={group}$)", QUANTILE, ylabel,
            caption.format(name),
        )
        for kind, words, ylabel, caption in kinds
        for group, name in (("s_0", "protected"), ("s_1", "unprotected"))
    ]  # fmt: skip


FIGURES: tuple[Figure, ...] = (
    *_pair("synthetic", "Synthetic data, $\\alpha=2$"),
    Figure(
        "fig-ratio-cost-synthetic-alpha",
        "Synthetic data: average cost ratio for each $\\alpha$",
        QUANTILE,
        "ACR",
        "The stronger the protected attribute pulls on $X_2$, the more effort the protected group needs. The paper's "
        "own figure is empty in its source; the dashed ends are the values for an endless sample.",
    ),
    Figure(
        "fig-ratio-size-synthetic-alpha",
        "Synthetic data: own-group share for each $\\alpha$",
        QUANTILE,
        SHARE,
        "The share of protected people among the refused neighbours of a protected person. The paper's own figure is "
        "empty in its source.",
    ),
    *_details("synthetic", "Synthetic data, $\\alpha=2$"),
    *_pair("german-credit", "German credit"),
    *_details("german-credit", "German credit"),
    Figure(
        "fig-CF-score",
        "Counterfactual fairness ratio",
        "$\\alpha$",
        "counterfactual fairness ratio",
        "The share of refused protected people whose decision stays when the protected attribute is flipped and the "
        "change is propagated; 1 means that the attribute alone turns nobody's decision.",
    ),
    Figure(
        "fig-boxplot-cost-CF",
        "Cost of recourse by counterfactual fairness",
        "",
        "cost of recourse",
        "Costs of refused protected people whose decision stays when the attribute is flipped (CF) and of those whose "
        "decision turns (no CF), who are closer to the boundary.",
    ),
)

BY_NAME = {figure.name: figure for figure in FIGURES}
