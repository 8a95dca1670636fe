"""Draws the pictures of the README from the German-credit demo: `python tools/pictures.py`."""

from __future__ import annotations

import warnings
from pathlib import Path

import equieffort as ee
from equieffort.paper.extras import german_audit

ROOT = Path(__file__).parents[1]


def main() -> None:
    warnings.simplefilter("ignore", ee.errors.EquieffortWarning)
    figure = german_audit().plot.acr()
    figure.savefig(ROOT / "docs" / "images" / "german_acr.png", dpi=120)


if __name__ == "__main__":
    main()
