"""Draws the pictures of the README and of notions from the German-credit demo: `python tools/pictures.py`."""

from __future__ import annotations

import warnings
from pathlib import Path

import equieffort as ee
from equieffort.paper.extras import german_audit

ROOT = Path(__file__).parents[1]


def main() -> None:
    warnings.simplefilter("ignore", ee.errors.EquieffortWarning)
    german = german_audit()
    german.plot.acr().savefig(ROOT / "docs" / "images" / "german_acr.png", dpi=120)
    for notion in ("counterfactual_fairness", "fair_causal_recourse", "causal_discrimination"):
        picture = getattr(german.plot, notion)()
        picture.savefig(ROOT / "docs" / "images" / f"{notion.replace('_', '-')}.png", dpi=110)
    german.plot.facts().savefig(ROOT / "docs" / "images" / "german_facts.png", dpi=90)
    german.plot.group_routes().savefig(ROOT / "docs" / "images" / "german_group_routes.png", dpi=90)


if __name__ == "__main__":
    main()
