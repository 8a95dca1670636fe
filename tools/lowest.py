"""Prints constraints for the lowest version of every library that `pyproject.toml` declares for people.

Everything else is pinned as in `constraints.txt`, so that what fails is a floor and not the day's news. `make lowest`
runs the tests that matter with them.
"""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

ROOT = Path(__file__).parents[1]
TOOLS = {"test", "check"}
FOLLOWS = {"llvmlite", "dask"}
"""What a library pins itself: numba one llvmlite each, distributed one dask."""


def plain(name: str) -> str:
    """A package's name as PyPI compares it."""
    return re.sub(r"[-_.]+", "-", name).lower()


def floors(pyproject: str) -> dict[str, str]:
    """The lowest version of each library that the package or an extra for people declares."""
    project = tomllib.loads(pyproject)["project"]
    extras = project["optional-dependencies"]
    declared = project["dependencies"] + [r for name in extras if name not in TOOLS for r in extras[name]]
    found: dict[str, str] = {}
    for requirement in declared:
        if requirement.startswith("equieffort["):
            continue
        match = re.fullmatch(r"([\w.-]+)>=([\d.]+)(;.*)?", requirement)
        if match is None:
            raise SystemExit(f"{requirement!r} in pyproject.toml has no floor: write name>=version.")
        name, version = plain(match[1]), match[2]
        if found.setdefault(name, version) != version:
            raise SystemExit(f"{name} has two floors in pyproject.toml: {found[name]} and {version}.")
    return found


def constraints(pyproject: str, pinned: str) -> str:
    """A file for `pip install -c`."""
    lowest = floors(pyproject)
    lines = [f"{name}=={version}" for name, version in lowest.items()]
    lines += [pin for pin in pinned.split() if plain(pin.split("==")[0]) not in lowest.keys() | FOLLOWS]
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    texts = ((ROOT / name).read_text(encoding="utf-8") for name in ("pyproject.toml", "constraints.txt"))
    print(constraints(*texts), end="")
