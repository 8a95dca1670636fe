"""Files that are no specs by their name: told before anything in them could be shown, which may be about people."""

from __future__ import annotations

from pathlib import Path

from equieffort.spec.nodes import SpecError

OTHER_FILES = {
    (".csv", ".tsv", ".parquet", ".pq", ".xlsx", ".xls"): (
        "a table of people",
        "Write a spec about it with `equieffort init {}`, fill it in, and give the file that ends in .yaml.",
    ),
    (".audit",): ("a finished audit", "Judge it with `equieffort check {}`, or give the spec, which ends in .yaml."),
    (".html", ".md"): ("a report", "Give the spec, which ends in .yaml; `equieffort init DATA` writes one."),
    (".skops", ".onnx", ".pkl", ".joblib", ".ubj"): ("a model", "Name it as model.file in a spec, and give the spec."),
}
"""Endings of files that are no specs: what they are, and what to do with them."""


def check_name(path: Path) -> None:
    """Refuse what is no spec by its name, saying what it is."""
    for endings, (kind, fix) in OTHER_FILES.items():
        if path.suffix.lower() in endings:
            raise SpecError("SPEC_FILE", f"{path.name!r} is {kind}, not a spec.", fix=fix.format(path))
