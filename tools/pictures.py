"""Draws the pictures of the README from the German-credit example: `python tools/pictures.py`."""

from __future__ import annotations

import runpy
import warnings
from pathlib import Path

import equieffort as ee

ROOT = Path(__file__).parents[1]


def main() -> None:
    warnings.simplefilter("ignore", ee.errors.EquieffortWarning)
    audit = runpy.run_path(str(ROOT / "examples" / "german_credit.py"))["german_audit"]()
    figure = audit.plot.acr()
    figure.savefig(ROOT / "docs" / "images" / "german_acr.png", dpi=120)


if __name__ == "__main__":
    main()
